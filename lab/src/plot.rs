//! Plots as SVG: lines over a number, bars in groups, or overviews of cells coloured by a value.

mod axis;
mod bars;
mod colours;
mod frame;
mod lines;
mod overview;
mod svg;

pub use overview::{Cell, Overview, Panel};

use crate::error::LabError;
use svg::Svg;

/// Something to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// The file's name without extension.
    pub name: String,
    /// The heading.
    pub title: String,
    /// What the horizontal axis shows.
    pub x: String,
    /// What the vertical axis shows.
    pub y: String,
    /// A logarithmic vertical axis: latencies of good and bad algorithms lie decades apart.
    pub log_y: bool,
    /// The data.
    pub data: Data,
}

/// What a plot shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// A line per series: its name and its points.
    Lines(Vec<Line>),
    /// The same in steps: a value holds until the next point.
    Steps(Vec<Line>),
    /// Groups of bars: the names of the groups, and per series its name and a height per group.
    Bars(Vec<String>, Vec<(String, Vec<Option<f64>>)>),
    /// Cells coloured by a value: the value's unit, and the grids.
    Overview(String, Overview),
}

/// How plots look, on light and on dark ground.
pub(crate) const STYLE: &str = include_str!("plot/plot.css");
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 400.0;

/// A line or a series of steps: its name and its points.
pub type Line = (String, Vec<(f64, f64)>);

impl Plot {
    /// A plot with these names of its axes and a linear vertical axis.
    pub fn new(
        name: impl Into<String>,
        title: impl Into<String>,
        [x, y]: [&str; 2],
        data: Data,
    ) -> Plot {
        Plot {
            name: name.into(),
            title: title.into(),
            x: x.into(),
            y: y.into(),
            log_y: false,
            data,
        }
    }

    /// The same with a logarithmic vertical axis.
    pub fn log_y(self) -> Plot {
        Plot {
            log_y: true,
            ..self
        }
    }

    /// Whether there is a line to draw: a run of a few cases has single points at most.
    pub fn has_lines(&self) -> bool {
        match &self.data {
            Data::Lines(lines) => lines.iter().any(|(_, points)| points.len() > 1),
            _ => true,
        }
    }

    /// The drawing as SVG text that stands alone. The ground stays transparent, the text uses the reader's fonts.
    pub fn svg(&self) -> Result<String, LabError> {
        Ok(self.drawn().finish(&self.title, Some(STYLE)))
    }

    /// The drawing for a page that has [`STYLE`].
    pub(crate) fn inline(&self) -> String {
        self.drawn().finish(&self.title, None)
    }

    fn drawn(&self) -> Svg {
        match &self.data {
            Data::Lines(series) => lines::draw(self, series, false),
            Data::Steps(series) => lines::draw(self, series, true),
            Data::Bars(groups, series) => bars::draw(self, groups, series),
            Data::Overview(unit, overview) => overview.draw(self, unit),
        }
    }
}

/// Adds a point to the line of that name, which begins with it if there is none yet.
pub fn add_point(lines: &mut Vec<Line>, name: String, point: (f64, f64)) {
    match lines.iter_mut().find(|(known, _)| *known == name) {
        Some((_, points)) => points.push(point),
        None => lines.push((name, vec![point])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(data: Data, log_y: bool) -> Plot {
        Plot {
            name: "p".into(),
            title: "Latency <by> loss".into(),
            x: "loss".into(),
            y: "ms".into(),
            log_y,
            data,
        }
    }

    #[test]
    fn lines_and_bars_become_svg_with_text() {
        let lines = vec![
            ("ours".into(), vec![(0.0, 1.0), (1.0, 2.0)]),
            ("theirs".into(), vec![(0.0, 9.0)]),
        ];
        let bars = Data::Bars(
            vec!["1%".into(), "5%".into()],
            vec![("ours".into(), vec![Some(60.0), None])],
        );
        let steps = Data::Steps(lines.clone());
        for (data, word) in [
            (Data::Lines(lines), "theirs"),
            (steps, "theirs"),
            (bars, "5%"),
        ] {
            for log_y in [false, true] {
                let svg = plot(data.clone(), log_y).svg().unwrap();
                assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
                assert!(svg.contains(word) && svg.contains("&lt;by&gt;"), "{svg}");
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }

    #[test]
    fn nothing_to_draw_is_still_a_plot() {
        let flat = Data::Lines(vec![("flat".into(), vec![(3.0, 0.0)])]);
        for data in [
            Data::Lines(Vec::new()),
            Data::Bars(Vec::new(), Vec::new()),
            flat,
        ] {
            for log_y in [false, true] {
                let svg = plot(data.clone(), log_y).svg().unwrap();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }

    #[test]
    fn colours_change_on_dark_ground() {
        let plot = plot(Data::Lines(Vec::new()), false);
        assert!(plot.svg().unwrap().contains("prefers-color-scheme: dark"));
        assert!(!plot.inline().contains("<style"));
    }
}
