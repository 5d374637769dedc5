//! Warlocks, seen from above: robe, hood, eyes and staff; what they cast, and how they stand.

use eframe::egui::{Align2, Color32, Pos2, Rect, Vec2, vec2};
use samestep_catalog::rawrlocks::{
    Ability, Aim, Avatar, Casting, HEALTH, PowerUpKind, RADIUS, Rawrlocks,
};

use crate::canvas::{Canvas, at, mix};
use crate::drawn::Scene;

use super::shapes::{arc, bar, coin, dashes, ellipse, light, way};
use super::{colour_of, icon, power_up, scatter, spot, yards};

const DARK: Color32 = Color32::from_rgb(16, 13, 22);
const WOOD: Color32 = Color32::from_rgb(128, 92, 60);
const EYES: Color32 = Color32::from_rgb(255, 240, 150);

/// Draws everybody, the dead below the living.
pub(super) fn paint_all(game: &Rawrlocks, scene: &Scene<'_, Rawrlocks>, canvas: &mut Canvas) {
    let mut avatars: Vec<&Avatar> = game.avatars().as_slice().iter().collect();
    avatars.sort_by_key(|avatar| (avatar.is_alive(), avatar.place().y, avatar.player));
    for avatar in &avatars {
        match avatar.is_alive() {
            true => paint_cast(game, avatar, scene, canvas),
            false => paint_ashes(avatar, canvas),
        }
    }
    for avatar in avatars.iter().filter(|avatar| avatar.is_alive()) {
        paint_warlock(game, avatar, scene.seconds, canvas);
    }
    for avatar in avatars.iter().filter(|avatar| avatar.is_alive()) {
        let is_own = scene.viewer == Some(avatar.player);
        paint_standing(game, avatar, is_own, &scene.name_of(avatar.player), canvas);
    }
}

/// What an avatar is about to do, for everyone to see.
fn paint_cast(
    game: &Rawrlocks,
    avatar: &Avatar,
    scene: &Scene<'_, Rawrlocks>,
    canvas: &mut Canvas,
) {
    let Some(casting) = avatar.casting else {
        return;
    };
    let (middle, part) = (spot(avatar.place()), progress(game, &casting));
    let colour = icon::colour_of(casting.ability);
    match (casting.ability, casting.aim) {
        (Ability::Scourge, _) => {
            let reach = yards(Ability::Scourge.stats().reach);
            light(
                middle,
                reach,
                colour.gamma_multiply(0.1 + 0.25 * part),
                canvas,
            );
            dashes(
                middle,
                reach,
                scene.seconds,
                2.0,
                colour.gamma_multiply(0.8),
                canvas,
            );
            canvas.ring(middle, reach * part, 1.5, colour.gamma_multiply(0.6));
        }
        (_, Aim::Towards(aim)) => {
            let along = vec2(aim.x as f32, aim.y as f32).normalized();
            let from = middle + along * yards(RADIUS);
            let to = middle + along * (yards(RADIUS) + 30.0 + 60.0 * part);
            canvas.line(from, to, 2.0, colour.gamma_multiply(0.6));
            light(from, 10.0 + 12.0 * part, colour.gamma_multiply(0.7), canvas);
        }
        (_, Aim::At(target)) => {
            let end = spot(game.teleport_end(avatar.place(), target));
            light(middle, 40.0, colour.gamma_multiply(0.5 * part), canvas);
            // Only who teleports knows where to.
            if scene.viewer == Some(avatar.player) {
                dashes(end, yards(RADIUS), scene.seconds, 2.0, colour, canvas);
            }
        }
        (_, Aim::Around) => {}
    }
}

/// How much of a cast is over, 0 to 1.
fn progress(game: &Rawrlocks, casting: &Casting) -> f32 {
    let left = casting.fires_at.saturating_sub(game.clock()) as f32;
    let all = casting.ability.stats().cast_ticks.max(1) as f32;
    (1.0 - left / all).clamp(0.0, 1.0)
}

