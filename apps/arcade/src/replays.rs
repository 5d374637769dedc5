//! Recorded matches: to open, watch, verify, cut and compare.

mod clip;
mod compare;
mod desync;
mod example;
mod facts;
mod lens;
mod opened;
mod played;
mod player;
mod screen;
mod side;
mod state;
#[cfg(test)]
mod tests;
mod timeline;

use eframe::egui::{self, Align, Frame, Key, Layout, Margin, Modifiers, RichText};

use crate::canvas::corners;
use crate::platform::Platform;
use crate::registry;
use crate::theme;
pub use compare::{Compared, Led, Look, Whose};
use example::{Example, Kind};
pub use lens::Lens;
use opened::{LiveMatch, Opened};
pub use played::{RecordedMatch, play};

/// How long a frame may play an example, in seconds.
const BUDGET: f64 = 0.02;

/// The tab in which recorded matches are looked at.
#[derive(Default)]
pub struct Replays {
    open: Vec<Opened>,
    /// Which of them is shown.
    shown: usize,
    notice: Option<Notice>,
    /// The path that is typed where no file can be chosen.
    path: String,
    example: Option<Example>,
}

/// Words about what was done.
#[derive(Clone, PartialEq, Debug)]
struct Notice {
    words: String,
    is_wrong: bool,
}

impl Replays {
    /// Nothing is open yet.
    pub fn new() -> Replays {
        Replays::default()
    }

    /// Opens a file beside those that are open. If it cannot be read, a message says why, and nothing else changes.
    pub fn open(&mut self, name: &str, bytes: Vec<u8>) {
        let same = |open: &Opened| open.bytes == bytes;
        if let Some(at) = self.open.iter().position(same) {
            self.shown = at;
            self.notice = None;
            return;
        }
        match Opened::new(name, bytes) {
            Ok(opened) => {
                self.open.push(opened);
                self.shown = self.open.len() - 1;
                self.notice = None;
            }
            Err(words) => self.complain(words),
        }
    }

    /// Shows them.
    pub fn ui(&mut self, ui: &mut egui::Ui, platform: &dyn Platform) {
        self.work(ui, platform);
        self.take_keys(ui);
        let frame = Frame::new()
            .fill(theme::PANEL)
            .inner_margin(Margin::same(12));
        egui::Panel::left("replays side")
            .exact_size(300.0)
            .resizable(false)
            .frame(frame)
            .show(ui, |ui| {
                let scroll = egui::ScrollArea::vertical().auto_shrink([false, false]);
                scroll.show(ui, |ui| self.side(ui, platform));
            });
        let frame = Frame::new()
            .fill(theme::GROUND)
            .inner_margin(Margin::same(12));
        egui::CentralPanel::default()
            .frame(frame)
            .show(ui, |ui| self.middle(ui, platform));
        drop_zone(ui);
    }

    fn say(&mut self, said: Result<String, String>) {
        self.notice = Some(match said {
            Ok(words) => Notice {
                words,
                is_wrong: false,
            },
            Err(words) => Notice {
                words,
                is_wrong: true,
            },
        });
    }

    fn complain(&mut self, words: String) {
        self.say(Err(words));
    }

    fn current(&mut self) -> Option<&mut Opened> {
        self.open.get_mut(self.shown)
    }

    fn close(&mut self, at: usize) {
        self.open.remove(at);
        if self.shown > at || self.shown == self.open.len() {
            self.shown = self.shown.saturating_sub(1);
        }
    }

    /// Continues the running task.
    fn work(&mut self, ui: &egui::Ui, platform: &dyn Platform) {
        let passed = ui.input(|input| f64::from(input.unstable_dt));
        let clock = || platform.seconds();
        if let Some(opened) = self.current() {
            opened.advance(passed, &clock);
            if let Ok(player) = &mut opened.player {
                if !player.is_still() {
                    ui.ctx().request_repaint();
                }
                if let Some(cut) = player.take_cut() {
                    let name = opened.name_for(&format!("-{}-{}", cut.from, cut.to), "replay");
                    let said = cut.file.and_then(|file| platform.save(&name, &file));
                    self.say(said);
                }
            }
        }
        let until = clock() + BUDGET;
        while let Some(example) = &mut self.example {
            ui.ctx().request_repaint();
            match example.step() {
                Some(made) => {
                    self.example = None;
                    match made {
                        Ok((name, bytes)) => self.open(&name, bytes),
                        Err(words) => self.complain(words),
                    }
                }
                None if clock() >= until => break,
                None => {}
            }
        }
    }

    fn begin_example(&mut self, game: &str, kind: Kind) {
        let Some(entry) = registry::game(game) else {
            return;
        };
        match Example::new(entry, kind) {
            Ok(example) => self.example = Some(example),
            Err(error) => self.complain(error.to_string()),
        }
    }

