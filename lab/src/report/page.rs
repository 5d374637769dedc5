//! The page: what to know first, an overview, what was not reached, and a section for each plan.

use std::fmt::Write;

use super::section::{section, verdict};
use super::{Report, Run, escape, inline, minutes, missed};
use crate::highlights::{Highlights, Table};
use crate::plot::STYLE;

/// What the columns of every plan's tables are.
const COLUMNS: &str = "<p class=\"faint\"><em>Published</em> is the source document's figure, <em>theirs</em> its algorithm as a configuration of \
     our code, <em>ours</em> the default, <em>ratio</em> ours over published (over theirs where nothing was published): green where \
     ours is better, red where it is worse, as far as the plan says which way is better. Everything is measured in virtual time unless it says \
     <code>--real</code>: the same seed gives the same figures on every machine, except those marked *.</p>\n";

/// All of it.
pub fn page(report: &Report, highlights: &Highlights) -> String {
    let mut body = head(report);
    body += &glance(report, highlights);
    body += &overview(report);
    body += &not_reached(report, highlights);
    body += "<section id=\"figures\">\n<h2>Figures</h2>\n<p>The tables of <code>RESULTS.md</code>. The same work by other libraries (renet, ENet, QUIC, \
             TCP, ggrs) is in <code>peers/RESULTS.md</code>: <code>make peers</code>.</p>\n";
    for table in highlights
        .table
        .iter()
        .filter(|table| table.name != "glance")
    {
        body += &highlight(table, &report.runs);
    }
    body += "</section>\n";
    body += &sections(&report.runs, highlights);
    document("Samestep: results", &menu(report), &body)
}

/// Runs by themselves: only their sections.
pub fn plain(runs: &[Run], highlights: &Highlights) -> String {
    let title = runs.first().map_or("Samestep lab", |run| &run.plan.title);
    document(
        title,
        "",
        &format!("{COLUMNS}{}", sections(runs, highlights)),
    )
}

fn sections(runs: &[Run], highlights: &Highlights) -> String {
    let section = |run: &Run| {
        let mut first = highlights.first.iter();
        let first = first.find(|first| first.plan == run.plan.name);
        section(run, first.map_or(&[], |first| &first.plots))
    };
    runs.iter().map(section).collect()
}

fn document(title: &str, menu: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n{menu}<main>\n{body}</main>\n</body>\n</html>\n",
        escape(title),
        include_str!("../report.css"),
    )
}

fn menu(report: &Report) -> String {
    let mut text = String::from(
        "<nav>\n<a class=\"top\" href=\"#top\">Samestep</a>\n<a href=\"#glance\">At a glance</a>\n<a href=\"#overview\">All plans</a>\n\
         <a href=\"#not-reached\">What was not reached</a>\n<a href=\"#figures\">Figures</a>\n<span class=\"rule\"></span>\n",
    );
    for run in &report.runs {
        let (holding, all) = run.kept();
        let class = match (run.result.ok(), holding == all) {
            (false, _) => "bad",
            (true, false) => "known",
            (true, true) => "good",
        };
        let real = if run.is_real() { " --real" } else { "" };
        let _ = writeln!(
            text,
            "<a href=\"#{}\"><i class=\"dot {class}\"></i>{}{real}</a>",
            escape(&run.anchor()),
            escape(&run.plan.name),
        );
    }
    text + "</nav>\n"
}

