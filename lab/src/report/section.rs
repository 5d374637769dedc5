//! One plan's part of the page.

use maud::{Markup, PreEscaped, html};

use super::figures::{expectations, figures, folded};
use super::{Run, minutes};
use crate::plot::Plot;

/// This many plots of a plan are shown at once; more are folded away.
const FEW: usize = 3;

/// The question, the conditions, the plots and the figures of a run; `first` names plots that are never folded away.
pub fn section(run: &Run, first: &[String]) -> Markup {
    let (plan, result) = (run.plan, run.result);
    html! {
        section id=(run.anchor()) {
            h2 { (plan.title) }
            p.faint {
                code { "samestep lab run " (plan.name) @for change in &result.changed { " " (change) } }
                " · " (verdict(run))
                @if !result.took.is_zero() { " · took " (minutes(result.took)) }
            }
            @if run.is_real() {
                p.tag { "Measured over real sockets: the figures depend on this machine and on what else it does." }
            }
            @for paragraph in plan.description.split("\n\n") { p { (paragraph) } }
            p.faint { "Source: " (plan.source) }
            (conditions(run))
            (plots(&result.plots, first))
            (expectations(run))
            (figures(run))
        }
    }
}

/// How many expectations hold, in colour.
pub fn verdict(run: &Run) -> Markup {
    let (holding, all) = run.kept();
    let class = match (run.result.ok(), holding == all) {
        (_, true) if all == 0 => "faint",
        (false, _) => "bad",
        (true, true) => "good",
        (true, false) => "known",
    };
    let unjudged = run.result.expectations.len() - all;
    html! {
        span.(class) {
            @match (all, unjudged) {
                (0, 0) => "no expectations",
                (all, 0) => { (holding) " of " (all) " hold" }
                (all, unjudged) => { (holding) " of " (all) " hold, " (unjudged) " not judged in this run" }
            }
        }
    }
}

fn conditions(run: &Run) -> Markup {
    let result = run.result;
    // What a link does not do would hide what it does.
    let idle = |(key, value): &&(String, String)| {
        key.starts_with("link.") && ["0", "none"].contains(&value.as_str())
    };
    html! {
        @if !result.conditions.is_empty() || !result.varied.is_empty() {
            dl.conditions {
                @for (key, value) in &result.varied { div.varied { dt { (key) } dd { (value) } } }
                @for (key, value) in result.conditions.iter().filter(|pair| !idle(pair)) {
                    div { dt { (key) } dd { (value) } }
                }
            }
        }
    }
}

fn plots(plots: &[Plot], first: &[String]) -> Markup {
    let chosen = plots.iter().any(|plot| first.contains(&plot.name));
    let (shown, rest): (Vec<_>, Vec<_>) = plots.iter().enumerate().partition(|(index, plot)| {
        plots.len() <= FEW
            || match chosen {
                true => first.contains(&plot.name),
                false => *index < FEW,
            }
    });
    let drawn = |plots: &[(usize, &Plot)]| {
        html! { @for (_, plot) in plots { figure { (PreEscaped(plot.inline())) } } }
    };
    html! {
        (drawn(&shown))
        @match rest.len() {
            0 => {}
            1 => (folded("One more plot", drawn(&rest))),
            many => (folded(&format!("{many} more plots"), drawn(&rest))),
        }
    }
}
