//! The interface of an experiment, and the context it runs in.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use indicatif::{ProgressBar, ProgressStyle};

use crate::error::LabError;
use crate::parameters::{Case, Key};
use crate::plan::Published;
use crate::plot::Plot;

/// Something that is measured under the conditions of a case.
pub struct Experiment {
    /// The name plans use.
    pub name: &'static str,
    /// Its parameters, in groups. Cases are in their order.
    pub keys: &'static [&'static [Key]],
    /// Its metrics.
    pub metrics: &'static [Metric],
    /// Names of rows that summarise several cases.
    pub summaries: &'static [&'static str],
    /// The names of its two columns of figures.
    pub columns: [&'static str; 2],
    /// True if it can also run over real sockets.
    pub real: bool,
    /// Measures every case of the context.
    pub run: fn(&RunContext) -> Result<Findings, LabError>,
}

impl Experiment {
    /// An experiment in virtual time that compares the published algorithm with ours.
    pub const fn new(
        name: &'static str,
        keys: &'static [&'static [Key]],
        metrics: &'static [Metric],
        run: fn(&RunContext) -> Result<Findings, LabError>,
    ) -> Experiment {
        Experiment {
            name,
            keys,
            metrics,
            summaries: &[],
            columns: ["theirs", "ours"],
            real: false,
            run,
        }
    }

    /// All its parameters, in order.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + Clone + use<> {
        self.keys.iter().copied().flatten()
    }
}

/// A quantity that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name. Never changes once published.
    pub name: &'static str,
    /// Its unit; empty for plain numbers.
    pub unit: &'static str,
    /// What it means.
    pub what: &'static str,
    /// True if it depends on the machine also in virtual time (processor time, real sockets): such a figure never fails a run.
    pub wall_clock: bool,
}

impl Metric {
    /// A metric; `what` completes the sentence "this is …".
    pub const fn new(name: &'static str, unit: &'static str, what: &'static str) -> Metric {
        Metric {
            name,
            unit,
            what,
            wall_clock: false,
        }
    }

    /// A metric that depends on the machine and on what else it does.
    pub const fn wall_clock(name: &'static str, unit: &'static str, what: &'static str) -> Metric {
        Metric {
            wall_clock: true,
            ..Metric::new(name, unit, what)
        }
    }
}

/// One measured figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The case.
    pub case: String,
    /// The metric's name.
    pub metric: &'static str,
    /// The source document's algorithm, as a configuration of our code, where there is one.
    pub theirs: Option<f64>,
    /// Our default.
    pub ours: Option<f64>,
}

/// The results of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The figures, in the order of the table.
    pub rows: Vec<Row>,
    /// The plots.
    pub plots: Vec<Plot>,
}

impl Findings {
    /// Adds a figure.
    pub fn push(
        &mut self,
        case: &str,
        metric: &'static str,
        theirs: Option<f64>,
        ours: Option<f64>,
    ) {
        self.rows.push(Row {
            case: case.into(),
            metric,
            theirs,
            ours,
        });
    }

    /// Adds the figures of a case, which are in the order of the metrics. A list may be shorter than the metrics are.
    pub fn add(
        &mut self,
        case: &str,
        metrics: &[Metric],
        theirs: &[Option<f64>],
        ours: &[Option<f64>],
    ) {
        for (index, metric) in metrics.iter().enumerate() {
            let [theirs, ours] = [theirs, ours].map(|side| side.get(index).copied().flatten());
            self.push(case, metric.name, theirs, ours);
        }
    }

    /// Removes the rows that have no figure: what the game or the kind of run does not have is left out.
    pub fn retain_measured(&mut self) {
        self.rows.retain(|row| row.theirs.or(row.ours).is_some());
    }

    /// The row of a case and metric.
    pub fn row(&self, case: &Case, metric: &str) -> Option<&Row> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.case == case.name && row.metric == metric)
    }

    /// Our figure of a case and metric.
    pub fn ours(&self, case: &Case, metric: &str) -> Option<f64> {
        self.row(case, metric)?.ours
    }
}

/// The cases, the seed and the output directory of a run.
pub struct RunContext {
    /// The seed of all randomness.
    pub seed: u64,
    /// True in the short variant.
    pub quick: bool,
    /// True over real sockets, false in virtual time.
    pub real: bool,
    /// The cases to measure.
    pub cases: Vec<Case>,
    /// Figures of the source document, to be drawn beside ours.
    pub published: Vec<Published>,
    /// The directory for raw data; `None` writes none.
    pub out: Option<PathBuf>,
    /// Whether to show the progress on stderr.
    pub progress: bool,
}

impl RunContext {
    /// Measures every repeat of every case, `repeats` of each, on all processors. The answers come back in the order
    /// of the cases and do not depend on the number of processors: a repeat's seed follows from the run's seed and
    /// its number alone, so all cases of one repeat see the same randomness and differ only in their parameters.
    pub fn measure<T: Send>(
        &self,
        measure: impl Fn(&Case, u64) -> Result<T, String> + Sync,
    ) -> Result<Vec<(&Case, Vec<T>)>, LabError> {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        self.measure_with(workers, measure)
    }

