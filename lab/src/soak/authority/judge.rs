//! The states of the authority at every tick, and whether others have the same.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_playable::Playable;
use samestep_session::State;
use samestep_sync::{
    Confirmation, EventStage, Live, Playback, PlayerId, Progress, Replay, Tick, TimedEvent,
};

use super::{HOST, Script, Setting};
use samestep_sim::NodeId;
use samestep_sim::check::{Breach, Promise};

/// Ticks whose truth is kept.
const KEPT: usize = 600;
/// For how long states are compared after a storm.
const COMPARED: Duration = Duration::from_millis(400);
/// A state that is shown is no older than this, in ticks.
const FRESH: u64 = 30;
/// Ticks after which everybody must have been told of something, however far away.
const LONG_AGO: u64 = 75;
/// Ticks after coming from which on everything that happens must be told.
const SETTLING: u64 = 60;

/// A game whose matches the suites judge.
pub(super) trait Judged: Playable {
    /// What is compared of a state.
    type Seen: Clone + PartialEq + core::fmt::Debug;

    /// The beginning of the match of a seed.
    fn world(seed: u64) -> Live<Self>;

    /// What somebody does who lets go of the controls.
    fn at_rest() -> Self::Input;

    /// What a player's bot does now.
    fn act(&self, bot: &mut Self::Bot, tick: Tick) -> Option<Self::Input> {
        self.decide(bot, tick)
    }

    /// What a program has, and the tick that is of. `known` is the newest tick of which the authority has told it.
    fn has(world: &mut Live<Self>, _known: Tick) -> Option<(Tick, Self::Seen)> {
        Some((world.tick(), world.state().seen()))
    }

    /// What is compared of this state.
    fn seen(&self) -> Self::Seen;

    /// What a program with the players `own` has wrong at a tick, if anything. `right` is what the authority had then, `before` some time before.
    fn difference(
        here: &Self::Seen,
        tick: Tick,
        right: &Self::Seen,
        before: &Self::Seen,
        own: &[PlayerId],
    ) -> Option<String>;

    /// Whether an event is told to everyone.
    fn is_public(_event: &Self::Event) -> bool {
        true
    }

    /// What is wrong with a tick that is final, if anything: `before` and `after` are the states around it, `events` all that happened in it.
    fn fault(_before: &Self, _after: &Self, _events: &[Self::Event]) -> Option<String> {
        None
    }
}

/// The states and events of the authority.
pub(super) struct Truth<G: Judged> {
    states: BTreeMap<Tick, G::Seen>,
    events: Vec<(Tick, G::Event)>,
}

impl<G: Judged> Default for Truth<G> {
    fn default() -> Self {
        Truth {
            states: BTreeMap::new(),
            events: Vec::new(),
        }
    }
}