fn head(report: &Report) -> String {
    let mut text =
        String::from("<header id=\"top\">\n<h1>Samestep: results</h1>\n<dl class=\"facts\">\n");
    let command = ("Command", report.command.clone());
    for (name, value) in std::iter::once(command).chain(report.facts()) {
        let value = match name {
            "Command" => format!("<code>{}</code>", escape(&value)),
            _ => escape(&value),
        };
        let _ = writeln!(text, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    text += "</dl>\n";
    if report.quick {
        text += "<p class=\"tag\">the short variant of every plan: figures for a quick look, not for telling</p>\n";
    }
    text + COLUMNS + "</header>\n"
}

fn glance(report: &Report, highlights: &Highlights) -> String {
    let mut text = String::from("<section id=\"glance\">\n<h2>At a glance</h2>\n");
    if let Some(table) = highlights.named("glance") {
        text += &cells(table, &report.runs);
    }
    for glance in &highlights.glance {
        let run = report
            .runs
            .iter()
            .find(|run| run.plan.name == glance.plan && !run.is_real());
        let plot = run.and_then(|run| {
            run.result
                .plots
                .iter()
                .find(|plot| plot.name == glance.plot)
        });
        let Some(plot) = plot else { continue };
        let _ = writeln!(
            text,
            "<figure class=\"glance\">\n<figcaption>{} <a href=\"#{2}\">{2}</a></figcaption>\n{}</figure>",
            inline(&glance.sentence(&report.runs)),
            plot.inline(),
            escape(&glance.plan),
        );
    }
    text + "</section>\n"
}

fn highlight(table: &Table, runs: &[Run]) -> String {
    let mut text = format!(
        "<h3 id=\"table-{}\">{}</h3>\n",
        escape(&table.name),
        escape(&table.title)
    );
    if !table.text.is_empty() {
        let _ = writeln!(text, "<p>{}</p>", inline(&table.text));
    }
    text += &cells(table, runs);
    match &table.from {
        Some(from) => text + &format!("<p class=\"faint\">From {}.</p>\n", inline(from)),
        None => text,
    }
}

fn cells(table: &Table, runs: &[Run]) -> String {
    let mut text = String::from("<div class=\"scroll\"><table class=\"highlight\">\n<tr>");
    for head in table.heads() {
        let _ = write!(text, "<th>{}</th>", escape(&head));
    }
    text += "</tr>\n";
    for row in table.filled(runs) {
        let from = table.columns.len();
        text += "<tr>";
        for (index, cell) in row.iter().enumerate() {
            let class = if index == from { " class=\"from\"" } else { "" };
            let _ = write!(text, "<td{class}>{}</td>", inline(cell));
        }
        text += "</tr>\n";
    }
    text + "</table></div>\n"
}

fn overview(report: &Report) -> String {
    let mut text = String::from(
        "<section id=\"overview\">\n<h2>All plans</h2>\n<div class=\"scroll\"><table>\n\
         <tr><th>plan</th><th>question</th><th>expectations</th><th class=\"n\">took</th></tr>\n",
    );
    for run in &report.runs {
        let real = if run.is_real() { " --real" } else { "" };
        let _ = writeln!(
            text,
            "<tr><td><a href=\"#{}\">{}{real}</a></td><td class=\"why\">{}</td><td>{}</td><td class=\"n\">{}</td></tr>",
            escape(&run.anchor()),
            escape(&run.plan.name),
            escape(&run.plan.title),
            verdict(run),
            minutes(run.result.took),
        );
    }
    for failure in &report.failed {
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td class=\"why bad\" colspan=\"3\">could not be measured: {}</td></tr>",
            escape(&failure.name()),
            escape(&failure.why)
        );
    }
    text + "</table></div>\n</section>\n"
}

fn not_reached(report: &Report, highlights: &Highlights) -> String {
    let mut text = String::from("<section id=\"not-reached\">\n<h2>What was not reached</h2>\n");
    let missed = missed(report);
    if missed.is_empty() {
        text += "<p>Every expectation that was judged holds, and no figure is worse than what was published.</p>\n";
    } else {
        text += "<div class=\"scroll\"><table>\n<tr><th>plan</th><th>case</th><th>metric</th><th class=\"n\">wanted</th>\
                 <th class=\"n\">is</th><th>why</th></tr>\n";
        for missed in &missed {
            let _ = writeln!(
                text,
                "<tr><td><a href=\"#{}\">{}</a></td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n ours\">{}</td>\
                 <td class=\"why {}\">{}</td></tr>",
                escape(&missed.anchor),
                escape(&missed.plan),
                escape(&missed.case),
                escape(&missed.metric),
                escape(&missed.wanted),
                escape(&missed.ours),
                if missed.fails { "bad" } else { "" },
                escape(&missed.why),
            );
        }
        text += "</table></div>\n";
    }
    text += "<h3>Published, and not measured here</h3>\n<ul>\n";
    for other in &highlights.not_reproduced {
        let _ = writeln!(
            text,
            "<li><b>{}</b>: {} ({}).</li>",
            escape(&other.source),
            escape(&other.what),
            escape(&other.why)
        );
    }
    text + "</ul>\n</section>\n"
}
