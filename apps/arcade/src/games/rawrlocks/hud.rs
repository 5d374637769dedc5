//! What the viewer can cast, at the bottom of its screen; who is out of sight; and what everybody should know, in the middle.

use eframe::egui::{Align2, Color32, Rect, pos2, vec2};
use samestep_catalog::rawrlocks::{Ability, Avatar, Phase, Rawrlocks};
use samestep_sync::PlayerId;

use crate::canvas::{Canvas, corners};
use crate::drawn::Scene;

use super::{colour_of, icon, power_up, spot};

const BACK: Color32 = Color32::from_rgba_premultiplied(9, 8, 14, 205);
const FRAME: Color32 = Color32::from_rgba_premultiplied(82, 72, 100, 190);

/// Ticks for which the number of a round is shown.
const TITLE: u32 = 90;

/// Draws it, if there is room.
pub(super) fn paint(game: &Rawrlocks, scene: &Scene<'_, Rawrlocks>, canvas: &mut Canvas) {
    let screen = canvas.screen();
    if screen.width() < 180.0 || screen.height() < 110.0 {
        return;
    }
    paint_arrows(game, canvas);
    let own = scene.viewer.and_then(|player| game.avatar_of(player));
    if let Some(own) = own.filter(|own| own.is_alive()) {
        paint_belt(game, own, canvas);
    }
    paint_words(game, scene, canvas);
}

/// The abilities in the order of their keys, and the power-ups that the viewer has.
fn paint_belt(game: &Rawrlocks, own: &Avatar, canvas: &mut Canvas) {
    let screen = canvas.screen();
    let side = (screen.width() / 22.0).clamp(20.0, 34.0);
    let corner = screen.left_bottom() + vec2(6.0, -6.0 - side);
    let mut slot = Rect::from_min_size(corner, vec2(side, side));
    for ability in Ability::ALL {
        paint_slot(slot, FRAME, canvas);
        let middle = canvas.to_world(slot.center());
        icon::paint_ability(ability, middle, side * 0.32 / canvas.scale(), canvas);
        paint_cooldown(game, own, ability, slot, canvas);
        slot = slot.translate(vec2(side + 4.0, 0.0));
    }
    for power in game.power_ups() {
        if power.holder != Some(own.player) {
            continue;
        }
        slot = slot.translate(vec2(side * 0.3, 0.0));
        let colour = power_up::colour_of(power.kind);
        paint_slot(slot, colour, canvas);
        let middle = canvas.to_world(slot.center());
        icon::paint_power(power.kind, middle, side * 0.3 / canvas.scale(), canvas);
        let seconds = power.held_until.saturating_sub(game.clock()).div_ceil(60);
        let at = slot.right_bottom() - vec2(2.0, 0.0);
        let words = seconds.to_string();
        canvas.text_on_screen(at, Align2::RIGHT_BOTTOM, &words, 11.0, Color32::WHITE);
        slot = slot.translate(vec2(side + 4.0, 0.0));
    }
}

/// An ability that cannot be cast is dark as far as it has yet to cool down; the one that is cast is framed.
fn paint_cooldown(
    game: &Rawrlocks,
    own: &Avatar,
    ability: Ability,
    slot: Rect,
    canvas: &mut Canvas,
) {
    if own
        .casting
        .is_some_and(|casting| casting.ability == ability)
    {
        let corners = corners(slot).map(|corner| canvas.to_world(corner));
        canvas.outline(&corners, 2.0, icon::colour_of(ability));
        return;
    }
    let left = own.ready[ability as usize].saturating_sub(game.clock());
    if left == 0 {
        return;
    }
    let part = (left as f32 / ability.stats().cooldown.max(1) as f32).min(1.0);
    let down = slot.top() + slot.height() * part;
    let cover = Rect::from_min_max(slot.min, pos2(slot.right(), down));
    on_screen(canvas, slot.shrink(1.0), Color32::from_black_alpha(110));
    on_screen(canvas, cover, Color32::from_black_alpha(140));
    let (at, words) = (slot.center(), left.div_ceil(60).to_string());
    canvas.text_on_screen(at, Align2::CENTER_CENTER, &words, 13.0, Color32::WHITE);
}

/// Points to warlocks outside of the screen.
fn paint_arrows(game: &Rawrlocks, canvas: &mut Canvas) {
    let edge = canvas.seen().shrink(10.0 / canvas.scale());
    for other in game.avatars().as_slice() {
        let place = spot(other.place());
        if !other.is_alive() || canvas.sees(place, 0.0) {
            continue;
        }
        let tip = edge.clamp(place);
        let along = (place - tip).normalized() * (12.0 / canvas.scale());
        let across = vec2(-along.y, along.x) * 0.6;
        let foot = tip - along;
        canvas.triangle([tip, foot + across, foot - across], colour_of(other.player));
    }
}

/// What everybody waits for, or who has won.
fn paint_words(game: &Rawrlocks, scene: &Scene<'_, Rawrlocks>, canvas: &mut Canvas) {
    let round = game.round();
    let age = game.clock().saturating_sub(round.since);
    let (words, colour) = match round.phase {
        Phase::Waiting => ("Waiting for somebody to fight".into(), Color32::WHITE),
        Phase::Starting { at } => {
            let seconds = at.saturating_sub(game.clock()).div_ceil(60);
            (format!("It begins in {seconds}"), Color32::WHITE)
        }
        Phase::Fighting if age < TITLE => (format!("Round {}", round.number), Color32::WHITE),
        Phase::Fighting => return,
        Phase::Over {
            winner, is_last, ..
        } => {
            let what = if is_last { "the match" } else { "the round" };
            let colour = winner.map_or(Color32::WHITE, colour_of);
            let words = match winner {
                Some(player) if Some(player) == scene.viewer => format!("You win {what}"),
                Some(player) => format!("{} wins {what}", named(scene, player)),
                None => "Nobody is left".into(),
            };
            (words, colour)
        }
    };
    let screen = canvas.screen();
    let high = (screen.height() / 14.0).clamp(15.0, 34.0);
    let middle = screen.center_top() + vec2(0.0, screen.height() * 0.2);
    let band = Rect::from_center_size(middle, vec2(screen.width(), high * 1.8));
    on_screen(canvas, band, Color32::from_black_alpha(140));
    let below = Rect::from_min_size(band.left_bottom(), vec2(band.width(), 2.0));
    on_screen(canvas, below, colour);
    canvas.text_on_screen(middle, Align2::CENTER_CENTER, &words, high, colour);
}

/// What a player is called.
fn named(scene: &Scene<'_, Rawrlocks>, player: PlayerId) -> String {
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
