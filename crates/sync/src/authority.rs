//! The engine of client-server models: one program, the authority, simulates and decides; the others are sent what they may see.
//!
//! The authority simulates every tick when it is due by the common clock, with the inputs that have arrived by then. Every few ticks it publishes
//! a snapshot, and sends every client what has changed since the snapshot that the client has acknowledged (delta compression, in `stream`), as far
//! as the client may see it (interest management, [`Interest`](crate::Interest)). Clients give inputs some time ahead of the authority, so that
//! they arrive just before their tick. From the acknowledged state up to that time a client either simulates itself (client-side prediction, with
//! server reconciliation in `predict`), or draws snapshots a little later (snapshot interpolation through a jitter buffer).
//!
//! Client-side prediction, server reconciliation and lag compensation follow Yahn W. Bernier, *Latency Compensating Methods in Client/Server In-game
//! Protocol Design and Optimization*, 2001; Gabriel Gambetta, *Fast-Paced Multiplayer*, explains them step by step.

mod begin;
mod client;
mod context;
mod guest;
mod host;
mod kinds;
mod lead;
mod loopback;
mod mesh;
mod message;
mod predict;
mod settings;
mod succession;
#[cfg(test)]
mod tests;
mod window;

use core::time::Duration;

use crate::{
    AdoptError, Delivery, Handover, InputKind, Model, ModelEvent, NotFed, Outgoing, PeerId,
    PlayerId, Roster, Status, Tick, World,
};
use context::Context;
use guest::Guest;
use host::Host;
use kinds::Kinds;
use loopback::Loopback;
use message::Message;
pub(crate) use settings::{Prediction, Settings};
pub(crate) use window::RewindSettings;
pub use window::RewindStats;

/// Counts what an authority has sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SentStats {
    /// Messages, to all together.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows in those messages, to all together.
    pub rows: u64,
    /// The bytes they took.
    pub row_bytes: u64,
}

/// A state of so many bytes is with its receiver nearly at once: updates follow it without waiting for an answer.
const SMALL_STATE: usize = 8192;

/// One program's part in a game that an authority decides.
#[derive(Debug)]
pub struct Engine {
    context: Context,
    role: Role,
    /// The client of the players here, if this is an authority that does not show them its own state.
    loopback: Option<Box<Loopback>>,
    /// Whether the roster has changed since the role was given it.
    roster_changed: bool,
    /// A state that came as a message.
    state: Option<Vec<u8>>,
    /// The tick that is simulated first, by a program that goes on in the place of another.
    start_tick: Tick,
}

#[derive(Debug)]
enum Role {
    /// Not known before the world is.
    None,
    Host(Box<Host>),
    Guest(Box<Guest>),
}

impl Engine {
    pub(crate) fn new(settings: Settings) -> Engine {
        Engine {
            context: Context::new(settings),
            role: Role::None,
            loopback: None,
            roster_changed: false,
            state: None,
            start_tick: Tick(0),
        }
    }

    pub(crate) fn sent(&self) -> SentStats {
        let mut sent = self.context.sent;
        if let Role::Host(host) = &self.role {
            let stats = host.publisher().stats();
            (sent.rows, sent.row_bytes) = (stats.rows, stats.bytes);
        }
        sent
    }

    pub(crate) fn rewound(&self) -> RewindStats {
        match &self.role {
            Role::Host(host) => host.rewound(),
            _ => RewindStats::default(),
        }
    }

    /// Becomes host or guest, whichever the roster says.
    fn prepare(&mut self, now: Duration, world: &mut dyn World) {
        let rate = world.ticks_per_second().max(1);
        self.context.tick_time = Duration::from_nanos(1_000_000_000 / u64::from(rate));
        if self.context.roster.is_none() {
            return;
        }
        let is_right = match (&self.role, self.context.is_host()) {
            (Role::Host(_), is_host) => is_host,
            (Role::Guest(_), is_host) => !is_host,
            (Role::None, _) => false,
        };
        if !is_right {
            let exactly = self.context.settings.prediction.is_some();
            let kinds = Kinds::new(&world.scene().schema(), exactly);
            let tick = self.tick();
            let is_new = matches!(self.role, Role::None);
            if self.loopback.take().is_some() {
                world.end_loopback();
            }
            let before = core::mem::replace(&mut self.role, Role::None);
            self.role = match (self.context.is_host(), before) {
                (true, _) => Role::Host(Box::new(Host::new(kinds, &self.context.settings, tick))),
                (false, Role::Host(host)) if self.context.is_mesh() => {
                    Role::Guest(Box::new(host.into_guest(kinds, &self.context)))
                }
                (false, _) => Role::Guest(Box::new(Guest::new(kinds, &self.context))),
            };
            self.roster_changed = true;
            if !is_new && self.context.is_host() {
                self.pass_roster_on();
                self.send_state_to_all(now, world);
            }
        }
        self.pass_roster_on();
        if let (Some(state), Role::Guest(guest)) = (self.state.take(), &mut self.role) {
            guest.handle_state(now, &mut self.context, &state, world);
        }
    }

