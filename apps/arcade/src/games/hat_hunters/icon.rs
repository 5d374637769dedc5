//! Items as pictures.

use eframe::egui::{Color32, Pos2, Vec2, vec2};
use samestep_catalog::hat_hunters::ItemKind;

use crate::canvas::Canvas;

use super::shapes::{coin, ellipse, light};

pub(super) const GREEN: Color32 = Color32::from_rgb(84, 240, 96);
const DARK: Color32 = Color32::from_rgb(30, 28, 36);
const STEEL: Color32 = Color32::from_rgb(208, 214, 224);
const WOOD: Color32 = Color32::from_rgb(170, 118, 70);

/// Draws an item around a place; `half` is half its size, in units of the game.
pub(super) fn paint(item: ItemKind, middle: Pos2, half: f32, canvas: &mut Canvas) {
    let at = |x: f32, y: f32| middle + vec2(x, y) * half;
    let width = (half * canvas.scale() * 0.22).max(1.2);
    match item {
        ItemKind::Green => {
            light(middle, half * 1.2, GREEN.gamma_multiply(0.5), canvas);
            coin(middle, half * 0.62, DARK, canvas);
            coin(middle, half * 0.5, GREEN, canvas);
            coin(at(-0.16, -0.18), half * 0.16, Color32::WHITE, canvas);
        }
        ItemKind::Magnet => {
            let red = Color32::from_rgb(226, 70, 70);
            let arc =
                |turn: f32| middle + vec2(0.0, half * 0.12) + Vec2::angled(turn) * half * 0.55;
            for part in 0..8 {
                let turn = |nth: i32| std::f32::consts::PI * nth as f32 / 8.0;
                canvas.line(arc(turn(part)), arc(turn(part + 1)), width * 1.4, red);
            }
            for side in [-0.55, 0.55] {
                canvas.line(at(side, 0.14), at(side, -0.3), width * 1.4, red);
                canvas.line(at(side, -0.3), at(side, -0.7), width * 1.4, STEEL);
            }
        }
        ItemKind::Bomb => {
            coin(at(0.0, 0.14), half * 0.6, DARK, canvas);
            coin(
                at(-0.2, -0.06),
                half * 0.14,
                Color32::from_gray(130),
                canvas,
            );
            canvas.line(at(0.2, -0.36), at(0.46, -0.72), width * 0.7, WOOD);
            coin(
                at(0.5, -0.76),
                half * 0.16,
                Color32::from_rgb(255, 190, 70),
                canvas,
            );
        }
        ItemKind::Axe => {
            canvas.line(at(-0.5, 0.7), at(0.3, -0.6), width, WOOD);
            canvas.polygon(
                &[
                    at(0.06, -0.7),
                    at(0.56, -0.86),
                    at(0.8, -0.2),
                    at(0.42, -0.14),
                ],
                STEEL,
            );
        }
        ItemKind::Boots => {
            let leather = Color32::from_rgb(206, 120, 60);
            canvas.polygon(
                &[at(-0.4, -0.7), at(0.05, -0.7), at(0.05, 0.3), at(-0.4, 0.5)],
                leather,
            );
            canvas.polygon(
                &[
                    at(-0.4, 0.12),
                    at(0.2, 0.12),
                    at(0.66, 0.4),
                    at(0.66, 0.56),
                    at(-0.4, 0.56),
                ],
                leather,
            );
            canvas.polygon(
                &[
                    at(-0.44, 0.54),
                    at(0.7, 0.54),
                    at(0.7, 0.68),
                    at(-0.44, 0.68),
                ],
                DARK,
            );
            canvas.line(at(-0.8, -0.4), at(-0.5, -0.4), width * 0.6, STEEL);
            canvas.line(at(-0.9, 0.0), at(-0.5, 0.0), width * 0.6, STEEL);
        }
        ItemKind::Swap => {
            let (one, other) = (
                Color32::from_rgb(120, 190, 255),
                Color32::from_rgb(255, 170, 90),
            );
            canvas.line(at(-0.65, -0.28), at(0.4, -0.28), width, one);
            canvas.triangle([at(0.35, -0.62), at(0.8, -0.28), at(0.35, 0.06)], one);
            canvas.line(at(0.65, 0.34), at(-0.4, 0.34), width, other);
            canvas.triangle([at(-0.35, 0.0), at(-0.8, 0.34), at(-0.35, 0.68)], other);
        }
        ItemKind::Whistle => {
            let gold = Color32::from_rgb(244, 206, 92);
            canvas.polygon(
                &[
                    at(-0.1, -0.36),
                    at(0.8, -0.36),
                    at(0.8, -0.04),
                    at(-0.1, -0.04),
                ],
                gold,
            );
            ellipse(at(-0.2, 0.08), vec2(0.48, 0.46) * half, gold, canvas);
            coin(at(-0.2, 0.08), half * 0.17, DARK, canvas);
            canvas.line(at(-0.3, -0.6), at(-0.36, -0.86), width * 0.6, STEEL);
            canvas.line(at(0.0, -0.62), at(0.04, -0.9), width * 0.6, STEEL);
        }
    }
}
