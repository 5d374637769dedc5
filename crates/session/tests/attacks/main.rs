//! Attacks of members on a room: each module says who the attacker is, what it can do, and what it wanted.
//!
//! An attacker is a program that has been admitted, or that at least has a connection: its packets are sealed with valid keys. It says whatever it
//! likes (`samestep_session::hostile`). What the keys of a connection prove is the matter of the protocol's own attacks.

mod corpus;
mod extremes;
mod flooding;
mod identity;
mod leading;
mod mesh_relaying;
mod relaying;
#[path = "../rooms/room/mod.rs"]
mod room;
mod sponsoring;
mod variables;
mod visits;
