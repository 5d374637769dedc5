//! How a game looks, and how it is played by hand.

use eframe::egui::{Pos2, Rect, Vec2};
use samestep_sandbox::Playable;
use samestep_sync::{EntityId, EventStage, PlayerId};

use crate::canvas::{Canvas, Frame};

/// How a game looks, and how it is played by hand.
pub trait Drawn: Playable {
    /// What a screen remembers: where it looks, what is selected.
    type Grip: Default;

    /// What the hands can do, as (keys, what they do). Layout one is W A S D and the mouse, layout two the arrow keys.
    const KEYS: &'static [(&'static str, &'static str)];

    /// What part of the world a screen of this size shows.
    fn frame(&self, viewer: Option<PlayerId>, grip: &Self::Grip, screen: Vec2) -> Frame;

    /// Draws what a player sees, or everything.
    fn paint(&self, scene: &Scene<'_, Self>, canvas: &mut Canvas);

    /// Draws over it, as an outline, where things really are. `self` is the truth.
    fn paint_ghost(&self, scene: &Scene<'_, Self>, canvas: &mut Canvas);

    /// What a player does who sees this.
    fn hands(&self, player: PlayerId, grip: &mut Self::Grip, hands: &Hands) -> Self::Input;

    /// A line about how a player stands.
    fn caption(&self, viewer: Option<PlayerId>) -> String;

    /// Where an entity, or a row of a list, of a part of the state is, to point at it.
    fn place_of(&self, part: &str, entity: Option<EntityId>) -> Option<Pos2>;
}

/// What there is to draw beside the state.
pub struct Scene<'a, G: Drawn> {
    /// Whose screen it is.
    pub viewer: Option<PlayerId>,
    /// What is drawn, so that a ghost can be compared with it.
    pub drawn: &'a G,
    /// What it remembers.
    pub grip: &'a G::Grip,
    /// What happened lately, the newest first.
    pub happened: &'a [Happened<'a, G::Event>],
    /// Seconds since the match began.
    pub seconds: f32,
}

/// Something that a player was told of.
pub struct Happened<'a, E> {
    /// Seconds ago; at most [`FADES`].
    pub ago: f32,
    /// Whether it was predicted or is sure, or was taken back.
    pub stage: EventStage,
    /// It was told of before, as predicted.
    pub was_predicted: bool,
    /// What.
    pub event: &'a E,
}

/// How long what happened is shown, in seconds.
pub const FADES: f32 = 0.8;

/// What a player's hands do on keyboard and mouse, whichever keys those are.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Hands {
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

/// Something to press.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Button {
    /// It is down.
    pub held: bool,
    /// It went down since last looked at.
    pub pressed: bool,
    /// It went up since last looked at.
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
