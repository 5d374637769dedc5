//! A client of the authority: sends its players' inputs, and receives snapshots and events.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use super::begin::FIRST;
use super::context::Context;
use super::host::LAYOUT;
use super::kinds::{Kinds, SentExtras};
use super::lead::InputLead;
use super::message::{
    ENTRIES_AT_ONCE, EventBatch, InputEntry, InputMessage, Message, RewindReport, Update,
};
use super::predict::Predicted;
use super::succession::OwnInputs;
use crate::bytes::Bytes;
use crate::standby::AcceptedInputs;
use crate::stream::{JitterBuffer, JitterBufferConfig, Store};
use crate::switch::Beginning;
use crate::{
    AdoptError, Delivery, Handover, InputKind, Interpolation, ModelEvent, PeerId, PlayerId,
    RemotePlayers, Table, Tick, TickInputs, ViewTime, World,
};

/// The maximum number of a player's inputs that wait for a tick of their own.
const MAX_PENDING: usize = 64;
/// Ticks between two messages while there are no inputs to send.
const QUIET_TICKS: u32 = 3;
/// For how many ticks snapshots that lack inputs from here are not reconciled with.
const MOST_LACKING: u64 = 15;
/// The maximum time by which inputs are given ahead of the authority.
const MOST_LEAD: Duration = Duration::from_millis(750);
/// For how many ticks inputs are kept that the authority has simulated with.
const KEPT_TICKS: u64 = 120;
/// Ticks between two snapshots, at most.
const MAX_EVERY: u64 = 600;
/// The maximum number of ticks whose events wait to be shown.
const MAX_EVENT_TICKS: usize = 16_384;

#[derive(Debug)]
pub(super) struct Guest {
    pub kinds: Kinds,
    pub store: Store,
    playout: JitterBuffer,
    /// What another authority sent, to be drawn until this one's beginning is.
    former: Option<Box<Former>>,
    pub table: Table,
    pub held: TickInputs,
    /// What the authority sends beside the state.
    pub extras: SentExtras,
    epoch: u8,
    /// Whose state it began with.
    pub(super) begun_with: Option<PeerId>,
    /// Whether nothing has come from the authority since: it may go by a later schedule, and would refuse what is given by the former one.
    pub(super) awaits_update: bool,
    pub(super) awaits_until: Option<Duration>,
    /// When it asked for one last.
    pub(super) asked_at: Option<Duration>,
    pub every: u64,
    /// The tick of the next local input: everything before it has been predicted.
    pub predicted_tick: Tick,
    /// The tick of the newest snapshot received, and of the newest that the prediction was reconciled with.
    pub confirmed_tick: Tick,
    pub reconciled_upto: Tick,
    /// Ticks of snapshots that have arrived and wait to be reconciled with, in ascending order.
    pub fresh: Vec<Tick>,
    pub lead: InputLead,
    /// Inputs that have no tick yet, with the view time they were given at.
    pending: BTreeMap<PlayerId, VecDeque<PendingInput>>,
    /// Inputs that may have to be sent or simulated again, numbered consecutively.
    pub log: VecDeque<LocalInput>,
    /// The number of the first input in the log.
    first: u64,
    /// The authority has received the inputs before this number.
    acknowledged: u64,
    /// Events that wait to be delivered to the game; the tick before which all have been received, and the one before which all were delivered.
    events: VecDeque<(Tick, usize, Vec<u8>)>,
    events_upto: Tick,
    events_delivered: Tick,
    sent_at: Option<Duration>,
    view_time: Option<ViewTime>,
    pub predicted: Predicted,
    pub beyond_compensation: bool,
    /// The length of the authority's update window, in ticks; none if it has none.
    pub window: u16,
    /// Events that the authority confirmed before their ticks are final, which wait to be delivered, and the number of the next.
    early: VecDeque<(Tick, Vec<u8>)>,
    early_next: u64,
    /// Inputs that came after their tick had left the window: they are given again. All before this number were told to have been in time or not.
    too_late: Vec<LocalInput>,
    told_upto: u64,
    pub too_late_count: u64,
    /// The tick of the last snapshot that lacks inputs from here.
    lacking: Option<Tick>,
}

