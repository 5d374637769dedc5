//! Corrections over the latency.

use crate::experiment::Findings;
use crate::parameters::Case;
use crate::plot::{Data, Line, Plot, add_point};

/// Corrections across and along the direction of motion of players who walk about, without loss.
pub(super) fn plots(cases: &[Case], findings: &Findings) -> Vec<Plot> {
    let of = |name: &str, title: &str, metric: &str| {
        let mut lines: Vec<Line> = Vec::new();
        let plain = cases.iter().filter(|case| {
            case.text("scene") == "walk"
                && case.text("stamp") == "sent"
                && case.number("link.loss") == 0.0
                && case.number("link.jitter_ms") == 0.0
        });
        for case in plain {
            let Some(row) = findings.row(case, metric) else {
                continue;
            };
            let window = match case.text("window") {
                "none" => "without a window",
                "server" => "with the server's window",
                _ => "with both windows",
            };
            for (side, value) in [("theirs", row.theirs), ("ours", row.ours)] {
                if let Some(value) = value {
                    let at = (case.number("latency_ms"), value);
                    add_point(&mut lines, format!("{side} {window}"), at);
                }
            }
        }
        let axes = ["one way, ms", "widths of a character"];
        Plot::new(name, title, axes, Data::Lines(lines))
    };
    let mut plots = vec![
        of(
            "across",
            "Corrections across the direction of motion, mean of the largest per turn",
            "across_mean",
        ),
        of(
            "along",
            "Corrections along the direction of motion, mean of the largest per turn",
            "along_mean",
        ),
    ];
    plots.retain(Plot::has_lines);
    plots
}
