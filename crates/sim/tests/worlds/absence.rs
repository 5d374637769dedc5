//! Away is not gone: rules see who is present, away and gone in the same tick everywhere, under every model, and a player that comes back has
//! its character and its score.

use crate::entrance;
use std::cell::Cell;
use std::time::Duration;

use crate::entrance::FIRST;
use samestep_netem::{LinkConfig, Loss};
use samestep_session::{JoinTo, Match, SessionConfig, State};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{
    Beside, Both, Either, Entities, EntityId, Events, Input, Inputs, Live, Lockstep, Model,
    ModelKind, Playback, PlayerId, PlayerPresence, Record, Replay, Replicate, RoomKind, Simulation,
    Snapshot, Switch, World,
};
use samestep_wire::Wire;

#[derive(Clone, Copy, Default, PartialEq, Debug, Wire)]
struct Score(bool);

impl Input for Score {
    fn predict(&self) -> Self {
        Score(false)
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Record)]
struct Character {
    player: u16,
    score: u32,
}

/// A player's presence from a tick on.
#[derive(Clone, Copy, PartialEq, Debug, Record)]
struct Seen {
    tick: u64,
    player: u16,
    is_present: bool,
    /// One more than the tick that the absence is said to have begun at.
    away_since: u64,
}

#[derive(Clone, Default, PartialEq, Debug, Replicate)]
struct Arena {
    characters: Entities<Character>,
    seen: Vec<Seen>,
    /// The lengths of all absences, added up in every tick.
    waited: u64,
}

impl Arena {
    fn character(&self, player: PlayerId) -> Option<EntityId> {
        let mut found = self.characters.iter();
        found
            .find(|(_, one)| one.player == player.0)
            .map(|(id, _)| id)
    }

    fn score(&self, player: PlayerId) -> Option<u32> {
        Some(self.characters[self.character(player)?].score)
    }

    /// How often the presence of a player changed, and to what.
    fn story(&self, player: PlayerId) -> String {
        let seen = self.seen.iter().filter(|seen| seen.player == player.0);
        let word = |seen: &Seen| match (seen.is_present, seen.away_since) {
            (true, _) => "present ",
            (false, 0) => "gone ",
            (false, since) => {
                assert_eq!(since - 1, seen.tick, "the tick of the absence");
                "away "
            }
        };
        seen.map(word).collect()
    }
}

impl Simulation for Arena {
    type Input = Score;
    type Event = ();
    const NAME: &'static str = "arena";

    fn step(&mut self, inputs: &Inputs<'_, Score>, _: &mut Events<()>) {
        for (player, score) in inputs.iter() {
            if self.score(player).is_none() {
                self.characters.insert(Character {
                    player: player.0,
                    score: 0,
                });
            }
            let mut characters = self.characters.iter_mut();
            if let Some((_, own)) = characters.find(|(_, one)| one.player == player.0) {
                own.score += u32::from(score.0);
            }
        }
        for (_, character) in self.characters.iter() {
            let presence = inputs.presence(PlayerId(character.player));
            let now = Seen {
                tick: inputs.tick().0,
                player: character.player,
                is_present: presence == PlayerPresence::Present,
                away_since: match presence {
                    PlayerPresence::Away { since } => since.0 + 1,
                    _ => 0,
                },
            };
            let mut before = self.seen.iter().rev();
            let before = before.find(|seen| seen.player == character.player);
            let is_same = |before: &Seen| {
                Seen {
                    tick: now.tick,
                    ..*before
                } == now
            };
            if !before.is_some_and(is_same) {
                self.seen.push(now);
            }
        }
        self.characters
            .retain(|_, one| !inputs.is_gone(PlayerId(one.player)));
        self.waited += inputs
            .away()
            .map(|(_, since)| inputs.tick().since(since))
            .sum::<u64>();
    }
}

/// What a test does with any world: players score, and states are compared.
trait Played: World + Sized {
    type Input: Input;
    const SCORE: Self::Input;

    /// The parts of the world; scores are counted in the first.
    fn parts(&self) -> Vec<&Live<Arena>>;
}

impl Played for Live<Arena> {
    type Input = Score;
    const SCORE: Score = Score(true);

    fn parts(&self) -> Vec<&Live<Arena>> {
        vec![self]
    }
}

impl Played for Both<Live<Arena>, Live<Arena>> {
    type Input = Either<Score, Score>;
    const SCORE: Self::Input = Either::Second(Score(true));

