//! The common clock against the truth, and the published protocol's figures (Hat Hunters Online, 5.2).

mod cycles;
mod trace;
mod world;

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, Row, RunContext, seed_of};
use crate::link;
use crate::parameters::{Case, Domain, Key, unless};
use crate::plot::{Data, Plot};
use crate::stats::Samples;
use cycles::CycleConfig;
use trace::ClockTrace;
use world::{Duo, Mesh};

/// Sessions: a client that follows its host's clock, or a mesh that agrees on one. *Theirs* is the published protocol with the settings of one
/// of its experiments, both programs reading their sockets once a frame; *ours* is the default, reading on arrival.
pub static EXPERIMENT: Experiment = Experiment {
    summaries: &[LTE],
    ..Experiment::new("clock", KEYS, METRICS, run)
};

const KEYS: &[&[Key]] = &[&[
    Key::number("peers", 2.0, Domain::Whole(2, 64), "2 for a client and a server, more for a mesh")
        .labelled(|value| unless(2.0, value, |peers| format!("mesh-of-{peers}"))),
    Key::number("experiment", 0.0, Domain::Whole(0, 16), "whose settings of Table 5.2 theirs has, 0 for those of 6; also chooses the seeds, as each was a run of its own")
        .labelled(|value| unless(0.0, value, |number| format!("experiment-{number}"))),
    link::PROFILE,
    link::LATENCY_MS,
    link::JITTER_MS,
    link::JITTER,
    link::LOSS,
    Key::number("spread_ms", 0.0, Domain::Number(0.0, 1_000.0), "how much farther apart the farthest pair of a mesh is than link.latency_ms, in ms"),
    Key::number("step_up_ms", 0.0, Domain::Number(0.0, 1_000.0), "added to the one-way delay to the server from the middle of the run on, in ms")
        .labelled(|value| unless(0.0, value, |ms| format!("+{ms}ms-up"))),
    Key::number("step_down_ms", 0.0, Domain::Number(0.0, 1_000.0), "added to the one-way delay back from the middle of the run on, in ms")
        .labelled(|value| unless(0.0, value, |ms| format!("+{ms}ms-down"))),
    Key::number("drift_ppm", 0.0, Domain::Number(-500.0, 500.0), "how much faster the client's clock runs, in parts per million; in a mesh the largest, either way")
        .labelled(|value| unless(0.0, value, |ppm| format!("{ppm}ppm"))),
    Key::number("cycles", 160.0, Domain::Whole(70, 100_000), "cycles of each run; the first 60 are not judged"),
    link::REPEATS,
]];

const METRICS: &[Metric] = &[
    Metric::new(
        "difference_std_dev",
        "ms",
        "standard deviation of estimated minus shown time, once a cycle after the first 60, 0 where the estimate was refused",
    ),
    Metric::new("difference_mean", "ms", "its mean"),
    Metric::new(
        "rtt_mean",
        "ms",
        "mean round trip as the protocol measured it",
    ),
    Metric::new(
        "error_std_dev",
        "ms",
        "standard deviation of the true error; theirs after 60 cycles, ours after 1.5 s; in a mesh between any two peers after 10 s",
    ),
    Metric::new("error_p99", "ms", "99th percentile of its size"),
    Metric::new("error_max", "ms", "the greatest of it"),
    Metric::new(
        "usable",
        "s",
        "time from joining, in a mesh from the start, until the true error is below 5 ms and stays there; the slowest repeat",
    ),
    Metric::new("backwards", "", "times the clock was seen to run backwards"),
];

/// The row that sums up the ten runs over LTE.
const LTE: &str = "experiments-7-to-16";
const SKIPPED_CYCLES: usize = 60;
/// From when on our clock is judged, in seconds.
const USABLE_BY: f64 = 1.5;
/// The same for a mesh.
const MESH_USABLE_BY: f64 = 10.0;

struct Measured {
    theirs: Option<ClockTrace>,
    ours: ClockTrace,
}

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    for (case, repeats) in &measured {
        let (theirs, ours) = both(case, repeats);
        findings.add(&case.name, METRICS, &theirs.figures(), &ours.figures());
    }
    findings.retain_measured();
    summarise(&measured, &mut findings);
    write_traces(context, &measured)?;
    findings.plots = plots(context, &measured);
    Ok(findings)
}

