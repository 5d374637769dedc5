//! A game over a network: the screen of one player, or of several who share it, with names, scores, chat and figures.

mod panels;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use eframe::egui::{self, Event, Key, Rect, Sense, ViewportCommand};
use samestep_play::failure::{Failure, Kind};
use samestep_play::{Command, Playing, Stage};
use samestep_sync::{EventStage, PlayerId};

use crate::drawn::{Drawn, FADES, RecentEvent, Scene};
use crate::keyboard::{Keyboard, Layout};
use crate::platform::Window;
use crate::registry;
use crate::screen;
use crate::sound::{Cue, Sounds};
use crate::theme;

/// Opens or joins a game; what it has to say at the end is its exit code.
pub type Open = fn(&Command, Arc<AtomicU8>) -> Result<Box<dyn eframe::App>, Failure>;

/// Lines of chat and news that are kept.
const KEPT: usize = 60;

/// Plays a game in a window until it is closed; returns the exit code.
pub fn run(command: &Command) -> u8 {
    let game = &command.shared().game;
    let code = Arc::new(AtomicU8::new(0));
    let app = match registry::game(game) {
        Some(entry) => (entry.online)(command, Arc::clone(&code)),
        None => Err(Failure::new(
            Kind::Version,
            format!("there is no game \"{game}\" here"),
        )),
    };
    let app = match app {
        Ok(app) => app,
        Err(failure) => {
            eprintln!("samestep-arcade: {failure}");
            return failure.kind.code();
        }
    };
    let viewport = egui::ViewportBuilder::default()
        .with_title(format!("Samestep · {game}"))
        .with_inner_size([1120.0, 700.0])
        .with_min_inner_size([640.0, 420.0]);
    let options = eframe::NativeOptions {
        viewport,
        ..Default::default()
    };
    let shown = eframe::run_native(
        "Samestep",
        options,
        Box::new(move |cc| {
            theme::apply(&cc.egui_ctx);
            Ok(app)
        }),
    );
    if let Err(error) = shown {
        eprintln!("samestep-arcade: {error}; --terminal plays without a window");
        return Kind::Other.code();
    }
    code.load(Ordering::Relaxed)
}

/// Opens or joins a game.
pub fn open<G: Drawn>(
    command: &Command,
    code: Arc<AtomicU8>,
) -> Result<Box<dyn eframe::App>, Failure> {
    let playing = Playing::<G>::open(command)?;
    let platform = Window::new();
    Ok(Box::new(Online {
        playing: Some(playing),
        sounds: Sounds::new(&platform),
        platform,
        view_state: G::ViewState::default(),
        keyboard: Keyboard::default(),
        screen: Rect::ZERO,
        is_mouse_over: false,
        events: VecDeque::new(),
        chat: VecDeque::new(),
        typing: None,
        shows_keys: false,
        failure: None,
        code,
        was_playing: false,
        seconds: 0.0,
    }))
}

/// An event of the rules that is still seen.
struct Seen<E> {
    /// When it was told.
    at: f64,
    stage: EventStage,
    was_predicted: bool,
    event: E,
}

/// A line of chat or news.
struct Line {
    at: f64,
    text: String,
}

/// The screen of this program's players.
struct Online<G: Drawn> {
    /// `None` once it was left.
    playing: Option<Playing<G>>,
    platform: Window,
    sounds: Sounds,
    view_state: G::ViewState,
    keyboard: Keyboard,
    /// Where the game was drawn last, and whether the mouse was over it.
    screen: Rect,
    is_mouse_over: bool,
    /// The newest last.
    events: VecDeque<Seen<G::Event>>,
    chat: VecDeque<Line>,
    /// The line that is being typed.
    typing: Option<String>,
    shows_keys: bool,
    /// Why the game is over.
    failure: Option<String>,
    code: Arc<AtomicU8>,
    /// Whether a match was played when this was last looked at.
    was_playing: bool,
    /// Since the window was opened.
    seconds: f64,
}

impl<G: Drawn> Online<G> {
    /// Runs the game as far as it is due.
    fn advance(&mut self, ctx: &egui::Context) {
        let Some(playing) = &mut self.playing else {
            return;
        };
        let run = playing.run_for(Duration::ZERO);
        let at = self.seconds;
        let players = playing.my_players();
        while let Some(told) = playing.next_event() {
            if let Some(cue) = Cue::of(playing.state(), &players, &told) {
                self.sounds.take(at, cue);
            }
            self.events.push_back(Seen {
                at,
                stage: told.stage,
                was_predicted: told.stage != EventStage::Predicted && told.predicted.is_some(),
                event: told.event,
            });
        }
        let faded = |seen: &Seen<G::Event>| at - seen.at > f64::from(FADES);
        while self.events.front().is_some_and(faded) {
            self.events.pop_front();
        }
        let lines = playing.lines().into_iter();
        self.chat.extend(lines.map(|text| {
            println!("{text}");
            Line { at, text }
        }));
        let old = self.chat.len().saturating_sub(KEPT);
        self.chat.drain(..old);
        let is_playing = playing.stage() == Stage::Playing;
        if is_playing && !self.was_playing {
            // What was said before a match, such as how others join, does not lie over the game. It is there again while somebody types.
            self.chat.iter_mut().for_each(|line| line.at = f64::MIN);
        }
        self.was_playing = is_playing;
        if playing.has_disagreed() {
            self.code.store(1, Ordering::Relaxed);
        }
        match run {
            Err(failure) => {
                eprintln!("samestep-arcade: {failure}");
                self.code.store(failure.kind.code(), Ordering::Relaxed);
                self.failure = Some(failure.to_string());
                self.playing = None;
            }
            Ok(()) if playing.is_finished() => ctx.send_viewport_cmd(ViewportCommand::Close),
            Ok(()) => {}
        }
    }

