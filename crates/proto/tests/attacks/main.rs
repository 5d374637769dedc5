//! Attacks on the protocol, each defeated: who the attacker is, what they can do and what they wanted is in the words of each file.
//!
//! `cargo test -p samestep-proto --test attacks paths` runs one of them.

#[path = "../pair/world.rs"]
#[allow(dead_code)]
mod world;

mod paths;
