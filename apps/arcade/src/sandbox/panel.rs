//! What is played: game, model, server, players, seed, network.

use eframe::egui::{self, RichText, Slider, TextEdit, vec2};
use samestep_sandbox::{ModelKind, Scenario, Server};

use super::network;
use super::run::{UserAction, wanted};
use crate::any_match::{AnyMatch, GameEntry};
use crate::registry::{self, GAMES};
use crate::theme;

/// The panel, and what is not decided yet.
#[derive(Default)]
pub struct Panel {
    /// Whose line is changed; everybody's if none.
    whose: Option<usize>,
    /// A seed while it is typed.
    seed: Option<String>,
    /// A size while the slider is dragged.
    size: Option<u32>,
}

impl Panel {
    /// Another match is played: what was not decided never will be.
    pub fn reset(&mut self) {
        (self.seed, self.size) = (None, None);
    }

    /// Shows it.
    pub fn ui(&mut self, ui: &mut egui::Ui, live: &dyn AnyMatch, requested: &mut Vec<UserAction>) {
        ui.spacing_mut().item_spacing.y = 3.0;
        let scenario = &wanted(live);
        let entry = registry::game(&scenario.game).expect("it is played");
        theme::section(ui, "Game");
        games(ui, scenario, requested);
        theme::section(ui, "Model");
        ui.scope(|ui| models(ui, entry, live, requested));
        theme::section(ui, "Match");
        servers(ui, entry, scenario, requested);
        players(ui, scenario, requested);
        self.size(ui, entry, scenario, requested);
        self.seed(ui, scenario, requested);
        theme::section(ui, "Network");
        network::ui(ui, &mut self.whose, live, requested);
        theme::section(ui, "Trouble");
        trouble(ui, scenario, requested);
    }

    fn size(
        &mut self,
        ui: &mut egui::Ui,
        entry: &GameEntry,
        now: &Scenario,
        requested: &mut Vec<UserAction>,
    ) {
        let Some(sizes) = entry.sizes else { return };
        labelled(ui, "Size", |ui| {
            let before = self.size.or(now.size);
            let usual = ui.add(chip(before.is_none(), "Usual"));
            if theme::named(usual, "Usual size").clicked() && before.is_some() {
                begin(now, requested, |scenario| scenario.size = None);
            }
            let mut size = before.unwrap_or(sizes.default);
            let slider = Slider::new(&mut size, sizes.min..=sizes.max).logarithmic(true);
            let slider = theme::slider(ui, 66.0, slider, "Size").on_hover_text(sizes.unit);
            ui.spacing_mut().interact_size.x = 50.0;
            let number = egui::DragValue::new(&mut size)
                .range(sizes.min..=sizes.max)
                .custom_formatter(|size, _| match before {
                    Some(_) => size.to_string(),
                    None => "–".into(),
                });
            let number = theme::named(ui.add(number), "Size as a number").on_hover_text(sizes.unit);
            if slider.changed() || number.changed() {
                self.size = Some(size);
            }
            // While it is dragged nothing begins anew.
            let is_held = slider.dragged() || number.dragged() || number.has_focus();
            if !is_held && let Some(size) = self.size.take() {
                begin(now, requested, |scenario| scenario.size = Some(size));
            }
        });
    }

    fn seed(&mut self, ui: &mut egui::Ui, now: &Scenario, requested: &mut Vec<UserAction>) {
        labelled(ui, "Seed", |ui| {
            let mut words = self.seed.clone().unwrap_or(now.seed.to_string());
            let seed = words.trim().parse::<u64>();
            let colour = if seed.is_ok() {
                theme::TEXT
            } else {
                theme::WRONG
            };
            let field = TextEdit::singleline(&mut words)
                .desired_width(66.0)
                .text_color(colour);
            let field = theme::named(ui.add(field), "Seed");
            let field = field.on_hover_text("The seed of all randomness: a whole number");
            if field.changed() {
                self.seed = Some(words);
            }
            if field.lost_focus() {
                match (seed, ui.input(|input| input.key_pressed(egui::Key::Enter))) {
                    (Ok(seed), true) => begin(now, requested, |scenario| scenario.seed = seed),
                    (Err(_), true) => requested.push(UserAction::Say(
                        "A seed is a whole number from 0 on; the old one stays.".into(),
                    )),
                    _ => {}
                }
                self.seed = None;
            }
            let new = ui
                .button("New")
                .on_hover_text("Another seed, another match");
            if theme::named(new, "New seed").clicked() {
                begin(now, requested, |scenario| {
                    scenario.seed = next_seed(now.seed)
                });
            }
            let again = ui.button("Restart");
            let again = again.on_hover_text("The same match from the beginning (R)");
            if theme::named(again, "Restart with this seed").clicked() {
                requested.push(UserAction::Restart);
            }
        });
    }
}

