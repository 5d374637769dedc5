//! The suite `lockstep`: a game through storms and calms, in which everyone must see the same at every tick.

mod pasture;
mod shepherd;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use samestep_netem::Rng;
use samestep_session::{
    JoinTo, Match, MatchEvent, Presence, RejoinSecret, Role, SessionConfig, SessionEvent, Silence,
    State,
};
use samestep_sync::{Length, Lockstep, LockstepConfig, PlayerId, SlowMachine, Tick};

use super::weather::{Climate, fair};
use crate::check::{Breach, Promise};
use crate::{Fleet, NodeId};
use pasture::{Pasture, Shepherd};
use shepherd::{Shepherding, Told};

/// How long members of a mesh take to know who is none any more.
const MEMBERS_KNOW: Duration = Duration::from_secs(6);
/// Programs at the same time.
const MOST: usize = 8;

/// Runs the world of `seed`: inputs given, and what went wrong.
pub(super) fn run(
    seed: u64,
    spoil: bool,
    trace: Option<&mut dyn FnMut(String)>,
) -> (u64, Result<(), Breach>) {
    let mut script = Script::new(seed, trace);
    script.spoil = spoil;
    let result = script.run();
    (script.given, result)
}

struct Script<'t> {
    rng: Rng,
    seed: u64,
    fleet: Fleet<Shepherding>,
    climate: Climate,
    mesh: bool,
    lockstep: LockstepConfig,
    programs: Vec<Program>,
    /// The check value of every tick, and who told it first.
    states: BTreeMap<Tick, (u64, NodeId)>,
    given: u64,
    all_is_well: bool,
    /// One state is changed by hand, to see that found and repaired.
    spoil: bool,
    spoiled: Option<(NodeId, bool)>,
    trace: Option<&'t mut dyn FnMut(String)>,
}

struct Program {
    node: NodeId,
    running: bool,
    secret: Option<RejoinSecret>,
    /// States it told of, and when.
    told: VecDeque<(Duration, Tick, u64)>,
}