/// An input that has no tick yet, and the view time it was given at.
pub(super) type PendingInput = (Vec<u8>, Option<ViewTime>, InputKind);

/// An input of a local player.
#[derive(Clone, Debug)]
pub(super) struct LocalInput {
    pub player: PlayerId,
    pub tick: Tick,
    pub view_time: Option<ViewTime>,
    pub kind: InputKind,
    pub input: Vec<u8>,
}

/// What was received of another authority.
#[derive(Debug)]
struct Former {
    store: Store,
    /// The tick from which another goes on.
    upto: Tick,
}

impl Guest {
    pub(super) fn new(kinds: Kinds, context: &Context) -> Guest {
        let playout = JitterBufferConfig {
            delay: context.settings.snapshot.delay,
            interval: context.tick_time * context.settings.snapshot.every as u32,
            ..JitterBufferConfig::default()
        };
        Guest {
            store: Store::new(kinds.schema().clone()),
            table: Table::new(kinds.schema().clone()),
            kinds,
            playout: JitterBuffer::new(playout),
            former: None,
            held: TickInputs::new(),
            extras: SentExtras::default(),
            epoch: 0,
            begun_with: None,
            awaits_update: false,
            awaits_until: None,
            asked_at: None,
            every: context.settings.snapshot.every,
            predicted_tick: Tick(0),
            confirmed_tick: Tick(0),
            reconciled_upto: Tick(0),
            fresh: Vec::new(),
            lead: InputLead::new(match context.settings.rewind.as_ref() {
                Some(rewind) if !rewind.lead => Duration::ZERO,
                _ => MOST_LEAD,
            }),
            pending: BTreeMap::new(),
            log: VecDeque::new(),
            first: 0,
            acknowledged: 0,
            events: VecDeque::new(),
            events_upto: Tick(0),
            events_delivered: Tick(0),
            sent_at: None,
            view_time: None,
            predicted: Predicted::default(),
            beyond_compensation: false,
            window: context.window_ticks(),
            early: VecDeque::new(),
            early_next: 0,
            too_late: Vec::new(),
            told_upto: 0,
            too_late_count: 0,
            lacking: None,
        }
    }

    /// How much later than the authority's present others are shown.
    pub(super) fn delay(&self) -> Duration {
        self.playout.delay()
    }

    /// Begins with the state that the authority has sent.
    pub(super) fn begin(
        &mut self,
        now: Duration,
        context: &mut Context,
        state: &[u8],
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        let malformed =
            || AdoptError::Malformed("the beginning of the state is damaged".to_string());
        let mut r = Bytes(state);
        let mut read = || Some((r.count()?, r.count()?, r.time()?, r.time()?, r.count()?));
        let (layout, tick, start, schedule_offset, every) = read().ok_or_else(malformed)?;
        if layout != LAYOUT || !(1..=MAX_EVERY).contains(&every) {
            return Err(malformed());
        }
        let epoch = r.byte().ok_or_else(malformed)?;
        let accepted = AcceptedInputs::read(PeerId(0), &mut r).ok_or_else(malformed)?;
        let mut fresh = Guest::new(self.kinds.clone(), context);
        for _ in 0..r.number().ok_or_else(malformed)? {
            let len = r.number().and_then(|len| usize::try_from(len).ok());
            let part = len.and_then(|len| r.take(len)).ok_or_else(malformed)?;
            let handled = fresh.store.handle(part);
            handled.map_err(|error| AdoptError::Malformed(error.to_string()))?;
        }
        fresh.every = every;
        let start = start
            .checked_sub(Duration::from_micros(1))
            .or(context.start);
        self.hand_picture_on(&mut fresh, context, (start, schedule_offset), Tick(tick));
        fresh.settle_at(epoch, Tick(tick), context);
        fresh.load_exactly(Tick(tick), world)?;
        fresh.pending = self.take_unaccepted(&accepted);
        context.start = start;
        context.schedule_offset = schedule_offset;
        *self = fresh;
        tracing::debug!(tick, bytes = state.len(), "state of the authority adopted");
        self.on_roster(context);
        context.wake_at(now);
        Ok(())
    }

