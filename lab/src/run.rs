//! Running a plan: measure, judge, save.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::error::LabError;
use crate::experiment::{Csv, Row, RunContext};
use crate::parameters::{Case, Key};
use crate::plan::{Configuration, Expectation, Plan, Variant};
use crate::{report, table};

mod result;

pub use result::{Judgement, ResultRow, RunResult};

/// How to run a plan.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The seed of all randomness.
    pub seed: u64,
    /// The short variant.
    pub quick: bool,
    /// Over real sockets instead of in virtual time.
    pub real: bool,
    /// `key=value` pairs that override the plan.
    pub sets: Vec<(String, String)>,
    /// The output directory, in which each plan gets a directory; `None` writes nothing.
    pub out: Option<PathBuf>,
    /// Whether to show the progress on stderr.
    pub progress: bool,
}

impl RunOptions {
    fn variant(&self) -> Variant {
        let RunOptions { quick, real, .. } = *self;
        Variant { quick, real }
    }
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            seed: 1,
            quick: false,
            real: false,
            sets: Vec::new(),
            out: None,
            progress: false,
        }
    }
}

/// Runs a plan and writes rows.csv, result.json, plots and report.html into its directory.
pub fn run(plan: &Plan, options: &RunOptions) -> Result<RunResult, LabError> {
    let started = Instant::now();
    let experiment = plan.experiment;
    if options.real && !experiment.real {
        return Err(LabError::Unsupported(format!(
            "plan {} runs in virtual time only: leave out --real",
            plan.name
        )));
    }
    let cases = plan.cases(options.variant(), &options.sets)?;
    let directory = options.out.as_ref().map(|out| out.join(&plan.name));
    let changed = changes(plan, options, &cases)?;
    let (conditions, varied) = conditions(experiment.keys(), &cases);
    let context = RunContext {
        seed: options.seed,
        quick: options.quick,
        real: options.real,
        cases,
        published: plan.published.clone(),
        out: directory.clone(),
        progress: options.progress,
    };
    let findings = (experiment.run)(&context)?;
    let rows = figures(plan, findings.rows, options.real)?;
    let judge = Judge {
        plan,
        options,
        changed: &changed,
        rows: &rows,
    };
    judge.check()?;
    let expectations = judge.judgements();
    let result = RunResult {
        plan: plan.name.clone(),
        seed: options.seed,
        changed,
        conditions,
        varied,
        columns: experiment.columns,
        rows,
        expectations,
        plots: findings.plots,
        directory,
        took: started.elapsed(),
    };
    if let Some(directory) = &result.directory {
        write(plan, &result, directory)?;
    }
    Ok(result)
}

/// The figures with their units and the published figures.
fn figures(plan: &Plan, rows: Vec<Row>, real: bool) -> Result<Vec<ResultRow>, LabError> {
    let metrics = plan.experiment.metrics;
    let figure = |row: Row| {
        let metric = metrics.iter().find(|metric| metric.name == row.metric);
        let metric = metric.ok_or_else(|| LabError::BadPlan {
            plan: plan.name.clone(),
            why: format!(
                "the experiment measured an undeclared metric {}",
                row.metric
            ),
        })?;
        let mut published = plan.published.iter();
        let published = published.find(|p| p.case == row.case && p.metric == row.metric);
        Ok(ResultRow {
            case: row.case,
            metric: metric.name.into(),
            unit: metric.unit.into(),
            wall_clock: metric.wall_clock || real,
            published: published.map(|figure| figure.value),
            theirs: row.theirs.filter(|value| value.is_finite()),
            ours: row.ours.filter(|value| value.is_finite()),
        })
    };
    rows.into_iter().map(figure).collect()
}

/// Compares the measured figures with the expectations.
struct Judge<'a> {
    plan: &'a Plan,
    options: &'a RunOptions,
    changed: &'a [String],
    rows: &'a [ResultRow],
}

