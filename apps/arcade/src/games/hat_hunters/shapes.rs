//! Shapes of few triangles.

use std::f32::consts::TAU;

use eframe::egui::{Color32, Pos2, Vec2, vec2};

use crate::canvas::Canvas;

/// An ellipse.
pub(super) fn ellipse(middle: Pos2, radii: Vec2, colour: Color32, canvas: &mut Canvas) {
    const SIDES: usize = 14;
    let corner = |side| middle + way(side, SIDES) * radii;
    canvas.shaded((0..SIDES).map(|side| (corner(side), colour)));
}

/// A disc.
pub(super) fn coin(middle: Pos2, radius: f32, colour: Color32, canvas: &mut Canvas) {
    ellipse(middle, Vec2::splat(radius), colour, canvas);
}

/// A light that fades towards its edge.
pub(super) fn light(middle: Pos2, radius: f32, colour: Color32, canvas: &mut Canvas) {
    const SIDES: usize = 14;
    let edge = |side| (middle + way(side, SIDES) * radius, Color32::TRANSPARENT);
    let fan = std::iter::once((middle, colour)).chain((0..=SIDES).map(edge));
    canvas.shaded(fan);
}

/// A star of five points, turned by an angle.
pub(super) fn star(middle: Pos2, radius: f32, turn: f32, colour: Color32, canvas: &mut Canvas) {
    let point = |nth: i32| {
        let far = if nth.rem_euclid(2) == 0 {
            radius
        } else {
            radius * 0.46
        };
        middle + Vec2::angled(turn - TAU / 4.0 + nth as f32 * TAU / 10.0) * far
    };
    for tip in (0..10).step_by(2) {
        canvas.polygon(
            &[middle, point(tip - 1), point(tip), point(tip + 1)],
            colour,
        );
    }
}

/// A rectangle around a middle.
pub(super) fn block(middle: Pos2, half: Vec2, colour: Color32, canvas: &mut Canvas) {
    let (x, y) = (vec2(half.x, 0.0), vec2(0.0, half.y));
    let corners = [
        middle - x - y,
        middle + x - y,
        middle + x + y,
        middle - x + y,
    ];
    canvas.polygon(&corners, colour);
}

/// The direction of one of so many corners.
pub(super) fn way(side: usize, sides: usize) -> Vec2 {
    Vec2::angled(side as f32 * TAU / sides as f32)
}

/// Every other piece of a line through these points, of this width in points of the screen.
pub(super) fn dashes(
    points: impl Iterator<Item = Pos2>,
    width: f32,
    colour: Color32,
    canvas: &mut Canvas,
) {
    let mut begun: Option<Pos2> = None;
    for point in points {
        match begun.take() {
            Some(before) => canvas.line(before, point, width, colour),
            None => begun = Some(point),
        }
    }
}
