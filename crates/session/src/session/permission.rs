//! Who may say what: every control message of a member, every message that a host is to pass on, and every proposal is checked here before anything is
//! done with it. WIRE.md has the same as tables (section 6.6).

use core::time::Duration;

use crate::control::{Control, Proposal};
use crate::event::LeaveReason;
use crate::id::{MessageKind, PeerId};
use crate::log::is_quorum;
use crate::room::{PeerKind, Room};
use crate::session::Session;

/// A member that has sent a heartbeat within this time counts as heard.
const REPORTED: Duration = Duration::from_secs(1);
/// A term is refused that is this much later than the one known: nobody has lost so many elections.
const MAX_LATER_TERMS: u32 = 1000;

/// What becomes of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Permission {
    /// It is handled.
    Granted,
    /// It is dropped and counted: the sender may not have known better.
    Dropped,
    /// The connection is closed: no program of this library sends it.
    Closed,
}

/// Whether a host passes a member's message of this kind on to others: the game's own and chat, but nothing that only a model, or the host, says.
pub(super) fn is_passed_on(kind: MessageKind) -> bool {
    kind.0 < MessageKind::FIRST_RESERVED || kind == MessageKind::CHAT
}

/// Whether a control message is about the connection on which it comes, and so never passed on.
pub(super) fn is_of_a_connection(control: &Control) -> bool {
    matches!(
        control,
        Control::Hello(_) | Control::Link { .. } | Control::Welcome(_) | Control::Prove(_)
    )
}

impl Session {
    /// Whether a member of the room may send this control message to this program.
    pub(super) fn permits(&self, now: Duration, from: PeerId, control: &Control) -> Permission {
        match self.room.is_mesh() {
            false => self.permits_hosted(from, control),
            true => self.permits_in_mesh(now, from, control),
        }
    }

    /// In a hosted room all control messages are between the host and each client.
    fn permits_hosted(&self, from: PeerId, control: &Control) -> Permission {
        let to_host = matches!(
            control,
            Control::Hello(_)
                | Control::Farewell(LeaveReason::Left(_))
                | Control::Propose { .. }
                | Control::Gap { .. }
        );
        let from_host = matches!(
            control,
            Control::Welcome(_)
                | Control::Farewell(_)
                | Control::Denied { .. }
                | Control::Entries(_)
        );
        let may = match self.leads() {
            true => to_host,
            false => from_host && from == self.room.authority(),
        };
        match may {
            true => Permission::Granted,
            false => Permission::Closed,
        }
    }

    /// In a mesh only the leader speaks for the room, and it leads only with the agreement of most.
    fn permits_in_mesh(&self, now: Duration, from: PeerId, control: &Control) -> Permission {
        let may = match control {
            // These come from the member that was asked, before that is known as a peer.
            Control::Welcome(_) | Control::Prove(_) => false,
            Control::Farewell(LeaveReason::Left(_) | LeaveReason::RoomClosed(_)) => true,
            Control::Farewell(_) | Control::Denied { .. } => Some(from) == self.leader,
            Control::Entries(entries) => self.may_lead(now, from, entries.term),
            Control::Elect { term, .. } => self.is_near_term(*term),
            Control::Heartbeat(beat) => self.is_near_term(beat.term),
            Control::Out { .. } => Some(from) == self.leader || !self.hears_the_room(now, from),
            Control::Hello(_)
            | Control::Link { .. }
            | Control::Loaded
            | Control::Propose { .. }
            | Control::Matched { .. }
            | Control::Gap { .. }
            | Control::Vote { .. } => true,
        };
        match may {
            true => Permission::Granted,
            false => Permission::Dropped,
        }
    }

    fn is_near_term(&self, term: u32) -> bool {
        term <= self.term.saturating_add(MAX_LATER_TERMS)
    }

    /// Whether a member of a mesh leads in this term, as far as this program can tell: it follows that member already, has voted for it, or most
    /// of the voters that it hears do.
    pub(super) fn may_lead(&self, now: Duration, from: PeerId, term: u32) -> bool {
        if term < self.term || !self.is_near_term(term) {
            return false;
        }
        if self.supports(term) == Some(from) {
            return true;
        }
        let supports = |peer: PeerId| {
            let contact = self.contacts.get(&peer);
            peer == from || contact.is_some_and(|c| c.supports == Some((term, from)))
        };
        let heard = self.heard_voters(now);
        is_quorum(&heard, self.room.tie_breaker(), supports)
    }

    /// The member that this program follows in a term, or has voted for.
    pub(super) fn supports(&self, term: u32) -> Option<PeerId> {
        let voted = self.ballot.vote_in(term);
        let followed = self.leader.filter(|_| self.followed_term == term);
        voted.or(followed)
    }

    /// The voters of a mesh that are not silent, and this program if it is one.
    pub(super) fn heard_voters(&self, now: Duration) -> Vec<PeerId> {
        let mut voters = self.log.voters(&self.room);
        voters.retain(|voter| !self.is_silent(now, *voter));
        voters
    }

    /// Whether most members still send this program heartbeats, beside one that says that it is out: they do not to who is.
    fn hears_the_room(&self, now: Duration, beside: PeerId) -> bool {
        self.may_decide(|peer| {
            let contact = self.contacts.get(&peer).filter(|_| peer != beside);
            let reported = contact.is_some_and(|c| now.saturating_sub(c.reported) < REPORTED);
            Some(peer) == self.me || reported
        })
    }

    /// Whether the room is closed, now that a member says so: the leader does, this program knows of it from the leader, or most of the others
    /// say it.
    pub(super) fn is_closed(&self, now: Duration, from: PeerId) -> bool {
        if Some(from) == self.leader || self.log.announces_close() {
            return true;
        }
        let says = |peer: PeerId| self.contacts.get(&peer).is_some_and(|c| c.says_closed);
        let mut others = self.log.voters(&self.room);
        others
            .retain(|peer| Some(*peer) != self.me && (!self.is_silent(now, *peer) || says(*peer)));
        is_quorum(&others, self.room.tie_breaker(), says)
    }
}

/// Why the authority denies a proposal whatever is in it: its sender may not make it. `None` if it may.
pub(super) fn denies(
    room: &Room,
    me: PeerId,
    from: PeerId,
    proposal: &Proposal,
) -> Option<&'static str> {
    let by_authority = from == me;
    let watches = room
        .peer(from)
        .is_some_and(|p| p.kind == PeerKind::Spectator);
    match proposal {
        Proposal::Start if !by_authority => Some("only the authority starts the game"),
        Proposal::Settings(_) | Proposal::End { .. } | Proposal::Rematch if watches => {
            Some("spectators do not decide")
        }
        Proposal::Admit { .. } if !room.is_mesh() && !by_authority => {
            Some("only the host lets somebody in")
        }
        _ => None,
    }
}
