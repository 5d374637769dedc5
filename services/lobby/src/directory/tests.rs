//! One lobby: who may do what, what is handed out, what is limited, what the list shows.

use std::time::Duration;

use samestep_proto::{TokenClaims, token_from_text};
use serde_json::json;

use super::list::{Filter, ListMessage};
use super::model::{Bench, START, attach, config, create, join, member, origin, room};
use super::{Caller, ConnectionId, DirectoryConfig, Output};
use crate::ids::MemberId;
use crate::limits::Rate;
use crate::protocol::{
    EndReason, Join, Joined, Message, NewRoom, Request, RoomChanges, RoomEvent, Started,
};
use crate::refusal::Refusal;
use crate::secret::RoomPassword;

fn by_code(name: &str, joined: &Joined, password: Option<&str>) -> Request {
    Request::Join(Join {
        room: None,
        code: Some(joined.room.code.clone()),
        password: password.map(RoomPassword::new),
        member: member(name),
    })
}

fn ready() -> Request {
    Request::Ready { ready: true }
}

fn kick(member: u32, ban: bool) -> Request {
    Request::Kick {
        member: MemberId(member),
        ban,
    }
}

fn started(messages: Vec<Message>) -> Started {
    let started = messages.into_iter().find_map(|message| match message {
        Message::Started(started) => Some(started),
        _ => None,
    });
    started.expect("the start is announced")
}

fn with(change: impl FnOnce(&mut NewRoom)) -> NewRoom {
    let mut room = room("Friday");
    change(&mut room);
    room
}

/// Ada has a room, Bob is in it.
fn two(bench: &mut Bench, room: NewRoom) -> ((ConnectionId, Joined), (ConnectionId, Joined)) {
    let ada = bench.enter(create("Ada", room)).unwrap();
    let bob = bench.enter(by_code("Bob", &ada.1, None)).unwrap();
    bench.take(ada.0);
    (ada, bob)
}

#[test]
fn members_hear_who_comes_and_what_is_said() {
    let mut bench = Bench::new(config());
    let (ada, joined) = bench.enter(create("Ada", room("Friday"))).unwrap();
    assert_eq!(
        (joined.you, joined.room.members.len(), joined.room.version),
        (MemberId(1), 1, 1)
    );
    let (bob, joined) = bench.enter(join("Bob", &joined.room.id)).unwrap();
    assert_eq!(
        (joined.you, joined.room.members.len(), joined.room.version),
        (MemberId(2), 2, 2)
    );
    let heard = bench.take(ada);
    let [Message::Events { version: 2, events }] = &heard[..] else {
        panic!("{heard:?}")
    };
    assert!(
        matches!(&events[..], [RoomEvent::MemberJoined { member }] if member.name.as_str() == "Bob")
    );
    bench
        .ask(
            bob,
            Request::Chat {
                text: "hello".into(),
            },
        )
        .unwrap();
    let heard = bench.take(ada);
    let [Message::Events { version: 3, events }] = &heard[..] else {
        panic!("{heard:?}")
    };
    assert!(
        matches!(&events[..], [RoomEvent::Chat { line }] if line.text == "hello" && line.from == MemberId(2))
    );
    assert!(bench.take(bob).contains(&Message::Done { id: 1 }));
    for text in ["", " ", "a\nb", &"x".repeat(301)] {
        assert_eq!(
            bench.ask(bob, Request::Chat { text: text.into() }),
            Err(Refusal::BadField)
        );
    }
}

