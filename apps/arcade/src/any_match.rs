//! A match of any game behind one trait, for screens and panels that do not know its type.

use eframe::egui::{Painter, Rect};
use samestep_sandbox::{
    Conditions, Desync, Driver, Gauges, ModelKind, Sandbox, SandboxError, Scenario, Sizes,
};
use samestep_sync::{EventStage, PlayerId, Replay, Status, Tick};

use crate::drawn::{Drawn, FADES, HumanInput, RecentEvent, Scene};
use crate::replays::{self, RecordedMatch};
use crate::screen;
use crate::sound::Cue;

/// A game that can be chosen: what the arcade knows about it without its type.
#[derive(Clone, Copy)]
pub struct GameEntry {
    /// The name in links.
    pub name: &'static str,
    /// The name on the screen.
    pub title: &'static str,
    /// A few words about what kind of game it is.
    pub about: &'static str,
    /// The sizes it can have.
    pub sizes: Option<Sizes>,
    /// What the keys do.
    pub keys: &'static [(&'static str, &'static str)],
    /// Whether it can be played under a model.
    pub supports: fn(ModelKind) -> bool,
    /// Begins a match.
    pub open: fn(&Scenario) -> Result<Box<dyn AnyMatch>, SandboxError>,
    /// Plays a recorded match; the error is a sentence.
    pub replay: fn(Replay) -> Result<Box<dyn RecordedMatch>, String>,
    /// Plays it over a network.
    #[cfg(not(target_arch = "wasm32"))]
    pub online: crate::online::Open,
}

impl GameEntry {
    /// The entry of a game.
    pub const fn of<G: Drawn>() -> GameEntry {
        GameEntry {
            name: G::NAME,
            title: G::TITLE,
            about: G::ABOUT,
            sizes: G::SIZES,
            keys: G::KEYS,
            supports: G::supports,
            open: |scenario| Ok(Box::new(LiveMatch::<G>::new(Sandbox::new(scenario)?))),
            replay: replays::play::<G>,
            #[cfg(not(target_arch = "wasm32"))]
            online: crate::online::open::<G>,
        }
    }
}

/// A match of any game. Times are in steps of a sixtieth of a second since it began.
pub trait AnyMatch {
    /// The scenario as it is now.
    fn scenario(&self) -> &Scenario;
    /// Advances by a sixtieth of a second.
    fn step(&mut self);
    /// The number of steps so far.
    fn steps(&self) -> u64;
    /// The first and the last step of the history.
    fn kept(&self) -> (u64, u64);
    /// The model that runs, at a step.
    fn model(&self, step: u64) -> ModelKind;
    /// The model that is being changed to.
    fn next_model(&self) -> Option<ModelKind>;
    /// Changes the model; false if that is not possible.
    fn set_model(&mut self, kind: ModelKind) -> bool;
    /// Changes a player's network conditions.
    fn set_conditions(&mut self, player: usize, conditions: Conditions);
    /// Who provides the inputs of a player.
    fn driver(&self, player: usize) -> Driver;
    /// Changes who provides the inputs of a player.
    fn set_driver(&mut self, player: usize, driver: Driver);
    /// Sets the input of a player for the next step; the pointer's place is on the screen, which is drawn at `rect`.
    fn give(&mut self, player: usize, human: &HumanInput, rect: Rect);
    /// Changes a player's own copy of the state, to provoke a desync.
    fn tamper(&mut self, player: usize);
    /// The measured values of a player.
    fn gauges(&self, player: usize) -> &Gauges;
    /// The status of a player's model.
    fn status(&self, player: usize) -> Status;
    /// The tick of a player's program at a step, and the server's.
    fn ticks(&self, step: u64, player: usize) -> (Tick, Tick);
    /// Whether a player's program was stalled at a step.
    fn is_waiting(&self, step: u64, player: usize) -> bool;
    /// A line about a player's score at a step, as that player sees it.
    fn caption(&self, step: u64, player: usize) -> String;
    /// Checksum of the server's state.
    fn checksum(&self) -> u64;
    /// What the server has recorded, as a file.
    fn recording(&self) -> Vec<u8>;
    /// The desyncs found so far.
    fn desyncs(&self) -> &[Desync];
    /// What a player hears of the last step.
    fn cues(&self, player: usize) -> Vec<Cue>;
    /// Draws a player's screen as it was at a step, with the ghost of the server's state if wanted.
    fn paint(&self, step: u64, player: usize, ghost: bool, painter: &Painter, rect: Rect);
    /// The same match from the beginning, which repeats by itself what was changed from outside before a step.
    fn rerun(&self, until: u64) -> Result<Box<dyn AnyMatch>, SandboxError>;
}

/// A match and its screens.
struct LiveMatch<G: Drawn> {
    sandbox: Sandbox<G>,
    view_states: Vec<G::ViewState>,
}

