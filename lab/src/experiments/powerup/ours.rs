//! The races under `EventDelay`, in a mesh of two programs with clocks of their own.

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_sim::NodeId;
use samestep_sync::{EventStage, GameDelay, PlayerId};

use super::Outcome;
use super::races::{Happened, Races, Start, starts};
use crate::delay_room::tries::{Held, Judged, Tries};
use crate::delay_room::{DelayRoom, DelayRoomConfig};

const PLAYERS: [NodeId; 2] = [NodeId(0), NodeId(1)];
/// Who owns the power-up in the published design. Here nobody does.
const OWNER: PlayerId = PlayerId(1);

type Lanes = Tries<Races, (), Open>;

/// A race that goes on. Times are true ones, in s.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    held: [Held<PlayerId>; 2],
    /// How often each program has shown for good that somebody has the power-up.
    taken: [u32; 2],
    /// When each program first showed each player at the power-up.
    reached: [[Option<f64>; 2]; 2],
    pressed: Option<f64>,
    started: Option<f64>,
}

/// Runs so many races. The links are those from the first player to the second and back.
pub fn play(
    delay: GameDelay,
    links: [&LinkConfig; 2],
    lead: Duration,
    races: u64,
    seed: u64,
) -> Result<Outcome, String> {
    let [first, second] = PLAYERS;
    let mut config = DelayRoomConfig::new(2, links[0], seed);
    config.model.delay = delay;
    if links[1] != links[0] {
        config.special = vec![(second, first, links[1].clone())];
    }
    let room = DelayRoom::open(&config, &Races::new(seed), |_| ())?;
    let mut lanes = Lanes::new(room, |_, lane| Start::in_lane(lane))?;
    let mut outcome = Outcome::default();
    for _ in 0..races {
        let keys = |which| {
            let [one, other] = starts(seed, which, lead);
            [(one, first), (other, second)]
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
    Ok(outcome)
}

/// Looks at what both programs have shown.
fn look(lanes: &mut Lanes) {
    for (at, which) in lanes.take_pressed(PLAYERS[1]) {
        if let Some(open) = lanes.of(which) {
            open.pressed = Some(at);
        }
    }
    for node in PLAYERS {
        let own = usize::from(node.0);
        for (at, seen) in lanes.room.take_seen(node) {
            let is_cancelled = seen.stage == EventStage::Cancelled;
            match seen.event {
                Happened::Started { which, player } if !is_cancelled => {
                    let is_own = player == PlayerId(1) && own == 1;
                    if let Some(open) = lanes.of(which.into()).filter(|_| is_own) {
                        open.started.get_or_insert(at);
                    }
                }
                Happened::Reached { which, player } if !is_cancelled => {
                    if let Some(open) = lanes.of(which.into()) {
                        open.reached[own][usize::from(player.0)].get_or_insert(at);
                    }
                }
                Happened::Taken { which, by } => {
                    if let Some(open) = lanes.of(which.into()) {
                        open.taken[own] += u32::from(seen.stage == EventStage::Confirmed);
                        open.held[own].on(at, &seen, by);
                    }
                }
                Happened::Started { .. } | Happened::Reached { .. } => {}
            }
        }
    }
}

fn judge(open: &Open, outcome: &mut Outcome) {
    outcome.races += 1;
    let Some(judged) = Judged::of([&open.held[0], &open.held[1]]) else {
        // It counts against the winner being the same everywhere.
        return;
    };
    outcome.one_winner += u64::from(open.taken == [1, 1]);
    outcome.agreed += u64::from(judged.agreed);
    outcome.owner_wins += u64::from(judged.verdict == OWNER);
    outcome.settled_ms.push(judged.settled_ms);
    if !judged.agreed {
        let winner = usize::from(judged.verdict.0);
        let [winner_at, own_at] = [winner, 1 - winner].map(|at| open.reached[1 - winner][at]);
        if let Some((winner_at, own_at)) = winner_at.zip(own_at) {
            outcome.disagreed_ms.push((winner_at - own_at).abs() * 1e3);
        }
    }
    if let Some((pressed, started)) = open.pressed.zip(open.started) {
        outcome.input_delay_ms.push((started - pressed) * 1e3);
    }
}
