//! A match whose host is lost: how long those who are left stand still, and whether anything is lost that was told to be certain.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_netem::{LinkConfig, Loss, Rng};
use samestep_session::{
    JoinTo, Match, MatchEvent, Role, SessionConfig, SessionEvent, Silence, State,
};
use samestep_sync::{
    EventStage, Events, Input, Inputs, Live, Model, ModelConfig, ModelKind, PlayerId, Record,
    Replicate, Simulation, Wire,
};

use crate::check::{Breach, Promise};
use crate::soak::{Outcome, Trace};
use crate::{NodeId, Testbed};

/// How the host is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostLoss {
    /// It falls silent from one moment to the next, as a program does that is killed.
    Dies,
    /// It says that it leaves.
    Leaves,
    /// It dies, and so does the next one, three seconds later.
    Twice,
    /// It dies while somebody joins.
    WhileJoining,
}

impl HostLoss {
    /// All of them.
    pub const ALL: [HostLoss; 4] = [
        HostLoss::Dies,
        HostLoss::Leaves,
        HostLoss::Twice,
        HostLoss::WhileJoining,
    ];

    /// Its name in plans.
    pub const fn name(self) -> &'static str {
        match self {
            HostLoss::Dies => "dies",
            HostLoss::Leaves => "leaves",
            HostLoss::Twice => "twice",
            HostLoss::WhileJoining => "while-joining",
        }
    }
}

/// A match, and what becomes of its host.
#[derive(Clone, Debug)]
pub struct Migration {
    /// The model.
    pub model: ModelConfig,
    /// Programs with a player each, the host's among them.
    pub players: usize,
    /// The link between any two.
    pub link: LinkConfig,
    /// What becomes of the host.
    pub loss: HostLoss,
    /// How many standbys the host wants.
    pub standbys: usize,
    /// Whether it is a mesh: its leader is lost, and all others follow it.
    pub mesh: bool,
}

/// What became of a match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MigrationOutcome {
    /// The longest time in which the confirmed tick of each who was left did not advance.
    pub standstills: Vec<Duration>,
    /// The longest time in which the picture of each who was left did not move.
    pub frozen_pictures: Vec<Duration>,
    /// Events that were confirmed somewhere and did not happen, or happened again.
    pub events_lost: usize,
    /// Inputs that were taken from players who were left, and came to nothing.
    pub inputs_lost: usize,
    /// What else went wrong.
    pub broken: Vec<String>,
    /// Inputs given.
    pub given: u64,
}

/// Counts what each player has done, in order.
#[derive(Clone, Default, Replicate)]
struct Tally {
    /// The last number of each player.
    last: [u32; 32],
    /// Numbers that did not follow the one before.
    gaps: u32,
    /// The last of these: the player, the number before, and the number.
    last_gap: [u32; 3],
    /// Changes with every tick.
    mix: u32,
    hand: Hand,
}

/// The hand of a clock: what would be seen to stand still.
#[derive(Clone, Copy, Default, Record)]
struct Hand {
    /// Moves by a thousand with every tick, and between ticks in a picture.
    #[field(blend = "linear")]
    position: u32,
}

/// A player counts.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Count(Option<u32>);

impl Input for Count {
    fn predict(&self) -> Self {
        Count(None)
    }
}

/// A player has counted to a number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Wire)]
struct Counted(PlayerId, u32);

impl Simulation for Tally {
    type Input = Count;
    type Event = Counted;
    const NAME: &'static str = "tally";

    fn step(&mut self, inputs: &Inputs<'_, Count>, events: &mut Events<Counted>) {
        self.mix = self.mix.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.hand.position = 1000 * inputs.tick().0 as u32;
        for (player, input) in inputs.iter() {
            if let Some(number) = input.0 {
                let last = &mut self.last[usize::from(player.0) % 32];
                if number != *last + 1 {
                    self.gaps += 1;
                    self.last_gap = [player.0.into(), *last, number];
                }
                *last = number;
                self.mix ^= number << (player.0 % 8);
                events.emit(Counted(player, number));
            }
        }
    }
}

type Program = Match<Live<Tally>, Box<dyn Model + Send>>;

/// A program as it is watched.
#[derive(Default)]
struct Watched {
    /// The last number that was taken from its player.
    given: u32,
    confirmed_tick: u64,
    progress: Progress,
    picture: Progress,
    /// The position of the hand in the picture.
    hand: u32,
    confirmed: BTreeMap<Counted, u64>,
    events_twice: usize,
}

