//! A small game for all contenders: the same state, the same rules, the same inputs.

use samestep::prelude::{Events, Input, Inputs, PlayerId, Record, Replicate, Simulation, Wire};
use serde::{Deserialize, Serialize};

/// Who plays.
pub const PLAYERS: [PlayerId; 2] = [PlayerId(0), PlayerId(1)];

/// What one player does in one tick: two bytes in every library.
#[derive(Clone, Copy, Default, PartialEq, Debug, Wire, Serialize, Deserialize)]
pub struct Controls {
    /// Held keys, a bit each.
    pub keys: u8,
    /// The direction of the stick.
    pub stick: u8,
}

impl Input for Controls {
    fn predict(&self) -> Self {
        *self
    }
}

/// How often players do something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Habit {
    /// The stick turns a little in every tick, keys change about six times a second.
    Restless,
    /// Keys and stick change about six times a second, and stay as they are in between.
    Calm,
    /// Nothing is done.
    #[cfg(test)]
    Still,
}

impl Habit {
    /// What a player does in a tick.
    pub fn controls(self, player: PlayerId, tick: u64) -> Controls {
        // Ten ticks each, and not those of the other player.
        let stretch = (tick + 5 * u64::from(player.0)) / 10;
        let luck = (2 * stretch + u64::from(player.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let turning = match self {
            Habit::Restless => tick * 3,
            Habit::Calm => 0,
            #[cfg(test)]
            Habit::Still => return Controls::default(),
        };
        Controls {
            // The lowest bit says that it is not the same as before.
            keys: (luck as u8 & 0x1e) | (stretch as u8 & 1),
            stick: ((luck >> 8) as u8).wrapping_add(turning as u8),
        }
    }
}

/// Something that moves: 40 bytes.
#[derive(Clone, Copy, PartialEq, Debug, Record)]
pub struct Body {
    position: [i32; 2],
    velocity: [i32; 2],
    heading: u32,
    spin: i32,
    health: u32,
    kind: u32,
    target: u32,
    age: u32,
}

/// The whole state.
#[derive(Clone, PartialEq, Debug, Replicate)]
pub struct Swarm {
    bodies: Vec<Body>,
    ticks: u32,
}

impl Swarm {
    /// A state of about so many bytes.
    pub fn new(state_bytes: usize) -> Swarm {
        let count = (state_bytes / size_of::<Body>()).max(1);
        let body = |number: u32| Body {
            position: [number as i32 * 977, number as i32 * 1523],
            velocity: [0; 2],
            heading: number * 0x0101_0101,
            spin: number as i32 % 7 - 3,
            health: 100,
            kind: number % 5,
            target: number / 2,
            age: 0,
        };
        Swarm {
            bodies: (0..count as u32).map(body).collect(),
            ticks: 0,
        }
    }

    /// Bytes of the state.
    pub fn bytes(&self) -> usize {
        size_of::<Swarm>() + size_of_val(&*self.bodies)
    }

    /// Ticks since the beginning.
    #[cfg(test)]
    pub fn ticks(&self) -> u64 {
        self.ticks.into()
    }

    /// One tick. Never inlined: it is to be the same code for all who call it.
    #[inline(never)]
    pub fn simulate(&mut self, controls: [Controls; 2]) {
        let half = self.bodies.len() / 2;
        let (first, second) = self.bodies.split_at_mut(half);
        for (bodies, Controls { keys, stick }) in [first, second].into_iter().zip(controls) {
            let (thrust, turn) = (i32::from(keys), u32::from(stick));
            for body in bodies {
                body.heading = body.heading.wrapping_add(turn);
                let push = [body.heading as i32 & 0xff, body.spin].map(|push| push - thrust);
                for (axis, push) in push.into_iter().enumerate() {
                    let speed = body.velocity[axis].wrapping_add(push);
                    body.velocity[axis] = speed - (speed >> 4);
                    body.position[axis] = body.position[axis].wrapping_add(speed);
                }
                body.age += 1;
            }
        }
        self.ticks += 1;
    }
}

impl Simulation for Swarm {
    type Input = Controls;
    type Event = ();
    const NAME: &'static str = "swarm";

    fn step(&mut self, inputs: &Inputs<'_, Controls>, _: &mut Events<()>) {
        self.simulate(PLAYERS.map(|player| inputs.of(player).copied().unwrap_or_default()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_restless_do_something_else_in_every_tick_and_the_calm_six_times_a_second() {
        for player in PLAYERS {
            let changes = |habit: Habit| {
                let changed =
                    |tick: &u64| habit.controls(player, *tick) != habit.controls(player, *tick + 1);
                (0..600).filter(changed).count()
            };
            assert_eq!(changes(Habit::Restless), 600);
            assert_eq!(changes(Habit::Calm), 60);
        }
    }
}
