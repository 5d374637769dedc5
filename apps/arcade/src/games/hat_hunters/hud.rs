//! What those have who play at a screen, at its bottom; and what everybody should know, in the middle.

use eframe::egui::{Align2, Color32, Pos2, Rect, pos2, vec2};
use samestep_catalog::hat_hunters::HatHunters;
use samestep_sync::PlayerId;

use crate::canvas::{Canvas, corners};
use crate::drawn::Scene;
use crate::keyboard::{Layout, keys};

use super::shapes::star;
use super::{colour_of, ground, icon};

const BACK: Color32 = Color32::from_rgba_premultiplied(9, 12, 10, 205);
const FRAME: Color32 = Color32::from_rgba_premultiplied(82, 96, 78, 190);
const GOLD: Color32 = Color32::from_rgb(255, 214, 64);
const EMPTY: Color32 = Color32::from_rgb(70, 74, 66);

/// Where several share a screen: how high the lines with names and keys are, in points.
const NAME_HIGH: f32 = 17.0;
const KEYS_HIGH: f32 = 15.0;

/// How long those who share a screen are told to look for themselves when a round begins, in ticks.
const HINT: u32 = 5 * 60;

/// Draws for everyone at this screen its stars, its item and when it may place a box, if there is room.
///
/// Those who share a screen see what the others carry. Who watches that closely learns something, and loses sight of the field.
pub(super) fn paint(game: &HatHunters, scene: &Scene<'_, HatHunters>, canvas: &mut Canvas) {
    let screen = canvas.screen();
    if screen.width() < 180.0 || screen.height() < 110.0 {
        return;
    }
    let players = match scene.sharing {
        [] => scene.viewer.as_slice(),
        sharing => sharing,
    };
    let width = screen.width() / players.len().max(1) as f32;
    for ((nth, player), layout) in players.iter().enumerate().zip(Layout::ALL) {
        let left = screen.left() + width * nth as f32;
        let part = Rect::from_min_max(
            pos2(left + 6.0, screen.top()),
            pos2(left + width - 6.0, screen.bottom() - 6.0),
        );
        let side = (screen.width() / 22.0).clamp(20.0, 32.0);
        if !scene.sharing.is_empty() {
            let below = part.bottom() - side - 3.0;
            let lines = Rect::from_min_max(
                pos2(part.left(), below - NAME_HIGH - KEYS_HIGH),
                pos2(part.right(), below),
            );
            paint_name(scene, *player, layout, lines, canvas);
        }
        paint_purse(game, *player, part, side, canvas);
    }
}

/// Who a part of the screen belongs to, and with which keys it is played.
fn paint_name(
    scene: &Scene<'_, HatHunters>,
    player: PlayerId,
    layout: Layout,
    lines: Rect,
    canvas: &mut Canvas,
) {
    on_screen(canvas, lines, BACK);
    let name = named(scene, player);
    let (at, colour) = (lines.left_top() + vec2(6.0, 1.0), colour_of(player));
    canvas.text_on_screen(at, Align2::LEFT_TOP, &name, 13.0, colour);
    let [walk, place, item] = ["Directions", "Action 1", "Action 3"].map(|name| keys(name, layout));
    let words = format!("{walk} · box: {place} · item: {item}");
    let at = lines.left_top() + vec2(6.0, NAME_HIGH);
    canvas.text_on_screen(at, Align2::LEFT_TOP, &words, 11.0, Color32::from_gray(205));
}

