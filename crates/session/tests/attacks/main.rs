//! Attacks of members on a room: each module says who the attacker is, what it can do, and what it wanted.
//!
//! An attacker is a program that has been admitted, or that at least has a connection: its packets are sealed with valid keys. It says whatever it
//! likes (`samestep_session::hostile`). Who may be admitted, and what keys prove, is the matter of the handshake.

mod corpus;
mod extremes;
mod flooding;
mod leading;
mod relaying;
#[path = "../room/mod.rs"]
mod room;
mod visits;
