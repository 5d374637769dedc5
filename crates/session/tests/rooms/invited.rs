//! Who is let in, in virtual time: whom a lobby sends, and whoever knows the password as it is now. Members return by their keys.

use std::time::Duration;

use crate::room::{NodeIndex, TestNetwork, address, config, ms};
use samestep_proto::{CLOCK_SKEW_S, ConfigError, ConnectError, TokenClaims, TokenId, TokenIssuer};
use samestep_session::{
    Identity, JoinTo, LeaveReason, LobbyKey, PublicKey, Role, Session, SessionConfig, SessionEvent,
    SetPasswordError, SetupError, State,
};

/// When the programs start.
const START: u64 = 2_000_000_000;
/// A server takes tokens that are issued this long after its start.
const EARLIEST: u64 = CLOCK_SKEW_S + 1;

fn lobby() -> TokenIssuer {
    TokenIssuer::new([3; 32])
}

fn lobby_key() -> LobbyKey {
    lobby().public_key()
}

fn identity(seed: u8) -> Identity {
    Identity::from_secret([seed; 32])
}

fn server() -> SessionConfig {
    let mut config = config("Ann").admits_by_lobby(lobby_key(), 4);
    config.protocol.identity = Some(identity(1));
    config
}

/// A token for the client with this seed, issued so many seconds after the server's start.
fn claims(client: u8, after_s: u64) -> TokenClaims {
    TokenClaims {
        id: TokenId([client; 16]),
        issued_unix_s: START + after_s,
        expires_unix_s: START + after_s + 60,
        server: identity(1).public_key(),
        shard: 4,
        client: identity(client).public_key(),
        client_addresses: vec![],
        user_data: vec![],
    }
}

fn client(seed: u8, token: Option<&TokenClaims>) -> SessionConfig {
    let mut config = config("Bo");
    config.protocol.identity = Some(identity(seed));
    config.token = token.map(|claims| lobby().issue(claims).unwrap());
    config
}

fn known(key: PublicKey) -> JoinTo {
    JoinTo {
        server_key: Some(key),
        ..JoinTo::new(address(0))
    }
}

/// A server that has run long enough to take tokens.
fn served(seed: u64) -> TestNetwork {
    let mut network = TestNetwork::near(seed);
    network.enter_at(START, server(), Role::Host);
    network.run(Duration::from_secs(EARLIEST + 1));
    network
}

fn enter(network: &mut TestNetwork, config: SessionConfig) -> NodeIndex {
    let role = Role::Client(known(identity(1).public_key()));
    let node = network.enter(config, role);
    network.run(ms(2_000));
    node
}

/// The words with which a client is refused, and those in which the server hears of it.
fn refused(network: &mut TestNetwork, config: SessionConfig) -> [String; 2] {
    let node = enter(network, config);
    let State::Left(LeaveReason::TokenRefused(words)) = network.at(node).state() else {
        panic!("{:?}", network.at(node).state());
    };
    let words = words.clone();
    let heard = network.events[0]
        .iter()
        .rev()
        .find_map(|event| match event {
            SessionEvent::Refused { reason, .. } => Some(reason.to_string()),
            _ => None,
        });
    [words, heard.expect("the server hears of it")]
}

#[test]
fn whom_the_lobby_sends_is_in_and_returns_without_another_token() {
    let mut network = served(1);
    let node = enter(&mut network, client(2, Some(&claims(2, EARLIEST))));
    assert_eq!(*network.at(node).state(), State::InSync);
    let peer = network.peer(node);
    // The connection is lost, and taken up again by the program's key: its token has been used.
    network.cut(0, node);
    network.run(Duration::from_secs(15));
    assert_eq!(*network.at(node).state(), State::Connecting);
    network.mend();
    network.run(ms(5_000));
    assert_eq!(*network.at(node).state(), State::InSync);
    // The program is killed, and restarted without any token.
    let secret = network.at(node).rejoin_secret();
    network.kill(node);
    network.run(ms(1_000));
    let join = JoinTo {
        rejoin: Some(secret),
        ..known(identity(1).public_key())
    };
    network.replace(node, config("Bo"), Role::Client(join));
    network.run(ms(3_000));
    assert_eq!(*network.at(node).state(), State::InSync);
    assert_eq!(network.peer(node), peer);
}

