//! Overviews: points over two dimensions, coloured by a value that is also written above them, grey where there is none.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{GRID, INK, Plot};

/// Grids of points, one beside the other, with one scale of colours for all.
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

/// One point of a [`Panel`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Cell {
    /// A colour, and the value above it.
    Value(f64),
    /// A ring, and a word above it: something is known, but no figure.
    Word(&'static str),
    /// Grey: not possible, or not tried.
    #[default]
    Nothing,
}

/// Even steps of viridis, which grow lighter evenly and differ for colour-blind readers too.
const SCALE: [RGBColor; 6] = [
    RGBColor(68, 1, 84),
    RGBColor(65, 68, 135),
    RGBColor(42, 120, 142),
    RGBColor(34, 168, 132),
    RGBColor(122, 209, 81),
    RGBColor(253, 231, 37),
];
const NOTHING: RGBColor = RGBColor(0xaa, 0xaa, 0xab);
const LEGEND_WIDTH: u32 = 96;
const HEADING_HEIGHT: u32 = 34;

type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

impl Overview {
    pub(super) fn draw<DB: DrawingBackend>(
        &self,
        plot: &Plot,
        area: &DrawingArea<DB, Shift>,
    ) -> Drawn<DB> {
        let (width, _) = area.dim_in_pixel();
        let heading = ("sans-serif", 19).into_font().color(&INK);
        let centred = heading.pos(above_centre());
        area.draw(&Text::new(
            plot.title.clone(),
            (width as i32 / 2, 10),
            centred,
        ))?;
        let (_, below) = area.split_vertically(HEADING_HEIGHT);
        let (grids, legend) = below.split_horizontally(width - LEGEND_WIDTH);
        let areas = grids.split_evenly((1, self.panels.len().max(1)));
        for (area, panel) in areas.iter().zip(&self.panels) {
            self.panel(plot, panel, area)?;
        }
        self.legend(plot, &legend)
    }

    fn panel<DB: DrawingBackend>(
        &self,
        plot: &Plot,
        panel: &Panel,
        area: &DrawingArea<DB, Shift>,
    ) -> Drawn<DB> {
        let small = ("sans-serif", 13).into_font().color(&INK);
        let mut chart = ChartBuilder::on(area)
            .caption(&panel.title, ("sans-serif", 15).into_font().color(&INK))
            .margin(8)
            .x_label_area_size(42)
            .y_label_area_size(64)
            .build_cartesian_2d(
                -0.6..self.columns.len() as f64 - 0.4,
                -0.5..self.rows.len() as f64 - 0.4,
            )?;
        let named = |names: &[String], at: f64| match at.fract() == 0.0 && at >= 0.0 {
            true => names.get(at as usize).cloned().unwrap_or_default(),
            false => String::new(),
        };
        chart
            .configure_mesh()
            .x_labels(self.columns.len() * 2 + 1)
            .y_labels(self.rows.len() * 2 + 1)
            .x_label_formatter(&|at| named(&self.columns, *at))
            .y_label_formatter(&|at| named(&self.rows, *at))
            .x_desc(&plot.x)
            .y_desc(&plot.y)
            .axis_style(INK)
            .bold_line_style(TRANSPARENT)
            .light_line_style(TRANSPARENT)
            .label_style(small.clone())
            .axis_desc_style(small.clone())
            .draw()?;
        let points = (0..self.rows.len()).flat_map(|row| {
            let columns = 0..self.columns.len();
            columns.map(move |column| (row, column))
        });
        let cell = |(row, column): (usize, usize)| {
            let cell = panel.cells.get(row).and_then(|row| row.get(column));
            cell.copied().unwrap_or_default()
        };
        let place = |(row, column): (usize, usize)| (column as f64, row as f64);
        chart.draw_series(points.clone().map(|point| match cell(point) {
            Cell::Value(value) => Circle::new(place(point), 9, self.colour(value).filled()),
            Cell::Word(_) => Circle::new(place(point), 8, INK.stroke_width(1)),
            Cell::Nothing => Circle::new(place(point), 4, NOTHING.filled()),
        }))?;
        // Colours of the ends may be close to the ground, light or dark: an outline keeps them visible.
        let coloured = points.clone();
        let coloured = coloured.filter(|point| matches!(cell(*point), Cell::Value(_)));
        chart.draw_series(coloured.map(|point| Circle::new(place(point), 9, GRID)))?;
        let style = small.pos(above_centre());
        let written = points.filter_map(|point| {
            let text = match cell(point) {
                Cell::Value(value) => short(value),
                Cell::Word(word) => word.into(),
                Cell::Nothing => return None,
            };
            Some(EmptyElement::at(place(point)) + Text::new(text, (0, -25), style.clone()))
        });
        chart.draw_series(written)?;
        Ok(())
    }

