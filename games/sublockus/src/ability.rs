//! Abilities: what they cost and do.

use samestep_sync::{Record, Wire};

use crate::place::ONE;

/// The abilities of a character.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Record, Wire)]
pub enum Ability {
    /// A blow at characters close by, in the direction of the aim.
    Strike,
    /// A projectile that bursts where it hits, and hurts everybody around but its owner.
    Fireball,
    /// Hits the first in the direction one aims at once.
    Bolt,
    /// Heals oneself.
    Mend,
}

/// The cost and effect of an ability.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AbilityStats {
    /// Mana it takes.
    pub mana: i16,
    /// Ticks until it can be cast again.
    pub cooldown: u32,
    /// The damage to a character that is hit; for [`Ability::Mend`] the health gained.
    pub damage: i16,
    /// How far it reaches, in units; of [`Ability::Fireball`], how far around the burst.
    pub reach: i32,
    /// The speed of the knock-back, in units per tick.
    pub push: i32,
}

const STATS: [AbilityStats; 4] = [
    AbilityStats {
        mana: 4,
        cooldown: 24,
        damage: 24,
        reach: ONE,
        push: 170,
    },
    AbilityStats {
        mana: 18,
        cooldown: 30,
        damage: 34,
        reach: ONE + ONE * 3 / 4,
        push: 260,
    },
    AbilityStats {
        mana: 30,
        cooldown: 54,
        damage: 38,
        reach: 24 * ONE,
        push: 90,
    },
    AbilityStats {
        mana: 35,
        cooldown: 240,
        damage: 35,
        reach: 0,
        push: 0,
    },
];

impl Ability {
    /// All abilities.
    pub const ALL: [Ability; 4] = [
        Ability::Strike,
        Ability::Fireball,
        Ability::Bolt,
        Ability::Mend,
    ];

    /// Its cost and effect.
    pub const fn stats(self) -> &'static AbilityStats {
        &STATS[self as usize]
    }

    /// Whether it is meant to hurt.
    pub const fn is_attack(self) -> bool {
        !matches!(self, Ability::Mend)
    }
}
