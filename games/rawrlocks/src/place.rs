//! Places and directions, in integers.

use samestep_sync::{Record, Wire, math};

/// A yard, in the units that places are counted in.
pub const ONE: i32 = 256;

/// A place, or the way from one to another: to the right and down of the arena's centre, in 256ths of a yard.
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

/// How far from the centre anything can be along each axis, in units: products of two of them fit into 64 bits.
const FARTHEST: i32 = 4096 * ONE;

impl Place {
    /// The arena's centre.
    pub const CENTRE: Place = Place::new(0, 0);

    /// A place by its units.
    pub const fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }

    /// A place by its yards.
    pub const fn yards(x: i32, y: i32) -> Self {
        Self::new(x * ONE, y * ONE)
    }

    /// In yards.
    pub fn in_yards(self) -> (f32, f32) {
        let yards = |units: i32| units as f32 / ONE as f32;
        (yards(self.x), yards(self.y))
    }

    /// The way of this length into a direction: 65,536 to a full turn, 0 to the right, a quarter of a turn down.
    pub fn polar(turn: u16, length: i32) -> Self {
        let radians = f64::from(turn) * (core::f64::consts::TAU / 65_536.0);
        let (sine, cosine) = math::double::sin_cos(radians);
        let along = |part: f64| (part * f64::from(length)) as i32;
        Self::new(along(cosine), along(sine))
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

    /// The way back.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self::new(self.x.saturating_neg(), self.y.saturating_neg())
    }

    /// How long the way is, in units.
    pub const fn length(self) -> i32 {
        self.dot(self).isqrt() as i32
    }

    /// How far another place is, in units.
    pub const fn distance(self, other: Place) -> i32 {
        self.to(other).length()
    }

    /// A way in the same direction of another length; nowhere if this one leads nowhere.
    #[must_use]
    pub fn with_length(self, length: i32) -> Self {
        let way = self.bounded();
        let now = i64::from(way.length());
        if now == 0 {
            return Self::CENTRE;
        }
        let scale = |along: i32| (i64::from(along) * i64::from(length) / now) as i32;
        Self::new(scale(way.x), scale(way.y))
    }

    /// The same way, no longer than so many units.
    #[must_use]
    pub fn at_most(self, length: i32) -> Self {
        match self.length() > length {
            true => self.with_length(length),
            false => self,
        }
    }

    /// The scalar product of two ways.
    pub(crate) const fn dot(self, other: Place) -> i64 {
        let (one, other) = (self.bounded(), other.bounded());
        one.x as i64 * other.x as i64 + one.y as i64 * other.y as i64
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

/// The number of headings in a full turn.
pub const HEADINGS: u8 = 32;

/// A direction to walk into: 32 to a full turn, 0 to the right, a quarter of a turn down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Record, Wire)]
pub struct Heading(#[wire(range = 0..=31)] pub u8);

/// The cosines of the first quarter of a turn, in 1024ths.
const COSINES: [i32; 9] = [1024, 1004, 946, 851, 724, 569, 392, 200, 0];

const fn cosine_of(turn: u8) -> i32 {
    match turn % HEADINGS {
        turn @ 0..=8 => COSINES[turn as usize],
        turn @ 9..=16 => -COSINES[16 - turn as usize],
        turn @ 17..=24 => -COSINES[turn as usize - 16],
        turn => COSINES[HEADINGS as usize - turn as usize],
    }
}

impl Heading {
    /// To the right.
    pub const RIGHT: Heading = Heading(0);
    /// Down.
    pub const DOWN: Heading = Heading(8);
    /// To the left.
    pub const LEFT: Heading = Heading(16);
    /// Up.
    pub const UP: Heading = Heading(24);

    /// The way that leads so many units into this direction.
    pub const fn way(self, length: i32) -> Place {
        let turn = self.0 % HEADINGS;
        let (x, y) = (cosine_of(turn) as i64, cosine_of(turn + 24) as i64);
        Place::new(
            (x * length as i64 / 1024) as i32,
            (y * length as i64 / 1024) as i32,
        )
    }

    /// The heading nearest to a way's direction; `None` if the way leads nowhere.
    pub fn of(way: Place) -> Option<Self> {
        if way == Place::CENTRE {
            return None;
        }
        let along = |heading: &Heading| heading.way(1024).dot(way);
        (0..HEADINGS).map(Heading).max_by_key(along)
    }

    /// The direction turned clockwise by so many headings; negative the other way.
    #[must_use]
    pub const fn turned(self, by: i8) -> Self {
        Self((self.0 as i32 + by as i32).rem_euclid(HEADINGS as i32) as u8)
    }

    /// In radians, growing clockwise on a screen.
    pub fn radians(self) -> f32 {
        f32::from(self.0 % HEADINGS) * (core::f32::consts::TAU / f32::from(HEADINGS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_go_there_and_back() {
        for heading in (0..HEADINGS).map(Heading) {
            assert_eq!(Heading::of(heading.way(5000)), Some(heading));
            let off = heading.way(1024).length() - 1024;
            assert!(off.abs() <= 2, "{heading:?}: {off}");
            assert_eq!(heading.turned(5).turned(-5), heading);
        }
        assert_eq!(Heading::DOWN.way(500), Place::new(0, 500));
        assert_eq!(Heading::UP.way(ONE), Place::new(0, -ONE));
        assert_eq!(Heading::of(Place::CENTRE), None);
        // A forged one is some direction.
        assert!(Heading(255).way(1024).length() > 1000);
    }

    #[test]
    fn ways_have_lengths() {
        let (least, most) = (
            Place::new(i32::MIN, i32::MIN),
            Place::new(i32::MAX, i32::MAX),
        );
        assert!(least.distance(most) >= FARTHEST);
        assert_eq!(Place::yards(3, -4).length(), 5 * ONE);
        assert_eq!(Place::new(30, -40).with_length(5), Place::new(3, -4));
        assert_eq!(Place::new(30, -40).at_most(60), Place::new(30, -40));
        assert_eq!(Place::new(30, -40).at_most(5), Place::new(3, -4));
        assert_eq!(Place::CENTRE.with_length(9), Place::CENTRE);
        assert_eq!(Place::polar(0x4000, 700), Place::new(0, 700));
        assert_eq!(Place::polar(0x8000, 700), Place::new(-700, 0));
    }
}
