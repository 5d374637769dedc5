//! Round shapes of few triangles.

use std::f32::consts::TAU;

use eframe::egui::{Color32, Pos2, Vec2};

use crate::canvas::Canvas;

/// An ellipse of ten corners.
pub(super) fn ellipse(middle: Pos2, radii: Vec2, colour: Color32, canvas: &mut Canvas) {
    round::<10>(middle, radii, colour, canvas);
}

/// A disc of twelve corners.
pub(super) fn coin(middle: Pos2, radius: f32, colour: Color32, canvas: &mut Canvas) {
    round::<12>(middle, Vec2::splat(radius), colour, canvas);
}

fn round<const SIDES: usize>(middle: Pos2, radii: Vec2, colour: Color32, canvas: &mut Canvas) {
    let corner = |side| middle + way(side, SIDES) * radii;
    canvas.shaded((0..SIDES).map(|side| (corner(side), colour)));
}

/// A light that fades towards its edge. Nobody sees that the edge has corners.
pub(super) fn light(middle: Pos2, radius: f32, colour: Color32, canvas: &mut Canvas) {
    const SIDES: usize = 14;
    let edge = |side| (middle + way(side, SIDES) * radius, Color32::TRANSPARENT);
    let fan = std::iter::once((middle, colour)).chain((0..=SIDES).map(edge));
    canvas.shaded(fan);
}

/// A thick line whose half width is in units of the game.
pub(super) fn bar(from: Pos2, to: Pos2, half: Vec2, colour: Color32, canvas: &mut Canvas) {
    canvas.polygon(&[from + half, to + half, to - half, from - half], colour);
}

/// The direction of one of so many corners.
pub(super) fn way(side: usize, sides: usize) -> Vec2 {
    Vec2::angled(side as f32 * TAU / sides as f32)
}
