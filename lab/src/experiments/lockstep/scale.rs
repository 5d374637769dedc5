//! How many players at all?

use super::limits::{KEYS, METRICS, rows};
use super::{first_course, play_all, write};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, RunContext};
use crate::plot::{Data, Plot, add_point};

/// Ever more players in one match.
pub static EXPERIMENT: Experiment = Experiment {
    real: true,
    ..Experiment::new("lockstep-scale", KEYS, METRICS, run)
};

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = play_all(context)?;
    let mut findings = Findings::default();
    let mut lines = Vec::new();
    for (case, played) in &measured {
        rows(case, played, &mut findings);
        write(context, case, "", first_course(played))?;
        for (metric, name) in [
            ("host_packets_up", "sent by the host"),
            ("client_packets_down", "received by each of the others"),
            ("client_packets_up", "sent by each of the others"),
        ] {
            let value = findings.ours(case, metric).unwrap_or(0.0);
            add_point(&mut lines, name.into(), (case.number("players"), value));
        }
    }
    findings.plots.push(
        Plot::new(
            "packets",
            "Packets a second, by the number of players",
            ["players", "packets/s"],
            Data::Lines(lines),
        )
        .log_y(),
    );
    Ok(findings)
}
