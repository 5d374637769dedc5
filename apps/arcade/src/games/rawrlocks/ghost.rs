//! The authoritative positions, drawn over the shown ones.

use eframe::egui::{Color32, Pos2};
use samestep_catalog::rawrlocks::{FIREBALL_RADIUS, RADIUS, Rawrlocks};

use crate::canvas::{Canvas, mix};
use crate::drawn::Scene;
use crate::theme::GHOST;

use super::effects::cross;
use super::shapes::dashes;
use super::{colour_of, spot, yards};

/// Draws outlines of what is true, and lines to it from what was drawn.
pub(super) fn paint(truth: &Rawrlocks, scene: &Scene<'_, Rawrlocks>, canvas: &mut Canvas) {
    let drawn = scene.drawn;
    for (id, avatar) in truth.avatars().iter() {
        if !avatar.is_alive() {
            continue;
        }
        let shown = drawn.avatars().get(id);
        let from = shown.map(|shown| spot(shown.place()));
        let colour = ghostly(colour_of(avatar.player));
        outline(from, spot(avatar.place()), yards(RADIUS), colour, canvas);
    }
    for (id, shown) in drawn.avatars().iter() {
        let lives = truth
            .avatars()
            .get(id)
            .is_some_and(|avatar| avatar.is_alive());
        if shown.is_alive() && !lives {
            cross(
                spot(shown.place()),
                16.0,
                ghostly(colour_of(shown.player)),
                canvas,
            );
        }
    }
    for (id, fireball) in truth.fireballs().iter() {
        let shown = drawn.fireballs().get(id);
        let from = shown.map(|shown| spot(shown.place));
        let colour = ghostly(colour_of(fireball.player));
        let radius = yards(FIREBALL_RADIUS) * 1.3;
        outline(from, spot(fireball.place), radius, colour, canvas);
    }
    let radius = yards(truth.arena().radius);
    if truth.arena().radius != drawn.arena().radius {
        dashes(
            Pos2::ZERO,
            radius,
            0.0,
            1.6,
            GHOST.gamma_multiply(0.6),
            canvas,
        );
    }
}

/// Pale, so that it is not taken for the warlock itself.
fn ghostly(colour: Color32) -> Color32 {
    mix(colour, GHOST, 0.6)
}

/// An outline of what is true, and the line to it from where it is shown. It is paler if both are at the same place.
fn outline(shown: Option<Pos2>, place: Pos2, radius: f32, colour: Color32, canvas: &mut Canvas) {
    let far = shown.map_or(f32::INFINITY, |shown| shown.distance(place));
    if let Some(shown) = shown.filter(|_| far > 2.0) {
        canvas.line(shown, place, 1.2, colour.gamma_multiply(0.75));
        canvas.disc(shown, 2.0 / canvas.scale(), colour.gamma_multiply(0.75));
    }
    if canvas.sees(place, radius) {
        let strength = (0.3 + far / 40.0).min(0.9);
        dashes(
            place,
            radius,
            0.0,
            1.6,
            colour.gamma_multiply(strength),
            canvas,
        );
    }
}
