//! Sessions that run by themselves, over real sockets on this machine.

use std::time::Duration;

use samestep::prelude::*;
use samestep::session::{NetworkId, To};
use samestep::sync::{Owner, SetError};
use samestep::{Background, SharedHandle};

/// Far more than it takes: only what hangs reaches it.
const LONG: Duration = Duration::from_secs(60);

#[derive(Default, SharedFields)]
struct Game {
    #[shared(owner = authority)]
    round: Synced<u32>,
    #[shared(owner = each_player)]
    scores: [Synced<u32>; 4],
}

#[derive(Clone, PartialEq, Debug, Wire, Message)]
struct Chat {
    text: String,
}

const GAME: NetworkId = NetworkId::Static(1);

fn config(name: &str) -> SessionConfig {
    SessionConfig::new("background", 1).player(name)
}

fn local(room: &Background) -> String {
    format!("127.0.0.1:{}", room.local_addr().port())
}

struct Player {
    room: Background,
    game: SharedHandle<Game>,
}

impl Player {
    fn new(room: Result<Background, StartError>) -> Player {
        let room = room.unwrap();
        let game = room.share(GAME, Game::default()).unwrap();
        room.wait_in_sync(LONG).unwrap();
        Player { room, game }
    }

    fn score(&self, points: u32) {
        let place = usize::from(self.room.my_player().unwrap().0);
        self.game
            .write(|game| game.scores[place].set(points))
            .unwrap();
    }

    fn sees(&self, round: u32, scores: [u32; 3]) {
        let seen = self.game.wait_until(LONG, |game| {
            *game.round == round && (0..3).all(|place| *game.scores[place] == scores[place])
        });
        let now = self
            .game
            .read(|game| format!("{:?} {:?}", game.round, game.scores));
        assert!(seen, "expected {round} {scores:?}, got {now}");
    }
}

fn everyone_sees_everything(players: [Player; 3]) {
    let [first, second, third] = &players;
    first.game.write(|game| game.round.set(5)).unwrap();
    first.score(10);
    second.score(20);
    third.score(30);
    for player in &players {
        player.sees(5, [10, 20, 30]);
    }
    let refused = second.game.write(|game| game.round.set(6));
    assert_eq!(refused, Err(SetError::NotYours(Owner::Authority)));
    let names: Vec<_> = third
        .room
        .players()
        .into_iter()
        .map(|p| p.profile.name)
        .collect();
    assert_eq!(names, ["Ada", "Ben", "Cleo"]);

    // One leaves; the others go on, and somebody inherits.
    let [first, second, third] = players;
    second.room.leave("bye");
    first.score(11);
    third.score(31);
    first.sees(5, [11, 20, 31]);
    third.sees(5, [11, 20, 31]);
}

#[test]
fn a_hosted_room_runs_by_itself() {
    let host = Player::new(Background::host(0, config("Ada")));
    let address = local(&host.room);
    let ben = Player::new(Background::join(&address, config("Ben")));
    let cleo = Player::new(Background::join(&address, config("Cleo")));
    everyone_sees_everything([host, ben, cleo]);
}

#[test]
fn a_mesh_runs_by_itself() {
    let ada = Player::new(Background::open_mesh(0, config("Ada")));
    let ben = Player::new(Background::join_mesh(&local(&ada.room), config("Ben")));
    let cleo = Player::new(Background::join_mesh(&local(&ben.room), config("Cleo")));
    everyone_sees_everything([ada, ben, cleo]);
}

#[test]
fn messages_arrive_and_a_closed_room_says_so() {
    let host = Player::new(Background::host(0, config("Ada")));
    let guest = Player::new(Background::join(&local(&host.room), config("Ben")));
    let chat = Chat {
        text: "hello".into(),
    };
    guest.room.send(To::Authority, chat.clone()).unwrap();
    let heard = loop {
        let event = host.room.next_event(LONG).expect("a message in time");
        if let SessionEvent::Message { kind, payload, .. } = event
            && let Some(chat) = Chat::read(kind, &payload)
        {
            break chat;
        }
    };
    assert_eq!(heard, Ok(chat));
    let players = guest.room.with(|_, session| session.my_players().count());
    assert_eq!(players, Some(1));

    let Player { room, game } = host;
    room.leave("time for bed");
    assert!(!game.wait_until(LONG, |_| false), "ends with the session");
    let reason = loop {
        let event = guest.room.next_event(LONG);
        if let SessionEvent::Left { reason } = event.expect("an end in time") {
            break reason.to_string();
        }
    };
    assert!(reason.contains("time for bed"), "{reason}");
}

#[test]
fn changes_are_shown() {
    let host = Player::new(Background::host(0, config("Ada")));
    let guest = Player::new(Background::join(&local(&host.room), config("Ben")));
    let (tell, told) = std::sync::mpsc::channel();
    guest.game.watch(move |game| {
        let _ = tell.send(game.read(|game| *game.round));
    });
    host.game.write(|game| game.round.set(7)).unwrap();
    while told.recv_timeout(LONG).unwrap() != 7 {}
    drop(guest);
    // Its thread has ended, and with it the function that held the channel.
    while told.recv_timeout(LONG).is_ok() {}
}

#[test]
fn mistakes_are_explained() {
    let host = Background::host(0, config("Ada")).unwrap();
    let port = host.local_addr().port();
    let error = Background::host(port, config("Eve")).err().unwrap();
    assert!(error.to_string().contains(&port.to_string()), "{error}");
    let error = Background::join("a b", config("Eve")).err().unwrap();
    assert!(error.to_string().contains("is no address"), "{error}");
    host.wait_in_sync(LONG).unwrap();

    let other = SessionConfig::new("background", 2).player("Eve");
    let guest = Background::join(&local(&host), other).unwrap();
    let error = guest.wait_in_sync(LONG).unwrap_err();
    assert!(error.to_string().contains("version"), "{error}");
}