    /// Keys, unless something is being typed or chosen with them.
    fn take_keys(&mut self, ui: &egui::Ui) {
        if ui.ctx().memory(|memory| memory.focused().is_some()) {
            return;
        }
        let Some(opened) = self.current() else {
            return;
        };
        let Ok(player) = &mut opened.player else {
            return;
        };
        let mut is_used = true;
        let pressed = |key: Key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        let shifted = |key: Key| ui.input_mut(|input| input.consume_key(Modifiers::SHIFT, key));
        if pressed(Key::Space) {
            player.toggle();
        } else if pressed(Key::Period) {
            player.nudge(1);
        } else if pressed(Key::Comma) {
            player.nudge(-1);
        } else if shifted(Key::ArrowRight) {
            player.skip(10.0);
        } else if shifted(Key::ArrowLeft) {
            player.skip(-10.0);
        } else if pressed(Key::ArrowRight) {
            player.skip(1.0);
        } else if pressed(Key::ArrowLeft) {
            player.skip(-1.0);
        } else if pressed(Key::Home) {
            player.go(player.replay().first());
        } else if pressed(Key::End) {
            player.go(player.replay().end());
        } else {
            is_used = false;
        }
        if is_used {
            opened.shown = LiveMatch::Match;
            ui.ctx().request_repaint();
        }
    }

    fn middle(&mut self, ui: &mut egui::Ui, platform: &dyn Platform) {
        self.notice(ui);
        if self.example.is_some() {
            self.waiting(ui);
        } else if self.open.is_empty() {
            self.welcome(ui, platform);
        } else if let Some(opened) = self.current() {
            opened.ui(ui);
        }
    }

    /// A message about the last action, until the user closes it.
    fn notice(&mut self, ui: &mut egui::Ui) {
        let Some(notice) = &self.notice else {
            return;
        };
        let colour = match notice.is_wrong {
            true => theme::WRONG,
            false => compare::RIGHT,
        };
        let frame = Frame::new()
            .fill(colour.gamma_multiply(0.18))
            .corner_radius(6)
            .inner_margin(Margin::symmetric(10, 6));
        let closed = frame.show(ui, |ui| {
            ui.with_layout(Layout::right_to_left(Align::Min), |ui| {
                let closed = ui.button("OK").clicked();
                let words = RichText::new(&notice.words).color(colour);
                let rest = Layout::left_to_right(Align::Center).with_main_align(Align::Min);
                ui.with_layout(rest, |ui| ui.add(egui::Label::new(words).wrap()));
                closed
            })
            .inner
        });
        if closed.inner {
            self.notice = None;
        }
        ui.add_space(6.0);
    }

    fn waiting(&mut self, ui: &mut egui::Ui) {
        let progress = self.example.as_ref().map_or(0.0, Example::progress);
        ui.vertical_centered(|ui| {
            ui.add_space(ui.available_height() * 0.35);
            ui.label(RichText::new("Bots play a match to look at").heading());
            ui.add_space(8.0);
            ui.add(egui::ProgressBar::new(progress).desired_width(320.0));
            ui.add_space(8.0);
            if ui.button("Never mind").clicked() {
                self.example = None;
            }
        });
    }

    fn welcome(&mut self, ui: &mut egui::Ui, platform: &dyn Platform) {
        let edge = egui::Stroke::new(1.5, theme::LINE);
        let zone = ui.max_rect().shrink(24.0);
        let [a, b, c, d] = corners(zone);
        ui.painter()
            .extend(egui::Shape::dashed_line(&[a, b, c, d, a], edge, 10.0, 8.0));
        ui.vertical_centered(|ui| {
            ui.add_space(ui.available_height() * 0.28);
            ui.label(
                RichText::new("Drop a recorded match here")
                    .heading()
                    .strong(),
            );
            ui.add_space(4.0);
            ui.label(
                RichText::new("or the bundle of a desync: it shows both worlds and what differs")
                    .color(theme::FAINT),
            );
            ui.add_space(14.0);
            if platform.has_chooser() && ui.button("Choose a file…").clicked() {
                platform.open_file();
            }
            ui.add_space(26.0);
            ui.label(RichText::new("None at hand?").color(theme::FAINT));
            ui.add_space(4.0);
            self.examples(ui);
        });
    }

    fn examples(&mut self, ui: &mut egui::Ui) {
        for game in registry::GAMES {
            ui.horizontal(|ui| {
                let (one, other) = (
                    format!("A match of {}", game.title),
                    format!("A desync in {}", game.title),
                );
                let room = (ui.available_width() - 2.0 * 190.0 - 8.0).max(0.0) / 2.0;
                ui.add_space(room);
                let size = egui::vec2(190.0, 26.0);
                if ui.add_sized(size, egui::Button::new(one)).clicked() {
                    self.begin_example(game.name, Kind::Match);
                }
                if ui.add_sized(size, egui::Button::new(other)).clicked() {
                    self.begin_example(game.name, Kind::Desync);
                }
            });
        }
    }
}

/// Says that a file can be dropped, while one is held over the program.
fn drop_zone(ui: &egui::Ui) {
    if ui.input(|input| input.raw.hovered_files.is_empty()) {
        return;
    }
    let rect = ui.ctx().content_rect();
    let layer = egui::LayerId::new(egui::Order::Foreground, egui::Id::unique("drop"));
    let painter = ui.ctx().layer_painter(layer);
    painter.rect_filled(rect, 0.0, theme::GROUND.gamma_multiply(0.8));
    let edge = egui::Stroke::new(3.0, theme::ACCENT);
    painter.rect_stroke(rect.shrink(16.0), 12.0, edge, egui::StrokeKind::Inside);
    painter.text(
        rect.center(),
        egui::Align2::CENTER_CENTER,
        "Drop it to open it",
        egui::FontId::proportional(24.0),
        theme::STRONG,
    );
}
