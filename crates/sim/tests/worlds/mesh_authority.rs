//! A mesh whose game has an authority outlives its leader: whoever is elected next goes on from the same state as all others.

use crate::entrance;
use std::collections::BTreeMap;
use std::time::Duration;

use samestep_netem::{LinkConfig, Loss};
use samestep_session::{Match, SessionConfig, Silence, State};
use samestep_sim::{HostLoss, Migration, MigrationOutcome, NodeId, Testbed};
use samestep_sync::{
    EventStage, Events, Input, Inputs, Live, Model, ModelKind, PlayerId, Replicate, RoomKind,
    Simulation,
};
use samestep_wire::Wire;

/// The models in which one program decides.
const MODELS: [&str; 3] = ["snapshot", "state-sync", "rewind"];

fn play(model: &str, players: usize, loss: HostLoss, seed: u64) -> (String, MigrationOutcome) {
    let kind = ModelKind::named(model).expect("a model");
    let mut migration = Migration::new(kind.config(), players, Duration::from_millis(25), loss);
    migration.mesh = true;
    let outcome = migration.run(seed, &mut |_| ());
    let case = format!(
        "{model}, {players} players, {}, seed {seed}: {outcome:?}",
        loss.name()
    );
    (case, outcome)
}

fn goes_on(model: &str, players: usize, loss: HostLoss, seed: u64) {
    let (case, outcome) = play(model, players, loss, seed);
    println!("{case}");
    assert!(outcome.broken.is_empty(), "{case}");
    assert_eq!((outcome.events_lost, outcome.inputs_lost), (0, 0), "{case}");
    let longest = outcome.standstills.iter().max().expect("somebody is left");
    assert!(*longest <= Duration::from_secs(2), "{case}");
}

#[test]
fn the_leader_leaves() {
    for model in MODELS {
        for players in 2..=6 {
            goes_on(model, players, HostLoss::Leaves, players as u64);
        }
    }
}

#[test]
fn the_leader_dies() {
    for model in MODELS {
        for players in 3..=6 {
            goes_on(model, players, HostLoss::Dies, players as u64);
        }
    }
}

#[test]
fn the_leader_dies_and_so_does_the_next() {
    for model in MODELS {
        for players in 4..=6 {
            goes_on(model, players, HostLoss::Twice, players as u64);
        }
    }
}

#[test]
fn the_leader_dies_while_somebody_joins() {
    for model in MODELS {
        for players in 3..=6 {
            goes_on(model, players, HostLoss::WhileJoining, players as u64);
        }
    }
}

#[test]
fn in_many_worlds() {
    for seed in 0..60 {
        let model = MODELS[seed as usize % 3];
        let loss = HostLoss::ALL[(seed / 3) as usize % 4];
        goes_on(model, 4 + (seed / 12) as usize % 3, loss, 1000 + seed);
    }
}

/// Counts what each player has done, in order.
#[derive(Clone, Default, PartialEq, Debug, Replicate)]
struct Tally {
    last: [u32; 8],
    gaps: u32,
    /// The last number that did not follow the one before: the player, both numbers, and the tick.
    last_gap: [u32; 4],
}

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Count(Option<u32>);

impl Input for Count {
    fn predict(&self) -> Self {
        Count(None)
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Wire)]
struct Counted(PlayerId, u32);

impl Simulation for Tally {
    type Input = Count;
    type Event = Counted;
    const NAME: &'static str = "tally";

    fn step(&mut self, inputs: &Inputs<'_, Count>, events: &mut Events<Counted>) {
        for (player, input) in inputs.iter() {
            if let Some(number) = input.0 {
                let last = &mut self.last[usize::from(player.0) % 8];
                if number != *last + 1 {
                    self.gaps += 1;
                    let tick = inputs.tick().0 as u32;
                    self.last_gap = [player.0.into(), *last, number, tick];
                }
                *last = number;
                events.emit(Counted(player, number));
            }
        }
    }
}

type Game = Match<Live<Tally>, Box<dyn Model + Send>>;