    /// Measures with a given number of workers: one over real sockets, where cases would disturb each other.
    pub fn measure_with<T: Send>(
        &self,
        workers: usize,
        measure: impl Fn(&Case, u64) -> Result<T, String> + Sync,
    ) -> Result<Vec<(&Case, Vec<T>)>, LabError> {
        let jobs: Vec<(usize, u64)> = (0..self.cases.len())
            .flat_map(|case| {
                (0..self.cases[case].number("repeats") as u64).map(move |repeat| (case, repeat))
            })
            .collect();
        let bar = self.bar(jobs.len());
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..workers.min(jobs.len()) {
                scope.spawn(|| {
                    while let Some((case, repeat)) = jobs.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        let (case_of, seed) = (&self.cases[*case], seed_of(self.seed, *repeat));
                        let answer = measure(case_of, seed).map_err(|why| LabError::Measurement {
                            case: case_of.name.clone(),
                            why: format!("{why} (this repeat's seed is {seed})"),
                        });
                        let failed = answer.is_err();
                        let mut done = done.lock().expect("no worker panics with the lock");
                        done.push(((*case, *repeat), answer));
                        bar.set_message(case_of.name.clone());
                        bar.inc(1);
                        if failed {
                            next.store(jobs.len(), Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        bar.finish_and_clear();
        let mut done = done.into_inner().expect("no worker panics with the lock");
        done.sort_by_key(|(job, _)| *job);
        let mut all: Vec<(&Case, Vec<T>)> =
            self.cases.iter().map(|case| (case, Vec::new())).collect();
        for ((case, _), answer) in done {
            all[case].1.push(answer?);
        }
        Ok(all)
    }

    /// The source document's figure for a case and metric.
    pub fn published(&self, case: &Case, metric: &str) -> Option<f64> {
        let figure = self
            .published
            .iter()
            .find(|figure| figure.case == case.name && figure.metric == metric)?;
        Some(figure.value)
    }

    /// A raw data file in the output directory; `None` when none is written.
    pub fn csv(&self, name: &str, header: &[&str]) -> Result<Option<Csv>, LabError> {
        let Some(out) = &self.out else {
            return Ok(None);
        };
        std::fs::create_dir_all(out).map_err(|error| LabError::file(out, error))?;
        Csv::create(out.join(name), header).map(Some)
    }

    /// A bar on the terminal; hidden if nobody asked for it or stderr is no terminal.
    fn bar(&self, jobs: usize) -> ProgressBar {
        if !self.progress {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {eta} {wide_msg}");
        ProgressBar::new(jobs as u64).with_style(style.expect("the template is valid"))
    }
}

/// The seed of one repeat (SplitMix64 of seed and number): neighbouring seeds share nothing.
pub fn seed_of(seed: u64, repeat: u64) -> u64 {
    let mut z = seed.wrapping_add(repeat.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A file of comma-separated values (RFC 4180), whose errors name its path.
pub struct Csv {
    path: PathBuf,
    writer: csv::Writer<File>,
}

impl Csv {
    /// Creates the file and writes its header.
    pub fn create(path: PathBuf, header: &[&str]) -> Result<Csv, LabError> {
        let writer = csv::Writer::from_path(&path).map_err(|e| LabError::file(&path, e.into()))?;
        let mut csv = Csv { path, writer };
        csv.line(header)?;
        Ok(csv)
    }

    /// Writes one line.
    pub fn line<S: AsRef<str>>(&mut self, fields: &[S]) -> Result<(), LabError> {
        let fields = fields.iter().map(|field| field.as_ref());
        let written = self.writer.write_record(fields);
        written.map_err(|error| LabError::file(&self.path, error.into()))
    }

    /// Flushes the file, so that a full disk is noticed.
    pub fn finish(mut self) -> Result<(), LabError> {
        let flushed = self.writer.flush();
        flushed.map_err(|error| LabError::file(&self.path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::EXPERIMENTS;
    use crate::plan::{Plan, Variant};

    fn context() -> RunContext {
        let plan = Plan::find("delivery").unwrap();
        let sets = [("repeats".to_string(), "3".to_string())];
        let cases = plan
            .cases(
                Variant {
                    quick: true,
                    real: false,
                },
                &sets,
            )
            .unwrap();
        RunContext {
            seed: 5,
            quick: true,
            real: false,
            cases,
            published: Vec::new(),
            out: None,
            progress: false,
        }
    }

    #[test]
    fn answers_come_in_the_order_of_the_cases_however_many_workers() {
        let context = context();
        let run = |workers| {
            context
                .measure_with(workers, |case, seed| Ok((case.name.clone(), seed)))
                .unwrap()
        };
        let alone = run(1);
        assert_eq!(alone.len(), context.cases.len());
        for (case, answers) in &alone {
            assert!(answers.iter().all(|(name, _)| *name == case.name));
            let seeds: Vec<_> = answers.iter().map(|(_, seed)| *seed).collect();
            assert_eq!(seeds, [seed_of(5, 0), seed_of(5, 1), seed_of(5, 2)]);
        }
        let names = |run: &[(&Case, Vec<(String, u64)>)]| {
            run.iter().map(|(_, a)| a.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&alone), names(&run(4)));
    }

    #[test]
    fn a_failing_case_fails_the_run() {
        let failing = |_: &Case, _| Err::<(), _>("no connection".into());
        assert!(
            context()
                .measure(failing)
                .err()
                .unwrap()
                .to_string()
                .contains("no connection")
        );
    }

    #[test]
    fn names_are_unique_and_stable_in_form() {
        for experiment in EXPERIMENTS {
            let metrics = experiment.metrics.iter();
            let mut names: Vec<_> = metrics.map(|metric| metric.name).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), experiment.metrics.len());
            assert!(names.iter().all(|name| {
                name.chars()
                    .all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit())
            }));
            assert!(experiment.keys().any(|key| key.name == "repeats"));
        }
    }
}