    fn pass_roster_on(&mut self) {
        if !core::mem::take(&mut self.roster_changed) {
            return;
        }
        match &mut self.role {
            Role::None => self.roster_changed = true,
            Role::Host(host) => host.on_roster(&self.context),
            Role::Guest(guest) => guest.on_roster(&self.context),
        }
    }

    fn tick(&self) -> Tick {
        match &self.role {
            Role::None => self.start_tick,
            Role::Host(host) => host.next_tick,
            Role::Guest(guest) if self.context.settings.prediction.is_some() => {
                guest.predicted_tick
            }
            Role::Guest(guest) => guest.confirmed_tick,
        }
    }
}

impl Model for Engine {
    fn name(&self) -> String {
        let settings = &self.context.settings;
        let kind = match (&settings.rewind, &settings.prediction) {
            (Some(_), _) => crate::Rewind::KIND,
            (None, Some(_)) => crate::StateSync::KIND,
            (None, None) => crate::Snapshot::KIND,
        };
        kind.name.to_string()
    }

    fn handle_roster(&mut self, now: Duration, roster: &Roster) {
        let before = self.context.roster.replace(roster.clone());
        if let (Role::Host(host), Some(before)) = (&mut self.role, before) {
            host.released.note(&before, roster);
        }
        self.roster_changed = true;
        self.context.wake_at(now);
    }

    fn handle_rate(&mut self, _: Duration, peer: PeerId, bytes_per_s: u64) -> bool {
        if let Role::Host(host) = &mut self.role
            && let Some(client) = host.clients.get_mut(&peer)
        {
            client.rate = Some(bytes_per_s);
        }
        true
    }

    fn handle_start(&mut self, now: Duration, at: Duration) {
        self.context.start.get_or_insert(at);
        self.context.wake_at(now);
    }

    /// The one place where it is decided who may send what (WIRE.md, section 13): the authority everything but inputs, a client inputs alone.
    fn handle_message(&mut self, now: Duration, from: PeerId, bytes: &[u8]) {
        let context = &mut self.context;
        let from_authority = Guest::is_from_authority(context, from);
        match (Message::read(bytes), &mut self.role) {
            (Some(Message::Inputs(message)), Role::Host(host)) => {
                host.handle_inputs(now, context, from, &message);
            }
            (Some(Message::Update(update)), Role::Guest(guest)) if from_authority => {
                guest.handle_update(now, context, &update);
            }
            (Some(Message::Part(epoch, part)), Role::Guest(guest)) if from_authority => {
                guest.handle_part(now, context, epoch, part);
            }
            (Some(Message::State(state)), _) if from_authority => {
                self.state = Some(state.to_vec());
                context.wake_at(now);
            }
            // Before the world is known, and after the authority has changed.
            (Some(_), Role::None | Role::Guest(_)) => {}
            _ => context.refused += 1,
        }
    }

    fn input(&mut self, now: Duration, player: PlayerId, input: &[u8], kind: InputKind) -> bool {
        let is_own = self.context.own_players().contains(&player);
        let taken = is_own
            && match (&mut self.role, &mut self.loopback) {
                (Role::None, _) => false,
                (Role::Host(_), Some(loopback)) => loopback.input(player, input, kind),
                (Role::Host(host), None) => host.input(player, input, kind),
                (Role::Guest(guest), _) => guest.input(player, input, kind),
            };
        // A refused input wakes nobody: a caller may offer it again with every call.
        match taken {
            true => self.context.wake_at(now),
            false => self.context.inputs_refused += 1,
        }
        taken
    }

    fn end_turn(&mut self, _: Duration, _: PlayerId) {}

    fn advance(&mut self, now: Duration, world: &mut dyn World) {
        self.context.wake = None;
        self.prepare(now, world);
        let context = &mut self.context;
        // Between two games a newcomer knows of the schedule by the state alone.
        match &mut self.role {
            Role::Host(host) => host.answer_askers(now, context, world),
            Role::Guest(guest) if guest.lacks_state(context) => return guest.ask(now, context),
            Role::Guest(_) | Role::None => {}
        }
        if context.start.is_none() {
            return;
        }
        match &mut self.role {
            Role::None => {}
            Role::Host(host) => {
                Loopback::prepare(&mut self.loopback, now, host, context, world);
                if let Some(loopback) = &mut self.loopback {
                    loopback.advance(now, host, context, world);
                }
                host.advance(now, context, world);
                if let Some(loopback) = &mut self.loopback {
                    loopback.receive(now, host, context);
                }
            }
            Role::Guest(guest) if guest.awaits_update => guest.await_update(now, context),
            Role::Guest(guest) => guest.advance(now, context, world),
        }
    }

    fn poll_message(&mut self) -> Option<Outgoing> {
        self.context.outbox.pop()
    }

    fn reclaim(&mut self, sent: Outgoing) {
        self.context.outbox.reclaim(sent);
    }

    fn poll_event(&mut self) -> Option<ModelEvent> {
        self.context.events.pop_front()
    }