#[test]
fn names_keys_and_places_are_unique() {
    let mut bench = Bench::new(config());
    let (ada, first) = bench.enter(create("Ada", room("Friday"))).unwrap();
    // Another Ada, with another secret.
    let mut other = member("Bob");
    other.name = "aDA".to_owned().try_into().unwrap();
    let elsewhere = Request::Create(crate::protocol::Create {
        room: room("Monday"),
        member: other.clone(),
    });
    assert_eq!(bench.enter(elsewhere).unwrap_err(), Refusal::NameTaken);
    let here = Join {
        room: Some(first.room.id.clone()),
        code: None,
        password: None,
        member: other,
    };
    assert_eq!(
        bench.enter(Request::Join(here.clone())).unwrap_err(),
        Refusal::NameTaken
    );
    let mut same_key = here;
    same_key.member.name = member("Cyd").name;
    same_key.member.key = member("Ada").key;
    assert_eq!(
        bench.enter(Request::Join(same_key)).unwrap_err(),
        Refusal::KeyTaken
    );
    assert_eq!(
        bench.ask(ada, create("Dan", room("Again"))),
        Err(Refusal::NotNow)
    );
    // Who asks again with the same secret is in, and its older connection ends.
    let (again, joined) = bench.enter(create("Ada", room("Friday"))).unwrap();
    assert_eq!((joined.you, &joined.room.id), (MemberId(1), &first.room.id));
    assert_eq!(
        bench.take(ada),
        [Message::Ended {
            reason: EndReason::Replaced
        }]
    );
    assert_eq!(bench.store.rooms().len(), 1);
    bench.ask(again, Request::Leave).unwrap();
    assert!(bench.store.records.is_empty());
    bench.enter(create("Ada", room("Friday"))).unwrap();
}

#[test]
fn rooms_are_full_private_locked_or_closed() {
    let mut bench = Bench::new(config());
    let private = with(|room| {
        room.public = false;
        room.limit = 2;
        room.password = Some(RoomPassword::new("sesame"));
    });
    let (ada, joined) = bench.enter(create("Ada", private)).unwrap();
    let id = &joined.room.id;
    assert!(joined.room.password);
    assert_eq!(bench.enter(join("Bob", id)).unwrap_err(), Refusal::Private);
    assert_eq!(
        bench.enter(by_code("Bob", &joined, None)).unwrap_err(),
        Refusal::WrongPassword
    );
    assert_eq!(
        bench
            .enter(by_code("Bob", &joined, Some("simsim")))
            .unwrap_err(),
        Refusal::WrongPassword
    );
    let (bob, _) = bench
        .enter(by_code("Bob", &joined, Some("sesame")))
        .unwrap();
    assert_eq!(
        bench
            .enter(by_code("Cyd", &joined, Some("sesame")))
            .unwrap_err(),
        Refusal::Full
    );
    let changes: RoomChanges =
        serde_json::from_value(json!({ "limit": 3, "password": null })).unwrap();
    assert_eq!(
        bench.ask(
            bob,
            Request::Settings {
                changes: changes.clone()
            }
        ),
        Err(Refusal::NotOwner)
    );
    bench.ask(ada, Request::Settings { changes }).unwrap();
    bench.enter(by_code("Cyd", &joined, None)).unwrap();
    let kept = String::from_utf8(
        bench
            .store
            .records
            .values()
            .flat_map(|record| record.payload.clone())
            .collect(),
    )
    .unwrap();
    assert!(!kept.contains("sesame"));
    let changes: RoomChanges =
        serde_json::from_value(json!({ "limit": 4, "password": "other" })).unwrap();
    bench.ask(ada, Request::Settings { changes }).unwrap();
    assert_eq!(
        bench.enter(by_code("Dan", &joined, None)).unwrap_err(),
        Refusal::WrongPassword
    );
    bench.enter(by_code("Dan", &joined, Some("other"))).unwrap();
    let too_small: RoomChanges = serde_json::from_value(json!({ "limit": 3 })).unwrap();
    assert_eq!(
        bench.ask(ada, Request::Settings { changes: too_small }),
        Err(Refusal::BadField)
    );
}