#[test]
fn nobody_else_gets_in_and_both_ends_say_why() {
    let mut network = served(2);
    let [to_client, at_server] = refused(&mut network, client(2, None));
    assert_eq!(
        to_client,
        "the server admits players only through its lobby: join there"
    );
    assert_eq!(at_server, "the newcomer brought no invitation of the lobby");
    let now_s = EARLIEST + 1;

    let another = TokenClaims {
        client: identity(7).public_key(),
        ..claims(3, now_s)
    };
    let [to_client, at_server] = refused(&mut network, client(3, Some(&another)));
    assert!(to_client.contains("for another program"), "{to_client}");
    assert_eq!(at_server, "the newcomer's invitation is for somebody else");

    let elsewhere = TokenClaims {
        shard: 5,
        ..claims(4, now_s)
    };
    let [to_client, _] = refused(&mut network, client(4, Some(&elsewhere)));
    assert!(to_client.contains("for another server"), "{to_client}");

    let future = claims(5, now_s + 100);
    let [to_client, at_server] = refused(&mut network, client(5, Some(&future)));
    assert!(to_client.contains("clock"), "{to_client}");
    assert!(at_server.contains("clock"), "{at_server}");

    let early = claims(6, 1);
    let [to_client, _] = refused(&mut network, client(6, Some(&early)));
    assert!(
        to_client.contains("before the server had started"),
        "{to_client}"
    );

    let mut forged = client(8, None);
    forged.token = Some(TokenIssuer::new([9; 32]).issue(&claims(8, now_s)).unwrap());
    let [to_client, _] = refused(&mut network, forged);
    assert!(to_client.contains("does not trust"), "{to_client}");

    network.run(Duration::from_secs(80));
    let [to_client, _] = refused(&mut network, client(9, Some(&claims(9, now_s))));
    assert!(
        to_client.contains("has expired: ask the lobby"),
        "{to_client}"
    );
    assert_eq!(network.at(0).room().peers().len(), 1);
}

#[test]
fn a_used_token_is_refused_once_its_client_has_left() {
    let mut network = served(3);
    let token = claims(2, EARLIEST);
    let node = enter(&mut network, client(2, Some(&token)));
    network.with(node, |now, session: &mut Session| session.leave(now, "bye"));
    network.run(ms(1_000));
    let [to_client, at_server] = refused(&mut network, client(2, Some(&token)));
    assert!(to_client.contains("has been used"), "{to_client}");
    assert_eq!(at_server, "the newcomer's invitation has been used");
}

#[test]
fn tokens_need_a_clock_at_the_server_and_its_key_at_the_client() {
    let now = Duration::ZERO;
    let timeless = config("Ann").admits_by_lobby(lobby_key(), 0);
    let error = Session::new(now, timeless, Role::Host, [1; 32]).err();
    assert_eq!(error, Some(SetupError::Protocol(ConfigError::NoClock)));
    let config = client(2, Some(&claims(2, EARLIEST)));
    let role = Role::Client(JoinTo::new(address(0)));
    let error = Session::new(now, config, role, [1; 32]).err();
    let wanted = SetupError::Connect(ConnectError::TokenWithoutKey);
    assert_eq!(error, Some(wanted));
}

#[test]
fn a_mesh_that_a_lobby_guards_is_linked_without_more_tokens() {
    let mut network = TestNetwork::near(4);
    network.enter_at(START, server(), Role::Introducer);
    network.run(Duration::from_secs(EARLIEST + 1));
    for seed in 2..5 {
        let config = client(seed, Some(&claims(seed, EARLIEST)));
        let config = config.admits_by_lobby(lobby_key(), 4);
        let role = Role::Peer(known(identity(1).public_key()));
        network.enter_at(START + EARLIEST, config, role);
    }
    network.run(ms(8_000));
    assert!(network.agree(&[0, 1, 2, 3]), "{network:#?}");
    for from in 0..4 {
        for to in (0..4).filter(|to| *to != from) {
            let peer = network.peer(to);
            let stats = network.at(from).peer_stats(network.local(from), peer);
            let route = stats.expect("a member").route;
            assert_eq!(route, samestep_session::PeerRoute::Direct, "{from} to {to}");
        }
    }
    // Every member is a door, and none of them lets a stranger in.
    for door in 0..4 {
        let role = Role::Peer(JoinTo::new(address(door)));
        let node = network.enter(config("Eve"), role);
        network.run(ms(2_000));
        let state = network.at(node).state();
        assert!(
            matches!(state, State::Left(LeaveReason::TokenRefused(_))),
            "{state:?}"
        );
    }
}