/// What a program has done and seen.
#[derive(Default)]
struct Seen {
    given: u32,
    confirmed: BTreeMap<Counted, u64>,
    twice: Vec<Counted>,
    /// Whether it was frozen when it was looked at last, and what happened while it was.
    is_frozen: bool,
    frozen_events: usize,
    frozen_ticks: u64,
    last_tick: u64,
    confirmed_tick: u64,
    advanced_at: Duration,
    longest: Duration,
}

struct Room {
    testbed: Testbed<Game>,
    seen: BTreeMap<NodeId, Seen>,
    looks: u32,
}

impl Room {
    fn new(model: &str, players: usize, silence: Silence, seed: u64) -> Room {
        let mut room = Room {
            testbed: Testbed::new(seed),
            seen: BTreeMap::new(),
            looks: 0,
        };
        room.testbed.set_links(LinkConfig {
            latency: Duration::from_millis(10 + seed * 7 % 40),
            loss: Loss::Bernoulli((seed % 4) as f64 / 100.0),
            ..LinkConfig::default()
        });
        for _ in 0..players {
            let node = room.testbed.add_node();
            let mut config = SessionConfig::new("tally", 1);
            config.silence = silence;
            let model = ModelKind::named(model).unwrap().config().build().unwrap();
            let world = Live::without_recording(Tally::default());
            let door = entrance::door(&room.testbed);
            let kind = (RoomKind::Mesh, door);
            entrance::enter(&mut room.testbed, kind, node, config, (world, model));
            room.testbed.run_for(Duration::from_millis(900));
            room.seen.insert(node, Seen::default());
        }
        entrance::start(&mut room.testbed);
        room.testbed.run_for(Duration::from_secs(4));
        room
    }

    fn leader(&self) -> NodeId {
        let leads = |node: &NodeId| {
            let game = self.testbed.machine(*node).expect("runs");
            game.session().is_authority()
        };
        let mut leaders = self.seen.keys().copied().filter(leads);
        leaders.next().expect("somebody leads")
    }

    fn run(&mut self, time: Duration, plays: bool) {
        let until = self.testbed.now() + time;
        while self.testbed.now() < until {
            self.testbed.run_for(Duration::from_millis(5));
            self.looks += 1;
            let now = self.testbed.now();
            for (node, seen) in &mut self.seen {
                let turn = plays && (self.looks + u32::from(node.0) * 4).is_multiple_of(15);
                self.testbed.with(*node, |local, game| {
                    let player = game.session().my_players().next();
                    let next = Count(Some(seen.given + 1));
                    if let Some(player) = player.filter(|_| turn)
                        && game.command(local, player, &next)
                    {
                        seen.given += 1;
                    }
                    let is_frozen = *game.session().state() == State::Frozen;
                    let tick = game.status().tick.0;
                    // What came about before it froze is seen with that.
                    let was_frozen = std::mem::replace(&mut seen.is_frozen, is_frozen);
                    if is_frozen && was_frozen {
                        seen.frozen_ticks += tick.saturating_sub(seen.last_tick);
                    }
                    seen.last_tick = tick;
                    while let Some(event) = game.world_mut().poll_event() {
                        if event.stage != EventStage::Confirmed {
                            continue;
                        }
                        seen.frozen_events += usize::from(is_frozen && was_frozen);
                        if seen
                            .confirmed
                            .insert(event.event.clone(), event.tick.0)
                            .is_some()
                        {
                            seen.twice.push(event.event);
                        }
                    }
                    let confirmed = game.status().confirmed_tick.0;
                    if confirmed > seen.confirmed_tick {
                        seen.longest = seen.longest.max(now - seen.advanced_at);
                        (seen.confirmed_tick, seen.advanced_at) = (confirmed, now);
                    }
                });
            }
        }
    }

    fn begin_to_measure(&mut self) {
        for seen in self.seen.values_mut() {
            (seen.advanced_at, seen.longest) = (self.testbed.now(), Duration::ZERO);
        }
    }

