//! Shapes in the units of a game, gathered into one mesh: thousands of units are one draw call.

use eframe::egui::epaint::{Mesh, TextureId, Vertex, WHITE_UV};
use eframe::egui::{Align2, Color32, FontId, Painter, Pos2, Rect, Shape, Vec2, pos2, vec2};

/// A part of a game's world, as large as fits into a rectangle of the screen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Frame {
    /// What is in the middle.
    pub centre: Pos2,
    /// What should at least be seen, in width and height.
    pub size: Vec2,
}

impl Frame {
    /// What lies between two corners.
    pub fn between(min: Pos2, max: Pos2) -> Frame {
        Frame {
            centre: min + (max - min) / 2.0,
            size: max - min,
        }
    }

    /// What place is at a point of the screen, if this is shown in `rect`.
    pub fn to_world(&self, rect: Rect, point: Pos2) -> Pos2 {
        self.centre + (point - rect.center()) / self.scale(rect.size())
    }

    /// The part of the world that is seen if this is shown in `rect`.
    pub fn seen(&self, rect: Rect) -> Rect {
        Rect::from_center_size(self.centre, rect.size() / self.scale(rect.size()))
    }

    /// Points of the screen to a unit.
    fn scale(&self, screen: Vec2) -> f32 {
        let fit = screen / self.size.max(vec2(1e-3, 1e-3));
        fit.x.min(fit.y).max(1e-3)
    }
}

/// Where one draws. Places are in units of the game; x grows to the right, y down.
pub struct Canvas {
    painter: Painter,
    rect: Rect,
    frame: Frame,
    scale: f32,
    mesh: Mesh,
    over: Vec<Shape>,
}

impl Canvas {
    /// Shows a frame in a rectangle of the screen; nothing is drawn outside of it.
    pub fn new(painter: &Painter, rect: Rect, frame: Frame) -> Canvas {
        Canvas {
            painter: painter.with_clip_rect(rect.intersect(painter.clip_rect())),
            rect,
            frame,
            scale: frame.scale(rect.size()),
            mesh: Mesh::with_texture(TextureId::default()),
            over: Vec::new(),
        }
    }

    /// Points of the screen to a unit.
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// The part of the world that is seen.
    pub fn seen(&self) -> Rect {
        self.frame.seen(self.rect)
    }

    /// Where a place is on the screen.
    pub fn to_screen(&self, place: Pos2) -> Pos2 {
        self.rect.center() + (place - self.frame.centre) * self.scale
    }

    /// What place is at a point of the screen.
    pub fn to_world(&self, point: Pos2) -> Pos2 {
        self.frame.to_world(self.rect, point)
    }

    /// Whether anything within this distance of a place is seen.
    pub fn sees(&self, place: Pos2, radius: f32) -> bool {
        self.seen().expand(radius).contains(place)
    }

    /// Everything.
    pub fn fill(&mut self, colour: Color32) {
        let seen = self.seen();
        self.rect(seen, colour);
    }

    /// A rectangle.
    pub fn rect(&mut self, rect: Rect, colour: Color32) {
        let (min, max) = (self.to_screen(rect.min), self.to_screen(rect.max));
        self.mesh
            .add_colored_rect(Rect::from_min_max(min, max), colour);
    }

    /// A rectangle whose colour changes from top to bottom.
    pub fn gradient(&mut self, rect: Rect, top: Color32, bottom: Color32) {
        self.shaded(corners(rect).into_iter().zip([top, top, bottom, bottom]));
    }

    /// A triangle.
    pub fn triangle(&mut self, corners: [Pos2; 3], colour: Color32) {
        self.polygon(&corners, colour);
    }

    /// A convex shape.
    pub fn polygon(&mut self, corners: &[Pos2], colour: Color32) {
        self.shaded(corners.iter().map(|corner| (*corner, colour)));
    }

    /// A convex shape with a colour for each of its corners.
    pub fn shaded(&mut self, corners: impl IntoIterator<Item = (Pos2, Color32)>) {
        let first = self.mesh.vertices.len() as u32;
        for (corner, colour) in corners {
            self.vertex(corner, colour);
        }
        for last in first + 2..self.mesh.vertices.len() as u32 {
            self.mesh.add_triangle(first, last - 1, last);
        }
    }

    /// A disc, with a soft edge where it is large enough to see it.
    pub fn disc(&mut self, centre: Pos2, radius: f32, colour: Color32) {
        let sides = self.sides(radius);
        let soft = if radius * self.scale > 2.5 {
            1.0 / self.scale
        } else {
            0.0
        };
        self.fan(centre, (radius - soft / 2.0).max(0.0), sides, colour);
        if soft > 0.0 {
            self.band(
                centre,
                [radius - soft / 2.0, radius + soft / 2.0],
                sides,
                [colour, Color32::TRANSPARENT],
            );
        }
    }

