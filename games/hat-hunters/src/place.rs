//! Places, cells and headings, in integers.

use samestep_sync::{Record, Wire};

/// A cell of the field, in the units that places are counted in.
pub const ONE: i32 = 1024;

/// A place, or the way from one to another: to the right and down, in 1024ths of a cell.
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

/// A distance from the origin that nothing exceeds: products of two of them fit into 64 bits with room to spare.
const FARTHEST: i32 = 1 << 20;

impl Place {
    /// A place by its units.
    pub const fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }

    /// The middle of a cell.
    pub const fn middle_of(column: i32, row: i32) -> Self {
        Self::new(column * ONE + ONE / 2, row * ONE + ONE / 2)
    }

    /// The column and the row that it is in; they may be outside of the field.
    pub const fn column_and_row(self) -> (i32, i32) {
        (self.x.div_euclid(ONE), self.y.div_euclid(ONE))
    }

    /// The cell that it is in; the nearest there can be if it is outside of any field.
    pub fn cell(self) -> Cell {
        let (column, row) = self.column_and_row();
        Cell {
            column: column.clamp(0, 255) as u8,
            row: row.clamp(0, 255) as u8,
        }
    }

    /// In cells.
    pub fn cells(self) -> (f32, f32) {
        let cells = |units: i32| units as f32 / ONE as f32;
        (cells(self.x), cells(self.y))
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

    /// Whether another place is nearer than so many units.
    pub const fn is_within(self, other: Place, units: i32) -> bool {
        self.to(other).squared() < units as i64 * units as i64
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

/// A cell of the field, by its column and row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Record, Wire)]
pub struct Cell {
    /// From the left.
    pub column: u8,
    /// From the top.
    pub row: u8,
}

impl Cell {
    /// The cell in a column and row.
    pub const fn new(column: u8, row: u8) -> Self {
        Self { column, row }
    }

    /// Its middle.
    pub const fn middle(self) -> Place {
        Place::middle_of(self.column as i32, self.row as i32)
    }

    /// Its column and row.
    pub const fn column_and_row(self) -> (i32, i32) {
        (self.column as i32, self.row as i32)
    }

    /// Whether a circle touches it.
    pub(crate) fn touches(self, place: Place, radius: i32) -> bool {
        let (left, top) = (i32::from(self.column) * ONE, i32::from(self.row) * ONE);
        let nearest = Place::new(
            place.x.clamp(left, left + ONE),
            place.y.clamp(top, top + ONE),
        );
        place.is_within(nearest, radius)
    }
}

/// The number of headings in a full turn.
pub const HEADINGS: u8 = 32;

/// A direction: 32 to a full turn, 0 to the right, a quarter of a turn down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Record, Wire)]
pub struct Heading(#[wire(range = 0..=31)] pub u8);

/// The first quarter of a turn: how far a way of 1024 units leads along its heading's axis.
const COSINES: [i32; 9] = [1024, 1004, 946, 851, 724, 569, 392, 200, 0];

/// How far a way of 1024 units leads to the right.
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
        let (x, y) = (cosine_of(turn), cosine_of(turn + 24));
        Place::new(x * length / ONE, y * length / ONE)
    }

    /// The heading nearest to a way's direction; `None` if the way leads nowhere.
    pub fn of(way: Place) -> Option<Self> {
        if way == Place::default() {
            return None;
        }
        let way = way.bounded();
        let along = |heading: &Heading| {
            let unit = heading.way(ONE);
            i64::from(unit.x) * i64::from(way.x) + i64::from(unit.y) * i64::from(way.y)
        };
        (0..HEADINGS).map(Heading).max_by_key(along)
    }

    /// The direction turned clockwise by so many headings; negative the other way.
    #[must_use]
    pub const fn turned(self, by: i8) -> Self {
        Self((self.0 as i32 + by as i32).rem_euclid(HEADINGS as i32) as u8)
    }

    /// The nearest of the eight directions that keys can give.
    #[must_use]
    pub const fn of_keys(self) -> Self {
        Self((self.0 % HEADINGS + 2) / 4 * 4 % HEADINGS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_go_there_and_back() {
        for heading in (0..HEADINGS).map(Heading) {
            assert_eq!(Heading::of(heading.way(5000)), Some(heading));
            let off = heading.way(ONE).length() - ONE;
            assert!(off.abs() <= 2, "{heading:?}: {off}");
            assert_eq!(heading.turned(5).turned(-5), heading);
        }
        assert_eq!(Heading::DOWN.way(500), Place::new(0, 500));
        assert_eq!(Heading::UP.way(ONE), Place::new(0, -ONE));
        assert_eq!(Heading::LEFT.way(ONE), Place::new(-ONE, 0));
        assert_eq!(Heading::of(Place::default()), None);
        assert_eq!(Heading(31).of_keys(), Heading::RIGHT);
        assert_eq!(Heading(3).of_keys(), Heading(4));
        // A forged one is some direction.
        assert!(Heading(255).way(ONE).length() > 1000);
    }

    #[test]
    fn a_circle_touches_cells() {
        let cell = Cell::new(2, 1);
        assert!(cell.touches(Place::middle_of(2, 1), 1));
        assert!(cell.touches(Place::new(2 * ONE - 99, ONE + 500), 100));
        assert!(!cell.touches(Place::new(2 * ONE - 101, ONE + 500), 100));
        assert!(!cell.touches(Place::new(2 * ONE - 80, ONE - 80), 100));
        let far = Place::new(i32::MIN, i32::MAX);
        assert!(far.distance(Place::new(i32::MAX, i32::MIN)) >= FARTHEST);
        assert_eq!(far.cell(), Cell::new(0, 255));
        assert_eq!(Place::new(30, -40).with_length(5), Place::new(3, -4));
    }
}
