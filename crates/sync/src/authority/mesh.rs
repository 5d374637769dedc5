//! The authority of a mesh: everyone follows its final ticks in the room's log, so that everyone goes on from the same state when the room elects another.
//!
//! No state is sent then. The new authority takes over at the tick that the log leads to ([`Host::begin_with_followers`]), the others become its clients at
//! that tick ([`Guest::begin_with_followed`](super::guest::Guest)), and give those inputs again that are not in the state by the word of the same record. Who
//! has no state of this authority asks for one, and is sent it.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use super::client::Due;
use super::context::Context;
use super::guest::{Guest, LocalInput};
use super::host::Host;
use super::kinds::Kinds;
use super::message::{InputMessage, Message};
use super::{Engine, Role};
use crate::standby::InputLedger;
use crate::{AdoptError, Delivery, Handover, PeerId, PlayerId, Tick, World};

/// The epoch of a message from somebody who has no state of this authority, and asks for one.
pub(super) const ASKING: u8 = 0;
/// An authority that has said nothing after so long may not know of a client.
const FIRST_WORD: Duration = Duration::from_millis(250);
/// Who has no state asks again after so long.
const ASK_EVERY: Duration = Duration::from_millis(100);
/// Who asks again is not sent the state again sooner than this, and each time after twice as long: it may still be under way.
const ANSWER_AGAIN: Duration = Duration::from_secs(1);
const MOST_BETWEEN_ANSWERS: Duration = Duration::from_secs(16);
/// For how many ticks an authority remembers what the players here gave: they may be taken back if the room elects another meanwhile.
const KEPT_TICKS: u64 = 600;

/// Who has asked an authority for its state.
#[derive(Debug, Default)]
pub(super) struct Askers {
    waiting: Vec<PeerId>,
    /// Who was answered: when it may be again, and after what time the next time.
    answered: BTreeMap<PeerId, (Duration, Duration)>,
}

impl Askers {
    fn ask(&mut self, peer: PeerId) {
        if !self.waiting.contains(&peer) {
            self.waiting.push(peer);
        }
    }

    /// Who asks has a state.
    pub(super) fn forget(&mut self, peer: PeerId) {
        if !self.answered.is_empty() {
            self.answered.remove(&peer);
        }
    }

    /// Takes who is to be answered now.
    fn take_due(&mut self, now: Duration) -> Vec<PeerId> {
        let mut waiting = core::mem::take(&mut self.waiting);
        waiting.retain(|peer| {
            let answered = self.answered.get(peer).copied();
            let (not_before, pause) = answered.unwrap_or((now, ANSWER_AGAIN));
            let is_due = not_before <= now;
            if is_due {
                let next = (pause * 2).min(MOST_BETWEEN_ANSWERS);
                self.answered.insert(*peer, (now + pause, next));
            }
            is_due
        });
        waiting
    }
}

/// What the players at an authority gave for its last ticks, numbered as a client's inputs are: should another be elected, they are given to that one again as
/// far as its state lacks them.
#[derive(Debug)]
pub(super) struct OwnLog {
    pub(super) ledger: InputLedger,
    /// The number of the first input that is kept.
    first: u64,
    inputs: VecDeque<LocalInput>,
}

impl OwnLog {
    /// Of an authority that begins in an epoch.
    pub(super) fn new(epoch: u8) -> OwnLog {
        OwnLog {
            ledger: InputLedger::new(epoch),
            first: 0,
            inputs: VecDeque::new(),
        }
    }

    pub(super) fn on_taken(&mut self, player: PlayerId, tick: Tick, taken: &Due) {
        let number = self.first + self.inputs.len() as u64;
        self.ledger.on_received(number, player, Some(tick));
        self.inputs.push_back(LocalInput {
            player,
            tick,
            view_time: None,
            kind: taken.kind,
            input: taken.input.clone(),
        });
        let is_old = |own: &LocalInput| own.tick + KEPT_TICKS < tick;
        while self.inputs.front().is_some_and(is_old) {
            self.inputs.pop_front();
            self.first += 1;
        }
    }
}

/// The epoch in which everyone goes on from a handover: later than any that it names.
fn next_epoch(handover: &Handover) -> u8 {
    let epochs = handover.accepted().iter().map(|accepted| accepted.epoch);
    epochs.max().unwrap_or(ASKING).checked_add(1).unwrap_or(1)
}

impl Host {
    /// Begins with clients that have followed what this program takes over, and have the state.
    pub(super) fn begin_with_followers(
        &mut self,
        handover: &Handover,
        context: &Context,
        world: &mut dyn World,
    ) {
        let Some(roster) = &context.roster else {
            return;
        };
        let epoch = next_epoch(handover);
        let others = roster.members.iter().filter(|m| m.peer != roster.me);
        let clients = others.filter(|member| member.in_sync && !member.away);
        self.begin_known(handover.tick, epoch, clients, world);
    }

