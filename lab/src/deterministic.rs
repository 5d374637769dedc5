//! Matches under models in which everyone simulates the same: are the states equal, and how late are inputs?

mod compare;
mod corrections;
mod instrumented;
mod notes;
mod player;

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::time::Duration;

use samestep_catalog::evaluation::Evaluation;
use samestep_sim::NodeId;
use samestep_sync::{Live, Lockstep, LockstepConfig, Model, Rollback, RollbackConfig, Tick};

use crate::parameters::Case;
use crate::samples::TimeSeries;
use crate::stats::Samples;
use crate::testmatch::{
    MatchConfig, Notice, OPENER, Observer, Playable, Programs, TestMatch, lockstep_config,
    match_config, setup_of,
};
use instrumented::Instrumented;
use player::PlayerNotes;

/// The settings of a match.
#[derive(Clone, Debug)]
pub struct DeterministicConfig {
    /// The room; players who join late count.
    pub setup: MatchConfig,
    /// Entities, split over the players.
    pub entities: usize,
    /// The settings if the model is lockstep.
    pub lockstep: LockstepConfig,
    /// The settings if the model is rollback.
    pub rollback: RollbackConfig,
    /// Whether everyone takes detailed notes: for few players.
    pub detailed: bool,
}

impl DeterministicConfig {
    /// The match a case describes.
    pub fn of(case: &Case) -> Result<DeterministicConfig, String> {
        Ok(DeterministicConfig {
            setup: match_config(case)?,
            entities: case.number("entities") as usize,
            lockstep: lockstep_config(case),
            rollback: RollbackConfig::default(),
            detailed: false,
        })
    }
}

/// A model in which everyone simulates the same.
pub trait DeterministicModel: Model {
    /// The model with the settings of a match.
    fn of(config: &DeterministicConfig) -> Self;
}

impl DeterministicModel for Lockstep {
    fn of(config: &DeterministicConfig) -> Self {
        Lockstep::new(config.lockstep.clone()).expect("lengths within their domains")
    }
}

impl DeterministicModel for Rollback {
    fn of(config: &DeterministicConfig) -> Self {
        Rollback::new(config.rollback.clone()).expect("lengths within their domains")
    }
}

/// A match whose states are compared once a second.
pub type DeterministicMatch<G = Evaluation, M = Lockstep> = TestMatch<StateComparison<G>, M>;

/// Compares everyone's state with the opener's, and takes a sample of what everyone counted, once a second.
pub struct StateComparison<G> {
    course: TimeSeries,
    /// The opener's checksums, and those of others for ticks it has not reached.
    truth: BTreeMap<Tick, u64>,
    early: Vec<(NodeId, Tick, u64)>,
    differing: BTreeSet<(NodeId, Tick)>,
    notices: Vec<(Duration, NodeId, Notice)>,
    game: PhantomData<G>,
}

impl<G: Playable> Observer for StateComparison<G> {
    type World = Instrumented<G>;
    type Program = PlayerNotes;
    const PERIOD: Duration = Duration::from_secs(1);

    fn on_start<M: Model>(&mut self, testbed: &mut Programs<Self, M>) {
        self.notices.clear();
        self.observe(testbed, 0);
    }

    fn observe<M: Model>(&mut self, testbed: &mut Programs<Self, M>, seconds: u32) {
        for node in testbed.nodes() {
            let (local, program) = (testbed.local(node), testbed.machine(node));
            let program = program.expect("nobody ever stops");
            let mut counts = program.counts();
            counts.views = program.views(local);
            self.course.take(u32::from(node.0), seconds, counts);
            let checksums = testbed.with(node, |_, program| program.take_checksums());
            let checksums = checksums.expect("nobody ever stops").into_iter();
            match node == OPENER {
                true => self.truth.extend(checksums),
                false => self
                    .early
                    .extend(checksums.map(|(tick, sum)| (node, tick, sum))),
            }
        }
        let StateComparison {
            truth,
            early,
            differing,
            ..
        } = self;
        early.retain(|(node, tick, sum)| {
            let Some(true_sum) = truth.get(tick) else {
                return true;
            };
            if sum != true_sum {
                differing.insert((*node, *tick));
            }
            false
        });
    }

    fn on_notice(&mut self, elapsed: Duration, node: NodeId, notice: Notice) {
        self.notices.push((elapsed, node, notice));
    }
}

impl<G: Playable, M: DeterministicModel> DeterministicMatch<G, M> {
    /// The first member opens the room.
    pub fn open(config: DeterministicConfig, seed: u64) -> Result<Self, String> {
        let setup = setup_of::<G>(config.setup.players, config.entities, seed);
        let (game, script) = (G::begin_measured(&setup)?, G::script(&setup)?);
        let observer = StateComparison {
            course: TimeSeries::default(),
            truth: BTreeMap::new(),
            early: Vec::new(),
            differing: BTreeSet::new(),
            notices: Vec::new(),
            game: PhantomData,
        };
        let setup = config.setup.clone();
        let program = move |_, now| {
            // Everyone would record the same.
            let mut world = Instrumented::new(Live::without_recording(game.clone()));
            if config.detailed {
                world.draw_pictures();
            }
            let notes = PlayerNotes::new(now, config.detailed);
            (world, M::of(&config), notes)
        };
        Ok(TestMatch::new(setup, seed, script, observer, program))
    }

    /// The counters of every member in each second.
    pub fn course(&self) -> &TimeSeries {
        &self.observer().course
    }

    /// The notices of all members, with their times since the game began.
    pub fn notices(&self) -> &[(Duration, NodeId, Notice)] {
        &self.observer().notices
    }

    /// The members and ticks at which a state differed from the opener's.
    pub fn differing(&self) -> &BTreeSet<(NodeId, Tick)> {
        &self.observer().differing
    }

    /// Fails if anybody's state was ever not the opener's.
    pub fn check_equal(&self) -> Result<(), String> {
        match self.differing().first() {
            None => Ok(()),
            Some((node, tick)) => Err(format!(
                "{node} differs from the opener at tick {}, and at {} of the others looked at (seed {})",
                tick.0,
                self.differing().len() - 1,
                self.seed(),
            )),
        }
    }

    /// Times in ms from a player's input to its execution in its own simulation, of those given after `settling` of the game.
    pub fn command_delays(&self, settling: Duration) -> Samples {
        let mut delays = Samples::new();
        for (node, program) in self.programs() {
            // Programs keep the times of their own clocks.
            let from = self
                .testbed()
                .local(node)
                .saturating_sub(self.elapsed().saturating_sub(settling));
            let judged = program.delays().iter().filter(|(given, _)| *given >= from);
            for (_, delay) in judged {
                delays.push(delay.as_secs_f64() * 1e3);
            }
        }
        delays
    }
}

#[cfg(test)]
mod tests;
