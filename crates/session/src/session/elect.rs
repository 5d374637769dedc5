//! Leader election in a mesh, after Raft, and what happens without a quorum: heartbeats, votes, freezing.

use core::time::Duration;
use std::collections::BTreeSet;

use samestep_proto::{ConnectionId, PublicKey};
use tracing::{debug, info};

use crate::control::{Control, Heartbeat};
use crate::event::{LeaveReason, SessionEvent, State};
use crate::id::PeerId;
use crate::log::{Position, is_quorum};
use crate::room::{Change, Presence};
use crate::session::Session;

/// Time between two heartbeats.
pub(super) const BEAT: Duration = Duration::from_millis(250);
/// Every how manieth heartbeat tells about clocks.
const REPORT_EVERY: u32 = 2;
/// Silence that freezes a mesh that waits for its members, and lets it elect another leader.
const WAIT_SILENCE: Duration = Duration::from_secs(3);
/// Longest wait for the last words of who has said goodbye.
const HANGING_UP: Duration = Duration::from_secs(1);
/// Time for an election to come to a result before the next member tries.
const CAMPAIGN: Duration = Duration::from_millis(600);
/// A leader that is not known here may become known within this time.
const STRANGER: Duration = Duration::from_secs(2);
/// A lagging member is sent entries again after this long.
const SEND_AGAIN: Duration = Duration::from_millis(600);

/// This program's part in elections.
#[derive(Debug, Default)]
pub(super) struct Ballot {
    /// The term it last voted in, and for whom.
    voted: u32,
    voted_for: Option<PeerId>,
    /// Votes for itself.
    votes: Option<BTreeSet<PeerId>>,
    tried_at: Duration,
}

impl Ballot {
    pub(super) fn forget(&mut self) {
        self.votes = None;
    }

    /// For whom it voted in a term.
    pub(super) fn vote_in(&self, term: u32) -> Option<PeerId> {
        self.voted_for.filter(|_| self.voted == term)
    }
}

impl Session {
    fn silence(&self) -> Duration {
        self.room
            .rules
            .drop_after_us
            .map_or(WAIT_SILENCE, Duration::from_micros)
    }

    /// Whether nothing has come from a peer, by any way, for too long.
    pub(super) fn is_silent(&self, now: Duration, peer: PeerId) -> bool {
        self.silent_for(now, peer) >= self.silence()
    }

    fn silent_for(&self, now: Duration, peer: PeerId) -> Duration {
        match self.contacts.get(&peer) {
            _ if Some(peer) == self.me => Duration::ZERO,
            Some(contact) if contact.farewell.is_none() => now.saturating_sub(contact.heard),
            // Who said goodbye is as good as silent from then on.
            Some(contact) => self.silence() + now.saturating_sub(contact.heard),
            None => Duration::MAX,
        }
    }

    /// Whether a peer joined after everything that is known here.
    pub(super) fn is_ahead(&self, peer: PeerId) -> bool {
        self.room.is_peer_to_come(peer)
    }

    fn has_hung_up(&self, now: Duration, peer: PeerId) -> bool {
        self.contacts
            .get(&peer)
            .is_none_or(|c| c.connection.is_none() || now.saturating_sub(c.heard) >= HANGING_UP)
    }

    fn said_farewell(&self, peer: PeerId) -> bool {
        self.contacts
            .get(&peer)
            .is_some_and(|c| c.farewell.is_some())
    }

    /// Several times a second: tell everyone, look who is silent.
    pub(super) fn beat(&mut self, now: Duration) {
        self.next_beat = now + BEAT;
        let Some(me) = self.me else {
            return;
        };
        if !self.room.is_mesh() || matches!(self.state, State::Connecting | State::Left(_)) {
            return;
        }
        let others: Vec<PeerId> = self
            .room
            .peers()
            .iter()
            .filter(|p| p.id != me)
            .filter(|p| p.presence != Presence::Away || self.state == State::Frozen)
            .map(|p| p.id)
            .collect();
        let leads = self.leads();
        let hears: Vec<PeerId> = self.direct(now).collect();
        let accuses: Vec<PeerId> = others
            .iter()
            .copied()
            .filter(|peer| self.is_silent(now, *peer))
            .collect();
        self.beats += 1;
        let clock = match self.beats.is_multiple_of(REPORT_EVERY) {
            true => self.time.mesh_report(now),
            false => None,
        };
        let supports = self.supports(self.term);
        for peer in &others {
            let contact = self.contacts.entry(*peer).or_default();
            let beat = Heartbeat {
                term: self.term,
                last: self.log.last(),
                committed: self.log.committed(),
                leads,
                supports,
                hears: hears.clone(),
                accuses: accuses.clone(),
                received: contact.streams.acks(),
                clock_us: now.as_micros() as u64,
                clock: clock.clone(),
            };
            self.send_control_unreliably(now, *peer, &Control::Heartbeat(beat));
            self.dial_member(now, *peer);
            self.resend(now, *peer);
        }
        self.send_laggards(now);
        self.freeze_or_thaw(now);
        if self.is_led_by_a_stranger(now) {
            self.strange_since = None;
            return self.rejoin_through(now, None, "the others follow somebody unknown here");
        }
        // A mesh that waits for somebody still needs a leader to let it in again.
        if self.stalled {
            return;
        }
        if self.leads() {
            self.drop_silent(now);
        } else {
            self.campaign(now);
        }
    }

