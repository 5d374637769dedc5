//! The end: with a reason that arrives, and after everything reliable has.

use samestep_proto::{CloseReason, ConnectOptions, SendError};

use crate::world::*;

fn remote(code: u32, reason: &str) -> Option<CloseReason> {
    Some(CloseReason::Remote {
        code,
        reason: reason.into(),
    })
}

#[test]
fn the_reason_survives_loss() {
    for seed in 0..60 {
        let mut pair = Pair::over(config(), lossy(30, 0.3), seed);
        pair.close(SERVER, 42, "the round is over");
        pair.run_for(secs(8));
        assert_eq!(
            pair.closed(CLIENT),
            remote(42, "the round is over"),
            "seed {seed}"
        );
        assert_eq!(pair.closed(SERVER), Some(CloseReason::Local));
        for who in [CLIENT, SERVER] {
            let id = pair[who].id.unwrap();
            assert_eq!(pair[who].endpoint.stats(id), None, "nothing is kept");
        }
        assert_eq!(pair[SERVER].endpoint.endpoint_stats().open, 0);
    }
}

#[test]
fn closing_first_delivers_everything_reliable() {
    for seed in 0..20 {
        let mut pair = Pair::over(config(), lossy(20, 0.1), seed);
        let messages: Vec<Vec<u8>> = (0..20).map(|i| content(i, 5000)).collect();
        for message in &messages {
            pair.send(CLIENT, ORDERED, message);
        }
        pair.close(CLIENT, 1, "done");
        let refused = pair.try_send(CLIENT, ORDERED, b"more");
        assert_eq!(refused, Err(SendError::NotConnected));
        pair.run_for(secs(5));
        assert!(pair.payloads(SERVER, ORDERED) == messages, "seed {seed}");
        assert_eq!(pair.closed(SERVER), remote(1, "done"));
        assert_eq!(pair.closed(CLIENT), Some(CloseReason::Local));
    }
}

#[test]
fn closing_gives_up_on_a_peer_that_does_not_answer() {
    let mut pair = Pair::connected(config());
    pair.filter = Some(Box::new(|_| false));
    pair.send(CLIENT, ORDERED, b"never");
    pair.close(CLIENT, 1, "");
    pair.run_for(ms(1900));
    assert_eq!(pair.closed(CLIENT), None);
    pair.run_for(ms(200));
    assert_eq!(pair.closed(CLIENT), Some(CloseReason::Local));
    pair.run_for(secs(5));
    let id = pair[CLIENT].id.unwrap();
    assert_eq!(pair[CLIENT].endpoint.stats(id), None);
}

#[test]
fn abort_does_not_wait() {
    let mut pair = Pair::connected(config());
    pair.send(CLIENT, ORDERED, &content(1, 1 << 20));
    pair.abort(CLIENT, 9, "out of here");
    pair.run_for(ms(15));
    assert_eq!(pair.closed(CLIENT), Some(CloseReason::Local));
    assert_eq!(pair.closed(SERVER), remote(9, "out of here"));
    assert_eq!(pair[SERVER].received, []);
}

#[test]
fn both_may_close_at_once() {
    let mut pair = Pair::connected(config());
    pair.close(CLIENT, 1, "client");
    pair.close(SERVER, 2, "server");
    pair.run_for(secs(3));
    for who in [CLIENT, SERVER] {
        let closed = pair[who].events.iter();
        let closed = closed.filter(|e| matches!(e, samestep_proto::Event::Closed { .. }));
        assert_eq!(closed.count(), 1, "said once");
    }
    assert_eq!(pair[SERVER].endpoint.endpoint_stats().open, 0);
}

#[test]
fn long_words_are_cut_between_characters() {
    let mut pair = Pair::connected(config());
    pair.close(CLIENT, 0, &"ä".repeat(200));
    pair.run_for(secs(1));
    assert_eq!(pair.closed(SERVER), remote(0, &"ä".repeat(127)));
}

#[test]
fn an_attempt_can_be_given_up() {
    let mut pair = Pair::new(config());
    let (now, server) = (pair.now, pair[SERVER].address);
    let options = ConnectOptions::default();
    let id = pair[CLIENT].endpoint.connect(now, server, options).unwrap();
    pair[CLIENT].endpoint.close(now, id, 0, "");
    pair.run_for(secs(1));
    assert_eq!(pair.closed(CLIENT), Some(CloseReason::Local));
    assert_eq!(pair[SERVER].events, []);
}
