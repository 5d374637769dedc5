//! Characters and fireballs: who and what moves in the arena.

use samestep_sync::{PlayerId, Record};

use crate::ability::Ability;
use crate::item::{ItemKind, Kit};
use crate::motion::{Body, Gait, RUN, Velocity};
use crate::place::{Angle, ONE, Place};

/// Full health.
pub const HEALTH: i16 = 100;

/// Full mana, without a robe.
pub const MANA: i16 = 100;

/// Ticks for which the last attacker gets the frag if the character dies of something else.
pub(crate) const BLAME: u32 = 4 * 60;

/// A player's character. After death it is another one, with another id, which waits at the place where it will enter.
///
/// Its id is that of its place in [`Entities`](samestep_sync::Entities). Times are by the game's [clock](crate::Sublockus::clock).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Character {
    /// Whose it is.
    #[field(owner)]
    pub player: PlayerId,
    /// Where it is and how it moves.
    pub body: Body,
    /// Where it looks and aims.
    pub aim: Angle,
    /// Its health.
    pub health: i16,
    /// Its mana.
    pub mana: i16,
    /// What it carries and wears.
    pub kit: Kit,
    /// When it enters the arena, or has.
    pub enters: u32,
    /// Until when it is protected: it cannot be hurt, and cannot hurt others.
    pub safe_until: u32,
    /// When each ability can be cast again.
    pub ready: [u32; Ability::ALL.len()],
    /// The last attacker.
    pub(crate) hurt_by: Option<PlayerId>,
    pub(crate) hurt_at: u32,
    /// When thorns hurt again.
    pub(crate) thorns_from: u32,
    /// Fireballs so far: their ids count on.
    pub(crate) fireballs: u16,
}

impl Character {
    pub(crate) fn new(player: PlayerId, place: Place, enters: u32, safe_until: u32) -> Self {
        Self {
            player,
            body: Body::at(place),
            aim: Angle::RIGHT,
            health: HEALTH,
            mana: MANA,
            kit: Kit::default(),
            enters,
            safe_until,
            ready: [0; Ability::ALL.len()],
            hurt_by: None,
            hurt_at: 0,
            thorns_from: 0,
            fireballs: 0,
        }
    }

    /// Its middle.
    pub fn place(&self) -> Place {
        self.body.place
    }

    /// Whether it is in the arena; else it waits to enter.
    pub fn is_in(&self, clock: u32) -> bool {
        clock >= self.enters
    }

    /// Whether it is in the arena and can be hurt.
    pub fn is_target(&self, clock: u32) -> bool {
        self.is_in(clock) && clock >= self.safe_until && self.health > 0
    }

    /// Whether it could cast an ability now.
    pub fn can_cast(&self, ability: Ability, clock: u32) -> bool {
        let stats = ability.stats();
        let is_allowed = !ability.is_attack() || clock >= self.safe_until;
        let is_ready = clock >= self.ready[ability as usize];
        self.is_in(clock) && self.health > 0 && is_allowed && is_ready && self.mana >= stats.mana
    }

    /// How much mana it can have.
    pub fn max_mana(&self) -> i16 {
        match self.kit.wears(ItemKind::Robe) {
            true => MANA + MANA / 2,
            false => MANA,
        }
    }

    /// Ticks in which a point of mana comes back.
    pub(crate) fn mana_period(&self) -> u32 {
        match self.kit.wears(ItemKind::Robe) {
            true => 4,
            false => 6,
        }
    }

    /// How fast it runs, in units per tick.
    pub fn speed(&self) -> i32 {
        let boots = if self.kit.wears(ItemKind::Boots) {
            5
        } else {
            4
        };
        let mail = if self.kit.wears(ItemKind::Mail) {
            9
        } else {
            10
        };
        RUN * boots / 4 * mail / 10
    }

    pub(crate) fn gait(&self) -> Gait {
        Gait {
            speed: self.speed(),
            air_jumps: u8::from(self.kit.wears(ItemKind::Wings)),
        }
    }

    /// What an ability of this character does to others, before what they wear.
    pub fn damage_of(&self, ability: Ability) -> i16 {
        let damage = ability.stats().damage;
        match ability {
            Ability::Strike if self.kit.wears(ItemKind::Hammer) => damage + damage / 2,
            Ability::Fireball | Ability::Bolt if self.kit.wears(ItemKind::Staff) => {
                damage + damage / 4
            }
            _ => damage,
        }
    }

    /// The knock-back of its hits.
    pub(crate) fn push_of(&self, ability: Ability) -> i32 {
        let push = ability.stats().push;
        match ability == Ability::Strike && self.kit.wears(ItemKind::Hammer) {
            true => 2 * push,
            false => push,
        }
    }

    /// The damage that remains after what it wears.
    pub(crate) fn suffers(&self, damage: i16) -> i16 {
        match self.kit.wears(ItemKind::Mail) {
            true => damage - damage / 5 * 2 - damage % 5 * 2 / 5,
            false => damage,
        }
    }
}

/// How far a fireball reaches from its middle.
pub const FIREBALL: i32 = ONE / 4;

/// How fast it flies, in units per tick: 14 blocks a second.
pub const FIREBALL_SPEED: i32 = 239;

/// Ticks after which it bursts by itself.
pub(crate) const FIREBALL_TICKS: u32 = 150;

/// A fireball on its way. Its id is that of its place in [`Entities`](samestep_sync::Entities).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Projectile {
    /// The caster.
    #[field(owner)]
    pub player: PlayerId,
    /// Its middle.
    pub place: Place,
    /// Units per tick.
    pub velocity: Velocity,
    /// The damage of a hit.
    pub damage: i16,
    /// When it bursts by itself.
    pub(crate) until: u32,
}
