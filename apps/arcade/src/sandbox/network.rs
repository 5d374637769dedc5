//! The network conditions of each player's connection: presets and sliders.

use eframe::egui::{self, DragValue, RichText, Slider, SliderClamping, vec2};
use samestep_sandbox::{Conditions, PRESETS};

use super::UserAction;
use crate::any_match::AnyMatch;
use crate::theme;

/// A value of the network conditions, with its range on the slider and how it is written.
struct Value {
    title: &'static str,
    about: &'static str,
    max: f64,
    suffix: &'static str,
    /// What one unit on the screen is in the conditions.
    unit: f64,
    place: fn(&mut Conditions) -> &mut f64,
}

const VALUES: [Value; 5] = [
    Value {
        title: "Latency",
        about: "Minimum one-way delay",
        max: 300.0,
        suffix: " ms",
        unit: 1.0,
        place: |line| &mut line.latency_ms,
    },
    Value {
        title: "Jitter",
        about: "Maximum random delay on top of it",
        max: 150.0,
        suffix: " ms",
        unit: 1.0,
        place: |line| &mut line.jitter_ms,
    },
    Value {
        title: "Loss",
        about: "Share of the packets that are lost",
        max: 40.0,
        suffix: " %",
        unit: 0.01,
        place: |line| &mut line.loss,
    },
    Value {
        title: "Bursts",
        about: "Mean length of a burst of losses; 0: losses are independent",
        max: 500.0,
        suffix: " ms",
        unit: 1.0,
        place: |line| &mut line.burst_ms,
    },
    Value {
        title: "Duplicates",
        about: "Share of the packets that are delivered twice",
        max: 40.0,
        suffix: " %",
        unit: 0.01,
        place: |line| &mut line.duplicate,
    },
];

/// Of a slider, in points.
const WIDTH: f32 = 104.0;
/// The minimum and maximum bandwidth of the slider, in kbit/s. The maximum means no limit.
const RATES: [f64; 2] = [16.0, 2_000_000.0];

/// Shows and changes a player's network conditions, or everybody's if `whose` is none.
pub fn ui(
    ui: &mut egui::Ui,
    whose: &mut Option<usize>,
    live: &dyn AnyMatch,
    requested: &mut Vec<UserAction>,
) {
    let players = live.scenario().players();
    *whose = whose.filter(|player| *player < players);
    let lines = || (0..players).map(|player| live.scenario().conditions(player));
    let all_alike = lines().all(|line| line == live.scenario().conditions(0));
    choose_whose(ui, whose, players, all_alike);
    let mut shown = live.scenario().conditions(whose.unwrap_or(0)).clone();
    let is_preset = (all_alike || whose.is_some()) && !shown.is_changed();
    let preset = is_preset.then(|| shown.profile());
    presets(ui, *whose, preset, live, requested);
    for value in &VALUES {
        let before = *(value.place)(&mut shown);
        if let Some(after) = slider(ui, value, before) {
            change(*whose, live, requested, |line| *(value.place)(line) = after);
        }
    }
    if let Some(rate) = rate(ui, shown.rate_kbps) {
        change(*whose, live, requested, |line| line.rate_kbps = rate);
    }
}

fn choose_whose(ui: &mut egui::Ui, whose: &mut Option<usize>, players: usize, all_alike: bool) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 3.0;
        let all = ui.selectable_label(whose.is_none(), "Everybody");
        if all.on_hover_text("Applies to every player").clicked() {
            *whose = None;
        }
        for player in 0..players {
            let colour = theme::player_colour(player);
            let mut words = RichText::new(format!("P{}", player + 1)).color(colour);
            if !all_alike {
                words = words.underline();
            }
            let choice = ui.selectable_label(*whose == Some(player), words.strong());
            let name = format!("Connection of player {}", player + 1);
            let hover = format!("Only {}'s connection", theme::player_name(player));
            if theme::named(choice, &name).on_hover_text(hover).clicked() {
                *whose = Some(player);
            }
        }
    });
}

fn presets(
    ui: &mut egui::Ui,
    whose: Option<usize>,
    preset: Option<&str>,
    live: &dyn AnyMatch,
    requested: &mut Vec<UserAction>,
) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(4.0, 4.0);
        for (name, title) in PRESETS {
            let is_set = preset == Some(name);
            let words = RichText::new(title).size(12.5);
            let button = egui::Button::selectable(is_set, words).fill(match is_set {
                true => theme::ACCENT_DARK,
                false => theme::CONTROL,
            });
            if ui.add(button).clicked()
                && let Ok(preset) = Conditions::preset(name)
            {
                change(whose, live, requested, |line| *line = preset.clone());
            }
        }
    });
}

