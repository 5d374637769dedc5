//! Silence: kept short by keep-alives, and the end if it lasts.

use samestep_proto::{CloseReason, Config};

use crate::world::*;

#[test]
fn an_idle_connection_stays_open_at_little_cost() {
    let mut pair = Pair::connected(config());
    pair.run_for(secs(1));
    let before = [CLIENT, SERVER].map(|who| pair.stats(who).bytes_sent);
    pair.run_for(secs(100));
    for (who, before) in [CLIENT, SERVER].into_iter().zip(before) {
        assert_eq!(pair.closed(who), None);
        let per_second = (pair.stats(who).bytes_sent - before) / 100;
        assert!(per_second < 60, "{per_second} bytes/s");
    }
    pair.send(CLIENT, ORDERED, b"awake");
    pair.run_for(ms(20));
    assert_eq!(pair.payloads(SERVER, ORDERED), [b"awake"]);
}

#[test]
fn it_survives_an_outage_shorter_than_the_time_out() {
    let mut pair = Pair::connected(config());
    pair.filter = Some(Box::new(|_| false));
    pair.send(CLIENT, ORDERED, b"patience");
    pair.run_for(secs(7));
    pair.filter = None;
    pair.run_for(secs(3));
    assert_eq!(pair.payloads(SERVER, ORDERED), [b"patience"]);
    assert_eq!((pair.closed(CLIENT), pair.closed(SERVER)), (None, None));
}

#[test]
fn silence_ends_it_at_the_configured_time() {
    let config = Config {
        keep_alive: ms(500),
        timeout: secs(3),
        ..config()
    };
    let mut pair = Pair::connected(config);
    pair.run_for(secs(10));
    pair.filter = Some(Box::new(|_| false));
    pair.run_for(ms(2400));
    assert_eq!((pair.closed(CLIENT), pair.closed(SERVER)), (None, None));
    pair.run_for(ms(700));
    for who in [CLIENT, SERVER] {
        assert_eq!(pair.closed(who), Some(CloseReason::TimedOut));
    }
    assert_eq!(pair[SERVER].endpoint.endpoint_stats().open, 0);
}

#[test]
fn one_direction_alone_is_not_enough() {
    let mut pair = Pair::connected(config());
    let server = pair[SERVER].address;
    pair.filter = Some(Box::new(move |datagram| datagram.from == server));
    pair.run_for(secs(30));
    assert_eq!(pair.closed(SERVER), Some(CloseReason::TimedOut));
    assert_eq!(pair.closed(CLIENT), Some(CloseReason::TimedOut));
}
