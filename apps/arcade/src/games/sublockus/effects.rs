//! The animations of events. `part` is the elapsed share of one, 0 to 1; `clear` its opacity.

use eframe::egui::{Align2, Color32, Pos2, Vec2, vec2};
use samestep_catalog::sublockus::{Ability, ONE, Place};

use crate::canvas::{Canvas, at, mix};
use crate::drawn::FADES;

use super::fireball::{FIRE, HEART};
use super::shapes::{coin, light};
use super::{scatter, spot};

/// How much of an animation is over, 0 to 1.
pub(super) fn part(ago: f32, lasts: f32) -> f32 {
    (ago / lasts).clamp(0.0, 1.0)
}

/// How much of it is left to see: nothing at the end.
pub(super) fn fade(part: f32) -> f32 {
    (1.0 - part) * (1.0 - part)
}

/// Fast at first.
fn ease(part: f32) -> f32 {
    1.0 - fade(part)
}

/// A pillar of light where a character enters.
pub(super) fn entered(middle: Pos2, part: f32, colour: Color32, clear: f32, canvas: &mut Canvas) {
    let left = fade(part) * clear;
    if left <= 0.0 {
        return;
    }
    let half = 0.5 * (1.0 - part) + 0.1;
    let top = at(middle.x - half, middle.y - 3.0 * ease(part) - 0.8);
    let pillar = eframe::egui::Rect::from_min_max(top, at(middle.x + half, middle.y + 0.87));
    canvas.gradient(
        pillar,
        Color32::TRANSPARENT,
        colour.gamma_multiply(0.8 * left),
    );
    light(
        middle,
        1.6,
        Color32::WHITE.gamma_multiply(0.4 * left),
        canvas,
    );
    canvas.ring(
        middle,
        0.3 + 1.3 * ease(part),
        2.0,
        colour.gamma_multiply(left),
    );
}

/// Dust behind the feet.
pub(super) fn dust(place: Place, part: f32, clear: f32, canvas: &mut Canvas) {
    let left = fade(part) * clear;
    if left <= 0.0 {
        return;
    }
    let foot = spot(place) + vec2(0.0, 0.8);
    for side in [-1.0, -0.4, 0.4, 1.0] {
        let middle = foot + vec2(side * (0.2 + 0.5 * ease(part)), -0.15 * part);
        let colour = Color32::from_white_alpha((90.0 * left) as u8);
        coin(middle, 0.07 + 0.1 * part, colour, canvas);
    }
}

/// The way of a blade.
pub(super) fn slash(middle: Pos2, turn: f32, part: f32, colour: Color32, canvas: &mut Canvas) {
    const PIECES: usize = 9;
    let left = 1.0 - part;
    if left <= 0.0 {
        return;
    }
    let reach = Ability::Strike.stats().reach as f32 / ONE as f32 * 1.6;
    let side = if turn.cos() < 0.0 { -1.0 } else { 1.0 };
    let now = ease(part) * 2.4 - 1.2;
    let way = |nth: usize| {
        let back = nth as f32 / PIECES as f32 * 1.6 * (0.4 + 0.6 * part.min(0.5) * 2.0);
        Vec2::angled(turn + side * (now - back).max(-1.2))
    };
    for nth in 0..PIECES {
        let [wide, next] = [nth, nth + 1].map(|nth| 0.5 * (1.0 - nth as f32 / PIECES as f32));
        let (one, two) = (way(nth), way(nth + 1));
        let corners = [
            middle + one * reach,
            middle + two * reach,
            middle + two * (reach - next),
            middle + one * (reach - wide),
        ];
        let strength = left.sqrt() * (1.0 - nth as f32 / PIECES as f32);
        canvas.polygon(&corners, colour.gamma_multiply(strength));
    }
}

/// Somebody mends itself.
pub(super) fn halo(middle: Pos2, part: f32, clear: f32, canvas: &mut Canvas) {
    let left = fade(part) * clear;
    let green = Color32::from_rgb(122, 226, 130);
    light(middle, 1.3, green.gamma_multiply(0.4 * left), canvas);
    for nth in 0..4 {
        let across = (nth as f32 - 1.5) * 0.36;
        let rise = 0.7 - 1.6 * part - 0.3 * scatter(nth, 0, 4);
        let place = middle + vec2(across, rise);
        for half in [vec2(0.12, 0.0), vec2(0.0, 0.12)] {
            canvas.line(place - half, place + half, 2.5, green.gamma_multiply(left));
        }
    }
}

/// A bolt: a line that is never straight and never the same.
pub(super) fn lightning(
    from: Place,
    to: Place,
    ago: f32,
    colour: Color32,
    left: f32,
    canvas: &mut Canvas,
) {
    if left <= 0.0 {
        return;
    }
    let (begin, end) = (spot(from), spot(to));
    let way = end - begin;
    let across = vec2(-way.y, way.x).normalized();
    let pieces = (way.length() / 0.7).clamp(2.0, 20.0) as i32;
    let flicker = (ago * 24.0) as i32;
    let corner = |nth: i32| {
        let is_end = nth == 0 || nth == pieces;
        let off = if is_end {
            0.0
        } else {
            scatter(nth, flicker, to.x) - 0.5
        };
        begin + way * (nth as f32 / pieces as f32) + across * (off * 0.7)
    };
    let pale = mix(colour, Color32::from_rgb(180, 235, 255), 0.5);
    for (width, colour) in [(7.0, pale.gamma_multiply(0.3)), (2.2, Color32::WHITE)] {
        for nth in 0..pieces {
            canvas.line(
                corner(nth),
                corner(nth + 1),
                width,
                colour.gamma_multiply(left),
            );
        }
    }
    light(end, 0.8, pale.gamma_multiply(0.8 * left), canvas);
}

