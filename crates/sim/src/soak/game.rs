//! The suites `lockstep` and `rollback`: a game through storms and calms, in which everyone must see the same at every tick.

mod pasture;
mod settings;
mod storm;
mod told;
mod verdict;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use samestep_netem::Rng;
use samestep_session::{
    JoinTo, Match, MatchEvent, RejoinSecret, Role, SessionConfig, SessionEvent, Silence, State,
};
use samestep_sync::{PlayerId, Tick};

use super::conditions::{Severity, good_link};
use super::{Outcome, Pausable, Trace};
use crate::check::{Breach, Promise, ResolvedOnce};
use crate::{NodeId, Pace, ReceiveTime, Testbed};
use pasture::{Bleat, Pasture, Shepherd};
use settings::Guise;
pub(super) use settings::Settings;
use storm::Stands;
use told::Told;

/// Programs at the same time.
const MOST: usize = 8;

/// Runs the world of `seed`, played with a model that has such settings: inputs given, and what went wrong.
pub(super) fn run<S: Settings>(seed: u64, trace: Trace<'_>) -> Outcome {
    let mut script: Script<'_, S> = Script::new(seed, trace);
    // In every fourth game a state is spoiled at the end, to be found and repaired.
    script.spoil = seed % 4 == 3;
    let result = script.run();
    (script.given, result)
}

struct Script<'t, S: Settings> {
    rng: Rng,
    seed: u64,
    testbed: Testbed<Pausable<Told, S::Model>>,
    severity: Severity,
    mesh: bool,
    settings: S,
    programs: Vec<Program>,
    /// The check value of every tick, and who told it first.
    states: BTreeMap<Tick, (u64, NodeId)>,
    /// The events of every tick, and who told them first.
    events: BTreeMap<Tick, (Vec<Bleat>, NodeId)>,
    /// How long the programs stand still while only the links are bad.
    stands: Option<Stands>,
    given: u64,
    all_is_well: bool,
    /// One state is changed by hand, to see that found and repaired.
    spoil: bool,
    spoiled: Option<(NodeId, bool)>,
    trace: Trace<'t>,
}

struct Program {
    node: NodeId,
    guise: Guise,
    running: bool,
    secret: Option<RejoinSecret>,
    /// What it told, and when.
    told: VecDeque<(Duration, Word)>,
    /// When it was no member the last time.
    disowned: Duration,
    events: ResolvedOnce<Bleat>,
}

impl Program {
    /// It is no member: what it told since it was one does not count.
    fn disown(&mut self, now: Duration) {
        self.told.clear();
        self.disowned = now;
    }
}

/// What a program tells of a tick.
struct Word {
    tick: Tick,
    /// The check value of the state at this tick.
    checksum: u64,
    /// What happened in the tick before, if it was simulated here.
    events: Option<Vec<Bleat>>,
}

impl<'t, S: Settings> Script<'t, S> {
    fn new(seed: u64, trace: Trace<'t>) -> Self {
        let mut rng = Rng::stream(seed, 4);
        Script {
            settings: S::random(&mut rng),
            severity: Severity::random(&mut rng),
            mesh: rng.chance(0.4),
            testbed: Testbed::new(seed),
            programs: Vec::new(),
            states: BTreeMap::new(),
            events: BTreeMap::new(),
            stands: None,
            given: 0,
            all_is_well: false,
            spoil: false,
            spoiled: None,
            trace,
            seed,
            rng,
        }
    }

    fn run(&mut self) -> Result<(), Breach> {
        if self.spoil {
            self.settings.set_check_every(60);
        }
        let terms = format!(
            "{} {:?}",
            if self.mesh { "mesh" } else { "hosted" },
            self.settings
        );
        self.trace(|| terms);
        self.testbed.set_links(good_link());
        let opener = self.testbed.add_node();
        let role = match self.mesh {
            true => Role::Introducer,
            false => Role::Host,
        };
        self.start(opener, role, Guise::PLAYER);
        for _ in 0..S::first_guests(&mut self.rng) {
            self.join(None);
        }
        self.run_for(Duration::from_secs(2))?;
        self.testbed
            .with(opener, |now, program| program.game.session_mut().start(now));
        self.run_for(Duration::from_secs(2))?;
        let storms = self.rng.range(1..3);
        for _ in 0..storms {
            self.storm()?;
            self.calm()?;
        }
        self.verify_recording()?;
        match self.spoil {
            true => self.spoil_one(),
            false => Ok(()),
        }
    }

    fn start(&mut self, node: NodeId, role: Role, guise: Guise) {
        let mut config = SessionConfig::new("pasture", 1);
        for number in 0..guise.players {
            config = match number {
                0 => config.player(&format!("shepherd {}", node.0)),
                _ => config.player(&format!("dog {}", node.0)),
            };
        }
        config.rejoin_grace = Duration::from_secs(8);
        config.silence = Silence::Drop {
            after: Duration::from_secs(2),
        };
        let (model, seed) = (self.settings.clone().model(), self.seed);
        self.testbed.set_drift(node, guise.drift_ppm);
        if let Some(period) = guise.frames {
            let pace = Pace::Frames { period };
            self.testbed.set_pace(node, pace, ReceiveTime::Arrival);
        }
        self.testbed.start(node, |now, random| {
            let world = Told::new(Pasture::new(seed));
            let game = Match::new(now, config, role, random, model, world);
            Pausable::new(game.expect("settings that make sense"))
        });
        let known = self.programs.iter_mut().find(|known| known.node == node);
        match known {
            Some(program) => {
                program.running = true;
                program.disowned = self.testbed.now();
                program.events = ResolvedOnce::default();
            }
            None => self.programs.push(Program {
                node,
                guise,
                running: true,
                secret: None,
                told: VecDeque::new(),
                disowned: self.testbed.now(),
                events: ResolvedOnce::default(),
            }),
        }
    }