#[test]
fn only_the_owner_decides_and_its_heir_after_it() {
    let mut bench = Bench::new(config());
    let ((ada, first), (bob, _)) = two(&mut bench, with(|room| room.public = false));
    let (cyd, _) = bench.enter(by_code("Cyd", &first, None)).unwrap();
    for request in [
        kick(1, false),
        Request::Start,
        Request::Reopen,
        Request::Promote {
            member: MemberId(2),
        },
    ] {
        assert_eq!(bench.ask(bob, request), Err(Refusal::NotOwner));
    }
    assert_eq!(
        bench.ask(ada, kick(1, false)),
        Err(Refusal::BadField),
        "nobody sends itself away"
    );
    assert_eq!(bench.ask(ada, kick(9, false)), Err(Refusal::UnknownMember));
    bench.take(cyd);
    bench.ask(ada, kick(3, true)).unwrap();
    assert_eq!(
        bench.take(cyd),
        [Message::Ended {
            reason: EndReason::Kicked
        }]
    );
    assert_eq!(bench.ask(cyd, ready()), Err(Refusal::NotNow));
    // Banned, and the code of the private room is another.
    assert_eq!(
        bench.enter(by_code("Cyd", &first, None)).unwrap_err(),
        Refusal::UnknownCode
    );
    let code = bench.store.rooms()[&first.room.id].code.clone();
    assert_ne!(code, first.room.code);
    let join = Request::Join(Join {
        room: None,
        code: Some(code),
        password: None,
        member: member("Cyd"),
    });
    assert_eq!(bench.enter(join).unwrap_err(), Refusal::Banned);
    // The owner leaves: who has been here longest decides.
    bench.take(bob);
    bench.ask(ada, Request::Leave).unwrap();
    assert!(bench.take(ada).contains(&Message::Ended {
        reason: EndReason::Left
    }));
    let heard = bench.take(bob);
    let [Message::Events { events, .. }] = &heard[..] else {
        panic!("{heard:?}")
    };
    assert_eq!(
        events[..],
        [
            RoomEvent::MemberLeft {
                member: MemberId(1)
            },
            RoomEvent::OwnerChanged { owner: MemberId(2) }
        ]
    );
    bench.ask(bob, Request::Start).unwrap();
}

#[test]
fn the_start_hands_out_keys_ways_and_tokens() {
    for direct in [false, true] {
        let mut bench = Bench::new(config());
        let ((ada, first), (bob, second)) = two(
            &mut bench,
            with(|room| {
                room.direct = direct;
                room.minimum = 2;
            }),
        );
        assert_eq!(bench.ask(ada, Request::Start), Err(Refusal::NotReady));
        assert_eq!(bench.ask(bob, Request::Token), Err(Refusal::NotStarted));
        bench.ask(bob, ready()).unwrap();
        bench.ask(ada, Request::Start).unwrap();
        let host = started(bench.take(ada));
        assert_eq!(
            (host.you, host.host, host.token),
            (MemberId(1), MemberId(1), None)
        );
        let guest = started(bench.take(bob));
        assert_eq!(
            (guest.you, guest.host, guest.shard, guest.game),
            (MemberId(2), MemberId(1), 7, 1)
        );
        let ways = |of: &Started, member: u32| {
            let player = of
                .members
                .iter()
                .find(|player| player.id == MemberId(member))
                .unwrap();
            player
                .candidates
                .iter()
                .map(|way| way.direct)
                .collect::<Vec<_>>()
        };
        let allowed = if direct {
            vec![true, false]
        } else {
            vec![false]
        };
        assert_eq!(
            (ways(&guest, 1), ways(&guest, 2)),
            (allowed, vec![true, false]),
            "one's own ways are no secret"
        );
        let claims =
            TokenClaims::of_token(&token_from_text(&guest.token.unwrap()).unwrap()).unwrap();
        assert_eq!(
            (claims.server, claims.client, claims.shard),
            (member("Ada").key, member("Bob").key, 7)
        );
        assert_eq!(claims.issued_unix_s, START.as_secs());
        assert_eq!(Some(claims.expires_unix_s), guest.token_expires_unix_s);
        // Another token is another one; who comes back gets one too.
        bench.ask(bob, Request::Token).unwrap();
        let again = started(bench.take(bob));
        assert_eq!(again.id, Some(1));
        let another =
            TokenClaims::of_token(&token_from_text(&again.token.unwrap()).unwrap()).unwrap();
        assert_ne!(another.id, claims.id);
        bench.close(bob);
        let (bob, _) = {
            let connection = bench.connect();
            bench.ask(connection, attach("Bob", &second)).unwrap();
            (connection, ())
        };
        assert!(started(bench.take(bob)).token.is_some());
        // Nobody joins now; the host leaves, and nobody gets tokens for it.
        assert_eq!(
            bench.enter(by_code("Cyd", &first, None)).unwrap_err(),
            Refusal::Started
        );
        assert_eq!(bench.ask(bob, ready()), Err(Refusal::Started));
        bench.ask(ada, Request::Leave).unwrap();
        assert_eq!(bench.ask(bob, Request::Token), Err(Refusal::HostGone));
        bench.ask(bob, Request::Reopen).unwrap();
        bench.enter(by_code("Cyd", &first, None)).unwrap();
    }
}