    /// Takes what a person does on keyboard and mouse.
    fn read_keys(&mut self, ui: &egui::Ui) {
        let is_typing = ui.ctx().text_edit_focused() || self.typing.is_some();
        let over = self.is_mouse_over;
        ui.input(|input| self.keyboard.read(input, is_typing, over));
        if is_typing {
            return;
        }
        let pressed = |key: Key| ui.input(|input| input.key_pressed(key));
        let asked = ui.input(|input| {
            let text = |event: &Event| matches!(event, Event::Text(text) if text == "?");
            input.events.iter().any(text)
        });
        // A player at the arrow keys has Enter and the key of `?` for itself.
        let is_shared = self.is_shared();
        self.shows_keys ^= pressed(Key::F1) || asked && !is_shared;
        if pressed(Key::T) || pressed(Key::Enter) && !is_shared {
            self.typing = Some(String::new());
        }
        if pressed(Key::M) {
            self.sounds.switch(&self.platform);
        }
    }

    /// Whether several play at this screen.
    fn is_shared(&self) -> bool {
        let playing = self.playing.as_ref();
        playing.is_some_and(|playing| playing.my_players().len() > 1)
    }

    /// Gives the players' inputs, each with keys of its own. What is pressed is merged until a tick takes it, so this may happen at any frame rate.
    fn control(&mut self) {
        let Some(playing) = self.playing.as_mut().filter(|playing| playing.is_by_hand()) else {
            return;
        };
        let players = playing.my_players();
        if players.is_empty() {
            return;
        }
        for (player, layout) in players.into_iter().zip(Layout::ALL) {
            let human = self.keyboard.human_input(layout, self.screen);
            let state = playing.shown();
            let controls = screen::input(state, player, &mut self.view_state, &human, self.screen);
            playing.set_controls(player, &controls);
        }
        self.keyboard.taken();
    }

    /// Draws the game over the whole of the window.
    fn paint(&mut self, ui: &mut egui::Ui) {
        let (rect, response) = ui.allocate_exact_size(ui.available_size(), Sense::hover());
        (self.screen, self.is_mouse_over) = (rect, response.contains_pointer());
        ui.painter().rect_filled(rect, 0.0, theme::GROUND);
        let Some(playing) = &mut self.playing else {
            return;
        };
        if playing.stage() == Stage::Joining {
            return;
        }
        let names: Vec<(PlayerId, String)> = playing
            .table()
            .rows
            .into_iter()
            .map(|row| (row.player, row.name))
            .collect();
        let players = playing.my_players();
        let sharing = if players.len() > 1 { &players[..] } else { &[] };
        let seconds = self.seconds;
        let recent: Vec<_> = self
            .events
            .iter()
            .rev()
            .map(|seen| RecentEvent {
                ago: (seconds - seen.at) as f32,
                stage: seen.stage,
                was_predicted: seen.was_predicted,
                event: &seen.event,
            })
            .collect();
        let state = playing.shown();
        let scene = Scene {
            viewer: players.first().copied(),
            sharing,
            drawn: state,
            view_state: &self.view_state,
            recent: &recent,
            names: &names,
            seconds: seconds as f32,
        };
        screen::paint(&scene, ui.painter(), rect).finish();
    }
}

impl<G: Drawn> eframe::App for Online<G> {
    /// The game goes on also while the window is hidden.
    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        self.seconds = ctx.input(|input| input.time);
        self.advance(ctx);
        ctx.request_repaint();
    }

    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        self.read_keys(ui);
        self.control();
        self.head(ui);
        self.foot(ui);
        egui::CentralPanel::no_frame().show(ui, |ui| self.paint(ui));
        self.panels(ui.ctx());
    }

    fn on_exit(&mut self, _gl: Option<&eframe::glow::Context>) {
        if let Some(playing) = self.playing.take()
            && let Err(failure) = playing.leave()
        {
            eprintln!("samestep-arcade: {failure}");
        }
    }

    fn clear_color(&self, _visuals: &egui::Visuals) -> [f32; 4] {
        theme::PANEL.to_normalized_gamma_f32()
    }
}
