//! How a game is drawn, and how people play it with keyboard and mouse.

use eframe::egui::{Pos2, Rect, Vec2};
use samestep_sandbox::Playable;
use samestep_sync::{EntityId, EventStage, PlayerId};

use crate::canvas::{Canvas, Frame};
use crate::sound::Heard;

/// A game that can be drawn, and played with keyboard and mouse.
pub trait Drawn: Playable {
    /// What a screen keeps beside the state: the camera, the selection.
    type ViewState: Default;

    /// What the keys do, as (keys, effect), in the words that [`keyboard::keys`](crate::keyboard::keys) knows in every layout.
    const KEYS: &'static [(&'static str, &'static str)];

    /// Returns the part of the world that a screen of this size shows.
    fn frame(&self, viewer: Option<PlayerId>, view_state: &Self::ViewState, screen: Vec2) -> Frame;

    /// Draws what the viewer sees, or everything.
    fn paint(&self, scene: &Scene<'_, Self>, canvas: &mut Canvas);

    /// Draws the state of the server, which is `self`, as an outline over it.
    fn paint_ghost(&self, scene: &Scene<'_, Self>, canvas: &mut Canvas);

    /// Converts keyboard and mouse into an input of a player who sees this state.
    fn human_input(
        &self,
        player: PlayerId,
        view_state: &mut Self::ViewState,
        human: &HumanInput,
    ) -> Self::Input;

    /// Returns how an event sounds to a listener who sees this state, or to somebody who sees everything; `None` if it makes no sound there. Default:
    /// no event makes any.
    fn sound(&self, _event: &Self::Event, _listener: Option<PlayerId>) -> Option<Heard> {
        None
    }

    /// Returns a line about a player's score.
    fn caption(&self, viewer: Option<PlayerId>) -> String;

    /// Returns the position of an entity, or of a row of a list, in a part of the state, so that a desync can point at it.
    fn place_of(&self, part: &str, entity: Option<EntityId>) -> Option<Pos2>;
}

/// What is drawn beside the state.
pub struct Scene<'a, G: Drawn> {
    /// Whose screen it is.
    pub viewer: Option<PlayerId>,
    /// All who play at this screen, the viewer first, where they are several: each has the keys of its place in
    /// [`Layout::ALL`](crate::keyboard::Layout::ALL). Empty if nobody or one does.
    pub sharing: &'a [PlayerId],
    /// The state that is drawn, to compare the ghost with.
    pub drawn: &'a G,
    /// What the screen keeps.
    pub view_state: &'a G::ViewState,
    /// Recent events, the newest first.
    pub recent: &'a [RecentEvent<'a, G::Event>],
    /// How players are called, as far as it is known; else they have numbers.
    pub names: &'a [(PlayerId, String)],
    /// Seconds since the match began.
    pub seconds: f32,
}

impl<G: Drawn> Scene<'_, G> {
    /// What a player is called; its number, counted from 1, if it has no name.
    pub fn name_of(&self, player: PlayerId) -> String {
        let named = self.names.iter().find(|(known, _)| *known == player);
        named.map_or_else(|| (player.0 + 1).to_string(), |(_, name)| name.clone())
    }
}

/// An event that the game reported to a player lately.
pub struct RecentEvent<'a, E> {
    /// Seconds ago; at most [`FADES`].
    pub ago: f32,
    /// Whether it is predicted, confirmed or cancelled.
    pub stage: EventStage,
    /// Whether it was reported before, as predicted.
    pub was_predicted: bool,
    /// The event.
    pub event: &'a E,
}

/// How long an event is shown, in seconds.
pub const FADES: f32 = 0.8;

/// What a person does on keyboard and mouse, whichever layout is used.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HumanInput {
    /// To the left.
    pub left: bool,
    /// To the right.
    pub right: bool,
    /// Up, or jump.
    pub up: bool,
    /// Down.
    pub down: bool,
    /// Four keys to act with. In layout one the first two are also the mouse's buttons.
    pub actions: [Button; 4],
    /// A digit that was pressed.
    pub digit: Option<u8>,
    /// The mouse, while it is over the player's screen.
    pub pointer: Option<Pointer>,
    /// The part of the world that the player's screen shows.
    pub seen: Option<Rect>,
}

impl HumanInput {
    /// The state of one of the first two actions, on the keyboard or the mouse.
    pub fn button(&self, which: usize) -> Button {
        let key = self.actions[which];
        let Some(pointer) = &self.pointer else {
            return key;
        };
        let mouse = [pointer.primary, pointer.secondary][which];
        Button {
            held: key.held || mouse.held,
            pressed: key.pressed || mouse.pressed,
            released: key.released || mouse.released,
        }
    }
}

/// The state of a key or a mouse button.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Button {
    /// Whether it is down.
    pub held: bool,
    /// Whether it went down since the last step.
    pub pressed: bool,
    /// Whether it went up since the last step.
    pub released: bool,
}

/// The mouse.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pointer {
    /// In units of the game.
    pub place: Pos2,
    /// The left button.
    pub primary: Button,
    /// The right button.
    pub secondary: Button,
    /// Up or down, in notches.
    pub scroll: f32,
}
