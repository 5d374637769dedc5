//! Rawrlocks on the screen.

use eframe::egui::{Color32, Pos2, Vec2, vec2};
use samestep_catalog::rawrlocks::{Controls, ONE, Place, Rawrlocks, RawrlocksEvent};
use samestep_sync::{EntityId, PlayerId};

use crate::canvas::{Canvas, Frame, at, mix};
use crate::drawn::{Drawn, HumanInput, Scene};
use crate::sound::Heard;
use crate::theme::player_colour;

use play::ViewState;

mod effects;
mod events;
mod figure;
mod fireball;
mod ghost;
mod ground;
mod hud;
mod icon;
mod play;
mod power_up;
mod shapes;
mod sounds;
#[cfg(test)]
mod tests;

/// How much lava is seen around the arena when a round begins, in yards.
const AROUND: f32 = 70.0;

impl Drawn for Rawrlocks {
    type ViewState = ViewState;

    const KEYS: &'static [(&'static str, &'static str)] = play::KEYS;

    /// All of the arena: one has to see what comes flying.
    fn frame(&self, _viewer: Option<PlayerId>, _view_state: &ViewState, _screen: Vec2) -> Frame {
        let across = 2.0 * (yards(self.full_radius()) + AROUND);
        Frame {
            centre: Pos2::ZERO,
            size: vec2(across, across),
        }
    }

    fn paint(&self, scene: &Scene<'_, Self>, canvas: &mut Canvas) {
        ground::paint(self, scene.seconds, canvas);
        power_up::paint_all(self, scene.seconds, canvas);
        events::paint_below(scene, canvas);
        figure::paint_all(self, scene, canvas);
        for fireball in self.fireballs().as_slice() {
            fireball::paint(fireball, scene.seconds, canvas);
        }
        events::paint_above(self, scene, canvas);
        hud::paint(self, scene, canvas);
    }

    fn paint_ghost(&self, scene: &Scene<'_, Self>, canvas: &mut Canvas) {
        ghost::paint(self, scene, canvas);
    }

    fn human_input(
        &self,
        player: PlayerId,
        view_state: &mut ViewState,
        human: &HumanInput,
    ) -> Controls {
        play::controls(self, player, view_state, human)
    }

    fn sound(&self, event: &RawrlocksEvent, listener: Option<PlayerId>) -> Option<Heard> {
        sounds::heard(self, event, listener)
    }

    fn caption(&self, viewer: Option<PlayerId>) -> String {
        let round = format!("round {}", self.round().number);
        let Some(seat) = viewer.and_then(|player| self.seat_of(player)) else {
            return round;
        };
        let stands = format!(
            "{round}, {} won, {}",
            seat.wins,
            counted(seat.kills.into(), "kill")
        );
        match self.avatar_of(seat.player) {
            Some(own) if own.is_alive() => format!("{stands}, {} health", own.health),
            Some(_) => format!("{stands}, dead"),
            None => format!("{stands}, waiting for the next round"),
        }
    }

    fn place_of(&self, part: &str, entity: Option<EntityId>) -> Option<Pos2> {
        let id = entity?;
        let row = id.number() as usize;
        let place = match part {
            "avatars" => self.avatars().get(id)?.place(),
            "fireballs" => self.fireballs().get(id)?.place,
            "power_ups" => self.power_ups().get(row)?.kind.place(),
            "seats" => self.avatar_of(self.seats().get(row)?.player)?.place(),
            _ => return None,
        };
        Some(spot(place))
    }
}

/// A place, in yards.
fn spot(place: Place) -> Pos2 {
    let (x, y) = place.in_yards();
    at(x, y)
}

/// Units in yards.
fn yards(units: i32) -> f32 {
    units as f32 / ONE as f32
}

/// A player's colour. There are eight, and two more who have paler ones.
fn colour_of(player: PlayerId) -> Color32 {
    let colour = player_colour(usize::from(player.0));
    match player.0 {
        0..=7 => colour,
        _ => mix(colour, Color32::WHITE, 0.5),
    }
}

/// `1 kill`, `2 kills`.
fn counted(count: u32, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Something that looks like chance and is always the same: 0 to 1.
fn scatter(x: i32, y: i32, nth: i32) -> f32 {
    let mut mixed = (x as u32).wrapping_mul(0x9e37_79b1)
        ^ (y as u32).wrapping_mul(0x85eb_ca77)
        ^ (nth as u32).wrapping_mul(0xc2b2_ae3d);
    mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x2c1b_3c6d);
    mixed = (mixed ^ (mixed >> 12)).wrapping_mul(0x297a_2d39);
    ((mixed ^ (mixed >> 15)) & 0xffff) as f32 / 65_535.0
}
