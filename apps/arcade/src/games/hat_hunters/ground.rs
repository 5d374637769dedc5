//! The field: grass, stumps, boxes and bushes.

use std::f32::consts::TAU;

use eframe::egui::{Color32, Pos2, Rect, Vec2, vec2};
use samestep_catalog::hat_hunters::{Cell, Ground, HatHunters};

use crate::canvas::{Canvas, at, corners, mix};

use super::shapes::{block, coin, dashes, ellipse, light};
use super::{extent, scatter};

const AROUND: Color32 = Color32::from_rgb(24, 34, 26);
const GRASS: [Color32; 2] = [
    Color32::from_rgb(96, 132, 72),
    Color32::from_rgb(102, 139, 76),
];
const BLADE: Color32 = Color32::from_rgb(124, 162, 88);
const BLOSSOM: [Color32; 3] = [
    Color32::from_rgb(240, 236, 220),
    Color32::from_rgb(244, 214, 120),
    Color32::from_rgb(222, 168, 204),
];
const SHADE: Color32 = Color32::from_rgba_premultiplied(0, 0, 0, 60);

const BARK: Color32 = Color32::from_rgb(92, 64, 44);
const BARK_DARK: Color32 = Color32::from_rgb(58, 40, 30);
const WOOD: Color32 = Color32::from_rgb(206, 166, 112);
const RING: Color32 = Color32::from_rgb(170, 126, 80);

const PLANK: Color32 = Color32::from_rgb(190, 138, 76);
const PLANK_LIGHT: Color32 = Color32::from_rgb(214, 164, 98);
const PLANK_DARK: Color32 = Color32::from_rgb(112, 74, 38);

const LEAF: Color32 = Color32::from_rgb(44, 104, 52);
const LEAF_DARK: Color32 = Color32::from_rgb(26, 68, 38);
const LEAF_LIGHT: Color32 = Color32::from_rgb(78, 146, 70);
const BERRY: Color32 = Color32::from_rgb(214, 64, 70);

/// Draws all cells.
pub(super) fn paint(game: &HatHunters, canvas: &mut Canvas) {
    canvas.fill(AROUND);
    let field = game.field();
    let all = Rect::from_min_size(Pos2::ZERO, extent(game));
    canvas.rect(all, GRASS[0]);
    let cells = (0..field.height()).flat_map(|row| (0..field.width()).map(move |c| (c, row)));
    for (column, row) in cells.clone() {
        paint_grass(column, row, canvas);
    }
    // Shadows first, so that none falls onto what stands next to it.
    for (column, row) in cells.clone() {
        if field.is_solid(column, row) {
            let middle = middle_of(column, row) + vec2(0.08, 0.12);
            light(middle, 0.72, SHADE, canvas);
        }
    }
    for (column, row) in cells {
        let middle = middle_of(column, row);
        match field.ground(column, row) {
            Ground::Floor => {}
            Ground::Stump => paint_stump(middle, column, row, canvas),
            Ground::Box => paint_box(middle, 0.44, canvas),
            Ground::Bush => paint_bush(middle, column, row, canvas),
        }
    }
    for silhouette in game
        .characters()
        .as_slice()
        .iter()
        .filter_map(|character| character.silhouette)
    {
        paint_silhouette(silhouette.cell, silhouette.is_left, canvas);
    }
}

fn middle_of(column: i32, row: i32) -> Pos2 {
    at(column as f32 + 0.5, row as f32 + 0.5)
}

/// Two greens, blades of grass, and a blossom here and there.
fn paint_grass(column: i32, row: i32, canvas: &mut Canvas) {
    let corner = at(column as f32, row as f32);
    if (column + row) % 2 == 0 {
        canvas.rect(Rect::from_min_size(corner, Vec2::splat(1.0)), GRASS[1]);
    }
    if canvas.scale() < 11.0 {
        return;
    }
    let chance = |nth| scatter(column, row, nth);
    if chance(0) > 0.62 {
        let foot = corner + vec2(0.2 + 0.6 * chance(1), 0.3 + 0.6 * chance(2));
        for lean in [-0.07, 0.0, 0.08] {
            let tip = foot + vec2(lean, -0.16);
            let half = vec2(0.022, 0.0);
            canvas.triangle([foot - half, foot + half, tip], BLADE);
        }
    }
    if chance(3) > 0.93 {
        let place = corner + vec2(0.2 + 0.6 * chance(4), 0.2 + 0.6 * chance(5));
        let colour = BLOSSOM[(chance(6) * 2.99) as usize];
        coin(place, 0.06, colour, canvas);
        coin(place, 0.024, Color32::from_rgb(150, 110, 40), canvas);
    }
}

