//! Maps as text: a header with a name, an empty line, rows of letters. What the letters mean is the game's.

use core::fmt;
use core::ops::RangeInclusive;

use thiserror::Error;

/// The header and the rows of a map, checked as far as all games want the same.
///
/// ```
/// use samestep_playable::{TextMap, TextMapError, TextMapFault, TextMapLimits};
///
/// let limits = TextMapLimits { widths: 2..=4, heights: 1..=2, max_name: 8 };
/// let text = "name: Yard\n; a remark\n\n#.#\n#.\n";
/// let map: TextMap<'_> = TextMap::read::<TextMapFault>(text, &limits)?;
/// assert_eq!((map.name.as_str(), map.width, map.first_line), ("Yard", 3, 4));
/// assert_eq!(map.rows, ["#.#", "#."]);
///
/// let error = TextMap::read::<TextMapFault>("name: Yard\n\n######", &limits).unwrap_err();
/// assert_eq!(error.to_string(), "line 3, column 5: 6 letters wide; 2 to 4 are allowed");
/// # Ok::<(), TextMapError<TextMapFault>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextMap<'a> {
    /// The name.
    pub name: String,
    /// Letters in the longest row.
    pub width: usize,
    /// The line of the first row, counted from 1.
    pub first_line: usize,
    /// The rows, from above. None is empty.
    pub rows: Vec<&'a str>,
}

/// How large a map may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextMapLimits {
    /// Letters in the longest row.
    pub widths: RangeInclusive<usize>,
    /// Rows.
    pub heights: RangeInclusive<usize>,
    /// Bytes of the name.
    pub max_name: usize,
}

/// What is wrong with a text, and where. Games add their own kinds of mistakes.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct TextMapError<K: fmt::Debug + fmt::Display> {
    /// The line, counted from 1.
    pub line: usize,
    /// The letter in it, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub kind: K,
}

/// A mistake that any game would call one.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TextMapFault {
    /// A line of the header that is neither empty, nor `key: value`, nor a remark.
    #[error(
        "a line of the header is \"key: value\", or a remark that begins with \";\"; the rows begin after an empty line"
    )]
    Header,
    /// A key that means nothing.
    #[error("\"{0}\" means nothing; the header has a \"name\"")]
    UnknownKey(String),
    /// The name is there twice.
    #[error("there is a name already")]
    NamedTwice,
    /// There is no name, or one that is too long.
    #[error("a name of 1 to {most} bytes is needed: write \"name: …\" in the header")]
    Name {
        /// The most bytes of a name.
        most: usize,
    },
    /// The longest row is too long or too short.
    #[error("{is} letters wide; {least} to {most} are allowed")]
    Width {
        /// Its letters.
        is: usize,
        /// The fewest.
        least: usize,
        /// The most.
        most: usize,
    },
    /// There are too many or too few rows.
    #[error("{is} rows; {least} to {most} are allowed")]
    Height {
        /// The rows there are.
        is: usize,
        /// The fewest.
        least: usize,
        /// The most.
        most: usize,
    },
    /// An empty line between rows.
    #[error("an empty line between rows; write \".\" for an empty row")]
    EmptyRow,
}

impl<K: fmt::Debug + fmt::Display> TextMapError<K> {
    /// A mistake at a place.
    pub fn at<T>(line: usize, column: usize, kind: impl Into<K>) -> Result<T, Self> {
        let kind = kind.into();
        Err(Self { line, column, kind })
    }
}

impl<'a> TextMap<'a> {
    /// Reads a text.
    pub fn read<K>(text: &'a str, limits: &TextMapLimits) -> Result<TextMap<'a>, TextMapError<K>>
    where
        K: fmt::Debug + fmt::Display + From<TextMapFault>,
    {
        let mut lines = (1..).zip(text.lines().map(str::trim_end));
        let name = header(&mut lines, limits.max_name)?;
        let mut rows: Vec<(usize, &str)> = lines.collect();
        while rows.last().is_some_and(|(_, row)| row.is_empty()) {
            rows.pop();
        }
        let empty = rows.iter().take_while(|(_, row)| row.is_empty()).count();
        rows.drain(..empty);
        let first_line = rows.first().map_or(text.lines().count(), |row| row.0);
        let (least, most) = (*limits.heights.start(), *limits.heights.end());
        if !limits.heights.contains(&rows.len()) {
            let is = rows.len();
            return TextMapError::at(first_line, 1, TextMapFault::Height { is, least, most });
        }
        let length = |row: &(usize, &str)| row.1.chars().count();
        let widest = rows.iter().rev().max_by_key(|row| length(row)).copied();
        let (line, width) = widest.map_or((1, 0), |row| (row.0, length(&row)));
        let (least, most) = (*limits.widths.start(), *limits.widths.end());
        if !limits.widths.contains(&width) {
            let fault = TextMapFault::Width {
                is: width,
                least,
                most,
            };
            return TextMapError::at(line, width.min(most + 1), fault);
        }
        if let Some((line, _)) = rows.iter().find(|(_, row)| row.is_empty()) {
            return TextMapError::at(*line, 1, TextMapFault::EmptyRow);
        }
        Ok(TextMap {
            name,
            width,
            first_line,
            rows: rows.into_iter().map(|(_, row)| row).collect(),
        })
    }
}

/// Reads up to the empty line before the rows; returns the name.
fn header<'a, K>(
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
    most: usize,
) -> Result<String, TextMapError<K>>
where
    K: fmt::Debug + fmt::Display + From<TextMapFault>,
{
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
            return TextMapError::at(line, 1, TextMapFault::Header);
        };
        if key.trim() != "name" {
            let key = key.trim().to_string();
            return TextMapError::at(line, 1, TextMapFault::UnknownKey(key));
        }
        let value = value.trim();
        if value.is_empty() || value.len() > most {
            let column = text.chars().count() - value.chars().count() + 1;
            return TextMapError::at(line, column, TextMapFault::Name { most });
        }
        if name.replace(value.to_string()).is_some() {
            return TextMapError::at(line, 1, TextMapFault::NamedTwice);
        }
    }
    match name {
        Some(name) => Ok(name),
        None => TextMapError::at(last, 1, TextMapFault::Name { most }),
    }
}

/// The open cells that can be reached from one, step by step to a side, row by row of a field of this width and height.
pub fn reachable(
    (width, height): (usize, usize),
    from: (i32, i32),
    is_open: impl Fn(i32, i32) -> bool,
) -> Vec<bool> {
    let mut reached = vec![false; width * height];
    let mut next = vec![from];
    while let Some((column, row)) = next.pop() {
        let is_inside = (0..width as i32).contains(&column) && (0..height as i32).contains(&row);
        if !is_inside || !is_open(column, row) {
            continue;
        }
        let at = row as usize * width + column as usize;
        if !core::mem::replace(&mut reached[at], true) {
            next.extend([(-1, 0), (1, 0), (0, -1), (0, 1)].map(|(x, y)| (column + x, row + y)));
        }
    }
    reached
}
