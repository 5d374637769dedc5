//! Proposals: from whoever wants a change to the authority that decides, exactly once.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use samestep_wire::encode_to_vec;
use tracing::warn;

use crate::agreement::Incarnation;
use crate::control::{Control, Proposal};
use crate::event::SessionEvent;
use crate::id::{MemberKey, MessageKind, PeerId, RequestId};
use crate::log::{Lane, Origin};
use crate::room::{Change, NetworkObject, Phase, Presence, Settings, distinct};
use crate::secret;
use crate::session::Session;
use crate::session::admit::{Admission, Replaced};
use crate::session::permission::denies;
use crate::session::report::consider_report;

/// Unanswered proposals are said again after this long.
const SAY_AGAIN: Duration = Duration::from_millis(700);
/// Refusals remembered for each peer, in case they got lost with a connection.
const REMEMBERED: usize = 256;
/// Proposals of one peer that may wait to be decided, and the bytes of the actions among them.
const MAX_WAITING: usize = 1024;
const MAX_WAITING_BYTES: usize = 1 << 20;
/// Proposals of this program that may be unanswered.
const MAX_UNANSWERED: usize = 1024;

/// What this program has proposed and not yet seen answered.
#[derive(Debug, Default)]
pub(super) struct Proposals {
    lanes: [Open; 2],
    said_at: Duration,
}

#[derive(Debug, Default)]
struct Open {
    open: VecDeque<(u32, Proposal)>,
    last: u32,
}

impl Proposals {
    /// Whether this is proposed already and not settled.
    pub(super) fn is_open(&self, proposal: &Proposal) -> bool {
        let lane = &self.lanes[proposal.lane() as usize];
        lane.open.iter().any(|(_, open)| open == proposal)
    }
}

/// What others, and this program itself, have proposed to the authority.
#[derive(Debug, Default)]
pub(super) struct Askers(BTreeMap<(PeerId, Lane), Asker>);

#[derive(Debug, Default)]
struct Asker {
    /// The number expected next.
    next: u32,
    waiting: VecDeque<(Duration, u32, Proposal)>,
    /// Bytes of the actions that wait.
    waiting_bytes: usize,
    /// An action the game is deciding about.
    deciding: Option<(u32, MessageKind)>,
    denied: VecDeque<(u32, Vec<u8>)>,
}

impl Askers {
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    pub(super) fn forget_peer(&mut self, peer: PeerId) {
        self.0.retain(|(asker, _), _| *asker != peer);
    }

    /// Those of whom something waits that is not being decided.
    fn undecided(&self) -> impl Iterator<Item = (PeerId, Lane)> {
        self.0
            .iter()
            .filter(|(_, asker)| asker.deciding.is_none() && !asker.waiting.is_empty())
            .map(|(key, _)| *key)
    }

    /// When something held for fairness may be decided.
    pub(super) fn next_release(&self, now: Duration) -> Option<Duration> {
        self.0
            .values()
            .filter(|asker| asker.deciding.is_none())
            .filter_map(|asker| asker.waiting.front().map(|(at, _, _)| *at))
            .filter(|at| *at > now)
            .min()
    }
}

/// What the authority makes of a proposal.
pub(super) enum Decision {
    Change(Change),
    /// It was that way already.
    Nothing,
    Deny(Vec<u8>),
    /// The game decides.
    AskGame(MessageKind, Vec<u8>),
    Later,
    /// Later, once this incarnation is no member any more.
    Supersede(Incarnation),
    /// Later, because this must become true before.
    After(Change),
}

impl Asker {
    fn has_room_for(&self, proposal: &Proposal) -> bool {
        self.waiting.len() < MAX_WAITING
            && self.waiting_bytes + action_bytes(proposal) <= MAX_WAITING_BYTES
    }

    fn push(&mut self, release: Duration, number: u32, proposal: Proposal) {
        self.waiting_bytes += action_bytes(&proposal);
        self.waiting.push_back((release, number, proposal));
    }

    fn pop(&mut self) {
        if let Some((_, _, proposal)) = self.waiting.pop_front() {
            self.waiting_bytes -= action_bytes(&proposal);
        }
    }
}

