//! What a host's tick costs: the rules, recomputing the update window, the network and drawing, beside a client's.

mod room;
mod timed;

use std::time::Duration;

use samestep_sim::NodeId;

use super::prediction::SETTLING_S;
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link::{self, percent_label};
use crate::parameters::{Case, Domain, Key, plain};
use crate::stats::Samples;
use crate::testmatch::{OPENER, SECONDS};
use room::{Measured, RoomConfig, TickCost, play};
use timed::Scheme;

/// The processor time of one program by area, with the window recomputed from what changed, and as a whole.
pub static EXPERIMENT: Experiment = Experiment::new("host-cost", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[&[
    Key::text(
        "program",
        "host",
        Domain::Choice(&["host", "client"]),
        "whose time is measured: that of the program that is the authority and plays too, or of one that only plays",
    )
    .labelled(plain),
    Key::number(
        "latency_ms",
        50.0,
        Domain::Number(0.0, 10_000.0),
        "smallest time one way, in ms",
    )
    .labelled(link::latency_label),
    link::LOSS.labelled(percent_label),
    link::JITTER_MS.labelled(link::some_jitter_label),
    link::JITTER,
    Key::number(
        "players",
        4.0,
        Domain::Whole(2, 4),
        "players, the hosting one among them; all are bots",
    ),
    Key::number("ai", 20.0, Domain::Whole(0, 40), "AI characters"),
    Key::number(
        "runs",
        3.0,
        Domain::Whole(1, 100),
        "how often each match is played: it is the same every time, and of each tick and area the shortest time counts",
    ),
    SECONDS,
    SETTLING_S,
    link::REPEATS,
]];

const METRICS: &[Metric] = &[
    Metric::wall_clock(
        "logic_mean",
        "ms",
        "processor time for steps of the rules, per tick, mean",
    ),
    Metric::wall_clock("logic_max", "ms", "the same, most in any tick"),
    Metric::wall_clock(
        "recomputing_mean",
        "ms",
        "for keeping states, going back, and steps of ticks simulated before, per tick, mean",
    ),
    Metric::wall_clock("recomputing_max", "ms", "the same, most in any tick"),
    Metric::wall_clock(
        "network_mean",
        "ms",
        "for session, model and protocol: all calls of the program but what the other areas take, per tick, mean",
    ),
    Metric::wall_clock("network_max", "ms", "the same, most in any tick"),
    Metric::wall_clock(
        "drawing_mean",
        "ms",
        "for the state that is drawn, once a tick, mean; painting it is not part of it",
    ),
    Metric::wall_clock("drawing_max", "ms", "the same, most in any tick"),
    Metric::wall_clock("total_mean", "ms", "for all of it, per tick, mean"),
    Metric::wall_clock("total_max", "ms", "the same, most in any tick"),
    Metric::wall_clock(
        "time_part",
        "%",
        "recomputing_mean in relation to that of theirs, which recomputes the whole window in every tick",
    ),
    Metric::new(
        "states_part",
        "%",
        "ticks that are recomputed in relation to the whole window in every tick",
    ),
];

/// The place of `recomputing_mean` among the metrics.
const RECOMPUTING: usize = 2;

/// A match with each scheme.
struct Both {
    ours: Measured,
    /// A client recomputes nothing by the authority's scheme.
    theirs: Option<Measured>,
}

fn run(context: &RunContext) -> Result<Findings, LabError> {
    // One at a time: others would take the processor's caches away.
    let measured = context.measure_with(1, measure)?;
    let mut findings = Findings::default();
    for (case, repeats) in &measured {
        let ours: Vec<&Measured> = repeats.iter().map(|it| &it.ours).collect();
        let theirs: Vec<&Measured> = repeats.iter().filter_map(|it| it.theirs.as_ref()).collect();
        let (mut ours, theirs) = (figures(&ours), figures(&theirs));
        let recomputing = |of: &[Option<f64>]| of.get(RECOMPUTING).copied().flatten();
        let time = recomputing(&ours).zip(recomputing(&theirs));
        let states = |of: &Measured| (of.recomputed, of.whole_windows);
        let states = repeats.iter().map(|it| states(&it.ours));
        let states = states.reduce(|sum, more| (sum.0 + more.0, sum.1 + more.1));
        ours.push(time.map(|(ours, theirs)| ours / theirs * 100.0));
        let is_host = time.is_some();
        let states = states.filter(|_| is_host);
        ours.push(states.map(|(again, whole)| again as f64 * 100.0 / whole as f64));
        findings.add(&case.name, METRICS, &theirs, &ours);
    }
    findings.retain_measured();
    Ok(findings)
}

fn measure(case: &Case, seed: u64) -> Result<Both, String> {
    let mut path = link::path(case)?;
    let latency = case.millis("latency_ms");
    (path.up.latency, path.down.latency) = (latency, latency);
    let is_host = case.text("program") == "host";
    let config = RoomConfig {
        players: case.number("players") as u16,
        ai: case.number("ai") as u8,
        path,
        program: if is_host { OPENER } else { NodeId(1) },
        scheme: Scheme::Changed,
        length: case.seconds("seconds"),
        settling: case.seconds("settling_s"),
    };
    let runs = case.number("runs") as u32;
    let ours = least_of(runs, &config, seed)?;
    let theirs = match is_host {
        true => {
            let config = RoomConfig {
                scheme: Scheme::WholeWindow,
                ..config
            };
            Some(least_of(runs, &config, seed)?)
        }
        false => None,
    };
    Ok(Both { ours, theirs })
}

/// Plays the same match several times, and keeps the shortest time of each tick and area.
fn least_of(runs: u32, config: &RoomConfig, seed: u64) -> Result<Measured, String> {
    let mut least = play(config, seed)?;
    for _ in 1..runs {
        let again = play(config, seed)?;
        if (again.ticks.len(), again.recomputed) != (least.ticks.len(), least.recomputed) {
            return Err("the same match was not the same again".into());
        }
        for (tick, other) in least.ticks.iter_mut().zip(&again.ticks) {
            *tick = tick.least(other);
        }
    }
    Ok(least)
}

/// Means and maxima, in the order of the metrics.
fn figures(repeats: &[&Measured]) -> Vec<Option<f64>> {
    let areas: [fn(&TickCost) -> Duration; 5] = [
        |cost| cost.logic,
        |cost| cost.recomputing,
        |cost| cost.network,
        |cost| cost.drawing,
        TickCost::total,
    ];
    let ticks = || repeats.iter().flat_map(|measured| &measured.ticks);
    let of = |area: fn(&TickCost) -> Duration| {
        let ms: Samples = ticks().map(|cost| area(cost).as_secs_f64() * 1e3).collect();
        [ms.mean(), ms.max()]
    };
    areas.into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use samestep_netem::{LinkConfig, Path};

    use super::*;

    fn config(program: NodeId, scheme: Scheme) -> RoomConfig {
        RoomConfig {
            players: 3,
            ai: 6,
            path: Path::symmetric(LinkConfig {
                latency: Duration::from_millis(50),
                ..LinkConfig::default()
            }),
            program,
            scheme,
            length: Duration::from_secs(6),
            settling: Duration::from_secs(3),
        }
    }

    #[test]
    fn every_area_takes_time_and_the_whole_window_more_than_what_changed() {
        let ours = least_of(2, &config(OPENER, Scheme::Changed), 3).unwrap();
        let theirs = least_of(2, &config(OPENER, Scheme::WholeWindow), 3).unwrap();
        let sum = |measured: &Measured, area: fn(&TickCost) -> Duration| {
            measured.ticks.iter().map(area).sum::<Duration>()
        };
        assert_eq!(
            (ours.ticks.len(), ours.recomputed),
            (theirs.ticks.len(), theirs.recomputed)
        );
        assert!(
            (0..ours.whole_windows).contains(&ours.recomputed),
            "{}",
            ours.recomputed
        );
        let areas: [fn(&TickCost) -> Duration; 3] =
            [|cost| cost.logic, |cost| cost.network, |cost| cost.drawing];
        for area in areas {
            assert!(sum(&ours, area) > Duration::ZERO);
        }
        let recomputing = |measured| sum(measured, |cost| cost.recomputing);
        assert!(recomputing(&theirs) > recomputing(&ours));
        let client = least_of(1, &config(NodeId(1), Scheme::Changed), 3).unwrap();
        assert!(sum(&client, TickCost::total) > Duration::ZERO);
    }
}
