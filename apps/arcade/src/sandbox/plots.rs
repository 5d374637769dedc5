//! Live plots, one for each gauge, a line for each player.

use eframe::egui::{
    self, Align2, FontId, Painter, Pos2, Rect, RichText, Sense, Shape, Stroke, pos2, vec2,
};
use samestep_sandbox::{Gauge, SAMPLES_PER_SECOND};

use super::UserAction;
use crate::any_match::AnyMatch;
use crate::theme;

/// What can be seen at once, in samples.
const SPAN: u64 = 30 * SAMPLES_PER_SECOND as u64;
/// Steps from one sample to the next.
const STEPS: u64 = 60 / SAMPLES_PER_SECOND as u64;
/// The height of the caption above a plot.
const HEAD: f32 = 31.0;
/// Between plots.
const GAP: f32 = 6.0;

/// All plots in a row; a step that is looked at is marked.
pub fn row(
    ui: &mut egui::Ui,
    live: &dyn AnyMatch,
    at: Option<u64>,
    requested: &mut Vec<UserAction>,
) {
    let count = Gauge::ALL.len() as f32;
    let (space, _) = ui.allocate_exact_size(ui.available_size(), Sense::hover());
    let width = (space.width() - GAP * (count - 1.0)) / count;
    let window = Window::new(live, at);
    for (gauge, number) in Gauge::ALL.into_iter().zip(0u8..) {
        let left = space.left() + f32::from(number) * (width + GAP);
        let rect = Rect::from_min_size(pos2(left, space.top()), vec2(width, space.height()));
        plot(ui, live, gauge, rect, &window, requested);
    }
}

/// The part of time that is seen, in samples since the match began. It may begin before that.
struct Window {
    end: u64,
    /// A step that is looked at.
    mark: Option<u64>,
}

impl Window {
    fn new(live: &dyn AnyMatch, mark: Option<u64>) -> Window {
        let taken = live.gauges(0).taken();
        let end = match mark.map(|step| step / STEPS) {
            Some(sample) if sample + SPAN < taken => sample + SPAN / 2,
            _ => taken,
        };
        Window { end, mark }
    }

    fn first(&self) -> u64 {
        self.end.saturating_sub(SPAN)
    }

    fn x(&self, area: Rect, sample: f32) -> f32 {
        let part = 1.0 + (sample - self.end as f32) / SPAN as f32;
        egui::lerp(area.x_range(), part)
    }

    /// The sample at a place.
    fn sample(&self, area: Rect, x: f32) -> u64 {
        let back = ((area.right() - x) / area.width()).clamp(0.0, 1.0);
        let back = (back * SPAN as f32).round() as u64;
        self.end.saturating_sub(back)
    }
}

fn plot(
    ui: &mut egui::Ui,
    live: &dyn AnyMatch,
    gauge: Gauge,
    rect: Rect,
    window: &Window,
    requested: &mut Vec<UserAction>,
) {
    let response = ui.interact(rect, ui.scope_id().with(gauge.name()), Sense::click());
    let response = theme::named(response, gauge.title());
    let painter = ui.painter().with_clip_rect(rect);
    painter.rect_filled(rect, 5.0, theme::CARD);
    let area = Rect::from_min_max(rect.min + vec2(7.0, HEAD), rect.max - vec2(7.0, 6.0));
    let (low, high) = range(live, gauge, window);
    let y = |value: f32| egui::remap_clamp(value, low..=high, area.bottom()..=area.top());
    head(&painter, live, gauge, rect, window);
    let faint = Stroke::new(1.0, theme::LINE);
    painter.hline(area.x_range(), area.top(), faint);
    painter.hline(area.x_range(), y(0.0), faint);
    for player in (0..live.scenario().players()).rev() {
        line(&painter, live, gauge, player, area, window, y);
    }
    ends(&painter, area, low, high);
    if let Some(step) = window.mark {
        let x = window.x(area, step as f32 / STEPS as f32);
        upright(&painter, area, x, theme::WARNING);
    }
    if let Some(pointer) = response.hover_pos() {
        let sample = window.sample(area, pointer.x);
        upright(&painter, area, window.x(area, sample as f32), theme::FAINT);
        if response.clicked() {
            requested.push(UserAction::Look(sample * STEPS));
        }
        response.on_hover_ui_at_pointer(|ui| hover(ui, live, gauge, sample));
    }
}