impl Judge<'_> {
    fn row(&self, case: &str, metric: &str) -> Option<&ResultRow> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.case == case && row.metric == metric)
    }

    /// True if the expectation is about runs under these conditions.
    fn enforced(&self, expectation: &Expectation) -> bool {
        let [whole, quick] = [self.changed.is_empty(), self.changed == ["--quick"]];
        match (expectation.real, expectation.whole) {
            (true, _) => self.changed == ["--real"],
            (false, true) => whole,
            (false, false) => whole || quick,
        }
    }

    /// A published figure without a measurement, and an expectation that cannot fail, are mistakes in the plan.
    fn check(&self) -> Result<(), LabError> {
        let published = self.plan.published.iter();
        let published = published.filter(|_| self.changed.is_empty());
        let expected = self.plan.expectations.iter();
        let expected = expected.filter(|e| self.enforced(e));
        let expected = expected.map(|e| (&e.case, &e.metric));
        for (case, metric) in published.map(|p| (&p.case, &p.metric)).chain(expected) {
            if self.row(case, metric).is_none() {
                let quick = match self.options.quick {
                    true => {
                        " of the short variant: give it that case, or mark the expectation `whole = true`"
                    }
                    false => "",
                };
                return Err(LabError::BadPlan {
                    plan: self.plan.name.clone(),
                    why: format!("nothing measured {metric} in a case \"{case}\"{quick}"),
                });
            }
        }
        Ok(())
    }

    fn judgements(&self) -> Vec<Judgement> {
        let expected = self.plan.expectations.iter();
        let expected = expected.filter(|e| self.options.real || !e.real);
        expected.map(|e| self.judgement(e)).collect()
    }

    fn judgement(&self, expectation: &Expectation) -> Judgement {
        let row = self.row(&expectation.case, &expectation.metric);
        let (ours, metric) = match expectation.of {
            Configuration::Ours => (row.and_then(|row| row.ours), expectation.metric.clone()),
            Configuration::Theirs => (
                row.and_then(|row| row.theirs),
                format!("{} (theirs)", expectation.metric),
            ),
        };
        let whole = expectation.whole && self.options.quick;
        // An expectation about a row without a figure (nothing arrived) cannot hold.
        let holds = ours.is_some_and(|ours| expectation.op.holds(ours, expectation.value));
        Judgement {
            metric,
            case: expectation.case.clone(),
            op: expectation.op.symbol(),
            value: expectation.value,
            ours,
            ok: row.filter(|_| !whole).map(|_| holds),
            missed: expectation.missed.clone(),
            enforced: self.enforced(expectation),
            whole,
            wall_clock: row.is_some_and(|row| row.wall_clock),
        }
    }
}

/// The differences from the plan's default run; setting a key to its default value is no difference.
fn changes(plan: &Plan, options: &RunOptions, cases: &[Case]) -> Result<Vec<String>, LabError> {
    let mut changed = Vec::new();
    if options.quick {
        changed.push("--quick".to_string());
    }
    if options.real {
        changed.push("--real".to_string());
    }
    if !options.sets.is_empty() && plan.cases(options.variant(), &[])? != cases {
        let sets = options.sets.iter();
        changed.extend(sets.map(|(key, value)| format!("{key}={value}")));
    }
    Ok(changed)
}

/// Keys and their values as text.
type Settings = Vec<(String, String)>;

/// The settings that all cases share, and those that vary. A link setting that a profile replaces in every case is neither.
fn conditions<'a>(keys: impl Iterator<Item = &'a Key>, cases: &[Case]) -> (Settings, Settings) {
    let (mut common, mut varied) = (Settings::new(), Settings::new());
    for key in keys {
        let mut values: Vec<String> = Vec::new();
        for case in cases {
            let value = case.value(key.name);
            let value = value.map_or("the profile's".into(), ToString::to_string);
            if !values.contains(&value) {
                values.push(value);
            }
        }
        match values.as_slice() {
            [value] if value == "the profile's" => {}
            [value] => common.push((key.name.into(), value.clone())),
            _ => varied.push((key.name.into(), values.join(", "))),
        }
    }
    (common, varied)
}