fn action_bytes(proposal: &Proposal) -> usize {
    match proposal {
        Proposal::Action { payload, .. } => payload.len(),
        _ => 0,
    }
}

pub(super) fn words(text: &str) -> Decision {
    Decision::Deny(text.as_bytes().to_vec())
}

impl Session {
    /// Proposes a change; it is said again until it is answered. `None`, and nothing is proposed, while too many are unanswered.
    pub(super) fn propose(&mut self, now: Duration, proposal: Proposal) -> Option<u32> {
        if self
            .requests
            .proposals
            .lanes
            .iter()
            .all(|lane| lane.open.is_empty())
        {
            self.requests.proposals.said_at = now;
        }
        let lane = &mut self.requests.proposals.lanes[proposal.lane() as usize];
        if lane.open.len() >= MAX_UNANSWERED {
            warn!("too many proposals are unanswered: one was dropped");
            return None;
        }
        lane.last = lane.last.checked_add(1)?;
        let number = lane.last;
        lane.open.push_back((number, proposal.clone()));
        #[cfg(any(fuzzing, feature = "hostile"))]
        if matches!(proposal, Proposal::Admit { .. }) {
            self.traffic.false_relay.admits.push(proposal.clone());
        }
        self.say_proposal(now, number, proposal);
        self.wake_at(now + SAY_AGAIN);
        Some(number)
    }

    fn say_proposal(&mut self, now: Duration, number: u32, proposal: Proposal) {
        let lane = &self.requests.proposals.lanes[proposal.lane() as usize];
        let oldest_open = lane.open.front().map_or(number, |(n, _)| *n);
        match (self.leader, self.me) {
            (Some(leader), Some(me)) if leader == me => {
                self.on_propose(now, me, number, oldest_open, proposal);
            }
            (Some(leader), Some(_)) => {
                let control = Control::Propose {
                    by: self.own.incarnation,
                    number,
                    oldest_open,
                    proposal,
                };
                self.send_control(now, leader, &control);
            }
            _ => {}
        }
    }

    /// Says everything unanswered again: there is a new authority, or a new way to it.
    pub(super) fn send_proposals(&mut self, now: Duration) {
        self.requests.proposals.said_at = now;
        for lane in 0..2 {
            for (number, proposal) in self.requests.proposals.lanes[lane].open.clone() {
                self.say_proposal(now, number, proposal);
            }
        }
    }

    /// When something is said again, at the latest.
    pub(super) fn proposals_due(&self) -> Option<Duration> {
        let open = self
            .requests
            .proposals
            .lanes
            .iter()
            .any(|lane| !lane.open.is_empty());
        (open && !self.leads()).then_some(self.requests.proposals.said_at + SAY_AGAIN)
    }

    /// Whether this program is asking for this newcomer already.
    pub(super) fn asks_to_admit(&self, newcomer: &MemberKey) -> bool {
        self.requests.proposals.lanes[Lane::House as usize]
            .open
            .iter()
            .any(|(_, proposal)| match proposal {
                Proposal::Admit { key, .. } => key == newcomer,
                _ => false,
            })
    }

    /// Who wanted to join has gone: what was asked for it is asked no more.
    pub(super) fn withdraw_admission(&mut self, newcomer: MemberKey) {
        for (_, proposal) in &mut self.requests.proposals.lanes[Lane::House as usize].open {
            if matches!(proposal, Proposal::Admit { key, .. } if *key == newcomer) {
                *proposal = Proposal::Withdrawn;
            }
        }
    }

    /// The incarnation of a peer, as the room knows it.
    fn incarnation_of(&self, peer: PeerId) -> Incarnation {
        self.room
            .peer(peer)
            .map_or(Incarnation::ANYONE, |p| p.incarnation)
    }

    /// Numbers that a peer cannot have come to yet.
    pub(super) fn beyond(&self, peer: PeerId) -> [u32; 2] {
        [Lane::House, Lane::Action].map(|lane| {
            let asked = self
                .leading
                .askers
                .0
                .get(&(peer, lane))
                .map_or(0, |a| a.next);
            let settled = self.mesh.settled(&self.room, peer, lane);
            asked.max(settled).saturating_add(MAX_WAITING as u32)
        })
    }