/// The experiment of the source whose settings theirs has.
fn published(case: &Case) -> u8 {
    match case.number("experiment") as u8 {
        0 => 6,
        number => number,
    }
}

fn measure(case: &Case, seed: u64) -> Result<Measured, String> {
    let path = link::path(case)?;
    let seed = seed_of(seed, case.number("experiment") as u64);
    let experiment = published(case);
    let cycles = CycleConfig::published(experiment);
    let length = cycles.interval * case.number("cycles") as u32;
    if case.number("peers") > 2.0 {
        let mesh = Mesh {
            peers: case.number("peers") as usize,
            link: path.up,
            spread: case.millis("spread_ms"),
            drift_ppm: case.number("drift_ppm"),
            length,
        };
        return Ok(Measured {
            theirs: None,
            ours: mesh.run(seed),
        });
    }
    let duo = Duo {
        path,
        step: (case.millis("step_up_ms"), case.millis("step_down_ms")),
        drift_ppm: case.number("drift_ppm"),
        interval: cycles.interval,
        length,
    };
    Ok(Measured {
        theirs: Some(duo.run_published(&cycles, seed)),
        ours: duo.run_ours(seed),
    })
}

/// All repeats of a case, judged together.
#[derive(Default)]
struct Summary {
    differences: Samples,
    round_trips: Samples,
    errors: Samples,
    /// The slowest repeat; `None` when one never was.
    usable: Option<f64>,
    backwards: u32,
    repeats: usize,
}

impl Summary {
    fn of<'a>(traces: impl Iterator<Item = &'a ClockTrace>, errors_from: f64) -> Summary {
        let mut summary = Summary {
            usable: Some(0.0),
            ..Summary::default()
        };
        for trace in traces {
            summary.repeats += 1;
            let judged = trace.differences.iter().skip(SKIPPED_CYCLES);
            summary.differences.append(&judged.copied().collect());
            let round_trips = trace.round_trips.iter().copied().collect();
            summary.round_trips.append(&round_trips);
            summary.errors.append(&trace.errors_from(errors_from));
            summary.usable = summary
                .usable
                .and_then(|slowest| Some(slowest.max(trace.usable()?)));
            summary.backwards += trace.backwards;
        }
        summary
    }

    /// In the order of the metrics.
    fn figures(&self) -> [Option<f64>; 8] {
        if self.repeats == 0 {
            return [None; 8];
        }
        let sizes: Samples = self.errors.values().iter().map(|e| e.abs()).collect();
        [
            self.differences.std_dev(),
            self.differences.mean(),
            self.round_trips.mean(),
            self.errors.std_dev(),
            sizes.sorted().percentile(99.0),
            sizes.max(),
            self.usable,
            Some(f64::from(self.backwards)),
        ]
    }
}

/// Theirs and ours.
fn both(case: &Case, repeats: &[Measured]) -> (Summary, Summary) {
    let interval = CycleConfig::published(published(case)).interval;
    let skipped = interval.as_secs_f64() * SKIPPED_CYCLES as f64;
    let mesh = case.number("peers") > 2.0;
    let from = if mesh { MESH_USABLE_BY } else { USABLE_BY };
    (
        Summary::of(repeats.iter().filter_map(|r| r.theirs.as_ref()), skipped),
        Summary::of(repeats.iter().map(|repeat| &repeat.ours), from),
    )
}

/// The last row of Table 5.4: means over the ten runs; the true errors together.
fn summarise(measured: &[(&Case, Vec<Measured>)], findings: &mut Findings) {
    let runs: Vec<&(&Case, Vec<Measured>)> = measured
        .iter()
        .filter(|(case, _)| case.number("experiment") >= 7.0)
        .collect();
    if runs.is_empty() {
        return;
    }
    let mean = |metric: &str, side: fn(&Row) -> Option<f64>| {
        let rows = findings.rows.iter().filter(|row| {
            row.metric == metric && runs.iter().any(|(case, _)| case.name == row.case)
        });
        rows.filter_map(side).collect::<Samples>().mean()
    };
    let everything = |ours: bool| {
        let repeats = runs.iter().flat_map(|(_, repeats)| repeats);
        let traces = repeats.filter_map(|repeat| match ours {
            true => Some(&repeat.ours),
            false => repeat.theirs.as_ref(),
        });
        Summary::of(traces, if ours { USABLE_BY } else { 60.0 }).figures()
    };
    let (mut theirs, mut ours) = (everything(false), everything(true));
    for (index, metric) in METRICS[..3].iter().enumerate() {
        theirs[index] = mean(metric.name, |row| row.theirs);
        ours[index] = mean(metric.name, |row| row.ours);
    }
    findings.add(LTE, METRICS, &theirs, &ours);
}

