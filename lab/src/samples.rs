//! The samples that each client takes once a second: the metrics of the deterministic lockstep thesis, Table 6.1, under their names.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_proto::Stats;
use samestep_session::Session;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::experiment::RunContext;
use crate::parameters::Case;
use crate::stats::Samples;
use crate::testmatch::network_name;

/// The counters of a client since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Largest of the smoothed round trips of its connections; not a count.
    pub rtt: Duration,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets received.
    pub packets_received: u64,
    /// Packets sent that carried something sent before.
    pub packets_resent: u64,
    /// Packets received a second time.
    pub packets_duplicate: u64,
    /// Packets it sent that are presumed lost.
    pub packets_lost: u64,
    /// Bytes sent, repeats included (theirs left them out).
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Ticks in which the simulation could not go on.
    pub ticks_lagged: u64,
    /// Differences of the state that were found.
    pub desyncs: u64,
    /// Views drawn.
    pub views: u64,
    /// Rollbacks.
    pub rollbacks: u64,
    /// Ticks that were resimulated.
    pub resimulated: u64,
}

impl Counts {
    /// The counters of a program's connections.
    pub fn of(session: &Session) -> Counts {
        let mut counts = Counts::default();
        for peer in session.room().peers() {
            if let Some(stats) = session.connection_stats(peer.id) {
                counts.add(&stats);
            }
        }
        counts
    }

    /// Adds the counters of one connection.
    pub fn add(&mut self, connection: &Stats) {
        self.rtt = self.rtt.max(connection.rtt);
        self.packets_sent += connection.packets_sent;
        self.packets_received += connection.packets_received;
        self.packets_resent += connection.packets_resent;
        self.packets_duplicate += connection.packets_duplicate;
        self.packets_lost += connection.packets_lost;
        self.bytes_sent += connection.bytes_sent;
        self.bytes_received += connection.bytes_received;
    }

    /// The difference from `before`. A connection that is gone takes its counters with it.
    fn since(&self, before: &Counts) -> Counts {
        let more = |of: fn(&Counts) -> u64| of(self).saturating_sub(of(before));
        Counts {
            rtt: self.rtt,
            packets_sent: more(|c| c.packets_sent),
            packets_received: more(|c| c.packets_received),
            packets_resent: more(|c| c.packets_resent),
            packets_duplicate: more(|c| c.packets_duplicate),
            packets_lost: more(|c| c.packets_lost),
            bytes_sent: more(|c| c.bytes_sent),
            bytes_received: more(|c| c.bytes_received),
            ticks_lagged: more(|c| c.ticks_lagged),
            desyncs: more(|c| c.desyncs),
            views: more(|c| c.views),
            rollbacks: more(|c| c.rollbacks),
            resimulated: more(|c| c.resimulated),
        }
    }
}

/// One line of the file: the counters of a client within a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Which client; 0 hosts or opened the room.
    pub client: u32,
    /// End of the second, since the start of the measurement.
    pub second: u32,
    /// The difference of the counters.
    pub delta: Counts,
}

/// Every sample of one measurement.
#[derive(Clone, Debug, Default)]
pub struct TimeSeries {
    before: BTreeMap<u32, Counts>,
    samples: Vec<Sample>,
}

