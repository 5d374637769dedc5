//! The force that draws a body to where it really is.

use super::{Body, Motion, distance, length, minus, plus, times, with_length};

/// F = F_P + α(p_r − p′) + β(v_r − v′): the player's force, and what the body that is shown lacks in place and velocity one step ahead.
///
/// Both bodies are compared after a step under the player's force, since the real one goes on meanwhile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CorrectionForce {
    /// How strongly a difference of the places draws.
    pub alpha: f32,
    /// How strongly a difference of the velocities does.
    pub beta: f32,
    /// The most that a correction adds, and the force that leads a body around an obstacle.
    pub strongest: f32,
    /// The correction ends when the places differ by no more,
    pub near: f32,
    /// and the velocities by no more.
    pub slow: f32,
}

impl Default for CorrectionForce {
    /// For bodies about one unit wide that walk about a tenth of a unit per step.
    fn default() -> Self {
        CorrectionForce {
            alpha: 0.05,
            beta: 0.3,
            strongest: 0.06,
            near: 0.01,
            slow: 0.005,
        }
    }
}

impl CorrectionForce {
    /// The force to apply to the shown body in this step, with the real one and the force that acts on both.
    pub fn force(
        &self,
        motion: &impl Motion,
        shown: Body,
        real: Body,
        force: [f32; 2],
    ) -> [f32; 2] {
        let ahead = [shown, real].map(|body| motion.advance(body, force));
        let place = times(minus(ahead[1].place, ahead[0].place), self.alpha);
        let velocity = times(minus(ahead[1].velocity, ahead[0].velocity), self.beta);
        plus(force, self.bounded(plus(place, velocity)))
    }

    /// Whether the two are so close that nobody sees the rest.
    pub fn is_done(&self, shown: Body, real: Body) -> bool {
        distance(shown.place, real.place) <= self.near
            && distance(shown.velocity, real.velocity) <= self.slow
    }

    fn bounded(&self, correction: [f32; 2]) -> [f32; 2] {
        match length(correction) > self.strongest {
            true => with_length(correction, self.strongest),
            false => correction,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::{Field, WALK};
    use super::*;

    #[test]
    fn a_body_is_drawn_to_the_real_one_without_a_jump() {
        let field = Field::open();
        let correction = CorrectionForce::default();
        let (mut shown, mut real) = (Body::default(), Body::default());
        real.place = [-0.3, 0.4];
        let walks = [WALK, 0.0];
        let mut steps = 0;
        while !correction.is_done(shown, real) {
            let force = correction.force(&field, shown, real, walks);
            let before = distance(shown.place, real.place);
            shown = field.advance(shown, force);
            real = field.advance(real, walks);
            let moved = length(shown.velocity);
            assert!(moved < 0.25, "{moved} in a step");
            assert!(distance(shown.place, real.place) <= before + 1e-5);
            steps += 1;
            assert!(steps < 90, "the correction ends");
        }
        assert!(steps > 5);
    }

    #[test]
    fn nothing_is_added_where_nothing_differs() {
        let field = Field::open();
        let body = Body {
            place: [3.0, 4.0],
            velocity: [0.1, 0.0],
        };
        let correction = CorrectionForce::default();
        assert_eq!(
            correction.force(&field, body, body, [WALK, 0.0]),
            [WALK, 0.0]
        );
        assert!(correction.is_done(body, body));
    }

    #[test]
    fn it_is_bounded() {
        let field = Field::open();
        let correction = CorrectionForce::default();
        let far = Body {
            place: [100.0, 0.0],
            velocity: [0.0; 2],
        };
        let force = correction.force(&field, Body::default(), far, [0.0; 2]);
        assert!((length(force) - correction.strongest).abs() < 1e-5);
    }
}
