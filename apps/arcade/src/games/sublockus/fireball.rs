//! Fireballs on their way.

use eframe::egui::{Color32, Vec2, vec2};
use samestep_catalog::sublockus::{FIREBALL, ONE, Projectile};

use crate::canvas::{Canvas, mix};

use super::shapes::light;
use super::{colour_of, spot};

pub(super) const FIRE: Color32 = Color32::from_rgb(255, 126, 38);
pub(super) const HEART: Color32 = Color32::from_rgb(255, 232, 150);

/// How far it reaches, in blocks.
pub(super) const RADIUS: f32 = FIREBALL as f32 / ONE as f32;

/// Draws one, with a tail in its owner's colour.
pub(super) fn paint(projectile: &Projectile, seconds: f32, canvas: &mut Canvas) {
    let middle = spot(projectile.place);
    if !canvas.sees(middle, 2.0) {
        return;
    }
    let along = vec2(projectile.velocity.x as f32, projectile.velocity.y as f32).normalized();
    let side = Vec2::new(-along.y, along.x);
    let flicker = 1.0 + 0.12 * (seconds * 47.0 + middle.x * 3.0).sin();
    let owner = mix(FIRE, colour_of(projectile.player), 0.55);
    light(middle, 1.2 * flicker, FIRE.gamma_multiply(0.4), canvas);
    let tails = [
        (1.0, 1.9, owner.gamma_multiply(0.35)),
        (0.8, 1.3, FIRE.gamma_multiply(0.6)),
        (0.5, 0.8, HEART.gamma_multiply(0.8)),
    ];
    for (wide, long, colour) in tails {
        let wave = side * (0.12 * (seconds * 31.0 + long * 9.0).sin());
        let tip = middle - along * (long * flicker) + wave;
        let half = side * (RADIUS * wide);
        canvas.triangle([middle + half, tip, middle - half], colour);
    }
    canvas.disc(middle, RADIUS * 1.05, FIRE);
    canvas.disc(middle + along * 0.04, RADIUS * 0.62, HEART);
}
