//! Log replication, after Raft: changes go from the authority to everyone, and are committed once a quorum has them.

use core::time::Duration;

use tracing::debug;

use crate::channels::CONTROL;
use crate::control::{Control, Entries, Proposal};
use crate::event::{LeaveReason, SessionEvent, State};
use crate::id::{PeerId, PlayerId, RequestId};
use crate::log::{Entry, KEPT, Origin, Position, is_quorum};
use crate::room::{Change, Presence};
use crate::session::send::sealed;
use crate::session::{OtherEnd, Session};

/// Entries in one message.
const BATCH: usize = 64;
/// A room with more members than this is told of changes not one by one, but together, at least this long for each member
/// after the last ones: in a crowd everyone's coming and going would else cost a packet for each of them and each of the others.
const CROWD: usize = 64;
const CROWD_SPACING: Duration = Duration::from_micros(20);

/// The message of entries that was made last: who lacks the same gets the same bytes.
#[derive(Default)]
struct Sealed {
    after: Option<u64>,
    last: u64,
    bytes: Vec<u8>,
}

impl Session {
    /// The authority makes a change.
    pub(super) fn append(&mut self, now: Duration, origin: Option<Origin>, change: Change) {
        if !self.leads() {
            // Deposed while it was deciding: whoever proposed will propose to the next.
            return;
        }
        let term = self.term;
        self.log.append(Entry {
            term,
            origin,
            change,
        });
        self.advance(now);
        self.send_all_entries(now);
    }

    /// A change of who counts waits until the one before is certain.
    pub(super) fn wish(&mut self, now: Duration, peer: PeerId, change: Change) {
        self.wishes.retain(|(wished, _)| *wished != peer);
        self.wishes.push_back((peer, change));
        self.wake_at(now);
    }

    pub(super) fn fulfil_wishes(&mut self, now: Duration) {
        while self.leads() && !self.log.voters_changing(&self.room) {
            let Some((peer, change)) = self.wishes.pop_front() else {
                return;
            };
            let presence = self.log.presence(&self.room, peer);
            let makes_sense = match change {
                Change::Away { .. } => presence.is_some_and(|p| p != Presence::Away),
                _ => presence.is_some(),
            };
            if makes_sense && Some(peer) != self.me {
                self.append(now, None, change);
            }
        }
    }

    pub(super) fn send_all_entries(&mut self, now: Duration) {
        if now < self.next_entries {
            return self.wake_at(self.next_entries);
        }
        self.told = self.log.last().index;
        let peers: Vec<PeerId> = self.contacts.keys().copied().collect();
        if !self.room.is_mesh() && peers.len() > CROWD {
            self.next_entries = now + CROWD_SPACING * peers.len() as u32;
        }
        let mut last = Sealed::default();
        for peer in peers {
            self.send_entries_again(now, peer, &mut last);
        }
    }

    /// Sends what a crowd was not yet told.
    pub(super) fn send_held_entries(&mut self, now: Duration) {
        let last = self.log.last().index;
        if self.leads() && !self.room.is_mesh() && self.told < last {
            self.send_all_entries(now);
        }
    }

    /// Sends a peer what it does not have yet.
    pub(super) fn send_entries(&mut self, now: Duration, peer: PeerId) {
        self.send_entries_again(now, peer, &mut Sealed::default());
    }

    /// The same for one of many, most of whom lack the same: see [`Sealed`].
    fn send_entries_again(&mut self, now: Duration, peer: PeerId, again: &mut Sealed) {
        if !self.leads() {
            return;
        }
        let direct = !self.room.is_mesh();
        let last = self.log.last().index;
        let committed = self.log.committed();
        let term = self.term;
        loop {
            let Some(contact) = self.contacts.get_mut(&peer) else {
                return;
            };
            if !contact.welcomed || contact.sent_index >= last {
                return;
            }
            let index = contact.sent_index;
            if direct && again.after == Some(index) {
                contact.sent_index = again.last;
                contact.sent_at = now;
                self.put_sealed(now, peer, CONTROL, &again.bytes);
                continue;
            }
            let Some(before) = self.log.term_at(index) else {
                // It lags further behind than anything is kept for: let it join anew.
                contact.welcomed = false;
                self.wish(now, peer, Change::Away { peer });
                return;
            };
            let entries = self.log.entries_after(index, BATCH);
            contact.sent_index += entries.len() as u64;
            contact.sent_at = now;
            let sent = contact.sent_index;
            let message = Entries {
                term,
                previous: Position {
                    index,
                    term: before,
                },
                entries,
                committed,
            };
            let control = Control::Entries(message);
            if direct {
                *again = Sealed {
                    after: Some(index),
                    last: sent,
                    bytes: sealed(&control),
                };
                self.put_sealed(now, peer, CONTROL, &again.bytes);
            } else {
                self.send_control(now, peer, &control);
            }
        }
    }

