//! Where everybody stands in a squad: a block about twice as wide as deep, archers and workers behind.

use crate::place::{ONE, Place};
use crate::side::Squad;
use crate::skirmish::Skirmish;
use crate::think::THOUGHT;
use crate::unit::UnitKind;

/// From post to post, in steps.
const SPACING: i32 = ONE + ONE / 4;

impl Skirmish {
    /// Squads that are under way come nearer, a little slower than their slowest so that nobody is left behind, and wait while a
    /// quarter of them fights.
    pub(crate) fn march(&mut self, tick: u64) {
        let first = (tick % THOUGHT) as usize;
        for squad in self.squads.iter_mut().skip(first).step_by(THOUGHT as usize) {
            if squad.at != squad.place && u32::from(squad.engaged) * 4 <= squad.len() {
                let ticks = THOUGHT as i32;
                let (vx, vy) = squad
                    .at
                    .velocity_to(squad.place, squad.speed() * 7 / 8, ticks);
                squad.at = match (vx, vy) {
                    (0, 0) => squad.place,
                    _ => squad
                        .at
                        .offset(i32::from(vx) * ticks, i32::from(vy) * ticks),
                };
            }
            squad.engaged = 0;
        }
    }
}

impl Squad {
    /// The speed of its slowest.
    fn speed(&self) -> i32 {
        let kinds = UnitKind::ALL.iter().zip(&self.size);
        let slowest = kinds.filter(|(_, size)| **size > 0);
        slowest
            .map(|(kind, _)| kind.stats().speed)
            .min()
            .unwrap_or(0)
    }

    /// Takes the next free post.
    pub(crate) fn enlist(&mut self, kind: UnitKind) -> u16 {
        let free = &mut self.free[usize::from(is_behind(kind))];
        let post = *free;
        *free = free.saturating_add(1);
        post
    }

    /// Where a post is, as far as the squad has come.
    #[inline]
    pub(crate) fn post(&self, kind: UnitKind, post: u16) -> Place {
        let (front, behind) = (
            i32::from(self.size[1]) + i32::from(self.size[3]),
            i32::from(self.size[0]) + i32::from(self.size[2]),
        );
        let width = ((2 * (front + behind)) as u32).isqrt().max(4) as i32;
        let (post, ranks) = (i32::from(post), (front + width - 1) / width);
        let (rank, file) = (post / width, post % width);
        let rank = match is_behind(kind) {
            true => ranks + rank,
            false => rank,
        };
        // In half spacings, so that an even number of files has its middle between two of them.
        let sideways = (2 * file - (width - 1)) * SPACING / 2;
        let backwards = (2 * rank - (width / 2)) * SPACING / 2;
        let (fx, fy) = (i32::from(self.facing.0), i32::from(self.facing.1));
        self.at.offset(
            (-fy * sideways - fx * backwards) / 64,
            (fx * sideways - fy * backwards) / 64,
        )
    }
}

const fn is_behind(kind: UnitKind) -> bool {
    matches!(kind, UnitKind::Worker | UnitKind::Archer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_are_apart_and_archers_stand_behind() {
        let mut squad = Squad::new(Place::new(100, 100));
        squad.command(crate::Order::Move, Place::new(150, 120));
        squad.size = [0, 60, 40, 0];
        let places: Vec<_> = (0..60)
            .map(|_| UnitKind::Spear)
            .chain((0..40).map(|_| UnitKind::Archer))
            .map(|kind| {
                let post = squad.enlist(kind);
                (kind, squad.post(kind, post))
            })
            .collect();
        for (at, (_, place)) in places.iter().enumerate() {
            for (_, other) in &places[..at] {
                assert!(!place.is_near(*other, ONE), "{place:?} {other:?}");
            }
        }
        let forward = |place: &Place| {
            i64::from(place.x - squad.at.x) * i64::from(squad.facing.0)
                + i64::from(place.y - squad.at.y) * i64::from(squad.facing.1)
        };
        let rear_of_front = places[..60].iter().map(|(_, place)| forward(place)).min();
        let front_of_rear = places[60..].iter().map(|(_, place)| forward(place)).max();
        assert!(rear_of_front > front_of_rear);
    }
}
