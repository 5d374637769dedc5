//! Deterministic lockstep: only inputs travel, and everyone simulates the same ticks from the same inputs.

mod begin;
mod close;
mod config;
mod depart;
mod follow;
mod guard;
mod hear;
mod hurry;
mod instead;
mod join;
mod message;
mod outbox;
mod pending;
mod predict;
mod relay;
mod saves;
mod tell;
#[cfg(test)]
mod tests;

use core::ops::Bound;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::timeline::{Timeline, VoiceId};
use crate::{
    AdoptError, Delivery, Model, ModelEvent, Outgoing, PeerId, PlayerId, Roster, Status, Tick,
    TickInputs, World,
};
pub use config::{Length, LockstepConfig, LockstepError, Pace, SlowMachine};
use depart::Departed;
use follow::Extra;
use guard::Guard;
use hurry::Ahead;
use instead::{Hearing, Hearings};
use message::Message;
use outbox::Outbox;
use pending::Pending;
pub(crate) use predict::Prediction;
use relay::Relay;
use saves::Saves;

/// How soon turns are closed later, once everything comes in time.
const SETTLES: Duration = Duration::from_secs(10);
/// A program that was not driven for this long was frozen: what it reads then was not late, it was.
const FROZEN: Duration = Duration::from_millis(150);

/// The model in which only inputs travel.
///
/// Time is divided into ticks, and ticks into *turns*: whose inputs are closed, and travel, together. In a hosted room the host puts what
/// arrives into the next turn and tells everyone, so that nobody waits for anybody but the host; in a mesh everyone closes its own turns some ticks
/// ahead and tells everyone, and a tick is simulated once all have said what they do in it. A tick whose inputs are not known when it is due
/// makes the simulation, not the view, stand still.
///
/// - How long turns are and how far ahead they are closed follows the connections ([`LockstepConfig`]), as does how much later than the
///   common schedule a program on a bad connection simulates.
/// - Every so often all compare check values of their states; who differs is told what, and repaired by the parts that differ.
/// - Who joins takes over a [checkpoint](Model::checkpoint) and hurries after the others.
#[derive(Debug)]
pub struct Lockstep {
    config: LockstepConfig,
    roster: Option<Roster>,
    /// When tick 0 was due, before anything slipped.
    start: Option<Duration>,
    tick_time: Duration,
    /// How much later than planned everything happens.
    slip: Duration,
    timeline: Timeline,
    /// Ticks before this one are simulated for good.
    next: Tick,
    /// Who is present at `next`.
    present: TickInputs,
    /// The tick the world is at: `next`, or farther if it is predicted.
    head: Tick,
    /// Who is present at `head`, as far as known.
    present_ahead: TickInputs,
    saves: Saves,
    /// How to go ahead of what is known; `None` for never, and for a host that puts everyone's inputs into turns.
    prediction: Option<Prediction>,
    /// Whether the authority says to go ahead of what is known.
    predicting: bool,
    /// Whether this program only watches.
    watches: bool,
    relay: Relay,
    /// At a host: what it knows of its guests.
    hearing: Hearings,
    /// At a guest: what its host knows of it.
    heard: Hearing,
    /// Whether nobody else has ever led.
    led_always: bool,
    /// At a guest: from the host to the farthest other guest.
    beyond_host: Duration,
    /// Packets that get lost, in percent, as far as it is believed.
    believed_loss: u8,
    next_belief: Duration,
    again: Again,
    /// The world was at this tick when something was put right last.
    put_right_at: Option<Tick>,
    /// Who speaks: in a hosted room the host, in a mesh everyone.
    voices: BTreeMap<VoiceId, Voice>,
    /// Players who are to be present where the voice of the authority ends.
    roll: BTreeSet<PlayerId>,
    /// Players who were present when this began in the middle of a game, until it is known who speaks for them.
    unvoiced: Vec<PlayerId>,
    /// Nothing is simulated from here on.
    held: Option<Tick>,
    /// What players do and no tick has yet.
    pending: Pending,
    pending_since: Option<Duration>,
    cursors: BTreeMap<PeerId, Cursor>,
    /// Where the newest turns of this program's voice begin.
    turns: VecDeque<Tick>,
    ahead: Ahead,
    extra: Extra,
    guard: Guard,
    departed: BTreeMap<VoiceId, Departed>,
    /// Who has a state that this program, the authority, asked for.
    newer: Option<PeerId>,
    /// What is simulated here is known to be wrong: another's state is taken over even if that is of an earlier tick.
    is_wrong: bool,
    /// Spans that came before those they follow.
    early: Vec<(PeerId, Vec<u8>)>,
    /// Messages that need the world.
    for_world: VecDeque<(PeerId, Vec<u8>)>,
    outbox: Outbox,
    /// Room to write inputs into.
    scratch: Vec<u8>,
    /// Room to list who is to be told what.
    listeners: Vec<(Tick, Tick, PeerId)>,
    events: VecDeque<ModelEvent>,
    last_seen: Option<Duration>,
    frozen_until: Duration,
    /// Since when the simulation stands still, and for whom.
    stalled: Option<(Duration, VoiceId)>,
    next_want: Duration,
    /// Not before this is the authority asked for more than words.
    next_plea: Duration,
    next_report: Duration,
    wake: Option<Duration>,
    initiative: Option<PlayerId>,
    turn_ended: bool,
    lagged: u64,
    refused: u64,
    inputs_refused: u64,
    turn: u64,
    /// Ticks that could have been simulated in the last call, and were not.
    behind_now: u64,
    /// Behind the schedule for a known reason: being late is not counted.
    hurrying: bool,
    /// Somebody may not have been told everything yet.
    untold: bool,
    trouble: Option<String>,
}

