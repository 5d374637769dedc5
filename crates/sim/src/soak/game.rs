//! The suites `lockstep` and `rollback`: a game through storms and calms, in which everyone must see the same at every tick.

mod recorded;
mod settings;
mod storm;
mod test_game;
mod verdict;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use samestep_netem::Rng;
use samestep_session::{JoinTo, Match, MatchEvent, Role, SessionConfig, SessionEvent, Silence};
use samestep_sync::{ModelEvent, PlayerId, Tick};

use super::conditions::good_link;
use super::players::{SoakMatch, SoakProgram};
use super::{Outcome, Pausable, Trace};
use crate::check::{Breach, Promise, ResolvedOnce};
use crate::{NodeId, Pace, ReceiveTime, Topology};
use recorded::RecordedWorld;
use settings::ProgramKind;
pub(super) use settings::Settings;
use storm::Stalls;
use test_game::{TestEvent, TestGame, TestInput};

/// Runs the world of `seed`, played with a model that has such settings: inputs given, and what went wrong.
pub(super) fn run<S: Settings>(seed: u64, trace: Trace<'_>) -> Outcome {
    let mut script: Script<'_, S> = Script::new(seed, trace);
    // In every fourth game a state is spoiled at the end, to be found and repaired.
    script.spoil = seed % 4 == 3;
    let result = script.run();
    (script.room.given, result)
}

struct Script<'t, S: Settings> {
    room: SoakMatch<'t, RecordedWorld, S::Model, Notes>,
    seed: u64,
    topology: Topology,
    settings: S,
    /// The checksum of every tick, and who recorded it first.
    states: BTreeMap<Tick, (u64, NodeId)>,
    /// The events of every tick, and who recorded them first.
    events: BTreeMap<Tick, (Vec<TestEvent>, NodeId)>,
    /// How long the programs stand still while only the links are bad.
    stalls: Option<Stalls>,
    all_is_well: bool,
    /// One state is changed by hand, to see that found and repaired.
    spoil: bool,
    spoiled: Option<(NodeId, bool)>,
}

/// What is noted of a program.
struct Notes {
    kind: ProgramKind,
    /// What it recorded, and when.
    records: VecDeque<(Duration, TickRecord)>,
    /// When it was no member the last time.
    disowned: Duration,
    events: ResolvedOnce<TestEvent>,
}

impl Notes {
    /// It is no member: what it recorded since it was one does not count.
    fn disown(&mut self, now: Duration) {
        self.records.clear();
        self.disowned = now;
    }
}

/// What a program tells of a tick.
struct TickRecord {
    tick: Tick,
    /// The checksum of the state at this tick.
    checksum: u64,
    /// What happened in the tick before, if it was simulated here.
    events: Option<Vec<TestEvent>>,
}

impl<'t, S: Settings> Script<'t, S> {
    fn new(seed: u64, trace: Trace<'t>) -> Self {
        let mut rng = Rng::stream(seed, 4);
        let settings = S::random(&mut rng);
        let mut room = SoakMatch::new(seed, rng, trace);
        let topology = match room.rng.chance(0.4) {
            true => Topology::Mesh,
            false => Topology::Hosted,
        };
        Script {
            room,
            seed,
            topology,
            settings,
            states: BTreeMap::new(),
            events: BTreeMap::new(),
            stalls: None,
            all_is_well: false,
            spoil: false,
            spoiled: None,
        }
    }

