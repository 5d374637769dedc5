//! The ground of Skirmish, and the fog over it.

use eframe::egui::{Color32, Pos2, Rect, pos2, vec2};
use samestep_catalog::skirmish::{ONE, Place, SideId, Skirmish};
use samestep_sync::random;

use super::map_of;
use crate::canvas::{Canvas, corners, mix};

/// Width of what is seen or not, in units.
pub(super) const BLOCK: f32 = 8.0;

const BEYOND: Color32 = Color32::from_rgb(0x08, 0x0a, 0x0e);
const UNSEEN: Color32 = Color32::from_rgb(0x0c, 0x0f, 0x14);
const GRASS: [Color32; 4] = [
    Color32::from_rgb(0x31, 0x45, 0x35),
    Color32::from_rgb(0x37, 0x4c, 0x38),
    Color32::from_rgb(0x3c, 0x4c, 0x36),
    Color32::from_rgb(0x2d, 0x42, 0x36),
];
const TUFT: Color32 = Color32::from_rgb(0x56, 0x70, 0x4a);
const STONE: Color32 = Color32::from_rgb(0x6c, 0x72, 0x70);
const EDGE: Color32 = Color32::from_rgb(0x4a, 0x56, 0x50);

/// What a side knows of a place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub(super) enum Light {
    /// It has never been there.
    Unknown,
    /// It has been there.
    Known,
    /// It sees it.
    Seen,
}

/// What is seen of a game: what a side sees, or everything.
#[derive(Clone, Copy)]
pub(super) struct Sight<'a> {
    pub(super) game: &'a Skirmish,
    pub(super) side: Option<SideId>,
}

impl Sight<'_> {
    /// What is known of a place.
    pub(super) fn at(&self, place: Place) -> Light {
        let Some(side) = self.side else {
            return Light::Seen;
        };
        match self.game.sees(side, place) {
            true => Light::Seen,
            false if self.game.has_explored(side, place) => Light::Known,
            false => Light::Unknown,
        }
    }

    /// Whether it is seen now.
    pub(super) fn sees(&self, place: Place) -> bool {
        self.side.is_none_or(|side| self.game.sees(side, place))
    }

    /// What is known of a block.
    pub(super) fn block(&self, column: i32, row: i32) -> Light {
        let middle = |at: i32| (at * BLOCK as i32 + BLOCK as i32 / 2) * ONE;
        self.at(Place {
            x: middle(column),
            y: middle(row),
        })
    }
}

/// Draws the ground as a side knows it. Colours run softly from the middle of a block to that of the next, fog included.
pub(super) fn paint(sight: Sight<'_>, canvas: &mut Canvas) {
    let map = map_of(sight.game);
    let (seen, blocks) = (canvas.seen(), (map.width() / BLOCK) as i32);
    if !map.contains_rect(seen) {
        canvas.fill(BEYOND);
    }
    if blocks == 0 {
        return;
    }
    // Between the middles of blocks; the first and the last half of one is as its middle.
    let first = |at: f32| ((at / BLOCK - 0.5).floor() as i32).clamp(-1, blocks - 1);
    let (columns, rows) = (
        first(seen.min.x)..first(seen.max.x) + 1,
        first(seen.min.y)..first(seen.max.y) + 1,
    );
    for row in rows.clone() {
        let mut run = None;
        for column in columns.clone() {
            let quad = Quad::new(sight, blocks, column, row);
            match quad.is_dark {
                // Unknown blocks are one dark strip.
                true => {
                    let start = run.get_or_insert(quad.rect);
                    *start = start.union(quad.rect);
                }
                false => {
                    fill_dark(run.take(), canvas);
                    quad.paint(canvas);
                }
            }
        }
        fill_dark(run, canvas);
    }
    if canvas.scale() > 4.0 {
        for row in rows {
            for column in columns.clone() {
                decorate(sight, column, row, blocks, canvas);
            }
        }
    }
    canvas.outline(&corners(map), 1.5, EDGE);
}

fn fill_dark(run: Option<Rect>, canvas: &mut Canvas) {
    if let Some(rect) = run {
        canvas.rect(rect, UNSEEN);
    }
}

