//! Kicking, closing and leading without the room's agreement.
//!
//! The attacker is a member of a mesh, or a client of a hosted room. It speaks as if it were the leader: it says that another is out, that the
//! room is closed, that it leads with a higher ballot or in a later view, and that the log holds what it likes. It wants to send others away, to end the room, or to
//! decide alone.

use samestep_session::hostile::{Claim, ClaimedBody, ClaimedChange};
use samestep_session::{LeaveReason, PeerId, Session, SessionEvent, State};

use crate::room::{NodeIndex, TestNetwork, config, ms};

const ATTACKER: NodeIndex = 3;
const VICTIM: NodeIndex = 1;

fn claim(network: &mut TestNetwork, to: NodeIndex, claim: &Claim) {
    let to = network.peer(to);
    network.with(ATTACKER, |now, session: &mut Session| {
        session.claim(now, to, claim)
    });
}

fn mesh(seed: u64) -> TestNetwork {
    let mut network = TestNetwork::near(seed);
    network.mesh(config("Ann"), 4);
    network.run(ms(3_000));
    network
}

/// A message of the attacker in the agreement, in a view that is so much later than the one in force.
fn message(network: &TestNetwork, later: u32, decided: u64, body: ClaimedBody) -> Claim {
    Claim::Agreement {
        speaks_as: None,
        view: network.at(0).view_number() + later,
        decided,
        body,
    }
}

/// The others are where they were, with the leader that they had.
#[track_caller]
fn assert_unmoved(network: &TestNetwork, lie: impl core::fmt::Debug) {
    for node in [0, 1, 2] {
        let state = network.at(node).state();
        assert_eq!(*state, State::InSync, "node {node}, {lie:?}");
        let room = network.at(node).room();
        assert_eq!(room.authority(), PeerId(0), "node {node}");
        for other in [0, 1, 2] {
            let peer = network.peer(other);
            assert!(room.is_present(peer), "{peer} for node {node}");
        }
        let moved = |event: &&SessionEvent| {
            matches!(
                event,
                SessionEvent::Left { .. } | SessionEvent::Reconnecting { .. }
            )
        };
        assert_eq!(network.events[node].iter().filter(moved).count(), 0);
    }
}

#[test]
fn a_member_sends_nobody_away() {
    let mut network = mesh(1);
    for round in 0..5 {
        for to in [0, 1, 2] {
            for reason in [
                LeaveReason::Kicked("go".into()),
                LeaveReason::Banned("go".into()),
                LeaveReason::Silent,
                LeaveReason::LoadingTooLong,
            ] {
                claim(&mut network, to, &Claim::Farewell(reason));
            }
            claim(&mut network, to, &Claim::Out { index: 1 << 40 });
            claim(&mut network, to, &Claim::Out { index: round });
        }
        network.run(ms(300));
    }
    assert_unmoved(&network, ());
    assert!(network.at(VICTIM).refused() >= 25);
}

#[test]
fn a_member_does_not_close_the_room() {
    let mut network = mesh(2);
    for to in [0, 1, 2] {
        let closed = LeaveReason::RoomClosed("over".into());
        claim(&mut network, to, &Claim::Farewell(closed));
    }
    network.run(ms(5_000));
    assert_unmoved(&network, ());
}

#[test]
fn a_member_does_not_lead_because_it_says_so() {
    for n in [0, 1, 2, 999, 1 << 31] {
        for later in [0, 1, 50] {
            let mut network = mesh(3);
            let index = network.at(0).log_index();
            let (attacker, victim) = (network.peer(ATTACKER), network.peer(VICTIM));
            let changes = vec![
                ClaimedChange::Kicked { peer: victim.0 },
                ClaimedChange::Authority { peer: attacker.0 },
                ClaimedChange::Closed,
            ];
            let (after, length) = (index, index + 3);
            let bodies = [
                ClaimedBody::PreVote { round: n },
                ClaimedBody::Prepare { n, length },
                ClaimedBody::PreVoted { round: n },
                ClaimedBody::Sync {
                    n,
                    after,
                    changes: changes.clone(),
                },
                ClaimedBody::Accept {
                    n,
                    after,
                    changes: changes.clone(),
                },
                ClaimedBody::Decided { n },
                ClaimedBody::Beat {
                    n,
                    length,
                    leads: true,
                },
                ClaimedBody::CatchUp {
                    after,
                    changes: changes.clone(),
                    members: vec![attacker.0, 2],
                },
                ClaimedBody::Accepted { n, length: 1 << 40 },
                ClaimedBody::Promise {
                    n,
                    length,
                    changes: changes.clone(),
                },
            ];
            for _ in 0..6 {
                for to in [1, 2, 0] {
                    for body in &bodies {
                        let lie = message(&network, later, length, body.clone());
                        claim(&mut network, to, &lie);
                    }
                }
                network.run(ms(200));
            }
            network.run(ms(3_000));
            assert_unmoved(&network, (n, later));
        }
    }
}

#[test]
fn a_higher_ballot_does_not_turn_members_from_their_leader() {
    let mut network = mesh(4);
    for n in 2..40 {
        for to in [0, 1, 2] {
            let prepare = message(&network, 0, 0, ClaimedBody::Prepare { n, length: 1 << 20 });
            claim(&mut network, to, &prepare);
        }
        network.run(ms(100));
    }
    network.with(0, |now, session| session.close_room(now, "enough"));
    network.run(ms(3_000));
    for node in [0, 1, 2] {
        let closed = State::Left(LeaveReason::RoomClosed("enough".into()));
        assert_eq!(*network.at(node).state(), closed, "node {node}");
    }
}

