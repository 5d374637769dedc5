//! Characters. They all look alike, but for the hat of somebody who is about to win; and the viewer's own is marked on its own screen.
//!
//! Where several share a screen nobody's is marked while a round is played, or all would know each other: everyone finds its character by moving, as
//! people do who play at one table.

use std::f32::consts::TAU;

use eframe::egui::{Align2, Color32, Pos2, Vec2, vec2};
use samestep_catalog::hat_hunters::{Character, HEADINGS, HatHunters, HatHuntersEvent};
use samestep_sync::{EntityId, PlayerId};

use crate::canvas::{Canvas, mix};
use crate::drawn::Scene;

use super::events::latest;
use super::hud::named;
use super::shapes::{coin, ellipse, light, star};
use super::{colour_of, spot};

const OUTLINE: Color32 = Color32::from_rgb(38, 28, 26);
const COAT: Color32 = Color32::from_rgb(150, 118, 96);
const COAT_DARK: Color32 = Color32::from_rgb(118, 90, 74);
const SKIN: Color32 = Color32::from_rgb(250, 222, 190);
const HAIR: Color32 = Color32::from_rgb(104, 74, 54);
const SHOE: Color32 = Color32::from_rgb(56, 42, 40);
const FELT: Color32 = Color32::from_rgb(92, 86, 92);
const BAND: Color32 = Color32::from_rgb(54, 48, 54);
const SHADOW: Color32 = Color32::from_rgba_premultiplied(0, 0, 0, 76);

/// Draws everybody who is on the field, those in front over those behind.
pub(super) fn paint_all(game: &HatHunters, scene: &Scene<'_, HatHunters>, canvas: &mut Canvas) {
    let mut shown: Vec<(EntityId, &Character)> = game
        .characters()
        .iter()
        .filter(|(_, character)| !character.is_out)
        .collect();
    shown.sort_by_key(|(id, character)| (character.place().y, *id));
    for (id, character) in &shown {
        if let Some(player) = marked(game, scene, *id) {
            paint_mark(character, player, scene, canvas);
        }
    }
    for (id, character) in &shown {
        Figure::new(*id, character, game, scene).paint(canvas);
        if let Some(player) = character.hat {
            let (place, name) = (spot(character.place()), named(scene, player));
            let above = place - vec2(0.0, 0.98);
            let size = (canvas.scale() * 0.5).clamp(9.0, 14.0);
            canvas.text(above, Align2::CENTER_BOTTOM, &name, size, colour_of(player));
        }
    }
    for (id, character) in shown {
        let own = game.player_of(id).filter(|player| is_own(scene, *player));
        if let Some(player) = own {
            paint_arrow(character, player, scene.seconds, canvas);
        }
    }
}

/// An arrow that points to the viewer's own character from above.
fn paint_arrow(character: &Character, player: PlayerId, seconds: f32, canvas: &mut Canvas) {
    let high = if character.hat.is_some() { 1.3 } else { 0.82 };
    let tip = spot(character.place()) - vec2(0.0, high + 0.05 * (seconds * 4.0).sin());
    for (grow, colour) in [(0.05, OUTLINE), (0.0, colour_of(player))] {
        let corners = [
            tip + vec2(0.0, grow * 1.6),
            tip + vec2(-0.17 - grow, -0.24 - grow),
            tip + vec2(0.17 + grow, -0.24 - grow),
        ];
        canvas.triangle(corners, colour);
    }
}

/// Whose character it is, where that may be seen: one's own on one's own screen, everybody's after a round and for who sees everything.
pub(super) fn marked(
    game: &HatHunters,
    scene: &Scene<'_, HatHunters>,
    id: EntityId,
) -> Option<PlayerId> {
    let player = game.player_of(id)?;
    let sees_everything = scene.viewer.is_none() || game.round().is_over();
    (sees_everything || is_own(scene, player)).then_some(player)
}

/// Whether it is the player of a screen that nobody else looks at.
fn is_own(scene: &Scene<'_, HatHunters>, player: PlayerId) -> bool {
    scene.viewer == Some(player) && scene.sharing.is_empty()
}

