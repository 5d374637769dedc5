//! The players' screens, side by side.

use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{
    self, Align, CornerRadius, FontId, Layout as Direction, Rect, RichText, Sense, Stroke,
    StrokeKind, UiBuilder, Vec2, pos2, vec2,
};
use samestep_sandbox::Driver;

use super::UserAction;
use crate::any_match::AnyMatch;
use crate::keyboard::{self, Layout};
use crate::registry;
use crate::theme;

/// The height of the caption above a screen.
const HEAD: f32 = 28.0;
/// The room for how far a program is from the server's.
const TICKS: f32 = 88.0;
/// Between screens.
const GAP: f32 = 8.0;
/// What a screen should be like: its width to its height.
const SHAPE: f32 = 1.6;

/// Who plays on a screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Control {
    /// A bot.
    #[default]
    Bot,
    /// Somebody at this keyboard.
    Human(Layout),
}

impl Control {
    const ALL: [Control; 3] = [
        Control::Bot,
        Control::Human(Layout::One),
        Control::Human(Layout::Two),
    ];

    fn title(self) -> &'static str {
        match self {
            Control::Bot => "Bot",
            Control::Human(layout) => layout.title(),
        }
    }

    /// What it is to the match.
    pub fn driver(self) -> Driver {
        match self {
            Control::Bot => Driver::Bot,
            Control::Human(_) => Driver::Human,
        }
    }
}

/// The screens: who plays on them, and where they are.
pub struct Screens {
    /// The truth is drawn over them.
    pub ghost: bool,
    controls: Vec<Control>,
    /// Where each was drawn last, and whether the mouse was over it.
    drawn: Vec<(Rect, bool)>,
}

impl Screens {
    /// Bots play.
    pub fn new() -> Screens {
        Screens {
            ghost: true,
            controls: Vec::new(),
            drawn: Vec::new(),
        }
    }

    /// Who plays for a player.
    pub fn control(&self, player: usize) -> Control {
        self.controls.get(player).copied().unwrap_or_default()
    }

    /// Has somebody play for a player; nobody else has the same keys.
    pub fn set_control(&mut self, player: usize, control: Control) {
        self.controls
            .resize(self.controls.len().max(player + 1), Control::Bot);
        for other in &mut self.controls {
            if *other == control {
                *other = Control::Bot;
            }
        }
        self.controls[player] = control;
    }

    /// Whether somebody plays with these keys.
    pub fn is_taken(&self, layout: Layout) -> bool {
        self.controls.contains(&Control::Human(layout))
    }

    /// Where a player's screen was drawn last.
    pub fn place(&self, player: usize) -> Rect {
        self.drawn.get(player).map_or(
            Rect::from_min_size(pos2(0.0, 0.0), Vec2::splat(1.0)),
            |drawn| drawn.0,
        )
    }

    /// Whether the mouse is over the screen of who plays with it.
    pub fn is_mouse_over(&self) -> bool {
        let mut screens = self.drawn.iter().enumerate();
        screens.any(|(player, (_, is_over))| {
            *is_over && self.control(player) == Control::Human(Layout::One)
        })
    }

    /// Whose screen is heard: the one a person plays on, with the mouse if two do. While bots play everywhere it is the one under the mouse.
    pub fn heard(&self) -> Option<usize> {
        let plays = |layout| {
            let mut controls = self.controls.iter();
            controls.position(|control| *control == Control::Human(layout))
        };
        let pointed = || self.drawn.iter().position(|(_, is_over)| *is_over);
        let shown = |player: &usize| *player < self.drawn.len();
        let played = plays(Layout::One).filter(shown);
        played
            .or_else(|| plays(Layout::Two).filter(shown))
            .or_else(pointed)
    }

    /// Shows them, as they were at a step.
    pub fn ui(
        &mut self,
        ui: &mut egui::Ui,
        live: &dyn AnyMatch,
        step: u64,
        requested: &mut Vec<UserAction>,
    ) {
        let players = live.scenario().players();
        let (space, _) = ui.allocate_exact_size(ui.available_size(), Sense::hover());
        let cells = arrange(players, space);
        self.drawn.clear();
        for (player, cell) in cells.iter().take(players).enumerate() {
            let drawn = self.screen(ui, live, step, player, *cell, requested);
            self.drawn.push(drawn);
        }
        if let Some(left_over) = cells.get(players) {
            legend(ui, live, *left_over);
        }
    }

