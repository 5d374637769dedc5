//! From text to maps, with the place of every mistake.

use samestep_playable::{TextMap, TextMapError, TextMapFault, TextMapLimits, reachable};

use super::{MAX_NAME, Map};
use crate::field::{Ground, MAX_HEIGHT, MAX_WIDTH, Row};

/// The fewest cells on which one can walk.
const LEAST_FLOOR: usize = 32;

/// Why a text is no map, and where.
pub type MapError = TextMapError<MapErrorKind>;

/// What is wrong with the text of a map.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MapErrorKind {
    /// The header, or the size: maps are 8 to 40 cells wide and 8 to 30 rows high.
    #[error(transparent)]
    Text(#[from] TextMapFault),
    /// A letter that means nothing.
    #[error("{0:?} is no cell; there are space . # b B")]
    UnknownLetter(char),
    /// There is hardly any floor.
    #[error("{0} cells of floor; at least {LEAST_FLOOR} are needed")]
    LittleFloor(usize),
    /// Floor in another space than the first.
    #[error("nobody gets here from the rest of the field: stumps or bushes are in between")]
    Apart,
}

impl Map {
    /// The map that a text describes.
    pub fn parse(text: &str) -> Result<Map, MapError> {
        let limits = TextMapLimits {
            widths: 8..=MAX_WIDTH,
            heights: 8..=MAX_HEIGHT,
            max_name: MAX_NAME,
        };
        let text = TextMap::read(text, &limits)?;
        let mut map = Map {
            name: text.name,
            width: text.width as u8,
            rows: vec![Row::default(); text.rows.len()],
        };
        for ((line, row), letters) in (text.first_line..).zip(&mut map.rows).zip(&text.rows) {
            read_row(row, line, letters)?;
        }
        map.check_floor(text.first_line)?;
        Ok(map)
    }

    /// All floor is one space; `first` is the line of the first row.
    fn check_floor(&self, first: usize) -> Result<(), MapError> {
        let field = self.field();
        let is_open = |column: i32, row: i32| {
            matches!(field.ground(column, row), Ground::Floor | Ground::Box)
        };
        let (width, height) = (field.width(), field.height());
        let cells = (0..height).flat_map(|row| (0..width).map(move |column| (column, row)));
        let open: Vec<(i32, i32)> = cells.filter(|(x, y)| is_open(*x, *y)).collect();
        if open.len() < LEAST_FLOOR {
            return MapError::at(first, 1, MapErrorKind::LittleFloor(open.len()));
        }
        let reached = reachable((width as usize, height as usize), open[0], is_open);
        let mut open = open.iter();
        match open.find(|(column, row)| !reached[(row * width + column) as usize]) {
            Some((column, row)) => MapError::at(
                first + *row as usize,
                *column as usize + 1,
                MapErrorKind::Apart,
            ),
            None => Ok(()),
        }
    }
}

fn read_row(row: &mut Row, line: usize, text: &str) -> Result<(), MapError> {
    for (column, letter) in text.chars().enumerate() {
        let ground = match letter {
            ' ' | '.' => Ground::Floor,
            '#' => Ground::Stump,
            'b' => Ground::Box,
            'B' => Ground::Bush,
            _ => return MapError::at(line, column + 1, MapErrorKind::UnknownLetter(letter)),
        };
        row.set(column, ground);
    }
    Ok(())
}
