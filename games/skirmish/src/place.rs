//! Places on the map, in whole numbers: sums and products of integers are the same on every machine.

use samestep_sync::{Record, Wire};

/// Steps of a coordinate per unit of length; a unit is about as wide as a soldier.
pub const ONE: i32 = 256;

/// A place on the map, in [`ONE`]ths of a unit from its upper left corner.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record, Wire)]
pub struct Place {
    /// To the right.
    pub x: i32,
    /// Downwards.
    pub y: i32,
}

impl Place {
    /// A place given in whole units.
    pub const fn new(x: u16, y: u16) -> Self {
        Self {
            x: x as i32 * ONE,
            y: y as i32 * ONE,
        }
    }

    /// In whole units.
    pub const fn units(self) -> (u16, u16) {
        ((self.x / ONE) as u16, (self.y / ONE) as u16)
    }

    pub(crate) fn offset(self, dx: i32, dy: i32) -> Self {
        Self {
            x: self.x.wrapping_add(dx),
            y: self.y.wrapping_add(dy),
        }
    }

    /// The nearest place that is on a map of this width and height, and a unit from its edge.
    #[inline]
    pub(crate) fn within(self, size: u16) -> Self {
        let limit = (i32::from(size) - 1) * ONE;
        Self {
            x: self.x.max(ONE).min(limit),
            y: self.y.max(ONE).min(limit),
        }
    }

    /// The square of the distance, in steps.
    #[inline]
    pub(crate) fn distance_squared(self, other: Self) -> u64 {
        let (dx, dy) = (self.x.abs_diff(other.x), self.y.abs_diff(other.y));
        let square = |d: u32| u64::from(d) * u64::from(d);
        square(dx).saturating_add(square(dy))
    }

    /// Whether `other` is at most `radius` steps away.
    #[inline]
    pub(crate) fn is_near(self, other: Self, radius: i32) -> bool {
        self.distance_squared(other) <= i64::from(radius).pow(2) as u64
    }

    /// The step per tick that leads to `other` at `speed`, and in `ticks` ticks at the earliest.
    #[inline]
    pub(crate) fn velocity_to(self, other: Self, speed: i32, ticks: i32) -> (i16, i16) {
        // Coordinates and their differences have 20 bits at most: floats hold them exactly.
        let (dx, dy) = (
            other.x.wrapping_sub(self.x) as f32,
            other.y.wrapping_sub(self.y) as f32,
        );
        let squared = dx * dx + dy * dy;
        let (speed, ticks) = (speed as f32, ticks as f32);
        let share = match squared <= (speed * ticks) * (speed * ticks) {
            true => 1.0 / ticks,
            false => speed / squared.sqrt(),
        };
        ((dx * share) as i16, (dy * share) as i16)
    }

    /// The direction of `other`, as a vector of about 64.
    pub(crate) fn facing(self, other: Self) -> (i8, i8) {
        let distance = self.distance_squared(other).isqrt() as i64;
        if distance == 0 {
            return (64, 0);
        }
        let along = |d: i32| (i64::from(d) * 64 / distance) as i8;
        (
            along(other.x.wrapping_sub(self.x)),
            along(other.y.wrapping_sub(self.y)),
        )
    }
}

#[cfg(test)]
mod tests {
    use samestep_sync::math;

    use super::*;

    #[test]
    fn velocity_is_the_speed_in_any_direction() {
        let from = Place::new(100, 100);
        for to in [Place::new(180, 100), Place::new(40, 20), Place::new(100, 3)] {
            let (vx, vy) = from.velocity_to(to, 16, 8);
            let speed = math::hypot(f32::from(vx), f32::from(vy));
            assert!((14.5..=16.0).contains(&speed), "{speed}");
        }
    }

    #[test]
    fn the_last_steps_end_there() {
        let (from, to) = (
            Place { x: 100, y: 7 },
            Place {
                x: 100 + 48,
                y: 7 - 24,
            },
        );
        assert_eq!(from.velocity_to(to, 16, 8), (6, -3));
        assert_eq!(to.velocity_to(to, 16, 8), (0, 0));
    }

    #[test]
    fn the_map_has_an_edge() {
        let place = Place { x: -5, y: 1 << 20 }.within(64);
        assert_eq!(place, Place::new(1, 63));
    }
}
