//! The authoritative positions, drawn over the shown ones.

use std::f32::consts::PI;

use eframe::egui::{Color32, Pos2, Vec2, vec2};
use samestep_catalog::sublockus::{HALF, ONE, Sublockus};

use crate::canvas::{Canvas, mix};
use crate::drawn::Scene;
use crate::theme::GHOST;

use super::shapes::way;
use super::{colour_of, fireball, spot};

/// Draws outlines of what is true, and lines to it from what was drawn.
pub(super) fn paint(truth: &Sublockus, scene: &Scene<'_, Sublockus>, canvas: &mut Canvas) {
    let drawn = scene.drawn;
    for (id, character) in truth.characters().iter() {
        if !character.is_in(truth.clock()) {
            continue;
        }
        let place = spot(character.place());
        let shown = drawn.characters().get(id);
        let shown = shown.filter(|shown| shown.is_in(drawn.clock()));
        let colour = ghostly(colour_of(character.player));
        let from = shown.map(|shown| spot(shown.place()));
        let strength = paint_way(from, place, colour, canvas);
        if canvas.sees(place, 2.0) {
            paint_body(place, colour.gamma_multiply(strength), canvas);
        }
    }
    for (id, shown) in drawn.characters().iter() {
        if shown.is_in(drawn.clock()) && !truth.characters().contains(id) {
            let colour = ghostly(colour_of(shown.player));
            cross(spot(shown.place()), 0.45, colour, canvas);
        }
    }
    for (id, ball) in truth.projectiles().iter() {
        let place = spot(ball.place);
        let shown = drawn.projectiles().get(id);
        let colour = ghostly(colour_of(ball.player));
        let from = shown.map(|shown| spot(shown.place));
        let strength = paint_way(from, place, colour, canvas);
        if canvas.sees(place, 1.0) {
            let around = (0..12).map(|side| place + way(side, 12) * (fireball::RADIUS * 1.5));
            dashes(around, colour.gamma_multiply(strength), canvas);
        }
    }
}

/// Pale, so that it is not taken for the character itself.
fn ghostly(colour: Color32) -> Color32 {
    mix(colour, GHOST, 0.6)
}

/// The line from where something is shown to where it is. Returns how clearly the ghost itself is drawn: less if it is at the same place.
fn paint_way(shown: Option<Pos2>, place: Pos2, colour: Color32, canvas: &mut Canvas) -> f32 {
    let Some(shown) = shown else {
        return 0.9;
    };
    let far = shown.distance(place);
    // Beyond this distance it did not move there: it was respawned.
    if far > 0.1 && far < 12.0 {
        canvas.line(shown, place, 1.2, colour.gamma_multiply(0.75));
        canvas.disc(shown, 2.0 / canvas.scale(), colour.gamma_multiply(0.75));
    }
    (0.3 + far * 0.8).min(0.9)
}

/// A figure's outline.
fn paint_body(place: Pos2, colour: Color32, canvas: &mut Canvas) {
    const POINTS: i32 = 30;
    let around = (0..POINTS).map(|nth| place + capsule(nth as f32 / POINTS as f32));
    dashes(around, colour, canvas);
    canvas.disc(place, 1.8 / canvas.scale(), colour);
}

/// A point of the outline of a figure, which is straight at the sides and round above and below: 0 to 1 is once around.
fn capsule(part: f32) -> Vec2 {
    let blocks = |units: i32| units as f32 / ONE as f32;
    let radius = blocks(HALF.x);
    let straight = 2.0 * (blocks(HALF.y) - radius);
    let arc = PI * radius;
    let along = part * 2.0 * (arc + straight);
    let (half, side) = ((along / (arc + straight)) as i32, along % (arc + straight));
    let point = match side < arc {
        true => Vec2::angled(side / radius) * radius + vec2(0.0, straight / 2.0),
        false => vec2(-radius, straight / 2.0 - (side - arc)),
    };
    if half == 0 { point } else { -point }
}

/// Every other piece of a closed line.
fn dashes(around: impl Iterator<Item = Pos2>, colour: Color32, canvas: &mut Canvas) {
    let mut begun: Option<Pos2> = None;
    for corner in around {
        match begun.take() {
            Some(before) => canvas.line(before, corner, 1.6, colour),
            None => begun = Some(corner),
        }
    }
}

/// Marks what is shown but does not exist, or no longer.
pub(super) fn cross(place: Pos2, reach: f32, colour: Color32, canvas: &mut Canvas) {
    for along in [vec2(reach, reach), vec2(reach, -reach)] {
        canvas.line(place - along, place + along, 1.8, colour);
    }
}
