//! The lava, and the rock above it.

use std::f32::consts::TAU;

use eframe::egui::{Color32, Pos2, Vec2, vec2};
use samestep_catalog::rawrlocks::Rawrlocks;

use crate::canvas::{Canvas, at, mix};

use super::shapes::{light, plate};
use super::{scatter, yards};

const DEEP: Color32 = Color32::from_rgb(92, 18, 8);
const GLOW: Color32 = Color32::from_rgb(255, 116, 24);
const CRUST: Color32 = Color32::from_rgb(46, 12, 10);
const ROCK: Color32 = Color32::from_rgb(66, 62, 74);
const ROCK_EDGE: Color32 = Color32::from_rgb(38, 34, 42);
const SEAM: Color32 = Color32::from_rgb(50, 46, 57);
const RUNE: Color32 = Color32::from_rgb(118, 92, 150);

/// Ticks before the arena shrinks in which its edge blinks.
const WARNING: u32 = 180;

/// Draws what everybody stands on.
pub(super) fn paint(game: &Rawrlocks, seconds: f32, canvas: &mut Canvas) {
    paint_lava(seconds, canvas);
    let radius = yards(game.arena().radius);
    if radius <= 0.0 {
        return;
    }
    // The edge of the rock is lit from below.
    plate(Pos2::ZERO, radius + 7.0, GLOW.gamma_multiply(0.55), canvas);
    plate(Pos2::ZERO, radius, ROCK_EDGE, canvas);
    plate(Pos2::ZERO, (radius - 5.0).max(0.0), ROCK, canvas);
    paint_stones(radius - 6.0, canvas);
    paint_rune(radius, seconds, canvas);
    paint_warning(game, radius, seconds, canvas);
}

fn paint_lava(seconds: f32, canvas: &mut Canvas) {
    canvas.fill(DEEP);
    let seen = canvas.seen();
    // As many spots as can be told from each other, however much is seen.
    let step = (seen.width().max(seen.height()) / 26.0).max(40.0);
    let from = |edge: f32| (edge / step).floor() as i32;
    for row in from(seen.top())..=from(seen.bottom()) {
        for column in from(seen.left())..=from(seen.right()) {
            let dice = |nth| scatter(column, row, nth);
            let drift = Vec2::angled(dice(1) * TAU + seconds * 0.25) * (step * 0.3);
            let corner = at(column as f32, row as f32).to_vec2() * step;
            let middle = corner.to_pos2() + vec2(dice(2), dice(3)) * step + drift;
            let pulse = 0.5 + 0.5 * (seconds * (0.5 + dice(4)) + dice(5) * TAU).sin();
            let colour = match dice(6) < 0.35 {
                true => CRUST.gamma_multiply(0.7),
                false => GLOW.gamma_multiply(0.12 + 0.3 * pulse),
            };
            light(middle, step * (0.6 + 0.5 * dice(7)), colour, canvas);
        }
    }
}

/// Seams between stones: rings, and lines across them.
fn paint_stones(radius: f32, canvas: &mut Canvas) {
    const WIDE: f32 = 62.0;
    let rings = (radius / WIDE) as i32;
    for ring in 1..=rings {
        let inner = ring as f32 * WIDE;
        canvas.ring(Pos2::ZERO, inner, 1.4, SEAM);
        let outer = (inner + WIDE).min(radius);
        let count = 6 * ring;
        for nth in 0..count {
            let off = scatter(ring, nth, 1) * 0.5;
            let along = Vec2::angled((nth as f32 + off) * TAU / count as f32);
            let (from, to) = (along * inner, along * outer);
            canvas.line(from.to_pos2(), to.to_pos2(), 1.4, SEAM);
        }
    }
}

/// A sign in the middle that turns slowly.
fn paint_rune(radius: f32, seconds: f32, canvas: &mut Canvas) {
    let size = (radius * 0.5).min(54.0);
    let colour = RUNE.gamma_multiply(0.55 + 0.2 * (seconds * 1.3).sin());
    canvas.ring(Pos2::ZERO, size, 1.6, colour);
    for turned in [0.0, TAU / 6.0] {
        let corner = |nth: usize| {
            let turn = turned + seconds * 0.08 + nth as f32 * TAU / 3.0;
            (Vec2::angled(turn) * size).to_pos2()
        };
        canvas.outline(&[corner(0), corner(1), corner(2)], 1.6, colour);
    }
}

/// The edge blinks before it falls into the lava.
fn paint_warning(game: &Rawrlocks, radius: f32, seconds: f32, canvas: &mut Canvas) {
    let left = game.arena().shrinks_at.saturating_sub(game.clock());
    if !game.is_fighting() || left > WARNING {
        return;
    }
    let urgent = 1.0 - left as f32 / WARNING as f32;
    let blink = 0.5 + 0.5 * (seconds * (6.0 + 10.0 * urgent)).sin();
    let colour = mix(ROCK_EDGE, GLOW, blink).gamma_multiply(0.4 + 0.6 * urgent);
    canvas.ring(Pos2::ZERO, radius - 4.0, 8.0 * canvas.scale(), colour);
}