    /// Numbers go on from what the room remembers of this program.
    pub(super) fn on_rejoined(&mut self, now: Duration, resumed: bool) {
        let (settled, denied) = self
            .me
            .and_then(|me| self.room.peer(me))
            .map_or(([0; 2], Vec::new()), |p| (p.settled, p.denied.clone()));
        // Every network id took a proposal, so none of before can have a higher number.
        self.own.next_object = self.own.next_object.max(settled[Lane::House as usize]);
        for (lane, settled) in settled.into_iter().enumerate() {
            let lane = &mut self.requests.proposals.lanes[lane];
            lane.last = lane.last.max(settled);
            if resumed {
                continue;
            }
            // What was applied meanwhile is in the state that comes with joining.
            let open = core::mem::take(&mut lane.open);
            for (number, proposal) in open {
                match proposal {
                    Proposal::Action { kind, .. } if number <= settled => {
                        let request = RequestId(number);
                        self.inbox.push(match denied.contains(&number) {
                            true => SessionEvent::Denied {
                                request,
                                kind,
                                reason: Vec::new(),
                            },
                            false => SessionEvent::Included { request, kind },
                        });
                    }
                    _ if number <= settled => {}
                    // It will be said anew if it is still true.
                    Proposal::Loaded | Proposal::Admit { .. } => {}
                    proposal => lane.open.push_back((number, proposal)),
                }
            }
        }
        self.send_proposals(now);
    }

    /// The session is over: nothing will be answered any more.
    pub(super) fn give_up_proposals(&mut self) {
        let lane = &mut self.requests.proposals.lanes[Lane::Action as usize];
        for (number, proposal) in core::mem::take(&mut lane.open) {
            if let Proposal::Action { kind, .. } = proposal {
                self.emit(SessionEvent::Denied {
                    request: RequestId(number),
                    kind,
                    reason: Vec::new(),
                });
            }
        }
    }

    /// A proposal of this program became a change. Returns whether it is of this life.
    pub(super) fn on_settled(&mut self, lane: Lane, number: u32) -> bool {
        let lane = &mut self.requests.proposals.lanes[lane as usize];
        let open = lane.open.len();
        lane.open.retain(|(n, _)| *n != number);
        lane.open.len() < open
    }

    /// The authority said No.
    pub(super) fn on_denied(&mut self, now: Duration, lane: Lane, number: u32, reason: Vec<u8>) {
        let lane = &mut self.requests.proposals.lanes[lane as usize];
        let Some(at) = lane.open.iter().position(|(n, _)| *n == number) else {
            return;
        };
        match lane.open.remove(at) {
            Some((_, Proposal::Action { kind, .. })) => self.emit(SessionEvent::Denied {
                request: RequestId(number),
                kind,
                reason,
            }),
            Some((_, Proposal::Admit { key, .. })) => self.on_not_admitted(now, &key, &reason),
            _ => {}
        }
    }

    /// To the authority: somebody proposes.
    pub(super) fn on_propose(
        &mut self,
        now: Duration,
        from: PeerId,
        number: u32,
        oldest_open: u32,
        proposal: Proposal,
    ) {
        if !self.leads() || !self.room.is_present(from) {
            return;
        }
        let lane = proposal.lane();
        let settled = self.mesh.settled(&self.room, from, lane);
        let release = match proposal {
            Proposal::Action { .. } => self.fair_release(now, from),
            _ => now,
        };
        let asker = self.leading.askers.0.entry((from, lane)).or_default();
        asker.next = asker.next.max(oldest_open).max(settled.saturating_add(1));
        if number < asker.next {
            let denied = asker.denied.iter().find(|(n, _)| *n == number).cloned();
            if let Some((number, reason)) = denied {
                let denied = Control::Denied {
                    to: self.incarnation_of(from),
                    lane,
                    number,
                    reason,
                };
                self.send_control(now, from, &denied);
            }
            return;
        }
        if number > asker.next || number == u32::MAX || !asker.has_room_for(&proposal) {
            // It will be said again.
            self.traffic.refused += 1;
            return;
        }
        asker.next = number + 1;
        let release = asker
            .waiting
            .back()
            .map_or(release, |(at, _, _)| release.max(*at));
        asker.push(release, number, proposal);
        self.decide(now);
    }

