//! The whole map of Skirmish in a corner of the screen.

use eframe::egui::{Color32, Pos2, Rect, Vec2, pos2};

use super::ground::{BLOCK, Light, Sight};
use super::units::{Colours, NOBODY};
use super::{map_of, spot};
use crate::canvas::Canvas;
use crate::theme;

const KNOWN: Color32 = Color32::from_rgb(0x22, 0x2c, 0x27);
const SEEN: Color32 = Color32::from_rgb(0x3a, 0x4e, 0x3d);
const WINDOW: Color32 = Color32::from_rgb(0xb0, 0xb6, 0xc0);

/// Its width, as a part of the screen's shorter side and in points.
const PART: f32 = 0.27;
const WIDEST: f32 = 130.0;
const NARROWEST: f32 = 50.0;
/// About so many units are shown, one for some.
const UNITS: usize = 600;

/// Draws the whole map into a corner, if the screen shows only a part of it.
pub(super) fn paint(sight: Sight<'_>, colours: &Colours, canvas: &mut Canvas) {
    let Some(map) = Map::new(sight, canvas) else {
        return;
    };
    let frame = Rect::from_min_size(map.corner, Vec2::splat(map.width));
    panel(frame.expand(2.0), theme::LINE, canvas);
    panel(frame.expand(1.0), theme::GROUND, canvas);
    map.ground(sight, canvas);
    map.things(sight, colours, canvas);
    let seen = canvas.seen().intersect(map_of(sight.game));
    let (min, max) = (map.place(seen.min), map.place(seen.max));
    let corners = [min, pos2(max.x, min.y), max, pos2(min.x, max.y)];
    let corners = corners.map(|corner| canvas.to_world(corner));
    canvas.outline(&corners, 1.0, WINDOW);
}

/// Where on the screen it is.
struct Map {
    corner: Pos2,
    width: f32,
    /// Points to a unit.
    scale: f32,
}

impl Map {
    fn new(sight: Sight<'_>, canvas: &Canvas) -> Option<Map> {
        let (map, screen) = (map_of(sight.game), canvas.screen());
        let share = canvas.seen().intersect(map).area() / map.area().max(1.0);
        let width = (screen.size().min_elem() * PART).min(WIDEST);
        if share > 0.8 || width < NARROWEST {
            return None;
        }
        // Where the viewer's home is not in the way.
        let side = sight
            .side
            .and_then(|side| sight.game.sides().get(side.index()));
        let is_right = side.is_some_and(|side| spot(side.home).x > map.center().x);
        let left = match is_right {
            true => screen.left() + 6.0,
            false => screen.right() - width - 6.0,
        };
        Some(Map {
            corner: pos2(left, screen.bottom() - width - 6.0),
            width,
            scale: width / map.width(),
        })
    }

    fn place(&self, at: Pos2) -> Pos2 {
        self.corner + at.to_vec2() * self.scale
    }

    fn square(&self, at: Pos2, width: f32, colour: Color32, canvas: &mut Canvas) {
        let rect = Rect::from_center_size(self.place(at), Vec2::splat(width));
        panel(rect, colour, canvas);
    }

    /// What is known, in runs of blocks alike.
    fn ground(&self, sight: Sight<'_>, canvas: &mut Canvas) {
        let blocks = (map_of(sight.game).width() / BLOCK) as i32;
        for row in 0..blocks {
            let mut begin = 0;
            for column in 1..=blocks {
                let light = sight.block(begin, row);
                if column < blocks && sight.block(column, row) == light {
                    continue;
                }
                let corner = |x: i32, y: i32| self.place(pos2(x as f32, y as f32) * BLOCK);
                let run = Rect::from_min_max(corner(begin, row), corner(column, row + 1));
                match light {
                    Light::Unknown => {}
                    Light::Known => panel(run, KNOWN, canvas),
                    Light::Seen => panel(run, SEEN, canvas),
                }
                begin = column;
            }
        }
    }

    fn things(&self, sight: Sight<'_>, colours: &Colours, canvas: &mut Canvas) {
        let units = sight.game.units().as_slice();
        let stride = (units.len() / UNITS).max(1);
        for unit in units.iter().step_by(stride) {
            if sight.sees(unit.place) {
                self.square(spot(unit.place), 1.6, colours.of(unit.side), canvas);
            }
        }
        for building in sight.game.buildings() {
            if sight.at(building.place) != Light::Unknown {
                let colour = building.side.map_or(NOBODY, |side| colours.of(side));
                self.square(spot(building.place), 3.5, colour, canvas);
            }
        }
    }
}

/// A rectangle of the screen.
pub(super) fn panel(rect: Rect, colour: Color32, canvas: &mut Canvas) {
    let (min, max) = (canvas.to_world(rect.min), canvas.to_world(rect.max));
    canvas.rect(Rect::from_min_max(min, max), colour);
}
