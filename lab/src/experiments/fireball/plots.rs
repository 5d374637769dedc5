//! Histograms of how far apart in time both peers executed the throws.

use samestep_sync::GameDelay;

use super::game_delay;
use super::scenario::Outcome;
use crate::parameters::Case;
use crate::plot::{Data, Plot};
use crate::stats::Samples;

/// The upper ends of the bins, in ms.
const BINS: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 20.0, 35.0, 75.0, 150.0, 225.0, 400.0];

/// One plot of the cases with event delay, one of those without, on links without loss and equally slow both ways.
pub(super) fn plots(outcomes: &[(&Case, Outcome, Outcome)]) -> Vec<Plot> {
    let plot = |name: &str, title: &str, has_delay: bool| {
        let mut series = Vec::new();
        for (case, ours, theirs) in outcomes {
            let GameDelay::Constant(delay) = game_delay(case) else {
                continue;
            };
            let Some(latency) = case.number_if_given("link.latency_ms") else {
                continue;
            };
            let is_bad =
                case.number_if_given("link.loss") != Some(0.0) || case.number("back_ms") > 0.0;
            if delay.is_zero() == has_delay || is_bad {
                continue;
            }
            for (whose, outcome) in [("theirs", theirs), ("ours", ours)] {
                if !outcome.events_apart_ms.is_empty() {
                    let bars = histogram(&outcome.events_apart_ms);
                    series.push((format!("{latency} ms, {whose}"), bars));
                }
            }
        }
        let mut from = 0.0;
        let bins = BINS.map(|upto| format!("{}–{upto} ms", core::mem::replace(&mut from, upto)));
        let axes = [
            "difference between the executions of a throw",
            "% of the throws",
        ];
        let is_empty = series.is_empty();
        let plot = Plot::new(name, title, axes, Data::Bars(bins.to_vec(), series));
        (!is_empty).then_some(plot)
    };
    let plots = [
        plot(
            "events-apart",
            "Throws executed by two peers, with event delay",
            true,
        ),
        plot(
            "events-apart-without",
            "Throws executed by two peers, without event delay",
            false,
        ),
    ];
    plots.into_iter().flatten().collect()
}

/// The share of the samples in each bin, in percent; none where there is nothing.
fn histogram(samples: &Samples) -> Vec<Option<f64>> {
    let mut counts = [0_u32; BINS.len()];
    for value in samples.values() {
        let bin = BINS.iter().position(|upto| value < upto);
        counts[bin.unwrap_or(BINS.len() - 1)] += 1;
    }
    let share = |count: u32| 100.0 * f64::from(count) / samples.len() as f64;
    counts
        .map(|count| (count > 0).then(|| share(count)))
        .to_vec()
}
