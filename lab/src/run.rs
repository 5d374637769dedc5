//! Running a plan: measure, judge, write down.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};

use crate::error::LabError;
use crate::experiment::{Csv, RunContext};
use crate::parameters::{Case, Key};
use crate::plan::{Expectation, Plan, Side, Variant};
use crate::plot::Plot;
use crate::{report, table};

/// How to run a plan.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The seed everything random follows from.
    pub seed: u64,
    /// The short variant.
    pub quick: bool,
    /// Over real sockets instead of in virtual time.
    pub real: bool,
    /// `key=value` pairs that overrule the plan.
    pub sets: Vec<(String, String)>,
    /// The directory that gets a directory per plan; `None` writes nothing.
    pub out: Option<PathBuf>,
    /// Whether to say on stderr how far it is.
    pub progress: bool,
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

/// A finished run, in the shape of its JSON file.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// The plan's name.
    pub plan: String,
    /// The seed.
    pub seed: u64,
    /// In what the run differed from the plan's default (`--quick`, `--real`, `--set`); absent if in nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// What all cases have in common: keys and values, those of the link among them, in the order of the experiment's keys.
    #[serde(serialize_with = "as_map")]
    pub conditions: Vec<(String, String)>,
    /// In what they differ: keys and all their values.
    #[serde(serialize_with = "as_map")]
    pub varied: Vec<(String, String)>,
    /// What the figures are of: called *theirs* and *ours* in the rows.
    #[serde(skip)]
    pub sides: [&'static str; 2],
    /// The figures.
    pub rows: Vec<ResultRow>,
    /// What was to hold.
    pub expectations: Vec<Judgement>,
    /// What to draw.
    #[serde(skip)]
    pub plots: Vec<Plot>,
    /// Where files were written.
    #[serde(skip)]
    pub directory: Option<PathBuf>,
    /// How long it took.
    #[serde(skip)]
    pub took: Duration,
}

/// One figure, beside what was published and what the published algorithm gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultRow {
    /// The case.
    pub case: String,
    /// The metric.
    pub metric: String,
    /// The metric's unit.
    pub unit: String,
    /// True if it depends on the machine: processor time, or anything over real sockets. Otherwise absent from JSON.
    #[serde(skip_serializing_if = "is_false")]
    pub wall_clock: bool,
    /// The source document's figure.
    pub published: Option<f64>,
    /// The document's algorithm as a configuration of our code.
    pub theirs: Option<f64>,
    /// Our default.
    pub ours: Option<f64>,
}

impl ResultRow {
    /// Ours relative to the published figure, or to theirs where none was published.
    pub fn ratio(&self) -> Option<f64> {
        let reference = self.published.or(self.theirs)?;
        self.ours
            .map(|ours| ours / reference)
            .filter(|ratio| ratio.is_finite())
    }
}

/// An expectation beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The metric.
    pub metric: String,
    /// The case.
    pub case: String,
    /// The comparison.
    pub op: &'static str,
    /// What to compare with.
    pub value: f64,
    /// What was measured; `None` if this run did not have the case.
    pub ours: Option<f64>,
    /// Whether it holds; `None` if this run did not have the case, or is too short to decide it.
    pub ok: Option<bool>,
    /// The known reason for missing it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<String>,
    /// False if the run's conditions are not the plan's, so that a miss means nothing; otherwise absent from JSON.
    #[serde(skip_serializing_if = "is_true")]
    pub enforced: bool,
    /// True if only the whole run can decide it and this is the short one; otherwise absent from JSON.
    #[serde(skip_serializing_if = "is_false")]
    pub whole: bool,
    /// True if the figure depends on the machine, so that a miss is shown and fails nothing; otherwise absent from JSON.
    #[serde(skip_serializing_if = "is_false")]
    pub wall_clock: bool,
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn as_map<S: Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

impl Judgement {
    /// True if this turns the run red: missed, under the plan's own conditions, on any machine, for no known reason.
    pub fn fails(&self) -> bool {
        self.enforced && !self.wall_clock && self.ok != Some(true) && self.missed.is_none()
    }

    /// One word for people.
    pub fn verdict(&self) -> &'static str {
        match (self.ok, self.missed.is_some()) {
            (None, _) if self.whole => "needs the whole run",
            (None, _) => "not measured in this run",
            (Some(true), true) => "holds (still marked as missed)",
            (Some(true), false) => "holds",
            (Some(false), true) => "missed, known",
            (Some(false), false) if !self.enforced => "misses (other conditions)",
            (Some(false), false) if self.wall_clock => "misses (depends on the machine)",
            (Some(false), false) => "MISSED",
        }
    }
}

