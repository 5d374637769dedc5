//! A game over real sockets, with each of the models and in each of the ways to play together.

use std::time::Duration;

use samestep::prelude::*;
use samestep::sync::Model;

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Add(u8);

impl Input for Add {
    fn predict(&self) -> Self {
        Add(0)
    }
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Stone {
    weight: u32,
    #[field(blend = "linear")]
    height: f32,
}

#[derive(Clone, Default, Replicate)]
struct Heap {
    stones: Entities<Stone>,
    players: u32,
}

impl Heap {
    fn weight(&self) -> u32 {
        let stones = self.stones.as_slice();
        stones.iter().map(|stone| stone.weight).sum()
    }
}

impl Simulation for Heap {
    type Input = Add;
    type Event = u32;
    const NAME: &'static str = "heap";

    fn step(&mut self, inputs: &Inputs<'_, Add>, events: &mut Events<u32>) {
        self.players = inputs.players().len() as u32;
        for (_, Add(weight)) in inputs.given() {
            let weight = u32::from(*weight);
            let height = self.weight() as f32;
            self.stones.insert(Stone { weight, height });
            events.emit(weight);
        }
    }
}

fn config() -> SessionConfig {
    SessionConfig::new("heap", 1).player("somebody")
}

fn host<M: Model>(model: M) -> Game<Heap, M> {
    Game::host(0, config(), model, Heap::default()).unwrap()
}

fn address<M: Model>(game: &Game<Heap, M>) -> String {
    format!("127.0.0.1:{}", game.local_addr().port())
}

/// Runs all of them until something holds; only what hangs takes as long as half a minute.
fn run_until<M: Model>(
    games: &mut [Game<Heap, M>],
    mut holds: impl FnMut(&mut [Game<Heap, M>]) -> bool,
) {
    let end = games[0].driver().now() + Duration::from_secs(30);
    while !holds(games) {
        assert!(games[0].driver().now() < end, "did not happen in time");
        for game in &mut *games {
            game.run_for(Duration::from_millis(1)).unwrap();
        }
    }
}

#[test]
fn what_is_drawn_is_smooth_unless_the_game_says_otherwise() {
    let mut game = host(Rollback::default());
    let is_smooth = |game: &Game<Heap, Rollback>| game.driver().machine().world().view().is_some();
    assert!(!is_smooth(&game), "who draws nothing does not pay for it");
    game.shown();
    assert!(is_smooth(&game));
    game.set_smoothing(None);
    game.shown();
    assert!(!is_smooth(&game));
    game.set_smoothing(Some(SmoothConfig::default()));
    assert!(is_smooth(&game));
}

#[test]
fn a_guest_joins_a_running_game_in_lockstep_and_both_play() {
    let first = host(Lockstep::default());
    join_and_play(first, Lockstep::default(), Game::join);
}

#[test]
fn a_guest_joins_a_running_game_with_rollback_and_both_play() {
    let first = host(Rollback::default());
    join_and_play(first, Rollback::default(), Game::join);
}

#[test]
fn a_guest_joins_a_running_game_by_snapshots_and_both_play() {
    let first = host(Snapshot::default());
    join_and_play(first, Snapshot::default(), Game::join);
}

#[test]
fn a_guest_joins_a_running_game_with_state_synchronisation_and_both_play() {
    let first = host(StateSync::default());
    join_and_play(first, StateSync::default(), Game::join);
}

#[test]
fn a_peer_joins_a_running_mesh_and_both_play() {
    let first = Game::open_mesh(0, config(), Rollback::default(), Heap::default()).unwrap();
    join_and_play(first, Rollback::default(), Game::join_mesh);
}

type Join<M> = fn(&str, SessionConfig, M, Heap) -> Result<Game<Heap, M>, StartError>;

fn join_and_play<M: Model>(first: Game<Heap, M>, model: M, join: Join<M>) {
    let mut games = vec![first];
    run_until(&mut games, |games| games[0].tick() > Tick(30));
    assert_eq!(games[0].me(), Some(PlayerId(0)));
    assert!(games[0].command(&Add(7)));
    run_until(&mut games, |games| games[0].state().weight() == 7);

    let address = address(&games[0]);
    games.push(join(&address, config(), model, Heap::default()).unwrap());
    assert!(!games[1].command(&Add(9)), "who has not joined may not act");
    run_until(&mut games, |games| games[1].state().players == 2);
    assert_eq!(games[1].me(), Some(PlayerId(1)));
    assert_eq!(games[1].players().len(), 2);
    assert!(games[1].command(&Add(9)));
    // What is drawn may be a little later than what is.
    run_until(&mut games, |games| {
        games.iter_mut().all(|game| game.shown().weight() == 16)
    });
    let mut told = [false; 2];
    run_until(&mut games, |games| {
        for (game, told) in games.iter_mut().zip(&mut told) {
            while let Some(event) = game.next_event() {
                *told |= (event.stage, event.event) == (EventStage::Confirmed, 9);
            }
        }
        told == [true; 2]
    });
    let joined = MatchEvent::Session(SessionEvent::PlayerJoined {
        player: PlayerId(1),
    });
    assert!(std::iter::from_fn(|| games[0].next_news()).any(|news| news == joined));
    games.pop().unwrap().leave("bye").unwrap();
    run_until(&mut games, |games| games[0].state().players == 1);
}

#[test]
fn nobody_plays_at_a_server_and_who_watches_does_not_either() {
    let server = Game::serve(0, config(), Lockstep::default(), Heap::default()).unwrap();
    let address = address(&server);
    let watch = Game::watch(&address, config(), Lockstep::default(), Heap::default()).unwrap();
    let mut games = [server, watch];
    run_until(&mut games, |games| games[1].tick() > Tick(30));
    assert_eq!((games[0].me(), games[1].me()), (None, None));
    assert!(!games[1].command(&Add(1)));
    assert!(games[0].players().is_empty());
}

/// The error that the second of them gets in the end.
fn end_of(first: &mut Game<Heap, Lockstep>, second: &mut Game<Heap, Lockstep>) -> String {
    loop {
        if let Err(error) = second.run_for(Duration::from_millis(1)) {
            let again = second.run_for(Duration::ZERO).unwrap_err();
            assert_eq!(again.to_string(), error.to_string(), "over is over");
            return error.to_string();
        }
        let _ = first.run_for(Duration::from_millis(1));
    }
}

#[test]
fn why_a_game_is_over_is_said_in_words() {
    let join = |address: &str, config: SessionConfig| {
        Game::join(address, config, Lockstep::default(), Heap::default()).unwrap()
    };
    let mut full = config();
    full.capacity = 1;
    let mut host = Game::host(0, full, Lockstep::default(), Heap::default()).unwrap();
    let address = address(&host);
    let mut late = join(&address, config());
    assert_eq!(end_of(&mut host, &mut late), "the room is full");

    let mut newer = join(&address, SessionConfig::new("heap", 2).player("somebody"));
    let words = end_of(&mut host, &mut newer);
    assert!(words.contains("version"), "{words}");

    let mesh = Game::join_mesh(&address, config(), Lockstep::default(), Heap::default());
    let words = end_of(&mut host, &mut mesh.unwrap());
    assert!(words.contains("of the other kind"), "{words}");
}

#[test]
fn who_drops_a_game_has_left_it() {
    let mut host = host(Lockstep::default());
    let mut guest = Game::join(
        &address(&host),
        config(),
        Lockstep::default(),
        Heap::default(),
    )
    .unwrap();
    while guest.me().is_none() {
        host.run_for(Duration::from_millis(1)).unwrap();
        guest.run_for(Duration::from_millis(1)).unwrap();
    }
    drop(host);
    let error = loop {
        if let Err(error) = guest.run_for(Duration::from_millis(1)) {
            break error;
        }
    };
    assert_eq!(format!("{error:?}"), "the room was closed");
}

#[test]
fn who_drops_a_game_gives_its_place_back_at_once() {
    let mut small = config();
    small.capacity = 2;
    let mut host = Game::host(0, small, Lockstep::default(), Heap::default()).unwrap();
    let address = address(&host);
    let join = || Game::join(&address, config(), Lockstep::default(), Heap::default()).unwrap();
    for _ in 0..3 {
        let mut guest = join();
        while guest.me().is_none() {
            host.run_for(Duration::from_millis(1)).unwrap();
            guest
                .run_for(Duration::from_millis(1))
                .expect("a free place");
        }
        drop(guest);
        let end = host.driver().now() + Duration::from_secs(1);
        while host.players().len() > 1 {
            assert!(host.driver().now() < end, "its place is kept");
            host.run_for(Duration::from_millis(1)).unwrap();
        }
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let first = host(Lockstep::default());
    let port = first.local_addr().port();
    let second = Game::host(port, config(), Lockstep::default(), Heap::default());
    let words = second.err().unwrap().to_string();
    assert!(
        words.starts_with(&format!("port {port} is taken")),
        "{words}"
    );
}
