//! The summary: `RESULTS.md`, written by the report.

use std::fmt::Write;

use crate::highlights::{Highlights, Table};
use crate::report::{Missed, Report, Run, missed};

/// The report in Markdown, in a few pages.
pub fn summary(report: &Report, highlights: &Highlights) -> String {
    let mut text = format!(
        "# Results\n\nWritten by `{}`; do not edit. Every figure is in virtual time unless its plan says `--real`: `samestep lab run PLAN --seed {}{}` \
         prints it again, to the last digit, except what depends on the machine. The page that command writes has every table and plot. The same work by other \
         libraries is in [peers/RESULTS.md](peers/RESULTS.md).\n\n",
        report.command,
        report.seed,
        if report.quick { " --quick" } else { "" },
    );
    for (name, value) in report.facts() {
        let _ = writeln!(text, "- {name}: {value}");
    }
    if report.quick {
        text +=
            "\n**The short variant of every plan: figures for a quick look, not for telling.**\n";
    }
    text += "\nEach row says where its figures are from: plan, case, metric. *Published* is the figure of the document that the plan names as its source.\n";
    for table in &highlights.table {
        let _ = writeln!(text, "\n## {}\n", table.title);
        let _ = writeln!(text, "{}", block(table, &report.runs));
    }
    text += &plans(report);
    text += &not_reached(report, highlights);
    text
}

/// A table with its introduction, as it stands here and in other files.
pub fn block(table: &Table, runs: &[Run]) -> String {
    let mut text = String::new();
    if !table.text.is_empty() {
        let _ = writeln!(text, "{}\n", table.text);
    }
    text += &table.markdown(runs);
    if let Some(from) = &table.from {
        let _ = write!(text, "\n\nFrom {from}.");
    }
    text
}

fn plans(report: &Report) -> String {
    let mut text = String::from(
        "\n## All plans\n\n| plan | question | expectations that hold | source |\n|---|---|---|---|\n",
    );
    for run in &report.runs {
        let (holding, all) = run.kept();
        let kept = match all {
            0 => "none".into(),
            all => format!("{holding} of {all}"),
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {kept} | {} |",
            run.name(),
            cell(&run.plan.title),
            cell(&run.plan.source)
        );
    }
    for failure in &report.failed {
        let _ = writeln!(
            text,
            "| `{}` | **could not be measured**: see below | | |",
            failure.name()
        );
    }
    text
}

fn not_reached(report: &Report, highlights: &Highlights) -> String {
    let mut text = String::from("\n## What was not reached\n\n");
    let missed = missed(report);
    if missed.is_empty() {
        text += "Every expectation that was judged holds, and no figure is worse than what was published.\n";
    } else {
        text += "| plan | case | metric | wanted | is | why |\n|---|---|---|---|---|---|\n";
        for missed in &missed {
            text += &line(missed);
        }
    }
    text += "\nPublished, and not measured here:\n\n";
    for other in &highlights.not_reproduced {
        let _ = writeln!(text, "- {}: {} ({}).", other.source, other.what, other.why);
    }
    text
}

fn line(missed: &Missed) -> String {
    let why = match missed.fails {
        true => format!("**{}**", cell(&missed.why)),
        false => cell(&missed.why),
    };
    let cells = [&missed.case, &missed.metric, &missed.wanted, &missed.ours];
    let cells = cells.map(|text| match text.is_empty() {
        true => " |".to_string(),
        false => format!(" {} |", cell(text)),
    });
    format!("| `{}` |{} {why} |\n", missed.plan, cells.concat())
}

/// A text as a table's cell: `|` and line breaks would end it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
