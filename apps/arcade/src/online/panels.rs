//! What lies around and over the game: head, figures, score table, chat, waiting room.

use eframe::egui::{
    self, Align, Align2, Color32, Frame, Grid, Key, Layout, Margin, RichText, TextEdit,
    ViewportCommand, vec2,
};
use samestep_play::{Playing, Stage, Table};
use samestep_sync::PlayerId;

use super::Online;
use crate::drawn::Drawn;
use crate::keyboard::{self, Layout as Keys};
use crate::theme;

/// Lines of chat that are shown, and for how long, in seconds.
const CHAT: usize = 7;
const STAYS: f64 = 14.0;
/// How wide chat and a panel in the middle are.
const CHAT_WIDTH: f32 = 460.0;
const MIDDLE_WIDTH: f32 = 400.0;

impl<G: Drawn> Online<G> {
    /// The game, the room and how one stands.
    pub(super) fn head(&mut self, ui: &mut egui::Ui) {
        let frame = Frame::new().inner_margin(Margin::symmetric(12, 6));
        egui::Panel::top("head").frame(frame).show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.label(RichText::new(G::TITLE).heading().strong());
                let Some(playing) = &self.playing else {
                    return;
                };
                ui.label(RichText::new(playing.room_name()).color(theme::FAINT));
                if playing.stage() == Stage::Playing {
                    // Where several play, each has its score in the picture.
                    let me = playing.me().filter(|_| !self.is_shared());
                    let caption = playing.state().caption(me);
                    ui.label(RichText::new(caption).color(theme::TEXT));
                }
                let buttons = Layout::right_to_left(Align::Center);
                ui.with_layout(buttons, |ui| self.buttons(ui));
            });
        });
    }

    fn buttons(&mut self, ui: &mut egui::Ui) {
        if ui.button("Leave").clicked() {
            ui.ctx().send_viewport_cmd(ViewportCommand::Close);
        }
        self.sounds.ui(ui, &self.platform);
        if ui
            .button("Keys")
            .on_hover_text("What the keys do (F1)")
            .clicked()
        {
            self.shows_keys ^= true;
        }
        if ui
            .button("Chat")
            .on_hover_text("Say something (T)")
            .clicked()
        {
            self.typing = Some(String::new());
        }
        let playing = self.playing.as_mut().filter(|playing| playing.is_host());
        if let Some(playing) = playing.filter(|playing| playing.stage() == Stage::Playing)
            && ui.button("End match").clicked()
        {
            playing.end_or_rematch();
        }
    }

    /// The figures of the network.
    pub(super) fn foot(&self, ui: &mut egui::Ui) {
        let frame = Frame::new().inner_margin(Margin::symmetric(12, 4));
        egui::Panel::bottom("figures").frame(frame).show(ui, |ui| {
            let figures = self.playing.as_ref().map(Playing::figures);
            let words = RichText::new(figures.unwrap_or_default())
                .small()
                .color(theme::FAINT);
            ui.add(egui::Label::new(words).truncate());
        });
    }

    /// What lies over the game.
    pub(super) fn panels(&mut self, ctx: &egui::Context) {
        self.chat(ctx);
        if let Some(words) = &self.failure {
            return ended(ctx, words);
        }
        let Some(playing) = &mut self.playing else {
            return;
        };
        match playing.stage() {
            Stage::Joining => joining(ctx),
            Stage::Waiting => waiting_room(ctx, playing),
            Stage::Playing => {
                scores(
                    ctx,
                    &playing.table(),
                    &playing.my_players(),
                    Align2::RIGHT_TOP,
                );
            }
            Stage::Over => over(ctx, playing),
        }
        if self.shows_keys {
            let names = names(playing);
            keys::<G>(ctx, &mut self.shows_keys, &names);
        }
    }

    fn chat(&mut self, ctx: &egui::Context) {
        let now = self.seconds;
        let is_typing = self.typing.is_some();
        let recent = self.chat.iter().rev().take(CHAT);
        let recent = recent.take_while(|line| is_typing || now - line.at < STAYS);
        let recent: Vec<&str> = recent.map(|line| line.text.as_str()).collect();
        if recent.is_empty() && !is_typing {
            return;
        }
        // A panel in the middle is beside the chat if there is room for both; in a small window the chat lies over it.
        let stage = self.playing.as_ref().map(Playing::stage);
        let width = match stage == Some(Stage::Playing) {
            true => CHAT_WIDTH,
            false => ((ctx.content_rect().width() - MIDDLE_WIDTH) / 2.0 - 48.0)
                .clamp(CHAT_WIDTH / 2.0, CHAT_WIDTH),
        };
        // What characters have and can do is below; several need more room.
        let above = if self.is_shared() { -112.0 } else { -76.0 };
        let area = egui::Area::new(egui::Id::unique("chat"))
            .order(egui::Order::Foreground)
            .anchor(Align2::LEFT_BOTTOM, vec2(12.0, above));
        let mut said = None;
        area.interactable(is_typing).show(ctx, |ui| {
            overlay().show(ui, |ui| {
                ui.set_max_width(width);
                for line in recent.iter().rev() {
                    ui.add(egui::Label::new(RichText::new(*line).color(theme::TEXT)).wrap());
                }
                let Some(line) = &mut self.typing else {
                    return;
                };
                let edit = TextEdit::singleline(line)
                    .hint_text("say something; /help lists commands")
                    .desired_width(width - 40.0);
                let response = ui.add(edit);
                let (enter, escape) = ui.input(|input| {
                    (
                        input.key_pressed(Key::Enter),
                        input.key_pressed(Key::Escape),
                    )
                });
                if response.lost_focus() && (enter || escape) {
                    said = Some(if enter {
                        std::mem::take(line)
                    } else {
                        String::new()
                    });
                } else {
                    response.request_focus();
                }
            });
        });
        if let Some(said) = said {
            self.typing = None;
            if let Some(playing) = &mut self.playing {
                playing.say(&said);
            }
        }
    }
}