/// Title, unit, and each player's value.
fn head(painter: &Painter, live: &dyn AnyMatch, gauge: Gauge, rect: Rect, window: &Window) {
    let at = rect.min + vec2(7.0, 4.0);
    let title = painter.text(
        at,
        Align2::LEFT_TOP,
        gauge.title(),
        FontId::proportional(11.5),
        theme::TEXT,
    );
    let unit = pos2(rect.right() - 7.0, title.bottom() - 1.0);
    if rect.width() > 112.0 {
        painter.text(
            unit,
            Align2::RIGHT_BOTTOM,
            gauge.unit(),
            FontId::proportional(10.0),
            theme::FAINT,
        );
    }
    let mut left = at.x;
    let newest = window.mark.map(|step| step / STEPS);
    for player in 0..live.scenario().players() {
        let value = match newest {
            Some(sample) => sampled(live, gauge, player, sample),
            None => live.gauges(player).latest(gauge),
        };
        let words = value.map_or("–".into(), short);
        let drawn = painter.text(
            pos2(left, at.y + 13.0),
            Align2::LEFT_TOP,
            words,
            FontId::proportional(11.5),
            theme::player_colour(player),
        );
        left = drawn.right() + 6.0;
    }
}

/// Where the axis ends.
fn ends(painter: &Painter, area: Rect, low: f32, high: f32) {
    let words = |at: Pos2, anchor: Align2, value: f32| {
        let font = FontId::proportional(9.5);
        let words = painter.layout_no_wrap(short(value), font, theme::FAINT);
        let rect = anchor.anchor_size(at, words.size());
        painter.rect_filled(rect, 2.0, theme::CARD.gamma_multiply(0.8));
        painter.galley(rect.min, words, theme::FAINT);
    };
    words(area.left_top() + vec2(0.0, 1.0), Align2::LEFT_TOP, high);
    if low < 0.0 {
        words(area.left_bottom(), Align2::LEFT_BOTTOM, low);
    }
}

fn line(
    painter: &Painter,
    live: &dyn AnyMatch,
    gauge: Gauge,
    player: usize,
    area: Rect,
    window: &Window,
    y: impl Fn(f32) -> f32,
) {
    let gauges = live.gauges(player);
    let series = gauges.series(gauge);
    let oldest = gauges.taken() - series.len() as u64;
    // As many samples in one point as there is room for; always the same ones, so that nothing flickers.
    let bunch = (SPAN as f32 / (area.width() / 1.5)).ceil().max(1.0) as u64;
    let mut points: Vec<Pos2> = Vec::new();
    let mut last = None;
    for (value, sample) in series.zip(oldest..) {
        if sample < window.first() || sample > window.end {
            continue;
        }
        let place = pos2(window.x(area, sample as f32), y(value));
        match points.last_mut() {
            Some(point) if last == Some(sample / bunch) => {
                // What stands out is what one looks for.
                if (place.y - y(0.0)).abs() > (point.y - y(0.0)).abs() {
                    point.y = place.y;
                }
            }
            _ => points.push(place),
        }
        last = Some(sample / bunch);
    }
    let stroke = Stroke::new(1.4, theme::player_colour(player));
    painter.add(Shape::line(points, stroke));
}

fn upright(painter: &Painter, area: Rect, x: f32, colour: egui::Color32) {
    painter.vline(x, area.y_range(), Stroke::new(1.0, colour));
}

