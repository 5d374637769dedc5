//! A state of every shape, under every model: over a bad network, with somebody who joins late, in recordings and in the words about a desync.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use samestep_netem::{LinkConfig, Loss};
use samestep_session::{JoinTo, Match, MatchEvent, Role, SessionConfig};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{
    Entities, Events, Input, Inputs, Live, Lockstep, LockstepConfig, Model, ModelEvent, Opaque,
    OpaqueState, Playback, PlayerId, Record, Replay, Replicate, Rewind, Rng, Rollback, Simulation,
    Snapshot, StateSync, Text,
};
use samestep_wire::Wire;

const HOST: NodeId = NodeId(0);

/// A word that a player says.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Say(#[wire(max_len = 8)] String);

impl Input for Say {
    fn predict(&self) -> Self {
        Say::default()
    }
}

#[derive(Clone, PartialEq, Debug, Record)]
enum Mood {
    Calm,
    Talking {
        #[field(max_len = 3)]
        words: VecDeque<Text<8>>,
        loud: Box<Option<u8>>,
    },
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Speaker {
    #[field(owner)]
    player: PlayerId,
    #[field(max_len = 24)]
    last: String,
    mood: Mood,
    #[field(max_len = 4)]
    letters: BTreeMap<char, u32>,
}

/// What a library would hold: bytes that nobody else looks into.
#[derive(Clone, Default, PartialEq, Debug)]
struct Noise(Vec<u8>);

impl OpaqueState for Noise {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        Ok(Noise(bytes.to_vec()))
    }
}

#[derive(Clone, PartialEq, Debug, Replicate)]
struct Debate {
    speakers: Entities<Speaker>,
    minutes: String,
    said: BTreeMap<PlayerId, u32>,
    noise: Opaque<Noise>,
    #[field(max_len = 8)]
    winner: Option<String>,
    rng: Rng,
}

impl Debate {
    fn new() -> Debate {
        Debate {
            speakers: Entities::new(),
            minutes: String::new(),
            said: BTreeMap::new(),
            noise: Opaque::new(Noise(vec![0; 3000])),
            winner: None,
            rng: Rng::new(5),
        }
    }

    fn hear(&mut self, player: PlayerId, word: &str) {
        let known = self.speakers.iter().find(|(_, s)| s.player == player);
        let id = match known.map(|(id, _)| id) {
            Some(id) => id,
            None => self.speakers.insert(Speaker {
                player,
                last: String::new(),
                mood: Mood::Calm,
                letters: BTreeMap::new(),
            }),
        };
        let speaker = self.speakers.get_mut(id).expect("is there now");
        speaker.last = format!("{word} by {player}");
        match &mut speaker.mood {
            Mood::Talking { words, loud } => {
                if words.len() == 3 {
                    words.pop_front();
                }
                words.push_back(Text::new(word));
                **loud = word.bytes().max();
            }
            mood => {
                *mood = Mood::Talking {
                    words: [Text::new(word)].into(),
                    loud: Box::new(None),
                }
            }
        }
        for letter in word.chars() {
            *speaker.letters.entry(letter).or_default() += 1;
        }
        while speaker.letters.len() > 4 {
            speaker.letters.pop_first();
        }
        *self.said.entry(player).or_default() += 1;
        if self.said[&player].is_multiple_of(9) {
            self.speakers.remove(id);
            self.said.remove(&player);
        }
        self.minutes.push_str(word);
        if self.minutes.len() > 400 {
            self.minutes.clear();
        }
        let at = self.rng.below(self.noise.0.len() as u32) as usize;
        self.noise.0[at] = word.len() as u8;
        self.winner = self.rng.chance(0.5).then(|| word.into());
    }
}

impl Simulation for Debate {
    type Input = Say;
    type Event = ();
    const NAME: &'static str = "debate";

    fn step(&mut self, inputs: &Inputs<'_, Say>, _: &mut Events<()>) {
        for (player, word) in inputs.given().filter(|(_, word)| !word.0.is_empty()) {
            self.hear(player, &word.0);
        }
    }
}

type Game<M> = Match<Live<Debate>, M>;

fn open<M: Model>(testbed: &mut Testbed<Game<M>>, role: Role, model: M) -> NodeId {
    let node = testbed.add_node();
    let config = SessionConfig::new("debate", 1).player("somebody");
    testbed.start(node, |now, seed| {
        let world = Live::new(Debate::new());
        Match::new(now, config, role, seed, model, world).unwrap()
    });
    node
}

fn run<M: Model>(testbed: &mut Testbed<Game<M>>, ms: u64) {
    let until = testbed.now() + Duration::from_millis(ms);
    while testbed.next(until).is_some() {}
}

/// Somebody says something about every 100 ms.
fn talk<M: Model>(testbed: &mut Testbed<Game<M>>, rng: &mut Rng, rounds: usize) {
    let nodes: Vec<NodeId> = testbed.nodes().collect();
    for _ in 0..rounds {
        let node = nodes[rng.below(nodes.len() as u32) as usize];
        let word = ["aye", "nay", "naïve", "🦊", "order"][rng.below(5) as usize];
        testbed.with(node, |now, game: &mut Game<M>| {
            let player = game.session().my_players().next();
            player.map(|player| game.input(now, player, &Say(word.into())))
        });
        run(testbed, 100);
    }
}

