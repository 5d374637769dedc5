//! Fireballs on their way.

use eframe::egui::{Color32, Vec2, vec2};
use samestep_catalog::rawrlocks::{Ability, FIREBALL_RADIUS, Fireball};

use crate::canvas::{Canvas, mix};

use super::shapes::{coin, light};
use super::{colour_of, spot, yards};

pub(super) const FIRE: Color32 = Color32::from_rgb(255, 126, 38);
pub(super) const HEART: Color32 = Color32::from_rgb(255, 236, 160);

/// Draws one, with a tail in its owner's colour. One of double damage is larger and whiter.
pub(super) fn paint(fireball: &Fireball, seconds: f32, canvas: &mut Canvas) {
    let middle = spot(fireball.place);
    if !canvas.sees(middle, 60.0) {
        return;
    }
    let is_strong = fireball.damage > Ability::Fireball.stats().damage;
    let radius = yards(FIREBALL_RADIUS) * if is_strong { 1.2 } else { 1.0 };
    let along = vec2(fireball.velocity.x as f32, fireball.velocity.y as f32).normalized();
    let side = Vec2::new(-along.y, along.x);
    let flicker = 1.0 + 0.12 * (seconds * 47.0 + middle.x * 0.3).sin();
    let owner = mix(FIRE, colour_of(fireball.player), 0.6);
    light(
        middle,
        radius * 4.0 * flicker,
        FIRE.gamma_multiply(0.4),
        canvas,
    );
    let tails = [
        (1.0, 6.0, owner.gamma_multiply(0.4)),
        (0.8, 4.2, FIRE.gamma_multiply(0.6)),
        (0.5, 2.6, HEART.gamma_multiply(0.8)),
    ];
    for (wide, long, colour) in tails {
        let wave = side * (radius * 0.35 * (seconds * 31.0 + long * 3.0).sin());
        let tip = middle - along * (radius * long * flicker) + wave;
        let half = side * (radius * wide);
        canvas.triangle([middle + half, tip, middle - half], colour);
    }
    coin(middle, radius, FIRE, canvas);
    let heart = if is_strong { Color32::WHITE } else { HEART };
    coin(middle + along * radius * 0.15, radius * 0.62, heart, canvas);
}