/// A ring under a character that turns slowly.
fn paint_mark(
    character: &Character,
    player: PlayerId,
    scene: &Scene<'_, HatHunters>,
    canvas: &mut Canvas,
) {
    let (middle, colour) = (spot(character.place()) + vec2(0.0, 0.16), colour_of(player));
    light(middle, 0.8, colour.gamma_multiply(0.45), canvas);
    let turn = scene.seconds * 0.8;
    for part in 0..4 {
        let begin = turn + part as f32 * TAU / 4.0;
        let point = |nth: i32| {
            let way = Vec2::angled(begin + nth as f32 * TAU / 32.0);
            middle + way * vec2(0.52, 0.4)
        };
        for nth in 0..5 {
            canvas.line(point(nth), point(nth + 1), 2.0, colour);
        }
    }
}

/// Figures are drawn a little larger than they are, to be recognised on small screens.
const SIZE: f32 = 1.18;

/// A way in a figure.
fn part(x: f32, y: f32) -> Vec2 {
    vec2(x, y) * SIZE
}

struct Figure {
    middle: Pos2,
    look: Vec2,
    /// 0 to 1: how far it is in a step, and how fast it walks.
    step: f32,
    pace: f32,
    hat: Option<Color32>,
    /// 0 to 1: how new the hat is.
    is_new: f32,
    /// 0 to 1: it has just been hit.
    shock: f32,
    is_fast: bool,
    /// Not everybody blinks at once.
    phase: f32,
    seconds: f32,
}

impl Figure {
    fn new(
        id: EntityId,
        character: &Character,
        game: &HatHunters,
        scene: &Scene<'_, HatHunters>,
    ) -> Self {
        let middle = spot(character.place());
        let velocity = character.body.velocity;
        let pace = vec2(velocity.x as f32, velocity.y as f32).length() / 1260.0;
        let hit = latest(
            scene.recent,
            |event| matches!(event, HatHuntersEvent::Hit { victim, .. } if *victim == id),
        );
        let turn = f32::from(character.look.0) * TAU / f32::from(HEADINGS);
        let worn = game.clock().saturating_sub(character.hat_since);
        Self {
            middle,
            look: Vec2::angled(turn),
            // Steps follow from where it is, so that feet do not slide.
            step: ((middle.x + middle.y) * 1.3).rem_euclid(1.0),
            pace: pace.min(1.3),
            hat: character.hat.map(colour_of),
            is_new: (1.0 - worn as f32 / 30.0).max(0.0),
            shock: hit.map_or(0.0, |ago| 1.0 - ago / 0.25).max(0.0),
            is_fast: game.clock() < character.fast_until,
            phase: (id.number() % 97) as f32 * 0.37,
            seconds: scene.seconds,
        }
    }

    fn paint(&self, canvas: &mut Canvas) {
        ellipse(
            self.middle + part(0.03, 0.3),
            part(0.34, 0.15),
            SHADOW,
            canvas,
        );
        if self.is_fast {
            self.paint_wind(canvas);
        }
        let hop = (self.step * TAU).sin().abs() * 0.05 * self.pace;
        let lift = part(0.0, -hop);
        self.paint_feet(canvas);
        let coat = mix(COAT, Color32::WHITE, self.shock);
        let body = self.middle + lift + part(0.0, 0.06);
        ellipse(body, part(0.335, 0.295), OUTLINE, canvas);
        ellipse(
            body,
            part(0.295, 0.255),
            mix(COAT_DARK, Color32::WHITE, self.shock),
            canvas,
        );
        ellipse(body - part(0.0, 0.03), part(0.285, 0.22), coat, canvas);
        let is_away = self.look.y < -0.75;
        if !is_away {
            let button = body + part(self.look.x * 0.1, 0.12);
            coin(button, 0.028 * SIZE, OUTLINE, canvas);
        }
        self.paint_head(self.middle + lift + part(0.0, -0.17), is_away, canvas);
    }

    fn paint_feet(&self, canvas: &mut Canvas) {
        for (side, turn) in [(-1.0, 0.0), (1.0, 0.5)] {
            let swing = ((self.step + turn) * TAU).sin() * 0.09 * self.pace;
            let foot = self.middle + part(side * 0.13, 0.3) + self.look * part(swing, swing * 0.7);
            ellipse(foot, part(0.115, 0.085), OUTLINE, canvas);
            ellipse(foot, part(0.08, 0.05), SHOE, canvas);
        }
    }

