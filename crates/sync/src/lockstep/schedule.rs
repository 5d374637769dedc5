//! When ticks are due.

use core::time::Duration;

use super::LockstepConfig;
use super::game_delay::CommonDelay;
use super::input_delay::InputDelay;
use super::playout_delay::PlayoutDelay;
use crate::Tick;

/// The maximum by which another peer's message moves the schedule.
const MAX_OFFSET_STEP: Duration = Duration::from_secs(3600);
/// The input delay falls by a tick once every input has arrived in time for this long.
const CALM: Duration = Duration::from_secs(10);
/// With a game delay turns are closed this part of a tick earlier: clocks differ a little, and packets take time to be handled.
pub(super) const CLOCK_ALLOWANCE: u32 = 4;

/// The common schedule of all peers, and how this program deviates from it.
#[derive(Debug)]
pub(super) struct Schedule {
    /// When tick 0 was due, before the offset.
    pub(super) start: Option<Duration>,
    pub(super) tick_time: Duration,
    /// By how much all ticks are due later than planned: it grows where everyone had to wait.
    pub(super) offset: Duration,
    /// How many ticks before its first tick this program closes a turn.
    pub(super) input_delay: InputDelay,
    /// In its place, the time from an input to its effect that all have in common.
    pub(super) game_delay: Option<CommonDelay>,
    /// How much later than due this program simulates.
    pub(super) playout_delay: PlayoutDelay,
}

impl Schedule {
    pub(super) fn new(config: &LockstepConfig) -> Schedule {
        Schedule {
            start: None,
            tick_time: Duration::from_nanos(16_666_667),
            offset: Duration::ZERO,
            input_delay: InputDelay::new(config.input_delay, 2, CALM),
            game_delay: None,
            playout_delay: PlayoutDelay::new(config.patience),
        }
    }

    pub(super) fn set_rate(&mut self, ticks_per_second: u32) {
        let rate = u64::from(ticks_per_second.max(1));
        self.tick_time = Duration::from_nanos(1_000_000_000 / rate);
    }

    /// When a tick is due.
    pub(super) fn due(&self, tick: Tick) -> Option<Duration> {
        let nanos = u128::from(tick.0) * self.tick_time.as_nanos();
        Some(self.start? + self.offset + Duration::from_nanos(u64::try_from(nanos).ok()?))
    }

    /// The last tick that is due: below 0 before the start.
    pub(super) fn tick_at(&self, now: Duration) -> Option<i64> {
        let zero = self.due(Tick(0))?;
        let nanos = self.tick_time.as_nanos() as i128;
        let ticks = match now.checked_sub(zero) {
            Some(since) => since.as_nanos() as i128 / nanos,
            None => -((zero - now).as_nanos() as i128 / nanos) - 1,
        };
        i64::try_from(ticks).ok()
    }

    /// By how many µs a tick is due later than `now`; negative if it was due before.
    pub(super) fn slack_us(&self, now: Duration, tick: Tick) -> Option<i64> {
        let due = self.due(tick)?;
        Some(match due.checked_sub(now) {
            Some(early) => early.as_micros() as i64,
            None => -((now - due).as_micros() as i64),
        })
    }

    /// How many ticks a time takes, rounded up.
    pub(super) fn ticks_in(&self, time: Duration) -> u64 {
        time.as_nanos().div_ceil(self.tick_time.as_nanos()) as u64
    }

    /// How long before its first tick is due a turn is closed.
    pub(super) fn closing_lead(&self) -> Duration {
        match &self.game_delay {
            Some(delay) => delay.length() + self.tick_time / CLOCK_ALLOWANCE,
            None => self.tick_time * self.input_delay.ticks() as u32,
        }
    }

    /// The same in ticks.
    pub(super) fn closing_ticks(&self) -> u64 {
        match &self.game_delay {
            Some(_) => self.ticks_in(self.closing_lead()),
            None => self.input_delay.ticks(),
        }
    }

    /// When a turn that begins with a tick is closed.
    pub(super) fn closes_at(&self, tick: Tick) -> Option<Duration> {
        Some(self.due(tick)?.saturating_sub(self.closing_lead()))
    }

    /// Whether it is too early to close a turn that begins with a tick.
    pub(super) fn is_open(&self, now: Duration, tick: Tick) -> bool {
        match &self.game_delay {
            Some(_) => self.closes_at(tick).is_none_or(|at| now < at),
            None => {
                let closes_at = tick.0 as i64 - self.input_delay.ticks() as i64;
                self.tick_at(now).is_none_or(|reached| closes_at > reached)
            }
        }
    }

    /// How many ticks from one on may be closed now.
    pub(super) fn closable(&self, now: Duration, from: Tick) -> u64 {
        let last = self.tick_at(now + self.closing_lead());
        let end = last.and_then(|last| u64::try_from(last + 1).ok());
        end.map_or(0, |end| Tick(end).since(from))
    }

    /// Makes all ticks due later.
    pub(super) fn delay_by(&mut self, by: Duration) {
        self.offset += by;
        if by >= self.tick_time {
            tracing::debug!(offset = ?self.offset, ?by, "schedule moved");
        }
    }

    /// Takes over another peer's offset and returns by how much this one grew; `None` if the offset is beyond reason.
    pub(super) fn follow(&mut self, offset: Duration) -> Option<Duration> {
        if offset > self.offset + MAX_OFFSET_STEP {
            return None;
        }
        let by = offset.saturating_sub(self.offset);
        if !by.is_zero() {
            self.playout_delay.on_offset_grown(by);
            tracing::debug!(?offset, ?by, "schedule followed");
        }
        self.offset = offset;
        Some(by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule() -> Schedule {
        let mut schedule = Schedule::new(&LockstepConfig::default());
        schedule.set_rate(50);
        schedule.start = Some(Duration::from_secs(1));
        schedule
    }

    #[test]
    fn ticks_are_due_from_the_start_and_later_by_the_offset() {
        let mut schedule = schedule();
        assert_eq!(schedule.due(Tick(10)), Some(Duration::from_millis(1200)));
        schedule.delay_by(Duration::from_millis(30));
        let due = Duration::from_millis(1230);
        assert_eq!(schedule.due(Tick(10)), Some(due));
        assert_eq!(schedule.tick_at(due), Some(10));
        assert_eq!(schedule.tick_at(due - Duration::from_millis(1)), Some(9));
        assert_eq!(schedule.tick_at(Duration::from_secs(1)), Some(-2));
        assert_eq!(schedule.slack_us(due, Tick(11)), Some(20_000));
        assert_eq!(schedule.slack_us(due, Tick(9)), Some(-20_000));
        assert_eq!(schedule.ticks_in(Duration::from_millis(21)), 2);
    }

    #[test]
    fn an_offset_beyond_reason_is_not_followed() {
        let mut schedule = schedule();
        let by = Duration::from_millis(40);
        assert_eq!(schedule.follow(by), Some(by));
        assert_eq!(schedule.follow(by / 2), Some(Duration::ZERO));
        assert_eq!(schedule.follow(Duration::from_secs(4000)), None);
        assert_eq!(schedule.offset, by / 2);
    }
}
