//! Plots as SVG: lines over a number, bars in groups, or overviews of points coloured by a value.

mod overview;

pub use overview::{Cell, Overview, Panel};

use plotters::prelude::*;

use crate::error::LabError;

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
    Lines(Vec<(String, Vec<(f64, f64)>)>),
    /// Groups of bars: the names of the groups, and per series its name and a height per group.
    Bars(Vec<String>, Vec<(String, Vec<Option<f64>>)>),
    /// Points coloured by a value: the value's unit, and the grids.
    Overview(String, Overview),
}

/// Colours that differ for colour-blind readers and on light and dark ground (Okabe and Ito).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
/// Text, axes and grid; the report's style sheet replaces these exact colours on dark ground.
const INK: RGBColor = RGBColor(0x33, 0x33, 0x34);
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xde);
const SIZE: (u32, u32) = (900, 400);

impl Plot {
    /// The drawing as SVG text. The ground stays transparent, the text uses the reader's fonts.
    pub fn svg(&self) -> Result<String, LabError> {
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
            self.draw(&area)
                .map_err(|error| LabError::Unsupported(format!("plot {}: {error}", self.name)))?;
        }
        Ok(svg)
    }

    fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, plotters::coord::Shift>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        if let Data::Overview(_, overview) = &self.data {
            return overview.draw(self, area);
        }
        let (low, high) = self.heights();
        let (left, right) = self.breadth();
        let mut chart = ChartBuilder::on(area);
        chart
            .caption(&self.title, ("sans-serif", 19).into_font().color(&INK))
            .margin(10)
            .margin_right(20)
            .x_label_area_size(42)
            .y_label_area_size(58);
        // The two kinds of axis are different types to plotters, so both arms repeat the same three calls.
        if self.log_y {
            let mut chart = chart.build_cartesian_2d(left..right, (low..high).log_scale())?;
            self.mesh(&mut chart)?;
            self.series(&mut chart, low)
        } else {
            let mut chart = chart.build_cartesian_2d(left..right, low..high)?;
            self.mesh(&mut chart)?;
            self.series(&mut chart, low)
        }
    }

    fn mesh<DB, Y>(
        &self,
        chart: &mut Chart<'_, DB, Y>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>>
    where
        DB: DrawingBackend,
        Y: Ranged<ValueType = f64> + plotters::coord::ranged1d::ValueFormatter<f64>,
    {
        let group = |x: &f64| match &self.data {
            Data::Bars(groups, _) if x.fract() == 0.0 => {
                groups.get(*x as usize).cloned().unwrap_or_default()
            }
            Data::Bars(..) | Data::Overview(..) => String::new(),
            Data::Lines(_) => crate::table::number(*x),
        };
        let groups = match &self.data {
            Data::Bars(groups, _) => groups.len() * 2 + 1,
            Data::Lines(_) | Data::Overview(..) => 10,
        };
        let small = ("sans-serif", 13).into_font().color(&INK);
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(groups)
            .x_label_formatter(&group)
            .y_label_formatter(&|y| crate::table::number(*y))
            .x_desc(&self.x)
            .y_desc(&self.y)
            .axis_style(INK)
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .label_style(small.clone())
            .axis_desc_style(small)
            .draw()
    }

    fn series<'a, DB, Y>(
        &self,
        chart: &mut Chart<'a, DB, Y>,
        floor: f64,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>>
    where
        DB: DrawingBackend + 'a,
        Y: Ranged<ValueType = f64>,
    {
        let swatch = |colour: RGBColor| {
            move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled())
        };
        match &self.data {
            Data::Lines(series) => {
                for ((name, points), colour) in series.iter().zip(COLOURS.iter().cycle()) {
                    let points = points.iter().map(|(x, y)| (*x, y.max(floor)));
                    chart
                        .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
                        .label(name)
                        .legend(swatch(*colour));
                }
            }
            Data::Bars(_, series) => {
                let width = 0.8 / series.len().max(1) as f64;
                for (index, ((name, heights), colour)) in
                    series.iter().zip(COLOURS.iter().cycle()).enumerate()
                {
                    let start = -0.4 + index as f64 * width;
                    let bars = heights.iter().enumerate().filter_map(|(group, height)| {
                        let left = group as f64 + start;
                        height.map(|height| {
                            Rectangle::new(
                                [(left, floor), (left + width * 0.92, height)],
                                colour.filled(),
                            )
                        })
                    });
                    chart.draw_series(bars)?.label(name).legend(swatch(*colour));
                }
            }
            Data::Overview(..) => {}
        }
        chart
            .configure_series_labels()
            .position(match self.data {
                Data::Lines(_) if !self.rises() => SeriesLabelPosition::UpperRight,
                _ => SeriesLabelPosition::UpperLeft,
            })
            .label_font(("sans-serif", 13).into_font().color(&INK))
            .draw()
    }

    /// The unit of an overview's values.
    fn unit(&self) -> Option<String> {
        match &self.data {
            Data::Overview(unit, _) => Some(unit.clone()),
            _ => None,
        }
    }

    /// Whether the highest point of the right half is above that of the left: then the legend has room there.
    fn rises(&self) -> bool {
        let (left, right) = self.breadth();
        let Data::Lines(series) = &self.data else {
            return false;
        };
        let points = series.iter().flat_map(|(_, points)| points);
        let (mut before, mut after) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        for (x, y) in points {
            let half = match *x < (left + right) / 2.0 {
                true => &mut before,
                false => &mut after,
            };
            *half = half.max(*y);
        }
        after > before
    }

    fn values(&self) -> Vec<f64> {
        match &self.data {
            Data::Overview(..) => Vec::new(),
            Data::Lines(series) => series
                .iter()
                .flat_map(|(_, points)| points.iter().map(|(_, y)| *y))
                .collect(),
            Data::Bars(_, series) => series
                .iter()
                .flat_map(|(_, heights)| heights.iter().flatten().copied())
                .collect(),
        }
    }

    /// The vertical axis: from zero, or from the lowest where there is something below, or in decades.
    fn heights(&self) -> (f64, f64) {
        let positive: Vec<f64> = self
            .values()
            .into_iter()
            .filter(|v| v.is_finite() && *v > 0.0)
            .collect();
        let high = positive.iter().copied().fold(f64::NAN, f64::max);
        let low = positive.iter().copied().fold(f64::NAN, f64::min);
        let negative = self.values().into_iter().filter(|v| v.is_finite());
        let lowest = negative.fold(0.0, f64::min);
        match (high.is_nan(), self.log_y) {
            (true, false) if lowest < 0.0 => (lowest * 1.15, 0.0),
            (true, false) => (0.0, 1.0),
            (true, true) => (0.1, 1.0),
            // Bars need more room above them for the legend.
            (false, false) if matches!(self.data, Data::Bars(..)) => (0.0, high * 1.3),
            (false, false) => (lowest * 1.15, high * 1.15),
            (false, true) if matches!(self.data, Data::Bars(..)) => {
                (10f64.powf(low.log10().floor()), high * 20.0)
            }
            (false, true) => (
                10f64.powf(low.log10().floor()),
                (high * 2.0).max(low * 10.0),
            ),
        }
    }

    fn breadth(&self) -> (f64, f64) {
        let points = match &self.data {
            Data::Bars(groups, _) => return (-0.5, groups.len() as f64 - 0.5),
            Data::Overview(..) => return (0.0, 1.0),
            Data::Lines(series) => series
                .iter()
                .flat_map(|(_, points)| points.iter().map(|(x, _)| *x)),
        };
        let (low, high) = points.fold((f64::NAN, f64::NAN), |(low, high), x| {
            (x.min(low), x.max(high))
        });
        match high > low {
            true => (low, high),
            false if low.is_nan() => (0.0, 1.0),
            false => (low - 0.5, low + 0.5),
        }
    }
}

type Chart<'a, DB, Y> =
    ChartContext<'a, DB, Cartesian2d<plotters::coord::types::RangedCoordf64, Y>>;

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
        let lines = Data::Lines(vec![
            ("ours".into(), vec![(0.0, 1.0), (1.0, 2.0)]),
            ("theirs".into(), vec![(0.0, 9.0)]),
        ]);
        let bars = Data::Bars(
            vec!["1%".into(), "5%".into()],
            vec![("ours".into(), vec![Some(60.0), None])],
        );
        for (data, word) in [(lines, "theirs"), (bars, "5%")] {
            for log_y in [false, true] {
                let svg = plot(data.clone(), log_y).svg().unwrap();
                assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
                assert!(svg.contains(word) && svg.contains("&lt;by&gt;"), "{svg}");
            }
        }
    }

    #[test]
    fn nothing_to_draw_is_still_a_plot() {
        for data in [Data::Lines(Vec::new()), Data::Bars(Vec::new(), Vec::new())] {
            plot(data.clone(), true).svg().unwrap();
            plot(data, false).svg().unwrap();
        }
        plot(Data::Lines(vec![("flat".into(), vec![(3.0, 0.0)])]), true)
            .svg()
            .unwrap();
    }
}
