//! What a committed change means for this program.

use core::time::Duration;

use tracing::debug;

use crate::event::{LeaveReason, SessionEvent, State};
use crate::id::{PeerId, PlayerId, RequestId};
use crate::log::Entry;
use crate::room::Change;
use crate::session::Session;

impl Session {
    /// Applies a committed entry.
    pub(super) fn apply(&mut self, now: Duration, index: u64, entry: Entry) {
        let before = self.players_of_leaver(&entry.change);
        let mut own = false;
        self.distrust_leaver(&entry.change);
        self.room.apply(index, &entry.change);
        self.room.settle(&entry);
        if matches!(entry.change, Change::Joined(_) | Change::Returned { .. }) {
            self.mesh.cuts.note(&self.room);
        }
        if let Some(origin) = entry.origin
            && Some(origin.peer) == self.me
        {
            match entry.change {
                // In case the answer itself got lost; why is lost with it.
                Change::Denial => self.on_denied(now, origin.lane, origin.number, Vec::new()),
                _ => own = self.on_settled(origin.lane, origin.number),
            }
        }
        self.on_applied(now, index, entry, own, &before);
    }

    /// The players of somebody who is about to leave.
    fn players_of_leaver(&self, change: &Change) -> Vec<PlayerId> {
        match change {
            Change::Left { peer, .. } | Change::Banned { peer, .. } => {
                self.room.players_of(*peer).map(|p| p.id).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A change is committed and the room has changed: what that means here.
    fn on_applied(
        &mut self,
        now: Duration,
        index: u64,
        entry: Entry,
        own: bool,
        players: &[PlayerId],
    ) {
        let me = self.me;
        match entry.change {
            Change::Joined(newcomer) => {
                let peer = newcomer.peer;
                self.trust(&newcomer.key);
                if Some(peer) == me {
                    self.emit(SessionEvent::Joined { me: peer });
                } else {
                    self.on_peer_arrived(now, index, peer);
                    self.emit(SessionEvent::PeerJoined { peer });
                }
                for (player, _) in &newcomer.players {
                    self.emit(SessionEvent::PlayerJoined { player: *player });
                }
                self.emit(SessionEvent::OwnersChanged);
                if Some(newcomer.sponsor) == me && Some(peer) != me {
                    self.welcome(now, peer, newcomer.key, false);
                }
            }
            Change::Returned {
                peer,
                sponsor,
                incarnation,
                ..
            } => {
                debug!(%peer, "peer returned");
                if Some(peer) == me {
                    if incarnation != self.own.incarnation && index > self.own.since_index {
                        self.rejoin_through(now, None, "came back at another door too");
                    }
                    return;
                }
                self.on_peer_arrived(now, index, peer);
                self.emit(SessionEvent::PeerJoined { peer });
                self.emit(SessionEvent::OwnersChanged);
                if Some(sponsor) == me {
                    let key = self.room.peer(peer).map(|p| p.key);
                    self.welcome(now, peer, key.unwrap_or_default(), true);
                }
            }
            Change::InSync { peer } => {
                if index >= self.own.since_index {
                    self.leading.absent_since.remove(&peer);
                }
                match Some(peer) == me {
                    true if index < self.own.since_index => {}
                    true => self.on_in_sync(now),
                    false => self.emit(SessionEvent::PeerInSync { peer }),
                }
                self.emit(SessionEvent::OwnersChanged);
                self.requests.acts.reconsider(now + Duration::from_secs(1));
                self.clock
                    .keeper
                    .set_members(now, &self.room, self.leader.unwrap_or(peer));
            }
            // This program was away then, and has come back since.
            Change::Away { peer } if Some(peer) == me && index < self.own.since_index => {}
            Change::Away { peer } => {
                self.on_away(now, index, peer);
                self.start_if_ready(now);
            }
            Change::Left { peer, reason } => {
                self.on_left(now, peer, reason, players);
                self.tell_password(now);
                self.start_if_ready(now);
            }
            Change::Banned { peer, words, .. } => {
                self.on_left(now, peer, LeaveReason::Banned(words), players);
                self.tell_password(now);
                self.start_if_ready(now);
            }
            Change::Profile { .. } | Change::Ready { .. } | Change::Settings(_) => {
                self.emit(SessionEvent::RoomChanged);
                self.start_if_ready(now);
            }
            Change::Start { .. } => self.announce_start(now),
            Change::EndVote { .. } | Change::TieBreaker { .. } => {}
            Change::Played { tick, record } => self.on_played(index, tick, record),
            Change::Reported { by, against, words } => self.on_reported(now, by, against, words),
            Change::End { result } => {
                let had_begun = core::mem::take(&mut self.clock.started);
                // A game that began and ended while this program was away is none that it took part in.
                if had_begun || self.state == State::InSync {
                    self.emit(SessionEvent::Ended { result });
                }
            }
            Change::Rematch => self.emit(SessionEvent::Rematch),
            Change::Authority { peer } => {
                self.on_game_authority(index, peer);
                self.emit(SessionEvent::AuthorityChanged { authority: peer });
                self.emit(SessionEvent::OwnersChanged);
                self.clock.keeper.set_members(now, &self.room, peer);
                self.decide(now);
            }
            Change::Named(_) | Change::Unnamed { .. } => self.emit(SessionEvent::RoomChanged),
            Change::Standbys { .. } => {
                self.emit(SessionEvent::RoomChanged);
                self.wake_at(now);
            }
            Change::Denial => {}
            Change::Password { .. } => {
                self.demand_agreed(now);
                self.emit(SessionEvent::PasswordChanged);
            }
            Change::Command {
                from,
                kind,
                payload,
            } => {
                let own = entry.origin.filter(|_| own);
                if !self.inbox.state_holds(index) {
                    self.emit(SessionEvent::Command {
                        index,
                        from,
                        request: own.map(|origin| RequestId(origin.number)),
                        kind,
                        payload: payload.into(),
                    });
                } else if let Some(origin) = own {
                    self.emit(SessionEvent::Included {
                        request: RequestId(origin.number),
                        kind,
                    });
                }
                self.decide(now);
            }
            Change::Closed { words } => {
                self.finish(now, LeaveReason::RoomClosed(words));
            }
        }
    }

    /// Somebody has a place in the room, newly or again.
    fn on_peer_arrived(&mut self, now: Duration, index: u64, peer: PeerId) {
        self.settle_links(now);
        self.leading.askers.forget_peer(peer);
        self.requests.acts.forget_peer(peer);
        self.leading.reclaimed_at.remove(&peer);
        if index >= self.own.since_index {
            self.leading.absent_since.insert(peer, now);
        }
        if !self.room.is_mesh() && !self.leads() {
            // Between guests there is nothing but the order of what the host passes on, and this one counts anew.
            self.links.contacts.remove(&peer);
            return;
        }
        let incarnation = self.room.peer(peer).map(|p| p.incarnation);
        let epoch = index.max(self.own.since_index);
        let contact = self.links.contacts.entry(peer).or_default();
        contact.incarnation = incarnation.unwrap_or_default();
        if index < epoch {
            // Old news to who has just come back: what is known of that peer is newer.
            contact.streams.enter(epoch);
            return;
        }
        let old = contact.connection.take();
        contact.begin_anew(now, epoch);
        self.look_for_another_sponsor(now, peer);
        let contact = self.links.contacts.entry(peer).or_default();
        contact.dialling.next = now + Duration::from_secs(1);
        if let Some(old) = old {
            self.links.give_up(old);
            self.endpoint.abort(now, old, 0, "joined anew");
        }
        if self.leads() {
            // Whoever welcomes it has applied this very change, so it will have at least that.
            let contact = self.contact(peer);
            contact.sent_index = index;
            contact.welcomed = true;
        }
        self.wake_at(now);
    }
}
