//! Rawrlocks: warlocks in a round arena that shrinks over lava, rules only.
//!
//! 2 to 10 players, each with an avatar that walks, throws fireballs, scourges who is near, teleports and thrusts itself. Hits throw an avatar
//! about; lava hurts it; the arena shrinks in steps until nothing is left of it. The last one alive wins the round, and another begins.
//!
//! Two bots fight until one of them has won twice:
//!
//! ```
//! use samestep_rawrlocks::{Bot, Rawrlocks, RawrlocksConfig};
//! use samestep_sync::{Live, PlayerId, Tick, TickInputs, World};
//!
//! let mut game = Live::new(Rawrlocks::new(&RawrlocksConfig::for_players(7, 2))?);
//! let mut bots = [0, 1].map(|player| Bot::new(7, PlayerId(player)));
//! let mut inputs = TickInputs::new();
//! inputs.set_players(&[PlayerId(0), PlayerId(1)]);
//! let has_won = |game: &Rawrlocks| game.seats().iter().any(|seat| seat.wins == 2);
//! let mut tick = Tick(0);
//! while !has_won(game.state()) {
//!     inputs.clear();
//!     for bot in &mut bots {
//!         if let Some(controls) = bot.decide(tick, game.state()) {
//!             inputs.give(bot.player(), &controls);
//!         }
//!     }
//!     game.step(tick, &inputs);
//!     game.confirm(tick, &inputs);
//!     tick = tick.next();
//! }
//! for seat in game.state().seats() {
//!     println!("{}: {} rounds won, {} kills", seat.player, seat.wins, seat.kills);
//! }
//! # assert!(tick < Tick(60 * 600));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In a room, `game` and the model go into a `Match` of `samestep-session`, which calls all this.
//!
//! # Main types
//!
//! - [`Rawrlocks`] is the state with its rules, [`RawrlocksConfig`] how it begins, [`Controls`] what a player may do, [`RawrlocksEvent`] what happens.
//! - [`Avatar`], [`Fireball`], [`PowerUp`], [`Arena`] and [`Round`] are what it consists of, [`Ability`] what an avatar can do.
//! - [`Bot`] plays through the same controls.
//!
//! Places are counted from the arena's centre, x to the right and y down; a yard is [`ONE`] units.
//!
//! # How it suits networks
//!
//! - Everything is an integer, so that a state that travels in part still fits to the last unit.
//! - Times are kept as the tick at which they end, not as the ticks left: waiting changes no state, and costs nothing.
//! - The aim of an ability is that of the input that asks for it, so that it is the same for everyone however long it is cast and wherever the cursor
//!   goes meanwhile.
//! - An avatar and the fireballs it has thrown are rows of their player, and their ids follow from it: whoever predicts its own gets them right,
//!   whatever others do. Power-ups, arena and round are rows of nobody: whether a power-up lies there and who has it is one row, so that exactly
//!   one has it.
//! - Everyone may know everything, and nothing is random but the turn of the circle on which a round begins and who gets a power-up that two reach
//!   at once; both follow from the seed.
//!
//! # What it does not do
//!
//! No IO and no window. Avatars do not stand in each other's way, and there are no teams. Hits are judged by where everyone is, not by where the
//! caster saw them.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod ability;
mod arena;
mod avatar;
mod bot;
mod cast;
mod config;
mod controls;
mod damage;
mod event;
mod fairness;
mod fireball;
mod keys;
mod leap;
mod motion;
mod place;
mod playable;
mod power_up;
mod rawrlocks;
mod round;
mod scourge;
mod seat;
mod terminal;

pub use ability::{Ability, AbilityStats};
pub use arena::{Arena, LAVA_DAMAGE, LAVA_PERIOD};
pub use avatar::{Aim, Avatar, Casting, HEALTH, RADIUS};
pub use bot::Bot;
pub use config::{MAX_PLAYERS, RawrlocksConfig, RawrlocksConfigError};
pub use controls::{Controls, Cursor};
pub use event::RawrlocksEvent;
pub use fireball::{FIREBALL_RADIUS, FIREBALL_SPEED, FIREBALL_TICKS, Fireball};
pub use keys::Hands;
pub use motion::{Body, MOST_KNOCKBACK, SPEED};
pub use place::{HEADINGS, Heading, ONE, Place};
pub use power_up::{POWER_UP_BACK, POWER_UP_RADIUS, POWER_UP_TICKS, PowerUp, PowerUpKind};
pub use rawrlocks::Rawrlocks;
pub use round::{Phase, Round};
pub use seat::Seat;
