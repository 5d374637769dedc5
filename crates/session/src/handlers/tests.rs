//! A hosting player alone: every step of its own actions.

use samestep_wire::Wire;

use super::*;
use crate::config::{Role, SessionConfig};
use crate::session::To;

#[derive(Clone, PartialEq, Debug, Wire, Message)]
#[message(kind = 1, crate = crate)]
struct Chat(#[wire(max_len = 5)] String);

#[derive(Clone, PartialEq, Debug, Wire, Message)]
#[message(kind = 1, crate = crate)]
struct Shout(String);

#[derive(Clone, PartialEq, Debug, Wire, Message, Action)]
#[message(kind = 9, crate = crate)]
#[action(command = Taken, crate = crate)]
struct Take(u8);

#[derive(Clone, PartialEq, Debug, Wire)]
struct Taken(#[wire(range = 0..=9)] u8);

#[derive(Clone, PartialEq, Debug, Wire, Message, Action)]
#[message(kind = 10, crate = crate)]
#[action(denial = u8, crate = crate)]
struct Walk(u8);

type Log = Vec<String>;

fn host() -> Session {
    let config = SessionConfig::new("game", 1).player("Ada");
    Session::new(Duration::ZERO, config, Role::Host, [1; 32]).unwrap()
}

fn drain(session: &mut Session, handlers: &mut Handlers<Log>, log: &mut Log) {
    while let Some(event) = session.poll_event() {
        handlers.handle(Duration::ZERO, session, log, &event);
    }
}

#[test]
fn a_message_reaches_the_handler_of_its_type() {
    let (mut session, mut handlers, mut log) = (host(), Handlers::new(), Log::new());
    let chatting = |log: &mut Log, call: &mut Call<'_>, Chat(text)| {
        assert!(call.is_own());
        log.push(text);
    };
    handlers.on(chatting).unwrap();
    let now = Duration::ZERO;
    session.send(now, To::All, &Chat("hello".into())).unwrap();
    let garbage = [0xFF; 9];
    let to_all = (To::All, Chat::DELIVERY, Chat::KIND);
    session
        .send_bytes(now, to_all.0, to_all.1, to_all.2, &garbage)
        .unwrap();
    drain(&mut session, &mut handlers, &mut log);
    assert_eq!(log, ["hello"]);
    let stats = handlers.stats();
    assert_eq!((stats.handled, stats.undecodable), (2, 1));
    assert!(
        session
            .send(now, To::All, &Chat("too long".into()))
            .is_err()
    );
}

#[test]
fn two_types_of_one_kind_are_told_apart_in_words() {
    let mut handlers = Handlers::<()>::new();
    handlers.on(|_, _, _: Chat| {}).unwrap();
    handlers.on(|_, _, _: Chat| {}).unwrap();
    let words = handlers.on(|_, _, _: Shout| {}).unwrap_err().to_string();
    assert!(words.contains("::Chat` and `"), "{words}");
    assert!(
        words.contains("::Shout` are both messages of kind 1"),
        "{words}"
    );
}

#[test]
fn kinds_of_the_library_are_refused() {
    #[derive(Clone, Wire)]
    struct Own;

    impl Message for Own {
        const KIND: MessageKind = MessageKind::SHARED;
        const DELIVERY: crate::Delivery = crate::Delivery::Unreliable;
    }

    let mut handlers = Handlers::<()>::new();
    let error = handlers.on(|_, _, _: Own| {}).unwrap_err();
    assert!(error.to_string().contains("65280"), "{error}");
}

fn taking() -> Handlers<Log> {
    let mut handlers = Handlers::<Log>::new();
    handlers
        .confirmed::<Take>()
        .unwrap()
        .requested(|log, _, Take(n)| log.push(format!("asking for {n}")))
        .resolve(|_, _, Take(n)| match n {
            13 => Err("unlucky".into()),
            n => Ok(Taken(n)),
        })
        .applied(|log, call, Taken(n)| {
            log.push(format!("took {n}"));
            if n == 3 {
                call.request(&Take(4)).unwrap();
                log.push("and more".into());
            }
        })
        .denied(|log, _, why| log.push(format!("denied: {why:?}")));
    handlers
}

#[test]
fn a_confirmed_action_takes_every_step_once() {
    let (mut session, mut handlers, mut log) = (host(), taking(), Log::new());
    let now = Duration::ZERO;
    for n in [3, 13] {
        handlers
            .request(now, &mut session, &mut log, &Take(n))
            .unwrap();
    }
    drain(&mut session, &mut handlers, &mut log);
    assert_eq!(
        log,
        [
            "asking for 3",
            "asking for 13",
            "took 3",
            "and more",
            "asking for 4",
            "denied: Some(\"unlucky\")",
            "took 4",
        ]
    );
}

#[test]
fn what_cannot_be_read_or_written_is_denied_without_a_reason() {
    let (mut session, mut handlers, mut log) = (host(), taking(), Log::new());
    let now = Duration::ZERO;
    session.request(now, &Take(200)).unwrap();
    session.request_bytes(now, Take::KIND, &[1, 2, 3]).unwrap();
    drain(&mut session, &mut handlers, &mut log);
    assert_eq!(log, ["denied: None", "denied: None"]);
    let stats = handlers.stats();
    assert_eq!((stats.undecodable, stats.unencodable), (1, 1));
}

#[test]
fn own_hooks_are_called_instead() {
    let (mut session, mut handlers, mut log) = (host(), taking(), Log::new());
    handlers
        .confirmed::<Take>()
        .unwrap()
        .resolve_own(|_, _, _| Ok(Taken(9)))
        .applied_own(|log, _, Taken(n)| log.push(format!("I took {n}")));
    session.request(Duration::ZERO, &Take(13)).unwrap();
    drain(&mut session, &mut handlers, &mut log);
    assert_eq!(log, ["I took 9"]);
}

#[test]
fn an_unconfirmed_action_takes_place_and_is_taken_back() {
    let (mut session, mut handlers, mut log) = (host(), Handlers::<Log>::new(), Log::new());
    handlers
        .unconfirmed::<Walk>()
        .unwrap()
        .acted(|log, _, Walk(x)| log.push(format!("at {x}")))
        .check(|_, _, Walk(x)| if *x < 100 { Ok(()) } else { Err(5) })
        .rejected(|log, _, back| log.push(format!("back to {back:?}")));
    for x in [5, 105] {
        session.act(Duration::ZERO, &Walk(x)).unwrap();
    }
    drain(&mut session, &mut handlers, &mut log);
    assert_eq!(log, ["at 5", "at 105", "back to Some(5)"]);
}

#[test]
fn what_has_no_handler_is_left_to_the_game() {
    let (mut session, mut handlers, mut log) = (host(), Handlers::<Log>::new(), Log::new());
    while session.poll_event().is_some() {}
    session.request(Duration::ZERO, &Take(1)).unwrap();
    let event = session.poll_event().unwrap();
    assert!(!handlers.handle(Duration::ZERO, &mut session, &mut log, &event));
    let (ticket, take) = event.request::<Take>().unwrap();
    assert_eq!(take, Take(1));
    let verdict = Err("no".into());
    session
        .resolve_as::<Take>(Duration::ZERO, ticket, verdict)
        .unwrap();
    let event = session.poll_event().unwrap();
    let (_, why) = event.denied::<Take>().unwrap();
    assert_eq!(why.as_deref(), Some("no"));
}
