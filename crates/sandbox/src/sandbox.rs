//! A match, with everything that is between its players.

mod begin;
mod rewind;
mod room;

use std::time::Duration;

use samestep_session::{Match, MatchEvent, PlayerId, SessionEvent};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{DesyncReport, Input, Live, Status, Switch, Tick};

use crate::gauges::SAMPLES_PER_SECOND;
use crate::history::Moment;
use crate::{Conditions, Gauges, History, ModelKind, Playable, Scenario, Server};
pub use begin::SandboxError;
use rewind::{Action, Log};
use room::Counted;

/// The time of a step.
pub const STEP: Duration = Duration::from_nanos(1_000_000_000 / 60);
/// Steps from one sample to the next.
const SAMPLE: u64 = 60 / SAMPLES_PER_SECOND as u64;

/// Who acts for a player.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Driver {
    /// A bot.
    #[default]
    Bot,
    /// Somebody who gives [inputs](Sandbox::give).
    Hands,
}

/// A state that turned out to differ.
#[derive(Clone, PartialEq, Debug)]
pub struct Desync {
    /// When it was found, in steps.
    pub step: u64,
    /// The player whose program found it; `None`: the server.
    pub found_by: Option<usize>,
    /// What differed.
    pub report: DesyncReport,
}

/// A match, with everything that is between its players.
pub struct Sandbox<G: Playable> {
    scenario: Scenario,
    /// The server first, unless it is a player.
    testbed: Testbed<Match<Live<G>, Switch>>,
    /// Where each player's program runs.
    nodes: Vec<NodeId>,
    /// World time at which the match began.
    start: Duration,
    players: Vec<Player<G>>,
    model: ModelKind,
    /// A change of the model that the server has not accepted yet.
    wanted: Option<ModelKind>,
    now: Moment<G>,
    history: History<G>,
    desyncs: Vec<Desync>,
    log: Log<G::Input>,
}

struct Player<G: Playable> {
    driver: Driver,
    bot: G::Bot,
    hands: G::Input,
    gauges: Gauges,
    counted: Counted,
}

impl<G: Playable> Sandbox<G> {
    /// The scenario as it is now: with the model, the lines and so on that were changed while it ran.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// What everyone sees now.
    pub fn now(&self) -> &Moment<G> {
        &self.now
    }

    /// What everyone saw lately.
    pub fn history(&self) -> &History<G> {
        &self.history
    }

    /// What is plotted of a player.
    pub fn gauges(&self, player: usize) -> &Gauges {
        &self.players[player].gauges
    }

    /// How a player's model gets on.
    pub fn status(&self, player: usize) -> Status {
        self.at(self.nodes[player]).status()
    }

    /// States that turned out to differ, so far.
    pub fn desyncs(&self) -> &[Desync] {
        &self.desyncs
    }

    /// The model that the server runs.
    pub fn model(&self) -> ModelKind {
        self.model
    }

    /// The model that is being changed to.
    pub fn next_model(&self) -> Option<ModelKind> {
        self.wanted
    }

    /// Who acts for a player.
    pub fn driver(&self, player: usize) -> Driver {
        self.players[player].driver
    }

    /// Check value of the server's state.
    pub fn checksum(&self) -> u64 {
        self.now.truth.clone().checksum()
    }

    /// What the server has recorded, as a file.
    pub fn recording(&self) -> Vec<u8> {
        let recorder = self.at(SERVER).world().recorder();
        recorder
            .map(|recorder| recorder.bytes())
            .unwrap_or_default()
    }

    /// Lets a sixtieth of a second pass.
    pub fn step(&mut self) {
        self.perform_logged();
        self.change_model();
        self.act();
        self.pass();
        self.look();
        if self.now.step.is_multiple_of(SAMPLE) {
            self.sample();
        }
    }

    /// Changes a player's line from now on.
    pub fn set_conditions(&mut self, player: usize, conditions: Conditions) {
        if *self.scenario.conditions(player) != conditions {
            self.perform(Action::Line(player, Box::new(conditions)));
        }
    }

    /// Changes to another model as soon as everyone can know of it. In a mesh nobody could decide that: false.
    pub fn set_model(&mut self, kind: ModelKind) -> bool {
        if self.scenario.server == Server::Mesh || !G::supports(kind) {
            return kind == self.model;
        }
        if self.wanted.unwrap_or(self.model) != kind {
            self.perform(Action::Model(kind));
        }
        true
    }

    /// Who acts for a player from now on.
    pub fn set_driver(&mut self, player: usize, driver: Driver) {
        if self.players[player].driver != driver {
            self.perform(Action::Driver(player, driver));
        }
    }

