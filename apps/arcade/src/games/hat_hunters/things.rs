//! Stars, containers, projectiles and bombs.

use eframe::egui::{Align2, Color32, Pos2, Vec2, vec2};
use samestep_catalog::hat_hunters::{BLAST, Bomb, FUSE, HatHunters, ONE, Place, Projectile, Star};

use crate::canvas::{Canvas, mix};

use super::icon::GREEN;
use super::shapes::{block, coin, ellipse, light, star};
use super::spot;

const OUTLINE: Color32 = Color32::from_rgb(88, 58, 14);
const GOLD: Color32 = Color32::from_rgb(255, 214, 64);
const SHINE: Color32 = Color32::from_rgb(255, 246, 190);
const SHADOW: Color32 = Color32::from_rgba_premultiplied(0, 0, 0, 70);

/// Draws what lies on the ground.
pub(super) fn paint_below(game: &HatHunters, seconds: f32, canvas: &mut Canvas) {
    for (id, container) in game.containers().iter() {
        let phase = (id.number() % 31) as f32;
        paint_container(spot(container.cell.middle()), seconds + phase, canvas);
    }
    for (id, found) in game.stars().iter().filter(|(_, it)| !it.is_moving()) {
        paint_star(found, seconds + (id.number() % 17) as f32, canvas);
    }
    for bomb in game.bombs().as_slice() {
        paint_bomb(game, bomb, seconds, canvas);
    }
}

/// Draws what flies.
pub(super) fn paint_above(game: &HatHunters, seconds: f32, canvas: &mut Canvas) {
    for found in game.stars().as_slice().iter().filter(|it| it.is_moving()) {
        paint_star(found, seconds, canvas);
    }
    for projectile in game.projectiles().as_slice() {
        paint_projectile(projectile, seconds, canvas);
    }
}

fn way_of(velocity: Place) -> Vec2 {
    vec2(velocity.x as f32, velocity.y as f32) / ONE as f32
}

fn paint_star(found: &Star, seconds: f32, canvas: &mut Canvas) {
    let middle = spot(found.place);
    let (turn, float) = match found.is_moving() {
        true => (seconds * 7.0, 0.0),
        false => (0.12 * (seconds * 1.7).sin(), 0.05 * (seconds * 2.4).sin()),
    };
    if found.is_moving() {
        let way = way_of(found.velocity);
        for part in 1..6 {
            let behind = middle - way * (part as f32 * 2.0);
            let fade = 1.0 - part as f32 / 6.0;
            coin(behind, 0.2 * fade, GOLD.gamma_multiply(0.35 * fade), canvas);
        }
    }
    ellipse(middle + vec2(0.0, 0.26), vec2(0.2, 0.08), SHADOW, canvas);
    let middle = middle + vec2(0.0, float - 0.03);
    let glow = 0.4 + 0.12 * (seconds * 3.1).sin();
    light(middle, 0.62, GOLD.gamma_multiply(glow), canvas);
    star(middle, 0.37, turn, OUTLINE, canvas);
    star(middle, 0.31, turn, GOLD, canvas);
    star(middle - vec2(0.02, 0.03), 0.17, turn, SHINE, canvas);
}