    fn parts(&self) -> Vec<&Live<Arena>> {
        vec![&self.second, &self.first]
    }
}

/// A room in virtual time; node 0 opens it.
struct Room<W: World, M: Model> {
    testbed: Testbed<Match<W, M>>,
    kind: RoomKind,
    grace: Duration,
    make: Box<dyn Fn() -> (W, M)>,
}

/// Who is away in most tests.
const GUEST: NodeId = NodeId(2);
const SEED: u64 = 1;
/// Longer than the time-out of a connection.
const ABSENCE_MS: u64 = 14_000;

impl<W: Played, M: Model> Room<W, M> {
    /// Four programs in a game that has begun.
    fn new(kind: RoomKind, seed: u64, make: impl Fn() -> (W, M) + 'static) -> Self {
        Self::with_grace(kind, seed, Duration::from_secs(60), make)
    }

    fn with_grace(
        kind: RoomKind,
        seed: u64,
        grace: Duration,
        make: impl Fn() -> (W, M) + 'static,
    ) -> Self {
        let mut testbed = Testbed::new(seed);
        testbed.set_links(LinkConfig {
            latency: Duration::from_millis(15),
            loss: Loss::Bernoulli(0.01),
            ..LinkConfig::default()
        });
        let mut room = Room {
            testbed,
            kind,
            grace,
            make: Box::new(make),
        };
        for _ in 0..4 {
            room.join();
            room.run(700);
        }
        entrance::start(&mut room.testbed);
        room.run(3000);
        room
    }

    fn join(&mut self) -> NodeId {
        let node = self.testbed.add_node();
        self.enter(node, entrance::door(&self.testbed));
        node
    }

    fn enter(&mut self, node: NodeId, door: JoinTo) {
        let mut config = SessionConfig::new("arena", 1);
        config.rejoin_grace = self.grace;
        let to = (self.kind, door);
        entrance::enter(&mut self.testbed, to, node, config, (self.make)());
    }

    /// Kills a program and starts it again, with its rejoin secret, after a while.
    fn restart(&mut self, node: NodeId, after_ms: u64) {
        let killed = self.testbed.kill(node).expect("runs");
        let mut door = entrance::door(&self.testbed);
        door.rejoin = Some(killed.session().rejoin_secret());
        self.play(after_ms);
        self.enter(node, door);
    }

    fn run(&mut self, ms: u64) {
        self.testbed.run_for(Duration::from_millis(ms));
    }

    /// Those that are there score, one after the other.
    fn play(&mut self, ms: u64) {
        for round in 0..ms / 100 {
            let nodes: Vec<NodeId> = self.testbed.nodes().collect();
            self.score(nodes[round as usize % nodes.len()]);
            self.run(100);
        }
    }

    fn score(&mut self, node: NodeId) {
        self.testbed.with(node, |now, game| {
            let player = game.session().my_players().next();
            player.is_some_and(|player| game.input(now, player, &W::SCORE))
        });
    }

    fn player(&self, node: NodeId) -> PlayerId {
        let game = self.testbed.machine(node).expect("runs");
        game.session().my_players().next().expect("plays")
    }

    fn arena(&self, node: NodeId) -> &Arena {
        let game = self.testbed.machine(node).expect("runs");
        game.world().parts()[0].state()
    }

    /// Everyone has the same state, and what everyone recorded leads to it.
    fn assert_same(&mut self, what: &str) {
        self.run(3000);
        let running = self.testbed.nodes();
        let running = running.filter_map(|node| Some((node, self.testbed.machine(node)?)));
        let running = running.filter(|(_, game)| matches!(game.session().state(), State::InSync));
        let games: Vec<(NodeId, &Match<W, M>)> = running.collect();
        let first = games[0].1.world().parts();
        for (node, game) in &games {
            let (what, status) = (format!("{what}, {:?}, {node}", self.kind), game.status());
            assert_eq!((status.desyncs, &status.trouble), (0, &None), "{what}");
            for (part, first) in game.world().parts().iter().zip(&first) {
                let (ours, theirs) = (part.state(), first.state());
                assert_eq!(ours.seen, theirs.seen, "{what}");
                assert_eq!(ours.characters, theirs.characters, "{what}");
                assert_eq!(ours.waited, theirs.waited, "{what}");
                let recorder = part.recorder().expect("records");
                let replay = Replay::parse(recorder.bytes()).unwrap();
                let world = Live::without_recording(Arena::default());
                let verified = Playback::new(replay, world).unwrap().verify();
                assert!(verified.is_ok(), "{what}: {verified:?}");
            }
        }
    }
}

