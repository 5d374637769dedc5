//! When a body is set to where it really is.

use super::{Body, distance};

/// A distance beyond which drawing a body to its real place does more harm than a jump: the player has no control meanwhile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Teleport {
    /// In units of the game; infinity for never.
    pub beyond: f32,
}

impl Default for Teleport {
    /// Some widths of a body that is one unit wide.
    fn default() -> Self {
        Teleport { beyond: 4.0 }
    }
}

impl Teleport {
    /// Whether the shown body is to jump to the real one.
    pub fn is_due(&self, shown: Body, real: Body) -> bool {
        distance(shown.place, real.place) > self.beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_beyond_the_distance() {
        let at = |x: f32| Body {
            place: [x, 0.0],
            velocity: [0.0; 2],
        };
        let teleport = Teleport { beyond: 2.0 };
        assert!(!teleport.is_due(at(0.0), at(2.0)));
        assert!(teleport.is_due(at(0.0), at(-2.1)));
        let never = Teleport {
            beyond: f32::INFINITY,
        };
        assert!(!never.is_due(at(0.0), at(1e9)));
    }
}
