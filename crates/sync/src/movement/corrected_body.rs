//! A body as it is shown, on its way to where it really is.

use super::{
    Body, CorrectionForce, Detour, Look, Motion, Teleport, Way, distance, minus, plus, times,
    with_length,
};

/// The settings of corrections.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CorrectionConfig {
    /// The force that draws.
    pub force: CorrectionForce,
    /// When to jump instead.
    pub teleport: Teleport,
    /// How obstacles between the two are dealt with.
    pub obstacles: Obstacles,
    /// How fast the look follows the steering: the share of the way per step.
    pub agility: f32,
}

impl Default for CorrectionConfig {
    fn default() -> Self {
        CorrectionConfig {
            force: CorrectionForce::default(),
            teleport: Teleport::default(),
            obstacles: Obstacles::default(),
            agility: 0.3,
        }
    }
}

/// What a correction does about an obstacle.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Obstacles {
    /// Nothing: the force pushes against it until the distance is enough for a jump.
    Push,
    /// The body goes around it. If it gets no nearer for so many steps, or there is no way, it passes through.
    GoAround {
        /// The steps without getting nearer.
        patience: u32,
    },
}

impl Default for Obstacles {
    fn default() -> Self {
        Obstacles::GoAround { patience: 20 }
    }
}

/// What happened in a step of a shown body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CorrectionStep {
    /// It was drawn to the real body.
    pub is_correcting: bool,
    /// It was on its way around an obstacle.
    pub went_around: bool,
    /// It passed through an obstacle, since there was no way around.
    pub passed_through: bool,
    /// It jumped to the real body.
    pub teleported: bool,
}

/// A body as it is shown. The player's force moves it at once; what the authority says of it draws it there.
#[derive(Clone, Debug)]
pub struct CorrectedBody {
    shown: Body,
    /// Where the body really is, if the shown one has not reached it.
    real: Option<Body>,
    look: Look,
    detour: Detour,
    /// The least distance since the correction began, and the steps since it became less.
    nearest: (f32, u32),
}

/// The share of the distance that a body goes in a step while it passes through an obstacle.
const PASSING: f32 = 0.15;
/// The lattice of the way around, for bodies about one unit wide.
const LATTICE: (f32, u16) = (0.25, 16);

impl CorrectedBody {
    /// A body that is where it is shown.
    pub fn new(body: Body) -> CorrectedBody {
        CorrectedBody {
            shown: body,
            real: None,
            look: Look::new([1.0, 0.0]),
            detour: Detour::new(LATTICE.0, LATTICE.1),
            nearest: (f32::INFINITY, 0),
        }
    }

    /// The same with another lattice for the way around obstacles: see [`Detour::new`].
    pub fn with_lattice(self, spacing: f32, reach: u16) -> CorrectedBody {
        CorrectedBody {
            detour: Detour::new(spacing, reach),
            ..self
        }
    }

    /// The body as it is shown.
    pub fn body(&self) -> Body {
        self.shown
    }

    /// Where the body really is, as far as this program knows.
    pub fn real(&self) -> Body {
        self.real.unwrap_or(self.shown)
    }

    /// Where it looks, with length 1.
    pub fn look(&self) -> [f32; 2] {
        self.look.direction()
    }

    /// The authority says where the body is now.
    pub fn receive(&mut self, real: Body) {
        self.real = Some(real);
        self.nearest = (f32::INFINITY, 0);
    }

    /// One step under the player's force.
    pub fn advance(
        &mut self,
        motion: &impl Motion,
        config: &CorrectionConfig,
        force: [f32; 2],
    ) -> CorrectionStep {
        let mut step = CorrectionStep::default();
        self.look.advance(force, config.agility);
        let Some(real) = self.real else {
            self.shown = motion.advance(self.shown, force);
            return step;
        };
        let next = motion.advance(real, force);
        step.is_correcting = true;
        if config.teleport.is_due(self.shown, real) {
            step.teleported = true;
            self.shown = next;
        } else {
            self.draw(motion, config, real, next, force, &mut step);
        }
        self.real = Some(next);
        if config.force.is_done(self.shown, next) {
            self.real = None;
            self.detour.clear();
        }
        step
    }

    fn draw(
        &mut self,
        motion: &impl Motion,
        config: &CorrectionConfig,
        real: Body,
        next: Body,
        force: [f32; 2],
        step: &mut CorrectionStep,
    ) {
        let straight = config.force.force(motion, self.shown, real, force);
        let Obstacles::GoAround { patience } = config.obstacles else {
            self.shown = motion.advance(self.shown, straight);
            return;
        };
        let way = self.detour.way(motion, self.shown.place, real.place);
        let is_stuck = self.is_stuck(real, config.force.near, patience);
        match way {
            Way::Straight if !is_stuck => self.shown = motion.advance(self.shown, straight),
            Way::By(place) if !is_stuck => {
                step.went_around = true;
                // The player's force would push it against the wall.
                let along = minus(place, self.shown.place);
                let brake = times(self.shown.velocity, -config.force.beta);
                let lead = with_length(along, config.force.strongest);
                let across = minus(brake, along_part(brake, along));
                self.shown = motion.advance(self.shown, plus(lead, across));
            }
            _ => {
                step.passed_through = true;
                let gap = minus(next.place, self.shown.place);
                self.shown.place = plus(self.shown.place, times(gap, PASSING));
                self.shown.velocity = next.velocity;
            }
        }
    }