    fn screen(
        &self,
        ui: &mut egui::Ui,
        live: &dyn AnyMatch,
        step: u64,
        player: usize,
        cell: Rect,
        requested: &mut Vec<UserAction>,
    ) -> (Rect, bool) {
        let colour = theme::player_colour(player);
        let (head, body) = cell.split_top_bottom_at_y(cell.top() + HEAD);
        let body = Rect::from_min_max(body.min + vec2(2.0, 0.0), body.max - vec2(2.0, 2.0));
        let top = CornerRadius {
            nw: 6,
            ne: 6,
            ..CornerRadius::ZERO
        };
        ui.painter().rect_filled(head, top, theme::CARD);
        let response = ui.interact(body, ui.scope_id().with(player), Sense::click_and_drag());
        let name = format!("Screen of player {}", player + 1);
        let response = theme::named(response, &name);
        live.paint(step, player, self.ghost, ui.painter(), body);
        if live.is_waiting(step, player) {
            waiting(ui, body);
        }
        let stroke = Stroke::new(1.5, colour.gamma_multiply(0.85));
        ui.painter()
            .rect_stroke(cell, 6.0, stroke, StrokeKind::Inside);
        let inner = head.shrink2(vec2(10.0, 3.0));
        let builder = UiBuilder::new()
            .id_salt(("head", player))
            .max_rect(inner)
            .layout(Direction::left_to_right(Align::Center));
        ui.scope_builder(builder, |ui| {
            self.head(ui, live, step, player, requested);
        });
        (body, response.contains_pointer())
    }

    fn head(
        &self,
        ui: &mut egui::Ui,
        live: &dyn AnyMatch,
        step: u64,
        player: usize,
        requested: &mut Vec<UserAction>,
    ) {
        let colour = theme::player_colour(player);
        ui.label(
            RichText::new(theme::player_name(player))
                .strong()
                .color(colour),
        );
        ui.with_layout(Direction::right_to_left(Align::Center), |ui| {
            self.seat_choice(ui, player, requested);
            let caption = live.caption(step, player);
            let font = FontId::proportional(12.0);
            let painter = ui.painter();
            let wide = painter.layout_no_wrap(caption.clone(), font, theme::TEXT);
            // How the player stands matters more than where its program is.
            if wide.size().x + TICKS + 12.0 < ui.available_width() {
                difference(ui, live, step, player);
            }
            let caption = RichText::new(caption).size(12.0).color(theme::TEXT);
            let caption = egui::Label::new(caption).truncate();
            ui.with_layout(Direction::left_to_right(Align::Center), |ui| {
                ui.add(caption)
            });
        });
    }

    fn seat_choice(&self, ui: &mut egui::Ui, player: usize, requested: &mut Vec<UserAction>) {
        let now = self.control(player);
        ui.spacing_mut().interact_size.y = 20.0;
        let words = RichText::new(now.title()).size(12.0);
        let list = egui::ComboBox::from_id_salt(("control", player))
            .selected_text(words)
            .width(64.0)
            .show_ui(ui, |ui| {
                for control in Control::ALL {
                    if ui
                        .selectable_label(control == now, control.title())
                        .clicked()
                    {
                        requested.push(UserAction::Control(player, control));
                    }
                }
            });
        let name = format!("Who plays player {}", player + 1);
        theme::named(list.response, &name).on_hover_text("Who plays here: a bot, or you");
    }
}

/// Says how far a player's program is from the server's, always in the same room.
fn difference(ui: &mut egui::Ui, live: &dyn AnyMatch, step: u64, player: usize) {
    let (ours, server) = live.ticks(step, player);
    let (words, hover) = ahead(ours.0, server.0);
    let words = RichText::new(words).size(12.0).color(theme::FAINT);
    let size = vec2(TICKS, ui.available_height());
    ui.allocate_ui_with_layout(size, Direction::right_to_left(Align::Center), |ui| {
        ui.set_min_width(size.x);
        ui.label(words).on_hover_text(hover);
    });
}

/// How far somebody's program is from the server's.
fn ahead(ours: u64, server: u64) -> (String, String) {
    let hover = format!("This program is at tick {ours}, the server at {server}");
    let words = match ours.cmp(&server) {
        std::cmp::Ordering::Less => format!("{} behind", ticks(server - ours)),
        std::cmp::Ordering::Equal => "in step".into(),
        std::cmp::Ordering::Greater => format!("{} ahead", ticks(ours - server)),
    };
    (words, hover)
}

fn ticks(count: u64) -> String {
    match count {
        1 => "1 tick".into(),
        count => format!("{count} ticks"),
    }
}

/// Says that nothing moves here, and why.
fn waiting(ui: &egui::Ui, body: Rect) {
    let painter = ui.painter().with_clip_rect(body);
    let font = FontId::proportional(13.0);
    let words = painter.layout_no_wrap("waiting".into(), font, theme::GROUND);
    let at = pos2(body.center().x, body.top() + 20.0);
    let rect = Rect::from_center_size(at, words.size() + vec2(20.0, 8.0));
    painter.rect_filled(rect, 11.0, theme::WARNING);
    painter.galley(rect.center() - words.size() / 2.0, words, theme::GROUND);
}

