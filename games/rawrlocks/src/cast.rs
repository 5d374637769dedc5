//! Casting: an ability is queued with its aim, shown while it is cast, and takes effect when its cast time is over.

use samestep_sync::{Events, Inputs};

use crate::ability::Ability;
use crate::avatar::{Aim, Avatar, Casting};
use crate::controls::Controls;
use crate::event::RawrlocksEvent;
use crate::place::{Heading, ONE, Place};
use crate::rawrlocks::Rawrlocks;

/// The length that the direction of an aim is kept with: enough to tell half a yard in the longest shot.
const AIM_LENGTH: i32 = 16 * ONE;

impl Rawrlocks {
    /// Walks and casts as the players say.
    pub(crate) fn obey(
        &mut self,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<RawrlocksEvent>,
    ) {
        let clock = self.clock;
        for avatar in self.avatars.as_mut_slice() {
            if !avatar.is_alive() {
                continue;
            }
            let controls = inputs.of(avatar.player).copied().unwrap_or_default();
            avatar.walk = controls.walk;
            let cursor = controls.cursor.place();
            avatar.look = Heading::of(avatar.place().to(cursor)).unwrap_or(avatar.look);
            let Some(ability) = controls.cast.filter(|cast| avatar.can_cast(*cast, clock)) else {
                continue;
            };
            avatar.casting = Some(Casting {
                ability,
                aim: aim_of(avatar, ability, cursor),
                fires_at: clock.saturating_add(ability.stats().cast_ticks),
            });
            events.emit(RawrlocksEvent::CastBegan {
                player: avatar.player,
                ability,
                place: avatar.place(),
            });
        }
    }

    /// Lets abilities take effect whose cast time is over.
    pub(crate) fn fire_casts(&mut self, events: &mut Events<RawrlocksEvent>) {
        let clock = self.clock;
        for at in 0..self.avatars.len() {
            let Some(avatar) = self.avatars.row_mut(at) else {
                continue;
            };
            let due = avatar.casting.filter(|casting| clock >= casting.fires_at);
            let Some(Casting { ability, aim, .. }) = due.filter(|_| avatar.is_alive()) else {
                continue;
            };
            avatar.casting = None;
            avatar.ready[ability as usize] = clock.saturating_add(ability.stats().cooldown);
            events.emit(RawrlocksEvent::Fired {
                player: avatar.player,
                ability,
                place: avatar.place(),
            });
            match (ability, aim) {
                (Ability::Fireball, Aim::Towards(way)) => self.launch(at, way),
                (Ability::Scourge, _) => self.scourge(at, events),
                (Ability::Teleport, Aim::At(target)) => self.teleport(at, target, events),
                (Ability::Thrust, Aim::Towards(way)) => self.thrust(at, way),
                // A forged state: the aim is not one of this ability.
                _ => {}
            }
        }
    }
}

/// What an ability is aimed at if it is queued now.
fn aim_of(avatar: &Avatar, ability: Ability, cursor: Place) -> Aim {
    match ability {
        Ability::Scourge => Aim::Around,
        Ability::Teleport => Aim::At(cursor),
        Ability::Fireball | Ability::Thrust => {
            let way = match avatar.place().to(cursor) {
                // The cursor is on the avatar itself: where it looks.
                Place::CENTRE => avatar.look.way(AIM_LENGTH),
                way => way.with_length(AIM_LENGTH),
            };
            Aim::Towards(way)
        }
    }
}
