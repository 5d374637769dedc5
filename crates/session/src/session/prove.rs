//! A newcomer proves its key to the leader of a mesh, through the member that it asked.
//!
//! That member has seen the key proven on its own connection, the leader has not. So the leader names a nonce, and the newcomer answers with a tag under
//! the key that it has in common with the leader. A nonce follows from the leader's secret, the newcomer, the member asked and the newcomer's last
//! incarnation: nothing is kept for it, and it is over once the newcomer is in.

use core::time::Duration;

use samestep_proto::{ConnectionId, PAIR_TAG_BYTES, PublicKey};
use samestep_wire::encode_to_vec;
use tracing::debug;

use crate::control::{AdmissionNonce, Control, Hello, Prove};
use crate::event::{LeaveReason, State};
use crate::id::{MemberKey, PeerId};
use crate::room::Room;
use crate::secret::hash_nonce;
use crate::session::Session;

/// The purpose of the tags.
const PURPOSE: &[u8; 8] = b"SStpjoin";
/// How often a newcomer is asked for a proof: once, and again under another leader.
const MAX_ASKED: u8 = 8;

/// What a newcomer's tag covers after the key of the member asked and the nonce: all that it says of itself to the leader.
fn covered(hello: &Hello) -> Vec<u8> {
    let hello = Hello {
        description: None,
        proof: None,
        ..hello.clone()
    };
    encode_to_vec(&hello).expect("a hello stays within its bounds")
}

impl Session {
    /// The nonce that the leader wants to have proven of a key at a member's door, by the room as it will be.
    pub(super) fn admission_nonce(
        &self,
        expected: &Room,
        sponsor: PeerId,
        key: &MemberKey,
    ) -> AdmissionNonce {
        let known = expected.peers().iter().find(|peer| peer.key == *key);
        // Another number after every life: an old proof brings nobody back.
        let life = match known {
            Some(peer) => [1, peer.since],
            None => [0, self.admissions.departures],
        };
        hash_nonce(&self.admissions.secret, key, sponsor, life)
    }

    /// Whether the leader knows that the holder of a key has asked a member to let it in: it was asked itself, or there is a proof.
    pub(super) fn is_proven_newcomer(
        &self,
        expected: &Room,
        sponsor: PeerId,
        hello: &Hello,
        key: &MemberKey,
    ) -> bool {
        if Some(sponsor) == self.me {
            return true;
        }
        let (Some(tag), Some(asked)) = (&hello.proof, expected.peer(sponsor)) else {
            return false;
        };
        let public = PublicKey::from_bytes(*key).ok();
        let pair = public.and_then(|public| self.own.identity.pair_key(&public, expected.id()));
        let nonce = self.admission_nonce(expected, sponsor, key);
        let parts = [&asked.key[..], &nonce, &covered(hello)];
        pair.is_some_and(|pair| pair.verifies(PURPOSE, &parts, tag))
    }

    /// The leader wants a newcomer at this program's door to prove its key.
    pub(super) fn ask_for_proof(&mut self, now: Duration, key: &MemberKey, nonce: AdmissionNonce) {
        let leader = self.leader.and_then(|leader| self.room.peer(leader));
        let (Some(leader), room) = (leader.map(|peer| peer.key), *self.room.id()) else {
            return;
        };
        let Some(waiting) = self.admissions.waiting.get_mut(key) else {
            return;
        };
        waiting.asked += 1;
        let id = waiting.connection;
        if waiting.asked > MAX_ASKED {
            self.admissions.waiting.remove(key);
            let words = "its key was not proven to the leader".to_owned();
            return self.turn_away(now, id, LeaveReason::NotReached(words));
        }
        let prove = Prove {
            leader,
            room,
            nonce,
        };
        self.send_control_on(now, id, &Control::Prove(prove));
    }

    /// The member that this program asked wants a proof for the leader.
    pub(super) fn on_prove(&mut self, now: Duration, id: ConnectionId, prove: Prove) {
        // Who comes back to a room proves nothing for another one.
        let is_other_room = self.me.is_some() && *self.room.id() != prove.room;
        if self.state != State::Connecting || self.joining.hello_to != Some(id) || is_other_room {
            return;
        }
        debug!(connection = %id, "asked to prove the key");
        self.joining.to_prove = Some((id, prove));
        let first = self.joining.hello_sent;
        self.send_hello(now, id);
        // The answer is due as before.
        if let Some((first, _)) = first {
            self.joining.hello_sent = Some((first, now));
        }
    }

    /// The proof that a hello on this connection needs, if one was asked for.
    pub(super) fn proof_of_key(
        &self,
        id: ConnectionId,
        hello: &Hello,
    ) -> Option<[u8; PAIR_TAG_BYTES]> {
        let (_, prove) = self
            .joining
            .to_prove
            .as_ref()
            .filter(|(asked, _)| *asked == id)?;
        let leader = PublicKey::from_bytes(prove.leader).ok()?;
        let pair = self.own.identity.pair_key(&leader, &prove.room)?;
        let asked = self.links.keys.get(&id)?.as_bytes();
        Some(pair.tag(PURPOSE, &[asked, &prove.nonce, &covered(hello)]))
    }
}

#[cfg(test)]
mod tests {
    use samestep_proto::Identity;

    use super::*;
    use crate::config::Profile;
    use crate::golden::assert_vectors;
    use crate::room::PeerKind;

    #[test]
    fn a_proof_is_that_of_the_page() {
        let [newcomer, leader, asked] = [1, 2, 3].map(|n| Identity::from_secret([n; 32]));
        let hello = Hello {
            kind: PeerKind::Member,
            players: vec![Profile::named("Ann")],
            incarnation: crate::agreement::Incarnation(0x5eed),
            have: None,
            clock_us: 1_000_000,
            reached_at: None,
            description: None,
            proof: Some([9; PAIR_TAG_BYTES]),
        };
        let key = newcomer
            .pair_key(&leader.public_key(), &[0xaa; 16])
            .unwrap();
        let asked = asked.public_key();
        let covered = covered(&hello);
        let parts = [asked.as_bytes(), &[0xbb; 16][..], &covered];
        let tag = key.tag(PURPOSE, &parts);
        assert_vectors(&[("join.hello", &covered), ("join.proof", &tag)]);
    }
}