/// Begins another match, in which something is different.
fn begin(now: &Scenario, requested: &mut Vec<UserAction>, how: impl FnOnce(&mut Scenario)) {
    let mut scenario = now.clone();
    how(&mut scenario);
    requested.push(UserAction::Begin(Box::new(scenario)));
}

/// Seeds that look nothing like each other, short enough to be read out.
fn next_seed(seed: u64) -> u64 {
    let mixed = (seed ^ 0x9e37_79b9).wrapping_mul(0xd134_2543_de82_ef95);
    1 + (mixed >> 33) % 99_999
}

fn games(ui: &mut egui::Ui, now: &Scenario, requested: &mut Vec<UserAction>) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(4.0, 4.0);
        for entry in GAMES {
            let is_played = entry.name == now.game;
            let choice = ui
                .add(chip(is_played, entry.title))
                .on_hover_text(entry.about);
            if choice.clicked() && !is_played {
                begin(now, requested, |scenario| {
                    scenario.game = entry.name.into();
                    scenario.size = entry.sizes.map(|sizes| sizes.default);
                    settle_model(entry, scenario);
                });
            }
        }
    });
}

/// A model that the game and the server support: the one it has, or the first there is.
fn settle_model(entry: &GameEntry, scenario: &mut Scenario) {
    let server = scenario.server;
    let possible = |kind: &ModelKind| (entry.supports)(*kind) && server.supports(*kind);
    if possible(&scenario.model) {
        return;
    }
    if let Some(kind) = ModelKind::ALL.iter().rev().find(|kind| possible(kind)) {
        scenario.model = *kind;
    }
}

fn models(
    ui: &mut egui::Ui,
    entry: &GameEntry,
    live: &dyn AnyMatch,
    requested: &mut Vec<UserAction>,
) {
    let runs = live.model(live.steps());
    let chosen = live.next_model().unwrap_or(runs);
    ui.spacing_mut().item_spacing.y = 1.0;
    for kind in ModelKind::ALL {
        let refused = refusal(entry, live.scenario().server, *kind);
        let words = match live.next_model() == Some(*kind) {
            true => format!("{} …", kind.title),
            false => kind.title.to_string(),
        };
        let choice = ui
            .add_enabled_ui(refused.is_none(), |ui| radio(ui, *kind == chosen, &words))
            .inner;
        let choice = theme::named(choice, kind.title);
        let choice = match refused {
            Some(why) => choice.on_disabled_hover_text(why),
            None => choice.on_hover_text(kind.sentence),
        };
        if choice.clicked() && *kind != chosen {
            requested.push(UserAction::Model(*kind));
        }
    }
}

/// Why a model cannot be chosen.
fn refusal(entry: &GameEntry, server: Server, kind: ModelKind) -> Option<String> {
    if !(entry.supports)(kind) {
        return Some(format!("{} does not support this model.", entry.title));
    }
    if !server.supports(kind) {
        return Some("This model needs an authoritative server; a full mesh has none.".into());
    }
    None
}

fn servers(ui: &mut egui::Ui, entry: &GameEntry, now: &Scenario, requested: &mut Vec<UserAction>) {
    labelled(ui, "Server", |ui| {
        let list = egui::ComboBox::from_id_salt("server")
            .selected_text(now.server.title())
            .width(ui.available_width() - 8.0);
        let list = list.show_ui(ui, |ui| {
            for server in Server::ALL {
                let choice = ui.selectable_label(server == now.server, server.title());
                if choice.clicked() && server != now.server {
                    begin(now, requested, |scenario| {
                        scenario.server = server;
                        settle_model(entry, scenario);
                    });
                }
            }
        });
        let hover = "Who has authority over the state. A change begins a new match.";
        theme::named(list.response, "Server").on_hover_text(hover);
    });
}

