//! Members of a mesh: routes around cut pairs, votes, elections, minorities.

use crate::room::{NodeIndex, TestNetwork, address, config, ms};
use samestep_session::{
    Delivery, JoinTo, LeaveReason, MessageKind, Owner, PeerRoute, Presence, Role, Session,
    SessionEvent, Silence, State, To,
};

const KIND: MessageKind = MessageKind(7);

fn say(network: &mut TestNetwork, node: NodeIndex, delivery: Delivery, word: u8) {
    network.with(node, |now, session: &mut Session| {
        session
            .send_bytes(now, To::Others, delivery, KIND, &[word])
            .unwrap();
    });
}

/// The first bytes of what a node heard from a peer.
fn heard(network: &TestNetwork, node: NodeIndex, from: NodeIndex) -> Vec<u8> {
    let peer = network.at(from).me().unwrap();
    let of = |event: &SessionEvent| match event {
        SessionEvent::Message { from, payload, .. } if *from == peer => Some(payload[0]),
        _ => None,
    };
    network.events[node].iter().filter_map(of).collect()
}

#[test]
fn a_pair_that_cannot_hear_each_other_is_routed_through_a_third() {
    for seed in 0..5 {
        let mut network = TestNetwork::rough(seed);
        network.mesh(config("Ann"), 4);
        network.run(ms(3_000));
        network.cut(1, 2);
        for word in 0..100 {
            for node in 0..4 {
                say(&mut network, node, Delivery::ReliableOrdered, word);
            }
            network.run(ms(50));
        }
        network.run(ms(10_000));
        let words: Vec<u8> = (0..100).collect();
        for node in 0..4 {
            for from in (0..4).filter(|f| *f != node) {
                assert_eq!(
                    heard(&network, node, from),
                    words,
                    "{from} to {node}, seed {seed}"
                );
            }
        }
        let two = network.at(2).me().unwrap();
        let route = network
            .at(1)
            .peer_stats(network.local(1), two)
            .unwrap()
            .route;
        assert!(matches!(route, PeerRoute::Via(_)), "{route:?}");
        assert!(network.agree(&[0, 1, 2, 3]));
        // And back again.
        network.mend();
        network.run(ms(10_000));
        let route = network
            .at(1)
            .peer_stats(network.local(1), two)
            .unwrap()
            .route;
        assert_eq!(route, PeerRoute::Direct);
    }
}

#[test]
fn a_pair_that_never_heard_each_other_is_routed_too() {
    for seed in 0..5 {
        let mut network = TestNetwork::rough(seed);
        let first = network.enter(config("Ann"), Role::Introducer);
        for _ in 0..3 {
            network.enter(config("Ann"), Role::Peer(JoinTo::new(address(first))));
        }
        network.cut(2, 3);
        network.run_until(ms(10_000), |network| {
            network.agree(&[0, 1, 2, 3]) && network.at(0).room().peers().len() == 4
        });
        for node in 0..4 {
            say(&mut network, node, Delivery::ReliableUnordered, node as u8);
        }
        network.run(ms(5_000));
        for node in 0..4 {
            for from in (0..4).filter(|f| *f != node) {
                assert_eq!(
                    heard(&network, node, from),
                    [from as u8],
                    "{from} to {node}"
                );
            }
        }
    }
}

#[test]
fn a_silent_member_is_dropped_and_what_it_owned_has_one_heir() {
    for seed in 0..5 {
        let mut network = TestNetwork::rough(seed);
        network.mesh(config("Ann"), 5);
        let gone = network.at(3).me().unwrap();
        let player = network.at(3).my_players().next().unwrap();
        network.kill(3);
        network.run_until(ms(10_000), |network| {
            [0, 1, 2, 4]
                .iter()
                .all(|p| !network.at(*p).room().is_present(gone))
        });
        let heir = network.at(0).room().owner_of(Owner::Player(player));
        assert!(heir.is_some_and(|heir| heir != gone));
        for node in [1, 2, 4] {
            assert_eq!(
                network.at(node).room().owner_of(Owner::Player(player)),
                heir
            );
        }
    }
}

#[test]
fn the_leader_is_replaced_and_comes_back_as_a_member() {
    for seed in 0..10 {
        let mut network = TestNetwork::rough(seed);
        network.mesh(config("Ann"), 4);
        let (leader, secret) = (network.at(0).me().unwrap(), network.at(0).rejoin_secret());
        network.kill(0);
        network.run_until(ms(15_000), |network| {
            network.agree(&[1, 2, 3]) && !network.at(1).room().is_present(leader)
        });
        assert_ne!(network.at(1).room().authority(), leader);
        assert_eq!((1..4).filter(|p| network.at(*p).is_authority()).count(), 1);
        let mut join = JoinTo::new(address(2));
        join.rejoin = Some(secret);
        network.replace(0, config("Ann"), Role::Peer(join));
        network.run_until(ms(10_000), |network| {
            network.agree(&[0, 1, 2, 3]) && network.at(1).room().is_present(leader)
        });
        assert_eq!(network.at(0).me(), Some(leader));
        assert!(!network.at(0).is_authority());
    }
}

