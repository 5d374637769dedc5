//! The live figures of a running game, and the CSV file they are written to.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use samestep_session::{Match, PeerId};
use samestep_sync::{Live, Model, Simulation, Status, Tick};

/// The time over which rates are measured, and between two rows of the file.
const INTERVAL: Duration = Duration::from_secs(1);

/// The figures of a running game, from [`Game::stats`](crate::Game::stats).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GameStats {
    /// Since this program opened or began to join the game.
    pub time: Duration,
    /// The tick of the state: the predicted one where the model predicts.
    pub tick: Tick,
    /// The confirmed tick: nothing before it can change any more.
    pub confirmed_tick: Tick,
    /// The delay that a player here feels: from an input to the state that shows it, on average.
    pub delay: Duration,
    /// From an input to its tick, in ticks.
    pub input_delay: u64,
    /// How much later than the common schedule this program simulates.
    pub playout_delay: Duration,
    /// How much later than the authority's present the others are shown.
    pub interpolation_delay: Duration,
    /// Ticks that were due while the simulation stalled, so far.
    pub stalled_ticks: u64,
    /// Rollbacks so far.
    pub rollbacks: u64,
    /// The maximum number of ticks resimulated at once, so far.
    pub max_rollback_depth: u64,
    /// Ticks resimulated so far.
    pub resimulated_ticks: u64,
    /// How often the authority's state differed from what was simulated here, so far.
    pub corrections: u64,
    /// Desyncs detected so far.
    pub desyncs: u64,
    /// Estimated error of the common clock; zero on the program that keeps it, `None` until the common time is known.
    pub clock_error: Option<Duration>,
    /// The other programs that are present.
    pub peers: Vec<PeerStats>,
}

/// The figures of the connection to one other program. Those that are not known are `None`: before they are measured, while the connection is
/// lost, and for who is behind a host, since nothing travels there directly.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerStats {
    /// The other program.
    pub peer: PeerId,
    /// Smoothed round trip.
    pub round_trip: Option<Duration>,
    /// Mean deviation of the round trip.
    pub jitter: Option<Duration>,
    /// The fraction of packets lost on the path to the peer, lately: 0 to 1.
    pub loss: Option<f32>,
    /// The time since something last arrived from it.
    pub last_heard: Option<Duration>,
    /// Bytes sent to it per second, over the last second; headers below UDP not included.
    pub sent_bytes_per_s: Option<f64>,
    /// Bytes received from it per second, over the last second.
    pub received_bytes_per_s: Option<f64>,
}

/// A line for people.
impl fmt::Display for GameStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        write!(
            f,
            "tick {} (confirmed {}), own input after {:.0} ms, input delay {} ticks, playout delay {:.0} ms, {} stalled, {} rollbacks of at most {} ticks, \
             {} corrections, {} desyncs, clock ±{} ms",
            self.tick,
            self.confirmed_tick,
            ms(self.delay),
            self.input_delay,
            ms(self.playout_delay.max(self.interpolation_delay)),
            self.stalled_ticks,
            self.rollbacks,
            self.max_rollback_depth,
            self.corrections,
            self.desyncs,
            known(self.clock_error.map(ms), 1, "?"),
        )?;
        for peer in &self.peers {
            let figure = |value: Option<f64>| known(value, 1, "?");
            write!(
                f,
                "; {}: {} ±{} ms, {} % lost, {} kB/s out, {} in",
                peer.peer,
                figure(peer.round_trip.map(ms)),
                figure(peer.jitter.map(ms)),
                figure(peer.loss.map(|loss| f64::from(loss) * 100.0)),
                figure(peer.sent_bytes_per_s.map(|bytes| bytes / 1e3)),
                figure(peer.received_bytes_per_s.map(|bytes| bytes / 1e3)),
            )?;
        }
        Ok(())
    }
}

/// A figure with so many digits, or what stands for one that is not known.
fn known(value: Option<f64>, digits: usize, unknown: &str) -> String {
    value.map_or_else(|| unknown.into(), |value| format!("{value:.digits$}"))
}

/// The first line of the file. Times are in milliseconds unless the name says otherwise; a figure that is not known is empty.
const HEADER: &str = "time_s,tick,confirmed_tick,delay_ms,input_delay_ticks,playout_delay_ms,interpolation_delay_ms,stalled_ticks,rollbacks,\
max_rollback_depth,resimulated_ticks,corrections,desyncs,clock_error_ms,peer,round_trip_ms,jitter_ms,loss,sent_bytes_per_s,received_bytes_per_s";

impl GameStats {
    /// One row per peer, or one with empty columns while there is none.
    fn write_rows(&self, out: &mut dyn Write) -> io::Result<()> {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let game = format!(
            "{:.3},{},{},{:.3},{},{:.3},{:.3},{},{},{},{},{},{},{}",
            self.time.as_secs_f64(),
            self.tick,
            self.confirmed_tick,
            ms(self.delay),
            self.input_delay,
            ms(self.playout_delay),
            ms(self.interpolation_delay),
            self.stalled_ticks,
            self.rollbacks,
            self.max_rollback_depth,
            self.resimulated_ticks,
            self.corrections,
            self.desyncs,
            known(self.clock_error.map(ms), 3, ""),
        );
        if self.peers.is_empty() {
            writeln!(out, "{game},,,,,,")?;
        }
        for peer in &self.peers {
            writeln!(
                out,
                "{game},{},{},{},{},{},{}",
                peer.peer.0,
                known(peer.round_trip.map(ms), 3, ""),
                known(peer.jitter.map(ms), 3, ""),
                known(peer.loss.map(f64::from), 4, ""),
                known(peer.sent_bytes_per_s, 0, ""),
                known(peer.received_bytes_per_s, 0, ""),
            )?;
        }
        out.flush()
    }
}

