//! The tries under `EventDelay`, in a mesh of two programs with clocks of their own.

use samestep_netem::LinkConfig;
use samestep_sim::NodeId;
use samestep_sync::{EventStage, GameDelay};

use super::range::{Act, Range, What};
use super::scenario::{Outcome, Try};
use crate::delay_room::tries::{Held, Judged, LANES, Tries, lane_of};
use crate::delay_room::{DelayRoom, DelayRoomConfig};

/// Who owns the walkers, and who throws.
const WALKER: NodeId = NodeId(0);
const THROWER: NodeId = NodeId(1);

type Lanes = Tries<Range, [(f64, f64); LANES], Open>;

/// A try that goes on. Times are true ones, in s.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    held: [Held<What>; 2],
    thrown: [Option<f64>; 2],
    /// When the thrower's key was pressed.
    pressed: f64,
    /// How far from each other both had the walker when the thrower's ball hit it.
    apart: Option<f64>,
}

/// Plays so many tries. The links are those from the walker's owner to the thrower and back.
pub fn play(
    delay: GameDelay,
    links: [&LinkConfig; 2],
    tries: u64,
    seed: u64,
    real: bool,
) -> Result<Outcome, String> {
    let mut config = DelayRoomConfig::new(2, links[0], seed);
    config.model.delay = delay;
    config.real = real;
    if links[1] != links[0] {
        config.special = vec![(THROWER, WALKER, links[1].clone())];
    }
    let room = DelayRoom::open(&config, &Range::new(seed), Range::walkers)?;
    let mut lanes = Lanes::new(room, |node, lane| match node {
        WALKER => Act::walk(lane),
        _ => Act::throw(lane),
    })?;
    let mut outcome = Outcome::default();
    for _ in 0..tries {
        let keys = |which| {
            let it = Try::of(seed, which);
            [(it.walk, WALKER), (it.throw, THROWER)]
        };
        if let Some(open) = lanes.begin(keys, look)? {
            judge(&open, &mut outcome);
        }
    }
    lanes.finish()?;
    look(&mut lanes);
    while let Some(open) = lanes.close() {
        judge(&open, &mut outcome);
    }
    (outcome.bytes, outcome.seconds) = lanes.traffic();
    Ok(outcome)
}

/// Looks at what both programs have shown.
fn look(lanes: &mut Lanes) {
    for (at, which) in lanes.take_pressed(THROWER) {
        if let Some(open) = lanes.of(which) {
            open.pressed = at;
        }
    }
    for node in [WALKER, THROWER] {
        for (at, seen) in lanes.room.take_seen(node) {
            let (which, what) = (u64::from(seen.event.which), seen.event.what);
            let hits = node == THROWER && what == What::Hit && seen.is_first;
            let now_apart = hits.then(|| apart(lanes, at, which));
            let Some(open) = lanes.of(which) else {
                continue;
            };
            if let Some(apart) = now_apart {
                open.apart.get_or_insert(apart);
            }
            let index = usize::from(node.0);
            match what {
                What::Thrown if seen.stage != EventStage::Cancelled => {
                    open.thrown[index].get_or_insert(at);
                }
                What::Thrown => {}
                What::Hit | What::Missed => open.held[index].on(at, &seen, what),
            }
        }
    }
}

/// How far from each other both programs have a walker at a true instant: where each draws it then.
fn apart(lanes: &Lanes, at: f64, which: u64) -> f64 {
    let place = |node| {
        let mut samples = lanes.room.watch(node).samples().rev();
        let reached = |at_clock| lanes.room.world_time(node, at_clock);
        let sample = samples.find(|sample| reached(sample.at) <= at);
        sample.map_or(0.0, |sample| {
            let (place, speed) = sample.of[lane_of(which)];
            place + speed * (at - reached(sample.at))
        })
    };
    (place(WALKER) - place(THROWER)).abs()
}

fn judge(open: &Open, outcome: &mut Outcome) {
    let [one, other] = &open.held;
    outcome.tries += 1;
    outcome.hits += u64::from(other.first() == Some(What::Hit));
    // A try of which a program knows nothing seconds later counts as one that they disagree on.
    if let Some(judged) = Judged::of([one, other]) {
        outcome.agreed += u64::from(judged.agreed);
        outcome.disagreed_ms.push(judged.settled_ms);
    }
    if let Some(apart) = open.apart {
        outcome.apart.push(apart);
    }
    if let [Some(one), Some(other)] = open.thrown {
        outcome.events_apart_ms.push((one - other).abs() * 1e3);
        outcome.input_delay_ms.push((other - open.pressed) * 1e3);
    }
}