    /// Inputs have come in the epoch that a client began in: what it had given before does not matter any more.
    pub(super) fn on_first_word(&mut self, from: PeerId) {
        self.askers.forget(from);
        if !self.former.is_empty() {
            self.former.remove(&from);
        }
    }

    /// Somebody sends inputs without having a state of this authority.
    pub(super) fn on_asked(&mut self, now: Duration, context: &mut Context, from: PeerId) {
        let member = context.roster.as_ref().and_then(|r| r.member(from));
        if context.is_mesh() && member.is_some_and(|member| member.in_sync && !member.away) {
            self.askers.ask(from);
            context.wake_at(now);
        }
    }

    /// Sends the state to those who have none.
    pub(super) fn answer_askers(
        &mut self,
        now: Duration,
        context: &mut Context,
        world: &mut dyn World,
    ) {
        for peer in self.askers.take_due(now) {
            let state = self.state_for(context, peer, world);
            let (delivery, message) = (Delivery::ReliableOrdered, Message::State(&state));
            let message = context.outgoing(peer, delivery, &message);
            context.outbox.push(message);
        }
    }

    /// Decides no more: what the players here gave is as that of a client.
    pub(super) fn into_guest(self, kinds: Kinds, context: &Context) -> Guest {
        let mut guest = Guest::new(kinds, context);
        let own = self.own_log;
        guest.number_from(own.ledger.epoch(), own.first, own.inputs);
        let local = self.local.into_iter();
        let waiting = local.map(|(player, queue)| {
            let inputs = queue.into_inputs();
            (
                player,
                inputs.map(|due| (due.input, None, due.kind)).collect(),
            )
        });
        guest.give_first(waiting.collect());
        guest
    }
}

impl Guest {
    /// Whether it has no state of the authority that there is, and asks for one.
    pub(super) fn lacks_state(&self, context: &Context) -> bool {
        let authority = context.roster.as_ref().map(|roster| roster.authority);
        !self.has_begun() || context.is_mesh() && self.begun_with != authority
    }

    /// Waits for the first word of an authority that has the same state. One that does not count this program among its clients is asked for its state.
    pub(super) fn await_update(&mut self, now: Duration, context: &mut Context) {
        let until = *self.awaits_until.get_or_insert(now + FIRST_WORD);
        match now >= until {
            true => self.ask(now, context),
            false => context.wake_at(until),
        }
    }

    /// Asks the authority of a mesh for its state, by inputs of no epoch.
    pub(super) fn ask(&mut self, now: Duration, context: &mut Context) {
        let Some(roster) = context.roster.as_ref().filter(|roster| roster.is_mesh) else {
            return;
        };
        let authority = roster.authority;
        if self.asked_at.is_none_or(|at| now >= at + ASK_EVERY) {
            self.asked_at = Some(now);
            let asked = Message::Inputs(InputMessage {
                epoch: ASKING,
                tick: Tick(0),
                parts: None,
                events: Tick(0),
                early: 0,
                first: 0,
                entries: Vec::new(),
            });
            context.send(authority, Delivery::Unreliable, &asked);
        }
        let asks_at = self.asked_at.unwrap_or(now) + ASK_EVERY;
        context.wake_at(asks_at);
    }
}

impl Engine {
    /// Another program is the authority of the mesh: goes on as its client from what everyone followed.
    pub(super) fn follow_another(
        &mut self,
        now: Duration,
        handover: &Handover,
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        let refused = |words: &str| Err(AdoptError::Malformed(words.to_string()));
        let me = self.context.roster.as_ref().map(|roster| roster.me);
        let Some(me) = me.filter(|_| !self.context.is_host()) else {
            return refused("the roster names no other authority: hand over the roster first");
        };
        if self.loopback.take().is_some() {
            world.end_loopback();
        }
        let rate = world.ticks_per_second().max(1);
        self.context.tick_time = Duration::from_nanos(1_000_000_000 / u64::from(rate));
        let exactly = self.context.settings.prediction.is_some();
        let kinds = Kinds::new(&world.scene().schema(), exactly);
        let mut guest = match core::mem::replace(&mut self.role, Role::None) {
            Role::Guest(guest) => guest,
            Role::Host(host) => Box::new(host.into_guest(kinds, &self.context)),
            Role::None => Box::new(Guest::new(kinds, &self.context)),
        };
        let own = guest.inputs_missing(me, handover);
        let epoch = next_epoch(handover);
        let begun = guest.begin_with_followed(now, &mut self.context, handover, epoch, world);
        guest.give_first(own);
        self.role = Role::Guest(guest);
        // A state that another authority sent is none to begin with any more.
        self.state = None;
        self.roster_changed = true;
        self.context.wake_at(now);
        begun
    }
}
