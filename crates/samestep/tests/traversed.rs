//! Whole games over ways through routers: between programs that know each other as peers alone.

use std::time::Duration;

use samestep::prelude::*;
use samestep::session::{JoinTo, Role};
use samestep::sync::Live;
use samestep::transport::{Transport, Udp};
use samestep_traversal::{
    Path, PeerId, RelaySecret, RelayServer, RelayServerConfig, TraversalConfig, Traversed,
};

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Add(u8);

impl Input for Add {
    fn predict(&self) -> Self {
        Add(0)
    }
}

#[derive(Clone, Default, Replicate)]
struct Sum {
    sum: u32,
}

impl Simulation for Sum {
    type Input = Add;
    type Event = ();
    const NAME: &'static str = "sum";

    fn step(&mut self, inputs: &Inputs<'_, Add>, _: &mut Events<()>) {
        self.sum += inputs.given().map(|(_, add)| u32::from(add.0)).sum::<u32>();
    }
}

type Sums = Game<Sum, Rollback, Traversed<Udp>>;

/// Programs that have gathered, and have been told of each other what these words begin with; each has the same number for all others.
fn programs(count: u32, kinds: &[&str]) -> (RelayServer, Vec<Traversed<Udp>>) {
    let secret = RelaySecret::new(b"a secret for this test alone").unwrap();
    let config = RelayServerConfig::new("127.0.0.1:0".parse().unwrap());
    let relay = RelayServer::start(config, secret.clone(), [9; 32]).unwrap();
    let mut programs: Vec<_> = (0..count)
        .map(|i| {
            let access = secret.issue(
                relay.local_addr(),
                &format!("user-{i}"),
                u64::from(u32::MAX),
            );
            let config = TraversalConfig {
                relay: Some(access.unwrap()),
                ..TraversalConfig::default()
            };
            let socket = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
            Traversed::new(socket, config, [i as u8 + 1; 32]).unwrap()
        })
        .collect();
    let end = programs[0].now() + Duration::from_secs(30);
    while !programs
        .iter_mut()
        .all(|program| program.traversal().is_gathered())
    {
        for program in &mut programs {
            assert!(program.now() < end, "nothing was gathered");
            while program.recv().unwrap().is_some() {}
            program
                .wait(Some(program.now() + Duration::from_millis(1)))
                .unwrap();
        }
    }
    let pairs = (0..count).flat_map(|i| (0..count).map(move |other| (i, other)));
    let pairs: Vec<(u32, u32)> = pairs.filter(|(i, other)| i != other).collect();
    for (i, other) in &pairs {
        programs[*i as usize]
            .traversal()
            .add_peer(PeerId(*other))
            .unwrap();
    }
    for (i, other) in pairs {
        let text = programs[i as usize]
            .traversal()
            .description(PeerId(other))
            .unwrap()
            .to_string();
        let words = text.split(' ').enumerate();
        let kept =
            words.filter(|(at, word)| *at < 3 || kinds.iter().any(|kind| word.starts_with(kind)));
        let text = kept.map(|(_, word)| word).collect::<Vec<_>>().join(" ");
        let told = &mut programs[other as usize];
        let now = told.now();
        told.traversal()
            .handle_description(now, PeerId(i), &text)
            .unwrap();
    }
    (relay, programs)
}

fn start(program: Traversed<Udp>, name: &str, role: Role) -> Sums {
    let config = SessionConfig::new("sum", 1).player(name);
    Game::over(
        program,
        config,
        role,
        Rollback::default(),
        Live::new(Sum::default()),
    )
    .unwrap()
}

/// Plays until every program has the input of every other.
fn play(games: &mut [Sums]) {
    let end = games[0].driver().now() + Duration::from_secs(60);
    let mut given = vec![false; games.len()];
    let all = games.len() as u32 * 7;
    while !games.iter().all(|game| game.state().sum == all) {
        assert!(games[0].driver().now() < end, "the game did not come about");
        let present = games.iter().all(|game| game.players().len() == given.len());
        for (game, given) in games.iter_mut().zip(&mut given) {
            game.run_for(Duration::from_millis(1)).unwrap();
            if present && !*given && game.is_playing() {
                *given = game.command(&Add(7));
            }
        }
    }
}

fn paths(games: &mut [Sums]) -> Vec<Path> {
    let paths = games.iter_mut().map(|game| {
        let traversal = game.driver_mut().transport_mut().traversal();
        let peers: Vec<PeerId> = traversal.peers().collect();
        peers
            .into_iter()
            .map(|peer| traversal.path(peer))
            .collect::<Vec<_>>()
    });
    paths.flatten().collect()
}

#[test]
fn a_hosted_game_over_a_relay() {
    let (relay, programs) = programs(2, &["relayed"]);
    let mut programs = programs.into_iter();
    let host = start(programs.next().unwrap(), "Ann", Role::Host);
    let join = Role::Client(JoinTo::new(PeerId(0).address()));
    let guest = start(programs.next().unwrap(), "Ben", join);
    let mut games = [host, guest];
    play(&mut games);
    assert_eq!(paths(&mut games), [Path::Relayed; 2]);
    assert!(relay.stats().relayed > 20, "{:?}", relay.stats());
}

#[test]
fn a_mesh_of_three_whose_members_tell_each_other_addresses() {
    let (_relay, programs) = programs(3, &["host", "relayed"]);
    let mut games: Vec<Sums> = Vec::new();
    for (program, name) in programs.into_iter().zip(["Ann", "Ben", "Cem"]) {
        let role = match games.len() {
            0 => Role::Introducer,
            _ => Role::Peer(JoinTo::new(PeerId(0).address())),
        };
        games.push(start(program, name, role));
    }
    play(&mut games);
    assert_eq!(paths(&mut games), [Path::Direct; 6]);
}
