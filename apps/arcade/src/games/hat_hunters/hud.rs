//! What those have who play at a screen, at its bottom; and what everybody should know, in the middle.

use eframe::egui::{Align2, Color32, Rect, Vec2, pos2, vec2};
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

/// Where several share a screen: how large their names and keys are written, in points.
const NAME: f32 = 13.0;
const KEYS: f32 = 11.0;

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
    let part_width = screen.width() / players.len().max(1) as f32;
    let width = part_width - 12.0;
    let side = (screen.width() / 22.0).clamp(20.0, 32.0);
    let sharing = scene.sharing.iter().zip(Layout::ALL);
    let labels: Vec<Label> = sharing
        .map(|(player, layout)| Label::new(scene, *player, layout, canvas))
        .collect();
    let used = 2.0 * (side + 4.0) + stars_width(game, side, width) + 4.0;
    let are_beside = labels.iter().all(|label| used + label.width() <= width);
    for (nth, player) in players.iter().enumerate() {
        let left = screen.left() + part_width * nth as f32 + 6.0;
        let slots =
            Rect::from_min_size(pos2(left, screen.bottom() - 6.0 - side), vec2(width, side));
        paint_purse(game, *player, slots, canvas);
        match (labels.get(nth), are_beside) {
            (Some(label), true) => {
                let corner = slots.left_top() + vec2(used, 0.0);
                let band = Rect::from_min_size(corner, vec2(label.width(), side));
                label.paint(band, true, canvas);
            }
            (Some(label), false) => {
                // Keys cover a part of the field here, so that they are shown only when a round begins or is over.
                let shows_keys = is_new(game) || game.round().is_over();
                let size = label.size(shows_keys).min(vec2(width, side * 2.0));
                let corner = slots.left_top() - vec2(0.0, size.y + 3.0);
                label.paint(Rect::from_min_size(corner, size), shows_keys, canvas);
            }
            (None, _) => {}
        }
    }
}

/// Who a part of a shared screen belongs to, and with which keys it is played.
struct Label {
    name: String,
    name_size: Vec2,
    keys: String,
    keys_size: Vec2,
    colour: Color32,
}

impl Label {
    fn new(
        scene: &Scene<'_, HatHunters>,
        player: PlayerId,
        layout: Layout,
        canvas: &Canvas,
    ) -> Label {
        let name = named(scene, player);
        let [walk, place, item] =
            ["Directions", "Action 1", "Action 3"].map(|name| keys(name, layout));
        let keys = format!("{walk} · box: {place} · item: {item}");
        Label {
            name_size: canvas.text_size(&name, NAME),
            keys_size: canvas.text_size(&keys, KEYS),
            name,
            keys,
            colour: colour_of(player),
        }
    }

    fn width(&self) -> f32 {
        self.size(true).x
    }

    fn size(&self, shows_keys: bool) -> Vec2 {
        let margin = vec2(12.0, 2.0);
        match shows_keys {
            true => {
                let width = self.name_size.x.max(self.keys_size.x);
                vec2(width, self.name_size.y + self.keys_size.y) + margin
            }
            false => self.name_size + margin,
        }
    }

    fn paint(&self, band: Rect, shows_keys: bool, canvas: &mut Canvas) {
        on_screen(canvas, band, BACK);
        let spare = (band.height() - self.size(shows_keys).y) / 2.0 + 1.0;
        let at = band.left_top() + vec2(6.0, spare);
        canvas.text_on_screen(at, Align2::LEFT_TOP, &self.name, NAME, self.colour);
        if shows_keys {
            let (at, grey) = (at + vec2(0.0, self.name_size.y), Color32::from_gray(205));
            canvas.text_on_screen(at, Align2::LEFT_TOP, &self.keys, KEYS, grey);
        }
    }
}

/// Whether a round has just begun.
fn is_new(game: &HatHunters) -> bool {
    let round = game.round();
    round.number == 0 || game.clock().saturating_sub(round.since) < HINT
}

/// How wide the slot with the stars is: one for each that is wanted, or a number where those do not fit beside the two other slots.
fn stars_width(game: &HatHunters, side: f32, width: f32) -> f32 {
    let all = side * (0.62 * f32::from(game.rules().stars) + 0.38);
    match 2.0 * (side + 4.0) + all <= width {
        true => all,
        false => side * 2.6,
    }
}

/// What a player carries: the item, the box and the stars in slots from the left.
fn paint_purse(game: &HatHunters, player: PlayerId, slots: Rect, canvas: &mut Canvas) {
    let Some(purse) = game.purse_of(player) else {
        return;
    };
    let side = slots.height();
    let slot = |left: f32, width: f32| {
        Rect::from_min_size(slots.left_top() + vec2(left, 0.0), vec2(width, side))
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
    let width = stars_width(game, side, slots.width());
    let room = slot(2.0 * (side + 4.0), width);
    paint_slot(room, FRAME, canvas);
    paint_stars(room, purse.stars, game.rules().stars, canvas);
}

/// The stars somebody has and still needs: each, or as a number where the slot is too narrow.
fn paint_stars(slot: Rect, stars: u8, wanted: u8, canvas: &mut Canvas) {
    let side = slot.height();
    let step = side * 0.62;
    let paint_star = |nth: u8, colour: Color32, canvas: &mut Canvas| {
        let point = slot.left_center() + vec2(side * 0.5 + step * f32::from(nth), 0.0);
        let middle = canvas.to_world(point);
        star(middle, side * 0.31 / canvas.scale(), 0.0, colour, canvas);
    };
    if slot.width() + 0.5 >= step * f32::from(wanted) + side * 0.38 {
        for nth in 0..wanted {
            paint_star(nth, if nth < stars { GOLD } else { EMPTY }, canvas);
        }
        return;
    }
    paint_star(0, GOLD, canvas);
    let (at, words) = (
        slot.left_center() + vec2(side, 0.0),
        format!("{stars} / {wanted}"),
    );
    canvas.text_on_screen(at, Align2::LEFT_CENTER, &words, side * 0.45, GOLD);
}

/// Who has won the round, or the match, while that is so.
pub(super) fn paint_banner(game: &HatHunters, scene: &Scene<'_, HatHunters>, canvas: &mut Canvas) {
    let round = game.round();
    if !round.is_over() {
        if round.number > 0 && is_new(game) && !scene.sharing.is_empty() {
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
