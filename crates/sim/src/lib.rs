//! Worlds of many endpoints in virtual time, with checkers for the promises of the protocol.