    fn paint_head(&self, head: Pos2, is_away: bool, canvas: &mut Canvas) {
        coin(head, 0.255 * SIZE, OUTLINE, canvas);
        let skin = if is_away { HAIR } else { SKIN };
        coin(
            head,
            0.215 * SIZE,
            mix(skin, Color32::WHITE, self.shock),
            canvas,
        );
        if !is_away {
            self.paint_eyes(head, canvas);
        }
        self.paint_hat(head - part(0.0, 0.1), canvas);
    }

    /// Two eyes where it looks; from the side, one of them is hidden.
    fn paint_eyes(&self, head: Pos2, canvas: &mut Canvas) {
        let face = head + part(self.look.x * 0.11, 0.03 + self.look.y.max(-0.3) * 0.05);
        let apart = 0.085 * (1.0 - 0.35 * self.look.x.abs());
        let is_blinking = (self.seconds + self.phase) % 3.7 < 0.12 || self.shock > 0.3;
        for side in [-apart, apart] {
            let eye = face + part(side, 0.0);
            if (eye.x - head.x).abs() > 0.185 * SIZE {
                continue;
            }
            if is_blinking {
                let half = part(0.045, 0.0);
                canvas.line(eye - half, eye + half, 1.3, OUTLINE);
                continue;
            }
            ellipse(eye, part(0.062, 0.08), Color32::WHITE, canvas);
            ellipse(eye + self.look * 0.024, part(0.038, 0.055), OUTLINE, canvas);
        }
    }

    /// A plain felt hat; or the player's own, which is taller and has a star on it.
    fn paint_hat(&self, brow: Pos2, canvas: &mut Canvas) {
        let (felt, band) = match self.hat {
            Some(colour) => (colour, mix(colour, Color32::BLACK, 0.5)),
            None => (FELT, BAND),
        };
        let tall = if self.hat.is_some() { 0.44 } else { 0.21 };
        let wide = if self.hat.is_some() { 0.22 } else { 0.19 };
        let lean = -self.look.x * 0.03;
        if let Some(colour) = self.hat {
            let glow = 0.25 + 0.06 * (self.seconds * 5.0).sin() + 0.5 * self.is_new;
            let middle = brow - part(0.0, 0.2);
            light(
                middle,
                0.75 + self.is_new,
                colour.gamma_multiply(glow),
                canvas,
            );
        }
        let crown = |grow: f32| {
            let top = brow + part(lean, -tall - grow);
            [
                brow + part(-wide - grow, 0.02),
                top + part(-wide * 0.86 - grow, 0.06),
                top + part(-wide * 0.6, 0.0),
                top + part(wide * 0.6, 0.0),
                top + part(wide * 0.86 + grow, 0.06),
                brow + part(wide + grow, 0.02),
            ]
        };
        ellipse(brow, part(0.375, 0.125), OUTLINE, canvas);
        canvas.polygon(&crown(0.035), OUTLINE);
        ellipse(
            brow,
            part(0.34, 0.09),
            mix(felt, Color32::BLACK, 0.18),
            canvas,
        );
        canvas.polygon(&crown(0.0), felt);
        let shine = mix(felt, Color32::WHITE, 0.3);
        let top = brow + part(lean, -tall);
        ellipse(
            top + part(0.0, 0.035),
            part(wide * 0.72, 0.035),
            shine,
            canvas,
        );
        let ribbon = [
            brow + part(-wide, 0.02),
            brow + part(-wide, -0.055),
            brow + part(wide, -0.055),
            brow + part(wide, 0.02),
        ];
        canvas.polygon(&ribbon, band);
        if self.hat.is_some() {
            let badge = brow + part(lean / 2.0, -tall * 0.56);
            star(badge, 0.12 * SIZE, 0.0, OUTLINE, canvas);
            star(
                badge,
                0.09 * SIZE,
                0.0,
                Color32::from_rgb(255, 232, 120),
                canvas,
            );
        }
    }

    /// Lines behind somebody in boots.
    fn paint_wind(&self, canvas: &mut Canvas) {
        let across = part(-self.look.y, self.look.x);
        for (side, far) in [(-0.2, 0.5), (0.0, 0.66), (0.2, 0.5)] {
            let from = self.middle + across * side - self.look * 0.34;
            let white = Color32::from_white_alpha(90);
            canvas.line(from, from - self.look * far * self.pace, 1.6, white);
        }
    }
}
