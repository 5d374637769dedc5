//! Hat Hunters on the screen.

use eframe::egui::{Color32, Pos2, Vec2, vec2};
use samestep_catalog::hat_hunters::{Controls, HatHunters, HatHuntersEvent, Place};
use samestep_sync::{EntityId, PlayerId};

use crate::canvas::{Canvas, Frame, at};
use crate::drawn::{Drawn, HumanInput, Scene};
use crate::sound::Heard;
use crate::theme::player_colour;

mod events;
mod figure;
mod ghost;
mod ground;
mod hud;
mod icon;
mod play;
mod shapes;
mod sounds;
#[cfg(test)]
mod tests;
mod things;

impl Drawn for HatHunters {
    /// Everything that is drawn follows from the state and its events.
    type ViewState = ();

    const KEYS: &'static [(&'static str, &'static str)] = play::KEYS;

    /// All of the field: one has to see everybody.
    fn frame(&self, _viewer: Option<PlayerId>, _view_state: &(), _screen: Vec2) -> Frame {
        Frame::between(Pos2::ZERO, extent(self).to_pos2())
    }

    fn paint(&self, scene: &Scene<'_, Self>, canvas: &mut Canvas) {
        ground::paint(self, canvas);
        things::paint_below(self, scene.seconds, canvas);
        events::paint_below(scene, canvas);
        figure::paint_all(self, scene, canvas);
        things::paint_above(self, scene.seconds, canvas);
        events::paint_above(self, scene, canvas);
        hud::paint(self, scene, canvas);
        hud::paint_banner(self, scene, canvas);
    }

    fn paint_ghost(&self, scene: &Scene<'_, Self>, canvas: &mut Canvas) {
        ghost::paint(self, scene, canvas);
    }

    fn human_input(&self, player: PlayerId, _view_state: &mut (), human: &HumanInput) -> Controls {
        play::controls(self, player, human)
    }

    fn sound(&self, event: &HatHuntersEvent, listener: Option<PlayerId>) -> Option<Heard> {
        sounds::heard(self, event, listener)
    }

    fn caption(&self, viewer: Option<PlayerId>) -> String {
        let round = format!("round {}", self.round().number);
        let seat = viewer.and_then(|player| self.seat_of(player));
        let Some(seat) = seat else {
            return round;
        };
        let wins = counted(seat.wins.into(), "round");
        match self.purse_of(seat.player) {
            Some(purse) => format!(
                "{round}, {} of {} stars, {wins} won",
                purse.stars,
                self.rules().stars
            ),
            None => format!("{round}, {wins} won"),
        }
    }

    fn place_of(&self, part: &str, entity: Option<EntityId>) -> Option<Pos2> {
        let id = entity?;
        let row = id.number() as usize;
        let place = match part {
            "characters" | "purses" | "minds" => self.characters().get(id)?.place(),
            "hunters" => {
                let hunter = self.hunters().get(id)?;
                self.characters().get(hunter.character)?.place()
            }
            "stars" => self.stars().get(id)?.place,
            "containers" => self.containers().get(id)?.cell.middle(),
            "projectiles" => self.projectiles().get(id)?.place,
            "bombs" => self.bombs().get(id)?.place,
            "seats" => self.character_of(self.seats().get(row)?.player)?.place(),
            "claims" => {
                let claim = self.claims().get(row)?;
                self.characters().get(claim.by)?.place()
            }
            _ => return None,
        };
        Some(spot(place))
    }
}

/// A place, in cells.
fn spot(place: Place) -> Pos2 {
    let (x, y) = place.cells();
    at(x, y)
}

/// How large the field is, in cells.
fn extent(game: &HatHunters) -> Vec2 {
    let field = game.field();
    vec2(field.width().max(1) as f32, field.height().max(1) as f32)
}

/// A player's colour: that of its hat.
fn colour_of(player: PlayerId) -> Color32 {
    player_colour(usize::from(player.0))
}

/// `1 round`, `2 rounds`.
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
