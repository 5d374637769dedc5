//! The suites `authority` and `rewind`: matches in which one program is right, through storms and calms. Soon after each storm everyone has what it
//! has, and everyone is told the same events.

mod fight;
mod hunt;
mod judge;

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_catalog::hat_hunters::HatHunters;
use samestep_catalog::sublockus::Sublockus;
use samestep_netem::Rng;
use samestep_playable::Setup;
use samestep_session::{JoinTo, Match, MatchEvent, Role, SessionConfig, SessionEvent, Silence};
use samestep_sync::{
    Interpolation, InterpolationDelay, Live, Model, ModelEvent, PlayerId, RemotePlayers, Rewind,
    RewindConfig, Snapshot, SnapshotConfig, StateSync, StateSyncConfig, Tick, WindowLength,
};

use judge::{Judged, Truth};
use samestep_sim::check::{Breach, Promise};
use samestep_sim::conditions::good_link;
use samestep_sim::{Disturbance, NodeId, Outcome, Pausable, SoakMatch, SoakProgram, Trace};

/// How often things are looked at: more than once a tick.
const LOOK: Duration = Duration::from_millis(8);
/// After a storm everyone has what the authority has no later than this.
const SOON: Duration = Duration::from_secs(1);

const HOST: NodeId = NodeId(0);

/// A model with settings that make sense together.
pub(super) trait Setting: Model + Sized {
    /// Settings at random, in words, and the model with them.
    fn random(rng: &mut Rng) -> (String, Box<dyn Fn() -> Self>);
}

impl Setting for Snapshot {
    fn random(rng: &mut Rng) -> (String, Box<dyn Fn() -> Self>) {
        let config = snapshot(rng);
        let words = format!("{config:?}");
        let model = move || Snapshot::new(config.clone()).expect("settings that make sense");
        (words, Box::new(model))
    }
}

impl Setting for StateSync {
    fn random(rng: &mut Rng) -> (String, Box<dyn Fn() -> Self>) {
        let all = [
            RemotePlayers::Interpolated,
            RemotePlayers::Simulated,
            RemotePlayers::DeadReckoned,
        ];
        let config = StateSyncConfig {
            snapshot: snapshot(rng),
            remote_players: all[rng.range(0..3) as usize],
            compensation: rng.chance(0.8).then_some(Duration::from_millis(150)),
            window: rng.range(20..60),
        };
        let words = format!("{config:?}");
        let model = move || StateSync::new(config.clone()).expect("settings that make sense");
        (words, Box::new(model))
    }
}

impl Setting for Rewind {
    fn random(rng: &mut Rng) -> (String, Box<dyn Fn() -> Self>) {
        let length = Duration::from_millis(rng.range(30..250));
        let config = RewindConfig {
            snapshot: snapshot(rng),
            window: match rng.chance(0.7) {
                true => WindowLength::Fixed(length),
                false => WindowLength::Following { most: length },
            },
            client_window: rng.chance(0.8),
            remote_players: match rng.chance(0.7) {
                true => RemotePlayers::Simulated,
                false => RemotePlayers::Interpolated,
            },
            prediction: rng.range(30..60),
            lead: rng.chance(0.9),
        };
        let words = format!("{config:?}");
        let model = move || Rewind::new(config.clone()).expect("settings that make sense");
        (words, Box::new(model))
    }
}

fn snapshot(rng: &mut Rng) -> SnapshotConfig {
    SnapshotConfig {
        every: rng.range(1..5),
        budget: rng.chance(0.3).then(|| 1000 * rng.range(96..512) as u32),
        interpolation: match rng.chance(0.5) {
            true => Interpolation::Linear,
            false => Interpolation::Hermite,
        },
        delay: match rng.chance(0.2) {
            true => InterpolationDelay::Fixed(Duration::from_millis(rng.range(0..300))),
            false => InterpolationDelay::default(),
        },
        ..SnapshotConfig::default()
    }
}

/// Runs the world of `seed` of the suite `authority`: inputs given, and what went wrong.
pub(super) fn run(seed: u64, trace: Trace<'_>) -> Outcome {
    match seed % 2 {
        0 => play::<Sublockus, StateSync>(seed, trace),
        _ => play::<Sublockus, Snapshot>(seed, trace),
    }
}

