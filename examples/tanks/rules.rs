//! The rules of the tank duel. There is no network in here: `step` turns one tick into the next, the same on every machine.

use samestep::prelude::*;
use samestep::sync::math;
use std::f32::consts::TAU;

/// The size of the arena, whose walls reflect nothing: shells burst there, and tanks stop.
pub const SIZE: (f32, f32) = (64.0, 28.0);
/// What is nearer than this to a tank hits it.
const HIT: f32 = 1.2;
/// The pause before each round, and the time that a round lasts at most, in ticks.
const PAUSE: u16 = 60;
const ROUND: u16 = 30 * 60;

/// What a player does in one tick: the keys that are held, and whether one shot was asked for.
#[derive(Clone, Copy, Default, PartialEq, Debug, Wire)]
pub struct Keys {
    pub left: bool,
    pub right: bool,
    pub forward: bool,
    pub back: bool,
    pub fire: bool,
}

impl Input for Keys {
    fn predict(&self) -> Self {
        let fire = false; // a held key is assumed to stay held, but nobody is assumed to shoot
        Keys { fire, ..*self }
    }

    fn merge(&mut self, late: &Self) -> bool {
        self.fire |= late.fire; // a shot is never lost between two ticks
        true
    }
}

/// What the players hear and read.
#[derive(Clone, Copy, PartialEq, Debug, Wire)]
pub enum Event {
    Fired(PlayerId),
    Hit { by: PlayerId, target: PlayerId },
    RoundWon(PlayerId),
    RoundDrawn,
    DuelWon(PlayerId),
}

#[derive(Clone, PartialEq, Debug, Record)]
pub struct Tank {
    #[field(owner)]
    pub owner: PlayerId,
    #[field(range(0.0, 64.0), precision = 0.01, blend = "linear")]
    pub x: f32,
    #[field(range(0.0, 28.0), precision = 0.01, blend = "linear")]
    pub y: f32,
    #[field(range(0.0, 6.3), precision = 0.001, blend = "angle")]
    pub heading: f32,
    /// How many hits it takes; with 0 it is out until the next round.
    pub armour: u8,
    pub reload: u8,
    /// Its shots, its rounds of this duel, its duels of the evening.
    pub shots: u16,
    pub rounds: u16,
    pub duels: u16,
}

#[derive(Clone, PartialEq, Debug, Record)]
pub struct Shell {
    pub owner: PlayerId,
    #[field(range(0.0, 64.0), precision = 0.01, blend = "linear")]
    pub x: f32,
    #[field(range(0.0, 28.0), precision = 0.01, blend = "linear")]
    pub y: f32,
    #[field(range(0.0, 6.3), precision = 0.001)]
    pub heading: f32,
}

/// The whole state of the game, the same everywhere.
#[derive(Clone, Default, Replicate)]
pub struct Duel {
    pub tanks: Entities<Tank>,
    pub shells: Entities<Shell>,
    /// The hits that a tank takes, the ticks between two of its shots, and the rounds that win the duel.
    pub armour: u8,
    pub reload: u8,
    pub rounds: u16,
    /// Ticks until the round begins, then until it is drawn.
    pub pause: u16,
    pub time: u16,
    pub winner: Option<PlayerId>,
}

impl Duel {
    pub fn new(armour: u8, reload: u8, rounds: u16) -> Duel {
        Duel {
            armour,
            reload,
            rounds,
            pause: PAUSE,
            time: ROUND,
            ..Duel::default()
        }
    }

    /// The next duel of the same evening: everyone keeps the duels won.
    pub fn again(&self) -> Duel {
        let mut next = Duel::new(self.armour, self.reload, self.rounds);
        next.tanks = self.tanks.clone();
        for (_, tank) in next.tanks.iter_mut() {
            tank.rounds = 0;
        }
        next
    }

    pub fn tank(&self, player: PlayerId) -> Option<&Tank> {
        let mut tanks = self.tanks.as_slice().iter();
        tanks.find(|tank| tank.owner == player)
    }

    /// Lets players come and go. Who is away keeps its tank, which stands still, and its score; who is gone for good takes both along.
    fn admit(&mut self, inputs: &Inputs<'_, Keys>) {
        self.tanks.retain(|_, tank| !inputs.is_gone(tank.owner));
        for &player in inputs.players() {
            if self.tank(player).is_none() {
                self.tanks.insert(start_of(player, self.armour));
            }
        }
    }

