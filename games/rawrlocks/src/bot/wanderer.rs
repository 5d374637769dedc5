//! The simple bot, made to keep a network busy: it flees from lava, scourges who is near, and else walks about or throws fireballs.

use samestep_sync::Rng;

use super::{Wish, enemies, nearest};
use crate::ability::Ability;
use crate::avatar::Avatar;
use crate::place::{HEADINGS, Heading, ONE, Place};
use crate::rawrlocks::Rawrlocks;

/// How near the lava it may go, in units.
const EDGE: i32 = 45 * ONE;
/// From one decision to the next: once to twice as many ticks.
const THINK: u64 = 15;
/// From one cast to the next, in ticks.
const BETWEEN_CASTS: u64 = 20;

#[derive(Clone, Debug, Default)]
pub(super) struct Wanderer {
    walk: Option<Heading>,
    think_at: u64,
    /// Nothing is cast before this tick: an input that is delayed has not taken effect yet, and is not given again in every tick.
    cast_from: u64,
}

impl Wanderer {
    pub fn decide(&mut self, tick: u64, own: &Avatar, game: &Rawrlocks, rng: &mut Rng) -> Wish {
        let mut wish = self.wish(tick, own, game, rng);
        wish.cast = wish.cast.filter(|_| tick >= self.cast_from);
        if wish.cast.is_some() {
            self.cast_from = tick + BETWEEN_CASTS;
        }
        wish
    }

    fn wish(&mut self, tick: u64, own: &Avatar, game: &Rawrlocks, rng: &mut Rng) -> Wish {
        let clock = game.clock();
        let is_in_lava = game.arena().is_lava(own.place());
        if is_in_lava || game.arena().margin(own.place()) < EDGE {
            self.turn_inwards(own.place());
        }
        let wish = |cast| Wish {
            walk: self.walk,
            cast,
        };
        if is_in_lava {
            let can = own.can_cast(Ability::Teleport, clock);
            return wish(can.then_some((Ability::Teleport, Place::CENTRE)));
        }
        let reach = Ability::Scourge.stats().reach;
        let is_near =
            nearest(own, game).is_some_and(|other| own.place().distance(other.place()) <= reach);
        if is_near && own.can_cast(Ability::Scourge, clock) {
            return wish(Some((Ability::Scourge, own.place())));
        }
        if tick < self.think_at {
            return wish(None);
        }
        self.think_at = tick + THINK + u64::from(rng.below(THINK as u32));
        let throws = rng.below(2) == 0;
        let cast = aim_at_any(own, game, rng).filter(|_| throws);
        if cast.is_none() {
            self.walk = Some(Heading(rng.below(HEADINGS.into()) as u8));
            if game.arena().margin(own.place()) < EDGE {
                self.turn_inwards(own.place());
            }
        }
        Wish {
            walk: self.walk,
            cast,
        }
    }

    /// Turns towards the centre, unless it walks about that way already: who turned in every tick would make its peers repair every tick.
    fn turn_inwards(&mut self, place: Place) {
        let inwards = Heading::of(place.to(Place::CENTRE));
        let leads_there = |walk: Heading, inwards: Heading| {
            let apart = (walk.0 + HEADINGS - inwards.0) % HEADINGS;
            apart.min(HEADINGS - apart) <= HEADINGS / 8
        };
        let is_right = self.walk.zip(inwards);
        if !is_right.is_some_and(|(walk, inwards)| leads_there(walk, inwards)) {
            self.walk = inwards;
        }
    }
}

/// A fireball at where one of the others is.
fn aim_at_any(own: &Avatar, game: &Rawrlocks, rng: &mut Rng) -> Option<(Ability, Place)> {
    if !own.can_cast(Ability::Fireball, game.clock()) {
        return None;
    }
    let count = enemies(own, game).count() as u32;
    let nth = if count > 0 { rng.below(count) } else { 0 };
    let target = enemies(own, game).nth(nth as usize)?;
    Some((Ability::Fireball, target.place()))
}
