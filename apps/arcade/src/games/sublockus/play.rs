//! Sublockus by hand.

use eframe::egui::{Vec2, vec2};
use samestep_catalog::sublockus::{Ability, Act, Angle, Character, Controls, POCKETS, Sublockus};
use samestep_sync::PlayerId;

use crate::drawn::HumanInput;

use super::belt::ORDER;
use super::memory::ViewState;
use super::{is_seen, spot};

/// The keys of the game.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("Left, right", "run"),
    ("Up", "jump; hold it to jump higher"),
    ("Down", "drop through a ledge"),
    ("Mouse", "aim; without it one aims at whoever is in front"),
    ("Action 1", "throw fireballs, as long as it is held"),
    ("Action 2", "strike whoever is close"),
    ("Action 3", "cast a bolt: it hits at once"),
    (
        "Action 4",
        "let a fireball burst; without one, mend oneself",
    ),
    ("1 to 6", "wear or drink what is in a pocket"),
];

/// Translates the input of a person into controls.
pub(super) fn controls(
    game: &Sublockus,
    player: PlayerId,
    view_state: &mut ViewState,
    human: &HumanInput,
) -> Controls {
    let mut controls = Controls {
        left: human.left,
        right: human.right,
        jump: human.up,
        down: human.down,
        ..Controls::default()
    };
    let Some(own) = game.character_of(player) else {
        return controls;
    };
    controls.aim = angle(aim(game, own, view_state, human));
    controls.act = act(game, own, human);
    if controls.act == Act::None {
        controls.cast = cast(game, own, view_state, human);
    }
    controls
}

/// From the character to the pointer. Without one, at whoever is in front of it; else to where it goes or last went.
fn aim(game: &Sublockus, own: &Character, view_state: &mut ViewState, human: &HumanInput) -> Vec2 {
    let here = spot(own.place());
    if let Some(pointer) = human.pointer {
        let way = pointer.place - here;
        if way != Vec2::ZERO {
            view_state.facing = Some(way.normalized());
            return way;
        }
    }
    let along = |more: bool, less: bool| f32::from(u8::from(more)) - f32::from(u8::from(less));
    let keys = vec2(
        along(human.right, human.left),
        along(human.down, human.up) * 0.8,
    );
    if keys != Vec2::ZERO {
        view_state.facing = Some(keys.normalized());
    }
    let facing = view_state
        .facing
        .unwrap_or(Vec2::angled(own.aim.radians() as f32));
    foe(game, own, facing).unwrap_or(facing)
}

/// The direction of the nearest character that could be hit without turning around.
fn foe(game: &Sublockus, own: &Character, facing: Vec2) -> Option<Vec2> {
    const REACH: f32 = 20.0;
    let here = spot(own.place());
    let others = game.characters().as_slice().iter().filter(|other| {
        let place = other.place();
        let is_foe = other.player != own.player && other.is_target(game.clock());
        is_foe && is_seen(game, Some(own.player), place) && game.terrain().sees(own.place(), place)
    });
    let ways = others.map(|other| spot(other.place()) - here);
    let ahead = ways.filter(|way| {
        let is_ahead = facing.x.abs() < 0.1 || way.x * facing.x >= 0.0;
        is_ahead && way.length() < REACH
    });
    ahead.min_by(|one, other| one.length().total_cmp(&other.length()))
}

fn angle(way: Vec2) -> Angle {
    Angle::from_radians(f64::from(way.angle()))
}

/// The act of this step: one for every press.
fn act(game: &Sublockus, own: &Character, human: &HumanInput) -> Act {
    if let Some(digit) = human.digit
        && (1..=POCKETS as u8).contains(&digit)
        && usize::from(digit) <= own.kit.pockets.len()
    {
        return Act::Use(digit - 1);
    }
    if !human.actions[3].pressed {
        return Act::None;
    }
    let fireballs = game.projectiles().iter();
    let mut own_fireballs = fireballs.filter(|(_, ball)| ball.player == own.player);
    match own_fireballs.next() {
        Some((id, _)) => Act::Detonate(id),
        None => Act::None,
    }
}

/// The ability to cast: the first one pressed, else the one held, as often as possible.
fn cast(
    game: &Sublockus,
    own: &Character,
    view_state: &mut ViewState,
    human: &HumanInput,
) -> Option<Ability> {
    let clock = game.clock();
    let keys = || ORDER.into_iter().zip(human.actions);
    let pressed = keys().filter(|(_, key)| key.pressed);
    let held = keys().filter(|(ability, key)| {
        // The last cast may not show in the state yet: a slow link must not repeat it.
        let before = view_state.cast_at[*ability as usize];
        let is_over = before.is_none_or(|before| {
            clock < before || clock >= before.saturating_add(ability.stats().cooldown)
        });
        key.held && is_over
    });
    let mut wanted = pressed.chain(held).map(|(ability, _)| ability);
    let ability = wanted.find(|ability| own.can_cast(*ability, clock))?;
    view_state.cast_at[ability as usize] = Some(clock);
    Some(ability)
}
