//! How far ahead turns are closed: at once farther when they come late, slowly nearer when they are early.

use core::time::Duration;

use super::Length;
use crate::Tick;

/// How often it gets nearer by a tick then.
const RELAX_EVERY: Duration = Duration::from_millis(500);

/// How many ticks before its first tick a turn is closed.
#[derive(Debug)]
pub(super) struct Ahead {
    length: Length,
    /// What came in time for this long may be closed a little later.
    calm: Duration,
    ticks: u64,
    /// Not nearer than this.
    floor: u64,
    /// What was said for ticks before this one was closed with less.
    since: Tick,
    /// The worst of two halves of the last while, in µs.
    worst: [Option<i64>; 2],
    half_ends: Duration,
    next_relax: Duration,
    /// With a tick less, everything would still have come in time.
    relaxes_above: i64,
    tick_us: i64,
}

impl Ahead {
    /// So many ticks at first, less once everything came in time for a while.
    pub(super) fn new(length: Length, first: u64, calm: Duration) -> Ahead {
        Ahead {
            length,
            calm,
            ticks: length.clamp(first),
            floor: 0,
            since: Tick(0),
            worst: [None; 2],
            half_ends: Duration::ZERO,
            next_relax: Duration::ZERO,
            relaxes_above: i64::MAX,
            tick_us: 0,
        }
    }

    /// What was needed before says nothing about what is needed now.
    pub(super) fn begin_anew(&mut self, now: Duration) {
        self.ticks = self.length.clamp(0);
        self.worst = [None; 2];
        self.half_ends = now + self.calm / 2;
        self.next_relax = now + self.calm;
    }

    pub(super) fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Before anything is known: as far as latency alone requires.
    pub(super) fn expect(&mut self, latency: Duration, tick_time: Duration) {
        let needed = latency.as_nanos().div_ceil(tick_time.as_nanos()) as u64 + 1;
        self.ticks = self.ticks.max(self.length.clamp(needed));
    }

    /// As far as is known to be required, whatever is measured.
    pub(super) fn set_floor(&mut self, ticks: u64) {
        self.floor = ticks;
        self.ticks = self.ticks.max(self.length.clamp(ticks));
    }

    /// Somebody heard what was said for `tick` this much before it was due. So far all up to `upto` is said.
    pub(super) fn on_slack(
        &mut self,
        now: Duration,
        slack_us: i64,
        tick: Tick,
        upto: Tick,
        tick_time: Duration,
    ) {
        let worst = &mut self.worst[0];
        *worst = Some(worst.map_or(slack_us, |worst| worst.min(slack_us)));
        self.tick_us = tick_time.as_micros() as i64;
        let margin = self.tick_us / 2;
        self.relaxes_above = self.tick_us + margin;
        if slack_us < margin && tick >= self.since {
            let missing = (margin - slack_us).div_euclid(tick_time.as_micros() as i64) + 1;
            let ticks = self.length.clamp(self.ticks + missing as u64);
            if ticks > self.ticks {
                (self.ticks, self.since) = (ticks, upto);
                self.worst = [None; 2];
                self.half_ends = now + self.calm / 2;
                self.next_relax = now + self.calm;
            }
        }
    }

    /// Gets nearer if everything has been early enough for a while.
    pub(super) fn relax(&mut self, now: Duration) {
        if now >= self.half_ends {
            self.half_ends = now + self.calm / 2;
            self.worst = [None, self.worst[0]];
        }
        if now < self.next_relax {
            return;
        }
        self.next_relax = now + RELAX_EVERY;
        let worst = self.worst.into_iter().flatten().min();
        if worst.is_some_and(|slack| slack > self.relaxes_above) {
            let nearer = self.ticks.saturating_sub(1).max(self.floor);
            let ticks = self.length.clamp(nearer);
            if ticks < self.ticks {
                self.ticks = ticks;
                // What is known was measured with a tick more.
                for worst in self.worst.iter_mut().flatten() {
                    *worst -= self.tick_us;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM: Duration = Duration::from_secs(10);
    const TICK: Duration = Duration::from_micros(16_667);

    #[test]
    fn rises_at_once_and_falls_slowly() {
        let mut ahead = Ahead::new(Length::Dynamic { min: 1, max: 20 }, 2, CALM);
        let now = Duration::from_secs(1);
        ahead.on_slack(now, -50_000, Tick(60), Tick(64), TICK);
        assert_eq!(ahead.ticks(), 6);
        // Said before the change was made: nothing new.
        ahead.on_slack(now, -50_000, Tick(62), Tick(66), TICK);
        assert_eq!(ahead.ticks(), 6);
        for second in 2..30u32 {
            let now = Duration::from_secs(second.into());
            ahead.on_slack(now, 200_000, Tick(second.into()) + 200, Tick(1000), TICK);
            ahead.relax(now);
        }
        assert!((1..=3).contains(&ahead.ticks()), "{ahead:?}");
    }

    #[test]
    fn fixed_stays_fixed() {
        let mut ahead = Ahead::new(Length::Fixed(15), 2, CALM);
        ahead.on_slack(Duration::ZERO, -900_000, Tick(0), Tick(1), TICK);
        ahead.relax(Duration::from_secs(60));
        assert_eq!(ahead.ticks(), 15);
    }
}