/// Where the figures go once a second.
enum Output {
    /// A CSV file.
    Csv(Box<dyn Write + Send + Sync>),
    /// Lines for people, on standard error.
    Lines,
}

/// Bytes sent to a peer and received from it.
type Bytes = (u64, u64);

/// Measures rates, and writes the figures once a second if asked.
pub(crate) struct Sampler {
    start: Duration,
    /// When the current interval began, and the bytes counted until then.
    since: Duration,
    before: BTreeMap<PeerId, Bytes>,
    /// Bytes per second over the interval before.
    rates: BTreeMap<PeerId, (f64, f64)>,
    output: Option<Output>,
}

impl Sampler {
    pub(crate) fn new(now: Duration) -> Sampler {
        Sampler {
            start: now,
            since: now,
            before: BTreeMap::new(),
            rates: BTreeMap::new(),
            output: None,
        }
    }

    pub(crate) fn write_csv(&mut self, mut out: Box<dyn Write + Send + Sync>) -> io::Result<()> {
        writeln!(out, "{HEADER}")?;
        out.flush()?;
        self.output = Some(Output::Csv(out));
        Ok(())
    }

    pub(crate) fn write_lines(&mut self) {
        self.output = Some(Output::Lines);
    }

    /// Ends an interval when it is over, and writes the figures.
    pub(crate) fn on_time<S: Simulation, M: Model>(
        &mut self,
        now: Duration,
        game: &Match<Live<S>, M>,
    ) -> io::Result<()> {
        let seconds = now.saturating_sub(self.since);
        if seconds < INTERVAL {
            return Ok(());
        }
        let bytes: BTreeMap<PeerId, Bytes> = others(game)
            .filter_map(|peer| {
                let stats = game.session().peer_stats(now, peer)?;
                Some((peer, (stats.bytes_sent?, stats.bytes_received?)))
            })
            .collect();
        let rate =
            |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds.as_secs_f64();
        self.rates = bytes
            .iter()
            .map(|(peer, (sent, received))| {
                let before = self.before.get(peer).copied().unwrap_or_default();
                (*peer, (rate(*sent, before.0), rate(*received, before.1)))
            })
            .collect();
        (self.before, self.since) = (bytes, now);
        if self.output.is_none() {
            return Ok(());
        }
        let stats = self.stats(now, game);
        match &mut self.output {
            Some(Output::Csv(out)) => stats.write_rows(out),
            _ => writeln!(io::stderr(), "{stats}"),
        }
    }

    pub(crate) fn stats<S: Simulation, M: Model>(
        &self,
        now: Duration,
        game: &Match<Live<S>, M>,
    ) -> GameStats {
        let session = game.session();
        let peers = others(game).filter_map(|peer| {
            let stats = session.peer_stats(now, peer)?;
            let rates = self.rates.get(&peer);
            Some(PeerStats {
                peer,
                round_trip: stats.rtt,
                jitter: stats.jitter,
                loss: stats.loss,
                last_heard: stats.last_heard,
                sent_bytes_per_s: rates.map(|(sent, _)| *sent),
                received_bytes_per_s: rates.map(|(_, received)| *received),
            })
        });
        let host_clock = session.clock().map(|clock| clock.error(now));
        let mesh_clock = session.mesh_clock().map(|clock| clock.error(now));
        let status: Status = game.status();
        GameStats {
            time: now.saturating_sub(self.start),
            tick: status.tick,
            confirmed_tick: status.confirmed_tick,
            delay: status.delay,
            input_delay: status.input_delay,
            playout_delay: status.playout_delay,
            interpolation_delay: status.interpolation_delay,
            stalled_ticks: status.stalled_ticks,
            rollbacks: status.rollbacks,
            max_rollback_depth: status.max_rollback_depth,
            resimulated_ticks: status.resimulated,
            corrections: status.corrections,
            desyncs: status.desyncs,
            clock_error: (session.time(now)).map(|_| host_clock.or(mesh_clock).unwrap_or_default()),
            peers: peers.collect(),
        }
    }
}

/// The other programs that are present.
fn others<S: Simulation, M: Model>(game: &Match<Live<S>, M>) -> impl Iterator<Item = PeerId> {
    let session = game.session();
    let me = session.me();
    let present = session.room().present().map(|peer| peer.id);
    present.filter(move |peer| Some(*peer) != me)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_written_as_a_number() {
        let stats = GameStats {
            peers: vec![PeerStats {
                peer: PeerId(2),
                round_trip: Some(Duration::from_millis(20)),
                jitter: None,
                loss: None,
                last_heard: None,
                sent_bytes_per_s: None,
                received_bytes_per_s: Some(1_500.0),
            }],
            ..GameStats::default()
        };
        let line = stats.to_string();
        let end = "clock ±? ms; peer 2: 20.0 ±? ms, ? % lost, ? kB/s out, 1.5 in";
        assert!(line.ends_with(end), "{line}");
        let mut rows = Vec::new();
        stats.write_rows(&mut rows).unwrap();
        let row = String::from_utf8(rows).unwrap();
        assert!(row.ends_with(",0,,2,20.000,,,,1500\n"), "{row}");
    }
}
