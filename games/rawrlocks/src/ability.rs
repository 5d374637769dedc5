//! The four abilities and their figures.

use samestep_sync::{Record, Wire};

use crate::place::ONE;

/// What a warlock can do. The first two hurt others, the last two help oneself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Record, Wire)]
pub enum Ability {
    /// A fireball that flies straight to where the cursor was, and hits the first it meets.
    Fireball,
    /// An explosion around the caster that throws everybody near away from it.
    Scourge,
    /// Puts the caster where the cursor was, as far as it reaches, inside the arena.
    Teleport,
    /// Throws the caster towards where the cursor was, the same however far that is.
    Thrust,
}

/// The figures of an ability.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AbilityStats {
    /// Ticks from the wish to the effect, in which everyone sees what is coming.
    pub cast_ticks: u32,
    /// Ticks from the effect until it can be cast again.
    pub cooldown: u32,
    /// The health that a hit takes.
    pub damage: i16,
    /// The knockback at first, in units per tick.
    pub knockback: i32,
    /// How far it reaches, in units: the way of a fireball, the radius of a scourge, the longest teleport.
    pub reach: i32,
}

impl Ability {
    /// All there are.
    pub const ALL: [Ability; 4] = [
        Ability::Fireball,
        Ability::Scourge,
        Ability::Teleport,
        Ability::Thrust,
    ];

    /// Its figures.
    pub const fn stats(self) -> AbilityStats {
        match self {
            Ability::Fireball => AbilityStats {
                cast_ticks: 24,
                cooldown: 90,
                damage: 9,
                knockback: 7 * ONE,
                reach: 480 * ONE,
            },
            Ability::Scourge => AbilityStats {
                cast_ticks: 18,
                cooldown: 180,
                damage: 12,
                knockback: 9 * ONE,
                reach: 95 * ONE,
            },
            Ability::Teleport => AbilityStats {
                cast_ticks: 6,
                cooldown: 480,
                damage: 0,
                knockback: 0,
                reach: 260 * ONE,
            },
            Ability::Thrust => AbilityStats {
                cast_ticks: 3,
                cooldown: 300,
                damage: 0,
                knockback: 10 * ONE,
                reach: 0,
            },
        }
    }

    /// Its name on screens.
    pub const fn name(self) -> &'static str {
        match self {
            Ability::Fireball => "fireball",
            Ability::Scourge => "scourge",
            Ability::Teleport => "teleport",
            Ability::Thrust => "thrust",
        }
    }
}
