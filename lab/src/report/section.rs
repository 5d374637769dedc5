//! One plan's part of the page.

use std::fmt::Write;

use super::figures::{expectations, figures, folded};
use super::{Run, escape, minutes};
use crate::plot::Plot;

/// As many plots of a plan are shown at once; more are folded away.
const FEW: usize = 3;

/// What was asked, under which conditions, plots and figures; `first` are names of plots that are never folded away.
pub fn section(run: &Run, first: &[String]) -> String {
    let (plan, result) = (&run.plan, &run.result);
    let mut text = format!(
        "<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"faint\"><code>samestep lab run {}{}</code> · {}{}</p>\n",
        escape(&run.anchor()),
        escape(&plan.title),
        escape(&plan.name),
        match result.changed.is_empty() {
            true => String::new(),
            false => format!(" {}", escape(&result.changed.join(" "))),
        },
        verdict(run),
        match result.took.is_zero() {
            true => String::new(),
            false => format!(" · took {}", minutes(result.took)),
        },
    );
    if run.is_real() {
        text += "<p class=\"tag\">real sockets, this machine: figures depend on it and on what else it does</p>\n";
    }
    for paragraph in plan.description.split("\n\n") {
        let _ = writeln!(text, "<p>{}</p>", escape(paragraph));
    }
    let _ = writeln!(
        text,
        "<p class=\"faint\">Source: {}</p>",
        escape(&plan.source)
    );
    text += &conditions(run);
    text += &plots(&result.plots, first);
    text += &expectations(run);
    text += &figures(run);
    text + "</section>\n"
}

/// How many expectations hold, in colour.
pub fn verdict(run: &Run) -> String {
    let (holding, all) = run.kept();
    let class = match (run.result.ok(), holding == all) {
        (_, true) if all == 0 => "faint",
        (false, _) => "bad",
        (true, true) => "good",
        (true, false) => "known",
    };
    let words = match (all, run.result.expectations.len() - all) {
        (0, 0) => "no expectations".to_string(),
        (all, 0) => format!("{holding} of {all} hold"),
        (all, open) => format!("{holding} of {all} hold, {open} not judged in this run"),
    };
    format!("<span class=\"{class}\">{words}</span>")
}

fn conditions(run: &Run) -> String {
    let result = &run.result;
    if result.conditions.is_empty() && result.varied.is_empty() {
        return String::new();
    }
    let mut text = String::from("<dl class=\"conditions\">\n");
    let mut line = |class: &str, (key, value): &(String, String)| {
        let _ = writeln!(
            text,
            "<div{class}><dt>{}</dt><dd>{}</dd></div>",
            escape(key),
            escape(value)
        );
    };
    result
        .varied
        .iter()
        .for_each(|pair| line(" class=\"varied\"", pair));
    // What a link does not do would hide what it does.
    let idle = |(key, value): &&(String, String)| {
        key.starts_with("link.") && ["0", "none"].contains(&value.as_str())
    };
    let shared = result.conditions.iter().filter(|pair| !idle(pair));
    shared.for_each(|pair| line("", pair));
    text + "</dl>\n"
}

fn plots(plots: &[Plot], first: &[String]) -> String {
    let drawn = |plot: &&Plot| format!("<figure>{}</figure>\n", plot.inline());
    if plots.len() <= FEW {
        return plots.iter().map(|plot| drawn(&plot)).collect();
    }
    let shown = |plot: &Plot| first.contains(&plot.name);
    let chosen = plots.iter().any(shown);
    let (shown, rest): (Vec<(usize, &Plot)>, Vec<_>) =
        plots
            .iter()
            .enumerate()
            .partition(|(index, plot)| match chosen {
                true => shown(plot),
                false => *index < FEW,
            });
    let all =
        |plots: &[(usize, &Plot)]| -> String { plots.iter().map(|(_, p)| drawn(p)).collect() };
    let more = match rest.len() {
        0 => String::new(),
        1 => folded("One more plot", &all(&rest)),
        many => folded(&format!("{many} more plots"), &all(&rest)),
    };
    all(&shown) + &more
}