    /// Somebody new, or somebody who was here before, joins.
    fn join(&mut self, who: Option<usize>) {
        let through = match self.mesh {
            false => NodeId(0),
            true => {
                let inside: Vec<NodeId> = self.playing();
                let Some(through) = self.pick(&inside) else {
                    return;
                };
                through
            }
        };
        let mut to = JoinTo::new(self.testbed.address(through));
        let (node, guise) = match who {
            None => (self.testbed.add_node(), S::guise(&mut self.rng, self.mesh)),
            Some(index) => {
                to.rejoin = self.programs[index].secret;
                (self.programs[index].node, self.programs[index].guise)
            }
        };
        self.trace(|| format!("{node:?} joins through {through:?} with {guise:?}"));
        let role = match self.mesh {
            true => Role::Peer(to),
            false if guise.watches() => Role::Spectator(to),
            false => Role::Client(to),
        };
        self.start(node, role, guise);
    }

    fn pick(&mut self, nodes: &[NodeId]) -> Option<NodeId> {
        let at = self.rng.range(0..nodes.len().max(1) as u64) as usize;
        nodes.get(at).copied()
    }

    /// Programs that take part.
    fn playing(&self) -> Vec<NodeId> {
        let running = self.programs.iter().filter(|program| program.running);
        let nodes = running.map(|program| program.node);
        let in_sync = |node: &NodeId| {
            let machine = self.testbed.machine(*node);
            machine.is_some_and(|program| *program.game.session().state() == State::InSync)
        };
        nodes.filter(in_sync).collect()
    }

    fn end(&mut self, node: NodeId) {
        let secret = self
            .testbed
            .machine(node)
            .map(|program| program.game.session().rejoin_secret());
        if let Some(program) = self
            .programs
            .iter_mut()
            .find(|program| program.node == node)
        {
            program.running = false;
            program.secret = secret;
            program.told.clear();
        }
    }

    fn run_for(&mut self, time: Duration) -> Result<(), Breach> {
        let end = self.testbed.now() + time;
        while self.testbed.now() < end {
            let pause = (self.testbed.now() + Duration::from_millis(20)).min(end);
            while let Some((_, node, event)) = self.testbed.next(pause) {
                self.on_event(node, event)?;
            }
            self.compare()?;
            self.watch_stands()?;
            self.play();
        }
        Ok(())
    }

    fn on_event(&mut self, node: NodeId, event: MatchEvent) -> Result<(), Breach> {
        if !matches!(event, MatchEvent::Session(SessionEvent::RoomChanged)) {
            self.trace(|| format!("{node:?}: {}", short(&event)));
        }
        match event {
            MatchEvent::Session(SessionEvent::Left { reason }) => {
                self.end(node);
                self.testbed.kill(node);
                if node.0 == 0 && !self.mesh {
                    return Err(self.breach(Promise::GoesOn, format!("the host left: {reason}")));
                }
            }
            MatchEvent::Desync(report) => match &mut self.spoiled {
                Some((spoiled, found)) if *spoiled == node && report.difference.is_some() => {
                    let words = report.to_string();
                    *found = words.contains(" here, ") && report.bundle.is_some();
                }
                Some(_) => {}
                None => {
                    // Where that began says more.
                    let began = self.compare_all().err();
                    let began = began.map_or_else(String::new, |breach| breach.what);
                    let what = format!("{report}; {began}");
                    return Err(self.breach(Promise::SameState, what));
                }
            },
            MatchEvent::Session(SessionEvent::Reconnecting { .. } | SessionEvent::Frozen) => {
                // What it simulated since it was dropped does not count.
                if let Some(at) = self.programs.iter().position(|known| known.node == node) {
                    self.collect(at)?;
                    let now = self.testbed.now();
                    self.programs[at].disown(now);
                }
            }
            MatchEvent::NotLoaded(error) => {
                return Err(self.breach(Promise::GoesOn, error.to_string()));
            }
            _ => {}
        }
        Ok(())
    }

    /// Everyone who is awake does something now and then.
    fn play(&mut self) {
        for node in self.playing() {
            let program = self.testbed.machine(node);
            let players: Vec<PlayerId> = program.map_or_else(Vec::new, |known| {
                known.game.session().my_players().collect()
            });
            for at in 0..players.len().max(1) {
                if !self.rng.chance(0.15) {
                    continue;
                }
                let shepherd = Shepherd {
                    walk: self.rng.range(0..8) as u8,
                    shout: self.rng.chance(0.4).then(|| self.rng.range(0..250) as u8),
                };
                let Some(player) = players.get(at).copied() else {
                    continue;
                };
                let taken = self.testbed.with(node, |now, program| {
                    !program.is_paused(now) && program.game.input(now, player, &shepherd)
                });
                self.given += u64::from(taken == Some(true));
            }
        }
    }

    fn breach(&self, promise: Promise, what: String) -> Breach {
        Breach {
            at: self.testbed.now(),
            promise,
            what,
        }
    }

    fn trace(&mut self, line: impl FnOnce() -> String) {
        let now = self.testbed.now().as_secs_f64();
        if let Some(trace) = &mut self.trace {
            trace(format!("{now:9.3} {}", line()));
        }
    }
}

fn short(event: &MatchEvent) -> String {
    match event {
        MatchEvent::Session(event) => format!("{event:?}"),
        MatchEvent::Desync(report) => report.to_string(),
        event => format!("{event:?}"),
    }
}