impl RunResult {
    /// True unless an expectation is missed for no known reason.
    pub fn ok(&self) -> bool {
        !self.expectations.iter().any(Judgement::fails)
    }

    /// The result as JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and finite numbers serialise")
    }
}

/// Runs a plan and writes rows.csv, result.json, plots and report.html into its directory.
pub fn run(plan: &Plan, options: &RunOptions) -> Result<RunResult, LabError> {
    let started = Instant::now();
    let experiment = plan.experiment;
    if options.real && !experiment.real() {
        return Err(LabError::Unsupported(format!(
            "plan {} runs in virtual time only: leave out --real",
            plan.name
        )));
    }
    let variant = Variant {
        quick: options.quick,
        real: options.real,
    };
    let cases = plan.cases(variant, &options.sets)?;
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
    let findings = experiment.run(&context)?;
    let bad = |why: String| LabError::BadPlan {
        plan: plan.name.clone(),
        why,
    };
    let mut rows = Vec::new();
    for row in findings.rows {
        let metric = experiment
            .metrics()
            .iter()
            .find(|metric| metric.name == row.metric);
        let metric = metric.ok_or_else(|| {
            bad(format!(
                "the experiment measured an undeclared metric {}",
                row.metric
            ))
        })?;
        let published = plan
            .published
            .iter()
            .find(|figure| figure.case == row.case && figure.metric == row.metric);
        rows.push(ResultRow {
            case: row.case,
            metric: metric.name.into(),
            unit: metric.unit.into(),
            wall_clock: metric.wall_clock || options.real,
            published: published.map(|figure| figure.value),
            theirs: row.theirs.filter(|value| value.is_finite()),
            ours: row.ours.filter(|value| value.is_finite()),
        });
    }
    let find = |case: &str, metric: &str| {
        rows.iter()
            .find(|row| row.case == case && row.metric == metric)
    };
    let enforced = |expectation: &Expectation| match expectation.real {
        true => changed == ["--real"],
        false => changed.is_empty(),
    };
    // A figure nobody compares and a check that cannot fail are both mistakes in the plan.
    let published = plan.published.iter().filter(|_| changed.is_empty());
    let published = published.map(|p| (&p.case, &p.metric));
    let expected = plan.expectations.iter().filter(|e| enforced(e));
    for (case, metric) in published.chain(expected.map(|e| (&e.case, &e.metric))) {
        find(case, metric)
            .ok_or_else(|| bad(format!("nothing measured {metric} in a case \"{case}\"")))?;
    }
    let judge = |expectation: &Expectation| {
        let row = find(&expectation.case, &expectation.metric);
        let (ours, metric) = match expectation.of {
            Side::Ours => (row.and_then(|row| row.ours), expectation.metric.clone()),
            Side::Theirs => (
                row.and_then(|row| row.theirs),
                format!("{} (theirs)", expectation.metric),
            ),
        };
        let whole = expectation.whole && options.quick;
        // A row without a figure (nothing arrived) cannot hold.
        let ok =
            row.map(|_| ours.is_some_and(|ours| expectation.op.holds(ours, expectation.value)));
        Judgement {
            metric,
            case: expectation.case.clone(),
            op: expectation.op.symbol(),
            value: expectation.value,
            ours,
            ok: ok.filter(|_| !whole),
            missed: expectation.missed.clone(),
            enforced: enforced(expectation),
            whole,
            wall_clock: row.is_some_and(|row| row.wall_clock),
        }
    };
    let expected = plan.expectations.iter();
    let expected = expected.filter(|expectation| options.real || !expectation.real);
    let expectations = expected.map(judge).collect();
    let result = RunResult {
        plan: plan.name.clone(),
        seed: options.seed,
        changed,
        conditions,
        varied,
        sides: experiment.sides(),
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

/// In what the run differs from the plan's default; setting a key to the value it has anyway is no difference.
fn changes(plan: &Plan, options: &RunOptions, cases: &[Case]) -> Result<Vec<String>, LabError> {
    let mut changed = Vec::new();
    if options.quick {
        changed.push("--quick".to_string());
    }
    if options.real {
        changed.push("--real".to_string());
    }
    if !options.sets.is_empty()
        && plan.cases(
            Variant {
                quick: options.quick,
                real: options.real,
            },
            &[],
        )? != cases
    {
        changed.extend(
            options
                .sets
                .iter()
                .map(|(key, value)| format!("{key}={value}")),
        );
    }
    Ok(changed)
}

/// Keys and values in words.
type Told = Vec<(String, String)>;

/// What all cases have in common, and in what they differ. A link setting that a profile replaces in every case is neither.
fn conditions(keys: &[Key], cases: &[Case]) -> (Told, Told) {
    let (mut common, mut varied) = (Told::new(), Told::new());
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
    use crate::plan::Op;

    fn judgement(ok: Option<bool>, missed: Option<&str>, enforced: bool) -> Judgement {
        Judgement {
            metric: "latency_p99".into(),
            case: "5%/reliable-ordered".into(),
            op: Op::AtMost.symbol(),
            value: 67.5,
            ours: ok.map(|ok| if ok { 60.0 } else { 70.0 }),
            ok,
            missed: missed.map(str::to_string),
            enforced,
            whole: false,
            wall_clock: false,
        }
    }

    fn result(expectations: Vec<Judgement>) -> RunResult {
        let row = ResultRow {
            case: "5%/reliable-ordered".into(),
            metric: "latency_p99".into(),
            unit: "ms".into(),
            wall_clock: false,
            published: None,
            theirs: Some(120.0),
            ours: Some(60.0),
        };
        RunResult {
            plan: "loss-latency".into(),
            seed: 3,
            changed: Vec::new(),
            conditions: vec![("link.latency_ms".into(), "50".into())],
            varied: vec![("link.loss".into(), "0.01, 0.05".into())],
            sides: ["theirs", "ours"],
            rows: vec![row],
            expectations,
            plots: Vec::new(),
            directory: None,
            took: Duration::from_secs(2),
        }
    }

    #[test]
    fn only_an_unmarked_miss_under_the_plans_conditions_fails() {
        assert!(!judgement(Some(true), None, true).fails());
        assert!(judgement(Some(false), None, true).fails());
        assert!(!judgement(Some(false), Some("not yet"), true).fails());
        assert!(!judgement(Some(false), None, false).fails());
        assert!(!judgement(None, None, false).fails());
        assert!(
            judgement(None, None, true).fails(),
            "a check that cannot fail is no check"
        );
        assert!(result(vec![judgement(Some(true), None, true)]).ok());
        assert!(
            !result(vec![
                judgement(Some(true), None, true),
                judgement(Some(false), None, true)
            ])
            .ok()
        );
    }

    #[test]
    fn json_of_a_default_run_has_the_published_shape() {
        let json = result(vec![judgement(Some(true), None, true)]).to_json();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let expected = serde_json::json!({
            "plan": "loss-latency",
            "seed": 3,
            "conditions": {"link.latency_ms": "50"},
            "varied": {"link.loss": "0.01, 0.05"},
            "rows": [{
                "case": "5%/reliable-ordered", "metric": "latency_p99", "unit": "ms",
                "published": null, "theirs": 120.0, "ours": 60.0,
            }],
            "expectations": [{
                "metric": "latency_p99", "case": "5%/reliable-ordered", "op": "<=", "value": 67.5,
                "ours": 60.0, "ok": true,
            }],
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn json_says_why_something_is_missed_and_when_it_is_not_enforced() {
        let mut run = result(vec![
            judgement(Some(false), Some("too slow"), true),
            judgement(None, None, false),
        ]);
        run.changed = vec!["--quick".into()];
        let value: serde_json::Value = serde_json::from_str(&run.to_json()).unwrap();
        let [known, other] = [&value["expectations"][0], &value["expectations"][1]];
        assert_eq!(
            (&known["ok"], &known["missed"]),
            (&false.into(), &"too slow".into())
        );
        assert_eq!(known.get("enforced"), None);
        assert_eq!(
            (&other["ok"], &other["ours"]),
            (&serde_json::Value::Null, &serde_json::Value::Null)
        );
        assert_eq!(other["enforced"], false);
        assert_eq!(value["changed"][0], "--quick");
    }

    #[test]
    fn a_figure_that_depends_on_the_machine_fails_nothing_and_says_so() {
        let mut slow = judgement(Some(false), None, true);
        slow.wall_clock = true;
        assert!(!slow.fails());
        assert_eq!(slow.verdict(), "misses (depends on the machine)");
        let mut run = result(vec![slow]);
        run.rows[0].wall_clock = true;
        let value: serde_json::Value = serde_json::from_str(&run.to_json()).unwrap();
        assert_eq!(value["rows"][0]["wall_clock"], true);
        assert_eq!(value["expectations"][0]["wall_clock"], true);
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

    #[test]
    fn ratio_prefers_what_was_published() {
        let mut row = result(Vec::new()).rows.remove(0);
        assert_eq!(row.ratio(), Some(0.5));
        row.published = Some(30.0);
        assert_eq!(row.ratio(), Some(2.0));
        row.published = Some(0.0);
        assert_eq!(row.ratio(), None);
    }
}