    /// What a player's hands do in the next step; afterwards they go on as [predicted](Input::predict).
    pub fn give(&mut self, player: usize, input: G::Input) {
        if self.players[player].hands != input {
            self.perform(Action::Hands(player, input));
        }
    }

    /// Changes something in a player's own state that only the rules may change.
    pub fn tamper(&mut self, player: usize) {
        self.perform(Action::Tamper(player));
    }

    /// Has it happen now, and notes it.
    fn perform(&mut self, action: Action<G::Input>) {
        self.log.note(self.now.step, action.clone());
        self.apply(action);
    }

    fn apply(&mut self, action: Action<G::Input>) {
        match action {
            Action::Line(player, conditions) => {
                *self.scenario.conditions_mut(player) = *conditions;
                self.connect();
            }
            Action::Model(kind) => self.wanted = Some(kind),
            Action::Driver(player, driver) => {
                self.players[player].driver = driver;
                self.players[player].hands = G::Input::default();
            }
            Action::Hands(player, input) => self.players[player].hands = input,
            Action::Tamper(player) => {
                let node = self.nodes[player];
                self.testbed
                    .with(node, |_, game| game.world_mut().disturb(G::tamper));
            }
        }
    }

    fn change_model(&mut self) {
        let Some(wanted) = self.wanted else {
            return;
        };
        let choice = self.scenario_choice(wanted);
        self.testbed.with(SERVER, |now, game| {
            if let Some(time) = game.session().time(now) {
                game.model_mut().to(time, choice);
            }
        });
    }

    /// Everyone does something.
    fn act(&mut self) {
        let tick = Tick(self.now.step);
        for (player, (state, node)) in self.players.iter_mut().zip(&self.nodes).enumerate() {
            let input = match state.driver {
                Driver::Bot => self.now.views[player].state.decide(&mut state.bot, tick),
                Driver::Hands => Some(state.hands.clone()),
            };
            if let Some(input) = input {
                let id = PlayerId(player as u16);
                self.testbed
                    .with(*node, |now, game| game.input(now, id, &input));
            }
            state.hands = state.hands.predict();
        }
    }

    /// Time passes.
    fn pass(&mut self) {
        self.now.step += 1;
        let nanos = u128::from(self.now.step) * 1_000_000_000 / 60;
        let until = self.start + Duration::from_nanos(nanos as u64);
        while let Some((_, node, event)) = self.testbed.next(until) {
            match event {
                MatchEvent::Desync(report) => self.on_desync(node, report),
                MatchEvent::Session(SessionEvent::Left { .. }) => self.come_back(node),
                _ => {}
            }
        }
    }

    fn on_desync(&mut self, node: NodeId, report: DesyncReport) {
        let found_by = self.nodes.iter().position(|other| *other == node);
        let step = self.now.step;
        self.desyncs.push(Desync {
            step,
            found_by,
            report,
        });
    }

    /// Everyone looks at its screen.
    fn look(&mut self) {
        let Sandbox {
            testbed,
            nodes,
            now,
            ..
        } = self;
        for (view, node) in now.views.iter_mut().zip(nodes.iter()) {
            testbed.with(*node, |time, game| {
                view.state.assign(game.shown(time));
                let status = game.status();
                (view.tick, view.is_waiting) = (status.tick, status.waiting_for.is_some());
                view.told.clear();
                while let Some(told) = game.world_mut().poll_event() {
                    view.told.push(told);
                }
            });
        }
        let server = testbed.machine(SERVER).expect("it never stops");
        now.truth.assign(server.world().state());
        now.truth_tick = server.status().tick;
        let runs = self.scenario_kind(self.at(SERVER).model().current());
        self.model = runs;
        if self.wanted == Some(runs) {
            self.wanted = None;
            self.scenario.model = runs;
        }
        self.now.model = runs;
        if !self.is_player(SERVER) {
            self.testbed.with(
                SERVER,
                |_, game| while game.world_mut().poll_event().is_some() {},
            );
        }
        self.history.push(&self.now);
    }

    fn sample(&mut self) {
        for player in 0..self.nodes.len() {
            let counted = self.count(player);
            let before = std::mem::replace(&mut self.players[player].counted, counted.clone());
            self.players[player]
                .gauges
                .take(|gauge| counted.since(&before, gauge));
        }
    }

    fn at(&self, node: NodeId) -> &Match<Live<G>, Switch> {
        self.testbed.machine(node).expect("nobody ever stops")
    }

    fn is_player(&self, node: NodeId) -> bool {
        self.nodes.contains(&node)
    }
}

/// Where the server is, or who opened the mesh.
const SERVER: NodeId = NodeId(0);
