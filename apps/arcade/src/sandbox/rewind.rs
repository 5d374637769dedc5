//! Rewinding a match to a step.

use eframe::egui::{self, Align, Layout, ProgressBar};

use super::time;
use crate::any_match::AnyMatch;
use crate::platform::Platform;
use crate::theme;

/// The time that it may take of a frame, in seconds.
const SLICE: f64 = 0.010;

/// A match that is played again up to a step, a little in each frame.
pub struct Rewind {
    live: Box<dyn AnyMatch>,
    until: u64,
}

impl Rewind {
    /// Restarts a match.
    pub fn new(live: &dyn AnyMatch, until: u64) -> Result<Rewind, String> {
        let live = live.rerun(until).map_err(|error| error.to_string())?;
        Ok(Rewind { live, until })
    }

    /// Advances for a slice of time.
    pub fn advance(&mut self, platform: &dyn Platform) {
        let began = platform.seconds();
        while !self.is_done() {
            self.live.step();
            if platform.seconds() - began > SLICE {
                break;
            }
        }
    }

    /// Whether the step is reached.
    pub fn is_done(&self) -> bool {
        self.live.steps() >= self.until
    }

    /// The match, as it was at the step.
    pub fn into_match(self) -> Box<dyn AnyMatch> {
        self.live
    }

    /// Draws the progress bar. Returns whether the user stops it.
    pub fn bar(&self, ui: &mut egui::Ui) -> bool {
        let mut stop = false;
        ui.horizontal_centered(|ui| {
            ui.label(format!("Back to {}", time::time(self.until)));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                stop = ui.button("Stop").clicked();
                let part = self.live.steps() as f32 / self.until.max(1) as f32;
                let bar = ProgressBar::new(part).fill(theme::ACCENT);
                ui.add(bar.desired_width(ui.available_width()).desired_height(14.0));
            });
        });
        stop
    }
}