    /// Tells everyone how far everything is certain.
    fn send_certainty(&mut self, now: Duration) {
        let committed = self.log.committed();
        let peers: Vec<(PeerId, u64)> = self
            .contacts
            .iter()
            .filter(|(_, c)| c.welcomed)
            .map(|(peer, c)| (*peer, c.sent_index))
            .collect();
        for (peer, index) in peers {
            let Some(term) = self.log.term_at(index) else {
                continue;
            };
            let message = Entries {
                term: self.term,
                previous: Position { index, term },
                entries: Vec::new(),
                committed,
            };
            self.send_control(now, peer, &Control::Entries(message));
        }
    }

    /// The authority looks how far enough members have followed.
    pub(super) fn advance(&mut self, now: Duration) {
        if !self.leads() {
            return;
        }
        let me = self.me;
        let mut certain = self.log.last().index;
        while certain > self.log.committed() {
            // Only entries of one's own term can be counted (Raft, section 5.4.2); they carry the earlier ones along.
            let own = self.log.term_at(certain) == Some(self.term);
            let there = |peer: PeerId| {
                Some(peer) == me
                    || self
                        .contacts
                        .get(&peer)
                        .is_some_and(|c| c.matched >= certain)
            };
            if own && self.may_decide(there) {
                break;
            }
            certain -= 1;
        }
        if certain > self.log.committed() {
            self.commit(now, certain);
            if self.room.is_mesh() {
                self.send_certainty(now);
            }
            self.decide(now);
        }
    }

    /// Whether these members may decide for all: both as the room is and as it will be once everything is certain. Else
    /// who drops the silent could thereby become the majority that may.
    pub(super) fn may_decide(&self, with: impl Fn(PeerId) -> bool) -> bool {
        let tie_breaker = self.room.tie_breaker();
        is_quorum(&self.room.voters(), tie_breaker, &with)
            && is_quorum(&self.log.voters(&self.room), tie_breaker, &with)
    }

    /// Applies what is certain.
    pub(super) fn commit(&mut self, now: Duration, certain: u64) {
        while let Some((index, entry)) = self.log.commit_next(certain) {
            let before = self.look_before(&entry);
            let mut own = false;
            self.distrust_leaver(&entry.change);
            self.room.apply(index, &entry.change);
            self.room.settle(&entry);
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
            if matches!(self.state, State::Left(_)) {
                return;
            }
        }
        // Only who leads, or may one day, has use for what is past.
        let keep = self.room.is_mesh() || self.leads();
        self.log.trim(if keep { KEPT } else { 0 });
    }

