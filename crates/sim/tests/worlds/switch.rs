//! Games that change their model while they run: everything that players do takes effect once and in order, nobody waits long, and all see the same.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_netem::{LinkConfig, Loss};
use samestep_session::{JoinTo, Match, MatchEvent, Role, SessionConfig};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{
    Entities, EventStage, Events, Input, Inputs, Live, ModelEvent, ModelKind, Playback, PlayerId,
    Record, Replay, Replicate, Simulation, Switch, Tick, TimedEvent,
};
use samestep_wire::Wire;

const HOST: NodeId = NodeId(0);
const LOCKSTEP: usize = 0;
const ROLLBACK: usize = 1;
const SNAPSHOT: usize = 2;
const STATE_SYNC: usize = 3;
const REWIND: usize = 4;

/// A word with a number, and a key that is held.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Say {
    number: u32,
    walks: bool,
}

impl Input for Say {
    fn predict(&self) -> Self {
        Say {
            number: 0,
            walks: self.walks,
        }
    }
}

#[derive(Clone, Copy, Default, PartialEq, Debug, Record)]
struct Speaker {
    player: u16,
    /// The number heard last.
    last: u32,
    /// Numbers that did not follow the one before.
    wrong: u32,
    steps: u32,
    /// How many numbers were heard, and their sum.
    count: u32,
    sum: u64,
}

#[derive(Clone, Default, Replicate)]
struct Assembly {
    speakers: Entities<Speaker>,
    ticks: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
struct Heard(PlayerId, u32);

impl Assembly {
    fn of(&self, player: PlayerId) -> Speaker {
        let found = self.speakers.iter().find(|(_, one)| one.player == player.0);
        found.map(|(_, one)| *one).unwrap_or_default()
    }
}

impl Simulation for Assembly {
    type Input = Say;
    type Event = Heard;
    const NAME: &'static str = "assembly";

    fn step(&mut self, inputs: &Inputs<'_, Say>, events: &mut Events<Heard>) {
        self.ticks += 1;
        let present = inputs.players();
        self.speakers
            .retain(|_, one| present.contains(&PlayerId(one.player)));
        for (player, say) in inputs.iter() {
            if self.speakers.iter().all(|(_, one)| one.player != player.0) {
                let player = player.0;
                self.speakers.insert(Speaker {
                    player,
                    ..Speaker::default()
                });
            }
            for (_, one) in self.speakers.iter_mut() {
                if one.player != player.0 {
                    continue;
                }
                one.steps += u32::from(say.walks);
                if say.number > 0 {
                    one.wrong += u32::from(say.number != one.last + 1);
                    one.last = say.number;
                    one.count += 1;
                    one.sum += u64::from(say.number);
                    events.emit(Heard(player, say.number));
                }
            }
        }
    }
}

type Game = Match<Live<Assembly>, Switch>;

struct Room {
    testbed: Testbed<Game>,
    make: fn() -> Switch,
    /// The number that each said last.
    said: BTreeMap<NodeId, u32>,
    told: BTreeMap<NodeId, Vec<TimedEvent<Heard>>>,
    /// The farthest tick each has shown, and when it did.
    shown: BTreeMap<NodeId, (Tick, Duration)>,
    longest: BTreeMap<NodeId, Duration>,
    luck: u64,
    /// Who was given a state because it had lost its way, and of which tick.
    adopted: BTreeMap<NodeId, Tick>,
}

fn links(latency_ms: u64, loss: f64) -> LinkConfig {
    LinkConfig {
        latency: Duration::from_millis(latency_ms),
        loss: Loss::Bernoulli(loss),
        ..LinkConfig::default()
    }
}

fn choices() -> Switch {
    let kinds = ModelKind::ALL.iter();
    let choices = kinds.filter(|kind| kind.name != "event-delay");
    Switch::new(choices.map(|kind| kind.config()).collect()).unwrap()
}

/// With event delay in the place of rollback.
fn choices_with_event_delay() -> Switch {
    Switch::new(ModelKind::ALL.iter().map(|kind| kind.config()).collect()).unwrap()
}

impl Room {
    /// A game of so many programs that has run for a while.
    fn new(seed: u64, programs: usize, make: fn() -> Switch) -> Room {
        let mut testbed = Testbed::new(seed);
        testbed.set_links(links(10, 0.0));
        let mut room = Room {
            testbed,
            make,
            said: BTreeMap::new(),
            told: BTreeMap::new(),
            shown: BTreeMap::new(),
            longest: BTreeMap::new(),
            luck: seed,
            adopted: BTreeMap::new(),
        };
        let host = room.testbed.add_node();
        room.open(host, Role::Host, 1);
        room.run(100);
        for _ in 1..programs {
            room.join(1);
            room.run(200);
        }
        room.testbed
            .with(HOST, |now, game| game.session_mut().start(now));
        room.run(1000);
        room
    }

