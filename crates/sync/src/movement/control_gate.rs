//! Dead reckoning for controls: those that make no difference are not taken over.

use super::{Body, Motion, distance};

/// Holds controls back as long as they would move the body nearly as the ones in force do: a stick that trembles does not make an input a tick.
///
/// What is held back does not count for the own body either. So the body is, at any time, within the threshold of where it would be without the gate, and
/// everyone who simulates the controls that passed has it exactly where its player has it.
#[derive(Clone, Debug)]
pub struct ControlGate<C> {
    threshold: f32,
    patience: u32,
    held: C,
    /// Where the body would be if nothing had been held back, and for how many steps something has been.
    intended: Option<(Body, u32)>,
}

impl<C: Clone + PartialEq> ControlGate<C> {
    /// A gate behind which these controls are in force. What makes less of a difference than the threshold passes after so many steps.
    pub fn new(controls: C, threshold: f32, patience: u32) -> ControlGate<C> {
        ControlGate {
            threshold,
            patience,
            held: controls,
            intended: None,
        }
    }

    /// The controls in force.
    pub fn held(&self) -> &C {
        &self.held
    }

    /// To be called before each step, with the body as it is and the controls that the player wants. Returns them when they pass; they are in force
    /// from this step on.
    pub fn advance(
        &mut self,
        motion: &impl Motion,
        body: Body,
        wanted: &C,
        force: impl Fn(&C) -> [f32; 2],
    ) -> Option<C> {
        if *wanted == self.held {
            self.intended = None;
            return None;
        }
        let (intended, steps) = self.intended.unwrap_or((body, 0));
        let next = motion.advance(intended, force(wanted));
        let without = motion.advance(body, force(&self.held));
        let off = distance(next.place, without.place);
        if off <= self.threshold && steps < self.patience {
            self.intended = Some((next, steps + 1));
            return None;
        }
        self.intended = None;
        self.held = wanted.clone();
        Some(wanted.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::{Field, WALK};
    use super::super::{math, times};
    use super::*;

    /// A stick at an angle, in hundredths of a radian.
    fn force(angle: &i32) -> [f32; 2] {
        let (sin, cos) = math::sin_cos(*angle as f32 / 100.0);
        times([cos, sin], WALK)
    }

    #[test]
    fn a_tremble_passes_seldom_and_a_turn_soon() {
        let field = Field::open();
        let mut gate = ControlGate::new(0, 0.05, 60);
        let (mut body, mut free) = (Body::default(), Body::default());
        let mut passed = 0;
        for step in 0..120 {
            let wanted = [0, 3, -2, 1][step % 4];
            passed += usize::from(gate.advance(&field, body, &wanted, force).is_some());
            body = field.advance(body, force(gate.held()));
            free = field.advance(free, force(&wanted));
        }
        assert!(passed <= 4, "{passed}");
        assert!(distance(body.place, free.place) < 0.5);
        // A right angle: the body is off by a threshold within a few steps.
        let steps = (1..).find(|_| {
            let passed = gate.advance(&field, body, &157, force).is_some();
            body = field.advance(body, force(gate.held()));
            passed
        });
        assert!(steps.unwrap() <= 3, "{steps:?}");
        assert_eq!(*gate.held(), 157);
    }

    #[test]
    fn what_makes_no_difference_passes_in_the_end() {
        let field = Field::open();
        let mut gate = ControlGate::new(0, 10.0, 20);
        let passes = |gate: &mut ControlGate<i32>| {
            gate.advance(&field, Body::default(), &1, force).is_some()
        };
        assert_eq!((0..).find(|_| passes(&mut gate)), Some(20));
    }

    #[test]
    fn the_body_stays_within_the_threshold_of_what_its_player_wants() {
        let field = Field::open();
        let mut gate = ControlGate::new(0, 0.05, 600);
        let (mut body, mut intended) = (Body::default(), Body::default());
        for step in 0..600 {
            let wanted = (step / 7 * 13) % 60;
            if gate.advance(&field, body, &wanted, force).is_some() {
                intended = body;
            }
            body = field.advance(body, force(gate.held()));
            intended = field.advance(intended, force(&wanted));
            if *gate.held() == wanted {
                intended = body;
            }
            assert!(distance(body.place, intended.place) <= 0.0501);
        }
    }
}