    /// A disc that fades towards its edge: light, smoke.
    pub fn glow(&mut self, centre: Pos2, radius: f32, colour: Color32) {
        let sides = self.sides(radius);
        self.band(centre, [0.0, radius], sides, [colour, Color32::TRANSPARENT]);
    }

    /// A ring of this width in points of the screen.
    pub fn ring(&mut self, centre: Pos2, radius: f32, width: f32, colour: Color32) {
        let (sides, half) = (self.sides(radius), width / 2.0 / self.scale);
        self.band(
            centre,
            [radius - half, radius + half],
            sides,
            [colour, colour],
        );
    }

    /// A line of this width in points of the screen.
    pub fn line(&mut self, from: Pos2, to: Pos2, width: f32, colour: Color32) {
        let along = (to - from).normalized();
        let side = vec2(-along.y, along.x) * (width / 2.0 / self.scale);
        self.polygon(&[from + side, to + side, to - side, from - side], colour);
    }

    /// The outline of a closed shape, of this width in points of the screen.
    pub fn outline(&mut self, corners: &[Pos2], width: f32, colour: Color32) {
        let next = corners.iter().cycle().skip(1);
        for (from, to) in corners.iter().zip(next) {
            self.line(*from, *to, width, colour);
        }
    }

    /// A bar of which a part is filled: health, progress. `part` is 0 to 1.
    pub fn bar(&mut self, rect: Rect, part: f32, full: Color32, empty: Color32) {
        self.rect(rect, empty);
        let width = rect.width() * part.clamp(0.0, 1.0);
        self.rect(
            Rect::from_min_size(rect.min, vec2(width, rect.height())),
            full,
        );
    }

    /// Words above everything else, so many points high.
    pub fn text(&mut self, place: Pos2, anchor: Align2, words: &str, size: f32, colour: Color32) {
        let at = self.to_screen(place);
        self.text_on_screen(at, anchor, words, size, colour);
    }

    /// How large words of this height are, in points.
    pub fn text_size(&self, words: &str, size: f32) -> Vec2 {
        let font = FontId::proportional(size);
        let galley = self
            .painter
            .layout_no_wrap(words.to_string(), font, Color32::WHITE);
        galley.size()
    }

    /// Words at a point of the screen.
    pub fn text_on_screen(
        &mut self,
        at: Pos2,
        anchor: Align2,
        words: &str,
        size: f32,
        colour: Color32,
    ) {
        let font = FontId::proportional(size);
        let galley = self.painter.layout_no_wrap(words.to_string(), font, colour);
        let rect = anchor.anchor_size(at, galley.size());
        self.over.push(Shape::galley(rect.min, galley, colour));
    }

    /// How much there is to draw so far.
    pub fn triangles(&self) -> usize {
        self.mesh.indices.len() / 3
    }

    /// The rectangle of the screen it draws into.
    pub fn screen(&self) -> Rect {
        self.rect
    }

    /// Shows it all.
    pub fn finish(self) {
        self.painter.add(Shape::mesh(self.mesh));
        self.painter.extend(self.over);
    }

    fn vertex(&mut self, place: Pos2, color: Color32) {
        let pos = self.to_screen(place);
        self.mesh.vertices.push(Vertex {
            pos,
            uv: WHITE_UV,
            color,
        });
    }

    fn sides(&self, radius: f32) -> u32 {
        ((radius * self.scale).sqrt() * 5.0).clamp(6.0, 48.0) as u32
    }

    fn fan(&mut self, centre: Pos2, radius: f32, sides: u32, colour: Color32) {
        self.shaded(ways(sides).map(|way| (centre + way * radius, colour)));
    }

    /// Between two circles, each with its colour.
    fn band(&mut self, centre: Pos2, radii: [f32; 2], sides: u32, colours: [Color32; 2]) {
        let first = self.mesh.vertices.len() as u32;
        for way in ways(sides) {
            self.vertex(centre + way * radii[0], colours[0]);
            self.vertex(centre + way * radii[1], colours[1]);
        }
        for at in 0..sides {
            let (a, b) = (first + 2 * at, first + 2 * ((at + 1) % sides));
            self.mesh.add_triangle(a, a + 1, b);
            self.mesh.add_triangle(b, a + 1, b + 1);
        }
    }
}

fn ways(sides: u32) -> impl Iterator<Item = Vec2> {
    (0..sides).map(move |side| Vec2::angled(side as f32 * std::f32::consts::TAU / sides as f32))
}

/// A colour between two, `part` of the way from the first to the second.
pub fn mix(from: Color32, to: Color32, part: f32) -> Color32 {
    from.lerp_to_gamma(to, part.clamp(0.0, 1.0))
}

/// The corners of a rectangle, clockwise from the upper left.
pub fn corners(rect: Rect) -> [Pos2; 4] {
    [
        rect.left_top(),
        rect.right_top(),
        rect.right_bottom(),
        rect.left_bottom(),
    ]
}

/// A point, for short.
pub fn at(x: f32, y: f32) -> Pos2 {
    pos2(x, y)
}