/// A metric of the table: its name there, and how to read it.
pub type Column = (&'static str, fn(&Counts) -> f64);

/// The columns after `Client` and `RelTime`, in their order.
pub const COLUMNS: [Column; 12] = [
    ("Fps", |c| c.views as f64),
    ("MaxAvgRtt", |c| c.rtt.as_secs_f64()),
    ("DeltaPacketsTx", |c| c.packets_sent as f64),
    ("DeltaPacketsRx", |c| c.packets_received as f64),
    ("DeltaPacketsTxRe", |c| c.packets_resent as f64),
    ("DeltaPacketsRxRe", |c| c.packets_duplicate as f64),
    ("DeltaPacketsLost", |c| c.packets_lost as f64),
    ("DeltaBytesTx", |c| c.bytes_sent as f64),
    ("DeltaBytesRx", |c| c.bytes_received as f64),
    ("DeltaBandwidth", |c| {
        (c.bytes_sent + c.bytes_received) as f64
    }),
    ("DeltaTicksLagged", |c| c.ticks_lagged as f64),
    ("DeltaDesyncs", |c| c.desyncs as f64),
];

impl TimeSeries {
    /// Takes a client's counters at the end of a second; the first call of a client sets the baseline. Clients may begin at different times.
    pub fn take(&mut self, client: u32, second: u32, counts: Counts) {
        if let Some(before) = self.before.insert(client, counts) {
            let delta = counts.since(&before);
            self.samples.push(Sample {
                client,
                second,
                delta,
            });
        }
    }

    /// A metric over all clients and the seconds after the first `settling` ones.
    pub fn all(&self, settling: u32, of: fn(&Counts) -> f64) -> Samples {
        self.of_clients(settling, of, |_| true)
    }

    /// A metric of the host alone.
    pub fn host(&self, settling: u32, of: fn(&Counts) -> f64) -> Samples {
        self.of_clients(settling, of, |client| client == 0)
    }

    /// A metric of all clients but the host.
    pub fn others(&self, settling: u32, of: fn(&Counts) -> f64) -> Samples {
        self.of_clients(settling, of, |client| client > 0)
    }

    fn of_clients(
        &self,
        settling: u32,
        of: fn(&Counts) -> f64,
        wanted: impl Fn(u32) -> bool,
    ) -> Samples {
        let judged = self
            .samples
            .iter()
            .filter(|sample| sample.second > settling);
        let judged = judged.filter(|sample| wanted(sample.client));
        judged.map(|sample| of(&sample.delta)).collect()
    }

    /// A metric over time: the mean of all clients in each second.
    pub fn per_second(&self, of: fn(&Counts) -> f64) -> Vec<(f64, f64)> {
        let mut seconds: Vec<(f64, u32)> = Vec::new();
        for sample in &self.samples {
            let index = sample.second as usize;
            seconds.resize(seconds.len().max(index + 1), (0.0, 0));
            seconds[index].0 += of(&sample.delta);
            seconds[index].1 += 1;
        }
        let seconds = seconds
            .iter()
            .enumerate()
            .filter(|(_, (_, count))| *count > 0);
        seconds
            .map(|(second, (sum, count))| (second as f64, sum / f64::from(*count)))
            .collect()
    }

    /// Writes a line per client and second.
    pub fn write(&self, context: &RunContext, name: &str) -> Result<(), LabError> {
        let mut header = vec!["Client", "RelTime"];
        header.extend(COLUMNS.iter().map(|(name, _)| *name));
        let Some(mut csv) = context.csv(&format!("{name}.csv"), &header)? else {
            return Ok(());
        };
        for sample in &self.samples {
            let mut line = vec![sample.client.to_string(), sample.second.to_string()];
            line.extend(COLUMNS.iter().map(|(_, of)| of(&sample.delta).to_string()));
            csv.line(&line)?;
        }
        csv.finish()
    }
}

/// The name their scheme gives to a configuration of deterministic lockstep (dl) or snapshots (sl): `dl-lan-p40-e16000`.
pub fn name(method: &str, case: &Case, suffix: &str) -> String {
    let (players, entities) = (case.number("players"), case.number("entities"));
    let suffix = match suffix {
        "" => String::new(),
        suffix => format!("-{suffix}"),
    };
    let network = network_name(case);
    format!("{method}-{network}-p{players}-e{entities}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(lagged: u64, sent: u64) -> Counts {
        Counts {
            ticks_lagged: lagged,
            packets_sent: sent,
            ..Counts::default()
        }
    }

    #[test]
    fn seconds_are_what_came_on_top() {
        let mut course = TimeSeries::default();
        for (second, lagged) in [(0, 100), (1, 160), (2, 165), (3, 165)] {
            course.take(0, second, counts(lagged, 10 * u64::from(second)));
            course.take(1, second, counts(0, 0));
        }
        let lagged = |c: &Counts| c.ticks_lagged as f64;
        assert_eq!(course.host(0, lagged).values(), [60.0, 5.0, 0.0]);
        assert_eq!(course.host(2, lagged).values(), [0.0]);
        assert_eq!(course.all(1, lagged).mean(), Some(1.25));
        assert_eq!(course.others(0, lagged).max(), Some(0.0));
        assert_eq!(course.all(0, |c| c.packets_sent as f64).max(), Some(10.0));
    }

    #[test]
    fn files_are_named_and_headed_as_theirs() {
        let sets = [
            ("link.profile", "none"),
            ("players", "40"),
            ("entities", "16000"),
        ];
        let sets = sets.map(|(key, value)| (key.to_string(), value.to_string()));
        let plan = crate::plan::Plan::find("lockstep-limits").unwrap();
        let case = plan.cases(Default::default(), &sets).unwrap().remove(0);
        assert_eq!(name("dl", &case, ""), "dl-lan-p40-e16000");
        assert_eq!(name("dl", &case, "loss10"), "dl-lan-p40-e16000-loss10");
        let context = RunContext {
            seed: 1,
            quick: false,
            real: false,
            cases: Vec::new(),
            published: Vec::new(),
            out: Some(
                std::env::temp_dir().join(format!("samestep-samples-{}", std::process::id())),
            ),
            progress: false,
        };
        let mut course = TimeSeries::default();
        course.take(0, 0, counts(0, 0));
        course.take(0, 1, counts(2, 7));
        course.write(&context, "dl-lan-p1-e1").unwrap();
        let folder = context.out.unwrap();
        let text = std::fs::read_to_string(folder.join("dl-lan-p1-e1.csv")).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        assert_eq!(
            text,
            "Client,RelTime,Fps,MaxAvgRtt,DeltaPacketsTx,DeltaPacketsRx,DeltaPacketsTxRe,DeltaPacketsRxRe,DeltaPacketsLost,\
             DeltaBytesTx,DeltaBytesRx,DeltaBandwidth,DeltaTicksLagged,DeltaDesyncs\n0,1,0,0,7,0,0,0,0,0,0,0,2,0\n"
        );
    }
}
