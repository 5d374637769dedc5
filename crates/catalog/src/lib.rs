//! The games there are: one list for the command-line program, the arcade, the sandbox's tests, the lab and the WebAssembly check.
//!
//! ```
//! use samestep_catalog::{GAMES, Visitor, visit};
//! use samestep_playable::{Playable, Setup};
//!
//! struct Begin;
//!
//! impl Visitor for Begin {
//!     type Output = Result<u64, String>;
//!
//!     fn visit<G: Playable>(self) -> Self::Output {
//!         Ok(G::begin(&Setup::default_of::<G>(7))?.checksum())
//!     }
//! }
//!
//! for game in GAMES {
//!     let checksum = visit(game.name, Begin).expect("it is listed")?;
//!     println!("{}, {}: begins with {checksum:016x}", game.title, game.about);
//! }
//! assert!(visit("chess", Begin).is_none());
//! # Ok::<(), String>(())
//! ```
//!
//! # To add a game
//!
//! Its crate implements [`Playable`]. Here it is a dependency, a re-export and a line of [`for_each_game`]; the arcade has
//! a file in `src/games/` that draws it, and does not compile without.
#![forbid(unsafe_code)]

pub use samestep_evaluation as evaluation;
pub use samestep_hat_hunters as hat_hunters;
pub use samestep_rawrlocks as rawrlocks;
pub use samestep_skirmish as skirmish;
pub use samestep_sublockus as sublockus;

use samestep_playable::{Playable, Sizes};

/// Calls a macro with all games, as `name => type` with a comma after each. The first game is the default.
#[macro_export]
macro_rules! for_each_game {
    ($callback:ident) => {
        $callback! {
            sublockus => $crate::sublockus::Sublockus,
            hat_hunters => $crate::hat_hunters::HatHunters,
            rawrlocks => $crate::rawrlocks::Rawrlocks,
            skirmish => $crate::skirmish::Skirmish,
            evaluation => $crate::evaluation::Evaluation,
        }
    };
}

/// What can be said about a game without its type.
#[derive(Clone, Copy, Debug)]
pub struct GameInfo {
    /// The name in links and on command lines.
    pub name: &'static str,
    /// The name on the screen.
    pub title: &'static str,
    /// A few words about what kind of game it is.
    pub about: &'static str,
    /// The default number of players.
    pub players: u16,
    /// The sizes it can have; `None` if it has only one.
    pub sizes: Option<Sizes>,
}

impl GameInfo {
    const fn of<G: Playable>() -> GameInfo {
        GameInfo {
            name: G::NAME,
            title: G::TITLE,
            about: G::ABOUT,
            players: G::PLAYERS,
            sizes: G::SIZES,
        }
    }
}

/// Something to do with a game whose type is not known before.
pub trait Visitor {
    /// What comes of it.
    type Output;

    /// Does it.
    fn visit<G: Playable>(self) -> Self::Output;
}

macro_rules! list {
    ($($name:ident => $game:ty,)*) => {
        /// All games.
        pub const GAMES: &[GameInfo] = &[$(GameInfo::of::<$game>()),*];

        /// The names of all games.
        pub const NAMES: &[&str] = &[$(<$game as samestep_sync::Simulation>::NAME),*];

        /// Visits the game of that name; `None` if there is none.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            match name {
                $(<$game as samestep_sync::Simulation>::NAME => Some(visitor.visit::<$game>()),)*
                _ => None,
            }
        }
    };
}
for_each_game!(list);
