//! Modes, and the rules that a mode sets.

use samestep_sync::Record;

use crate::item::Items;

mod parse;

pub use parse::{CustomMode, ModeError, ModeErrorKind};

/// How a round is won, beyond having enough stars.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub enum Mode {
    /// By stars alone.
    #[default]
    Stars,
    /// Who wears a hat can be caught by another player's character, and is out then. The last one left wins.
    HatCatch,
    /// A character that items hit too often is out. The last player left wins.
    Elimination,
    /// Bushes grow over the field.
    Bushes,
}

impl Mode {
    /// All there are.
    pub const ALL: [Mode; 4] = [Mode::Stars, Mode::HatCatch, Mode::Elimination, Mode::Bushes];

    /// Its name in files and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Stars => "stars",
            Mode::HatCatch => "hat-catch",
            Mode::Elimination => "elimination",
            Mode::Bushes => "bushes",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Mode> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Its rules.
    pub fn rules(self) -> Rules {
        let rules = Rules {
            mode: self,
            ..Rules::default()
        };
        match self {
            Mode::Stars | Mode::Bushes => rules,
            // A hat that comes early makes a chase of it.
            Mode::HatCatch => Rules {
                hat: Some(2),
                ..rules
            },
            Mode::Elimination => Rules {
                containers: 6,
                ..rules
            },
        }
    }
}

/// The rules that players agree on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Rules {
    /// How a round is won.
    pub mode: Mode,
    /// Stars that win a round, from 1 to 20. Default 5.
    pub stars: u8,
    /// Stars from which on a player's character wears its hat. Default `None`: one star before the win.
    pub hat: Option<u8>,
    /// Characters that nobody plays, up to 40. Default 12.
    pub ai: u8,
    /// Won rounds that win the match, from 1 to 20. Default 3.
    pub rounds: u8,
    /// Ticks after which the match is over. Default `None`: it takes as long as it takes.
    pub time_limit: Option<u32>,
    /// Ticks from one box to the next of the same character. Default 240.
    pub cooldown: u32,
    /// Ticks after which a box that was placed falls apart by itself, so that nobody is walled in for good. Default 2400.
    pub box_life: u32,
    /// How fast characters walk, in percent. Default 100.
    pub speed: u8,
    /// Stars that lie on the field at once. Default 3.
    pub stars_at_once: u8,
    /// Item containers that lie on the field at once. Default 4.
    pub containers: u8,
    /// How often a green projectile bounces before it breaks. Default 5.
    pub bounces: u8,
    /// Hits that eliminate a character in [`Mode::Elimination`]. Default 3.
    pub hits: u8,
    /// Ticks from one bush to the next in [`Mode::Bushes`]. Default 90.
    pub growth: u32,
    /// What containers may hold. Default: everything.
    pub items: Items,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            mode: Mode::Stars,
            stars: 5,
            hat: None,
            ai: 12,
            rounds: 3,
            time_limit: None,
            cooldown: 240,
            box_life: 2400,
            speed: 100,
            stars_at_once: 3,
            containers: 4,
            bounces: 5,
            hits: 3,
            growth: 90,
            items: Items::ALL,
        }
    }
}

/// The most characters that nobody plays.
pub const MAX_AI: u8 = 40;

/// The most things of a kind that lie on the field at once.
pub const MAX_AT_ONCE: u8 = 12;

impl Rules {
    /// Stars from which on a player's character wears its hat.
    pub fn hat_stars(&self) -> u8 {
        self.hat.unwrap_or(self.stars.saturating_sub(1)).max(1)
    }
}
