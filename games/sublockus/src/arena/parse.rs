//! From text to arenas, with the place of every mistake.

use samestep_playable::{TextMap, TextMapError, TextMapFault, TextMapLimits, reachable};

use super::{Arena, LETTERS, MAX_NAME, MAX_SPOTS, Pad, Spot};
use crate::terrain::{Block, MAX_HEIGHT, MAX_WIDTH, Row};

/// Why a text is no arena, and where.
pub type ArenaError = TextMapError<ArenaErrorKind>;

/// What is wrong with the text of an arena.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ArenaErrorKind {
    /// The header, or the size: arenas are 12 to 128 blocks wide and 8 to 128 rows high.
    #[error(transparent)]
    Text(#[from] TextMapFault),
    /// A letter that means nothing.
    #[error("{0:?} is no block; there are space . # - ^ S b w m r s h p e ?")]
    UnknownLetter(char),
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

impl Arena {
    /// The arena that a text describes.
    pub fn parse(text: &str) -> Result<Arena, ArenaError> {
        let limits = TextMapLimits {
            widths: 12..=MAX_WIDTH,
            heights: 8..=MAX_HEIGHT,
            max_name: MAX_NAME,
        };
        let text = TextMap::read(text, &limits)?;
        let mut arena = Arena {
            name: text.name,
            width: text.width as u8,
            rows: vec![Row::default(); text.rows.len()],
            spawns: Vec::new(),
            pads: Vec::new(),
        };
        for (row, letters) in text.rows.iter().enumerate() {
            arena.read_row(row, text.first_line + row, letters)?;
        }
        arena.check_spawns(text.first_line)?;
        Ok(arena)
    }

    fn read_row(&mut self, row: usize, line: usize, text: &str) -> Result<(), ArenaError> {
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
                        return ArenaError::at(
                            line,
                            column + 1,
                            ArenaErrorKind::UnknownLetter(letter),
                        );
                    }
                },
            };
            if self.spawns.len().max(self.pads.len()) > MAX_SPOTS {
                return ArenaError::at(line, column + 1, ArenaErrorKind::Crowded);
            }
            self.rows[row].set(column, block);
        }
        Ok(())
    }

    /// `first` is the line of the first row.
    fn check_spawns(&self, first: usize) -> Result<(), ArenaError> {
        if self.spawns.len() < 2 {
            return ArenaError::at(first, 1, ArenaErrorKind::FewSpawns(self.spawns.len()));
        }
        let terrain = self.terrain();
        let reached = self.connected();
        for spawn in &self.spawns {
            let (column, row) = (i32::from(spawn.column), i32::from(spawn.row));
            let wrong = |kind: ArenaErrorKind| {
                ArenaError::at(first + row as usize, column as usize + 1, kind)
            };
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
        let begin = self.spawns[0];
        let begin = (i32::from(begin.column), i32::from(begin.row));
        let is_open = |column, row| !terrain.is_rock(column, row);
        reachable((self.width(), self.height()), begin, is_open)
    }
}
