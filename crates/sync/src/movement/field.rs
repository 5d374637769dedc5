//! A field with one wall, for tests.

use super::{Body, Motion};

/// How far a body reaches from its middle.
pub(super) const RADIUS: f32 = 0.4;
/// A walking force; with the drag it makes a tenth of a unit per step.
pub(super) const WALK: f32 = 0.02;
const DRAG: f32 = 0.8;

/// Bodies are squares and stay out of a rectangle.
pub(super) struct Field {
    pub(super) least: [f32; 2],
    pub(super) greatest: [f32; 2],
}

impl Field {
    /// Nothing anywhere near.
    pub(super) fn open() -> Field {
        Field {
            least: [1e6; 2],
            greatest: [1e6 + 1.0; 2],
        }
    }

    /// A block of four by two units with its upper left corner at the origin.
    pub(super) fn with_block() -> Field {
        Field {
            least: [0.0, 0.0],
            greatest: [4.0, 2.0],
        }
    }

    pub(super) fn is_inside(&self, place: [f32; 2]) -> bool {
        let slack = 1e-4;
        (0..2).all(|axis| {
            place[axis] + RADIUS > self.least[axis] + slack
                && place[axis] - RADIUS < self.greatest[axis] - slack
        })
    }
}

impl Motion for Field {
    fn advance(&self, body: Body, force: [f32; 2]) -> Body {
        let mut next = body;
        for (axis, push) in force.into_iter().enumerate() {
            next.velocity[axis] = DRAG * body.velocity[axis] + push;
            next.place[axis] += next.velocity[axis];
            if self.is_inside(next.place) {
                next.place[axis] = match next.velocity[axis] > 0.0 {
                    true => self.least[axis] - RADIUS,
                    false => self.greatest[axis] + RADIUS,
                };
                next.velocity[axis] = 0.0;
            }
        }
        next
    }

    fn is_free(&self, from: [f32; 2], to: [f32; 2]) -> bool {
        let parts = 1 + (super::distance(from, to) / 0.05) as usize;
        let at = |part: usize| {
            let share = part as f32 / parts as f32;
            [0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * share)
        };
        !(0..=parts).any(|part| self.is_inside(at(part)))
    }
}
