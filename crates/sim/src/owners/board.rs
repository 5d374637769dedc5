//! What the members of a room change: lists of marks, each of which somebody has asked for once.

use samestep_session::Shared;
use samestep_sync::{ChangeId, SetError, SharedFields, Variable};

/// Lists with an owner each.
const LOGS: usize = 3;

/// The number of the tally among what can be changed.
const TALLY: usize = 0;

/// The number of the first list.
pub(super) const FIRST: usize = 1;

/// What can be changed.
pub(super) const TARGETS: usize = FIRST + LOGS;

/// The variables of a room.
#[derive(Default, SharedFields)]
pub(super) struct Board {
    #[shared(owner = authority)]
    tally: Tally,
    #[shared(owner = each_player, exact, changed_by = all)]
    logs: [Variable<Vec<u32>>; LOGS],
}

/// These change together.
#[derive(Default, SharedFields)]
#[shared(group)]
struct Tally {
    #[shared(exact, settled, changed_by = all)]
    marks: Variable<Vec<u32>>,
    #[shared(exact, settled, changed_by = all)]
    count: Variable<u32>,
    #[shared(exact, settled, changed_by = all)]
    last: Variable<u32>,
}

impl Board {
    /// Asks for a mark.
    pub(super) fn ask(&mut self, target: usize, mark: u32) -> Result<Option<ChangeId>, SetError> {
        if target != TALLY {
            return self.logs[target - FIRST].modify(vec![mark]);
        }
        self.tally.marks.modify(vec![mark])?;
        self.tally.count.modify(1)?;
        self.tally.last.set(mark)
    }

    /// The marks that are there.
    pub(super) fn marks(&self, target: usize) -> &[u32] {
        match target {
            TALLY => &self.tally.marks,
            log => &self.logs[log - FIRST],
        }
    }

    /// What contradicts itself in what changes together.
    pub(super) fn torn(&self) -> Option<String> {
        let marks = &*self.tally.marks;
        let (count, last) = (*self.tally.count, *self.tally.last);
        let whole = marks.len() == count as usize && marks.last().is_none_or(|mark| *mark == last);
        (!whole).then(|| format!("{count} marks, {last} the last, in {marks:?}"))
    }

    /// Whether it belongs to this program.
    pub(super) fn is_mine(&self, target: usize) -> bool {
        match target {
            TALLY => self.tally.marks.is_mine(),
            log => self.logs[log - FIRST].is_mine(),
        }
    }
}

/// The board of one program.
pub(super) type SharedBoard = Shared<Board>;
