//! Events under `EventDelay`: who does something, and when each program simulates it.

use std::time::Duration;

use samestep_sim::NodeId;
use samestep_sync::{EventStage, Events, Input, Inputs, Replicate, Rng, Simulation, Wire};

use super::{Outcome, Room, Ways};
use crate::delay_room::{DelayRoom, DelayRoomConfig};

/// Events that are not judged yet are looked at again after so long.
const LATER: Duration = Duration::from_secs(3);

/// A player's input: the number of an event, or 0.
#[derive(Clone, Copy, Default, PartialEq, Debug, Wire)]
struct Act(#[wire(varint)] u32);

impl Input for Act {
    fn predict(&self) -> Self {
        Act(0)
    }
}

/// The whole state: how many events there were.
#[derive(Clone, Default, Replicate)]
struct Counter {
    events: u32,
}

impl Simulation for Counter {
    type Input = Act;
    type Event = u32;
    const NAME: &'static str = "events";
    const TICKS_PER_SECOND: u32 = 60;

    fn step(&mut self, inputs: &Inputs<'_, Act>, events: &mut Events<u32>) {
        for (_, Act(number)) in inputs.iter().filter(|(_, act)| act.0 > 0) {
            self.events += 1;
            events.emit(*number);
        }
    }
}

/// When every program executed an event, in s, and whether any was late.
#[derive(Clone, Debug)]
struct Executed {
    at: Vec<Option<f64>>,
    is_late: bool,
}

pub(super) fn play(
    room: &Room,
    ways: &Ways,
    settling: Duration,
    real: bool,
) -> Result<Outcome, String> {
    let mut config = DelayRoomConfig::new(room.players, &ways.usual, room.seed);
    config.model.delay = room.delay;
    config.real = real;
    if !real {
        for (one, other, link) in &ways.pairs {
            let (one, other) = (NodeId(*one), NodeId(*other));
            config.special.push((one, other, link.clone()));
            config.special.push((other, one, link.clone()));
        }
    }
    let mut mesh = DelayRoom::open(&config, &Counter::default(), |_| ())?;
    mesh.run_until(mesh.now() + settling)?;
    let mut rng = Rng::new(room.seed);
    let period = Duration::from_secs_f64(1.0 / room.events_per_second);
    let count = (room.seconds * room.events_per_second) as u32;
    let start = mesh.now();
    let mut executed: Vec<Executed> = Vec::new();
    for number in 1..=count {
        let at = start + period * number + period.mul_f32(rng.unit());
        mesh.run_until(at)?;
        look(&mut mesh, &mut executed);
        executed.push(Executed {
            at: vec![None; usize::from(room.players)],
            is_late: false,
        });
        let node = NodeId(rng.below(room.players.into()) as u16);
        mesh.give(node, &Act(number))?;
    }
    mesh.run_until(mesh.now() + LATER)?;
    look(&mut mesh, &mut executed);
    let mut outcome = Outcome::default();
    for (which, event) in executed.iter().enumerate() {
        let times: Option<Vec<f64>> = event.at.iter().copied().collect();
        let times = times.ok_or_else(|| format!("event {} was not executed by all", which + 1))?;
        let first = times.iter().copied().fold(f64::INFINITY, f64::min);
        let last = times.iter().copied().fold(0.0, f64::max);
        outcome.spread_ms.push((last - first) * 1e3);
        outcome.late += u64::from(event.is_late);
    }
    Ok(outcome)
}

/// Looks at what all programs have executed.
fn look(mesh: &mut DelayRoom<Counter, ()>, executed: &mut [Executed]) {
    for node in mesh.nodes() {
        for (at, seen) in mesh.take_seen(node) {
            let event = executed.get_mut(seen.event as usize - 1);
            let Some(event) = event.filter(|_| seen.stage != EventStage::Cancelled) else {
                continue;
            };
            let own = &mut event.at[usize::from(node.0)];
            if own.is_none() {
                *own = Some(at);
                event.is_late |= !seen.is_first;
            }
        }
    }
}
