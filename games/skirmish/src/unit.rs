//! Units: what kinds there are and what one of them is.

use samestep_sync::{EntityId, Record, Wire};

use crate::place::{ONE, Place};
use crate::side::SideId;

/// Kinds of units. Spears beat knights, knights beat archers, archers beat spears.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Record, Wire)]
pub enum UnitKind {
    /// Digs for gold and carries it home.
    #[default]
    Worker,
    /// Slow and sturdy, with a long reach.
    Spear,
    /// Shoots from afar.
    Archer,
    /// Fast and hard.
    Knight,
}

/// What distinguishes a kind of units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitStats {
    /// Its full health.
    pub health: i16,
    /// Steps per tick.
    pub speed: i32,
    /// From how far it hits, in steps.
    pub range: i32,
    /// What a hit takes from the other's health, before [bonus](UnitKind::damage_to).
    pub damage: i16,
    /// Ticks from hit to hit, a multiple of 8.
    pub period: u16,
    /// Gold it costs.
    pub cost: u32,
    /// Ticks it takes to train.
    pub training: u16,
}

const STATS: [UnitStats; 4] = [
    UnitStats {
        health: 50,
        speed: 14,
        range: ONE,
        damage: 0,
        period: 64,
        cost: 25,
        training: 300,
    },
    UnitStats {
        health: 160,
        speed: 12,
        range: 2 * ONE,
        damage: 5,
        period: 48,
        cost: 40,
        training: 240,
    },
    UnitStats {
        health: 95,
        speed: 13,
        range: 7 * ONE,
        damage: 3,
        period: 56,
        cost: 50,
        training: 300,
    },
    UnitStats {
        health: 190,
        speed: 20,
        range: ONE + ONE / 2,
        damage: 6,
        period: 48,
        cost: 80,
        training: 420,
    },
];

impl UnitKind {
    /// All kinds.
    pub const ALL: [UnitKind; 4] = [
        UnitKind::Worker,
        UnitKind::Spear,
        UnitKind::Archer,
        UnitKind::Knight,
    ];

    /// What distinguishes it.
    #[inline]
    pub const fn stats(self) -> &'static UnitStats {
        &STATS[self as usize]
    }

    /// Whether it fights.
    #[inline]
    pub const fn is_soldier(self) -> bool {
        !matches!(self, UnitKind::Worker)
    }

    /// What a hit takes from the health of a `target`: twice the damage of those it is good against.
    #[inline]
    pub const fn damage_to(self, target: UnitKind) -> i16 {
        let damage = self.stats().damage;
        match (self, target) {
            (UnitKind::Spear, UnitKind::Knight)
            | (UnitKind::Knight, UnitKind::Archer)
            | (UnitKind::Archer, UnitKind::Spear) => damage * 2,
            _ => damage,
        }
    }
}

/// The task of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub enum Work {
    /// Nothing, or on its way to dig.
    #[default]
    Seeking,
    /// Getting gold out of a mine.
    Digging,
    /// On its way home with it.
    Carrying,
}

/// A unit. Its id is that of its place in [`Entities`](samestep_sync::Entities).
#[derive(Clone, Copy, PartialEq, Debug, Record)]
pub struct Unit {
    /// Where it is.
    #[field(blend = "linear")]
    pub place: Place,
    /// Steps per tick.
    pub velocity: (i16, i16),
    /// What it is.
    pub kind: UnitKind,
    /// Whose it is.
    pub side: SideId,
    /// Its health.
    pub health: i16,
    /// Which of its side's squads it belongs to.
    pub squad: u8,
    /// Which of the squad's orders it follows.
    pub(crate) stamp: u8,
    /// A soldier's place in its squad's formation; the mine of a worker, or [`NO_MINE`].
    pub(crate) post: u16,
    /// Whom it fights.
    pub target: Option<EntityId>,
    /// When it can hit again, or has dug enough; counted in thoughts, around the clock.
    pub(crate) ready: u16,
    /// The task of a worker.
    pub work: Work,
}

/// A worker that has not chosen yet.
pub(crate) const NO_MINE: u16 = u16::MAX;

impl Unit {
    pub(crate) fn new(kind: UnitKind, side: SideId, place: Place, squad: u8, stamp: u8) -> Self {
        Self {
            place,
            velocity: (0, 0),
            kind,
            side,
            health: kind.stats().health,
            squad,
            stamp,
            post: NO_MINE,
            target: None,
            ready: 0,
            work: Work::Seeking,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_soldier_is_good_against_one_other() {
        for kind in &UnitKind::ALL[1..] {
            let good = UnitKind::ALL[1..]
                .iter()
                .filter(|other| kind.damage_to(**other) > kind.stats().damage);
            assert_eq!(good.count(), 1);
        }
    }

    #[test]
    fn periods_are_whole_thoughts() {
        assert!(STATS.iter().all(|stats| stats.period % 8 == 0));
    }
}
