//! Hat Hunters by hand.

use eframe::egui::{Vec2, vec2};
use samestep_catalog::hat_hunters::{Controls, HatHunters, Heading, ONE, Place};
use samestep_sync::PlayerId;

use crate::drawn::HumanInput;

use super::spot;

/// The keys of the game.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("Directions", "walk"),
    ("Action 1", "a box here, as soon as you have left the cell"),
    ("Action 3", "use the item"),
    ("Action 4", "use the item, as well"),
    (
        "Right button",
        "hold it to walk to the mouse, in any direction",
    ),
];

/// Translates the input of a person into controls.
pub(super) fn controls(game: &HatHunters, player: PlayerId, human: &HumanInput) -> Controls {
    let heading = keys(human).or_else(|| mouse(game, player, human));
    let pressed = |action: usize| human.actions[action].pressed;
    Controls {
        place_box: human.button(0).pressed,
        use_item: pressed(2) || pressed(3),
        ..Controls::steering(heading)
    }
}

/// Where the keys point, if anywhere.
fn keys(human: &HumanInput) -> Option<Heading> {
    let along = |more: bool, less: bool| f32::from(u8::from(more)) - f32::from(u8::from(less));
    heading(vec2(
        along(human.right, human.left),
        along(human.down, human.up),
    ))
}

/// To the mouse while its right button is held, until the character is there.
fn mouse(game: &HatHunters, player: PlayerId, human: &HumanInput) -> Option<Heading> {
    let pointer = human.pointer.filter(|pointer| pointer.secondary.held)?;
    let way = pointer.place - spot(game.character_of(player)?.place());
    heading(way).filter(|_| way.length() > 0.2)
}

fn heading(way: Vec2) -> Option<Heading> {
    let units = |cells: f32| (cells * ONE as f32) as i32;
    Heading::of(Place::new(units(way.x), units(way.y)))
}
