//! Items and abilities as small pictures.

use eframe::egui::{Color32, Pos2, Rect, vec2};
use samestep_catalog::sublockus::{Ability, Item, ItemKind};

use crate::canvas::{Canvas, at, mix};

use super::arena::DETAILS;
use super::shapes::{coin, light};
use super::{scatter, spot};

const BACK: Color32 = Color32::from_rgb(20, 22, 36);

/// An item that lies about: it hovers over a light of its colour.
pub(super) fn paint_lying(item: &Item, seconds: f32, canvas: &mut Canvas) {
    let (column, row) = item.place.block();
    let turn = seconds * 2.4 + 6.0 * scatter(column, row, 0);
    let middle = spot(item.place) + vec2(0.0, 0.06 * turn.sin() - 0.08);
    let colour = colour_of(item.kind);
    if canvas.scale() < DETAILS {
        coin(middle, 0.32, colour, canvas);
        return;
    }
    let rim = 1.0 / canvas.scale();
    light(middle, 0.8, colour.gamma_multiply(0.35), canvas);
    coin(middle, 0.36 + rim / 2.0, mix(BACK, colour, 0.7), canvas);
    coin(middle, 0.36 - rim / 2.0, BACK, canvas);
    paint(item.kind, middle, 0.25, canvas);
}

/// The colour that an item is known by.
pub(super) fn colour_of(kind: ItemKind) -> Color32 {
    match kind {
        ItemKind::Boots => Color32::from_rgb(224, 160, 88),
        ItemKind::Wings => Color32::from_rgb(226, 240, 255),
        ItemKind::Mail => Color32::from_rgb(158, 176, 200),
        ItemKind::Robe => Color32::from_rgb(172, 116, 232),
        ItemKind::Staff => Color32::from_rgb(98, 222, 232),
        ItemKind::Hammer => Color32::from_rgb(214, 190, 120),
        ItemKind::Potion => Color32::from_rgb(240, 84, 104),
        ItemKind::Elixir => Color32::from_rgb(92, 142, 255),
    }
}

/// Draws in a square of which the middle is (0, 0) and the corners are at -1 and 1.
struct Square<'a> {
    canvas: &'a mut Canvas,
    middle: Pos2,
    half: f32,
}

impl Square<'_> {
    fn at(&self, x: f32, y: f32) -> Pos2 {
        self.middle + vec2(x, y) * self.half
    }

    fn shape<const N: usize>(&mut self, corners: [(f32, f32); N], colour: Color32) {
        let corners = corners.map(|(x, y)| self.at(x, y));
        self.canvas.polygon(&corners, colour);
    }

    fn rect(&mut self, left: f32, top: f32, right: f32, bottom: f32, colour: Color32) {
        let rect = Rect::from_min_max(self.at(left, top), self.at(right, bottom));
        self.canvas.rect(rect, colour);
    }

    fn disc(&mut self, x: f32, y: f32, radius: f32, colour: Color32) {
        let middle = self.at(x, y);
        coin(middle, radius * self.half, colour, self.canvas);
    }
}

