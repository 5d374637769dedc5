//! What a start hands out is what a host takes: endpoints in virtual time with the tokens of a real lobby. Wrong, expired, foreign and reused ones are refused and counted.

use std::net::SocketAddr;
use std::time::Duration;

use samestep_lobby::protocol::{Message, Request, Started};
use samestep_lobby::{Client, Lobby, RunningLobby};
use samestep_proto::{
    AcceptConfig, Clock, CloseReason, Config, ConnectOptions, Endpoint, Event, RefuseReason,
    TokenClaims, token_from_text,
};

use crate::http::{config, create, hear, identity, join, metric, room};

/// When the game's endpoints start, in their own time; tokens come a hundred seconds later.
const LATER: Duration = Duration::from_secs(100);

fn started(client: &mut Client) -> Started {
    hear(client, |message| match message {
        Message::Started(started) => Some(started),
        _ => None,
    })
}

/// Ada hosts, Bob and Cyd join: their connections and what they were handed.
fn play(lobby: &RunningLobby) -> (Client, [(Client, Started); 2]) {
    let at = lobby.address().to_string();
    let mut ada = Client::connect(&at).unwrap();
    let joined = ada.enter(create("Ada", room("Friday"))).unwrap();
    let guests = ["Bob", "Cyd"].map(|name| {
        let mut guest = Client::connect(&at).unwrap();
        guest.enter(join(name, &joined.room.id)).unwrap();
        guest.ask(Request::Ready { ready: true }).unwrap();
        guest
    });
    ada.ask(Request::Start).unwrap();
    assert_eq!(started(&mut ada).token, None);
    (
        ada,
        guests.map(|mut guest| {
            let started = started(&mut guest);
            (guest, started)
        }),
    )
}

fn token(started: &Started) -> Vec<u8> {
    token_from_text(started.token.as_deref().unwrap()).unwrap()
}

/// A host as `SessionConfig::admits_by_lobby` makes it, in a world of virtual time.
struct Game {
    now: Duration,
    host: Endpoint,
    next: u16,
}

impl Game {
    fn new(started: &Started, secret: &str, shard: u32) -> Self {
        let issued = TokenClaims::of_token(&token(started))
            .unwrap()
            .issued_unix_s;
        let config = Config {
            accept: Some(AcceptConfig {
                lobby_key: Some(started.lobby_key.parse().unwrap()),
                shard,
                ..AcceptConfig::default()
            }),
            identity: Some(identity(secret)),
            clock: Some(Clock::starting(Duration::ZERO, issued - LATER.as_secs())),
            ..Config::new("sublockus", 1).plain()
        };
        Self {
            now: LATER,
            host: Endpoint::new(config, [1; 32]).unwrap(),
            next: 1,
        }
    }

    fn connect(&mut self, name: &str, token: Option<Vec<u8>>) -> Result<(), CloseReason> {
        self.next += 1;
        let here: SocketAddr = ([10, 0, 0, 1], self.next).into();
        let there: SocketAddr = ([10, 0, 0, 2], 1).into();
        let config = Config {
            identity: Some(identity(name)),
            ..Config::new("sublockus", 1).plain()
        };
        let mut client = Endpoint::new(config, [self.next as u8; 32]).unwrap();
        let options = ConnectOptions {
            server_key: Some(self.host.public_key()),
            token,
            ..ConnectOptions::default()
        };
        client.connect(self.now, there, options).unwrap();
        let (mut buf, until) = ([0; 1500], self.now + Duration::from_secs(10));
        let mut admitted = false;
        while self.now < until {
            while let Some(packet) = client.poll_transmit(self.now, &mut buf) {
                self.host
                    .handle_datagram(self.now, here, &mut buf[..packet.len]);
            }
            while let Some(packet) = self.host.poll_transmit(self.now, &mut buf) {
                if packet.to == here {
                    client.handle_datagram(self.now, there, &mut buf[..packet.len]);
                }
            }
            while let Some(event) = client.poll_event() {
                if let Event::Closed { reason, .. } = event {
                    return Err(reason);
                }
            }
            while let Some(event) = self.host.poll_event() {
                if let Event::Connected { user_data, key, .. } = event {
                    assert_eq!(
                        (user_data, key),
                        (name.as_bytes().to_vec(), identity(name).public_key())
                    );
                    admitted = true;
                }
            }
            if admitted {
                return Ok(());
            }
            self.now += Duration::from_millis(1);
            client.handle_timeout(self.now);
            self.host.handle_timeout(self.now);
        }
        panic!("connecting neither succeeds nor fails");
    }
}

fn refused(reason: RefuseReason) -> Result<(), CloseReason> {
    Err(CloseReason::Refused(reason))
}

#[test]
fn tokens_admit_their_members_once_and_nobody_else() {
    let lobby = Lobby::start(config()).unwrap();
    let (_ada, [(mut bob, bobs), (_cyd, cyds)]) = play(&lobby);
    let mut game = Game::new(&bobs, "Ada", 0);
    // None, another's, one that was changed, and one of another lobby.
    assert!(game.connect("Bob", None).is_err());
    assert_eq!(
        game.connect("Bob", Some(token(&cyds))),
        refused(RefuseReason::TokenClient)
    );
    let mut changed = token(&bobs);
    *changed.last_mut().unwrap() ^= 1;
    assert_eq!(
        game.connect("Bob", Some(changed)),
        refused(RefuseReason::TokenInvalid)
    );
    let foreign = Lobby::start(config()).unwrap();
    let (_host, [(_guest, foreigns), _]) = play(&foreign);
    assert_eq!(
        game.connect("Bob", Some(token(&foreigns))),
        refused(RefuseReason::TokenInvalid)
    );
    // At another host, or another of those that share its key.
    assert_eq!(
        Game::new(&bobs, "Eve", 0).connect("Bob", Some(token(&bobs))),
        refused(RefuseReason::TokenServer)
    );
    assert_eq!(
        Game::new(&bobs, "Ada", 1).connect("Bob", Some(token(&bobs))),
        refused(RefuseReason::TokenServer)
    );
    // The right one, once.
    assert_eq!(game.connect("Bob", Some(token(&bobs))), Ok(()));
    assert_eq!(
        game.connect("Bob", Some(token(&bobs))),
        refused(RefuseReason::TokenUsed)
    );
    assert_eq!(game.connect("Cyd", Some(token(&cyds))), Ok(()));
    // Who drops asks for another.
    let Message::Started(another) = bob.ask(Request::Token).unwrap() else {
        panic!("a token")
    };
    assert_eq!(game.connect("Bob", Some(token(&another))), Ok(()));
    // In time.
    let Message::Started(late) = bob.ask(Request::Token).unwrap() else {
        panic!("a token")
    };
    game.now += Duration::from_secs(200);
    assert_eq!(
        game.connect("Bob", Some(token(&late))),
        refused(RefuseReason::TokenExpired)
    );
    assert_eq!(
        (
            game.host.endpoint_stats().refused,
            game.host.endpoint_stats().accepted
        ),
        (6, 3)
    );
    assert_eq!(metric(lobby.address(), "tokens_total"), 4);
}
