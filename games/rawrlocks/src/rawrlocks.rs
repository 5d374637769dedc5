//! The state of the game and the order of the steps in a tick.

use samestep_sync::{Breach, Entities, Events, Inputs, PlayerId, Record, Replicate, Simulation};

use crate::arena::Arena;
use crate::avatar::{Avatar, HEALTH};
use crate::config::{MAX_PLAYERS, RawrlocksConfig, RawrlocksConfigError};
use crate::controls::Controls;
use crate::event::RawrlocksEvent;
use crate::fairness;
use crate::fireball::Fireball;
use crate::power_up::{PowerUp, PowerUpKind};
use crate::round::{Phase, Round};
use crate::seat::{MAX_SEATS, Seat};

#[cfg(test)]
mod tests;

/// The state of a game.
///
/// An avatar and its fireballs are rows that belong to their player. Power-ups, arena and round belong to nobody.
#[derive(Clone, Replicate)]
pub struct Rawrlocks {
    pub(crate) avatars: Entities<Avatar>,
    pub(crate) fireballs: Entities<Fireball>,
    pub(crate) power_ups: Vec<PowerUp>,
    /// In ascending order of the players.
    pub(crate) seats: Vec<Seat>,
    pub(crate) arena: Arena,
    pub(crate) round: Round,
    pub(crate) rules: Rules,
    pub(crate) clock: u32,
}

/// The rules that a [`RawrlocksConfig`] sets, in units and ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub(crate) struct Rules {
    pub seed: u64,
    pub radius: i32,
    pub shrink_by: i32,
    pub shrink_ticks: u32,
    pub break_ticks: u32,
    pub wins: Option<u16>,
    pub power_ups: bool,
}

impl Rawrlocks {
    /// The beginning of a game. A round begins once two are here, after a break for others to come as well.
    pub fn new(config: &RawrlocksConfig) -> Result<Self, RawrlocksConfigError> {
        config.check()?;
        let players = usize::from(MAX_PLAYERS);
        let rules = Rules {
            seed: config.seed,
            radius: RawrlocksConfig::units(config.radius),
            shrink_by: RawrlocksConfig::units(config.shrink_by),
            shrink_ticks: config.shrink_ticks,
            break_ticks: config.break_ticks,
            wins: config.wins,
            power_ups: config.power_ups,
        };
        let mut power_ups = Vec::with_capacity(PowerUpKind::ALL.len());
        if config.power_ups {
            power_ups.extend(PowerUpKind::ALL.map(|kind| PowerUp::new(kind, 0)));
        }
        Ok(Self {
            avatars: Entities::with_capacity(2 * players),
            fireballs: Entities::with_capacity(2 * players),
            power_ups,
            seats: Vec::with_capacity(4 * players),
            arena: Arena {
                radius: rules.radius,
                shrinks_at: 0,
            },
            round: Round {
                number: 0,
                since: 0,
                phase: Phase::Waiting,
            },
            rules,
            clock: 0,
        })
    }

    /// All avatars, the dead of this round included, in no particular order.
    pub fn avatars(&self) -> &Entities<Avatar> {
        &self.avatars
    }

    /// The avatar of a player, if it has one: dead or alive.
    pub fn avatar_of(&self, player: PlayerId) -> Option<&Avatar> {
        let mut avatars = self.avatars.as_slice().iter();
        avatars.find(|avatar| avatar.player == player)
    }

    /// All fireballs on their way, in no particular order.
    pub fn fireballs(&self) -> &Entities<Fireball> {
        &self.fireballs
    }

    /// The power-ups, those that are not back yet included.
    pub fn power_ups(&self) -> &[PowerUp] {
        &self.power_ups
    }

    /// Everybody who plays or has played, with its scores, in ascending order of the players.
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// The walkable ground.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// The radius of the ground when a round begins, in units.
    pub fn full_radius(&self) -> i32 {
        self.rules.radius.clamp(0, RawrlocksConfig::units(1000))
    }

    /// The round that is played.
    pub fn round(&self) -> &Round {
        &self.round
    }

    /// Ticks since the game began: what all its times are counted in.
    pub fn clock(&self) -> u32 {
        self.clock
    }

    /// When so many ticks have passed.
    pub(crate) fn later(&self, ticks: u32) -> u32 {
        self.clock.saturating_add(ticks)
    }

    /// An avatar to change behind the rules' back, to set up a scene or provoke a desync.
    pub fn avatar_mut(&mut self, player: PlayerId) -> Option<&mut Avatar> {
        let mut avatars = self.avatars.as_mut_slice().iter_mut();
        avatars.find(|avatar| avatar.player == player)
    }

    /// Changes how large the arena is, behind the rules' back.
    pub fn set_radius(&mut self, radius: i32) {
        self.arena.radius = radius;
    }

    /// A state may be forged by a hostile peer.
    fn make_sound(&mut self) {
        self.seats.truncate(MAX_SEATS);
        self.power_ups.truncate(PowerUpKind::ALL.len());
        self.rules.radius = self.rules.radius.clamp(0, RawrlocksConfig::units(1000));
        self.rules.shrink_by = self.rules.shrink_by.max(1);
        self.arena.radius = self.arena.radius.clamp(0, RawrlocksConfig::units(1000));
        for avatar in self.avatars.as_mut_slice() {
            // Only what is wrong is written to: a row that is written to counts as changed.
            if avatar.body.place != avatar.body.place.bounded() {
                avatar.body.place = avatar.body.place.bounded();
            }
            if avatar.health > HEALTH {
                avatar.health = HEALTH;
            }
        }
    }

    fn move_avatars(&mut self) {
        for at in 0..self.avatars.len() {
            let avatar = self.avatars.as_slice()[at];
            let (player, walk) = (avatar.player, avatar.walk);
            let is_still = walk.is_none() && avatar.body.knockback == Default::default();
            if !avatar.is_alive() || is_still {
                continue;
            }
            let speed = self.speed_of(player);
            if let Some(avatar) = self.avatars.row_mut(at) {
                avatar.body.advance(walk, speed);
            }
        }
    }
}

impl Simulation for Rawrlocks {
    type Input = Controls;
    type Event = RawrlocksEvent;

    const NAME: &'static str = "rawrlocks";

    fn judge(&self, player: PlayerId, controls: &Controls) -> Option<Breach> {
        fairness::judge(self, player, controls)
    }

    fn step(&mut self, inputs: &Inputs<'_, Controls>, events: &mut Events<RawrlocksEvent>) {
        self.clock = self.clock.wrapping_add(1);
        self.make_sound();
        self.seat(inputs, events);
        self.run_round(events);
        self.shrink_arena(events);
        self.obey(inputs, events);
        self.fire_casts(events);
        self.move_avatars();
        self.move_fireballs(events);
        self.burn(events);
        self.bury(events);
        self.run_power_ups(events);
    }
}