    /// Decides what can be decided now.
    pub(super) fn decide(&mut self, now: Duration) {
        if !self.can_append(now) {
            return;
        }
        let askers: Vec<(PeerId, Lane)> = self.leading.askers.undecided().collect();
        for (peer, lane) in askers {
            while self.decide_next(now, peer, lane) {}
        }
        self.fulfil_wishes(now);
    }

    fn decide_next(&mut self, now: Duration, peer: PeerId, lane: Lane) -> bool {
        let Some(asker) = self.leading.askers.0.get_mut(&(peer, lane)) else {
            return false;
        };
        if asker.deciding.is_some() {
            return false;
        }
        let Some((release, number, proposal)) = asker.waiting.front().cloned() else {
            return false;
        };
        if release > now {
            self.wake_at(release);
            return false;
        }
        if let Proposal::Admit { key, .. } = &proposal {
            self.note_reclaim(now, key);
        }
        let decision = self.consider(now, peer, proposal);
        let Some(asker) = self.leading.askers.0.get_mut(&(peer, lane)) else {
            return false;
        };
        match decision {
            Decision::Later => return false,
            Decision::Supersede(former) => {
                self.mesh.superseded.insert(former);
                return false;
            }
            Decision::After(change) => {
                self.append(now, None, change);
                return false;
            }
            _ => {}
        }
        asker.pop();
        let origin = Origin { peer, lane, number };
        match decision {
            Decision::Change(change) => {
                self.append(now, Some(origin), change);
            }
            Decision::Nothing => self.deny(now, peer, lane, number, Vec::new()),
            Decision::Deny(reason) => self.deny(now, peer, lane, number, reason),
            Decision::AskGame(kind, payload) => {
                asker.deciding = Some((number, kind));
                self.emit(SessionEvent::Request {
                    ticket: crate::id::Ticket {
                        peer,
                        request: RequestId(number),
                    },
                    kind,
                    payload: payload.into(),
                });
            }
            Decision::Later | Decision::Supersede(_) | Decision::After(_) => {}
        }
        true
    }

    pub(super) fn deny(
        &mut self,
        now: Duration,
        peer: PeerId,
        lane: Lane,
        number: u32,
        reason: Vec<u8>,
    ) {
        let asker = self.leading.askers.0.entry((peer, lane)).or_default();
        if asker.denied.len() == REMEMBERED {
            asker.denied.pop_front();
        }
        asker.denied.push_back((number, reason.clone()));
        if Some(peer) == self.me {
            self.on_denied(now, lane, number, reason);
        } else {
            // In the order in which all was decided.
            self.feed(now, peer);
            let denied = Control::Denied {
                to: self.incarnation_of(peer),
                lane,
                number,
                reason,
            };
            self.send_control(now, peer, &denied);
        }
        if lane == Lane::Action {
            // A verdict is a verdict, also for who is away when it is spoken, and under the next authority.
            let origin = Origin { peer, lane, number };
            self.append(now, Some(origin), Change::Denial);
        }
    }

    /// Whether a peer's departure is in the log, committed or not: nothing that it asked for follows, because the room remembers what was settled
    /// before, and it may ask again under another number.
    pub(super) fn is_leaving(&self, peer: PeerId) -> bool {
        self.mesh.expected(&self.room).peer(peer).is_none()
    }

    /// The game has decided about an action. Returns its kind if it was still open.
    pub(super) fn close_ticket(&mut self, peer: PeerId, number: u32) -> Option<MessageKind> {
        let asker = self.leading.askers.0.get_mut(&(peer, Lane::Action))?;
        let (open, kind) = asker.deciding?;
        if open != number {
            return None;
        }
        asker.deciding = None;
        Some(kind)
    }

