//! The states of the authority at every tick, and whether others have the same.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_catalog::sublockus::{Character, Sublockus, SublockusEvent};
use samestep_session::State;
use samestep_sync::{EventStage, PlayerId, Tick};

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

/// The states and events of the authority.
#[derive(Default)]
pub(super) struct Truth {
    states: BTreeMap<Tick, Characters>,
    events: Vec<(Tick, SublockusEvent)>,
}

/// All characters at a tick.
#[derive(Clone, PartialEq, Debug)]
struct Characters(Vec<Character>);

impl Characters {
    fn of(game: &Sublockus) -> Characters {
        let mut all: Vec<Character> = game.characters().as_slice().to_vec();
        all.sort_by_key(|character| character.player);
        Characters(all)
    }

    /// What is not right, if anything: where somebody is who has not moved since `before`, and all about one's own. Of what moves far away
    /// one is told now and then; where somebody will enter is decided by chance that nobody is told of.
    fn difference(
        &self,
        tick: Tick,
        right: &Characters,
        before: &Characters,
        own: &[PlayerId],
    ) -> Option<String> {
        let players = self.0.iter().chain(&right.0).map(|known| known.player);
        players.into_iter().find_map(|player| {
            let (here, right) = (self.of_player(player), right.of_player(player));
            let place = |known: Option<&Character>| known.map(Character::place);
            let is_at_rest = place(before.of_player(player)) == place(right);
            let is_in = right.is_none_or(|right| u64::from(right.enters) < tick.0);
            let same = match own.contains(&player) {
                _ if !is_in => true,
                true => here == right,
                false => !is_at_rest || place(here) == place(right),
            };
            (!same).then(|| format!("{here:?}, and right is {right:?}"))
        })
    }

    fn of_player(&self, player: PlayerId) -> Option<&Character> {
        self.0.iter().find(|character| character.player == player)
    }
}

impl<M: Setting> Script<'_, M> {
    /// Notes what is right, and what is told to whom.
    pub(super) fn look(&mut self) -> Result<(), Breach> {
        for at in 0..self.room.programs.len() {
            let node = self.room.programs[at].node;
            let Some((tick, characters, events, refused)) =
                self.room.testbed.with(node, |_, program| {
                    let is_in = *program.game.session().state() == State::InSync;
                    let refused = program.game.status().refused;
                    let world = program.game.world_mut();
                    let events: Vec<_> = core::iter::from_fn(|| world.poll_event()).collect();
                    let characters = (node == HOST).then(|| Characters::of(world.state()));
                    (is_in.then(|| world.tick()), characters, events, refused)
                })
            else {
                continue;
            };
            let confirmed = events
                .into_iter()
                .filter(|event| event.stage == EventStage::Confirmed);
            let confirmed = confirmed.map(|event| (event.tick, event.event));
            match characters {
                Some(characters) => {
                    self.truth.events.extend(confirmed);
                    if let Some(tick) = tick {
                        self.truth.states.insert(tick, characters);
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

    /// Everyone who was there when the storm ended, and still is, has what the authority had at the same tick.
    pub(super) fn judge_states(&mut self, there: &[NodeId]) -> Result<(), Breach> {
        let end = self.room.testbed.now() + COMPARED;
        let mut samples: Vec<(NodeId, Tick, Characters, Vec<PlayerId>)> = Vec::new();
        while self.room.testbed.now() < end {
            self.run_for(Duration::from_millis(40))?;
            let host = self.tick_of(HOST);
            for node in self.room.playing() {
                if node == HOST || !there.contains(&node) {
                    continue;
                }
                let Some(program) = self.room.testbed.machine(node) else {
                    continue;
                };
                let (tick, state) = (program.game.world().tick(), program.game.world().state());
                if tick + FRESH < host {
                    let what = format!("{node:?} is at tick {tick}, the host at {host}");
                    return Err(self.room.breach(Promise::GoesOn, what));
                }
                let players = program.game.session().my_players().collect();
                samples.push((node, tick, Characters::of(state), players));
            }
        }
        // Those who simulate ahead were ahead.
        self.run_for(Duration::from_millis(300))?;
        for (node, tick, characters, players) in samples {
            let before = Tick(tick.0.saturating_sub(LONG_AGO));
            let truth = &self.truth.states;
            let (Some(right), Some(before)) = (truth.get(&tick), truth.get(&before)) else {
                continue;
            };
            if let Some(what) = characters.difference(tick, right, before, &players) {
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
            let within = |(tick, _): &&(Tick, SublockusEvent)| (since..upto).contains(tick);
            let received: Vec<_> = program.notes.events.iter().filter(within).collect();
            let right: Vec<_> = self.truth.events.iter().filter(within).collect();
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
}
