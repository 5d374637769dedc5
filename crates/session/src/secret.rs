//! Secrets, and the hashes of them that may be shared.

use blake2::digest::consts::U16;
use blake2::{Blake2s, Blake2s256, Digest};
use zeroize::Zeroizing;

/// Keys that follow from one seed, which is erased when dropped.
pub(crate) struct Secrets {
    seed: Zeroizing<[u8; 32]>,
    count: u64,
}

impl Secrets {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self {
            seed: Zeroizing::new(seed),
            count: 0,
        }
    }

    pub(crate) fn next(&mut self) -> [u8; 32] {
        self.count += 1;
        Blake2s256::new()
            .chain_update(b"samestep session")
            .chain_update(*self.seed)
            .chain_update(self.count.to_le_bytes())
            .finalize()
            .into()
    }
}

/// The hash of a result, for votes.
pub(crate) fn hash_result(result: &[u8]) -> u64 {
    let hash: [u8; 16] = Blake2s::<U16>::new()
        .chain_update(b"samestep result")
        .chain_update(result)
        .finalize()
        .into();
    u64::from_le_bytes(hash[..8].try_into().expect("eight of sixteen bytes"))
}
