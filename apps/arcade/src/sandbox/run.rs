//! What happens: time passes, and what somebody wants is done.

use samestep_sandbox::{Conditions, ModelKind, Scenario};

use super::Workbench;
use super::banner::Banner;
use super::rewind::Rewind;
use super::screens::Seat;
use crate::registry::{self, GAMES};
use crate::show::Show;
use crate::surroundings::Surroundings;

/// What a step may take of a frame's time, all steps together, in seconds.
const BUDGET: f64 = 0.025;

/// What somebody wants to be done.
pub enum Wish {
    /// Another match.
    Begin(Box<Scenario>),
    /// The same match from the beginning.
    Restart,
    /// Another model.
    Model(ModelKind),
    /// Another line for a player.
    Line(usize, Box<Conditions>),
    /// Somebody else plays for a player.
    Seat(usize, Seat),
    /// A player's state differs.
    Tamper(usize),
    /// One step more.
    Step,
    /// Look at a step.
    Look(u64),
    /// Go on from a step.
    GoOn(u64),
    /// Words across the screen.
    Say(String),
}

impl Workbench {
    /// Time passes.
    pub(super) fn pass(&mut self, now: f64, around: &dyn Surroundings) {
        let due = self.clock.due(now);
        if let Some(rewind) = &mut self.rewind {
            rewind.advance(around);
            self.arrive();
            return;
        }
        if self.clock.at().is_some() {
            self.clock.replay(due, self.show.steps());
            return;
        }
        let began = around.seconds();
        let mut made = 0;
        while made < due && (made == 0 || around.seconds() - began < BUDGET) {
            self.step();
            made += 1;
        }
        self.clock.made(made);
    }

    fn step(&mut self) {
        for player in 0..self.show.scenario().players() {
            if let Seat::Hands(layout) = self.screens.seat(player) {
                let rect = self.screens.place(player);
                let hands = self.keyboard.hands(layout, rect);
                self.show.give(player, &hands, rect);
            }
        }
        self.show.step();
        self.keyboard.taken();
    }

    /// Where it was to be wound back to has been reached.
    fn arrive(&mut self) {
        if let Some(rewind) = self.rewind.take_if(|rewind| rewind.is_done()) {
            self.play(rewind.into_show());
            self.clock.paused = false;
        }
    }

    /// Plays another match from now on.
    pub(super) fn play(&mut self, show: Box<dyn Show>) {
        self.show = show;
        self.rewind = None;
        self.clock.reset();
        self.panel.reset();
        self.desyncs = self.show.desyncs().len();
        for player in 0..self.show.scenario().players() {
            let driver = self.screens.seat(player).driver();
            self.show.set_driver(player, driver);
        }
    }

    fn begin(&mut self, scenario: &Scenario) {
        match opened(scenario) {
            Ok(show) => {
                self.banner = None;
                self.play(show);
            }
            Err(words) => self.say(format!("That cannot be played: {words}.")),
        }
    }

    pub(super) fn fulfil(&mut self, wish: Wish) {
        match wish {
            Wish::Begin(scenario) => self.begin(&scenario),
            Wish::Restart => {
                let scenario = wanted(&*self.show);
                self.begin(&scenario);
            }
            Wish::Model(kind) => {
                if !self.show.set_model(kind) {
                    let mut scenario = wanted(&*self.show);
                    scenario.model = kind;
                    self.begin(&scenario);
                }
            }
            Wish::Line(player, line) => self.show.set_conditions(player, *line),
            Wish::Seat(player, seat) => {
                self.screens.set_seat(player, seat);
                for player in 0..self.show.scenario().players() {
                    let driver = self.screens.seat(player).driver();
                    self.show.set_driver(player, driver);
                }
            }
            Wish::Tamper(player) => self.show.tamper(player),
            Wish::Step => {
                self.clock.paused = true;
                match self.clock.at() {
                    Some(_) => self.clock.replay(1, self.show.steps()),
                    None => self.step(),
                }
            }
            Wish::Look(step) => {
                let (first, last) = self.show.kept();
                let step = step.clamp(first, last);
                self.clock.look((step < last).then_some(step));
            }
            Wish::GoOn(step) => match Rewind::new(&*self.show, step) {
                Ok(rewind) => self.rewind = Some(rewind),
                Err(words) => self.say(words),
            },
            Wish::Say(words) => self.say(words),
        }
    }

    /// Shows a desync that was found. Who differed has a recording of it, which matters more.
    pub(super) fn tell_desyncs(&mut self) {
        for desync in &self.show.desyncs()[self.desyncs..] {
            let banner = Banner::desync(desync, self.show.scenario().server);
            let is_known = self.banner.as_ref().is_some_and(Banner::has_recording);
            if !is_known || banner.has_recording() {
                self.banner = Some(banner);
            }
        }
        self.desyncs = self.show.desyncs().len();
    }
}

/// The scenario as it is to be: with the model that is being changed to.
pub fn wanted(show: &dyn Show) -> Scenario {
    let mut scenario = show.scenario().clone();
    scenario.model = show.next_model().unwrap_or(scenario.model);
    scenario
}

/// The match that a link says, or why there is none.
pub fn linked(link: &str) -> Result<Box<dyn Show>, String> {
    let scenario = Scenario::from_link(link).map_err(|error| error.to_string())?;
    opened(&scenario)
}

/// The match of a scenario, or why there is none.
pub fn opened(scenario: &Scenario) -> Result<Box<dyn Show>, String> {
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
