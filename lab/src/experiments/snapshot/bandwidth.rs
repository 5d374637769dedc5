//! The bandwidth of snapshots and of state synchronisation, by game.

use std::marker::PhantomData;

use samestep_catalog::{NAMES, Visitor, visit};
use samestep_sync::{Snapshot, StateSync};

use super::keys::{JUDGED, MATCH, setting};
use super::metrics::{BITS, ERROR_P95, WAIT_MOST, WAIT_P95};
use super::played::{Authority, Played, Setting, errors, mean, play, together, waits};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::parameters::{Case, Domain, Key, plain};
use crate::plot::{Data, Plot};
use crate::testmatch::Playable;

/// Bits of an update, and kbit/s of a match.
pub static EXPERIMENT: Experiment = Experiment {
    columns: ["state-sync", "snapshot"],
    ..Experiment::new("bandwidth", KEYS, METRICS, run)
};

const KEYS: &[&[Key]] = &[
    &[Key::text(
        "game",
        "evaluation",
        Domain::Choice(NAMES),
        "what is played; in sublockus there are as many characters as players, and what they throw",
    )
    .labelled(plain)],
    MATCH,
    link::USUALLY_GOOD,
    link::FURTHER,
    JUDGED,
];

const METRICS: &[Metric] = &[
    Metric::new(
        "down",
        "kbit/s",
        "what each player is sent over the match, IP and UDP headers included, mean",
    ),
    Metric::new("up", "kbit/s", "what each player sends, mean"),
    Metric::new(
        "fullest_second",
        "kbit/s",
        "what a player is sent in its fullest second, wherever that begins, most of all players",
    ),
    BITS,
    Metric::new(
        "row_bits",
        "bit",
        "bits sent for one row of the state, headers of packets not included",
    ),
    Metric::new("moving", "%", "entities that move at any time"),
    WAIT_P95,
    WAIT_MOST,
    ERROR_P95,
];

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(|case, seed| {
        let state_sync = measure::<StateSync>(case, seed)?;
        Ok((state_sync, measure::<Snapshot>(case, seed)?))
    })?;
    let mut findings = Findings::default();
    let mut groups = Vec::new();
    let mut bars: [Vec<Option<f64>>; 2] = Default::default();
    for (case, repeats) in &measured {
        let state_sync = figures(&repeats.iter().map(|both| &both.0).collect::<Vec<_>>());
        let snapshot = figures(&repeats.iter().map(|both| &both.1).collect::<Vec<_>>());
        for (index, metric) in METRICS.iter().enumerate() {
            // What is predicted needs no update to move, and is not shown as it was at any time.
            let names = ["wait", "error"];
            let is_told = !names.iter().any(|name| metric.name.starts_with(name));
            let theirs = state_sync[index].filter(|_| is_told);
            findings.push(&case.name, metric.name, theirs, snapshot[index]);
        }
        groups.push(case.name.replace('/', " "));
        bars[0].push(state_sync[0]);
        bars[1].push(snapshot[0]);
    }
    let names = EXPERIMENT.columns.map(str::to_string);
    let plot = Plot::new(
        "down",
        "What each player is sent, all headers included",
        ["", "kbit/s"],
        Data::Bars(groups, names.into_iter().zip(bars).collect()),
    );
    findings.plots = vec![plot.log_y()];
    Ok(findings)
}

fn measure<M: Authority + 'static>(case: &Case, seed: u64) -> Result<Played, String> {
    let setting = setting(case)?;
    let play = Play {
        setting: &setting,
        seed,
        model: PhantomData::<M>,
    };
    visit(case.text("game"), play).expect("the key admits only games")
}

/// Plays a match of the visited game under one model.
struct Play<'a, M> {
    setting: &'a Setting,
    seed: u64,
    model: PhantomData<M>,
}

impl<M: Authority + 'static> Visitor for Play<'_, M> {
    type Output = Result<Played, String>;

    fn visit<G: Playable>(self) -> Self::Output {
        play::<G, M>(self.setting, self.seed)
    }
}

/// In the order of the metrics.
fn figures(played: &[&Played]) -> [Option<f64>; METRICS.len()] {
    let kbps = |bytes: f64| bytes * 8.0 / 1e3;
    let (wait_p95, wait_most) = waits(played);
    let moving = together(played, |played| played.seen.moving.clone());
    [
        together(played, |played| played.down.clone())
            .mean()
            .map(kbps),
        together(played, |played| played.up.clone())
            .mean()
            .map(kbps),
        together(played, |played| played.fullest.clone())
            .max()
            .map(kbps),
        mean(played, |played| played.bits),
        mean(played, |played| played.row_bits),
        moving.mean().map(|share| share * 100.0),
        wait_p95,
        wait_most,
        errors(played).0,
    ]
}
