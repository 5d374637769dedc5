//! Lines over a number.

use super::Plot;
use super::axis::{Axis, written};
use super::frame::Frame;
use super::svg::{Anchor, Svg};

/// Up to so many points of a line are marked, and say what they are.
const MARKED: usize = 24;

/// A line per series; `steps` if a value holds until the next one.
pub(super) fn draw(plot: &Plot, series: &[(String, Vec<(f64, f64)>)], steps: bool) -> Svg {
    let names: Vec<&str> = series.iter().map(|(name, _)| name.as_str()).collect();
    let mut frame = Frame::new(plot, &names, true);
    let all = || series.iter().flat_map(|(_, points)| points);
    let heights: Vec<f64> = all().map(|(_, y)| *y).collect();
    let vertical = frame.vertical(plot, &heights);
    let (left, _, right, bottom) = frame.inside;
    let low = all().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
    let high = all().map(|(x, _)| *x).fold(f64::NEG_INFINITY, f64::max);
    let ends = match high > low {
        true => (low, high),
        false if low.is_finite() => (low - 0.5, low + 0.5),
        false => (0.0, 1.0),
    };
    let horizontal = Axis::new(ends, (left, right));
    frame.horizontal(plot);
    for tick in horizontal.ticks(10.0) {
        let x = horizontal.place(tick);
        frame.svg.line("axis", (x, bottom), (x, bottom + 4.0));
        let at = (x, bottom + 18.0);
        frame.svg.words("", at, Anchor::Middle, &written(tick));
    }
    if vertical.low() < 0.0 {
        let zero = vertical.place(0.0);
        frame.svg.line("axis", (left, zero), (right, zero));
    }
    for ((name, points), look) in series.iter().zip(&frame.looks) {
        let place = |(x, y): &(f64, f64)| (horizontal.place(*x), vertical.place(*y));
        let mut places: Vec<(f64, f64)> = Vec::new();
        for point in points {
            let at = place(point);
            if let Some(last) = places.last().filter(|_| steps) {
                places.push((at.0, last.1));
            }
            places.push(at);
        }
        if places.len() > 1 {
            frame.svg.path(&look.colour, look.dash(), &places);
        }
        if points.len() <= MARKED && !steps {
            for point in points {
                let says = format!("{name}: {} at {}", written(point.1), written(point.0));
                frame.svg.point(&look.colour, place(point), 3.2, &says);
            }
        }
    }
    frame.svg
}
