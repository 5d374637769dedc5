//! The measured values that are plotted.

use std::collections::VecDeque;

/// How often it is looked at.
pub const SAMPLES_PER_SECOND: u32 = 10;
/// How long it is kept, in samples.
const KEPT: usize = 60 * SAMPLES_PER_SECOND as usize;

/// Something that is measured all the time, for each player.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Gauge {
    /// To the server and back.
    RoundTrip,
    /// How far the common time as this program knows it is from the server's.
    ClockError,
    /// The rate received from the server, headers included.
    Download,
    /// The rate sent to it.
    Upload,
    /// How often what was simulated here turned out to be wrong.
    Corrections,
    /// How many ticks had to be simulated again for that, each time.
    RollbackDepth,
    /// Ticks that could not be simulated when they were due.
    LaggedTicks,
    /// The delay with which remote players are shown (interpolation delay) or own inputs take effect (input delay).
    BufferDelay,
}

impl Gauge {
    /// All of them.
    pub const ALL: [Gauge; 8] = [
        Gauge::RoundTrip,
        Gauge::ClockError,
        Gauge::Download,
        Gauge::Upload,
        Gauge::Corrections,
        Gauge::RollbackDepth,
        Gauge::LaggedTicks,
        Gauge::BufferDelay,
    ];

    /// The name in files and tests.
    pub fn name(self) -> &'static str {
        match self {
            Gauge::RoundTrip => "round-trip",
            Gauge::ClockError => "clock-error",
            Gauge::Download => "download",
            Gauge::Upload => "upload",
            Gauge::Corrections => "corrections",
            Gauge::RollbackDepth => "rollback-depth",
            Gauge::LaggedTicks => "lagged-ticks",
            Gauge::BufferDelay => "buffer-delay",
        }
    }

    /// The name on the screen.
    pub fn title(self) -> &'static str {
        match self {
            Gauge::RoundTrip => "Round trip",
            Gauge::ClockError => "Clock error",
            Gauge::Download => "Download",
            Gauge::Upload => "Upload",
            Gauge::Corrections => "Corrections",
            Gauge::RollbackDepth => "Rollback depth",
            Gauge::LaggedTicks => "Lagged ticks",
            Gauge::BufferDelay => "Buffer delay",
        }
    }

    /// The unit.
    pub fn unit(self) -> &'static str {
        match self {
            Gauge::RoundTrip | Gauge::ClockError | Gauge::BufferDelay => "ms",
            Gauge::Download | Gauge::Upload => "kbit/s",
            Gauge::Corrections | Gauge::LaggedTicks => "/s",
            Gauge::RollbackDepth => "ticks",
        }
    }
}

/// One player's, of the last minute.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    series: [VecDeque<f32>; Gauge::ALL.len()],
    /// Samples so far.
    taken: u64,
}

impl Gauges {
    /// The samples that are kept, the oldest first, ten a second.
    pub fn series(&self, gauge: Gauge) -> impl ExactSizeIterator<Item = f32> + DoubleEndedIterator {
        self.series[gauge as usize].iter().copied()
    }

    /// The newest sample.
    pub fn latest(&self, gauge: Gauge) -> Option<f32> {
        self.series[gauge as usize].back().copied()
    }

    /// Samples so far, those forgotten included.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    pub(crate) fn take(&mut self, value: impl Fn(Gauge) -> f32) {
        for gauge in Gauge::ALL {
            let series = &mut self.series[gauge as usize];
            if series.len() == KEPT {
                series.pop_front();
            }
            series.push_back(value(gauge));
        }
        self.taken += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_kept() {
        let mut gauges = Gauges::default();
        for at in 0..700 {
            gauges.take(|gauge| at as f32 + gauge as u8 as f32 / 10.0);
        }
        assert_eq!(gauges.taken(), 700);
        assert_eq!(gauges.series(Gauge::RoundTrip).len(), KEPT);
        assert_eq!(gauges.series(Gauge::RoundTrip).next(), Some(100.0));
        assert_eq!(gauges.latest(Gauge::Download), Some(699.2));
    }
}