/// What the colours mean, where there is room for it.
fn legend(ui: &mut egui::Ui, live: &dyn AnyMatch, cell: Rect) {
    let Some(entry) = registry::game(&live.scenario().game) else {
        return;
    };
    let stroke = Stroke::new(1.0, theme::LINE);
    ui.painter()
        .rect_stroke(cell, 6.0, stroke, StrokeKind::Inside);
    let builder = UiBuilder::new()
        .max_rect(cell.shrink(16.0))
        .layout(Direction::top_down(Align::Min));
    ui.scope_builder(builder, |ui| {
        ui.label(RichText::new(entry.title).heading().strong());
        ui.label(entry.about);
        ui.add_space(4.0);
        ui.label("Every screen is what that player sees. White outlines are the state of the server.");
        ui.add_space(4.0);
        keys(ui, entry.keys);
        let words = "Choose “WASD + mouse” or “Arrow keys” above a screen to play yourself; F1 shows all keys.";
        ui.label(RichText::new(words).color(theme::FAINT));
    });
}

/// The keys of the game, as far as there is room.
fn keys(ui: &mut egui::Ui, keys: &[(&str, &str)]) {
    let room = (ui.available_height() - 50.0) / 22.0;
    for (key, what) in keys.iter().take(room.max(0.0) as usize) {
        let mut words = LayoutJob::default();
        let font = FontId::proportional(12.5);
        let key = keyboard::keys(key, Layout::One);
        words.append(&key, 0.0, TextFormat::simple(font.clone(), theme::ACCENT));
        words.append(what, 8.0, TextFormat::simple(font, theme::FAINT));
        ui.add(egui::Label::new(words).truncate());
    }
}

/// Where so many screens are: side by side or one above the other, or two by two.
fn arrange(players: usize, space: Rect) -> Vec<Rect> {
    let columns = match players {
        2 => {
            let beside = shape(space, 2, 1);
            let stacked = shape(space, 1, 2);
            if (beside / SHAPE).ln().abs() <= (SHAPE / stacked).ln().abs() {
                2
            } else {
                1
            }
        }
        _ => 2,
    };
    let rows = players.div_ceil(columns);
    let size = cell_size(space, columns, rows);
    (0..columns * rows)
        .map(|at| {
            let (column, row) = ((at % columns) as f32, (at / columns) as f32);
            let corner = space.min + vec2(column * (size.x + GAP), row * (size.y + GAP));
            Rect::from_min_size(corner, size)
        })
        .collect()
}

fn cell_size(space: Rect, columns: usize, rows: usize) -> Vec2 {
    let gaps = vec2((columns - 1) as f32, (rows - 1) as f32) * GAP;
    (space.size() - gaps) / vec2(columns as f32, rows as f32)
}

/// Width to height of what is drawn in a cell.
fn shape(space: Rect, columns: usize, rows: usize) -> f32 {
    let size = cell_size(space, columns, rows);
    size.x / (size.y - HEAD).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(width: f32, height: f32) -> Rect {
        Rect::from_min_size(pos2(10.0, 20.0), vec2(width, height))
    }

    #[test]
    fn screens_do_not_overlap_and_fill_the_space() {
        for players in 2..=4 {
            let space = space(1_000.0, 500.0);
            let cells = arrange(players, space);
            assert!(cells.len() >= players);
            for (at, cell) in cells.iter().enumerate() {
                assert!(space.expand(0.1).contains_rect(*cell));
                assert!(cells[..at].iter().all(|other| !other.intersects(*cell)));
            }
        }
    }

    #[test]
    fn two_screens_lie_as_there_is_room() {
        let beside = arrange(2, space(1_000.0, 450.0));
        assert_eq!(beside[0].top(), beside[1].top());
        let stacked = arrange(2, space(600.0, 900.0));
        assert_eq!(stacked[0].left(), stacked[1].left());
    }

    #[test]
    fn one_screen_is_heard_that_a_person_plays_on_or_points_to() {
        let mut screens = Screens::new();
        screens.drawn = [false, false, true]
            .map(|is_over| (Rect::ZERO, is_over))
            .into();
        assert_eq!(screens.heard(), Some(2), "the one under the mouse");
        screens.set_control(1, Control::Human(Layout::Two));
        assert_eq!(screens.heard(), Some(1));
        screens.set_control(0, Control::Human(Layout::One));
        assert_eq!(screens.heard(), Some(0), "the mouse decides between two");
        screens.set_control(3, Control::Human(Layout::One));
        assert_eq!(
            screens.heard(),
            Some(1),
            "a screen that is not there is not heard"
        );
        screens.set_control(1, Control::Bot);
        screens.drawn[2].1 = false;
        assert_eq!(screens.heard(), None);
    }

    #[test]
    fn nobody_shares_keys() {
        let mut screens = Screens::new();
        screens.set_control(0, Control::Human(Layout::One));
        screens.set_control(2, Control::Human(Layout::One));
        assert_eq!(screens.control(0), Control::Bot);
        assert_eq!(screens.control(2), Control::Human(Layout::One));
        assert_eq!(screens.control(3), Control::Bot);
    }
}
