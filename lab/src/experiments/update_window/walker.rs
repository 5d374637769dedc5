//! What the players do: they walk about, or into the corner of an obstacle again and again. They steer by what they see of themselves.

use std::time::Duration;

use samestep_sync::Rng;

use super::field::Field;

/// The number of directions in which one can walk, from the right clockwise.
pub(in crate::experiments) const HEADINGS: u8 = 32;

/// What a walker is after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::experiments) enum Errand {
    /// Goes from place to place, with a change of steering every 150 to 600 ms as people make them, and stops now and then.
    Wander,
    /// Walks into the corners of a stump, so that a hair's breadth decides on which side it slides past.
    Edge,
}

/// Somebody who walks.
#[derive(Clone, Debug)]
pub(in crate::experiments) struct Walker {
    errand: Errand,
    rng: Rng,
    /// Where it goes, and until when it does so at most.
    goal: [f32; 2],
    until: Duration,
    /// When it changes its steering next.
    next: Duration,
    /// Whether it is pressing into a corner.
    presses: bool,
    heading: Option<u8>,
}

impl Walker {
    pub(in crate::experiments) fn new(errand: Errand, seed: u64) -> Walker {
        Walker {
            errand,
            rng: Rng::new(seed),
            goal: [0.0; 2],
            until: Duration::ZERO,
            next: Duration::ZERO,
            presses: false,
            heading: None,
        }
    }

    /// Has it go to a place.
    pub(in crate::experiments) fn seek(&mut self, now: Duration, place: [f32; 2]) {
        if self.goal != place {
            (self.goal, self.until) = (place, now + Duration::from_secs(8));
        }
    }

    /// Its steering at a time at which it sees itself at this place; `None` stands still.
    pub(in crate::experiments) fn decide(
        &mut self,
        now: Duration,
        place: [f32; 2],
        field: &Field,
    ) -> Option<u8> {
        match self.errand {
            Errand::Wander => self.wander(now, place, field),
            Errand::Edge => self.go_to_the_edge(now, place, field),
        }
        self.heading
    }

    fn between(&mut self, least: u64, most: u64) -> Duration {
        let more = self.rng.below((most - least) as u32 + 1);
        Duration::from_millis(least + u64::from(more))
    }

    fn unit(&mut self) -> f32 {
        self.rng.below(1 << 16) as f32 / 65_536.0
    }

    fn wander(&mut self, now: Duration, place: [f32; 2], field: &Field) {
        if now < self.next {
            return;
        }
        self.next = now + self.between(150, 600);
        if now >= self.until || distance(place, self.goal) < 0.5 {
            self.goal = self.somewhere(field);
            self.until = now + self.between(1_500, 4_000);
        }
        self.heading = match self.rng.below(10) {
            0 => None,
            // Nobody walks quite straight.
            _ => {
                let off = (self.unit() - 0.5) * 0.8;
                Some(heading(place, self.goal, off))
            }
        };
    }

    fn somewhere(&mut self, field: &Field) -> [f32; 2] {
        let (width, height) = field.size();
        for _ in 0..100 {
            let cell = (
                self.rng.below(width.max(1) as u32) as i32,
                self.rng.below(height.max(1) as u32) as i32,
            );
            if !field.is_solid(cell.0, cell.1) {
                return [cell.0 as f32 + 0.5, cell.1 as f32 + 0.5];
            }
        }
        [1.5; 2]
    }

    /// Goes to a place before a corner, then presses towards it for a while.
    fn go_to_the_edge(&mut self, now: Duration, place: [f32; 2], field: &Field) {
        if self.presses && now < self.until {
            return;
        }
        if self.presses || now >= self.until {
            self.presses = false;
            self.goal = before(nearest_corner(place, field));
            self.until = now + Duration::from_secs(3);
        }
        if distance(place, self.goal) < 0.25 {
            let (corner, _) = nearest_corner(place, field);
            let aside = [self.unit() - 0.5, self.unit() - 0.5].map(|part| part * 0.3);
            let aim = [corner[0] + aside[0], corner[1] + aside[1]];
            self.heading = Some(heading(place, aim, 0.0));
            self.presses = true;
            self.until = now + self.between(700, 1_200);
        } else if now >= self.next {
            self.next = now + Duration::from_millis(100);
            self.heading = Some(heading(place, self.goal, 0.0));
        }
    }
}

