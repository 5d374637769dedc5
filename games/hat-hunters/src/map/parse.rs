//! From text to maps, with the place of every mistake.

use core::ops::RangeInclusive;

use super::{MAX_NAME, Map};
use crate::field::{Ground, MAX_HEIGHT, MAX_WIDTH, Row};

const WIDTHS: RangeInclusive<usize> = 8..=MAX_WIDTH;
const HEIGHTS: RangeInclusive<usize> = 8..=MAX_HEIGHT;

/// The fewest cells on which one can walk.
const LEAST_FLOOR: usize = 32;

/// Why a text is no map, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct MapError {
    /// The line, counted from 1.
    pub line: usize,
    /// The letter in it, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub kind: MapErrorKind,
}

/// What is wrong with the text of a map.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MapErrorKind {
    /// A line of the header that is neither empty, nor `key: value`, nor a remark.
    #[error(
        "a line of the header is \"key: value\", or a remark that begins with \";\"; the rows begin after an empty line"
    )]
    Header,
    /// A key that means nothing.
    #[error("\"{0}\" means nothing; the header has a \"name\"")]
    UnknownKey(String),
    /// The name is there twice.
    #[error("a map has one name")]
    NamedTwice,
    /// There is no name, or one of more than 32 bytes.
    #[error("a map needs a name of 1 to {MAX_NAME} bytes: write \"name: …\" in the header")]
    Name,
    /// A letter that means nothing.
    #[error("{0:?} is no cell; there are space . # b B")]
    UnknownLetter(char),
    /// Rows are 8 to 40 cells wide.
    #[error("{} cells wide; maps are {} to {} wide", .0, WIDTHS.start(), WIDTHS.end())]
    Width(usize),
    /// Maps are 8 to 30 rows high.
    #[error("{} rows; maps are {} to {} high", .0, HEIGHTS.start(), HEIGHTS.end())]
    Height(usize),
    /// An empty line between rows.
    #[error("an empty line between rows; write \".\" for a row of floor")]
    EmptyRow,
    /// There is hardly any floor.
    #[error("{0} cells of floor; at least {LEAST_FLOOR} are needed")]
    LittleFloor(usize),
    /// Floor in another space than the first.
    #[error("nobody gets here from the rest of the field: stumps or bushes are in between")]
    Apart,
}

fn at<T>(line: usize, column: usize, kind: MapErrorKind) -> Result<T, MapError> {
    Err(MapError { line, column, kind })
}

impl Map {
    /// The map that a text describes.
    pub fn parse(text: &str) -> Result<Map, MapError> {
        let mut lines = (1..).zip(text.lines().map(str::trim_end));
        let name = header(&mut lines)?;
        let mut rows: Vec<(usize, &str)> = lines.collect();
        while rows.last().is_some_and(|(_, row)| row.is_empty()) {
            rows.pop();
        }
        while rows.first().is_some_and(|(_, row)| row.is_empty()) {
            rows.remove(0);
        }
        let first = rows.first().map_or(text.lines().count(), |row| row.0);
        if !HEIGHTS.contains(&rows.len()) {
            return at(first, 1, MapErrorKind::Height(rows.len()));
        }
        let length = |row: &(usize, &str)| row.1.chars().count();
        let widest = rows.iter().rev().max_by_key(|row| length(row)).copied();
        let (line, widest) = widest.map_or((1, 0), |row| (row.0, length(&row)));
        if !WIDTHS.contains(&widest) {
            let kind = MapErrorKind::Width(widest);
            return at(line, widest.min(*WIDTHS.end() + 1), kind);
        }
        let mut map = Map {
            name,
            width: widest as u8,
            rows: vec![Row::default(); rows.len()],
        };
        for (row, (line, text)) in map.rows.iter_mut().zip(&rows) {
            read_row(row, *line, text)?;
        }
        map.check_floor(first)?;
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
            return at(first, 1, MapErrorKind::LittleFloor(open.len()));
        }
        let mut reached = vec![false; (width * height) as usize];
        let mut next = vec![open[0]];
        while let Some((column, row)) = next.pop() {
            if core::mem::replace(&mut reached[(row * width + column) as usize], true) {
                continue;
            }
            let beside = [(-1, 0), (1, 0), (0, -1), (0, 1)];
            let beside = beside.map(|(x, y)| (column + x, row + y));
            next.extend(beside.iter().filter(|(x, y)| is_open(*x, *y)));
        }
        let apart = open
            .iter()
            .find(|(column, row)| !reached[(row * width + column) as usize]);
        match apart {
            Some((column, row)) => at(
                first + *row as usize,
                *column as usize + 1,
                MapErrorKind::Apart,
            ),
            None => Ok(()),
        }
    }
}

fn read_row(row: &mut Row, line: usize, text: &str) -> Result<(), MapError> {
    if text.is_empty() {
        return at(line, 1, MapErrorKind::EmptyRow);
    }
    for (column, letter) in text.chars().enumerate() {
        let ground = match letter {
            ' ' | '.' => Ground::Floor,
            '#' => Ground::Stump,
            'b' => Ground::Box,
            'B' => Ground::Bush,
            _ => return at(line, column + 1, MapErrorKind::UnknownLetter(letter)),
        };
        row.set(column, ground);
    }
    Ok(())
}

/// Reads up to the empty line before the rows; returns the name.
fn header<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>) -> Result<String, MapError> {
    let mut name: Option<String> = None;
    let mut last = 1;
    for (line, text) in lines {
        last = line;
        if text.starts_with(';') {
            continue;
        }
        if text.is_empty() {
            break;
        }
        let Some((key, value)) = text.split_once(':') else {
            return at(line, 1, MapErrorKind::Header);
        };
        if key.trim() != "name" {
            return at(line, 1, MapErrorKind::UnknownKey(key.trim().to_string()));
        }
        let value = value.trim();
        if value.is_empty() || value.len() > MAX_NAME {
            let column = text.chars().count() - value.chars().count() + 1;
            return at(line, column, MapErrorKind::Name);
        }
        if name.replace(value.to_string()).is_some() {
            return at(line, 1, MapErrorKind::NamedTwice);
        }
    }
    match name {
        Some(name) => Ok(name),
        None => at(last, 1, MapErrorKind::Name),
    }
}
