//! Who may say what: every control message of a member, every message that a host is to pass on, and every proposal is checked here before anything is
//! done with it. WIRE.md has the same as tables (section 6.6).

use core::time::Duration;

use crate::control::{Control, Proposal};
use crate::event::LeaveReason;
use crate::id::{MessageKind, PeerId};
use crate::room::{Change, PeerKind, Room};
use crate::session::Session;

/// A member that has sent a heartbeat within this time counts as heard.
const REPORTED: Duration = Duration::from_secs(4);

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
                | Control::Ability { .. }
        );
        let from_host = matches!(
            control,
            Control::Welcome(_)
                | Control::Farewell(_)
                | Control::Denied { .. }
                | Control::Entries(_)
                | Control::Certain { .. }
                | Control::Yields { .. }
        );
        // Who hosts may be changing: what these say is checked by the agreement, and by who stands by.
        if matches!(
            control,
            Control::Succession(_) | Control::TakeOver(_) | Control::Follows { .. }
        ) {
            return Permission::Granted;
        }
        let may = match self.leads() {
            true => to_host,
            false => from_host && (from == self.room.authority() || Some(from) == self.leader),
        };
        match may {
            true => Permission::Granted,
            // Who hosts may have changed, and the sender not know it yet.
            false if !self.room.standbys().is_empty() => Permission::Dropped,
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
            Control::Out { .. } => Some(from) == self.leader || !self.hears_the_room(now, from),
            // A mesh has no host, and who is frozen says so to who is no member.
            Control::Entries(_)
            | Control::Frozen { .. }
            | Control::Succession(_)
            | Control::Certain { .. }
            | Control::Yields { .. }
            | Control::TakeOver(_)
            | Control::Follows { .. } => false,
            // Who does not follow the game asks the leader for its state.
            Control::Ability { is_ready, .. } => !is_ready && self.leads(),
            Control::Hello(_)
            | Control::Link { .. }
            | Control::Propose { .. }
            | Control::Agreement(_)
            | Control::SameBeat { .. }
            | Control::Heartbeat(_) => true,
        };
        match may {
            true => Permission::Granted,
            false => Permission::Dropped,
        }
    }

    /// Whether most members still send this program heartbeats, beside one that says that it is out: they do not to who is.
    fn hears_the_room(&self, now: Duration, beside: PeerId) -> bool {
        self.is_quorum(|peer| {
            let contact = self.links.contacts.get(&peer).filter(|_| peer != beside);
            let reported = contact.is_some_and(|c| now.saturating_sub(c.reported) < REPORTED);
            Some(peer) == self.me || reported
        })
    }

    /// Whether these members of the present view may decide for all.
    fn is_quorum(&self, with: impl Fn(PeerId) -> bool) -> bool {
        let Some(view) = self.mesh.view() else {
            return false;
        };
        view.is_quorum(|who| view.slot(who).is_some_and(|slot| with(PeerId(slot.0))))
    }

    /// Whether the room is closed, now that a member says so: the leader does, this program knows of it from the leader, or most of the others
    /// say it.
    pub(super) fn is_closed(&self, now: Duration, from: PeerId) -> bool {
        let is_close = |change: &Change| matches!(change, Change::Closed { .. });
        if Some(from) == self.leader || self.mesh.awaits(is_close) {
            return true;
        }
        let says = |peer: PeerId| {
            self.links
                .contacts
                .get(&peer)
                .is_some_and(|c| c.says_closed)
        };
        let others = self.mesh.view().into_iter().flat_map(|v| &v.members);
        let others = others
            .map(|m| PeerId(m.slot.0))
            .filter(|peer| Some(*peer) != self.me && (!self.is_silent(now, *peer) || says(*peer)));
        let (saying, silent): (Vec<PeerId>, Vec<PeerId>) = others.partition(|peer| says(*peer));
        saying.len() > silent.len()
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
        Proposal::Settings(_)
        | Proposal::End { .. }
        | Proposal::Rematch
        | Proposal::Report { .. }
            if watches =>
        {
            Some("spectators do not decide")
        }
        Proposal::Admit { .. } if !room.is_mesh() && !by_authority => {
            Some("only the host lets somebody in")
        }
        _ => None,
    }
}
