//! Connect tokens: what the lobby signed admits one client, once, in time, to one server.

use samestep_proto::{
    AcceptConfig, Clock, CloseReason, Config, ConfigError, ConnectOptions, Endpoint, Event,
    Identity, RefuseReason, TokenClaims, TokenId, TokenIssuer,
};

use crate::world::*;

/// The worlds of these tests begin at second 1, long after the server started.
const UNIX: u64 = 1_800_000_000;

fn lobby() -> TokenIssuer {
    TokenIssuer::new([3; 32])
}

fn server(config: Config) -> Config {
    Config {
        accept: Some(AcceptConfig {
            lobby_key: Some(lobby().public_key()),
            ..AcceptConfig::default()
        }),
        clock: Some(Clock::starting(ms(0), UNIX)),
        ..config
    }
}

fn pair(config: Config) -> Pair {
    let mut pair = Pair::with(config.clone(), server(config));
    pair.run_for(secs(100));
    pair
}

fn claims(pair: &Pair, id: u8) -> TokenClaims {
    let now = UNIX + pair.now.as_secs();
    TokenClaims {
        id: TokenId([id; 16]),
        issued_unix_s: now,
        expires_unix_s: now + 60,
        server: pair[SERVER].endpoint.public_key(),
        shard: 0,
        client: pair[CLIENT].endpoint.public_key(),
        client_addresses: vec!["10.0.0.1".parse().unwrap()],
        user_data: b"team red".to_vec(),
    }
}

fn options(pair: &Pair, token: Option<Vec<u8>>) -> ConnectOptions {
    ConnectOptions {
        server_key: Some(pair[SERVER].endpoint.public_key()),
        token,
        user_data: b"team blue".to_vec(),
        ..ConnectOptions::default()
    }
}

fn connect(pair: &mut Pair, claims: &TokenClaims) -> Result<(), CloseReason> {
    let options = options(pair, Some(lobby().issue(claims).unwrap()));
    pair.connect(options)
}

fn refused(reason: RefuseReason) -> Result<(), CloseReason> {
    Err(CloseReason::Refused(reason))
}

#[test]
fn a_good_token_admits_and_its_data_counts() {
    for config in [config(), config().plain()] {
        let mut pair = pair(config);
        let claims = claims(&pair, 1);
        assert_eq!(connect(&mut pair, &claims), Ok(()));
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
    let claims = claims(&pair, 1);
    assert_eq!(connect(&mut pair, &claims), Ok(()));
    pair.close(CLIENT, 0, "");
    pair.run_for(secs(3));
    let used = refused(RefuseReason::TokenUsed);
    assert_eq!(connect(&mut pair, &claims), used);
}

#[test]
fn a_lost_answer_does_not_use_the_token_up() {
    let mut pair = pair(config());
    let mut accepts = 0;
    pair.filter = Some(Box::new(move |datagram| {
        accepts += u32::from(datagram.bytes[0] == 0x04);
        datagram.bytes[0] != 0x04 || accepts > 2
    }));
    let claims = claims(&pair, 1);
    assert_eq!(connect(&mut pair, &claims), Ok(()));
}

/// Nor does an attempt that nobody confirmed.
#[test]
fn a_token_is_used_up_only_when_the_client_is_in() {
    let mut pair = pair(config());
    let claims = claims(&pair, 1);
    pair.filter = Some(Box::new(|datagram| datagram.bytes[0] != 0x04));
    assert_eq!(connect(&mut pair, &claims), Err(CloseReason::NoAnswer));
    pair.filter = None;
    assert_eq!(connect(&mut pair, &claims), Ok(()));
}

#[test]
fn an_expired_one_is_refused() {
    let mut pair = pair(config());
    let claims = claims(&pair, 1);
    pair.run_for(secs(70));
    let expired = refused(RefuseReason::TokenExpired);
    assert_eq!(connect(&mut pair, &claims), expired);
    let reason = RefuseReason::TokenExpired;
    let peer = pair[CLIENT].address;
    assert_eq!(pair[SERVER].events, [Event::Refused { peer, reason }]);
}

#[test]
fn one_for_another_client_address_or_shard_is_refused() {
    let mut pair = pair(config());
    let address = TokenClaims {
        client_addresses: vec!["10.0.0.7".parse().unwrap()],
        ..claims(&pair, 1)
    };
    let other_client = refused(RefuseReason::TokenClient);
    assert_eq!(connect(&mut pair, &address), other_client);
    let shard = TokenClaims {
        shard: 1,
        ..claims(&pair, 2)
    };
    let other_server = refused(RefuseReason::TokenServer);
    assert_eq!(connect(&mut pair, &shard), other_server);
    let anywhere = TokenClaims {
        client_addresses: vec![],
        ..claims(&pair, 3)
    };
    assert_eq!(connect(&mut pair, &anywhere), Ok(()));
}

#[test]
fn forged_and_missing_ones_are_refused() {
    let mut pair = pair(config());
    let invalid = refused(RefuseReason::TokenInvalid);
    let good = claims(&pair, 1);
    let forged = TokenIssuer::new([4; 32]).issue(&good).unwrap();
    let forged = options(&pair, Some(forged));
    assert_eq!(pair.connect(forged), invalid);
    let mut changed = lobby().issue(&good).unwrap();
    changed[3] ^= 1;
    let changed = options(&pair, Some(changed));
    assert_eq!(pair.connect(changed), invalid);
    let none = options(&pair, None);
    assert_eq!(pair.connect(none), refused(RefuseReason::TokenRequired));
}

#[test]
fn token_and_password_are_both_asked_for_if_both_are_set() {
    let mut both = server(config());
    both.accept.as_mut().unwrap().password = Some("sesame".into());
    let mut pair = Pair::with(config(), both);
    pair.run_for(secs(100));
    let token = lobby().issue(&claims(&pair, 1)).unwrap();
    let alone = options(&pair, Some(token.clone()));
    assert_eq!(pair.connect(alone), refused(RefuseReason::PasswordRequired));
    let together = ConnectOptions {
        password: Some("sesame".into()),
        ..options(&pair, Some(token))
    };
    assert_eq!(pair.connect(together), Ok(()));
}

#[test]
fn a_lobby_key_without_a_clock_is_a_mistake() {
    let timeless = Config {
        clock: None,
        ..server(config())
    };
    let refused = Endpoint::new(timeless, [1; 32]).unwrap_err();
    assert_eq!(refused, ConfigError::NoClock);
}

#[test]
fn a_trusted_key_needs_no_token() {
    let mut pair = pair(config());
    let key = pair[CLIENT].endpoint.public_key();
    pair[SERVER].endpoint.trust(key);
    assert_eq!(pair.connect(ConnectOptions::default()), Ok(()));
    assert_ne!(key, Identity::from_secret([1; 32]).public_key());
}