/// Draws an item's picture, which reaches so far from its middle.
pub(super) fn paint(kind: ItemKind, middle: Pos2, half: f32, canvas: &mut Canvas) {
    let colour = colour_of(kind);
    let (light, dark) = (
        mix(colour, Color32::WHITE, 0.5),
        mix(colour, Color32::BLACK, 0.45),
    );
    let mut square = Square {
        canvas,
        middle,
        half,
    };
    match kind {
        ItemKind::Boots => {
            square.shape([(-0.6, -0.9), (0.1, -0.9), (0.2, 0.7), (-0.6, 0.7)], colour);
            square.shape([(-0.1, 0.0), (0.9, 0.3), (0.95, 0.7), (-0.1, 0.7)], colour);
            square.rect(-0.7, 0.65, 1.0, 0.95, dark);
            square.rect(-0.7, -0.95, 0.2, -0.6, light);
        }
        ItemKind::Wings => {
            for (tip, width) in [
                ((0.95, -0.8), 0.0),
                ((0.95, -0.1), 0.25),
                ((0.7, 0.55), 0.5),
            ] {
                let root = (-0.8, 0.1 + width);
                let feather = [root, (-0.3, -0.45 + width), tip, (0.1, 0.25 + width)];
                square.shape(feather, mix(colour, dark, width * 0.7));
            }
        }
        ItemKind::Mail => {
            square.shape(
                [(-1.0, -0.6), (-0.6, -0.85), (0.6, -0.85), (1.0, -0.6)],
                light,
            );
            square.shape([(-1.0, -0.6), (1.0, -0.6), (0.6, 0.9), (-0.6, 0.9)], colour);
            square.shape([(-0.35, -0.9), (0.35, -0.9), (0.0, -0.4)], dark);
            square.rect(-0.7, 0.2, 0.7, 0.45, dark);
        }
        ItemKind::Robe => {
            square.shape(
                [(-0.4, -0.9), (0.4, -0.9), (0.95, 0.9), (-0.95, 0.9)],
                colour,
            );
            square.shape(
                [(-0.86, 0.6), (0.86, 0.6), (0.95, 0.9), (-0.95, 0.9)],
                light,
            );
            square.shape([(-0.2, -0.9), (0.2, -0.9), (0.0, -0.2)], dark);
        }
        ItemKind::Staff => {
            let wood = Color32::from_rgb(176, 124, 78);
            square.shape(
                [(-0.95, 0.75), (-0.75, 0.95), (0.5, -0.3), (0.3, -0.5)],
                wood,
            );
            square.disc(0.5, -0.5, 0.45, colour);
            square.disc(0.4, -0.6, 0.18, light);
        }
        ItemKind::Hammer => {
            let wood = Color32::from_rgb(150, 104, 66);
            square.shape(
                [(-0.95, 0.75), (-0.75, 0.95), (0.4, -0.2), (0.2, -0.4)],
                wood,
            );
            square.shape(
                [(-0.25, -0.6), (0.35, -1.0), (1.0, -0.35), (0.6, 0.25)],
                colour,
            );
            square.shape(
                [(-0.25, -0.6), (0.35, -1.0), (0.5, -0.85), (-0.1, -0.45)],
                light,
            );
        }
        ItemKind::Potion => {
            square.rect(-0.2, -0.8, 0.2, 0.0, light);
            square.rect(-0.35, -1.0, 0.35, -0.75, Color32::from_rgb(170, 120, 80));
            square.disc(0.0, 0.3, 0.66, colour);
            square.disc(-0.22, 0.1, 0.18, light);
        }
        ItemKind::Elixir => {
            square.rect(-0.2, -0.8, 0.2, 0.0, light);
            square.rect(-0.35, -1.0, 0.35, -0.75, Color32::from_rgb(170, 120, 80));
            square.shape([(-0.2, -0.3), (0.2, -0.3), (0.8, 0.9), (-0.8, 0.9)], colour);
            square.shape(
                [(-0.2, -0.3), (0.0, -0.3), (-0.25, 0.7), (-0.6, 0.7)],
                light,
            );
        }
    }
}

/// Draws an ability's picture, which reaches so far from its middle.
pub(super) fn paint_ability(ability: Ability, middle: Pos2, half: f32, canvas: &mut Canvas) {
    let mut square = Square {
        canvas,
        middle,
        half,
    };
    match ability {
        Ability::Fireball => {
            let (fire, heart) = (
                Color32::from_rgb(255, 128, 40),
                Color32::from_rgb(255, 220, 120),
            );
            square.shape([(-1.0, 0.95), (-0.3, -0.35), (0.65, 0.6)], fire);
            square.disc(0.25, -0.2, 0.68, fire);
            square.disc(0.35, -0.25, 0.34, heart);
        }
        Ability::Strike => {
            let steel = Color32::from_rgb(226, 234, 246);
            square.shape(
                [
                    (-0.45, 0.2),
                    (0.75, -1.0),
                    (1.0, -1.0),
                    (1.0, -0.75),
                    (-0.2, 0.45),
                ],
                steel,
            );
            let wood = Color32::from_rgb(190, 134, 82);
            square.shape(
                [(-0.75, 0.0), (-0.6, -0.15), (0.15, 0.6), (0.0, 0.75)],
                wood,
            );
            square.shape(
                [(-1.0, 0.8), (-0.45, 0.25), (-0.25, 0.45), (-0.8, 1.0)],
                wood,
            );
        }
        Ability::Bolt => {
            let light = Color32::from_rgb(150, 226, 255);
            square.shape(
                [(0.25, -1.0), (0.6, -1.0), (0.1, -0.05), (-0.5, 0.15)],
                light,
            );
            square.shape([(-0.1, -0.15), (0.55, -0.15), (-0.35, 1.0)], light);
        }
        Ability::Mend => {
            let green = Color32::from_rgb(122, 226, 130);
            square.rect(-0.3, -0.9, 0.3, 0.9, green);
            square.rect(-0.9, -0.3, 0.9, 0.3, green);
        }
    }
}

/// The middle of a rectangle of the screen, and how large something in it may be, in units of the game.
pub(super) fn inside(canvas: &Canvas, rect: Rect, part: f32) -> (Pos2, f32) {
    let half = rect.width() / 2.0 * part / canvas.scale();
    let middle = canvas.to_world(rect.center());
    (at(middle.x, middle.y), half)
}
