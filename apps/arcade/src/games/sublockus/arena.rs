//! The arena: what is far behind, the blocks, and the items that lie about.

use eframe::egui::{Color32, Pos2, Rect, Vec2, vec2};
use samestep_catalog::sublockus::{Block, Sublockus, Terrain};

use crate::canvas::{Canvas, at, mix};
use crate::drawn::Scene;

use super::shapes::{ellipse, light};
use super::terrain::{Window, rectangles, runs};
use super::{extent, icon, is_seen, scatter, spot};

const SKY: [Color32; 2] = [Color32::from_rgb(30, 36, 62), Color32::from_rgb(17, 18, 32)];
const WINDOW: Color32 = Color32::from_rgb(41, 50, 84);
const PILLAR: [Color32; 2] = [Color32::from_rgb(24, 28, 49), Color32::from_rgb(16, 17, 30)];
const PILLAR_LIT: Color32 = Color32::from_rgb(33, 39, 66);
const ROCK: Color32 = Color32::from_rgb(57, 61, 83);
const ROCK_LOW: Color32 = Color32::from_rgb(46, 49, 69);
const STONE: Color32 = Color32::from_rgb(67, 72, 96);
const GAP: Color32 = Color32::from_rgb(42, 45, 64);
const SIDE: Color32 = Color32::from_rgb(76, 82, 108);
const BOTTOM: Color32 = Color32::from_rgb(33, 35, 52);
const MOSS: Color32 = Color32::from_rgb(88, 152, 122);
const MOSS_LIGHT: Color32 = Color32::from_rgb(136, 205, 156);
const WOOD: Color32 = Color32::from_rgb(142, 100, 66);
const WOOD_LIGHT: Color32 = Color32::from_rgb(206, 160, 104);
const WOOD_DARK: Color32 = Color32::from_rgb(88, 60, 44);
const THORN: Color32 = Color32::from_rgb(160, 50, 84);
const THORN_LIGHT: Color32 = Color32::from_rgb(236, 108, 134);
const SHADE: Color32 = Color32::from_rgba_premultiplied(0, 0, 0, 84);

/// Draws the arena.
pub(super) fn paint(game: &Sublockus, scene: &Scene<'_, Sublockus>, canvas: &mut Canvas) {
    let terrain = game.terrain();
    let seen = canvas.seen();
    let window = Window {
        columns: (seen.left().floor() as i32).max(-MARGIN)
            ..(seen.right().ceil() as i32).min(terrain.width() + MARGIN),
        rows: (seen.top().floor() as i32).max(-MARGIN)
            ..(seen.bottom().ceil() as i32).min(terrain.height() + MARGIN),
    };
    paint_far(game, canvas);
    paint_spawns(game, scene.seconds, canvas);
    paint_shades(&terrain, &window, canvas);
    paint_rock(game, &window, canvas);
    paint_edges(&terrain, &window, canvas);
    paint_ledges(&terrain, &window, canvas);
    paint_thorns(&terrain, &window, canvas);
    for item in game.items().as_slice() {
        let place = spot(item.place);
        if !canvas.sees(place, 1.0) || !is_seen(game, scene.viewer, item.place) {
            continue;
        }
        match game.is_there(item) {
            true => icon::paint_lying(item, scene.seconds, canvas),
            false => canvas.ring(place, 0.2, 1.0, Color32::from_white_alpha(22)),
        }
    }
}

/// Points to a block from which on stones, grass and pictures of items are seen.
pub(super) const DETAILS: f32 = 11.0;

/// Rock around the arena of which edges and stones are drawn; the rest is plain.
const MARGIN: i32 = 1;

/// A dark hall: windows far behind, pillars before them, which move less than what is near.
fn paint_far(game: &Sublockus, canvas: &mut Canvas) {
    let arena = Rect::from_min_size(Pos2::ZERO, extent(game));
    let seen = canvas.seen().intersect(arena);
    canvas.gradient(seen, SKY[0], SKY[1]);
    let from_middle = seen.center() - arena.center();
    layer(seen, from_middle * 0.65, 6.0, |column, left| {
        paint_windows(seen, column, left, from_middle.y * 0.65, canvas);
    });
    layer(seen, from_middle * 0.4, 9.0, |column, left| {
        let wide = 1.6 + 1.6 * scatter(column, 7, 1);
        let left = left + 3.0 * scatter(column, 7, 2);
        let shaft = block_rect(left, seen.top(), wide, seen.height());
        canvas.gradient(shaft, PILLAR[0], PILLAR[1]);
        let lit = block_rect(left, seen.top(), 0.12, seen.height());
        canvas.gradient(lit, PILLAR_LIT, PILLAR[1]);
    });
}

/// Calls back for every column of a layer that is seen, with its left edge.
fn layer(seen: Rect, shift: Vec2, apart: f32, mut each: impl FnMut(i32, f32)) {
    let first = ((seen.left() - shift.x) / apart).floor() as i32 - 1;
    let last = ((seen.right() - shift.x) / apart).ceil() as i32;
    for column in first..=last {
        each(column, column as f32 * apart + shift.x);
    }
}