/// Two play over a bad network, a third joins; then everyone has the same, and recordings lead there.
fn every_shape_stays_the_same<M: Model>(seed: u64, model: impl Fn() -> M) {
    let mut rng = Rng::new(seed);
    let mut testbed = Testbed::new(seed);
    testbed.set_links(LinkConfig {
        latency: Duration::from_millis(30),
        loss: Loss::Bernoulli(0.05),
        ..LinkConfig::default()
    });
    open(&mut testbed, Role::Host, model());
    run(&mut testbed, 100);
    let door = JoinTo::new(testbed.address(HOST));
    open(&mut testbed, Role::Client(door.clone()), model());
    run(&mut testbed, 1000);
    testbed.with(HOST, |now, game| game.session_mut().start(now));
    run(&mut testbed, 1000);
    talk(&mut testbed, &mut rng, 40);
    open(&mut testbed, Role::Client(door), model());
    run(&mut testbed, 1000);
    talk(&mut testbed, &mut rng, 60);
    run(&mut testbed, 2000);

    let state = |node| testbed.machine(node).unwrap().world().state();
    assert!(!state(HOST).said.is_empty() && state(HOST).noise.0.iter().any(|byte| *byte > 0));
    for node in testbed.nodes() {
        let game = testbed.machine(node).unwrap();
        assert_eq!(state(node), state(HOST), "seed {seed}, {node}");
        assert_eq!(game.status().desyncs, 0, "seed {seed}, {node}");
        let recorder = game.world().recorder().expect("records");
        let replay = Replay::parse(recorder.bytes()).unwrap();
        let world = Live::without_recording(Debate::new());
        let mut playback = Playback::new(replay, world).unwrap();
        playback.verify().unwrap();
        playback.seek(playback.replay().end()).unwrap();
        assert_eq!(playback.world().state(), state(HOST), "seed {seed}, {node}");
    }
}

const SEEDS: core::ops::Range<u64> = 0..20;

#[test]
fn under_lockstep() {
    SEEDS.for_each(|seed| every_shape_stays_the_same(seed, Lockstep::default));
}

#[test]
fn under_rollback() {
    SEEDS.for_each(|seed| every_shape_stays_the_same(seed, Rollback::default));
}

#[test]
fn under_snapshot() {
    SEEDS.for_each(|seed| every_shape_stays_the_same(seed, Snapshot::default));
}

#[test]
fn under_state_sync() {
    SEEDS.for_each(|seed| every_shape_stays_the_same(seed, StateSync::default));
}

#[test]
fn under_rewind() {
    SEEDS.for_each(|seed| every_shape_stays_the_same(seed, Rewind::default));
}

/// A guest's state is altered under lockstep: the report names the field and the key, and the guest is repaired.
fn the_report_of(tamper: fn(&mut Debate)) -> String {
    let model = || Lockstep::new(LockstepConfig::default()).unwrap();
    let mut testbed = Testbed::new(1);
    open(&mut testbed, Role::Host, model());
    run(&mut testbed, 100);
    let door = JoinTo::new(testbed.address(HOST));
    let guest = open(&mut testbed, Role::Client(door), model());
    run(&mut testbed, 1000);
    testbed.with(HOST, |now, game| game.session_mut().start(now));
    run(&mut testbed, 1000);
    talk(&mut testbed, &mut Rng::new(3), 8);
    run(&mut testbed, 1000);
    testbed.with(guest, |_, game| game.world_mut().disturb(tamper));
    let until = testbed.now() + Duration::from_secs(5);
    let mut report = None;
    while let Some((_, node, event)) = testbed.next(until) {
        if let MatchEvent::Model(ModelEvent::Desync(told)) = event
            && node == guest
        {
            report = report.or(told.difference);
        }
    }
    let state = |node| testbed.machine(node).unwrap().world().state();
    assert_eq!(state(guest), state(HOST));
    report.expect("a desync with a difference").to_string()
}

#[test]
fn a_desync_is_named_by_field_and_key() {
    let report = the_report_of(|debate| debate.minutes.push_str("!?"));
    assert!(report.starts_with("minutes, text: \""), "{report}");
    assert!(report.contains("!?\" here"), "{report}");
    let report = the_report_of(|debate| *debate.said.values_mut().next().unwrap() += 100);
    assert!(report.starts_with("said, [player 0]: 10"), "{report}");
    let report = the_report_of(|debate| {
        let speaker = &mut debate.speakers.as_mut_slice()[0];
        *speaker.letters.values_mut().next().unwrap() += 5000;
    });
    assert!(
        report.starts_with("speakers, entity 1, letters["),
        "{report}"
    );
    assert!(report.contains("]: 500"), "{report}");
    let report = the_report_of(|debate| debate.speakers.as_mut_slice()[0].last = "lies".into());
    assert!(
        report.starts_with("speakers, entity 1, last: \"lies\" here, \""),
        "{report}"
    );
    let report = the_report_of(|debate| debate.noise.0[1000] = 99);
    assert!(
        report.starts_with("noise, bytes from 1000: [63, "),
        "{report}"
    );
}
