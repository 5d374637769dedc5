//! What a game does with its room, through `Game` alone.

use std::time::Duration;

use samestep::prelude::*;
use samestep::session::{Handlers, LeaveReason, PeerInfo, Phase, Presence, RejoinSecret};
use samestep::sync::{ModelKind, Replay, Switch};
use samestep::{Listen, LoadGameError};

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

#[derive(Clone, Wire, Message)]
struct Wave;

#[derive(Clone, Wire, Message, Action)]
struct Take(u8);

fn config(name: &str) -> SessionConfig {
    SessionConfig::new("sum", 1)
        .player(name)
        .password("sesame")
        .starts(StartRule::ByAuthority)
}

type Sums<M = Rollback> = Game<Sum, M>;

fn host(config: SessionConfig) -> Sums {
    let here = Listen::At("127.0.0.1:0".parse().unwrap());
    Game::host(here, config, Rollback::default(), Sum::default()).unwrap()
}

fn join(host: &Sums, config: SessionConfig) -> Sums {
    let address = host.local_addr().to_string();
    Game::join(&address, config, Rollback::default(), Sum::default()).unwrap()
}

/// Runs both until something holds; only what hangs takes as long as half a minute.
fn run_until<M: samestep::sync::Model>(
    games: &mut [Sums<M>],
    mut holds: impl FnMut(&mut [Sums<M>]) -> bool,
) {
    let end = games[0].driver().now() + Duration::from_secs(30);
    while !holds(games) {
        assert!(games[0].driver().now() < end, "did not happen in time");
        for game in &mut *games {
            game.run_for(Duration::from_millis(1)).unwrap();
        }
    }
}

/// A host and a guest that is in sync.
fn pair(rule: StartRule) -> [Sums; 2] {
    let host = host(config("Ann").starts(rule));
    let guest = join(&host, config("Ben"));
    let mut games = [host, guest];
    run_until(&mut games, |games| {
        let peers = games[0].room().peers();
        let in_sync = |peer: &PeerInfo| peer.presence == Presence::InSync;
        peers.len() == 2 && peers.iter().all(in_sync) && games[1].me().is_some()
    });
    games
}

#[test]
fn a_game_begins_when_all_are_ready_and_is_played_again() {
    let mut games = pair(StartRule::AllReady { players: 2 });
    assert_eq!(games[0].local_addr().ip().to_string(), "127.0.0.1");
    assert_eq!(games[1].players()[1].profile.name, "Ben");
    games[0].set_ready(true);
    run_until(&mut games, |games| games[1].players()[0].ready);
    assert!(!games[0].is_playing(), "one is not ready");
    games[1].set_ready(true);
    run_until(&mut games, |games| games[1].tick() > Tick(10));
    assert!(games[1].command(&Add(7)));
    run_until(&mut games, |games| {
        games.iter().all(|game| game.state().sum == 7)
    });
    games[0].end(b"Ben wins");
    let ended = Phase::Ended {
        result: b"Ben wins".to_vec(),
    };
    run_until(&mut games, |games| *games[1].room().phase() == ended);
    games[0].rematch();
    run_until(&mut games, |games| *games[1].room().phase() == Phase::SetUp);
}

#[test]
fn the_authority_starts_the_game_and_loads_what_was_saved() {
    let mut games = pair(StartRule::ByAuthority);
    run_until(&mut games, |games| {
        let guest = games[1].driver();
        guest.machine().session().time(guest.now()).is_some()
    });
    assert!(!games[1].start(), "only the authority can");
    let saved = Sum { sum: 40 };
    let saved = samestep::sync::save_game(&saved, Tick(0));
    assert_eq!(games[1].load(&saved), Err(LoadGameError::NotNow));
    assert!(matches!(games[0].load(b"?"), Err(LoadGameError::Save(_))));
    assert_eq!(games[0].load(&saved), Ok(()));
    assert_eq!(games[0].state().sum, 40);
    run_until(&mut games, |games| games[1].state().sum == 40);
    assert!(games[0].start());
    run_until(&mut games, |games| games[1].tick() > Tick(10));
    assert_eq!(games[1].state().sum, 40);
    assert_eq!(games[0].load(&saved), Err(LoadGameError::NotNow));
    let (again, _) = samestep::sync::load_game::<Sum>(&games[1].save()).unwrap();
    assert_eq!(again.sum, 40);
    let replay = Replay::parse(games[1].recording().unwrap()).unwrap();
    assert!(replay.header().check::<Sum>().is_ok());
}