/// Narrow windows above each other, some of them walled up.
fn paint_windows(seen: Rect, column: i32, left: f32, shift: f32, canvas: &mut Canvas) {
    const APART: f32 = 6.5;
    let first = ((seen.top() - shift) / APART).floor() as i32 - 1;
    let last = ((seen.bottom() - shift) / APART).ceil() as i32;
    for row in first..=last {
        if scatter(column, row, 11) < 0.3 {
            continue;
        }
        let top = row as f32 * APART + shift + 2.0 * scatter(column, 0, 12);
        let window = block_rect(left + 2.3, top, 1.3, 2.8);
        canvas.gradient(window, WINDOW, Color32::TRANSPARENT);
        let (from, to) = (window.left_top(), window.right_top());
        canvas.triangle([from, at(window.center().x, top - 0.7), to], WINDOW);
    }
}

/// Where characters enter: a lamp in the air.
fn paint_spawns(game: &Sublockus, seconds: f32, canvas: &mut Canvas) {
    let is_fine = canvas.scale() >= DETAILS;
    for spawn in game.spawns().iter().filter(|_| is_fine) {
        let middle = spot(spawn.middle()) - vec2(0.0, 0.6);
        if !canvas.sees(middle, 2.0) {
            continue;
        }
        let turn = scatter(spawn.column.into(), spawn.row.into(), 5) * 6.0;
        let breath = 0.85 + 0.15 * (seconds * 1.7 + turn).sin();
        light(middle, 1.7, lamp(26.0 * breath), canvas);
        ellipse(middle, vec2(0.07, 0.07), lamp(120.0 * breath), canvas);
    }
}

fn lamp(strength: f32) -> Color32 {
    Color32::from_rgba_unmultiplied(255, 214, 150, strength as u8)
}

/// What is above throws a shade on the hall behind.
fn paint_shades(terrain: &Terrain<'_>, window: &Window, canvas: &mut Canvas) {
    for (cover, above) in [(Block::Rock, 0.0), (Block::Ledge, 0.8)] {
        for row in window.rows.clone() {
            let covers =
                |column| terrain.block(column, row - 1) == cover && !terrain.is_rock(column, row);
            runs(window.columns.clone(), covers, |run| {
                let top = row as f32 - above;
                let shade = block_rect(run.start as f32, top, run.len() as f32, 1.1);
                canvas.gradient(shade, SHADE, Color32::TRANSPARENT);
            });
        }
    }
}

fn paint_rock(game: &Sublockus, window: &Window, canvas: &mut Canvas) {
    let (terrain, all, seen) = (game.terrain(), extent(game), canvas.seen());
    // What lies around the arena.
    let around = [
        Rect::from_min_max(seen.min, at(seen.right(), -1.0)),
        Rect::from_min_max(at(seen.left(), all.y + 1.0), seen.max),
        Rect::from_min_max(at(seen.left(), -1.0), at(-1.0, all.y + 1.0)),
        Rect::from_min_max(at(all.x + 1.0, -1.0), at(seen.right(), all.y + 1.0)),
    ];
    for part in around.into_iter().filter(|part| part.is_positive()) {
        canvas.rect(part, GAP);
    }
    let depth = |row: i32| mix(ROCK, ROCK_LOW, row as f32 / all.y);
    rectangles(&terrain, window, Block::Rock, |columns, rows| {
        let (wide, high) = (columns.len() as f32, rows.len() as f32);
        let rect = block_rect(columns.start as f32, rows.start as f32, wide, high);
        canvas.gradient(rect, depth(rows.start), depth(rows.end));
    });
    if canvas.scale() < DETAILS {
        return;
    }
    for row in window.rows.clone() {
        paint_course(&terrain, window, row, canvas);
    }
}

/// A row of stones two blocks wide, with gaps between them; some stand out.
fn paint_course(terrain: &Terrain<'_>, window: &Window, row: i32, canvas: &mut Canvas) {
    let y = row as f32;
    let is_rock = |column| terrain.is_rock(column, row);
    runs(window.columns.clone(), is_rock, |run| {
        let begins = |column: &i32| (column + row).rem_euclid(2) == 0;
        for column in run.clone().filter(begins) {
            let dice = scatter(column, row, 1);
            let wide = if column + 1 < run.end { 2.0 } else { 1.0 };
            if dice < 0.24 {
                let colour = if dice < 0.12 { STONE } else { GAP };
                let stone = block_rect(column as f32, y, wide, 1.0);
                canvas.rect(stone, colour.gamma_multiply(0.55));
            }
            canvas.rect(block_rect(column as f32 - 0.03, y, 0.06, 1.0), GAP);
        }
        let goes_on = |column| terrain.is_rock(column, row + 1);
        runs(run, goes_on, |run| {
            let gap = block_rect(run.start as f32, y + 0.97, run.len() as f32, 0.06);
            canvas.rect(gap, GAP);
        });
    });
}

