//! The keys, over everything else.

use eframe::egui::{self, Align2, RichText, vec2};

use crate::any_match::GameEntry;
use crate::keyboard::{self, Layout};
use crate::theme;

/// Keys that do the same in every game.
const KEYS: [(&str, &str); 7] = [
    ("Space", "pause or continue"),
    ("Period", "one step"),
    ("R", "restart with the same seed"),
    ("G", "show or hide the server's state as an outline"),
    ("Home", "back to the present"),
    ("M", "switch sound on or off"),
    ("F1 or ?", "these keys"),
];

/// Shows the keys until they are closed.
pub fn ui(ctx: &egui::Context, is_open: &mut bool, entry: &GameEntry) {
    egui::Window::new(RichText::new("Keys").strong())
        .open(is_open)
        .anchor(Align2::CENTER_CENTER, vec2(0.0, 0.0))
        .collapsible(false)
        .resizable(false)
        .default_width(560.0)
        .show(ctx, |ui| {
            theme::section(ui, "Everywhere");
            pairs(ui, &KEYS);
            theme::section(ui, entry.title);
            ui.label(
                "To play yourself, choose one of these above a player's screen instead of the bot.",
            );
            ui.add_space(4.0);
            layouts(ui, entry.keys);
        });
}

fn layouts(ui: &mut egui::Ui, keys: &[(&str, &str)]) {
    let layouts = [Layout::One, Layout::Two];
    egui::Grid::new("layouts")
        .num_columns(3)
        .spacing(vec2(24.0, 4.0))
        .show(ui, |ui| {
            for layout in layouts {
                ui.label(RichText::new(layout.title()).strong());
            }
            ui.end_row();
            for (names, what) in keys {
                for layout in layouts {
                    ui.label(RichText::new(keyboard::keys(names, layout)).color(theme::ACCENT));
                }
                ui.scope(|ui| {
                    ui.set_max_width(330.0);
                    ui.add(egui::Label::new(*what).wrap());
                });
                ui.end_row();
            }
        });
}

fn pairs(ui: &mut egui::Ui, pairs: &[(&str, &str)]) {
    egui::Grid::new("everywhere")
        .num_columns(2)
        .spacing(vec2(24.0, 4.0))
        .show(ui, |ui| {
            for (keys, what) in pairs {
                ui.label(RichText::new(*keys).color(theme::ACCENT));
                ui.label(*what);
                ui.end_row();
            }
        });
}
