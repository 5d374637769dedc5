//! The protocol as built for browsers: packets are not encrypted, which has to be said, and the handshake is all there.
//!
//! `cargo test -p samestep-proto --no-default-features --test without_crypto`
#![cfg(not(feature = "crypto"))]

use std::net::SocketAddr;
use std::time::Duration;

use samestep_proto::{
    AcceptConfig, CloseReason, Config, ConfigError, ConnectOptions, Endpoint, Event, RefuseReason,
};

#[test]
fn plain_packets_have_to_be_asked_for() {
    let refused = Endpoint::new(Config::new("browser", 1), [1; 32]).unwrap_err();
    assert_eq!(refused, ConfigError::NoCrypto);
    assert!(Endpoint::new(Config::new("browser", 1).plain(), [1; 32]).is_ok());
}

/// What the client hears when it gives this password.
fn connect(password: &str) -> Event {
    let config = || Config::new("browser", 1).plain();
    let accept = AcceptConfig {
        password: Some("sesame".into()),
        ..AcceptConfig::default()
    };
    let accepting = Config {
        accept: Some(accept),
        ..config()
    };
    let mut client = Endpoint::new(config(), [1; 32]).unwrap();
    let mut server = Endpoint::new(accepting, [2; 32]).unwrap();
    let here: SocketAddr = "10.0.0.1:1".parse().unwrap();
    let there: SocketAddr = "10.0.0.2:2".parse().unwrap();
    let (now, mut buf) = (Duration::ZERO, [0; 1200]);
    let options = ConnectOptions {
        password: Some(password.into()),
        ..ConnectOptions::default()
    };
    client.connect(now, there, options).unwrap();
    loop {
        while let Some(packet) = client.poll_transmit(now, &mut buf) {
            server.handle_datagram(now, here, &mut buf[..packet.len]);
        }
        while let Some(packet) = server.poll_transmit(now, &mut buf) {
            client.handle_datagram(now, there, &mut buf[..packet.len]);
        }
        if let Some(event) = client.poll_event() {
            return event;
        }
    }
}

#[test]
fn keys_and_passwords_work_without_encryption() {
    assert!(matches!(connect("sesame"), Event::Connected { .. }));
    let wrong = CloseReason::Refused(RefuseReason::Password);
    assert!(matches!(connect("simsim"), Event::Closed { reason, .. } if reason == wrong));
}
