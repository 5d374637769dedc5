//! Attacks of members on the models: each module says who the attacker is, what it can do, and what it wanted.
//!
//! An attacker is a member of the room: it has been admitted, and its messages arrive under its own peer id. It runs a program of its own, so
//! it writes any bytes that it likes. What a peer id proves is the matter of the layers below.

mod corpus;
mod delayed_spectators;
mod extremes;
mod flooding;
mod forged_attendance;
mod forged_inputs;
mod rewriting;
mod room;
mod told_tick;
