//! Actions: confirmed by the authority first, or done at once and checked after; and fairness in time.

use core::time::Duration;
use std::collections::VecDeque;

use samestep_wire::{Wire, decode_exact, encode_to_vec};

use crate::control::Proposal;
use crate::event::{SessionEvent, State};
use crate::id::{MessageKind, PeerId, RequestId, Ticket};
use crate::log::{Lane, Origin};
use crate::payload::Payload;
use crate::room::Change;
use crate::session::Session;
use crate::session::send::{SendError, To};
use samestep_proto::Delivery;

/// Longest action.
const MAX_ACTION: usize = 65_536;
/// The maximum number of unconfirmed actions that wait for the game's verdict, and of messages held for fairness: of all peers, and of one.
const MAX_OPEN: usize = 4096;
const MAX_OPEN_OF_ONE: usize = 1024;

const ACT: MessageKind = MessageKind(0xFF01);
const ACTED: MessageKind = MessageKind(0xFF02);
const REJECTED: MessageKind = MessageKind(0xFF03);

/// The authority's answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It takes place, as described by these bytes: a command to all.
    Command(Vec<u8>),
    /// It is denied, for this reason, which only the requesting peer gets.
    Deny(Vec<u8>),
}

#[derive(Clone, PartialEq, Eq, Debug, Wire)]
struct Act {
    request: RequestId,
    kind: MessageKind,
    #[wire(max_len = 65_536)]
    payload: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Debug, Wire)]
struct Acted {
    actor: PeerId,
    kind: MessageKind,
    #[wire(max_len = 65_536)]
    payload: Vec<u8>,
}

/// Unconfirmed actions, and messages held back for fairness.
#[derive(Debug, Default)]
pub(super) struct Acts {
    last: u32,
    /// Own actions that have not been rejected so far, the newest last.
    unrejected: VecDeque<RequestId>,
    open: VecDeque<(Ticket, MessageKind, Payload)>,
    /// Messages held for fairness, in the order of their release.
    held: VecDeque<HeldMessage>,
    own_delay: Duration,
    own_held_until: Duration,
    next_look: Duration,
}

/// A message that is held back to equalize the latencies of the players.
#[derive(Debug)]
struct HeldMessage {
    until: Duration,
    from: PeerId,
    kind: MessageKind,
    payload: Payload,
}

impl Acts {
    pub(super) fn hold(
        &mut self,
        until: Duration,
        from: PeerId,
        kind: MessageKind,
        payload: Payload,
    ) -> bool {
        let of_it = self.held.iter().filter(|held| held.from == from).count();
        let has_room = of_it < MAX_OPEN_OF_ONE && self.held.len() < MAX_OPEN;
        if has_room {
            let at = self.held.partition_point(|held| held.until <= until);
            let held = HeldMessage {
                until,
                from,
                kind,
                payload,
            };
            self.held.insert(at, held);
        }
        has_room
    }

    /// Continues to count from this number.
    pub(super) fn skip_to(&mut self, number: u32) {
        self.last = self.last.max(number);
    }

    /// Drops all actions that wait for a verdict and all held messages.
    pub(super) fn forget(&mut self) {
        self.open.clear();
        self.held.clear();
    }

    /// Drops the waiting actions of an earlier incarnation of a peer.
    pub(super) fn forget_peer(&mut self, peer: PeerId) {
        self.open.retain(|(ticket, _, _)| ticket.peer != peer);
    }

    /// Has the latencies read again by then.
    pub(super) fn reconsider(&mut self, by: Duration) {
        self.next_look = self.next_look.min(by);
    }
}

impl Session {
    /// Asks the authority for an action. [`request`](Self::request) does the same for a type of action.
    pub fn request_bytes(
        &mut self,
        now: Duration,
        kind: MessageKind,
        payload: &[u8],
    ) -> Result<RequestId, SendError> {
        if payload.len() > MAX_ACTION {
            return Err(SendError::ActionTooLong);
        }
        if self.me.is_none() || matches!(self.state, State::Left(_)) {
            return Err(SendError::NotInRoom);
        }
        let payload = payload.to_vec();
        let number = self.propose(now, Proposal::Action { kind, payload });
        number.map(RequestId).ok_or(SendError::Unanswered)
    }