fn paint_warlock(game: &Rawrlocks, avatar: &Avatar, seconds: f32, canvas: &mut Canvas) {
    let middle = spot(avatar.place());
    let radius = yards(RADIUS);
    if !canvas.sees(middle, radius * 3.0) {
        return;
    }
    let look = Vec2::angled(avatar.look.radians());
    let side = vec2(-look.y, look.x);
    let colour = colour_of(avatar.player);
    let dark = mix(colour, DARK, 0.55);
    let phase = seconds + f32::from(avatar.player.0);
    ellipse(
        middle + vec2(0.0, radius * 0.25),
        vec2(radius * 1.05, radius),
        Color32::from_black_alpha(110),
        canvas,
    );
    for kind in PowerUpKind::ALL {
        if game.has_power(avatar.player, kind) {
            let aura = power_up::colour_of(kind);
            let spin = if kind == PowerUpKind::Speed {
                3.0
            } else {
                -2.0
            };
            light(middle, radius * 2.0, aura.gamma_multiply(0.45), canvas);
            dashes(middle, radius * 1.35, seconds * spin, 2.5, aura, canvas);
        }
    }
    if game.is_fighting() && game.arena().is_lava(avatar.place()) {
        paint_flames(middle, radius, seconds, canvas);
    }
    // The hem of the robe waves while it walks.
    let sway = if avatar.walk.is_some() { 9.0 } else { 2.0 };
    let hem = |nth: usize| {
        let wave = 1.0 + 0.06 * (phase * sway + nth as f32 * 2.4).sin();
        middle + way(nth, 18) * (radius * wave)
    };
    let robe: Vec<Pos2> = (0..18).map(hem).collect();
    canvas.polygon(&robe, dark);
    canvas.outline(&robe, 1.5, mix(colour, Color32::WHITE, 0.2));
    for nth in (0..18).step_by(3) {
        canvas.line(
            hem(nth),
            middle + way(nth, 18) * radius * 0.5,
            1.2,
            mix(dark, DARK, 0.5),
        );
    }
    // The staff beside it, with an orb in the colour of what it casts.
    let hand = middle + side * (radius * 0.78);
    let (foot, top) = (hand - look * (radius * 0.75), hand + look * (radius * 0.95));
    bar(foot, top, 1.7, WOOD, canvas);
    let (orb, size) = match avatar.casting {
        Some(casting) => (
            icon::colour_of(casting.ability),
            5.5 + 4.0 * progress(game, &casting),
        ),
        None => (mix(colour, Color32::WHITE, 0.4), 4.5),
    };
    light(top, size * 3.0, orb.gamma_multiply(0.5), canvas);
    coin(top, size, orb, canvas);
    coin(
        top - vec2(size, size) * 0.3,
        size * 0.35,
        Color32::WHITE,
        canvas,
    );
    // Shoulders, hood and what looks out of it.
    for end in [-1.0, 1.0] {
        coin(
            middle + side * (radius * 0.5 * end),
            radius * 0.38,
            colour,
            canvas,
        );
    }
    coin(middle, radius * 0.62, mix(colour, DARK, 0.2), canvas);
    let peak = middle - look * (radius * 0.85);
    let hood = side * (radius * 0.5);
    canvas.triangle(
        [middle + hood, peak, middle - hood],
        mix(colour, DARK, 0.35),
    );
    let face = middle + look * (radius * 0.2);
    coin(face, radius * 0.42, DARK, canvas);
    for end in [-1.0, 1.0] {
        let eye = face + look * (radius * 0.12) + side * (radius * 0.17 * end);
        coin(eye, radius * 0.09, EYES, canvas);
    }
}

fn paint_flames(middle: Pos2, radius: f32, seconds: f32, canvas: &mut Canvas) {
    let fire = super::fireball::FIRE;
    light(middle, radius * 2.2, fire.gamma_multiply(0.5), canvas);
    for nth in 0..9 {
        let along = way(nth, 9);
        let rise = (seconds * 2.5 + scatter(nth as i32, 3, 1)).fract();
        let foot = middle + along * radius * 0.9;
        let tip = foot + along * 8.0 - vec2(0.0, 10.0 + 22.0 * rise);
        let half = vec2(4.0 * (1.0 - rise), 0.0);
        let colour = mix(super::fireball::HEART, fire, rise).gamma_multiply(1.0 - rise);
        canvas.triangle([foot - half, tip, foot + half], colour);
    }
}

/// What is left of a warlock.
fn paint_ashes(avatar: &Avatar, canvas: &mut Canvas) {
    let (middle, radius) = (spot(avatar.place()), yards(RADIUS));
    if !canvas.sees(middle, radius) {
        return;
    }
    let ash = Color32::from_rgb(34, 31, 36);
    ellipse(middle, vec2(radius * 0.9, radius * 0.6), ash, canvas);
    for nth in 0..6 {
        let dice = |which| scatter(i32::from(avatar.player.0), nth, which);
        let place = middle + vec2(dice(1) - 0.5, (dice(2) - 0.5) * 0.7) * radius * 1.2;
        coin(
            place,
            2.0 + 2.5 * dice(3),
            Color32::from_rgb(62, 58, 62),
            canvas,
        );
    }
    // The hood lies there.
    let colour = mix(colour_of(avatar.player), DARK, 0.45);
    let hood = [vec2(-0.5, 0.25), vec2(0.1, -0.55), vec2(0.45, 0.3)];
    canvas.triangle(hood.map(|corner| middle + corner * radius), colour);
}

/// Health, cast and name above an avatar.
fn paint_standing(
    game: &Rawrlocks,
    avatar: &Avatar,
    is_own: bool,
    name: &str,
    canvas: &mut Canvas,
) {
    let point = 1.0 / canvas.scale();
    let (middle, radius) = (spot(avatar.place()), yards(RADIUS));
    if is_own {
        arc(
            middle,
            radius * 1.18,
            1.0,
            1.6,
            Color32::from_white_alpha(170),
            canvas,
        );
    }
    let wide = (34.0 * point).max(radius * 2.0);
    let health = f32::from(avatar.health) / f32::from(HEALTH);
    let top = middle - vec2(0.0, radius + 9.0 * point);
    let life = Rect::from_center_size(top, vec2(wide, 4.5 * point));
    canvas.rect(life.expand(point), DARK.gamma_multiply(0.85));
    canvas.bar(
        life,
        health,
        health_colour(health),
        Color32::from_rgb(58, 36, 44),
    );
    let mut above = life.top();
    if let Some(casting) = avatar.casting {
        let cast = life.translate(vec2(0.0, -6.5 * point));
        canvas.rect(cast.expand(point), DARK.gamma_multiply(0.85));
        let colour = icon::colour_of(casting.ability);
        canvas.bar(
            cast,
            progress(game, &casting),
            colour,
            Color32::from_rgb(40, 38, 50),
        );
        above = cast.top();
    }
    let bright = mix(colour_of(avatar.player), Color32::WHITE, 0.3);
    let place = at(middle.x, above - 2.0 * point);
    canvas.text(place, Align2::CENTER_BOTTOM, name, 12.0, bright);
}

fn health_colour(part: f32) -> Color32 {
    let (low, half, full) = (
        Color32::from_rgb(240, 74, 84),
        Color32::from_rgb(246, 196, 74),
        Color32::from_rgb(112, 218, 112),
    );
    match part < 0.5 {
        true => mix(low, half, part * 2.0),
        false => mix(half, full, part * 2.0 - 1.0),
    }
}
