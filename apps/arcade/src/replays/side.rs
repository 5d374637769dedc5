//! The panel beside the picture: what is open, what it is, and what can be made of it.

use eframe::egui::{self, DragValue, RichText, vec2};
use samestep_sync::Tick;

use super::Replays;
use super::compare::RIGHT;
use super::facts::time;
use super::opened::Opened;
use super::player::Outcome;
use crate::icons::{self, Icon};
use crate::platform::Platform;
use crate::theme;

impl Replays {
    /// What is beside the picture.
    pub(super) fn side(&mut self, ui: &mut egui::Ui, platform: &dyn Platform) {
        self.opening(ui, platform);
        self.list(ui);
        let Some(opened) = self.current() else {
            return;
        };
        ui.add_space(4.0);
        facts(ui, opened);
        verification(ui, opened);
        let outcome = exports(ui, opened, platform);
        if let Some(outcome) = outcome {
            self.say(outcome);
        }
    }

    fn opening(&mut self, ui: &mut egui::Ui, platform: &dyn Platform) {
        if platform.has_chooser() {
            let button = egui::Button::new("Open a file…");
            if ui
                .add_sized(vec2(ui.available_width(), 26.0), button)
                .clicked()
            {
                platform.open_file();
            }
            return;
        }
        let mut is_wanted = false;
        ui.horizontal(|ui| {
            let label = ui.label("File");
            let field = egui::TextEdit::singleline(&mut self.path)
                .hint_text("path, or drop it here")
                .desired_width(ui.available_width() - 62.0);
            let field = ui.add(field).labelled_by(label.id);
            let entered =
                field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
            is_wanted = ui.button("Open").clicked() || entered;
        });
        if is_wanted {
            self.open_path();
        }
    }

    /// Opens what is typed.
    fn open_path(&mut self) {
        let path = std::path::Path::new(self.path.trim());
        if path.as_os_str().is_empty() {
            self.complain("Type the path of a recorded match first, or drop the file here.".into());
            return;
        }
        match std::fs::read(path) {
            Ok(bytes) => {
                let name = path.file_name().unwrap_or_default();
                let name = name.to_string_lossy().into_owned();
                self.open(&name, bytes);
            }
            Err(error) => {
                let words = match error.kind() {
                    std::io::ErrorKind::NotFound => "there is no such file".to_string(),
                    _ => error.to_string(),
                };
                self.complain(format!("{}: {words}", path.display()));
            }
        }
    }

    /// The files that are open.
    fn list(&mut self, ui: &mut egui::Ui) {
        let mut closed = None;
        ui.add_space(6.0);
        for at in 0..self.open.len() {
            ui.horizontal(|ui| {
                let width = ui.available_width() - 34.0;
                let name = egui::Button::selectable(at == self.shown, &self.open[at].name);
                if ui.add_sized(vec2(width, 24.0), name.truncate()).clicked() {
                    self.shown = at;
                }
                let words = format!("Close {}", self.open[at].name);
                if icons::button(ui, Icon::Close, &words, false).clicked() {
                    closed = Some(at);
                }
            });
        }
        if let Some(at) = closed {
            self.close(at);
        }
    }
}

fn heading(ui: &mut egui::Ui, words: &str) {
    ui.add_space(12.0);
    ui.label(RichText::new(words).strong().color(theme::STRONG));
    ui.add_space(2.0);
}

fn facts(ui: &mut egui::Ui, opened: &Opened) {
    heading(ui, "What it is");
    for (name, value) in &opened.facts {
        ui.horizontal_top(|ui| {
            name_of(ui, 92.0, name);
            ui.add(egui::Label::new(value).wrap());
        });
    }
}

/// The name of a value, which begins so far to the right of it.
fn name_of(ui: &mut egui::Ui, width: f32, name: &str) -> egui::Response {
    let layout = egui::Layout::left_to_right(egui::Align::Min);
    let name = RichText::new(name).color(theme::FAINT);
    ui.allocate_ui_with_layout(vec2(width, 18.0), layout, |ui| {
        ui.set_min_width(width);
        ui.label(name)
    })
    .inner
}

fn verification(ui: &mut egui::Ui, opened: &mut Opened) {
    let Ok(player) = &mut opened.player else {
        return;
    };
    heading(ui, "Does it play as it was recorded?");
    match player.progress() {
        Some((words @ ("Verifying" | "Cutting"), part)) => {
            ui.horizontal(|ui| {
                let bar = egui::ProgressBar::new(part).text(words);
                ui.add(bar.desired_width(ui.available_width() - 70.0));
                if ui.button("Stop").clicked() {
                    player.stop();
                }
            });
        }
        _ => {
            let words = "Play it all and compare every checksum";
            if ui.button("Verify").on_hover_text(words).clicked() {
                player.verify();
            }
        }
    }
    let outcome = player.outcome();
    if let Some(outcome) = outcome {
        let colour = match outcome {
            Outcome::Agrees(0) => theme::WARNING,
            Outcome::Agrees(_) => RIGHT,
            Outcome::Deviates(_) => theme::WRONG,
        };
        ui.add(egui::Label::new(RichText::new(outcome.words()).color(colour)).wrap());
    }
    if let Some(Outcome::Deviates(deviation)) = outcome
        && ui.button("Go there").clicked()
    {
        player.go(deviation.tick);
    }
}

/// What was saved, or why not.
fn exports(
    ui: &mut egui::Ui,
    opened: &mut Opened,
    platform: &dyn Platform,
) -> Option<Result<String, String>> {
    heading(ui, "Save");
    let mut outcome = None;
    let size = vec2(ui.available_width(), 24.0);
    let whole = egui::Button::new("The whole file");
    if ui.add_sized(size, whole).clicked() {
        let name = opened.name_for("", "replay");
        outcome = Some(platform.save(&name, &opened.bytes));
    }
    let (json, clip) = match &opened.player {
        Ok(player) => (
            format!("-tick-{}", player.tick()),
            (player.replay().first(), player.replay().end()),
        ),
        Err(_) => return outcome,
    };
    let name = opened.name_for(&json, "json");
    let Ok(player) = &mut opened.player else {
        return outcome;
    };
    let state = egui::Button::new(format!("The state at tick {}, as JSON", player.tick()));
    if ui.add_sized(size, state).clicked() {
        let text = player.played_mut().state_as_json();
        outcome = Some(platform.save(&name, text.as_bytes()));
    }
    ui.add_space(6.0);
    let (from, to) = &mut opened.cut;
    bound(ui, "Clip from", from, (clip.0, *to), player.tick());
    bound(ui, "Clip to", to, (*from, clip.1), player.tick());
    let words = format!(
        "A clip of {}",
        time(
            player.replay(),
            Tick(player.replay().first().0 + to.since(*from))
        )
    );
    let button = egui::Button::new(words);
    if ui
        .add_enabled_ui(to > from, |ui| ui.add_sized(size, button))
        .inner
        .clicked()
    {
        player.cut(*from, *to);
    }
    outcome
}

/// Where a clip begins or ends.
fn bound(ui: &mut egui::Ui, name: &str, bound: &mut Tick, (least, most): (Tick, Tick), here: Tick) {
    ui.horizontal(|ui| {
        let label = name_of(ui, 62.0, name);
        let value = DragValue::new(&mut bound.0)
            .range(least.0..=most.0)
            .prefix("tick ");
        ui.add_sized(vec2(110.0, 22.0), value).labelled_by(label.id);
        if ui
            .button("Here")
            .on_hover_text("The tick that is shown")
            .clicked()
        {
            *bound = here.clamp(least, most);
        }
    });
}