/// Bans a member of a room with a password and changes that. Node 3 is the one that is banned.
fn banned(seed: u64, is_mesh: bool) -> TestNetwork {
    let mut network = TestNetwork::near(seed);
    let config = config("Ann").password("sesame");
    match is_mesh {
        false => network.hosted(config, 3),
        true => network.mesh(config, 4),
    };
    network.run(ms(2_000));
    let peer = network.peer(3);
    network.with(0, |now, session: &mut Session| {
        session.ban(now, peer, Duration::from_secs(600), "enough");
        session.set_password(now, "barley".into()).unwrap();
    });
    network.run(ms(2_000));
    assert!(!network.at(0).room().is_present(peer));
    network
}

fn role(is_mesh: bool, join: JoinTo) -> Role {
    match is_mesh {
        true => Role::Peer(join),
        false => Role::Client(join),
    }
}

#[test]
fn after_a_ban_the_old_password_and_another_key_open_no_door() {
    for is_mesh in [false, true] {
        let mut network = banned(5, is_mesh);
        let doors = if is_mesh { 0..3 } else { 0..1 };
        for door in doors {
            let eve = config("Eve").password("sesame");
            network.replace(3, eve, role(is_mesh, JoinTo::new(address(door))));
            network.run(ms(3_000));
            let state = network.at(3).state();
            assert!(
                matches!(state, State::Left(LeaveReason::WrongPassword(_))),
                "mesh: {is_mesh}, at {door}: {state:?}"
            );
        }
        let last_door = if is_mesh { 2 } else { 0 };
        let friend = config("Flo").password("barley");
        let join = JoinTo::new(address(last_door));
        let node = network.enter(friend, role(is_mesh, join));
        network.run(ms(3_000));
        assert_eq!(*network.at(node).state(), State::InSync, "mesh: {is_mesh}");
        assert!(network.agree(&[0, 1, 2, node]));
    }
}

#[test]
fn somebody_banned_is_not_told_the_new_password() {
    for seed in 0..20 {
        let mut network = TestNetwork::near(seed);
        network.mesh(config("Ann").password("sesame"), 4);
        network.run(ms(2_000));
        let (peer, before) = (network.peer(3), network.at(0).log_index());
        network.with(0, |now, session: &mut Session| {
            session.ban(now, peer, Duration::from_secs(600), "enough");
            session.set_password(now, "barley".into()).unwrap();
        });
        network.run(ms(2_000));
        for member in 0..3 {
            assert!(network.at(member).config().password == Some("barley".into()));
            // The ban, the view without the banned one, and only then the password.
            assert_eq!(network.at(member).log_index(), before + 3);
        }
        // The last entry that it was sent is at most the one by which it leaves.
        let last = network.at(3).log_index();
        assert!(last <= before + 1, "seed {seed}: {last}");
    }
}

#[test]
fn nobody_enters_by_the_old_password_while_a_mesh_changes_it() {
    for (seed, later_ms) in (0..100).step_by(4).enumerate() {
        let mut network = TestNetwork::near(seed as u64);
        network.mesh(config("Ann").password("sesame"), 4);
        network.run(ms(2_000));
        let peer = network.peer(3);
        network.with(0, |now, session: &mut Session| {
            session.ban(now, peer, Duration::from_secs(600), "enough");
            session.set_password(now, "barley".into()).unwrap();
        });
        network.run(ms(later_ms));
        let join = JoinTo::new(address(0));
        // Its address is banned too, so it comes from another.
        let eve = network.enter(config("Eve").password("sesame"), Role::Peer(join));
        network.run(ms(9_000));
        let state = network.at(eve).state();
        assert!(
            matches!(state, State::Left(_)),
            "{later_ms} ms later: {state:?}"
        );
        let members = network.at(0).room().peers().len();
        assert_eq!(members, 3, "{later_ms} ms later");
    }
}

