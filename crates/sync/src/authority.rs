//! The engine of models in which one program is right: it simulates, the others are shown what they may see.
//!
//! The authority simulates every tick when it is due by the common clock, with what it has heard until then. Every few ticks it publishes
//! the state, and tells everyone what has changed since what they confirmed. Those who follow act some time ahead, so that what they do
//! arrives just before its tick; between that and what they are told they simulate themselves, or draw what they know a little later.

mod begin;
mod client;
mod guest;
mod host;
mod kinds;
mod lead;
mod message;
mod predict;
mod seat;
mod settings;
#[cfg(test)]
mod tests;

use core::time::Duration;

use crate::{
    AdoptError, Delivery, ModelEvent, Outgoing, PeerId, PlayerId, Roster, Status, Tick, World,
};
use guest::Guest;
use host::Host;
use kinds::Kinds;
use message::Message;
use seat::Seat;
pub(crate) use settings::{Prediction, Settings};

/// What an authority has sent so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SentStats {
    /// Messages, to all together.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows that were told of, to all together.
    pub rows: u64,
    /// The bytes they took.
    pub row_bytes: u64,
}

/// One program's part in a game that an authority decides.
#[derive(Debug)]
pub(crate) struct Engine {
    seat: Seat,
    side: Side,
    /// Whether who is there has changed since the side was told.
    roster_changed: bool,
    /// A state that came as a message.
    state: Option<Vec<u8>>,
}

#[derive(Debug)]
enum Side {
    /// Not known before the world is.
    None,
    Host(Box<Host>),
    Guest(Box<Guest>),
}

impl Engine {
    pub(crate) fn new(settings: Settings) -> Engine {
        Engine {
            seat: Seat::new(settings),
            side: Side::None,
            roster_changed: false,
            state: None,
        }
    }

    pub(crate) fn sent(&self) -> SentStats {
        let mut sent = self.seat.sent;
        if let Side::Host(host) = &self.side {
            let stats = host.publisher().stats();
            (sent.rows, sent.row_bytes) = (stats.rows, stats.bytes);
        }
        sent
    }

    pub(crate) fn handle_roster(&mut self, now: Duration, roster: &Roster) {
        self.seat.roster = Some(roster.clone());
        self.roster_changed = true;
        self.seat.wake_at(now);
    }

    pub(crate) fn handle_rate(&mut self, peer: PeerId, bytes_per_s: u64) -> bool {
        if let Side::Host(host) = &mut self.side
            && let Some(client) = host.clients.get_mut(&peer)
        {
            client.rate = Some(bytes_per_s);
        }
        true
    }

    pub(crate) fn handle_start(&mut self, now: Duration, at: Duration) {
        self.seat.start.get_or_insert(at);
        self.seat.wake_at(now);
    }

    pub(crate) fn handle_message(&mut self, now: Duration, from: PeerId, bytes: &[u8]) {
        let seat = &mut self.seat;
        let from_authority = Guest::is_from_authority(seat, from);
        match (Message::read(bytes), &mut self.side) {
            (Some(Message::Said(said)), Side::Host(host)) => {
                host.handle_said(now, seat, from, &said);
            }
            (Some(Message::Update(update)), Side::Guest(guest)) if from_authority => {
                guest.handle_update(now, seat, &update);
            }
            (Some(Message::Part(epoch, part)), Side::Guest(guest)) if from_authority => {
                guest.handle_part(now, seat, epoch, part);
            }
            (Some(Message::State(state)), _) if from_authority => {
                self.state = Some(state.to_vec());
                seat.wake_at(now);
            }
            // Before the world is known, and after the authority has changed.
            (Some(_), Side::None | Side::Guest(_)) => {}
            _ => seat.refused += 1,
        }
    }

    pub(crate) fn input(&mut self, now: Duration, player: PlayerId, input: &[u8]) -> bool {
        let is_own = self.seat.own_players().contains(&player);
        let taken = is_own
            && match &mut self.side {
                Side::None => false,
                Side::Host(host) => host.input(player, input),
                Side::Guest(guest) => guest.input(player, input),
            };
        // What is refused is no reason to do anything now: it may be offered again with every call.
        match taken {
            true => self.seat.wake_at(now),
            false => self.seat.inputs_refused += 1,
        }
        taken
    }