/// How far something has got that should never stand still.
#[derive(Clone, Copy, Default)]
struct Progress {
    advanced_at: Duration,
    longest: Duration,
}

impl Progress {
    fn advance(&mut self, now: Duration) {
        self.longest = self.longest(now);
        self.advanced_at = now;
    }

    /// The longest standstill so far.
    fn longest(&self, now: Duration) -> Duration {
        self.longest.max(now - self.advanced_at)
    }

    /// Forgets what has been.
    fn restart(&mut self, now: Duration) {
        (self.advanced_at, self.longest) = (now, Duration::ZERO);
    }
}

struct World<'m> {
    migration: &'m Migration,
    testbed: Testbed<Program>,
    watched: BTreeMap<NodeId, Watched>,
    lost_at: Option<Duration>,
    outcome: MigrationOutcome,
    trace: &'m mut dyn FnMut(String),
}

/// A silent member of a mesh is excluded after this time.
const SILENCE: Duration = Duration::from_millis(1200);
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(5);
/// How often a player does something.
const INPUT_EVERY: u32 = 15;
/// The longest that survivors may stand still, over any link.
const LONGEST: Duration = Duration::from_secs(3);
/// A standstill is looked for from the loss on for so long.
const AFTERMATH: Duration = Duration::from_secs(8);

impl Migration {
    /// A match with default settings over a link.
    pub fn new(model: ModelConfig, players: usize, latency: Duration, loss: HostLoss) -> Self {
        Migration {
            model,
            players,
            link: LinkConfig {
                latency,
                loss: Loss::Bernoulli(0.05),
                ..LinkConfig::default()
            },
            loss,
            standbys: 2,
            mesh: false,
        }
    }

    /// Plays the match of a seed.
    pub fn run(&self, seed: u64, trace: &mut dyn FnMut(String)) -> MigrationOutcome {
        let mut world = World {
            migration: self,
            testbed: Testbed::new(seed),
            watched: BTreeMap::new(),
            lost_at: None,
            outcome: MigrationOutcome::default(),
            trace,
        };
        world.testbed.set_links(self.link.clone());
        if let Err(words) = world.play(seed) {
            world.outcome.broken.push(words);
        }
        world.outcome
    }
}

/// Runs the random match of a seed.
pub(crate) fn run_random(seed: u64, mut trace: Trace<'_>) -> Outcome {
    let mut rng = Rng::stream(seed, 9);
    let mut pick = |count: usize| rng.range(0..count as u64) as usize;
    let kind = ModelKind::ALL[pick(ModelKind::ALL.len())];
    let loss = HostLoss::ALL[pick(HostLoss::ALL.len())];
    let least = if loss == HostLoss::Twice { 3 } else { 2 };
    let players = least + pick(7);
    let latency = Duration::from_millis([5, 10, 25, 50, 100][pick(5)]);
    let mut migration = Migration::new(kind.config(), players, latency, loss);
    migration.standbys = 1 + pick(4);
    migration.link.loss = Loss::Bernoulli([0.0, 0.01, 0.05, 0.1][pick(4)]);
    // In a mesh a lost member is excluded by those who are left, if they are more than half.
    let decides = kind
        .config()
        .build()
        .is_ok_and(|model| model.has_authority());
    let losses = if loss == HostLoss::Twice { 2 } else { 1 };
    let may_be_mesh = decides && players > 2 * losses;
    migration.mesh = may_be_mesh && pick(2) == 0;
    let mut tell = |line: String| {
        if let Some(trace) = &mut trace {
            trace(line);
        }
    };
    tell(format!("{migration:?}"));
    let outcome = migration.run(seed, &mut tell);
    (outcome.given, outcome.verdict())
}

impl MigrationOutcome {
    /// What is promised of every match, whatever the link: the same state everywhere, nothing lost that was certain or given, and a host in time.
    fn verdict(&self) -> Result<(), Breach> {
        let end = Duration::ZERO;
        if let Some(words) = self.broken.first() {
            return Err(Promise::SameState.breach(end, words.clone()));
        }
        if self.events_lost + self.inputs_lost > 0 {
            let (events, inputs) = (self.events_lost, self.inputs_lost);
            let words = format!("{events} confirmed events and {inputs} inputs are lost");
            return Err(Promise::SameState.breach(end, words));
        }
        match self.standstills.iter().max() {
            Some(longest) if *longest > LONGEST => {
                let words = format!("a survivor stood still for {longest:?}");
                Err(Promise::GoesOn.breach(end, words))
            }
            _ => Ok(()),
        }
    }
}

