//! The blocks of an arena: what stops whom.

use samestep_sync::Record;

use crate::place::{ONE, Place};

/// The widest arena, in blocks.
pub const MAX_WIDTH: usize = 128;

/// The highest arena, in blocks.
pub const MAX_HEIGHT: usize = 128;

/// What a block is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Block {
    /// Nothing.
    #[default]
    Air,
    /// Stops everything.
    Rock,
    /// A one-way platform: carries a character that falls onto it, lets it through from below, and if it holds down.
    Ledge,
    /// Hurts a character that touches it.
    Thorns,
}

/// One row of blocks, two bits each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub struct Row {
    bits: [u64; MAX_WIDTH / 32],
}

impl Row {
    /// What is in a column.
    pub fn block(&self, column: usize) -> Block {
        let bits = self.bits.get(column / 32).copied().unwrap_or(0);
        match (bits >> (column % 32 * 2)) & 3 {
            0 => Block::Air,
            1 => Block::Rock,
            2 => Block::Ledge,
            _ => Block::Thorns,
        }
    }

    /// A part of it, for checksums.
    pub(crate) fn bits(&self, at: usize) -> u64 {
        self.bits.get(at).copied().unwrap_or(0)
    }

    pub(crate) fn set(&mut self, column: usize, block: Block) {
        if let Some(bits) = self.bits.get_mut(column / 32) {
            let shift = column % 32 * 2;
            *bits = *bits & !(3 << shift) | (block as u64) << shift;
        }
    }
}

/// The blocks of an arena. Outside of it is rock.
#[derive(Clone, Copy, Debug)]
pub struct Terrain<'a> {
    rows: &'a [Row],
    width: i32,
}

/// Where a ray ended, in 65,536ths of its length.
pub(crate) const WHOLE: i64 = 1 << 16;

impl<'a> Terrain<'a> {
    pub(crate) fn new(rows: &'a [Row], width: u8) -> Self {
        Self {
            rows,
            width: i32::from(width).min(MAX_WIDTH as i32),
        }
    }

    /// Blocks from left to right.
    pub fn width(&self) -> i32 {
        self.width
    }

    /// Blocks from top to bottom.
    pub fn height(&self) -> i32 {
        self.rows.len().min(MAX_HEIGHT) as i32
    }

    /// Its rows, from top to bottom.
    pub fn rows(&self) -> &'a [Row] {
        self.rows
    }

    /// The block in a column and row.
    #[inline]
    pub fn block(&self, column: i32, row: i32) -> Block {
        if column < 0 || column >= self.width || row < 0 {
            return Block::Rock;
        }
        match self.rows.get(row as usize) {
            Some(row) => row.block(column as usize),
            None => Block::Rock,
        }
    }

    /// Whether a block is rock.
    #[inline]
    pub fn is_rock(&self, column: i32, row: i32) -> bool {
        self.block(column, row) == Block::Rock
    }

    /// Whether a box around a place, of so much to each side, touches a block.
    pub(crate) fn touches(&self, place: Place, half: Place, block: Block) -> bool {
        let place = place.bounded();
        let (left, top) = Place::new(place.x - half.x, place.y - half.y).block();
        let (right, bottom) = Place::new(place.x + half.x - 1, place.y + half.y - 1).block();
        (top..=bottom).any(|row| (left..=right).any(|column| self.block(column, row) == block))
    }

    /// How much of the way from one place to another is free of rock, in parts of [`WHOLE`].
    pub(crate) fn ray(&self, from: Place, to: Place) -> i64 {
        let (from, to) = (from.bounded(), to.bounded());
        let way = from.to(to);
        let ((mut column, mut row), end) = (from.block(), to.block());
        let (right, down) = (way.x > 0, way.y > 0);
        // Every step crosses an edge, and there are no more edges between the two.
        let edges = (end.0 - column).unsigned_abs() + (end.1 - row).unsigned_abs();
        for _ in 0..=edges.min(4 * (MAX_WIDTH + MAX_HEIGHT) as u32) {
            if self.is_rock(column, row) {
                return entry(from, way, column, row);
            }
            if (column, row) == end {
                return WHOLE;
            }
            let next_x = (column + i32::from(right)) * ONE - from.x;
            let next_y = (row + i32::from(down)) * ONE - from.y;
            match crosses_first(next_x, way.x, next_y, way.y) {
                true => column += if right { 1 } else { -1 },
                false => row += if down { 1 } else { -1 },
            }
        }
        WHOLE
    }

    /// Whether no rock lies between two places.
    pub fn sees(&self, from: Place, to: Place) -> bool {
        self.ray(from, to) == WHOLE
    }
}

/// Whether a ray reaches the edge at `x` before that at `y`.
fn crosses_first(x: i32, dx: i32, y: i32, dy: i32) -> bool {
    match (dx, dy) {
        (_, 0) => true,
        (0, _) => false,
        _ => {
            i64::from(x) * i64::from(dy.abs()) * i64::from(dx.signum())
                < i64::from(y) * i64::from(dx.abs()) * i64::from(dy.signum())
        }
    }
}

/// When a ray enters a block.
fn entry(from: Place, way: Place, column: i32, row: i32) -> i64 {
    let half = Place::new(ONE / 2, ONE / 2);
    box_entry(from, way, Place::middle_of(column, row), half).unwrap_or(0)
}

