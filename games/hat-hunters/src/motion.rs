//! How a body moves: a force changes its velocity, the velocity its place, and obstacles stop it.

use samestep_sync::Record;

use crate::field::Field;
use crate::place::{ONE, Place};

/// How far a character reaches from its middle.
pub const RADIUS: i32 = 340;

/// Velocities and forces are counted in 16ths of a unit, so that slow bodies still move in all directions.
pub const FINE: i32 = 16;

/// The force of a character that walks, in 16ths of a unit per tick and tick.
pub const FORCE: i32 = 184;

/// Friction leaves so many eighths of the velocity in each tick. The top speed of a walk follows: about four and a half cells a second.
const KEPT: i32 = 7;

/// Nobody moves faster, so that nothing is passed unnoticed: less than the radius in a tick.
const FASTEST: i32 = 300 * FINE;

/// The most by which an obstacle that appears under a body pushes it in a tick, in units.
const SHOVE: i32 = 200;

/// What stops bodies.
pub trait Obstacles {
    /// Whether nobody can be in the cell in this column and row.
    fn is_solid(&self, column: i32, row: i32) -> bool;
}

impl Obstacles for Field<'_> {
    fn is_solid(&self, column: i32, row: i32) -> bool {
        Field::is_solid(self, column, row)
    }
}

/// A body that moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub struct Body {
    /// Its middle.
    pub place: Place,
    /// In [16ths](FINE) of a unit per tick.
    pub velocity: Velocity,
}

/// A velocity, to the right and down, in [16ths](FINE) of a unit per tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub struct Velocity {
    /// To the right.
    pub x: i32,
    /// Down.
    pub y: i32,
}

impl Body {
    /// At rest.
    pub fn at(place: Place) -> Self {
        Self {
            place,
            ..Self::default()
        }
    }

    /// The body a tick later, under a force in [16ths](FINE) of a unit.
    #[must_use]
    pub fn advance(&self, force: Place, obstacles: &impl Obstacles) -> Body {
        let speed = |now: i32, push: i32| {
            let pushed = now
                .clamp(-FASTEST, FASTEST)
                .saturating_add(push.clamp(-FASTEST, FASTEST));
            (pushed * KEPT / 8).clamp(-FASTEST, FASTEST)
        };
        let velocity = Velocity {
            x: speed(self.velocity.x, force.x),
            y: speed(self.velocity.y, force.y),
        };
        let step = Place::new(velocity.x / FINE, velocity.y / FINE);
        let mut body = Body {
            place: self.place.bounded().offset(step),
            velocity,
        };
        body.be_stopped(obstacles);
        body
    }

    fn be_stopped(&mut self, obstacles: &impl Obstacles) {
        let (column, row) = self.place.column_and_row();
        if obstacles.is_solid(column, row) {
            self.leave_cell(column, row, obstacles);
            return;
        }
        let (left, top) = (column * ONE, row * ONE);
        // Sides first: whoever slides along a wall of several cells does not feel the corners between them.
        let is_solid = |x: i32, y: i32| obstacles.is_solid(column + x, row + y);
        if is_solid(-1, 0) {
            push_up(&mut self.place.x, &mut self.velocity.x, left + RADIUS);
        }
        if is_solid(1, 0) {
            push_down(&mut self.place.x, &mut self.velocity.x, left + ONE - RADIUS);
        }
        if is_solid(0, -1) {
            push_up(&mut self.place.y, &mut self.velocity.y, top + RADIUS);
        }
        if is_solid(0, 1) {
            push_down(&mut self.place.y, &mut self.velocity.y, top + ONE - RADIUS);
        }
        for (x, y) in [(-1, -1), (1, -1), (-1, 1), (1, 1)] {
            if is_solid(x, y) && !is_solid(x, 0) && !is_solid(0, y) {
                let corner = Place::new(left + (x + 1) / 2 * ONE, top + (y + 1) / 2 * ONE);
                self.round_corner(corner);
            }
        }
    }

    /// A corner pushes a body away, and takes the part of its velocity that leads into it.
    fn round_corner(&mut self, corner: Place) {
        let way = corner.to(self.place);
        let distance = way.length();
        if distance >= RADIUS || distance == 0 {
            return;
        }
        let out = way.with_length(RADIUS);
        let push = Place::new(out.x - way.x, out.y - way.y);
        self.place = self.place.offset(Place::new(
            push.x.clamp(-SHOVE, SHOVE),
            push.y.clamp(-SHOVE, SHOVE),
        ));
        let into = self.velocity.x * way.x + self.velocity.y * way.y;
        if into < 0 {
            let square = distance * distance;
            let part = |along: i32| (i64::from(into) * i64::from(along) / i64::from(square)) as i32;
            self.velocity.x -= part(way.x);
            self.velocity.y -= part(way.y);
        }
    }

