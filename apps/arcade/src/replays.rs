//! Recorded matches.

use eframe::egui;

use crate::surroundings::Surroundings;

/// The tab in which recorded matches are looked at.
#[derive(Default)]
pub struct Replays {
    name: String,
}

impl Replays {
    /// Nothing is open yet.
    pub fn new() -> Replays {
        Replays::default()
    }

    /// Opens a file.
    pub fn open(&mut self, name: &str, _bytes: Vec<u8>) {
        self.name = name.into();
    }

    /// Shows it.
    pub fn ui(&mut self, ui: &mut egui::Ui, _around: &dyn Surroundings) {
        ui.label(&self.name);
    }
}