/// A panel through which the game is seen.
fn overlay() -> Frame {
    Frame::new()
        .fill(theme::GROUND.gamma_multiply(0.72))
        .corner_radius(6)
        .inner_margin(Margin::symmetric(10, 7))
}

/// A panel in the middle, over the game.
fn middle(ctx: &egui::Context, title: &str, content: impl FnOnce(&mut egui::Ui)) {
    egui::Window::new(RichText::new(title).strong())
        .anchor(Align2::CENTER_CENTER, vec2(0.0, 0.0))
        .collapsible(false)
        .resizable(false)
        .show(ctx, content);
}

fn joining(ctx: &egui::Context) {
    middle(ctx, "Joining", |ui| {
        ui.label("Waiting for the game's answer …");
    });
}

fn ended(ctx: &egui::Context, words: &str) {
    middle(ctx, "The game is over here", |ui| {
        ui.set_max_width(420.0);
        ui.label(words);
        if ui.button("Close").clicked() {
            ui.ctx().send_viewport_cmd(ViewportCommand::Close);
        }
    });
}

fn colour_of(player: PlayerId) -> Color32 {
    theme::player_colour(player.0.into())
}

fn scores(ctx: &egui::Context, table: &Table, mine: &[PlayerId], at: Align2) {
    let area = egui::Area::new(egui::Id::unique("scores")).anchor(at, vec2(-12.0, 46.0));
    area.interactable(false).show(ctx, |ui| {
        overlay().show(ui, |ui| rows(ui, table, mine));
    });
}

/// The score table; the names of this program's players are underlined.
fn rows(ui: &mut egui::Ui, table: &Table, mine: &[PlayerId]) {
    let grid = Grid::new("score table").num_columns(1 + table.columns.len());
    grid.spacing(vec2(16.0, 3.0)).show(ui, |ui| {
        ui.label("");
        for column in table.columns {
            ui.label(RichText::new(*column).small().color(theme::FAINT));
        }
        ui.end_row();
        for row in &table.rows {
            let mut name = RichText::new(&row.name).color(colour_of(row.player));
            if mine.contains(&row.player) {
                name = name.strong().underline();
            }
            ui.label(name);
            for figure in &row.figures {
                ui.label(figure.to_string());
            }
            if row.is_away {
                ui.label(RichText::new("away").small().color(theme::WARNING));
            }
            ui.end_row();
        }
    });
}

fn over<G: Drawn>(ctx: &egui::Context, playing: &mut Playing<G>) {
    let (table, mine) = (playing.table(), playing.my_players());
    middle(ctx, "The match is over", |ui| {
        rows(ui, &table, &mine);
        ui.add_space(6.0);
        match playing.is_host() {
            true => {
                if ui.button("Another match").clicked() {
                    playing.end_or_rematch();
                }
            }
            false => {
                ui.label(RichText::new("Whoever opened the game prepares the next match.").weak());
            }
        }
    });
}

fn waiting_room<G: Drawn>(ctx: &egui::Context, playing: &mut Playing<G>) {
    let title = format!("Waiting room · {}", playing.room_name());
    middle(ctx, &title, |ui| {
        ui.set_width(MIDDLE_WIDTH - 32.0);
        theme::section(ui, "Players");
        players(ui, playing);
        theme::section(ui, "Match");
        match playing.is_host() {
            true => choices(ui, playing),
            false => settings(ui, playing),
        }
        let invitations = playing.invitations();
        if !invitations.is_empty() {
            theme::section(ui, "How others join");
        }
        for line in invitations {
            let words = RichText::new(line).small().color(theme::FAINT);
            ui.add(egui::Label::new(words).wrap());
        }
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            if let Some(is_ready) = playing.is_ready() {
                let words = match (playing.my_players().len() > 1, is_ready) {
                    (false, false) => "I am ready",
                    (false, true) => "I am not ready",
                    (true, false) => "We are ready",
                    (true, true) => "We are not ready",
                };
                if ui.button(RichText::new(words).strong()).clicked() {
                    playing.set_ready(!is_ready);
                }
            }
            if playing.is_host() && ui.button("Start now").clicked() {
                playing.start();
            }
            let words = "The match begins when all are ready.";
            ui.label(RichText::new(words).small().color(theme::FAINT));
        });
    });
}

