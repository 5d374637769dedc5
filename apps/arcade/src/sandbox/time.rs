//! Time: it runs, stands still, and can be looked back at.

use eframe::egui::{self, Align, Layout, RichText, Slider};

use super::UserAction;
use crate::any_match::AnyMatch;
use crate::icons::{self, Icon};
use crate::theme;

/// How fast time can run.
const SPEEDS: [f64; 6] = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0];
/// Steps in a second.
const STEPS: f64 = 60.0;
/// The most steps between two frames.
const MOST: f64 = 12.0;
/// A pause between frames is at most this long, in seconds: a page in the background is not run after.
const GAP: f64 = 0.25;
/// With less room than this for all but the first buttons, the speeds are a list.
const NARROW: f32 = 700.0;
/// Less than this part of the time that should pass is worth mentioning.
const SLOW: f64 = 0.9;

/// Whether and how fast time passes, and what time is looked at.
pub struct Clock {
    /// It stands still.
    pub paused: bool,
    speed: f64,
    /// The step that is looked at; `None`: the newest.
    at: Option<u64>,
    /// Steps that should have been.
    owed: f64,
    last: Option<f64>,
    /// The part of the time that should pass that does.
    pace: f64,
}

impl Clock {
    /// It runs.
    pub fn new() -> Clock {
        Clock {
            paused: false,
            speed: 1.0,
            at: None,
            owed: 0.0,
            last: None,
            pace: 1.0,
        }
    }

    /// A new match: the newest step is looked at.
    pub fn reset(&mut self) {
        (self.at, self.owed, self.pace) = (None, 0.0, 1.0);
    }

    /// The step that is looked at, if it is not the newest.
    pub fn at(&self) -> Option<u64> {
        self.at
    }

    /// Looks at a step, or at the newest.
    pub fn look(&mut self, step: Option<u64>) {
        self.at = step;
        self.paused |= step.is_some();
    }

    /// How many steps are due by now.
    pub fn due(&mut self, now: f64) -> u32 {
        let gap = (now - self.last.unwrap_or(now)).clamp(0.0, GAP);
        self.last = Some(now);
        if self.paused {
            self.owed = 0.0;
            return 0;
        }
        self.owed += gap * STEPS * self.speed;
        // Frames and steps are of the same length; a little less is not one step less.
        let due = (self.owed + 1e-3).floor().clamp(0.0, MOST);
        due as u32
    }

    /// So many of the steps that were due have been made.
    pub fn made(&mut self, steps: u32) {
        let owed = self.owed.floor().max(1.0);
        if self.owed >= 1.0 {
            self.pace += (f64::from(steps) / owed - self.pace) * 0.05;
        }
        self.owed -= f64::from(steps);
        // What could not be done in time is not made up for.
        self.owed = self.owed.min(1.0);
    }

    /// Goes through what is kept as it was, until that is over.
    pub fn replay(&mut self, steps: u32, newest: u64) {
        if let Some(at) = self.at {
            let next = at + u64::from(steps);
            self.at = (next < newest).then_some(next);
        }
        self.owed -= f64::from(steps);
    }
}

/// Says so if time passes more slowly than it should; there is always room for it.
pub fn pace(ui: &mut egui::Ui, clock: &Clock) {
    let is_slow = !clock.paused && clock.at.is_none() && clock.pace < SLOW;
    let words = match is_slow {
        true => format!("{:.0} % speed", 100.0 * clock.pace),
        false => String::new(),
    };
    let words = RichText::new(words).small().color(theme::WARNING);
    let label = ui.add_sized([64.0, 20.0], egui::Label::new(words));
    if is_slow {
        label.on_hover_text("This computer cannot keep up: time passes more slowly here");
    }
}

/// The bar with which it is controlled.
pub fn bar(
    ui: &mut egui::Ui,
    clock: &mut Clock,
    live: &dyn AnyMatch,
    requested: &mut Vec<UserAction>,
) {
    ui.horizontal_centered(|ui| {
        buttons(ui, clock, requested);
        ui.add_space(4.0);
        speeds(ui, clock);
        ui.add_space(4.0);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ways_back(ui, clock, requested);
            words(ui, clock, live);
            scrub(ui, clock, live);
        });
    });
}

fn buttons(ui: &mut egui::Ui, clock: &mut Clock, requested: &mut Vec<UserAction>) {
    ui.spacing_mut().item_spacing.x = 4.0;
    let (icon, name) = match clock.paused {
        true => (Icon::Play, "Play"),
        false => (Icon::Pause, "Pause"),
    };
    let play = icons::button(ui, icon, name, true);
    if play.on_hover_text(format!("{name} (space)")).clicked() {
        clock.paused = !clock.paused;
    }
    let step = icons::button(ui, Icon::Step, "Step", false);
    let hover = "One step, a sixtieth of a second (period)";
    if step.on_hover_text(hover).clicked() {
        requested.push(UserAction::Step);
    }
    let again = icons::button(ui, Icon::Restart, "Restart", false);
    let hover = "From the beginning, with the same seed (R)";
    if again.on_hover_text(hover).clicked() {
        requested.push(UserAction::Restart);
    }
}

