//! Sublockus on the screen.

use eframe::egui::{Color32, Pos2, Vec2, vec2};
use samestep_catalog::sublockus::{Controls, HALF, Place, Sublockus, SublockusEvent};
use samestep_sync::{EntityId, PlayerId};

use crate::canvas::{Canvas, Frame, at};
use crate::drawn::{Drawn, HumanInput, Scene};
use crate::sound::Heard;
use crate::theme::player_colour;

use memory::ViewState;

mod arena;
mod belt;
mod effects;
mod events;
mod figure;
mod fireball;
mod ghost;
mod icon;
mod memory;
mod play;
mod shapes;
mod sounds;
mod standing;
mod terrain;
#[cfg(test)]
mod tests;

/// From so many points to a block on, one sees the whole arena.
const READABLE: f32 = 16.0;

/// Else one sees about so many blocks from left to right, of so many points at least and at most.
const ACROSS: f32 = 28.0;
const POINTS: [f32; 2] = [20.0, 32.0];

impl Drawn for Sublockus {
    type ViewState = ViewState;

    const KEYS: &'static [(&'static str, &'static str)] = play::KEYS;

    fn frame(&self, viewer: Option<PlayerId>, view_state: &ViewState, screen: Vec2) -> Frame {
        let all = extent(self);
        let screen = screen.max(vec2(1.0, 1.0));
        let eye = viewer.and_then(|player| view_state.eye(self, player));
        let Some(eye) = eye.filter(|_| (screen / all).min_elem() < READABLE) else {
            return Frame::between(Pos2::ZERO, all.to_pos2());
        };
        let size = screen / (screen.x / ACROSS).clamp(POINTS[0], POINTS[1]);
        let along = |eye: f32, size: f32, all: f32| match size < all {
            true => eye.clamp(size / 2.0, all - size / 2.0),
            false => all / 2.0,
        };
        Frame {
            centre: at(along(eye.x, size.x, all.x), along(eye.y, size.y, all.y)),
            size,
        }
    }

    fn paint(&self, scene: &Scene<'_, Self>, canvas: &mut Canvas) {
        let mut memory = scene.view_state.memory.borrow_mut();
        memory.look(self);
        arena::paint(self, scene, canvas);
        events::paint_below(scene, canvas);
        for projectile in self.projectiles().as_slice() {
            if is_seen(self, scene.viewer, projectile.place) {
                fireball::paint(projectile, scene.seconds, canvas);
            }
        }
        figure::paint_all(self, scene, &memory, canvas);
        events::paint_above(self, scene, canvas);
        if let Some(viewer) = scene.viewer {
            belt::paint(self, viewer, canvas);
        }
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

    fn sound(&self, event: &SublockusEvent, listener: Option<PlayerId>) -> Option<Heard> {
        sounds::heard(self, event, listener)
    }

    fn caption(&self, viewer: Option<PlayerId>) -> String {
        let seat = viewer.and_then(|player| self.seat_of(player));
        let character = viewer.and_then(|player| self.character_of(player));
        let (Some(seat), Some(own)) = (seat, character) else {
            let frags: u32 = self.seats().iter().map(|seat| u32::from(seat.frags)).sum();
            return counted(frags, "frag");
        };
        let stands = format!(
            "{}, {}",
            counted(seat.frags.into(), "frag"),
            counted(seat.deaths.into(), "death")
        );
        match own.enters.saturating_sub(self.clock()) {
            0 => format!("{stands}, {} health, {} mana", own.health.max(0), own.mana),
            ticks => format!("{stands}, back in {:.1} s", ticks as f32 / 60.0),
        }
    }

    fn place_of(&self, part: &str, entity: Option<EntityId>) -> Option<Pos2> {
        let id = entity?;
        let row = id.number() as usize;
        let place = match part {
            "characters" => self.characters().get(id)?.place(),
            "projectiles" => self.projectiles().get(id)?.place,
            "items" => self.items().get(id)?.place,
            "seats" => self.character_of(self.seats().get(row)?.player)?.place(),
            "spawns" => self.spawns().get(row)?.middle(),
            _ => return None,
        };
        Some(spot(place))
    }
}

/// A place, in blocks.
fn spot(place: Place) -> Pos2 {
    let (x, y) = place.blocks();
    at(x, y)
}

/// How large the arena is, in blocks.
fn extent(game: &Sublockus) -> Vec2 {
    let terrain = game.terrain();
    vec2(
        terrain.width().max(1) as f32,
        terrain.height().max(1) as f32,
    )
}

/// Whether a player may see what is there.
fn is_seen(game: &Sublockus, viewer: Option<PlayerId>, place: Place) -> bool {
    let is_free = !game.has_fog();
    is_free || viewer.is_none_or(|viewer| game.notices(viewer, place, HALF))
}

/// A player's colour.
fn colour_of(player: PlayerId) -> Color32 {
    player_colour(usize::from(player.0))
}

/// `1 frag`, `2 frags`.
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