/// What was simulated more than once, so far.
#[derive(Clone, Copy, Debug, Default)]
struct Again {
    times: u64,
    ticks: u64,
    deepest: u64,
}

/// What is known of one who speaks.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Voice {
    /// Nothing goes on without it from here.
    from: Tick,
    /// Known up to here.
    upto: Tick,
    /// It says nothing from here on.
    end: Option<Tick>,
    /// For whom it speaks, in a mesh.
    players: Vec<PlayerId>,
    /// By how much it was early since that was told.
    slack: Slack,
    /// Not before this is it asked again to repeat what was lost.
    next_want: Duration,
    /// What is missing from here on was asked for.
    asked: Option<Tick>,
}

/// The least times, in µs, by which somebody was early in a while, and for which ticks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Slack {
    least: [Option<(i64, Tick)>; 3],
}

impl Slack {
    fn add(&mut self, slack_us: i64, tick: Tick) {
        let mut new = Some((slack_us, tick));
        for least in &mut self.least {
            if new.is_some_and(|(new, _)| least.is_none_or(|(least, _)| new < least)) {
                core::mem::swap(least, &mut new);
            }
        }
    }

    /// The third: those it is seldom below are left to whoever listens.
    fn low(&self) -> Option<(i64, Tick)> {
        self.least.iter().rev().flatten().next().copied()
    }
}

impl Voice {
    fn new(from: Tick, players: Vec<PlayerId>) -> Voice {
        Voice {
            from,
            upto: from,
            end: None,
            players,
            slack: Slack::default(),
            next_want: Duration::ZERO,
            asked: None,
        }
    }

    /// Whether this keeps a tick from being simulated.
    fn holds_up(&self, tick: Tick) -> bool {
        self.from <= tick && self.end.is_none_or(|end| end > tick) && self.upto <= tick
    }
}

