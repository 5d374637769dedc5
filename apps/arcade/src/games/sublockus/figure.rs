//! Characters: who they are, how they walk, fall and land, and what they wear.

use std::f32::consts::PI;

use eframe::egui::{Align2, Color32, Pos2, Vec2, vec2};
use samestep_catalog::sublockus::{Ability, Character, ItemKind, Sublockus, SublockusEvent};

use crate::canvas::{Canvas, mix};
use crate::drawn::Scene;

use super::events::{STRIKES, latest};
use super::memory::Memory;
use super::shapes::{bar, coin, ellipse, light};
use super::{colour_of, icon, is_seen, spot, standing};

const OUTLINE: Color32 = Color32::from_rgb(14, 15, 26);
const SKIN: Color32 = Color32::from_rgb(248, 220, 190);
const SHOE: Color32 = Color32::from_rgb(58, 52, 66);

/// Draws everybody who is in the arena, and where the viewer will enter.
pub(super) fn paint_all(
    game: &Sublockus,
    scene: &Scene<'_, Sublockus>,
    memory: &Memory,
    canvas: &mut Canvas,
) {
    // The viewer is drawn last, over all others.
    let is_own = |character: &Character| Some(character.player) == scene.viewer;
    for own in [false, true] {
        for (id, character) in game.characters().iter() {
            if is_own(character) != own {
                continue;
            }
            if !character.is_in(game.clock()) {
                if own {
                    paint_waiting(game, character, canvas);
                }
                continue;
            }
            let place = spot(character.place());
            if !canvas.sees(place, 2.5) || !is_seen(game, scene.viewer, character.place()) {
                continue;
            }
            let figure = Figure::new(game, character, scene, memory.landing(id));
            figure.paint(canvas);
            standing::paint(character, own, &scene.name_of(character.player), canvas);
        }
    }
}

/// Where a character will enter, and when: a ring that closes.
fn paint_waiting(game: &Sublockus, character: &Character, canvas: &mut Canvas) {
    let left = character.enters.saturating_sub(game.clock()) as f32 / 60.0;
    let (place, colour) = (spot(character.place()), colour_of(character.player));
    light(place, 1.2, colour.gamma_multiply(0.25), canvas);
    canvas.ring(place, 0.5 + 0.6 * left, 1.5, colour.gamma_multiply(0.7));
    let words = format!("{left:.1}");
    canvas.text(place, Align2::CENTER_CENTER, &words, 12.0, Color32::WHITE);
}

/// A character and its present posture.
struct Figure<'a> {
    character: &'a Character,
    /// Between the feet.
    foot: Pos2,
    /// How wide and how high it is drawn, of what it is at rest.
    bend: Vec2,
    /// Where it looks.
    look: Vec2,
    colour: Color32,
    /// 0 to 1: it has just been hit.
    shock: f32,
    /// 0 to 1: how far a strike has got.
    swing: Option<f32>,
    is_safe: bool,
    seconds: f32,
}

impl<'a> Figure<'a> {
    fn new(
        game: &Sublockus,
        character: &'a Character,
        scene: &Scene<'_, Sublockus>,
        landing: Option<(f32, f32)>,
    ) -> Self {
        let player = character.player;
        let body = &character.body;
        let hit = latest(
            scene.recent,
            |event| matches!(event, SublockusEvent::Hit { victim, .. } if *victim == player),
        );
        let strike = latest(
            scene.recent,
            |event| matches!(event, SublockusEvent::Cast { player: by, ability: Ability::Strike, .. } if *by == player),
        );
        let stretch = match landing {
            Some((part, hard)) => -0.28 * hard * (1.0 - part) * (1.0 - part).cos().max(0.3),
            None if body.is_grounded => 0.0,
            None => (body.velocity.y.abs() as f32 / 420.0).min(1.0) * 0.12,
        };
        let turn = character.aim.radians() as f32;
        let shock = hit.map_or(0.0, |ago| 1.0 - ago / 0.18).max(0.0);
        Self {
            character,
            foot: spot(body.feet()),
            bend: vec2(1.0 - stretch * 0.8, 1.0 + stretch),
            look: Vec2::angled(turn),
            colour: mix(colour_of(player), Color32::WHITE, shock * 0.8),
            shock,
            swing: strike.map(|ago| ago / STRIKES).filter(|part| *part < 1.0),
            is_safe: game.clock() < character.safe_until,
            seconds: scene.seconds,
        }
    }

    /// A point of it: to the right, and up from the feet.
    fn at(&self, x: f32, y: f32) -> Pos2 {
        self.foot + vec2(x * self.bend.x, -y * self.bend.y)
    }

    fn shape<const N: usize>(
        &self,
        corners: [(f32, f32); N],
        colour: Color32,
        canvas: &mut Canvas,
    ) {
        let corners = corners.map(|(x, y)| self.at(x, y));
        canvas.polygon(&corners, colour);
    }

