//! Abilities and power-ups as pictures.

use std::f32::consts::TAU;

use eframe::egui::{Color32, Pos2, Vec2, vec2};
use samestep_catalog::rawrlocks::{Ability, PowerUpKind};

use crate::canvas::Canvas;

use super::power_up;
use super::shapes::coin;

/// The colour of an ability, wherever it is shown.
pub(super) fn colour_of(ability: Ability) -> Color32 {
    match ability {
        Ability::Fireball => Color32::from_rgb(255, 132, 44),
        Ability::Scourge => Color32::from_rgb(206, 120, 255),
        Ability::Teleport => Color32::from_rgb(96, 190, 255),
        Ability::Thrust => Color32::from_rgb(150, 240, 150),
    }
}

/// Draws an ability's picture, which reaches so far from its middle.
pub(super) fn paint_ability(ability: Ability, middle: Pos2, half: f32, canvas: &mut Canvas) {
    let at = |x: f32, y: f32| middle + vec2(x, y) * half;
    let colour = colour_of(ability);
    let width = (half * canvas.scale() * 0.2).max(1.2);
    match ability {
        Ability::Fireball => {
            canvas.triangle([at(-1.0, 0.95), at(-0.35, -0.4), at(0.6, 0.55)], colour);
            coin(at(0.25, -0.2), half * 0.66, colour, canvas);
            let heart = Color32::from_rgb(255, 232, 150);
            coin(at(0.34, -0.26), half * 0.34, heart, canvas);
        }
        Ability::Scourge => {
            coin(middle, half * 0.3, colour, canvas);
            for nth in 0..8 {
                let along = Vec2::angled(nth as f32 * TAU / 8.0);
                let (from, to) = (middle + along * half * 0.5, middle + along * half);
                canvas.line(from, to, width, colour);
            }
        }
        Ability::Teleport => {
            canvas.ring(
                at(-0.5, 0.5),
                half * 0.38,
                width * 0.8,
                colour.gamma_multiply(0.6),
            );
            canvas.line(at(-0.35, 0.35), at(0.2, -0.2), width * 0.8, colour);
            coin(at(0.45, -0.45), half * 0.45, colour, canvas);
        }
        Ability::Thrust => {
            for back in [0.0, 0.7] {
                let tip = at(0.9 - back, 0.0);
                canvas.line(at(0.1 - back, -0.75), tip, width, colour);
                canvas.line(at(0.1 - back, 0.75), tip, width, colour);
            }
        }
    }
}

/// Draws what a power-up gives.
pub(super) fn paint_power(kind: PowerUpKind, middle: Pos2, half: f32, canvas: &mut Canvas) {
    let at = |x: f32, y: f32| middle + vec2(x, y) * half;
    let colour = power_up::colour_of(kind);
    match kind {
        // A flash.
        PowerUpKind::Speed => {
            canvas.polygon(
                &[
                    at(0.25, -1.0),
                    at(0.6, -1.0),
                    at(0.1, -0.05),
                    at(-0.55, 0.15),
                ],
                colour,
            );
            canvas.triangle([at(-0.1, -0.15), at(0.6, -0.15), at(-0.35, 1.0)], colour);
        }
        // Two blades.
        PowerUpKind::Damage => {
            for side in [-1.0, 1.0] {
                canvas.polygon(
                    &[
                        at(0.85 * side, -1.0),
                        at(1.0 * side, -0.8),
                        at(-0.55 * side, 0.75),
                        at(-0.75 * side, 0.55),
                    ],
                    colour,
                );
                let (from, to) = (at(-0.9 * side, 0.3), at(-0.3 * side, 0.9));
                canvas.line(from, to, 2.0, colour);
            }
        }
    }
}
