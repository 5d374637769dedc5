//! What a program simulates, when it does: its events, and a sample of each state that it reaches.

use std::collections::VecDeque;
use std::time::Duration;

use samestep_session::Match;
use samestep_sync::{EventStage, Live, Model, Simulation, Tick};

use crate::testmatch::ProgramObserver;

/// Samples that are kept: more than a second of them.
const KEPT: usize = 100;

/// An event as a program showed it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<E> {
    /// When, by the program's clock.
    pub at: Duration,
    /// Whether its tick was simulated for the first time. If not, it corrects what was shown before.
    pub is_first: bool,
    /// How sure it is.
    pub stage: EventStage,
    /// What happened.
    pub event: E,
}

/// A sample of a state.
#[derive(Clone, Debug)]
pub struct Sample<S> {
    /// When the program reached it, by its clock.
    pub at: Duration,
    /// The state is that before this tick.
    pub tick: Tick,
    /// What was taken of it.
    pub of: S,
}

/// Watches one program.
pub struct Watch<G: Simulation, S> {
    sample: fn(&G) -> S,
    seen: Vec<Seen<G::Event>>,
    samples: VecDeque<Sample<S>>,
    reached: Tick,
}

impl<G: Simulation, S> Watch<G, S> {
    /// A watch that takes this of every state.
    pub fn new(sample: fn(&G) -> S) -> Watch<G, S> {
        Watch {
            sample,
            seen: Vec::new(),
            samples: VecDeque::new(),
            reached: Tick(0),
        }
    }

    /// The last samples, the oldest first.
    pub fn samples(&self) -> impl DoubleEndedIterator<Item = &Sample<S>> {
        self.samples.iter()
    }

    pub(super) fn take_seen(&mut self) -> Vec<Seen<G::Event>> {
        core::mem::take(&mut self.seen)
    }
}

impl<G: Simulation, S> ProgramObserver<Live<G>> for Watch<G, S> {
    fn on_call<M: Model>(&mut self, now: Duration, game: &mut Match<Live<G>, M>) {
        while let Some(event) = game.world_mut().poll_event() {
            self.seen.push(Seen {
                at: now,
                is_first: event.tick >= self.reached,
                stage: event.stage,
                event: event.event,
            });
        }
        let tick = game.world().tick();
        if tick > self.reached {
            self.reached = tick;
            if self.samples.len() == KEPT {
                self.samples.pop_front();
            }
            let of = (self.sample)(game.world().state());
            self.samples.push_back(Sample { at: now, tick, of });
        }
    }
}