    /// The game goes on where it was, if it has the same schedule: so does the picture, with what another authority sent until the tick is reached.
    fn hand_picture_on(
        &mut self,
        fresh: &mut Guest,
        context: &Context,
        schedule: (Option<Duration>, Duration),
        upto: Tick,
    ) {
        if self.has_begun() && schedule == (context.start, context.schedule_offset) {
            core::mem::swap(&mut fresh.playout, &mut self.playout);
            fresh.playout.on_new_sender();
            let store =
                core::mem::replace(&mut self.store, Store::new(self.kinds.schema().clone()));
            fresh.former = Some(Box::new(Former { store, upto }));
        }
    }

    /// Nothing has happened here since a tick at which an authority's state is known.
    fn settle_at(&mut self, epoch: u8, tick: Tick, context: &Context) {
        self.playout
            .set_interval(context.tick_time * self.every as u32);
        (self.epoch, self.predicted_tick, self.confirmed_tick) = (epoch, tick, tick);
        (self.events_upto, self.events_delivered) = (tick, tick);
        self.begun_with = context.roster.as_ref().map(|roster| roster.authority);
    }

    /// The world becomes what is known of a tick, and is recorded.
    fn load_exactly(&mut self, tick: Tick, world: &mut dyn World) -> Result<(), AdoptError> {
        self.load_known(tick, world)?;
        world.replaced(tick);
        let checksum = world.checksum();
        world.record_checksum(tick, checksum);
        Ok(())
    }

    /// Begins with the state that everyone in a mesh has followed: that of the world's second world.
    pub(super) fn begin_with_followed(
        &mut self,
        now: Duration,
        context: &mut Context,
        handover: &Handover,
        epoch: u8,
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        let mut fresh = Guest::new(self.kinds.clone(), context);
        let mut is_there = false;
        world.with_twin(&mut |twin| {
            twin.scene().extract(&mut fresh.table);
            twin.scene().held_inputs(&mut fresh.held);
            is_there = true;
        });
        if !is_there {
            let words = "there is no world with which this program has followed";
            return Err(AdoptError::Malformed(words.to_string()));
        }
        fresh.kinds.fill(&mut fresh.table, &fresh.held);
        let tick = handover.tick();
        fresh.store.seed(tick, &fresh.table);
        let schedule = (handover.start().or(context.start), handover.schedule_offset);
        self.hand_picture_on(&mut fresh, context, schedule, tick);
        fresh.settle_at(epoch, tick, context);
        fresh.load_exactly(tick, world)?;
        fresh.awaits_update = true;
        // Events that are not shown yet.
        fresh.events = core::mem::take(&mut self.events);
        fresh.events.retain(|(of, ..)| *of < tick);
        (context.start, context.schedule_offset) = schedule;
        context.hold = None;
        *self = fresh;
        tracing::debug!(tick = tick.0, "goes on as the client of another authority");
        self.on_roster(context);
        context.wake_at(now);
        Ok(())
    }

    /// Begins as who decided until now: these inputs, numbered from one on in an epoch, may have to be given again.
    pub(super) fn number_from(&mut self, epoch: u8, first: u64, log: VecDeque<LocalInput>) {
        (self.epoch, self.first, self.acknowledged, self.log) = (epoch, first, first, log);
    }

    /// These are given before everything that the players here give from now on.
    pub(super) fn give_first(&mut self, own: OwnInputs) {
        for (player, mut inputs) in own {
            let pending = self.pending.entry(player).or_default();
            inputs.append(pending);
            *pending = inputs;
        }
    }

    /// Begins in the middle of a game, with the authority's own state.
    pub(super) fn begin_at(
        &mut self,
        at: &Beginning<'_>,
        context: &Context,
        world: &mut dyn World,
    ) {
        let scene = world.scene();
        scene.extract(&mut self.table);
        scene.held_inputs(&mut self.held);
        self.kinds.fill(&mut self.table, &self.held);
        self.store.seed(at.tick, &self.table);
        self.settle_at(FIRST, at.tick, context);
        self.on_roster(context);
    }

