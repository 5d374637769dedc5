//! The table of the demo's host about its bots.

use std::collections::VecDeque;
use std::time::Duration;

use samestep::proto::{ConnectionId, Stats};
use samestep_lab::Samples;

/// The host's figures of one bot.
#[derive(Clone, Default)]
pub struct Peer {
    /// Its connection, once it has one.
    pub id: Option<ConnectionId>,
    /// Why it closed, once it has.
    pub closed: Option<String>,
    /// Counters and estimates of the connection.
    pub stats: Stats,
    /// Counters a while ago, for rates: when, bytes sent, bytes received.
    before: (Duration, u64, u64),
    rates: (f64, f64),
    /// The messages received on each channel.
    pub channels: [ReceivedMessages; 3],
}

/// The messages that the host received on one channel of one bot.
#[derive(Clone, Default)]
pub struct ReceivedMessages {
    next: u32,
    /// Messages that arrived.
    pub arrived: u32,
    /// Messages that came after a later one.
    pub disorder: u32,
    recent_ms: VecDeque<f64>,
}

/// Latencies the table's percentiles are taken over: about the last ten seconds of the fastest stream.
const RECENT: usize = 600;

impl ReceivedMessages {
    /// Counts a message.
    pub fn on_message(&mut self, number: u32, latency: Duration) {
        self.disorder += u32::from(number < self.next);
        self.next = number + 1;
        self.arrived += 1;
        if self.recent_ms.len() == RECENT {
            self.recent_ms.pop_front();
        }
        self.recent_ms.push_back(latency.as_secs_f64() * 1e3);
    }

    fn percentiles(&self) -> String {
        let sorted = self.recent_ms.iter().copied().collect::<Samples>().sorted();
        match (sorted.percentile(50.0), sorted.percentile(95.0)) {
            (Some(p50), Some(p95)) if p95 < 100.0 => format!("{p50:.1} / {p95:.1}"),
            (Some(p50), Some(p95)) => format!("{p50:.0} / {p95:.0}"),
            _ => "-".into(),
        }
    }
}

/// The table: a row per bot, with the latencies of the three channels called `names`.
pub fn table(peers: &mut [Peer], names: [&str; 3], elapsed: Duration, seconds: Duration) -> String {
    let mut text = format!(
        "{:.1} of {:.0} s\n",
        elapsed.min(seconds).as_secs_f64(),
        seconds.as_secs_f64()
    );
    text += &format!("{:<48} latency in ms, p50 / p95\n", "");
    text += &format!(
        "{:<6} {:>8} {:>8} {:>6} {:>8} {:>7}",
        "peer", "rtt ms", "jitter", "loss", "out B/s", "in B/s"
    );
    for name in names {
        text += &format!("  {:>13}", name);
    }
    text += "\n";
    for (number, peer) in peers.iter_mut().enumerate() {
        peer.measure_rates(elapsed);
        let state = match (&peer.id, &peer.closed) {
            (None, _) => Some("connecting"),
            (_, Some(reason)) => Some(reason.as_str()),
            _ => None,
        };
        if let Some(state) = state {
            text += &format!("bot {:<2} {state}\n", number + 1);
            continue;
        }
        let ms = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e3);
        let (loss, (sent, received)) = (peer.stats.loss * 100.0, peer.rates);
        text += &format!(
            "bot {:<2} {:>8} {:>8} {loss:>5.1}% {sent:>8.0} {received:>7.0}",
            number + 1,
            ms(peer.stats.rtt),
            ms(peer.stats.jitter),
        );
        for received in &peer.channels {
            text += &format!("  {:>13}", received.percentiles());
        }
        text += "\n";
    }
    text
}

impl Peer {
    /// A bot that has just connected.
    pub fn new(id: ConnectionId) -> Peer {
        Peer {
            id: Some(id),
            ..Peer::default()
        }
    }

    /// Rates over at least half a second, or they would flicker.
    fn measure_rates(&mut self, at: Duration) {
        let (before, sent, received) = self.before;
        let time = at.saturating_sub(before);
        if time < Duration::from_millis(500) {
            return;
        }
        let rate =
            |bytes: u64, before: u64| bytes.saturating_sub(before) as f64 / time.as_secs_f64();
        self.rates = (
            rate(self.stats.bytes_sent, sent),
            rate(self.stats.bytes_received, received),
        );
        self.before = (at, self.stats.bytes_sent, self.stats.bytes_received);
    }
}

#[cfg(test)]
mod tests {
    use samestep::Driver;
    use samestep::proto::{Config, ConnectOptions};
    use samestep::transport::Memory;

    use super::*;

    #[test]
    fn a_row_is_as_wide_as_its_heading() {
        let config = Config::new("test", 1);
        let mut driver = Driver::new(Memory::pair().0, config).unwrap();
        let nobody = "127.0.0.1:1".parse().unwrap();
        let id = driver.connect(nobody, ConnectOptions::default()).unwrap();
        let mut peer = Peer {
            id: Some(id),
            ..Peer::default()
        };
        for channel in &mut peer.channels {
            (0..100).for_each(|number| {
                channel.on_message(number, Duration::from_millis(1000 + u64::from(number)))
            });
        }
        peer.stats.rtt = Duration::from_millis(2100);
        peer.rates = (123_456.0, 123_456.0);
        peer.before.0 = Duration::from_secs(5);
        let time = Duration::from_secs(5);
        let text = table(
            &mut [Peer::default(), peer],
            ["state", "input", "event"],
            time,
            time,
        );
        let widths: Vec<_> = text.lines().map(|line| line.chars().count()).collect();
        assert!(widths[2] == widths[4] && widths[4] <= 100, "{text}");
        assert!(
            text.contains("connecting") && text.contains("1049 / 1094"),
            "{text}"
        );
    }

    #[test]
    fn order_and_latency_are_noticed() {
        let mut received = ReceivedMessages::default();
        for number in [0, 1, 3, 2] {
            received.on_message(number, Duration::from_millis(50));
        }
        assert_eq!((received.arrived, received.disorder), (4, 1));
        assert_eq!(received.percentiles(), "50.0 / 50.0");
        assert_eq!(ReceivedMessages::default().percentiles(), "-");
    }
}
