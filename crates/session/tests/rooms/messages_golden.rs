//! The vectors of WIRE.md about kinds, reasons and discovery, so that the page and the code cannot drift apart.

use samestep_session::discovery::{
    Announcement, Answer, Nonce, QUERY_BYTES, Query, ResponderId, Topology,
};
use samestep_session::{Action, GameDescription, Message, MessageKind, RequestId, SessionEvent};
use samestep_wire::{Wire, encode_to_vec, layout_hash};

#[derive(Clone, Wire, Message)]
struct Chat;

#[derive(Clone, Wire, Message, Action)]
struct CastSpell;

#[derive(Clone, Wire, Message, Action)]
#[action(denial = ())]
struct Knock;

fn vector(name: &str) -> Vec<u8> {
    let page = include_str!("../../../../WIRE.md");
    let line = page
        .lines()
        .find(|line| line.split('=').next().is_some_and(|n| n.trim() == name))
        .unwrap_or_else(|| panic!("WIRE.md has no vector `{name}`"));
    let hex = line.split(['=', '#']).nth(1).unwrap_or_default().trim();
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[test]
fn kinds_of_names() {
    for (name, kind) in [
        ("messages.kind-empty", MessageKind::of_name("")),
        ("messages.kind-chat", Chat::KIND),
        ("messages.kind-cast-spell", CastSpell::KIND),
    ] {
        assert_eq!(encode_to_vec(&kind).unwrap(), vector(name), "{name}");
    }
}

fn denied(kind: MessageKind, vector_name: &str) -> SessionEvent {
    SessionEvent::Denied {
        request: RequestId(1),
        kind,
        reason: vector(vector_name),
    }
}

#[test]
fn reasons() {
    let read = |name| denied(CastSpell::KIND, name).denied::<CastSpell>();
    let words = Some("no mana".to_owned());
    assert_eq!(read("messages.denial"), Some((RequestId(1), words.clone())));
    assert_eq!(encode_to_vec(&words).unwrap(), vector("messages.denial"));
    assert_eq!(
        read("messages.denial-unreadable"),
        Some((RequestId(1), None))
    );
    let unit = denied(Knock::KIND, "messages.denial-unit").denied::<Knock>();
    assert_eq!(unit, Some((RequestId(1), Some(()))));
}

#[test]
fn the_description_of_a_game() {
    #[derive(Clone, Wire)]
    struct Turn(Option<i8>);

    let description = GameDescription {
        model: "rollback".into(),
        ticks_per_second: 60,
        state: 0x0102_0304,
        input: layout_hash::<Turn>() as u32,
        event: layout_hash::<()>() as u32,
    };
    assert_eq!(
        encode_to_vec(&description).unwrap(),
        vector("session.description")
    );
}

#[test]
fn datagrams_of_discovery() {
    let nonce = Nonce(0x1122_3344_5566_7788);
    let mut buf = [0; QUERY_BYTES];
    let query = Query {
        game: "skirmish".into(),
    };
    let len = query.encode_datagram(nonce, &mut buf).unwrap();
    assert_eq!(buf[..len], vector("discovery.query"));
    let answer = Answer {
        responder: ResponderId(0x0102_0304_0506_0708),
        announcement: Announcement {
            room: "den".into(),
            game: "skirmish".into(),
            version: 5,
            players: 2,
            capacity: 4,
            password: true,
            topology: Topology::Hosted,
            port: 14242,
            key: samestep_session::Identity::from_secret([7; 32]).public_key(),
        },
    };
    let len = answer.encode_datagram(nonce, &mut buf).unwrap();
    assert_eq!(buf[..len], vector("discovery.answer"));
    let read = Answer::decode_datagram(&vector("discovery.answer"));
    assert_eq!(read, Ok((nonce, answer)));
}
