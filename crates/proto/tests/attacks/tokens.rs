//! The attacker has a token of somebody else's, or an old one of their own. They want to be let in by it: too late, twice, elsewhere, or
//! in another's name.

use samestep_proto::{
    AcceptConfig, Clock, CloseReason, Config, ConnectOptions, Identity, RefuseReason, TokenClaims,
    TokenId, TokenIssuer,
};

use crate::world::*;

/// Second 0 of these worlds.
const UNIX: u64 = 1_900_000_000;
/// Midnight, 1 January 2000.
const YEAR_2000: u64 = 946_684_800;

fn lobby() -> TokenIssuer {
    TokenIssuer::new([3; 32])
}

/// A server that starts at second `started` of the world, with this static key.
fn server(started: u64, secret: u8) -> Config {
    Config {
        accept: Some(AcceptConfig {
            lobby_key: Some(lobby().public_key()),
            ..AcceptConfig::default()
        }),
        identity: Some(Identity::from_secret([secret; 32])),
        clock: Some(Clock::starting(secs(started), UNIX + started)),
        ..config()
    }
}

fn claims(pair: &Pair) -> TokenClaims {
    let now = UNIX + pair.now.as_secs();
    TokenClaims {
        id: TokenId([1; 16]),
        issued_unix_s: now,
        expires_unix_s: now + 300,
        server: pair[SERVER].endpoint.public_key(),
        shard: 0,
        client: pair[CLIENT].endpoint.public_key(),
        client_addresses: vec![],
        user_data: vec![],
    }
}

fn connect(pair: &mut Pair, who: Who, token: &[u8]) -> Result<(), CloseReason> {
    let options = ConnectOptions {
        server_key: Some(pair[SERVER].endpoint.public_key()),
        token: Some(token.to_vec()),
        ..ConnectOptions::default()
    };
    pair.connect_as(who, options)
}

fn refused(reason: RefuseReason) -> Result<(), CloseReason> {
    Err(CloseReason::Refused(reason))
}

fn world(server: Config) -> Pair {
    let mut pair = Pair::with(config(), server);
    pair.run_for(secs(100));
    pair
}

#[test]
fn a_token_of_the_year_2000_has_expired() {
    let mut pair = world(server(0, 7));
    let old = TokenClaims {
        issued_unix_s: YEAR_2000,
        expires_unix_s: YEAR_2000 + 60,
        ..claims(&pair)
    };
    let token = lobby().issue(&old).unwrap();
    let expired = refused(RefuseReason::TokenExpired);
    assert_eq!(connect(&mut pair, CLIENT, &token), expired);
}

#[test]
fn a_token_is_not_good_again_after_the_server_was_restarted() {
    let mut before = world(server(0, 7));
    let token = lobby().issue(&claims(&before)).unwrap();
    assert_eq!(connect(&mut before, CLIENT, &token), Ok(()));
    // The same server with an empty memory, half a minute later.
    let mut after = world(server(130, 7));
    after.run_for(secs(31));
    assert_eq!(
        after[CLIENT].endpoint.public_key(),
        before[CLIENT].endpoint.public_key()
    );
    let from_before = refused(RefuseReason::TokenBeforeStart);
    assert_eq!(connect(&mut after, CLIENT, &token), from_before);
    after.run_for(secs(10));
    let fresh = TokenClaims {
        id: TokenId([2; 16]),
        ..claims(&after)
    };
    let fresh = lobby().issue(&fresh).unwrap();
    assert_eq!(connect(&mut after, CLIENT, &fresh), Ok(()));
}

#[test]
fn a_token_is_not_good_at_another_server_of_the_same_name_and_lobby() {
    let mut here = world(server(0, 7));
    let token = lobby().issue(&claims(&here)).unwrap();
    assert_eq!(connect(&mut here, CLIENT, &token), Ok(()));
    let elsewhere = refused(RefuseReason::TokenServer);
    let mut another = world(server(0, 8));
    assert_eq!(connect(&mut another, CLIENT, &token), elsewhere);
    // One that shares the key has a number of its own.
    let mut sharing = server(0, 7);
    sharing.accept.as_mut().unwrap().shard = 1;
    let mut sharing = world(sharing);
    assert_eq!(connect(&mut sharing, CLIENT, &token), elsewhere);
}

#[test]
fn a_stolen_token_admits_nobody() {
    let mut pair = world(server(0, 7));
    let thief = pair.add(config(), "10.0.0.66:1000");
    let token = lobby().issue(&claims(&pair)).unwrap();
    let stolen = refused(RefuseReason::TokenClient);
    assert_eq!(connect(&mut pair, thief, &token), stolen);
    assert_eq!(connect(&mut pair, CLIENT, &token), Ok(()));
}
