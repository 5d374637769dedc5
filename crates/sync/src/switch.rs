//! A game that changes from one model to another while it runs.

mod change;
mod lent_world;
mod message;
mod policy;
mod receive;
mod sent_inputs;
mod switchable;

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use thiserror::Error;

use crate::{
    AdoptError, Cut, Delivery, Departing, Held, InputKind, Model, ModelConfig, ModelConfigError,
    ModelEvent, Outgoing, PeerId, PlayerId, Roster, Status, Tick, World,
};
use lent_world::{LentWorld, WorldObservations};
use message::{Message, Numbers, mark};
use policy::Policy;
pub use policy::{SwitchConditions, SwitchPolicy};
use sent_inputs::SentInputs;
pub(crate) use switchable::{Beginning, SwitchableModel};

/// The most models that can be chosen from.
const MAX_CHOICES: usize = 64;
/// How much earlier than it can be known everywhere a change is announced.
const IN_ADVANCE: Duration = Duration::from_millis(100);

/// One of several models at a time, and another when the game needs it: battles with few and quick reactions by rollback, thousands of
/// entities in lockstep.
///
/// The authority changes it, [by hand](Self::to) or by a [policy](Self::with_policy), in a hosted room. A change is announced for one tick: all
/// come to that tick with the model before, and go on from there with the next. Nobody's state is sent where it is the same everywhere anyway; else
/// everyone takes over the authority's. Inputs that had not taken effect by then are given to the next model, and take effect once, in their order.
///
/// Everyone has to give the same choices.
///
/// ```
/// use core::time::Duration;
/// use samestep_sync::{LockstepConfig, ModelConfig, RollbackConfig, Switch};
///
/// let choices = vec![
///     ModelConfig::Lockstep(LockstepConfig::default()),
///     ModelConfig::Rollback(RollbackConfig::default()),
/// ];
/// // Rollback while few are near; not back and forth all the time.
/// let model = Switch::new(choices)?.with_policy(Box::new(|now| {
///     if now.since < Duration::from_secs(30) {
///         return None;
///     }
///     let few = now.players <= 4 && now.entities < 500 && now.round_trip < Duration::from_millis(150);
///     Some(if few { 1 } else { 0 })
/// }));
/// assert_eq!(model.current(), 0);
/// # Ok::<(), samestep_sync::SwitchError>(())
/// ```
#[derive(Debug)]
pub struct Switch {
    choices: Vec<ModelConfig>,
    policy: Option<Policy>,
    /// Counts the changes.
    epoch: u64,
    /// The choice that runs.
    which: usize,
    running: Box<dyn SwitchableModel>,
    /// When it began.
    since: Duration,
    /// The announced change that ends the epoch.
    change: Option<PlannedChange>,
    /// At the authority: models of epochs that not everyone has left.
    before: Vec<PreviousModel>,
    /// At the authority: the epoch that everyone is in, as far as known.
    passed: BTreeMap<PeerId, u64>,
    /// At the authority: who is to be handed the present epoch, when, and whether it has asked for it.
    to_hand: BTreeMap<PeerId, (Duration, bool)>,
    /// The number of what was handed last: at the authority to anybody, at a guest to it.
    last_handed: u64,
    /// At the authority: what was handed to whom and may have been lost, and when it is sent again.
    copies: Vec<(Duration, PeerId, Vec<u8>)>,
    /// At the authority: what is handed to spectators that see the game later, and when.
    held: VecDeque<(Duration, PeerId, Vec<u8>)>,
    /// At the authority: who was handed an epoch, and when.
    handed: BTreeMap<PeerId, Duration>,
    /// At the authority: when it said last what has taken effect.
    next_applied: Duration,
    roster: Option<Roster>,
    rates: BTreeMap<PeerId, u64>,
    tick_time: Duration,
    sent_inputs: SentInputs,
    observed: WorldObservations,
    /// At a guest: it has joined, and has not said where it is.
    is_new: bool,
    /// At the authority: replaces the state once the change is made.
    replacement: Option<Vec<u8>>,
    /// What belongs to the next epoch.
    early: Vec<(PeerId, Vec<u8>)>,
    /// At a guest: an epoch that it is handed.
    handover: Option<Handover>,
    /// At a guest: not before this is the authority asked to be handed an epoch; `None` while it need not be.
    next_ask: Option<Duration>,
    /// Checksum of the state where the epoch began, until it is compared.
    began: Option<u64>,
    /// Inputs are not given again before the authority has reported which took effect.
    quiet: bool,
    outbox: VecDeque<Outgoing>,
    events: VecDeque<ModelEvent>,
    scratch: Vec<u8>,
    wake: Option<Duration>,
    refused: u64,
    trouble: Option<String>,
    /// What was counted in the epochs before.
    counted: Status,
}