    fn drive(&mut self, inputs: &Inputs<'_, Keys>, events: &mut Events<Event>) {
        for (_, tank) in self.tanks.iter_mut().filter(|(_, tank)| tank.armour > 0) {
            tank.reload = tank.reload.saturating_sub(1);
            let keys = inputs.of(tank.owner).copied().unwrap_or_default();
            let turn = f32::from(i8::from(keys.right) - i8::from(keys.left));
            let speed = f32::from(i8::from(keys.forward) - i8::from(keys.back)) * 0.12;
            tank.heading = (tank.heading + turn * 0.06 + TAU) % TAU;
            (tank.x, tank.y) = ahead(tank.x, tank.y, tank.heading, speed);
            tank.x = tank.x.clamp(1.0, SIZE.0 - 1.0);
            tank.y = tank.y.clamp(1.0, SIZE.1 - 1.0);
            if keys.fire && tank.reload == 0 {
                tank.reload = self.reload;
                tank.shots = tank.shots.wrapping_add(1);
                events.emit(Event::Fired(tank.owner));
                self.shells.insert(shot_by(tank));
            }
        }
    }

    fn fly(&mut self, events: &mut Events<Event>) {
        let tanks = &mut self.tanks;
        self.shells.retain(|_, shell| {
            (shell.x, shell.y) = ahead(shell.x, shell.y, shell.heading, 0.5);
            let in_arena = (0.0..SIZE.0).contains(&shell.x) && (0.0..SIZE.1).contains(&shell.y);
            let (x, y) = (shell.x, shell.y);
            let hit = |tank: &Tank| {
                tank.armour > 0 && (tank.x - x).powi(2) + (tank.y - y).powi(2) < HIT * HIT
            };
            let Some((_, tank)) = tanks.iter_mut().find(|(_, tank)| hit(tank)) else {
                return in_arena;
            };
            tank.armour -= 1;
            let (by, target) = (shell.owner, tank.owner);
            events.emit(Event::Hit { by, target });
            false
        });
    }

    /// Ends the round when at most one tank is left of several, or when its time is over.
    fn judge(&mut self, events: &mut Events<Event>) {
        self.time -= 1;
        let mut left = self.tanks.as_slice().iter().filter(|tank| tank.armour > 0);
        let (first, second) = (left.next(), left.next());
        let decided = self.tanks.len() > 1 && second.is_none();
        if !decided && self.time > 0 {
            return;
        }
        let winner = first.filter(|_| decided).map(|tank| tank.owner);
        for (_, tank) in self.tanks.iter_mut() {
            let (shots, mut rounds, mut duels) = (tank.shots, tank.rounds, tank.duels);
            if Some(tank.owner) == winner {
                rounds += 1;
                events.emit(Event::RoundWon(tank.owner));
                if rounds == self.rounds {
                    duels += 1;
                    self.winner = winner;
                    events.emit(Event::DuelWon(tank.owner));
                }
            }
            *tank = start_of(tank.owner, self.armour);
            (tank.shots, tank.rounds, tank.duels) = (shots, rounds, duels);
        }
        if winner.is_none() {
            events.emit(Event::RoundDrawn);
        }
        (self.pause, self.time) = (PAUSE, ROUND);
        self.shells.clear();
    }
}

impl Simulation for Duel {
    type Input = Keys;
    type Event = Event;
    const NAME: &'static str = "tanks";

    fn step(&mut self, inputs: &Inputs<'_, Keys>, events: &mut Events<Event>) {
        self.admit(inputs);
        if self.winner.is_some() || self.pause > 0 {
            self.pause = self.pause.saturating_sub(1);
            return;
        }
        self.drive(inputs, events);
        self.fly(events);
        self.judge(events);
    }
}

/// A tank at its start: on a ring around the middle, which it faces.
fn start_of(owner: PlayerId, armour: u8) -> Tank {
    let angle = f32::from(owner.0 % 4) * TAU / 4.0 + TAU / 8.0;
    let (sin, cos) = math::sin_cos(angle);
    Tank {
        owner,
        x: SIZE.0 / 2.0 + cos * SIZE.0 * 0.4,
        y: SIZE.1 / 2.0 + sin * SIZE.1 * 0.4,
        heading: (angle + TAU / 2.0) % TAU,
        armour,
        reload: 0,
        shots: 0,
        rounds: 0,
        duels: 0,
    }
}

/// A shell that leaves a tank's barrel.
fn shot_by(tank: &Tank) -> Shell {
    let &Tank { owner, heading, .. } = tank;
    let (x, y) = ahead(tank.x, tank.y, heading, HIT + 0.1);
    Shell {
        owner,
        x,
        y,
        heading,
    }
}

/// The point that lies ahead by a distance.
pub fn ahead(x: f32, y: f32, heading: f32, distance: f32) -> (f32, f32) {
    let (sin, cos) = math::sin_cos(heading);
    (x + cos * distance, y + sin * distance)
}
