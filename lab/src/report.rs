//! The report: one self-contained HTML page with every table and plot.

use std::fmt::Write;

use crate::error::LabError;
use crate::plan::Plan;
use crate::run::{Judgement, ResultRow, RunResult};
use crate::table::{closing, number};

/// A page for these runs. It needs no network, no scripts, and follows the reader's choice of light or dark.
pub fn html(runs: &[(&Plan, &RunResult)]) -> Result<String, LabError> {
    let mut body = String::new();
    let mut contents = String::new();
    for (plan, result) in runs {
        let (word, class) = verdict(result);
        let (name, title) = (escape(&plan.name), escape(&plan.title));
        contents += &format!(
            "<tr><td><a href=\"#{name}\">{name}</a></td><td>{title}</td><td class=\"{class}\">{word}</td></tr>\n"
        );
        body += &section(plan, result)?;
    }
    let overview = if runs.len() > 1 {
        format!(
            "<div class=\"scroll\"><table><tr><th>plan</th><th></th><th>expectations</th></tr>\n{contents}</table></div>\n"
        )
    } else {
        String::new()
    };
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Samestep lab</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n\
         <h1>Samestep lab</h1>\n<p class=\"faint\"><em>Published</em> is the source document's figure, <em>theirs</em> its \
         algorithm as a configuration of our code, <em>ours</em> the default, <em>ratio</em> ours over published \
         (over theirs where nothing was published). Virtual time unless a run says <code>--real</code>: the same seed \
         gives the same figures on every machine.</p>\n{overview}{body}</main>\n</body>\n</html>\n",
        include_str!("report.css"),
    ))
}

fn section(plan: &Plan, result: &RunResult) -> Result<String, LabError> {
    let mut text = format!(
        "<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"faint\">{} · seed {}{}</p>\n",
        escape(&plan.name),
        escape(&plan.title),
        escape(&plan.source),
        result.seed,
        if result.changed.is_empty() {
            String::new()
        } else {
            format!(" · {}", escape(&result.changed.join(" ")))
        },
    );
    for paragraph in plan.description.split("\n\n") {
        let _ = writeln!(text, "<p>{}</p>", escape(paragraph));
    }
    for plot in &result.plots {
        let _ = writeln!(text, "<figure>{}</figure>", plot.inline());
    }
    text += &expectations(result);
    let [theirs, ours] = result.sides;
    let _ = writeln!(
        text,
        "<div class=\"scroll\"><table>\n<tr><th>case</th><th>metric</th><th>unit</th><th class=\"n\">published</th>\
         <th class=\"n\">{theirs}</th><th class=\"n\">{ours}</th><th class=\"n\">ratio</th></tr>"
    );
    let mut last = "";
    for row in &result.rows {
        text += &figures(row, row.case != last && !last.is_empty(), row.case != last);
        last = &row.case;
    }
    text += "</table></div>\n</section>\n";
    Ok(text)
}

fn figures(row: &ResultRow, next: bool, named: bool) -> String {
    let shown = |value: Option<f64>| value.map_or("–".into(), number);
    format!(
        "<tr{}><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n ours\">{}</td>\
         <td class=\"n\">{}</td></tr>\n",
        if next { " class=\"next\"" } else { "" },
        if named {
            escape(&row.case)
        } else {
            String::new()
        },
        escape(&row.metric),
        escape(&row.unit),
        shown(row.published),
        shown(row.theirs),
        shown(row.ours),
        row.ratio()
            .map_or("–".into(), |ratio| format!("{ratio:.2}")),
    )
}

fn expectations(result: &RunResult) -> String {
    if result.expectations.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<p>{}</p>\n<div class=\"scroll\"><table>\n<tr><th>expected</th><th>metric</th><th></th><th class=\"n\">value</th>\
         <th class=\"n\">{}</th><th>verdict</th></tr>\n",
        escape(&closing(result)),
        result.sides[1],
    );
    for judgement in &result.expectations {
        let why = judgement
            .missed
            .as_deref()
            .map(|why| format!(": {}", escape(why)))
            .unwrap_or_default();
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n ours\">{}</td>\
             <td class=\"{}\">{}{why}</td></tr>",
            escape(&judgement.case),
            escape(&judgement.metric),
            escape(judgement.op),
            number(judgement.value),
            judgement.ours.map_or("–".into(), number),
            class(judgement),
            judgement.verdict(),
        );
    }
    text + "</table></div>\n"
}

fn class(judgement: &Judgement) -> &'static str {
    match (judgement.ok, judgement.fails()) {
        (_, true) => "bad",
        (Some(true), _) => "good",
        (Some(false), _) => "known",
        (None, _) => "faint",
    }
}

fn verdict(result: &RunResult) -> (String, &'static str) {
    let holding = result
        .expectations
        .iter()
        .filter(|e| e.ok == Some(true))
        .count();
    let all = result.expectations.len();
    if all == 0 {
        return ("none".into(), "faint");
    }
    let class = match (result.ok(), holding == all) {
        (false, _) => "bad",
        (true, true) => "good",
        (true, false) => "known",
    };
    (format!("{holding} of {all} hold"), class)
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_stands_alone_and_says_what_failed() {
        let plan = Plan::find("delivery").unwrap();
        let row = ResultRow {
            case: "200ms/10%/reliable-ordered".into(),
            metric: "latency_mean".into(),
            unit: "ms".into(),
            wall_clock: false,
            published: Some(1059.06),
            theirs: None,
            ours: Some(204.0),
        };
        let judgement = Judgement {
            metric: "latency_mean".into(),
            case: row.case.clone(),
            op: "<=",
            value: 200.0,
            ours: row.ours,
            ok: Some(false),
            missed: None,
            enforced: true,
            whole: false,
            wall_clock: false,
        };
        let result = RunResult {
            plan: plan.name.clone(),
            seed: 1,
            changed: Vec::new(),
            conditions: Vec::new(),
            varied: Vec::new(),
            sides: ["theirs", "ours"],
            rows: vec![row],
            expectations: vec![judgement],
            plots: Vec::new(),
            directory: None,
            took: std::time::Duration::ZERO,
        };
        let page = html(&[(&plan, &result)]).unwrap();
        assert!(
            page.contains("1059.1")
                && page.contains("&lt;=")
                && page.contains("class=\"bad\">MISSED")
        );
        assert!(page.contains("prefers-color-scheme"));
        assert!(
            !page.contains("http://") && !page.contains("https://") && !page.contains("<script")
        );
    }
}