fn hover(ui: &mut egui::Ui, live: &dyn AnyMatch, gauge: Gauge, sample: u64) {
    ui.set_max_width(260.0);
    ui.label(RichText::new(gauge.title()).strong());
    ui.label(RichText::new(about(gauge)).small().weak());
    ui.label(RichText::new(format!("at {}", super::time::time(sample * STEPS))).small());
    for player in 0..live.scenario().players() {
        let value = sampled(live, gauge, player, sample).map_or("–".into(), exact);
        let words = format!("{}: {value} {}", theme::player_name(player), gauge.unit());
        ui.label(RichText::new(words).color(theme::player_colour(player)));
    }
}

/// What a gauge means.
fn about(gauge: Gauge) -> &'static str {
    match gauge {
        Gauge::RoundTrip => "Round-trip time to the server.",
        Gauge::ClockError => "Error of this program's synchronised clock against the server's.",
        Gauge::Download => "Received data, headers included.",
        Gauge::Upload => "Sent data, headers included.",
        Gauge::Corrections => "Mispredictions: rollbacks, or corrections by the server.",
        Gauge::RollbackDepth => "Ticks resimulated per correction.",
        Gauge::LaggedTicks => "Stalls: ticks that could not be simulated when they were due.",
        Gauge::BufferDelay => {
            "Interpolation delay or jitter buffer of what is shown, or the delay of one's own inputs."
        }
    }
}

fn sampled(live: &dyn AnyMatch, gauge: Gauge, player: usize, sample: u64) -> Option<f32> {
    let gauges = live.gauges(player);
    let mut series = gauges.series(gauge);
    let oldest = gauges.taken() - series.len() as u64;
    series.nth(sample.checked_sub(oldest)? as usize)
}

/// From where to where the axis goes.
fn range(live: &dyn AnyMatch, gauge: Gauge, window: &Window) -> (f32, f32) {
    let mut most = least_range(gauge);
    let mut is_signed = false;
    for player in 0..live.scenario().players() {
        let gauges = live.gauges(player);
        let series = gauges.series(gauge);
        let oldest = gauges.taken() - series.len() as u64;
        let seen = series.skip(window.first().saturating_sub(oldest) as usize);
        for value in seen {
            most = most.max(value.abs());
            is_signed |= value < 0.0;
        }
    }
    let high = nice(most * 1.05);
    (if is_signed { -high } else { 0.0 }, high)
}

/// An axis never ends below this.
fn least_range(gauge: Gauge) -> f32 {
    match gauge {
        Gauge::RoundTrip | Gauge::BufferDelay => 20.0,
        Gauge::ClockError => 2.0,
        Gauge::Download | Gauge::Upload => 20.0,
        Gauge::Corrections | Gauge::LaggedTicks => 10.0,
        Gauge::RollbackDepth => 5.0,
    }
}

/// The next number from here on that an axis may end at.
fn nice(most: f32) -> f32 {
    let power = 10f32.powf(most.max(1e-3).log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0];
    let found = steps.into_iter().find(|step| step * power >= most * 0.999);
    found.unwrap_or(10.0) * power
}

/// A value in little room.
fn short(value: f32) -> String {
    let size = value.abs();
    match size {
        size if size >= 9_950.0 => format!("{:.0}k", value / 1e3),
        size if size >= 9.95 => format!("{value:.0}"),
        size if size < 0.05 => "0".into(),
        _ => {
            let words = format!("{value:.1}");
            words.strip_suffix(".0").unwrap_or(&words).into()
        }
    }
}

fn exact(value: f32) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_round_number_above_everything() {
        for (most, end) in [(20.0, 20.0), (21.0, 30.0), (0.3, 0.3), (760.0, 1_000.0)] {
            assert!(
                (nice(most) / end - 1.0).abs() < 1e-3,
                "{most}: {}",
                nice(most)
            );
        }
    }

    #[test]
    fn values_take_little_room() {
        for (value, words) in [
            (0.0, "0"),
            (-0.01, "0"),
            (3.04, "3"),
            (-3.25, "-3.2"),
            (41.7, "42"),
            (12_345.0, "12k"),
        ] {
            assert_eq!(short(value), words);
        }
    }
}
