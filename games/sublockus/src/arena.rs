//! Arenas, and the text format in which they are written.

use core::fmt;

use samestep_sync::Record;

use crate::item::ItemKind;
use crate::motion::HALF;
use crate::place::{ONE, Place};
use crate::terrain::{Block, MAX_HEIGHT, MAX_WIDTH, Row, Terrain};

mod builtin;
mod parse;

pub use builtin::Builtin;
pub use parse::{ArenaError, ArenaErrorKind};

/// The longest name of an arena, in bytes.
pub const MAX_NAME: usize = 32;

/// The maximum number of spawn points, and of places for items.
pub const MAX_SPOTS: usize = 64;

/// Where a game takes place: blocks, spawn points and places for items.
///
/// It is written as text: a header, an empty line, then rows of blocks from top to bottom, a letter each.
///
/// ```
/// use samestep_sublockus::{Arena, Block};
///
/// let rows = [
///     "################",
///     "#              #",
///     "#              #",
///     "#  S   p    S  #",
///     "#####  --  #####",
///     "####        ####",
///     "####  ^^^^  ####",
///     "################",
/// ];
/// let header = "name: Pit\n; whatever follows a semicolon is a remark, above the rows";
/// let arena = Arena::parse(&format!("{header}\n\n{}\n", rows.join("\n")))?;
/// assert_eq!((arena.name(), arena.width(), arena.height()), ("Pit", 16, 8));
/// assert_eq!(arena.terrain().block(7, 4), Block::Ledge);
/// assert_eq!(arena.spawns().len(), 2);
/// assert_eq!(Arena::parse(&arena.to_string())?, arena);
/// # Ok::<(), samestep_sublockus::ArenaError>(())
/// ```
///
/// | letter | |
/// |---|---|
/// | space or `.` | air |
/// | `#` | rock |
/// | `-` | a ledge: carries from above, lets through from below |
/// | `^` | thorns: hurt whoever touches them |
/// | `S` | a spawn point: where the feet are, with air above |
/// | `b` `w` `m` `r` `s` `h` | boots, wings, mail, robe, staff, hammer |
/// | `p` `e` | potion, elixir |
/// | `?` | any item, another one each time |
///
/// The header has a line `name: …`, of 32 bytes at most. Arenas are 12 to 128 blocks wide and 8 to 128 high. Short rows end in air, and around
/// everything is rock. There are 2 to 64 spawn points, all in one connected space, and 64 places for items at most.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arena {
    pub(crate) name: String,
    pub(crate) width: u8,
    pub(crate) rows: Vec<Row>,
    pub(crate) spawns: Vec<Spot>,
    pub(crate) pads: Vec<Pad>,
}

/// A block, by its column and row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Record)]
pub struct Spot {
    /// From the left.
    pub column: u8,
    /// From the top.
    pub row: u8,
}

impl Spot {
    /// The middle of a character that stands in this block.
    pub fn standing(self) -> Place {
        let (column, row) = (i32::from(self.column), i32::from(self.row));
        Place::new(column * ONE + ONE / 2, (row + 1) * ONE - HALF.y)
    }

    /// The middle of the block.
    pub fn middle(self) -> Place {
        Place::middle_of(i32::from(self.column), i32::from(self.row))
    }
}

/// A place where an item lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pad {
    /// Where.
    pub spot: Spot,
    /// What; `None` if it is another one each time.
    pub kind: Option<ItemKind>,
}

impl Arena {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Blocks from left to right.
    pub fn width(&self) -> usize {
        usize::from(self.width)
    }

    /// Blocks from top to bottom.
    pub fn height(&self) -> usize {
        self.rows.len()
    }

    /// Its blocks.
    pub fn terrain(&self) -> Terrain<'_> {
        Terrain::new(&self.rows, self.width)
    }

    /// Where characters enter.
    pub fn spawns(&self) -> &[Spot] {
        &self.spawns
    }

    /// Where items lie.
    pub fn pads(&self) -> &[Pad] {
        &self.pads
    }
}

/// The letters of items.
const LETTERS: [(char, Option<ItemKind>); 9] = [
    ('b', Some(ItemKind::Boots)),
    ('w', Some(ItemKind::Wings)),
    ('m', Some(ItemKind::Mail)),
    ('r', Some(ItemKind::Robe)),
    ('s', Some(ItemKind::Staff)),
    ('h', Some(ItemKind::Hammer)),
    ('p', Some(ItemKind::Potion)),
    ('e', Some(ItemKind::Elixir)),
    ('?', None),
];

/// The text it would be parsed from, without remarks.
impl fmt::Display for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "name: {}\n", self.name)?;
        let terrain = self.terrain();
        for row in 0..self.height() {
            let mut line = String::new();
            for column in 0..self.width() {
                let is_here =
                    |spot: Spot| (usize::from(spot.column), usize::from(spot.row)) == (column, row);
                let pad = self.pads.iter().find(|pad| is_here(pad.spot));
                let letter = pad.and_then(|pad| LETTERS.iter().find(|letter| letter.1 == pad.kind));
                line.push(match (letter, terrain.block(column as i32, row as i32)) {
                    (Some(letter), _) => letter.0,
                    _ if self.spawns.iter().any(|spawn| is_here(*spawn)) => 'S',
                    (_, Block::Air) => '.',
                    (_, Block::Rock) => '#',
                    (_, Block::Ledge) => '-',
                    (_, Block::Thorns) => '^',
                });
            }
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

const _: () = assert!(MAX_WIDTH <= 255 && MAX_HEIGHT <= 255);