/// A parcel with a ribbon.
fn paint_container(middle: Pos2, seconds: f32, canvas: &mut Canvas) {
    const DARK: Color32 = Color32::from_rgb(34, 44, 88);
    const SIDE: Color32 = Color32::from_rgb(76, 104, 196);
    const LID: Color32 = Color32::from_rgb(112, 146, 236);
    const RIBBON: Color32 = Color32::from_rgb(246, 240, 226);
    ellipse(middle + vec2(0.0, 0.25), vec2(0.3, 0.1), SHADOW, canvas);
    let middle = middle + vec2(0.0, -0.03 - 0.03 * (seconds * 2.0).sin().max(0.0));
    light(middle, 0.6, LID.gamma_multiply(0.3), canvas);
    block(middle + vec2(0.0, 0.04), vec2(0.3, 0.26), DARK, canvas);
    block(middle + vec2(0.0, 0.06), vec2(0.26, 0.21), SIDE, canvas);
    block(middle + vec2(0.0, -0.13), vec2(0.3, 0.09), LID, canvas);
    block(middle + vec2(0.0, 0.02), vec2(0.05, 0.25), RIBBON, canvas);
    for side in [-1.0, 1.0] {
        let bow = middle + vec2(side * 0.1, -0.27);
        ellipse(bow, vec2(0.1, 0.065), RIBBON, canvas);
    }
    if canvas.scale() > 20.0 {
        let words = middle + vec2(0.165, 0.08);
        let size = canvas.scale() * 0.26;
        canvas.text(words, Align2::CENTER_CENTER, "?", size, RIBBON);
    }
}

fn paint_projectile(projectile: &Projectile, seconds: f32, canvas: &mut Canvas) {
    if projectile.is_spent {
        return;
    }
    let (middle, way) = (spot(projectile.place), way_of(projectile.velocity));
    let along = way.normalized();
    let across = vec2(-along.y, along.x);
    let tail = middle - along * 1.5;
    canvas.shaded([
        (middle + across * 0.13, GREEN.gamma_multiply(0.7)),
        (tail, Color32::TRANSPARENT),
        (middle - across * 0.13, GREEN.gamma_multiply(0.7)),
    ]);
    for part in 1..5 {
        let wave = across * (0.07 * (seconds * 21.0 + part as f32 * 1.9).sin());
        let behind = middle - along * (0.24 * part as f32) + wave;
        let fade = 1.0 - part as f32 / 5.0;
        coin(
            behind,
            0.09 * fade,
            GREEN.gamma_multiply(0.8 * fade),
            canvas,
        );
    }
    light(middle, 0.6, GREEN.gamma_multiply(0.55), canvas);
    coin(middle, 0.2, Color32::from_rgb(14, 66, 26), canvas);
    coin(middle, 0.16, GREEN, canvas);
    coin(
        middle - vec2(0.05, 0.06),
        0.06,
        Color32::from_rgb(230, 255, 226),
        canvas,
    );
}

/// A bomb, the reach of its blast, and how much of its fuse is left.
fn paint_bomb(game: &HatHunters, bomb: &Bomb, seconds: f32, canvas: &mut Canvas) {
    let middle = spot(bomb.place);
    let left = bomb.bursts_at.saturating_sub(game.clock()) as f32 / FUSE as f32;
    let red = Color32::from_rgb(255, 84, 60);
    let beat = (seconds * (6.0 + 16.0 * (1.0 - left))).sin() * 0.5 + 0.5;
    let reach = BLAST as f32 / ONE as f32;
    canvas.ring(middle, reach, 1.2, red.gamma_multiply(0.3 + 0.3 * beat));
    light(middle, reach, red.gamma_multiply(0.1 * beat), canvas);
    ellipse(middle + vec2(0.0, 0.22), vec2(0.28, 0.1), SHADOW, canvas);
    let skin = mix(
        Color32::from_rgb(34, 32, 42),
        red,
        0.6 * beat * (1.0 - left),
    );
    coin(middle, 0.29 + 0.03 * beat, skin, canvas);
    coin(
        middle - vec2(0.1, 0.1),
        0.07,
        Color32::from_gray(150),
        canvas,
    );
    let spark = middle + vec2(0.2, -0.34);
    canvas.line(
        middle + vec2(0.12, -0.22),
        spark,
        2.0,
        Color32::from_rgb(170, 118, 70),
    );
    light(
        spark,
        0.3,
        Color32::from_rgb(255, 200, 90).gamma_multiply(0.8),
        canvas,
    );
    coin(spark, 0.05, Color32::WHITE, canvas);
}
