//! Structs of shared fields in a session.