/// Seen from above: bark around the rings of the cut, which is not quite round.
fn paint_stump(middle: Pos2, column: i32, row: i32, canvas: &mut Canvas) {
    let chance = |nth| scatter(column, row, 10 + nth);
    let wide = 0.47 + 0.03 * chance(0);
    let radii = vec2(wide, wide * (0.94 + 0.06 * chance(1)));
    ellipse(middle + vec2(0.0, 0.04), radii, BARK_DARK, canvas);
    ellipse(middle, radii * 0.94, BARK, canvas);
    let face = middle + vec2(0.0, -0.05);
    let tone = mix(WOOD, RING, 0.35 * chance(2));
    ellipse(face, radii * 0.76, RING, canvas);
    ellipse(face, radii * 0.7, tone, canvas);
    let heart = face + vec2(0.1 * (chance(3) - 0.5), 0.1 * (chance(4) - 0.5));
    if canvas.scale() > 13.0 {
        ellipse(heart, radii * 0.5, RING, canvas);
        ellipse(heart, radii * 0.44, tone, canvas);
    }
    ellipse(heart, radii * 0.26, RING, canvas);
    ellipse(heart, radii * 0.19, tone, canvas);
    coin(heart, 0.035, BARK, canvas);
    let split = Vec2::angled(chance(5) * TAU);
    canvas.line(heart + split * 0.08, face + split * 0.3, 1.0, RING);
}

/// A crate of planks with a frame around.
pub(super) fn paint_box(middle: Pos2, half: f32, canvas: &mut Canvas) {
    let square = |by: f32| Vec2::splat(half * by);
    block(
        middle + vec2(0.0, half * 0.1),
        square(1.06),
        PLANK_DARK,
        canvas,
    );
    block(middle, square(1.0), PLANK_LIGHT, canvas);
    block(middle, square(0.84), PLANK_DARK, canvas);
    block(middle, square(0.78), PLANK, canvas);
    for gap in [-0.26, 0.26] {
        let y = vec2(0.0, half * gap);
        block(
            middle + y,
            vec2(half * 0.78, half * 0.035),
            PLANK_DARK,
            canvas,
        );
    }
    // A brace from corner to corner.
    let (reach, wide) = (half * 0.78, half * 0.13);
    let brace = [
        middle + vec2(-reach, reach),
        middle + vec2(-reach, reach - 2.0 * wide),
        middle + vec2(reach - 2.0 * wide, -reach),
        middle + vec2(reach, -reach),
        middle + vec2(reach, -reach + 2.0 * wide),
        middle + vec2(-reach + 2.0 * wide, reach),
    ];
    canvas.polygon(&brace, PLANK_LIGHT);
    for (x, y) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
        coin(
            middle + vec2(x, y) * half * 0.91,
            half * 0.06,
            PLANK_DARK,
            canvas,
        );
    }
}

/// A clump of leaves, with berries.
fn paint_bush(middle: Pos2, column: i32, row: i32, canvas: &mut Canvas) {
    let chance = |nth| scatter(column, row, 30 + nth);
    let lumps = [
        (-0.2, 0.14),
        (0.22, 0.16),
        (-0.2, -0.12),
        (0.2, -0.14),
        (0.0, 0.0),
    ];
    let place = |nth: usize, (x, y): (f32, f32)| {
        let off = vec2(chance(nth as i32) - 0.5, chance(nth as i32 + 7) - 0.5) * 0.1;
        middle + vec2(x, y) + off
    };
    for (nth, lump) in lumps.into_iter().enumerate() {
        coin(place(nth, lump) + vec2(0.0, 0.03), 0.34, LEAF_DARK, canvas);
    }
    for (nth, lump) in lumps.into_iter().enumerate() {
        coin(place(nth, lump), 0.29, LEAF, canvas);
    }
    for (nth, lump) in lumps.into_iter().enumerate() {
        let shine = place(nth, lump) + vec2(-0.06, -0.08);
        coin(shine, 0.13, LEAF_LIGHT, canvas);
    }
    for nth in 0..3 {
        let way = Vec2::angled(chance(20 + nth) * TAU) * 0.3;
        coin(middle + way, 0.045, BERRY, canvas);
    }
}

/// A box that will appear: its outline, in dashes; filled a little once its character has left.
fn paint_silhouette(cell: Cell, is_left: bool, canvas: &mut Canvas) {
    let (column, row) = cell.column_and_row();
    let middle = middle_of(column, row);
    let colour = mix(PLANK_LIGHT, Color32::WHITE, 0.4);
    let rect = Rect::from_center_size(middle, Vec2::splat(0.84));
    canvas.rect(rect, colour.gamma_multiply(if is_left { 0.4 } else { 0.2 }));
    let corners = corners(rect);
    for (from, to) in corners.into_iter().zip(corners.into_iter().cycle().skip(1)) {
        let points = (0..10).map(|part| from + (to - from) * (part as f32 / 9.0));
        dashes(points, 2.0, colour.gamma_multiply(0.95), canvas);
    }
}
