//! The animations of events. `part` is the elapsed share of one, 0 to 1; `clear` its opacity.

use eframe::egui::{Align2, Color32, Pos2, Vec2, vec2};

use crate::canvas::{Canvas, mix};
use crate::drawn::FADES;

use super::fireball::{FIRE, HEART};
use super::scatter;
use super::shapes::{coin, light};

/// How much of an animation is over, 0 to 1.
pub(super) fn part(ago: f32, lasts: f32) -> f32 {
    (ago / lasts).clamp(0.0, 1.0)
}

/// How much of it is left to see: nothing at the end.
pub(super) fn fade(part: f32) -> f32 {
    (1.0 - part) * (1.0 - part)
}

/// Fast at first.
pub(super) fn ease(part: f32) -> f32 {
    1.0 - fade(part)
}

/// An explosion as far as it reaches.
pub(super) fn blast(
    middle: Pos2,
    reach: f32,
    part: f32,
    colour: Color32,
    clear: f32,
    canvas: &mut Canvas,
) {
    let left = fade(part) * clear;
    if left <= 0.0 {
        return;
    }
    light(
        middle,
        reach * 1.1,
        colour.gamma_multiply(0.5 * left),
        canvas,
    );
    let radius = reach * ease(part);
    canvas.ring(
        middle,
        radius,
        6.0 * (1.0 - part) + 1.0,
        colour.gamma_multiply(left),
    );
    for nth in 0..14 {
        let dice = |which| scatter(nth, 7, which);
        let along = Vec2::angled(nth as f32 * 0.449 + dice(1) * 0.4);
        let far = radius * (0.6 + 0.4 * dice(2));
        let (from, to) = (middle + along * (far * 0.7), middle + along * far);
        let white = mix(colour, Color32::WHITE, 0.5);
        canvas.line(from, to, 2.4, white.gamma_multiply(left));
    }
}

/// A fireball's end.
pub(super) fn burst(middle: Pos2, part: f32, clear: f32, canvas: &mut Canvas) {
    let left = fade(part) * clear;
    if left <= 0.0 {
        return;
    }
    light(middle, 60.0, FIRE.gamma_multiply(0.7 * left), canvas);
    coin(
        middle,
        22.0 * (1.0 - part),
        HEART.gamma_multiply(left),
        canvas,
    );
    for nth in 0..9 {
        let dice = |which| scatter(middle.x as i32, middle.y as i32, nth * 4 + which);
        let along = Vec2::angled(nth as f32 * 0.7 + dice(1));
        let far = ease(part) * (20.0 + 30.0 * dice(2));
        let colour = mix(FIRE, HEART, dice(3)).gamma_multiply(clear);
        coin(middle + along * far, 5.0 * (1.0 - part), colour, canvas);
    }
}

/// Smoke of what has burnt out.
pub(super) fn puff(middle: Pos2, part: f32, clear: f32, canvas: &mut Canvas) {
    let grey = Color32::from_gray(120).gamma_multiply(0.6 * fade(part) * clear);
    light(
        middle - vec2(0.0, 10.0 * part),
        12.0 + 16.0 * part,
        grey,
        canvas,
    );
}

/// Where somebody vanishes or appears.
pub(super) fn gate(middle: Pos2, part: f32, colour: Color32, clear: f32, canvas: &mut Canvas) {
    let left = fade(part) * clear;
    if left <= 0.0 {
        return;
    }
    light(middle, 50.0, colour.gamma_multiply(0.6 * left), canvas);
    canvas.ring(
        middle,
        12.0 + 34.0 * ease(part),
        2.5,
        colour.gamma_multiply(left),
    );
    for nth in 0..6 {
        let along = Vec2::angled(nth as f32 * 1.047 + part * 2.0) * 24.0;
        let rise = vec2(0.0, -40.0 * ease(part));
        let foot = middle + along;
        canvas.line(foot, foot + rise * 0.6, 2.0, colour.gamma_multiply(left));
    }
}

/// Words that rise from a place.
pub(super) fn number(
    middle: Pos2,
    words: &str,
    ago: f32,
    size: f32,
    colour: Color32,
    clear: f32,
    canvas: &mut Canvas,
) {
    let part = part(ago, FADES);
    let left = (1.0 - part * part) * (0.4 + 0.6 * clear);
    let aside = 16.0 * (scatter(middle.x as i32, middle.y as i32, 0) - 0.5);
    let place = middle + vec2(aside, -34.0 - 34.0 * ease(part));
    if left <= 0.02 || !canvas.sees(place, 0.0) {
        return;
    }
    let shade = vec2(1.0, 1.0) / canvas.scale();
    let black = Color32::BLACK.gamma_multiply(0.7 * left);
    canvas.text(place + shade, Align2::CENTER_CENTER, words, size, black);
    let colour = colour.gamma_multiply(left);
    canvas.text(place, Align2::CENTER_CENTER, words, size, colour);
}

/// The end of a warlock.
pub(super) fn shatter(middle: Pos2, part: f32, colour: Color32, clear: f32, canvas: &mut Canvas) {
    let left = (1.0 - part) * clear;
    if left <= 0.0 {
        return;
    }
    light(
        middle,
        30.0 + 50.0 * ease(part),
        Color32::WHITE.gamma_multiply(0.4 * fade(part) * clear),
        canvas,
    );
    canvas.ring(
        middle,
        20.0 + 60.0 * ease(part),
        2.5,
        colour.gamma_multiply(fade(part) * clear),
    );
    for nth in 0..12 {
        let dice = |which| scatter(middle.x as i32, middle.y as i32, nth * 5 + which);
        let along = Vec2::angled(nth as f32 * 0.524 + dice(1)) * (30.0 + 40.0 * dice(2));
        let chip = middle + along * ease(part);
        let half = Vec2::angled(dice(3) * 6.0 + part * 9.0) * (6.0 * (1.0 - 0.6 * part));
        let side = vec2(-half.y, half.x);
        let corners = [chip + half, chip + side, chip - half, chip - side];
        let shade = mix(colour, Color32::BLACK, 0.4 * dice(4));
        canvas.polygon(&corners, shade.gamma_multiply(left.min(0.6) / 0.6));
    }
}

/// Marks what was shown and has not happened.
pub(super) fn cross(middle: Pos2, reach: f32, colour: Color32, canvas: &mut Canvas) {
    for along in [vec2(reach, reach), vec2(reach, -reach)] {
        canvas.line(middle - along, middle + along, 1.8, colour);
    }
}
