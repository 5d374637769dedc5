//! How evenly messages arrive.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use samestep::prelude::*;
use samestep::sync::PeerId;
use samestep_lab::Samples;

/// Sent to everyone at an even interval, to see how evenly it arrives.
#[derive(Clone, Debug, PartialEq, Wire, Message)]
#[message(kind = 3, delivery = "unreliable")]
pub struct Beat {
    #[wire(varint)]
    pub number: u32,
    /// The interval it is sent at.
    #[wire(varint)]
    pub interval_us: u32,
}

/// Sends beats and measures those of others; writes the spacing of every message received to a file.
#[derive(Default)]
pub struct Spacing {
    log: Option<BufWriter<File>>,
    sending: Option<Sending>,
    /// The time at which the last message of this kind came from this peer.
    last: BTreeMap<(PeerId, &'static str), Duration>,
    beats: BTreeMap<PeerId, Heard>,
}

struct Sending {
    interval: Duration,
    next: Duration,
    number: u32,
}

/// The beats of one peer since it began.
#[derive(Default)]
struct Heard {
    interval_us: u32,
    next: u32,
    missing: u32,
    late: u32,
    spacing_ms: Samples,
}

/// Samples kept for each peer; a peer that beats for longer begins anew.
const KEPT: usize = 1 << 20;

impl Spacing {
    /// Logs into a new file.
    pub fn log_to(&mut self, path: &str) -> Result<(), String> {
        let words = |error: io::Error| format!("cannot write {path}: {error}");
        let mut log = BufWriter::new(File::create(path).map_err(words)?);
        writeln!(log, "seconds,peer,name,message,number,spacing_ms").map_err(words)?;
        log.flush().map_err(words)?;
        self.log = Some(log);
        Ok(())
    }

    /// Begins to send, or ends.
    pub fn beat(&mut self, now: Duration, interval: Option<Duration>) {
        self.sending = interval.map(|interval| Sending {
            interval,
            next: now,
            number: 0,
        });
    }

    /// The time of the next beat.
    pub fn next_beat(&self) -> Option<Duration> {
        self.sending.as_ref().map(|sending| sending.next)
    }

    /// The beat that is due.
    pub fn poll_beat(&mut self, now: Duration) -> Option<Beat> {
        let sending = self.sending.as_mut().filter(|s| s.next <= now)?;
        let beat = Beat {
            number: sending.number,
            interval_us: sending.interval.as_micros() as u32,
        };
        sending.number += 1;
        sending.next += sending.interval;
        // After a pause (a suspended terminal) there is nothing to catch up on.
        if sending.next + sending.interval * 8 < now {
            sending.next = now + sending.interval;
        }
        Some(beat)
    }

    /// A message of some kind has come.
    pub fn on_message(
        &mut self,
        at: Duration,
        from: PeerId,
        name: &str,
        what: &'static str,
        beat: Option<&Beat>,
    ) {
        let begins = beat.is_some_and(|beat| {
            let heard = self.beats.entry(from).or_default();
            let begins = heard.begins(beat);
            if begins {
                *heard = Heard::default();
            }
            begins
        });
        let before = self.last.insert((from, what), at).filter(|_| !begins);
        let spacing_ms = before.map(|before| at.saturating_sub(before).as_secs_f64() * 1e3);
        if let Some(beat) = beat {
            self.beats
                .entry(from)
                .or_default()
                .on_beat(beat, spacing_ms);
        }
        if let Some(log) = &mut self.log {
            let number = beat.map(|beat| beat.number.to_string()).unwrap_or_default();
            let spacing = spacing_ms.map(|ms| format!("{ms:.3}")).unwrap_or_default();
            let row = format!(
                "{:.6},{},{},{what},{number},{spacing}",
                at.as_secs_f64(),
                from.0,
                quoted(name)
            );
            // Whoever reads along wants to see it; a full disk ends the log, not the session.
            if writeln!(log, "{row}").and_then(|()| log.flush()).is_err() {
                self.log = None;
            }
        }
    }

