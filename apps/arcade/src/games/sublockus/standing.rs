//! How a character stands: health, mana and name or number, above its head.

use eframe::egui::{Align2, Color32, Rect, vec2};
use samestep_catalog::sublockus::{Character, HALF, HEALTH, ONE};

use crate::canvas::{Canvas, at, mix};

use super::{colour_of, spot};

const BACK: Color32 = Color32::from_rgb(14, 15, 26);
const MANA: Color32 = Color32::from_rgb(98, 152, 255);

/// Draws it; mana only of one's own.
pub(super) fn paint(character: &Character, is_own: bool, name: &str, canvas: &mut Canvas) {
    let point = 1.0 / canvas.scale();
    let wide = (30.0 * point).max(1.1);
    let head = spot(character.place()) - vec2(0.0, HALF.y as f32 / ONE as f32);
    let bar = Rect::from_center_size(head - vec2(0.0, 0.32), vec2(wide, 4.0 * point));
    let health = f32::from(character.health) / f32::from(HEALTH);
    let colour = health_colour(health);
    canvas.rect(bar.expand(point), BACK.gamma_multiply(0.85));
    canvas.bar(bar, health, colour, Color32::from_rgb(52, 40, 50));
    if is_own {
        let mana = bar.translate(vec2(0.0, 5.0 * point));
        let mana = Rect::from_min_size(mana.min, vec2(wide, 2.0 * point));
        let part = f32::from(character.mana) / f32::from(character.max_mana());
        canvas.rect(mana.expand(point), BACK.gamma_multiply(0.85));
        canvas.bar(mana, part, MANA, Color32::from_rgb(34, 40, 66));
    }
    let bright = mix(colour_of(character.player), Color32::WHITE, 0.25);
    // A number stands beside the bar, a name has more room above it.
    let (place, align) = match name.len() {
        0..=2 => (
            at(bar.left() - 3.0 * point, bar.center().y),
            Align2::RIGHT_CENTER,
        ),
        _ => (
            at(bar.center().x, bar.top() - 2.0 * point),
            Align2::CENTER_BOTTOM,
        ),
    };
    canvas.text(place, align, name, 12.0, bright);
}

fn health_colour(part: f32) -> Color32 {
    let (low, half, full) = (
        Color32::from_rgb(240, 74, 84),
        Color32::from_rgb(246, 196, 74),
        Color32::from_rgb(112, 218, 112),
    );
    match part < 0.5 {
        true => mix(low, half, part * 2.0),
        false => mix(half, full, part * 2.0 - 1.0),
    }
}