/// The same of the suite `rewind`: mostly the game whose effects wait for the end of the update window.
pub(super) fn run_rewind(seed: u64, trace: Trace<'_>) -> Outcome {
    match seed % 4 {
        0 => play::<Sublockus, Rewind>(seed, trace),
        _ => play::<HatHunters, Rewind>(seed, trace),
    }
}

fn play<G: Judged, M: Setting>(seed: u64, trace: Trace<'_>) -> Outcome {
    let mut script: Script<'_, G, M> = Script::new(seed, trace);
    let result = script.run();
    (script.room.given, result)
}

struct Script<'t, G: Judged, M: Setting> {
    room: SoakMatch<'t, Live<G>, M, Notes<G>>,
    seed: u64,
    model: Box<dyn Fn() -> M>,
    words: String,
    bots: BTreeMap<PlayerId, G::Bot>,
    /// Whether everyone lets go of the controls.
    resting: bool,
    truth: Truth<G>,
}

/// The notes about a program.
struct Notes<G: Judged> {
    watches: bool,
    /// It must have received every event from this tick on.
    since: Option<Tick>,
    events: Vec<(Tick, G::Event)>,
    /// Events that were delivered as predicted, and neither confirmed nor cancelled since.
    open: Vec<(Tick, G::Event)>,
    /// The tick its players acted in last.
    acted: Tick,
}

impl<'t, G: Judged, M: Setting> Script<'t, G, M> {
    fn new(seed: u64, trace: Trace<'t>) -> Self {
        let mut rng = Rng::stream(seed, 5);
        let (words, model) = M::random(&mut rng);
        Script {
            room: SoakMatch::new(seed, rng, trace),
            seed,
            model,
            words,
            bots: BTreeMap::new(),
            resting: false,
            truth: Truth::default(),
        }
    }

    fn run(&mut self) -> Result<(), Breach> {
        let words = self.words.clone();
        self.room.trace(|| words);
        self.room.testbed.set_links(good_link());
        let host = self.room.testbed.add_node();
        self.start(host, Role::Host, false);
        for _ in 0..self.room.rng.range(1..5) {
            self.join(None);
        }
        self.run_for(Duration::from_secs(2))?;
        self.room
            .testbed
            .with(host, |now, program| program.game.session_mut().start(now));
        self.run_for(Duration::from_secs(2))?;
        for _ in 0..self.room.rng.range(1..3) {
            self.storm()?;
            self.calm()?;
        }
        self.judge_events()?;
        self.judge_recording()
    }

    fn storm(&mut self) -> Result<(), Breach> {
        let link = self.room.severity.random_link(&mut self.room.rng);
        self.room.trace(|| format!("storm: {link}"));
        self.room.testbed.set_links(link);
        let end = self.room.testbed.now() + Duration::from_secs(self.room.rng.range(3..9));
        while self.room.testbed.now() < end {
            self.run_for(Duration::from_millis(100))?;
            if self.room.rng.chance(0.08) {
                self.disturb();
            }
        }
        // What moves by itself comes to rest while it still storms.
        self.resting = true;
        self.run_for(Duration::from_millis(1500))
    }

    fn calm(&mut self) -> Result<(), Breach> {
        self.room.trace(|| "calm".to_string());
        self.room.testbed.set_links(good_link());
        let there: Vec<NodeId> = self.room.playing();
        for node in &there {
            self.room
                .testbed
                .with(*node, |now, program| program.pause_until(now));
        }
        self.run_for(SOON)?;
        self.judge_states(&there)?;
        self.resting = false;
        self.run_for(Duration::from_secs(1))
    }

    fn disturb(&mut self) {
        let guests = self.room.playing().into_iter().filter(|node| *node != HOST);
        let guests: Vec<NodeId> = guests.collect();
        match self.room.disturb(&guests, guests.len() > 1, 50..2500) {
            Some(Disturbance::Join(who)) => self.join(who),
            Some(Disturbance::Kill(node)) => drop(self.room.end(node)),
            None => {}
        }
    }

