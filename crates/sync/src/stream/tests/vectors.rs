//! The vectors of WIRE.md.