    /// Inputs that are not in the state that the authority has sent, to be given again, and after them those that have no tick yet. Of an
    /// authority that does not know this client those count as in the state that were acknowledged.
    pub(super) fn take_unaccepted(
        &mut self,
        accepted: &AcceptedInputs,
    ) -> BTreeMap<PlayerId, VecDeque<PendingInput>> {
        let mut pending = core::mem::take(&mut self.pending);
        let is_known = accepted.epoch != 0 && accepted.epoch == self.epoch;
        let numbered = (self.first..).zip(self.log.drain(..));
        let missing = numbered.filter(|(number, _)| match is_known {
            true => !accepted.contains(*number),
            false => *number >= self.acknowledged,
        });
        let missing: Vec<LocalInput> = missing.map(|(_, own)| own).collect();
        for own in missing.into_iter().rev() {
            let held = (own.input, own.view_time, own.kind);
            pending.entry(own.player).or_default().push_front(held);
        }
        pending
    }

    /// The world becomes what is known of a tick.
    pub(super) fn load_known(
        &mut self,
        tick: Tick,
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        // Cells that are never sent keep their local values.
        world.scene().extract(&mut self.table);
        self.store.known(tick, &mut self.table);
        self.extras = self.kinds.extras(&self.table);
        self.kinds.set_counters(&mut self.table);
        self.kinds.held_inputs(&self.table, &mut self.held);
        world.scene().replace(tick, &self.table, &self.held)
    }

    pub(super) fn on_roster(&mut self, context: &Context) {
        let Some(roster) = &context.roster else {
            return;
        };
        if let Some(authority) = roster.member(roster.authority) {
            let open = context.tick_time * u32::from(self.window);
            let latency = authority.latency.saturating_sub(open);
            self.lead.expect(latency, authority.loss, context.tick_time);
        }
    }

    /// What a local player does next.
    pub(super) fn input(&mut self, player: PlayerId, input: &[u8], kind: InputKind) -> bool {
        let pending = self.pending.entry(player).or_default();
        if pending.len() >= MAX_PENDING {
            return false;
        }
        pending.push_back((input.to_vec(), self.view_time, kind));
        true
    }

    pub(super) fn handle_update(
        &mut self,
        now: Duration,
        context: &mut Context,
        update: &Update<'_>,
    ) {
        if update.epoch != self.epoch {
            return;
        }
        context.schedule_offset = update.schedule_offset;
        if core::mem::take(&mut self.awaits_update) {
            context.wake_at(now);
        }
        self.beyond_compensation = update.beyond_compensation;
        self.acknowledged = self
            .acknowledged
            .max(update.acknowledged.min(self.first + self.log.len() as u64));
        if let Some((tick, us)) = update.slack {
            self.lead.on_slack(now, tick, us);
        }
        if let Some(rewind) = &update.rewind {
            self.handle_rewind_report(rewind);
            self.lacking = self.lacks_inputs(update).then_some(update.tick);
        }
        self.queue_events(&update.events);
        if !update.part.is_empty() {
            self.handle_part(now, context, update.epoch, update.part);
        }
    }

    /// Whether inputs from here for ticks before an update's had not reached the authority when it sent that: it will recompute those ticks.
    fn lacks_inputs(&self, update: &Update<'_>) -> bool {
        let received = update.acknowledged.saturating_sub(self.first) as usize;
        let mut missing = self.log.iter().skip(received);
        missing.any(|own| own.tick < update.tick)
    }

    fn handle_rewind_report(&mut self, report: &RewindReport<'_>) {
        self.window = report.window;
        for number in &report.refused {
            if *number < self.told_upto {
                continue;
            }
            self.told_upto = number + 1;
            self.too_late_count += 1;
            self.lead.catch_up();
            let at = number.checked_sub(self.first);
            let own = at.and_then(|at| self.log.get(at as usize));
            self.too_late.extend(own.cloned());
        }
        // The authority forgets what waits for too long.
        self.early_next = self.early_next.max(report.first);
        let known = (self.early_next - report.first) as usize;
        for event in report.early.iter().skip(known) {
            self.early.push_back((event.tick, event.bytes.to_vec()));
            self.early_next += 1;
        }
    }

