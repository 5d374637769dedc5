//! Randomness: everything unpredictable in the protocol comes from one seed.

use std::fmt;

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use zeroize::{Zeroize, Zeroizing};

/// Bytes made at a time.
const BLOCK_BYTES: usize = 512;
/// The bytes of a block that become the next key.
const KEY_BYTES: usize = 32;

/// A cryptographic generator that starts from a seed the driver supplies.
///
/// The protocol never asks the operating system for randomness: with a fresh secret seed the output
/// is fit for keys, and with a known seed a whole run can be repeated.
///
/// It forgets what it has yielded (fast key erasure, Bernstein 2017): each block of the ChaCha20 keystream begins with the key of the next block, and what is
/// taken of the rest is overwritten. Whoever sees its state can tell what comes, but not what was.
pub struct Random {
    /// The key of the next block, then what is left of this one. It is in a box so that moving the generator leaves no copies behind.
    block: Box<[u8; BLOCK_BYTES]>,
    /// Everything between the key and here has been taken.
    taken: usize,
}

impl Random {
    /// Starts the stream that belongs to `seed`. Two generators with one seed are identical, so a
    /// seed used in production must be secret and never used twice.
    pub fn new(mut seed: [u8; 32]) -> Self {
        let mut block = Box::new([0; BLOCK_BYTES]);
        block[..KEY_BYTES].copy_from_slice(&seed);
        seed.zeroize();
        Self {
            block,
            taken: BLOCK_BYTES,
        }
    }

    /// Fills `bytes` from the stream.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.taken == BLOCK_BYTES {
                self.make_block();
            }
            let len = rest.len().min(BLOCK_BYTES - self.taken);
            let (now, later) = rest.split_at_mut(len);
            let served = &mut self.block[self.taken..self.taken + len];
            now.copy_from_slice(served);
            served.zeroize();
            self.taken += len;
            rest = later;
        }
    }

    /// The next block: its key is used for nothing else, so the nonce may be zero.
    fn make_block(&mut self) {
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        key.copy_from_slice(&self.block[..KEY_BYTES]);
        self.block.zeroize();
        ChaCha20::new((&*key).into(), &[0; 12].into()).apply_keystream(&mut self.block[..]);
        self.taken = KEY_BYTES;
    }

    /// The next `N` bytes of the stream.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// The next 64 bits of the stream.
    pub fn next_u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// A generator of its own for another part: how much one of the two is used does not change
    /// what the other yields.
    pub fn fork(&mut self) -> Self {
        Self::new(self.bytes())
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        self.block.zeroize();
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
            u32::from_le_bytes(self.bytes())
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

    /// The keystream of ChaCha20 under a key of zeros is published (RFC 8439, appendix A.1, vector 1): the first 32 bytes are the next key.
    #[test]
    fn it_is_chacha20() {
        let mut random = Random::new([0; 32]);
        assert_eq!(
            crate::golden::hex(&random.bytes::<32>()),
            "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
        );
        assert_eq!(
            crate::golden::hex(&random.block[..KEY_BYTES]),
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        );
    }

    #[test]
    fn what_was_taken_is_gone() {
        let mut random = Random::new([7; 32]);
        for len in [1, 8, 32, 479, 480, 481, 2000] {
            let before = random.taken;
            let mut bytes = vec![0; len];
            random.fill(&mut bytes);
            let taken = &random.block[KEY_BYTES..random.taken];
            assert!(taken.iter().all(|byte| *byte == 0), "{len} from {before}");
            for piece in bytes.chunks_exact(16) {
                assert!(!random.block.windows(16).any(|left| left == piece));
            }
        }
    }

    /// However it is taken, the stream is the same.
    #[test]
    fn pieces_make_one_stream() {
        let whole = Random::new([3; 32]).bytes::<2000>();
        let mut random = Random::new([3; 32]);
        let mut pieces = Vec::new();
        for len in (1..).take_while(|len| len * (len + 1) / 2 <= 2000) {
            let mut piece = vec![0; len];
            random.fill(&mut piece);
            pieces.extend(piece);
        }
        assert_eq!(pieces[..], whole[..pieces.len()]);
    }

    #[test]
    fn debug_reveals_nothing() {
        assert_eq!(format!("{:?}", Random::new([1; 32])), "Random { .. }");
    }
}
