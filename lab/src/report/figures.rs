//! Figures as HTML tables: one line for each, or a line for each case.

use maud::{Markup, html};

use super::Run;
use super::missed::better;
use crate::run::{Judgement, ResultRow};
use crate::table::{closing, number, unit};

/// Up to this many figures are shown at once; more are folded away.
const FEW: usize = 45;

/// All figures of a run.
pub fn figures(run: &Run) -> Markup {
    let rows: Vec<&ResultRow> = run.result.rows.iter().collect();
    let published: Vec<_> = rows
        .iter()
        .copied()
        .filter(|r| r.published.is_some())
        .collect();
    let compared = rows
        .iter()
        .any(|r| r.published.is_some() || r.theirs.is_some());
    html! {
        @if rows.is_empty() {
        } @else if rows.len() <= FEW {
            (lines(run, &rows))
        } @else {
            @match published.len() {
                0 => {}
                1..=FEW => (lines(run, &published)),
                many => (folded(&format!("{many} figures beside what was published"), lines(run, &published))),
            }
            (folded("All cases at a glance", matrix(run)))
            // With nothing beside them, they are all in the matrix.
            @if compared { (folded(&format!("All {} figures, one by one", rows.len()), lines(run, &rows))) }
        }
        @if rows.iter().any(|row| row.wall_clock) {
            p.faint { "* depends on the machine and on what else it does; never fails a run." }
        }
    }
}

/// A part of the page that opens when clicked.
pub fn folded(title: &str, inner: Markup) -> Markup {
    html! { details { summary { (title) } (inner) } }
}

/// A line for each figure: published, theirs, ours and ratio, as far as they exist.
fn lines(run: &Run, rows: &[&ResultRow]) -> Markup {
    let [theirs, ours] = run.result.columns;
    let published = rows.iter().any(|row| row.published.is_some());
    let compared = rows.iter().any(|row| row.theirs.is_some());
    html! {
        div.scroll { table {
            tr {
                th { "case" } th { "metric" } th { "unit" }
                @if published { th.n { "published" } }
                @if compared { th.n { (theirs) } }
                th.n { (ours) }
                @if published || compared { th.n { "ratio" } }
            }
            @for (index, row) in rows.iter().enumerate() {
                @let first = index == 0 || rows[index - 1].case != row.case;
                @let better = better(run, row);
                tr.next[first && index > 0] {
                    td { @if first { (row.case) } }
                    td title=[what(run, &row.metric)] { (row.metric) }
                    td { (unit(row)) }
                    @if published { td.n { (shown(row.published)) } }
                    @if compared { td.n { (shown(row.theirs)) } }
                    td.n.ours { (shown(row.ours)) }
                    @if published || compared {
                        td.n.good[better == Some(true)].bad[better == Some(false)] {
                            (row.ratio().map_or("–".into(), |ratio| format!("{ratio:.2}")))
                        }
                    }
                }
            }
        } }
    }
}

/// A line for each case, a column for each metric: ours, and theirs below it.
fn matrix(run: &Run) -> Markup {
    let (mut cases, mut metrics) = (Vec::new(), Vec::new());
    for row in &run.result.rows {
        if !cases.contains(&&row.case) {
            cases.push(&row.case);
        }
        if !metrics.iter().any(|(metric, _)| *metric == &row.metric) {
            metrics.push((&row.metric, unit(row)));
        }
    }
    let [theirs, ours] = run.result.columns;
    html! {
        div.scroll { table.matrix {
            tr {
                th { "case" }
                @for (metric, unit) in &metrics { th.n title=[what(run, metric)] { (metric) br; (unit) } }
            }
            @for case in cases {
                tr {
                    td { (case) }
                    @for (metric, _) in &metrics {
                        @let row = run.result.rows.iter().find(|row| &row.case == case && &row.metric == *metric);
                        td.n {
                            @if let Some(row) = row {
                                (shown(row.ours))
                                @if let Some(theirs) = row.theirs { br; span.faint { (number(theirs)) } }
                            }
                        }
                    }
                }
            }
        } }
        @if run.result.rows.iter().any(|row| row.theirs.is_some()) {
            p.faint { "Above " (ours) ", below " (theirs) "." }
        }
    }
}

/// What a metric means, shown when it is pointed at.
fn what(run: &Run, metric: &str) -> Option<&'static str> {
    let mut metrics = run.plan.experiment.metrics.iter();
    metrics
        .find(|known| known.name == metric)
        .map(|known| known.what)
}

fn shown(value: Option<f64>) -> String {
    value.map_or("–".into(), number)
}

/// The expectations with their verdicts, folded away if all of them hold.
pub fn expectations(run: &Run) -> Markup {
    let result = run.result;
    let (holding, all) = run.kept();
    html! {
        @if !result.expectations.is_empty() {
            details open[holding != all && all <= FEW] {
                summary { (sentence(&closing(result))) }
                div.scroll { table {
                    tr { th { "expected" } th { "metric" } th {} th.n { "value" } th.n { (result.columns[1]) } th { "verdict" } }
                    @for judgement in &result.expectations {
                        tr {
                            td { (judgement.case) }
                            td { (judgement.metric) }
                            td { (judgement.op) }
                            td.n { (number(judgement.value)) }
                            td.n.ours { (shown(judgement.ours)) }
                            td.why.(class(judgement)) {
                                (judgement.verdict()) @if let Some(why) = &judgement.missed { ": " (why) }
                            }
                        }
                    }
                } }
            }
        }
    }
}

/// The text with a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

fn class(judgement: &Judgement) -> &'static str {
    match (judgement.ok, judgement.fails()) {
        (_, true) => "bad",
        (Some(true), _) => "good",
        (Some(false), _) => "known",
        (None, _) => "faint",
    }
}
