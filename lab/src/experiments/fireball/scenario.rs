//! One try: somebody walks along a line, and somebody else throws a fireball across it.

use std::time::Duration;

use samestep_sync::{Rng, random};

use crate::stats::Samples;

/// How fast the walker is, in units a second.
pub const SPEED: f64 = 90.0;
/// The ball hits the walker from this near.
pub const RADIUS: f64 = 23.0;
/// From throwing to the ball's leaving.
pub const CAST: f64 = 0.4;
/// How fast the ball is, and how far from the line it leaves.
pub const BALL_SPEED: f64 = 300.0;
pub const BALL_FROM: f64 = 150.0;
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
    /// The try of that number: everybody who knows the seed knows it.
    pub fn of(seed: u64, which: u64) -> Try {
        let mut rng = Rng::new(random::hash(seed, which, 3));
        let ms = |rng: &mut Rng, from: u64, upto: u32| {
            Duration::from_micros(1000 * from + u64::from(rng.below(1000 * upto)))
        };
        let (walk, throw) = (ms(&mut rng, 300, 200), ms(&mut rng, 550, 300));
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
    /// Tries that the thrower holds for hits.
    pub hits: u64,
    /// Tries of which both held the same when they judged them.
    pub agreed: u64,
    /// How far from each other both had the walker when it was hit, in units.
    pub apart: Samples,
    /// How far from each other in time both executed the throw, in ms.
    pub events_apart_ms: Samples,
    /// From the first verdict of a try to both holding the same, in ms.
    pub disagreed_ms: Samples,
    /// From the thrower's key to the execution of the throw at itself, in ms.
    pub input_delay_ms: Samples,
    /// Traffic from one to the other, headers included, in bytes.
    pub bytes: u64,
    /// The time that was played, in s.
    pub seconds: f64,
}

impl Outcome {
    /// Adds what was measured elsewhere.
    pub fn add(&mut self, other: &Outcome) {
        self.tries += other.tries;
        self.hits += other.hits;
        self.agreed += other.agreed;
        self.apart.append(&other.apart);
        self.events_apart_ms.append(&other.events_apart_ms);
        self.disagreed_ms.append(&other.disagreed_ms);
        self.input_delay_ms.append(&other.input_delay_ms);
        self.bytes += other.bytes;
        self.seconds += other.seconds;
    }

    /// Tries of which both held the same, in percent.
    pub fn agreement(&self) -> f64 {
        100.0 * self.agreed as f64 / self.tries as f64
    }

    /// What a peer sent to the other, in kbit/s.
    pub fn traffic(&self) -> f64 {
        self.bytes as f64 * 8e-3 / self.seconds
    }
}