    fn wears(&self, kind: ItemKind) -> bool {
        self.character.kit.wears(kind)
    }

    /// -1 if it looks to the left, 1 to the right.
    fn face(&self) -> f32 {
        if self.look.x < 0.0 { -1.0 } else { 1.0 }
    }

    fn paint(&self, canvas: &mut Canvas) {
        let velocity = self.character.body.velocity;
        let sway = (velocity.x as f32 / 136.0).clamp(-1.5, 1.5);
        if self.wears(ItemKind::Wings) {
            self.paint_wings(canvas);
        }
        self.paint_feet(sway, canvas);
        self.paint_body(sway, canvas);
        self.paint_head(sway, canvas);
        self.paint_hand(canvas);
        if self.is_safe {
            let (middle, pulse) = (self.at(0.0, 0.87), (self.seconds * 5.0).sin());
            light(middle, 1.25, Color32::from_white_alpha(26), canvas);
            let white = Color32::from_white_alpha((90.0 + 40.0 * pulse) as u8);
            canvas.ring(middle, 1.12, 1.2, white);
        }
    }

    /// Steps on the ground follow from where it is, so that feet do not slide.
    fn paint_feet(&self, sway: f32, canvas: &mut Canvas) {
        let body = &self.character.body;
        let colour = match self.wears(ItemKind::Boots) {
            true => icon::colour_of(ItemKind::Boots),
            false => SHOE,
        };
        let stride = sway.abs().min(1.0);
        for side in [-1.0, 1.0] {
            let turn = self.foot.x * 3.4 + if side > 0.0 { PI } else { 0.0 };
            let (x, y) = match body.is_grounded {
                true => (
                    side * 0.15 * (1.0 - stride) + turn.cos() * 0.26 * stride,
                    (turn.sin() * sway.signum()).max(0.0) * 0.2 * stride,
                ),
                // Legs are drawn up on the way up, and reach down for the ground.
                false => {
                    let falls = (body.velocity.y as f32 / 300.0).clamp(-1.0, 1.0);
                    (side * 0.17 - 0.1 * sway, 0.1 - 0.08 * falls + 0.05 * side)
                }
            };
            let ahead = 0.05 * self.face();
            ellipse(
                self.at(x + ahead, y + 0.1),
                vec2(0.2, 0.13),
                OUTLINE,
                canvas,
            );
            ellipse(
                self.at(x + ahead, y + 0.1),
                vec2(0.16, 0.09),
                colour,
                canvas,
            );
        }
    }

    fn paint_body(&self, sway: f32, canvas: &mut Canvas) {
        let lean = 0.05 * sway;
        let hull = |wide: f32, low: f32, high: f32| {
            [
                (-0.21 - wide, low),
                (0.21 + wide, low),
                (0.3 + wide, low + 0.3),
                (0.22 + wide + lean, high),
                (-0.22 - wide + lean, high),
                (-0.3 - wide, low + 0.3),
            ]
        };
        let dark = mix(self.colour, Color32::BLACK, 0.35);
        self.shape(hull(0.045, 0.11, 0.92), OUTLINE, canvas);
        self.shape(hull(0.0, 0.15, 0.88), self.colour, canvas);
        self.shape(
            [(-0.21, 0.15), (0.21, 0.15), (0.29, 0.42), (-0.29, 0.42)],
            dark,
            canvas,
        );
        if self.wears(ItemKind::Robe) {
            let robe = icon::colour_of(ItemKind::Robe);
            self.shape(
                [(-0.38, 0.04), (0.38, 0.04), (0.27, 0.5), (-0.27, 0.5)],
                robe,
                canvas,
            );
            let hem = mix(robe, Color32::WHITE, 0.5);
            self.shape(
                [(-0.38, 0.04), (0.38, 0.04), (0.36, 0.12), (-0.36, 0.12)],
                hem,
                canvas,
            );
        }
        if self.wears(ItemKind::Mail) {
            let mail = icon::colour_of(ItemKind::Mail);
            let shine = mix(mail, Color32::WHITE, 0.45);
            self.shape(
                [
                    (-0.29, 0.4),
                    (0.29, 0.4),
                    (0.25 + lean, 0.86),
                    (-0.25 + lean, 0.86),
                ],
                mail,
                canvas,
            );
            self.shape(
                [(-0.28, 0.56), (0.28, 0.56), (0.27, 0.62), (-0.27, 0.62)],
                shine,
                canvas,
            );
        }
        self.shape(
            [(-0.29, 0.36), (0.29, 0.36), (0.29, 0.43), (-0.29, 0.43)],
            OUTLINE,
            canvas,
        );
    }