fn players<G: Drawn>(ui: &mut egui::Ui, playing: &Playing<G>) {
    let mine = playing.my_players();
    Grid::new("players")
        .num_columns(2)
        .spacing(vec2(16.0, 3.0))
        .show(ui, |ui| {
            for row in playing.table().rows {
                let place = mine.iter().position(|player| *player == row.player);
                let name = match place {
                    // Several at one screen learn here which keys are theirs.
                    Some(place) if mine.len() > 1 => {
                        format!("{} ({})", row.name, Keys::ALL[place].title())
                    }
                    Some(_) => format!("{} (you)", row.name),
                    None => row.name,
                };
                ui.label(RichText::new(name).color(colour_of(row.player)));
                ui.label(match (row.is_away, row.is_ready) {
                    (true, _) => RichText::new("away").color(theme::WARNING),
                    (_, true) => RichText::new("ready").color(theme::ACCENT),
                    _ => RichText::new("not ready").color(theme::FAINT),
                });
                ui.end_row();
            }
        });
}

fn settings<G: Drawn>(ui: &mut egui::Ui, playing: &Playing<G>) {
    Grid::new("settings")
        .num_columns(2)
        .spacing(vec2(16.0, 3.0))
        .show(ui, |ui| {
            for (name, value) in playing.settings() {
                ui.label(name);
                ui.label(RichText::new(value).strong());
                ui.end_row();
            }
        });
}

/// The settings as buttons: each goes on to the next value.
fn choices<G: Drawn>(ui: &mut egui::Ui, playing: &mut Playing<G>) {
    let about = |name: &str| {
        let mut settings = G::SETTINGS.iter();
        let found = settings.find(|setting| setting.name == name);
        found.map_or("bots that play along", |setting| setting.about)
    };
    let mut clicked = None;
    Grid::new("choices")
        .num_columns(2)
        .spacing(vec2(16.0, 3.0))
        .show(ui, |ui| {
            for (at, (name, value)) in playing.choices().into_iter().enumerate() {
                ui.label(name);
                let hover = format!(
                    "{}. Click for the next value, or type /set {name} VALUE",
                    about(name)
                );
                if ui.button(value).on_hover_text(hover).clicked() {
                    clicked = Some(at);
                }
                ui.end_row();
            }
        });
    if let Some(at) = clicked {
        playing.next_value(at);
    }
}

/// The names of those who play at this screen.
fn names<G: Drawn>(playing: &Playing<G>) -> Vec<(PlayerId, String)> {
    let rows = playing.table().rows;
    let name = |player: PlayerId| {
        let row = rows.iter().find(|row| row.player == player);
        row.map_or_else(String::new, |row| row.name.clone())
    };
    let players = playing.my_players().into_iter();
    players.map(|player| (player, name(player))).collect()
}

/// What the keys do, in a column for everyone who plays at this screen.
fn keys<G: Drawn>(ctx: &egui::Context, is_open: &mut bool, names: &[(PlayerId, String)]) {
    let layouts = &Keys::ALL[..names.len().clamp(1, Keys::ALL.len())];
    let is_shared = layouts.len() > 1;
    let chat = if is_shared { "T" } else { "Enter or T" };
    let help = if is_shared { "F1" } else { "F1 or ?" };
    let own = [
        (chat, "say something"),
        ("M", "switch sound on or off"),
        (help, "these keys"),
    ];
    egui::Window::new(RichText::new("Keys").strong())
        .open(is_open)
        .anchor(Align2::CENTER_CENTER, vec2(0.0, 0.0))
        .collapsible(false)
        .resizable(false)
        .show(ctx, |ui| {
            Grid::new("keys")
                .num_columns(1 + layouts.len())
                .spacing(vec2(24.0, 4.0))
                .show(ui, |ui| {
                    if is_shared {
                        for (player, name) in names {
                            ui.label(RichText::new(name).strong().color(colour_of(*player)));
                        }
                        ui.end_row();
                    }
                    for (names, what) in G::KEYS {
                        for layout in layouts {
                            let key = keyboard::keys(names, *layout);
                            ui.label(RichText::new(key).color(theme::ACCENT));
                        }
                        ui.label(*what);
                        ui.end_row();
                    }
                    for (key, what) in own {
                        ui.label(RichText::new(key).color(theme::ACCENT));
                        for _ in &layouts[1..] {
                            ui.label("");
                        }
                        ui.label(what);
                        ui.end_row();
                    }
                });
        });
}
