//! Nobody learns from what is sent who plays which character.

use std::time::Duration;

use crate::scene::Scene;
use samestep_hat_hunters::{
    Bot, HatHunters, HatHuntersConfig, HatHuntersEvent, ItemKind, Mode, Place,
};
use samestep_playable::Playable;
use samestep_sync::{
    InputKind, Interest, Live, Member, Model, PeerId, PlayerId, Relevance, Replicate, Roster,
    Simulation, Snapshot, SnapshotConfig, StateSync, StateSyncConfig, Tick,
};
use samestep_wire::encode_to_vec;

fn hunt(ticks: u64) -> Scene {
    let mut scene = Scene::with_bots(&HatHuntersConfig::default(), 4);
    scene.run(ticks);
    scene
}

/// Which rows of a part somebody is told.
fn told(scene: &Scene, viewers: &[u16], part: &str, rows: usize) -> Vec<usize> {
    let schema = HatHunters::schema();
    let kind = schema.kinds().iter().position(|kind| kind.name == part);
    let viewers: Vec<_> = viewers.iter().copied().map(PlayerId).collect();
    let mut interest = Interest::new(&schema);
    scene.game.interest(&viewers, &mut interest);
    let is_told = |row: &usize| {
        interest.relevance(kind.expect("a part of the state"), *row) != Relevance::HIDDEN
    };
    (0..rows).filter(is_told).collect()
}

#[test]
fn each_is_told_of_its_own_character_alone() {
    let scene = hunt(300);
    assert!(!scene.game.round().is_over());
    let characters = scene.game.characters();
    for player in 0..4 {
        let purse = characters.index_of(scene.id(player)).unwrap();
        assert_eq!(told(&scene, &[player], "hunters", 4), [usize::from(player)]);
        assert_eq!(told(&scene, &[player], "purses", 16), [purse]);
        assert_eq!(told(&scene, &[player], "minds", 12), []);
        assert_eq!(told(&scene, &[player], "characters", 16).len(), 16);
        assert_eq!(told(&scene, &[player], "stars", 3).len(), 3);
    }
    assert_eq!(
        told(&scene, &[1, 3], "hunters", 4),
        [1, 3],
        "two at one screen"
    );
    assert_eq!(told(&scene, &[], "hunters", 4), [], "who watches");
    assert_eq!(told(&scene, &[], "purses", 16), []);
}

#[test]
fn after_a_round_everybody_is_known() {
    let mut scene = hunt(300);
    scene.purse_mut(2).stars = 9;
    scene.run(1);
    assert!(scene.game.round().is_over());
    assert_eq!(told(&scene, &[0], "hunters", 4), [0, 1, 2, 3]);
    assert_eq!(told(&scene, &[0], "purses", 16).len(), 16);
    assert_eq!(told(&scene, &[0], "minds", 12), []);
}

#[test]
fn only_its_player_is_told_what_an_item_is() {
    let game = hunt(10).game;
    let drawn = HatHuntersEvent::ItemDrawn {
        player: PlayerId(1),
        item: ItemKind::Green,
    };
    assert!(game.perceives(&[PlayerId(1)], &drawn));
    assert!(!game.perceives(&[PlayerId(0)], &drawn) && !game.perceives(&[], &drawn));
    let bounced = HatHuntersEvent::Bounced {
        place: Place::default(),
    };
    assert!(game.perceives(&[PlayerId(0)], &bounced));
}

#[test]
fn what_everyone_is_told_of_a_character_names_no_player_but_by_its_hat() {
    let schema = HatHunters::schema();
    let part = |name: &str| {
        schema
            .kinds()
            .iter()
            .find(|kind| kind.name == name)
            .unwrap()
    };
    for name in ["characters", "claims", "projectiles", "bombs", "stars"] {
        for field in &part(name).fields {
            let names_player = field.shown.owner || field.name.contains("player");
            assert!(!names_player, "{name}: {}", field.name);
        }
    }
    let scene = hunt(300);
    let characters = scene.game.characters().as_slice();
    assert!(characters.iter().all(|character| character.hat.is_none()));
}

/// A host and clients with a player each, whose messages take 40 ms.
struct Room<M> {
    now: Duration,
    peers: Vec<(M, Live<HatHunters>, Bot)>,
    on_the_way: Vec<(Duration, usize, usize, Vec<u8>)>,
}