#[test]
fn who_is_sent_away_hears_why_and_a_banned_one_does_not_return() {
    let mut games = pair(StartRule::AtOnce);
    let ben = games[1].players()[1].peer;
    assert!(!games[1].kick(ben, "no"), "only the authority can");
    assert!(games[0].ban(ben, Duration::from_secs(60), "cheats"));
    let [host, guest] = &mut games;
    let secret = guest.rejoin_secret();
    assert_eq!(end_of(host, guest), "banned: cheats");
    assert_eq!(guest.last_error(), Some("banned: cheats"));
    let mut again = rejoin(host, secret);
    assert!(end_of(host, &mut again).starts_with("banned"));

    let mut third = join(host, config("Cy"));
    while third.me().is_none() {
        host.run_for(Duration::from_millis(1)).unwrap();
        third.run_for(Duration::from_millis(1)).unwrap();
    }
    let cy = host.players().last().unwrap().peer;
    assert!(host.kick(cy, "too loud"));
    assert_eq!(end_of(host, &mut third), "kicked: too loud");
}

/// The words that end the second of them.
fn end_of(first: &mut Sums, second: &mut Sums) -> String {
    loop {
        if let Err(error) = second.run_for(Duration::from_millis(1)) {
            return error.to_string();
        }
        first.run_for(Duration::from_millis(1)).unwrap();
    }
}

fn rejoin(host: &Sums, secret: RejoinSecret) -> Sums {
    let address = host.local_addr().to_string();
    let (model, state) = (Rollback::default(), Sum::default());
    Game::rejoin(&address, secret, config("Ben"), model, state).unwrap()
}

#[test]
fn who_returns_with_its_secret_is_the_same_player() {
    let [mut host, guest] = pair(StartRule::AtOnce);
    let (secret, me) = (guest.rejoin_secret(), guest.me());
    // A crash: no farewell is sent.
    std::mem::forget(guest);
    let mut games = [rejoin(&host, secret), host];
    run_until(&mut games, |games| games[0].tick() > Tick(10));
    assert_eq!(games[0].me(), me);
    host = games.into_iter().nth(1).unwrap();
    assert_eq!(host.players().len(), 2);
}

#[test]
fn a_wrong_password_is_answered_in_words() {
    let mut host = host(config("Ann"));
    let mut stranger = join(&host, config("Ben").password("simsim"));
    assert!(end_of(&mut host, &mut stranger).contains("password"));
}

#[test]
fn chat_messages_and_actions_reach_the_others() {
    let mut games = pair(StartRule::AtOnce);
    let mut handlers: Handlers<u8> = Handlers::new();
    handlers
        .confirmed::<Take>()
        .unwrap()
        .resolve(|_, _, take| Ok(take))
        .applied(|taken, _, take| *taken += take.0);
    games[1].chat("hello").unwrap();
    games[1].send(To::Others, &Wave).unwrap();
    games[1].request(&Take(3)).unwrap();
    assert!(games[1].chat(&"?".repeat(1001)).is_err());
    let (mut chats, mut waves, mut taken) = (0, 0, [0, 0]);
    run_until(&mut games, |games| {
        for (game, taken) in games.iter_mut().zip(&mut taken) {
            while let Some(news) = game.next_news() {
                let handled = game.handle(&mut handlers, taken, &news);
                if let (MatchEvent::Session(event), false) = (&news, handled) {
                    let chat = event.message::<Chat>();
                    chats += usize::from(chat.is_some_and(|(_, chat)| chat.text == "hello"));
                    waves += usize::from(event.message::<Wave>().is_some());
                }
            }
        }
        (chats, waves, taken) == (2, 1, [3, 3])
    });
}

#[test]
fn a_host_changes_the_model_and_hears_of_a_desync() {
    let model = || Switch::new(ModelKind::ALL.iter().map(|kind| kind.config()).collect()).unwrap();
    let start = |at: &str| {
        let config = config("Ann").starts(StartRule::AtOnce);
        match at {
            "" => Game::host(0, config, model(), Sum::default()).unwrap(),
            at => Game::join(at, config, model(), Sum::default()).unwrap(),
        }
    };
    let host = start("");
    let guest = start(&format!("127.0.0.1:{}", host.local_addr().port()));
    let mut games = [host, guest];
    run_until(&mut games, |games| games[1].tick() > Tick(30));
    assert!(!games[1].switch_to(1), "only the host can");
    assert!(games[0].switch_to(1));
    run_until(&mut games, |games| {
        games.iter().all(|game| game.current_model() == 1)
    });
    assert_eq!(games[1].last_error(), None);
    games[1].disturb(|state| state.sum = 9);
    run_until(&mut games, |games| games[1].last_error().is_some());
    let words = games[1].last_error().unwrap();
    assert!(words.contains("differs at tick"), "{words}");
}

#[test]
fn why_a_host_left_is_the_last_error() {
    let [host, mut guest] = pair(StartRule::AtOnce);
    drop(host);
    let error = loop {
        if let Err(error) = guest.run_for(Duration::from_millis(1)) {
            break error;
        }
    };
    assert!(matches!(error, GameError::Left(LeaveReason::RoomClosed(_))));
    assert_eq!(guest.last_error(), Some("the room was closed"));
}
