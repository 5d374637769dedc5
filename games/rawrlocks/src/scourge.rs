//! Scourge: an explosion around the caster that throws everybody near away from it.

use samestep_sync::Events;

use crate::ability::Ability;
use crate::avatar::RADIUS;
use crate::damage::Blow;
use crate::event::RawrlocksEvent;
use crate::place::Place;
use crate::rawrlocks::Rawrlocks;

impl Rawrlocks {
    /// Hurts every enemy that is at least partly within reach.
    pub(crate) fn scourge(&mut self, at: usize, events: &mut Events<RawrlocksEvent>) {
        let caster = self.avatars.as_slice()[at];
        let stats = Ability::Scourge.stats();
        let damage = stats.damage.saturating_mul(self.strength_of(caster.player));
        for other in 0..self.avatars.len() {
            let (id, target) = (self.avatars.ids()[other], self.avatars.as_slice()[other]);
            let way = caster.place().to(target.place());
            let is_near = way.length() <= stats.reach + RADIUS;
            if target.player == caster.player || !target.is_alive() || !is_near {
                continue;
            }
            let away = match way {
                // Exactly where the caster is: where that looks.
                Place::CENTRE => caster.look.way(stats.knockback),
                way => way.with_length(stats.knockback),
            };
            let blow = Blow {
                by: caster.player,
                ability: Ability::Scourge,
                damage,
                knockback: away,
            };
            self.hurt(id, blow, events);
        }
    }
}