type AnyModel = Box<dyn Model + Send>;
type AnyRoom = Room<Live<Arena>, AnyModel>;

fn for_each_room(test: impl Fn(&str, AnyRoom)) {
    for kind in ModelKind::ALL {
        for room in kind.rooms {
            let make = || (Live::new(Arena::default()), kind.config().build().unwrap());
            test(kind.name, Room::new(*room, SEED, make));
        }
    }
}

/// The guest is back with its score, and scores again.
fn assert_back<W: Played, M: Model>(what: &str, room: &mut Room<W, M>, guest: PlayerId, had: u32) {
    room.run(6000);
    assert_eq!(room.player(GUEST), guest, "{what}");
    assert_eq!(room.arena(FIRST).score(guest), Some(had), "{what}");
    room.score(GUEST);
    room.assert_same(what);
    assert_eq!(room.arena(GUEST).score(guest), Some(had + 1), "{what}");
    let story = room.arena(GUEST).story(guest);
    assert_eq!(story, "present away present ", "{what}");
}

#[test]
fn who_was_cut_off_has_its_character_and_score_back() {
    for_each_room(|model, mut room| {
        room.play(2000);
        room.run(1000);
        let guest = room.player(GUEST);
        let had = room.arena(FIRST).score(guest).expect("has a character");
        let character = room.arena(FIRST).character(guest);
        room.testbed.isolate(GUEST);
        room.run(ABSENCE_MS);
        room.testbed.rejoin(GUEST);
        assert_back(model, &mut room, guest, had);
        assert_eq!(room.arena(GUEST).character(guest), character, "{model}");
    });
}

/// A place that somebody has left is free at once, and the next newcomer's player mostly has the same number.
#[test]
fn who_comes_in_the_place_of_another_begins_anew() {
    let successors = Cell::new(0);
    for after_ms in [0, 25, 50, 100] {
        for_each_room(|model, mut room| {
            let what = format!("{model} {:?}, {after_ms} ms", room.kind);
            room.play(2000);
            room.run(1000);
            let guest = room.player(GUEST);
            let theirs = room.arena(FIRST).character(guest);
            let leave = |now, game: &mut Match<_, _>| game.session_mut().leave(now, "enough");
            room.testbed.with(GUEST, leave);
            room.run(after_ms);
            let newcomer = room.join();
            room.run(6000);
            successors.set(successors.get() + usize::from(room.player(newcomer) == guest));
            assert_ne!(room.arena(FIRST).character(guest), theirs, "{what}");
            let player = room.player(newcomer);
            assert_eq!(room.arena(FIRST).score(player), Some(0), "{what}");
            room.score(newcomer);
            room.testbed.kill(GUEST);
            room.assert_same(&what);
            assert_eq!(room.arena(FIRST).score(player), Some(1), "{what}");
        });
    }
    let successors = successors.get();
    assert!(
        successors >= 20,
        "only {successors} newcomers had the number of who had left"
    );
}

#[test]
fn a_program_that_was_killed_and_restarted_has_its_character_and_score_back() {
    for_each_room(|model, mut room| {
        room.play(2000);
        room.run(1000);
        let guest = room.player(GUEST);
        let had = room.arena(FIRST).score(guest).expect("has a character");
        room.restart(GUEST, ABSENCE_MS);
        assert_back(model, &mut room, guest, had);
    });
}

#[test]
fn who_leaves_is_gone_at_once() {
    for_each_room(|model, mut room| {
        room.play(1000);
        let guest = room.player(GUEST);
        room.testbed
            .with(GUEST, |now, game| game.session_mut().leave(now, "bye"));
        room.play(3000);
        room.assert_same(model);
        let kind = ModelKind::named(model).expect("a model");
        let model_decides = kind.config().build().unwrap().has_authority();
        let story = match room.kind == RoomKind::Mesh && model_decides {
            // The view without it comes first, then the entry that it has left: nothing of it has to be flushed.
            true => "present away gone ",
            false => "present gone ",
        };
        assert_eq!(room.arena(FIRST).story(guest), story, "{model}");
        assert_eq!(room.arena(FIRST).score(guest), None, "{model}");
    });
}