    /// Connects to a member there is no connection to. The one that came later dials.
    fn dial_member(&mut self, now: Duration, peer: PeerId) {
        let mine = self.since_index;
        let Some(info) = self.room.peer(peer) else {
            return;
        };
        let (Some(address), key, since) = (info.address, info.key, info.since) else {
            return;
        };
        let lost = self.state == State::Frozen;
        let dialling = super::OtherEnd::Dialled(peer);
        if self.connections.values().any(|end| *end == dialling) {
            return;
        }
        let contact = self.contacts.entry(peer).or_default();
        if contact.connection.is_some() || contact.next_dial > now || (since > mine && !lost) {
            return;
        }
        let Ok(key) = PublicKey::from_bytes(key) else {
            return;
        };
        contact.dials += 1;
        // Who is alone has nothing better to do than to look for the others.
        let patience = if lost { 0 } else { contact.dials.min(3) };
        contact.next_dial = now + Duration::from_secs(1 << patience);
        // The password also opens where this program is not known to be a member yet, or not any more. Its key does everywhere else, and still
        // does when the password was changed meanwhile. So it tries them in turn.
        let with_password = contact.dials % 2 == 1;
        let password = self.config.password_as(&self.role);
        let options = samestep_proto::ConnectOptions {
            password: password.filter(|_| with_password),
            server_key: Some(key),
            ..Default::default()
        };
        if let Ok(id) = self.endpoint.connect(now, address.into(), options) {
            debug!(%peer, "connecting to a member");
            self.connections.insert(id, dialling);
        }
    }

    fn send_laggards(&mut self, now: Duration) {
        if !self.leads() {
            return;
        }
        let last = self.log.last().index;
        let lagging: Vec<PeerId> = self
            .contacts
            .iter()
            .filter(|(_, c)| c.welcomed && c.matched < last)
            .filter(|(_, c)| now.saturating_sub(c.sent_at) >= SEND_AGAIN)
            .map(|(peer, _)| *peer)
            .collect();
        let first = self.log.first();
        for peer in lagging {
            let contact = self.contact(peer);
            // Who does not have even that will say so.
            contact.sent_index = contact.matched.max(first);
            self.send_entries(now, peer);
        }
    }

    /// Whether most of those who are heard have followed somebody for a while who is not known here. What that leader says cannot be checked without its
    /// key, so nobody can tell this program what it missed: it has to join anew.
    fn is_led_by_a_stranger(&mut self, now: Duration) -> bool {
        let follows = |peer: PeerId| {
            let supports = self.contacts.get(&peer).and_then(|c| c.supports);
            supports
                .is_some_and(|(term, leader)| term >= self.term && self.key_of(leader).is_none())
        };
        let mut others = self.heard_voters(now);
        others.retain(|voter| Some(*voter) != self.me);
        if self.leads() || !is_quorum(&others, self.room.tie_breaker(), follows) {
            self.strange_since = None;
            return false;
        }
        let since = *self.strange_since.get_or_insert(now);
        now.saturating_sub(since) >= STRANGER
    }

    fn freeze_or_thaw(&mut self, now: Duration) {
        let voters = self.log.voters(&self.room);
        let waits = self.room.rules.drop_after_us.is_none();
        let enough = self.may_decide(|peer| !self.is_silent(now, peer));
        let complete = voters
            .iter()
            .all(|peer| !self.is_silent(now, *peer) || self.said_farewell(*peer));
        let goes_on = enough && (complete || !waits);
        self.stalled = !enough;
        match self.state {
            State::InSync if !goes_on => {
                self.state = State::Frozen;
                self.emit(SessionEvent::Frozen);
            }
            State::Frozen if goes_on => {
                self.state = State::InSync;
                self.emit(SessionEvent::InSync);
                self.send_proposals(now);
                self.decide(now);
            }
            State::Loading if !voters.iter().any(|peer| !self.is_silent(now, *peer)) => {
                self.rejoin_through(now, None, "nobody was heard any more while loading");
            }
            _ => {}
        }
    }

