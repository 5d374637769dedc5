//! A server says why it declines.

use std::time::Duration;

use samestep_proto::{AcceptConfig, CloseReason, Config, ConnectOptions, RefuseReason};
use samestep_sim::{EndpointTestbed, NodeId};

fn config() -> Config {
    Config::new("game", 3)
}

fn with_password(password: &str) -> Config {
    let accept = AcceptConfig {
        password: Some(password.into()),
        ..AcceptConfig::default()
    };
    Config {
        accept: Some(accept),
        ..config()
    }
}

fn knowing(password: &str) -> ConnectOptions {
    ConnectOptions {
        password: Some(password.into()),
        ..ConnectOptions::default()
    }
}

/// Why a client with these settings is refused by a server with those.
fn refusal(server: Config, client: Config, options: ConnectOptions) -> RefuseReason {
    let mut world = EndpointTestbed::new(1);
    let server = world.add_node(server);
    let client = world.add_node(client);
    refused(&mut world, client, server, options)
}

fn refused(
    world: &mut EndpointTestbed,
    client: NodeId,
    server: NodeId,
    options: ConnectOptions,
) -> RefuseReason {
    match world.join(client, server, options) {
        Err(CloseReason::Refused(reason)) => reason,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn another_version_of_the_game() {
    let reason = refusal(
        Config {
            version: 4,
            ..config()
        }
        .accepting(4),
        config(),
        ConnectOptions::default(),
    );
    assert_eq!(reason, RefuseReason::Version { theirs: 4, ours: 3 });
}

#[test]
fn another_game() {
    let server = Config {
        game: "chess".into(),
        ..config()
    }
    .accepting(4);
    assert_eq!(
        refusal(server, config(), ConnectOptions::default()),
        RefuseReason::Game
    );
}

#[test]
fn other_channels() {
    let mut server = config().accepting(4);
    server.channels.pop();
    assert_eq!(
        refusal(server, config(), ConnectOptions::default()),
        RefuseReason::Channels
    );
}

#[test]
fn encryption_on_one_side_only() {
    let reason = refusal(
        config().accepting(4),
        config().plain(),
        ConnectOptions::default(),
    );
    assert_eq!(reason, RefuseReason::Security { encrypted: true });
    let reason = refusal(
        config().plain().accepting(4),
        config(),
        ConnectOptions::default(),
    );
    assert_eq!(reason, RefuseReason::Security { encrypted: false });
}

#[test]
fn the_password() {
    for server in [with_password("please"), with_password("please").plain()] {
        let client = Config {
            security: server.security,
            ..config()
        };
        let none = refusal(server.clone(), client.clone(), ConnectOptions::default());
        assert_eq!(none, RefuseReason::PasswordRequired);
        assert_eq!(
            refusal(server.clone(), client.clone(), knowing("now")),
            RefuseReason::Password
        );
        let mut world = EndpointTestbed::new(2);
        let [server, client] = [server, client].map(|config| world.add_node(config));
        world
            .join(client, server, knowing("please"))
            .expect("it is the right password");
    }
}

#[test]
fn a_full_server_until_a_place_is_free() {
    let mut world = EndpointTestbed::new(3);
    let server = world.add_node(config().accepting(2));
    let clients: Vec<NodeId> = (0..3).map(|_| world.add_node(config())).collect();
    let first = world
        .join(clients[0], server, ConnectOptions::default())
        .unwrap();
    world
        .join(clients[1], server, ConnectOptions::default())
        .unwrap();
    assert_eq!(
        refused(&mut world, clients[2], server, ConnectOptions::default()),
        RefuseReason::Full
    );
    world.close(clients[0], first[0], 0, "my place is yours");
    world.run_for(Duration::from_secs(5));
    world
        .join(clients[2], server, ConnectOptions::default())
        .expect("there is a place now");
}

#[test]
fn a_banned_address_until_the_ban_ends() {
    let mut world = EndpointTestbed::new(4);
    let server = world.add_node(config().accepting(2));
    let client = world.add_node(config());
    let ip = world.address(client).ip();
    world.with_endpoint(server, |now, endpoint| {
        endpoint.ban(now, ip, Duration::from_secs(20));
    });
    let declined = world.join(client, server, ConnectOptions::default());
    assert!(
        matches!(
            declined,
            Err(CloseReason::NoAnswer | CloseReason::Refused(RefuseReason::Banned))
        ),
        "{declined:?}"
    );
    world.run_for(Duration::from_secs(20));
    world
        .join(client, server, ConnectOptions::default())
        .expect("the ban is over");
}

#[test]
fn a_node_that_accepts_none() {
    let mut world = EndpointTestbed::new(5);
    let [server, client] = [config(), config()].map(|config| world.add_node(config));
    assert!(
        world
            .join(client, server, ConnectOptions::default())
            .is_err()
    );
}