#[test]
fn whose_grace_runs_out_is_gone_in_the_same_tick_everywhere() {
    for kind in ModelKind::ALL {
        for room in kind.rooms {
            let make = || (Live::new(Arena::default()), kind.config().build().unwrap());
            let mut room = Room::with_grace(*room, SEED, Duration::from_secs(4), make);
            room.play(1000);
            let guest = room.player(GUEST);
            room.testbed.kill(GUEST);
            room.play(ABSENCE_MS + 8000);
            room.assert_same(kind.name);
            let story = room.arena(FIRST).story(guest);
            assert_eq!(story, "present away gone ", "{}", kind.name);
        }
    }
}

#[test]
fn another_player_with_the_number_of_one_that_is_gone_begins_anew() {
    for_each_room(|model, mut room| {
        room.play(2000);
        let guest = room.player(GUEST);
        let peer = room.testbed.machine(GUEST).unwrap().session().me().unwrap();
        room.testbed.with(FIRST, |now, game| {
            game.session_mut().kick(now, peer, "out");
        });
        let heir = room.join();
        room.run(6000);
        assert_eq!(room.player(heir), guest, "{model}");
        room.assert_same(model);
        assert_eq!(room.arena(FIRST).score(guest), Some(0), "{model}");
        let story = room.arena(FIRST).story(guest);
        assert_eq!(story, "present gone present ", "{model}");
    });
}

#[test]
fn who_joins_during_an_absence_knows_of_it() {
    for_each_room(|model, mut room| {
        let guest = room.player(GUEST);
        room.testbed.isolate(GUEST);
        room.run(ABSENCE_MS);
        let late = room.join();
        room.run(4000);
        let story = room.arena(late).story(guest);
        assert_eq!(story, "present away ", "{model}");
        room.testbed.rejoin(GUEST);
        room.run(6000);
        room.assert_same(model);
        let story = room.arena(late).story(guest);
        assert_eq!(story, "present away present ", "{model}");
    });
}

#[test]
fn a_leader_of_a_mesh_that_is_cut_off_is_away_too() {
    for kind in ModelKind::ALL {
        if kind.works_in(RoomKind::Mesh) {
            let make = || (Live::new(Arena::default()), kind.config().build().unwrap());
            let mut room = Room::new(RoomKind::Mesh, SEED, make);
            room.play(2000);
            let leader = room.player(FIRST);
            room.testbed.isolate(FIRST);
            room.run(ABSENCE_MS);
            room.testbed.rejoin(FIRST);
            room.run(8000);
            room.assert_same(kind.name);
            let story = room.arena(FIRST).story(leader);
            assert_eq!(story, "present away present ", "{}", kind.name);
        }
    }
}

#[test]
fn a_change_of_the_model_keeps_who_is_away() {
    let kinds = ModelKind::ALL.iter().map(|kind| kind.config());
    let kinds: Vec<_> = kinds.collect();
    let count = kinds.len();
    for room in [RoomKind::Hosted, RoomKind::Dedicated] {
        let kinds = kinds.clone();
        let make = move || {
            let switch = Switch::new(kinds.clone()).unwrap();
            (Live::new(Arena::default()), switch)
        };
        let mut room = Room::new(room, SEED, make);
        room.play(2000);
        let guest = room.player(GUEST);
        let had = room.arena(FIRST).score(guest).expect("has a character");
        room.testbed.isolate(GUEST);
        room.run(ABSENCE_MS);
        for choice in (0..count).chain([0]) {
            room.testbed.with(FIRST, |now, game| {
                let time = game.session().time(now).expect("hosts");
                game.model_mut().to(time, choice)
            });
            room.run(2000);
        }
        room.testbed.rejoin(GUEST);
        assert_back("switch", &mut room, guest, had);
    }
}

#[test]
fn models_side_by_side_see_the_same_absence() {
    for room in [RoomKind::Hosted, RoomKind::Dedicated] {
        let make = || {
            let world = Both::new(Live::new(Arena::default()), Live::new(Arena::default()));
            let model = Beside::new(Lockstep::default(), Snapshot::default());
            (world, model)
        };
        let mut room = Room::new(room, SEED, make);
        room.play(2000);
        let guest = room.player(GUEST);
        let had = room.arena(FIRST).score(guest).expect("has a character");
        room.testbed.isolate(GUEST);
        room.run(ABSENCE_MS);
        room.testbed.rejoin(GUEST);
        assert_back("beside", &mut room, guest, had);
    }
}
