//! Scales: from values to positions, and where to write numbers.

/// A scale along one side of a plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

impl Axis {
    /// A scale from `low` at the position `from` to `high` at the position `to`.
    pub fn new((low, high): (f64, f64), (from, to): (f64, f64)) -> Axis {
        Axis {
            low,
            high,
            log: false,
            from,
            to,
        }
    }

    /// A scale with room for these values: from zero, or from below it, to a round number.
    pub fn of(values: &[f64], log: bool, places: (f64, f64)) -> Axis {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        if !log {
            let (low, high) = (finite().fold(0.0, f64::min), finite().fold(0.0, f64::max));
            let high = if high > low { high } else { low + 1.0 };
            let step = step(high - low, 6.0);
            let round = |value: f64, to: fn(f64) -> f64| to(value / step) * step;
            return Axis::new((round(low, f64::floor), round(high, f64::ceil)), places);
        }
        let positive = || finite().filter(|value| *value > 0.0);
        let least = positive().fold(f64::INFINITY, f64::min);
        let most = positive().fold(0.0, f64::max);
        let (low, high) = match most > 0.0 {
            true => (decade(least, f64::floor), step(most * 1.05, 1.0)),
            false => (0.1, 1.0),
        };
        Axis {
            log,
            ..Axis::new((low, high.max(low * 10.0)), places)
        }
    }

    /// The lowest value.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// The position of a value; values beyond an end are at the end.
    pub fn place(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = match self.log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.from + share * (self.to - self.from)
    }

    /// The values to write beside it, about `many`.
    pub fn ticks(&self, many: f64) -> Vec<f64> {
        if self.log {
            return self.decades();
        }
        let step = step(self.high - self.low, many);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|tick| tick as f64 * step).collect()
    }

    fn decades(&self) -> Vec<f64> {
        let (first, last) = (self.low.log10().round(), self.high.log10().round());
        let between: &[f64] = match last - first <= 2.0 {
            true => &[1.0, 2.0, 5.0],
            false => &[1.0],
        };
        let decades = (first as i32)..=(last as i32);
        let all =
            decades.flat_map(|decade| between.iter().map(move |part| part * 10f64.powi(decade)));
        all.filter(|tick| *tick <= self.high * 1.001).collect()
    }
}

/// 1, 2 or 5 of some decade, so that about `many` of them cover the range.
fn step(range: f64, many: f64) -> f64 {
    let rough = (range / many).max(f64::MIN_POSITIVE);
    let decade = decade(rough, f64::floor);
    let parts = [1.0, 2.0, 5.0, 10.0];
    let part = parts
        .into_iter()
        .find(|part| part * decade >= rough * 0.999);
    part.unwrap_or(10.0) * decade
}

fn decade(value: f64, round: fn(f64) -> f64) -> f64 {
    10f64.powi(round(value.log10()) as i32)
}

/// A number on an axis: no needless digits, thousands set apart.
pub fn written(value: f64) -> String {
    if value.abs() < 1e-12 {
        return "0".into();
    }
    let decimals = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 1.0 => 2,
        v => (2.0 - v.log10().floor()) as usize,
    };
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    let (sign, digits) = text.split_at(text.len() - text.trim_start_matches('-').len());
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{}{grouped}{rest}", sign.replace('-', "−"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_values() {
        let axis = Axis::of(&[0.3, 47.0], false, (0.0, 100.0));
        assert_eq!(axis.ticks(6.0), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!((axis.place(0.0), axis.place(50.0)), (0.0, 100.0));
        let below = Axis::of(&[-40.0, 12.0], false, (0.0, 100.0));
        assert!(below.low() <= -40.0 && below.ticks(6.0).contains(&0.0));
        let nothing = Axis::of(&[], false, (0.0, 100.0));
        assert!(nothing.place(0.0).is_finite());
    }

    #[test]
    fn decades_are_evenly_apart() {
        let axis = Axis::of(&[0.002, 90.0], true, (0.0, 100.0));
        let ticks = axis.ticks(6.0);
        assert_eq!(ticks.len(), 6, "{ticks:?}");
        let places: Vec<f64> = ticks.iter().map(|tick| axis.place(*tick)).collect();
        assert!(
            places
                .windows(2)
                .all(|two| (two[1] - two[0] - 20.0).abs() < 1e-6)
        );
        assert_eq!(axis.place(0.0), 0.0, "what is not positive is at the end");
        let narrow = Axis::of(&[210.0, 993.0], true, (0.0, 100.0)).ticks(6.0);
        assert_eq!(narrow, [100.0, 200.0, 500.0, 1000.0, 2000.0]);
    }

    #[test]
    fn numbers_are_short_and_readable() {
        let shown = [0.0, 0.00001, 0.2, 12.5, -40.0, 16000.0, 63191.4].map(written);
        assert_eq!(
            shown,
            ["0", "0.00001", "0.2", "12.5", "−40", "16,000", "63,191"]
        );
    }
}
