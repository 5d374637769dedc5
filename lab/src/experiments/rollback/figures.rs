//! The measurements of a match, and the figures of a case.

use std::time::Duration;

use crate::deterministic::{DeterministicMatch, DeterministicModel};
use crate::experiment::Metric;
use crate::parameters::Case;
use crate::samples::{Counts, TimeSeries};
use crate::stats::Samples;
use crate::testmatch::Playable;

pub(super) const METRICS: &[Metric] = &[
    Metric::new(
        "own_ticks",
        "ticks",
        "from a player's input to the state that shows it, in states after the one that was shown then, most",
    ),
    Metric::new("own_delay", "ms", "the same time, median"),
    Metric::new("own_p95", "ms", "the same, 95th percentile"),
    Metric::new(
        "moved",
        "",
        "inputs that came to be in another tick after their player had seen them, of all members",
    ),
    Metric::new(
        "others_delay",
        "ms",
        "from a player's input to the first state of another that shows it, median",
    ),
    Metric::new("others_p95", "ms", "the same, 95th percentile"),
    Metric::new(
        "delay",
        "ticks",
        "how far ahead inputs are put into ticks at the end, mean of all members",
    ),
    Metric::new(
        "stalls",
        "/s",
        "ticks in which nothing new could be shown although it was due, per member and second",
    ),
    Metric::new(
        "lagged",
        "/s",
        "ticks in which the simulation could not go on, by the model's own count",
    ),
    Metric::new(
        "standstill",
        "ms",
        "longest time by which something new to show came late",
    ),
    Metric::new(
        "rollbacks",
        "/s",
        "how often the simulation went back, per member and second",
    ),
    Metric::new(
        "resimulated",
        "/s",
        "ticks resimulated, per member and second",
    ),
    Metric::new("depth_median", "ticks", "ticks gone back at once, median"),
    Metric::new("deepest", "ticks", "the same, most"),
    Metric::new(
        "needed",
        "ticks",
        "ticks that had been simulated without an input of another, most: no rollback can be shorter",
    ),
    Metric::new(
        "needless",
        "/s",
        "ticks resimulated that no late input required, per member and second",
    ),
    Metric::new(
        "corrections",
        "/s",
        "how often something that was shown is somewhere else at the same tick, per member and second",
    ),
    Metric::new(
        "jump_median",
        "units",
        "how far the farthest of what a correction moves jumps, median",
    ),
    Metric::new("jump_most", "units", "the same, most"),
    Metric::new(
        "drawn_most",
        "units",
        "most that anything moves from one picture to the next, drawn smoothly once a tick",
    ),
    Metric::new("up", "kB/s", "UDP payload each member sends, mean"),
    Metric::new(
        "host_up",
        "kB/s",
        "UDP payload the host sends (in a mesh the opener)",
    ),
    Metric::new(
        "predicted",
        "/s",
        "events shown before they were confirmed, per member and second",
    ),
    Metric::new("confirmed", "/s", "events that happened"),
    Metric::new(
        "cancelled",
        "/s",
        "events that were predicted and did not happen",
    ),
    Metric::new(
        "events_wrong",
        "",
        "events not resolved exactly once, or not in everyone's list of those that happened",
    ),
    Metric::new("desyncs", "", "differences of a state that were found"),
];

/// One match after settling.
#[derive(Default)]
pub(super) struct Played {
    pub(super) course: TimeSeries,
    own_ticks: Samples,
    own_ms: Samples,
    others_ms: Samples,
    /// Ticks each input of another came late.
    late: Samples,
    depths: Samples,
    /// The largest jump of any entity, for each correction.
    jumps: Samples,
    /// The largest movement of any entity, for each picture.
    drawn: Samples,
    moved: u64,
    stalls: u64,
    needless: u64,
    standstill: Duration,
    /// The input delay of each member, in ticks.
    ahead: Samples,
    /// Predicted, confirmed, cancelled, of all members from the beginning.
    events: [u64; 3],
    wrong_events: u64,
    members: usize,
}

