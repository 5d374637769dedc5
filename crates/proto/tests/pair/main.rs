//! The protocol's behaviour between two endpoints in virtual time, one behaviour per file.
//!
//! `cargo test -p samestep-proto --test pair roaming` runs one of them.

mod forge;
mod world;

mod acknowledgements;
mod admission;
mod amplification;
mod blocks;
mod channels;
mod closing;
mod connecting;
mod hostile;
mod independence;
mod keep_alive;
mod mismatch;
mod passwords;
mod path_change;
mod priorities;
mod rekeying;
mod replay;
mod reports;
mod roaming;
mod server_key;
mod stats;
mod tokens;
