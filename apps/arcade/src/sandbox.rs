//! The sandbox: every player's screen side by side, and everything that can be changed.

use eframe::egui;
use samestep_sandbox::Scenario;

use crate::registry::{self, GAMES};
use crate::show::Show;
use crate::surroundings::{File, Surroundings};

/// The tab in which a match is played.
pub struct Workbench {
    show: Box<dyn Show>,
    paused: bool,
    words: String,
}

impl Workbench {
    /// With the usual scenario.
    #[expect(clippy::new_without_default, reason = "it begins a match")]
    pub fn new() -> Workbench {
        let scenario = Scenario::new(GAMES[0].name);
        Workbench {
            show: (GAMES[0].open)(&scenario).expect("what is usual is possible"),
            paused: false,
            words: String::new(),
        }
    }

    /// Begins what a link says. What is wrong with it is shown.
    pub fn open_link(&mut self, link: &str) {
        match opened(link) {
            Ok(show) => self.show = show,
            Err(words) => self.words = words,
        }
    }

    /// Shows words across the screen.
    pub fn say(&mut self, words: String) {
        self.words = words;
    }

    /// The match.
    pub fn show(&self) -> &dyn Show {
        &*self.show
    }

    /// The step that is on the screens.
    pub fn shown_step(&self) -> u64 {
        self.show.steps()
    }

    /// Whether time stands still.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// The words across the screen, if there are any.
    pub fn banner(&self) -> String {
        self.words.clone()
    }

    /// Shows it all, and lets time pass.
    pub fn ui(&mut self, ui: &mut egui::Ui, _around: &dyn Surroundings) -> Option<File> {
        if !self.paused {
            self.show.step();
            ui.ctx().request_repaint();
        }
        let rect = ui.max_rect();
        self.show
            .paint(self.show.steps(), 0, true, ui.painter(), rect);
        None
    }
}

fn opened(link: &str) -> Result<Box<dyn Show>, String> {
    let scenario = Scenario::from_link(link).map_err(|error| error.to_string())?;
    let Some(entry) = registry::game(&scenario.game) else {
        let names: Vec<_> = GAMES.iter().map(|game| game.name).collect();
        return Err(format!(
            "there is no game {:?}; there are {}",
            scenario.game,
            names.join(", ")
        ));
    };
    (entry.open)(&scenario).map_err(|error| error.to_string())
}