    /// The authority's decision about a [`Request`](SessionEvent::Request).
    pub fn resolve(&mut self, now: Duration, ticket: Ticket, verdict: Verdict) {
        let number = ticket.request.0;
        let Some(kind) = self.close_ticket(ticket.peer, number) else {
            return;
        };
        if self.is_leaving(ticket.peer) {
            return self.decide(now);
        }
        match verdict {
            Verdict::Command(payload) if payload.len() <= MAX_ACTION => {
                let origin = Origin {
                    peer: ticket.peer,
                    lane: Lane::Action,
                    number,
                };
                let change = Change::Command {
                    from: ticket.peer,
                    kind,
                    payload,
                };
                self.append(now, Some(origin), change);
            }
            Verdict::Command(_) => self.deny(now, ticket.peer, Lane::Action, number, Vec::new()),
            Verdict::Deny(mut reason) => {
                reason.truncate(MAX_ACTION);
                self.deny(now, ticket.peer, Lane::Action, number, reason);
            }
        }
        self.decide(now);
    }

    /// Acts at once; the authority checks it afterwards and passes it on. [`act`](Self::act) does the same for a type of
    /// action.
    pub fn act_bytes(
        &mut self,
        now: Duration,
        kind: MessageKind,
        payload: &[u8],
    ) -> Result<RequestId, SendError> {
        if payload.len() > MAX_ACTION {
            return Err(SendError::ActionTooLong);
        }
        let me = self.me.ok_or(SendError::NotInRoom)?;
        let request = RequestId(self.requests.acts.last.wrapping_add(1));
        let act = Act {
            request,
            kind,
            payload: payload.to_vec(),
        };
        let bytes = encode_to_vec(&act).map_err(SendError::Encode)?;
        let to = match self.room.is_mesh() {
            true => To::Others,
            false => To::Authority,
        };
        self.send_bytes(now, to, Delivery::ReliableOrdered, ACT, &bytes)?;
        if self.room.is_mesh() && me == self.room.authority() {
            // The leader's own actions are checked like everybody else's.
            self.on_game(now, me, ACT, bytes.into());
        }
        self.requests.acts.last = request.0;
        if self.requests.acts.unrejected.len() == MAX_OPEN {
            self.requests.acts.unrejected.pop_front();
        }
        self.requests.acts.unrejected.push_back(request);
        self.emit(SessionEvent::Acted {
            from: me,
            request: Some(request),
            kind,
            payload: self.traffic.buffers.payload(payload),
        });
        Ok(request)
    }

    /// The game's judgement of a [`Check`](SessionEvent::Check).
    pub fn judge(&mut self, now: Duration, ticket: Ticket, verdict: Result<(), Vec<u8>>) {
        let Some(at) = self
            .requests
            .acts
            .open
            .iter()
            .position(|(t, _, _)| *t == ticket)
        else {
            return;
        };
        let Some((_, kind, payload)) = self.requests.acts.open.remove(at) else {
            return;
        };
        let Some(me) = self.me else {
            return;
        };
        match verdict {
            Ok(()) => {
                if ticket.peer != me {
                    self.emit(SessionEvent::Acted {
                        from: ticket.peer,
                        request: None,
                        kind,
                        payload: payload.clone(),
                    });
                }
                if self.leads() && !self.room.is_mesh() {
                    self.pass_act_on(now, ticket.peer, kind, payload.to_vec());
                }
            }
            Err(reason) if me == self.room.authority() => self.reject(now, ticket, kind, reason),
            Err(_) => {}
        }
    }

    fn pass_act_on(&mut self, now: Duration, actor: PeerId, kind: MessageKind, payload: Vec<u8>) {
        let acted = Acted {
            actor,
            kind,
            payload,
        };
        let bytes = encode_to_vec(&acted).expect("an action within its bounds");
        let others: Vec<PeerId> = self
            .room
            .present()
            .map(|p| p.id)
            .filter(|p| *p != actor && Some(*p) != self.me)
            .collect();
        for peer in others {
            let _ = self.send_bytes(
                now,
                To::Peer(peer),
                Delivery::ReliableOrdered,
                ACTED,
                &bytes,
            );
        }
    }

    fn reject(&mut self, now: Duration, ticket: Ticket, kind: MessageKind, mut reason: Vec<u8>) {
        reason.truncate(MAX_ACTION);
        if Some(ticket.peer) == self.me {
            return self.on_rejected(ticket.request, kind, reason);
        }
        let rejected = Act {
            request: ticket.request,
            kind,
            payload: reason,
        };
        let bytes = encode_to_vec(&rejected).expect("a reason within its bounds");
        let to = To::Peer(ticket.peer);
        let _ = self.send_bytes(now, to, Delivery::ReliableOrdered, REJECTED, &bytes);
    }