fn players(ui: &mut egui::Ui, now: &Scenario, requested: &mut Vec<UserAction>) {
    labelled(ui, "Players", |ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        for count in 2..=4 {
            let is_so = now.players() == count;
            let choice = ui.add(chip(is_so, &count.to_string()).min_size(vec2(34.0, 0.0)));
            if theme::named(choice, &format!("{count} players")).clicked() && !is_so {
                begin(now, requested, |scenario| scenario.set_players(count));
            }
        }
    });
}

fn trouble(ui: &mut egui::Ui, now: &Scenario, requested: &mut Vec<UserAction>) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let hover =
            "Changes a player's own copy of the state behind the rules' back, to provoke a desync";
        ui.label("Tamper with").on_hover_text(hover);
        for player in 0..now.players() {
            let colour = theme::player_colour(player);
            let words = RichText::new(format!("P{}", player + 1)).color(colour);
            let button = ui.button(words.strong());
            let name = format!("Tamper with the state of player {}", player + 1);
            if theme::named(button, &name).on_hover_text(hover).clicked() {
                requested.push(UserAction::Tamper(player));
            }
        }
    });
}

/// One of several, below each other.
fn radio(ui: &mut egui::Ui, is_chosen: bool, words: &str) -> egui::Response {
    let size = vec2(ui.available_width(), 20.0);
    let (rect, response) = ui.allocate_exact_size(size, egui::Sense::click());
    response.widget_info(|| {
        let kind = egui::Role::RadioButton;
        egui::WidgetInfo::selected(kind, ui.is_enabled(), is_chosen, words)
    });
    let painter = ui.painter();
    match (is_chosen, response.hovered()) {
        (true, _) => painter.rect_filled(rect, 5.0, theme::ACCENT_DARK),
        (false, true) => painter.rect_filled(rect, 5.0, theme::CONTROL),
        (false, false) => painter.add(egui::Shape::Noop),
    };
    let dot = rect.left_center() + vec2(13.0, 0.0);
    let edge = if is_chosen {
        theme::STRONG
    } else {
        theme::FAINT
    };
    let edge = if ui.is_enabled() { edge } else { theme::LINE };
    painter.circle_stroke(dot, 5.0, egui::Stroke::new(1.2, edge));
    if is_chosen {
        painter.circle_filled(dot, 2.6, theme::STRONG);
    }
    let colour = match (is_chosen, ui.is_enabled()) {
        (true, _) => theme::STRONG,
        (false, true) => theme::TEXT,
        (false, false) => theme::FAINT.gamma_multiply(0.6),
    };
    let font = egui::TextStyle::Body.resolve(ui.style());
    let at = rect.left_center() + vec2(26.0, 0.0);
    painter.text(at, egui::Align2::LEFT_CENTER, words, font, colour);
    response
}

/// One of a few to choose from.
fn chip(is_chosen: bool, words: &str) -> egui::Button<'static> {
    let fill = match is_chosen {
        true => theme::ACCENT_DARK,
        false => theme::CONTROL,
    };
    egui::Button::selectable(is_chosen, words.to_string()).fill(fill)
}

fn labelled(ui: &mut egui::Ui, title: &str, add: impl FnOnce(&mut egui::Ui)) {
    ui.horizontal(|ui| {
        let size = vec2(54.0, ui.spacing().interact_size.y);
        let left = egui::Layout::left_to_right(egui::Align::Center);
        ui.allocate_ui_with_layout(size, left, |ui| {
            ui.set_min_width(size.x);
            ui.label(title);
        });
        add(ui);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mesh_gets_a_model_that_needs_no_server() {
        let mut scenario = Scenario::new(GAMES[0].name);
        scenario.server = Server::Mesh;
        settle_model(&GAMES[0], &mut scenario);
        assert!(refusal(&GAMES[0], Server::Mesh, scenario.model).is_none());
    }

    #[test]
    fn new_seeds_are_others() {
        let mut seed = 1;
        for _ in 0..100 {
            let next = next_seed(seed);
            assert_ne!(next, seed);
            seed = next;
        }
    }
}
