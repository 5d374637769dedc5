//! Expectations and published figures that were not reached.

use super::{Report, Run};
use crate::plan::{Configuration, Op};
use crate::run::ResultRow;
use crate::table::number;

/// An expectation or a published figure that was not reached.
pub struct Missed {
    /// The plan, `--real` included.
    pub plan: String,
    /// The anchor of the section that has it.
    pub anchor: String,
    /// The case.
    pub case: String,
    /// The metric with its unit.
    pub metric: String,
    /// The expected value.
    pub wanted: String,
    /// The measured value.
    pub ours: String,
    /// The reason.
    pub why: String,
    /// True if it fails the run.
    pub fails: bool,
}

/// Expectations that are missed, with or without a reason, figures that are worse than published, and plans that could not be measured.
pub fn missed(report: &Report) -> Vec<Missed> {
    let mut all = Vec::new();
    for run in &report.runs {
        all.extend(expectations(run));
        all.extend(worse(run));
    }
    all.extend(report.failed.iter().map(|failure| Missed {
        plan: failure.name(),
        anchor: "overview".into(),
        case: String::new(),
        metric: String::new(),
        wanted: String::new(),
        ours: "could not be measured".into(),
        why: failure.why.clone(),
        fails: !failure.real,
    }));
    all.sort_by_key(|missed| !missed.fails);
    all
}

fn entry(
    run: &Run,
    case: &str,
    metric: String,
    wanted: String,
    ours: String,
    why: String,
) -> Missed {
    Missed {
        plan: run.name(),
        anchor: run.anchor(),
        case: case.into(),
        metric,
        wanted,
        ours,
        why,
        fails: false,
    }
}

fn expectations(run: &Run) -> impl Iterator<Item = Missed> {
    let missed = run
        .result
        .expectations
        .iter()
        .filter(|e| e.ok == Some(false));
    missed.map(|judgement| {
        let mut rows = run.result.rows.iter();
        let metric = judgement.metric.trim_end_matches(" (theirs)");
        let unit = rows
            .find(|row| row.metric == metric)
            .map_or("", |row| &row.unit);
        let why = match (&judgement.missed, judgement.wall_clock, judgement.enforced) {
            (Some(why), _, _) => why.clone(),
            (None, true, _) => "depends on the machine, and on what else it does".into(),
            (None, _, false) => "under other conditions than the plan's".into(),
            (None, _, true) => "no reason is known: this fails the run".into(),
        };
        let ours = judgement.ours.map_or("nothing measured".into(), number);
        Missed {
            fails: judgement.fails(),
            ..entry(
                run,
                &judgement.case,
                with_unit(&judgement.metric, unit),
                format!("{} {}", words(judgement.op), number(judgement.value)),
                ours,
                why,
            )
        }
    })
}

fn worse(run: &Run) -> impl Iterator<Item = Missed> {
    let rows = run.result.rows.iter();
    let worse = rows.filter(|row| row.published.is_some() && better(run, row) == Some(false));
    worse.map(|row| {
        let shown = |value: Option<f64>| value.map_or("nothing measured".into(), number);
        let wanted = format!("published {}", shown(row.published));
        let why = "worse than published".to_string();
        let metric = with_unit(&row.metric, &row.unit);
        entry(run, &row.case, metric, wanted, shown(row.ours), why)
    })
}

/// A comparison in words.
fn words(op: &str) -> &'static str {
    match op {
        "<=" => "at most",
        ">=" => "at least",
        _ => "exactly",
    }
}

fn with_unit(metric: &str, unit: &str) -> String {
    match unit {
        "" => metric.into(),
        unit => format!("{metric}, {unit}"),
    }
}

/// Whether our figure is better than the published one, or than theirs. `None` where no
/// expectation of the plan says which direction is better.
pub fn better(run: &Run, row: &ResultRow) -> Option<bool> {
    let expected = run.plan.expectations.iter();
    let mut expected = expected.filter(|e| e.metric == row.metric && e.of == Configuration::Ours);
    let op = expected.next()?.op;
    if expected.any(|other| other.op != op) {
        return None;
    }
    let (ours, reference) = (row.ours?, row.published.or(row.theirs)?);
    match op {
        _ if ours == reference => None,
        Op::AtMost => Some(ours < reference),
        Op::AtLeast => Some(ours > reference),
        Op::Equal => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::report::tests::{judgement, result};

    fn row(metric: &str, published: f64, ours: f64) -> ResultRow {
        ResultRow {
            case: "200ms/10%/reliable-ordered".into(),
            metric: metric.into(),
            unit: "ms".into(),
            wall_clock: false,
            published: Some(published),
            theirs: None,
            ours: Some(ours),
        }
    }

    #[test]
    fn better_is_what_the_plan_expects_and_nothing_else() {
        let plan = Plan::find("delivery").unwrap();
        let result = result(Vec::new(), Vec::new());
        let run = Run {
            plan: &plan,
            result: &result,
        };
        assert_eq!(better(&run, &row("latency_mean", 100.0, 50.0)), Some(true));
        assert_eq!(
            better(&run, &row("latency_mean", 100.0, 150.0)),
            Some(false)
        );
        assert_eq!(better(&run, &row("latency_mean", 100.0, 100.0)), None);
        assert_eq!(
            better(&run, &row("unheard_of", 100.0, 50.0)),
            None,
            "nobody says"
        );
    }

    #[test]
    fn misses_and_what_is_worse_than_published_are_told_with_their_reason() {
        let plan = Plan::find("delivery").unwrap();
        let known = judgement(Some(false), Some("too slow yet"));
        let judged = vec![
            judgement(Some(true), None),
            known,
            judgement(Some(false), None),
        ];
        let result = result(vec![row("latency_mean", 100.0, 150.0)], judged);
        let report = Report {
            runs: vec![Run {
                plan: &plan,
                result: &result,
            }],
            ..Report::empty()
        };
        let found = missed(&report);
        let shown_misses: Vec<_> = found.iter().map(|m| (m.fails, m.why.as_str())).collect();
        let expected = [
            (true, "no reason is known: this fails the run"),
            (false, "too slow yet"),
            (false, "worse than published"),
        ];
        assert_eq!(shown_misses, expected);
        assert_eq!(found[1].wanted, "at most 200");
        assert_eq!(found[2].wanted, "published 100");
    }
}
