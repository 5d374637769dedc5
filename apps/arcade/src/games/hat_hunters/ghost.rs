//! The authoritative positions, drawn over the shown ones.

use eframe::egui::{Color32, Pos2, vec2};
use samestep_catalog::hat_hunters::{GREEN, HatHunters, ONE, RADIUS};

use crate::canvas::Canvas;
use crate::drawn::Scene;
use crate::theme::GHOST;

use super::shapes::{dashes, way};
use super::spot;

/// Draws outlines of what is true, and lines to it from what was drawn. They are all of one colour, so as to tell of nobody who it is.
pub(super) fn paint(truth: &HatHunters, scene: &Scene<'_, HatHunters>, canvas: &mut Canvas) {
    let drawn = scene.drawn;
    for (id, character) in truth.characters().iter().filter(|(_, it)| !it.is_out) {
        let shown = drawn.characters().get(id).filter(|shown| !shown.is_out);
        let shown = shown.map(|shown| spot(shown.place()));
        paint_one(shown, spot(character.place()), RADIUS, canvas);
    }
    for (id, shown) in drawn.characters().iter().filter(|(_, it)| !it.is_out) {
        if !truth.characters().contains(id) {
            cross(spot(shown.place()), 0.4, GHOST.gamma_multiply(0.8), canvas);
        }
    }
    for (id, projectile) in truth.projectiles().iter() {
        let shown = drawn.projectiles().get(id).map(|shown| spot(shown.place));
        paint_one(shown, spot(projectile.place), GREEN, canvas);
    }
    for (id, star) in truth.stars().iter().filter(|(_, star)| star.is_moving()) {
        let shown = drawn.stars().get(id).map(|shown| spot(shown.place));
        paint_one(shown, spot(star.place), GREEN, canvas);
    }
}

/// The outline of something, clearer the farther off it is shown, and the line from there.
fn paint_one(shown: Option<Pos2>, place: Pos2, radius: i32, canvas: &mut Canvas) {
    let far = shown.map_or(1.0, |shown| shown.distance(place));
    if let Some(shown) = shown.filter(|_| far > 0.06 && far < 8.0) {
        canvas.line(shown, place, 1.2, GHOST.gamma_multiply(0.75));
        canvas.disc(shown, 2.0 / canvas.scale(), GHOST.gamma_multiply(0.75));
    }
    let strength = (0.2 + far).min(0.9);
    let radius = radius as f32 / ONE as f32;
    let around = (0..=18).map(|side| place + way(side, 18) * radius);
    dashes(around, 1.4, GHOST.gamma_multiply(strength), canvas);
}

/// Marks what is shown but does not exist, or no longer.
pub(super) fn cross(place: Pos2, reach: f32, colour: Color32, canvas: &mut Canvas) {
    for along in [vec2(reach, reach), vec2(reach, -reach)] {
        canvas.line(place - along, place + along, 1.8, colour);
    }
}