impl<'t> Script<'t> {
    fn new(seed: u64, trace: Option<&'t mut dyn FnMut(String)>) -> Script<'t> {
        let mut rng = Rng::stream(seed, 4);
        let mut length = |most: u64| match rng.chance(0.5) {
            true => Length::Fixed(1 + rng.range(0..most)),
            false => Length::Dynamic { least: 1, most },
        };
        let (turn, delay) = (length(15), length(15));
        let slow = match rng.range(0..3) {
            0 => SlowMachine::GoOn,
            1 => SlowMachine::Wait { behind: 60 },
            _ => SlowMachine::Ease {
                behind: 30,
                percent: 10,
            },
        };
        let check_every = [0, 15, 60, 100][rng.range(0..4) as usize];
        Script {
            climate: Climate::random(&mut rng),
            mesh: rng.chance(0.4),
            lockstep: LockstepConfig {
                turn,
                delay,
                slow,
                check_every,
                ..LockstepConfig::default()
            },
            fleet: Fleet::new(seed),
            programs: Vec::new(),
            states: BTreeMap::new(),
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
            self.lockstep.check_every = 60;
        }
        let terms = format!(
            "{} {:?}",
            if self.mesh { "mesh" } else { "hosted" },
            self.lockstep
        );
        self.trace(|| terms);
        self.fleet.set_links(fair());
        let opener = self.fleet.add_node();
        let role = match self.mesh {
            true => Role::Introducer,
            false => Role::Host,
        };
        self.start(opener, role);
        for _ in 0..self.rng.range(1..5) {
            self.join(None);
        }
        self.run_for(Duration::from_secs(2))?;
        self.fleet
            .with(opener, |now, program| program.game.session_mut().start(now));
        self.run_for(Duration::from_secs(2))?;
        let storms = self.rng.range(1..3);
        for _ in 0..storms {
            self.storm()?;
            self.calm()?;
        }
        if self.spoil {
            self.spoil_one()?;
        }
        Ok(())
    }

    fn start(&mut self, node: NodeId, role: Role) {
        let mut config = SessionConfig::new("pasture", 1).player(&format!("shepherd {}", node.0));
        config.rejoin_grace = Duration::from_secs(8);
        config.silence = Silence::Drop {
            after: Duration::from_secs(2),
        };
        let (lockstep, seed) = (self.lockstep.clone(), self.seed);
        self.fleet.start(node, |now, random| {
            let model = Lockstep::new(lockstep).expect("settings that make sense");
            let world = Told::new(Pasture::new(seed));
            let game = Match::new(now, config, role, random, model, world);
            Shepherding::new(game.expect("settings that make sense"))
        });
        match self
            .programs
            .iter_mut()
            .find(|program| program.node == node)
        {
            Some(program) => program.running = true,
            None => self.programs.push(Program {
                node,
                running: true,
                secret: None,
                told: VecDeque::new(),
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
        let mut to = JoinTo::new(self.fleet.address(through));
        let node = match who {
            None => self.fleet.add_node(),
            Some(index) => {
                to.rejoin = self.programs[index].secret;
                self.programs[index].node
            }
        };
        self.trace(|| format!("{node:?} joins through {through:?}"));
        let role = match self.mesh {
            true => Role::Peer(to),
            false => Role::Client(to),
        };
        self.start(node, role);
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
            let machine = self.fleet.machine(*node);
            machine.is_some_and(|program| *program.game.session().state() == State::InSync)
        };
        nodes.filter(in_sync).collect()
    }

    fn storm(&mut self) -> Result<(), Breach> {
        let weather = self.climate.weather(&mut self.rng);
        self.trace(|| format!("storm: {weather}"));
        self.fleet.set_links(weather);
        let end = self.fleet.now() + Duration::from_secs(self.rng.range(4..12));
        while self.fleet.now() < end {
            self.run_for(Duration::from_millis(100))?;
            if self.rng.chance(0.08) {
                self.disturb();
            }
        }
        Ok(())
    }

    fn disturb(&mut self) {
        let playing = self.playing();
        // A host that is gone takes its room with it.
        let may_go: Vec<NodeId> = playing
            .iter()
            .copied()
            .filter(|node| self.mesh || node.0 != 0)
            .collect();
        let running = self
            .programs
            .iter()
            .filter(|program| program.running)
            .count();
        match self.rng.range(0..6) {
            0 if running < MOST => self.join(None),
            1 => {
                let gone: Vec<usize> = (0..self.programs.len())
                    .filter(|at| !self.programs[*at].running)
                    .collect();
                if let Some(at) = gone.get(self.rng.range(0..gone.len().max(1) as u64) as usize) {
                    self.join(Some(*at));
                }
            }
            2 | 3 if playing.len() > 3 && (!self.mesh || self.is_settled()) => {
                let Some(node) = self.pick(&may_go) else {
                    return;
                };
                let gracefully = self.rng.chance(0.5);
                self.trace(|| {
                    format!(
                        "{node:?} goes{}",
                        if gracefully { "" } else { " without a word" }
                    )
                });
                if gracefully {
                    self.fleet.with(node, |now, program| {
                        program.game.session_mut().leave(now, "bye")
                    });
                } else {
                    self.end(node);
                    self.fleet.kill(node);
                }
            }
            _ => {
                let Some(node) = self.pick(&playing) else {
                    return;
                };
                let sleep = Duration::from_millis(self.rng.range(300..4000));
                self.trace(|| format!("{node:?} is frozen for {sleep:?}"));
                self.fleet
                    .with(node, |now, program| program.sleep_until(now + sleep));
            }
        }
    }

    /// Whether everyone listed is there and awake: a mesh that loses one after the other keeps its majority, one that loses
    /// half of its members at once rightly stands still.
    fn is_settled(&self) -> bool {
        let playing = self.playing();
        playing.iter().all(|node| {
            self.fleet.machine(*node).is_some_and(|program| {
                let peers = program.game.session().room().peers();
                let all_there = peers.iter().all(|peer| peer.presence == Presence::InSync);
                all_there
                    && peers.len() == playing.len()
                    && !program.is_asleep(self.fleet.local(*node))
            })
        })
    }

    fn end(&mut self, node: NodeId) {
        let secret = self
            .fleet
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

    /// The weather clears; soon everyone plays on, together.
    fn calm(&mut self) -> Result<(), Breach> {
        self.trace(|| "calm".into());
        self.fleet.set_links(fair());
        self.run_for(Duration::from_secs(14))?;
        let ticks = |script: &Self| -> BTreeMap<NodeId, Tick> {
            let playing = script.playing().into_iter();
            playing
                .filter_map(|node| Some((node, script.fleet.machine(node)?.game.status().tick)))
                .collect()
        };
        let before = ticks(self);
        self.run_for(Duration::from_secs(2))?;
        let after = ticks(self);
        let newest = after.values().max().copied().unwrap_or_default();
        for (node, tick) in &after {
            let Some(was) = before.get(node) else {
                continue;
            };
            if tick.since(*was) < 100 {
                return Err(self.breach(
                    Promise::GoesOn,
                    format!(
                        "{node:?} stands still at tick {tick}: {}",
                        self.words(*node)
                    ),
                ));
            }
            if newest.since(*tick) > 45 {
                return Err(self.breach(
                    Promise::GoesOn,
                    format!(
                        "{node:?} is at tick {tick}, others at {newest}: {}",
                        self.words(*node)
                    ),
                ));
            }
        }
        let running: Vec<NodeId> = self
            .programs
            .iter()
            .filter(|program| program.running)
            .map(|program| program.node)
            .collect();
        match running.iter().find(|node| !after.contains_key(node)) {
            Some(node) => Err(self.breach(
                Promise::GoesOn,
                format!("{node:?} does not take part: {}", self.words(*node)),
            )),
            None => {
                // Everyone is a member now: all that was told counts.
                self.all_is_well = true;
                self.compare()?;
                self.all_is_well = false;
                Ok(())
            }
        }
    }

    /// How things stand with everyone, a program first.
    fn words(&self, node: NodeId) -> String {
        let others = self.programs.iter().filter(|program| program.running);
        let others = others
            .map(|program| program.node)
            .filter(|other| *other != node);
        let mut words = String::new();
        for node in std::iter::once(node).chain(others) {
            if let Some(program) = self.fleet.machine(node) {
                let (session, model) = (program.game.session(), program.game.model());
                let me = session.me().map_or(u16::MAX, |peer| peer.0);
                let led_by = session.room().authority().0;
                let state = session.state();
                words += &format!(
                    "\n  {node:?}, peer {me} led by {led_by}, {state:?}: {}",
                    model.explain()
                );
            }
        }
        words
    }

    /// Changes one state by hand.
    fn spoil_one(&mut self) -> Result<(), Breach> {
        let playing: Vec<NodeId> = self.playing();
        let may: Vec<NodeId> = playing
            .iter()
            .copied()
            .filter(|node| playing.len() > 2 || node.0 != 0)
            .collect();
        let Some(node) = self.pick(&may) else {
            return Ok(());
        };
        self.trace(|| format!("{node:?} is spoiled"));
        self.spoiled = Some((node, false));
        self.fleet.with(node, |_, program| {
            program.game.world_mut().live.state_mut().spoil()
        });
        self.run_for(Duration::from_secs(5))?;
        match self.spoiled {
            Some((_, true)) => {}
            _ => {
                return Err(self.breach(
                    Promise::SameState,
                    format!("the spoiled state of {node:?} was not found"),
                ));
            }
        }
        self.spoiled = None;
        self.run_for(Duration::from_secs(2))
    }

    fn run_for(&mut self, time: Duration) -> Result<(), Breach> {
        let end = self.fleet.now() + time;
        while self.fleet.now() < end {
            let pause = (self.fleet.now() + Duration::from_millis(20)).min(end);
            while let Some((_, node, event)) = self.fleet.next(pause) {
                self.on_event(node, event)?;
            }
            self.compare()?;
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
                self.fleet.kill(node);
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
                None => return Err(self.breach(Promise::SameState, report.to_string())),
            },
            MatchEvent::Session(SessionEvent::Reconnecting { .. } | SessionEvent::Frozen) => {
                // What it simulated since it was dropped does not count.
                self.fleet
                    .with(node, |_, program| program.game.world_mut().states.clear());
                if let Some(program) = self.programs.iter_mut().find(|p| p.node == node) {
                    program.told.clear();
                }
            }
            MatchEvent::NotLoaded(error) => {
                return Err(self.breach(Promise::GoesOn, error.to_string()));
            }
            _ => {}
        }
        Ok(())
    }

    /// Everyone's state at a tick is the same.
    ///
    /// A member of a mesh that the others have dropped, because it was silent, goes on for some ticks before it learns of that,
    /// and then gets the state of the others. So what members say counts a little later, if they are members then.
    fn compare(&mut self) -> Result<(), Breach> {
        let now = self.fleet.now();
        let patience = match self.mesh && !self.all_is_well {
            true => MEMBERS_KNOW,
            false => Duration::ZERO,
        };
        for at in 0..self.programs.len() {
            let node = self.programs[at].node;
            let told = self.fleet.with(node, |_, program| {
                core::mem::take(&mut program.game.world_mut().states)
            });
            let disowned = self.mesh && self.is_disowned(node);
            let program = &mut self.programs[at];
            let told = told.unwrap_or_default().into_iter();
            program
                .told
                .extend(told.map(|(tick, checksum)| (now, tick, checksum)));
            if disowned || self.spoiled.is_some_and(|(spoiled, _)| spoiled == node) {
                program.told.clear();
            }
            while let Some((told_at, tick, checksum)) = self.programs[at].told.front().copied() {
                if now < told_at + patience {
                    break;
                }
                self.programs[at].told.pop_front();
                let (first, by) = *self.states.entry(tick).or_insert((checksum, node));
                if first != checksum {
                    let what = format!(
                        "{node:?} differs from {by:?} at tick {tick}: {}",
                        self.words(node)
                    );
                    return Err(self.breach(Promise::SameState, what));
                }
            }
        }
        Ok(())
    }

    /// Whether those who lead the room do not count a program among its members.
    fn is_disowned(&self, node: NodeId) -> bool {
        let Some(me) = self
            .fleet
            .machine(node)
            .and_then(|program| program.game.session().me())
        else {
            return true;
        };
        let leads = |other: &NodeId| {
            let program = self.fleet.machine(*other);
            program.is_some_and(|program| program.game.session().is_authority())
        };
        let others = self.playing().into_iter().filter(|other| *other != node);
        others.filter(leads).any(|other| {
            let room = self
                .fleet
                .machine(other)
                .map(|program| program.game.session().room());
            let listed = room.and_then(|room| room.peer(me));
            listed.is_none_or(|peer| peer.presence != Presence::InSync)
        })
    }

    /// Everyone who is awake does something now and then.
    fn play(&mut self) {
        for node in self.playing() {
            if !self.rng.chance(0.15) {
                continue;
            }
            let shepherd = Shepherd {
                walk: self.rng.range(0..8) as u8,
                shout: self.rng.chance(0.4).then(|| self.rng.range(0..250) as u8),
            };
            let taken = self.fleet.with(node, |now, program| {
                let player: Option<PlayerId> = program.game.session().my_players().next();
                !program.is_asleep(now)
                    && player.is_some_and(|player| program.game.input(now, player, &shepherd))
            });
            self.given += u64::from(taken == Some(true));
        }
    }

    fn breach(&self, promise: Promise, what: String) -> Breach {
        Breach {
            at: self.fleet.now(),
            promise,
            what,
        }
    }

    fn trace(&mut self, line: impl FnOnce() -> String) {
        let now = self.fleet.now().as_secs_f64();
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
