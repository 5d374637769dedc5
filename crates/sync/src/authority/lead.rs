//! The input lead: how far ahead of the authority a client gives inputs, so that they arrive just before their tick.

use core::time::Duration;
use std::collections::VecDeque;

use crate::Tick;

/// How much earlier than needed inputs are to arrive, in µs.
const MARGIN_US: i64 = 5_000;
/// How long what was needed counts.
const COUNTS: Duration = Duration::from_secs(5);
/// Ticks whose lead is remembered.
const REMEMBERED: usize = 256;
/// Microseconds in a second by which it grows at most, and shrinks.
const UP_US: i64 = 100_000;
const DOWN_US: i64 = 20_000;
/// What is farther off than this is not waited for, in µs.
const JUMP_US: i64 = 250_000;

/// A lead that follows what connections need.
#[derive(Debug)]
pub(super) struct InputLead {
    us: i64,
    most_us: i64,
    /// What was needed at most in this while and in the one before.
    needed: [Option<i64>; 2],
    half_ends: Duration,
    /// The lead that latency alone requires, until the authority has reported.
    expected_us: i64,
    /// What loss requires.
    spare_us: i64,
    moved_at: Option<Duration>,
    /// The lead with which inputs for a tick were sent.
    sent: VecDeque<(Tick, i64)>,
}

impl InputLead {
    pub(super) fn new(most: Duration) -> InputLead {
        InputLead {
            us: 0,
            most_us: most.as_micros() as i64,
            needed: [None; 2],
            half_ends: Duration::ZERO,
            expected_us: 0,
            spare_us: 0,
            moved_at: None,
            sent: VecDeque::new(),
        }
    }

    pub(super) fn length(&self) -> Duration {
        Duration::from_micros(self.us.max(0) as u64)
    }

    /// The way to the authority takes this long, and so many percent get lost.
    pub(super) fn expect(&mut self, latency: Duration, loss: u8, tick_time: Duration) {
        self.expected_us = (latency + latency / 8 + tick_time).as_micros() as i64;
        // What is lost comes with the next message.
        let again = match loss {
            0 => 0,
            1..=9 => 1,
            _ => 2,
        };
        self.spare_us = tick_time.as_micros() as i64 * again;
        if self.moved_at.is_none() {
            self.us = self.wanted();
        }
    }

    /// Inputs for a tick were sent.
    pub(super) fn on_sent(&mut self, tick: Tick) {
        if self.sent.back().is_some_and(|(last, _)| *last >= tick) {
            return;
        }
        if self.sent.len() == REMEMBERED {
            self.sent.pop_front();
        }
        self.sent.push_back((tick, self.us));
    }

    /// The authority reports that the inputs for a tick arrived this much before it was due.
    pub(super) fn on_slack(&mut self, now: Duration, tick: Tick, slack_us: i64) {
        let Ok(at) = self.sent.binary_search_by_key(&tick, |sent| sent.0) else {
            return;
        };
        let needed = self.sent[at].1.saturating_sub(slack_us);
        if now >= self.half_ends {
            self.half_ends = now + COUNTS;
            self.needed = [None, self.needed[0]];
        }
        let most = &mut self.needed[0];
        *most = Some(most.map_or(needed, |most| most.max(needed)));
    }

    fn wanted(&self) -> i64 {
        let needed = self.needed.into_iter().flatten().max();
        let needed = needed.map_or(self.expected_us, |needed| needed + MARGIN_US);
        (needed + self.spare_us).clamp(0, self.most_us)
    }

    /// An input came too late to count at all: what is known to be needed is needed now.
    pub(super) fn catch_up(&mut self) {
        self.us = self.us.max(self.wanted());
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, now: Duration) {
        let wanted = self.wanted();
        let Some(before) = self.moved_at.replace(now) else {
            self.us = wanted;
            return;
        };
        let passed = now.saturating_sub(before).as_micros() as i64;
        let by = wanted - self.us;
        self.us += match by {
            by if by.abs() > JUMP_US => by,
            by if by > 0 => by.min(passed * UP_US / 1_000_000),
            by => by.max(-passed * DOWN_US / 1_000_000),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_micros(16_667);

    /// Says something in every tick, which arrives after `latency(tick)` µs; returns how many came late from tick 120 on, and the lead.
    fn run(latency: impl Fn(u64) -> i64) -> (u64, Duration) {
        let mut lead = InputLead::new(Duration::from_millis(500));
        lead.expect(Duration::from_millis(30), 0, TICK);
        let mut late = 0;
        let mut reports: VecDeque<(Duration, Tick, i64)> = VecDeque::new();
        for step in 1..3000u64 {
            let now = TICK * step as u32;
            lead.pass(now);
            while reports.front().is_some_and(|report| report.0 <= now) {
                if let Some((_, tick, slack)) = reports.pop_front() {
                    lead.on_slack(now, tick, slack);
                }
            }
            let tick = Tick((now + lead.length()).as_micros() as u64 / TICK.as_micros() as u64);
            lead.on_sent(tick);
            let due = TICK * tick.0 as u32;
            let arrival = now.as_micros() as i64 + latency(step);
            let slack = due.as_micros() as i64 - arrival;
            late += u64::from(slack < -(TICK.as_micros() as i64) && step > 120);
            let reported_at = Duration::from_micros(arrival as u64) + Duration::from_millis(30);
            reports.push_back((reported_at, tick, slack));
        }
        (late, lead.length())
    }

    #[test]
    fn it_settles_on_what_the_way_takes() {
        let (late, lead) = run(|_| 30_000);
        assert_eq!(late, 0);
        assert!(lead < Duration::from_millis(52), "{lead:?}");
        assert!(lead > Duration::from_millis(30), "{lead:?}");
    }

    #[test]
    fn it_grows_with_jitter_and_shrinks_again() {
        let jitter = |step: u64| match step < 1500 {
            true => 30_000 + (step as i64 * 7919 % 60) * 1_000,
            false => 30_000,
        };
        let (late, lead) = run(jitter);
        assert!(late < 10, "{late}");
        assert!(lead < Duration::from_millis(60), "{lead:?}");
    }
}
