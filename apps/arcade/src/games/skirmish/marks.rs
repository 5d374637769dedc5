//! The marks of a player of Skirmish: orders of squads, the selection, the menu of what can be built.

use eframe::egui::{Align2, Color32, Pos2, Rect, pos2, vec2};
use samestep_catalog::skirmish::{Order, SideId, Skirmish, Squad};

use super::keyboard::Circle;
use super::map::panel;
use super::spot;
use super::view_state::{Act, MARK, Make, Mark, NOTE, ViewState};
use crate::canvas::Canvas;
use crate::theme;

const ATTACK: Color32 = Color32::from_rgb(0xff, 0x6b, 0x57);
const MOVE: Color32 = Color32::from_rgb(0x7d, 0xf0, 0x9a);
const GATHER: Color32 = Color32::from_rgb(0xff, 0xd3, 0x55);
const CIRCLE: Color32 = Color32::from_rgb(0xff, 0xff, 0xe0);

/// Draws where a side's squads are sent, as its state says.
pub(super) fn paint_orders(
    game: &Skirmish,
    side: SideId,
    view_state: &ViewState,
    canvas: &mut Canvas,
) {
    for (at, squad) in game.squads(side).iter().enumerate() {
        let is_chosen = view_state.squad == Some(at as u8);
        if !squad.is_empty() && (squad.at != squad.place || is_chosen && at > 0) {
            paint_order(at, squad, is_chosen, canvas);
        }
    }
}

fn paint_order(at: usize, squad: &Squad, is_chosen: bool, canvas: &mut Canvas) {
    let colour = match squad.order {
        Order::Attack => ATTACK,
        Order::Move => MOVE,
        Order::Gather => GATHER,
    };
    let strength = if is_chosen { 0.8 } else { 0.3 };
    let colour = colour.gamma_multiply(strength);
    let (from, to) = (spot(squad.at), spot(squad.place));
    dashes(from, to, colour, canvas);
    let size = 5.0 / canvas.scale();
    match squad.order {
        Order::Attack => {
            canvas.line(to + vec2(-size, -size), to + vec2(size, size), 2.0, colour);
            canvas.line(to + vec2(-size, size), to + vec2(size, -size), 2.0, colour);
        }
        Order::Move | Order::Gather => canvas.ring(to, size, 2.0, colour),
    }
    if is_chosen {
        let words = format!("{}", at + 1);
        let place = to + vec2(1.4, -1.4) * size;
        canvas.text(place, Align2::LEFT_BOTTOM, &words, 12.0, colour);
    }
}

/// A broken line, of at most some dozens of pieces.
fn dashes(from: Pos2, to: Pos2, colour: Color32, canvas: &mut Canvas) {
    let way = to - from;
    let points = way.length() * canvas.scale();
    let pieces = (points / 10.0).clamp(0.0, 60.0) as usize;
    for piece in 0..pieces {
        let along = |part: f32| from + way * ((piece as f32 + part) / pieces as f32);
        canvas.line(along(0.0), along(0.5), 1.0, colour);
    }
}

/// Draws the selection and the cursor at once, without waiting for the network.
pub(super) fn paint_selection(view_state: &ViewState, canvas: &mut Canvas) {
    if let Some((from, to)) = view_state.drag {
        let Circle { centre, radius } = Circle::across(from, to);
        canvas.disc(centre, radius, CIRCLE.gamma_multiply(0.06));
        canvas.ring(centre, radius, 1.5, CIRCLE.gamma_multiply(0.9));
    }
    for mark in &view_state.marks {
        paint_mark(mark, canvas);
    }
    if let Some(place) = view_state.crosshair {
        let point = 1.0 / canvas.scale();
        for way in [vec2(1.0, 0.0), vec2(0.0, 1.0)] {
            for side in [-1.0, 1.0] {
                let (near, far) = (way * (side * 4.0 * point), way * (side * 11.0 * point));
                canvas.line(place + near, place + far, 2.0, CIRCLE.gamma_multiply(0.8));
            }
        }
    }
}

fn paint_mark(mark: &Mark, canvas: &mut Canvas) {
    let left = f32::from(mark.left) / f32::from(MARK);
    let (colour, radius) = match mark.what {
        Act::Attack => (ATTACK, 14.0 * left / canvas.scale()),
        Act::Move => (MOVE, 14.0 * left / canvas.scale()),
        Act::Gather | Act::Make => (GATHER, 16.0 * left / canvas.scale()),
        Act::Select(radius) => (CIRCLE, radius),
    };
    canvas.ring(mark.place, radius, 2.0, colour.gamma_multiply(left));
}

/// Draws the menu, if it is open, and the message to the player.
pub(super) fn paint_menu(
    game: &Skirmish,
    side: SideId,
    view_state: &ViewState,
    canvas: &mut Canvas,
) {
    let screen = canvas.screen();
    let mut bottom = screen.bottom() - 8.0;
    if view_state.is_making {
        let gold = game.sides().get(side.index()).map_or(0, |side| side.gold);
        let width = ((screen.width() - 16.0) / 6.0).min(92.0);
        let left = screen.center().x - width * 3.0;
        for (at, make) in Make::ALL.into_iter().enumerate() {
            let corner = pos2(left + width * at as f32, bottom - 38.0);
            let card = Rect::from_min_size(corner, vec2(width - 4.0, 38.0));
            paint_card(card, at + 1, make, gold >= make.cost(), canvas);
        }
        bottom -= 46.0;
    }
    if let Some(note) = &view_state.note {
        let strength = (f32::from(note.left) / f32::from(NOTE) * 3.0).min(1.0);
        let at = pos2(screen.center().x, bottom);
        let colour = theme::WARNING.gamma_multiply(strength);
        canvas.text_on_screen(at, Align2::CENTER_BOTTOM, &note.words, 13.0, colour);
    }
}

fn paint_card(card: Rect, digit: usize, make: Make, has_gold: bool, canvas: &mut Canvas) {
    panel(card, theme::CARD.gamma_multiply(0.92), canvas);
    let (strong, faint) = match has_gold {
        true => (theme::TEXT, GATHER),
        false => (theme::FAINT, theme::FAINT),
    };
    let words = format!("{digit} {}", make.name());
    let (top, foot) = (
        card.center_top() + vec2(0.0, 4.0),
        card.center_bottom() - vec2(0.0, 4.0),
    );
    canvas.text_on_screen(top, Align2::CENTER_TOP, &words, 12.5, strong);
    let price = format!("{} gold", make.cost());
    canvas.text_on_screen(foot, Align2::CENTER_BOTTOM, &price, 11.0, faint);
}
