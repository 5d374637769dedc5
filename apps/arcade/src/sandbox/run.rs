//! Advances the match and applies what the user asks for.

use samestep_sandbox::{Conditions, ModelKind, Scenario};

use super::SandboxTab;
use super::banner::Banner;
use super::rewind::Rewind;
use super::screens::Control;
use crate::any_match::AnyMatch;
use crate::platform::Platform;
use crate::registry::{self, GAMES};

/// The time that the steps of a frame may take together, in seconds.
const BUDGET: f64 = 0.025;

/// What the user asks for.
pub enum UserAction {
    /// Begins another match.
    Begin(Box<Scenario>),
    /// Restarts the same match.
    Restart,
    /// Changes the model.
    Model(ModelKind),
    /// Changes a player's network conditions.
    Line(usize, Box<Conditions>),
    /// Changes who controls a player.
    Control(usize, Control),
    /// Changes a player's own copy of the state, to provoke a desync.
    Tamper(usize),
    /// Makes one step.
    Step,
    /// Shows a step of the history.
    Look(u64),
    /// Continues from a step of the history.
    GoOn(u64),
    /// Shows a message across the screen.
    Say(String),
}

impl SandboxTab {
    /// Makes the steps that are due.
    pub(super) fn pass(&mut self, now: f64, platform: &dyn Platform) {
        let due = self.clock.due(now);
        if let Some(rewind) = &mut self.rewind {
            rewind.advance(platform);
            self.arrive();
            return;
        }
        if self.clock.at().is_some() {
            self.clock.replay(due, self.live.steps());
            return;
        }
        let began = platform.seconds();
        let mut made = 0;
        while made < due && (made == 0 || platform.seconds() - began < BUDGET) {
            self.step();
            made += 1;
        }
        self.clock.made(made);
    }

    fn step(&mut self) {
        for player in 0..self.live.scenario().players() {
            if let Control::Human(layout) = self.screens.control(player) {
                let rect = self.screens.place(player);
                let human = self.keyboard.human_input(layout, rect);
                self.live.give(player, &human, rect);
            }
        }
        self.live.step();
        self.keyboard.taken();
        if let Some(player) = self.screens.heard() {
            let seconds = self.live.steps() as f64 / 60.0;
            for cue in self.live.cues(player) {
                self.sounds.take(seconds, cue);
            }
        }
    }

    /// Ends a rewind that has reached its step.
    fn arrive(&mut self) {
        if let Some(rewind) = self.rewind.take_if(|rewind| rewind.is_done()) {
            self.play(rewind.into_match());
            self.clock.paused = false;
        }
    }

    /// Plays another match from now on.
    pub(super) fn play(&mut self, live: Box<dyn AnyMatch>) {
        self.live = live;
        self.rewind = None;
        self.clock.reset();
        self.panel.reset();
        self.desyncs = self.live.desyncs().len();
        for player in 0..self.live.scenario().players() {
            let driver = self.screens.control(player).driver();
            self.live.set_driver(player, driver);
        }
    }

    fn begin(&mut self, scenario: &Scenario) {
        match opened(scenario) {
            Ok(live) => {
                self.banner = None;
                self.play(live);
            }
            Err(words) => self.say(format!("That cannot be played: {words}.")),
        }
    }

    pub(super) fn apply(&mut self, action: UserAction) {
        match action {
            UserAction::Begin(scenario) => self.begin(&scenario),
            UserAction::Restart => {
                let scenario = wanted(&*self.live);
                self.begin(&scenario);
            }
            UserAction::Model(kind) => {
                if !self.live.set_model(kind) {
                    let mut scenario = wanted(&*self.live);
                    scenario.model = kind;
                    self.begin(&scenario);
                }
            }
            UserAction::Line(player, line) => self.live.set_conditions(player, *line),
            UserAction::Control(player, control) => {
                self.screens.set_control(player, control);
                for player in 0..self.live.scenario().players() {
                    let driver = self.screens.control(player).driver();
                    self.live.set_driver(player, driver);
                }
            }
            UserAction::Tamper(player) => self.live.tamper(player),
            UserAction::Step => {
                self.clock.paused = true;
                match self.clock.at() {
                    Some(_) => self.clock.replay(1, self.live.steps()),
                    None => self.step(),
                }
            }
            UserAction::Look(step) => {
                let (first, last) = self.live.kept();
                let step = step.clamp(first, last);
                self.clock.look((step < last).then_some(step));
            }
            UserAction::GoOn(step) => match Rewind::new(&*self.live, step) {
                Ok(rewind) => self.rewind = Some(rewind),
                Err(words) => self.say(words),
            },
            UserAction::Say(words) => self.say(words),
        }
    }

    /// Shows a detected desync. The report of the peer that differed is preferred, because it has a recording.
    pub(super) fn report_desyncs(&mut self) {
        for desync in &self.live.desyncs()[self.desyncs..] {
            let banner = Banner::desync(desync, self.live.scenario().server);
            let is_known = self.banner.as_ref().is_some_and(Banner::has_recording);
            if !is_known || banner.has_recording() {
                self.banner = Some(banner);
            }
        }
        self.desyncs = self.live.desyncs().len();
    }
}

/// The scenario as it is to be: with the model that is being changed to.
pub fn wanted(live: &dyn AnyMatch) -> Scenario {
    let mut scenario = live.scenario().clone();
    scenario.model = live.next_model().unwrap_or(scenario.model);
    scenario
}

/// The match of a link, or why there is none.
pub fn linked(link: &str) -> Result<Box<dyn AnyMatch>, String> {
    let scenario = Scenario::from_link(link).map_err(|error| error.to_string())?;
    opened(&scenario)
}

/// The match of a scenario, or why there is none.
pub fn opened(scenario: &Scenario) -> Result<Box<dyn AnyMatch>, String> {
    let Some(entry) = registry::game(&scenario.game) else {
        let names: Vec<_> = GAMES.iter().map(|game| game.name).collect();
        return Err(format!(
            "there is no game {:?}; there are {}",
            scenario.game,
            names.join(", ")
        ));
    };
    (entry.open)(scenario).map_err(|error| error.to_string())
}