    /// The leader drops who is silent, if more than half of those whom nobody accuses say so.
    fn drop_silent(&mut self, now: Duration) {
        let Some(me) = self.me else {
            return;
        };
        let waits = self.room.rules.drop_after_us.is_none();
        let voters = self.log.voters(&self.room);
        let unaccused: Vec<PeerId> = voters
            .iter()
            .copied()
            .filter(|peer| !self.is_silent(now, *peer))
            .collect();
        let present: Vec<(PeerId, Presence)> = self
            .room
            .present()
            .filter(|p| p.id != me)
            .map(|p| (p.id, p.presence))
            .collect();
        for (peer, presence) in present {
            if !self.is_silent(now, peer) {
                continue;
            }
            let farewell = self.contacts.get(&peer).and_then(|c| c.farewell.clone());
            let votes = unaccused
                .iter()
                .filter(|voter| {
                    **voter == me
                        || self
                            .contacts
                            .get(voter)
                            .is_some_and(|c| c.accuses.contains(&peer))
                })
                .count();
            let voted_out = votes * 2 > unaccused.len();
            match farewell {
                // What it said before may still be arriving.
                Some(_) if !self.has_hung_up(now, peer) => {}
                Some(reason) => self.wish(now, peer, Change::Left { peer, reason }),
                None if presence == Presence::Loading || (voted_out && !waits) => {
                    self.wish(now, peer, Change::Away { peer })
                }
                None => {}
            }
        }
        self.fulfil_wishes(now);
    }

    /// Stands for election if the leader is silent, in turn with the others.
    fn campaign(&mut self, now: Duration) {
        let (Some(me), Some(leader)) = (self.me, self.leader) else {
            return;
        };
        let voters = self.log.voters(&self.room);
        if !voters.contains(&me) {
            return;
        }
        let silent = match leader == me {
            true => Duration::MAX,
            false => self.silent_for(now, leader),
        };
        let rank = voters
            .iter()
            .filter(|v| **v != leader && !self.is_silent(now, **v))
            .position(|v| *v == me)
            .unwrap_or(0) as u32;
        let due = silent >= self.silence() + CAMPAIGN * rank;
        // After a try, its own or one it voted in, the others get their turns before it tries again.
        let rest = CAMPAIGN * (rank + 1);
        let resting =
            now.saturating_sub(self.ballot.tried_at) < rest && self.ballot.voted >= self.term;
        if !due || resting {
            return;
        }
        self.stand(now);
    }

    /// Asks everyone for their vote.
    fn stand(&mut self, now: Duration) {
        let Some(me) = self.me else {
            return;
        };
        let voters = self.log.voters(&self.room);
        let Some(term) = self.term.max(self.ballot.voted).checked_add(1) else {
            return;
        };
        self.term = term;
        (self.ballot.voted, self.ballot.voted_for) = (term, Some(me));
        self.ballot.tried_at = now;
        self.ballot.votes = Some(BTreeSet::from([me]));
        debug!(term = self.term, "standing for election");
        self.askers.forget();
        self.wishes.clear();
        let elect = Control::Elect {
            term: self.term,
            last: self.log.last(),
        };
        for voter in voters.into_iter().filter(|v| *v != me) {
            self.send_control(now, voter, &elect);
        }
        self.count_votes(now);
    }

    pub(super) fn on_elect(&mut self, now: Duration, from: PeerId, term: u32, last: Position) {
        let Some(leader) = self.leader else {
            return;
        };
        let deposed = Some(leader) == self.me && !self.leads();
        let leader_heard =
            leader != from && !deposed && self.silent_for(now, leader) < self.silence() * 4 / 5;
        // Somebody who is not known here yet is ahead of this program.
        let member = self.log.voters(&self.room).contains(&from) || self.is_ahead(from);
        if term <= self.term || term <= self.ballot.voted || leader_heard || !member {
            return;
        }
        if !last.covers(self.log.last()) {
            return;
        }
        // What the old leader still says no longer counts here.
        self.term = term;
        (self.ballot.voted, self.ballot.voted_for) = (term, Some(from));
        self.ballot.tried_at = now;
        self.ballot.forget();
        // Others believe who is elected when they hear of the votes.
        self.next_beat = now;
        self.wake_at(now);
        debug!(candidate = %from, term, "vote given");
        self.send_control(now, from, &Control::Vote { term });
    }