fn speeds(ui: &mut egui::Ui, clock: &mut Clock) {
    if ui.available_width() > NARROW {
        ui.spacing_mut().item_spacing.x = 2.0;
        speed_choices(ui, clock);
        ui.spacing_mut().item_spacing.x = 8.0;
        return;
    }
    let list = egui::ComboBox::from_id_salt("speed")
        .selected_text(format!("{}×", clock.speed))
        .show_ui(ui, |ui| speed_choices(ui, clock));
    theme::named(list.response, "Speed");
}

fn speed_choices(ui: &mut egui::Ui, clock: &mut Clock) {
    for speed in SPEEDS {
        let words = RichText::new(format!("{speed}×")).size(12.0);
        let choice = ui.selectable_label(clock.speed == speed, words);
        let name = format!("Speed {speed}");
        let choice = theme::named(choice, &name).on_hover_text("How fast time runs");
        if choice.clicked() {
            clock.speed = speed;
        }
    }
}

fn ways_back(ui: &mut egui::Ui, clock: &mut Clock, requested: &mut Vec<UserAction>) {
    let is_back = clock.at.is_some();
    let go_on = ui.add_enabled(is_back, egui::Button::new("Go on from here"));
    let hover = "Plays the match again up to here, and then on from here";
    if go_on.on_hover_text(hover).clicked() {
        requested.extend(clock.at.map(UserAction::GoOn));
    }
    let now = ui.add_enabled(is_back, egui::Button::new("Back to now"));
    if now.on_hover_text("Stops looking back (home)").clicked() {
        clock.look(None);
    }
}

fn words(ui: &mut egui::Ui, clock: &Clock, live: &dyn AnyMatch) {
    let step = clock.at.unwrap_or(live.steps());
    let colour = match clock.at {
        Some(_) => theme::WARNING,
        None => theme::TEXT,
    };
    let words = RichText::new(time(step)).monospace().color(colour);
    let hover = format!("Step {step} of {}; 60 steps are a second", live.steps());
    ui.label(words).on_hover_text(hover);
}

fn scrub(ui: &mut egui::Ui, clock: &mut Clock, live: &dyn AnyMatch) {
    let (first, last) = live.kept();
    let mut step = clock.at.unwrap_or(last);
    let width = (ui.available_width() - 12.0).max(40.0);
    let slider = Slider::new(&mut step, first..=last.max(first + 1));
    let slider = theme::slider(ui, width, slider, "Time").on_hover_text("Drag to look back");
    let short = short_click(ui, &slider).map(|part| first + ((last - first) as f64 * part) as u64);
    if slider.changed() || short.is_some() {
        let step = short.unwrap_or(step);
        clock.look((step < last).then_some(step));
    }
}

/// Where something was clicked on so shortly that it began and ended between two frames, from left (0) to right (1).
fn short_click(ui: &egui::Ui, what: &egui::Response) -> Option<f64> {
    let is_press = |event: &egui::Event, wanted: bool| match event {
        egui::Event::PointerButton { pos, pressed, .. } if *pressed == wanted => Some(*pos),
        _ => None,
    };
    let (down, up) = ui.input(|input| {
        let find = |wanted| {
            input
                .events
                .iter()
                .find_map(|event| is_press(event, wanted))
        };
        (find(true), find(false))
    });
    let at = down.filter(|_| up.is_some() && what.contains_pointer())?;
    let part = (at.x - what.rect.left()) / what.rect.width();
    Some(f64::from(part.clamp(0.0, 1.0)))
}

/// Minutes, seconds, hundredths.
pub fn time(step: u64) -> String {
    let hundredths = step * 100 / 60;
    let (seconds, hundredths) = (hundredths / 100, hundredths % 100);
    format!("{}:{:02}.{hundredths:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_runs_as_fast_as_it_should() {
        let mut clock = Clock::new();
        clock.speed = 0.5;
        let mut steps = 0;
        for frame in 0..=300 {
            let due = clock.due(f64::from(frame) / 30.0);
            clock.made(due);
            steps += due;
        }
        assert_eq!(steps, 300);
    }

    #[test]
    fn what_cannot_be_done_in_time_is_not_made_up_for() {
        let mut clock = Clock::new();
        for frame in 0..60 {
            assert!(clock.due(f64::from(frame)) <= MOST as u32);
            clock.made(1);
        }
        assert!(clock.pace < 0.5);
        assert!(clock.due(60.01) <= MOST as u32);
    }

    #[test]
    fn looking_back_ends_at_the_newest() {
        let mut clock = Clock::new();
        clock.look(Some(5));
        assert!(clock.paused);
        clock.paused = false;
        clock.replay(3, 10);
        assert_eq!(clock.at(), Some(8));
        clock.replay(3, 10);
        assert_eq!(clock.at(), None);
    }

    #[test]
    fn times_are_read_as_such() {
        assert_eq!(time(0), "0:00.00");
        assert_eq!(time(60 * 61 + 30), "1:01.50");
    }
}