    /// The measurements, a line per peer.
    pub fn report(&self) -> Vec<(PeerId, Measured)> {
        let measured = |heard: &Heard| {
            let spacing = &heard.spacing_ms;
            let sorted = spacing.sorted();
            Some(Measured {
                interval_ms: f64::from(heard.interval_us) / 1e3,
                count: spacing.len(),
                mean_ms: spacing.mean()?,
                std_dev_ms: spacing.std_dev()?,
                p99_ms: sorted.percentile(99.0)?,
                max_ms: spacing.max()?,
                missing: heard.missing,
            })
        };
        self.beats
            .iter()
            .filter_map(|(peer, heard)| Some((*peer, measured(heard)?)))
            .collect()
    }
}

/// How evenly the beats of a peer arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub interval_ms: f64,
    pub count: usize,
    pub mean_ms: f64,
    pub std_dev_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
    pub missing: u32,
}

impl Heard {
    fn begins(&self, beat: &Beat) -> bool {
        beat.number == 0 || beat.interval_us != self.interval_us || self.spacing_ms.len() >= KEPT
    }

    fn on_beat(&mut self, beat: &Beat, spacing_ms: Option<f64>) {
        self.interval_us = beat.interval_us;
        if self.spacing_ms.is_empty() && spacing_ms.is_none() {
            // The first one heard, which may not be the first one sent.
            self.next = beat.number;
        }
        if beat.number < self.next {
            self.late += 1;
            self.missing = self.missing.saturating_sub(1);
        } else {
            self.missing = self.missing.saturating_add(beat.number - self.next);
            self.next = beat.number.saturating_add(1);
        }
        if let Some(ms) = spacing_ms {
            self.spacing_ms.push(ms);
        }
    }
}

/// A name within a CSV file.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn beat(number: u32) -> Beat {
        Beat {
            number,
            interval_us: 10_000,
        }
    }

    #[test]
    fn spacing_and_gaps_are_measured() {
        let mut spacing = Spacing::default();
        for (number, at) in [(5, 0), (6, 10), (7, 24), (9, 44)] {
            spacing.on_message(at * MS, PeerId(1), "Ada", "beat", Some(&beat(number)));
        }
        let report = spacing.report();
        let measured = &report[0].1;
        assert_eq!((measured.count, measured.missing), (3, 1));
        assert!((measured.mean_ms - 44.0 / 3.0).abs() < 1e-9);
        assert_eq!(measured.max_ms, 20.0);
        // It begins anew.
        spacing.on_message(500 * MS, PeerId(1), "Ada", "beat", Some(&beat(0)));
        assert!(spacing.report().is_empty());
    }

    #[test]
    fn beats_keep_their_pace_and_do_not_catch_up_after_a_pause() {
        let mut spacing = Spacing::default();
        spacing.beat(5 * MS, Some(10 * MS));
        let mut sent = Vec::new();
        for now in 0..50 {
            while spacing.poll_beat(now * MS).is_some() {
                sent.push(now);
            }
        }
        assert_eq!(sent, [5, 15, 25, 35, 45]);
        assert!(spacing.poll_beat(1000 * MS).is_some());
        assert_eq!(spacing.poll_beat(1000 * MS), None);
        spacing.beat(1000 * MS, None);
        assert_eq!(spacing.next_beat(), None);
    }

    #[test]
    fn every_message_is_logged() {
        let path =
            std::env::temp_dir().join(format!("samestep-spacing-{}.csv", std::process::id()));
        let text = path.to_str().unwrap();
        let mut spacing = Spacing::default();
        spacing.log_to(text).unwrap();
        spacing.on_message(1000 * MS, PeerId(3), "A \"da\"", "chat", None);
        spacing.on_message(1250 * MS, PeerId(3), "A \"da\"", "chat", None);
        let written = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            written,
            "seconds,peer,name,message,number,spacing_ms\n\
             1.000000,3,\"A \"\"da\"\"\",chat,,\n\
             1.250000,3,\"A \"\"da\"\"\",chat,,250.000\n"
        );
        assert!(
            spacing
                .log_to("/nowhere/at/all.csv")
                .unwrap_err()
                .contains("/nowhere")
        );
    }
}
