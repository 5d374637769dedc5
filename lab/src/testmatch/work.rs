//! How long a program works, on the processor it runs on.

use std::time::Duration;

use crate::stats::Samples;

/// Processor time of one program. It is real: no other figure of a run in virtual time differs from run to run.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// The ticks and the duration of each call that simulated at least one tick.
    steps: Vec<(u64, Duration)>,
    total: Duration,
}

impl Work {
    /// Makes a call, and counts it where work is counted.
    pub fn count<T>(counted: &mut Option<Work>, call: impl FnOnce() -> T) -> T {
        let Some(work) = counted else {
            return call();
        };
        let begin = processor_time();
        let answer = call();
        work.total += processor_time().saturating_sub(begin);
        answer
    }

    /// The same with a call that returns how many ticks the game went on by.
    pub fn count_steps(counted: &mut Option<Work>, call: impl FnOnce() -> u64) {
        let before = counted.as_ref().map(|work| work.total);
        let ticks = Work::count(counted, call);
        if let (Some(work), Some(before), true) = (counted, before, ticks > 0) {
            work.steps.push((ticks, work.total - before));
        }
    }

    /// The processor time of all calls.
    pub fn total(&self) -> Duration {
        self.total
    }

    /// The processor time per tick, in ms, sealing and opening packets included.
    pub fn per_tick(&self) -> Option<f64> {
        let ticks: u64 = self.steps.iter().map(|(ticks, _)| ticks).sum();
        (ticks > 0).then(|| self.total.as_secs_f64() * 1e3 / ticks as f64)
    }

    /// The longest call of every `every` calls in which the game went on, in ms: where a snapshot is encoded in every `every`th, it is
    /// that one.
    pub fn longest_of(&self, every: usize) -> Samples {
        let longest = self.steps.chunks_exact(every.max(1)).filter_map(|steps| {
            let longest = steps.iter().map(|(_, took)| *took).max()?;
            Some(longest.as_secs_f64() * 1e3)
        });
        longest.collect()
    }
}

/// The processor time of this thread; real time where the system does not report it.
pub fn processor_time() -> Duration {
    #[cfg(unix)]
    {
        use rustix::time::{ClockId, clock_gettime};
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
    #[cfg(not(unix))]
    {
        use std::sync::OnceLock;
        use std::time::Instant;
        static BEGIN: OnceLock<Instant> = OnceLock::new();
        BEGIN.get_or_init(Instant::now).elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_call_of_each_few_is_found() {
        let ms = Duration::from_millis;
        let work = Work {
            steps: [1, 1, 8, 2, 9, 1, 3].map(|took| (1, ms(took))).to_vec(),
            total: ms(35),
        };
        assert_eq!(work.longest_of(3).values(), [8.0, 9.0]);
        assert_eq!(work.per_tick(), Some(5.0));
    }

    #[test]
    fn work_takes_time() {
        let mut work = Some(Work::default());
        let call = || (0..1_000_000_u64).fold(1, |a, b| std::hint::black_box(a ^ b) & 1 | 1);
        Work::count_steps(&mut work, call);
        assert!(work.unwrap().per_tick() > Some(0.0));
        assert_eq!(Work::default().per_tick(), None);
    }
}
