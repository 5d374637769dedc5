//! Programs that break the rules are dropped by those who see it, and nobody else is: five peers play Rawrlocks, one of them perhaps a modified program.

use std::time::Duration;

use samestep_catalog::rawrlocks::{Ability, Bot, Controls, Cursor, Rawrlocks, RawrlocksConfig};
use samestep_netem::{Jitter, LinkConfig, Loss};
use samestep_session::{
    JoinTo, LeaveReason, Match, MatchEvent, PeerId, Role, SessionConfig, SessionEvent, State,
};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{Live, Model, ModelKind, Tick};

type Game = Match<Live<Rawrlocks>, Box<dyn Model + Send>>;

/// What a modified program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cheat {
    /// It throws a fireball in every tick, whether it is ready or not.
    NoCooldown,
    /// It teleports to where no cursor gets.
    FarCursor,
}

struct Room {
    testbed: Testbed<Game>,
    bots: Vec<Bot>,
    tick: u64,
    /// Who was reported, where it was told first.
    reported: Vec<(PeerId, String)>,
}

const PEERS: u16 = 5;

impl Room {
    fn new(model: &str, seed: u64, link: LinkConfig) -> Room {
        let mut testbed = Testbed::new(seed);
        testbed.set_links(link);
        let config = RawrlocksConfig::for_players(seed, PEERS);
        for _ in 0..PEERS {
            let node = testbed.add_node();
            let role = match node.0 {
                0 => Role::Introducer,
                _ => Role::Peer(JoinTo::new(testbed.address(NodeId(0)))),
            };
            let mut session = SessionConfig::new("rawrlocks", 1).player("warlock");
            session.protocol = session.protocol.plain();
            let model = ModelKind::named(model).unwrap().config().build().unwrap();
            let world = Live::without_recording(Rawrlocks::new(&config).unwrap());
            testbed.start(node, |now, seed| {
                Match::new(now, session, role, seed, model, world).unwrap()
            });
            testbed.run_for(Duration::from_millis(1200));
        }
        testbed.with(NodeId(0), |now, game| game.session_mut().start(now));
        testbed.run_for(Duration::from_secs(4));
        let nodes = (0..PEERS).map(NodeId);
        let bots = nodes.map(|node| {
            let game = testbed.machine(node).expect("runs");
            let player = game.session().my_players().next().expect("plays");
            Bot::new(seed, player)
        });
        let bots = bots.collect();
        Room {
            testbed,
            bots,
            tick: 0,
            reported: Vec::new(),
        }
    }

    fn run(&mut self, time: Duration, cheat: Option<(NodeId, Cheat)>) {
        let until = self.testbed.now() + time;
        while self.testbed.now() < until {
            self.tick += 1;
            let pause = self.testbed.now() + Duration::from_micros(16_667);
            while let Some((_, node, event)) = self.testbed.next(pause) {
                if let MatchEvent::Session(SessionEvent::Reported { peer, words, .. }) = event
                    && node != NodeId(PEERS - 1)
                {
                    self.reported.push((peer, words));
                }
            }
            for node in (0..PEERS).map(NodeId) {
                let (bot, tick) = (&mut self.bots[usize::from(node.0)], self.tick);
                let how = cheat.filter(|(cheat, _)| *cheat == node).map(|c| c.1);
                self.testbed.with(node, |now, game| {
                    let (player, state) = (bot.player(), game.world().state());
                    let controls = match how {
                        None => bot.decide(Tick(tick), state),
                        Some(Cheat::NoCooldown) => Some(Controls {
                            cast: Some(Ability::Fireball),
                            ..bot.controls(Tick(tick), state)
                        }),
                        Some(Cheat::FarCursor) => Some(Controls {
                            cursor: Cursor { x: i16::MAX, y: 0 },
                            ..bot.controls(Tick(tick), state)
                        }),
                    };
                    if let Some(controls) = controls {
                        game.input(now, player, &controls);
                    }
                });
            }
        }
    }

    fn state(&self, node: NodeId) -> State {
        let game = self.testbed.machine(node).expect("runs");
        game.session().state().clone()
    }
}

fn link(latency: u64, loss: f64) -> LinkConfig {
    LinkConfig {
        latency: Duration::from_millis(latency),
        jitter: Jitter {
            amount: Duration::from_millis(latency / 4),
            ..Jitter::default()
        },
        loss: Loss::Bernoulli(loss),
        ..LinkConfig::default()
    }
}

const MODELS: [&str; 4] = ["event-delay", "rollback", "lockstep", "state-sync"];

#[test]
fn a_modified_program_is_dropped_by_those_who_see_what_it_does() {
    for (model, seed) in MODELS.into_iter().zip(1..) {
        for cheat in [Cheat::NoCooldown, Cheat::FarCursor] {
            let case = format!("{model}, {cheat:?}");
            let mut room = Room::new(model, seed, link(40, 0.02));
            let liar = NodeId(1 + seed as u16 % 4);
            room.run(Duration::from_secs(30), Some((liar, cheat)));
            let left = room.state(liar);
            // It may hear of its conviction before it is sent away.
            let gone = match &left {
                State::Left(LeaveReason::Banned(_)) => true,
                State::Left(LeaveReason::Left(words)) => words.contains("reported"),
                _ => false,
            };
            assert!(gone, "{case}: {left:?}");
            for node in (0..PEERS).map(NodeId).filter(|node| *node != liar) {
                assert_eq!(room.state(node), State::InSync, "{case}, {node}");
            }
            let first = room.reported[0].0;
            let others = room.reported.iter().filter(|(peer, _)| *peer != first);
            assert_eq!(others.count(), 0, "{case}: {:?}", room.reported);
        }
    }
}

#[test]
fn an_honest_peer_is_never_reported_however_bad_its_line_is() {
    for seed in 0..24 {
        let model = MODELS[seed as usize % 4];
        let mut room = Room::new(model, seed, link(30, 0.01));
        // One of them is far away, and loses every tenth packet.
        let laggy = NodeId(1 + seed as u16 % 4);
        for other in (0..PEERS).map(NodeId).filter(|other| *other != laggy) {
            for (from, to) in [(laggy, other), (other, laggy)] {
                room.testbed.set_link(from, to, link(150, 0.1));
            }
        }
        room.run(Duration::from_secs(20), None);
        assert_eq!(room.reported, [], "{model}, seed {seed}");
    }
}

#[test]
fn one_lying_accuser_or_two_of_five_drop_nobody() {
    let mut room = Room::new("event-delay", 3, link(40, 0.02));
    let victim = room.testbed.machine(NodeId(3)).unwrap().session().me();
    for accusers in 1..=2 {
        for node in (0..accusers).map(NodeId) {
            room.testbed.with(node, |now, game| {
                let words = "it moves faster than anybody can";
                game.session_mut().report(now, victim.unwrap(), words);
            });
        }
        room.run(Duration::from_secs(3), None);
        assert_eq!(room.state(NodeId(3)), State::InSync, "{accusers} of five");
    }
    assert!(!room.reported.is_empty(), "everyone was told");
}
