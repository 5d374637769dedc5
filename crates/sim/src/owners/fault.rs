//! Deliberate faults between variables and those who watch them, so that every check can be seen to fail.

/// What is wrong with one member of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnersFault {
    /// It is told that a change was made which nobody makes.
    EarlyAnswers,
    /// It makes some changes twice.
    MakesTwice,
    /// It has another sequence than the others.
    OtherOrder,
    /// It goes back behind what it has shown.
    GoesBack,
    /// It takes itself for the owner of everything.
    SecondOwner,
    /// It is never told what became of its changes.
    NoAnswers,
    /// It changes one variable of a group before the others.
    TornGroup,
}

impl OwnersFault {
    /// All faults.
    pub const ALL: [OwnersFault; 7] = [
        OwnersFault::EarlyAnswers,
        OwnersFault::MakesTwice,
        OwnersFault::OtherOrder,
        OwnersFault::GoesBack,
        OwnersFault::SecondOwner,
        OwnersFault::NoAnswers,
        OwnersFault::TornGroup,
    ];

    /// The marks that it shows instead of these.
    pub(super) fn marks(self, mut marks: Vec<u32>, looks: u64) -> Vec<u32> {
        let last = marks.len().saturating_sub(1);
        match self {
            OwnersFault::MakesTwice if marks.len() > 3 => marks.push(marks[0]),
            OwnersFault::OtherOrder if marks.len() > 3 => marks.swap(0, last),
            OwnersFault::GoesBack if looks % 200 == 199 => {
                marks.pop();
            }
            _ => {}
        }
        marks
    }
}