    fn view(&mut self, now: Duration, world: &mut dyn World) -> bool {
        match (&mut self.role, &mut self.loopback) {
            (Role::Guest(guest), _) => guest.view(now, &self.context, world),
            (Role::Host(_), Some(loopback)) => loopback.view(now, world),
            _ => false,
        }
    }

    fn stop_at(&mut self, tick: Tick) {
        self.context.hold = Some(tick);
    }

    fn poll_timeout(&self) -> Option<Duration> {
        self.context.wake
    }

    fn status(&self) -> Status {
        let context = &self.context;
        let takes_input_at = match (&self.role, &self.loopback) {
            (Role::None, _) => None,
            (Role::Host(_), Some(loopback)) => loopback.acts_at(),
            (Role::Host(host), None) => context.time_of(host.next_tick),
            (Role::Guest(guest), _) => guest.acts_at(context),
        };
        let status = Status {
            takes_input_at,
            // An input waits for the next tick.
            delay: takes_input_at.map_or(Duration::ZERO, |_| context.tick_time / 2),
            tick: self.tick(),
            confirmed_tick: match &self.role {
                Role::Host(host) => host.confirmed_tick(),
                _ => self.tick(),
            },
            running: context.start.is_some(),
            stalled_ticks: context.lagged,
            refused: context.refused,
            inputs_refused: context.inputs_refused,
            trouble: context.trouble.clone(),
            ..Status::default()
        };
        let guest = match &self.role {
            Role::Guest(guest) => guest,
            Role::Host(host) => {
                let rewound = host.rewound();
                return Status {
                    rollbacks: rewound.rewinds,
                    resimulated: rewound.recomputed,
                    max_rollback_depth: rewound.deepest,
                    inputs_too_late: rewound.refused,
                    ..status
                };
            }
            Role::None => return status,
        };
        let predicted = &guest.predicted;
        let predicting = context.settings.prediction.is_some();
        // Without prediction it travels to the authority, and is shown when others are.
        let way = match predicting {
            true => Duration::ZERO,
            false => guest.lead.length() + guest.delay(),
        };
        Status {
            delay: status.delay + way,
            confirmed_tick: guest.confirmed_tick,
            predicting,
            rollbacks: predicted.corrections,
            resimulated: predicted.resimulated,
            max_rollback_depth: predicted.deepest,
            interpolation_delay: guest.delay(),
            lead: guest.lead.length(),
            corrections: predicted.corrections,
            beyond_lag_compensation: guest.beyond_compensation,
            inputs_too_late: guest.too_late_count,
            ..status
        }
    }

    fn spectator_delay(&self) -> Duration {
        self.context.settings.snapshot.spectator_delay
    }

    fn checkpoint(&mut self, now: Duration, newcomer: PeerId, world: &mut dyn World) -> Vec<u8> {
        self.prepare(now, world);
        match &mut self.role {
            Role::Host(host) => host.state_for(&self.context, newcomer, world),
            _ => Vec::new(),
        }
    }

    fn send_state_to_all(&mut self, now: Duration, world: &mut dyn World) {
        self.prepare(now, world);
        let Some(roster) = self.context.roster.clone() else {
            return;
        };
        let Role::Host(host) = &mut self.role else {
            return;
        };
        host.forget(self.context.settings.snapshot.keep);
        for member in &roster.members {
            if member.peer == roster.me || !member.in_sync {
                continue;
            }
            let state = host.state_for(&self.context, member.peer, world);
            let (delivery, message) = (Delivery::ReliableOrdered, Message::State(&state));
            let message = self.context.outgoing(member.peer, delivery, &message);
            host.send(now, &mut self.context, member.watches, message);
            if state.len() <= SMALL_STATE {
                // Updates that overtake it are of no use there, and cost little.
                host.trust(member.peer);
            }
        }
    }

    fn replace_state(&mut self, now: Duration, checkpoint: &[u8]) {
        if let Role::Host(host) = &mut self.role {
            host.replacement = Some(checkpoint.into());
            self.context.wake_at(now);
        }
    }

    fn adopt(
        &mut self,
        now: Duration,
        checkpoint: &[u8],
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        self.prepare(now, world);
        match &mut self.role {
            // In a mesh the authority, which may be another by then, sends it as soon as this program takes part.
            Role::Guest(guest) if checkpoint.is_empty() && self.context.is_mesh() => {
                guest.begun_with = None;
                Ok(())
            }
            Role::Guest(guest) => guest.begin(now, &mut self.context, checkpoint, world),
            _ => Err(AdoptError::Malformed(
                "whoever decides needs no state of others".to_string(),
            )),
        }
    }

    fn begin_feed(&mut self, now: Duration, world: &mut dyn World) -> Option<Vec<u8>> {
        self.first_record(now, world)
    }

    fn feed(&mut self, world: &mut dyn World) -> Result<Option<Vec<u8>>, NotFed> {
        self.next_record(world)
    }

    fn take_over(
        &mut self,
        now: Duration,
        handover: &Handover,
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        self.succeed(now, handover, world)
    }

    fn has_authority(&self) -> bool {
        true
    }

    fn go_on(
        &mut self,
        now: Duration,
        handover: &Handover,
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        self.follow_another(now, handover, world)
    }
}
