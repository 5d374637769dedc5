//! Relayed messages prove their origin.
//!
//! Each carries a tag under the key that its sender and its receiver have in common by their static keys, and a number that counts once. So a
//! relay can drop and delay messages, but neither invent, change, redirect nor repeat one.

use samestep_proto::{PairKey, PublicKey};

use crate::envelope::{Envelope, Proof, Route};
use crate::id::{MemberKey, PeerId};
use crate::session::Session;

/// The purpose of the tags.
const PURPOSE: &[u8; 8] = b"SStprely";
/// A message may come this many numbers after a newer one of its sender; a later one is taken for a repetition.
const WINDOW: u32 = 2048;
const WORD_BITS: u32 = u64::BITS;

/// What two members have in common, to prove to each other what they say through others.
#[derive(Debug)]
pub(super) struct Pair {
    key: PairKey,
    /// The static key of the other member, of which that was made.
    of: MemberKey,
    sent: u32,
    /// The newest incarnations of the two that either has named.
    epoch: u64,
    received: Received,
}

/// The numbers that have come, as in RFC 6479: one bit for each of the newest.
#[derive(Debug, Default)]
struct Received {
    newest: u32,
    seen: [u64; (WINDOW / WORD_BITS) as usize],
}

impl Received {
    /// Takes a number, from 1 on. False if it has come before, or is so old that it may have.
    fn take(&mut self, number: u32) -> bool {
        if number > self.newest {
            let forgotten = (self.newest + 1..=number).take(WINDOW as usize);
            forgotten.for_each(|number| *self.word(number) &= !bit(number));
            self.newest = number;
        } else if number == 0 || self.newest - number >= WINDOW {
            return false;
        }
        let word = self.word(number);
        let is_new = *word & bit(number) == 0;
        *word |= bit(number);
        is_new
    }

    fn word(&mut self, number: u32) -> &mut u64 {
        &mut self.seen[(number % WINDOW / WORD_BITS) as usize]
    }
}

fn bit(number: u32) -> u64 {
    1 << (number % WORD_BITS)
}

impl Pair {
    fn new(key: PairKey, of: MemberKey) -> Self {
        Self {
            key,
            of,
            sent: 0,
            epoch: 0,
            received: Received::default(),
        }
    }

    /// The number of the next message, without its tag. `None` if there are no more numbers.
    fn next(&mut self, since: u64) -> Option<Proof> {
        self.sent = self.sent.checked_add(1)?;
        Some(Proof {
            epoch: self.epoch.max(since),
            number: self.sent,
            ..Proof::default()
        })
    }

    /// Takes a message whose tag was right. False if it is of an earlier incarnation than `since`, or has come before.
    fn take(&mut self, since: u64, proof: &Proof) -> bool {
        if proof.epoch < self.epoch.max(since) {
            return false;
        }
        if proof.epoch > self.epoch {
            self.epoch = proof.epoch;
            self.received = Received::default();
        }
        self.received.take(proof.number)
    }
}

impl Session {
    /// Adds the proof that a message to be relayed is this program's. `None` if its receiver could not check it.
    pub(super) fn prove_origin(
        &mut self,
        to: PeerId,
        payload: &[u8],
        mut envelope: Envelope,
    ) -> Option<Envelope> {
        let since = self.newest_incarnation(to)?;
        let pair = self.pair_with(to)?;
        let proof = pair.next(since)?;
        set_proof(&mut envelope, proof);
        let tag = pair.key.tag(PURPOSE, &[&envelope.covered(), payload]);
        set_proof(&mut envelope, Proof { tag, ..proof });
        Some(envelope)
    }

    /// Whether a relayed message is from the member that it names, to this program, and comes for the first time.
    pub(super) fn is_proven_origin(
        &mut self,
        from: PeerId,
        envelope: &Envelope,
        payload: &[u8],
    ) -> bool {
        let (Route::Relayed { proof, .. }, Some(since)) =
            (envelope.route, self.newest_incarnation(from))
        else {
            return false;
        };
        self.pair_with(from).is_some_and(|pair| {
            let parts = [&envelope.covered()[..], payload];
            pair.key.verifies(PURPOSE, &parts, &proof.tag) && pair.take(since, &proof)
        })
    }

    /// The static key of a member.
    pub(super) fn key_of(&self, peer: PeerId) -> Option<MemberKey> {
        self.room.peer(peer).map(|peer| peer.key)
    }

