//! A match of any game, as the screens and panels see it.

use eframe::egui::{Painter, Rect};
use samestep_sandbox::{
    Conditions, Desync, Driver, Gauges, ModelKind, Sandbox, SandboxError, Scenario, Sizes,
};
use samestep_sync::{EventStage, PlayerId, Replay, Status, Tick};

use crate::canvas::{Canvas, Frame};
use crate::drawn::{Drawn, FADES, Hands, Happened, Scene};
use crate::replays::{self, Played};

/// A game that can be chosen. One line in [`GAMES`](crate::registry::GAMES) makes it appear everywhere.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What it is called in links.
    pub name: &'static str,
    /// What it is called on the screen.
    pub title: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// How large it can be.
    pub sizes: Option<Sizes>,
    /// What hands can do.
    pub keys: &'static [(&'static str, &'static str)],
    /// Whether it can be played under a model.
    pub supports: fn(ModelKind) -> bool,
    /// Begins a match.
    pub open: fn(&Scenario) -> Result<Box<dyn Show>, SandboxError>,
    /// Plays a recorded match; in words if it cannot be.
    pub replay: fn(Replay) -> Result<Box<dyn Played>, String>,
}

impl Entry {
    /// That of a game.
    pub const fn of<G: Drawn>() -> Entry {
        Entry {
            name: G::NAME,
            title: G::TITLE,
            about: G::ABOUT,
            sizes: G::SIZES,
            keys: G::KEYS,
            supports: G::supports,
            open: |scenario| Ok(Box::new(Shown::<G>::new(Sandbox::new(scenario)?))),
            replay: replays::play::<G>,
        }
    }
}

/// A match, whichever game it is of. Times are in steps of a sixtieth of a second since it began.
pub trait Show {
    /// The scenario as it is now.
    fn scenario(&self) -> &Scenario;
    /// Lets a sixtieth of a second pass.
    fn step(&mut self);
    /// Steps so far.
    fn steps(&self) -> u64;
    /// The first and the last step that can be looked at.
    fn kept(&self) -> (u64, u64);
    /// The model that runs, at a step.
    fn model(&self, step: u64) -> ModelKind;
    /// The model that is being changed to.
    fn next_model(&self) -> Option<ModelKind>;
    /// Changes the model; false if that is not possible.
    fn set_model(&mut self, kind: ModelKind) -> bool;
    /// Changes a player's line.
    fn set_conditions(&mut self, player: usize, conditions: Conditions);
    /// Who acts for a player.
    fn driver(&self, player: usize) -> Driver;
    /// Changes who does.
    fn set_driver(&mut self, player: usize, driver: Driver);
    /// What a player's hands do in the next step; the pointer's place is on the screen, which is drawn at `rect`.
    fn give(&mut self, player: usize, hands: &Hands, rect: Rect);
    /// Makes a player's state differ.
    fn tamper(&mut self, player: usize);
    /// What is plotted of a player.
    fn gauges(&self, player: usize) -> &Gauges;
    /// How a player's model gets on.
    fn status(&self, player: usize) -> Status;
    /// The tick a player's program had come to at a step, and the server's.
    fn ticks(&self, step: u64, player: usize) -> (Tick, Tick);
    /// Whether a player's program stood still at a step.
    fn is_waiting(&self, step: u64, player: usize) -> bool;
    /// How a player stands, at a step, by what it sees.
    fn caption(&self, step: u64, player: usize) -> String;
    /// Check value of the server's state.
    fn checksum(&self) -> u64;
    /// What the server has recorded, as a file.
    fn recording(&self) -> Vec<u8>;
    /// States that turned out to differ.
    fn desyncs(&self) -> &[Desync];
    /// Draws a player's screen as it was at a step, with the truth over it if wanted.
    fn paint(&self, step: u64, player: usize, ghost: bool, painter: &Painter, rect: Rect);
    /// The same match from the beginning, which does again by itself what was done before a step.
    fn again(&self, until: u64) -> Result<Box<dyn Show>, SandboxError>;
}

/// A match and its screens.
struct Shown<G: Drawn> {
    sandbox: Sandbox<G>,
    grips: Vec<G::Grip>,
}

impl<G: Drawn> Shown<G> {
    fn new(sandbox: Sandbox<G>) -> Self {
        let players = sandbox.scenario().players();
        Self {
            sandbox,
            grips: (0..players).map(|_| G::Grip::default()).collect(),
        }
    }

    /// What there was at a step.
    fn at(&self, step: u64) -> &samestep_sandbox::Moment<G> {
        let now = self.sandbox.now();
        match step >= now.step() {
            true => now,
            false => self.sandbox.history().at(step).unwrap_or(now),
        }
    }

    fn frame(&self, state: &G, player: usize, rect: Rect) -> Frame {
        state.frame(Some(id(player)), &self.grips[player], rect.size())
    }
}

fn id(player: usize) -> PlayerId {
    PlayerId(player as u16)
}

impl<G: Drawn> Show for Shown<G> {
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

    fn give(&mut self, player: usize, hands: &Hands, rect: Rect) {
        let state = self.sandbox.now().view(player);
        let frame = self.frame(state, player, rect);
        let mut hands = hands.clone();
        hands.seen = Some(frame.seen(rect));
        if let Some(pointer) = &mut hands.pointer {
            pointer.place = frame.to_world(rect, pointer.place);
        }
        let input = state.hands(id(player), &mut self.grips[player], &hands);
        self.sandbox.give(player, input);
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
        let moment = self.at(step);
        (moment.tick(player), moment.truth_tick())
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

    fn paint(&self, step: u64, player: usize, ghost: bool, painter: &Painter, rect: Rect) {
        let moment = self.at(step);
        let state = moment.view(player);
        let mut canvas = Canvas::new(painter, rect, self.frame(state, player, rect));
        let lately = self.sandbox.history().back_from(moment.step());
        let lately = lately.take_while(|then| seconds(moment.step() - then.step()) <= FADES);
        let happened = lately.flat_map(|then| {
            let ago = seconds(moment.step() - then.step());
            then.told(player).iter().rev().map(move |told| Happened {
                ago,
                stage: told.stage,
                was_predicted: told.stage != EventStage::Predicted && told.predicted.is_some(),
                event: &told.event,
            })
        });
        let happened: Vec<_> = happened.collect();
        let scene = Scene {
            viewer: Some(id(player)),
            drawn: state,
            grip: &self.grips[player],
            happened: &happened,
            seconds: seconds(moment.step()),
        };
        state.paint(&scene, &mut canvas);
        if ghost {
            moment.truth().paint_ghost(&scene, &mut canvas);
        }
        canvas.finish();
    }

    fn again(&self, until: u64) -> Result<Box<dyn Show>, SandboxError> {
        Ok(Box::new(Shown::new(self.sandbox.again(until)?)))
    }
}

fn seconds(steps: u64) -> f32 {
    steps as f32 / 60.0
}
