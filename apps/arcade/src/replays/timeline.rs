//! The bar one drags to go anywhere.

use eframe::egui::{
    self, Color32, CursorIcon, Rect, Response, Role, Sense, Stroke, WidgetInfo, pos2, vec2,
};
use samestep_sync::{Replay, Tick};

use super::facts::time;
use super::player::{Outcome, Player};
use crate::theme;

const HEIGHT: f32 = 30.0;

/// Shows where one is in the recording; dragging goes elsewhere.
pub(super) fn timeline(ui: &mut egui::Ui, player: &mut Player, cut: (Tick, Tick)) -> Response {
    let size = vec2(ui.available_width(), HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    let rail = Rect::from_center_size(rect.center(), vec2(rect.width() - 12.0, 6.0));
    let scale = Scale::new(player.replay(), rail);
    if let Some(point) = response.interact_pointer_pos()
        && (response.dragged() || response.clicked())
    {
        player.go(scale.tick(point.x));
    }
    let value = player.target().0 as f64;
    response.widget_info(|| WidgetInfo {
        value: Some(value),
        ..WidgetInfo::labeled(Role::Slider, true, "Tick")
    });
    if ui.is_rect_visible(rect) {
        paint(ui, player, &scale, cut, &response);
    }
    let response = response.on_hover_cursor(CursorIcon::PointingHand);
    if let Some(point) = response.hover_pos() {
        let tick = scale.tick(point.x);
        let words = format!("{}   tick {tick}", time(player.replay(), tick));
        return response.on_hover_text_at_pointer(words);
    }
    response
}

/// Where ticks are on the screen.
struct Scale {
    first: Tick,
    ticks: u64,
    rail: Rect,
}

impl Scale {
    fn new(replay: &Replay, rail: Rect) -> Scale {
        Scale {
            first: replay.first(),
            ticks: replay.end().since(replay.first()),
            rail,
        }
    }

    fn x(&self, tick: Tick) -> f32 {
        let part = tick.since(self.first) as f64 / self.ticks.max(1) as f64;
        self.rail.left() + self.rail.width() * part.clamp(0.0, 1.0) as f32
    }

    fn tick(&self, x: f32) -> Tick {
        let part = (x - self.rail.left()) / self.rail.width().max(1.0);
        let ticks = f64::from(part.clamp(0.0, 1.0)) * self.ticks as f64;
        Tick(self.first.0 + ticks.round() as u64)
    }
}

fn paint(
    ui: &egui::Ui,
    player: &Player,
    scale: &Scale,
    (from, to): (Tick, Tick),
    response: &Response,
) {
    let (painter, rail) = (ui.painter(), scale.rail);
    let replay = player.replay();
    painter.rect_filled(rail, 3.0, theme::CONTROL);
    let cut = Rect::from_x_y_ranges(scale.x(from)..=scale.x(to), rail.y_range().expand(4.0));
    if from > replay.first() || to < replay.end() {
        painter.rect_filled(cut, 2.0, theme::ACCENT.gamma_multiply(0.25));
    }
    let done = Rect::from_x_y_ranges(rail.left()..=scale.x(player.target()), rail.y_range());
    painter.rect_filled(done, 3.0, theme::ACCENT);
    let mark = |tick: Tick, reach: f32, width: f32, colour: Color32| {
        let range = rail.y_range().expand(reach);
        painter.vline(scale.x(tick), range, Stroke::new(width, colour));
    };
    let checksums: Vec<Tick> = replay.checksums().map(|(tick, _)| tick).collect();
    // Too close together they would only be a bar.
    if (checksums.len() as f32) < rail.width() / 4.0 {
        for tick in checksums {
            mark(tick, 1.0, 1.0, theme::FAINT.gamma_multiply(0.5));
        }
    }
    for (tick, _) in replay.checkpoints().skip(1) {
        mark(tick, 5.0, 1.5, theme::WARNING);
    }
    for divergence in replay.divergences() {
        mark(divergence.tick, 7.0, 2.0, theme::WRONG);
    }
    if let Some(Outcome::Deviates(deviation)) = player.outcome() {
        mark(deviation.tick, 7.0, 2.0, theme::WRONG);
    }
    let knob = pos2(scale.x(player.target()), rail.center().y);
    let radius = if response.hovered() || response.dragged() {
        8.0
    } else {
        6.5
    };
    painter.circle(knob, radius, theme::STRONG, Stroke::new(2.0, theme::ACCENT));
}