#[test]
fn who_drops_has_the_grace_time_to_come_back() {
    let mut bench = Bench::new(config());
    let ((ada, _), (bob, second)) = two(&mut bench, room("Friday"));
    bench.close(bob);
    let heard = bench.take(ada);
    let [Message::Events { events, .. }] = &heard[..] else {
        panic!("{heard:?}")
    };
    assert!(matches!(&events[..], [RoomEvent::MemberChanged { member }] if !member.here));
    bench.pass(Duration::from_secs(59));
    let mut wrong = attach("Bob", &second);
    if let Request::Attach(attach) = &mut wrong {
        attach.secret = member("Ada").secret;
    }
    assert_eq!(bench.enter(wrong).unwrap_err(), Refusal::WrongSecret);
    let (bob, _) = bench.enter(attach("Bob", &second)).unwrap();
    bench.pass(Duration::from_secs(100));
    assert_eq!(
        bench.store.rooms().values().next().unwrap().members.len(),
        2,
        "who is here stays"
    );
    bench.close(bob);
    bench.pass(Duration::from_secs(59));
    assert_eq!(
        bench.store.rooms().values().next().unwrap().members.len(),
        2
    );
    bench.pass(Duration::from_secs(1));
    assert_eq!(
        bench.store.rooms().values().next().unwrap().members.len(),
        1
    );
    assert_eq!(
        bench.enter(attach("Bob", &second)).unwrap_err(),
        Refusal::UnknownMember
    );
    bench.close(ada);
    bench.pass(Duration::from_secs(61));
    assert!(bench.store.records.is_empty(), "rooms vanish when empty");
    assert_eq!(
        bench.enter(attach("Bob", &second)).unwrap_err(),
        Refusal::UnknownRoom
    );
}

#[test]
fn guesses_and_requests_are_limited() {
    let mut bench = Bench::new(DirectoryConfig {
        requests: Rate::new(3, 1.0),
        ..config()
    });
    let ((_, first), (bob, second)) = two(&mut bench, room("Friday"));
    for _ in 0..3 {
        bench.ask(bob, ready()).unwrap();
    }
    assert_eq!(bench.ask(bob, ready()), Err(Refusal::TooOften));
    bench.pass(Duration::from_secs(1));
    bench.ask(bob, ready()).unwrap();
    let guess = |number: u32| {
        Request::Join(Join {
            room: None,
            code: Some(crate::ids::InviteCode::from_random([number as u8; 8])),
            password: None,
            member: member("Cyd"),
        })
    };
    for number in 0..10 {
        assert_eq!(
            bench.enter(guess(number)).unwrap_err(),
            Refusal::UnknownCode
        );
    }
    assert_eq!(bench.enter(guess(11)).unwrap_err(), Refusal::TooOften);
    assert_eq!(
        bench.enter(by_code("Cyd", &first, None)).unwrap_err(),
        Refusal::TooOften,
        "the right one too"
    );
    // Others are not kept out.
    let connection = bench.connect();
    let caller = Caller {
        connection,
        origin: std::net::IpAddr::from([198, 51, 100, 1]).into(),
        live: true,
    };
    bench
        .directory
        .handle(bench.now, caller, None, attach("Bob", &second));
    assert!(
        bench.directory.poll_commit().is_none()
            && matches!(bench.directory.poll_output(), Some(Output::End { .. }))
    );
    assert_eq!(bench.directory.stats().refusals[&Refusal::UnknownCode], 10);
}

