//! From text to arenas, with the place of every mistake.

use core::ops::RangeInclusive;

use super::{Arena, LETTERS, MAX_NAME, MAX_SPOTS, Pad, Spot};
use crate::terrain::{Block, MAX_HEIGHT, MAX_WIDTH, Row};

const WIDTHS: RangeInclusive<usize> = 12..=MAX_WIDTH;
const HEIGHTS: RangeInclusive<usize> = 8..=MAX_HEIGHT;

/// Why a text is no arena, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct ArenaError {
    /// The line, counted from 1.
    pub line: usize,
    /// The letter in it, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub kind: ArenaErrorKind,
}

/// What is wrong with the text of an arena.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ArenaErrorKind {
    /// A line of the header that is neither empty, nor `key: value`, nor a remark.
    #[error(
        "a line of the header is \"key: value\", or a remark that begins with \";\"; the rows begin after an empty line"
    )]
    Header,
    /// A key that means nothing.
    #[error("\"{0}\" means nothing; the header has a \"name\"")]
    UnknownKey(String),
    /// The name is there twice.
    #[error("an arena has one name")]
    NamedTwice,
    /// There is no name, or one of more than 32 bytes.
    #[error("an arena needs a name of 1 to {MAX_NAME} bytes: write \"name: …\" in the header")]
    Name,
    /// A letter that means nothing.
    #[error("{0:?} is no block; there are space . # - ^ S b w m r s h p e ?")]
    UnknownLetter(char),
    /// Rows are 12 to 128 blocks wide.
    #[error("{} blocks wide; arenas are {} to {} wide", .0, WIDTHS.start(), WIDTHS.end())]
    Width(usize),
    /// Arenas are 8 to 128 rows high.
    #[error("{} rows; arenas are {} to {} high", .0, HEIGHTS.start(), HEIGHTS.end())]
    Height(usize),
    /// An empty line between rows.
    #[error("an empty line between rows; write \".\" for a row of air")]
    EmptyRow,
    /// At least two spawn points are needed.
    #[error("{0} spawn points; at least 2 \"S\" are needed")]
    FewSpawns(usize),
    /// Spawn points, or places for items, beyond 64.
    #[error("more than {MAX_SPOTS} spawn points, or places for items")]
    Crowded,
    /// A spawn point without air above it.
    #[error("a spawn point needs air above it, for the head")]
    LowSpawn,
    /// A spawn point from which one would fall into thorns.
    #[error("who enters here falls into thorns")]
    ThornySpawn,
    /// A spawn point in another space than the first.
    #[error("nobody gets from this spawn point to the first: rock is in between")]
    Apart,
}

fn at<T>(line: usize, column: usize, kind: ArenaErrorKind) -> Result<T, ArenaError> {
    Err(ArenaError { line, column, kind })
}

impl Arena {
    /// The arena that a text describes.
    pub fn parse(text: &str) -> Result<Arena, ArenaError> {
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
            return at(first, 1, ArenaErrorKind::Height(rows.len()));
        }
        let length = |row: &(usize, &str)| row.1.chars().count();
        let widest = rows.iter().rev().max_by_key(|row| length(row)).copied();
        let (line, widest) = widest.map_or((1, 0), |row| (row.0, length(&row)));
        if !WIDTHS.contains(&widest) {
            let kind = ArenaErrorKind::Width(widest);
            return at(line, widest.min(*WIDTHS.end() + 1), kind);
        }
        let mut arena = Arena {
            name,
            width: widest as u8,
            rows: vec![Row::default(); rows.len()],
            spawns: Vec::new(),
            pads: Vec::new(),
        };
        for (row, (line, text)) in rows.iter().enumerate() {
            arena.read_row(row, *line, text)?;
        }
        arena.check_spawns(first)?;
        Ok(arena)
    }

    fn read_row(&mut self, row: usize, line: usize, text: &str) -> Result<(), ArenaError> {
        if text.is_empty() {
            return at(line, 1, ArenaErrorKind::EmptyRow);
        }
        for (column, letter) in text.chars().enumerate() {
            let spot = Spot {
                column: column as u8,
                row: row as u8,
            };
            let block = match letter {
                ' ' | '.' => Block::Air,
                '#' => Block::Rock,
                '-' => Block::Ledge,
                '^' => Block::Thorns,
                'S' => {
                    self.spawns.push(spot);
                    Block::Air
                }
                _ => match LETTERS.iter().find(|known| known.0 == letter) {
                    Some(&(_, kind)) => {
                        self.pads.push(Pad { spot, kind });
                        Block::Air
                    }
                    None => {
                        return at(line, column + 1, ArenaErrorKind::UnknownLetter(letter));
                    }
                },
            };
            if self.spawns.len().max(self.pads.len()) > MAX_SPOTS {
                return at(line, column + 1, ArenaErrorKind::Crowded);
            }
            self.rows[row].set(column, block);
        }
        Ok(())
    }

    /// `first` is the line of the first row.
    fn check_spawns(&self, first: usize) -> Result<(), ArenaError> {
        if self.spawns.len() < 2 {
            return at(first, 1, ArenaErrorKind::FewSpawns(self.spawns.len()));
        }
        let terrain = self.terrain();
        let reached = self.connected();
        for spawn in &self.spawns {
            let (column, row) = (i32::from(spawn.column), i32::from(spawn.row));
            let wrong = |kind| at(first + row as usize, column as usize + 1, kind);
            if terrain.block(column, row - 1) != Block::Air {
                return wrong(ArenaErrorKind::LowSpawn);
            }
            let below = (row + 1..=terrain.height()).map(|row| terrain.block(column, row));
            let ground = below.into_iter().find(|block| *block != Block::Air);
            if ground == Some(Block::Thorns) {
                return wrong(ArenaErrorKind::ThornySpawn);
            }
            if !reached[row as usize * self.width() + column as usize] {
                return wrong(ArenaErrorKind::Apart);
            }
        }
        Ok(())
    }

    /// Which blocks are in one space with the first spawn point, row by row.
    fn connected(&self) -> Vec<bool> {
        let terrain = self.terrain();
        let mut reached = vec![false; self.width() * self.height()];
        let begin = self.spawns[0];
        let mut open = vec![(i32::from(begin.column), i32::from(begin.row))];
        while let Some((column, row)) = open.pop() {
            let place = row as usize * self.width() + column as usize;
            if core::mem::replace(&mut reached[place], true) {
                continue;
            }
            let beside = [(-1, 0), (1, 0), (0, -1), (0, 1)];
            let beside = beside.map(|(x, y)| (column + x, row + y));
            open.extend(beside.iter().filter(|(x, y)| !terrain.is_rock(*x, *y)));
        }
        reached
    }
}

/// Reads up to the empty line before the rows; returns the name.
fn header<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>) -> Result<String, ArenaError> {
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
            return at(line, 1, ArenaErrorKind::Header);
        };
        if key.trim() != "name" {
            return at(line, 1, ArenaErrorKind::UnknownKey(key.trim().to_string()));
        }
        let value = value.trim();
        if value.is_empty() || value.len() > MAX_NAME {
            let column = text.chars().count() - value.chars().count() + 1;
            return at(line, column, ArenaErrorKind::Name);
        }
        if name.replace(value.to_string()).is_some() {
            return at(line, 1, ArenaErrorKind::NamedTwice);
        }
    }
    match name {
        Some(name) => Ok(name),
        None => at(last, 1, ArenaErrorKind::Name),
    }
}
