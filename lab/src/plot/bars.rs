//! Bars in groups, with their values where there is room.

use super::Plot;
use super::axis::written;
use super::frame::Frame;
use super::svg::{Anchor, Svg, lines, width};

const SMALL: f64 = 12.0;
/// How much of a group's breadth its bars take.
const FILLED: f64 = 0.8;

/// A group for each name, a bar for each series that has a height there.
pub(super) fn draw(plot: &Plot, groups: &[String], series: &[(String, Vec<Option<f64>>)]) -> Svg {
    let names: Vec<&str> = series.iter().map(|(name, _)| name.as_str()).collect();
    let mut frame = Frame::new(plot, &names, false);
    let heights = || {
        series
            .iter()
            .flat_map(|(_, heights)| heights.iter().flatten())
    };
    let mut all: Vec<f64> = heights().copied().collect();
    // Room for the value above the highest.
    all.extend(
        heights()
            .filter(|_| !plot.log_y)
            .map(|height| height * 1.06),
    );
    // Bars in decades have no foot: the lowest needs some height too.
    all.extend(heights().filter(|_| plot.log_y).map(|height| height / 2.5));
    let (left, _, right, _) = frame.inside;
    let group = (right - left) / groups.len().max(1) as f64;
    let label = |name: &String| lines(name, SMALL, group - 4.0);
    if groups.iter().any(|name| label(name).len() > 1) {
        frame.inside.3 -= 14.0;
    }
    let bottom = frame.inside.3;
    let vertical = frame.vertical(plot, &all);
    let bar = group * FILLED / series.len().max(1) as f64;
    // A value wider than its bar needs neighbours that end elsewhere. Digits are wider than letters.
    let roomy = |nth: usize, index: usize, height: f64| {
        let beside = [nth.checked_sub(1), Some(nth + 1)].into_iter().flatten();
        let beside = beside.filter_map(|other| *series.get(other)?.1.get(index)?);
        let apart =
            |other: f64| (vertical.place(other) - vertical.place(height)).abs() > SMALL + 2.0;
        let wide = width(&short(height), SMALL) * 1.15;
        wide <= bar || wide <= bar * 1.6 && beside.into_iter().all(apart)
    };
    for (index, name) in groups.iter().enumerate() {
        let middle = left + (index as f64 + 0.5) * group;
        for (line, words) in label(name).iter().take(2).enumerate() {
            let at = (middle, bottom + 16.0 + 13.0 * line as f64);
            frame.svg.words("small", at, Anchor::Middle, words);
        }
    }
    for (nth, ((name, heights), look)) in series.iter().zip(&frame.looks).enumerate() {
        for (index, height) in heights.iter().enumerate() {
            let Some(height) = height else { continue };
            let x = left + (index as f64 + (1.0 - FILLED) / 2.0) * group + nth as f64 * bar;
            let y = vertical.place(*height);
            let tall = (bottom - y).max(1.0);
            let group = groups.get(index).map_or("", String::as_str);
            let says = format!("{name}, {group}: {}", written(*height));
            let (at, size) = ((x, bottom - tall), (bar * 0.92, tall));
            let opacity = look.opacity();
            frame.svg.bar(&look.colour, opacity, at, size, &says);
            if roomy(nth, index, *height) {
                let at = (x + bar * 0.46, bottom - tall - 4.0);
                let words = short(*height);
                frame.svg.words("small faint", at, Anchor::Middle, &words);
            }
        }
    }
    frame.horizontal(plot);
    frame.svg
}

/// Two or three digits are enough above a bar.
pub(super) fn short(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 10.0 || v == 0.0 => 0,
        v if v >= 1.0 => 1,
        v => ((-v.log10()).ceil() as usize + 1).min(4),
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

    #[test]
    fn values_stand_above_bars_that_are_wide_enough() {
        let plot = |groups: usize| Plot {
            name: "p".into(),
            title: "t".into(),
            x: String::new(),
            y: "ms".into(),
            log_y: false,
            data: Data::Bars(
                (0..groups).map(|group| format!("g{group}")).collect(),
                vec![("ours".into(), vec![Some(1234.5); groups])],
            ),
        };
        let above = |groups| plot(groups).svg().unwrap().matches(">1234<").count();
        assert_eq!(above(3), 3);
        assert_eq!(above(60), 0, "they would run into each other");
    }

    #[test]
    fn a_height_of_nothing_is_still_seen() {
        assert_eq!(short(0.0), "0");
        assert_eq!(
            [0.0123, 0.5, 3.25, 42.4].map(short),
            ["0.012", "0.5", "3.2", "42"]
        );
    }
}