    /// Where the later of the present incarnations of this program and a member began, as far as known here.
    fn newest_incarnation(&self, peer: PeerId) -> Option<u64> {
        let since = self.room.peer(peer).map_or(0, |peer| peer.since);
        self.key_of(peer).map(|_| since.max(self.own.since_index))
    }

    /// What this program has in common with a member. `None` if the member's key is none.
    fn pair_with(&mut self, peer: PeerId) -> Option<&mut Pair> {
        let theirs = self.key_of(peer)?;
        let pair = &mut self.links.contacts.entry(peer).or_default().pair;
        if pair.as_ref().is_none_or(|pair| pair.of != theirs) {
            let public = PublicKey::from_bytes(theirs).ok()?;
            let key = self.own.identity.pair_key(&public, self.room.id())?;
            *pair = Some(Box::new(Pair::new(key, theirs)));
        }
        pair.as_deref_mut()
    }
}

fn set_proof(envelope: &mut Envelope, new: Proof) {
    if let Route::Relayed { proof, .. } = &mut envelope.route {
        *proof = new;
    }
}

#[cfg(test)]
mod tests {
    use samestep_proto::Identity;

    use super::*;
    use crate::envelope::{Content, Number};
    use crate::golden::assert_vectors;
    use crate::id::MessageKind;

    #[test]
    fn a_relayed_message_is_that_of_the_page() {
        let [sender, receiver] = [1, 2].map(|number| Identity::from_secret([number; 32]));
        let key = sender
            .pair_key(&receiver.public_key(), &[0xaa; 16])
            .unwrap();
        let mut proof = Proof {
            epoch: 7,
            number: 2,
            ..Proof::default()
        };
        let mut envelope = Envelope {
            content: Content::Game(MessageKind(0xa5cb)),
            route: Route::Relayed {
                from: PeerId(3),
                to: PeerId(5),
                hops: 1,
                proof,
            },
            number: Some(Number {
                epoch: 7,
                number: 300,
                stream: 1,
            }),
        };
        let covered = envelope.covered();
        proof.tag = key.tag(PURPOSE, &[&covered, b"hi"]);
        set_proof(&mut envelope, proof);
        let mut sealed = Vec::new();
        envelope.seal(b"hi", &mut sealed);
        assert_vectors(&[
            ("relay.covered", &covered),
            ("relay.tag", &proof.tag),
            ("envelope.relayed", &sealed),
        ]);
    }

    #[test]
    fn every_number_counts_once_in_any_order() {
        let mut received = Received::default();
        assert!(!received.take(0));
        for number in [3, 1, 2, 5, 4 + WINDOW, 5 + WINDOW] {
            assert!(received.take(number), "{number}");
            assert!(!received.take(number), "{number} again");
        }
        assert!(!received.take(4), "it is too old to tell");
        assert!(!received.take(5));
        assert!(received.take(6));
        assert!(received.take(5 + 9 * WINDOW));
        assert!(received.take(6 + 8 * WINDOW));
        assert!(!received.take(5 + 8 * WINDOW));
        assert!(received.take(u32::MAX));
        assert!(!received.take(u32::MAX));
    }

    #[test]
    fn numbers_begin_anew_with_an_incarnation_and_never_go_back() {
        let [one, other] = [1, 2].map(|number| Identity::from_secret([number; 32]));
        let key = one.pair_key(&other.public_key(), b"room").unwrap();
        let mut pair = Pair::new(key, [2; 32]);
        let proof = |epoch, number| Proof {
            epoch,
            number,
            ..Proof::default()
        };
        assert!(pair.take(5, &proof(5, 1)));
        assert!(!pair.take(5, &proof(4, 2)));
        assert!(pair.take(5, &proof(9, 1)), "it knows of a later one");
        assert!(!pair.take(5, &proof(5, 2)));
        assert!(!pair.take(12, &proof(9, 2)));
        assert!(pair.take(12, &proof(12, 1)));
        let next = |pair: &mut Pair, since| pair.next(since).map(|p| (p.epoch, p.number));
        assert_eq!(next(&mut pair, 5), Some((12, 1)), "the other has said so");
        assert_eq!(next(&mut pair, 20), Some((20, 2)));
        pair.sent = u32::MAX;
        assert_eq!(next(&mut pair, 20), None);
    }
}
