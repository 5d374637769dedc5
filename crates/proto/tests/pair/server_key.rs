//! Keys: a client that knows the server's key connects to that server only, and both ends learn who the other is.

use samestep_proto::{
    AcceptConfig, CloseReason, Config, ConnectOptions, Event, Identity, PublicKey,
};

use crate::world::*;

fn with_key(key: PublicKey) -> ConnectOptions {
    ConnectOptions {
        server_key: Some(key),
        ..ConnectOptions::default()
    }
}

/// The key and `known` of a peer's last connection.
fn connected(peer: &Peer) -> (PublicKey, bool) {
    let told = |event: &Event| match event {
        Event::Connected { key, known, .. } => Some((*key, *known)),
        _ => None,
    };
    peer.events.iter().rev().find_map(told).expect("connected")
}

#[test]
fn both_ends_learn_the_others_key() {
    for config in [config(), config().plain()] {
        let mut pair = Pair::new(config);
        let [client, server] = [CLIENT, SERVER].map(|who| pair[who].endpoint.public_key());
        assert_eq!(pair.connect(ConnectOptions::default()), Ok(()));
        assert_eq!(connected(&pair[CLIENT]), (server, false));
        assert_eq!(connected(&pair[SERVER]), (client, false));
        assert_eq!(pair.connect(with_key(server)), Ok(()));
        assert_eq!(connected(&pair[CLIENT]), (server, true));
        assert_eq!(connected(&pair[SERVER]), (client, false));
    }
}

#[test]
fn a_known_key_takes_one_round_trip() {
    for config in [config(), config().plain()] {
        let mut pair = Pair::new(config);
        let start = pair.now;
        let key = pair[SERVER].endpoint.public_key();
        pair.connect(with_key(key)).unwrap();
        // Connect, Accept, and what confirms.
        assert_eq!(pair.now - start, 3 * ms(10));
    }
}

#[test]
fn another_key_is_told_at_the_deadline() {
    for config in [config(), config().plain()] {
        let mut pair = Pair::new(config);
        let expected = Identity::from_secret([9; 32]).public_key();
        let seen = pair[SERVER].endpoint.public_key();
        let start = pair.now;
        let failed = pair.connect(with_key(expected));
        assert_eq!(failed, Err(CloseReason::Identity { expected, seen }));
        assert_eq!(pair.now - start, secs(5), "anyone could have shown it");
        assert_eq!(pair[SERVER].endpoint.endpoint_stats().accepted, 0);
    }
}

#[test]
fn an_identity_outlives_the_server() {
    let server = || Config {
        identity: Some(Identity::from_secret([5; 32])),
        ..config()
    };
    let before = Pair::with(config(), server());
    let key = before[SERVER].endpoint.public_key();
    assert_eq!(key, Identity::from_secret([5; 32]).public_key());
    let mut after = Pair::with(config(), server());
    assert_eq!(after.connect(with_key(key)), Ok(()));
}

#[test]
fn a_trusted_key_needs_no_password() {
    for config in [config(), config().plain()] {
        let server = Config {
            accept: Some(AcceptConfig {
                password: Some("sesame".into()),
                ..AcceptConfig::default()
            }),
            ..config.clone()
        };
        let mut pair = Pair::with(config, server);
        let required = CloseReason::Refused(samestep_proto::RefuseReason::PasswordRequired);
        let key = pair[CLIENT].endpoint.public_key();
        let other = Identity::from_secret([5; 32]).public_key();
        pair[SERVER].endpoint.trust(other);
        let options = ConnectOptions::default;
        assert_eq!(pair.connect(options()), Err(required.clone()));
        pair[SERVER].endpoint.trust(key);
        assert_eq!(pair.connect(options()), Ok(()));
        assert_eq!(connected(&pair[SERVER]), (key, true));
        pair[SERVER].endpoint.distrust(&key);
        assert_eq!(pair.connect(options()), Err(required));
    }
}

#[test]
fn whoever_asks_without_a_cookie_too_often_has_to_fetch_one() {
    let mut pair = Pair::with(config(), config().accepting(100));
    let key = pair[SERVER].endpoint.public_key();
    let clients: Vec<Who> = (0..40)
        .map(|i| pair.add(config(), &format!("10.0.1.{i}:1000")))
        .collect();
    let (now, server) = (pair.now, pair[SERVER].address);
    for who in &clients {
        let endpoint = &mut pair[*who].endpoint;
        endpoint.connect(now, server, with_key(key)).unwrap();
    }
    pair.run_for(ms(25));
    let at_once = clients.iter().filter(|who| pair[**who].id.is_some());
    assert_eq!(at_once.count(), 32);
    pair.run_for(ms(500));
    let in_the_end = clients.iter().filter(|who| pair[**who].id.is_some());
    assert_eq!(in_the_end.count(), 40);
}
