//! Secrets, and the hashes of them that may be shared.

use blake2::digest::consts::U16;
use blake2::{Blake2s, Blake2s256, Digest};
use zeroize::Zeroizing;

use crate::agreement::Incarnation;
use crate::control::AdmissionNonce;
use crate::id::{MemberKey, PeerId, RoomId};

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

    pub(crate) fn next_room_id(&mut self) -> RoomId {
        let bytes = self.next();
        core::array::from_fn(|at| bytes[at])
    }

    /// Another run as a member.
    pub(crate) fn next_incarnation(&mut self) -> Incarnation {
        let bytes = self.next();
        let number = u64::from_le_bytes(core::array::from_fn(|at| bytes[at]));
        // 0 stands for anyone.
        Incarnation(number.max(1))
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

/// A number that nobody can tell before who knows the secret names it: what a newcomer is to prove.
pub(crate) fn hash_nonce(
    secret: &[u8; 32],
    key: &MemberKey,
    sponsor: PeerId,
    life: [u64; 2],
) -> AdmissionNonce {
    Blake2s::<U16>::new()
        .chain_update(b"samestep nonce")
        .chain_update(secret)
        .chain_update(key)
        .chain_update(sponsor.0.to_le_bytes())
        .chain_update(life[0].to_le_bytes())
        .chain_update(life[1].to_le_bytes())
        .finalize()
        .into()
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
