//! Two models side by side, each with its part of a game.
//!
//! It is kept for games in which every peer owns its movement while one host decides the rules: one part for each.

mod both;
mod either;

use core::time::Duration;

use crate::{
    AdoptError, Cut, Departing, Held, InputKind, Model, ModelEvent, Outgoing, PeerId, PlayerId,
    Roster, Status, Tick, World,
};
pub use both::Both;
pub use either::Either;

/// Says of an input or a message that it belongs to the first part.
const FIRST: u8 = 0;
/// The same of the second.
const SECOND: u8 = 1;

/// Two models, each with a part of one game: an economy of thousands of workers in lockstep, and beside it a battle by snapshots.
///
/// Its world is [`Both`] parts; what players do is [`Either`] in one or in the other. The parts know nothing of each other, and their ticks
/// need not come at the same time. An event of one part that matters in the other is passed on by a player of the authority: it reads the events
/// of the one ([`Live::poll_event`](crate::Live::poll_event)) and gives an input to the other, whose rules allow that input to nobody else
/// ([`Simulation::allows`](crate::Simulation::allows)). In a mesh only one of the two may be of inputs (lockstep or rollback): the room ends the inputs of
/// one part with its views. The example `beside` is such a game:
///
/// ```
/// use samestep_sync::{Beside, Lockstep, Snapshot};
///
/// // A town in lockstep, in which everyone builds; a hunt by snapshots, which only the host knows whole.
/// let model = Beside::new(Lockstep::default(), Snapshot::default());
/// assert_eq!(model.second().config().every, 3);
/// ```
#[derive(Debug)]
pub struct Beside<M, N> {
    first: M,
    second: N,
    refused: u64,
    trouble: Option<String>,
}

impl<M: Model, N: Model> Beside<M, N> {
    /// One model for the first part of a game, another for the second.
    pub fn new(first: M, second: N) -> Self {
        Self {
            first,
            second,
            refused: 0,
            trouble: None,
        }
    }

    /// The model of the first part.
    pub fn first(&self) -> &M {
        &self.first
    }

    /// The model of the first part, to have it do what it offers.
    pub fn first_mut(&mut self) -> &mut M {
        &mut self.first
    }

    /// The model of the second part.
    pub fn second(&self) -> &N {
        &self.second
    }

    fn parts<'a>(
        &mut self,
        world: &'a mut dyn World,
    ) -> Option<(&'a mut dyn World, &'a mut dyn World)> {
        let parts = world.parts();
        if parts.is_none() {
            self.trouble = Some("two models need two worlds: give them `Both`".to_string());
        }
        parts
    }
}

impl<M: Model, N: Model> Model for Beside<M, N> {
    fn name(&self) -> String {
        format!("{} beside {}", self.first.name(), self.second.name())
    }

    fn handle_roster(&mut self, now: Duration, roster: &Roster) {
        self.first.handle_roster(now, roster);
        self.second.handle_roster(now, roster);
    }

    fn handle_rate(&mut self, now: Duration, peer: PeerId, bytes_per_s: u64) -> bool {
        self.first.handle_rate(now, peer, bytes_per_s)
            | self.second.handle_rate(now, peer, bytes_per_s)
    }

    fn handle_start(&mut self, now: Duration, at: Duration) {
        self.first.handle_start(now, at);
        self.second.handle_start(now, at);
    }

    fn handle_message(&mut self, now: Duration, from: PeerId, message: &[u8]) {
        match message.split_last() {
            Some((&FIRST, message)) => self.first.handle_message(now, from, message),
            Some((&SECOND, message)) => self.second.handle_message(now, from, message),
            _ => self.refused += 1,
        }
    }

    fn input(&mut self, now: Duration, player: PlayerId, input: &[u8], kind: InputKind) -> bool {
        match input.split_first() {
            Some((&FIRST, input)) => self.first.input(now, player, input, kind),
            Some((&SECOND, input)) => self.second.input(now, player, input, kind),
            _ => false,
        }
    }

    fn end_turn(&mut self, now: Duration, player: PlayerId) {
        self.first.end_turn(now, player);
        self.second.end_turn(now, player);
    }

    fn advance(&mut self, now: Duration, world: &mut dyn World) {
        if let Some((first, second)) = self.parts(world) {
            self.first.advance(now, first);
            self.second.advance(now, second);
        }
    }

    fn poll_message(&mut self) -> Option<Outgoing> {
        // What it is stands behind it, so that nothing is copied.
        let mark = |mut message: Outgoing, which: u8| {
            message.bytes.push(which);
            message
        };
        if let Some(message) = self.first.poll_message() {
            return Some(mark(message, FIRST));
        }
        let message = self.second.poll_message()?;
        Some(mark(message, SECOND))
    }

