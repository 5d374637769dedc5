//! A server that belongs to a lobby admits only those whom the lobby sent.

use samestep_proto::{
    AcceptConfig, CloseReason, Config, ConnectOptions, Event, RefuseReason, TokenClaims, TokenId,
    TokenIssuer,
};
use samestep_sim::{EndpointTestbed, NodeId};

const NOW_UNIX_S: u64 = 1_700_000_000;
/// Clocks of nodes show less than a thousand seconds at first.
const LATER_UNIX_S: u64 = NOW_UNIX_S + 10_000;

struct Lobby {
    world: EndpointTestbed,
    issuer: TokenIssuer,
    server: NodeId,
    client: NodeId,
}

fn lobby() -> Lobby {
    let issuer = TokenIssuer::new([9; 32]);
    let mut world = EndpointTestbed::new(1);
    let config = Config {
        unix_time_at_zero_s: NOW_UNIX_S,
        ..Config::new("game", 1)
    };
    let accept = AcceptConfig {
        lobby_key: Some(issuer.public_key()),
        public_addresses: vec!["10.0.0.1:40000".parse().unwrap()],
        ..AcceptConfig::default()
    };
    let server = world.add_node(Config {
        accept: Some(accept),
        ..config.clone()
    });
    let client = world.add_node(config);
    Lobby {
        world,
        issuer,
        server,
        client,
    }
}

impl Lobby {
    fn claims(&self) -> TokenClaims {
        TokenClaims {
            id: TokenId([4; 16]),
            expires_unix_s: LATER_UNIX_S,
            servers: vec![self.world.address(self.server)],
            clients: vec![self.world.address(self.client).ip()],
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
        expires_unix_s: NOW_UNIX_S - 1,
        ..claims.clone()
    };
    assert_eq!(lobby.enter_with(expired), Err(RefuseReason::TokenExpired));
    let elsewhere = TokenClaims {
        servers: vec!["10.0.0.9:1".parse().unwrap()],
        ..claims.clone()
    };
    assert_eq!(lobby.enter_with(elsewhere), Err(RefuseReason::TokenAddress));
    let another = TokenClaims {
        clients: vec!["10.0.0.9".parse().unwrap()],
        ..claims
    };
    assert_eq!(lobby.enter_with(another), Err(RefuseReason::TokenAddress));
}
