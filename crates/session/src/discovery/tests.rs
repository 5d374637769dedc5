use core::time::Duration;
use std::net::SocketAddr;

use samestep_proto::Identity;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn announcement(room: &str, port: u16) -> Announcement {
    Announcement {
        room: room.into(),
        game: "skirmish".into(),
        version: 5,
        players: 2,
        capacity: 4,
        password: true,
        topology: Topology::Hosted,
        port,
        key: Identity::from_secret([7; 32]).public_key(),
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn query(finder: &mut Finder, now: Duration) -> Vec<u8> {
    let mut buf = [0; QUERY_BYTES];
    let len = finder.poll_query(now, &mut buf).expect("a query is due");
    buf[..len].to_vec()
}

fn answer(responder: &mut Responder, now: Duration, query: &[u8]) -> Option<Vec<u8>> {
    let mut buf = [0; MAX_ANSWER_BYTES];
    let len = responder.handle_query(now, address("10.0.0.9:5000"), query, &mut buf)?;
    Some(buf[..len].to_vec())
}

fn finder() -> Finder {
    Finder::new(FinderConfig::default(), 1).unwrap()
}

fn responder(id: u64, port: u16) -> Responder {
    Responder::new(ResponderId(id), announcement("room", port)).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_longest_answer_is_shorter_than_a_query() {
    let names = Announcement {
        room: "é".repeat(32),
        game: "g".repeat(64),
        ..announcement("", u16::MAX)
    };
    let answer = Answer {
        responder: ResponderId(u64::MAX),
        announcement: names.clone(),
    };
    let mut buf = [0; 512];
    let len = answer.encode_datagram(Nonce(1), &mut buf).unwrap();
    assert_eq!(len, MAX_ANSWER_BYTES);
    const { assert!(MAX_ANSWER_BYTES <= QUERY_BYTES) };
    assert_eq!(Answer::decode_datagram(&buf[..len]), Ok((Nonce(1), answer)));
    assert_eq!(names.check(), Ok(()));
}

#[test]
fn the_bytes_are_fixed() {
    let mut buf = [0; 512];
    let asked = Query {
        game: "skirmish".into(),
    };
    let len = asked.encode_datagram(Nonce(0x1122_3344_5566_7788), &mut buf);
    assert_eq!(len, Some(QUERY_BYTES));
    assert_eq!(
        hex(&buf[..23]),
        "535366720201887766554433221188b9b534b9b6b43934"
    );
    assert!(buf[23..QUERY_BYTES].iter().all(|byte| *byte == 0));
    let answer = Answer {
        responder: ResponderId(0x0102_0304_0506_0708),
        announcement: announcement("den", 14242),
    };
    let len = answer
        .encode_datagram(Nonce(0x1122_3344_5566_7788), &mut buf)
        .unwrap();
    assert_eq!(
        hex(&buf[..len]),
        "5353667202028877665544332211080706050403020103b23237c4dc5a9a5c5bda1c5a0100008000000140a23713be4feaeaf204c7fd3358fc9c00721881d174278128227ec674f37f7fe97b6d"
    );
}

#[test]
fn round_trips_are_measured_and_the_shortest_kept() {
    let (mut finder, mut responder) = (finder(), responder(1, 7));
    let host = address("10.0.0.1:14241");
    for (sent, back) in [(0, 9), (500, 504), (1000, 1007)] {
        let query = query(&mut finder, sent * MS);
        let answer = answer(&mut responder, sent * MS, &query).unwrap();
        finder.handle_answer(back * MS, host, &answer);
    }
    let found: Vec<_> = finder.rooms().collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].address, address("10.0.0.1:7"));
    assert_eq!(found[0].round_trip, 4 * MS);
    assert_eq!(found[0].heard_at, 1007 * MS);
}

#[test]
fn what_is_found_is_joined_by_its_key() {
    let (mut finder, mut responder) = (finder(), responder(1, 7));
    let asked = query(&mut finder, MS);
    let reply = answer(&mut responder, MS, &asked).unwrap();
    finder.handle_answer(MS, address("10.0.0.1:14241"), &reply);
    let found = finder.rooms().next().unwrap();
    let key = Identity::from_secret([7; 32]).public_key();
    assert_eq!(found.join().address, address("10.0.0.1:7"));
    assert_eq!(found.join().server_key, Some(key));
    assert_eq!(found.whole_address(), format!("10.0.0.1:7#{key}"));
    // Bytes that are no key are no answer.
    let mut bytes = reply.clone();
    let len = bytes.len();
    // The fields before the key end within a byte, so its last bits are in the last two.
    bytes[len - 33..].fill(0);
    assert!(!finder.handle_answer(MS, address("10.0.0.2:14241"), &bytes));
    assert_eq!(finder.stats().malformed, 1);
}

#[test]
fn several_rooms_on_one_machine_are_told_apart_and_changes_noticed() {
    let (mut finder, mut first, mut second) = (finder(), responder(1, 7), responder(2, 8));
    let host = address("10.0.0.1:14241");
    let asked = query(&mut finder, MS);
    for responder in [&mut first, &mut second] {
        let answer = answer(responder, MS, &asked).unwrap();
        assert!(finder.handle_answer(MS, host, &answer));
    }
    assert_eq!(finder.rooms().count(), 2);
    let asked = query(&mut finder, 501 * MS);
    let same = answer(&mut first, 501 * MS, &asked).unwrap();
    assert!(!finder.handle_answer(501 * MS, host, &same));
    second
        .set_announcement(Announcement {
            players: 3,
            ..announcement("room", 8)
        })
        .unwrap();
    let changed = answer(&mut second, 501 * MS, &asked).unwrap();
    assert!(finder.handle_answer(501 * MS, host, &changed));
    assert!(finder.rooms().any(|room| room.announcement.players == 3));
}

#[test]
fn a_room_reached_over_two_interfaces_is_listed_once() {
    let (mut finder, mut responder) = (finder(), responder(1, 7));
    let asked = query(&mut finder, MS);
    let reply = answer(&mut responder, MS, &asked).unwrap();
    assert!(finder.handle_answer(MS, address("127.0.0.1:14241"), &reply));
    assert!(finder.handle_answer(2 * MS, address("10.0.0.1:14241"), &reply));
    assert!(!finder.handle_answer(3 * MS, address("127.0.0.1:14241"), &reply));
    assert!(!finder.handle_answer(3 * MS, address("10.9.0.1:14241"), &reply));
    let found: Vec<_> = finder.rooms().collect();
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].address,
        address("10.0.0.1:7"),
        "good on other machines too"
    );
    // That interface dies: the other way is taken.
    let now = 2500 * MS;
    let asked = query(&mut finder, now);
    let reply = answer(&mut responder, now, &asked).unwrap();
    assert!(finder.handle_answer(now, address("10.9.0.1:14241"), &reply));
    assert_eq!(
        finder.rooms().next().unwrap().address,
        address("10.9.0.1:7")
    );
}

