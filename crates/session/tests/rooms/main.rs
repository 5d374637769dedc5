//! Rooms of several programs in virtual time. One program, because each would compile sessions anew.
//! `cargo test -p samestep-session --test rooms splits` runs one of its parts.

mod doors;
mod figures;
mod games;
mod invited;
mod joining;
mod mesh;
mod messages_confirmed;
mod messages_golden;
mod messages_leaving;
mod messages_room;
mod messages_typed;
mod messages_unconfirmed;
mod migration;
mod quiet;
mod refused;
mod reports;
mod resume;
mod room;
mod shared;
mod splits;
mod variables;
