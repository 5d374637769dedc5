//! Hat Hunters: 2 to 4 players hide among characters that look alike, rules only.
//!
//! Every player has a character, and so has nobody: a dozen more walk the field by themselves, and look and walk the same. Stars appear here and
//! there; the first player who has collected enough wins the round. Players place boxes, collect items and use them against whomever they take for a
//! player. Whoever is about to win wears its hat, and everyone sees it.
//!
//! Four bots play for a minute:
//!
//! ```
//! use samestep_hat_hunters::{Bot, HatHunters, HatHuntersConfig};
//! use samestep_sync::{Live, PlayerId, Tick, TickInputs, World};
//!
//! let mut game = Live::new(HatHunters::new(&HatHuntersConfig::default())?);
//! let players = [0, 1, 2, 3].map(PlayerId);
//! let mut bots = players.map(|player| Bot::new(7, player));
//! let mut inputs = TickInputs::new();
//! inputs.set_players(&players);
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
//! for player in players {
//!     let stars = game.state().purse_of(player).map_or(0, |purse| purse.stars);
//!     println!("{player}: {stars} stars in round {}", game.state().round().number);
//! }
//! # assert!(game.state().stars().len() > 0 && game.state().hunters().len() == 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In a room, `game` and the model go into a `Match` of `samestep-session`, which calls all this.
//!
//! # Main types
//!
//! - [`HatHunters`] is the state with its rules, [`HatHuntersConfig`] how it begins, [`Controls`] what a player may do, [`HatHuntersEvent`] what happens.
//! - [`Mode`] and [`Rules`] say how a round is won; a [`CustomMode`] is a text file of one's own. [`Map`] is where it takes place: one that comes with the
//!   game ([`Builtin`]) or a text file of one's own.
//! - [`Confirmations`] says of each kind of effect when it counts, and [`Claim`] is an effect that waits.
//! - [`Bot`] plays through the same controls.
//!
//! To draw a match: [`field`](HatHunters::field), [`characters`](HatHunters::characters) (with [`silhouette`](Character::silhouette) and
//! [`hat`](Character::hat)), [`stars`](HatHunters::stars), [`containers`](HatHunters::containers), [`projectiles`](HatHunters::projectiles),
//! [`bombs`](HatHunters::bombs); for the player itself [`hunter`](HatHunters::hunter) and [`purse_of`](HatHunters::purse_of). A cell is [`ONE`] units wide, x
//! grows to the right and y down.
//!
//! # Who may know what
//!
//! Under a model in which an authority alone knows everything, each program is sent all characters, but who plays them and what they carry only of its own
//! players, and never what those intend that nobody plays. Ids and the order of rows tell nothing either: characters are created in a random order and
//! given to players at random, and one whose player leaves walks on. When a round is over everybody is shown; in the next one they are other characters.
//!
//! A program that knows part of the state simulates that part: others walk on as they walk, and what depends on more is left to the authority. The input of
//! a player that says nothing is [`Steer::Keep`], so that a character goes on as its row says.
//!
//! # Effects that are not taken back
//!
//! Where the authority may still change recent ticks, a box that disappears again or a star that was somebody else's is worse than one that comes
//! later. Such effects are decided in a tick and become a [`Claim`], which is judged when that tick cannot change any more: by boxes, stars, containers
//! and earlier claims, and never by where characters are by then. All chance follows from the seed and from what is settled. So what is settled
//! does not depend on when inputs arrived. Under models that never change a tick nothing waits.
//!
//! # What it does not do
//!
//! No IO and no window. Characters do not stop each other, and there are no teams.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bot;
mod brain;
mod character;
mod claim;
mod config;
mod confirmations;
mod controls;
mod event;
mod field;
mod hat_hunters;
mod item;
mod keys;
mod map;
mod mode;
mod motion;
mod path;
mod place;
mod playable;
mod round;
mod sight;
mod terminal;
mod things;

pub use bot::Bot;
pub use character::{BOOTS, Character, Hunter, Purse, Silhouette};
pub use claim::{Claim, Deed, MAX_CLAIMS};
pub use config::{HatHuntersConfig, HatHuntersConfigError, MAX_HUNTERS, MapChoice};
pub use confirmations::Confirmations;
pub use controls::{Controls, Steer};
pub use event::HatHuntersEvent;
pub use field::{Field, Ground, MAX_HEIGHT, MAX_WIDTH, Row};
pub use hat_hunters::HatHunters;
pub use item::{ItemKind, Items};
pub use keys::Hands;
pub use map::{Builtin, MAX_NAME, Map, MapError, MapErrorKind};
pub use mode::{CustomMode, MAX_AI, MAX_AT_ONCE, Mode, ModeError, ModeErrorKind, Rules};
pub use motion::{Body, FINE, FORCE, Obstacles, RADIUS, Velocity};
pub use place::{Cell, HEADINGS, Heading, ONE, Place};
pub use round::{BREAK, Round, Seat};
pub use things::{
    BLAST, Bomb, Container, FUSE, GREEN, GREEN_SPEED, PlacedBox, Projectile, STAR_SPEED, Star,
    THING,
};
