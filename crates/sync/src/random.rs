//! Randomness for simulations: seeded, the same everywhere, part of the state.

use core::ops::Range;

use samestep_derive::Record;

/// Random numbers that are part of the state: every copy of the game draws the same.
///
/// Never draw from it outside of `step`, and never from anything else inside.
///
/// ```
/// use samestep_sync::Rng;
///
/// let (mut here, mut there) = (Rng::new(7), Rng::new(7));
/// assert_eq!(here.below(6), there.below(6));
/// let mut cards = [1, 2, 3, 4, 5];
/// here.shuffle(&mut cards);
/// assert!((0.0..1.0).contains(&here.unit()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Rng {
    state: u64,
}

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rng {
    /// The sequence of this seed.
    pub const fn new(seed: u64) -> Rng {
        Rng { state: mix(seed) }
    }

    /// 64 random bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// 32 random bits.
    #[inline]
    pub const fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// A number less than `n`, each as likely to one part in 2³²; 0 if `n` is 0.
    #[inline]
    pub const fn below(&mut self, n: u32) -> u32 {
        (((self.next_u64() >> 32) * n as u64) >> 32) as u32
    }

    /// A number of the range, its end excluded; its start if the range is empty.
    #[inline]
    pub const fn range(&mut self, range: Range<i32>) -> i32 {
        let width = range.end as i64 - range.start as i64;
        let width = if width > 0 { width as u32 } else { 0 };
        range.start.wrapping_add(self.below(width) as i32)
    }

    /// A number from 0 to 1, 1 excluded, in steps of 2⁻²⁴.
    #[inline]
    pub const fn unit(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 * (1.0 / 16_777_216.0)
    }

    /// Whether something of probability `p` happens.
    #[inline]
    pub const fn chance(&mut self, p: f32) -> bool {
        self.unit() < p
    }

    /// Puts the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u32 + 1) as usize;
            items.swap(last, other);
        }
    }
}

/// A random number for each `a` and `b`, without a state.
///
/// For work on many entities at once, where a sequence would make each wait for the one before: for instance `a` the id and
/// `b` the tick.
///
/// ```
/// use samestep_sync::random::hash;
///
/// assert_ne!(hash(1, 5, 100), hash(1, 5, 101));
/// ```
#[inline(always)]
pub const fn hash(seed: u64, a: u64, b: u64) -> u64 {
    mix(seed ^ mix_in(a, b))
}

#[inline(always)]
const fn mix_in(a: u64, b: u64) -> u64 {
    let product = (a ^ 0xd1b5_4a32_d192_ed03) as u128 * (b ^ GAMMA) as u128;
    product as u64 ^ (product >> 64) as u64
}

/// Like [`hash`] of 32 bits, in operations that compilers turn into several lanes at once.
#[inline(always)]
pub const fn hash32(seed: u32, a: u32, b: u32) -> u32 {
    mix32(mix32(seed ^ a.wrapping_mul(0x9e37_79b9)) ^ b.wrapping_mul(0x85eb_ca6b))
}

#[inline(always)]
const fn mix32(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

#[inline(always)]
const fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_part_of_the_format() {
        let mut rng = Rng::new(1);
        let drawn: [u64; 3] = core::array::from_fn(|_| rng.next_u64());
        let mut again = Rng::new(1);
        assert_eq!(drawn, core::array::from_fn(|_| again.next_u64()));
        assert_ne!(drawn[0], Rng::new(2).next_u64());
    }

    #[test]
    fn numbers_stay_in_their_ranges() {
        let mut rng = Rng::new(3);
        let mut seen = [false; 6];
        for _ in 0..1000 {
            seen[rng.below(6) as usize] = true;
            assert!((-3..4).contains(&rng.range(-3..4)));
            assert!((0.0..1.0).contains(&rng.unit()));
        }
        assert_eq!(seen, [true; 6]);
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.range(5..5), 5);
        assert_eq!(rng.range(Range { start: 5, end: 4 }), 5);
        let wide = rng.range(i32::MIN..i32::MAX);
        assert!(wide < i32::MAX);
        assert!(!rng.chance(0.0) && rng.chance(1.0));
    }

    #[test]
    fn a_shuffle_keeps_all() {
        let mut items: [u8; 50] = core::array::from_fn(|i| i as u8);
        Rng::new(4).shuffle(&mut items);
        let mut sorted = items;
        sorted.sort();
        assert_ne!(items, sorted);
        assert_eq!(sorted, core::array::from_fn(|i| i as u8));
        Rng::new(4).shuffle::<u8>(&mut []);
    }

    #[test]
    fn hashes_spread() {
        let mut buckets = [0u32; 16];
        let mut buckets32 = [0u32; 16];
        for a in 0..64 {
            for b in 0..64 {
                buckets[(hash(9, a, b) >> 60) as usize] += 1;
                buckets32[(hash32(9, a as u32, b as u32) >> 28) as usize] += 1;
            }
        }
        for count in buckets.into_iter().chain(buckets32) {
            assert!((200..320).contains(&count), "{buckets:?} {buckets32:?}");
        }
    }
}