/// The true error every 0.1 s in the first repeat.
fn write_traces(context: &RunContext, measured: &[(&Case, Vec<Measured>)]) -> Result<(), LabError> {
    let header = ["case", "configuration", "seconds", "error_ms"];
    let Some(mut csv) = context.csv("errors.csv", &header)? else {
        return Ok(());
    };
    for (case, repeats) in measured
        .iter()
        .filter(|(case, _)| case.number("peers") == 2.0)
    {
        let Some(repeat) = repeats.first() else {
            continue;
        };
        for (name, trace) in [
            ("theirs", repeat.theirs.as_ref()),
            ("ours", Some(&repeat.ours)),
        ] {
            for (at, error) in trace
                .iter()
                .flat_map(|trace| trace.errors.iter().step_by(5))
            {
                let (at, error) = (format!("{at:.2}"), format!("{error:.4}"));
                csv.line(&[case.name.as_str(), name, &at, &error])?;
            }
        }
    }
    csv.finish()
}

fn plots(context: &RunContext, measured: &[(&Case, Vec<Measured>)]) -> Vec<Plot> {
    let pairs: Vec<_> = measured
        .iter()
        .filter(|(case, _)| case.number("peers") == 2.0)
        .collect();
    let plain: Vec<_> = pairs
        .iter()
        .filter(|(case, _)| case.number("experiment") > 0.0)
        .collect();
    let figure = |side: usize, index: usize| {
        let value = |(case, repeats): &&&(&Case, Vec<Measured>)| {
            let (theirs, ours) = both(case, repeats);
            [theirs, ours][side].figures()[index]
        };
        plain.iter().map(value).collect::<Vec<_>>()
    };
    let published =
        |(case, _): &&&(&Case, Vec<Measured>)| context.published(case, "difference_std_dev");
    let published: Vec<_> = plain.iter().map(published).collect();
    let numbers = plain.iter().map(|(case, _)| case.number("experiment"));
    let groups = numbers.map(|number| number.to_string()).collect();
    let bars = vec![
        ("published, as it estimates itself".into(), published),
        ("theirs, as it estimates itself".into(), figure(0, 0)),
        ("theirs, true error".into(), figure(0, 3)),
        ("ours, true error".into(), figure(1, 3)),
    ];
    let mut plots = vec![
        Plot::new(
            "spread",
            "A clock's standard deviation; experiments 1 to 6 on a LAN, 7 to 16 over LTE",
            ["experiment", "ms"],
            Data::Bars(groups, bars),
        )
        .log_y(),
    ];
    let differences = |(case, repeats): &&&(&Case, Vec<Measured>)| {
        let trace = repeats.first()?.theirs.as_ref()?;
        let judged = trace.differences.iter().enumerate().skip(SKIPPED_CYCLES);
        let points = judged.map(|(cycle, ms)| (cycle as f64, *ms)).collect();
        let number = case.number("experiment");
        let shown = [2.0, 5.0, 6.0].contains(&number);
        shown.then(|| (format!("experiment {number}"), points))
    };
    plots.push(Plot::new(
        "differences",
        "Theirs: what the protocol takes for its error, cycle by cycle",
        ["cycle", "ms"],
        Data::Lines(plain.iter().filter_map(differences).collect()),
    ));
    for (case, repeats) in &pairs {
        let stepped = case.number("step_up_ms") > 0.0;
        if stepped && let Some(first) = repeats.first() {
            let theirs = first.theirs.iter().map(|theirs| ("theirs", theirs));
            let traces = theirs.chain([("ours", &first.ours)]);
            let lines = traces.map(|(name, trace)| {
                let points = trace.errors.iter().step_by(5);
                let shown = points.filter(|(_, error)| error.abs() < 50.0);
                (name.to_string(), shown.copied().collect())
            });
            plots.push(Plot::new(
                format!("step-{}", case.text("link.profile")),
                format!("True error of the clock, {}", case.name.replace('/', ", ")),
                ["seconds", "ms ahead"],
                Data::Lines(lines.collect()),
            ));
        }
    }
    plots
}