    /// The players of somebody who is about to leave.
    fn look_before(&self, entry: &Entry) -> Vec<PlayerId> {
        match &entry.change {
            Change::Left { peer, .. } => self.room.players_of(*peer).map(|p| p.id).collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn on_entries(&mut self, now: Duration, from: PeerId, message: Entries) {
        if message.term < self.term {
            return;
        }
        if message.term > self.term || self.leader != Some(from) {
            if self.leads() && message.term == self.term {
                return;
            }
            self.follow(now, message.term, from);
        }
        match self.log.merge(message.previous, message.entries) {
            Some(matched) => {
                if self.room.is_mesh() {
                    let answer = Control::Matched {
                        since: self.since_index,
                        term: self.term,
                        index: matched,
                    };
                    self.send_control(now, from, &answer);
                }
                self.verified = self.verified.max(matched);
                self.commit(now, message.committed.min(matched));
            }
            None => {
                let answer = Control::Gap {
                    term: self.term,
                    last: self.log.committed(),
                };
                self.send_control(now, from, &answer);
            }
        }
    }

    pub(super) fn on_matched(
        &mut self,
        now: Duration,
        from: PeerId,
        since: u64,
        term: u32,
        index: u64,
    ) {
        if term != self.term || !self.leads() || index > self.log.last().index {
            return;
        }
        // Who came back has forgotten what was not certain.
        if self.room.peer(from).is_none_or(|p| p.since > since) {
            return;
        }
        let contact = self.contact(from);
        contact.matched = contact.matched.max(index);
        contact.sent_index = contact.sent_index.max(index);
        self.advance(now);
    }

    pub(super) fn on_gap(&mut self, now: Duration, from: PeerId, term: u32, last: u64) {
        if term != self.term || !self.leads() {
            return;
        }
        let contact = self.contact(from);
        if last < contact.sent_index {
            contact.sent_index = last;
            self.send_entries(now, from);
        }
    }

    /// Somebody else reigns.
    pub(super) fn follow(&mut self, now: Duration, term: u32, leader: PeerId) {
        let led = self.leads();
        debug!(%leader, term, "following a leader");
        self.verified = 0;
        self.term = term;
        self.leader = Some(leader);
        self.followed_term = term;
        self.ballot.forget();
        if led {
            self.askers.forget();
            self.wishes.clear();
        }
        self.time.set_members(now, &self.room, leader);
        self.send_proposals(now);
    }

    /// A change is certain and the room has changed: what that means here.
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
            Change::Returned { peer, sponsor, .. } => {
                debug!(%peer, "peer returned");
                if Some(peer) == me {
                    return self.on_returned_again(now, index);
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
                self.since.remove(&peer);
                match Some(peer) == me {
                    true if index < self.since_index => {}
                    true => self.on_in_sync(now),
                    false => self.emit(SessionEvent::PeerInSync { peer }),
                }
                self.emit(SessionEvent::OwnersChanged);
                self.acts.reconsider(now + Duration::from_secs(1));
                self.time
                    .set_members(now, &self.room, self.leader.unwrap_or(peer));
            }
            // This program was away then, and has come back since.
            Change::Away { peer } if Some(peer) == me && index < self.since_index => {}
            Change::Away { peer } => {
                self.on_away(now, index, peer);
                self.start_if_ready(now);
            }
            Change::Left { peer, reason } => {
                self.on_left(now, peer, reason, players);
                self.tell_password(now);
                self.start_if_ready(now);
            }
            Change::Profile { .. } | Change::Ready { .. } | Change::Settings(_) => {
                self.emit(SessionEvent::RoomChanged);
                self.start_if_ready(now);
            }
            Change::Start { .. } => self.announce_start(now),
            Change::EndVote { .. } | Change::TieBreaker { .. } => {}
            Change::End { result } => {
                self.emit(SessionEvent::Ended { result });
            }
            Change::Rematch => self.emit(SessionEvent::Rematch),
            Change::Authority { peer } => {
                self.emit(SessionEvent::AuthorityChanged { authority: peer });
                self.emit(SessionEvent::OwnersChanged);
                self.time.set_members(now, &self.room, peer);
            }
            Change::Named(_) | Change::Unnamed { .. } => self.emit(SessionEvent::RoomChanged),
            Change::Denial => {}
            Change::Password { .. } => {
                self.demand_agreed(now);
                self.emit(SessionEvent::RoomChanged);
            }
            Change::Command {
                from,
                kind,
                payload,
            } => {
                let own = entry.origin.filter(|_| own);
                if index > self.state_holds {
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
            }
            Change::Closed { words } => {
                self.finish(now, LeaveReason::RoomClosed(words));
            }
        }
    }

    /// Another member has brought this program back too: that, and not what brought it back here, is the life all others
    /// know.
    fn on_returned_again(&mut self, now: Duration, index: u64) {
        if index <= self.since_index {
            return;
        }
        self.since_index = index;
        for contact in self.contacts.values_mut() {
            contact.streams.reset(index);
        }
        if self.room.rules.initial_state {
            // The state that was on its way belongs to a life that is over.
            return self.rejoin_through(now, None, "was brought back twice");
        }
        self.state = State::Loading;
        self.propose(now, Proposal::Loaded);
    }

    /// Somebody has a place in the room, newly or again.
    fn on_peer_arrived(&mut self, now: Duration, index: u64, peer: PeerId) {
        self.introduced.remove(&peer);
        self.settle_links(now);
        self.askers.forget_peer(peer);
        self.acts.forget_peer(peer);
        self.since.insert(peer, now);
        if !self.room.is_mesh() && !self.leads() {
            // Between guests there is nothing but the order of what the host passes on, and this one counts anew.
            self.contacts.remove(&peer);
            return;
        }
        let epoch = index.max(self.since_index);
        let contact = self.contacts.entry(peer).or_default();
        if index < epoch {
            // Old news to who has just come back: what is known of that peer is newer.
            contact.streams.enter(epoch);
            return;
        }
        let old = contact.connection.take();
        contact.begin_anew(now, epoch);
        self.look_for_another_sponsor(now, peer);
        let contact = self.contacts.entry(peer).or_default();
        contact.next_dial = now + Duration::from_secs(1);
        if let Some(old) = old {
            self.connections.insert(old, OtherEnd::Gone);
            self.endpoint.abort(now, old, 0, "joined anew");
        }
        if self.leads() {
            // Whoever welcomes it has applied this very change, so it will have at least that.
            let contact = self.contact(peer);
            contact.sent_index = index;
            contact.sent_at = now;
            contact.welcomed = true;
        }
        self.wake_at(now);
    }
}
