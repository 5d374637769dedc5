//! Which model suits, decided by the game.

use core::fmt;
use core::time::Duration;

use crate::{Table, World};

/// How often a policy is asked.
pub(super) const EVERY: Duration = Duration::from_secs(1);

/// What a policy decides by.
#[derive(Clone, PartialEq, Debug)]
pub struct SwitchConditions {
    /// Players that take part.
    pub players: usize,
    /// Rows of all collections of the state.
    pub entities: usize,
    /// There and back to the farthest who plays, as far as known.
    pub round_trip: Duration,
    /// Bytes a second that can be sent to whom the fewest can, as far as known.
    pub rate: Option<u64>,
    /// The model that runs: its place among the choices.
    pub current: usize,
    /// How long it has run.
    pub since: Duration,
}

/// Says which model to go on with; `None` for the one that runs.
pub type SwitchPolicy = Box<dyn FnMut(&SwitchConditions) -> Option<usize> + Send + Sync>;

/// A policy, and when it is asked next.
pub(super) struct Policy {
    pub(super) decide: SwitchPolicy,
    pub(super) next: Duration,
    table: Option<Table>,
}

impl Policy {
    pub(super) fn new(decide: SwitchPolicy) -> Policy {
        Policy {
            decide,
            next: Duration::ZERO,
            table: None,
        }
    }

    /// Rows of all collections of the state.
    pub(super) fn count_entities(&mut self, world: &mut dyn World) -> usize {
        let scene = world.scene();
        let table = self.table.get_or_insert_with(|| Table::new(scene.schema()));
        scene.extract(table);
        let kinds = table.schema().kinds().len() as u16;
        (1..kinds).map(|kind| table.len(kind)).sum()
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}
