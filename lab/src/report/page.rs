//! The page: what to know first, an overview, what was not reached, and a section for each plan.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::section::{section, verdict};
use super::{Report, Run, inline, minutes, missed};
use crate::highlights::{Highlights, Table};
use crate::plot::STYLE;

/// The whole report.
pub fn page(report: &Report, highlights: &Highlights) -> String {
    let tables = highlights.table.iter().filter(|t| t.name != "glance");
    let body = html! {
        (head(report))
        (glance(report, highlights))
        (overview(report))
        (not_reached(report, highlights))
        section #figures {
            h2 { "Figures" }
            p {
                "The tables of " code { "RESULTS.md" } ". The same work by other libraries (renet, ENet, QUIC, TCP, ggrs) is in "
                code { "peers/RESULTS.md" } ": " code { "make peers" } "."
            }
            @for table in tables { (highlight(table, &report.runs)) }
        }
        (sections(&report.runs, highlights))
    };
    document("Samestep: results", menu(report), body)
}

/// A page that has the sections of these runs only.
pub fn plain(runs: &[Run], highlights: &Highlights) -> String {
    let title = runs.first().map_or("Samestep lab", |run| &run.plan.title);
    let body = html! { (columns()) (sections(runs, highlights)) };
    document(title, Markup::default(), body)
}

/// Explains the columns of every plan's tables.
fn columns() -> Markup {
    html! {
        p.faint {
            em { "Published" } " is the source document's figure, " em { "theirs" } " its algorithm as a configuration of our code, "
            em { "ours" } " the default, " em { "ratio" } " ours over published (over theirs where nothing was published): green where \
            ours is better, red where it is worse, as far as the plan says which direction is better. Everything is measured in virtual \
            time unless it says " code { "--real" } ": the same seed gives the same figures on every machine, except those marked *."
        }
    }
}

fn sections(runs: &[Run], highlights: &Highlights) -> Markup {
    html! {
        @for run in runs {
            @let first = highlights.first.iter().find(|first| first.plan == run.plan.name);
            (section(run, first.map_or(&[], |first| &first.plots)))
        }
    }
}

fn document(title: &str, menu: Markup, body: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(include_str!("../report.css"))) (PreEscaped(STYLE)) }
            }
            body { (menu) main { (body) } }
        }
    };
    page.into_string()
}

fn menu(report: &Report) -> Markup {
    html! {
        nav {
            a.top href="#top" { "Samestep" }
            a href="#glance" { "At a glance" }
            a href="#overview" { "All plans" }
            a href="#not-reached" { "What was not reached" }
            a href="#figures" { "Figures" }
            span.rule {}
            @for run in &report.runs {
                @let (holding, all) = run.kept();
                @let class = match (run.result.ok(), holding == all) {
                    (false, _) => "bad",
                    (true, false) => "known",
                    (true, true) => "good",
                };
                a href={ "#" (run.anchor()) } { i.dot.(class) {} (run.name()) }
            }
        }
    }
}

fn head(report: &Report) -> Markup {
    html! {
        header #top {
            h1 { "Samestep: results" }
            dl.facts {
                div { dt { "Command" } dd { code { (report.command) } } }
                @for (name, value) in report.facts() { div { dt { (name) } dd { (value) } } }
            }
            @if report.quick {
                p.tag { "This is the short variant of every plan: its figures serve a quick look and are not for publication." }
            }
            (columns())
        }
    }
}

fn glance(report: &Report, highlights: &Highlights) -> Markup {
    html! {
        section #glance {
            h2 { "At a glance" }
            @if let Some(table) = highlights.named("glance") { (cells(table, &report.runs)) }
            @for glance in &highlights.glance {
                @let run = report.runs.iter().find(|run| run.plan.name == glance.plan && !run.is_real());
                @let plot = run.and_then(|run| run.result.plots.iter().find(|plot| plot.name == glance.plot));
                @if let Some(plot) = plot {
                    figure.glance {
                        figcaption { (inline(&glance.sentence(&report.runs))) " " a href={ "#" (glance.plan) } { (glance.plan) } }
                        (PreEscaped(plot.inline()))
                    }
                }
            }
        }
    }
}

fn highlight(table: &Table, runs: &[Run]) -> Markup {
    html! {
        h3 id={ "table-" (table.name) } { (table.title) }
        @if !table.text.is_empty() { p { (inline(&table.text)) } }
        (cells(table, runs))
        @if let Some(from) = &table.from { p.faint { "From " (inline(from)) "." } }
    }
}

fn cells(table: &Table, runs: &[Run]) -> Markup {
    html! {
        div.scroll { table.highlight {
            tr { @for head in table.heads() { th { (head) } } }
            @for row in table.filled(runs) {
                tr { @for (index, cell) in row.iter().enumerate() {
                    td.from[index == table.columns.len()] { (inline(cell)) }
                } }
            }
        } }
    }
}

fn overview(report: &Report) -> Markup {
    html! {
        section #overview {
            h2 { "All plans" }
            div.scroll { table {
                tr { th { "plan" } th { "question" } th { "expectations" } th.n { "took" } }
                @for run in &report.runs {
                    tr {
                        td { a href={ "#" (run.anchor()) } { (run.name()) } }
                        td.why { (run.plan.title) }
                        td { (verdict(run)) }
                        td.n { (minutes(run.result.took)) }
                    }
                }
                @for failure in &report.failed {
                    tr {
                        td { (failure.name()) }
                        td.why.bad colspan="3" { "could not be measured: " (failure.why) }
                    }
                }
            } }
        }
    }
}

fn not_reached(report: &Report, highlights: &Highlights) -> Markup {
    let missed = missed(report);
    html! {
        section #not-reached {
            h2 { "What was not reached" }
            @if missed.is_empty() {
                p { "Every expectation that was judged holds, and no figure is worse than what was published." }
            } @else {
                div.scroll { table {
                    tr { th { "plan" } th { "case" } th { "metric" } th.n { "wanted" } th.n { "is" } th { "why" } }
                    @for missed in &missed {
                        tr {
                            td { a href={ "#" (missed.anchor) } { (missed.plan) } }
                            td { (missed.case) }
                            td { (missed.metric) }
                            td.n { (missed.wanted) }
                            td.n.ours { (missed.ours) }
                            td.why.bad[missed.fails] { (missed.why) }
                        }
                    }
                } }
            }
            h3 { "Published, and not measured here" }
            ul {
                @for other in &highlights.not_reproduced {
                    li { b { (other.source) } ": " (other.what) " (" (other.why) ")." }
                }
            }
        }
    }
}
