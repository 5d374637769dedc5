//! A field of cells on which bodies walk by force, in continuous time: what the published algorithm moves characters on.
//!
//! Forces, speeds and sizes are those of Hat Hunters; only the time of a step varies, as that of a frame does.

use samestep_sync::movement::{Body, Motion};

/// How far a character reaches from its middle, in cells.
pub(in crate::experiments) const RADIUS: f32 = 340.0 / 1024.0;
/// The width of a character, in cells: corrections are told in it.
pub(in crate::experiments) const WIDTH: f32 = 2.0 * RADIUS;
/// The speed that a walk leads to, in cells per second.
pub(in crate::experiments) const TOP_SPEED: f32 = 4.7;
/// Friction, per second: seven eighths of a velocity are left after a 60th.
pub(in crate::experiments) const FRICTION: f32 = 8.012;
/// The force of a walk, in cells per second and second.
pub(in crate::experiments) const WALK: f32 = TOP_SPEED * FRICTION;

/// Cells, some of which nobody can be in.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::experiments) struct Field {
    width: i32,
    height: i32,
    solid: Vec<bool>,
}

impl Field {
    /// The field that a text shows: `#` is solid, and so is everything outside.
    pub(in crate::experiments) fn of(text: &str) -> Field {
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        let width = lines.iter().map(|line| line.len()).max().unwrap_or(0);
        let cell = |line: &str, at: usize| line.as_bytes().get(at).is_none_or(|cell| *cell == b'#');
        let solid = lines
            .iter()
            .flat_map(|line| (0..width).map(|at| cell(line, at)));
        Field {
            width: width as i32,
            height: lines.len() as i32,
            solid: solid.collect(),
        }
    }

    pub(in crate::experiments) fn size(&self) -> (i32, i32) {
        (self.width, self.height)
    }

    pub(in crate::experiments) fn is_solid(&self, column: i32, row: i32) -> bool {
        if column < 0 || row < 0 || column >= self.width || row >= self.height {
            return true;
        }
        self.solid[(row * self.width + column) as usize]
    }

    /// The way bodies move in a step of so many seconds.
    pub(in crate::experiments) fn during(&self, seconds: f32) -> During<'_> {
        During {
            field: self,
            seconds,
        }
    }

    /// Sides push first, then corners.
    fn stop(&self, body: &mut Body) {
        let [column, row] = body.place.map(|at| at.floor() as i32);
        if self.is_solid(column, row) {
            body.velocity = [0.0; 2];
            return;
        }
        let corner_of = [column as f32, row as f32];
        for (axis, least) in corner_of.into_iter().enumerate() {
            for (side, way) in [(0.0, -1), (1.0, 1)] {
                let beside = if axis == 0 { (way, 0) } else { (0, way) };
                let wall = least + side - way as f32 * RADIUS;
                let is_in = (body.place[axis] - wall) * way as f32 > 0.0;
                if is_in && self.is_solid(column + beside.0, row + beside.1) {
                    body.place[axis] = wall;
                    if body.velocity[axis] * way as f32 > 0.0 {
                        body.velocity[axis] = 0.0;
                    }
                }
            }
        }
        for (x, y) in [(-1, -1), (1, -1), (-1, 1), (1, 1)] {
            let is_corner = self.is_solid(column + x, row + y)
                && !self.is_solid(column + x, row)
                && !self.is_solid(column, row + y);
            if is_corner {
                let corner = [
                    corner_of[0] + ((x + 1) / 2) as f32,
                    corner_of[1] + ((y + 1) / 2) as f32,
                ];
                round_corner(body, corner);
            }
        }
    }

    /// Whether a body can be here, a hair's breadth aside.
    fn is_open(&self, place: [f32; 2]) -> bool {
        let mut body = Body {
            place,
            velocity: [0.0; 2],
        };
        let [column, row] = place.map(|at| at.floor() as i32);
        if self.is_solid(column, row) {
            return false;
        }
        self.stop(&mut body);
        (body.place[0] - place[0]).abs() < 1e-3 && (body.place[1] - place[1]).abs() < 1e-3
    }
}

