//! A client that knows the server's key connects to that server only.

use samestep_proto::{AcceptConfig, CloseReason, Config, ConnectOptions, RefuseReason};

use crate::world::*;

fn with_key(key: [u8; 32]) -> ConnectOptions {
    ConnectOptions {
        server_key: Some(key),
        ..ConnectOptions::default()
    }
}

#[test]
fn the_right_key_connects() {
    let mut pair = Pair::new(config());
    let key = pair[SERVER].endpoint.public_key().expect("it has one");
    assert_eq!(pair.connect(with_key(key)), Ok(()));
}

#[test]
fn another_key_does_not() {
    let mut pair = Pair::new(config());
    let other = Pair::with(config(), {
        let mut config = config().accepting(1);
        config.accept.as_mut().unwrap().identity = Some([9; 32]);
        config
    });
    let key = other[SERVER].endpoint.public_key().expect("it has one");
    let reason = pair.connect(with_key(key)).unwrap_err();
    let told = [
        CloseReason::Identity,
        CloseReason::Refused(RefuseReason::Handshake),
    ];
    assert!(told.contains(&reason), "{reason}");
    assert_eq!(pair[SERVER].endpoint.endpoint_stats().accepted, 0);
}

#[test]
fn an_identity_outlives_the_server() {
    let server = || Config {
        accept: Some(AcceptConfig {
            identity: Some([5; 32]),
            ..AcceptConfig::default()
        }),
        ..config()
    };
    let before = Pair::with(config(), server());
    let key = before[SERVER].endpoint.public_key().expect("it has one");
    let mut after = Pair::with(config(), server());
    assert_eq!(after.connect(with_key(key)), Ok(()));
}