/// When a ray from `from` along `way` enters the box around `middle` that reaches `half` to each side, in parts of [`WHOLE`]; `None` if it
/// misses it.
pub(crate) fn box_entry(from: Place, way: Place, middle: Place, half: Place) -> Option<i64> {
    let slab = |from: i32, way: i32, middle: i32, half: i32| {
        let (near, far) = (
            i64::from(middle) - i64::from(half) - i64::from(from),
            i64::from(middle) + i64::from(half) - i64::from(from),
        );
        match way {
            0 => (near <= 0 && far >= 0).then_some((0, WHOLE)),
            _ => {
                let at = |edge: i64| edge * WHOLE / i64::from(way);
                let (one, other) = (at(near), at(far));
                Some((one.min(other), one.max(other)))
            }
        }
    };
    let (enter_x, leave_x) = slab(from.x, way.x, middle.x, half.x)?;
    let (enter_y, leave_y) = slab(from.y, way.y, middle.y, half.y)?;
    let (enter, leave) = (enter_x.max(enter_y).max(0), leave_x.min(leave_y).min(WHOLE));
    (enter <= leave).then_some(enter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terrain(text: &[&str]) -> (Vec<Row>, u8) {
        let rows = text.iter().map(|line| {
            let mut row = Row::default();
            for (column, letter) in line.chars().enumerate() {
                row.set(
                    column,
                    match letter {
                        '#' => Block::Rock,
                        '-' => Block::Ledge,
                        '^' => Block::Thorns,
                        _ => Block::Air,
                    },
                );
            }
            row
        });
        (rows.collect(), text[0].len() as u8)
    }

    #[test]
    fn outside_is_rock() {
        let (rows, width) = terrain(&["#..", "-^."]);
        let terrain = Terrain::new(&rows, width);
        assert_eq!(terrain.block(0, 0), Block::Rock);
        assert_eq!(terrain.block(0, 1), Block::Ledge);
        assert_eq!(terrain.block(1, 1), Block::Thorns);
        assert_eq!(terrain.block(2, 1), Block::Air);
        for (column, row) in [(-1, 0), (3, 0), (0, -1), (0, 2), (i32::MAX, i32::MIN)] {
            assert!(terrain.is_rock(column, row));
        }
    }

    #[test]
    fn rays_end_at_rock() {
        let (rows, width) = terrain(&["......", "...#..", "......"]);
        let terrain = Terrain::new(&rows, width);
        let at = Place::middle_of;
        assert!(terrain.sees(at(0, 0), at(5, 0)));
        assert!(!terrain.sees(at(0, 1), at(5, 1)));
        assert!(!terrain.sees(at(5, 1), at(0, 1)));
        assert!(terrain.sees(at(0, 0), at(4, 0)));
        assert!(!terrain.sees(at(2, 0), at(4, 2)));
        // Two and a half blocks of five.
        assert_eq!(terrain.ray(at(0, 1), at(5, 1)), WHOLE / 2);
        assert_eq!(terrain.ray(at(3, 1), at(5, 1)), 0);
        let far = Place::new(i32::MAX / 4, at(0, 0).y);
        assert!(terrain.ray(at(0, 0), far) < WHOLE);
    }

    #[test]
    fn rays_and_small_steps_agree() {
        let (rows, width) = terrain(&["..#....", "....#..", ".#.....", ".....#.", "...#..."]);
        let terrain = Terrain::new(&rows, width);
        let mut rng = samestep_sync::Rng::new(3);
        for _ in 0..2000 {
            let mut place = || Place::new(rng.range(0..7 * ONE), rng.range(0..5 * ONE));
            let (from, to) = (place(), place());
            let free = terrain.ray(from, to);
            let way = from.to(to);
            let at = |part: i64| {
                let along = |way: i32| (i64::from(way) * part / WHOLE) as i32;
                from.offset(Place::new(along(way.x), along(way.y)))
            };
            // Places are rounded: what is close to an edge may be on either side.
            let around = |place: Place, block: Block| {
                let beside = [(-3, -3), (-3, 3), (3, -3), (3, 3)];
                beside.map(|(x, y)| {
                    let (column, row) = place.offset(Place::new(x, y)).block();
                    terrain.block(column, row) == block
                })
            };
            for part in (0..free).step_by(97) {
                let is_inside = around(at(part), Block::Rock) == [true; 4];
                assert!(!is_inside, "{from:?} {to:?} at {part} of {free}");
            }
            let is_stopped = around(at(free), Block::Rock).contains(&true);
            assert!(free == WHOLE || is_stopped, "{from:?} {to:?} {free}");
        }
    }

    #[test]
    fn boxes_are_hit_at_their_edge() {
        let (middle, half) = (Place::new(5000, 0), Place::new(400, 900));
        let enter = |y: i32| box_entry(Place::new(0, y), Place::new(10_000, 0), middle, half);
        assert_eq!(enter(0), Some(4600 * WHOLE / 10_000));
        assert!(enter(900).is_some() && enter(901).is_none() && enter(-901).is_none());
        let away = box_entry(Place::default(), Place::new(-10_000, 0), middle, half);
        assert_eq!(away, None);
        assert_eq!(box_entry(middle, Place::new(1, 0), middle, half), Some(0));
    }
}
