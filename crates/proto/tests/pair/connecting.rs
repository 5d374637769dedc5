//! Connecting: both ends agree, whatever the protection, and through loss.

use samestep_proto::{Cipher, Config, ConnectError, ConnectOptions, Event, Identity};

use crate::world::*;

fn protections() -> [Config; 3] {
    let with = |cipher| Config { cipher, ..config() };
    [
        config().plain(),
        with(Cipher::Aes256Gcm),
        with(Cipher::ChaCha20Poly1305),
    ]
}

#[test]
fn takes_two_round_trips_and_brings_user_data_along() {
    for config in protections() {
        let encrypted = config.security == samestep_proto::Security::Encrypted;
        let mut pair = Pair::new(config);
        let options = ConnectOptions {
            user_data: b"Ada".to_vec(),
            ..ConnectOptions::default()
        };
        let start = pair.now;
        pair.connect(options).unwrap();
        // Hello, Retry, Connect, Accept, and the first packet that confirms.
        assert_eq!(pair.now - start, 5 * ms(10));
        let Some(Event::Connected {
            incoming: true,
            user_data,
            peer,
            ..
        }) = pair[SERVER].events.first()
        else {
            panic!("the server knows");
        };
        assert_eq!((&user_data[..], *peer), (&b"Ada"[..], pair[CLIENT].address));
        assert_eq!(pair.stats(CLIENT).encrypted, encrypted);
        pair.send(CLIENT, ORDERED, b"hello");
        pair.send(SERVER, ORDERED, b"welcome");
        pair.run_for(ms(50));
        assert_eq!(pair.payloads(SERVER, ORDERED), [b"hello"]);
        assert_eq!(pair.payloads(CLIENT, ORDERED), [b"welcome"]);
    }
}

#[test]
fn the_server_follows_the_clients_cipher() {
    let server = Config {
        cipher: Cipher::Aes256Gcm,
        ..config()
    };
    let client = Config {
        cipher: Cipher::ChaCha20Poly1305,
        ..config()
    };
    let mut pair = Pair::with(client, server);
    pair.connect(ConnectOptions::default()).unwrap();
    pair.send(SERVER, UNRELIABLE, b"hi");
    pair.run_for(ms(50));
    assert_eq!(pair.payloads(CLIENT, UNRELIABLE), [b"hi"]);
}

#[test]
fn any_one_lost_datagram_only_costs_time() {
    for config in [config(), config().plain()] {
        for lost in 0..5 {
            let mut pair = Pair::new(config.clone());
            let mut count = 0;
            pair.filter = Some(Box::new(move |_| {
                count += 1;
                count != lost + 1
            }));
            pair.connect(ConnectOptions::default()).unwrap();
            let accepted = pair[SERVER].endpoint.endpoint_stats().accepted;
            assert_eq!(accepted, 1, "datagram {lost} lost");
        }
    }
}

#[test]
fn succeeds_through_half_of_everything_lost_and_doubled() {
    for seed in 0..40 {
        let mut pair = Pair::new(config());
        pair.set_link(rough(30, 0.3), seed);
        pair.connect(ConnectOptions::default()).unwrap();
        pair.run_for(secs(1));
        let connected = |who: Who| {
            let events = pair[who].events.iter();
            events
                .filter(|e| matches!(e, Event::Connected { .. }))
                .count()
        };
        assert_eq!(
            (connected(CLIENT), connected(SERVER)),
            (1, 1),
            "seed {seed}"
        );
    }
}

#[test]
fn no_answer_is_said_after_the_configured_time() {
    let mut pair = Pair::new(config());
    pair.filter = Some(Box::new(|_| false));
    let start = pair.now;
    let failed = pair.connect(ConnectOptions::default()).unwrap_err();
    assert_eq!(failed, samestep_proto::CloseReason::NoAnswer);
    assert_eq!(pair.now - start, secs(5));
}

#[test]
fn connecting_anew_from_the_same_address_replaces_the_old_connection() {
    let mut pair = Pair::connected(config());
    let first = pair[SERVER].id;
    pair.connect(ConnectOptions::default()).unwrap();
    assert_ne!(pair[SERVER].id, first);
    let reason = pair.closed(SERVER).expect("the old one is gone");
    assert_eq!(reason, samestep_proto::CloseReason::Replaced);
    assert_eq!(pair[SERVER].endpoint.endpoint_stats().open, 1);
}

#[test]
fn what_does_not_fit_a_request_is_refused_at_once() {
    let mut pair = Pair::new(config());
    let now = pair.now;
    let server = pair[SERVER].address;
    let mut connect = |options| pair[CLIENT].endpoint.connect(now, server, options);
    let long = ConnectOptions {
        user_data: vec![0; 257],
        ..ConnectOptions::default()
    };
    assert_eq!(connect(long), Err(ConnectError::UserDataTooLong));
    let token = |len, server_key| ConnectOptions {
        token: Some(vec![0; len]),
        server_key,
        ..ConnectOptions::default()
    };
    assert_eq!(
        connect(token(100, None)),
        Err(ConnectError::TokenWithoutKey)
    );
    let key = Identity::from_secret([1; 32]).public_key();
    let too_long = connect(token(577, Some(key)));
    assert_eq!(too_long, Err(ConnectError::TokenTooLong));
}
