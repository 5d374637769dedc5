//! Buildings and mines of Skirmish.

use eframe::egui::{Color32, Pos2, Rect, Vec2, pos2, vec2};
use samestep_catalog::skirmish::{Building, BuildingKind, CAPTURE, CAPTURE_RADIUS, Mine, ONE};

use super::ground::{Light, Sight, shade};
use super::spot;
use super::units::{Colours, NOBODY};
use crate::canvas::{Canvas, corners, mix};

const SHADOW: Color32 = Color32::from_black_alpha(70);
const DARK: Color32 = Color32::from_rgb(0x14, 0x18, 0x1c);
const WALL: Color32 = Color32::from_rgb(0xa3, 0x9b, 0x8a);
const ROCK: Color32 = Color32::from_rgb(0x5e, 0x5a, 0x56);
const ROCK_LIT: Color32 = Color32::from_rgb(0x7b, 0x75, 0x6e);
const GOLD: Color32 = Color32::from_rgb(0xf7, 0xc9, 0x48);
const GOLD_LIT: Color32 = Color32::from_rgb(0xff, 0xe9, 0x9a);

/// Below so many points to a unit there is no room for details.
const COARSE: f32 = 3.0;

/// Draws what is known of mines and buildings.
pub(super) fn paint(sight: Sight<'_>, colours: &Colours, seconds: f32, canvas: &mut Canvas) {
    for mine in sight.game.mines() {
        let light = sight.at(mine.place);
        if light != Light::Unknown && canvas.sees(spot(mine.place), 3.0) {
            paint_mine(mine, light, canvas);
        }
    }
    for building in sight.game.buildings() {
        let light = sight.at(building.place);
        if light != Light::Unknown && canvas.sees(spot(building.place), 6.0) {
            Look::new(building, light, colours).paint(seconds, canvas);
        }
    }
}

/// A heap of rock with gold in it, the less the less there is left.
fn paint_mine(mine: &Mine, light: Light, canvas: &mut Canvas) {
    const NUGGETS: [(f32, f32, f32); 6] = [
        (-0.2, -0.5, 0.5),
        (0.8, 0.1, 0.42),
        (-0.9, 0.3, 0.38),
        (0.2, 0.6, 0.45),
        (0.6, -0.8, 0.3),
        (-0.9, -0.6, 0.28),
    ];
    let middle = spot(mine.place);
    let corner = |x: f32, y: f32| middle + vec2(x, y);
    canvas.polygon(&heap(middle + vec2(0.3, 0.4), 2.1), SHADOW);
    canvas.polygon(&heap(middle, 2.0), shade(ROCK, light));
    canvas.polygon(
        &[
            corner(-1.7, -0.2),
            corner(-0.9, -1.5),
            corner(0.6, -1.6),
            corner(0.1, -0.2),
            corner(-0.8, 0.4),
        ],
        shade(ROCK_LIT, light),
    );
    let left = match mine.gold {
        0 => 0,
        1..=500 => 1,
        501..=2_000 => 2,
        2_001..=6_000 => 3,
        6_001..=12_000 => 4,
        12_001..=20_000 => 5,
        _ => 6,
    };
    for (x, y, radius) in &NUGGETS[..left] {
        let place = corner(*x, *y);
        diamond(place, *radius, shade(GOLD, light), canvas);
        diamond(
            place + vec2(-0.12, -0.14),
            radius * 0.45,
            shade(GOLD_LIT, light),
            canvas,
        );
    }
}

fn heap(middle: Pos2, radius: f32) -> [Pos2; 7] {
    const SHAPE: [(f32, f32); 7] = [
        (-1.0, 0.25),
        (-0.75, -0.55),
        (-0.2, -0.95),
        (0.55, -0.8),
        (1.0, -0.05),
        (0.65, 0.75),
        (-0.35, 0.85),
    ];
    SHAPE.map(|(x, y)| middle + vec2(x, y) * radius)
}

fn diamond(middle: Pos2, radius: f32, colour: Color32, canvas: &mut Canvas) {
    let corners = [(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)];
    canvas.polygon(&corners.map(|(x, y)| middle + vec2(x, y) * radius), colour);
}

