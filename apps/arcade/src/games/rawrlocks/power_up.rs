//! Power-ups on the ground.

use eframe::egui::{Color32, Pos2, vec2};
use samestep_catalog::rawrlocks::{POWER_UP_BACK, POWER_UP_RADIUS, PowerUpKind, Rawrlocks};

use crate::canvas::{Canvas, mix};

use super::shapes::{arc, coin, light};
use super::{icon, spot, yards};

const PAD: Color32 = Color32::from_rgb(40, 37, 46);

/// The colour of what a power-up gives.
pub(super) fn colour_of(kind: PowerUpKind) -> Color32 {
    match kind {
        PowerUpKind::Speed => Color32::from_rgb(98, 226, 255),
        PowerUpKind::Damage => Color32::from_rgb(255, 92, 196),
    }
}

/// Draws the places where they lie, and those that lie there.
pub(super) fn paint_all(game: &Rawrlocks, seconds: f32, canvas: &mut Canvas) {
    let radius = yards(POWER_UP_RADIUS);
    for power in game.power_ups() {
        let (middle, colour) = (spot(power.kind.place()), colour_of(power.kind));
        // Once there is lava, only what lies there is seen.
        if !game.arena().is_lava(power.kind.place()) {
            coin(middle, radius * 1.5, PAD, canvas);
            canvas.ring(middle, radius * 1.5, 1.5, mix(PAD, colour, 0.5));
        }
        if !power.is_available(game.clock()) {
            let left = power.available_from.saturating_sub(game.clock());
            let part = 1.0 - left as f32 / POWER_UP_BACK as f32;
            let pale = colour.gamma_multiply(0.5);
            arc(middle, radius * 1.5, part, 2.0, pale, canvas);
            continue;
        }
        let bob = vec2(0.0, 2.0 * (seconds * 3.0).sin());
        light(middle, radius * 3.0, colour.gamma_multiply(0.4), canvas);
        paint_orb(middle - vec2(0.0, 3.0) + bob, power.kind, radius, canvas);
    }
}

fn paint_orb(middle: Pos2, kind: PowerUpKind, radius: f32, canvas: &mut Canvas) {
    let colour = colour_of(kind);
    coin(middle, radius, mix(colour, Color32::BLACK, 0.55), canvas);
    canvas.ring(middle, radius, 2.0, colour);
    icon::paint_power(kind, middle, radius * 0.72, canvas);
}