/// How much of this program's voice a peer was told.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    incarnation: u64,
    told: Tick,
    /// What it last said of itself.
    executed: Tick,
    behind: u64,
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
            ahead: Ahead::new(config.input_delay, 2, SETTLES),
            extra: Extra::new(config.patience),
            config,
            roster: None,
            start: None,
            tick_time: Duration::from_nanos(16_666_667),
            slip: Duration::ZERO,
            timeline: Timeline::default(),
            next: Tick(0),
            present: TickInputs::new(),
            head: Tick(0),
            present_ahead: TickInputs::new(),
            saves: Saves::default(),
            prediction: None,
            predicting: false,
            watches: false,
            relay: Relay::default(),
            hearing: Hearings::new(),
            heard: Hearing::default(),
            led_always: true,
            beyond_host: Duration::ZERO,
            believed_loss: 10,
            next_belief: Duration::ZERO,
            again: Again::default(),
            put_right_at: None,
            voices: BTreeMap::new(),
            roll: BTreeSet::new(),
            unvoiced: Vec::new(),
            held: None,
            pending: Pending::default(),
            pending_since: None,
            cursors: BTreeMap::new(),
            turns: VecDeque::new(),
            guard: Guard::default(),
            departed: BTreeMap::new(),
            newer: None,
            is_wrong: false,
            early: Vec::new(),
            for_world: VecDeque::new(),
            outbox: Outbox::default(),
            scratch: Vec::new(),
            listeners: Vec::new(),
            events: VecDeque::new(),
            last_seen: None,
            frozen_until: Duration::ZERO,
            stalled: None,
            next_want: Duration::ZERO,
            next_plea: Duration::ZERO,
            next_report: Duration::ZERO,
            wake: None,
            initiative: None,
            turn_ended: false,
            lagged: 0,
            refused: 0,
            inputs_refused: 0,
            turn: 0,
            behind_now: 0,
            hurrying: false,
            untold: true,
            trouble: None,
        })
    }

    /// The settings in force: in a hosted room those of the host.
    pub fn config(&self) -> &LockstepConfig {
        &self.config
    }

    /// In words, how far everyone's turns are known here: for whoever wants to know why a game stands still.
    pub fn explain(&self) -> String {
        use core::fmt::Write;
        let mut words = String::new();
        let _ = write!(
            words,
            "at tick {} with {} players",
            self.next,
            self.present.players().len()
        );
        for (id, voice) in &self.voices {
            let _ = write!(
                words,
                "; {}/{} from {} known to {}",
                id.peer, id.incarnation, voice.from, voice.upto
            );
            if let Some(end) = voice.end {
                let _ = write!(words, " ends at {end}");
            }
        }
        for id in self.departed.keys() {
            let _ = write!(words, "; the end of {} is not agreed on", id.peer);
        }
        if !self.early.is_empty() {
            let _ = write!(words, "; {} turns came too early", self.early.len());
        }
        let due = self.last_seen.and_then(|seen| self.metronome(seen));
        if let Some(due) = due {
            let _ = write!(words, "; tick {due} was due");
        }
        for (peer, cursor) in self.cursors.iter().filter(|(_, cursor)| cursor.behind > 0) {
            let _ = write!(words, "; {peer} is {} ticks behind", cursor.behind);
        }
        words
    }

    /// Whether the authority puts everyone's inputs into turns, rather than everyone its own.
    fn is_sequenced(&self) -> bool {
        let is_mesh = self.roster.as_ref().is_some_and(|roster| roster.is_mesh);
        (!is_mesh && self.prediction.is_none()) || self.config.pace != Pace::RealTime
    }

    fn me(&self) -> Option<PeerId> {
        self.roster.as_ref().map(|roster| roster.me)
    }

    fn authority(&self) -> Option<PeerId> {
        self.roster.as_ref().map(|roster| roster.authority)
    }

    fn is_authority(&self) -> bool {
        self.roster
            .as_ref()
            .is_some_and(|roster| roster.me == roster.authority)
    }

    /// A peer's voice in the incarnation it has now.
    fn voice_id(&self, peer: PeerId) -> Option<VoiceId> {
        let incarnation = self.roster.as_ref()?.member(peer)?.incarnation;
        Some(VoiceId { peer, incarnation })
    }

    /// The voice after another one, in their order; the first after none.
    fn voice_after(&self, id: Option<VoiceId>) -> Option<VoiceId> {
        let after = id.map_or(Bound::Unbounded, Bound::Excluded);
        let mut voices = self.voices.range((after, Bound::Unbounded));
        voices.next().map(|(id, _)| *id)
    }

    /// This program's own voice, unless it has none yet, or none any more.
    fn my_voice(&self) -> Option<(VoiceId, &Voice)> {
        let me = self.me()?;
        // A guest of a host has none: it need not be looked up among thousands.
        if self.voices.keys().all(|id| id.peer != me) {
            return None;
        }
        let id = self.voice_id(me)?;
        let voice = self.voices.get(&id)?;
        let speaks = voice.end.is_none() && !self.departed.contains_key(&id);
        speaks.then_some((id, voice))
    }

    /// When a tick is due by the common schedule.
    fn due(&self, tick: Tick) -> Option<Duration> {
        let start = self.start?;
        let nanos = u128::from(tick.0) * self.tick_time.as_nanos();
        Some(start + self.slip + Duration::from_nanos(u64::try_from(nanos).ok()?))
    }

    /// The tick that the common schedule has reached: below 0 before the start.
    fn metronome(&self, now: Duration) -> Option<i64> {
        let zero = self.due(Tick(0))?;
        let nanos = self.tick_time.as_nanos() as i128;
        let ticks = match now.checked_sub(zero) {
            Some(since) => since.as_nanos() as i128 / nanos,
            None => -((zero - now).as_nanos() as i128 / nanos) - 1,
        };
        i64::try_from(ticks).ok()
    }

    fn say(&mut self, to: PeerId, delivery: Delivery, message: &Message<'_>) {
        self.outbox.push([to], delivery, message);
    }

    fn wake_at(&mut self, at: Duration) {
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }

    /// Notes that time has passed, and whether this program was frozen meanwhile.
    fn see_time(&mut self, now: Duration) {
        if let Some(last) = self.last_seen
            && now.saturating_sub(last) > FROZEN
        {
            self.frozen_until = now + FROZEN;
            self.excuse_all(now);
        }
        self.last_seen = Some(now);
    }
}

