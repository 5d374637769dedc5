//! Round shapes of few triangles.

use std::f32::consts::TAU;

use eframe::egui::{Color32, Pos2, Vec2, vec2};

use crate::canvas::Canvas;

/// An ellipse.
pub(super) fn ellipse(middle: Pos2, radii: Vec2, colour: Color32, canvas: &mut Canvas) {
    const SIDES: usize = 16;
    let corner = |side| middle + way(side, SIDES) * radii;
    canvas.shaded((0..SIDES).map(|side| (corner(side), colour)));
}

/// A disc.
pub(super) fn coin(middle: Pos2, radius: f32, colour: Color32, canvas: &mut Canvas) {
    ellipse(middle, Vec2::splat(radius), colour, canvas);
}

/// A disc so round that one may stand at its edge.
pub(super) fn plate(middle: Pos2, radius: f32, colour: Color32, canvas: &mut Canvas) {
    const SIDES: usize = 120;
    canvas.shaded((0..SIDES).map(|side| (middle + way(side, SIDES) * radius, colour)));
}

/// A light that fades towards its edge.
pub(super) fn light(middle: Pos2, radius: f32, colour: Color32, canvas: &mut Canvas) {
    const SIDES: usize = 14;
    let edge = |side| (middle + way(side, SIDES) * radius, Color32::TRANSPARENT);
    let fan = std::iter::once((middle, colour)).chain((0..=SIDES).map(edge));
    canvas.shaded(fan);
}

/// A part of a ring, clockwise from the top: `part` is 0 to 1, the width in points of the screen.
pub(super) fn arc(
    middle: Pos2,
    radius: f32,
    part: f32,
    width: f32,
    colour: Color32,
    canvas: &mut Canvas,
) {
    let pieces = (part.clamp(0.0, 1.0) * 32.0).ceil() as usize;
    let point = |nth: usize| {
        let turn = part.clamp(0.0, 1.0) * TAU * nth as f32 / pieces.max(1) as f32;
        middle + Vec2::angled(turn - TAU / 4.0) * radius
    };
    for nth in 0..pieces {
        canvas.line(point(nth), point(nth + 1), width, colour);
    }
}

/// Every other piece of a circle, turned by an angle; the width in points of the screen.
pub(super) fn dashes(
    middle: Pos2,
    radius: f32,
    turn: f32,
    width: f32,
    colour: Color32,
    canvas: &mut Canvas,
) {
    const PIECES: usize = 48;
    let point =
        |nth: usize| middle + Vec2::angled(turn + nth as f32 * TAU / PIECES as f32) * radius;
    for nth in (0..PIECES).step_by(2) {
        canvas.line(point(nth), point(nth + 1), width, colour);
    }
}

/// Something thick whose half width is in units of the game.
pub(super) fn bar(from: Pos2, to: Pos2, half: f32, colour: Color32, canvas: &mut Canvas) {
    let along = (to - from).normalized();
    let side = vec2(-along.y, along.x) * half;
    canvas.polygon(&[from + side, to + side, to - side, from - side], colour);
}

/// The direction of one of so many corners.
pub(super) fn way(side: usize, sides: usize) -> Vec2 {
    Vec2::angled(side as f32 * TAU / sides as f32)
}
