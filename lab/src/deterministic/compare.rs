//! Compares the inputs and events of two programs.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_sim::NodeId;
use samestep_sync::Tick;

use super::{DeterministicMatch, DeterministicModel};
use crate::stats::Samples;
use crate::testmatch::{OPENER, Playable};

/// Ticks after which an event that was predicted has to be confirmed or cancelled once everything is known: it may shift by a few.
const RESOLVED_AFTER: u64 = 8;

impl<G: Playable, M: DeterministicModel> DeterministicMatch<G, M> {
    /// Times in ms from a player's input to where it is first to be seen by another, for each other, of those noted.
    pub fn others_delays(&self) -> Samples {
        let mut given = BTreeMap::new();
        for (node, program) in self.programs() {
            let Some((player, notes)) = program.player().zip(program.notes()) else {
                continue;
            };
            let own = notes.own.iter().map(|own| (own.given, own.tick));
            for (at, tick) in own.chain(notes.moved.iter().copied()) {
                given.insert((player, tick), self.ago(node, at));
            }
        }
        let mut delays = Samples::new();
        for (node, program) in self.programs() {
            for (player, tick, seen, _) in program.notes().iter().flat_map(|notes| &notes.others) {
                if let Some(given) = given.get(&(*player, *tick)) {
                    let delay = given.saturating_sub(self.ago(node, *seen));
                    delays.push(delay.as_secs_f64() * 1e3);
                }
            }
        }
        delays
    }

    /// How long ago a node's clock showed this.
    fn ago(&self, node: NodeId, shown: Duration) -> Duration {
        self.testbed().local(node).saturating_sub(shown)
    }

    /// Events that were not resolved exactly once, and those in which a member's list is not the opener's.
    pub fn wrong_events(&self) -> u64 {
        let opener = self.program(OPENER);
        let truth_until = opener.status().confirmed_tick;
        let wrong = self.programs().map(|(_, program)| {
            let (events, settled) = (program.events(), program.status().confirmed_tick);
            let resolved = Tick(settled.0.saturating_sub(RESOLVED_AFTER));
            let differing = events.differing(opener.events(), settled.min(truth_until));
            events.improper + events.open_before(resolved) + differing
        });
        wrong.sum()
    }
}