/// Changes one player's line, or everybody's.
fn change(
    whose: Option<usize>,
    live: &dyn AnyMatch,
    requested: &mut Vec<UserAction>,
    how: impl Fn(&mut Conditions),
) {
    let players = 0..live.scenario().players();
    for player in players.filter(|player| whose.is_none_or(|whose| whose == *player)) {
        let mut line = live.scenario().conditions(player).clone();
        how(&mut line);
        requested.push(UserAction::Line(player, Box::new(line)));
    }
}

fn slider(ui: &mut egui::Ui, value: &Value, before: f64) -> Option<f64> {
    let mut shown = before / value.unit;
    let mut changed = false;
    row(ui, value.title, value.about, |ui| {
        let slider = Slider::new(&mut shown, 0.0..=value.max)
            .clamping(SliderClamping::Edits)
            .step_by(if value.unit < 1.0 { 0.1 } else { 1.0 });
        changed |= theme::slider(ui, WIDTH, slider, value.title).changed();
        let number = DragValue::new(&mut shown)
            .range(0.0..=value.max)
            .clamp_existing_to_range(false)
            .suffix(value.suffix)
            .max_decimals(1)
            .speed(value.max / 200.0);
        let name = format!("{} as a number", value.title);
        changed |= theme::named(ui.add(number), &name).changed();
    });
    // A thousandth is enough, and reads well in a link.
    let after = (shown * value.unit * 1e4).round() / 1e4;
    (changed && after != before).then_some(after)
}

/// The rate is logarithmic, and ends with no limit.
fn rate(ui: &mut egui::Ui, before: Option<f64>) -> Option<Option<f64>> {
    let [least, most] = RATES;
    let mut shown = before.unwrap_or(most);
    let mut changed = false;
    let about = "Bandwidth; no limit at the right end";
    row(ui, "Rate", about, |ui| {
        let slider = Slider::new(&mut shown, least..=most)
            .logarithmic(true)
            .clamping(SliderClamping::Edits);
        changed |= theme::slider(ui, WIDTH, slider, "Rate").changed();
        let number = DragValue::new(&mut shown)
            .range(least..=most)
            .clamp_existing_to_range(false)
            .speed(before.unwrap_or(most) / 100.0)
            .custom_formatter(|rate, _| write_rate(rate))
            .custom_parser(read_rate);
        changed |= theme::named(ui.add(number), "Rate as a number").changed();
    });
    let after = (shown < most).then(|| two_digits(shown));
    (changed && after != before).then_some(after)
}

fn row(ui: &mut egui::Ui, title: &str, about: &str, add: impl FnOnce(&mut egui::Ui)) {
    ui.horizontal(|ui| {
        let size = vec2(54.0, ui.spacing().interact_size.y);
        let left = egui::Layout::left_to_right(egui::Align::Center);
        ui.allocate_ui_with_layout(size, left, |ui| {
            ui.set_min_width(size.x);
            ui.label(title).on_hover_text(about);
        });
        ui.spacing_mut().interact_size.x = 74.0;
        add(ui);
    });
}

fn write_rate(kbps: f64) -> String {
    match kbps {
        kbps if kbps >= RATES[1] => "no limit".into(),
        kbps if kbps >= 1e6 => format!("{} Gbit/s", two_digits(kbps / 1e6)),
        kbps if kbps >= 1_000.0 => format!("{} Mbit/s", two_digits(kbps / 1e3)),
        kbps => format!("{} kbit/s", two_digits(kbps)),
    }
}

/// "512", "512 kbit/s", "3 Mbit/s", "1 Gbit/s" or "no limit".
fn read_rate(words: &str) -> Option<f64> {
    let words = words.trim().to_lowercase();
    if words.starts_with("no") {
        return Some(RATES[1]);
    }
    let end = words.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, unit) = words.split_at(end.unwrap_or(words.len()));
    let number: f64 = number.parse().ok()?;
    Some(match unit.trim_start().chars().next() {
        Some('g') => number * 1e6,
        Some('m') => number * 1e3,
        _ => number,
    })
}

/// Rounds to a readable precision.
fn two_digits(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1e-3).log10().floor() - 1.0);
    let rounded = (value / power).round() * power;
    (rounded * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_they_are_written() {
        for (kbps, words) in [
            (64.0, "64 kbit/s"),
            (1_234.0, "1.2 Mbit/s"),
            (1e6, "1 Gbit/s"),
            (2e6, "no limit"),
        ] {
            assert_eq!(write_rate(kbps), words);
        }
        assert_eq!(read_rate("1.2 Mbit/s"), Some(1_200.0));
        assert_eq!(read_rate("512"), Some(512.0));
        assert_eq!(read_rate("no limit"), Some(RATES[1]));
        assert_eq!(read_rate("fast"), None);
    }
}
