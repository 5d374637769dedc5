//! Sublockus: an arena platformer, rules only.
#![forbid(unsafe_code)]

mod ability;
mod arena;
mod bot;
mod character;
mod config;
mod controls;
mod event;
mod hits;
mod item;
mod motion;
mod place;
mod seat;
mod sight;
mod sublockus;
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
pub use motion::{Body, HALF, RUN, Velocity};
pub use place::{Angle, ONE, Place};
pub use seat::{BREAK, Round, Seat};
pub use sight::{HEARING, SIGHT};
pub use sublockus::Sublockus;
pub use terrain::{Block, MAX_HEIGHT, MAX_WIDTH, Row, Terrain};