/// A fireball's end: as far as it hurts.
pub(super) fn burst(place: Place, part: f32, colour: Color32, clear: f32, canvas: &mut Canvas) {
    let left = fade(part) * clear;
    if left <= 0.0 {
        return;
    }
    let middle = spot(place);
    let reach = Ability::Fireball.stats().reach as f32 / ONE as f32;
    canvas.disc(middle, 0.9 * (1.0 - part), HEART.gamma_multiply(left));
    canvas.ring(
        middle,
        reach * ease(part),
        4.0 * (1.0 - part) + 1.0,
        FIRE.gamma_multiply(left),
    );
    canvas.ring(
        middle,
        reach * ease(part) * 0.8,
        1.5,
        colour.gamma_multiply(left),
    );
    for nth in 0..9 {
        let dice = |which| scatter(place.x, place.y, nth * 4 + which);
        let along = Vec2::angled(nth as f32 * 0.7 + dice(1));
        let far = ease(part) * reach * (0.5 + 0.6 * dice(2));
        let drop = vec2(0.0, 0.8 * part * part);
        let size = 0.16 * (1.0 - part);
        let colour = mix(FIRE, HEART, dice(3)).gamma_multiply(clear);
        coin(middle + along * far + drop, size, colour, canvas);
    }
}

/// Sparks off a character that is hit.
pub(super) fn sparks(
    place: Place,
    part: f32,
    colours: [Color32; 2],
    clear: f32,
    canvas: &mut Canvas,
) {
    let left = fade(part) * clear;
    if left <= 0.0 {
        return;
    }
    let middle = spot(place);
    for nth in 0..8 {
        let dice = |which| scatter(place.x, place.y, nth * 4 + which);
        let along = Vec2::angled(nth as f32 * 0.785 + dice(1));
        let far = 0.3 + ease(part) * (0.6 + 0.8 * dice(2));
        let (from, to) = (
            middle + along * (far - 0.25 * (1.0 - part)),
            middle + along * far,
        );
        let colour = mix(colours[0], colours[1], dice(3));
        canvas.line(from, to, 2.4, colour.gamma_multiply(left.sqrt()));
    }
}

/// Words that rise from a place.
pub(super) fn number(
    place: Place,
    words: &str,
    ago: f32,
    size: f32,
    colour: Color32,
    clear: f32,
    canvas: &mut Canvas,
) {
    let part = part(ago, FADES);
    let left = (1.0 - part * part) * (0.4 + 0.6 * clear);
    let aside = 0.5 * (scatter(place.x, place.y, 0) - 0.5);
    let middle = spot(place) + vec2(aside, -0.9 - 1.3 * ease(part));
    if left <= 0.02 || !canvas.sees(middle, 0.0) {
        return;
    }
    let shade = vec2(1.0, 1.0) / canvas.scale();
    let black = Color32::BLACK.gamma_multiply(0.7 * left);
    canvas.text(middle + shade, Align2::CENTER_CENTER, words, size, black);
    canvas.text(
        middle,
        Align2::CENTER_CENTER,
        words,
        size,
        colour.gamma_multiply(left),
    );
}

/// The remains of a character.
pub(super) fn shatter(place: Place, part: f32, colour: Color32, clear: f32, canvas: &mut Canvas) {
    let left = (1.0 - part) * clear;
    if left <= 0.0 {
        return;
    }
    let middle = spot(place);
    let puff = Color32::WHITE.gamma_multiply(0.5 * fade(part) * clear);
    light(middle, 0.8 + 1.2 * ease(part), puff, canvas);
    canvas.ring(
        middle,
        0.4 + 2.0 * ease(part),
        2.0,
        colour.gamma_multiply(fade(part) * clear),
    );
    for nth in 0..12 {
        let dice = |which| scatter(place.x, place.y, nth * 5 + which);
        let along = Vec2::angled(nth as f32 * 0.524 + dice(1)) * (1.2 + 1.4 * dice(2));
        let fall = vec2(0.0, 3.2 * part * part - 0.8 * part);
        let chip = middle + along * ease(part) + fall;
        let half = Vec2::angled(dice(3) * 6.0 + part * 9.0) * (0.16 * (1.0 - 0.6 * part));
        let side = vec2(-half.y, half.x);
        let corners = [chip + half, chip + side, chip - half, chip - side];
        let shade = mix(colour, Color32::BLACK, 0.4 * dice(4));
        canvas.polygon(&corners, shade.gamma_multiply(left.min(0.6) / 0.6));
    }
}

/// Words for everybody.
pub(super) fn banner(words: &str, ago: f32, canvas: &mut Canvas) {
    let screen = canvas.screen();
    let middle = screen.center_top() + vec2(0.0, screen.height() * 0.25);
    let white = Color32::WHITE.gamma_multiply(1.0 - part(ago, FADES));
    canvas.text_on_screen(middle, Align2::CENTER_CENTER, words, 22.0, white);
}
