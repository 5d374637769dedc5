//! Fireballs: they fly straight for a limited range and hit the first enemy they meet.

use samestep_sync::{EntityId, Events, PlayerId, Record};

use crate::ability::Ability;
use crate::avatar::{Avatar, RADIUS};
use crate::damage::Blow;
use crate::event::RawrlocksEvent;
use crate::place::{ONE, Place};
use crate::rawrlocks::Rawrlocks;
use crate::seat::id_of;

/// How far a fireball reaches from its middle, in units.
pub const FIREBALL_RADIUS: i32 = 10 * ONE;

/// How fast it flies, in units per tick: 360 yards a second.
pub const FIREBALL_SPEED: i32 = 6 * ONE;

/// Ticks after which it has flown its range.
pub const FIREBALL_TICKS: u32 = (Ability::Fireball.stats().reach / FIREBALL_SPEED) as u32;

/// A fireball on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Fireball {
    /// Who cast it. What it hits is this player's affair.
    #[field(owner)]
    pub player: PlayerId,
    /// Its middle.
    pub place: Place,
    /// Units per tick.
    pub velocity: Place,
    /// The damage of a hit: that of its caster when it was fired.
    pub damage: i16,
    /// When it has flown its range.
    pub until: u32,
}

impl Fireball {
    /// Which part of its next step it has flown when it meets an avatar that stands, in 1024ths; `None` if it does not meet it.
    pub fn meets(&self, avatar: Place) -> Option<i32> {
        const WHOLE: i64 = 1024;
        let (from, step) = (
            self.place.bounded(),
            self.velocity.at_most(4 * FIREBALL_SPEED),
        );
        let reach = i64::from(RADIUS + FIREBALL_RADIUS);
        let to = from.to(avatar.bounded());
        let gap = to.dot(to) - reach * reach;
        if gap <= 0 {
            return Some(0);
        }
        // The first part at which the distance is the reach: the smaller root of a quadratic equation.
        let (along, squared) = (to.dot(step), step.dot(step));
        if along <= 0 || squared == 0 {
            return None;
        }
        let (along, squared, gap) = (i128::from(along), i128::from(squared), i128::from(gap));
        let discriminant = along * along - squared * gap;
        if discriminant < 0 {
            return None;
        }
        let part = (along - discriminant.isqrt()) * i128::from(WHOLE) / squared;
        (part <= i128::from(WHOLE)).then_some(part.max(0) as i32)
    }
}

impl Rawrlocks {
    /// Sends a fireball off from an avatar.
    pub(crate) fn launch(&mut self, at: usize, way: Place) {
        let until = self.later(FIREBALL_TICKS);
        let stats = Ability::Fireball.stats();
        let player = self.avatars.as_slice()[at].player;
        let damage = stats.damage.saturating_mul(self.strength_of(player));
        let Some(caster) = self.avatars.row_mut(at) else {
            return;
        };
        let id = id_of(player, caster.fireballs);
        caster.fireballs = caster.fireballs.wrapping_add(1);
        let fireball = Fireball {
            player,
            place: caster.place(),
            velocity: way.with_length(FIREBALL_SPEED),
            damage,
            until,
        };
        self.fireballs.insert_fixed(id, fireball);
    }

    /// Whom a fireball hits in its next step, and after which part of it: the first on its way.
    pub(crate) fn hit_of(&self, fireball: &Fireball) -> Option<(i32, EntityId)> {
        let enemies = self.avatars.iter();
        let enemies =
            enemies.filter(|(_, other)| other.player != fireball.player && other.is_alive());
        let met = |(id, other): (EntityId, &Avatar)| {
            let part = fireball.meets(other.place())?;
            Some((part, other.player, id))
        };
        let first = enemies.filter_map(met).min();
        first.map(|(part, _, id)| (part, id))
    }

    /// Fireballs fly on, and end at the first they meet or at the end of their range.
    pub(crate) fn move_fireballs(&mut self, events: &mut Events<RawrlocksEvent>) {
        for at in (0..self.fireballs.len()).rev() {
            let (id, mut fireball) = (self.fireballs.ids()[at], self.fireballs.as_slice()[at]);
            let step = fireball.velocity.at_most(4 * FIREBALL_SPEED);
            let (player, from) = (fireball.player, fireball.place.bounded());
            if self.clock >= fireball.until {
                self.fireballs.remove(id);
                let place = from;
                events.emit(RawrlocksEvent::Faded { player, place });
            } else if let Some((part, target)) = self.hit_of(&fireball) {
                let place = from.offset(Place::new(step.x * part / 1024, step.y * part / 1024));
                self.fireballs.remove(id);
                events.emit(RawrlocksEvent::Burst { player, place });
                let blow = Blow {
                    by: player,
                    ability: Ability::Fireball,
                    damage: fireball.damage,
                    knockback: step.with_length(Ability::Fireball.stats().knockback),
                };
                self.hurt(target, blow, events);
            } else if let Some(row) = self.fireballs.row_mut(at) {
                fireball.place = from.offset(step);
                *row = fireball;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flying(velocity: Place) -> Fireball {
        Fireball {
            player: PlayerId(0),
            place: Place::CENTRE,
            velocity,
            damage: 1,
            until: 9,
        }
    }

    #[test]
    fn it_meets_what_is_in_its_way() {
        let right = flying(Place::new(FIREBALL_SPEED, 0));
        let at = |x: i32, y: i32| right.meets(Place::yards(x, y));
        assert_eq!(at(0, 0), Some(0), "it is there already");
        assert_eq!(at(33, 0), Some(0));
        assert_eq!(at(36, 0), Some(512), "half of six yards");
        assert_eq!(at(39, 0), Some(1024));
        assert_eq!(at(40, 0), None, "not in this tick");
        assert_eq!(at(-36, 0), None, "behind it");
        assert_eq!(at(3, 34), None, "beside it");
        assert!(at(3, 33).is_some());
        let still = flying(Place::CENTRE);
        assert_eq!(still.meets(Place::yards(36, 0)), None);
        let forged = flying(Place::new(i32::MAX, i32::MIN));
        assert!(forged.meets(Place::new(i32::MIN, i32::MAX)).is_none());
    }
}
