//! Connect tokens: what the lobby signed admits one client, once, in time, from where it says.

use samestep_proto::{
    AcceptConfig, CloseReason, Config, ConnectOptions, Event, RefuseReason, TokenClaims, TokenId,
    TokenIssuer,
};

use crate::world::*;

const UNIX: u64 = 1_800_000_000;

fn lobby() -> TokenIssuer {
    TokenIssuer::new([3; 32])
}

fn claims(id: u8) -> TokenClaims {
    TokenClaims {
        id: TokenId([id; 16]),
        expires_unix_s: UNIX + 60,
        servers: vec!["10.0.0.2:2000".parse().unwrap()],
        clients: vec!["10.0.0.1".parse().unwrap()],
        user_data: b"team red".to_vec(),
    }
}

fn pair(config: Config) -> Pair {
    let server = Config {
        accept: Some(AcceptConfig {
            lobby_key: Some(lobby().public_key()),
            public_addresses: vec!["10.0.0.2:2000".parse().unwrap()],
            ..AcceptConfig::default()
        }),
        unix_time_at_zero_s: UNIX,
        ..config.clone()
    };
    Pair::with(config, server)
}

fn options(pair: &Pair, token: Option<Vec<u8>>) -> ConnectOptions {
    ConnectOptions {
        server_key: Some(pair[SERVER].endpoint.public_key()),
        token,
        user_data: b"team blue".to_vec(),
        ..ConnectOptions::default()
    }
}

fn connect(pair: &mut Pair, token: Vec<u8>) -> Result<(), CloseReason> {
    let options = options(pair, Some(token));
    pair.connect(options)
}

fn refused(reason: RefuseReason) -> Result<(), CloseReason> {
    Err(CloseReason::Refused(reason))
}

#[test]
fn a_good_token_admits_and_its_data_counts() {
    for config in [config(), config().plain()] {
        let mut pair = pair(config);
        let token = lobby().issue(&claims(1)).unwrap();
        assert_eq!(connect(&mut pair, token), Ok(()));
        let Some(Event::Connected { user_data, .. }) = pair[SERVER].events.first() else {
            panic!("connected");
        };
        assert_eq!(
            user_data, b"team red",
            "what the lobby says, not the client"
        );
    }
}

#[test]
fn the_second_use_is_refused() {
    let mut pair = pair(config());
    let token = lobby().issue(&claims(1)).unwrap();
    assert_eq!(connect(&mut pair, token.clone()), Ok(()));
    pair.close(CLIENT, 0, "");
    pair.run_for(secs(3));
    let used = refused(RefuseReason::TokenUsed);
    assert_eq!(connect(&mut pair, token), used);
}

#[test]
fn a_lost_answer_does_not_use_the_token_up() {
    let mut pair = pair(config());
    let mut accepts = 0;
    pair.filter = Some(Box::new(move |datagram| {
        accepts += u32::from(datagram.bytes[0] == 0x04);
        datagram.bytes[0] != 0x04 || accepts > 2
    }));
    let token = lobby().issue(&claims(1)).unwrap();
    assert_eq!(connect(&mut pair, token), Ok(()));
}

#[test]
fn an_expired_one_is_refused() {
    let mut pair = pair(config());
    pair.run_for(secs(60));
    let token = lobby().issue(&claims(1)).unwrap();
    let expired = refused(RefuseReason::TokenExpired);
    assert_eq!(connect(&mut pair, token), expired);
    let told = |event: &Event| {
        matches!(
            event,
            Event::Refused {
                reason: RefuseReason::TokenExpired,
                ..
            }
        )
    };
    assert!(pair[SERVER].events.iter().any(told));
}

#[test]
fn one_for_another_client_or_server_is_refused() {
    let elsewhere = refused(RefuseReason::TokenAddress);
    let other_client = TokenClaims {
        clients: vec!["10.0.0.7".parse().unwrap()],
        ..claims(1)
    };
    let token = lobby().issue(&other_client).unwrap();
    assert_eq!(connect(&mut pair(config()), token), elsewhere);
    let other_server = TokenClaims {
        servers: vec!["10.0.0.2:2001".parse().unwrap()],
        ..claims(2)
    };
    let token = lobby().issue(&other_server).unwrap();
    assert_eq!(connect(&mut pair(config()), token), elsewhere);
}

#[test]
fn forged_and_missing_ones_are_refused() {
    let invalid = refused(RefuseReason::TokenInvalid);
    let forged = TokenIssuer::new([4; 32]).issue(&claims(1)).unwrap();
    assert_eq!(connect(&mut pair(config()), forged), invalid);
    let mut changed = lobby().issue(&claims(1)).unwrap();
    changed[20] ^= 1;
    assert_eq!(connect(&mut pair(config()), changed), invalid);
    let mut pair = pair(config());
    let options = options(&pair, None);
    assert_eq!(pair.connect(options), refused(RefuseReason::TokenRequired));
}