/// What lies between the middles of four blocks.
struct Quad {
    rect: Rect,
    colours: [Color32; 4],
    is_dark: bool,
}

impl Quad {
    fn new(sight: Sight<'_>, blocks: i32, column: i32, row: i32) -> Quad {
        let middle = |at: i32| match at {
            -1 => 0.0,
            at if at == blocks => blocks as f32 * BLOCK,
            at => (at as f32 + 0.5) * BLOCK,
        };
        let rect = Rect::from_min_max(
            pos2(middle(column), middle(row)),
            pos2(middle(column + 1), middle(row + 1)),
        );
        let inside = |at: i32| at.clamp(0, blocks - 1);
        let corners = [(0, 0), (1, 0), (1, 1), (0, 1)];
        let lights = corners.map(|(x, y)| sight.block(inside(column + x), inside(row + y)));
        let colour = |at: usize| {
            let (x, y) = corners[at];
            shade(grass(column + x, row + y), lights[at])
        };
        Quad {
            rect,
            colours: [0, 1, 2, 3].map(colour),
            is_dark: lights == [Light::Unknown; 4],
        }
    }

    fn paint(&self, canvas: &mut Canvas) {
        let rect = self.rect;
        let corners = corners(rect);
        // Around the middle, so that no diagonal shows.
        let [a, b, c, d] = self.colours;
        let middle = mix(mix(a, c, 0.5), mix(b, d, 0.5), 0.5);
        let around = corners.into_iter().zip(self.colours);
        let around = around.chain([(corners[0], self.colours[0])]);
        canvas.shaded([(rect.center(), middle)].into_iter().chain(around));
    }
}

/// A colour as it is in this light.
pub(super) fn shade(colour: Color32, light: Light) -> Color32 {
    match light {
        Light::Seen => colour,
        Light::Known => mix(UNSEEN, colour, 0.42),
        Light::Unknown => UNSEEN,
    }
}

fn grass(column: i32, row: i32) -> Color32 {
    let dice = dice(column, row);
    let (one, other) = (dice & 3, dice >> 2 & 3);
    let part = (dice >> 8 & 0xff) as f32 / 255.0;
    mix(GRASS[one as usize], GRASS[other as usize], part)
}

fn dice(column: i32, row: i32) -> u64 {
    random::hash(0x9a55, column as u64, row as u64)
}

/// A few tufts and stones in a block that is known.
fn decorate(sight: Sight<'_>, column: i32, row: i32, blocks: i32, canvas: &mut Canvas) {
    let inside = 0..blocks;
    if !inside.contains(&column) || !inside.contains(&row) {
        return;
    }
    let light = sight.block(column, row);
    if light == Light::Unknown {
        return;
    }
    let mut dice = dice(column, row) >> 16;
    for _ in 0..3 {
        let along = |bits: u64| (bits & 0xff) as f32 / 256.0 * BLOCK;
        let place = pos2(
            column as f32 * BLOCK + along(dice),
            row as f32 * BLOCK + along(dice >> 8),
        );
        match dice >> 7 & 3 {
            0 => stone(place, shade(STONE, light), canvas),
            1 | 2 => tuft(place, shade(TUFT, light), canvas),
            _ => {}
        }
        dice = random::hash(dice, 0, 0);
    }
}

fn tuft(place: Pos2, colour: Color32, canvas: &mut Canvas) {
    let colour = colour.gamma_multiply(0.6);
    for (lean, height) in [(-0.35, 0.5), (0.05, 0.7), (0.4, 0.45)] {
        let root = place + vec2(lean * 0.4, 0.0);
        canvas.triangle(
            [
                root + vec2(-0.08, 0.0),
                root + vec2(0.08, 0.0),
                place + vec2(lean, -height),
            ],
            colour,
        );
    }
}

fn stone(place: Pos2, colour: Color32, canvas: &mut Canvas) {
    let corner = |x, y| place + vec2(x, y) * 0.45;
    canvas.polygon(
        &[
            corner(-0.6, 0.3),
            corner(-0.3, -0.4),
            corner(0.4, -0.45),
            corner(0.7, 0.2),
            corner(0.2, 0.5),
        ],
        colour.gamma_multiply(0.5),
    );
}
