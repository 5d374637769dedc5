//! Looking closer: the wheel zooms, dragging moves.

use eframe::egui::{self, Rect, Response, Vec2};

use crate::canvas::Frame;

/// The minimum and maximum zoom.
const ZOOM: (f32, f32) = (0.4, 16.0);

/// How much closer than usual one looks, and where.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lens {
    zoom: f32,
    /// How far what is in the middle is from the usual middle, in points of the screen as without zoom.
    shift: Vec2,
}

impl Default for Lens {
    fn default() -> Lens {
        Lens {
            zoom: 1.0,
            shift: Vec2::ZERO,
        }
    }
}

impl Lens {
    /// What is seen through it of a frame that is shown in a rectangle of the screen.
    pub fn frame(&self, whole: Frame, rect: Rect) -> Frame {
        Frame {
            centre: whole.to_world(rect, rect.center() + self.shift),
            size: whole.size / self.zoom,
        }
    }

    /// Moves it as the mouse does over a picture; two clicks put it away.
    pub(super) fn hold(&mut self, ui: &egui::Ui, response: &Response) {
        let rect = response.rect;
        if response.double_clicked() {
            *self = Lens::default();
        }
        if response.dragged() {
            self.shift -= response.drag_delta() / self.zoom;
        }
        if let Some(pointer) = response.hover_pos() {
            let (scroll, pinch) =
                ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
            self.zoom_at(pointer - rect.center(), (scroll / 240.0).exp() * pinch);
        }
        let most = rect.size() / 2.0 * (1.0 - 1.0 / self.zoom).abs();
        self.shift = self.shift.clamp(-most, most);
    }

    /// Enlarges by a factor. What is at a distance from the middle stays there.
    fn zoom_at(&mut self, from_middle: Vec2, factor: f32) {
        let zoom = (self.zoom * factor).clamp(ZOOM.0, ZOOM.1);
        self.shift += from_middle * (1.0 / self.zoom - 1.0 / zoom);
        self.zoom = zoom;
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::{pos2, vec2};

    use super::*;

    #[test]
    fn what_is_under_the_mouse_stays_there() {
        let rect = Rect::from_min_size(pos2(100.0, 50.0), vec2(800.0, 400.0));
        let whole = Frame {
            centre: pos2(10.0, -3.0),
            size: vec2(40.0, 40.0),
        };
        let mut lens = Lens::default();
        assert_eq!(lens.frame(whole, rect), whole);
        let pointer = pos2(333.0, 222.0);
        let before = whole.to_world(rect, pointer);
        for factor in [1.5, 3.0, 0.5, 100.0, 0.2] {
            lens.zoom_at(pointer - rect.center(), factor);
            let after = lens.frame(whole, rect).to_world(rect, pointer);
            assert!((after - before).length() < 1e-3, "{after:?} {before:?}");
        }
        lens.zoom_at(pointer - rect.center(), 0.0001);
        assert_eq!(lens.frame(whole, rect).size, whole.size / ZOOM.0);
    }
}