    /// Something was put where the body is: it is pushed out on the nearest open side.
    fn leave_cell(&mut self, column: i32, row: i32, obstacles: &impl Obstacles) {
        self.velocity = Velocity::default();
        let (left, top) = (column * ONE, row * ONE);
        let sides = [
            (self.place.x - left, (-1, 0)),
            (left + ONE - self.place.x, (1, 0)),
            (self.place.y - top, (0, -1)),
            (top + ONE - self.place.y, (0, 1)),
        ];
        let open = sides
            .into_iter()
            .filter(|(_, (x, y))| !obstacles.is_solid(column + x, row + y));
        let nearest = open.min_by_key(|(distance, _)| *distance);
        if let Some((_, (x, y))) = nearest {
            self.place = self.place.offset(Place::new(x * SHOVE, y * SHOVE));
        }
    }

    /// A state may be forged: a body outside of the field is put into it.
    pub(crate) fn keep_inside(&mut self, field: &Field<'_>) {
        let inside = |units: i32, cells: i32| units.clamp(0, (cells * ONE - 1).max(0));
        self.place.x = inside(self.place.x, field.width());
        self.place.y = inside(self.place.y, field.height());
    }
}

fn push_up(place: &mut i32, velocity: &mut i32, least: i32) {
    if *place < least {
        *place = least.min(*place + SHOVE);
        *velocity = (*velocity).max(0);
    }
}

fn push_down(place: &mut i32, velocity: &mut i32, most: i32) {
    if *place > most {
        *place = most.max(*place - SHOVE);
        *velocity = (*velocity).min(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::{HEADINGS, Heading};

    /// Solid where the letter is `#`.
    struct Letters(&'static [&'static str]);

    impl Obstacles for Letters {
        fn is_solid(&self, column: i32, row: i32) -> bool {
            let line = usize::try_from(row).ok().and_then(|row| self.0.get(row));
            let letter = line.zip(usize::try_from(column).ok());
            letter.is_none_or(|(line, column)| line.as_bytes().get(column) != Some(&b'.'))
        }
    }

    const ROOM: Letters = Letters(&["########", "#......#", "#......#", "#..#...#", "########"]);

    fn walk(from: Place, heading: Heading, ticks: u32) -> Body {
        (0..ticks).fold(Body::at(from), |body, _| {
            body.advance(heading.way(FORCE), &ROOM)
        })
    }

    #[test]
    fn a_force_leads_to_a_top_speed_that_is_alike_in_all_directions() {
        struct Nothing;
        impl Obstacles for Nothing {
            fn is_solid(&self, _: i32, _: i32) -> bool {
                false
            }
        }
        for heading in (0..HEADINGS).map(Heading) {
            let mut body = Body::default();
            for _ in 0..120 {
                body = body.advance(heading.way(FORCE), &Nothing);
            }
            let speed = Place::new(body.velocity.x, body.velocity.y).length();
            assert!((1220..1290).contains(&speed), "{heading:?}: {speed}");
            let before = body.place;
            for _ in 0..60 {
                body = body.advance(Place::default(), &Nothing);
            }
            assert_eq!(body.velocity, Velocity::default());
            assert!(before.distance(body.place) < ONE, "friction stops it");
        }
    }

    #[test]
    fn walls_stop_and_are_slid_along() {
        let begin = Place::middle_of(1, 2);
        let body = walk(begin, Heading::LEFT, 60);
        assert_eq!(body.place, Place::new(ONE + RADIUS, begin.y));
        let body = walk(begin, Heading(28), 60);
        assert_eq!(body.place.y, ONE + RADIUS);
        assert!(body.place.x > 3 * ONE, "{body:?}");
    }

    #[test]
    fn corners_are_rounded() {
        // The stump in the way is a little below the path.
        let begin = Place::new(ONE + 512, 3 * ONE - 250);
        let body = walk(begin, Heading::RIGHT, 120);
        assert_eq!(body.place.x, 7 * ONE - RADIUS);
        for tick in 0..120 {
            let place = walk(begin, Heading::RIGHT, tick).place;
            assert!(
                !ROOM.is_solid(place.x / ONE, place.y / ONE),
                "{tick}: {place:?}"
            );
        }
    }

    #[test]
    fn what_appears_under_a_body_pushes_it_out() {
        let inside = Place::new(3 * ONE + 700, 3 * ONE + 400);
        let body = walk(inside, Heading::LEFT, 1);
        assert!(body.place.x > inside.x && body.place.y == inside.y);
        let mut body = Body::at(inside);
        for _ in 0..9 {
            body = body.advance(Place::default(), &ROOM);
        }
        assert_eq!(body.place, Place::new(4 * ONE + RADIUS, inside.y));
    }
}
