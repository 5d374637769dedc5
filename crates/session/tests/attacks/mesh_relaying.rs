//! Speaking for another member of a mesh by passing on what it never said.
//!
//! The attacker is a member of a mesh, and two others reach each other through it alone. It says that it passes messages on for another, changes those that
//! it passes on, passes them on twice, to somebody else, or in another name. It wants others to believe that a member has said what it has not, or
//! has said it again.

use samestep_session::hostile::{Claim, ClaimedBody, ClaimedChange, RelayFault};
use samestep_session::{
    Delivery, LeaveReason, MessageKind, PeerId, PeerRoute, Session, SessionEvent, State, To,
};

use crate::room::{NodeIndex, TestNetwork, config, ms};

const ATTACKER: NodeIndex = 3;
const SPEAKER: NodeIndex = 1;
const VICTIM: NodeIndex = 2;
const KIND: MessageKind = MessageKind(7);

const DELIVERIES: [Delivery; 5] = [
    Delivery::Unreliable,
    Delivery::UnreliableSequenced,
    Delivery::ReliableUnordered,
    Delivery::ReliableOrdered,
    Delivery::Redundant,
];

/// A mesh in which the victim is reached through the attacker alone.
fn mesh(seed: u64) -> TestNetwork {
    let mut network = TestNetwork::near(seed);
    network.mesh(config("Ann"), 4);
    network.run(ms(3_000));
    network.cut(0, VICTIM);
    network.cut(SPEAKER, VICTIM);
    let relay = PeerRoute::Via(network.peer(ATTACKER));
    network.run_until(ms(10_000), |network| {
        let route = |from: NodeIndex, to: NodeIndex| {
            let stats = network
                .at(from)
                .peer_stats(network.local(from), network.peer(to));
            stats.map(|stats| stats.route)
        };
        route(SPEAKER, VICTIM) == Some(relay) && route(VICTIM, SPEAKER) == Some(relay)
    });
    network.run(ms(1_000));
    network
}

/// What a program was told that a member said.
fn heard(network: &TestNetwork, node: NodeIndex, from: NodeIndex) -> Vec<Vec<u8>> {
    let from = network.peer(from);
    let said = |event: &SessionEvent| match event {
        SessionEvent::Message {
            from: speaker,
            kind: KIND,
            payload,
        } if *speaker == from => Some(payload.to_vec()),
        _ => None,
    };
    network.events[node].iter().filter_map(said).collect()
}

/// The speaker says something to the victim in every way.
fn speak(network: &mut TestNetwork) {
    let to = To::Peer(network.peer(VICTIM));
    network.with(SPEAKER, |now, session: &mut Session| {
        for (number, delivery) in (0..).zip(DELIVERIES) {
            session
                .send_bytes(now, to, delivery, KIND, &[b'a', number * 2])
                .unwrap();
        }
    });
}

fn relay_with(network: &mut TestNetwork, fault: Option<RelayFault>) {
    network.with(ATTACKER, |_, session: &mut Session| {
        session.relay_with(fault)
    });
}

#[test]
fn what_is_passed_on_arrives_once() {
    let mut network = mesh(1);
    let refused = network.at(VICTIM).refused();
    speak(&mut network);
    network.run(ms(2_000));
    let mut said = heard(&network, VICTIM, SPEAKER);
    said.sort_unstable();
    assert_eq!(said, [0, 2, 4, 6, 8].map(|number| vec![b'a', number]));
    assert_eq!(network.at(VICTIM).refused(), refused);
}

#[test]
fn what_a_member_never_said_is_not_believed() {
    let mut network = mesh(2);
    let (speaker, victim) = (network.peer(SPEAKER), network.peer(VICTIM));
    let refused = network.at(VICTIM).refused();
    for delivery in DELIVERIES {
        network.with(ATTACKER, |now, session: &mut Session| {
            session.invent(now, speaker, victim, delivery, b"I give up");
        });
    }
    network.run(ms(500));
    assert!(heard(&network, VICTIM, SPEAKER).is_empty());
    assert_eq!(network.at(VICTIM).refused() - refused, 5);
    // What it says after that is still taken in its order.
    speak(&mut network);
    network.run(ms(2_000));
    assert_eq!(heard(&network, VICTIM, SPEAKER).len(), 5);
}

