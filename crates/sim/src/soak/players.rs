//! What the suites that play matches have in common: programs that come, go and freeze.

use std::ops::Range;
use std::time::Duration;

use samestep_netem::Rng;
use samestep_session::{RejoinSecret, State};
use samestep_sync::{Model, World};

use super::conditions::Severity;
use super::{Pausable, Trace};
use crate::check::{Breach, Promise};
use crate::{NodeId, Testbed};

/// Programs at the same time.
pub(super) const MAX_PROGRAMS: usize = 8;

/// A match whose programs come, go and freeze. `P` is what a suite notes of each.
pub struct SoakMatch<'t, W: World, M: Model, P> {
    /// Draws what happens; the testbed draws for itself.
    pub rng: Rng,
    /// The programs and the network between them.
    pub testbed: Testbed<Pausable<W, M>>,
    /// How bad the links may get.
    pub severity: Severity,
    /// Every program that ever ran, one to a node.
    pub programs: Vec<SoakProgram<P>>,
    /// Inputs given so far.
    pub given: u64,
    trace: Trace<'t>,
}

/// A program at a node.
pub struct SoakProgram<P> {
    /// Where.
    pub node: NodeId,
    /// Whether it runs.
    pub running: bool,
    /// What it can return with.
    pub secret: Option<RejoinSecret>,
    /// What the suite notes of it.
    pub notes: P,
}

/// What a suite has to do itself after [`SoakMatch::disturb`].
pub enum Disturbance {
    /// Somebody new joins, or the program of this index again.
    Join(Option<usize>),
    /// A program dies.
    Kill(NodeId),
}

impl<'t, W: World, M: Model, P> SoakMatch<'t, W, M, P> {
    /// Nobody is there yet.
    pub fn new(seed: u64, mut rng: Rng, trace: Trace<'t>) -> Self {
        SoakMatch {
            severity: Severity::random(&mut rng),
            rng,
            testbed: Testbed::new(seed),
            programs: Vec::new(),
            given: 0,
            trace,
        }
    }

    /// One of the nodes, at random.
    pub fn pick(&mut self, nodes: &[NodeId]) -> Option<NodeId> {
        let at = self.rng.range(0..nodes.len().max(1) as u64) as usize;
        nodes.get(at).copied()
    }

    /// Programs that take part.
    pub fn playing(&self) -> Vec<NodeId> {
        let running = self.programs.iter().filter(|program| program.running);
        let in_sync = |node: &NodeId| {
            let machine = self.testbed.machine(*node);
            machine.is_some_and(|program| *program.game.session().state() == State::InSync)
        };
        running
            .map(|program| program.node)
            .filter(in_sync)
            .collect()
    }

    /// The program at a node.
    pub fn program(&mut self, node: NodeId) -> Option<&mut SoakProgram<P>> {
        self.programs.iter_mut().find(|known| known.node == node)
    }

    /// A program ends without a word; what the suite notes of it.
    pub fn end(&mut self, node: NodeId) -> Option<&mut P> {
        let machine = self.testbed.kill(node);
        let program = self.program(node)?;
        program.running = false;
        program.secret = machine.map(|program| program.game.session().rejoin_secret());
        Some(&mut program.notes)
    }

    /// Somebody joins, leaves (one of `may_go`, if `one_may_go`), dies, or freezes for some milliseconds.
    pub fn disturb(
        &mut self,
        may_go: &[NodeId],
        one_may_go: bool,
        freeze_ms: Range<u64>,
    ) -> Option<Disturbance> {
        let running = self.programs.iter().filter(|known| known.running).count();
        match self.rng.range(0..6) {
            0 if running < MAX_PROGRAMS => Some(Disturbance::Join(None)),
            1 => {
                let gone = (0..self.programs.len()).filter(|at| !self.programs[*at].running);
                let gone: Vec<usize> = gone.collect();
                let at = self.rng.range(0..gone.len().max(1) as u64) as usize;
                Some(Disturbance::Join(Some(*gone.get(at)?)))
            }
            2 | 3 if one_may_go => {
                let node = self.pick(may_go)?;
                let gracefully = self.rng.chance(0.5);
                self.trace(|| format!("{node:?} goes, with a word: {gracefully}"));
                if !gracefully {
                    return Some(Disturbance::Kill(node));
                }
                self.testbed.with(node, |now, program| {
                    program.game.session_mut().leave(now, "bye");
                });
                None
            }
            _ => {
                let playing = self.playing();
                let node = self.pick(&playing)?;
                let length = Duration::from_millis(self.rng.range(freeze_ms));
                self.trace(|| format!("{node:?} is frozen for {length:?}"));
                self.testbed
                    .with(node, |now, program| program.pause_until(now + length));
                None
            }
        }
    }

    /// A promise is broken now.
    pub fn breach(&self, promise: Promise, what: String) -> Breach {
        promise.breach(self.testbed.now(), what)
    }

    /// Tells whoever traces what happens.
    pub fn trace(&mut self, line: impl FnOnce() -> String) {
        let now = self.testbed.now().as_secs_f64();
        if let Some(trace) = &mut self.trace {
            trace(format!("{now:9.3} {}", line()));
        }
    }
}
