//! Ballots: attempts to lead a view, in order.

use samestep_wire::Wire;

use super::view::{Incarnation, View};

/// An attempt to lead a view. The higher one wins; of equal numbers that of the higher incarnation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Wire)]
pub struct Ballot {
    /// Its number; 0 is the owner's alone.
    #[wire(varint)]
    pub n: u32,
    /// Who attempts it.
    pub by: Incarnation,
}

impl Ballot {
    /// The ballot with which a view begins. Its owner needs no promises for it: nobody can have accepted anything in the
    /// view before.
    pub fn first(view: &View) -> Self {
        Self {
            n: 0,
            by: view.owner,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_counts_before_the_incarnation() {
        let ballot = |n, by| Ballot {
            n,
            by: Incarnation(by),
        };
        assert!(ballot(0, 9) < ballot(1, 1));
        assert!(ballot(1, 1) < ballot(1, 2));
    }
}