#[test]
fn a_member_does_not_vote_for_another() {
    let mut network = mesh(8);
    let length = network.at(0).log_index();
    let victim = network.peer(VICTIM);
    let bodies = [
        ClaimedBody::Farewell {
            n: 0,
            after: length,
        },
        ClaimedBody::Prepare { n: 5, length },
        ClaimedBody::Accepted {
            n: 0,
            length: 1 << 40,
        },
    ];
    for _ in 0..5 {
        for to in [0, 2] {
            for body in bodies.clone() {
                let lie = Claim::Agreement {
                    speaks_as: Some(victim.0),
                    view: network.at(0).view_number(),
                    decided: length,
                    body,
                };
                claim(&mut network, to, &lie);
            }
        }
        network.run(ms(300));
    }
    assert_unmoved(&network, ());
    assert!(network.at(2).refused() >= 15);
}

#[test]
fn the_leader_itself_kicks_and_closes() {
    let mut network = mesh(5);
    let kicked = network.peer(2);
    network.with(0, |now, session| session.kick(now, kicked, "go"));
    network.run(ms(2_000));
    let kicked = State::Left(LeaveReason::Kicked("go".into()));
    assert_eq!(*network.at(2).state(), kicked);
    network.cut(0, 1);
    network.run(ms(1_500));
    network.with(0, |now, session| session.close_room(now, "over"));
    network.run(ms(3_000));
    for node in [0, 1, 3] {
        let closed = State::Left(LeaveReason::RoomClosed("over".into()));
        assert_eq!(*network.at(node).state(), closed, "node {node}");
    }
}

#[test]
fn a_client_that_speaks_as_a_host_is_cut_off() {
    let claims = [
        Claim::Farewell(LeaveReason::Kicked("go".into())),
        Claim::Farewell(LeaveReason::RoomClosed("over".into())),
        Claim::Entries {
            after: 3,
            changes: vec![ClaimedChange::Kicked { peer: 1 }],
        },
        Claim::Heartbeat {
            peers: vec![0, 1, 2],
            acks: (0, 0),
            clock_us: 5_000_000,
            report: None,
        },
        Claim::Agreement {
            speaks_as: Some(0),
            view: 1,
            decided: 9,
            body: ClaimedBody::Decided { n: 0 },
        },
        Claim::Out { index: 9 },
        Claim::Denied {
            of_action: false,
            number: 1,
        },
    ];
    for hosts_word in claims {
        let mut network = TestNetwork::near(6);
        network.hosted(config("Ann"), 3);
        claim(&mut network, 0, &hosts_word);
        network.run(ms(2_000));
        assert!(network.agree(&[0, 1, 2]), "{hosts_word:?}");
        let room = network.at(0).room();
        assert_eq!(room.present().count(), 3, "{hosts_word:?}");
    }
}

#[test]
fn only_the_member_that_was_asked_gives_a_newcomer_its_state() {
    let mut network = TestNetwork::near(7);
    let mut with_state = config("Ann");
    with_state.initial_state = true;
    let introducer = network.enter(with_state.clone(), samestep_session::Role::Introducer);
    let enter = |network: &mut TestNetwork| {
        let join = samestep_session::JoinTo::new(crate::room::address(introducer));
        network.enter(with_state.clone(), samestep_session::Role::Peer(join))
    };
    for _ in 0..3 {
        let node = enter(&mut network);
        provide(&mut network, node, b"right");
    }
    network.run(ms(3_000));
    let newcomer = enter(&mut network);
    // It is in and loads; the attacker is connected to it before the introducer has given the state.
    network.run(ms(2_000));
    let since = network.at(introducer).log_index();
    for since in 0..=since {
        let to = network.peer(newcomer);
        network.with(ATTACKER, |now, session| {
            session.claim_state(now, to, since, 0, b"wrong");
        });
    }
    network.run(ms(500));
    provide(&mut network, newcomer, b"right");
}

/// Gives a newcomer the state when it is wanted, and has it loaded.
#[track_caller]
fn provide(network: &mut TestNetwork, newcomer: NodeIndex, state: &[u8]) {
    network.run_until(ms(5_000), |network| network.at(newcomer).me().is_some());
    let peer = network.peer(newcomer);
    let wanted = SessionEvent::StateWanted { peer };
    network.run_until(ms(5_000), |network| network.seen(0, &wanted) > 0);
    network.with(0, |now, session| session.provide_state(now, peer, state));
    let is_state = |event: &SessionEvent| matches!(event, SessionEvent::InitialState { .. });
    network.run_until(ms(5_000), |network| {
        network.events[newcomer].iter().any(is_state)
    });
    let given = network.events[newcomer]
        .iter()
        .find(|event| is_state(event));
    let right = SessionEvent::InitialState {
        state: state.into(),
    };
    assert_eq!(given, Some(&right));
    network.with(newcomer, |now, session| session.loaded(now));
    network.run_until(ms(5_000), |network| {
        *network.at(newcomer).state() == State::InSync
    });
}