    fn legend<DB: DrawingBackend>(&self, plot: &Plot, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let (_, height) = area.dim_in_pixel();
        let (top, bottom) = (44, height as i32 - 54);
        let (low, high) = self.scale;
        let small = ("sans-serif", 13).into_font().color(&INK);
        for y in top..bottom {
            let share = f64::from(bottom - y) / f64::from(bottom - top);
            let colour = self.colour(low + (high - low) * share);
            area.draw(&Rectangle::new([(10, y), (28, y + 1)], colour.filled()))?;
        }
        for step in 0..=4 {
            let share = f64::from(step) / 4.0;
            let y = bottom - (f64::from(bottom - top) * share) as i32;
            let text = short(low + (high - low) * share);
            area.draw(&PathElement::new([(28, y), (32, y)], INK))?;
            area.draw(&Text::new(text, (36, y - 7), small.clone()))?;
        }
        if let Some(unit) = plot.unit() {
            area.draw(&Text::new(unit, (10, top - 24), small.clone()))?;
        }
        let y = bottom + 22;
        area.draw(&Circle::new((18, y), 4, NOTHING.filled()))?;
        area.draw(&Text::new("none", (30, y - 8), small))
    }

    fn colour(&self, value: f64) -> RGBColor {
        let (low, high) = self.scale;
        let share = match high > low {
            true => ((value - low) / (high - low)).clamp(0.0, 1.0),
            false => 0.0,
        };
        let place = share * (SCALE.len() - 1) as f64;
        let index = (place as usize).min(SCALE.len() - 2);
        let (from, to, part) = (SCALE[index], SCALE[index + 1], place - index as f64);
        let mixed = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part) as u8;
        RGBColor(
            mixed(from.0, to.0),
            mixed(from.1, to.1),
            mixed(from.2, to.2),
        )
    }
}

fn above_centre() -> plotters::style::text_anchor::Pos {
    use plotters::style::text_anchor::{HPos, Pos, VPos};
    Pos::new(HPos::Center, VPos::Top)
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
    fn values_are_written_and_what_is_missing_is_grey() {
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
            "56",
            "1.25",
            "16000",
            "ticks/s",
            "players",
        ] {
            assert!(svg.contains(word), "{word} is not in {svg}");
        }
        let grey = svg.matches("#AAAAAB").count();
        assert_eq!(
            grey,
            3 + 1,
            "three cells of which nothing is known, and the legend"
        );
    }

    #[test]
    fn colours_follow_the_scale_and_stop_at_its_ends() {
        let overview = overview();
        assert_eq!(overview.colour(-5.0), SCALE[0]);
        assert_eq!(overview.colour(0.0), SCALE[0]);
        assert_eq!(overview.colour(12.0), SCALE[1]);
        assert_eq!(overview.colour(600.0), SCALE[5]);
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.256, 12.34, 56.0, 1059.6].map(short);
        assert_eq!(shown, ["0", "0.26", "12.3", "56", "1060"]);
    }
}
