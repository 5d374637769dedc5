//! Delays and resimulated ticks over the round trip, stalls over loss.

use std::collections::BTreeMap;

use crate::experiment::{Findings, Row};
use crate::link::{latency_label, percent_label};
use crate::parameters::{Case, Value};
use crate::plot::{Data, Plot};

/// Cases that differ in one thing only: what they have in common, and the cases by that one thing.
type Group<'a> = (String, Vec<(f64, &'a Case)>);

/// Input delay and resimulated ticks over the round trip, stalls over loss.
pub(super) fn plots(cases: &[Case], findings: &Findings) -> Vec<Plot> {
    type Side = fn(&Row) -> Option<f64>;
    let (lockstep, rollback): (Side, Side) = (|row| row.theirs, |row| row.ours);
    let line = |name: String, (_, cases): &Group, metric: &str, side: Side| {
        let value = |case: &Case| side(findings.row(case, metric)?);
        let points = cases.iter();
        let points = points.filter_map(|(at, case)| Some((*at, value(case)?)));
        (name, points.collect::<Vec<_>>())
    };
    let mut plots = Vec::new();
    let by_latency = groups(cases, "link.latency_ms", 2.0, latency_label);
    if let Some(group) = by_latency.first() {
        let of = |metric, side, name: &str| line(name.into(), group, metric, side);
        plots.push(Plot::new(
            "delay",
            format!("From an input to what is seen of it, median; {}", group.0),
            ["round trip, ms", "ms"],
            Data::Lines(vec![
                of("others_delay", lockstep, "lockstep, another's input"),
                of("own_delay", lockstep, "lockstep, one's own"),
                of("others_delay", rollback, "rollback, another's input"),
                of("own_delay", rollback, "rollback, one's own"),
            ]),
        ));
        let resimulated = by_latency
            .iter()
            .map(|group| line(group.0.clone(), group, "resimulated", rollback));
        plots.push(Plot::new(
            "resimulated",
            "Ticks simulated again by each member",
            ["round trip, ms", "ticks/s"],
            Data::Lines(resimulated.collect()),
        ));
    }
    let mut stalls = Vec::new();
    for group in groups(cases, "link.loss", 100.0, percent_label) {
        for (name, side) in [("lockstep", lockstep), ("rollback", rollback)] {
            let name = format!("{name}, {}", group.0);
            stalls.push(line(name, &group, "stalls", side));
        }
    }
    if !stalls.is_empty() {
        plots.push(Plot::new(
            "stalls",
            "Ticks in which nothing new could be shown",
            ["loss in each direction, %", "ticks/s"],
            Data::Lines(stalls),
        ));
    }
    plots
}

/// Cases that differ only in one key, by its value, `unit` to each; groups of at least three, the largest first.
fn groups<'a>(
    cases: &'a [Case],
    key: &str,
    unit: f64,
    label: fn(&Value) -> Option<String>,
) -> Vec<Group<'a>> {
    let mut found: BTreeMap<String, Vec<(f64, &Case)>> = BTreeMap::new();
    for case in cases {
        let Some(value) = case.value(key) else {
            continue;
        };
        let label = label(value).unwrap_or_default();
        let parts = case.name.split('/').filter(|part| *part != label);
        let others = parts.collect::<Vec<_>>().join(" ");
        let at = case.number(key) * unit;
        found.entry(others).or_default().push((at, case));
    }
    found.retain(|_, cases| cases.len() > 2);
    let named = found.into_values();
    let mut groups: Vec<Group> = named.map(|cases| (words(&cases, key), cases)).collect();
    for (_, cases) in &mut groups {
        cases.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    groups.sort_by_key(|(_, cases)| std::cmp::Reverse(cases.len()));
    groups
}

/// The settings that the cases of a group share, in words.
fn words(cases: &[(f64, &Case)], varies: &str) -> String {
    let Some((_, case)) = cases.first() else {
        return String::new();
    };
    let topology = case.text("topology");
    let mut words = format!("{} players, {topology}", case.number("players"));
    let latency = case.number_if_given("link.latency_ms");
    if let Some(ms) = latency.filter(|_| varies != "link.latency_ms") {
        words += &format!(", {} ms round trip", 2.0 * ms);
    }
    words
}
