//! The report of a desync: both worlds, and every field that differs.

use eframe::egui::{self, Frame, Margin, RichText, Sense, vec2};
use samestep_sync::{Difference, Divergence};

use super::compare::{Compared, Led, Look, Whose};
use super::opened::{LiveMatch, Opened};
use super::screen::picture;
use crate::theme;

/// Differences that are listed.
const LISTED: usize = 100;

impl Opened {
    /// The divergence that is shown.
    pub(super) fn desync(&mut self, ui: &mut egui::Ui) {
        let (LiveMatch::Desync(at), Ok(player)) = (self.shown, &self.player) else {
            return;
        };
        let Some(divergence) = player.replay().divergences().get(at) else {
            return;
        };
        match &self.compared {
            None => {
                let part = player.progress().map_or(0.0, |(_, part)| part);
                ui.add_space(20.0);
                let words = format!("ReplayedMatch to tick {}", divergence.tick);
                ui.add(
                    egui::ProgressBar::new(part)
                        .text(words)
                        .desired_width(320.0),
                );
            }
            Some((_, Err(words))) => {
                ui.add_space(20.0);
                let words = format!("Both worlds cannot be shown: {words}.");
                ui.label(RichText::new(words).color(theme::WARNING));
                ui.label(super::facts::printable(&divergence.description));
            }
            Some((_, Ok(compared))) => {
                let mut look = self.look;
                look.viewer = player.viewer;
                let from = player.replay().first();
                sentence(ui, compared, &compared.led.sentence(from, divergence.tick));
                worlds(ui, compared, divergence, &mut look);
                table(ui, compared);
                self.look = look;
            }
        }
    }
}

/// What it means.
fn sentence(ui: &mut egui::Ui, compared: &Compared, words: &str) {
    let frame = Frame::new()
        .fill(theme::CARD)
        .corner_radius(6)
        .inner_margin(Margin::symmetric(10, 7));
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.add(egui::Label::new(words).wrap());
        if compared.led == Led::ToNeither {
            ui.horizontal(|ui| {
                ui.label(RichText::new("Checksum of what they lead to").color(theme::FAINT));
                value(ui, &format!("{:016x}", compared.played), theme::FAINT);
            });
        }
    });
}

/// Something that one may want to copy.
fn value(ui: &mut egui::Ui, text: &str, colour: egui::Color32) -> egui::Response {
    let text = RichText::new(text).monospace().color(colour);
    ui.add(egui::Label::new(text).selectable(true))
}

/// Both side by side.
fn worlds(ui: &mut egui::Ui, compared: &Compared, divergence: &Divergence, look: &mut Look) {
    let between = 10.0;
    let width = (ui.available_width() - between) / 2.0;
    // The table needs room for its head and a few rows.
    let room =
        ui.available_height() - 34.0 * 2.0 - 20.0 * compared.differences.len().clamp(2, 7) as f32;
    let height = (width * 0.75).min(room).max(120.0);
    let sides = [
        (Whose::Ours, "Ours: what was wrong", &divergence.ours),
        (Whose::Theirs, "Theirs: what is right", &divergence.theirs),
    ];
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = between;
        for ((whose, title, side), is_whole) in sides.into_iter().zip(compared.is_whole) {
            ui.vertical(|ui| {
                ui.set_width(width);
                ui.horizontal(|ui| {
                    ui.label(RichText::new(title).strong().color(whose.colour()));
                    let checksum = format!("{:016x}", side.checksum);
                    let checksum = value(ui, &checksum, theme::FAINT);
                    checksum.on_hover_text("Checksum of this state");
                    if side.checksum == compared.played {
                        ui.label(RichText::new("the rules lead here").color(theme::ACCENT));
                    } else if !is_whole {
                        let words = "Only the parts that differed are in the file; the rest is as played here";
                        let label = RichText::new("in part").color(theme::WARNING);
                        ui.label(label).on_hover_text(words);
                    }
                    if whose == Whose::Theirs && compared.has_places() {
                        let rest = egui::Layout::right_to_left(egui::Align::Center);
                        ui.with_layout(rest, |ui| {
                            ui.checkbox(&mut look.is_near, "Closer");
                        });
                    }
                });
                let size = vec2(width, height);
                let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
                let words = title.split(':').next().unwrap_or(title);
                let response = theme::named(response, words);
                look.lens.hold(ui, &response);
                picture(ui, rect, |painter| compared.paint(whose, look, painter, rect));
            });
        }
    });
}

/// Every field that differs.
fn table(ui: &mut egui::Ui, compared: &Compared) {
    let all = compared.differences.len();
    let count = match (all, compared.may_have_more()) {
        (0, _) => "No field differs".to_string(),
        (1, _) => "1 field differs".into(),
        (all, false) if all <= LISTED => format!("{all} fields differ"),
        (all, false) => format!("{all} fields differ; these are the first {LISTED}"),
        (all, true) => format!("{all} fields differ, or more; these are the first {LISTED}"),
    };
    ui.label(RichText::new(count).strong().color(theme::STRONG));
    let scroll = egui::ScrollArea::vertical().auto_shrink([false, false]);
    scroll.show(ui, |ui| {
        let grid = egui::Grid::new("differences")
            .num_columns(5)
            .striped(true)
            .min_col_width((ui.available_width() / 5.0 - 20.0).max(60.0))
            .spacing(vec2(18.0, 4.0));
        grid.show(ui, |ui| {
            for head in ["Part", "Which", "Field", "Ours", "Theirs"] {
                ui.label(RichText::new(head).small().color(theme::FAINT));
            }
            ui.end_row();
            for difference in compared.differences.iter().take(LISTED) {
                row(ui, difference);
            }
        });
    });
}

fn row(ui: &mut egui::Ui, difference: &Difference) {
    let (which, field) = parts(difference);
    ui.label(&difference.kind);
    ui.label(which);
    ui.label(field);
    value(ui, &difference.ours, Whose::Ours.colour());
    value(ui, &difference.theirs, Whose::Theirs.colour());
    ui.end_row();
}

/// Which row it is, and which of its fields.
fn parts(difference: &Difference) -> (String, String) {
    if let Some(entity) = difference.entity {
        return (entity.to_string(), difference.field.clone());
    }
    let (row, field) = match difference.field.split_once('.') {
        Some((row, field)) => (row, field),
        None => (&*difference.field, "value"),
    };
    match row.parse::<u32>() {
        Ok(row) => (format!("row {row}"), field.into()),
        Err(_) => (String::new(), difference.field.clone()),
    }
}
