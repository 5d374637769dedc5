//! The models that a match can be played under.

use samestep_sync::{Choice, LockstepConfig, RollbackConfig, SnapshotConfig, StateSyncConfig};

/// A way of keeping a match in step. A new one is one more line in [`ModelKind::ALL`].
#[derive(Clone, Copy, Debug)]
pub struct ModelKind {
    /// What it is called in links.
    pub name: &'static str,
    /// What it is called on the screen.
    pub title: &'static str,
    /// What one is looking at.
    pub sentence: &'static str,
    /// Whether it can be played in a mesh, where nobody decides for all.
    pub in_mesh: bool,
    choice: fn() -> Choice,
}

impl PartialEq for ModelKind {
    fn eq(&self, other: &ModelKind) -> bool {
        self.name == other.name
    }
}

impl Eq for ModelKind {}

impl ModelKind {
    /// All there are.
    pub const ALL: &'static [ModelKind] = &[
        ModelKind {
            name: "lockstep",
            title: "Lockstep",
            sentence: "Only inputs travel, and nobody goes on before everyone's are known: all see exactly the same, each a little late, and your own hand waits for the network too.",
            in_mesh: true,
            choice: || Choice::Lockstep(LockstepConfig::default()),
        },
        ModelKind {
            name: "rollback",
            title: "Rollback",
            sentence: "Only inputs travel. Your own act at once, others' are guessed to go on as before; a wrong guess is rewound and simulated again, and shows as others jumping a little.",
            in_mesh: true,
            choice: || Choice::Rollback(RollbackConfig::default()),
        },
        ModelKind {
            name: "snapshot",
            title: "Snapshot interpolation",
            sentence: "The server simulates and sends pictures, which are played back smoothly a moment later: nothing jumps, everything you see is past, your own character included.",
            in_mesh: false,
            choice: || Choice::Snapshot(SnapshotConfig::default()),
        },
        ModelKind {
            name: "state-sync",
            title: "State sync with prediction",
            sentence: "The server decides. Your own character is predicted and obeys at once, everybody else is drawn from the past; where the server disagrees, yours is corrected.",
            in_mesh: false,
            choice: || Choice::StateSync(StateSyncConfig::default()),
        },
    ];

    /// The model of that name.
    pub fn named(name: &str) -> Option<ModelKind> {
        Self::ALL.iter().find(|kind| kind.name == name).copied()
    }

    /// Its place among [all](Self::ALL).
    pub(crate) fn place(self) -> usize {
        let at = Self::ALL.iter().position(|kind| *kind == self);
        at.expect("there are no others")
    }

    /// Every model, this one first: what everyone in a room may change between.
    pub(crate) fn choices(self) -> Vec<Choice> {
        let others = Self::ALL.iter().filter(|kind| **kind != self);
        let all = std::iter::once(&self).chain(others);
        all.map(|kind| (kind.choice)()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_is_found_by_its_name_and_can_be_first() {
        for kind in ModelKind::ALL {
            assert_eq!(ModelKind::named(kind.name), Some(*kind));
            assert_eq!(kind.choices().len(), ModelKind::ALL.len());
            assert_eq!(kind.choices()[0], (kind.choice)());
        }
        assert_eq!(ModelKind::named("telepathy"), None);
    }
}
