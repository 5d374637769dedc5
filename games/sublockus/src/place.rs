//! Places and directions, in integers.

use samestep_sync::{Record, Wire, math};

/// A block, in the units that places are counted in.
pub const ONE: i32 = 1024;

/// A place, or the way from one to another: to the right and down, in 1024ths of a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Record, Wire)]
pub struct Place {
    /// To the right.
    #[field(blend = "linear")]
    #[wire(varint)]
    pub x: i32,
    /// Down.
    #[field(blend = "linear")]
    #[wire(varint)]
    pub y: i32,
}

/// A place out of which nothing is: products of two of them fit into 64 bits with room to spare.
const FARTHEST: i32 = 1 << 24;

impl Place {
    /// A place by its units.
    pub const fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }

    /// The middle of a block.
    pub const fn middle_of(column: i32, row: i32) -> Self {
        Self::new(column * ONE + ONE / 2, row * ONE + ONE / 2)
    }

    /// The column and the row of the block it is in.
    pub const fn block(self) -> (i32, i32) {
        (self.x.div_euclid(ONE), self.y.div_euclid(ONE))
    }

    /// In blocks.
    pub fn blocks(self) -> (f32, f32) {
        let blocks = |units: i32| units as f32 / ONE as f32;
        (blocks(self.x), blocks(self.y))
    }

    /// The place so far from here.
    #[must_use]
    pub const fn offset(self, by: Place) -> Self {
        Self::new(self.x.saturating_add(by.x), self.y.saturating_add(by.y))
    }

    /// The way from here to another place.
    pub const fn to(self, other: Place) -> Self {
        Self::new(
            other.x.saturating_sub(self.x),
            other.y.saturating_sub(self.y),
        )
    }

    /// How long the way is, in units.
    pub const fn length(self) -> i32 {
        self.squared().isqrt() as i32
    }

    /// How far another place is, in units.
    pub const fn distance(self, other: Place) -> i32 {
        self.to(other).length()
    }

    /// The square of its length.
    pub(crate) const fn squared(self) -> i64 {
        let (x, y) = (self.bounded().x as i64, self.bounded().y as i64);
        x * x + y * y
    }

    /// A way in the same direction of another length.
    pub(crate) fn with_length(self, length: i32) -> Self {
        let now = i64::from(self.length());
        if now == 0 {
            return Self::new(0, 0);
        }
        let scale = |along: i32| (i64::from(along) * i64::from(length) / now) as i32;
        let way = self.bounded();
        Self::new(scale(way.x), scale(way.y))
    }

    /// Somewhere on the way from here to another place, in 1024ths of the way.
    pub(crate) fn between(self, other: Place, part: i32) -> Self {
        let along = |from: i32, to: i32| {
            let way = i64::from(to) - i64::from(from);
            (i64::from(from) + way * i64::from(part) / i64::from(ONE)) as i32
        };
        Self::new(along(self.x, other.x), along(self.y, other.y))
    }

    /// The same, no farther out than anything is.
    pub(crate) const fn bounded(self) -> Self {
        Self::new(bound(self.x), bound(self.y))
    }
}

const fn bound(units: i32) -> i32 {
    if units > FARTHEST {
        FARTHEST
    } else if units < -FARTHEST {
        -FARTHEST
    } else {
        units
    }
}

/// A direction: 65,536 to a full turn, 0 to the right, a quarter of a turn down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Record, Wire)]
pub struct Angle(pub u16);

impl Angle {
    /// To the right.
    pub const RIGHT: Angle = Angle(0);
    /// Down.
    pub const DOWN: Angle = Angle(0x4000);
    /// To the left.
    pub const LEFT: Angle = Angle(0x8000);
    /// Up.
    pub const UP: Angle = Angle(0xc000);

    /// The direction of a way; to the right if it has none.
    pub fn of(way: Place) -> Self {
        let radians = math::double::atan2(f64::from(way.y), f64::from(way.x));
        Self::from_radians(radians)
    }

    /// The direction of so many radians, growing clockwise on a screen.
    pub fn from_radians(radians: f64) -> Self {
        let turn = radians / core::f64::consts::TAU;
        Self((turn * 65_536.0 + 0.5).rem_euclid(65_536.0) as u16)
    }

    /// In radians, from 0 to a full turn.
    pub fn radians(self) -> f64 {
        f64::from(self.0) * (core::f64::consts::TAU / 65_536.0)
    }

    /// The way that leads so many units into this direction.
    pub fn way(self, length: i32) -> Place {
        let (sine, cosine) = math::double::sin_cos(self.radians());
        let along = |part: f64| (part * f64::from(length)) as i32;
        Place::new(along(cosine), along(sine))
    }

    /// Whether it points to the left.
    pub const fn is_left(self) -> bool {
        self.0 > 0x4000 && self.0 < 0xc000
    }

    /// The direction turned clockwise; negative the other way.
    #[must_use]
    pub const fn turned(self, by: i32) -> Self {
        Self((self.0 as i32).wrapping_add(by) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_go_there_and_back() {
        for angle in (0..=u16::MAX).step_by(7).map(Angle) {
            let again = Angle::of(angle.way(1 << 20));
            let off = angle.0.wrapping_sub(again.0) as i16;
            assert!(off.abs() <= 1, "{angle:?} and {again:?}");
        }
        assert_eq!(Angle::DOWN.way(500), Place::new(0, 500));
        assert_eq!(Angle::of(Place::new(0, -3)), Angle::UP);
        assert_eq!(Angle::of(Place::new(0, 0)), Angle::RIGHT);
        assert!(Angle::LEFT.is_left() && !Angle::UP.is_left() && !Angle::RIGHT.is_left());
        assert_eq!(Angle::RIGHT.turned(-0x4000), Angle::UP);
    }

    #[test]
    fn distances_do_not_overflow() {
        let (least, most) = (
            Place::new(i32::MIN, i32::MIN),
            Place::new(i32::MAX, i32::MAX),
        );
        assert!(least.distance(most) > 1 << 23);
        assert_eq!(Place::new(3 * ONE, -4 * ONE).length(), 5 * ONE);
        assert_eq!(Place::new(30, -40).with_length(5), Place::new(3, -4));
        assert_eq!(least.between(most, ONE), most);
        assert_eq!(
            Place::new(10, 0).between(Place::new(20, 8), ONE / 2),
            Place::new(15, 4)
        );
    }
}
