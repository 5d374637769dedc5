//! What happens in one try: somebody walks along a line, and somebody else throws a fireball across it.

use std::time::Duration;

use samestep_sync::Rng;

/// How fast the walker is, in units a second.
pub const SPEED: f64 = 90.0;
/// The ball hits the walker from this near.
pub const RADIUS: f64 = 23.0;
/// From throwing to the ball's leaving.
pub const CAST: f64 = 0.4;
/// How fast the ball is, and how far from the line it leaves.
pub const BALL_SPEED: f64 = 300.0;
pub const BALL_FROM: f64 = 150.0;
/// How long a try takes.
pub const LENGTH: Duration = Duration::from_millis(2500);
/// How far from the ball the walker is at most when it crosses the line: one in three is hit.
const SPREAD: f64 = 3.0 * RADIUS;

/// One try. Times are from its beginning.
#[derive(Clone, Copy, Debug)]
pub struct Try {
    /// Where the walker begins; the ball crosses its line at 0.
    pub place: f64,
    pub walk: Duration,
    pub throw: Duration,
}

impl Try {
    pub fn random(rng: &mut Rng) -> Try {
        let ms = |rng: &mut Rng, from: u64, upto: u32| {
            Duration::from_micros(1000 * from + u64::from(rng.below(1000 * upto)))
        };
        let (walk, throw) = (ms(rng, 300, 200), ms(rng, 550, 300));
        let walks = throw.as_secs_f64() + CAST + BALL_FROM / BALL_SPEED - walk.as_secs_f64();
        let apart = f64::from(2.0 * rng.unit() - 1.0) * SPREAD;
        Try {
            place: apart - SPEED * walks,
            walk,
            throw,
        }
    }
}

/// What both peers held of many tries.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub tries: u64,
    pub hits: u64,
    pub agreed: u64,
    /// How far from each other both had the walker when it was hit, in units.
    pub apart: Vec<f64>,
    /// How far from each other in time both executed the throw, in ms.
    pub throw_apart_ms: Vec<f64>,
}

impl Outcome {
    /// Tries of which both held the same, in percent.
    pub fn agreement(&self) -> f64 {
        100.0 * self.agreed as f64 / self.tries as f64
    }
}

pub fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

pub fn max(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(0.0, f64::max)
}
