//! The simple bot, made to keep a network busy: it flees from lava, scourges who is near, and else walks about or throws fireballs.

use samestep_sync::Rng;

use super::{Wish, enemies, nearest};
use crate::ability::Ability;
use crate::avatar::Avatar;
use crate::place::{HEADINGS, Heading, ONE, Place};
use crate::rawrlocks::Rawrlocks;

/// How near the lava it may go, in units.
const EDGE: i32 = 45 * ONE;

#[derive(Clone, Debug, Default)]
pub(super) struct Wanderer {
    walk: Option<Heading>,
    think_at: u64,
}

impl Wanderer {
    pub fn decide(&mut self, tick: u64, own: &Avatar, game: &Rawrlocks, rng: &mut Rng) -> Wish {
        let clock = game.clock();
        let inwards = Heading::of(own.place().to(Place::CENTRE));
        let wish = |cast| Wish {
            walk: inwards,
            cast,
        };
        if game.arena().is_lava(own.place()) {
            let can = own.can_cast(Ability::Teleport, clock);
            return wish(can.then_some((Ability::Teleport, Place::CENTRE)));
        }
        let is_at_edge = game.arena().margin(own.place()) < EDGE;
        let reach = Ability::Scourge.stats().reach;
        let is_near =
            nearest(own, game).is_some_and(|other| own.place().distance(other.place()) <= reach);
        let mut cast = None;
        if is_near && own.can_cast(Ability::Scourge, clock) {
            cast = Some((Ability::Scourge, own.place()));
        } else if tick >= self.think_at {
            self.think_at = tick + 20 + u64::from(rng.below(40));
            match rng.below(2) {
                0 => self.walk = Some(Heading(rng.below(HEADINGS.into()) as u8)),
                _ => cast = aim_at_any(own, game, rng),
            }
        }
        let walk = if is_at_edge { inwards } else { self.walk };
        Wish { walk, cast }
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