#[test]
fn silent_rooms_are_forgotten_in_time() {
    let (mut finder, mut responder) = (finder(), responder(1, 7));
    assert_eq!(finder.poll_timeout(), Duration::ZERO);
    let asked = query(&mut finder, MS);
    assert_eq!(finder.poll_query(400 * MS, &mut [0; QUERY_BYTES]), None);
    let reply = answer(&mut responder, MS, &asked).unwrap();
    finder.handle_answer(MS, address("10.0.0.1:14241"), &reply);
    assert_eq!(finder.poll_timeout(), 501 * MS);
    let mut now = MS;
    while finder.rooms().count() > 0 {
        now = finder.poll_timeout().max(now);
        assert!(now <= 3001 * MS, "forgotten by now");
        finder.poll_query(now, &mut [0; QUERY_BYTES]);
        finder.handle_timeout(now);
    }
    assert_eq!(now, 3001 * MS);
}

#[test]
fn answers_nobody_asked_for_are_not_believed() {
    let (mut one, mut other) = (finder(), Finder::new(FinderConfig::default(), 2).unwrap());
    let asked = query(&mut one, MS);
    query(&mut other, MS);
    let reply = answer(&mut responder(1, 7), MS, &asked).unwrap();
    assert!(!other.handle_answer(2 * MS, address("10.0.0.1:1"), &reply));
    assert_eq!(other.stats().unasked, 1);
    assert_eq!(other.rooms().count(), 0);
}

