//! Players that are programs.

use samestep_playable::Level;
use samestep_sync::{Input, PlayerId, Rng, Tick, random};

use crate::ability::Ability;
use crate::avatar::Avatar;
use crate::controls::{Controls, Cursor};
use crate::place::{Heading, Place};
use crate::rawrlocks::Rawrlocks;

mod duelist;
mod wanderer;

use duelist::Duelist;
use wanderer::Wanderer;

/// Ticks after which it says again what it holds, should it have been lost.
const REPEAT: u64 = 20;

/// Plays one avatar.
///
/// What it does follows from its seed and the states it is shown, and it acts through its controls, as anybody does.
#[derive(Clone, Debug)]
pub struct Bot {
    player: PlayerId,
    rng: Rng,
    mind: Mind,
    /// Its last input, and when it was given.
    held: Controls,
    held_at: u64,
}

/// How it decides.
#[derive(Clone, Debug)]
enum Mind {
    Wanderer(Wanderer),
    Duelist(Duelist),
}

/// What a bot wants to do now.
#[derive(Clone, Copy, Debug, Default)]
struct Wish {
    walk: Option<Heading>,
    cast: Option<(Ability, Place)>,
}

impl Bot {
    /// A bot of the [normal](Level::Normal) level that plays for `player`; bots of the same seed but different players differ.
    pub fn new(seed: u64, player: PlayerId) -> Self {
        Self {
            player,
            rng: Rng::new(random::hash(seed, u64::from(player.0), 2)),
            mind: Mind::Duelist(Duelist::new(Level::Normal)),
            held: Controls::default(),
            held_at: 0,
        }
    }

    /// The same, playing so well. The easy one flees from lava, scourges who is near, and else walks about or throws fireballs at where somebody
    /// is; the others lead their shots, dodge, take power-ups and save themselves.
    #[must_use]
    pub fn at(mut self, level: Level) -> Self {
        self.mind = match level {
            Level::Easy => Mind::Wanderer(Wanderer::default()),
            Level::Normal | Level::Hard => Mind::Duelist(Duelist::new(level)),
        };
        self
    }

    /// Whom it plays for.
    pub fn player(&self) -> PlayerId {
        self.player
    }

    /// Its input in this tick; `None` if it is as before.
    pub fn decide(&mut self, tick: Tick, game: &Rawrlocks) -> Option<Controls> {
        let controls = self.controls(tick, game);
        let is_news = controls != self.held.predict();
        let is_due = self.looks() && tick.0 >= self.held_at + REPEAT;
        self.held = controls;
        (is_news || is_due).then(|| {
            self.held_at = tick.0;
            controls
        })
    }

    /// Decides its controls in this tick.
    pub fn controls(&mut self, tick: Tick, game: &Rawrlocks) -> Controls {
        let own = game.avatar_of(self.player).copied();
        let Some(own) = own.filter(Avatar::is_alive) else {
            return Controls::default();
        };
        let wish = match &mut self.mind {
            Mind::Wanderer(mind) => mind.decide(tick.0, &own, game, &mut self.rng),
            Mind::Duelist(mind) => mind.decide(tick.0, &own, game, &mut self.rng),
        };
        match wish.cast {
            Some((ability, at)) => Controls {
                walk: wish.walk,
                ..Controls::casting(ability, at)
            },
            None => Controls {
                walk: wish.walk,
                cursor: self.look(tick.0, &own, game),
                cast: None,
            },
        }
    }

    /// Whether it looks at others when it does nothing to them. The simple one acts only when it does something else than before.
    fn looks(&self) -> bool {
        matches!(self.mind, Mind::Duelist(_))
    }

    /// Now and then it turns to who is nearest.
    fn look(&self, tick: u64, own: &Avatar, game: &Rawrlocks) -> Cursor {
        match self.looks() && tick.is_multiple_of(REPEAT) {
            true => nearest(own, game).map_or(self.held.cursor, |other| Cursor::at(other.place())),
            false => self.held.cursor,
        }
    }
}

/// The living enemies of an avatar, in no particular order.
fn enemies<'a>(own: &Avatar, game: &'a Rawrlocks) -> impl Iterator<Item = &'a Avatar> {
    let player = own.player;
    let avatars = game.avatars.as_slice().iter();
    avatars.filter(move |other| other.player != player && other.is_alive())
}

/// The nearest living enemy.
fn nearest<'a>(own: &Avatar, game: &'a Rawrlocks) -> Option<&'a Avatar> {
    enemies(own, game).min_by_key(|other| (own.place().distance(other.place()), other.player))
}