    /// Nobody does anything any more: everyone has the same, and all that was given counts once.
    fn check(&mut self, case: &str) {
        self.run(Duration::from_secs(4), false);
        let states: Vec<(NodeId, Tally)> = self
            .seen
            .keys()
            .map(|node| {
                let game = self.testbed.machine(*node).expect("runs");
                let what = format!("{case}, {node}");
                assert_eq!(*game.session().state(), State::InSync, "{what}");
                assert_eq!(game.status().trouble, None, "{what}");
                (*node, game.world().state().clone())
            })
            .collect();
        let last = &states[0].1;
        assert_eq!(last.gaps, 0, "{case}: {states:?}");
        let mut ticks: BTreeMap<&Counted, u64> = BTreeMap::new();
        for (node, state) in &states {
            let (what, seen) = (format!("{case}, {node}"), &self.seen[node]);
            assert_eq!(state, last, "{what}");
            let game = self.testbed.machine(*node).expect("runs");
            let player = game.session().my_players().next().expect("plays");
            let arrived = last.last[usize::from(player.0)];
            assert_eq!(
                arrived, seen.given,
                "{what}: inputs that came of those given"
            );
            assert_eq!(seen.twice, [], "{what}");
            assert_eq!((seen.frozen_events, seen.frozen_ticks), (0, 0), "{what}");
            for (event, tick) in &seen.confirmed {
                assert!(
                    event.1 <= last.last[usize::from(event.0.0)],
                    "{what}: {event:?}"
                );
                let elsewhere = *ticks.entry(event).or_insert(*tick);
                assert_eq!(elsewhere, *tick, "{what}: {event:?}");
            }
        }
    }
}

/// The leader is cut off: it goes on deciding for a while, alone, and nothing of that counts. Then it is back.
#[test]
fn the_leader_is_cut_off_and_comes_back() {
    let drop = Silence::Drop {
        after: Duration::from_millis(1200),
    };
    let mut elected = 0;
    for seed in 0..36 {
        let (model, players) = (MODELS[seed as usize % 3], 3 + seed as usize / 3 % 4);
        let away = Duration::from_millis([200, 700, 1100, 1500, 2500, 6000][seed as usize / 3 % 6]);
        let case = format!("{model}, {players} players, cut off for {away:?}, seed {seed}");
        let mut room = Room::new(model, players, drop, seed);
        room.run(Duration::from_secs(2), true);
        let leader = room.leader();
        room.begin_to_measure();
        room.testbed.isolate(leader);
        room.run(away, true);
        room.testbed.rejoin(leader);
        room.run(Duration::from_secs(8), true);
        let others = room.seen.iter().filter(|(node, _)| **node != leader);
        let longest = others.map(|(_, seen)| seen.longest).max().unwrap();
        println!("{case}: {longest:?}");
        assert!(longest <= Duration::from_secs(2), "{case}: {longest:?}");
        elected += u32::from(room.leader() != leader);
        room.check(&case);
    }
    assert!(elected >= 20, "another was elected {elected} times of 36");
}

/// In a room of two the tie-breaker decides alone: if it dies, the other cannot know what it decided. It asks nothing of the game, and goes on as another room, when
/// it wants to, with everything that it was told to be certain.
#[test]
fn of_two_the_one_that_is_left_goes_on_alone() {
    for (model, seed) in MODELS.into_iter().zip(0..) {
        let drop = Silence::Drop {
            after: Duration::from_millis(1200),
        };
        let mut room = Room::new(model, 2, drop, seed);
        room.run(Duration::from_secs(2), true);
        let leader = room.leader();
        room.testbed.kill(leader);
        room.seen.remove(&leader);
        room.run(Duration::from_secs(11), true);
        let left = *room.seen.keys().next().expect("one is left");
        let state = |room: &Room| {
            let game = room.testbed.machine(left).expect("runs");
            game.session().state().clone()
        };
        assert_eq!(state(&room), State::Frozen, "{model}");
        let alone = |now, game: &mut Game| game.session_mut().go_on_alone(now);
        assert_eq!(room.testbed.with(left, alone), Some(true), "{model}");
        room.run(Duration::from_secs(2), true);
        assert_eq!(room.leader(), left);
        room.check(model);
    }
}
