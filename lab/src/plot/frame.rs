//! The frame that lines and bars share: heading, legend, axes and the area between them.

use super::axis::{Axis, written};
use super::colours::{Look, looks};
use super::svg::{Anchor, Svg, lines, width};
use super::{HEIGHT, Plot, WIDTH};

/// A drawing with heading and legend, and the area left below them.
pub struct Frame {
    /// The drawing.
    pub svg: Svg,
    /// A look for each series.
    pub looks: Vec<Look>,
    /// Left, top, right and bottom of the area for data.
    pub inside: (f64, f64, f64, f64),
}

const TITLE: f64 = 16.5;
const SMALL: f64 = 13.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = WIDTH - 24.0;
const LINE: f64 = 20.0;

/// Writes the heading in as many lines as it takes, from `top` on; returns where it ends.
pub fn heading(svg: &mut Svg, title: &str, left: f64, top: f64) -> f64 {
    let mut y = top;
    for line in lines(title, TITLE, RIGHT - left) {
        y += LINE + 1.0;
        svg.words("title", (left, y), Anchor::Start, &line);
    }
    y
}

impl Frame {
    /// With a swatch for each series, as a line or as an area.
    pub fn new(plot: &Plot, names: &[&str], dashed: bool) -> Frame {
        let mut svg = Svg::new(WIDTH, HEIGHT);
        let looks = looks(names);
        let mut y = heading(&mut svg, &plot.title, LEFT - 50.0, 2.0) + 12.0;
        if names.len() > 1 || names.first().is_some_and(|name| !name.is_empty()) {
            let mut x = LEFT - 50.0;
            y += 14.0;
            for (name, look) in names.iter().zip(&looks) {
                let wide = 36.0 + width(name, SMALL) + 14.0;
                if x + wide > RIGHT + 10.0 {
                    (x, y) = (LEFT - 50.0, y + LINE);
                }
                match dashed {
                    true => {
                        let ends = [(x, y - 4.5), (x + 26.0, y - 4.5)];
                        svg.path(&look.colour, look.dash(), &ends);
                    }
                    false => {
                        let (at, size) = ((x + 8.0, y - 10.0), (16.0, 11.0));
                        svg.bar(&look.colour, look.opacity(), at, size, "");
                    }
                }
                svg.words("", (x + 32.0, y), Anchor::Start, name);
                x += wide;
            }
        }
        Frame {
            svg,
            looks,
            inside: (LEFT, y + 38.0, RIGHT, HEIGHT - 46.0),
        }
    }

    /// The vertical axis for these values, with lines across the place.
    pub fn vertical(&mut self, plot: &Plot, values: &[f64]) -> Axis {
        let (left, top, right, bottom) = self.inside;
        let axis = Axis::of(values, plot.log_y, (bottom, top));
        for tick in axis.ticks(6.0) {
            let y = axis.place(tick);
            self.svg.line("grid", (left, y), (right, y));
            let at = (left - 8.0, y + 4.5);
            self.svg.words("", at, Anchor::End, &written(tick));
        }
        let at = (left - 50.0, top - 13.0);
        self.svg.words("faint", at, Anchor::Start, &plot.y);
        axis
    }

    /// What the horizontal axis shows, and the axis itself.
    pub fn horizontal(&mut self, plot: &Plot) {
        let (left, _, right, bottom) = self.inside;
        self.svg.line("axis", (left, bottom), (right, bottom));
        let at = ((left + right) / 2.0, HEIGHT - 8.0);
        self.svg.words("faint", at, Anchor::Middle, &plot.x);
    }
}
