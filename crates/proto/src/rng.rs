//! Randomness: everything unpredictable in the protocol comes from one seed.

use std::fmt;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A cryptographic generator (ChaCha20) that starts from a seed the driver supplies.
///
/// The protocol never asks the operating system for randomness: with a fresh secret seed the output
/// is fit for keys, and with a known seed a whole run can be repeated.
pub struct Random {
    stream: ChaCha20Rng,
}

impl Random {
    /// Starts the stream that belongs to `seed`. Two generators with one seed are identical, so a
    /// seed used in production must be secret and never used twice.
    pub fn new(seed: [u8; 32]) -> Self {
        Self {
            stream: ChaCha20Rng::from_seed(seed),
        }
    }

    /// Fills `bytes` from the stream.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.stream.fill_bytes(bytes);
    }

    /// The next `N` bytes of the stream.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// The next 64 bits of the stream.
    pub fn next_u64(&mut self) -> u64 {
        self.stream.next_u64()
    }

    /// A generator of its own for another part: how much one of the two is used does not change
    /// what the other yields.
    pub fn fork(&mut self) -> Self {
        Self::new(self.bytes())
    }
}

/// Shows nothing of the state: whoever reads it can predict every later key.
impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Random").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Random {
        /// The next 32 bits of the stream.
        pub fn next_u32(&mut self) -> u32 {
            self.stream.next_u32()
        }
    }

    #[test]
    fn one_seed_gives_one_stream() {
        let mut a = Random::new([7; 32]);
        let mut b = Random::new([7; 32]);
        let mut c = Random::new([8; 32]);
        let (x, y, z) = (a.bytes::<64>(), b.bytes::<64>(), c.bytes::<64>());
        assert_eq!(x, y);
        assert_ne!(x, z);
        assert_eq!(a.next_u32(), b.next_u32());
        assert_eq!(a.next_u64(), b.next_u64());
    }

    #[test]
    fn a_fork_is_independent_of_its_parent() {
        let mut a = Random::new([7; 32]);
        let mut b = Random::new([7; 32]);
        let (mut fork_a, mut fork_b) = (a.fork(), b.fork());
        a.bytes::<1000>();
        assert_eq!(fork_a.bytes::<32>(), fork_b.bytes::<32>());
        assert_ne!(fork_a.next_u64(), b.next_u64());
    }

    #[test]
    fn debug_reveals_nothing() {
        assert_eq!(format!("{:?}", Random::new([1; 32])), "Random { .. }");
    }
}