/// A change that is announced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PlannedChange {
    /// The first tick of the next model.
    tick: Tick,
    /// The choice.
    which: usize,
}

/// An epoch that a guest is handed.
#[derive(Debug)]
struct Handover {
    epoch: u64,
    /// When it came.
    since: Duration,
    /// A checkpoint.
    bytes: Vec<u8>,
}

/// A model that was left.
#[derive(Debug)]
struct PreviousModel {
    epoch: u64,
    change: PlannedChange,
    running: Box<dyn SwitchableModel>,
    /// Who has not left it by then is handed the present epoch.
    until: Duration,
}

/// Why models cannot be changed between.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SwitchError {
    /// There is none, or there are too many.
    #[error("give 1 to {MAX_CHOICES} models to choose from")]
    Count,
    /// One of them does not go with real time.
    #[error(
        "only models that go with real time can be changed between: set `pace` to `Pace::RealTime`"
    )]
    Pace,
    /// One of them refuses its settings.
    #[error(transparent)]
    Settings(#[from] ModelConfigError),
}

impl Switch {
    /// The models to choose from; the first runs first. Refuses settings that make no sense.
    pub fn new(choices: Vec<ModelConfig>) -> Result<Switch, SwitchError> {
        if !(1..=MAX_CHOICES).contains(&choices.len()) {
            return Err(SwitchError::Count);
        }
        for choice in &choices {
            let model = choice.build_switchable()?;
            if !model.is_real_time() {
                return Err(SwitchError::Pace);
            }
        }
        Ok(Switch {
            running: choices[0].build_switchable()?,
            choices,
            policy: None,
            epoch: 0,
            which: 0,
            since: Duration::ZERO,
            change: None,
            before: Vec::new(),
            passed: BTreeMap::new(),
            to_hand: BTreeMap::new(),
            last_handed: 0,
            copies: Vec::new(),
            held: VecDeque::new(),
            handed: BTreeMap::new(),
            next_applied: Duration::ZERO,
            roster: None,
            rates: BTreeMap::new(),
            tick_time: Duration::from_nanos(16_666_667),
            sent_inputs: SentInputs::default(),
            observed: WorldObservations::default(),
            is_new: false,
            replacement: None,
            early: Vec::new(),
            handover: None,
            next_ask: None,
            began: None,
            quiet: false,
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            scratch: Vec::new(),
            wake: None,
            refused: 0,
            trouble: None,
            counted: Status::default(),
        })
    }

    /// Has the authority ask this policy once a second which model to continue with. Its answers while a change is under way are ignored.
    pub fn with_policy(mut self, decide: SwitchPolicy) -> Switch {
        self.policy = Some(Policy::new(decide));
        self
    }

    /// The model that runs here now: its place among the choices.
    pub fn current(&self) -> usize {
        self.which
    }

    /// How many changes this match has gone through.
    pub fn changes(&self) -> u64 {
        self.epoch
    }

    /// Changes to another model as soon as everyone can know of it. `now` is the time that the peers have in common.
    ///
    /// False if this program is not the host of a game that runs, if a change is under way, or if there is nothing to change.
    pub fn to(&mut self, now: Duration, choice: usize) -> bool {
        let may = self.leads() && self.change.is_none() && self.have_all_passed();
        let status = self.running.status();
        if !may || choice >= self.choices.len() || choice == self.which || status.tick == Tick(0) {
            return false;
        }
        let members = self.roster.iter().flat_map(|roster| &roster.members);
        let farthest = members.map(|member| member.latency).max();
        let in_advance = 2 * farthest.unwrap_or_default() + IN_ADVANCE;
        let ticks = in_advance.as_nanos().div_ceil(self.tick_time.as_nanos()) as u64;
        let change = PlannedChange {
            tick: status.tick.max(status.confirmed_tick)
                + ticks
                + status.input_delay
                + 2 * status.turn_length,
            which: choice,
        };
        let others = self.others().collect();
        let epoch = self.epoch;
        self.send(
            others,
            Delivery::ReliableOrdered,
            &Message::PlannedChange { epoch, change },
        );
        tracing::info!(
            tick = change.tick.0,
            model = self.choices[choice].kind().name,
            "change of model announced"
        );
        self.accept_change(now, change);
        true
    }

    /// Whether this program decides which model it is.
    fn leads(&self) -> bool {
        let roster = self.roster.as_ref();
        roster.is_some_and(|roster| roster.me == roster.authority && !roster.is_mesh)
    }

