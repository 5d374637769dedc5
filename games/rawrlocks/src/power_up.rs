//! Power-ups: twice the speed or twice the damage for a while, at a fixed place, back after a while.

use samestep_sync::{Events, PlayerId, Record, Wire, random};

use crate::avatar::RADIUS;
use crate::event::RawrlocksEvent;
use crate::motion::SPEED;
use crate::place::{ONE, Place};
use crate::rawrlocks::Rawrlocks;

/// Ticks that a power-up lasts.
pub const POWER_UP_TICKS: u32 = 8 * 60;

/// Ticks from picking one up until it is back.
pub const POWER_UP_BACK: u32 = 20 * 60;

/// How far a power-up reaches from its middle, in units.
pub const POWER_UP_RADIUS: i32 = 12 * ONE;

/// What a power-up gives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Record, Wire)]
pub enum PowerUpKind {
    /// Twice the speed.
    Speed,
    /// Twice the damage of fireball and scourge.
    Damage,
}

impl PowerUpKind {
    /// Both there are.
    pub const ALL: [PowerUpKind; 2] = [PowerUpKind::Speed, PowerUpKind::Damage];

    /// Where it lies.
    pub const fn place(self) -> Place {
        match self {
            PowerUpKind::Speed => Place::yards(0, -120),
            PowerUpKind::Damage => Place::yards(0, 120),
        }
    }

    /// Its name on screens.
    pub const fn name(self) -> &'static str {
        match self {
            PowerUpKind::Speed => "speed",
            PowerUpKind::Damage => "damage",
        }
    }
}

/// A power-up: whether it lies there, and whose it is at present, which change together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct PowerUp {
    /// What it gives.
    pub kind: PowerUpKind,
    /// From when on it lies in its place, by the game's clock.
    pub available_from: u32,
    /// Who has it.
    pub holder: Option<PlayerId>,
    /// Until when the holder has it.
    pub held_until: u32,
}

impl PowerUp {
    pub(crate) fn new(kind: PowerUpKind, available_from: u32) -> Self {
        Self {
            kind,
            available_from,
            holder: None,
            held_until: 0,
        }
    }

    /// Whether it can be picked up.
    pub fn is_available(&self, clock: u32) -> bool {
        clock >= self.available_from
    }
}

impl Rawrlocks {
    /// Whether a player has a power-up at present.
    pub fn has_power(&self, player: PlayerId, kind: PowerUpKind) -> bool {
        let mut powers = self.power_ups.iter();
        powers.any(|power| power.kind == kind && power.holder == Some(player))
    }

    /// How fast a player's avatar walks, in units per tick.
    pub fn speed_of(&self, player: PlayerId) -> i32 {
        match self.has_power(player, PowerUpKind::Speed) {
            true => 2 * SPEED,
            false => SPEED,
        }
    }

    /// What a player's damage is multiplied by.
    pub(crate) fn strength_of(&self, player: PlayerId) -> i16 {
        match self.has_power(player, PowerUpKind::Damage) {
            true => 2,
            false => 1,
        }
    }

    /// A player loses what it holds.
    pub(crate) fn release_power_ups(&mut self, player: PlayerId) {
        for power in &mut self.power_ups {
            if power.holder == Some(player) {
                power.holder = None;
            }
        }
    }

    /// Power-ups end, are back, and are picked up: each by exactly one, the nearest.
    pub(crate) fn run_power_ups(&mut self, events: &mut Events<RawrlocksEvent>) {
        let clock = self.clock;
        for at in 0..self.power_ups.len() {
            let power = self.power_ups[at];
            let (kind, place) = (power.kind, power.kind.place());
            if let Some(player) = power.holder.filter(|_| clock >= power.held_until) {
                self.power_ups[at].holder = None;
                events.emit(RawrlocksEvent::PowerEnded { player, kind });
            }
            if !self.is_fighting() || !power.is_available(clock) {
                continue;
            }
            if power.available_from == clock {
                events.emit(RawrlocksEvent::PowerUpBack { kind });
            }
            let taker = self.avatars.as_slice().iter().filter_map(|avatar| {
                let distance = avatar.place().distance(place);
                let is_near = avatar.is_alive() && distance <= RADIUS + POWER_UP_RADIUS;
                // Of two who are equally near, a coin decides.
                let coin = random::hash(self.rules.seed, clock.into(), avatar.player.0.into());
                is_near.then_some((distance, coin, avatar.player))
            });
            if let Some((.., player)) = taker.min() {
                self.power_ups[at] = PowerUp {
                    kind,
                    available_from: clock.saturating_add(POWER_UP_BACK),
                    holder: Some(player),
                    held_until: clock.saturating_add(POWER_UP_TICKS),
                };
                events.emit(RawrlocksEvent::PowerTaken { player, kind });
            }
        }
    }
}