    fn open(&mut self, node: NodeId, role: Role, players: usize) {
        let mut config = SessionConfig::new("assembly", 1);
        for _ in 0..players {
            config = config.player("somebody");
        }
        let make = self.make;
        self.testbed.start(node, |now, seed| {
            let world = Live::new(Assembly::default());
            Match::new(now, config, role, seed, make(), world).unwrap()
        });
        self.said.insert(node, 0);
        self.told.remove(&node);
        self.shown.remove(&node);
    }

    fn join(&mut self, players: usize) -> NodeId {
        let node = self.testbed.add_node();
        let to = JoinTo::new(self.testbed.address(HOST));
        let role = match players {
            0 => Role::Spectator(to),
            _ => Role::Client(to),
        };
        self.open(node, role, players);
        node
    }

    fn chance(&mut self, of: u64) -> bool {
        self.luck = self
            .luck
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.luck >> 33).is_multiple_of(of)
    }

    fn pick(&mut self, of: usize) -> usize {
        self.chance(1);
        (self.luck >> 33) as usize % of
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            let until = self.testbed.now() + Duration::from_millis(1);
            while let Some((_, node, event)) = self.testbed.next(until) {
                if let MatchEvent::Model(ModelEvent::Adopted { tick }) = event {
                    self.adopted.insert(node, tick);
                }
            }
            for node in self.nodes() {
                self.watch(node, until);
            }
        }
    }

    /// Notes how long nothing has moved at a program.
    fn watch(&mut self, node: NodeId, now: Duration) {
        let poll = |_, game: &mut Game| {
            let events = core::iter::from_fn(|| game.world_mut().poll_event());
            events.collect::<Vec<_>>()
        };
        let told = self.testbed.with(node, poll).unwrap_or_default();
        self.told.entry(node).or_default().extend(told);
        let tick = self.game(node).status().tick;
        if tick == Tick(0) {
            return;
        }
        let (farthest, since) = self.shown.entry(node).or_insert((tick, now));
        if tick > *farthest {
            let longest = self.longest.entry(node).or_default();
            *longest = (*longest).max(now - *since);
            (*farthest, *since) = (tick, now);
        }
    }

    /// Everyone says the next number now and then, and walks or stands.
    fn play(&mut self, ms: u64) {
        for _ in 0..ms / 10 {
            for node in self.nodes() {
                if self.chance(6) {
                    self.say(node);
                }
            }
            self.run(10);
        }
    }

    fn say(&mut self, node: NodeId) {
        let number = self.said[&node] + 1;
        let walks = self.chance(2);
        let say = |now, game: &mut Game| {
            let player = game.session().my_players().next();
            player.is_some_and(|player| game.input(now, player, &Say { number, walks }))
        };
        if self.testbed.with(node, say) == Some(true) {
            self.said.insert(node, number);
        }
    }

    fn change_to(&mut self, choice: usize) -> bool {
        let change = |now, game: &mut Game| {
            let time = game.session().time(now).expect("hosts");
            game.model_mut().to(time, choice)
        };
        self.testbed.with(HOST, change).expect("runs")
    }

    fn nodes(&self) -> Vec<NodeId> {
        let nodes = self.testbed.nodes();
        nodes
            .filter(|node| self.testbed.is_running(*node))
            .collect()
    }

    fn game(&self, node: NodeId) -> &Game {
        self.testbed.machine(node).expect("runs")
    }

    fn state(&self, node: NodeId) -> &Assembly {
        self.game(node).world().state()
    }

    /// Everyone is in the same epoch with the same model, and what everyone said has taken effect once for all. It was in order as well, unless the
    /// host had to go on without somebody for a while.
    fn assert_all_heard(&self, choice: usize, changes: u64, in_order: bool) {
        for node in self.nodes() {
            let model = self.game(node).model();
            assert_eq!(
                (model.current(), model.changes()),
                (choice, changes),
                "{node}"
            );
            let status = self.game(node).status();
            assert_eq!((status.desyncs, status.trouble), (0, None), "{node}");
            for (speaker, said) in &self.said {
                if !self.testbed.is_running(*speaker) {
                    continue;
                }
                let Some(player) = self.game(*speaker).session().my_players().next() else {
                    continue;
                };
                let heard = self.state(node).of(player);
                let sum = u64::from(*said) * u64::from(*said + 1) / 2;
                assert_eq!(
                    (heard.count, heard.sum),
                    (*said, sum),
                    "{speaker} at {node}"
                );
                assert!(
                    !in_order || heard.wrong == 0,
                    "{speaker} at {node}: {heard:?}"
                );
            }
            self.assert_told_once(node, in_order);
        }
    }

    /// Each event was confirmed once; what was predicted was confirmed or cancelled once.
    fn assert_told_once(&self, node: NodeId, in_order: bool) {
        let mut confirmed: BTreeMap<PlayerId, u32> = BTreeMap::new();
        let mut open = Vec::new();
        let since = self.adopted.get(&node).copied().unwrap_or_default();
        let told = self.told[&node].iter();
        for told in told.filter(|told| told.tick >= since) {
            let Heard(player, number) = told.event;
            match told.stage {
                EventStage::Predicted => open.push((told.tick, told.event)),
                stage => {
                    if let Some(tick) = told.predicted {
                        let at = open.iter().position(|open| *open == (tick, told.event));
                        open.remove(at.unwrap_or_else(|| panic!("{node}: {told:?} was not open")));
                    }
                    if stage == EventStage::Confirmed && in_order {
                        let before = confirmed.insert(player, number);
                        assert!(
                            before.is_none_or(|before| number == before + 1),
                            "{node}: {told:?} after {before:?}"
                        );
                    }
                }
            }
        }
        let settled = self.game(node).status().confirmed_tick;
        let forgotten = open.iter().find(|(tick, _)| tick.0 + 10 < settled.0);
        assert_eq!(forgotten, None, "{node} at tick {settled}");
    }

    /// What everyone recorded leads to the same.
    fn assert_recorded(&self) {
        for node in self.nodes() {
            let recorder = self.game(node).world().recorder().expect("records");
            let replay = Replay::parse(recorder.bytes()).unwrap();
            let world = Live::without_recording(Assembly::default());
            let verified = Playback::new(replay, world).unwrap().verify().unwrap();
            assert!(verified.ticks > 100, "{node}: {verified:?}");
        }
    }

    /// Nobody has stood still for longer than this since this was asked.
    fn longest_pause(&mut self) -> Duration {
        let longest = core::mem::take(&mut self.longest);
        longest.into_values().max().unwrap_or_default()
    }
}

