//! A server that belongs to a lobby admits only those whom the lobby sent.

use std::time::Duration;

use samestep_proto::{
    AcceptConfig, Clock, CloseReason, Config, ConnectOptions, Event, Identity, RefuseReason,
    TokenClaims, TokenId, TokenIssuer,
};
use samestep_sim::{EndpointTestbed, NodeId};

/// At zero of the server's clock, which shows something less than a thousand seconds when the world begins.
const STARTED_UNIX_S: u64 = 1_700_000_000;

struct Lobby {
    world: EndpointTestbed,
    issuer: TokenIssuer,
    server: NodeId,
    client: NodeId,
}

fn lobby() -> Lobby {
    let issuer = TokenIssuer::new([9; 32]);
    let mut world = EndpointTestbed::new(1);
    let accept = AcceptConfig {
        lobby_key: Some(issuer.public_key()),
        ..AcceptConfig::default()
    };
    let server = world.add_node(Config {
        accept: Some(accept),
        clock: Some(Clock::starting(Duration::ZERO, STARTED_UNIX_S)),
        ..Config::new("game", 1)
    });
    // The client keeps its key when it is started anew.
    let client = world.add_node(Config {
        identity: Some(Identity::from_secret([5; 32])),
        ..Config::new("game", 1)
    });
    // Tokens from the first seconds of a server might have been used before it.
    world.run_for(Duration::from_secs(150));
    Lobby {
        world,
        issuer,
        server,
        client,
    }
}

impl Lobby {
    fn claims(&mut self) -> TokenClaims {
        let now = self.world.with_endpoint(self.server, |now, _| now);
        let issued_unix_s = STARTED_UNIX_S + now.as_secs();
        TokenClaims {
            id: TokenId([4; 16]),
            issued_unix_s,
            expires_unix_s: issued_unix_s + 60,
            server: self.world.endpoint(self.server).public_key(),
            shard: 0,
            client: self.world.endpoint(self.client).public_key(),
            client_addresses: vec![self.world.address(self.client).ip()],
            user_data: b"rank 7".to_vec(),
        }
    }

    fn enter(&mut self, token: Option<Vec<u8>>) -> Result<(), RefuseReason> {
        let options = ConnectOptions {
            token,
            server_key: Some(self.world.endpoint(self.server).public_key()),
            ..ConnectOptions::default()
        };
        match self.world.join(self.client, self.server, options) {
            Ok(_) => Ok(()),
            Err(CloseReason::Refused(reason)) => Err(reason),
            Err(other) => panic!("{other}"),
        }
    }

    fn enter_with(&mut self, claims: TokenClaims) -> Result<(), RefuseReason> {
        let token = self.issuer.issue(&claims).unwrap();
        self.enter(Some(token))
    }
}

#[test]
fn a_token_opens_the_door_once_and_brings_its_user_data() {
    let mut lobby = lobby();
    let claims = lobby.claims();
    lobby.enter_with(claims.clone()).unwrap();
    let brought = lobby
        .world
        .events(lobby.server)
        .find_map(|event| match event {
            Event::Connected { user_data, .. } => Some(user_data.clone()),
            _ => None,
        });
    assert_eq!(brought.as_deref(), Some(&b"rank 7"[..]));
    lobby.world.restart(lobby.client);
    assert_eq!(lobby.enter_with(claims), Err(RefuseReason::TokenUsed));
}

#[test]
fn without_a_token_or_with_a_forged_one_it_stays_shut() {
    let mut lobby = lobby();
    assert_eq!(lobby.enter(None), Err(RefuseReason::TokenRequired));
    let claims = lobby.claims();
    let forged = TokenIssuer::new([8; 32]).issue(&claims).unwrap();
    assert_eq!(lobby.enter(Some(forged)), Err(RefuseReason::TokenInvalid));
}

#[test]
fn a_token_that_expired_or_is_for_someone_else_does_not_fit() {
    let mut lobby = lobby();
    let claims = lobby.claims();
    let expired = TokenClaims {
        issued_unix_s: claims.issued_unix_s - 100,
        expires_unix_s: claims.issued_unix_s - 40,
        ..claims.clone()
    };
    assert_eq!(lobby.enter_with(expired), Err(RefuseReason::TokenExpired));
    let elsewhere = TokenClaims {
        server: Identity::from_secret([6; 32]).public_key(),
        ..claims.clone()
    };
    assert_eq!(lobby.enter_with(elsewhere), Err(RefuseReason::TokenServer));
    let another = TokenClaims {
        client: Identity::from_secret([6; 32]).public_key(),
        ..claims
    };
    assert_eq!(lobby.enter_with(another), Err(RefuseReason::TokenClient));
}