    /// Whether it has not come nearer for too long. Once it passes through, it does so until it is there.
    fn is_stuck(&mut self, real: Body, near: f32, patience: u32) -> bool {
        let gap = distance(self.shown.place, real.place);
        let (nearest, since) = self.nearest;
        self.nearest = match gap < nearest - 0.1 * near && since <= patience {
            true => (gap, 0),
            false => (nearest.min(gap), since + 1),
        };
        since > patience && gap > near
    }
}

/// The part of a vector in the direction of another.
fn along_part(vector: [f32; 2], direction: [f32; 2]) -> [f32; 2] {
    let square = direction[0] * direction[0] + direction[1] * direction[1];
    if square <= 0.0 {
        return [0.0; 2];
    }
    let product = vector[0] * direction[0] + vector[1] * direction[1];
    times(direction, product / square)
}

#[cfg(test)]
mod tests {
    use super::super::field::{Field, WALK};
    use super::*;

    const DIAGONAL: [f32; 2] = [WALK * 0.7, WALK * 0.7];

    /// Walks diagonally into the corner of the block. On the client it begins a little lower and slides along the left side; on the authority a
    /// little higher and slides along the top. Returns the steps until both agree, and the largest distance, or `None` after a jump.
    fn corner(config: &CorrectionConfig) -> Result<(u32, f32), u32> {
        let field = Field::with_block();
        let mut shown = CorrectedBody::new(Body {
            place: [-1.0, -0.9],
            velocity: [0.0; 2],
        });
        let mut real = Body {
            place: [-0.9, -1.0],
            velocity: [0.0; 2],
        };
        let (mut largest, mut agreed) = (0.0, 0);
        for step in 0..300 {
            // The authority speaks every third step, after they have separated.
            if step > 15 && step % 3 == 0 {
                shown.receive(real);
            }
            let moved = shown.advance(&field, config, DIAGONAL);
            real = field.advance(real, DIAGONAL);
            if moved.teleported {
                return Err(step);
            }
            let gap = distance(shown.body().place, real.place);
            largest = f32::max(largest, gap);
            assert!(moved.passed_through || !field.is_inside(shown.body().place));
            assert!(!moved.passed_through, "there is a way around");
            agreed = if gap < 0.05 { agreed + 1 } else { 0 };
            if agreed == 10 && step > 30 {
                return Ok((step, largest));
            }
        }
        panic!("they never agree");
    }

    #[test]
    fn a_body_on_the_wrong_side_of_a_corner_goes_around_it() {
        let (steps, largest) = corner(&CorrectionConfig::default()).unwrap();
        assert!(steps < 120, "{steps} steps");
        assert!(largest < 2.0, "{largest} apart");
    }

    #[test]
    fn who_pushes_against_the_wall_jumps_in_the_end() {
        let config = CorrectionConfig {
            obstacles: Obstacles::Push,
            teleport: Teleport { beyond: 1.5 },
            ..CorrectionConfig::default()
        };
        assert!(corner(&config).is_err());
        let around = CorrectionConfig {
            obstacles: Obstacles::default(),
            ..config
        };
        assert!(corner(&around).is_ok());
    }

    #[test]
    fn who_has_no_way_around_passes_through() {
        // The wall is far longer than the search reaches.
        let field = Field {
            least: [0.0, -100.0],
            greatest: [1.0, 100.0],
        };
        let mut shown = CorrectedBody::new(Body {
            place: [-0.5, 0.0],
            velocity: [0.0; 2],
        });
        let real = Body {
            place: [1.5, 0.0],
            velocity: [0.0; 2],
        };
        shown.receive(real);
        let config = CorrectionConfig::default();
        let mut passed = 0;
        for _ in 0..60 {
            let step = shown.advance(&field, &config, [0.0; 2]);
            assert!(!step.teleported);
            passed += u32::from(step.passed_through);
        }
        assert!(passed > 5);
        assert!(distance(shown.body().place, real.place) < 0.02);
    }

    #[test]
    fn a_correction_does_not_turn_the_look() {
        let field = Field::open();
        let mut shown = CorrectedBody::new(Body::default());
        let config = CorrectionConfig::default();
        for _ in 0..30 {
            shown.advance(&field, &config, [WALK, 0.0]);
        }
        let mut real = shown.body();
        real.place[1] += 1.0;
        shown.receive(real);
        let mut drawn = 0.0;
        for _ in 0..30 {
            shown.advance(&field, &config, [WALK, 0.0]);
            drawn = f32::max(drawn, shown.body().velocity[1].abs());
            assert!(shown.look()[0] > 0.999);
        }
        assert!(drawn > 0.02, "it was drawn aside by {drawn} a step");
    }

    #[test]
    fn without_anything_to_correct_the_body_is_the_players() {
        let field = Field::open();
        let mut shown = CorrectedBody::new(Body::default());
        let mut alone = Body::default();
        for _ in 0..50 {
            let step = shown.advance(&field, &CorrectionConfig::default(), DIAGONAL);
            alone = field.advance(alone, DIAGONAL);
            assert_eq!(step, CorrectionStep::default());
            assert_eq!(shown.body(), alone);
        }
    }
}
