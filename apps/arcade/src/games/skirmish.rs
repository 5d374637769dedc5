//! Skirmish on the screen.

mod buildings;
mod events;
mod ghost;
mod ground;
mod keyboard;
mod map;
mod marks;
mod sounds;
#[cfg(test)]
mod tests;
mod units;
mod view_state;

use eframe::egui::{Pos2, Rect, Vec2, pos2};
use samestep_catalog::skirmish::{Command, ONE, Place, SQUADS, SideId, Skirmish, SkirmishEvent};
use samestep_sync::{EntityId, PlayerId};

use self::ground::Sight;
use self::keyboard::Circle;
use self::units::{Chosen, Colours};
use self::view_state::ViewState;
use super::camera::narrowness;
use crate::canvas::{Canvas, Frame};
use crate::drawn::{Drawn, HumanInput, Scene};
use crate::sound::Heard;
use crate::theme::player_name;

/// Points to a unit that a screen has at first, at least.
const COMFORTABLE: f32 = 4.1;
/// Units that it shows at first along its shorter side, at most.
const ENOUGH: f32 = 84.0;

/// A place in units.
fn spot(place: Place) -> Pos2 {
    let one = ONE as f32;
    pos2(place.x as f32 / one, place.y as f32 / one)
}

/// The whole map, in units.
fn map_of(game: &Skirmish) -> Rect {
    Rect::from_min_size(Pos2::ZERO, Vec2::splat(f32::from(game.size())))
}

/// The part of the map that a player's screen shows at first, around its home: the screen is filled, and units can be told apart.
fn around(home: Pos2, map: Rect, screen: Vec2) -> Frame {
    let filled = map.width() * narrowness(screen);
    let readable = screen.min_elem() / COMFORTABLE;
    let span = filled.min(readable).min(ENOUGH);
    let inwards = (map.center() - home) * (span / map.width().max(1.0) * 0.3);
    Frame {
        centre: home + inwards,
        size: Vec2::splat(span),
    }
}

impl Drawn for Skirmish {
    type ViewState = ViewState;

    const KEYS: &'static [(&'static str, &'static str)] = keyboard::KEYS;

    fn frame(&self, viewer: Option<PlayerId>, view_state: &ViewState, screen: Vec2) -> Frame {
        let map = map_of(self);
        let side = viewer.and_then(|player| self.side_of(player));
        let usual = match side {
            Some(side) => around(spot(self.sides()[side.index()].home), map, screen),
            None => Frame::between(map.min, map.max),
        };
        view_state.camera.frame(map, usual, screen)
    }

    fn paint(&self, scene: &Scene<'_, Self>, canvas: &mut Canvas) {
        let sight = sight(self, scene);
        let colours = Colours::new(self);
        ground::paint(sight, canvas);
        buildings::paint(sight, &colours, scene.seconds, canvas);
        if let Some(side) = sight.side {
            marks::paint_orders(self, side, scene.view_state, canvas);
        }
        let chosen = sight.side.zip(scene.view_state.squad).map(|(side, squad)| {
            let drag = scene.view_state.drag;
            Chosen {
                side,
                squad,
                circle: drag.map(|(from, to)| Circle::across(from, to)),
            }
        });
        units::paint(sight, &colours, chosen, scene.seconds, canvas);
        events::paint(sight, scene, canvas);
        marks::paint_selection(scene.view_state, canvas);
        if !scene.view_state.is_making {
            map::paint(sight, &colours, canvas);
        }
        if let Some(side) = sight.side {
            marks::paint_menu(self, side, scene.view_state, canvas);
        }
    }

    fn paint_ghost(&self, scene: &Scene<'_, Self>, canvas: &mut Canvas) {
        ghost::paint(self, sight(scene.drawn, scene), canvas);
    }

    fn human_input(
        &self,
        player: PlayerId,
        view_state: &mut ViewState,
        human: &HumanInput,
    ) -> Command {
        keyboard::act(self, player, view_state, human)
    }

    fn sound(&self, event: &SkirmishEvent, listener: Option<PlayerId>) -> Option<Heard> {
        sounds::heard(self, event, listener)
    }

    fn caption(&self, viewer: Option<PlayerId>) -> String {
        let side = viewer.and_then(|player| self.side_of(player));
        let Some(side) = side.map(|side| &self.sides()[side.index()]) else {
            return format!("{} units", self.units().len());
        };
        match (self.winner(), side.is_defeated) {
            (Some(winner), _) if Some(winner) == viewer => "has won".to_string(),
            (Some(winner), _) => format!("{} has won", player_name(usize::from(winner.0))),
            (None, true) => "defeated".to_string(),
            (None, false) => format!(
                "{} gold · {} units · {} killed · {} lost · {} buildings",
                side.gold, side.units, side.kills, side.losses, side.buildings
            ),
        }
    }

    fn place_of(&self, part: &str, entity: Option<EntityId>) -> Option<Pos2> {
        // Rows of lists, which have no ids, count from 1.
        let row = || usize::try_from(entity?.number().checked_sub(1)?).ok();
        let place = match part {
            "units" => self.units().get(entity?)?.place,
            "buildings" => self.buildings().get(row()?)?.place,
            "mines" => self.mines().get(row()?)?.place,
            "sides" => self.sides().get(row()?)?.home,
            "squads" => {
                let side = u8::try_from(row()? / SQUADS).ok()?;
                self.squads(SideId(side)).get(row()? % SQUADS)?.at
            }
            "fog" => {
                let blocks = usize::from(self.size() / ground::BLOCK as u16).max(1);
                let row = row().filter(|row| *row < blocks * blocks)?;
                let along = |at: usize| (at as f32 + 0.5) * ground::BLOCK;
                return Some(pos2(along(row % blocks), along(row / blocks)));
            }
            _ => return None,
        };
        Some(spot(place))
    }
}

/// What a screen shows of a game.
fn sight<'a>(game: &'a Skirmish, scene: &Scene<'_, Skirmish>) -> Sight<'a> {
    Sight {
        game,
        side: scene.viewer.and_then(|player| game.side_of(player)),
    }
}