fn round_corner(body: &mut Body, corner: [f32; 2]) {
    let way = [body.place[0] - corner[0], body.place[1] - corner[1]];
    let distance = way[0].hypot(way[1]);
    if distance >= RADIUS || distance <= 0.0 {
        return;
    }
    let out = [way[0] / distance, way[1] / distance];
    body.place = [corner[0] + out[0] * RADIUS, corner[1] + out[1] * RADIUS];
    let into = body.velocity[0] * out[0] + body.velocity[1] * out[1];
    if into < 0.0 {
        body.velocity = [
            body.velocity[0] - into * out[0],
            body.velocity[1] - into * out[1],
        ];
    }
}

/// The motion of a step of some length. Velocities are in cells per second.
#[derive(Clone, Copy, Debug)]
pub(in crate::experiments) struct During<'a> {
    field: &'a Field,
    seconds: f32,
}

impl Motion for During<'_> {
    fn advance(&self, body: Body, force: [f32; 2]) -> Body {
        let kept = (-FRICTION * self.seconds).exp();
        let velocity =
            [0, 1].map(|axis| body.velocity[axis] * kept + force[axis] / FRICTION * (1.0 - kept));
        let place = [0, 1].map(|axis| body.place[axis] + velocity[axis] * self.seconds);
        let mut body = Body { place, velocity };
        self.field.stop(&mut body);
        body
    }

    fn is_free(&self, from: [f32; 2], to: [f32; 2]) -> bool {
        let length = (to[0] - from[0]).hypot(to[1] - from[1]);
        let parts = 1 + (length / 0.05) as usize;
        (0..=parts).all(|part| {
            let share = part as f32 / parts as f32;
            self.field
                .is_open([0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * share))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELD: &str = "######\n#....#\n#.#..#\n#....#\n######\n";

    fn walk(from: [f32; 2], way: [f32; 2], steps: &[f32]) -> Body {
        let field = Field::of(FIELD);
        let begin = Body {
            place: from,
            velocity: [0.0; 2],
        };
        steps.iter().fold(begin, |body, seconds| {
            field
                .during(*seconds)
                .advance(body, way.map(|part| part * WALK))
        })
    }

    #[test]
    fn a_walk_reaches_its_top_speed_and_walls_stop_it() {
        let body = walk([1.5, 1.5], [1.0, 0.0], &[1.0 / 60.0; 20]);
        assert!((4.2..4.7).contains(&body.velocity[0]), "{body:?}");
        let body = walk([1.5, 1.5], [1.0, 0.0], &[1.0 / 60.0; 90]);
        assert!((body.place[0] - (5.0 - RADIUS)).abs() < 1e-5);
        assert_eq!(body.velocity[0], 0.0);
    }

    #[test]
    fn the_length_of_frames_hardly_matters() {
        let even = walk([1.5, 1.5], [1.0, 0.0], &[1.0 / 60.0; 30]);
        let uneven = walk(
            [1.5, 1.5],
            [1.0, 0.0],
            &[0.012, 0.5 / 7.5 - 0.012 - 0.02, 0.02].repeat(7)[..],
        );
        assert!((even.velocity[0] - uneven.velocity[0]).abs() < 0.1);
    }

    #[test]
    fn the_straight_way_through_a_stump_is_not_free() {
        let field = Field::of(FIELD);
        let motion = field.during(1.0 / 60.0);
        assert!(!motion.is_free([1.5, 2.5], [3.5, 2.5]));
        assert!(motion.is_free([1.5, 1.5], [3.5, 1.5]));
        // Along the wall that it touches.
        assert!(motion.is_free([1.0 + RADIUS, 1.5], [1.0 + RADIUS, 3.5]));
    }
}