#[test]
fn fields_have_limits_and_rooms_too() {
    let mut bench = Bench::new(DirectoryConfig {
        max_rooms: 1,
        ..config()
    });
    let bad: [fn(&mut NewRoom); 8] = [
        |room| room.title = String::new(),
        |room| room.title = "x".repeat(65),
        |room| room.title = "a\u{202e}b".into(),
        |room| room.game = String::new(),
        |room| room.limit = 0,
        |room| room.limit = 65,
        |room| room.minimum = 5,
        |room| room.settings = json!("x".repeat(4096)),
    ];
    for change in bad {
        assert_eq!(
            bench.enter(create("Ada", with(change))).unwrap_err(),
            Refusal::BadField
        );
    }
    let mut many = member("Ada");
    many.candidates = vec![many.candidates[0].clone(); 9];
    let request = Request::Create(crate::protocol::Create {
        room: room("Friday"),
        member: many,
    });
    assert_eq!(bench.enter(request).unwrap_err(), Refusal::BadField);
    bench.enter(create("Ada", room("Friday"))).unwrap();
    assert_eq!(
        bench.enter(create("Bob", room("Monday"))).unwrap_err(),
        Refusal::Busy
    );
}

#[test]
fn the_list_shows_public_rooms_and_what_changes() {
    let mut bench = Bench::new(config());
    let (ada, _) = bench.enter(create("Ada", room("Friday"))).unwrap();
    bench
        .enter(create("Bob", with(|room| room.public = false)))
        .unwrap();
    let titles = |bench: &Bench, filter: Filter| {
        bench
            .directory
            .rooms(&filter, None, 10)
            .unwrap()
            .into_iter()
            .map(|room| room.title)
            .collect::<Vec<_>>()
    };
    assert_eq!(titles(&bench, Filter::default()), ["Friday"]);
    assert_eq!(
        titles(
            &bench,
            Filter {
                text: Some("fRI".into()),
                ..Filter::default()
            }
        ),
        ["Friday"]
    );
    assert_eq!(
        titles(
            &bench,
            Filter {
                game: Some("chess".into()),
                ..Filter::default()
            }
        ),
        Vec::<String>::new()
    );
    let watcher = bench.connect();
    bench
        .directory
        .handle_watch(
            watcher,
            Filter {
                open: Some(true),
                ..Filter::default()
            },
        )
        .unwrap();
    let hear = |bench: &mut Bench| -> Option<ListMessage> {
        bench.now += Duration::from_millis(250);
        bench.directory.handle_time(bench.now);
        std::iter::from_fn(|| bench.directory.poll_output()).find_map(|output| match output {
            Output::Tell { to, frame } if to == [watcher] => serde_json::from_str(&frame).ok(),
            _ => None,
        })
    };
    assert!(matches!(hear(&mut bench), Some(ListMessage::Rooms { rooms }) if rooms.len() == 1));
    assert_eq!(hear(&mut bench), None, "nothing is new");
    bench.ask(ada, Request::Start).unwrap();
    assert!(
        matches!(hear(&mut bench), Some(ListMessage::Update { changed, removed }) if changed.is_empty() && removed.len() == 1)
    );
    bench.ask(ada, Request::Reopen).unwrap();
    assert!(
        matches!(hear(&mut bench), Some(ListMessage::Update { changed, removed }) if changed.len() == 1 && removed.is_empty())
    );
    bench.ask(ada, Request::Leave).unwrap();
    assert!(
        matches!(hear(&mut bench), Some(ListMessage::Update { removed, .. }) if removed.len() == 1)
    );
    bench.directory.handle_closed(bench.now, watcher);
    assert_eq!(bench.directory.population().watchers, 0);
    let _ = origin();
}