    fn reclaim(&mut self, mut sent: Outgoing) {
        match sent.bytes.pop() {
            Some(SECOND) => self.second.reclaim(sent),
            _ => self.first.reclaim(sent),
        }
    }

    fn poll_event(&mut self) -> Option<ModelEvent> {
        let event = self.first.poll_event();
        event.or_else(|| self.second.poll_event())
    }

    fn view(&mut self, now: Duration, world: &mut dyn World) -> bool {
        match self.parts(world) {
            Some((first, second)) => self.first.view(now, first) | self.second.view(now, second),
            None => false,
        }
    }

    fn stop_at(&mut self, tick: Tick) {
        self.first.stop_at(tick);
        self.second.stop_at(tick);
    }

    fn poll_timeout(&self) -> Option<Duration> {
        let timeouts = [self.first.poll_timeout(), self.second.poll_timeout()];
        timeouts.into_iter().flatten().min()
    }

    /// The worse of both; [`first`](Self::first) and [`second`](Self::second) know each its own.
    fn status(&self) -> Status {
        let (first, second) = (self.first.status(), self.second.status());
        Status {
            tick: first.tick.min(second.tick),
            confirmed_tick: first.confirmed_tick.min(second.confirmed_tick),
            running: first.running && second.running,
            stalled_ticks: first.stalled_ticks.max(second.stalled_ticks),
            waiting_for: first.waiting_for.or(second.waiting_for),
            behind: first.behind.max(second.behind),
            takes_input_at: first.takes_input_at.min(second.takes_input_at),
            delay: first.delay.max(second.delay),
            input_delay: first.input_delay.max(second.input_delay),
            turn_length: first.turn_length.max(second.turn_length),
            playout_delay: first.playout_delay.max(second.playout_delay),
            predicting: first.predicting || second.predicting,
            rollbacks: first.rollbacks + second.rollbacks,
            resimulated: first.resimulated + second.resimulated,
            max_rollback_depth: first.max_rollback_depth.max(second.max_rollback_depth),
            interpolation_delay: first.interpolation_delay.max(second.interpolation_delay),
            lead: first.lead.max(second.lead),
            corrections: first.corrections + second.corrections,
            beyond_lag_compensation: first.beyond_lag_compensation
                || second.beyond_lag_compensation,
            desyncs: first.desyncs + second.desyncs,
            refused: first.refused + second.refused + self.refused,
            initiative: first.initiative.or(second.initiative),
            inputs_refused: first.inputs_refused + second.inputs_refused,
            inputs_too_late: first.inputs_too_late + second.inputs_too_late,
            trouble: self.trouble.clone().or(first.trouble).or(second.trouble),
        }
    }

    fn spectator_delay(&self) -> Duration {
        let second = self.second.spectator_delay();
        self.first.spectator_delay().max(second)
    }

    fn checkpoint(&mut self, now: Duration, newcomer: PeerId, world: &mut dyn World) -> Vec<u8> {
        let Some((first, second)) = self.parts(world) else {
            return Vec::new();
        };
        let first = self.first.checkpoint(now, newcomer, first);
        both::join(&first, &self.second.checkpoint(now, newcomer, second))
    }

    fn send_state_to_all(&mut self, now: Duration, world: &mut dyn World) {
        if let Some((first, second)) = self.parts(world) {
            self.first.send_state_to_all(now, first);
            self.second.send_state_to_all(now, second);
        }
    }

    fn replace_state(&mut self, now: Duration, checkpoint: &[u8]) {
        if let Ok((of_first, of_second)) = both::split(checkpoint) {
            self.first.replace_state(now, of_first);
            self.second.replace_state(now, of_second);
        }
    }

    fn adopt(
        &mut self,
        now: Duration,
        checkpoint: &[u8],
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        let (of_first, of_second) = both::split(checkpoint)?;
        let Some((first, second)) = self.parts(world) else {
            return Err(AdoptError::Malformed(
                "it is a game of two parts".to_string(),
            ));
        };
        self.first.adopt(now, of_first, first)?;
        self.second.adopt(now, of_second, second)
    }

    fn hold(&mut self, now: Duration, departing: &[Departing]) -> Vec<Held> {
        let first = self.first.hold(now, departing);
        let second = self.second.hold(now, departing);
        match (first.is_empty(), second.is_empty()) {
            (false, false) => {
                let words = "in a mesh only one of two models side by side may be of inputs";
                self.trouble = Some(words.to_string());
                first
            }
            (false, true) => first,
            (true, _) => second,
        }
    }

    fn cut(&mut self, now: Duration, cuts: &[Cut]) {
        self.first.cut(now, cuts);
        self.second.cut(now, cuts);
    }
}
