//! Where units of Skirmish really are, if that is not where they are drawn.

use eframe::egui::{Pos2, Rect, Vec2};
use samestep_catalog::skirmish::{Skirmish, Unit};

use super::ground::Sight;
use super::spot;
use crate::canvas::{Canvas, corners};
use crate::theme::GHOST;

/// The smallest difference that is drawn as a line, in points of the screen.
const LEAST: f32 = 1.2;

/// Marks each unit of the truth that is drawn elsewhere or not at all, with a line from where it is drawn.
pub(super) fn paint(truth: &Skirmish, drawn: Sight<'_>, canvas: &mut Canvas) {
    let window = canvas.seen().expand(1.0);
    let least = LEAST / canvas.scale();
    for (id, unit) in truth.units().iter() {
        let real = spot(unit.place);
        if !window.contains(real) {
            continue;
        }
        match drawn.game.units().get(id) {
            Some(seen) if drawn.sees(seen.place) => {
                let seen = spot(seen.place);
                let off = (real - seen).abs();
                if off.x.max(off.y) > least {
                    canvas.line(seen, real, 1.0, GHOST.gamma_multiply(0.55));
                    place(unit, real, 0.8, canvas);
                }
            }
            // Hidden from this player, or not yet received.
            Some(_) => {}
            None if drawn.sees(unit.place) => place(unit, real, 0.5, canvas),
            None => {}
        }
    }
}

/// A small square, hollow where there is room.
fn place(unit: &Unit, at: Pos2, strength: f32, canvas: &mut Canvas) {
    let colour = GHOST.gamma_multiply(strength);
    let width = if unit.kind.is_soldier() { 0.8 } else { 0.6 };
    let rect = Rect::from_center_size(at, Vec2::splat(width));
    match width * canvas.scale() {
        ..9.0 => {
            let size = Vec2::splat(2.0 / canvas.scale());
            canvas.rect(Rect::from_center_size(at, size), colour);
        }
        _ => canvas.outline(&corners(rect), 1.0, colour),
    }
}
