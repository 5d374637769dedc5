//! The sandbox: every player's screen side by side, and everything that can be changed.

mod address;
mod banner;
mod help;
mod network;
mod panel;
mod plots;
mod rewind;
mod run;
mod screens;
mod time;

use eframe::egui::text::LayoutJob;
use eframe::egui::{
    self, Align, FontId, Frame, Key, Layout as Direction, Margin, Modifiers, ScrollArea,
    TextFormat, vec2,
};
use samestep_sandbox::{ModelKind, Scenario};

use crate::any_match::AnyMatch;
use crate::keyboard::{Keyboard, Layout};
use crate::platform::{File, Platform};
use crate::registry::{self, GAMES};
use crate::sound::Sounds;
use crate::theme;
use address::Address;
use banner::{Answer, Banner};
use panel::Panel;
use rewind::Rewind;
use run::{UserAction, linked, opened};
use screens::Screens;
use time::Clock;

/// The tab in which a match is played.
pub struct SandboxTab {
    live: Box<dyn AnyMatch>,
    clock: Clock,
    panel: Panel,
    screens: Screens,
    keyboard: Keyboard,
    banner: Option<Banner>,
    rewind: Option<Rewind>,
    address: Address,
    sounds: Sounds,
    is_helping: bool,
    /// The number of desyncs that have been shown.
    desyncs: usize,
}

impl SandboxTab {
    /// Opens the match of a link. If that is not possible it shows why, and opens the default match.
    pub fn new(link: &str, platform: &dyn Platform) -> SandboxTab {
        match linked(link) {
            Ok(live) => Self::with(live, platform),
            Err(words) => {
                let usual = Scenario::new(GAMES[0].name);
                let live = opened(&usual).expect("what is usual is possible");
                let mut tab = Self::with(live, platform);
                tab.refuse(&words);
                tab
            }
        }
    }

    fn with(live: Box<dyn AnyMatch>, platform: &dyn Platform) -> SandboxTab {
        SandboxTab {
            live,
            clock: Clock::new(),
            panel: Panel::default(),
            screens: Screens::new(),
            keyboard: Keyboard::default(),
            banner: None,
            rewind: None,
            address: Address::default(),
            sounds: Sounds::new(platform),
            is_helping: false,
            desyncs: 0,
        }
    }

    /// Opens the match of a link. If that is not possible it shows why, and the present match continues.
    pub fn open_link(&mut self, link: &str) {
        match linked(link) {
            Ok(live) => {
                self.banner = None;
                self.play(live);
            }
            Err(words) => self.refuse(&words),
        }
    }

    fn refuse(&mut self, words: &str) {
        self.address.leave(&self.live.scenario().to_link());
        self.say(format!("The link could not be opened: {words}."));
    }

    /// Shows a banner across the screen.
    pub fn say(&mut self, words: String) {
        self.banner = Some(Banner::bad(words));
    }

    /// The match.
    pub fn live_match(&self) -> &dyn AnyMatch {
        &*self.live
    }

    /// The step that is on the screens.
    pub fn shown_step(&self) -> u64 {
        self.clock.at().unwrap_or(self.live.steps())
    }

    /// Whether time is paused.
    pub fn is_paused(&self) -> bool {
        self.clock.paused
    }

    /// The text of the banner, if there is one.
    pub fn banner(&self) -> &str {
        self.banner.as_ref().map_or("", |banner| &banner.words)
    }

    /// The buttons that concern the whole match.
    pub fn tools(&mut self, ui: &mut egui::Ui, platform: &dyn Platform) -> Option<File> {
        let mut file = None;
        time::pace(ui, &self.clock);
        self.sounds.ui(ui, platform);
        let help = ui.button("Keys").on_hover_text("What the keys do (F1)");
        if help.clicked() {
            self.is_helping = !self.is_helping;
        }
        let replay = ui.button("Open as a replay");
        if replay
            .on_hover_text("Look at what was recorded so far")
            .clicked()
        {
            file = Some(self.recorded());
        }
        let save = ui.button("Save recording");
        if save
            .on_hover_text("What the server has recorded, as a file")
            .clicked()
        {
            let File { name, bytes } = self.recorded();
            self.banner = Some(match platform.save(&name, &bytes) {
                Ok(words) => Banner::good(format!("The recording is {words}.")),
                Err(words) => Banner::bad(words),
            });
        }
        let copy = ui.button("Copy link");
        if copy
            .on_hover_text("An address that shows somebody else the same match")
            .clicked()
        {
            let address = platform.share_address(&self.live.scenario().to_link());
            ui.copy_text(address);
            self.banner = Some(Banner::good("The link has been copied.".into()));
        }
        file
    }

    /// Draws the tab and advances time.
    pub fn ui(&mut self, ui: &mut egui::Ui, platform: &dyn Platform) -> Option<File> {
        let mut requested = Vec::new();
        let now = ui.input(|input| input.time);
        self.read_keys(ui, platform, &mut requested);
        self.pass(now, platform);
        self.report_desyncs();
        self.left(ui, &mut requested);
        self.below(ui, &mut requested);
        let file = self.middle(ui, &mut requested);
        if self.is_helping
            && let Some(entry) = registry::game(&self.live.scenario().game)
        {
            help::ui(ui.ctx(), &mut self.is_helping, entry);
        }
        for action in requested {
            self.apply(action);
        }
        let link = self.live.scenario().to_link();
        self.address.update(now, &link, platform);
        if !self.clock.paused || self.rewind.is_some() || self.address.is_behind(&link) {
            ui.ctx().request_repaint();
        }
        file
    }