impl<M: Model> Room<M> {
    fn new(game: HatHunters, peers: usize, model: impl Fn() -> M) -> Self {
        let peer = |at: usize| {
            let game = match at {
                0 => game.clone(),
                _ => HatHunters::placeholder(),
            };
            (model(), Live::new(game), Bot::new(5, PlayerId(at as u16)))
        };
        let mut room = Room {
            now: Duration::from_secs(1),
            peers: (0..peers).map(peer).collect(),
            on_the_way: Vec::new(),
        };
        let members = (0..peers as u16).map(|at| Member {
            peer: PeerId(at),
            players: vec![PlayerId(at)],
            in_sync: true,
            away: false,
            watches: false,
            incarnation: 1,
            latency: Duration::from_millis(40),
            loss: 0,
        });
        let members: Vec<Member> = members.collect();
        for (at, (model, ..)) in (0..).zip(&mut room.peers) {
            let roster = Roster {
                me: PeerId(at),
                authority: PeerId(0),
                is_mesh: false,
                members: members.clone(),
            };
            model.handle_roster(room.now, &roster);
        }
        for to in 1..peers {
            let (host, world, _) = &mut room.peers[0];
            let checkpoint = host.checkpoint(room.now, PeerId(to as u16), world);
            let (model, world, _) = &mut room.peers[to];
            model.adopt(room.now, &checkpoint, world).unwrap();
        }
        for (model, ..) in &mut room.peers {
            model.handle_start(room.now, room.now);
        }
        room
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += Duration::from_millis(1);
            let now = self.now;
            let (due, rest): (Vec<_>, Vec<_>) = core::mem::take(&mut self.on_the_way)
                .into_iter()
                .partition(|(at, ..)| *at <= now);
            self.on_the_way = rest;
            for (_, from, to, bytes) in due {
                let from = PeerId(from as u16);
                self.peers[to].0.handle_message(now, from, &bytes);
            }
            for (at, (model, world, bot)) in self.peers.iter_mut().enumerate() {
                if model.poll_timeout().is_some_and(|at| at <= now) {
                    model.advance(now, world);
                    let tick = Tick(world.state().clock().into());
                    if let Some(controls) = bot.decide(tick, world.state()) {
                        let bytes = encode_to_vec(&controls).unwrap();
                        model.input(now, bot.player(), &bytes, InputKind::Controls);
                    }
                }
                while let Some(message) = model.poll_message() {
                    let arrives = now + Duration::from_millis(40);
                    for to in message.to {
                        let bytes = message.bytes.clone();
                        self.on_the_way
                            .push((arrives, at, usize::from(to.0), bytes));
                    }
                }
            }
        }
    }
}

/// Plays for a while; clients never know more than they may, and those they know do something.
fn play<M: Model>(model: impl Fn() -> M) {
    let mut config = HatHuntersConfig::in_mode(3, Mode::Stars);
    config.rules.stars = 3;
    let mut room = Room::new(HatHunters::new(&config).unwrap(), 4, model);
    let (mut rounds, mut stars) = (0, 0);
    for _ in 0..600 {
        room.run(100);
        let (_, host, _) = &room.peers[0];
        rounds = rounds.max(host.state().round().number);
        for (_, world, bot) in &room.peers[1..] {
            let game = world.state();
            assert!(!game.knows_all());
            if game.round().is_over() || host.state().round().is_over() {
                continue;
            }
            let hunters = game.hunters().as_slice();
            assert!(hunters.iter().all(|hunter| hunter.player == bot.player()));
            let purses = game.characters().ids().iter().copied();
            let purses: Vec<_> = purses.filter(|id| game.purse(*id).is_some()).collect();
            assert!(purses.len() <= 1, "{purses:?}");
            assert!(
                purses
                    .iter()
                    .all(|id| hunters.iter().any(|own| own.character == *id))
            );
            stars = stars.max(
                purses
                    .first()
                    .map_or(0, |id| game.purse(*id).unwrap().stars),
            );
        }
    }
    assert!(rounds > 1, "{rounds} rounds");
    assert!(stars > 0, "clients know of their own stars");
    let (_, host, _) = &room.peers[0];
    let (_, client, _) = &room.peers[1];
    let (host, client) = (host.state(), client.state());
    assert_eq!(
        host.characters().ids().len(),
        client.characters().ids().len()
    );
    assert_eq!(host.seats().len(), client.seats().len());
    assert_eq!(host.scores(), client.scores());
}

#[test]
fn clients_of_state_sync_know_what_they_may() {
    play(|| StateSync::new(StateSyncConfig::default()).unwrap());
}

#[test]
fn clients_of_snapshots_know_what_they_may() {
    play(|| Snapshot::new(SnapshotConfig::default()).unwrap());
}