    fn others(&self) -> impl Iterator<Item = PeerId> {
        self.roster.iter().flat_map(|roster| {
            let others = roster.members.iter().map(|member| member.peer);
            others.filter(|peer| *peer != roster.me)
        })
    }

    fn send(&mut self, to: Vec<PeerId>, delivery: Delivery, message: &Message<'_>) {
        if !to.is_empty() {
            let bytes = message.write();
            self.outbox.push_back(Outgoing {
                to,
                delivery,
                bytes,
            });
        }
    }

    fn send_to_authority(&mut self, message: &Message<'_>) {
        if let Some(roster) = &self.roster {
            let authority = roster.authority;
            self.send([authority].into(), Delivery::ReliableOrdered, message);
        }
    }

    /// How much later than the players a peer sees the game.
    fn delay_of(&self, peer: PeerId) -> Duration {
        let member = self.roster.as_ref().and_then(|roster| roster.member(peer));
        match member.is_some_and(|member| member.watches) {
            true => self.running.spectator_delay(),
            false => Duration::ZERO,
        }
    }

    fn wake_at(&mut self, at: Duration) {
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }

    /// What has taken effect of a peer's players.
    fn applied_of(&self, peer: PeerId) -> Numbers {
        let member = self.roster.as_ref().and_then(|roster| roster.member(peer));
        let players = member.iter().flat_map(|member| &member.players);
        let applied = players.map(|player| Some((*player, self.observed.applied.of(*player)?)));
        applied.flatten().collect()
    }

    /// Tells the model what it has not been told.
    fn give_pending_inputs(&mut self, now: Duration) {
        if self.quiet {
            return;
        }
        let mut bytes = core::mem::take(&mut self.scratch);
        let mut refused = None;
        while let Some((player, kind)) = self.sent_inputs.next_pending(&mut bytes, refused) {
            match self.running.input(now, player, &bytes, kind) {
                true => self.sent_inputs.on_given(player),
                false => refused = Some(player),
            }
        }
        self.scratch = bytes;
    }

    /// The status of a model, with what was counted in the epochs before.
    fn counted_with(&self, status: Status) -> Status {
        let counted = &self.counted;
        Status {
            stalled_ticks: counted.stalled_ticks + status.stalled_ticks,
            rollbacks: counted.rollbacks + status.rollbacks,
            resimulated: counted.resimulated + status.resimulated,
            max_rollback_depth: counted.max_rollback_depth.max(status.max_rollback_depth),
            corrections: counted.corrections + status.corrections,
            desyncs: counted.desyncs + status.desyncs,
            refused: counted.refused + status.refused,
            inputs_refused: counted.inputs_refused + status.inputs_refused,
            ..status
        }
    }

    /// Takes note of what the model has done with the world.
    fn note_applied(&mut self, now: Duration) {
        for (player, number) in self.observed.applied.news() {
            self.sent_inputs.on_confirmed(now, player, number);
        }
        if core::mem::take(&mut self.observed.replaced) {
            self.sent_inputs.on_replaced();
        }
    }
}

impl Model for Switch {
    /// Its choices, in order.
    fn name(&self) -> String {
        let names: Vec<&str> = self.choices.iter().map(|it| it.kind().name).collect();
        format!("switch of {}", names.join(", "))
    }

    fn handle_roster(&mut self, now: Duration, roster: &Roster) {
        let incarnation =
            |roster: &Roster, peer| roster.member(peer).map(|member| member.incarnation);
        if let Some(before) = &self.roster {
            self.observed.released.note(before, roster);
            self.passed
                .retain(|peer, _| incarnation(before, *peer) == incarnation(roster, *peer));
        }
        self.rates.retain(|peer, _| roster.member(*peer).is_some());
        self.to_hand
            .retain(|peer, _| roster.member(*peer).is_some());
        self.handed.retain(|peer, _| roster.member(*peer).is_some());
        self.held.retain(|held| roster.member(held.1).is_some());
        self.copies.retain(|copy| roster.member(copy.1).is_some());
        if let Some(me) = roster.member(roster.me) {
            self.sent_inputs.retain(&me.players);
        }
        if roster.is_mesh {
            let words = match self.running.has_authority() {
                true => "in a mesh a switch cannot follow an authority: play that model by itself",
                false => "a mesh has no host to change the model: it stays with the first choice",
            };
            let is_trouble = self.choices.len() > 1 || self.running.has_authority();
            self.trouble = is_trouble.then(|| words.to_string());
        }
        self.roster = Some(roster.clone());
        self.running.handle_roster(now, roster);
        for before in &mut self.before {
            before.running.handle_roster(now, roster);
        }
    }