    /// Sees to it that this program does what is its part.
    fn prepare(&mut self, now: Duration, world: &mut dyn World) {
        let rate = world.ticks_per_second().max(1);
        self.seat.tick_time = Duration::from_nanos(1_000_000_000 / u64::from(rate));
        if self.seat.roster.is_none() {
            return;
        }
        let is_right = match (&self.side, self.seat.is_host()) {
            (Side::Host(_), is_host) => is_host,
            (Side::Guest(_), is_host) => !is_host,
            (Side::None, _) => false,
        };
        if !is_right {
            let exactly = self.seat.settings.prediction.is_some();
            let kinds = Kinds::new(&world.scene().schema(), exactly);
            let tick = self.tick();
            let is_new = matches!(self.side, Side::None);
            self.side = match self.seat.is_host() {
                true => {
                    let keep = self.seat.settings.keep;
                    Side::Host(Box::new(Host::new(kinds, keep, tick)))
                }
                false => Side::Guest(Box::new(Guest::new(kinds, &self.seat))),
            };
            self.roster_changed = true;
            if !is_new && self.seat.is_host() {
                self.tell_roster();
                self.send_state_to_all(now, world);
            }
        }
        self.tell_roster();
        if let (Some(state), Side::Guest(guest)) = (self.state.take(), &mut self.side) {
            guest.handle_state(now, &mut self.seat, &state, world);
        }
    }

    fn tell_roster(&mut self) {
        if !core::mem::take(&mut self.roster_changed) {
            return;
        }
        match &mut self.side {
            Side::None => self.roster_changed = true,
            Side::Host(host) => host.on_roster(&self.seat),
            Side::Guest(guest) => guest.on_roster(&self.seat),
        }
    }

    pub(crate) fn advance(&mut self, now: Duration, world: &mut dyn World) {
        self.seat.wake = None;
        self.prepare(now, world);
        if self.seat.start.is_none() {
            return;
        }
        match &mut self.side {
            Side::None => {}
            Side::Host(host) => host.advance(now, &mut self.seat, world),
            Side::Guest(guest) if guest.has_begun() => guest.advance(now, &mut self.seat, world),
            Side::Guest(_) => {}
        }
    }

    pub(crate) fn view(&mut self, now: Duration, world: &mut dyn World) -> bool {
        match &mut self.side {
            Side::Guest(guest) => guest.view(now, &self.seat, world),
            _ => false,
        }
    }

    pub(crate) fn stop_at(&mut self, tick: Tick) {
        self.seat.hold = Some(tick);
    }

    pub(crate) fn poll_message(&mut self) -> Option<Outgoing> {
        self.seat.outbox.pop_front()
    }

    pub(crate) fn reclaim(&mut self, sent: Outgoing) {
        self.seat.reclaim(sent);
    }

    pub(crate) fn poll_event(&mut self) -> Option<ModelEvent> {
        self.seat.events.pop_front()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        self.seat.wake
    }

    fn tick(&self) -> Tick {
        match &self.side {
            Side::None => Tick(0),
            Side::Host(host) => host.next,
            Side::Guest(guest) if self.seat.settings.prediction.is_some() => guest.head,
            Side::Guest(guest) => guest.newest,
        }
    }

    pub(crate) fn status(&self) -> Status {
        let seat = &self.seat;
        let status = Status {
            tick: self.tick(),
            confirmed_tick: self.tick(),
            running: seat.start.is_some(),
            stalled_ticks: seat.lagged,
            refused: seat.refused,
            inputs_refused: seat.inputs_refused,
            trouble: seat.trouble.clone(),
            ..Status::default()
        };
        let Side::Guest(guest) = &self.side else {
            return status;
        };
        let predicted = &guest.predicted;
        Status {
            confirmed_tick: guest.newest,
            predicting: seat.settings.prediction.is_some(),
            rollbacks: predicted.corrections,
            resimulated: predicted.resimulated,
            max_rollback_depth: predicted.deepest,
            interpolation_delay: guest.delay(),
            lead: guest.lead.length(),
            corrections: predicted.corrections,
            beyond_lag_compensation: guest.beyond,
            ..status
        }
    }

    pub(crate) fn spectator_delay(&self) -> Duration {
        self.seat.settings.spectator_delay
    }

    pub(crate) fn checkpoint(
        &mut self,
        now: Duration,
        newcomer: PeerId,
        world: &mut dyn World,
    ) -> Vec<u8> {
        self.prepare(now, world);
        match &mut self.side {
            Side::Host(host) => host.state_for(&self.seat, newcomer, world),
            _ => Vec::new(),
        }
    }

    pub(crate) fn send_state_to_all(&mut self, now: Duration, world: &mut dyn World) {
        self.prepare(now, world);
        let Some(roster) = self.seat.roster.clone() else {
            return;
        };
        let Side::Host(host) = &mut self.side else {
            return;
        };
        host.forget(self.seat.settings.keep);
        for member in &roster.members {
            if member.peer == roster.me || !member.in_sync {
                continue;
            }
            let state = host.state_for(&self.seat, member.peer, world);
            let message = Message::State(&state);
            self.seat
                .send(&[member.peer], Delivery::ReliableOrdered, &message);
        }
    }

    pub(crate) fn adopt(
        &mut self,
        now: Duration,
        checkpoint: &[u8],
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        self.prepare(now, world);
        match &mut self.side {
            Side::Guest(guest) => guest.begin(now, &mut self.seat, checkpoint, world),
            _ => Err(AdoptError::Malformed(
                "whoever decides needs no state of others".to_string(),
            )),
        }
    }
}
