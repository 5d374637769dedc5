//! What a lobby counts, in Prometheus' text form.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::directory::{DirectoryStats, Population};
use crate::refusal::Refusal;

/// Upper ends of the buckets of answer times, in microseconds.
const BUCKETS_US: [u64; 8] = [500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 250_000];

/// What is counted outside of the core.
#[derive(Debug, Default)]
pub struct Counters {
    /// Connections that were accepted.
    pub accepted: AtomicU64,
    /// Connections that are open.
    pub open: AtomicU64,
    /// Connections that were refused since there were too many, of all or of their address.
    pub turned_away: AtomicU64,
    /// HTTP requests.
    pub requests: AtomicU64,
    /// Sockets that were closed since their client did not read, or said nothing.
    pub too_slow: AtomicU64,
    /// Whether the store answered lately.
    pub healthy: AtomicBool,
    answers: [AtomicU64; BUCKETS_US.len() + 1],
    answer_us: AtomicU64,
}

impl Counters {
    /// A request was answered after this time.
    pub fn on_answered(&self, took: Duration) {
        let us = took.as_micros() as u64;
        let bucket = BUCKETS_US
            .iter()
            .position(|end| us <= *end)
            .unwrap_or(BUCKETS_US.len());
        self.answers[bucket].fetch_add(1, Ordering::Relaxed);
        self.answer_us.fetch_add(us, Ordering::Relaxed);
    }

    /// All of it.
    pub fn text(&self, stats: &DirectoryStats, population: Population) -> String {
        let mut text = String::new();
        let mut one = |name: &str, kind: &str, help: &str, value: u64| {
            let _ = writeln!(
                text,
                "# HELP samestep_lobby_{name} {help}\n# TYPE samestep_lobby_{name} {kind}\nsamestep_lobby_{name} {value}"
            );
        };
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        one(
            "rooms",
            "gauge",
            "Rooms of all lobbies of the store.",
            population.rooms as u64,
        );
        one(
            "members",
            "gauge",
            "Members of these rooms.",
            population.members as u64,
        );
        one(
            "attached_members",
            "gauge",
            "Members that are connected here.",
            population.attached as u64,
        );
        one(
            "list_watchers",
            "gauge",
            "Connections that watch the list here.",
            population.watchers as u64,
        );
        one(
            "open_connections",
            "gauge",
            "Connections that are open here.",
            of(&self.open),
        );
        one(
            "store_healthy",
            "gauge",
            "Whether the store answered lately.",
            u64::from(self.healthy.load(Ordering::Relaxed)),
        );
        one(
            "connections_total",
            "counter",
            "Connections that were accepted.",
            of(&self.accepted),
        );
        one(
            "connections_turned_away_total",
            "counter",
            "Connections beyond a limit.",
            of(&self.turned_away),
        );
        one(
            "too_slow_total",
            "counter",
            "Connections that were closed since their clients were too slow.",
            of(&self.too_slow),
        );
        one(
            "http_requests_total",
            "counter",
            "HTTP requests.",
            of(&self.requests),
        );
        one(
            "rooms_made_total",
            "counter",
            "Rooms that were made here.",
            stats.rooms_made,
        );
        one(
            "joins_total",
            "counter",
            "Members that joined here.",
            stats.joins,
        );
        one(
            "returns_total",
            "counter",
            "Members that attached again here.",
            stats.returns,
        );
        one(
            "starts_total",
            "counter",
            "Games that were started here.",
            stats.starts,
        );
        one(
            "tokens_total",
            "counter",
            "Connect tokens that were issued here.",
            stats.tokens,
        );
        one(
            "chat_lines_total",
            "counter",
            "Lines of chat that were said here.",
            stats.lines,
        );
        one(
            "kicks_total",
            "counter",
            "Members that were sent away here.",
            stats.kicks,
        );
        one(
            "time_outs_total",
            "counter",
            "Members that were removed here for being away too long.",
            stats.timed_out,
        );
        one(
            "commits_total",
            "counter",
            "Commits that the store made.",
            stats.commits,
        );
        one(
            "conflicts_total",
            "counter",
            "Commits that met another version.",
            stats.conflicts,
        );
        text.push_str("# HELP samestep_lobby_refusals_total Refused requests by reason.\n# TYPE samestep_lobby_refusals_total counter\n");
        for refusal in Refusal::ALL {
            let count = stats.refusals.get(&refusal).copied().unwrap_or_default();
            let _ = writeln!(
                text,
                "samestep_lobby_refusals_total{{code=\"{}\"}} {count}",
                refusal.code()
            );
        }
        text.push_str("# HELP samestep_lobby_answer_seconds From a request to its answer.\n# TYPE samestep_lobby_answer_seconds histogram\n");
        let mut sum = 0;
        for (index, count) in self.answers.iter().enumerate() {
            sum += of(count);
            let end = BUCKETS_US
                .get(index)
                .map_or("+Inf".to_owned(), |us| (*us as f64 / 1e6).to_string());
            let _ = writeln!(
                text,
                "samestep_lobby_answer_seconds_bucket{{le=\"{end}\"}} {sum}"
            );
        }
        let seconds = of(&self.answer_us) as f64 / 1e6;
        let _ = writeln!(
            text,
            "samestep_lobby_answer_seconds_sum {seconds}\nsamestep_lobby_answer_seconds_count {sum}"
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_comment_or_a_sample() {
        let counters = Counters::default();
        counters.on_answered(Duration::from_millis(3));
        counters.on_answered(Duration::from_secs(3));
        let mut stats = DirectoryStats::default();
        stats.refusals.insert(Refusal::Full, 7);
        let text = counters.text(&stats, Population::default());
        for line in text.lines() {
            let sample = line
                .rsplit_once(' ')
                .filter(|(_, value)| value.parse::<f64>().is_ok());
            assert!(
                line.starts_with("# ")
                    || sample.is_some_and(|(name, _)| name.starts_with("samestep_lobby_")),
                "{line}"
            );
        }
        for line in [
            "refusals_total{code=\"full\"} 7",
            "answer_seconds_bucket{le=\"0.005\"} 1",
            "answer_seconds_bucket{le=\"+Inf\"} 2",
        ] {
            assert!(text.contains(&format!("samestep_lobby_{line}\n")), "{line}");
        }
    }
}
