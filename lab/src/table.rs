//! The table on the terminal.

use std::ops::Range;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table, TableComponent};

use crate::run::{Judgement, ResultRow, RunResult};

/// The run as text, at most 100 columns wide with the cases of the built-in plans.
pub fn render(result: &RunResult) -> String {
    let mut text = format!(
        "{}  seed {}{}\n\n",
        result.plan,
        result.seed,
        conditions(result)
    );
    let [theirs, ours] = result.columns;
    let header = ["case", "metric", "unit", "published", theirs, ours, "ratio"];
    let mut figures = aligned(&header, 3..7);
    let mut last_case = "";
    for row in &result.rows {
        // The case is written once per group: the eye finds it faster.
        let case = if row.case == last_case { "" } else { &row.case };
        last_case = &row.case;
        figures.add_row(std::iter::once(case.to_string()).chain(cells(row)));
    }
    text += &figures.trim_fmt();
    if result.rows.iter().any(|row| row.wall_clock) {
        text += "\n\n* depends on the machine and on what else it does; never fails a run";
    }
    if !result.expectations.is_empty() {
        text += "\n\n";
        let header = ["expected", "metric", "", "value", ours, "verdict"];
        let mut judged = aligned(&header, 3..5);
        // An expectation that another run measures is not worth a line in this one.
        let shown = result.expectations.iter();
        judged.add_rows(
            shown
                .filter(|e| e.ok.is_some() || e.enforced)
                .map(expectation),
        );
        if !judged.is_empty() {
            text += &format!("{}\n\n", judged.trim_fmt());
        }
        for judgement in &result.expectations {
            if let Some(why) = &judgement.missed {
                text += &format!("known: {} {}: {why}\n", judgement.case, judgement.metric);
            }
        }
        text += &closing(result);
    }
    text + "\n"
}

/// A table without borders whose columns `numbers` are right-aligned.
fn aligned(header: &[&str], numbers: Range<usize>) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(header);
    table.set_style(TableComponent::HeaderLines, '-');
    for column in table
        .column_iter_mut()
        .skip(numbers.start)
        .take(numbers.len())
    {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

fn conditions(result: &RunResult) -> String {
    if result.changed.is_empty() {
        return String::new();
    }
    format!("  changed: {}", result.changed.join(" "))
}

/// One line that sums the expectations up.
pub fn closing(result: &RunResult) -> String {
    let all = result.expectations.len();
    if all == 0 {
        return "no expectations".into();
    }
    let count = |is: fn(&Judgement) -> bool| {
        let expectations = result.expectations.iter();
        expectations.filter(|judgement| is(judgement)).count()
    };
    let mut line = format!(
        "expectations: {} of {all} hold",
        count(|e| e.ok == Some(true))
    );
    let slow =
        |e: &Judgement| e.ok == Some(false) && e.missed.is_none() && e.enforced && e.wall_clock;
    for (missed, how) in [
        (
            count(|e| e.ok == Some(false) && e.missed.is_some()),
            "missed for a known reason",
        ),
        (count(Judgement::fails), "MISSED"),
        (count(slow), "missed (depends on the machine)"),
    ] {
        if missed > 0 {
            line += &format!(", {missed} {how}");
        }
    }
    let unjudged = result.expectations.iter().filter(|e| e.ok.is_none());
    let (whole, absent): (Vec<_>, Vec<_>) = unjudged.partition(|e| e.whole);
    match whole.len() {
        0 => {}
        1 => line += ", 1 needs the whole run",
        several => line += &format!(", {several} need the whole run"),
    }
    if !absent.is_empty() {
        line += &format!(", {} not measured in this run", absent.len());
    }
    if !result.expectations.iter().any(|e| e.enforced) {
        line += " (not enforced: the conditions are not the plan's)";
    }
    line
}

fn cells(row: &ResultRow) -> [String; 6] {
    let shown = |value: Option<f64>| value.map_or("-".into(), number);
    let ratio = row
        .ratio()
        .map_or("-".into(), |ratio| format!("{ratio:.2}"));
    [
        row.metric.clone(),
        unit(row),
        shown(row.published),
        shown(row.theirs),
        shown(row.ours),
        ratio,
    ]
}

/// The unit, with a star if the figure depends on the machine.
pub(crate) fn unit(row: &ResultRow) -> String {
    let star = if row.wall_clock { "*" } else { "" };
    format!("{}{star}", row.unit)
}

fn expectation(judgement: &Judgement) -> Vec<String> {
    vec![
        judgement.case.clone(),
        judgement.metric.clone(),
        judgement.op.to_string(),
        number(judgement.value),
        judgement.ours.map_or("-".into(), number),
        judgement.verdict().to_string(),
    ]
}

/// A number as short as it can be read: five significant digits, no exponent, no needless zeros.
pub fn number(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 10_000.0 => 0,
        v if v >= 1_000.0 => 1,
        v if v >= 10.0 => 2,
        v if v >= 1.0 => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    if !text.contains('.') {
        return text;
    }
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".into(),
        text => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [
            0.0, 0.00004, 0.05, 1.0, 1.6512, 67.5, 215.004, 1059.06, 4904.3536, 123_456.7,
        ];
        let expected = [
            "0", "0", "0.05", "1", "1.651", "67.5", "215", "1059.1", "4904.4", "123457",
        ];
        assert_eq!(shown.map(number), expected);
        assert_eq!(number(-3.25), "-3.25");
        assert_eq!(number(-0.00004), "0");
        assert_eq!(number(120.0), "120");
    }

    #[test]
    fn the_table_fits_a_hundred_columns() {
        let row = |metric: &str| ResultRow {
            case: "5%/burst50ms/unreliable-sequenced".into(),
            metric: metric.into(),
            unit: "ms".into(),
            wall_clock: false,
            published: Some(1059.06),
            theirs: Some(333.333),
            ours: Some(202.5),
        };
        let judgement = Judgement {
            metric: "latency_p99".into(),
            case: "5%/burst50ms/unreliable-sequenced".into(),
            op: "<=",
            value: 250.0,
            ours: Some(260.0),
            ok: Some(false),
            missed: Some("the estimate rises too slowly".into()),
            enforced: true,
            whole: false,
            wall_clock: false,
        };
        let result = RunResult {
            plan: "loss-latency".into(),
            seed: 1,
            changed: Vec::new(),
            conditions: Vec::new(),
            varied: Vec::new(),
            columns: ["theirs", "ours"],
            rows: vec![row("latency_p99"), row("bytes_ratio")],
            expectations: vec![judgement],
            plots: Vec::new(),
            directory: None,
            took: Duration::ZERO,
        };
        let text = render(&result);
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        assert_eq!(
            text.matches("5%/burst50ms/unreliable-sequenced").count(),
            3,
            "{text}"
        );
        assert!(text.contains("missed, known"));
        assert!(text.contains("the estimate rises too slowly"));
        assert!(text.contains("0 of 1 hold, 1 missed for a known reason"));
    }
}