impl Played {
    /// The measurements of a match that is over.
    pub(super) fn of<G: Playable, M: DeterministicModel>(
        room: &DeterministicMatch<G, M>,
    ) -> Played {
        let mut played = Played {
            course: room.course().clone(),
            others_ms: room.others_delays(),
            wrong_events: room.wrong_events(),
            members: room.nodes().count(),
            ..Played::default()
        };
        for (_, program) in room.programs() {
            let Some(notes) = program.notes() else {
                continue;
            };
            for own in &notes.own {
                played.own_ticks.push(own.ticks as f64);
                played.own_ms.push(own.delay.as_secs_f64() * 1e3);
            }
            let late = notes.others.iter().map(|(.., late)| *late as f64);
            played.late.append(&late.collect());
            let depths = notes.depths.iter().map(|depth| *depth as f64);
            played.depths.append(&depths.collect());
            let jumps = notes.corrections.iter().map(|seen| seen.farthest.into());
            played.jumps.append(&jumps.collect());
            let drawn = notes.drawn.iter().map(|moved| f64::from(*moved));
            played.drawn.append(&drawn.collect());
            played.moved += notes.moved.len() as u64;
            played.stalls += notes.stalls;
            played.needless += notes.needless;
            played.standstill = played.standstill.max(program.longest_pause());
            played.ahead.push(program.status().input_delay as f64);
            let events = program.events();
            let lists = [events.predicted(), events.confirmed(), events.cancelled()];
            for (sum, list) in played.events.iter_mut().zip(lists) {
                *sum += list.len() as u64;
            }
        }
        played
    }
}

/// In the order of the metrics.
pub(super) fn figures(case: &Case, played: &[&Played]) -> [Option<f64>; METRICS.len()] {
    let all = |of: fn(&Played) -> &Samples| Samples::together(played.iter().map(|p| of(p)));
    let settling = case.number("settling_s");
    let counted = |of: fn(&Counts) -> f64| {
        let of = |played: &&Played| played.course.all(settling as u32, of);
        Samples::together(played.iter().map(of))
    };
    let members: usize = played.iter().map(|played| played.members).sum();
    let sum = |of: fn(&Played) -> f64| played.iter().map(|played| of(played)).sum::<f64>();
    let per_second = |sum: f64, seconds: f64| Some(sum / members as f64 / seconds);
    let (seconds, judged) = (
        case.number("seconds"),
        (case.number("seconds") - settling).max(1.0),
    );
    let event = |of: fn(&Played) -> f64| {
        per_second(sum(of), seconds).filter(|_| case.text("game") != "evaluation")
    };
    let own_ms = all(|p| &p.own_ms).sorted();
    let others_ms = all(|p| &p.others_ms).sorted();
    let (depths, jumps) = (all(|p| &p.depths), all(|p| &p.jumps));
    let host_up = played.iter().map(|played| {
        let sent = |c: &Counts| c.bytes_sent as f64 / 1e3;
        played.course.host(settling as u32, sent)
    });
    let host_up = Samples::together(host_up);
    [
        all(|p| &p.own_ticks).max(),
        own_ms.percentile(50.0),
        own_ms.percentile(95.0),
        Some(sum(|p| p.moved as f64)),
        others_ms.percentile(50.0),
        others_ms.percentile(95.0),
        all(|p| &p.ahead).mean(),
        per_second(sum(|p| p.stalls as f64), judged),
        counted(|c| c.ticks_lagged as f64).mean(),
        // Clocks that are brought together make ticks a few µs longer.
        (played.iter().map(|p| p.standstill).max())
            .map(|longest| (longest.as_secs_f64() * 1e4).round() / 10.0),
        counted(|c| c.rollbacks as f64).mean(),
        counted(|c| c.resimulated as f64).mean(),
        depths.sorted().percentile(50.0),
        depths.max(),
        all(|p| &p.late).max().filter(|_| !depths.is_empty()),
        per_second(sum(|p| p.needless as f64), judged),
        per_second(jumps.len() as f64, judged),
        jumps.sorted().percentile(50.0),
        jumps.max(),
        all(|p| &p.drawn).max(),
        counted(|c| c.bytes_sent as f64 / 1e3).mean(),
        host_up.mean(),
        event(|p| p.events[0] as f64),
        event(|p| p.events[1] as f64),
        event(|p| p.events[2] as f64),
        Some(sum(|p| p.wrong_events as f64)),
        Some(counted(|c| c.desyncs as f64).values().iter().sum()),
    ]
}