#[test]
fn one_machine_cannot_fill_the_list() {
    let mut finder = finder();
    let asked = query(&mut finder, MS);
    for id in 0..1000 {
        let reply = answer(&mut responder(id, 7), MS, &asked).unwrap();
        finder.handle_answer(MS, address("10.0.0.66:14241"), &reply);
    }
    assert_eq!(finder.rooms().count(), 32);
    for id in 1000..2000 {
        let reply = answer(&mut responder(id, 7), MS, &asked).unwrap();
        let ip = [10, 0, 1, (id % 100) as u8];
        finder.handle_answer(MS, SocketAddr::from((ip, 1)), &reply);
    }
    assert_eq!(finder.rooms().count(), 256);
    assert!(finder.stats().no_room > 0);
}

#[test]
fn a_query_is_answered_once_and_a_flood_in_part() {
    let (mut finder, mut responder) = (finder(), responder(1, 7));
    let asked = query(&mut finder, MS);
    assert!(answer(&mut responder, MS, &asked).is_some());
    assert!(
        answer(&mut responder, MS, &asked).is_none(),
        "its copy is not"
    );
    let mut answers = 0;
    for nonce in 0..10_000u64 {
        let mut buf = [0; QUERY_BYTES];
        let any = Query {
            game: String::new(),
        };
        any.encode_datagram(Nonce(nonce), &mut buf).unwrap();
        // 10,000 queries in two seconds.
        let now = MS + Duration::from_micros(200) * nonce as u32;
        answers += u32::from(answer(&mut responder, now, &buf).is_some());
    }
    let limit = Responder::ANSWERS_PER_S;
    assert!((3 * limit - 2..=3 * limit).contains(&answers), "{answers}");
    let stats = responder.stats();
    assert_eq!(stats.repeated, 1);
    assert_eq!(stats.limited, 10_000 - u64::from(answers));
}

#[test]
fn other_games_stay_quiet() {
    let mut finder = Finder::new(FinderConfig::for_game("chess"), 1).unwrap();
    let mut responder = responder(1, 7);
    let asked = query(&mut finder, MS);
    assert_eq!(answer(&mut responder, MS, &asked), None);
    assert_eq!(responder.stats().other_game, 1);
}

#[test]
fn hostile_bytes_are_refused() {
    let (mut finder, mut responder) = (finder(), responder(1, 7));
    let asked = query(&mut finder, MS);
    let reply = answer(&mut responder, MS, &asked).unwrap();
    let from = address("10.0.0.1:14241");
    // A query that is shorter than the answer.
    assert_eq!(answer(&mut responder, MS, &asked[..QUERY_BYTES - 1]), None);
    for len in 0..reply.len() {
        assert!(!finder.handle_answer(MS, from, &reply[..len]));
    }
    let mut longer = reply.clone();
    longer.push(0);
    assert!(!finder.handle_answer(MS, from, &longer));
    // Each takes the other's datagrams for nonsense, also its own.
    assert!(!finder.handle_answer(MS, from, &asked));
    assert_eq!(answer(&mut responder, MS, &reply), None);
    let mut newer = asked.clone();
    newer[4] = 9;
    assert_eq!(answer(&mut responder, MS, &newer), None);
    assert_eq!(responder.stats().other_version, 1);
    // Every byte set to everything: no panic, and no control characters on anybody's terminal.
    for at in 0..reply.len() {
        for value in 0..=255 {
            let mut bytes = reply.clone();
            bytes[at] = value;
            finder.handle_answer(MS, from, &bytes);
        }
    }
    for room in finder.rooms() {
        assert_eq!(room.announcement.check(), Ok(()));
    }
    assert!(finder.stats().malformed > 1000);
}

#[test]
fn names_that_cannot_be_shown_are_explained() {
    let error = |room: &str| {
        Responder::new(ResponderId(1), announcement(room, 1))
            .unwrap_err()
            .to_string()
    };
    assert!(error(&"x".repeat(65)).contains("64 bytes"));
    let text = error("\x1b[2J");
    assert!(
        text.contains("control characters") && !text.contains('\x1b'),
        "{text}"
    );
}