    fn consider(&self, now: Duration, from: PeerId, proposal: Proposal) -> Decision {
        let expected = self.mesh.expected(&self.room);
        if expected.peer(from).is_none() {
            return Decision::Later;
        }
        let plays = |player| expected.player(player).is_some_and(|p| p.peer == from);
        let me = self.me.unwrap_or(expected.authority());
        if let Some(reason) = denies(&expected, me, from, &proposal) {
            return words(reason);
        }
        match proposal {
            Proposal::Action { kind, payload } => {
                // The game decides with everything decided before in view.
                let elected = self.me == Some(self.room.authority());
                let is_command = |change: &Change| matches!(change, Change::Command { .. });
                match elected && !self.mesh.awaits(is_command) {
                    true => Decision::AskGame(kind, payload),
                    false => Decision::Later,
                }
            }
            Proposal::Profile { player, profile } => match plays(player) {
                true => {
                    let others = expected.players().iter().filter(|p| p.id != player);
                    let profile = distinct(&profile, others.map(|p| &p.profile));
                    Decision::Change(Change::Profile { player, profile })
                }
                false => words("that player is somebody else"),
            },
            Proposal::Ready { player, ready } => match plays(player) {
                true if *expected.phase() != Phase::SetUp => words("the game has begun"),
                true => Decision::Change(Change::Ready { player, ready }),
                false => words("that player is somebody else"),
            },
            Proposal::Settings(settings) => self.consider_settings(&expected, from, settings),
            Proposal::Start => match expected.phase() {
                Phase::SetUp => Decision::Change(self.start_change(now)),
                _ => words("the game has begun"),
            },
            Proposal::End { result } => self.consider_end(&expected, from, result),
            Proposal::Rematch => match expected.phase() {
                Phase::Ended { .. } => Decision::Change(Change::Rematch),
                _ => words("no game has ended"),
            },
            Proposal::Loaded => match expected.peer(from).map(|p| p.presence) {
                Some(Presence::Loading) => Decision::Change(Change::InSync { peer: from }),
                _ => Decision::Nothing,
            },
            Proposal::Name { id, kind } => match id {
                crate::id::NetworkId::Dynamic { by, .. } if by == from => {
                    if !expected.may_name(from) {
                        return words("too many network ids are in use");
                    }
                    Decision::Change(Change::Named(NetworkObject::of(from, id, kind)))
                }
                _ => words("a network id is given out by the peer it names"),
            },
            Proposal::Unname { id } => {
                let thing = expected.network_objects().iter().find(|t| t.id == id);
                match thing.map(|t| expected.owner_of(t.owner)) {
                    Some(owner) if owner == Some(from) => Decision::Change(Change::Unnamed { id }),
                    Some(_) => words("that network id belongs to somebody else"),
                    None => Decision::Nothing,
                }
            }
            Proposal::Admit {
                hello,
                key,
                address,
            } => {
                let address = address.map(Into::into);
                match self.decide_admission(now, &expected, from, &hello, &key, address) {
                    Ok(Admission::Change(change)) => Decision::Change(change),
                    Ok(Admission::After(Replaced::Guest(peer))) => {
                        Decision::After(Change::Away { peer })
                    }
                    Ok(Admission::After(Replaced::Member(former))) => Decision::Supersede(former),
                    Err(reason) => Decision::Deny(encode_to_vec(&reason).unwrap_or_default()),
                }
            }
            Proposal::Withdrawn => Decision::Nothing,
            Proposal::Report { against, words } => consider_report(&expected, from, against, words),
        }
    }

    fn consider_settings(
        &self,
        expected: &crate::room::Room,
        from: PeerId,
        settings: Settings,
    ) -> Decision {
        let plays = expected.players_of(from).next().is_some();
        match expected.phase() {
            _ if !plays && Some(from) != self.me => words("spectators do not decide"),
            Phase::SetUp if *expected.settings() == settings => Decision::Nothing,
            Phase::SetUp => Decision::Change(Change::Settings(settings)),
            _ => words("settings are agreed on before the game"),
        }
    }

    fn consider_end(
        &self,
        expected: &crate::room::Room,
        from: PeerId,
        result: Vec<u8>,
    ) -> Decision {
        if !matches!(expected.phase(), Phase::Playing { .. }) {
            return words("no game is being played");
        }
        if !expected.is_mesh() && Some(from) == self.me {
            return Decision::Change(Change::End { result });
        }
        let vote = secret::hash_result(&result);
        let mut after = expected.clone();
        after.apply(0, &Change::EndVote { peer: from, vote });
        match after.agreed_end() {
            Some(agreed) if agreed == vote => Decision::Change(Change::End { result }),
            _ => Decision::Change(Change::EndVote { peer: from, vote }),
        }
    }
}