fn write(plan: &Plan, result: &RunResult, directory: &Path) -> Result<(), LabError> {
    std::fs::create_dir_all(directory).map_err(|error| LabError::file(directory, error))?;
    let mut csv = Csv::create(
        directory.join("rows.csv"),
        &[
            "case",
            "metric",
            "unit",
            "published",
            "theirs",
            "ours",
            "ratio",
        ],
    )?;
    for row in &result.rows {
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        csv.line(&[
            row.case.clone(),
            row.metric.clone(),
            row.unit.clone(),
            number(row.published),
            number(row.theirs),
            number(row.ours),
            number(row.ratio()),
        ])?;
    }
    csv.finish()?;
    save(&directory.join("result.json"), &result.to_json())?;
    save(&directory.join("table.txt"), &table::render(result))?;
    for plot in &result.plots {
        save(&directory.join(format!("{}.svg", plot.name)), &plot.svg()?)?;
    }
    save(
        &directory.join("report.html"),
        &report::html(&[(plan, result)])?,
    )
}

/// Writes a text file, with the path in the error.
pub fn save(path: &Path, text: &str) -> Result<(), LabError> {
    std::fs::write(path, text).map_err(|error| LabError::file(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan of two cases, of which the short variant has one, with one expectation.
    fn plan(expectation: &str) -> Plan {
        let text = format!(
            "name='x'\ntitle='x'\nsource='x'\ndescription='x'\nexperiment='delivery'\n\
             [parameters]\nseconds=2\nlink.latency_ms=[20, 50]\n[quick]\nlink.latency_ms=20\n\
             [[expect]]\nmetric='latency_mean'\nop='<='\n{expectation}"
        );
        Plan::parse("x.toml", &text).unwrap()
    }

    fn quick(expectation: &str) -> Result<RunResult, LabError> {
        let options = RunOptions {
            quick: true,
            ..RunOptions::default()
        };
        run(&plan(expectation), &options)
    }

    #[test]
    fn the_short_variant_is_held_to_what_it_can_decide() {
        let result = quick("case='20ms/0%/reliable-ordered'\nvalue=30").unwrap();
        assert!(result.ok() && result.expectations[0].enforced);
        let result = quick("case='20ms/0%/reliable-ordered'\nvalue=10").unwrap();
        assert!(!result.ok());
        let result = quick("case='20ms/0%/reliable-ordered'\nvalue=10\nwhole=true").unwrap();
        assert!(result.ok());
        assert_eq!(result.expectations[0].verdict(), "needs the whole run");
        let whole = plan("case='20ms/0%/reliable-ordered'\nvalue=10\nwhole=true");
        assert!(!run(&whole, &RunOptions::default()).unwrap().ok());
    }

    #[test]
    fn a_promise_the_short_variant_has_no_case_for_is_refused_unless_it_says_so() {
        let error = quick("case='50ms/0%/reliable-ordered'\nvalue=60")
            .err()
            .unwrap();
        assert!(error.to_string().contains("whole = true"), "{error}");
        assert!(
            quick("case='50ms/0%/reliable-ordered'\nvalue=60\nwhole=true")
                .unwrap()
                .ok()
        );
    }

    #[test]
    fn what_cases_share_is_told_apart_from_what_varies() {
        let plan = Plan::find("delivery").unwrap();
        let sets = [("link.loss", "0.05,0.1"), ("seconds", "5")];
        let sets = sets.map(|(key, value)| (key.to_string(), value.to_string()));
        let cases = plan.cases(Variant::default(), &sets).unwrap();
        let (common, varied) = conditions(plan.experiment.keys(), &cases);
        let pair = |key: &str, value: &str| (key.to_string(), value.to_string());
        assert!(common.contains(&pair("seconds", "5")), "{common:?}");
        assert!(
            varied.contains(&pair("link.loss", "0.05, 0.1")),
            "{varied:?}"
        );
        let sets = [("link.profile".to_string(), "lte".to_string())];
        let cases = plan.cases(Variant::default(), &sets).unwrap();
        let (common, varied) = conditions(plan.experiment.keys(), &cases);
        assert!(common.contains(&pair("link.profile", "lte")), "{common:?}");
        assert!(
            !common
                .iter()
                .chain(&varied)
                .any(|(key, _)| key == "link.loss")
        );
    }
}