    fn left(&mut self, ui: &mut egui::Ui, requested: &mut Vec<UserAction>) {
        let frame = Frame::new().inner_margin(Margin {
            left: 12,
            right: 6,
            top: 2,
            bottom: 6,
        });
        egui::Panel::left("what is played")
            .exact_size(276.0)
            .resizable(false)
            .frame(frame)
            .show(ui, |ui| {
                ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                    ui.set_max_width(252.0);
                    self.panel.ui(ui, &*self.live, requested);
                });
            });
    }

    fn below(&mut self, ui: &mut egui::Ui, requested: &mut Vec<UserAction>) {
        let height = (ui.available_height() * 0.15).clamp(92.0, 150.0);
        let frame = Frame::new().inner_margin(Margin {
            left: 10,
            right: 10,
            top: 0,
            bottom: 8,
        });
        egui::Panel::bottom("plots")
            .exact_size(height + 8.0)
            .resizable(false)
            .show_separator_line(false)
            .frame(frame)
            .show(ui, |ui| {
                plots::row(ui, &*self.live, self.clock.at(), requested)
            });
        egui::Panel::bottom("time")
            .exact_size(36.0)
            .resizable(false)
            .show_separator_line(false)
            .frame(frame.inner_margin(Margin::symmetric(10, 2)))
            .show(ui, |ui| match &self.rewind {
                Some(rewind) => {
                    if rewind.bar(ui) {
                        self.rewind = None;
                    }
                }
                None => time::bar(ui, &mut self.clock, &*self.live, requested),
            });
    }

    fn middle(&mut self, ui: &mut egui::Ui, requested: &mut Vec<UserAction>) -> Option<File> {
        let frame = Frame::new().inner_margin(Margin {
            left: 10,
            right: 10,
            top: 8,
            bottom: 2,
        });
        let mut file = None;
        egui::CentralPanel::no_frame().frame(frame).show(ui, |ui| {
            match self.banner.as_mut().and_then(|banner| banner.ui(ui)) {
                Some(Answer::Close) => self.banner = None,
                Some(Answer::Look(bytes)) => {
                    let name = format!("{}-desync.replay", self.live.scenario().game);
                    file = Some(File { name, bytes });
                }
                None => {}
            }
            self.sentence(ui);
            self.screens
                .ui(ui, &*self.live, self.shown_step(), requested);
        });
        file
    }

    /// Draws the sentence about the model.
    fn sentence(&mut self, ui: &mut egui::Ui) {
        let kind = self.live.model(self.shown_step());
        let size = vec2(ui.available_width(), 36.0);
        ui.allocate_ui_with_layout(size, Direction::right_to_left(Align::Min), |ui| {
            ui.set_min_size(size);
            let ghost = ui.checkbox(&mut self.screens.ghost, "Ghost");
            ghost.on_hover_text("The server's state as an outline over each screen (G)");
            ui.add_space(8.0);
            let job = sentence(kind, self.live.next_model());
            ui.with_layout(Direction::left_to_right(Align::Min), |ui| {
                ui.add(egui::Label::new(job).wrap());
            });
        });
    }

    fn read_keys(
        &mut self,
        ui: &egui::Ui,
        platform: &dyn Platform,
        requested: &mut Vec<UserAction>,
    ) {
        let is_typing = ui.ctx().text_edit_focused();
        let plays = |layout| self.screens.is_taken(layout);
        let someone = plays(Layout::One) || plays(Layout::Two);
        if someone && !is_typing {
            // Keys that move a character do not move through the buttons as well.
            ui.memory_mut(|memory| {
                if let Some(focused) = memory.focused() {
                    memory.surrender_focus(focused);
                }
            });
        }
        let over = self.screens.is_mouse_over();
        ui.input(|input| self.keyboard.read(input, is_typing, over));
        if is_typing {
            return;
        }
        let period_plays = plays(Layout::Two);
        let pressed = |key: Key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        let (space, ghost, restart) = (pressed(Key::Space), pressed(Key::G), pressed(Key::R));
        let (home, help) = (pressed(Key::Home), pressed(Key::F1));
        let escape = self.is_helping && pressed(Key::Escape);
        let step = !period_plays && pressed(Key::Period);
        let question = ui.input(|input| input.key_pressed(Key::Questionmark));
        if pressed(Key::M) {
            self.sounds.switch(platform);
        }
        self.clock.paused ^= space;
        self.screens.ghost ^= ghost;
        self.is_helping = (self.is_helping ^ (help || question)) && !escape;
        if home {
            self.clock.look(None);
        }
        requested.extend(restart.then_some(UserAction::Restart));
        requested.extend(step.then_some(UserAction::Step));
    }

    fn recorded(&self) -> File {
        let scenario = self.live.scenario();
        File {
            name: format!("{}-{}.replay", scenario.game, scenario.seed),
            bytes: self.live.recording(),
        }
    }
}

fn sentence(kind: ModelKind, next: Option<ModelKind>) -> LayoutJob {
    let mut job = LayoutJob::default();
    let font = FontId::proportional(13.5);
    let strong = TextFormat::simple(font.clone(), theme::ACCENT);
    let usual = TextFormat::simple(font, theme::TEXT);
    job.append(kind.title, 0.0, strong.clone());
    job.append(kind.sentence, 8.0, usual);
    if let Some(next) = next.filter(|next| *next != kind) {
        job.append(&format!("Changing to {} …", next.title), 8.0, strong);
    }
    job
}
