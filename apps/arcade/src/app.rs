//! The program: what is on the screen, and what it does.

use eframe::egui;
use samestep_sandbox::Scenario;

use crate::registry;
use crate::show::Show;

/// The program.
pub struct Arcade {
    show: Option<Box<dyn Show>>,
}

impl Arcade {
    /// Begins with a scenario.
    pub fn new(scenario: &Scenario) -> Arcade {
        let entry = registry::game(&scenario.game);
        Arcade {
            show: entry.and_then(|entry| (entry.open)(scenario).ok()),
        }
    }
}

impl eframe::App for Arcade {
    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        if let Some(show) = &mut self.show {
            show.step();
            let rect = ui.max_rect();
            show.paint(show.steps(), 0, true, ui.painter(), rect);
        }
    }
}
