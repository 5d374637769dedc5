//! Deterministic lockstep: only inputs travel, and everyone simulates the same ticks from the same inputs.
//!
//! Glenn Fiedler's *Deterministic Lockstep* describes the principle; [`Rollback`](crate::Rollback) is the same model with prediction.
//! [`Lockstep`] drives its parts, each of which owns one mechanism: the [`Room`] and its topology, the [`Schedule`], the [`InputSources`],
//! what is [`Simulated`], the [`DesyncDetector`] and so on.

mod announcing;
mod broadcast;
mod config;
mod departure;
mod desync;
mod game_delay;
mod given;
mod initiative;
mod input_delay;
mod message;
mod model_change;
mod packet_rate;
mod pending;
mod permission;
mod playout_delay;
mod prediction;
mod receive;
mod relay;
mod room;
mod saves;
mod schedule;
mod send;
mod simulate;
mod simulated;
mod sources;
mod stall;
mod state_transfer;
mod substitution;
mod succession;
#[cfg(test)]
mod tests;
mod turns;

use core::time::Duration;
use std::collections::VecDeque;

use crate::outbox::Outbox;
use crate::timeline::{SourceId, Timeline};
use crate::{
    AdoptError, Cut, Delivery, Departing, Handover, Held, InputKind, Model, ModelEvent, NotFed,
    Outgoing, PeerId, PlayerId, Roster, Status, Tick, World,
};
use broadcast::{Broadcast, MAX_REPEATED_TURNS};
pub use config::{Length, LockstepConfig, LockstepError, Pace, SlowMachine};
use desync::DesyncDetector;
pub use game_delay::GameDelay;
use given::GivenInputs;
use initiative::Initiative;
use message::Message;
use pending::PendingInputs;
use prediction::LossEstimate;
pub(crate) use prediction::Prediction;
use room::{Room, Topology};
use schedule::{CLOCK_ALLOWANCE, Schedule};
use simulated::Simulated;
use sources::{InputSource, InputSources};
use stall::Stall;
use state_transfer::StateTransfer;
use substitution::Substitution;

/// A program that was not driven for this long was frozen: messages it handles then waited here, and were not late.
const FREEZE_THRESHOLD: Duration = Duration::from_millis(150);
/// How long acknowledgements may wait for a batch where no batch waits for them.
const ACK_PATIENCE: Duration = Duration::from_millis(200);

/// The model in which only inputs travel.
///
/// Time is divided into ticks, and ticks into *turns*, whose inputs are closed, and travel, together. In a hosted room the host sequences the
/// inputs that arrive into its next turn and sends that to everyone, so that nobody waits for anybody but the host; in a mesh everyone closes
/// its own turns some ticks ahead and sends them to everyone, and a tick is simulated once the inputs of all are known. A tick whose inputs
/// are not known when it is due stalls the simulation, not the view.
///
/// - The length of turns and the input delay follow the connections ([`LockstepConfig`]), as does the playout delay of a program on a bad
///   connection.
/// - Every so often all compare checksums of their states; a peer that differs is told what, and corrects the parts that differ.
/// - A peer that joins takes over a [checkpoint](Model::checkpoint) and catches up.
#[derive(Debug)]
pub struct Lockstep {
    config: LockstepConfig,
    room: Room,
    schedule: Schedule,
    /// The inputs of all sources, as far as known.
    timeline: Timeline,
    simulated: Simulated,
    sources: InputSources,
    substitution: Substitution,
    loss: LossEstimate,
    pending: PendingInputs,
    given: GivenInputs,
    initiative: Initiative,
    broadcast: Broadcast,
    desync: DesyncDetector,
    transfer: StateTransfer,
    stall: Stall,
    timers: Timers,
    stats: Stats,
    outbox: Outbox,
    events: VecDeque<ModelEvent>,
}

/// When something is to be done next.
#[derive(Debug, Default)]
struct Timers {
    wake: Option<Duration>,
    /// When this program was last driven.
    last_driven: Option<Duration>,
    /// Until then lateness is not measured: this program was frozen, or the schedule has changed.
    frozen_until: Duration,
    next_report: Duration,
}

/// Counters and values for [`Status`] that belong to no other part.
#[derive(Debug, Default)]
struct Stats {
    stalled_ticks: u64,
    refused: u64,
    inputs_refused: u64,
    turn_length: u64,
    /// By how many µs batches arrive before they are due, smoothed.
    slack_us: i64,
    trouble: Option<String>,
}

impl Timers {
    fn wake_at(&mut self, at: Duration) {
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }

    /// Notes the time. Returns whether this program was frozen.
    fn on_driven(&mut self, now: Duration) -> bool {
        let last = self.last_driven.replace(now);
        let frozen = last.is_some_and(|last| now.saturating_sub(last) > FREEZE_THRESHOLD);
        if frozen {
            self.frozen_until = now + FREEZE_THRESHOLD;
        }
        frozen
    }
}