    fn paint_head(&self, sway: f32, canvas: &mut Canvas) {
        let lean = 0.06 * sway;
        let head = self.at(lean, 1.12);
        canvas.disc(head, 0.33, OUTLINE);
        canvas.disc(head, 0.285, mix(SKIN, Color32::WHITE, self.shock));
        let gaze = vec2(self.look.x * 0.12, self.look.y * 0.09 + 0.02);
        let is_blinking = (self.seconds + f32::from(self.character.player.0) * 1.3) % 3.1 < 0.11;
        for side in [-0.105, 0.105] {
            let eye = head + gaze + vec2(side, 0.0);
            if is_blinking || self.shock > 0.4 {
                let half = vec2(0.06, 0.0);
                canvas.line(eye - half, eye + half, 1.4, OUTLINE);
                continue;
            }
            ellipse(eye, vec2(0.085, 0.105), Color32::WHITE, canvas);
            ellipse(eye + self.look * 0.035, vec2(0.055, 0.07), OUTLINE, canvas);
        }
        self.paint_hat(lean, sway, canvas);
    }

    /// Its tip stays behind when it moves.
    fn paint_hat(&self, lean: f32, sway: f32, canvas: &mut Canvas) {
        let falls = (self.character.body.velocity.y as f32 / 420.0).clamp(-1.0, 1.0);
        let tip = (
            lean - 0.26 * sway - 0.1 * self.face(),
            1.76 + 0.16 * falls.max(0.0),
        );
        let fold = (lean - 0.08 * sway, 1.56);
        let dark = mix(self.colour, Color32::BLACK, 0.35);
        let grow = 0.045;
        let outer = (tip.0, tip.1 + 0.05);
        let cone = |wide: f32, tip: (f32, f32)| {
            let (left, right) = ((lean - 0.27 - wide, 1.3), (lean + 0.27 + wide, 1.3));
            [
                left,
                (fold.0 - 0.15 - wide, fold.1),
                tip,
                (fold.0 + 0.15 + wide, fold.1),
                right,
            ]
        };
        let brim = |wide: f32| {
            [
                (lean - 0.44 - wide, 1.24 - wide),
                (lean + 0.44 + wide, 1.24 - wide),
                (lean + 0.3 + wide, 1.36 + wide),
                (lean - 0.3 - wide, 1.36 + wide),
            ]
        };
        self.shape(cone(grow, outer), OUTLINE, canvas);
        self.shape(brim(grow), OUTLINE, canvas);
        self.shape(cone(0.0, tip), self.colour, canvas);
        self.shape(brim(0.0), self.colour, canvas);
        let band = [
            (lean - 0.29, 1.34),
            (lean + 0.29, 1.34),
            (lean + 0.26, 1.41),
            (lean - 0.26, 1.41),
        ];
        self.shape(band, dark, canvas);
    }

    fn paint_wings(&self, canvas: &mut Canvas) {
        let flap = match self.character.body.is_grounded {
            true => 0.1,
            false => 0.35 * (self.seconds * 22.0).sin(),
        };
        let white = icon::colour_of(ItemKind::Wings);
        for side in [-1.0, 1.0] {
            let tip = (side * 0.85, 1.1 + flap);
            let wing = [
                (side * 0.12, 0.85),
                tip,
                (side * 0.7, 0.7 + flap * 0.6),
                (side * 0.15, 0.55),
            ];
            self.shape(wing, white.gamma_multiply(0.9), canvas);
        }
    }

    /// The hand points to where it aims, with what it holds; a strike swings it.
    fn paint_hand(&self, canvas: &mut Canvas) {
        let turn = match self.swing {
            Some(part) => self.face() * (part.sqrt() - 0.5) * 2.4,
            None => 0.0,
        };
        let along = Vec2::angled(self.look.angle() + turn);
        let across = vec2(-along.y, along.x);
        let shoulder = self.at(0.0, 0.66);
        let hand = shoulder + along * if self.swing.is_some() { 0.52 } else { 0.42 };
        let wood = Color32::from_rgb(170, 120, 76);
        if self.wears(ItemKind::Staff) {
            let orb = icon::colour_of(ItemKind::Staff);
            bar(
                hand - along * 0.3,
                hand + along * 0.5,
                across * 0.045,
                wood,
                canvas,
            );
            light(hand + along * 0.56, 0.3, orb.gamma_multiply(0.5), canvas);
            coin(hand + along * 0.56, 0.12, orb, canvas);
        } else if self.wears(ItemKind::Hammer) {
            let head = icon::colour_of(ItemKind::Hammer);
            bar(
                hand - along * 0.2,
                hand + along * 0.5,
                across * 0.05,
                wood,
                canvas,
            );
            bar(
                hand + along * 0.4,
                hand + along * 0.66,
                across * 0.24,
                OUTLINE,
                canvas,
            );
            bar(
                hand + along * 0.43,
                hand + along * 0.63,
                across * 0.2,
                head,
                canvas,
            );
        }
        coin(hand, 0.14, OUTLINE, canvas);
        coin(hand, 0.1, mix(SKIN, Color32::WHITE, self.shock), canvas);
    }
}