impl World<'_> {
    fn start(&mut self, role: Role) -> NodeId {
        let node = self.testbed.add_node();
        let mut config = SessionConfig::new("tally", 1).player(&format!("player {}", node.0));
        (config.standbys, config.may_host) = (Some(self.migration.standbys), Some(true));
        config.capacity = 32;
        if self.migration.mesh {
            config.silence = Silence::Drop { after: SILENCE };
        }
        let model = self
            .migration
            .model
            .build()
            .expect("settings that make sense");
        self.testbed.start(node, |now, seed| {
            let world = Live::without_recording(Tally::default());
            Match::new(now, config, role, seed, model, world).expect("settings that make sense")
        });
        self.watched.insert(node, Watched::default());
        node
    }

    fn join(&mut self, host: NodeId) -> NodeId {
        let to = JoinTo::new(self.testbed.address(host));
        self.start(match self.migration.mesh {
            true => Role::Peer(to),
            false => Role::Client(to),
        })
    }

    fn play(&mut self, seed: u64) -> Result<(), String> {
        let mesh = self.migration.mesh;
        let host = self.start(if mesh { Role::Introducer } else { Role::Host });
        for _ in 1..self.migration.players {
            self.join(host);
            self.run_for(Duration::from_millis(20), false);
        }
        let players = self.migration.players;
        let standbys = self.migration.standbys.min(players - 1);
        self.until("the room did not fill", move |game| {
            let room = game.session().room();
            room.players().len() == players && *game.session().state() == State::InSync
        })?;
        self.testbed
            .with(host, |now, game| game.session_mut().start(now));
        self.until("nobody stands by", move |game| {
            (mesh || game.session().standbys().len() == standbys) && game.status().running
        })?;
        // The moment within a tick, and within a round of beats, is any.
        let moment = Duration::from_micros(3_000_000 + seed.wrapping_mul(7_919) % 400_000);
        self.run_for(moment, true);
        if self.migration.loss == HostLoss::WhileJoining {
            self.join(host);
            self.run_for(self.migration.link.latency * 3, true);
        }
        self.lose(host);
        self.run_for(Duration::from_secs(3), true);
        if self.migration.loss == HostLoss::Twice {
            let next = self.host()?;
            self.lose(next);
        }
        self.run_for(AFTERMATH, true);
        self.settle()
    }

    fn lose(&mut self, host: NodeId) {
        (self.trace)(format!(
            "{:?} {host:?} {:?}",
            self.testbed.now(),
            self.migration.loss
        ));
        self.lost_at = Some(self.testbed.now());
        let now = self.testbed.now();
        for watched in self.watched.values_mut() {
            watched.progress.advanced_at = now;
            watched.picture.advanced_at = now;
        }
        if self.migration.loss == HostLoss::Leaves {
            self.testbed
                .with(host, |now, game| game.session_mut().leave(now, "supper"));
        } else {
            self.testbed.kill(host);
            self.watched.remove(&host);
        }
    }

    fn host(&self) -> Result<NodeId, String> {
        let hosts = |node: &&NodeId| {
            let game = self.testbed.machine(**node);
            game.is_some_and(|game| game.session().is_authority())
        };
        let mut all = self.watched.keys().filter(hosts);
        let host = all.next().copied().ok_or("nobody hosts")?;
        match all.next() {
            Some(other) => Err(format!("{host:?} and {other:?} both host")),
            None => Ok(host),
        }
    }

    fn until(&mut self, words: &str, so: impl Fn(&Program) -> bool) -> Result<(), String> {
        for _ in 0..3000 {
            self.run_for(Duration::from_millis(10), false);
            let games = self
                .watched
                .keys()
                .filter_map(|node| self.testbed.machine(*node));
            if games.into_iter().all(&so) {
                return Ok(());
            }
        }
        Err(words.to_owned())
    }

    fn run_for(&mut self, time: Duration, plays: bool) {
        let end = self.testbed.now() + time;
        let mut looks = 0;
        while self.testbed.now() < end {
            let pause = (self.testbed.now() + LOOK).min(end);
            while let Some((at, node, event)) = self.testbed.next(pause) {
                self.on_event(at, node, event);
            }
            looks += 1;
            self.look(plays, looks);
        }
    }

    fn on_event(&mut self, at: Duration, node: NodeId, event: MatchEvent) {
        (self.trace)(format!("{at:?} {node:?} {event:?}"));
        if let MatchEvent::Session(SessionEvent::Left { .. }) = &event {
            // It stays until its last words have arrived.
            self.watched.remove(&node);
        }
    }

    fn look(&mut self, plays: bool, looks: u32) {
        let now = self.testbed.now();
        for (node, watched) in &mut self.watched {
            let turn = plays && (looks + u32::from(node.0) * 4).is_multiple_of(INPUT_EVERY);
            let (given, mut told) = (&mut self.outcome.given, Vec::new());
            self.testbed.with(*node, |local, game| {
                let player = game.session().my_players().next();
                if let Some(player) = player.filter(|_| turn)
                    && game.command(local, player, &Count(Some(watched.given + 1)))
                {
                    watched.given += 1;
                    *given += 1;
                }
                while let Some(event) = game.world_mut().poll_event() {
                    let tick = event.tick.0;
                    if event.stage != EventStage::Confirmed {
                        continue;
                    }
                    let Counted(player, number) = event.event;
                    if let Some(before) = watched.confirmed.insert(event.event, tick) {
                        let words = format!("{player} {number} at {before} and at {tick}");
                        told.push(format!("{now:?} {node:?} confirmed twice: {words}"));
                        watched.events_twice += 1;
                    }
                }
                let hand = game.shown(local).hand.position;
                if hand > watched.hand {
                    watched.picture.advance(now);
                    watched.hand = hand;
                }
                let tick = game.status().confirmed_tick.0;
                if tick > watched.confirmed_tick || watched.progress.advanced_at.is_zero() {
                    watched.progress.advance(now);
                } else if tick < watched.confirmed_tick && *game.session().state() == State::InSync
                {
                    // It goes on from an earlier state: it stood still until it is where it was.
                    return;
                }
                watched.confirmed_tick = tick;
            });
            told.into_iter().for_each(&mut *self.trace);
            if self.lost_at.is_none() {
                watched.progress.restart(now);
                watched.picture.restart(now);
            }
        }
    }

    /// Nobody does anything any more: everyone comes to the same end.
    fn settle(&mut self) -> Result<(), String> {
        let host = self.host()?;
        let now = self.testbed.now();
        let joined_late = self.migration.loss == HostLoss::WhileJoining;
        let played = self.watched.values();
        for watched in played.filter(|watched| !joined_late || watched.given > 0) {
            let outcome = &mut self.outcome;
            outcome.standstills.push(watched.progress.longest(now));
            outcome.frozen_pictures.push(watched.picture.longest(now));
        }
        self.run_for(Duration::from_secs(4), false);
        let state = |node: NodeId| {
            let game = self.testbed.machine(node);
            game.map(|game| game.world().state().clone())
                .unwrap_or_default()
        };
        let last = state(host);
        for (node, watched) in &self.watched {
            let Some(game) = self.testbed.machine(*node) else {
                continue;
            };
            if *game.session().state() != State::InSync {
                let words = format!("{node:?} is {:?}", game.session().state());
                self.outcome.broken.push(words);
                continue;
            }
            let here = state(*node);
            if here.last != last.last || here.gaps != last.gaps {
                let words = format!(
                    "{node:?} has another state: {:?} {:?}",
                    here.last, last.last
                );
                self.outcome.broken.push(words);
            }
            let Some(player) = game.session().my_players().next() else {
                continue;
            };
            let arrived = last.last[usize::from(player.0) % 32];
            if arrived != watched.given {
                let words = format!("{node:?}: {} inputs of {}", arrived, watched.given);
                (self.trace)(words);
                self.outcome.inputs_lost += watched.given.abs_diff(arrived) as usize;
            }
            for (event, tick) in &watched.confirmed {
                if event.1 > last.last[usize::from(event.0.0) % 32] {
                    let words = format!("{} {} at {tick}", event.0, event.1);
                    (self.trace)(format!(
                        "{node:?} was told of {words}, which did not happen"
                    ));
                    self.outcome.events_lost += 1;
                }
            }
            self.outcome.events_lost += watched.events_twice;
        }
        if last.gaps > 0 {
            let [player, before, number] = last.last_gap;
            let words = format!(
                "{} gaps, player {player}: {number} after {before}",
                last.gaps
            );
            self.outcome.broken.push(words);
        }
        Ok(())
    }
}