/// Light falls from above: moss on top, bright sides, dark below.
fn paint_edges(terrain: &Terrain<'_>, window: &Window, canvas: &mut Canvas) {
    for row in window.rows.clone() {
        let is_open =
            |column, beside| terrain.is_rock(column, row) && !terrain.is_rock(column, beside);
        let columns = || window.columns.clone();
        runs(
            columns(),
            |column| is_open(column, row + 1),
            |run| {
                let edge = block_rect(run.start as f32, row as f32 + 0.86, run.len() as f32, 0.14);
                canvas.rect(edge, BOTTOM);
            },
        );
        runs(
            columns(),
            |column| is_open(column, row - 1),
            |run| {
                let (x, y, wide) = (run.start as f32, row as f32, run.len() as f32);
                canvas.gradient(block_rect(x, y, wide, 0.3), MOSS, ROCK);
                canvas.rect(block_rect(x, y, wide, 0.09), MOSS_LIGHT);
                run.for_each(|column| paint_tuft(terrain, column, row, canvas));
            },
        );
    }
    for column in window.columns.clone() {
        for beside in [-1, 1] {
            let is_open =
                |row| terrain.is_rock(column, row) && !terrain.is_rock(column + beside, row);
            runs(window.rows.clone(), is_open, |run| {
                let left = if beside < 0 { 0.0 } else { 0.91 };
                let top = if terrain.is_rock(column, run.start - 1) {
                    0.0
                } else {
                    0.09
                };
                let high = run.len() as f32 - top;
                let edge = block_rect(column as f32 + left, run.start as f32 + top, 0.09, high);
                canvas.rect(edge, SIDE);
            });
        }
    }
}

/// Grass here and there.
fn paint_tuft(terrain: &Terrain<'_>, column: i32, row: i32, canvas: &mut Canvas) {
    let is_bare = scatter(column, row, 3) > 0.4 || canvas.scale() < DETAILS;
    if is_bare || terrain.block(column, row - 1) != Block::Air {
        return;
    }
    let foot = at(
        column as f32 + 0.15 + 0.5 * scatter(column, row, 4),
        row as f32 + 0.02,
    );
    for (blade, lean) in [(0.0, -0.1), (0.09, 0.02), (0.18, 0.12)] {
        let high = 0.16 + 0.14 * scatter(column, row, (blade * 100.0) as i32);
        let left = foot + vec2(blade, 0.0);
        let corners = [
            left,
            left + vec2(lean + 0.04, -high),
            left + vec2(0.09, 0.0),
        ];
        canvas.triangle(corners, MOSS_LIGHT);
    }
}

fn paint_ledges(terrain: &Terrain<'_>, window: &Window, canvas: &mut Canvas) {
    for row in window.rows.clone() {
        let is_ledge = |column| terrain.block(column, row) == Block::Ledge;
        runs(window.columns.clone(), is_ledge, |run| {
            let (x, y, wide) = (run.start as f32, row as f32, run.len() as f32);
            canvas.rect(block_rect(x, y + 0.18, wide, 0.08), WOOD_DARK);
            canvas.rect(block_rect(x, y, wide, 0.2), WOOD);
            canvas.rect(block_rect(x, y, wide, 0.07), WOOD_LIGHT);
            if canvas.scale() < DETAILS {
                return;
            }
            for column in run.clone() {
                let gap = column as f32 + 0.96 * scatter(column, row, 6).clamp(0.2, 0.8);
                canvas.rect(block_rect(gap, y + 0.07, 0.05, 0.13), WOOD_DARK);
            }
            for (end, inward) in [(x, 1.0), (x + wide, -1.0)] {
                let corner = at(end + 0.12 * inward, y + 0.26);
                let brace = [
                    corner,
                    corner + vec2(0.34 * inward, 0.0),
                    corner + vec2(0.0, 0.34),
                ];
                canvas.triangle(brace, WOOD_DARK);
            }
        });
    }
}

fn paint_thorns(terrain: &Terrain<'_>, window: &Window, canvas: &mut Canvas) {
    rectangles(terrain, window, Block::Thorns, |columns, rows| {
        for (column, row) in rows.flat_map(|row| columns.clone().map(move |column| (column, row))) {
            let foot = row as f32 + 1.0;
            for spike in 0..3 {
                let x = column as f32 + spike as f32 / 3.0;
                let high = 0.62 + 0.34 * scatter(column, row, spike);
                let lean = 0.2 * scatter(column, row, spike + 9) - 0.1;
                let tip = at(x + 1.0 / 6.0 + lean, foot - high);
                canvas.triangle([at(x - 0.02, foot), tip, at(x + 0.36, foot)], THORN);
                canvas.triangle([at(x - 0.02, foot), tip, at(x + 0.1, foot)], THORN_LIGHT);
            }
        }
    });
}

fn block_rect(x: f32, y: f32, wide: f32, high: f32) -> Rect {
    Rect::from_min_size(Pos2::new(x, y), vec2(wide, high))
}
