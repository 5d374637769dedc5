//! Skirmish drawn and played without a screen.

mod drawing;
mod playing;

use eframe::egui::{self, Rect, Vec2, pos2};
use samestep_catalog::skirmish::{Skirmish, SkirmishConfig, SkirmishEvent};
use samestep_sync::PlayerId;

use super::view_state::ViewState;
use crate::canvas::Canvas;
use crate::drawn::{Drawn, RecentEvent, Scene};

const ME: PlayerId = PlayerId(0);

fn game() -> Skirmish {
    Skirmish::new(&SkirmishConfig::default()).unwrap()
}

/// How many triangles a screen takes, with `truth` as a ghost over it.
fn paint(
    game: &Skirmish,
    truth: &Skirmish,
    viewer: Option<PlayerId>,
    view_state: &ViewState,
    recent: &[RecentEvent<'_, SkirmishEvent>],
    size: Vec2,
) -> usize {
    let ctx = egui::Context::default();
    let mut triangles = 0;
    let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
        let rect = Rect::from_min_size(pos2(30.0, 10.0), size);
        let frame = game.frame(viewer, view_state, size);
        let mut canvas = Canvas::new(ui.painter(), rect, frame);
        let scene = Scene {
            viewer,
            sharing: &[],
            drawn: game,
            view_state,
            recent,
            names: &[],
            seconds: 7.3,
        };
        game.paint(&scene, &mut canvas);
        truth.paint_ghost(&scene, &mut canvas);
        triangles = canvas.triangles();
        canvas.finish();
    });
    output.textures_delta.clear();
    triangles
}