impl Default for Lockstep {
    /// The model with its default settings.
    fn default() -> Self {
        Lockstep::new(LockstepConfig::default()).expect("default settings make sense")
    }
}

impl Lockstep {
    /// The model with these settings. Refuses those that make no sense.
    pub fn new(config: LockstepConfig) -> Result<Lockstep, LockstepError> {
        config.check()?;
        Ok(Lockstep {
            room: Room::new(config.pace),
            schedule: Schedule::new(&config),
            timeline: Timeline::default(),
            simulated: Simulated::new(config.desync_check_interval),
            sources: InputSources::default(),
            substitution: Substitution::default(),
            loss: LossEstimate::default(),
            pending: PendingInputs::default(),
            given: GivenInputs::default(),
            initiative: Initiative::default(),
            broadcast: Broadcast::default(),
            desync: DesyncDetector::default(),
            transfer: StateTransfer::default(),
            stall: Stall::default(),
            timers: Timers::default(),
            stats: Stats::default(),
            outbox: Outbox::default(),
            events: VecDeque::new(),
            config,
        })
    }

    /// The settings in force: in a hosted room those of the host.
    pub fn config(&self) -> &LockstepConfig {
        &self.config
    }

    /// A description of how far the inputs of every source are known here, to find out why a game stalls.
    pub fn explain(&self) -> String {
        use core::fmt::Write;
        let mut description = String::new();
        let _ = write!(
            description,
            "at tick {} with {} players",
            self.simulated.confirmed_tick,
            self.simulated.confirmed_players.players().len()
        );
        for (id, source) in &self.sources.known {
            let _ = write!(
                description,
                "; {}/{} from {} known to {}",
                id.peer, id.incarnation, source.from, source.known_upto
            );
            if let Some(end) = source.end {
                let _ = write!(description, " ends at {end}");
            }
        }
        for id in &self.sources.departed {
            let _ = write!(description, "; the end of {} is not agreed on", id.peer);
        }
        let early = self.sources.early_batches.len();
        if early > 0 {
            let _ = write!(description, "; {early} turns came too early");
        }
        let last_driven = self.timers.last_driven;
        if let Some(due) = last_driven.and_then(|last| self.schedule.tick_at(last)) {
            let _ = write!(description, "; tick {due} was due");
        }
        let cursors = self.broadcast.cursors.iter();
        for (peer, cursor) in cursors.filter(|(_, cursor)| cursor.behind > 0) {
            let _ = write!(description, "; {peer} is {} ticks behind", cursor.behind);
        }
        description
    }

    /// This program's own source, while it is active.
    fn own_source(&self) -> Option<(SourceId, &InputSource)> {
        let me = self.room.me()?;
        // A guest of a sequencing host has none: it need not be looked up among thousands of members.
        if self.sources.known.keys().all(|id| id.peer != me) {
            return None;
        }
        let id = self.room.source_id(me)?;
        Some((id, self.sources.active(id)?))
    }

    /// The first tick whose inputs of a source are not known.
    fn known_upto_of(&self, id: SourceId) -> Tick {
        let source = self.sources.known.get(&id);
        source.map_or(self.simulated.confirmed_tick, |source| source.known_upto)
    }

    fn send(&mut self, to: PeerId, delivery: Delivery, message: &Message<'_>) {
        message.push_to(&mut self.outbox, [to], delivery);
    }

    /// Notes the time, and excuses the guests if this program was frozen meanwhile.
    fn note_time(&mut self, now: Duration) {
        if self.timers.on_driven(now) {
            self.substitution.excuse_all(now);
        }
    }
}

impl Model for Lockstep {
    fn name(&self) -> String {
        let kind = match self.simulated.prediction {
            Some(_) if self.schedule.game_delay.is_some() => crate::EventDelay::KIND,
            Some(_) => crate::Rollback::KIND,
            None => Lockstep::KIND,
        };
        kind.name.to_string()
    }

    fn handle_roster(&mut self, now: Duration, roster: &Roster) {
        self.on_roster(now, roster);
    }

    fn handle_start(&mut self, now: Duration, at: Duration) {
        if self.schedule.start != Some(at) && self.simulated.confirmed_tick == Tick(0) {
            self.schedule.start = Some(at);
            self.timers.wake_at(now);
        }
    }

    fn handle_message(&mut self, now: Duration, from: PeerId, message: &[u8]) {
        self.note_time(now);
        if self.handle(now, from, message).is_none() {
            tracing::debug!(peer = %from, tag = ?message.first(), "message refused");
            self.stats.refused += 1;
        }
    }

    fn input(&mut self, now: Duration, player: PlayerId, input: &[u8], _: InputKind) -> bool {
        let roster = self.room.roster.as_ref();
        let me = roster.and_then(|roster| roster.member(roster.me));
        let is_mine = me.is_some_and(|me| me.players.contains(&player));
        let may_act = is_mine && self.initiative.may_act(player);
        if !may_act || !self.pending.push_local(now, player, input) {
            self.stats.inputs_refused += 1;
            return false;
        }
        if !self.room.is_mesh() {
            self.given.push(player, input);
        }
        self.timers.wake_at(now);
        true
    }