/// Everyone plays while the model changes to one after the other.
fn change(seed: u64, choices: impl IntoIterator<Item = usize>) {
    let mut room = Room::new(seed, 8, self::choices);
    room.testbed.set_links(links(50, 0.02));
    room.play(6000);
    room.longest_pause();
    for (change, choice) in choices.into_iter().enumerate() {
        let before = room.game(HOST).model().current();
        assert!(room.change_to(choice));
        assert!(!room.change_to(choice), "one is under way");
        room.play(3000);
        let pause = room.longest_pause();
        println!("seed {seed}, from {before} to {choice}: {pause:?}");
        assert!(
            pause <= Duration::from_millis(250),
            "{pause:?} (seed {seed})"
        );
        room.run(1000);
        room.longest_pause();
        room.assert_all_heard(choice, change as u64 + 1, true);
    }
    room.assert_recorded();
    assert_eq!(room.adopted, BTreeMap::new(), "seed {seed}");
}

#[test]
fn eight_players_change_between_lockstep_and_rollback() {
    for seed in 0..8 {
        change(seed, [ROLLBACK, LOCKSTEP, ROLLBACK, LOCKSTEP]);
    }
}

#[test]
fn eight_players_change_between_lockstep_and_snapshots() {
    for seed in 0..8 {
        change(seed, [SNAPSHOT, LOCKSTEP, SNAPSHOT, LOCKSTEP]);
    }
}

#[test]
fn eight_players_change_between_all_models() {
    for seed in 0..8 {
        let round = [
            STATE_SYNC, SNAPSHOT, STATE_SYNC, LOCKSTEP, STATE_SYNC, ROLLBACK, SNAPSHOT, ROLLBACK,
            STATE_SYNC, REWIND, LOCKSTEP, REWIND, ROLLBACK, REWIND, SNAPSHOT, REWIND, STATE_SYNC,
        ];
        change(seed, round);
    }
}

