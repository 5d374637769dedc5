//! Maps, and the text format in which they are written.

use core::fmt;

use crate::field::{Field, Ground, MAX_HEIGHT, MAX_WIDTH, Row};

mod builtin;
mod parse;

pub use builtin::Builtin;
pub use parse::{MapError, MapErrorKind};

/// The longest name of a map or a mode, in bytes.
pub const MAX_NAME: usize = 32;

/// Where a match takes place.
///
/// It is written as text: a header, an empty line, then rows of cells from top to bottom, a letter each.
///
/// ```
/// use samestep_hat_hunters::{Ground, Map};
///
/// let rows = [
///     "############",
///     "#..........#",
///     "#..##..bb..#",
///     "#......bb..#",
///     "#..##......#",
///     "#......#B..#",
///     "#..........#",
///     "############",
/// ];
/// let header = "name: Yard\n; whatever follows a semicolon is a remark, above the rows";
/// let map = Map::parse(&format!("{header}\n\n{}\n", rows.join("\n")))?;
/// assert_eq!((map.name(), map.width(), map.height()), ("Yard", 12, 8));
/// assert_eq!(map.field().ground(7, 2), Ground::Box);
/// assert_eq!(Map::parse(&map.to_string())?, map);
/// # Ok::<(), samestep_hat_hunters::MapError>(())
/// ```
///
/// | letter | |
/// |---|---|
/// | space or `.` | floor |
/// | `#` | a stump |
/// | `b` | a box that stands there when a round begins |
/// | `B` | a bush, from which bushes grow in that mode |
///
/// The header has a line `name: …`, of 32 bytes at most. Maps are 8 to 40 cells wide and 8 to 30 high. Short rows end in floor, and all around are
/// stumps. Where there are neither stumps nor bushes is one space, of 32 cells at least.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Map {
    pub(crate) name: String,
    pub(crate) width: u8,
    pub(crate) rows: Vec<Row>,
}

impl Map {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Cells from left to right.
    pub fn width(&self) -> usize {
        usize::from(self.width)
    }

    /// Cells from top to bottom.
    pub fn height(&self) -> usize {
        self.rows.len()
    }

    /// Its cells.
    pub fn field(&self) -> Field<'_> {
        Field::new(&self.rows, self.width)
    }
}

/// The text it would be parsed from, without remarks.
impl fmt::Display for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "name: {}\n", self.name)?;
        for row in &self.rows {
            let letter = |column| match row.ground(column) {
                Ground::Floor => '.',
                Ground::Stump => '#',
                Ground::Box => 'b',
                Ground::Bush => 'B',
            };
            writeln!(f, "{}", (0..self.width()).map(letter).collect::<String>())?;
        }
        Ok(())
    }
}

const _: () = assert!(MAX_WIDTH <= 64 && MAX_HEIGHT <= 255);
