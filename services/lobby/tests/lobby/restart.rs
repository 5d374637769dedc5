//! What survives: a lobby with a file that is shut down and opened again, and what it asks of keys.

use samestep_lobby::protocol::{EndReason, Message, Request};
use samestep_lobby::{Client, ClientError, Lobby, LobbyConfig, LobbyError, StoreChoice};
use zeroize::Zeroizing;

use crate::http::{ask, attach, config, create, hear, room, wait_for};
use crate::test_postgres::{server, temporary_directory};

#[test]
fn a_lobby_with_a_file_goes_on_where_it_was() {
    let directory = temporary_directory("restart");
    let settings = |key: u8| LobbyConfig {
        store: StoreChoice::Sqlite(directory.path().join("lobby.db")),
        signing_key: Some(Zeroizing::new([key; 32])),
        ..config()
    };
    let lobby = Lobby::start(settings(1)).unwrap();
    let key = lobby.lobby_key();
    let mut ada = Client::connect(&lobby.address().to_string()).unwrap();
    let joined = ada.enter(create("Ada", room("Friday"))).unwrap();
    ada.ask(Request::Chat {
        text: "back soon".into(),
    })
    .unwrap();
    ada.ask(Request::Start).unwrap();
    lobby.stop();
    let reason = hear(&mut ada, |message| match message {
        Message::Ended { reason } => Some(reason),
        _ => None,
    });
    assert_eq!(reason, EndReason::ShuttingDown);
    assert!(matches!(
        Lobby::start(settings(2)),
        Err(LobbyError::OtherKey { .. })
    ));
    let lobby = Lobby::start(settings(1)).unwrap();
    assert_eq!(lobby.lobby_key(), key);
    assert!(
        matches!(Lobby::start(settings(1)), Err(LobbyError::StoreFailed(_))),
        "a file is for one lobby"
    );
    let mut ada = Client::connect(&lobby.address().to_string()).unwrap();
    let again = ada.enter(attach("Ada", &joined)).unwrap();
    assert_eq!(again.room.chat[0].text, "back soon");
    assert!(again.room.started);
    hear(&mut ada, |message| {
        matches!(message, Message::Started(_)).then_some(())
    });
}

#[test]
fn what_cannot_be_says_so() {
    let file = LobbyConfig {
        store: StoreChoice::Sqlite("/dev/null/lobby.db".into()),
        ..config()
    };
    assert_eq!(Lobby::start(file.clone()).unwrap_err(), LobbyError::NoKey);
    let file = LobbyConfig {
        signing_key: Some(Zeroizing::new([1; 32])),
        ..file
    };
    let words = Lobby::start(file).unwrap_err().to_string();
    assert!(words.contains("can be written"), "{words}");
    let first = Lobby::start(config()).unwrap();
    let second = LobbyConfig {
        listen: first.address(),
        ..config()
    };
    assert!(matches!(Lobby::start(second), Err(LobbyError::Listen(..))));
}

#[test]
fn a_lobby_outlives_a_restart_of_its_database() {
    let Some(mut server) = server() else { return };
    let settings = LobbyConfig {
        store: StoreChoice::Postgres(server.url()),
        signing_key: Some(Zeroizing::new([1; 32])),
        ..config()
    };
    let lobby = Lobby::start(settings).unwrap();
    let mut ada = Client::connect(&lobby.address().to_string()).unwrap();
    let joined = ada.enter(create("Ada", room("Friday"))).unwrap();
    server.restart();
    wait_for("an acknowledged line", || {
        match ada.ask(Request::Chat {
            text: "still here".into(),
        }) {
            Ok(_) => Some(()),
            Err(ClientError::Refused { code, .. }) if code == "unavailable" => None,
            Err(error) => panic!("{error}"),
        }
    });
    wait_for("health", || {
        (ask(lobby.address(), "GET", "/healthz", "").0 == 200).then_some(())
    });
    drop(ada);
    let mut ada = Client::connect(&lobby.address().to_string()).unwrap();
    let again = ada.enter(attach("Ada", &joined)).unwrap();
    assert!(again.room.chat.iter().any(|line| line.text == "still here"));
}
