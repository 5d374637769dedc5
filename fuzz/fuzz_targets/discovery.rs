//! Discovery: what decodes is fit to be shown and has one encoding, and no answer is longer than its query.
#![no_main]

use libfuzzer_sys::fuzz_target;
use samestep_session::discovery::{
    Announcement, Answer, Finder, FinderConfig, MAX_ANSWER_BYTES, QUERY_BYTES, Query, Responder,
    ResponderId, Topology,
};
use std::time::Duration;

fuzz_target!(|input: (u16, Vec<(u16, u8)>, &[u8])| {
    let (ms, changes, bytes) = input;
    let from = "192.0.2.1:14241".parse().expect("an address");
    let now = Duration::from_millis(ms.into());
    let mut answer = [0; MAX_ANSWER_BYTES];
    let mut responder = Responder::new(
        ResponderId(7),
        Announcement {
            room: "den".into(),
            game: "skirmish".into(),
            version: 1,
            players: 1,
            capacity: 2,
            password: false,
            topology: Topology::Hosted,
            port: 1,
            key: samestep_session::Identity::from_secret([7; 32]).public_key(),
        },
    )
    .expect("short names");
    if let Some(len) = responder.handle_query(now, from, bytes, &mut answer) {
        assert!(len <= bytes.len());
        Query::decode_datagram(bytes).expect("what is answered is a query");
    }
    if let Ok((nonce, read)) = Answer::decode_datagram(bytes) {
        assert_eq!(read.announcement.check(), Ok(()));
        let len = read.encode_datagram(nonce, &mut answer);
        assert_eq!(len.map(|len| &answer[..len]), Some(bytes));
    }

    // A good answer with a few bytes changed reaches further than chance would.
    let mut finder = Finder::new(FinderConfig::default(), 1).expect("no name");
    let mut query = [0; QUERY_BYTES];
    let len = finder.poll_query(now, &mut query).expect("the first");
    let len = responder.handle_query(now, from, &query[..len], &mut answer);
    let answer = &mut answer[..len.expect("it is for everyone")];
    for (at, value) in changes {
        let at = usize::from(at) % answer.len();
        answer[at] = value;
    }
    finder.handle_answer(now, from, answer);
    for room in finder.rooms() {
        assert_eq!(room.announcement.check(), Ok(()));
        assert!(room.address.port() != 0);
    }
});