impl<G: Judged, M: Setting> Script<'_, G, M> {
    /// Notes what is right, and what is told to whom.
    pub(super) fn look(&mut self) -> Result<(), Breach> {
        for at in 0..self.room.programs.len() {
            let node = self.room.programs[at].node;
            let Some((tick, seen, events, refused)) = self.room.testbed.with(node, |_, program| {
                let is_in = *program.game.session().state() == State::InSync;
                let refused = program.game.status().refused;
                let world = program.game.world_mut();
                let events: Vec<_> = core::iter::from_fn(|| world.poll_event()).collect();
                let seen = (node == HOST).then(|| world.state().seen());
                (is_in.then(|| world.tick()), seen, events, refused)
            }) else {
                continue;
            };
            for event in &events {
                self.check_resolved(at, event)?;
            }
            let confirmed = events
                .into_iter()
                .filter(|event| event.stage == EventStage::Confirmed);
            let confirmed = confirmed.map(|event| (event.tick, event.event));
            match seen {
                Some(seen) => {
                    self.truth.events.extend(confirmed);
                    if let Some(tick) = tick {
                        self.truth.states.insert(tick, seen);
                    }
                    if self.truth.states.len() > KEPT {
                        self.truth.states.pop_first();
                    }
                }
                None => {
                    let program = &mut self.room.programs[at];
                    if program.notes.since.is_none() {
                        program.notes.events.clear();
                        program.notes.since = tick.map(|tick| tick + SETTLING);
                    }
                    program.notes.events.extend(confirmed);
                }
            }
            if refused > 0 {
                let what = format!("{node:?} refused {refused} messages of honest programs");
                return Err(self.room.breach(Promise::GoesOn, what));
            }
        }
        Ok(())
    }

    /// What was predicted is confirmed or cancelled once, so nothing that was confirmed is taken back.
    fn check_resolved(&mut self, at: usize, event: &TimedEvent<G::Event>) -> Result<(), Breach> {
        let program = &mut self.room.programs[at];
        let (node, open) = (program.node, &mut program.notes.open);
        let predicted = match (event.stage, event.predicted) {
            (EventStage::Predicted, _) => {
                open.push((event.tick, event.event.clone()));
                return Ok(());
            }
            (EventStage::Confirmed, None) => return Ok(()),
            (_, predicted) => predicted.unwrap_or(event.tick),
        };
        let is_it = |open: &(Tick, G::Event)| open.0 == predicted && open.1 == event.event;
        match open.iter().position(is_it) {
            Some(found) => {
                open.swap_remove(found);
                Ok(())
            }
            None => {
                let what = format!("{node:?} was told {event:?}, which was not open");
                Err(self.room.breach(Promise::Events, what))
            }
        }
    }

    /// Everyone who was there when the storm ended, and still is, has what the authority had at the same tick.
    pub(super) fn judge_states(&mut self, there: &[NodeId]) -> Result<(), Breach> {
        let end = self.room.testbed.now() + COMPARED;
        let mut samples: Vec<(NodeId, Tick, G::Seen, Vec<PlayerId>)> = Vec::new();
        while self.room.testbed.now() < end {
            self.run_for(Duration::from_millis(40))?;
            let host = self.tick_of(HOST);
            for node in self.room.playing() {
                if node == HOST || !there.contains(&node) {
                    continue;
                }
                let has = self.room.testbed.with(node, |_, program| {
                    let known = program.game.status().confirmed_tick;
                    let players: Vec<PlayerId> = program.game.session().my_players().collect();
                    Some((G::has(program.game.world_mut(), known)?, players))
                });
                let Some(((tick, seen), players)) = has.flatten() else {
                    continue;
                };
                if tick + FRESH < host {
                    let what = format!("{node:?} is at tick {tick}, the host at {host}");
                    return Err(self.room.breach(Promise::GoesOn, what));
                }
                samples.push((node, tick, seen, players));
            }
        }
        // Those who simulate ahead were ahead.
        self.run_for(Duration::from_millis(300))?;
        for (node, tick, seen, players) in samples {
            let before = Tick(tick.0.saturating_sub(LONG_AGO));
            let truth = &self.truth.states;
            let (Some(right), Some(before)) = (truth.get(&tick), truth.get(&before)) else {
                continue;
            };
            if let Some(what) = G::difference(&seen, tick, right, before, &players) {
                let what = format!("at tick {tick} {node:?} has {what}");
                return Err(self.room.breach(Promise::Converges, what));
            }
        }
        Ok(())
    }

    fn tick_of(&self, node: NodeId) -> Tick {
        let program = self.room.testbed.machine(node);
        program.map_or(Tick(0), |program| program.game.world().tick())
    }

    /// Everyone was told what happened while it was there, in order, and nothing else.
    pub(super) fn judge_events(&mut self) -> Result<(), Breach> {
        // What happened last is still on its way.
        let upto = Tick(self.tick_of(HOST).0.saturating_sub(90));
        for program in &self.room.programs {
            let (Some(since), true) = (program.notes.since, program.running) else {
                continue;
            };
            if program.node == HOST || !self.room.playing().contains(&program.node) {
                continue;
            }
            let within = |(tick, event): &&(Tick, G::Event)| {
                (since..upto).contains(tick) && G::is_public(event)
            };
            let Some(host) = self.room.testbed.machine(HOST) else {
                continue;
            };
            // Those that count at once overtake those that wait for their tick to be final.
            let is_early = |(_, event): &&(Tick, G::Event)| {
                host.game.world().state().confirmation(event) == Confirmation::AtOnce
            };
            let in_order = |events: &[(Tick, G::Event)]| -> Vec<(Tick, G::Event)> {
                let within = events.iter().filter(within).cloned();
                let (early, rest): (Vec<_>, Vec<_>) = within.partition(|event| is_early(&event));
                [early, rest].concat()
            };
            let received = in_order(&program.notes.events);
            let right = in_order(&self.truth.events);
            if received != right {
                let at = received
                    .iter()
                    .zip(&right)
                    .take_while(|(a, b)| a == b)
                    .count();
                let what = format!(
                    "{:?} received {} events of {}; the first that differs: {:?}, {:?}",
                    program.node,
                    received.len(),
                    right.len(),
                    received.get(at),
                    right.get(at)
                );
                return Err(self.room.breach(Promise::Events, what));
            }
        }
        Ok(())
    }

    /// The final ticks, played again from the host's recording, are what the host had when it simulated them first, as far as that must not change; and
    /// the rules of the game hold in each.
    pub(super) fn judge_recording(&mut self) -> Result<(), Breach> {
        let Some(host) = self.room.testbed.machine(HOST) else {
            return Ok(());
        };
        let Some(recorder) = host.game.world().recorder() else {
            return Ok(());
        };
        let fault = self.fault_of(recorder.bytes());
        fault.map_err(|what| self.room.breach(Promise::Events, what))
    }

    fn fault_of(&self, recording: Vec<u8>) -> Result<(), String> {
        let replay = Replay::parse(recording).map_err(|error| error.to_string())?;
        let world = Live::without_recording(G::world(self.seed).state().clone());
        let mut playback = Playback::new(replay, world).map_err(|error| error.to_string())?;
        let mut before = playback.world().state().clone();
        let mut events = Vec::new();
        while let Progress::Stepped = playback.step().map_err(|error| error.to_string())? {
            let tick = playback.tick();
            events.clear();
            while let Some(event) = playback.world_mut().poll_event() {
                events.push(event.event);
            }
            let after = playback.world().state();
            if let Some(first) = self.truth.states.get(&tick) {
                let seen = after.seen();
                if let Some(what) = G::difference(first, tick, &seen, &seen, &[]) {
                    return Err(format!("what was certain at tick {tick} changed: {what}"));
                }
            }
            if let Some(what) = G::fault(&before, after, &events) {
                return Err(format!("at tick {tick}: {what}"));
            }
            before = after.clone();
        }
        Ok(())
    }
}
