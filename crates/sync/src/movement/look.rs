//! Where a body looks.

use super::{length, minus, plus, times};

/// The direction in which a body looks. It follows the steering with a velocity of its own: a correction that draws the body sideways does not turn it, since
/// players notice a turn that they did not make much more than a drift.
///
/// ```
/// use samestep_sync::movement::Look;
///
/// let mut look = Look::new([1.0, 0.0]);
/// for _ in 0..30 {
///     look.advance([0.0, 0.02], 0.3);
/// }
/// assert!(look.direction()[1] > 0.99);
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Look {
    velocity: [f32; 2],
    direction: [f32; 2],
}

impl Look {
    /// A body that stands and looks there; the direction is of length 1.
    pub fn new(direction: [f32; 2]) -> Look {
        Look {
            velocity: [0.0; 2],
            direction,
        }
    }

    /// One step under the force of the steering. `agility` is the share of the way to the new direction that it turns, from 0 to 1.
    pub fn advance(&mut self, force: [f32; 2], agility: f32) {
        let strength = length(force);
        if strength <= 0.0 {
            // Who stops keeps looking there.
            self.velocity = times(self.velocity, 1.0 - agility);
            return;
        }
        let wanted = times(force, 1.0 / strength);
        self.velocity = plus(self.velocity, times(minus(wanted, self.velocity), agility));
        let speed = length(self.velocity);
        // In the middle of turning round there is no direction.
        if speed > 0.05 {
            self.direction = times(self.velocity, 1.0 / speed);
        }
    }

    /// Where it looks, with length 1.
    pub fn direction(&self) -> [f32; 2] {
        self.direction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_turns_with_the_steering_and_stays_when_that_ends() {
        let mut look = Look::new([1.0, 0.0]);
        look.advance([0.0, -0.02], 0.5);
        look.advance([0.0, -0.02], 0.5);
        let turned = look.direction();
        assert!(turned[1] < -0.6, "{turned:?}");
        for _ in 0..100 {
            look.advance([0.0; 2], 0.5);
        }
        assert_eq!(look.direction(), turned);
    }

    #[test]
    fn who_turns_round_looks_somewhere_all_the_time() {
        let mut look = Look::new([1.0, 0.0]);
        for step in 0..60 {
            let force = if step < 20 { [0.02, 0.0] } else { [-0.02, 0.0] };
            look.advance(force, 0.25);
            assert!((length(look.direction()) - 1.0).abs() < 1e-5);
        }
        assert!(look.direction()[0] < -0.99);
    }
}
