//! Sublockus on the screen.

use eframe::egui::{Pos2, Vec2, pos2, vec2};
use samestep_sublockus::{Controls, Sublockus};
use samestep_sync::{EntityId, PlayerId};

use crate::canvas::{Canvas, Frame};
use crate::drawn::{Drawn, Hands, Scene};

impl Drawn for Sublockus {
    type Grip = ();

    const KEYS: &'static [(&'static str, &'static str)] = &[];

    fn frame(&self, _viewer: Option<PlayerId>, _grip: &(), _screen: Vec2) -> Frame {
        Frame {
            centre: pos2(0.0, 0.0),
            size: vec2(1.0, 1.0),
        }
    }

    fn paint(&self, _scene: &Scene<'_, Self>, _canvas: &mut Canvas) {}

    fn paint_ghost(&self, _scene: &Scene<'_, Self>, _canvas: &mut Canvas) {}

    fn hands(&self, _player: PlayerId, _grip: &mut (), _hands: &Hands) -> Controls {
        Controls::default()
    }

    fn caption(&self, _viewer: Option<PlayerId>) -> String {
        String::new()
    }

    fn place_of(&self, _part: &str, _entity: Option<EntityId>) -> Option<Pos2> {
        None
    }
}
