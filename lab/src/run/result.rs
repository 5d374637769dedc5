//! A finished run: its figures, and the expectations with their verdicts.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::plot::Plot;

/// A finished run, in the shape of its JSON file.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// The plan's name.
    pub plan: String,
    /// The seed.
    pub seed: u64,
    /// The differences from the plan's default run (`--quick`, `--real`, `--set`); absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The keys and values that all cases share, those of the link among them, in the order of the experiment's keys.
    #[serde(serialize_with = "as_map")]
    pub conditions: Vec<(String, String)>,
    /// The keys that vary, with all their values.
    #[serde(serialize_with = "as_map")]
    pub varied: Vec<(String, String)>,
    /// The names of the two columns that the rows call *theirs* and *ours*.
    #[serde(skip)]
    pub columns: [&'static str; 2],
    /// The figures.
    pub rows: Vec<ResultRow>,
    /// The expectations with their verdicts.
    pub expectations: Vec<Judgement>,
    /// The plots.
    #[serde(skip)]
    pub plots: Vec<Plot>,
    /// The directory of the written files.
    #[serde(skip)]
    pub directory: Option<PathBuf>,
    /// How long it took.
    #[serde(skip)]
    pub took: Duration,
}

/// One figure, with the published one and that of the published algorithm.
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

/// An expectation with the measured figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The metric.
    pub metric: String,
    /// The case.
    pub case: String,
    /// The comparison.
    pub op: &'static str,
    /// The value it is compared with.
    pub value: f64,
    /// The measured figure; `None` if this run did not have the case.
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
    /// True if this fails the run: missed under the plan's own conditions, on any machine, without a known reason.
    pub fn fails(&self) -> bool {
        self.enforced && !self.wall_clock && self.ok != Some(true) && self.missed.is_none()
    }

    /// The verdict in a few words.
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
    /// True unless an expectation is missed without a known reason.
    pub fn ok(&self) -> bool {
        !self.expectations.iter().any(Judgement::fails)
    }

    /// The result as JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and finite numbers serialise")
    }
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
            columns: ["theirs", "ours"],
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
    fn ratio_prefers_what_was_published() {
        let mut row = result(Vec::new()).rows.remove(0);
        assert_eq!(row.ratio(), Some(0.5));
        row.published = Some(30.0);
        assert_eq!(row.ratio(), Some(2.0));
        row.published = Some(0.0);
        assert_eq!(row.ratio(), None);
    }
}