/// The nearest corner of a stump that is open to three sides, and the direction away from the stump.
fn nearest_corner(place: [f32; 2], field: &Field) -> ([f32; 2], [f32; 2]) {
    let (width, height) = field.size();
    let mut best = ([1.0; 2], [1.0; 2], f32::INFINITY);
    for row in 1..height - 1 {
        for column in 1..width - 1 {
            if !field.is_solid(column, row) {
                continue;
            }
            for (x, y) in [(-1, -1), (1, -1), (-1, 1), (1, 1)] {
                let sides = [(x, 0), (0, y), (x, y)];
                if sides
                    .iter()
                    .any(|(x, y)| field.is_solid(column + x, row + y))
                {
                    continue;
                }
                let corner = [
                    column as f32 + ((x + 1) / 2) as f32,
                    row as f32 + ((y + 1) / 2) as f32,
                ];
                let away = distance(place, corner);
                if away < best.2 {
                    best = (corner, [x as f32, y as f32], away);
                }
            }
        }
    }
    (best.0, best.1)
}

/// A place from which one turns into a corner.
fn before((corner, out): ([f32; 2], [f32; 2])) -> [f32; 2] {
    [corner[0] + out[0] * 0.5, corner[1] + out[1] * 0.5]
}

fn distance(a: [f32; 2], b: [f32; 2]) -> f32 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

/// The heading from one place to another, turned by an angle.
fn heading(from: [f32; 2], to: [f32; 2], turned: f32) -> u8 {
    let angle = (to[1] - from[1]).atan2(to[0] - from[0]) + turned;
    let part = angle / std::f32::consts::TAU * f32::from(HEADINGS);
    (part.round() as i32).rem_euclid(HEADINGS.into()) as u8
}

/// The direction of a heading, with length 1; nothing for standing still.
pub(in crate::experiments) fn direction(heading: Option<u8>) -> [f32; 2] {
    let Some(heading) = heading else {
        return [0.0; 2];
    };
    let angle = f32::from(heading) / f32::from(HEADINGS) * std::f32::consts::TAU;
    let (sin, cos) = angle.sin_cos();
    [cos, sin]
}

#[cfg(test)]
mod tests {
    use samestep_sync::movement::{Body, Motion};

    use super::super::field::{RADIUS, WALK};
    use super::*;

    const ROOM: &str = "############\n#..........#\n#..........#\n#...##.....#\n#...##.....#\n#..........#\n#..........#\n############\n";

    fn walk(errand: Errand, seconds: u32) -> (Vec<[f32; 2]>, usize) {
        let field = Field::of(ROOM);
        let mut walker = Walker::new(errand, 3);
        let mut body = Body {
            place: [2.5, 2.5],
            velocity: [0.0; 2],
        };
        let (mut places, mut changes, mut held) = (Vec::new(), 0, None);
        for tick in 0..seconds * 60 {
            let now = Duration::from_nanos(16_666_667) * tick;
            let heading = walker.decide(now, body.place, &field);
            changes += usize::from(heading != held);
            held = heading;
            let force = direction(heading).map(|part| part * WALK);
            body = field.during(1.0 / 60.0).advance(body, force);
            places.push(body.place);
        }
        (places, changes)
    }

    #[test]
    fn a_wanderer_gets_about() {
        let (places, changes) = walk(Errand::Wander, 60);
        let across = places.iter().map(|place| place[0]);
        assert!(across.clone().fold(0.0, f32::max) > 7.0);
        assert!(across.fold(9.0, f32::min) < 3.0);
        assert!((60..400).contains(&changes), "{changes}");
    }

    #[test]
    fn who_is_after_the_edge_meets_corners_on_both_sides() {
        let (places, _) = walk(Errand::Edge, 120);
        let corners = [[4.0, 3.0], [6.0, 3.0], [4.0, 5.0], [6.0, 5.0]];
        let touches = |place: &&[f32; 2]| {
            let near = |corner: &[f32; 2]| distance(**place, *corner) < RADIUS + 0.01;
            corners.iter().any(near)
        };
        let touching = places.iter().filter(touches).count();
        assert!(touching > 100, "{touching}");
    }
}