    fn start(&mut self, node: NodeId, role: Role, watches: bool) {
        let mut config = SessionConfig::new(G::NAME, 1);
        if !watches {
            config = config.player(&format!("player {}", node.0));
        }
        config.rejoin_grace = Duration::from_secs(8);
        config.silence = Silence::Drop {
            after: Duration::from_secs(4),
        };
        let world = G::world(self.seed);
        let model = (self.model)();
        self.room.testbed.start(node, |now, random| {
            let game = Match::new(now, config, role, random, model, world);
            Pausable::new(game.expect("settings that make sense"))
        });
        let program = SoakProgram {
            node,
            running: true,
            secret: None,
            notes: Notes {
                watches,
                since: None,
                events: Vec::new(),
                open: Vec::new(),
                acted: Tick(0),
            },
        };
        match self.room.program(node) {
            Some(known) => *known = program,
            None => self.room.programs.push(program),
        }
    }

    /// Somebody new, or somebody who was here before, joins.
    fn join(&mut self, who: Option<usize>) {
        let mut to = JoinTo::new(self.room.testbed.address(HOST));
        let (node, watches) = match who {
            None => (self.room.testbed.add_node(), self.room.rng.chance(0.1)),
            Some(index) => {
                let program = &self.room.programs[index];
                to.rejoin = program.secret;
                (program.node, program.notes.watches)
            }
        };
        self.room
            .trace(|| format!("{node:?} joins, to watch: {watches}"));
        let role = match watches {
            true => Role::Spectator(to),
            false => Role::Client(to),
        };
        self.start(node, role, watches);
    }

    fn run_for(&mut self, time: Duration) -> Result<(), Breach> {
        let end = self.room.testbed.now() + time;
        while self.room.testbed.now() < end {
            let pause = (self.room.testbed.now() + LOOK).min(end);
            while let Some((_, node, event)) = self.room.testbed.next(pause) {
                self.on_event(node, event)?;
            }
            self.look()?;
            self.play();
        }
        Ok(())
    }

    fn on_event(&mut self, node: NodeId, event: MatchEvent) -> Result<(), Breach> {
        if !matches!(event, MatchEvent::Session(SessionEvent::RoomChanged)) {
            self.room.trace(|| format!("{node:?}: {event:?}"));
        }
        match event {
            MatchEvent::Session(SessionEvent::Left { reason }) => {
                self.room.end(node);
                if node == HOST {
                    return Err(self
                        .room
                        .breach(Promise::GoesOn, format!("the host left: {reason}")));
                }
            }
            MatchEvent::Session(SessionEvent::Reconnecting { .. } | SessionEvent::Frozen)
            | MatchEvent::Model(ModelEvent::Adopted { .. }) => {
                // Events that occurred while it was away are not sent to it.
                if let Some(program) = self.room.program(node) {
                    program.notes.since = None;
                }
            }
            MatchEvent::NotLoaded(error) => {
                return Err(self.room.breach(Promise::GoesOn, error.to_string()));
            }
            _ => {}
        }
        Ok(())
    }

    /// Every player does what its bot would, once a tick of its own program, from what that program draws.
    fn play(&mut self) {
        for node in self.room.playing() {
            let setup = Setup::default_of::<G>(self.seed);
            let resting = self.resting;
            let bots = &mut self.bots;
            let Some(known) = self
                .room
                .programs
                .iter_mut()
                .find(|known| known.node == node)
            else {
                continue;
            };
            let given = self.room.testbed.with(node, |now, program| {
                let tick = program.game.status().tick;
                if program.is_paused(now) || tick <= known.notes.acted {
                    return 0;
                }
                known.notes.acted = tick;
                let players: Vec<PlayerId> = program.game.session().my_players().collect();
                let mut given = 0;
                for player in players {
                    let controls = match resting {
                        true => Some(G::at_rest()),
                        false => {
                            let bot = bots.entry(player);
                            let bot = bot.or_insert_with(|| G::bot(&setup, player));
                            program.game.shown(now).act(bot, tick)
                        }
                    };
                    if let Some(controls) = controls {
                        given += u64::from(program.game.input(now, player, &controls));
                    }
                }
                given
            });
            self.room.given += given.unwrap_or(0);
        }
    }
}