impl<G: Drawn> LiveMatch<G> {
    fn new(sandbox: Sandbox<G>) -> Self {
        let players = sandbox.scenario().players();
        Self {
            sandbox,
            view_states: (0..players).map(|_| G::ViewState::default()).collect(),
        }
    }

    /// The record of a step.
    fn at(&self, step: u64) -> &samestep_sandbox::StepRecord<G> {
        let now = self.sandbox.now();
        match step >= now.step() {
            true => now,
            false => self.sandbox.history().at(step).unwrap_or(now),
        }
    }
}

fn id(player: usize) -> PlayerId {
    PlayerId(player as u16)
}

impl<G: Drawn> AnyMatch for LiveMatch<G> {
    fn scenario(&self) -> &Scenario {
        self.sandbox.scenario()
    }

    fn step(&mut self) {
        self.sandbox.step();
    }

    fn steps(&self) -> u64 {
        self.sandbox.now().step()
    }

    fn kept(&self) -> (u64, u64) {
        let first = self.sandbox.history().range().map(|(first, _)| first);
        (first.unwrap_or_default(), self.steps())
    }

    fn model(&self, step: u64) -> ModelKind {
        self.at(step).model()
    }

    fn next_model(&self) -> Option<ModelKind> {
        self.sandbox.next_model()
    }

    fn set_model(&mut self, kind: ModelKind) -> bool {
        self.sandbox.set_model(kind)
    }

    fn set_conditions(&mut self, player: usize, conditions: Conditions) {
        self.sandbox.set_conditions(player, conditions);
    }

    fn driver(&self, player: usize) -> Driver {
        self.sandbox.driver(player)
    }

    fn set_driver(&mut self, player: usize, driver: Driver) {
        self.sandbox.set_driver(player, driver);
    }

    fn give(&mut self, player: usize, human: &HumanInput, rect: Rect) {
        let state = self.sandbox.now().view(player);
        let view_state = &mut self.view_states[player];
        let input = screen::input(state, id(player), view_state, human, rect);
        self.sandbox.set_input(player, input);
    }

    fn tamper(&mut self, player: usize) {
        self.sandbox.tamper(player);
    }

    fn gauges(&self, player: usize) -> &Gauges {
        self.sandbox.gauges(player)
    }

    fn status(&self, player: usize) -> Status {
        self.sandbox.status(player)
    }

    fn ticks(&self, step: u64, player: usize) -> (Tick, Tick) {
        let record = self.at(step);
        (record.tick(player), record.truth_tick())
    }

    fn is_waiting(&self, step: u64, player: usize) -> bool {
        self.at(step).is_waiting(player)
    }

    fn caption(&self, step: u64, player: usize) -> String {
        self.at(step).view(player).caption(Some(id(player)))
    }

    fn checksum(&self) -> u64 {
        self.sandbox.checksum()
    }

    fn recording(&self) -> Vec<u8> {
        self.sandbox.recording()
    }

    fn desyncs(&self) -> &[Desync] {
        self.sandbox.desyncs()
    }

    fn cues(&self, player: usize) -> Vec<Cue> {
        let now = self.sandbox.now();
        let (state, listeners) = (now.view(player), [id(player)]);
        let events = now.events(player).iter();
        let cues = events.filter_map(|event| Cue::of(state, &listeners, event));
        cues.collect()
    }

    fn paint(&self, step: u64, player: usize, ghost: bool, painter: &Painter, rect: Rect) {
        let record = self.at(step);
        let state = record.view(player);
        let lately = self.sandbox.history().back_from(record.step());
        let lately = lately.take_while(|then| seconds(record.step() - then.step()) <= FADES);
        let recent = lately.flat_map(|then| {
            let ago = seconds(record.step() - then.step());
            then.events(player)
                .iter()
                .rev()
                .map(move |occurrence| RecentEvent {
                    ago,
                    stage: occurrence.stage,
                    was_predicted: occurrence.stage != EventStage::Predicted
                        && occurrence.predicted.is_some(),
                    event: &occurrence.event,
                })
        });
        let recent: Vec<_> = recent.collect();
        let scene = Scene {
            viewer: Some(id(player)),
            sharing: &[],
            drawn: state,
            view_state: &self.view_states[player],
            recent: &recent,
            names: &[],
            seconds: seconds(record.step()),
        };
        let mut canvas = screen::paint(&scene, painter, rect);
        if ghost {
            record.truth().paint_ghost(&scene, &mut canvas);
        }
        canvas.finish();
    }

    fn rerun(&self, until: u64) -> Result<Box<dyn AnyMatch>, SandboxError> {
        Ok(Box::new(LiveMatch::new(self.sandbox.rerun(until)?)))
    }
}

fn seconds(steps: u64) -> f32 {
    steps as f32 / 60.0
}