    fn handle_rate(&mut self, now: Duration, peer: PeerId, bytes_per_s: u64) -> bool {
        self.rates.insert(peer, bytes_per_s);
        self.running.handle_rate(now, peer, bytes_per_s);
        true
    }

    fn handle_start(&mut self, now: Duration, at: Duration) {
        self.since = at;
        self.running.handle_start(now, at);
    }

    fn handle_message(&mut self, now: Duration, from: PeerId, message: &[u8]) {
        if self.receive(now, from, message).is_none() {
            self.refused += 1;
        }
    }

    fn input(&mut self, now: Duration, player: PlayerId, input: &[u8], kind: InputKind) -> bool {
        let waits = self.sent_inputs.has_pending(player);
        if !self.sent_inputs.push(now, player, input, kind) {
            return false;
        }
        self.give_pending_inputs(now);
        if !waits && !self.quiet && self.sent_inputs.has_pending(player) {
            self.sent_inputs.take_back(player);
            return false;
        }
        true
    }

    fn end_turn(&mut self, now: Duration, player: PlayerId) {
        self.running.end_turn(now, player);
    }

    fn advance(&mut self, now: Duration, world: &mut dyn World) {
        self.wake = None;
        let rate = world.ticks_per_second().max(1);
        self.tick_time = Duration::from_nanos(1_000_000_000 / u64::from(rate));
        self.advance_running(now, world);
        if self.change(now, world) {
            self.advance_running(now, world);
        }
        self.give_pending_inputs(now);
        match self.leads() {
            true => self.lead(now, world),
            false => self.follow(now),
        }
    }

    fn poll_message(&mut self) -> Option<Outgoing> {
        if let Some(message) = self.outbox.pop_front() {
            return Some(message);
        }
        for before in &mut self.before {
            if let Some(mut message) = before.running.poll_message() {
                mark(&mut message.bytes, before.epoch, Some(before.change));
                return Some(message);
            }
        }
        let change = self.change.filter(|_| self.leads());
        let mut message = self.running.poll_message()?;
        mark(&mut message.bytes, self.epoch, change);
        Some(message)
    }

    fn reclaim(&mut self, sent: Outgoing) {
        self.running.reclaim(sent);
    }

    fn poll_event(&mut self) -> Option<ModelEvent> {
        let event = self.events.pop_front();
        event.or_else(|| self.running.poll_event())
    }

    fn view(&mut self, now: Duration, world: &mut dyn World) -> bool {
        let mut lent = LentWorld::new(world, &mut self.observed);
        self.running.view(now, &mut lent)
    }

    fn stop_at(&mut self, tick: Tick) {
        self.running.stop_at(tick);
    }

    fn poll_timeout(&self) -> Option<Duration> {
        let before = self.before.iter().map(|before| &before.running);
        let lingering = before.filter(|running| running.is_same_everywhere());
        let models = lingering.chain([&self.running]);
        let models = models.filter_map(|running| running.poll_timeout());
        models.chain(self.wake).min()
    }

    fn status(&self) -> Status {
        let status = self.counted_with(self.running.status());
        Status {
            refused: status.refused + self.refused,
            trouble: self.trouble.clone().or(status.trouble),
            ..status
        }
    }

    fn spectator_delay(&self) -> Duration {
        self.running.spectator_delay()
    }

    fn ack_patience(&self) -> Duration {
        self.running.ack_patience()
    }

    fn checkpoint(&mut self, now: Duration, newcomer: PeerId, world: &mut dyn World) -> Vec<u8> {
        self.passed.insert(newcomer, self.epoch);
        self.to_hand.remove(&newcomer);
        self.write_checkpoint(now, newcomer, world)
    }

    fn send_state_to_all(&mut self, now: Duration, world: &mut dyn World) {
        let mut lent = LentWorld::new(world, &mut self.observed);
        self.running.send_state_to_all(now, &mut lent);
    }

    fn replace_state(&mut self, now: Duration, checkpoint: &[u8]) {
        match self.change {
            None => self.running.replace_state(now, checkpoint),
            // The model that runs may have no tick left.
            Some(_) => self.replacement = Some(checkpoint.into()),
        }
    }

    fn adopt(
        &mut self,
        now: Duration,
        checkpoint: &[u8],
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        self.read_checkpoint(now, checkpoint, world)?;
        self.is_new = true;
        self.handle_early(now);
        Ok(())
    }

    fn hold(&mut self, now: Duration, departing: &[Departing]) -> Vec<Held> {
        self.running.hold(now, departing)
    }

    fn cut(&mut self, now: Duration, cuts: &[Cut]) {
        self.running.cut(now, cuts);
    }
}