    /// Gives inputs again that came too late for the authority: a player's newest as it was, an older one merged into what the player holds, so
    /// that nothing that was pressed is lost. Each has a tick of its own, as a command has: merged with the next input, two presses would be one.
    fn give_again(&mut self, world: &mut dyn World) {
        for own in core::mem::take(&mut self.too_late).into_iter().rev() {
            let newest = self.log.iter().rev().find(|log| log.player == own.player);
            let newest = newest.filter(|newest| newest.tick > own.tick);
            let held = newest.and_then(|newest| world.scene().predict(&newest.input));
            let input = match &held {
                Some(held) => world.merge(&own.input, held),
                None => Some(own.input),
            };
            // Movement alone is out of date: the newest says where the player goes.
            let Some(input) = input.filter(|input| held.as_ref() != Some(input)) else {
                continue;
            };
            let pending = self.pending.entry(own.player).or_default();
            pending.push_front((input, self.view_time, InputKind::Command));
        }
    }

    pub(super) fn handle_part(
        &mut self,
        now: Duration,
        context: &mut Context,
        epoch: u8,
        part: &[u8],
    ) {
        if epoch != self.epoch {
            return;
        }
        let Ok(received) = self.store.handle(part) else {
            tracing::debug!("packet part refused: malformed, or its baseline is not kept any more");
            context.refused += 1;
            return;
        };
        if received.is_new
            && let Some(at) = context.time_of(received.tick)
        {
            self.playout.handle_arrival(now, at, received.number);
        }
        // What lacks inputs from here is out of date, unless there has been nothing else for long.
        let waited = received.tick.since(self.reconciled_upto);
        if self.lacking == Some(received.tick) && waited < MOST_LACKING {
            return;
        }
        if received.is_new && received.tick >= self.reconciled_upto {
            self.confirmed_tick = self.confirmed_tick.max(received.tick);
            if let Err(at) = self.fresh.binary_search(&received.tick) {
                self.fresh.insert(at, received.tick);
            }
            // An incomplete snapshot is reconciled with in the next tick, with whatever has arrived by then.
            if received.complete {
                context.wake_at(now);
            }
        }
    }

    /// Queues events for delivery to the game.
    fn queue_events(&mut self, events: &EventBatch<'_>) {
        if events.since > self.events_upto || events.upto <= self.events_upto {
            return;
        }
        for tick_events in &events.entries {
            if tick_events.tick >= self.events_upto && self.events.len() < MAX_EVENT_TICKS {
                let bytes = tick_events.bytes.to_vec();
                self.events
                    .push_back((tick_events.tick, tick_events.count, bytes));
            }
        }
        self.events_upto = events.upto;
    }

    /// Delivers events to the game: at once if their ticks have been predicted, else when those ticks are shown.
    fn deliver_events(&mut self, now: Duration, context: &Context, world: &mut dyn World) {
        for (tick, event) in self.early.drain(..) {
            world.scene().handle_early_event(tick, &event);
        }
        let predicts = context.settings.prediction.is_some();
        let upto = match predicts {
            true => self.events_upto,
            false => {
                let shown = self.playout.display_time(now);
                let shown = shown
                    .and_then(|shown| context.ticks_at(shown))
                    .unwrap_or(0.0);
                self.events_upto.min(Tick(shown.max(0.0) as u64))
            }
        };
        while self.events.front().is_some_and(|(tick, ..)| *tick < upto) {
            if let Some((tick, count, bytes)) = self.events.pop_front() {
                world.scene().handle_events(tick, count, &bytes);
            }
        }
        if upto > self.events_delivered {
            self.events_delivered = upto;
            world.scene().handle_events(Tick(upto.0 - 1), 0, &[]);
        }
    }

    /// Delivers all events to the game, whether their ticks have been shown or not.
    pub(super) fn deliver_all_events(&mut self, world: &mut dyn World) {
        for (tick, event) in self.early.drain(..) {
            world.scene().handle_early_event(tick, &event);
        }
        for (tick, count, bytes) in core::mem::take(&mut self.events) {
            world.scene().handle_events(tick, count, &bytes);
        }
        if let Some(last) = self.events_upto.0.checked_sub(1) {
            world.scene().handle_events(Tick(last), 0, &[]);
        }
        self.events_delivered = self.events_upto;
    }

    /// The time that is drawn at `now`.
    pub(super) fn shown(&mut self, now: Duration) -> Option<Duration> {
        self.playout.display_time(now)
    }

