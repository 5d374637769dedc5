//! The times at which players give their inputs.

use std::time::Duration;

use samestep_session::PlayerId;
use samestep_sim::NodeId;
use samestep_sync::{Simulation, Tick};

use super::{InputScript, TICK};

/// The script of a match: in every tick the players act one after the other, each at its own phase of it. Times are those since the
/// game began, whatever keeps the players in step.
pub struct InputSchedule<G: Simulation> {
    script: InputScript<G>,
    players: u16,
    /// The next tick of the script, and the player whose turn it is.
    next: (u64, u16),
}

impl<G: Simulation> InputSchedule<G> {
    /// The schedule of a script for so many players.
    pub fn new(players: u16, script: InputScript<G>) -> InputSchedule<G> {
        InputSchedule {
            script,
            players,
            next: (0, 0),
        }
    }

    /// The time of the next input, if it is due by `until`; `of` returns the player of a node and the game as it is there.
    pub fn next_at<'a>(
        &mut self,
        until: Duration,
        of: impl Fn(NodeId) -> Option<(PlayerId, &'a G)>,
    ) -> Option<Duration>
    where
        G: 'a,
    {
        loop {
            let (tick, at) = self.next;
            let phase = TICK.mul_f64(f64::from(at) / f64::from(self.players));
            let time = TICK * tick as u32 + phase;
            if time > until {
                return None;
            }
            if self.acts(&of).is_some() {
                return Some(time);
            }
            self.pass();
        }
    }

    /// The node, the player and the input that are due; the next player's turn follows.
    pub fn take<'a>(
        &mut self,
        of: impl Fn(NodeId) -> Option<(PlayerId, &'a G)>,
    ) -> Option<(NodeId, PlayerId, G::Input)>
    where
        G: 'a,
    {
        let act = self.acts(&of);
        self.pass();
        act
    }

    fn acts<'a>(
        &mut self,
        of: &impl Fn(NodeId) -> Option<(PlayerId, &'a G)>,
    ) -> Option<(NodeId, PlayerId, G::Input)>
    where
        G: 'a,
    {
        let (tick, node) = (Tick(self.next.0), NodeId(self.next.1));
        let (player, state) = of(node)?;
        let command = (self.script)(state, tick, player)?;
        Some((node, player, command))
    }

    fn pass(&mut self) {
        let (tick, player) = self.next;
        self.next = match player + 1 < self.players {
            true => (tick, player + 1),
            false => (tick + 1, 0),
        };
    }
}
