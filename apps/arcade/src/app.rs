//! The program: what is on the screen, and what it does.

use eframe::egui::{self, Frame, Margin, RichText};

use crate::platform::{File, Platform};
use crate::replays::Replays;
use crate::report::{Report, Widgets};
use crate::sandbox::SandboxTab;
use crate::theme;

/// What the program begins with.
#[derive(Clone, PartialEq, Debug)]
pub enum Opening {
    /// Opens the sandbox of a link. A link that does not parse gives the default one and a message.
    Link(String),
    /// A recorded match.
    Replay {
        /// What the file is called.
        name: String,
        /// What is in it.
        bytes: Vec<u8>,
    },
}

/// What is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tab {
    Sandbox,
    Replays,
}

impl Tab {
    const ALL: [Tab; 2] = [Tab::Sandbox, Tab::Replays];

    fn title(self) -> &'static str {
        match self {
            Tab::Sandbox => "Sandbox",
            Tab::Replays => "Replays",
        }
    }
}

/// The program.
pub struct Arcade {
    ctx: egui::Context,
    platform: Box<dyn Platform>,
    tab: Tab,
    sandbox: SandboxTab,
    replays: Replays,
    frames: Frames,
}

impl Arcade {
    /// Begins.
    pub fn new(
        cc: &eframe::CreationContext<'_>,
        opening: Opening,
        platform: Box<dyn Platform>,
    ) -> Arcade {
        theme::apply(&cc.egui_ctx);
        cc.egui_ctx.add_plugin(Widgets::default());
        let link = match &opening {
            Opening::Link(link) => link,
            Opening::Replay { .. } => "",
        };
        let mut arcade = Arcade {
            ctx: cc.egui_ctx.clone(),
            tab: Tab::Sandbox,
            sandbox: SandboxTab::new(link, &*platform),
            platform,
            replays: Replays::new(),
            frames: Frames::default(),
        };
        if matches!(opening, Opening::Replay { .. }) {
            arcade.open(opening);
        }
        arcade
    }

    /// Opens something else.
    pub fn open(&mut self, opening: Opening) {
        match opening {
            Opening::Link(link) => {
                self.sandbox.open_link(&link);
                self.tab = Tab::Sandbox;
            }
            Opening::Replay { name, bytes } => {
                self.replays.open(&name, bytes);
                self.tab = Tab::Replays;
            }
        }
        self.ctx.request_repaint();
    }

    /// The sandbox.
    pub fn sandbox(&self) -> &SandboxTab {
        &self.sandbox
    }

    /// What it shows, as JSON. The widgets are in it from the second frame on after it was first asked for.
    pub fn report(&self) -> String {
        let widgets = Widgets::of(&self.ctx);
        let report = Report {
            tab: self.tab.title(),
            frame_rate: self.frames.rate(),
            sandbox: &self.sandbox,
            widgets: &widgets,
        };
        report.to_json()
    }

    fn head(&mut self, ui: &mut egui::Ui) -> Option<File> {
        ui.horizontal(|ui| {
            mark(ui);
            ui.label(RichText::new("Samestep").heading().strong());
            ui.add_space(10.0);
            for tab in Tab::ALL {
                ui.selectable_value(&mut self.tab, tab, tab.title());
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let words = format!("{:.0} frames/s", self.frames.rate());
                ui.add_sized(
                    [72.0, 20.0],
                    egui::Label::new(RichText::new(words).small().weak()),
                );
                match self.tab {
                    Tab::Sandbox => self.sandbox.tools(ui, &*self.platform),
                    Tab::Replays => None,
                }
            })
            .inner
        })
        .inner
    }

    fn take_files(&mut self, ui: &egui::Ui) {
        let dropped = ui.input(|input| input.raw.dropped_files.clone());
        for file in dropped {
            self.platform.read_dropped(file);
        }
        match self.platform.opened() {
            Some(Ok(file)) => self.open(Opening::Replay {
                name: file.name,
                bytes: file.bytes,
            }),
            Some(Err(words)) => {
                self.sandbox.say(words);
                self.tab = Tab::Sandbox;
            }
            None => {}
        }
    }
}

impl eframe::App for Arcade {
    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        self.frames.count(ui.input(|input| input.time));
        self.take_files(ui);
        let frame = Frame::new().inner_margin(Margin::symmetric(12, 6));
        let head = egui::Panel::top("head").frame(frame);
        let from_head = head.show(ui, |ui| self.head(ui)).inner;
        let platform = &*self.platform;
        let from_tab = match self.tab {
            Tab::Sandbox => self.sandbox.ui(ui, platform),
            Tab::Replays => {
                self.replays.ui(ui, platform);
                None
            }
        };
        for File { name, bytes } in from_head.into_iter().chain(from_tab) {
            self.open(Opening::Replay { name, bytes });
        }
    }

    /// Where nothing else is drawn. To clear costs nothing, to fill costs a lot without a graphics card.
    fn clear_color(&self, _visuals: &egui::Visuals) -> [f32; 4] {
        theme::PANEL.to_normalized_gamma_f32()
    }

    #[cfg(target_arch = "wasm32")]
    fn as_any_mut(&mut self) -> Option<&mut dyn std::any::Any> {
        Some(self)
    }
}

/// The program's own mark: steps that are all the same.
fn mark(ui: &mut egui::Ui) {
    let (rect, _) = ui.allocate_exact_size(egui::vec2(20.0, 18.0), egui::Sense::hover());
    for (step, part) in [0.45, 0.7, 1.0].into_iter().enumerate() {
        let corner = rect.left_bottom() + egui::vec2(step as f32 * 6.5, -6.0 * (step as f32 + 1.0));
        let bar = egui::Rect::from_min_max(corner, egui::pos2(corner.x + 5.0, rect.bottom()));
        ui.painter()
            .rect_filled(bar, 1.5, theme::ACCENT.gamma_multiply(part));
    }
}

/// How many frames there were lately.
#[derive(Default)]
struct Frames {
    times: std::collections::VecDeque<f64>,
}

impl Frames {
    fn count(&mut self, now: f64) {
        self.times.push_back(now);
        while self.times.front().is_some_and(|time| now - time > 1.0) {
            self.times.pop_front();
        }
    }

    /// In a second, as a mean of the last one.
    fn rate(&self) -> f64 {
        match (self.times.front(), self.times.back()) {
            (Some(first), Some(last)) if last > first => {
                (self.times.len() - 1) as f64 / (last - first)
            }
            _ => 0.0,
        }
    }
}
