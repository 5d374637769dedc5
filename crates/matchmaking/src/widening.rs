//! What a ticket accepts, by how long it has waited.

use core::time::Duration;

/// A quantity that changes with waiting: linear between its points, constant before the first and after the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Ramp(Vec<(Duration, f64)>);

impl Ramp {
    /// A ramp through these points, which are in the order of time. It may only rise: what was acceptable once stays so.
    ///
    /// # Errors
    /// [`RampError`] if there is no point, a value is not finite, or time or value fall.
    pub fn new(points: impl Into<Vec<(Duration, f64)>>) -> Result<Self, RampError> {
        let points = points.into();
        let rises = |w: &[(Duration, f64)]| w[0].0 < w[1].0 && w[0].1 <= w[1].1;
        let is_finite = points.iter().all(|(_, value)| value.is_finite());
        match !points.is_empty() && is_finite && points.windows(2).all(rises) {
            true => Ok(Self(points)),
            false => Err(RampError),
        }
    }

    /// The value after waiting so long.
    pub fn after(&self, waited: Duration) -> f64 {
        let next = self.0.partition_point(|(at, _)| *at <= waited);
        let Some((from, low)) = next.checked_sub(1).map(|before| self.0[before]) else {
            return self.0[0].1;
        };
        let Some((until, high)) = self.0.get(next) else {
            return low;
        };
        let share = (waited - from).as_secs_f64() / (*until - from).as_secs_f64();
        low + (high - low) * share
    }
}

/// These points are no ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a ramp needs at least one point, in the order of time, with finite values that do not fall"
)]
pub struct RampError;

/// How the tolerance of a ticket widens. Two tickets fit if the more patient of them has waited long enough.
#[derive(Clone, Debug, PartialEq)]
pub struct Widening {
    /// How unequal chances may be ([`imbalance`](crate::imbalance)): 0.1 stands for chances from 0.40 to 0.60.
    pub imbalance: Ramp,
    /// How different two players of one match may be where sides have several, measured alike: the strong and the weak of two teams even each other out. At least as much as
    /// `imbalance` is allowed.
    pub spread: Ramp,
    /// The longest round trip to another player, in milliseconds.
    pub rtt_ms: Ramp,
}

/// Just within chances from 0.40 to 0.60.
const EVEN: f64 = 0.0995;

impl Default for Widening {
    /// Chances from 0.40 to 0.60 are demanded for 14 s, then those give way for whom there is no equal; the way may be longer from the second on, so that another region
    /// is asked before unequals are. The lab plan `matchmaking` shows what comes of it.
    fn default() -> Self {
        let s = Duration::from_secs_f64;
        let ramp = |points: &[(Duration, f64)]| Ramp::new(points).expect("these points rise");
        Self {
            imbalance: ramp(&[
                (s(0.0), 0.05),
                (s(0.5), EVEN),
                (s(14.25), EVEN),
                (s(14.75), 0.3),
                (s(20.0), 0.49),
            ]),
            spread: ramp(&[
                (s(0.0), 0.1),
                (s(1.5), 0.2),
                (s(6.0), 0.45),
                (s(14.0), 0.49),
            ]),
            rtt_ms: ramp(&[
                (s(0.0), 40.0),
                (s(2.0), 90.0),
                (s(12.0), 130.0),
                (s(20.0), 400.0),
            ]),
        }
    }
}

impl Widening {
    /// What a ticket accepts that has waited so long.
    pub fn after(&self, waited: Duration) -> Tolerance {
        Tolerance {
            imbalance: self.imbalance.after(waited),
            spread: self.spread.after(waited),
            rtt: Duration::from_secs_f64(self.rtt_ms.after(waited).clamp(0.0, 1e6) / 1e3),
        }
    }
}

/// What a ticket accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The largest imbalance of chances.
    pub imbalance: f64,
    /// The largest imbalance of two players where sides have several.
    pub spread: f64,
    /// The longest round trip to another player.
    pub rtt: Duration,
}

impl Tolerance {
    /// What a pair of tickets accepts: as much as the more tolerant.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            imbalance: self.imbalance.max(other.imbalance),
            spread: self.spread.max(other.spread),
            rtt: self.rtt.max(other.rtt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_is_linear_between_its_points() {
        let s = Duration::from_secs;
        let ramp = Ramp::new([(s(1), 10.0), (s(3), 20.0)]).unwrap();
        for (at, value) in [(0, 10.0), (1, 10.0), (2, 15.0), (3, 20.0), (100, 20.0)] {
            assert_eq!(ramp.after(s(at)), value, "after {at} s");
        }
    }

    #[test]
    fn what_is_no_ramp_is_refused() {
        let s = Duration::from_secs;
        assert_eq!(Ramp::new([]), Err(RampError));
        assert_eq!(Ramp::new([(s(0), f64::NAN)]), Err(RampError));
        assert_eq!(Ramp::new([(s(1), 1.0), (s(1), 2.0)]), Err(RampError));
        assert_eq!(Ramp::new([(s(1), 2.0), (s(2), 1.0)]), Err(RampError));
    }
}
