//! Where a screen looks: moved with keys, zoomed with the wheel, never beyond the map.

use eframe::egui::{Pos2, Rect, Vec2, pos2};

use crate::canvas::Frame;
use crate::drawn::HumanInput;

/// The part of the shown width that keys move it by in a step.
const PAN: f32 = 0.018;
/// The factor of the shown width for a notch of the wheel.
const ZOOM: f32 = 0.87;
/// The least that is shown, in units.
const NEAREST: f32 = 16.0;

/// The camera of a screen. It is where the game wants it until a person moves it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Camera {
    held: Option<Frame>,
}

impl Camera {
    /// The part of a map that a screen of this size shows.
    pub(crate) fn frame(&self, map: Rect, usual: Frame, screen: Vec2) -> Frame {
        let wanted = self.held.unwrap_or(usual);
        let most = map.width().max(map.height());
        let size = wanted.size.min(Vec2::splat(most)).max(Vec2::splat(1.0));
        let fit = screen / size;
        let scale = fit.x.min(fit.y).max(1e-3);
        Frame {
            centre: within(wanted.centre, screen / scale, map),
            size,
        }
    }

    /// Moves it by the input of a person.
    pub(crate) fn follow(&mut self, human: &HumanInput, map: Rect) {
        let Some(seen) = human.seen else { return };
        let span = seen.size().min_elem();
        let towards = |less: bool, more: bool| f32::from(more) - f32::from(less);
        let pan = Vec2::new(
            towards(human.left, human.right),
            towards(human.up, human.down),
        );
        let scroll = human.pointer.map_or(0.0, |pointer| pointer.scroll);
        if pan == Vec2::ZERO && scroll == 0.0 {
            return;
        }
        let most = map.width().max(map.height());
        let zoomed = (span * ZOOM.powf(scroll)).clamp(NEAREST.min(most), most);
        let share = zoomed / span.max(1e-3);
        let fixed = human.pointer.map_or(seen.center(), |pointer| pointer.place);
        let centre = fixed + (seen.center() - fixed) * share + pan * span * PAN;
        self.held = Some(Frame {
            centre: within(centre, seen.size() * share, map),
            size: Vec2::splat(zoomed),
        });
    }

    /// Looks at a place, as near as before.
    pub(crate) fn look_at(&mut self, place: Pos2, human: &HumanInput) {
        if let Some(seen) = human.seen {
            self.held = Some(Frame {
                centre: place,
                size: Vec2::splat(seen.size().min_elem()),
            });
        }
    }
}

/// The shorter side of a screen as a part of the longer one.
pub(super) fn narrowness(screen: Vec2) -> f32 {
    screen.min_elem().max(1.0) / screen.max_elem().max(1.0)
}

/// The nearest middle from which nothing beyond the map is seen; the map's own if it is all seen.
fn within(centre: Pos2, seen: Vec2, map: Rect) -> Pos2 {
    let along = |at: f32, seen: f32, from: f32, to: f32| match seen >= to - from {
        true => (from + to) / 2.0,
        false => at.clamp(from + seen / 2.0, to - seen / 2.0),
    };
    pos2(
        along(centre.x, seen.x, map.min.x, map.max.x),
        along(centre.y, seen.y, map.min.y, map.max.y),
    )
}

#[cfg(test)]
mod tests {
    use eframe::egui::vec2;

    use super::*;
    use crate::drawn::Pointer;

    const SCREEN: Vec2 = vec2(480.0, 300.0);

    fn map() -> Rect {
        Rect::from_min_max(pos2(0.0, 0.0), pos2(144.0, 144.0))
    }

    fn usual() -> Frame {
        Frame {
            centre: pos2(20.0, 120.0),
            size: vec2(60.0, 60.0),
        }
    }

    fn seen(camera: &Camera) -> Rect {
        let frame = camera.frame(map(), usual(), SCREEN);
        let screen = Rect::from_min_size(pos2(0.0, 0.0), SCREEN);
        let corner = |point| frame.to_world(screen, point);
        Rect::from_min_max(corner(screen.min), corner(screen.max))
    }

    fn scroll(camera: &mut Camera, screen_share: Vec2, notches: f32) {
        let seen = seen(camera);
        let human = HumanInput {
            seen: Some(seen),
            pointer: Some(Pointer {
                place: seen.min + seen.size() * screen_share,
                primary: Default::default(),
                secondary: Default::default(),
                scroll: notches,
            }),
            ..HumanInput::default()
        };
        camera.follow(&human, map());
    }

    #[test]
    fn nothing_beyond_the_map_is_seen_wherever_one_goes() {
        let mut camera = Camera::default();
        for step in 0..400 {
            let way = step / 50;
            let human = HumanInput {
                left: way % 4 == 0,
                right: way % 4 == 2,
                up: way % 4 == 1,
                down: way % 4 == 3,
                seen: Some(seen(&camera)),
                ..HumanInput::default()
            };
            camera.follow(&human, map());
            let seen = seen(&camera);
            assert!(map().expand(0.01).contains_rect(seen), "{seen:?}");
        }
    }

    #[test]
    fn the_wheel_keeps_what_is_under_the_pointer_there() {
        let mut camera = Camera::default();
        let share = vec2(0.7, 0.4);
        scroll(&mut camera, vec2(0.5, 0.5), 2.0);
        let under = |camera: &Camera| seen(camera).min + seen(camera).size() * share;
        let before = under(&camera);
        scroll(&mut camera, share, 3.0);
        assert!((under(&camera) - before).length() < 0.05);
        assert!(seen(&camera).height() < 60.0 * 0.7);
    }

    #[test]
    fn zoomed_out_it_shows_the_whole_map_and_stops() {
        let mut camera = Camera::default();
        for _ in 0..30 {
            scroll(&mut camera, vec2(0.2, 0.9), -1.0);
        }
        let seen = seen(&camera);
        assert!((seen.height() - 144.0).abs() < 0.01);
        assert_eq!(seen.center(), map().center());
    }

    #[test]
    fn at_the_edge_the_way_back_begins_at_once() {
        let mut camera = Camera::default();
        let hold = |camera: &mut Camera, left: bool| {
            let human = HumanInput {
                left,
                right: !left,
                seen: Some(seen(camera)),
                ..HumanInput::default()
            };
            camera.follow(&human, map());
        };
        (0..200).for_each(|_| hold(&mut camera, true));
        let edge = seen(&camera).min.x;
        hold(&mut camera, false);
        assert!(seen(&camera).min.x > edge + 0.5);
    }
}
