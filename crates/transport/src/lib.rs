//! Datagram transports: UDP, TCP, in-memory, and an impaired wrapper around any of them.
