//! Matches in which what is shown is compared with what is true.

mod packet_log;
mod player;
mod truth;
mod viewer;
mod world;

use std::marker::PhantomData;
use std::time::Duration;

use samestep_sim::{NodeId, Traffic};
use samestep_sync::{Live, Model, Status};

use crate::testmatch::{
    InputScript, MatchConfig, OPENER, Observer, Playable, Positions, Programs, TICK, TestMatch,
};
pub use packet_log::PacketLog;
use player::ViewNotes;
pub use truth::Truth;
pub use viewer::{Seen, Viewer, Waits};
pub use world::ShownWorld;

/// A match of which pictures are looked at once a tick of true time.
pub type DisplayMatch<G, M> = ShownMatch<Live<G>, M>;

/// The same of a game in any world.
pub type ShownMatch<W, M> = TestMatch<Display<W>, M>;

/// Has some of those who joined draw a picture in every tick of true time.
pub struct Display<W> {
    /// How many draw; whoever does not draw costs less.
    drawing: usize,
    truth: Truth,
    shown: Positions,
    known: Positions,
    /// Looks at the pictures, if anybody does.
    pub viewer: Option<Viewer>,
    world: PhantomData<W>,
}

/// The picture that one program draws at a time.
pub struct Picture<'a> {
    /// The node of the program.
    pub node: NodeId,
    /// The tick, with its fraction, at which the program says it shows the others.
    pub displayed: f64,
    /// How the model gets on.
    pub status: &'a Status,
    /// The positions as drawn.
    pub shown: &'a Positions,
    /// The positions in the newest state that is known here.
    pub known: &'a Positions,
    /// The positions on the opener.
    pub truth: &'a Truth,
}

impl<W: ShownWorld> Observer for Display<W> {
    type World = W;
    type Program = ViewNotes<W>;
    const PERIOD: Duration = TICK;

    fn observe<M: Model>(&mut self, testbed: &mut Programs<Self, M>, _: u32) {
        testbed.with(OPENER, |_, program| {
            for (tick, positions) in program.take_states() {
                if let Some(forgotten) = self.truth.push(tick, positions) {
                    program.reuse(forgotten);
                }
            }
        });
        for node in testbed.nodes().skip(1).take(self.drawing) {
            testbed.with(node, |now, program| {
                self.known.clear();
                program.state().positions(&mut self.known);
                self.shown.clear();
                let (displayed, status) = program.draw(now, &mut self.shown);
                if let Some(viewer) = &mut self.viewer {
                    viewer.look(&Picture {
                        node,
                        displayed,
                        status: &status,
                        shown: &self.shown,
                        known: &self.known,
                        truth: &self.truth,
                    });
                }
            });
        }
    }
}

impl<G: Playable, M: Model> DisplayMatch<G, M> {
    /// The first member opens the room. All begin with the same game; `model` makes everyone's model; so many of those who join draw.
    pub fn open(
        config: MatchConfig,
        drawing: usize,
        seed: u64,
        game: G,
        script: InputScript<G>,
        model: impl Fn() -> M + 'static,
    ) -> Self {
        // Everyone would record the same.
        let world = move || Live::without_recording(game.clone());
        Self::open_in(config, drawing, seed, world, script, model)
    }
}

impl<W: ShownWorld, M: Model> ShownMatch<W, M> {
    /// The first member opens the room. `world` makes what everyone begins with, `model` everyone's model; so many of those who join draw.
    pub fn open_in(
        config: MatchConfig,
        drawing: usize,
        seed: u64,
        world: impl Fn() -> W + 'static,
        script: InputScript<W::Game>,
        model: impl Fn() -> M + 'static,
    ) -> Self {
        let observer = Display {
            drawing,
            truth: Truth::default(),
            shown: Positions::new(),
            known: Positions::new(),
            viewer: None,
            world: PhantomData,
        };
        let program = move |node, _| (world(), model(), ViewNotes::new(node == OPENER));
        TestMatch::new(config, seed, script, observer, program)
    }

    /// The traffic on the path from one member to another.
    pub fn traffic(&self, from: NodeId, to: NodeId) -> Traffic {
        self.testbed().traffic_between(from, to)
    }

    /// Datagrams the opener's line has taken and lost because it was full.
    pub fn uplink(&self) -> (u64, u64) {
        let stats = self.testbed().uplink_stats(OPENER);
        (stats.sent, stats.sent.saturating_sub(stats.delivered))
    }

    /// The packets that the opener has sent to a member since they were last forgotten.
    pub fn packets_to(&self, to: NodeId) -> PacketLog {
        let address = self.testbed().address(to);
        self.program(OPENER).sent().of(address)
    }
}

#[cfg(test)]
mod tests;
