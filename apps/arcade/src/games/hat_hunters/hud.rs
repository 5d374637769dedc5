//! What the viewer has, at the bottom of its screen; and what everybody should know, in the middle.

use eframe::egui::{Align2, Color32, Rect, pos2, vec2};
use samestep_catalog::hat_hunters::HatHunters;
use samestep_sync::PlayerId;

use crate::canvas::{Canvas, corners};
use crate::drawn::Scene;

use super::shapes::star;
use super::{colour_of, ground, icon};

const BACK: Color32 = Color32::from_rgba_premultiplied(9, 12, 10, 205);
const FRAME: Color32 = Color32::from_rgba_premultiplied(82, 96, 78, 190);
const GOLD: Color32 = Color32::from_rgb(255, 214, 64);
const EMPTY: Color32 = Color32::from_rgb(70, 74, 66);

/// Draws the viewer's stars, its item and when it may place a box, if there is room.
pub(super) fn paint(game: &HatHunters, viewer: PlayerId, canvas: &mut Canvas) {
    let screen = canvas.screen();
    if screen.width() < 180.0 || screen.height() < 110.0 {
        return;
    }
    let Some(purse) = game.purse_of(viewer) else {
        return;
    };
    let side = (screen.width() / 22.0).clamp(20.0, 32.0);
    let slot = |left: f32, width: f32| {
        let corner = screen.left_bottom() + vec2(6.0 + left, -6.0 - side);
        Rect::from_min_size(corner, vec2(width, side))
    };
    let item = slot(0.0, side);
    paint_slot(item, colour_of(viewer), canvas);
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
    let step = side * 0.62;
    let room = slot(2.0 * (side + 4.0), step * wanted as f32 + side * 0.38);
    paint_slot(room, FRAME, canvas);
    for nth in 0..wanted {
        let point = room.left_center() + vec2(side * 0.5 + step * nth as f32, 0.0);
        let has_it = nth < usize::from(purse.stars);
        let colour = if has_it { GOLD } else { EMPTY };
        let middle = canvas.to_world(point);
        star(middle, side * 0.31 / canvas.scale(), 0.0, colour, canvas);
    }
}

/// Who has won the round, or the match, while that is so.
pub(super) fn paint_banner(game: &HatHunters, scene: &Scene<'_, HatHunters>, canvas: &mut Canvas) {
    let round = game.round();
    if !round.is_over() {
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
        Some(player) if Some(player) == scene.viewer => format!("You win {what}"),
        Some(player) => format!("{} wins {what}", named(scene, player)),
        None => format!("Nobody wins {what}"),
    };
    let screen = canvas.screen();
    let high = (screen.height() / 9.0).clamp(18.0, 44.0);
    let middle = screen.center_top() + vec2(0.0, screen.height() * 0.3);
    let band = Rect::from_center_size(middle, vec2(screen.width(), high * 1.9));
    on_screen(canvas, band, Color32::from_black_alpha(150));
    let colour = winner.map_or(Color32::WHITE, colour_of);
    let below = Rect::from_min_size(band.left_bottom(), vec2(band.width(), 2.0));
    on_screen(canvas, below, colour);
    canvas.text_on_screen(middle, Align2::CENTER_CENTER, &words, high, colour);
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