#[test]
fn who_was_given_up_while_it_was_cut_off_comes_back_with_the_password() {
    for seed in 0..10 {
        let mut network = TestNetwork::near(seed);
        network.mesh(config("Ann").password("sesame"), 4);
        network.run(ms(2_000));
        let peer = network.peer(3);
        network.isolate(&[3]);
        network.run(Duration::from_secs(200));
        let room = network.at(0).room();
        assert!(room.peer(peer).is_none(), "its place was given up");
        network.mend();
        network.run(ms(15_000));
        let state = network.at(3).state();
        assert_eq!(*state, State::InSync, "seed {seed}");
        assert!(network.agree(&[0, 1, 2, 3]), "seed {seed}");
    }
}

#[test]
fn members_return_by_their_keys_after_the_password_was_changed() {
    for is_mesh in [false, true] {
        let mut network = banned(6, is_mesh);
        let key = network.at(0).public_key();
        let peer = network.peer(1);
        // Away while the password is changed once more, so that it does not hear of it.
        network.isolate(&[1]);
        network.run(Duration::from_secs(15));
        network.with(0, |now, session: &mut Session| {
            session.set_password(now, "clover".into()).unwrap();
        });
        network.run(ms(1_000));
        network.mend();
        network.run(ms(8_000));
        assert_eq!(*network.at(1).state(), State::InSync, "mesh: {is_mesh}");
        // The same for a program that was killed and only remembers the first password.
        let secret = network.at(1).rejoin_secret();
        network.kill(1);
        network.run(ms(500));
        let join = JoinTo {
            rejoin: Some(secret),
            server_key: Some(key),
            ..JoinTo::new(address(0))
        };
        let config = config("Ann").password("sesame");
        network.replace(1, config, role(is_mesh, join));
        network.run(ms(6_000));
        assert_eq!(*network.at(1).state(), State::InSync, "mesh: {is_mesh}");
        assert_eq!(network.peer(1), peer);
        if is_mesh {
            assert!(network.at(1).config().password == Some("clover".into()));
        }
    }
}

#[test]
fn whose_place_is_gone_needs_the_password_again() {
    let mut network = TestNetwork::near(7);
    network.hosted(config("Ann").password("sesame"), 1);
    let (key, secret) = (network.at(0).public_key(), network.at(1).rejoin_secret());
    network.with(1, |now, session: &mut Session| session.leave(now, "bye"));
    network.run(ms(1_000));
    let join = JoinTo {
        rejoin: Some(secret),
        server_key: Some(key),
        ..JoinTo::new(address(0))
    };
    network.replace(1, config("Ann"), Role::Client(join.clone()));
    network.run(ms(2_000));
    let state = network.at(1).state();
    assert!(
        matches!(state, State::Left(LeaveReason::WrongPassword(_))),
        "{state:?}"
    );
    network.replace(1, config("Ann").password("sesame"), Role::Client(join));
    network.run(ms(2_000));
    assert_eq!(*network.at(1).state(), State::InSync);
}

#[test]
fn a_guest_cannot_change_the_password_and_bad_ones_are_explained() {
    let mut network = TestNetwork::near(8);
    network.hosted(config("Ann"), 1);
    let mut set = |node, password: &str| {
        network.with(node, |now, session: &mut Session| {
            session.set_password(now, password.into())
        })
    };
    assert_eq!(set(1, "barley"), Err(SetPasswordError::NotAuthority));
    assert_eq!(set(0, ""), Err(SetPasswordError::Empty));
    assert_eq!(set(0, &"x".repeat(256)), Err(SetPasswordError::TooLong));
    let mut network = TestNetwork::near(9);
    let mut plain = config("Ann");
    plain.protocol = plain.protocol.plain();
    network.mesh(plain, 2);
    let told = network.with(0, |now, session: &mut Session| {
        session.set_password(now, "barley".into())
    });
    assert_eq!(told, Err(SetPasswordError::Plain));
}
