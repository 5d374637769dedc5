//! The match itself, and what one plays it with.

use eframe::egui::{self, Align, Layout, Rect, RichText, Sense, UiBuilder, vec2};
use samestep_sync::PlayerId;

use super::facts::time;
use super::opened::{LiveMatch, Opened};
use super::player::{Player, SPEEDS};
use super::timeline::timeline;
use crate::icons::{self, Icon};
use crate::theme;

/// Height of what is below the picture.
const CONTROLS: f32 = 76.0;

impl Opened {
    /// The match or a divergence.
    pub(super) fn ui(&mut self, ui: &mut egui::Ui) {
        if let Err(words) = &self.player {
            ui.vertical_centered(|ui| {
                ui.add_space(ui.available_height() * 0.35);
                ui.label(RichText::new("Nothing to see").heading());
                ui.add_space(6.0);
                ui.label(RichText::new(words).color(theme::WARNING));
                ui.add_space(6.0);
                ui.label(
                    RichText::new("What is known of it is on the left; it can be saved again.")
                        .color(theme::FAINT),
                );
            });
            return;
        }
        self.choice(ui);
        match self.shown {
            LiveMatch::Match => self.play(ui),
            LiveMatch::Desync(_) => self.desync(ui),
        }
    }

    /// What is shown, and by whose eyes.
    fn choice(&mut self, ui: &mut egui::Ui) {
        let Ok(player) = &mut self.player else {
            return;
        };
        let divergences = player.replay().divergences().iter();
        let ticks: Vec<_> = divergences.map(|divergence| divergence.tick).collect();
        let mut shown = self.shown;
        ui.horizontal(|ui| {
            if !ticks.is_empty() {
                ui.selectable_value(&mut shown, LiveMatch::Match, "The match");
            }
            // A file that is nothing but divergences is not worth more room.
            for (at, tick) in ticks.iter().enumerate().take(6) {
                let words = format!("Desync at tick {tick}");
                ui.selectable_value(&mut shown, LiveMatch::Desync(at), words);
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                eyes(ui, player);
                if self.shown == LiveMatch::Match {
                    let caption = player.played().caption(player.viewer);
                    let caption = RichText::new(caption).color(theme::FAINT);
                    ui.add(egui::Label::new(caption).truncate());
                }
            });
        });
        if shown != self.shown {
            self.show(shown);
        }
    }

    fn play(&mut self, ui: &mut egui::Ui) {
        let Ok(player) = &mut self.player else {
            return;
        };
        let size = ui.available_size() - vec2(0.0, CONTROLS);
        let size = size.max(vec2(64.0, 64.0));
        let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
        let response = theme::named(response, "Picture");
        self.lens.hold(ui, &response);
        picture(ui, rect, |painter| {
            let viewer = player.viewer;
            player.played().paint(viewer, &self.lens, painter, rect);
            let (first, end) = (player.replay().first(), player.replay().end());
            if player.is_still() && player.tick() == first && first < end {
                invitation(painter, rect);
            }
        });
        if response.clicked() {
            player.toggle();
        }
        if let Some(words) = player.trouble() {
            let over = UiBuilder::new().max_rect(rect.shrink(12.0));
            ui.scope_builder(over, |ui| {
                let words = format!("It does not go on from here: {words}");
                ui.label(RichText::new(words).color(theme::WRONG));
            });
        }
        ui.add_space(2.0);
        timeline(ui, player, self.cut);
        transport(ui, player);
    }
}

/// A picture with a frame around it.
pub(super) fn picture(ui: &egui::Ui, rect: Rect, paint: impl FnOnce(&egui::Painter)) {
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 6.0, theme::CARD);
    paint(&painter);
    let edge = egui::Stroke::new(1.0, theme::LINE);
    painter.rect_stroke(rect, 6.0, edge, egui::StrokeKind::Inside);
}

/// A large sign that says: press here.
fn invitation(painter: &egui::Painter, rect: Rect) {
    let (centre, radius) = (rect.center(), 34.0);
    painter.circle_filled(centre, radius, theme::ACCENT_DARK.gamma_multiply(0.9));
    let corner = |angle: f32| centre + egui::Vec2::angled(angle) * radius * 0.5;
    let third = std::f32::consts::TAU / 3.0;
    let sign = [0.0, third, 2.0 * third].map(corner).to_vec();
    let shape = egui::Shape::convex_polygon(sign, theme::STRONG, egui::Stroke::NONE);
    painter.add(shape);
}

/// By whose eyes one looks.
fn eyes(ui: &mut egui::Ui, player: &mut Player) {
    let name = |viewer: Option<PlayerId>| match viewer {
        None => "Everything".to_string(),
        Some(player) => format!("As {}", theme::player_name(player.0.into())),
    };
    let players: Vec<PlayerId> = player.played().players().to_vec();
    let mut viewer = player.viewer;
    let choice = egui::ComboBox::from_id_salt("eyes")
        .selected_text(name(viewer))
        .width(120.0);
    let choice = choice.show_ui(ui, |ui| {
        ui.selectable_value(&mut viewer, None, name(None));
        for player in players.into_iter().take(16) {
            ui.selectable_value(&mut viewer, Some(player), name(Some(player)));
        }
    });
    theme::named(choice.response, "View").on_hover_text("Whose view is shown");
    player.viewer = viewer;
}

fn transport(ui: &mut egui::Ui, player: &mut Player) {
    ui.horizontal(|ui| {
        let (first, end) = (player.replay().first(), player.replay().end());
        if button(ui, Icon::First, "To the beginning", "Home", false) {
            player.go(first);
        }
        if button(ui, Icon::StepBack, "Back by a tick", ",", false) {
            player.nudge(-1);
        }
        let (icon, name) = match player.is_playing() {
            true => (Icon::Pause, "Pause"),
            false => (Icon::Play, "Play"),
        };
        if button(ui, icon, name, "Space", true) {
            player.toggle();
        }
        if button(ui, Icon::Step, "On by a tick", ".", false) {
            player.nudge(1);
        }
        if button(ui, Icon::Last, "To the end", "End", false) {
            player.go(end);
        }
        ui.add_space(6.0);
        let shown = |speed: f64| format!("{speed}×");
        let choice = egui::ComboBox::from_id_salt("speed").width(60.0);
        let choice = choice.selected_text(shown(player.speed));
        let choice = choice.show_ui(ui, |ui| {
            for speed in SPEEDS {
                ui.selectable_value(&mut player.speed, speed, shown(speed));
            }
        });
        theme::named(choice.response, "Speed").on_hover_text("Times real time");
        ui.add_space(6.0);
        let (replay, tick) = (player.replay(), player.target());
        let words = format!("{} of {}", time(replay, tick), time(replay, end));
        ui.label(RichText::new(words).monospace().color(theme::STRONG));
        ui.label(
            RichText::new(format!("tick {tick}"))
                .monospace()
                .color(theme::FAINT),
        );
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            match player.progress() {
                Some((words, part)) if player.tick() != tick || words != "Going there" => {
                    ui.add(
                        egui::ProgressBar::new(part)
                            .text(words)
                            .desired_width(160.0),
                    );
                }
                _ => {
                    let keys =
                        "Space plays; . and , go by a tick, arrows by a second; the wheel zooms";
                    ui.label(RichText::new(keys).small().color(theme::FAINT));
                }
            }
        });
    });
}

/// A button with a picture, which a key can be pressed for too.
fn button(ui: &mut egui::Ui, icon: Icon, name: &str, key: &str, is_main: bool) -> bool {
    let button = icons::button(ui, icon, name, is_main);
    button.on_hover_text(format!("{name} ({key})")).clicked()
}