impl Model for Lockstep {
    fn handle_roster(&mut self, now: Duration, roster: &Roster) {
        self.on_roster(now, roster);
    }

    fn handle_start(&mut self, now: Duration, at: Duration) {
        if self.start != Some(at) && self.next == Tick(0) {
            self.start = Some(at);
            self.wake_at(now);
        }
    }

    fn handle_message(&mut self, now: Duration, from: PeerId, message: &[u8]) {
        self.see_time(now);
        if self.hear(now, from, message).is_none() {
            self.refused += 1;
        }
    }

    fn input(&mut self, now: Duration, player: PlayerId, input: &[u8]) -> bool {
        let mine = self.roster.as_ref().and_then(|roster| {
            let me = roster.member(roster.me)?;
            Some(me.players.contains(&player))
        });
        let may_act = mine == Some(true) && self.initiative.is_none_or(|holder| holder == player);
        if !may_act || !self.pending.push(player, input) {
            self.inputs_refused += 1;
            return false;
        }
        self.pending_since.get_or_insert(now);
        self.wake_at(now);
        true
    }

    fn end_turn(&mut self, now: Duration, player: PlayerId) {
        if self.initiative == Some(player) && !self.turn_ended {
            self.turn_ended = true;
            self.wake_at(now);
        }
    }

    fn advance(&mut self, now: Duration, world: &mut dyn World) {
        self.see_time(now);
        self.wake = None;
        let rate = world.ticks_per_second().max(1);
        self.tick_time = Duration::from_nanos(1_000_000_000 / u64::from(rate));
        if !self.for_world.is_empty() {
            let ahead = self.retreat(world);
            self.answer_with_world(now, world);
            self.go_again(ahead, world);
        }
        if self.start.is_none() || self.roster.is_none() {
            return;
        }
        self.catch_slip(now);
        self.choose_whether_to_predict(now);
        self.believe_loss(now);
        self.close_turns(now);
        self.speak_for_silent(now);
        self.simulate(now, world);
        self.see_departures(now);
        self.judge_checks(now);
        self.tell(now);
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
        self.held = Some(tick);
        self.wake_at(Duration::ZERO);
    }

    fn poll_timeout(&self) -> Option<Duration> {
        self.wake
    }

    fn status(&self) -> Status {
        Status {
            tick: self.head,
            confirmed_tick: self.next,
            running: self.start.is_some(),
            stalled_ticks: self.lagged,
            waiting_for: self.stalled.map(|(_, id)| id.peer),
            behind: self.behind(),
            input_delay: self.ahead.ticks(),
            turn_length: self.turn,
            playout_delay: self.lateness(),
            predicting: self.predicts(),
            rollbacks: self.again.times,
            resimulated: self.again.ticks,
            max_rollback_depth: self.again.deepest,
            desyncs: self.guard.desyncs(),
            refused: self.refused,
            initiative: self.initiative,
            inputs_refused: self.inputs_refused,
            trouble: self.trouble.clone(),
            ..Status::default()
        }
    }

    fn spectator_delay(&self) -> Duration {
        self.config.spectator_delay
    }

    fn checkpoint(&mut self, now: Duration, newcomer: PeerId, world: &mut dyn World) -> Vec<u8> {
        let ahead = self.retreat(world);
        let checkpoint = self.write_checkpoint(now, newcomer, world);
        self.go_again(ahead, world);
        checkpoint
    }

    fn send_state_to_all(&mut self, now: Duration, world: &mut dyn World) {
        self.give_to_all(now, world);
    }

    fn adopt(
        &mut self,
        now: Duration,
        checkpoint: &[u8],
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        self.read_checkpoint(now, checkpoint, world)
    }
}
