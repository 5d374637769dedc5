use std::ops::Range;

/// A small seeded generator (xoshiro256++) for everything that must be replayable.
///
/// Equal seeds give equal sequences on every platform: only integer and exactly rounded floating-point operations are
/// used. Not for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator whose whole sequence follows from `seed`; any seed is fine, also 0.
    pub fn new(seed: u64) -> Rng {
        let mut mix = seed;
        Rng {
            state: std::array::from_fn(|_| split_mix(&mut mix)),
        }
    }

    /// A generator for one purpose among several with the same seed, independent of the others.
    pub fn stream(seed: u64, purpose: u64) -> Rng {
        let mut mix = seed;
        Rng::new(split_mix(&mut mix) ^ purpose.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// A new generator that shares no state with this one from here on.
    pub fn fork(&mut self) -> Rng {
        Rng::new(self.next_u64())
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// Uniform in `0.0..1.0`.
    pub fn f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `range`, without bias.
    ///
    /// # Panics
    /// If the range is empty: there is nothing to choose from.
    pub fn range(&mut self, range: Range<u64>) -> u64 {
        assert!(range.start < range.end, "Rng::range of an empty range");
        let span = range.end - range.start;
        // Lemire's method: the high half of a product is uniform once the few biased low halves are refused.
        let refuse_below = span.wrapping_neg() % span;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(span);
            if product as u64 >= refuse_below {
                return range.start + (product >> 64) as u64;
            }
        }
    }

    /// True with probability `p`; always draws, so that the sequence does not depend on `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.f64() < p
    }

    /// A sample of the standard normal distribution.
    pub fn normal(&mut self) -> f64 {
        // Marsaglia's polar method needs no trigonometry, which would differ between platforms.
        loop {
            let (x, y) = (2.0 * self.f64() - 1.0, 2.0 * self.f64() - 1.0);
            let s = x * x + y * y;
            if s > 0.0 && s < 1.0 {
                return x * (-2.0 * ln(s) / s).sqrt();
            }
        }
    }

    /// A sample of the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -ln(1.0 - self.f64())
    }

    /// Fills `bytes` with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let random = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&random[..chunk.len()]);
        }
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Natural logarithm of a normal positive number from basic arithmetic, hence the same bits on every platform
/// (`f64::ln` calls the system's mathematics library).
fn ln(x: f64) -> f64 {
    debug_assert!(x.is_normal() && x > 0.0);
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh s = 2 (s + s³/3 + s⁵/5 + …) with |s| ≤ 0.172.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let s2 = s * s;
    let mut sum = 0.0;
    for k in (0..12).rev() {
        sum = sum * s2 + 1.0 / f64::from(2 * k + 1);
    }
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * s * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_fixed() {
        // Replays recorded with one version must still work with the next.
        let mut rng = Rng::new(1);
        let first: [u64; 3] = std::array::from_fn(|_| rng.next_u64());
        assert_eq!(first, FIRST_OF_SEED_1);
        assert_eq!(Rng::stream(1, 2), Rng::stream(1, 2));
        assert_ne!(Rng::stream(1, 2), Rng::stream(1, 3));
        assert_ne!(Rng::stream(1, 2), Rng::stream(2, 2));
    }

    const FIRST_OF_SEED_1: [u64; 3] = [
        14_971_601_782_005_023_387,
        13_781_649_495_232_077_965,
        1_847_458_086_238_483_744,
    ];

    #[test]
    #[expect(clippy::disallowed_methods, reason = "compared with, not used")]
    fn the_logarithm_is_right() {
        for i in 1..2000 {
            let x = f64::from(i) / 1000.0;
            assert!(
                (ln(x) - x.ln()).abs() < 1e-15 * x.ln().abs().max(1.0),
                "ln {x}"
            );
        }
        for x in [1e-300, 1e-16, 1e16, 1e300] {
            assert!((ln(x) - x.ln()).abs() < 1e-12, "ln {x}");
        }
    }

    #[test]
    fn distributions_have_their_moments() {
        let mut rng = Rng::new(3);
        let n = 200_000;
        let moments = |sample: &mut dyn FnMut() -> f64| {
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let x = sample();
                sum += x;
                squares += x * x;
            }
            let mean = sum / f64::from(n);
            (mean, squares / f64::from(n) - mean * mean)
        };
        let (mean, variance) = moments(&mut || rng.normal());
        assert!(
            mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02,
            "{mean} {variance}"
        );
        let (mean, variance) = moments(&mut || rng.exponential());
        assert!(
            (mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03,
            "{mean} {variance}"
        );
        let (mean, variance) = moments(&mut || rng.f64());
        assert!(
            (mean - 0.5).abs() < 0.005 && (variance - 1.0 / 12.0).abs() < 0.001,
            "{mean} {variance}"
        );
        let (mean, _) = moments(&mut || f64::from(u8::from(rng.chance(0.2))));
        assert!((mean - 0.2).abs() < 0.004, "{mean}");
    }

    #[test]
    fn ranges_are_covered_evenly_and_never_left() {
        let mut rng = Rng::new(4);
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[(rng.range(10..17) - 10) as usize] += 1;
        }
        assert!(seen.iter().all(|n| (9_600..10_400).contains(n)), "{seen:?}");
        assert_eq!(rng.range(5..6), 5);
        assert!(rng.range(0..u64::MAX) < u64::MAX);
    }
}
