//! One player's screen: what the sandbox shows of each player and a game over a network of its own.

use eframe::egui::{Painter, Rect};
use samestep_sync::PlayerId;

use crate::canvas::Canvas;
use crate::drawn::{Drawn, HumanInput, Scene};

/// Draws what a scene's viewer sees into `rect`. More can be drawn over it before the canvas is finished.
pub fn paint<G: Drawn>(scene: &Scene<'_, G>, painter: &Painter, rect: Rect) -> Canvas {
    let frame = scene
        .drawn
        .frame(scene.viewer, scene.view_state, rect.size());
    let mut canvas = Canvas::new(painter, rect, frame);
    scene.drawn.paint(scene, &mut canvas);
    canvas
}

/// The input of a person whose screen shows this state in `rect`; the pointer is on the screen.
pub fn input<G: Drawn>(
    state: &G,
    player: PlayerId,
    view_state: &mut G::ViewState,
    human: &HumanInput,
    rect: Rect,
) -> G::Input {
    let frame = state.frame(Some(player), view_state, rect.size());
    let mut human = human.clone();
    human.seen = Some(frame.seen(rect));
    if let Some(pointer) = &mut human.pointer {
        pointer.place = frame.to_world(rect, pointer.place);
    }
    state.human_input(player, view_state, &human)
}