    /// The first rejection counts; another leader may have come to the same judgement.
    fn on_rejected(&mut self, request: RequestId, kind: MessageKind, reason: Vec<u8>) {
        let open = &mut self.requests.acts.unrejected;
        if let Some(at) = open.iter().position(|r| *r == request) {
            open.remove(at);
            self.emit(SessionEvent::Rejected {
                request,
                kind,
                reason,
            });
        }
    }

    /// Handles a message about unconfirmed actions. Returns whether it was one.
    pub(super) fn on_act_message(
        &mut self,
        _now: Duration,
        from: PeerId,
        kind: MessageKind,
        payload: &[u8],
    ) -> bool {
        let from_authority = from == self.room.authority();
        match kind {
            ACT => {
                let judges = self.room.is_mesh() || self.leads();
                let Ok(act) = decode_exact::<Act>(payload) else {
                    self.traffic.malformed += 1;
                    return true;
                };
                let of_it = self
                    .requests
                    .acts
                    .open
                    .iter()
                    .filter(|open| open.0.peer == from);
                let has_room =
                    of_it.count() < MAX_OPEN_OF_ONE && self.requests.acts.open.len() < MAX_OPEN;
                self.traffic.refused += u64::from(!judges || !has_room);
                if judges && has_room {
                    let ticket = Ticket {
                        peer: from,
                        request: act.request,
                    };
                    let (kind, payload) = (act.kind, Payload::from(act.payload));
                    self.requests
                        .acts
                        .open
                        .push_back((ticket, kind, payload.clone()));
                    self.emit(SessionEvent::Check {
                        ticket,
                        kind,
                        payload,
                    });
                }
            }
            ACTED => match decode_exact::<Acted>(payload) {
                Ok(acted)
                    if from_authority && !self.room.is_mesh() && Some(acted.actor) != self.me =>
                {
                    self.emit(SessionEvent::Acted {
                        from: acted.actor,
                        request: None,
                        kind: acted.kind,
                        payload: acted.payload.into(),
                    });
                }
                _ => self.traffic.malformed += 1,
            },
            REJECTED => match decode_exact::<Act>(payload) {
                Ok(act) if from_authority => self.on_rejected(act.request, act.kind, act.payload),
                _ => self.traffic.malformed += 1,
            },
            _ => return false,
        }
        true
    }

    /// When a message of this peer may be delivered, if everybody is to have the latency of the farthest.
    pub(super) fn fair_release(&mut self, now: Duration, from: PeerId) -> Duration {
        if self.config.fairness.is_none() || !self.leads() {
            return now;
        }
        self.look_at_latencies(now);
        let (delay, held_until) = match self.links.contacts.get_mut(&from) {
            Some(contact) => (contact.fairness.delay, &mut contact.fairness.held_until),
            None => (
                self.requests.acts.own_delay,
                &mut self.requests.acts.own_held_until,
            ),
        };
        // Never before an earlier message of the same peer.
        *held_until = (now + delay).max(*held_until);
        *held_until
    }

    fn look_at_latencies(&mut self, now: Duration) {
        let Some(fairness) = self.config.fairness else {
            return;
        };
        if now < self.requests.acts.next_look {
            return;
        }
        self.requests.acts.next_look = now + fairness.every;
        let players: Vec<PeerId> = self.room.players().iter().map(|p| p.peer).collect();
        let of = |peer: PeerId| self.latency(peer).min(fairness.at_most);
        let farthest = players.iter().map(|p| of(*p)).max().unwrap_or_default();
        let delays: Vec<(PeerId, Duration)> = self
            .links
            .contacts
            .keys()
            .map(|peer| (*peer, farthest.saturating_sub(of(*peer))))
            .collect();
        for (peer, delay) in delays {
            self.contact(peer).fairness.delay = delay;
        }
        self.requests.acts.own_delay = farthest;
    }

    /// How long a peer's messages are held at present to equalize the latencies of the players.
    pub fn fairness_delay(&self, peer: PeerId) -> Duration {
        match self.links.contacts.get(&peer) {
            Some(contact) => contact.fairness.delay,
            None => self.requests.acts.own_delay,
        }
    }

    /// Delivers the messages that have been held long enough.
    pub(super) fn release_held(&mut self, now: Duration) {
        while let Some(held) = self.requests.acts.held.pop_front() {
            if held.until > now {
                self.wake_at(held.until);
                return self.requests.acts.held.push_front(held);
            }
            self.deliver(now, held.from, held.kind, held.payload);
        }
    }
}