    fn run(&mut self) -> Result<(), Breach> {
        if self.spoil {
            self.settings.set_check_every(60);
        }
        let terms = format!("{:?} {:?}", self.topology, self.settings);
        self.room.trace(|| terms);
        self.room.testbed.set_links(good_link());
        let opener = self.room.testbed.add_node();
        self.start(opener, self.topology.opening(), ProgramKind::PLAYER);
        for _ in 0..S::first_guests(&mut self.room.rng) {
            self.join(None);
        }
        self.run_for(Duration::from_secs(2))?;
        self.room
            .testbed
            .with(opener, |now, program| program.game.session_mut().start(now));
        self.run_for(Duration::from_secs(2))?;
        let storms = self.room.rng.range(1..3);
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

    fn start(&mut self, node: NodeId, role: Role, kind: ProgramKind) {
        let mut config = SessionConfig::new("testing", 1);
        for number in 0..kind.players {
            config = match number {
                0 => config.player(&format!("player A {}", node.0)),
                _ => config.player(&format!("2nd {}", node.0)),
            };
        }
        config.rejoin_grace = Duration::from_secs(8);
        config.silence = Silence::Drop {
            after: Duration::from_secs(2),
        };
        let (model, seed) = (self.settings.clone().model(), self.seed);
        self.room.testbed.set_drift(node, kind.drift_ppm);
        if let Some(period) = kind.frames {
            let pace = Pace::Frames { period };
            self.room.testbed.set_pace(node, pace, ReceiveTime::Arrival);
        }
        self.room.testbed.start(node, |now, random| {
            let world = RecordedWorld::new(TestGame::new(seed));
            let game = Match::new(now, config, role, random, model, world);
            Pausable::new(game.expect("settings that make sense"))
        });
        let now = self.room.testbed.now();
        match self.room.program(node) {
            Some(program) => {
                program.running = true;
                program.notes.disowned = now;
                program.notes.events = ResolvedOnce::default();
            }
            None => self.room.programs.push(SoakProgram {
                node,
                running: true,
                secret: None,
                notes: Notes {
                    kind,
                    records: VecDeque::new(),
                    disowned: now,
                    events: ResolvedOnce::default(),
                },
            }),
        }
    }

    /// Somebody new, or somebody who was here before, joins.
    fn join(&mut self, who: Option<usize>) {
        let through = match self.topology {
            Topology::Hosted => NodeId(0),
            Topology::Mesh => {
                let inside: Vec<NodeId> = self.room.playing();
                let Some(through) = self.room.pick(&inside) else {
                    return;
                };
                through
            }
        };
        let mut to = JoinTo::new(self.room.testbed.address(through));
        let (node, kind) = match who {
            None => (
                self.room.testbed.add_node(),
                S::kind(&mut self.room.rng, self.topology.is_mesh()),
            ),
            Some(index) => {
                let program = &self.room.programs[index];
                to.rejoin = program.secret;
                (program.node, program.notes.kind)
            }
        };
        self.room
            .trace(|| format!("{node:?} joins through {through:?} with {kind:?}"));
        let role = match self.topology {
            Topology::Hosted if kind.watches() => Role::Spectator(to),
            topology => topology.joining(to),
        };
        self.start(node, role, kind);
    }

    fn end(&mut self, node: NodeId) {
        if let Some(notes) = self.room.end(node) {
            notes.records.clear();
        }
    }

    fn run_for(&mut self, time: Duration) -> Result<(), Breach> {
        let end = self.room.testbed.now() + time;
        while self.room.testbed.now() < end {
            let pause = (self.room.testbed.now() + Duration::from_millis(20)).min(end);
            while let Some((_, node, event)) = self.room.testbed.next(pause) {
                self.on_event(node, event)?;
            }
            self.compare()?;
            self.watch_stalls()?;
            self.play();
        }
        Ok(())
    }

    fn on_event(&mut self, node: NodeId, event: MatchEvent) -> Result<(), Breach> {
        if !matches!(event, MatchEvent::Session(SessionEvent::RoomChanged)) {
            self.room.trace(|| format!("{node:?}: {}", short(&event)));
        }
        match event {
            MatchEvent::Session(SessionEvent::Left { reason }) => {
                self.end(node);
                if node.0 == 0 && !self.topology.is_mesh() {
                    return Err(self
                        .room
                        .breach(Promise::GoesOn, format!("the host left: {reason}")));
                }
            }
            MatchEvent::Model(ModelEvent::Desync(report)) => match &mut self.spoiled {
                Some((spoiled, found)) if *spoiled == node && report.difference.is_some() => {
                    let text = report.to_string();
                    *found = text.contains(" here, ") && report.bundle.is_some();
                }
                Some(_) => {}
                None => {
                    // Where that began says more.
                    let began = self.compare_all().err();
                    let began = began.map_or_else(String::new, |breach| breach.what);
                    let what = format!("{report}; {began}");
                    return Err(self.room.breach(Promise::SameState, what));
                }
            },
            MatchEvent::Session(SessionEvent::Reconnecting { .. } | SessionEvent::Frozen) => {
                // What it simulated since it was dropped does not count.
                if let Some(at) = self
                    .room
                    .programs
                    .iter()
                    .position(|known| known.node == node)
                {
                    self.collect(at)?;
                    let now = self.room.testbed.now();
                    self.room.programs[at].notes.disown(now);
                }
            }
            MatchEvent::NotLoaded(error) => {
                return Err(self.room.breach(Promise::GoesOn, error.to_string()));
            }
            _ => {}
        }
        Ok(())
    }

    /// Everyone who is awake does something now and then.
    fn play(&mut self) {
        for node in self.room.playing() {
            let program = self.room.testbed.machine(node);
            let players: Vec<PlayerId> = program.map_or_else(Vec::new, |known| {
                known.game.session().my_players().collect()
            });
            for at in 0..players.len().max(1) {
                if !self.room.rng.chance(0.15) {
                    continue;
                }
                let input = TestInput {
                    turn: self.room.rng.range(0..8) as u8,
                    command: self
                        .room
                        .rng
                        .chance(0.4)
                        .then(|| self.room.rng.range(0..250) as u8),
                };
                let Some(player) = players.get(at).copied() else {
                    continue;
                };
                let taken = self.room.testbed.with(node, |now, program| {
                    !program.is_paused(now) && program.game.input(now, player, &input)
                });
                self.room.given += u64::from(taken == Some(true));
            }
        }
    }
}

fn short(event: &MatchEvent) -> String {
    match event {
        MatchEvent::Session(event) => format!("{event:?}"),
        MatchEvent::Model(ModelEvent::Desync(report)) => report.to_string(),
        MatchEvent::Model(event) => format!("{event:?}"),
        event => format!("{event:?}"),
    }
}