    fn end_turn(&mut self, now: Duration, player: PlayerId) {
        if self.initiative.end_turn(player) {
            self.timers.wake_at(now);
        }
    }

    fn advance(&mut self, now: Duration, world: &mut dyn World) {
        self.note_time(now);
        self.timers.wake = None;
        self.send_delayed_messages(now);
        self.schedule.set_rate(world.ticks_per_second());
        if !self.transfer.for_world.is_empty() {
            let reached = self.roll_back_to_confirmed(world);
            self.answer_with_world(now, world);
            self.resimulate(reached, world);
        }
        if self.schedule.start.is_none() || self.room.roster.is_none() {
            return;
        }
        if self.transfer.has_new_host && self.room.is_hub() {
            // Nothing counts before its state: what is given meanwhile is given again then. Until then it is predicted.
            self.simulate(now, world);
            return self.timers.wake_at(now + self.schedule.tick_time);
        }
        self.adjust_schedule(now);
        self.adjust_game_delay(now);
        self.decide_whether_to_predict(now);
        self.update_loss_estimate(now);
        self.close_turns(now);
        self.substitute_silent_guests(now);
        self.simulate(now, world);
        self.end_departed(now);
        self.judge_checksums(now);
        self.send_due(now);
        self.plan_wake(now);
    }

    fn poll_message(&mut self) -> Option<Outgoing> {
        self.outbox.pop()
    }

    fn reclaim(&mut self, sent: Outgoing) {
        self.outbox.reclaim(sent);
    }

    fn poll_event(&mut self) -> Option<ModelEvent> {
        self.events.pop_front()
    }

    fn stop_at(&mut self, tick: Tick) {
        self.simulated.hold = Some(tick);
        self.timers.wake_at(Duration::ZERO);
    }

    fn poll_timeout(&self) -> Option<Duration> {
        self.timers.wake
    }

    fn status(&self) -> Status {
        let (simulated, stats) = (&self.simulated, &self.stats);
        Status {
            tick: simulated.predicted_tick,
            confirmed_tick: simulated.confirmed_tick,
            running: self.schedule.start.is_some(),
            stalled_ticks: stats.stalled_ticks,
            waiting_for: match self.stall.current {
                Some((_, id)) => Some(id.peer),
                None => self.overdue_peer(),
            },
            behind: self.stall.behind,
            takes_input_at: self.takes_input_at(),
            delay: self.felt_delay(),
            input_delay: self.schedule.closing_ticks(),
            turn_length: stats.turn_length,
            playout_delay: self.playout_delay(),
            predicting: self.predicts(),
            rollbacks: simulated.rollbacks.count,
            resimulated: simulated.rollbacks.ticks,
            max_rollback_depth: simulated.rollbacks.max_depth,
            desyncs: self.desync.desyncs,
            refused: stats.refused,
            initiative: self.initiative.holder,
            inputs_refused: stats.inputs_refused,
            trouble: stats.trouble.clone(),
            ..Status::default()
        }
    }

    fn spectator_delay(&self) -> Duration {
        self.config.spectator_delay
    }

    fn ack_patience(&self) -> Duration {
        // Members of a mesh send to each other often, and no batch waits for an acknowledgement.
        let is_patient = self.schedule.game_delay.is_some() && self.room.topology == Topology::Mesh;
        if is_patient {
            ACK_PATIENCE
        } else {
            Duration::ZERO
        }
    }

    fn checkpoint(&mut self, now: Duration, newcomer: PeerId, world: &mut dyn World) -> Vec<u8> {
        let reached = self.roll_back_to_confirmed(world);
        let checkpoint = self.write_checkpoint(newcomer, world);
        self.note_state_sent(now, newcomer);
        self.resimulate(reached, world);
        checkpoint
    }

    fn send_state_to_all(&mut self, now: Duration, world: &mut dyn World) {
        let peers: Vec<PeerId> = self.room.others().map(|member| member.peer).collect();
        for peer in peers {
            self.send_state(now, peer, world);
        }
    }

    fn replace_state(&mut self, now: Duration, checkpoint: &[u8]) {
        self.transfer.replacement = Some(checkpoint.into());
        self.timers.wake_at(now);
    }

    fn adopt(
        &mut self,
        now: Duration,
        checkpoint: &[u8],
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        self.transfer.has_new_host = false;
        self.read_checkpoint(now, checkpoint, world)
    }

    fn begin_feed(&mut self, _: Duration, world: &mut dyn World) -> Option<Vec<u8>> {
        self.first_record(world)
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

    fn hold(&mut self, now: Duration, departing: &[Departing]) -> Vec<Held> {
        self.note_time(now);
        self.hold_sources(now, departing)
    }

    fn cut(&mut self, now: Duration, cuts: &[Cut]) {
        self.note_time(now);
        self.on_cuts(now, cuts);
    }
}