    pub(super) fn on_vote(&mut self, now: Duration, from: PeerId, term: u32) {
        if term != self.term {
            return;
        }
        if let Some(votes) = &mut self.ballot.votes {
            votes.insert(from);
            self.count_votes(now);
        }
    }

    fn count_votes(&mut self, now: Duration) {
        let (Some(me), Some(votes)) = (self.me, &self.ballot.votes) else {
            return;
        };
        if !self.may_decide(|peer| votes.contains(&peer)) {
            return;
        }
        info!(term = self.term, votes = votes.len(), "won the election");
        self.ballot.forget();
        self.leader = Some(me);
        (self.led_term, self.followed_term) = (self.term, self.term);
        self.askers.forget();
        self.wishes.clear();
        let last = self.log.last().index;
        for contact in self.contacts.values_mut() {
            contact.matched = 0;
            contact.sent_index = last;
        }
        let Self {
            contacts,
            log,
            room,
            ..
        } = self;
        for (peer, contact) in contacts {
            let presence = log.presence(room, *peer);
            contact.welcomed = presence.is_some_and(|p| p != Presence::Away);
        }
        self.append(now, None, Change::Authority { peer: me });
        self.send_proposals(now);
    }

    pub(super) fn on_heartbeat(&mut self, now: Duration, from: PeerId, beat: Heartbeat) {
        if !self.room.is_mesh() || self.me.is_none() {
            return;
        }
        if !self.room.is_present(from) && !self.is_ahead(from) {
            // It does not know yet that it was dropped.
            let index = self.log.committed();
            self.send_control(now, from, &Control::Out { index });
            return;
        }
        let contact = self.contacts.entry(from).or_default();
        contact.hears = beat.hears;
        contact.accuses = beat.accuses;
        contact.reported = now;
        contact.term = beat.term;
        contact.supports = beat.supports.map(|leader| (beat.term, leader));
        contact.clock.on_told(now, beat.clock_us);
        contact.streams.on_acks(&beat.received);
        if let Some(report) = &beat.clock {
            self.time.on_mesh_report(now, from, report);
        }
        let tried = now.saturating_sub(self.ballot.tried_at) < CAMPAIGN;
        if self.leads() && beat.term > self.term && !beat.leads && !tried {
            // An election that came to nothing has left somebody with a later term: rule in a yet later one.
            self.term = beat.term;
            self.stand(now);
        }
        // As long as the leader is heard, it is the leader that goes on to a later term.
        let silent = (self.leader).is_none_or(|leader| self.is_silent(now, leader));
        if !self.leads() && !beat.leads && beat.term > self.term && silent {
            self.term = beat.term;
            self.ballot.forget();
        }
        let claims = beat.term > self.term || (beat.term == self.term && !self.leads());
        if beat.leads && claims && self.may_lead(now, from, beat.term) {
            if self.leader != Some(from) || beat.term > self.term {
                self.follow(now, beat.term, from);
            }
            self.commit(now, beat.committed.min(self.verified));
            // It counts on entries that may have been lost on the way here.
            if beat.committed > self.log.committed() {
                let gap = Control::Gap {
                    term: self.term,
                    last: self.log.committed(),
                };
                self.send_control_unreliably(now, from, &gap);
            }
        }
    }

    /// Somebody says this program is no member any more.
    pub(super) fn on_out(&mut self, now: Duration, id: ConnectionId, index: u64) {
        let member = matches!(self.state, State::InSync | State::Loading | State::Frozen);
        // It may be about an earlier life.
        if member && self.since_index <= index {
            self.rejoin_through(now, Some(id), "was dropped by the others");
        }
    }

    /// The reason a peer gave when it left, if it did.
    pub(super) fn on_farewell(&mut self, now: Duration, from: PeerId, reason: LeaveReason) {
        let leaving = matches!(reason, LeaveReason::Left(_));
        if self.room.is_mesh() && leaving {
            self.contact(from).farewell = Some(reason);
            self.next_beat = now;
            self.wake_at(now);
            return;
        }
        if !self.room.is_mesh() && self.leads() {
            // What it said before is still arriving: it has left once its connection is closed.
            self.contact(from).farewell = Some(reason);
            return;
        }
        if self.room.is_mesh() && matches!(reason, LeaveReason::RoomClosed(_)) {
            self.contact(from).says_closed = true;
            if !self.is_closed(now, from) {
                return;
            }
        }
        self.finish(now, reason);
    }
}
