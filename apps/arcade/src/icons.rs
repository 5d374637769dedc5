//! Buttons with an icon instead of a text.

use eframe::egui::{self, Color32, Pos2, Response, Sense, Shape, Stroke, Vec2, vec2};

use crate::theme;

/// A picture on a button.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Icon {
    /// Time should run.
    Play,
    /// Time should stand still.
    Pause,
    /// One step on.
    Step,
    /// One step back.
    StepBack,
    /// To the first step.
    First,
    /// To the last step.
    Last,
    /// From the beginning.
    Restart,
    /// It should go away.
    Close,
    /// Sounds are heard.
    Sound,
    /// No sounds are heard.
    Silence,
}

/// A button with a picture; its name is for those who cannot see it.
pub fn button(ui: &mut egui::Ui, icon: Icon, name: &str, is_main: bool) -> Response {
    let size = vec2(if is_main { 36.0 } else { 28.0 }, 24.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, ui.is_enabled(), name));
    let visuals = *ui.style().interact(&response);
    let fill = match (is_main, response.hovered()) {
        (true, false) => theme::ACCENT_DARK,
        (true, true) => theme::ACCENT_DARK.lerp_to_gamma(theme::ACCENT, 0.4),
        (false, _) => visuals.weak_bg_fill,
    };
    let painter = ui.painter();
    painter.rect_filled(rect, visuals.corner_radius, fill);
    let colour = if is_main {
        theme::STRONG
    } else {
        visuals.text_color()
    };
    painter.extend(shapes(icon, rect.center(), colour));
    response
}

fn shapes(icon: Icon, centre: Pos2, colour: Color32) -> Vec<Shape> {
    let at = |x: f32, y: f32| centre + vec2(x, y);
    let bar = |x: f32| bar(at(x, -5.5), at(x, 5.5), colour);
    match icon {
        Icon::Play => vec![polygon(
            &[at(-4.0, -6.0), at(6.0, 0.0), at(-4.0, 6.0)],
            colour,
        )],
        Icon::Pause => vec![bar(-3.0), bar(3.0)],
        Icon::Step => vec![
            polygon(&[at(-5.0, -5.5), at(3.0, 0.0), at(-5.0, 5.5)], colour),
            bar(4.0),
        ],
        Icon::StepBack => vec![
            polygon(&[at(5.0, -5.5), at(5.0, 5.5), at(-3.0, 0.0)], colour),
            bar(-4.0),
        ],
        Icon::First => vec![
            polygon(&[at(6.0, -5.5), at(6.0, 5.5), at(0.0, 0.0)], colour),
            polygon(&[at(0.0, -5.5), at(0.0, 5.5), at(-6.0, 0.0)], colour),
            bar(-6.5),
        ],
        Icon::Last => vec![
            polygon(&[at(-6.0, -5.5), at(0.0, 0.0), at(-6.0, 5.5)], colour),
            polygon(&[at(0.0, -5.5), at(6.0, 0.0), at(0.0, 5.5)], colour),
            bar(6.5),
        ],
        Icon::Restart => restart(centre, colour),
        Icon::Close => vec![
            thin(at(-3.5, -3.5), at(3.5, 3.5), colour),
            thin(at(-3.5, 3.5), at(3.5, -3.5), colour),
        ],
        Icon::Sound => {
            let mut shapes = loudspeaker(centre, colour).to_vec();
            shapes.extend([4.0, 7.5].map(|far| wave(at(0.0, 0.0), far, colour)));
            shapes
        }
        Icon::Silence => {
            let faint = colour.gamma_multiply(0.6);
            let mut shapes = loudspeaker(centre, faint).to_vec();
            shapes.push(thin(at(2.5, -3.0), at(8.5, 3.0), theme::WARNING));
            shapes.push(thin(at(2.5, 3.0), at(8.5, -3.0), theme::WARNING));
            shapes
        }
    }
}

/// A small box with a cone.
fn loudspeaker(centre: Pos2, colour: Color32) -> [Shape; 2] {
    let at = |x: f32, y: f32| centre + vec2(x, y);
    [
        polygon(
            &[at(-8.0, -2.5), at(-4.0, -2.5), at(-4.0, 2.5), at(-8.0, 2.5)],
            colour,
        ),
        polygon(
            &[at(-5.0, -2.0), at(0.0, -6.0), at(0.0, 6.0), at(-5.0, 2.0)],
            colour,
        ),
    ]
}

/// A part of a circle to the right.
fn wave(centre: Pos2, radius: f32, colour: Color32) -> Shape {
    let points = (-4..=4i8).map(|at| centre + Vec2::angled(f32::from(at) * 0.2) * radius);
    Shape::line(points.collect(), Stroke::new(1.5, colour))
}

fn polygon(corners: &[Pos2], colour: Color32) -> Shape {
    Shape::convex_polygon(corners.to_vec(), colour, Stroke::NONE)
}

fn bar(from: Pos2, to: Pos2, colour: Color32) -> Shape {
    Shape::line_segment([from, to], Stroke::new(2.5, colour))
}

fn thin(from: Pos2, to: Pos2, colour: Color32) -> Shape {
    Shape::line_segment([from, to], Stroke::new(1.5, colour))
}

/// Most of a circle, with an arrow at its end.
fn restart(centre: Pos2, colour: Color32) -> Vec<Shape> {
    let way = |turn: f32| Vec2::angled(turn * std::f32::consts::TAU);
    let points = (0..=20u8).map(|at| centre + way(-0.15 - f32::from(at) * 0.0375) * 5.5);
    let arc = Shape::line(points.collect(), Stroke::new(1.8, colour));
    let tip = centre + way(-0.15) * 5.5;
    let arrow = [
        tip + vec2(2.6, 1.8),
        tip + vec2(-3.8, 0.9),
        tip + vec2(1.2, -4.4),
    ];
    vec![arc, polygon(&arrow, colour)]
}
