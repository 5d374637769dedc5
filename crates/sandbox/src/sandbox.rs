//! A match with all its programs and the network between them.

mod begin;
mod rewind;
mod room;

use std::time::Duration;

use samestep_session::{Match, MatchEvent, PlayerId, SessionEvent};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{DesyncReport, Input, Live, ModelEvent, Status, Switch, Tick};

use crate::gauges::SAMPLES_PER_SECOND;
use crate::history::StepRecord;
use crate::{Conditions, Gauges, History, ModelKind, Playable, Scenario, Server};
pub use begin::SandboxError;
use rewind::{Action, Log};
use room::Counters;

/// The time of a step.
pub const STEP: Duration = Duration::from_nanos(1_000_000_000 / 60);
/// Steps from one sample to the next.
const SAMPLE: u64 = 60 / SAMPLES_PER_SECOND as u64;

/// Who provides the inputs of a player.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Driver {
    /// A bot.
    #[default]
    Bot,
    /// A person, through [`set_input`](Sandbox::set_input).
    Human,
}

/// A desync that was found.
#[derive(Clone, PartialEq, Debug)]
pub struct Desync {
    /// When it was found, in steps.
    pub step: u64,
    /// The player whose program found it; `None`: the server.
    pub found_by: Option<usize>,
    /// What differed.
    pub report: DesyncReport,
}

/// A match with all its programs and the network between them.
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
    /// A change of the model that the server has not made yet.
    wanted: Option<ModelKind>,
    now: StepRecord<G>,
    history: History<G>,
    desyncs: Vec<Desync>,
    log: Log<G::Input>,
}

struct Player<G: Playable> {
    driver: Driver,
    bot: G::Bot,
    manual_input: G::Input,
    gauges: Gauges,
    counted: Counters,
}

impl<G: Playable> Sandbox<G> {
    /// The scenario with all changes made while it ran, such as the model and the network conditions.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// What every player sees now.
    pub fn now(&self) -> &StepRecord<G> {
        &self.now
    }

    /// What every player saw lately.
    pub fn history(&self) -> &History<G> {
        &self.history
    }

    /// The measured values of a player.
    pub fn gauges(&self, player: usize) -> &Gauges {
        &self.players[player].gauges
    }

    /// The status of a player's model.
    pub fn status(&self, player: usize) -> Status {
        self.at(self.nodes[player]).status()
    }

    /// The desyncs found so far.
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

    /// Who provides the inputs of a player.
    pub fn driver(&self, player: usize) -> Driver {
        self.players[player].driver
    }

    /// Checksum of the server's state.
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

    /// Advances by a sixtieth of a second.
    pub fn step(&mut self) {
        self.perform_logged();
        self.change_model();
        self.give_inputs();
        self.advance();
        self.observe();
        if self.now.step.is_multiple_of(SAMPLE) {
            self.sample();
        }
    }

    /// Changes a player's network conditions from now on.
    pub fn set_conditions(&mut self, player: usize, conditions: Conditions) {
        if *self.scenario.conditions(player) != conditions {
            self.perform(Action::Conditions(player, Box::new(conditions)));
        }
    }

    /// Changes the model as soon as every program knows of it. Returns false in a mesh, where no program has the authority to do so.
    pub fn set_model(&mut self, kind: ModelKind) -> bool {
        if self.scenario.server == Server::Mesh || !G::supports(kind) {
            return kind == self.model;
        }
        if self.wanted.unwrap_or(self.model) != kind {
            self.perform(Action::Model(kind));
        }
        true
    }

    /// Changes who provides the inputs of a player from now on.
    pub fn set_driver(&mut self, player: usize, driver: Driver) {
        if self.players[player].driver != driver {
            self.perform(Action::Driver(player, driver));
        }
    }

    /// Sets a human player's input for the next step; afterwards it continues as [predicted](Input::predict).
    pub fn set_input(&mut self, player: usize, input: G::Input) {
        if self.players[player].manual_input != input {
            self.perform(Action::Input(player, input));
        }
    }

    /// Changes a player's own copy of the state behind the rules' back, to provoke a desync.
    pub fn tamper(&mut self, player: usize) {
        self.perform(Action::Tamper(player));
    }

    /// Applies an action and logs it.
    fn perform(&mut self, action: Action<G::Input>) {
        self.log.note(self.now.step, action.clone());
        self.apply(action);
    }

    fn apply(&mut self, action: Action<G::Input>) {
        match action {
            Action::Conditions(player, conditions) => {
                *self.scenario.conditions_mut(player) = *conditions;
                self.connect();
            }
            Action::Model(kind) => self.wanted = Some(kind),
            Action::Driver(player, driver) => {
                self.players[player].driver = driver;
                self.players[player].manual_input = G::Input::default();
            }
            Action::Input(player, input) => self.players[player].manual_input = input,
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

    /// Gives every player's input to its program.
    fn give_inputs(&mut self) {
        let tick = Tick(self.now.step);
        for (player, (state, node)) in self.players.iter_mut().zip(&self.nodes).enumerate() {
            let input = match state.driver {
                Driver::Bot => self.now.views[player].state.decide(&mut state.bot, tick),
                Driver::Human => Some(state.manual_input.clone()),
            };
            if let Some(input) = input {
                let id = PlayerId(player as u16);
                self.testbed
                    .with(*node, |now, game| game.input(now, id, &input));
            }
            state.manual_input = state.manual_input.predict();
        }
    }

    /// Runs all programs for the time of a step.
    fn advance(&mut self) {
        self.now.step += 1;
        let nanos = u128::from(self.now.step) * 1_000_000_000 / 60;
        let until = self.start + Duration::from_nanos(nanos as u64);
        while let Some((_, node, event)) = self.testbed.next(until) {
            match event {
                MatchEvent::Model(ModelEvent::Desync(report)) => self.on_desync(node, report),
                MatchEvent::Session(SessionEvent::Left { .. }) => self.rejoin(node),
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

    /// Records what every player sees.
    fn observe(&mut self) {
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
                view.events.clear();
                while let Some(event) = game.world_mut().poll_event() {
                    view.events.push(event);
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

/// The node of the server, or of the program that opened the mesh.
const SERVER: NodeId = NodeId(0);
