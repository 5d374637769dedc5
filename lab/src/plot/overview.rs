//! Overviews: cells over two dimensions, stronger the larger their value, which is written in them.

use super::frame::heading;
use super::svg::{Anchor, Svg, width};
use super::{Plot, WIDTH};

/// Grids of cells, one beside the other, with one scale of colours for all.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// What the columns are, from left to right.
    pub columns: Vec<String>,
    /// What the rows are, from below.
    pub rows: Vec<String>,
    /// The values at both ends of the scale of colours; what lies beyond takes the colour of the end.
    pub scale: (f64, f64),
    /// The grids.
    pub panels: Vec<Panel>,
}

/// One grid of an [`Overview`].
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Its heading.
    pub title: String,
    /// A cell per row and column.
    pub cells: Vec<Vec<Cell>>,
}

/// One cell of a [`Panel`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Cell {
    /// A colour, and the value in it.
    Value(f64),
    /// A frame, and a word in it: something is known, but no figure.
    Word(&'static str),
    /// A dot: not possible, or not tried.
    #[default]
    Nothing,
}

const LEFT: f64 = 16.0;
const ROW: f64 = 34.0;
const GAP: f64 = 2.0;
/// Above this share of the scale, dark letters could not be read.
const STRONG: f64 = 0.55;

impl Overview {
    pub(super) fn draw(&self, plot: &Plot, unit: &str) -> Svg {
        let mut svg = Svg::new(WIDTH, 0.0);
        let title = match unit {
            "" => plot.title.clone(),
            unit => format!("{} ({unit})", plot.title),
        };
        let top = heading(&mut svg, &title, LEFT, 2.0) + 34.0;
        let under = top + ROW * self.rows.len() as f64 + 17.0;
        let height = under + if plot.x.is_empty() { 10.0 } else { 30.0 };
        svg.grow(height);
        let labels = self.rows.iter().map(|row| width(row, 13.0));
        let labels = labels.fold(width(&plot.y, 13.0), f64::max) + 12.0;
        let panels = self.panels.len().max(1) as f64;
        let wide = (WIDTH - LEFT - labels - 10.0) / panels;
        for (index, panel) in self.panels.iter().enumerate() {
            let left = LEFT + labels + wide * index as f64;
            self.panel(&mut svg, panel, (left, top), wide - 22.0);
            let at = (left + (wide - 22.0) / 2.0, height - 8.0);
            svg.words("faint", at, Anchor::Middle, &plot.x);
        }
        for (index, row) in self.rows.iter().rev().enumerate() {
            let at = (LEFT + labels - 10.0, top + ROW * index as f64 + 21.5);
            svg.words("", at, Anchor::End, row);
        }
        let at = (LEFT + labels - 10.0, top - 10.0);
        svg.words("faint", at, Anchor::End, &plot.y);
        svg
    }

    fn panel(&self, svg: &mut Svg, panel: &Panel, (left, top): (f64, f64), wide: f64) {
        let middle = left + wide / 2.0;
        svg.words("bold", (middle, top - 10.0), Anchor::Middle, &panel.title);
        let column = wide / self.columns.len().max(1) as f64;
        for (index, name) in self.columns.iter().enumerate() {
            let x = left + (index as f64 + 0.5) * column;
            let y = top + ROW * self.rows.len() as f64 + 17.0;
            svg.words("", (x, y), Anchor::Middle, name);
        }
        for row in 0..self.rows.len() {
            for index in 0..self.columns.len() {
                let cell = panel.cells.get(row).and_then(|row| row.get(index));
                let y = top + ROW * (self.rows.len() - 1 - row) as f64;
                let at = (left + index as f64 * column, y);
                self.cell(svg, cell.copied().unwrap_or_default(), at, column);
            }
        }
    }

    fn cell(&self, svg: &mut Svg, cell: Cell, (x, y): (f64, f64), wide: f64) {
        let at = (x + GAP / 2.0, y + GAP / 2.0);
        let size = (wide - GAP, ROW - GAP);
        let middle = (x + wide / 2.0, y + ROW / 2.0 + 4.5);
        match cell {
            Cell::Value(value) => {
                let share = self.share(value);
                svg.bar("cell", 0.07 + 0.88 * share, at, size, "");
                let class = if share > STRONG { "on" } else { "" };
                svg.words(class, middle, Anchor::Middle, &short(value));
            }
            Cell::Word(word) => {
                let class = match word {
                    "plays" => "yes",
                    "fails" | "failed" => "no",
                    _ => "ring",
                };
                svg.bar(class, 1.0, at, size, "");
                svg.words("small", middle, Anchor::Middle, word);
            }
            Cell::Nothing => svg.point("none", (middle.0, middle.1 - 4.5), 2.5, ""),
        }
    }

    /// Where on the scale a value lies, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let (low, high) = self.scale;
        match high > low {
            true => ((value - low) / (high - low)).clamp(0.0, 1.0),
            false => 0.0,
        }
    }
}

/// At most three significant digits, so that neighbours do not run into each other.
fn short(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Data;

    fn overview() -> Overview {
        Overview {
            columns: ["10", "20", "40"].map(String::from).to_vec(),
            rows: ["1024", "16000"].map(String::from).to_vec(),
            scale: (0.0, 60.0),
            panels: vec![
                Panel {
                    title: "published".into(),
                    cells: vec![
                        vec![Cell::Value(1.25), Cell::Nothing, Cell::Value(56.0)],
                        vec![Cell::Word("plays"), Cell::Nothing, Cell::Nothing],
                    ],
                },
                Panel {
                    title: "ours".into(),
                    cells: vec![vec![Cell::Value(0.0); 3]; 2],
                },
            ],
        }
    }

    #[test]
    fn values_are_written_and_what_is_missing_is_a_dot() {
        let plot = Plot {
            name: "lagged".into(),
            title: "Lagged ticks".into(),
            x: "players".into(),
            y: "entities".into(),
            log_y: false,
            data: Data::Overview("ticks/s".into(), overview()),
        };
        let svg = plot.svg().unwrap();
        for word in [
            "published",
            "ours",
            ">56<",
            "1.25",
            "plays",
            "16000",
            "Lagged ticks (ticks/s)",
            "players",
        ] {
            assert!(svg.contains(word), "{word} is not in {svg}");
        }
        let dots = svg.matches("class=\"none\"").count();
        assert_eq!(dots, 3, "three cells of which nothing is known");
    }

    #[test]
    fn colours_follow_the_scale_and_stop_at_its_ends() {
        let overview = overview();
        let shares = [-5.0, 0.0, 12.0, 600.0].map(|value| overview.share(value));
        assert_eq!(shares, [0.0, 0.0, 0.2, 1.0]);
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.256, 12.34, 56.0, 1059.6].map(short);
        assert_eq!(shown, ["0", "0.26", "12.3", "56", "1060"]);
    }
}