#[test]
fn a_policy_changes_the_model_when_more_play() {
    fn by_players() -> Switch {
        choices().with_policy(Box::new(|now| {
            let settled = now.since > Duration::from_secs(2);
            settled.then_some(if now.players > 3 {
                SNAPSHOT
            } else {
                STATE_SYNC
            })
        }))
    }
    let mut room = Room::new(1, 3, by_players);
    room.play(3000);
    room.run(1000);
    room.assert_all_heard(STATE_SYNC, 1, true);
    room.join(1);
    room.play(4000);
    room.run(1000);
    room.assert_all_heard(SNAPSHOT, 2, true);
    assert_eq!(room.state(HOST).speakers.len(), 4);
}

#[test]
fn only_the_host_changes_the_model() {
    let mut room = Room::new(1, 3, choices);
    let change = |now, game: &mut Game| {
        let time = game.session().time(now).expect("plays");
        game.model_mut().to(time, ROLLBACK)
    };
    assert_eq!(room.testbed.with(NodeId(1), change), Some(false));
    assert!(!room.change_to(LOCKSTEP), "it is that already");
    let beyond = ModelKind::ALL.len();
    assert!(!room.change_to(beyond), "there is no such choice");
    assert!(room.change_to(ROLLBACK));
    room.play(1000);
    room.run(1000);
    room.assert_all_heard(ROLLBACK, 1, true);
}

#[test]
fn a_mesh_stays_with_the_first_model_and_says_why() {
    let mut testbed: Testbed<Game> = Testbed::new(1);
    let node = testbed.add_node();
    let config = SessionConfig::new("assembly", 1).player("somebody");
    testbed.start(node, |now, seed| {
        let world = Live::new(Assembly::default());
        Match::new(now, config, Role::Introducer, seed, choices(), world).unwrap()
    });
    testbed.with(node, |now, game| game.session_mut().start(now));
    let until = testbed.now() + Duration::from_secs(2);
    while testbed.next(until).is_some() {}
    testbed.with(node, |now, game| {
        let time = game.session().time(now).expect("plays");
        assert!(game.status().tick > Tick(30));
        assert!(!game.model_mut().to(time, ROLLBACK));
        let trouble = game.status().trouble.unwrap_or_default();
        assert!(trouble.contains("mesh"), "{trouble}");
    });
}

/// Changes at any time, with any connection, while others come and go.
fn storm(seed: u64, choices: fn() -> Switch) {
    let mut room = Room::new(seed, 2 + seed as usize % 5, choices);
    let latency = [5, 30, 60, 120][room.pick(4)];
    let loss = [0.0, 0.02, 0.1][room.pick(3)];
    room.testbed.set_links(links(latency, loss));
    for _ in 0..8 {
        let choice = room.pick(4);
        room.change_to(choice);
        let wait = room.pick(600) as u64;
        room.play(wait);
        match room.pick(6) {
            0 => drop(room.join(1)),
            1 => drop(room.join(0)),
            2 if room.nodes().len() > 2 => {
                let nodes = room.nodes();
                let gone = nodes[1 + room.pick(nodes.len() - 1)];
                room.testbed.kill(gone);
            }
            3 if room.nodes().len() > 2 => {
                let nodes = room.nodes();
                let gone = nodes[1 + room.pick(nodes.len() - 1)];
                let leave = |now, game: &mut Game| game.session_mut().leave(now, "enough");
                room.testbed.with(gone, leave);
                room.run(200);
                room.testbed.kill(gone);
            }
            _ => {}
        }
        let wait = room.pick(2500) as u64;
        room.play(wait);
    }
    room.run(6000);
    let model = room.game(HOST).model();
    let (choice, changes) = (model.current(), model.changes());
    room.assert_all_heard(choice, changes, false);
    room.assert_recorded();
}

#[test]
fn models_change_while_others_come_and_go() {
    for seed in 0..40 {
        println!("seed {seed}");
        storm(seed, choices);
    }
}

#[test]
fn models_change_to_event_delay_while_others_come_and_go() {
    for seed in 0..40 {
        println!("seed {seed}");
        storm(seed, choices_with_event_delay);
    }
}