#[test]
fn a_minority_freezes_and_rejoins() {
    for seed in 0..10 {
        for group in [vec![0, 1], vec![3, 4]] {
            let mut network = TestNetwork::rough(seed);
            network.mesh(config("Ann"), 5);
            let rest: Vec<NodeIndex> = (0..5).filter(|p| !group.contains(p)).collect();
            network.isolate(&group);
            network.run(ms(15_000));
            for node in &group {
                assert_ne!(*network.at(*node).state(), State::InSync, "{network:?}");
                assert!(!network.at(*node).is_authority());
            }
            assert!(network.agree(&rest), "seed {seed}: {network:?}");
            let present = network.at(rest[0]).room().present().count();
            assert_eq!(present, 3);
            network.mend();
            network.run_until(ms(20_000), |network| {
                network.agree(&[0, 1, 2, 3, 4]) && network.at(0).room().present().count() == 5
            });
        }
    }
}

#[test]
fn of_two_the_one_the_introducer_names_goes_on() {
    for named in [0, 1] {
        let mut network = TestNetwork::near(1);
        network.mesh(config("Ann"), 2);
        if named == 1 {
            let other = network.at(1).me().unwrap();
            network.with(0, |now, session| session.name_tie_breaker(now, other));
            network.run(ms(1_000));
        }
        network.cut(0, 1);
        network.run(ms(12_000));
        assert_eq!(*network.at(named).state(), State::InSync, "{network:?}");
        assert!(network.at(named).is_authority());
        assert_ne!(*network.at(1 - named).state(), State::InSync);
        network.mend();
        network.run_until(ms(20_000), |network| {
            network.agree(&[0, 1]) && network.at(0).room().present().count() == 2
        });
    }
}

#[test]
fn a_mesh_may_wait_instead() {
    let mut network = TestNetwork::near(1);
    let mut config = config("Ann");
    config.silence = Silence::Wait;
    network.mesh(config, 3);
    network.isolate(&[2]);
    network.run(ms(20_000));
    for node in 0..3 {
        assert_eq!(*network.at(node).state(), State::Frozen);
        assert_eq!(network.at(node).room().present().count(), 3);
    }
    network.mend();
    network.run_until(ms(20_000), |network| network.agree(&[0, 1, 2]));
}

#[test]
fn leaving_a_mesh_takes_no_time_out() {
    for leaver in [0, 2] {
        let mut network = TestNetwork::near(1);
        network.mesh(config("Ann"), 4);
        let peer = network.at(leaver).me().unwrap();
        network.with(leaver, |now, session| session.leave(now, "supper"));
        let rest: Vec<NodeIndex> = (0..4).filter(|p| *p != leaver).collect();
        network.run_until(ms(2_000), |network| {
            network.agree(&rest) && network.at(rest[0]).room().peer(peer).is_none()
        });
        let left = SessionEvent::PeerLeft {
            peer,
            reason: LeaveReason::Left("supper".into()),
        };
        assert_eq!(network.seen(rest[1], &left), 1);
    }
}

#[test]
fn closing_a_mesh_closes_it_for_all() {
    let mut network = TestNetwork::near(1);
    network.mesh(config("Ann"), 3);
    network.with(0, |now, session| session.close_room(now, "bed time"));
    network.run(ms(2_000));
    for node in 0..3 {
        let closed = State::Left(LeaveReason::RoomClosed("bed time".into()));
        assert_eq!(*network.at(node).state(), closed);
    }
}

#[test]
fn kept_places_are_given_back_in_a_mesh() {
    let mut network = TestNetwork::rough(3);
    network.mesh(config("Ann"), 3);
    let (me, secret) = (network.at(2).me(), network.at(2).rejoin_secret());
    let player = network.at(2).my_players().next();
    network.kill(2);
    // Back before anybody noticed.
    network.run(ms(500));
    let mut join = JoinTo::new(address(1));
    join.rejoin = Some(secret);
    network.replace(2, config("Ann"), Role::Peer(join));
    network.run_until(ms(10_000), |network| network.agree(&[0, 1, 2]));
    assert_eq!(network.at(2).me(), me);
    assert_eq!(network.at(2).my_players().next(), player);
    assert_eq!(network.at(0).room().peers().len(), 3);
    let presence = network.at(0).room().peer(me.unwrap()).unwrap().presence;
    assert_eq!(presence, Presence::InSync);
    let node = network.at(0).room().player(player.unwrap()).map(|p| p.peer);
    assert_eq!(node, me);
}