/// A building and how it looks.
struct Look<'a> {
    building: &'a Building,
    middle: Pos2,
    light: Light,
    colour: Color32,
    captor: Option<Color32>,
}

impl Look<'_> {
    fn new<'a>(building: &'a Building, light: Light, colours: &Colours) -> Look<'a> {
        Look {
            building,
            middle: spot(building.place),
            light,
            colour: building.side.map_or(NOBODY, |side| colours.of(side)),
            captor: building.captor.map(|side| colours.of(side)),
        }
    }

    /// A mixture of the owner's colour.
    fn tone(&self, towards: Color32, part: f32) -> Color32 {
        shade(mix(self.colour, towards, part), self.light)
    }

    fn corner(&self, x: f32, y: f32) -> Pos2 {
        self.middle + vec2(x, y)
    }

    fn paint(&self, seconds: f32, canvas: &mut Canvas) {
        if self.light == Light::Seen {
            canvas.glow(self.middle, 4.6, self.colour.gamma_multiply(0.16));
        }
        match (self.building.unfinished, self.building.kind) {
            (1.., _) => self.site(canvas),
            (_, BuildingKind::Hall) => self.hall(canvas),
            (_, BuildingKind::Barracks) => self.barracks(canvas),
            (_, BuildingKind::Outpost) => self.outpost(seconds, canvas),
        }
        if self.light == Light::Seen {
            self.progress(canvas);
            self.capture(canvas);
        }
    }

    /// Four slopes around a ridge, lit from the upper left.
    fn roof(&self, half: Vec2, ridge: f32, canvas: &mut Canvas) {
        let [a, b, c, d] = [
            self.corner(-half.x, -half.y),
            self.corner(half.x, -half.y),
            self.corner(half.x, half.y),
            self.corner(-half.x, half.y),
        ];
        let (left, right) = (self.corner(-ridge, -0.15), self.corner(ridge, -0.15));
        canvas.polygon(&[a, b, right, left], self.tone(Color32::WHITE, 0.22));
        canvas.triangle([a, left, d], self.tone(Color32::WHITE, 0.06));
        canvas.triangle([b, c, right], self.tone(DARK, 0.3));
        canvas.polygon(&[d, left, right, c], self.tone(DARK, 0.42));
    }

    fn block(&self, half: Vec2, grow: f32, colour: Color32, canvas: &mut Canvas) {
        let rect = Rect::from_center_size(self.middle, half * 2.0).expand(grow);
        canvas.rect(rect, colour);
    }

    fn shadow(&self, half: Vec2, canvas: &mut Canvas) {
        let rect = Rect::from_center_size(self.middle, half * 2.0);
        canvas.rect(rect.expand(0.4).translate(vec2(0.35, 0.5)), SHADOW);
    }

    /// The seat of a side: a wide roof with a keep on it.
    fn hall(&self, canvas: &mut Canvas) {
        let half = vec2(2.5, 2.3);
        self.shadow(half, canvas);
        self.block(half, 0.3, shade(DARK, self.light), canvas);
        self.roof(half, 0.5, canvas);
        if canvas.scale() < COARSE {
            return;
        }
        for (x, y) in [(-2.4, -2.2), (2.4, -2.2), (2.4, 2.2), (-2.4, 2.2)] {
            let tower = Rect::from_center_size(self.corner(x, y), Vec2::splat(1.1));
            canvas.rect(tower.expand(0.12), shade(DARK, self.light));
            canvas.rect(tower, shade(WALL, self.light));
        }
        diamond(
            self.corner(0.0, -0.15),
            0.75,
            shade(DARK, self.light),
            canvas,
        );
        diamond(
            self.corner(0.0, -0.15),
            0.55,
            shade(GOLD, self.light),
            canvas,
        );
    }

    /// A long roof with crossed blades on it.
    fn barracks(&self, canvas: &mut Canvas) {
        let half = vec2(2.3, 1.5);
        self.shadow(half, canvas);
        self.block(half, 0.25, shade(DARK, self.light), canvas);
        self.roof(half, 1.5, canvas);
        if canvas.scale() < COARSE {
            return;
        }
        let blade = shade(Color32::from_gray(235), self.light);
        let width = (0.28 * canvas.scale()).max(1.0);
        canvas.line(
            self.corner(-0.8, 0.65),
            self.corner(0.8, -0.8),
            width,
            blade,
        );
        canvas.line(
            self.corner(0.8, 0.65),
            self.corner(-0.8, -0.8),
            width,
            blade,
        );
    }

    /// A round tower with a flag.
    fn outpost(&self, seconds: f32, canvas: &mut Canvas) {
        canvas.disc(self.corner(0.3, 0.45), 2.0, SHADOW);
        canvas.disc(self.middle, 1.9, shade(DARK, self.light));
        canvas.disc(self.middle, 1.65, shade(WALL, self.light));
        canvas.disc(self.middle, 1.05, self.tone(DARK, 0.25));
        let foot = self.corner(0.0, -0.1);
        let top = foot + vec2(0.0, -2.6);
        canvas.line(
            foot,
            top,
            (0.2 * canvas.scale()).max(1.0),
            shade(DARK, self.light),
        );
        let wave = (seconds * 3.0 + self.middle.x).sin() * 0.15;
        canvas.polygon(
            &[
                top,
                top + vec2(1.7, 0.35 + wave),
                top + vec2(1.6, 0.95 + wave),
                top + vec2(0.0, 1.1),
            ],
            self.tone(Color32::WHITE, 0.15),
        );
    }

    /// A building that does not stand yet.
    fn site(&self, canvas: &mut Canvas) {
        let half = match self.building.kind {
            BuildingKind::Hall => vec2(2.5, 2.3),
            _ => vec2(2.3, 1.5),
        };
        self.block(half, 0.0, self.tone(DARK, 0.75), canvas);
        let rect = Rect::from_center_size(self.middle, half * 2.0);
        let corners = corners(rect);
        canvas.outline(&corners, 1.5, self.tone(WALL, 0.4));
        canvas.line(corners[0], corners[2], 1.0, self.tone(WALL, 0.4));
        canvas.line(corners[1], corners[3], 1.0, self.tone(WALL, 0.4));
    }

    /// How far it has been built, or how many are being trained.
    fn progress(&self, canvas: &mut Canvas) {
        let Building {
            kind,
            unfinished,
            queue,
            ..
        } = *self.building;
        let point = 1.0 / canvas.scale();
        let under = self.corner(0.0, 3.1);
        if unfinished > 0 {
            let part = 1.0 - f32::from(unfinished) / f32::from(kind.construction().max(1));
            let rect = Rect::from_center_size(under, vec2(5.0, (3.0 * point).max(0.5)));
            canvas.bar(rect, part, self.colour, DARK);
        } else if queue > 0 && canvas.scale() >= COARSE {
            let shown = queue.min(6);
            let size = (2.5 * point).max(0.45);
            let start = -f32::from(shown - 1) / 2.0 * size * 1.5;
            for at in 0..shown {
                let place = under + vec2(start + f32::from(at) * size * 1.5, 0.0);
                let rect = Rect::from_center_size(place, Vec2::splat(size));
                canvas.rect(rect, GOLD_LIT);
            }
        }
    }

    /// Draws the progress of a capture.
    fn capture(&self, canvas: &mut Canvas) {
        let captured = self.building.captured;
        let Some(captor) = self.captor.filter(|_| captured > 0) else {
            return;
        };
        let part = f32::from(captured) / f32::from(CAPTURE);
        let radius = CAPTURE_RADIUS as f32 / ONE as f32;
        canvas.ring(self.middle, radius, 1.0, captor.gamma_multiply(0.35));
        arc(self.middle, radius, part, 3.0, captor, canvas);
    }
}

/// A part of a circle, from the top clockwise.
pub(super) fn arc(
    middle: Pos2,
    radius: f32,
    part: f32,
    width: f32,
    colour: Color32,
    canvas: &mut Canvas,
) {
    const PIECES: usize = 28;
    let pieces = (PIECES as f32 * part.clamp(0.0, 1.0)).ceil() as usize;
    let place = |at: f32| {
        let turn = (at / PIECES as f32).min(part) * std::f32::consts::TAU;
        pos2(
            middle.x + turn.sin() * radius,
            middle.y - turn.cos() * radius,
        )
    };
    for piece in 0..pieces {
        let (from, to) = (place(piece as f32), place(piece as f32 + 1.0));
        canvas.line(from, to, width, colour);
    }
}
