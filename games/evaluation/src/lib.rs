//! The evaluation game: as many entities as an experiment asks for, split evenly over the players, on random walks.
//!
//! It is a load, not a pastime: the entities have the fields of the published evaluation of lockstep (type, id, position, player, coordinates,
//! colour), each player gives eight commands a second, and nearly everything moves all the time.
//!
//! ```
//! use samestep_evaluation::{Command, Evaluation};
//! use samestep_sync::{Events, Inputs, PlayerId, Simulation, Tick};
//!
//! let mut game = Evaluation::new(1, 2, 1024);
//! let players = [PlayerId(0), PlayerId(1)];
//! let commands = [Command::Paint { first: 7, count: 1, colour: 3 }, Command::None];
//! game.step(&Inputs::new(Tick(0), &players, &commands, &[0]), &mut Events::new());
//! assert_eq!(game.entity(7).map(|entity| entity.colour), Some(3));
//! ```
//!
//! # Main types
//!
//! [`Evaluation`] is the state with its rules, [`Command`] what a player may do, [`script`] what the experiments' players do.
//!
//! # What it does not do
//!
//! Nobody wins, nothing collides, and entities are neither born nor die: their number is what an experiment sets.

mod command;
mod entity;
mod playable;
mod rules;
mod terminal;

pub use command::{COMMANDS_PER_SECOND, Command, script};
pub use entity::{COLOURS, Entity, WORLD};
pub use playable::Hands;
pub use rules::{Evaluation, SPEED, Takeover};
