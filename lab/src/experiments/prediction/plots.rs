//! Delays over the round trip, corrections over loss.

use crate::experiment::Findings;
use crate::parameters::Case;
use crate::plot::{Data, Plot};

/// Plots the cases that fight with the default settings: delays, corrections and mispredictions.
pub(super) fn plots(cases: &[Case], findings: &Findings) -> Vec<Plot> {
    let is_fight = |case: &&Case| {
        case.text("scene") == "fight"
            && case.text("others") == "interpolated"
            && case.number("link.jitter_ms") == 0.0
    };
    let fights: Vec<&Case> = cases.iter().filter(is_fight).collect();
    // Points of one line: the cases in which one key has this value, over another.
    let line = |key: &str, is: f64, over: &str, unit: f64, metric: &str| {
        let of = fights.iter().filter(|case| case.number(key) == is);
        let points =
            of.filter_map(|case| Some((case.number(over) * unit, findings.ours(case, metric)?)));
        let mut points: Vec<(f64, f64)> = points.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let delay = |name: &str, loss: f64, metric: &str| {
        let points = line("link.loss", loss, "round_trip_ms", 1.0, metric);
        (name.to_string(), points)
    };
    let over_loss = |metric: &str| {
        let of = |ms: f64| {
            let points = line("round_trip_ms", ms, "link.loss", 100.0, metric);
            (format!("{ms} ms round trip"), points)
        };
        [200.0, 100.0, 50.0].map(of).to_vec()
    };
    let over_the_loss = |name: &str, title: &str, y: &str, metric: &str| {
        let axes = ["loss in each direction, %", y];
        Plot::new(name, title, axes, Data::Lines(over_loss(metric)))
    };
    let mut plots = vec![
        Plot::new(
            "delay",
            "From an input to the picture that shows it, median",
            ["round trip, ms", "ms"],
            Data::Lines(vec![
                delay("another's input, 10 % loss", 0.1, "others_delay"),
                delay("another's input, no loss", 0.0, "others_delay"),
                delay("one's own, 10 % loss", 0.1, "own_delay"),
                delay("one's own, no loss", 0.0, "own_delay"),
            ]),
        ),
        over_the_loss(
            "corrections",
            "How far corrections that are not due to a blow move one's own character, 99th percentile",
            "blocks",
            "unhit_p99",
        ),
        over_the_loss(
            "mispredictions",
            "How often something simulated ahead was not what the authority says",
            "per guest and second",
            "mispredictions",
        ),
    ];
    plots.retain(Plot::has_lines);
    plots
}
