//! Overviews: models beside links.

use super::SUBLOCKUS;
use crate::experiment::Findings;
use crate::parameters::Case;
use crate::plot::{Cell, Data, Overview, Panel, Plot};

/// Links and models as they fit beside an axis.
const SHORT: &[(&str, &str)] = &[
    ("broadband", "cable"),
    ("bad-wifi", "bad Wi-Fi"),
    ("intercontinental", "far"),
    ("event-delay", "ev. delay"),
    ("state-sync", "sync"),
    ("state-sync-simulated", "sync sim."),
    ("state-sync-reckoned", "sync d.r."),
    ("movement-beside-rules", "beside"),
];

/// Delays, what views differ by, and traffic, of each game.
pub(super) fn plots(cases: &[Case], findings: &Findings) -> Vec<Plot> {
    let games = values(cases, "game");
    let plots = games.iter().flat_map(|game| {
        let cases: Vec<&Case> = cases
            .iter()
            .filter(|case| case.text("game") == game)
            .collect();
        let mut plots = plots_of(&cases, findings);
        for plot in plots.iter_mut().filter(|_| game != SUBLOCKUS) {
            plot.name = format!("{game}-{}", plot.name);
        }
        plots
    });
    plots.collect()
}

fn plots_of(cases: &[&Case], findings: &Findings) -> Vec<Plot> {
    let (links, models) = (
        values(cases.iter().copied(), "link.profile"),
        values(cases.iter().copied(), "model"),
    );
    if links.len() < 2 || models.len() < 2 {
        return Vec::new();
    }
    let panel = |title: &str, metric: &str| {
        let cell = |model: &String, link: &String| {
            let is_it =
                |case: &&&Case| case.text("model") == model && case.text("link.profile") == link;
            let case = cases.iter().find(is_it);
            let ours = case.and_then(|case| findings.ours(case, metric));
            ours.map_or(Cell::Nothing, Cell::Value)
        };
        // The first model on top.
        let rows = models.iter().rev();
        let cells = rows.map(|model| links.iter().map(|link| cell(model, link)).collect());
        Panel {
            title: title.into(),
            cells: cells.collect(),
        }
    };
    let plot = |name: &str, title: &str, unit: &str, scale: (f64, f64), panels: Vec<Panel>| {
        let overview = Overview {
            columns: links.iter().map(|name| short(name)).collect(),
            rows: models.iter().rev().map(|name| short(name)).collect(),
            scale,
            panels,
        };
        Plot::new(name, title, ["", ""], Data::Overview(unit.into(), overview))
    };
    vec![
        plot(
            "delays",
            "From an input to the picture that shows it, median",
            "ms",
            (0.0, 400.0),
            vec![
                panel("one's own", "own_delay"),
                panel("another's", "others_delay"),
            ],
        ),
        plot(
            "views",
            "What is not as it should be",
            "blocks",
            (0.0, 2.0),
            vec![
                panel("two views apart, mean", "apart"),
                panel("others drawn astray, p99", "astray_others"),
            ],
        ),
        plot(
            "traffic",
            "Traffic, packet headers included",
            "kB/s",
            (0.0, 120.0),
            vec![
                panel("to a guest", "down"),
                panel("from the host", "host_up"),
            ],
        ),
    ]
}

/// All values of a key, in the order of the cases.
fn values<'a>(cases: impl IntoIterator<Item = &'a Case>, key: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for case in cases {
        let value = case.text(key).to_string();
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn short(name: &str) -> String {
    let found = SHORT.iter().find(|(long, _)| *long == name);
    found.map_or(name, |(_, short)| short).to_string()
}
