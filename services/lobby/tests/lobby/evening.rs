//! A whole evening: rooms by HTTP and sockets, the list, chat, start, tokens that admit, and the end.

use samestep_lobby::directory::{Filter, ListMessage};
use samestep_lobby::protocol::{EndReason, Message, Request, RoomEvent};
use samestep_lobby::{Client, ClientError, ListClient, Lobby, openapi};
use serde_json::json;

use crate::http::{
    WAIT, ask, ask_json, attach, config, create, hear, identity, join, member, metric, room,
    wait_for,
};

#[test]
fn strangers_meet_talk_and_start() {
    let lobby = Lobby::start(config()).unwrap();
    let at = lobby.address().to_string();
    let mut list = ListClient::connect(
        &at,
        &Filter {
            game: Some("sublockus".into()),
            ..Filter::default()
        },
    )
    .unwrap();
    assert_eq!(
        list.poll(WAIT).unwrap(),
        Some(ListMessage::Rooms { rooms: vec![] })
    );
    let mut ada = Client::connect(&at).unwrap();
    let mut settings = room("Friday");
    settings.settings = json!({ "map": "islands" });
    let joined = ada.enter(create("Ada", settings)).unwrap();
    assert_eq!(joined.room.settings["map"], "islands");
    assert_eq!(joined.lobby_key, lobby.lobby_key().to_string());
    let news = list.poll(WAIT).unwrap();
    assert!(
        matches!(news, Some(ListMessage::Update { changed, .. }) if changed[0].title == "Friday")
    );
    // Bob joins over HTTP and attaches then.
    let request = json!({ "room": joined.room.id, "member": member("Bob") });
    let (status, answer) = ask_json(lobby.address(), "POST", "/v1/members", &request);
    assert_eq!((status, &answer["you"]), (200, &json!(2)));
    let bobs = serde_json::from_value(answer).unwrap();
    let mut bob = Client::connect(&at).unwrap();
    let again = bob.enter(attach("Bob", &bobs)).unwrap();
    assert_eq!(again.room.members.len(), 2);
    bob.ask(Request::Chat {
        text: "hello".into(),
    })
    .unwrap();
    hear(&mut ada, |message| match message {
        Message::Events { events, .. } => events
            .iter()
            .any(|event| matches!(event, RoomEvent::Chat { line } if line.text == "hello"))
            .then_some(()),
        _ => None,
    });
    assert!(
        matches!(ada.ask(Request::Start), Err(ClientError::Refused { code, .. }) if code == "not_ready")
    );
    bob.ask(Request::Ready { ready: true }).unwrap();
    ada.ask(Request::Start).unwrap();
    let started = hear(&mut bob, |message| match message {
        Message::Started(started) => Some(started),
        _ => None,
    });
    assert_eq!(started.members[0].key, identity("Ada").public_key());
    assert!(
        started.members[0].candidates.is_empty(),
        "the room's rule hides addresses"
    );
    assert!(started.token.is_some());
    // Over HTTP nobody gets in any more.
    let request = json!({ "room": joined.room.id, "member": member("Cyd") });
    let (status, answer) = ask_json(lobby.address(), "POST", "/v1/members", &request);
    assert_eq!((status, &answer["code"]), (409, &json!("started")));
    assert_eq!(metric(lobby.address(), "starts_total"), 1);
    assert_eq!(
        metric(lobby.address(), "refusals_total{code=\"started\"}"),
        1
    );
    ada.ask(Request::Leave).unwrap();
    bob.ask(Request::Leave).unwrap();
    wait_for("the end of the room", || {
        (metric(lobby.address(), "rooms") == 0).then_some(())
    });
    lobby.stop();
}

#[test]
fn the_list_comes_in_pages() {
    let lobby = Lobby::start(config()).unwrap();
    let mut clients = Vec::new();
    for number in 0..5 {
        let mut client = Client::connect(&lobby.address().to_string()).unwrap();
        client
            .enter(create(
                &format!("Owner {number}"),
                room(&format!("Room {number}")),
            ))
            .unwrap();
        clients.push(client);
    }
    let (mut seen, mut path) = (0, "/v1/rooms?limit=2".to_owned());
    loop {
        let (status, page) = ask_json(lobby.address(), "GET", &path, &json!(null));
        assert_eq!(status, 200);
        seen += page["rooms"].as_array().unwrap().len();
        match page["next"].as_str() {
            Some(next) => path = format!("/v1/rooms?limit=2&after={next}"),
            None => break,
        }
    }
    assert_eq!(seen, 5);
    let (_, page) = ask_json(
        lobby.address(),
        "GET",
        "/v1/rooms?text=room%203",
        &json!(null),
    );
    assert_eq!(page["rooms"].as_array().unwrap().len(), 1);
    for bad in [
        "/v1/rooms?limit=x",
        "/v1/rooms?open=perhaps",
        "/v1/rooms?after=1",
    ] {
        assert_eq!(ask(lobby.address(), "GET", bad, "").0, 400, "{bad}");
    }
}

#[test]
fn a_member_is_at_one_place() {
    let lobby = Lobby::start(config()).unwrap();
    let at = lobby.address().to_string();
    let mut first = Client::connect(&at).unwrap();
    let joined = first.enter(create("Ada", room("Friday"))).unwrap();
    let mut second = Client::connect(&at).unwrap();
    second.enter(attach("Ada", &joined)).unwrap();
    let reason = hear(&mut first, |message| match message {
        Message::Ended { reason } => Some(reason),
        _ => None,
    });
    assert_eq!(reason, EndReason::Replaced);
    assert!(
        matches!(first.poll(WAIT), Err(ClientError::Lost(_))),
        "the older connection is closed"
    );
    // Who is cut off without a word is gone, and can come back.
    drop(second);
    let mut watch = Client::connect(&at).unwrap();
    watch.enter(join("Bob", &joined.room.id)).unwrap();
    wait_for("that Ada is gone", || {
        (metric(lobby.address(), "attached_members") == 1).then_some(())
    });
    let mut third = Client::connect(&at).unwrap();
    third.enter(attach("Ada", &joined)).unwrap();
    third
        .ask(Request::Promote {
            member: samestep_lobby::MemberId(2),
        })
        .unwrap();
}

#[test]
fn the_description_is_the_one_that_was_looked_at() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(kept, openapi()).unwrap();
    }
    let kept = std::fs::read_to_string(kept).unwrap_or_default();
    assert!(
        kept == openapi(),
        "the protocol has changed: look at it, raise its version if others' clients stop working, then run this test with UPDATE_OPENAPI=1"
    );
    let lobby = Lobby::start(config()).unwrap();
    assert_eq!(
        ask(lobby.address(), "GET", "/v1/openapi.json", ""),
        (200, kept)
    );
    assert_eq!(
        ask(lobby.address(), "GET", "/healthz", ""),
        (200, "ok\n".into())
    );
    assert_eq!(ask(lobby.address(), "GET", "/v2/rooms", "").0, 404);
}
