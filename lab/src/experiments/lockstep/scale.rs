//! How many players at all?

use super::limits::{KEYS, METRICS, rows};
use super::{play_all, write};
use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::parameters::Key;
use crate::plot::{Data, Plot};

/// Ever more players in one match.
pub struct Scale;

impl Experiment for Scale {
    fn name(&self) -> &'static str {
        "lockstep-scale"
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn metrics(&self) -> &'static [Metric] {
        METRICS
    }

    fn real(&self) -> bool {
        true
    }

    fn run(&self, context: &RunContext) -> Result<Findings, LabError> {
        let measured = play_all(context)?;
        let mut findings = Findings::default();
        let mut lines: Vec<(String, Vec<(f64, f64)>)> = [
            "sent by the host",
            "received by each of the others",
            "sent by each of the others",
        ]
        .map(|name| (name.to_string(), Vec::new()))
        .to_vec();
        for (case, played) in &measured {
            rows(case, played, &mut findings);
            write(
                context,
                case,
                "",
                played.first().map(|played| &played.course),
            )?;
            let of = [
                "host_packets_up",
                "client_packets_down",
                "client_packets_up",
            ];
            for ((_, points), metric) in lines.iter_mut().zip(of) {
                let row = findings.rows.iter();
                let mut row = row.filter(|row| row.case == case.name && row.metric == metric);
                let value = row.next().and_then(|row| row.ours);
                points.push((case.number("players"), value.unwrap_or(0.0)));
            }
        }
        findings.plots.push(Plot {
            name: "packets".into(),
            title: "Packets a second, by the number of players".into(),
            x: "players".into(),
            y: "packets/s".into(),
            log_y: true,
            data: Data::Lines(lines),
        });
        Ok(findings)
    }
}
