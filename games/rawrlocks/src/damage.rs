//! Damage, death, and to whom a kill is credited.

use samestep_sync::{EntityId, Events, PlayerId};

use crate::ability::Ability;
use crate::event::RawrlocksEvent;
use crate::place::Place;
use crate::rawrlocks::Rawrlocks;

/// What a hit does.
#[derive(Clone, Copy)]
pub(crate) struct Blow {
    pub by: PlayerId,
    pub ability: Ability,
    pub damage: i16,
    pub knockback: Place,
}

impl Rawrlocks {
    /// Hits an avatar: it is thrown, and while a round is fought it loses health and remembers who did that.
    pub(crate) fn hurt(
        &mut self,
        target: EntityId,
        blow: Blow,
        events: &mut Events<RawrlocksEvent>,
    ) {
        let is_fighting = self.is_fighting();
        let Some(victim) = self.avatars.get_mut(target) else {
            return;
        };
        victim.body.push(blow.knockback);
        let damage = if is_fighting { blow.damage.max(0) } else { 0 };
        if is_fighting {
            victim.health = victim.health.saturating_sub(damage);
            victim.hurt_by = Some(blow.by);
        }
        events.emit(RawrlocksEvent::Hit {
            victim: victim.player,
            by: blow.by,
            ability: blow.ability,
            damage,
            place: victim.place(),
        });
    }

    /// Avatars without health die. The kill is credited to who dealt the last damage, also if lava did the rest.
    pub(crate) fn bury(&mut self, events: &mut Events<RawrlocksEvent>) {
        for at in 0..self.avatars.len() {
            let Some(avatar) = self.avatars.row_mut(at) else {
                continue;
            };
            if avatar.is_dead || avatar.health > 0 {
                continue;
            }
            (avatar.is_dead, avatar.casting, avatar.walk) = (true, None, None);
            avatar.body.knockback = Place::CENTRE;
            let (victim, killer, place) = (avatar.player, avatar.hurt_by, avatar.place());
            for seat in &mut self.seats {
                if seat.player == victim {
                    seat.deaths = seat.deaths.saturating_add(1);
                } else if Some(seat.player) == killer {
                    seat.kills = seat.kills.saturating_add(1);
                }
            }
            self.release_power_ups(victim);
            events.emit(RawrlocksEvent::Died {
                victim,
                killer,
                place,
            });
        }
    }
}
