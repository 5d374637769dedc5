//! Rawrlocks by hand.

use eframe::egui::{Pos2, Vec2};
use samestep_catalog::rawrlocks::{
    Ability, Avatar, Controls, Cursor, Heading, ONE, Place, Rawrlocks,
};
use samestep_sync::PlayerId;

use crate::drawn::HumanInput;

use super::spot;

/// The keys of the game.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("Directions", "walk"),
    (
        "Mouse",
        "aim; without it one aims at whoever is nearest, or ahead",
    ),
    ("Action 1", "throw fireballs, as long as it is held"),
    ("Action 2", "scourge: an explosion around you"),
    ("Action 3", "teleport to the mouse"),
    ("Action 4", "thrust yourself towards the mouse"),
];

/// How exactly a mouse that only looks around is told, in yards: a hand that trembles is no news.
const GRAIN: f32 = 4.0;

/// The state of a screen of Rawrlocks.
#[derive(Default)]
pub struct ViewState {
    /// Where a person without a mouse walked last.
    facing: Option<Heading>,
    /// When the person cast each ability last.
    cast_at: [Option<u32>; Ability::ALL.len()],
}

/// Translates the input of a person into controls.
pub(super) fn controls(
    game: &Rawrlocks,
    player: PlayerId,
    view_state: &mut ViewState,
    human: &HumanInput,
) -> Controls {
    let walk = walk(human);
    view_state.facing = walk.or(view_state.facing);
    let own = game.avatar_of(player).filter(|own| own.is_alive());
    let Some(own) = own else {
        return Controls {
            walk,
            ..Controls::default()
        };
    };
    let cast = cast(game, own, view_state, human);
    let cursor = match (human.pointer, cast) {
        (Some(pointer), Some(_)) => place(pointer.place),
        (Some(pointer), None) => {
            place(((pointer.place.to_vec2() / GRAIN).round() * GRAIN).to_pos2())
        }
        (None, cast) => aim(game, own, view_state.facing, cast),
    };
    Controls {
        walk,
        cursor: Cursor::at(cursor),
        cast,
    }
}

/// Where the keys point, if anywhere.
fn walk(human: &HumanInput) -> Option<Heading> {
    let along = |more: bool, less: bool| i32::from(more) - i32::from(less);
    let way = Place::new(
        along(human.right, human.left) * ONE,
        along(human.down, human.up) * ONE,
    );
    Heading::of(way)
}

fn place(at: Pos2) -> Place {
    let units = |yards: f32| (yards * ONE as f32) as i32;
    Place::new(units(at.x), units(at.y))
}

/// Where a person without a mouse points: fireballs go to who is nearest, all else goes ahead, and out of the lava into the arena.
fn aim(game: &Rawrlocks, own: &Avatar, facing: Option<Heading>, cast: Option<Ability>) -> Place {
    let here = own.place();
    let ahead = here.offset(facing.unwrap_or(own.look).way(200 * ONE));
    match cast {
        Some(Ability::Teleport | Ability::Thrust) if game.arena().is_lava(here) => Place::CENTRE,
        Some(Ability::Fireball) => nearest(game, own).unwrap_or(ahead),
        _ => ahead,
    }
}

fn nearest(game: &Rawrlocks, own: &Avatar) -> Option<Place> {
    let others = game.avatars().as_slice().iter();
    let others = others.filter(|other| other.player != own.player && other.is_alive());
    let gap = |place: Pos2| -> Vec2 { place - spot(own.place()) };
    let nearest = others.min_by(|one, other| {
        let [one, other] = [one, other].map(|avatar| gap(spot(avatar.place())).length());
        one.total_cmp(&other)
    });
    nearest.map(Avatar::place)
}

/// The ability to cast: the first one pressed, else fireballs as long as that is held.
fn cast(
    game: &Rawrlocks,
    own: &Avatar,
    view_state: &mut ViewState,
    human: &HumanInput,
) -> Option<Ability> {
    let clock = game.clock();
    let keys = Ability::ALL.into_iter().zip(human.actions);
    let pressed = keys.clone().filter(|(_, key)| key.pressed);
    let held = keys.filter(|(ability, key)| {
        // The last cast may not show in the state yet: a slow link must not repeat it.
        let stats = ability.stats();
        let over = |before: u32| before.saturating_add(stats.cast_ticks + stats.cooldown);
        let before = view_state.cast_at[*ability as usize];
        let is_over = before.is_none_or(|before| clock < before || clock >= over(before));
        *ability == Ability::Fireball && key.held && is_over
    });
    let mut wanted = pressed.chain(held).map(|(ability, _)| ability);
    let ability = wanted.find(|ability| own.can_cast(*ability, clock))?;
    view_state.cast_at[ability as usize] = Some(clock);
    Some(ability)
}