/// What a player carries, at the lower edge of a part of the screen.
fn paint_purse(game: &HatHunters, player: PlayerId, part: Rect, side: f32, canvas: &mut Canvas) {
    let Some(purse) = game.purse_of(player) else {
        return;
    };
    let slot = |left: f32, width: f32| {
        let corner = part.left_bottom() + vec2(left, -side);
        Rect::from_min_size(corner, vec2(width, side))
    };
    let item = slot(0.0, side);
    paint_slot(item, colour_of(player), canvas);
    if let Some(held) = purse.item {
        let middle = canvas.to_world(item.center());
        icon::paint(held, middle, side * 0.36 / canvas.scale(), canvas);
    }
    let boxes = slot(side + 4.0, side);
    paint_slot(boxes, FRAME, canvas);
    let middle = canvas.to_world(boxes.center());
    ground::paint_box(middle, side * 0.32 / canvas.scale(), canvas);
    let cooldown = game.rules().cooldown.max(1);
    let left = purse.box_from.saturating_sub(game.clock()) as f32 / cooldown as f32;
    if left > 0.0 {
        let down = boxes.top() + boxes.height() * left.min(1.0);
        let cover = Rect::from_min_max(boxes.min, pos2(boxes.right(), down));
        on_screen(canvas, boxes.shrink(1.0), Color32::from_black_alpha(90));
        on_screen(canvas, cover, Color32::from_black_alpha(140));
    }
    let wanted = usize::from(game.rules().stars);
    let (step, first) = (side * 0.62, 2.0 * (side + 4.0));
    let all = step * wanted as f32 + side * 0.38;
    let paint_star = |point: Pos2, colour: Color32, canvas: &mut Canvas| {
        let middle = canvas.to_world(point);
        star(middle, side * 0.31 / canvas.scale(), 0.0, colour, canvas);
    };
    if first + all <= part.width() {
        let room = slot(first, all);
        paint_slot(room, FRAME, canvas);
        for nth in 0..wanted {
            let point = room.left_center() + vec2(side * 0.5 + step * nth as f32, 0.0);
            let has_it = nth < usize::from(purse.stars);
            paint_star(point, if has_it { GOLD } else { EMPTY }, canvas);
        }
        return;
    }
    // Many stars are counted.
    let room = slot(first, side * 2.6);
    paint_slot(room, FRAME, canvas);
    let point = room.left_center() + vec2(side * 0.5, 0.0);
    paint_star(point, GOLD, canvas);
    let words = format!("{} / {wanted}", purse.stars);
    let at = point + vec2(side * 0.5, 0.0);
    canvas.text_on_screen(at, Align2::LEFT_CENTER, &words, side * 0.45, GOLD);
}

/// Who has won the round, or the match, while that is so.
pub(super) fn paint_banner(game: &HatHunters, scene: &Scene<'_, HatHunters>, canvas: &mut Canvas) {
    let round = game.round();
    if !round.is_over() {
        let is_new = round.number > 0 && game.clock().saturating_sub(round.since) < HINT;
        if is_new && !scene.sharing.is_empty() {
            let words = "Move to find out which one you are";
            paint_words(words, 0.5, Color32::WHITE, canvas);
        }
        return;
    }
    let winner = if round.is_last {
        game.leader()
    } else {
        round.winner
    };
    let what = if round.is_last {
        "the match"
    } else {
        "the round"
    };
    let words = match winner {
        Some(player) if Some(player) == scene.viewer && scene.sharing.is_empty() => {
            format!("You win {what}")
        }
        Some(player) => format!("{} wins {what}", named(scene, player)),
        None => format!("Nobody wins {what}"),
    };
    let colour = winner.map_or(Color32::WHITE, colour_of);
    paint_words(&words, 1.0, colour, canvas);
}

/// Words for everybody, on a band across the screen; `size` is that of the largest.
fn paint_words(words: &str, size: f32, colour: Color32, canvas: &mut Canvas) {
    let screen = canvas.screen();
    let high = (screen.height() / 9.0).clamp(18.0, 44.0) * size;
    let middle = screen.center_top() + vec2(0.0, screen.height() * 0.3 * size);
    let band = Rect::from_center_size(middle, vec2(screen.width(), high * 1.9));
    on_screen(canvas, band, Color32::from_black_alpha(150));
    let below = Rect::from_min_size(band.left_bottom(), vec2(band.width(), 2.0));
    on_screen(canvas, below, colour);
    canvas.text_on_screen(middle, Align2::CENTER_CENTER, words, high, colour);
}

/// What a player is called.
pub(super) fn named(scene: &Scene<'_, HatHunters>, player: PlayerId) -> String {
    let name = scene.name_of(player);
    match name.parse::<u32>() {
        Ok(number) => format!("Player {number}"),
        Err(_) => name,
    }
}

fn paint_slot(slot: Rect, frame: Color32, canvas: &mut Canvas) {
    on_screen(canvas, slot, BACK);
    let corners = corners(slot).map(|corner| canvas.to_world(corner));
    canvas.outline(&corners, 1.2, frame);
}

/// Fills a rectangle of the screen.
fn on_screen(canvas: &mut Canvas, rect: Rect, colour: Color32) {
    let rect = Rect::from_min_max(canvas.to_world(rect.min), canvas.to_world(rect.max));
    canvas.rect(rect, colour);
}
