//! Skirmish: a small real-time strategy game, rules only.
//!
//! Workers dig for gold, halls and barracks train units, squads move in formation, fight, and capture buildings; whoever
//! loses the last building is out, and its army serves the victor. Each side sees what is near its units; 2 to 64 players, tens of thousands of
//! units.
//!
//! Two bots play for a minute:
//!
//! ```
//! use samestep_skirmish::{Bot, Skirmish, SkirmishConfig, status_line};
//! use samestep_sync::{Live, PlayerId, Tick, TickInputs, World};
//!
//! let mut game = Live::new(Skirmish::new(&SkirmishConfig::default())?);
//! let mut bots = [0, 1].map(|player| Bot::new(7, PlayerId(player)));
//! let mut inputs = TickInputs::new();
//! inputs.set_players(&[PlayerId(0), PlayerId(1)]);
//! for tick in (0..3600).map(Tick) {
//!     inputs.clear();
//!     for bot in &mut bots {
//!         if let Some(command) = bot.decide(tick, game.state()) {
//!             inputs.give(bot.player(), &command);
//!         }
//!     }
//!     game.step(tick, &inputs);
//!     game.confirm(tick, &inputs);
//! }
//! assert!(game.state().sides().iter().all(|side| side.gathered > 100));
//! println!("{}", status_line(game.state(), None));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In a room, `game` and the model go into a `Match` of `samestep-session`, which calls all this.
//!
//! # Main types
//!
//! - [`Skirmish`] is the state with its rules, [`SkirmishConfig`] how it begins, [`Command`] what a player may do, [`SkirmishEvent`] what happens.
//! - [`Bot`] plays through the same commands, and knows no more than its side sees.
//! - [`Playable`](samestep_playable::Playable) is implemented for programs that play any game; [`status_line`] says in a line how things stand.
//!
//! # How it stays cheap
//!
//! Orders belong to squads, so that commanding a hundred units is one write. A unit thinks every eighth tick and goes straight on
//! in between; pushing apart, fog and capture take turns as well. Places are integers: nothing depends on how a machine computes.
//! A tick of a battle of 16,000 allocates nothing.
//!
//! # What it does not do
//!
//! No IO and no window. The ground is even: there are no obstacles, and no paths to be found around them.

mod bot;
mod building;
mod command;
mod config;
mod economy;
mod event;
mod fog;
mod formation;
mod grid;
mod keys;
mod orders;
mod place;
mod playable;
mod separate;
mod side;
mod skirmish;
mod terminal;
mod think;
mod unit;

pub use bot::Bot;
pub use building::{Building, BuildingId, BuildingKind, CAPTURE, CAPTURE_RADIUS, Mine};
pub use command::Command;
pub use config::{SkirmishConfig, SkirmishConfigError};
pub use event::SkirmishEvent;
pub use fog::FogBlock;
pub use keys::Hands;
pub use place::{ONE, Place};
pub use side::{MAX_SIDES, Order, SQUADS, Side, SideId, Squad};
pub use skirmish::Skirmish;
pub use terminal::status_line;
pub use unit::{Unit, UnitKind, UnitStats, Work};
