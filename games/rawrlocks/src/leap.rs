//! Teleport and thrust: the two ways to get somewhere else quickly.

use samestep_sync::Events;

use crate::ability::Ability;
use crate::event::RawrlocksEvent;
use crate::place::Place;
use crate::rawrlocks::Rawrlocks;

impl Rawrlocks {
    /// Where a teleport from one place to another ends: the target projected into the arena, and no farther than it reaches.
    pub fn teleport_end(&self, from: Place, target: Place) -> Place {
        let way = from.to(self.arena.project(target));
        from.offset(way.at_most(Ability::Teleport.stats().reach))
    }

    /// Puts an avatar elsewhere. Its knockback goes on.
    pub(crate) fn teleport(
        &mut self,
        at: usize,
        target: Place,
        events: &mut Events<RawrlocksEvent>,
    ) {
        let from = self.avatars.as_slice()[at].place();
        let place = self.teleport_end(from, target);
        if let Some(avatar) = self.avatars.row_mut(at) {
            avatar.body.place = place;
            let player = avatar.player;
            events.emit(RawrlocksEvent::Teleported {
                player,
                from,
                to: place,
            });
        }
    }

    /// Throws an avatar into a direction, always equally hard.
    pub(crate) fn thrust(&mut self, at: usize, way: Place) {
        if let Some(avatar) = self.avatars.row_mut(at) {
            let knockback = way.with_length(Ability::Thrust.stats().knockback);
            avatar.body.push(knockback);
        }
    }
}