    pub(super) fn advance(&mut self, now: Duration, context: &mut Context, world: &mut dyn World) {
        self.lead.pass(now);
        let predicts = context.settings.prediction.is_some();
        if let Err(error) = self.reconcile_received(predicts, world) {
            context.trouble = Some(error.to_string());
            context.refused += 1;
        }
        self.deliver_events(now, context, world);
        self.give_again(world);
        match predicts {
            true => self.predict(now, context, world),
            false => self.act(now, context, world),
        }
        self.send_inputs(now, context);
        if let Some(at) = self.acts_at(context)
            && context.hold.is_none_or(|hold| self.predicted_tick < hold)
        {
            // What is due and cannot be done yet waits for others.
            let wait = now + context.tick_time;
            context.wake_at(if at > now { at } else { wait });
        }
    }

    /// Reconciles the prediction with the snapshots that have arrived.
    fn reconcile_received(
        &mut self,
        predicts: bool,
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        let fresh = core::mem::take(&mut self.fresh);
        self.reconciled_upto = fresh.last().copied().unwrap_or(self.reconciled_upto);
        match fresh.last() {
            Some(last) if !predicts || *last >= self.predicted_tick => {
                self.adopt_known(*last, world)
            }
            _ => fresh
                .iter()
                .try_for_each(|tick| self.reconcile(*tick, world)),
        }
    }

    /// Continues from the snapshot of a tick, whatever was predicted of it.
    fn adopt_known(&mut self, tick: Tick, world: &mut dyn World) -> Result<(), AdoptError> {
        self.drop_saves(world, None);
        self.predicted_tick = self.predicted_tick.max(tick);
        self.load_known(tick, world)?;
        world.scene().record(tick);
        Ok(())
    }

    /// When the players here act in the next tick.
    pub(super) fn acts_at(&self, context: &Context) -> Option<Duration> {
        let at = context.time_of(self.predicted_tick)?;
        Some(at.saturating_sub(self.lead.length()))
    }

    /// Whether the players here act in the next tick now.
    pub(super) fn acts(&self, now: Duration, context: &Context) -> bool {
        context.is_due(now + self.lead.length(), self.predicted_tick)
    }

    /// Gives inputs to the ticks that are due.
    fn act(&mut self, now: Duration, context: &Context, world: &mut dyn World) {
        if let Some(due) = context.ticks_at(now + self.lead.length()) {
            // A program that was suspended gives no inputs to ticks that are over.
            let past = (due.max(0.0) as u64).saturating_sub(QUIET_TICKS.into());
            self.predicted_tick = self.predicted_tick.max(Tick(past));
        }
        while self.acts(now, context) {
            self.assign(world);
            self.predicted_tick = self.predicted_tick.next();
        }
        self.forget();
    }

    /// Gives each player's oldest input to the next tick, and controls together with those that came after, if all of it can be done in one tick.
    pub(super) fn assign(&mut self, world: &mut dyn World) {
        for (player, pending) in &mut self.pending {
            if let Some((mut input, mut view_time, kind)) = pending.pop_front() {
                while let Some((next, seen, InputKind::Controls)) = pending.front()
                    && kind == InputKind::Controls
                {
                    let Some(both) = world.merge(&input, next) else {
                        break;
                    };
                    (input, view_time) = (both, view_time.or(*seen));
                    pending.pop_front();
                }
                self.log.push_back(LocalInput {
                    player: *player,
                    tick: self.predicted_tick,
                    view_time,
                    kind,
                    input,
                });
            }
        }
    }

    /// Forgets inputs that the authority has received and that will not be resimulated. They are kept for a while longer: whoever takes the
    /// authority's place may not have all of its ticks.
    pub(super) fn forget(&mut self) {
        while self.first < self.acknowledged
            && self
                .log
                .front()
                .is_some_and(|own| own.tick + KEPT_TICKS < self.confirmed_tick)
        {
            self.log.pop_front();
            self.first += 1;
        }
    }

