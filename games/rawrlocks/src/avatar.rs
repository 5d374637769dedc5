//! Avatars: the warlocks that players control.

use samestep_sync::{PlayerId, Record};

use crate::ability::Ability;
use crate::motion::{Body, SPEED};
use crate::place::{Heading, Place};

/// Full health.
pub const HEALTH: i16 = 100;

/// How far an avatar reaches from its middle, in units: 23 yards.
pub const RADIUS: i32 = 23 * crate::place::ONE;

/// A player's warlock. Every round has another one, with another id; one that is dead lies there until the round is over.
///
/// Times are by the game's [clock](crate::Rawrlocks::clock).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Avatar {
    /// Whose it is.
    #[field(owner)]
    pub player: PlayerId,
    /// Where it is and what throws it about.
    pub body: Body,
    /// Where it walks; `None` if it stands.
    pub walk: Option<Heading>,
    /// Where it looks: towards the cursor.
    pub look: Heading,
    /// The ability it is casting, for everyone to see.
    pub casting: Option<Casting>,
    /// When each ability can be cast again.
    pub ready: [u32; Ability::ALL.len()],
    /// Its health.
    pub health: i16,
    /// Whether it is dead.
    pub is_dead: bool,
    /// Who dealt the last damage: the kill is theirs, whatever it dies of.
    pub hurt_by: Option<PlayerId>,
    /// When lava hurts it again.
    pub(crate) burns_from: u32,
    /// Fireballs so far: their ids count on.
    pub(crate) fireballs: u16,
}

/// An ability that is being cast.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Casting {
    /// Which one.
    pub ability: Ability,
    /// What it is aimed at, fixed when it was queued.
    pub aim: Aim,
    /// When it takes effect.
    pub fires_at: u32,
}

/// What an ability is aimed at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub enum Aim {
    /// Around the caster.
    Around,
    /// Into a direction, whatever its length.
    Towards(Place),
    /// At a place.
    At(Place),
}

impl Avatar {
    pub(crate) fn new(player: PlayerId, place: Place) -> Self {
        Self {
            player,
            body: Body::at(place),
            walk: None,
            look: Heading::of(place.reversed()).unwrap_or_default(),
            casting: None,
            ready: [0; Ability::ALL.len()],
            health: HEALTH,
            is_dead: false,
            hurt_by: None,
            burns_from: 0,
            fireballs: 0,
        }
    }

    /// Its middle.
    pub fn place(&self) -> Place {
        self.body.place
    }

    /// Whether it lives.
    pub fn is_alive(&self) -> bool {
        !self.is_dead && self.health > 0
    }

    /// Whether it could begin to cast an ability now.
    pub fn can_cast(&self, ability: Ability, clock: u32) -> bool {
        self.is_alive() && self.casting.is_none() && clock >= self.ready[ability as usize]
    }

    /// Where it will be so many ticks ahead if it goes on as it does: its place and its present velocity for that time.
    pub fn predicted_place(&self, is_fast: bool, ticks: i32) -> Place {
        let speed = if is_fast { 2 * SPEED } else { SPEED };
        let step = self.body.step(self.walk, speed);
        let along = |units: i32| units.saturating_mul(ticks);
        self.place()
            .offset(Place::new(along(step.x), along(step.y)))
    }
}
