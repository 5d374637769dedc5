//! The key that two endpoints have in common by their static keys alone: for tags that travel through others.

use std::fmt;

use crate::crypto::{mac, same};
use crate::key::{Identity, PublicKey};
use crate::noise::{Secret, agree};

/// Length of a tag.
pub const PAIR_TAG_BYTES: usize = 16;

/// A key that the holders of two static keys can compute, and nobody else: [`Identity::pair_key`].
///
/// It authenticates what one of them says to the other through somebody that neither trusts. A tag proves that one of the two made it, and to
/// nobody but the other. It does not expire: whoever uses it puts into each message what makes it the only one of its kind.
///
/// ```
/// use samestep_proto::Identity;
///
/// let (ann, bo) = (Identity::from_secret([1; 32]), Identity::from_secret([2; 32]));
/// let here = ann.pair_key(&bo.public_key(), b"room 7").unwrap();
/// let there = bo.pair_key(&ann.public_key(), b"room 7").unwrap();
/// let tag = here.tag(b"greeting", &[b"1", b"hello"]);
/// assert!(there.verifies(b"greeting", &[b"1", b"hello"], &tag));
/// assert!(!there.verifies(b"greeting", &[b"2", b"hello"], &tag));
/// ```
pub struct PairKey(Secret);

impl Identity {
    /// The key that this identity has in common with the holder of another static key. `context` is what it is used in: another one has another
    /// key.
    ///
    /// It costs an X25519 exchange: keep it. `None` if the other key is one that nobody can hold.
    pub fn pair_key(&self, other: &PublicKey, context: &[u8]) -> Option<PairKey> {
        let shared = agree(self.secret(), other).ok()?;
        let mut keys = [self.public_key(), *other];
        keys.sort_unstable();
        let [first, second] = keys.each_ref().map(PublicKey::as_bytes);
        let key = mac(&shared, b"SStppair", &[first, second, context]);
        Some(PairKey(key.into()))
    }
}

impl PairKey {
    /// The tag of `parts`, one after the other, for a purpose. The parts are joined as they are: all but one have a fixed length.
    pub fn tag(&self, purpose: &[u8; 8], parts: &[&[u8]]) -> [u8; PAIR_TAG_BYTES] {
        let full = mac(&self.0, purpose, parts);
        std::array::from_fn(|at| full[at])
    }

    /// Whether the holder of one of the two keys has made this tag of these parts. It takes the same time wherever a tag differs.
    pub fn verifies(&self, purpose: &[u8; 8], parts: &[&[u8]], tag: &[u8; PAIR_TAG_BYTES]) -> bool {
        same(&self.tag(purpose, parts), tag)
    }
}

impl fmt::Debug for PairKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PairKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{assert_vectors, hex};

    fn identity(number: u8) -> Identity {
        Identity::from_secret([number; 32])
    }

    #[test]
    fn both_have_the_same_key_and_others_another() {
        let pair = |one: u8, other: u8, context: &[u8]| {
            let key = identity(one).pair_key(&identity(other).public_key(), context);
            key.unwrap().tag(b"SStptest", &[b"content"])
        };
        let tag = pair(1, 2, b"room");
        assert_eq!(tag, pair(2, 1, b"room"));
        for other in [
            pair(1, 3, b"room"),
            pair(3, 2, b"room"),
            pair(1, 2, b"hall"),
        ] {
            assert_ne!(tag, other);
        }
    }

    #[test]
    fn a_tag_is_of_one_purpose_and_one_content() {
        let key = identity(1)
            .pair_key(&identity(2).public_key(), b"")
            .unwrap();
        let tag = key.tag(b"SStptest", &[b"con", b"tent"]);
        assert!(key.verifies(b"SStptest", &[b"content"], &tag));
        assert!(!key.verifies(b"SStpothr", &[b"content"], &tag));
        assert!(!key.verifies(b"SStptest", &[b"contend"], &tag));
        for bit in 0..8 * PAIR_TAG_BYTES {
            let mut changed = tag;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(!key.verifies(b"SStptest", &[b"content"], &changed));
        }
    }

    #[test]
    fn the_key_is_that_of_the_page() {
        let key = identity(1).pair_key(&identity(2).public_key(), &[0xaa; 16]);
        assert_vectors(&[("pair.key", hex(&key.unwrap().0[..]))]);
    }
}
