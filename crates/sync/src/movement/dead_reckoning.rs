//! Sender-side dead reckoning: a message only when others would be wrong.

use super::{Body, Motion, distance};

/// What others need to know to extrapolate a body.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Movement {
    /// The body when it was sent.
    pub body: Body,
    /// The force that acts on it from then on.
    pub force: [f32; 2],
}

/// What others extrapolate of a body, known to the one who moves it. As long as that is near enough nothing has to be sent.
///
/// ```
/// use samestep_sync::movement::{Body, DeadReckoning, Motion};
/// # struct Meadow;
/// # impl Motion for Meadow {
/// #     fn advance(&self, body: Body, force: [f32; 2]) -> Body {
/// #         let velocity = [0, 1].map(|axis| 0.8 * body.velocity[axis] + force[axis]);
/// #         let place = [0, 1].map(|axis| body.place[axis] + velocity[axis]);
/// #         Body { place, velocity }
/// #     }
/// #     fn is_free(&self, _: [f32; 2], _: [f32; 2]) -> bool {
/// #         true
/// #     }
/// # }
///
/// let mut sender = DeadReckoning::new(0.05);
/// let mut body = Body::default();
/// let mut sent = 0;
/// for step in 0..120 {
///     // It walks to the right and turns once.
///     let force = if step < 60 { [0.02, 0.0] } else { [0.0, 0.02] };
///     sent += u32::from(sender.advance(&Meadow, body, force).is_some());
///     assert!(sender.error(body) <= 0.05);
///     body = Meadow.advance(body, force);
/// }
/// assert_eq!(sent, 2); // the beginning and the turn
/// ```
#[derive(Clone, Debug)]
pub struct DeadReckoning {
    threshold: f32,
    /// What was sent last, extrapolated to the present.
    others: Option<Movement>,
}

impl DeadReckoning {
    /// Others may be wrong by so much.
    pub fn new(threshold: f32) -> DeadReckoning {
        DeadReckoning {
            threshold,
            others: None,
        }
    }

    /// To be called before each step, with the body as it is and the force that is about to act on it. Returns what has to be sent, if others
    /// would be off by more than the threshold.
    pub fn advance(
        &mut self,
        motion: &impl Motion,
        body: Body,
        force: [f32; 2],
    ) -> Option<Movement> {
        if let Some(others) = &mut self.others {
            others.body = motion.advance(others.body, others.force);
            if self.error(body) <= self.threshold {
                return None;
            }
        }
        let sent = Movement { body, force };
        self.others = Some(sent);
        Some(sent)
    }

    /// How far from the body others have it, if messages take no time. Nothing before the first message.
    pub fn error(&self, body: Body) -> f32 {
        let others = self.others.map(|others| others.body.place);
        others.map_or(0.0, |place| distance(place, body.place))
    }

    /// What others have, if messages take no time; `None` before the first.
    pub fn extrapolated(&self) -> Option<Movement> {
        self.others
    }

    /// Has the next step send something, whatever others have: somebody joined.
    pub fn forget(&mut self) {
        self.others = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::{Field, WALK};
    use super::*;

    /// A walk with a turn every so many steps; the messages, and the largest error.
    fn walk(threshold: f32, steps: usize, turn_every: usize) -> (usize, f32) {
        let field = Field::open();
        let mut sender = DeadReckoning::new(threshold);
        let (mut body, mut sent, mut worst) = (Body::default(), 0, 0.0);
        for step in 0..steps {
            let force = match step / turn_every % 3 {
                0 => [WALK, 0.0],
                1 => [0.0, WALK],
                _ => [0.0, 0.0],
            };
            sent += usize::from(sender.advance(&field, body, force).is_some());
            worst = f32::max(worst, sender.error(body));
            body = field.advance(body, force);
        }
        (sent, worst)
    }

    #[test]
    fn who_goes_straight_on_is_announced_once() {
        assert_eq!(walk(0.05, 50, 50), (1, 0.0));
    }

    #[test]
    fn nobody_is_ever_farther_off_than_the_threshold() {
        for threshold in [0.01, 0.05, 0.2] {
            let (sent, worst) = walk(threshold, 600, 20);
            assert!(worst <= threshold, "{worst}");
            assert!((30..=60).contains(&sent), "{sent} at {threshold}");
        }
        // Who changes direction all the time does not get far off.
        assert!(2 * walk(0.2, 600, 2).0 < walk(0.01, 600, 2).0);
    }

    #[test]
    fn who_joins_is_told_at_once() {
        let field = Field::open();
        let mut sender = DeadReckoning::new(1.0);
        let body = Body::default();
        assert!(sender.advance(&field, body, [0.0; 2]).is_some());
        assert_eq!(sender.advance(&field, body, [0.0; 2]), None);
        sender.forget();
        let sent = sender.advance(&field, body, [WALK, 0.0]).unwrap();
        assert_eq!((sent.body, sent.force), (body, [WALK, 0.0]));
    }

    #[test]
    fn a_wall_stops_what_is_extrapolated_too() {
        let field = Field::with_block();
        let mut sender = DeadReckoning::new(0.05);
        let mut body = Body {
            place: [-1.0, 1.0],
            velocity: [0.0; 2],
        };
        let mut sent = 0;
        for _ in 0..100 {
            let force = [WALK, 0.0];
            sent += usize::from(sender.advance(&field, body, force).is_some());
            body = field.advance(body, force);
        }
        assert_eq!(sent, 1);
    }
}
