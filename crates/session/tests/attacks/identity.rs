//! Speaking, linking and returning as somebody else.
//!
//! The attacker is, or was, a member of a room: it knows every member's number, address and public key, and everything that was ever agreed. Or it opens a
//! room where another one was. It wants to be taken for another member, to come back although it was banned, or to be joined in place of the host that a
//! program knew.

use core::time::Duration;

use samestep_session::hostile::{Claim, ClaimedBody};
use samestep_session::{JoinTo, LeaveReason, PeerRoute, Role, Session, SessionEvent, State};

use crate::room::{NodeIndex, TestNetwork, address, config, ms};

const ATTACKER: NodeIndex = 3;
const VICTIM: NodeIndex = 1;

fn mesh(seed: u64) -> TestNetwork {
    let mut network = TestNetwork::near(seed);
    network.mesh(config("Ann"), 4);
    network.run(ms(3_000));
    network
}

#[test]
fn a_member_cannot_link_as_another() {
    let mut network = mesh(1);
    let (to, victim) = (network.peer(0), network.peer(VICTIM));
    let attack = |network: &mut TestNetwork, claim: &Claim| {
        let before = network.at(0).malformed();
        let connection = network.with(ATTACKER, |now, session: &mut Session| {
            session.connect_raw(now, to).expect("it can connect")
        });
        network.run(ms(200));
        network.with(ATTACKER, |now, session: &mut Session| {
            session.claim_on(now, connection, &Claim::Link { from: victim.0 });
            session.claim_on(now, connection, claim);
        });
        network.run(ms(500));
        let refused = network.at(0).malformed() - before;
        assert_eq!(refused, 1, "the connection was closed");
    };
    let vote = Claim::Agreement {
        speaks_as: Some(victim.0),
        view: network.at(0).view_number(),
        decided: 0,
        body: ClaimedBody::PreVoted { round: 1 },
    };
    attack(&mut network, &vote);
    attack(
        &mut network,
        &Claim::Farewell(LeaveReason::Left("bye".into())),
    );
    for node in [0, 2] {
        assert!(network.at(node).room().is_present(victim));
    }
    let stats = network.at(0).peer_stats(network.local(0), victim).unwrap();
    assert_eq!(stats.route, PeerRoute::Direct);
    assert_eq!(network.seen(0, &SessionEvent::PeerAway { peer: victim }), 0);
}

#[test]
fn who_has_just_joined_is_linked_once_everyone_knows_of_it() {
    // Links are dialled as soon as the welcome has come, often before all others have heard of the newcomer.
    for seed in 0..20 {
        let mut network = TestNetwork::rough(seed);
        network.mesh(config("Ann"), 5);
        network.run(ms(6_000));
        for from in 0..5 {
            for to in (0..5).filter(|to| *to != from) {
                let peer = network.peer(to);
                let stats = network.at(from).peer_stats(network.local(from), peer);
                let route = stats.expect("a member").route;
                assert_eq!(route, PeerRoute::Direct, "seed {seed}: {from} to {to}");
            }
        }
    }
}

#[test]
fn somebody_banned_does_not_come_back_with_its_key() {
    for is_mesh in [false, true] {
        let mut network = TestNetwork::near(2);
        match is_mesh {
            false => network.hosted(config("Ann"), 3),
            true => network.mesh(config("Ann"), 4),
        };
        network.run(ms(2_000));
        let (peer, secret) = (network.peer(ATTACKER), network.at(ATTACKER).rejoin_secret());
        network.with(0, |now, session: &mut Session| {
            session.ban(now, peer, Duration::from_secs(600), "enough");
        });
        network.run(ms(2_000));
        // It asks every door.
        let doors = if is_mesh { 0..3 } else { 0..1 };
        for door in doors {
            let mut join = JoinTo::new(address(door));
            join.rejoin = Some(secret);
            let role = match is_mesh {
                true => Role::Peer(join),
                false => Role::Client(join),
            };
            network.replace(ATTACKER, config("Eve"), role);
            network.run(ms(3_000));
            let state = network.at(ATTACKER).state();
            assert_eq!(
                *state,
                State::Left(LeaveReason::Banned("enough".into())),
                "mesh: {is_mesh}, at {door}"
            );
        }
        assert!(!network.at(0).room().is_present(peer));
    }
}

#[test]
fn another_room_at_the_same_address_is_not_joined_in_its_place() {
    let mut network = TestNetwork::near(3);
    network.hosted(config("Ann"), 1);
    let key = network.at(0).public_key();
    let client = 1;
    let told = SessionEvent::Connected { key, known: false };
    assert_eq!(network.seen(client, &told), 1, "it had to believe the key");
    // The host's machine is taken over by somebody without the host's secret.
    network.replace(0, config("Eve"), Role::Host);
    network.run(Duration::from_secs(90));
    match network.at(client).state() {
        State::Left(LeaveReason::NotReached(words)) => {
            assert!(words.contains("key"), "{words}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(network.at(0).room().peers().len(), 1);
}

#[test]
fn whoever_knows_the_key_insists_on_it() {
    let mut network = TestNetwork::near(4);
    network.hosted(config("Ann"), 1);
    let key = network.at(0).public_key();
    let mut join = JoinTo::new(address(0));
    join.server_key = Some(key);
    let friend = network.enter(config("Bo"), Role::Client(join));
    network.run(ms(1_000));
    assert_eq!(*network.at(friend).state(), State::InSync);
    let told = SessionEvent::Connected { key, known: true };
    assert_eq!(network.seen(friend, &told), 1);
    let mut join = JoinTo::new(address(0));
    join.server_key = Some(network.at(friend).public_key());
    let misled = network.enter(config("Cy"), Role::Client(join));
    network.run(Duration::from_secs(10));
    match network.at(misled).state() {
        State::Left(LeaveReason::WrongKey(words)) => {
            assert!(words.contains("key"), "{words}");
        }
        other => panic!("{other:?}"),
    }
}
