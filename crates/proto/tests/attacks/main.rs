//! Attacks on the protocol, each defeated: who the attacker is, what they can do and what they wanted is in the words of each file.
//!
//! `cargo test -p samestep-proto --test attacks floods` runs one of them.

#[path = "../pair/forge.rs"]
#[allow(dead_code)]
mod forge;
#[path = "../pair/world.rs"]
#[allow(dead_code)]
mod world;

mod impostor;

mod floods;
mod forged_answers;
mod passwords;
mod paths;
mod replacing;
mod secrets;
mod tokens;
mod visits;
