//! Figures as HTML tables: one line for each, or a line for each case.

use std::fmt::Write;

use super::missed::better;
use super::{Run, escape};
use crate::run::{Judgement, ResultRow};
use crate::table::{closing, number};

/// Up to so many figures are shown at once; more are folded away.
const FEW: usize = 45;

/// All figures of a run.
pub fn figures(run: &Run) -> String {
    let rows: Vec<&ResultRow> = run.result.rows.iter().collect();
    if rows.is_empty() {
        return String::new();
    }
    let star = match rows.iter().any(|row| row.wall_clock) {
        true => {
            "<p class=\"faint\">* depends on the machine and on what else it does; never fails a run.</p>\n"
        }
        false => "",
    };
    if rows.len() <= FEW {
        return lines(run, &rows) + star;
    }
    let published: Vec<_> = rows
        .iter()
        .copied()
        .filter(|r| r.published.is_some())
        .collect();
    let mut text = match published.len() {
        0 => String::new(),
        1..=FEW => lines(run, &published),
        many => folded(
            &format!("{many} figures beside what was published"),
            &lines(run, &published),
        ),
    };
    text += &folded("All cases at a glance", &matrix(run));
    // With nothing beside them, they are all there already.
    if rows
        .iter()
        .any(|r| r.published.is_some() || r.theirs.is_some())
    {
        let title = format!("All {} figures, one by one", rows.len());
        text += &folded(&title, &lines(run, &rows));
    }
    text + star
}

/// Something that is shown when asked for.
pub fn folded(title: &str, inner: &str) -> String {
    format!(
        "<details><summary>{}</summary>\n{inner}</details>\n",
        escape(title)
    )
}

/// A line for each figure: published, theirs, ours, ratio, as far as there are such.
fn lines(run: &Run, rows: &[&ResultRow]) -> String {
    let [theirs, ours] = run.result.sides;
    let published = rows.iter().any(|row| row.published.is_some());
    let compared = rows.iter().any(|row| row.theirs.is_some());
    let column = |is: bool, cell: String| if is { cell } else { String::new() };
    let head = |name: &str| format!("<th class=\"n\">{name}</th>");
    let mut text = format!(
        "<div class=\"scroll\"><table>\n<tr><th>case</th><th>metric</th><th>unit</th>{}{}{}{}</tr>\n",
        column(published, head("published")),
        column(compared, head(theirs)),
        head(ours),
        column(published || compared, head("ratio")),
    );
    let mut last = "";
    for row in rows {
        let first = row.case != last;
        let next = if first && !last.is_empty() {
            " class=\"next\""
        } else {
            ""
        };
        let case = if first {
            escape(&row.case)
        } else {
            String::new()
        };
        let class = match better(run, row) {
            Some(true) => " good",
            Some(false) => " bad",
            None => "",
        };
        let ratio = row.ratio();
        let ratio = ratio.map_or("–".into(), |ratio| format!("{ratio:.2}"));
        let value = |value| format!("<td class=\"n\">{}</td>", shown(value));
        let _ = writeln!(
            text,
            "<tr{next}><td>{case}</td><td{}>{}</td><td>{}{}</td>{}{}<td class=\"n ours\">{}</td>{}</tr>",
            what(run, &row.metric),
            escape(&row.metric),
            escape(&row.unit),
            if row.wall_clock { "*" } else { "" },
            column(published, value(row.published)),
            column(compared, value(row.theirs)),
            shown(row.ours),
            column(
                published || compared,
                format!("<td class=\"n{class}\">{ratio}</td>")
            ),
        );
        last = &row.case;
    }
    text + "</table></div>\n"
}

/// A line for each case, a column for each metric: ours, and theirs below it.
fn matrix(run: &Run) -> String {
    let (mut cases, mut metrics) = (Vec::new(), Vec::new());
    for row in &run.result.rows {
        if !cases.contains(&&row.case) {
            cases.push(&row.case);
        }
        if !metrics.iter().any(|(metric, _)| *metric == &row.metric) {
            let star = if row.wall_clock { "*" } else { "" };
            metrics.push((&row.metric, format!("{}{star}", row.unit)));
        }
    }
    let mut text =
        String::from("<div class=\"scroll\"><table class=\"matrix\">\n<tr><th>case</th>");
    for (metric, unit) in &metrics {
        let about = what(run, metric);
        let _ = write!(
            text,
            "<th class=\"n\"{about}>{}<br>{}</th>",
            escape(metric),
            escape(unit)
        );
    }
    text += "</tr>\n";
    for case in cases {
        let _ = write!(text, "<tr><td>{}</td>", escape(case));
        for (metric, _) in &metrics {
            let mut rows = run.result.rows.iter();
            let row = rows.find(|row| &row.case == case && &row.metric == *metric);
            let ours = row.map_or(String::new(), |row| shown(row.ours));
            let theirs = row.and_then(|row| row.theirs).map(number);
            let theirs = theirs.map_or(String::new(), |theirs| {
                format!("<br><span class=\"faint\">{theirs}</span>")
            });
            let _ = write!(text, "<td class=\"n\">{ours}{theirs}</td>");
        }
        text += "</tr>\n";
    }
    text += "</table></div>\n";
    match run.result.rows.iter().any(|row| row.theirs.is_some()) {
        true => {
            text + &format!(
                "<p class=\"faint\">Above {}, below {}.</p>\n",
                run.result.sides[1], run.result.sides[0]
            )
        }
        false => text,
    }
}

/// What a metric is, for those who point at it.
fn what(run: &Run, metric: &str) -> String {
    let mut metrics = run.plan.experiment.metrics().iter();
    let found = metrics.find(|known| known.name == metric);
    found.map_or(String::new(), |found| {
        format!(" title=\"{}\"", escape(found.what))
    })
}

fn shown(value: Option<f64>) -> String {
    value.map_or("–".into(), number)
}

/// What was to hold, folded away if all of it does.
pub fn expectations(run: &Run) -> String {
    let result = &run.result;
    if result.expectations.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<div class=\"scroll\"><table>\n<tr><th>expected</th><th>metric</th><th></th><th class=\"n\">value</th>\
         <th class=\"n\">{}</th><th>verdict</th></tr>\n",
        result.sides[1],
    );
    for judgement in &result.expectations {
        let why = judgement.missed.as_deref();
        let why = why.map_or(String::new(), |why| format!(": {}", escape(why)));
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n ours\">{}</td>\
             <td class=\"why {}\">{}{why}</td></tr>",
            escape(&judgement.case),
            escape(&judgement.metric),
            escape(judgement.op),
            number(judgement.value),
            shown(judgement.ours),
            class(judgement),
            judgement.verdict(),
        );
    }
    text += "</table></div>\n";
    let (holding, all) = run.kept();
    let open = if holding == all || all > FEW {
        ""
    } else {
        " open"
    };
    format!(
        "<details{open}><summary>{}</summary>\n{text}</details>\n",
        escape(&sentence(&closing(result)))
    )
}

/// With a capital letter.
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
