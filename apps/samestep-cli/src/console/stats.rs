//! The table of `/stats`: the figures of the connection to each peer, as `Game::stats` has them.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep::PeerStats;
use samestep::session::Session;
use samestep::sync::PeerId;
use serde_json::{Value, json};

/// The time over which rates are measured.
const INTERVAL: Duration = Duration::from_secs(1);

/// Measures the rates of all connections, once a second.
#[derive(Default)]
pub struct Rates {
    /// The time at which the current interval began.
    since: Duration,
    /// Bytes sent to each peer and received from it until then.
    before: BTreeMap<PeerId, [u64; 2]>,
    /// The same in bytes per second, over the interval before.
    rates: BTreeMap<PeerId, [f64; 2]>,
}

impl Rates {
    /// Ends an interval when it is over.
    pub fn on_time(&mut self, now: Duration, session: &Session) {
        let seconds = now.saturating_sub(self.since);
        if seconds < INTERVAL {
            return;
        }
        let peers = session.room().peers().iter();
        let bytes = peers.filter_map(|peer| {
            let stats = session.peer_stats(now, peer.id)?;
            Some((peer.id, [stats.bytes_sent?, stats.bytes_received?]))
        });
        let bytes: BTreeMap<_, _> = bytes.collect();
        let rate = |(peer, now): (&PeerId, &[u64; 2])| {
            let before = self.before.get(peer).unwrap_or(now);
            let more = [0, 1].map(|at| now[at].saturating_sub(before[at]));
            (
                *peer,
                more.map(|bytes| bytes as f64 / seconds.as_secs_f64()),
            )
        };
        self.rates = bytes.iter().map(rate).collect();
        (self.before, self.since) = (bytes, now);
    }

    /// The figures of all peers but this one.
    pub fn stats(&self, now: Duration, session: &Session) -> Vec<PeerStats> {
        let others = session.room().peers().iter();
        let others = others.filter(|peer| Some(peer.id) != session.me());
        let figures = others.filter_map(|peer| {
            let stats = session.peer_stats(now, peer.id)?;
            let rates = self.rates.get(&peer.id);
            Some(PeerStats {
                peer: peer.id,
                round_trip: stats.rtt,
                jitter: stats.jitter,
                loss: stats.loss,
                last_heard: stats.last_heard,
                sent_bytes_per_s: rates.map(|[sent, _]| *sent),
                received_bytes_per_s: rates.map(|[_, received]| *received),
            })
        });
        figures.collect()
    }
}

/// The table, with a name for each peer.
pub fn table(all: &[PeerStats], name: impl Fn(PeerId) -> String) -> String {
    let names: Vec<String> = all.iter().map(|stats| name(stats.peer)).collect();
    let width = names.iter().map(|name| name.chars().count()).max();
    let width = width.unwrap_or(0).max("peer".len());
    let mut text = format!(
        "{:<width$}  {:>8}  {:>9}  {:>6}  {:>8}  {:>9}\n",
        "peer", "rtt ms", "jitter ms", "loss", "out kB/s", "in kB/s"
    );
    for (stats, name) in all.iter().zip(names) {
        let known = |figure: Option<String>| figure.unwrap_or_else(|| "-".into());
        let in_ms = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e3);
        let [rtt, jitter] = [stats.round_trip, stats.jitter].map(|time| known(time.map(in_ms)));
        let in_kb = |bytes: f64| format!("{:.2}", bytes / 1e3);
        let rates = [stats.sent_bytes_per_s, stats.received_bytes_per_s];
        let [out, into] = rates.map(|rate| known(rate.map(in_kb)));
        let loss = known(stats.loss.map(|loss| format!("{:.1} %", loss * 100.0)));
        text += &format!("{name:<width$}  {rtt:>8}  {jitter:>9}  {loss:>6}  {out:>8}  {into:>9}\n");
    }
    text
}

/// The same for scripts.
pub fn as_json(all: &[PeerStats]) -> Value {
    let row = |stats: &PeerStats| {
        json!({
            "id": stats.peer.0,
            "rtt_ms": stats.round_trip.map(|time| time.as_secs_f64() * 1e3),
            "jitter_ms": stats.jitter.map(|time| time.as_secs_f64() * 1e3),
            "loss": stats.loss,
            "last_heard_ms": stats.last_heard.map(|time| time.as_secs_f64() * 1e3),
            "sent_bytes_per_s": stats.sent_bytes_per_s,
            "received_bytes_per_s": stats.received_bytes_per_s,
        })
    };
    json!({"event": "stats", "peers": all.iter().map(row).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_is_a_line_of_figures() {
        let stats = PeerStats {
            peer: PeerId(3),
            round_trip: Some(Duration::from_micros(41_250)),
            jitter: Some(Duration::from_micros(3_000)),
            loss: Some(0.025),
            last_heard: Some(Duration::from_millis(5)),
            sent_bytes_per_s: Some(1_234.0),
            received_bytes_per_s: Some(56_789.0),
        };
        let unknown = PeerStats {
            peer: PeerId(4),
            round_trip: None,
            jitter: None,
            loss: None,
            last_heard: None,
            sent_bytes_per_s: None,
            received_bytes_per_s: None,
        };
        let text = table(&[stats.clone(), unknown], |peer| format!("Zoë {}", peer.0));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "peer     rtt ms  jitter ms    loss  out kB/s    in kB/s",
                "Zoë 3      41.2        3.0   2.5 %      1.23      56.79",
                "Zoë 4         -          -       -         -          -",
            ]
        );
        assert_eq!(as_json(&[stats])["peers"][0]["id"], 3);
    }
}
