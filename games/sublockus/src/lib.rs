//! Sublockus: an arena platformer, rules only.
//!
//! Characters run and jump in an arena of blocks, strike, throw fireballs and cast bolts for mana, pick up items and wear them. Whoever kills gets
//! a frag; whoever dies enters again at a spawn point. 2 to 32 players, who come and go as they like: a newcomer is left alone for a while, and one who comes
//! back finds its score.
//!
//! Two bots fight for a minute:
//!
//! ```
//! use samestep_sublockus::{Bot, Sublockus, SublockusConfig};
//! use samestep_sync::{Live, PlayerId, Tick, TickInputs, World};
//!
//! let mut game = Live::new(Sublockus::new(&SublockusConfig::duel(7))?);
//! let mut bots = [0, 1].map(|player| Bot::new(7, PlayerId(player)));
//! let mut inputs = TickInputs::new();
//! inputs.set_players(&[PlayerId(0), PlayerId(1)]);
//! for tick in (0..3600).map(Tick) {
//!     inputs.clear();
//!     for bot in &mut bots {
//!         if let Some(controls) = bot.decide(tick, game.state()) {
//!             inputs.give(bot.player(), &controls);
//!         }
//!     }
//!     game.step(tick, &inputs);
//!     game.confirm(tick, &inputs);
//! }
//! for seat in game.state().seats() {
//!     println!("{}: {} frags, {} deaths", seat.player, seat.frags, seat.deaths);
//! }
//! # assert!(game.state().seats().iter().any(|seat| seat.frags > 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In a room, `game` and the model go into a `Match` of `samestep-session`, which calls all this.
//!
//! # Main types
//!
//! - [`Sublockus`] is the state with its rules, [`SublockusConfig`] how it begins, [`Controls`] what a player may do, [`SublockusEvent`] what happens.
//! - [`Arena`] is where it takes place: one that comes with the game ([`Builtin`]), or a text of one's own, which is part of the state and so reaches whoever joins.
//! - [`Bot`] plays through the same controls.
//!
//! To draw a game: [`terrain`](Sublockus::terrain), [`characters`](Sublockus::characters), [`projectiles`](Sublockus::projectiles),
//! [`items`](Sublockus::items), [`seats`](Sublockus::seats). A block is [`ONE`] units wide, x grows to the right and y down. Characters that are not
//! [in the arena](Character::is_in) yet are not drawn.
//!
//! # How it suits networks
//!
//! - Everything is an integer, so that a state that travels in part still fits to the last unit.
//! - Times are kept as the tick at which they end, not as the ticks left: waiting changes no state, and costs nothing.
//! - Characters, fireballs and what is dropped have ids that follow from their player: whoever predicts its own gets them right, whatever others do. A
//!   character that enters again is another one, so that nothing slides from where it died to there.
//! - Bolts and strikes are judged by where the attacker saw the others, where a model knows that.
//! - With `fog`, programs get only what their players see or hear. The dice for spawn points are known to the authority alone.
//!
//! # What it does not do
//!
//! No IO and no window. Blocks cannot be broken, and there are no teams.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod ability;
mod arena;
mod bot;
mod character;
mod config;
mod controls;
mod event;
mod hits;
mod item;
mod keys;
mod motion;
mod place;
mod playable;
mod seat;
mod sight;
mod sublockus;
mod terminal;
mod terrain;
mod things;

pub use ability::{Ability, AbilityStats};
pub use arena::{Arena, ArenaError, ArenaErrorKind, Builtin, MAX_NAME, MAX_SPOTS, Pad, Spot};
pub use bot::Bot;
pub use character::{Character, FIREBALL, FIREBALL_SPEED, HEALTH, MANA, Projectile};
pub use config::{ArenaChoice, MAX_PLAYERS, SublockusConfig, SublockusConfigError};
pub use controls::{Act, Controls};
pub use event::SublockusEvent;
pub use item::{BACK, Item, ItemKind, Kit, LITTER, POCKETS, Part};
pub use keys::Hands;
pub use motion::{Body, HALF, RUN, Velocity};
pub use place::{Angle, ONE, Place};
pub use seat::{BREAK, Round, Seat};
pub use sight::{HEARING, SIGHT};
pub use sublockus::Sublockus;
pub use terrain::{Block, MAX_HEIGHT, MAX_WIDTH, Row, Terrain};