    /// Says what players do, and what is known of the state, in every tick in which there is something to say.
    fn send_inputs(&mut self, now: Duration, context: &mut Context) {
        let skip = (self.acknowledged - self.first) as usize;
        // An authority with an update window waits for the word of every client before it tells of a tick.
        let quiet = skip >= self.log.len() && self.window == 0;
        let wait = if quiet { QUIET_TICKS } else { 1 };
        let is_soon =
            |sent: Duration| now + context.tick_time / 2 < sent + context.tick_time * wait;
        if self.sent_at.is_some_and(is_soon) {
            return;
        }
        let Some(authority) = context.roster.as_ref().map(|roster| roster.authority) else {
            return;
        };
        let entries = self.log.iter().skip(skip).take(ENTRIES_AT_ONCE);
        let entries = entries.map(|own| InputEntry {
            player: own.player,
            tick: own.tick,
            view_time: own.view_time,
            kind: own.kind,
            input: &own.input,
        });
        // The tick it acted in last.
        let tick = Tick(self.predicted_tick.0.saturating_sub(1));
        let sent = Message::Inputs(InputMessage {
            epoch: self.epoch,
            tick,
            parts: self.store.acknowledgement(),
            events: self.events_upto,
            early: self.early_next,
            first: self.acknowledged,
            entries: entries.collect(),
        });
        context.send(authority, Delivery::Unreliable, &sent);
        // Who is late because it slept needs no more time for that.
        if !context.is_due(now + self.lead.length(), self.predicted_tick + 1) {
            self.lead.on_sent(tick);
        }
        self.sent_at = Some(now);
    }

    /// Draws what is to be seen at `now`.
    pub(super) fn view(&mut self, now: Duration, context: &Context, world: &mut dyn World) -> bool {
        let Some(at) = self.playout.display_time(now) else {
            return false;
        };
        let Some(ticks) = context.ticks_at(at) else {
            return false;
        };
        let settings = &context.settings;
        let tick_time = context.tick_time.as_secs_f64();
        let extrapolate = settings.snapshot.extrapolate.as_secs_f64() / tick_time;
        let Some(prediction) = &settings.prediction else {
            let interpolation = settings.snapshot.interpolation;
            self.sample(ticks, interpolation, extrapolate);
            world.scene().draw(now, Some(&self.table), None);
            return true;
        };
        let own = context.own_players();
        self.view_time = None;
        match prediction.remote_players {
            RemotePlayers::Simulated => world.scene().draw(now, None, Some(own)),
            RemotePlayers::DeadReckoned => {
                let present = context.ticks_at(now + self.lead.length()).unwrap_or(ticks);
                let most = prediction.window as f64 + extrapolate;
                self.store.sample(
                    present,
                    settings.snapshot.interpolation,
                    most,
                    &mut self.table,
                );
                world.scene().draw(now, Some(&self.table), Some(own));
            }
            RemotePlayers::Interpolated => {
                let interpolation = settings.snapshot.interpolation;
                self.sample(ticks, interpolation, extrapolate);
                world.scene().draw(now, Some(&self.table), Some(own));
                self.see(ticks);
            }
        }
        true
    }

    /// Samples what is shown of a moment: before the beginning with this authority, what the former one sent.
    fn sample(&mut self, ticks: f64, interpolation: Interpolation, extrapolate: f64) {
        self.former = self.former.take().filter(|f| ticks < f.upto.0 as f64);
        let store = match &mut self.former {
            Some(former) => &mut former.store,
            None => &mut self.store,
        };
        store.sample(ticks, interpolation, extrapolate, &mut self.table);
    }

    /// Remembers what players have seen last.
    fn see(&mut self, ticks: f64) {
        self.view_time = self
            .store
            .seen(ticks)
            .map(|(before, after, part)| ViewTime {
                before,
                after,
                fraction: (part * 65_536.0).clamp(0.0, 65_535.0) as u16,
            });
    }

    /// The authority gives another state to go on from.
    pub(super) fn handle_state(
        &mut self,
        now: Duration,
        context: &mut Context,
        state: &[u8],
        world: &mut dyn World,
    ) {
        match self.begin(now, context, state, world) {
            Ok(()) => context.events.push_back(ModelEvent::Adopted {
                tick: self.predicted_tick,
            }),
            Err(error) => {
                tracing::warn!(%error, "the authority's state was refused");
                context.trouble = Some(error.to_string());
            }
        }
    }

    /// Whether it has been given a state.
    pub(super) fn has_begun(&self) -> bool {
        self.epoch != 0
    }

    pub(super) fn is_from_authority(context: &Context, from: PeerId) -> bool {
        let roster = context.roster.as_ref();
        roster.is_some_and(|roster| roster.authority == from)
    }
}
