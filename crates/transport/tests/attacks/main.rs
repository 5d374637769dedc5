//! Attacks on the transports, each defeated: who the attacker is, what they can do and what they wanted is in the words of each file.
//!
//! `cargo test -p samestep-transport --test attacks` runs them, over real sockets of this machine.

mod slow_loris;
