//! What the viewer can do, at the bottom of its screen; and where the others are that it does not show.

use eframe::egui::{Align2, Color32, Pos2, Rect, pos2, vec2};
use samestep_catalog::sublockus::{Ability, Character, Sublockus};
use samestep_sync::PlayerId;

use crate::canvas::{Canvas, corners};

use super::{colour_of, icon, is_seen, spot};

/// The abilities in the order of the keys.
pub(super) const ORDER: [Ability; 4] = [
    Ability::Fireball,
    Ability::Strike,
    Ability::Bolt,
    Ability::Mend,
];

const BACK: Color32 = Color32::from_rgba_premultiplied(9, 10, 16, 200);
const FRAME: Color32 = Color32::from_rgba_premultiplied(70, 76, 100, 180);

/// Draws what the viewer can cast and carries, if there is room.
pub(super) fn paint(game: &Sublockus, viewer: PlayerId, canvas: &mut Canvas) {
    let screen = canvas.screen();
    if screen.width() < 240.0 || screen.height() < 140.0 {
        return;
    }
    paint_arrows(game, viewer, canvas);
    let Some(own) = game.character_of(viewer) else {
        return;
    };
    let side = (screen.width() / 26.0).clamp(19.0, 28.0);
    let mut slot = Rect::from_min_size(
        screen.left_bottom() + vec2(6.0, -6.0 - side),
        vec2(side, side),
    );
    for ability in ORDER {
        paint_slot(slot, canvas);
        paint_ability(game, own, ability, slot, canvas);
        slot = slot.translate(vec2(side + 3.0, 0.0));
    }
    slot = slot.translate(vec2(side * 0.4, 0.0));
    for (pocket, kind) in own.kit.pockets.iter().enumerate() {
        paint_slot(slot, canvas);
        let (middle, half) = icon::inside(canvas, slot, 0.62);
        icon::paint(*kind, middle, half, canvas);
        let corner = slot.right_bottom() - vec2(2.0, 0.0);
        let digit = (pocket + 1).to_string();
        let white = Color32::from_white_alpha(220);
        canvas.text_on_screen(corner, Align2::RIGHT_BOTTOM, &digit, 10.0, white);
        slot = slot.translate(vec2(side + 3.0, 0.0));
    }
}

fn paint_slot(slot: Rect, canvas: &mut Canvas) {
    on_screen(canvas, slot, BACK);
    let corners = corners(slot).map(|corner| canvas.to_world(corner));
    canvas.outline(&corners, 1.0, FRAME);
}

/// An ability that cannot be cast is dark as far as it has yet to recover.
fn paint_ability(
    game: &Sublockus,
    own: &Character,
    ability: Ability,
    slot: Rect,
    canvas: &mut Canvas,
) {
    let (middle, half) = icon::inside(canvas, slot, 0.62);
    icon::paint_ability(ability, middle, half, canvas);
    let stats = ability.stats();
    let left = own.ready[ability as usize].saturating_sub(game.clock());
    let cools = left as f32 / stats.cooldown.max(1) as f32;
    let lacks = 1.0 - f32::from(own.mana.max(0)) / f32::from(stats.mana.max(1));
    let dark = cools.max(lacks).clamp(0.0, 1.0);
    if dark > 0.0 {
        let cover = Rect::from_min_max(slot.min, pos2(slot.right(), slot.top() + side(slot, dark)));
        on_screen(canvas, slot.shrink(1.0), Color32::from_black_alpha(90));
        on_screen(canvas, cover, Color32::from_black_alpha(130));
    }
}

fn side(slot: Rect, part: f32) -> f32 {
    slot.height() * part
}

/// Fills a rectangle of the screen.
fn on_screen(canvas: &mut Canvas, rect: Rect, colour: Color32) {
    let rect = Rect::from_min_max(canvas.to_world(rect.min), canvas.to_world(rect.max));
    canvas.rect(rect, colour);
}

/// Points to characters outside of the screen.
fn paint_arrows(game: &Sublockus, viewer: PlayerId, canvas: &mut Canvas) {
    let edge = canvas.seen().shrink(10.0 / canvas.scale());
    for other in game.characters().as_slice() {
        let place = spot(other.place());
        let is_shown = other.player == viewer || canvas.sees(place, 0.5);
        if is_shown || !other.is_in(game.clock()) || !is_seen(game, Some(viewer), other.place()) {
            continue;
        }
        let tip: Pos2 = edge.clamp(place);
        let along = (place - tip).normalized() * (9.0 / canvas.scale());
        let across = vec2(-along.y, along.x) * 0.6;
        let foot = tip - along;
        let colour = colour_of(other.player);
        canvas.triangle(
            [tip, foot + across, foot - across],
            colour.gamma_multiply(0.9),
        );
    }
}