#[test]
fn nobody_leads_leaves_or_votes_for_another() {
    let mut network = mesh(3);
    let (speaker, victim) = (network.peer(SPEAKER), network.peer(VICTIM));
    let index = network.at(VICTIM).log_index();
    let claims = [
        Claim::Farewell(LeaveReason::Left("bye".into())),
        Claim::Farewell(LeaveReason::Kicked("go".into())),
        Claim::Out { index: 1 << 40 },
        Claim::Agreement {
            speaks_as: Some(0),
            view: network.at(VICTIM).view_number(),
            decided: index + 1,
            body: ClaimedBody::Accept {
                n: 0,
                after: index,
                changes: vec![ClaimedChange::Kicked { peer: victim.0 }],
            },
        },
    ];
    for claim in claims {
        for from in [PeerId(0), speaker] {
            network.with(ATTACKER, |now, session: &mut Session| {
                session.claim_for(now, from, victim, &claim);
            });
        }
        network.run(ms(300));
    }
    network.run(ms(3_000));
    for node in [0, SPEAKER, VICTIM] {
        assert_eq!(*network.at(node).state(), State::InSync, "node {node}");
        for other in [0, SPEAKER, VICTIM] {
            let peer = network.peer(other);
            assert!(network.at(node).room().is_present(peer), "{peer} at {node}");
        }
    }
    assert!(network.at(VICTIM).refused() >= 8);
}

#[test]
fn the_dead_do_not_go_on_beating() {
    let mut network = mesh(4);
    let speaker = network.peer(SPEAKER);
    network.kill(SPEAKER);
    let away = SessionEvent::PeerAway { peer: speaker };
    for _ in 0..60 {
        for to in [0, VICTIM] {
            let to = network.peer(to);
            let beat = Claim::Heartbeat {
                peers: vec![0, 3],
                acks: (0, 0),
                clock_us: 5_000_000,
                report: None,
            };
            network.with(ATTACKER, |now, session: &mut Session| {
                session.claim_for(now, speaker, to, &beat);
            });
        }
        network.run(ms(250));
    }
    assert_eq!(network.seen(0, &away), 1);
}

#[test]
fn what_is_changed_on_its_way_is_not_believed() {
    let mut network = mesh(5);
    relay_with(&mut network, Some(RelayFault::Change));
    speak(&mut network);
    network.run(ms(500));
    assert!(heard(&network, VICTIM, SPEAKER).is_empty());
    assert!(network.at(VICTIM).refused() >= 5);
    // What is reliable is sent again.
    relay_with(&mut network, None);
    network.run(ms(3_000));
    let mut said = heard(&network, VICTIM, SPEAKER);
    said.sort_unstable();
    assert_eq!(said, [4, 6, 8].map(|number| vec![b'a', number]));
}

#[test]
fn what_is_passed_on_twice_counts_once() {
    let mut network = mesh(6);
    relay_with(&mut network, Some(RelayFault::Record));
    speak(&mut network);
    network.run(ms(500));
    let said = heard(&network, VICTIM, SPEAKER);
    assert_eq!(said.len(), 5);
    let refused = network.at(VICTIM).refused();
    for _ in 0..3 {
        network.with(ATTACKER, |now, session: &mut Session| session.replay(now));
        network.run(ms(500));
    }
    assert_eq!(heard(&network, VICTIM, SPEAKER), said);
    assert!(network.at(VICTIM).refused() >= refused + 15);
}

#[test]
fn what_was_said_in_a_former_life_is_not_believed_in_the_next() {
    let mut network = mesh(7);
    relay_with(&mut network, Some(RelayFault::Record));
    speak(&mut network);
    network.run(ms(500));
    assert_eq!(heard(&network, VICTIM, SPEAKER).len(), 5);
    relay_with(&mut network, None);
    // The victim comes back in another incarnation, with its key.
    let mut join = samestep_session::JoinTo::new(crate::room::address(ATTACKER));
    join.rejoin = Some(network.at(VICTIM).rejoin_secret());
    network.replace(VICTIM, config("Bo"), samestep_session::Role::Peer(join));
    network.events[VICTIM].clear();
    network.run_until(ms(10_000), |network| {
        *network.at(VICTIM).state() == State::InSync
    });
    network.run(ms(1_000));
    network.with(ATTACKER, |now, session: &mut Session| session.replay(now));
    network.run(ms(500));
    assert!(heard(&network, VICTIM, SPEAKER).is_empty());
}

#[test]
fn what_is_for_one_member_is_not_believed_by_another_nor_in_another_name() {
    let mut network = mesh(8);
    let zero = network.peer(0);
    for fault in [RelayFault::Redirect(zero), RelayFault::Rename(zero)] {
        relay_with(&mut network, Some(fault));
        speak(&mut network);
        network.run(ms(500));
    }
    assert!(heard(&network, 0, SPEAKER).is_empty());
    assert!(heard(&network, VICTIM, 0).is_empty());
}
