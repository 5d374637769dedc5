//! Filling a room and its queues.
//!
//! The attacker is a client, a member of a mesh, or somebody at the door who is connected and not admitted. It proposes without end, says hello
//! under one name after the other, lets in peers that do not exist, names objects, acts. It wants honest members to find no room, or the host to
//! run out of memory.

use samestep_session::hostile::{Claim, ClaimedProposal};
use samestep_session::{
    JoinTo, MessageKind, PeerId, Role, SendError, Session, SessionEvent, State, Verdict,
};

use crate::room::{TestNetwork, address, config, ms};

const ATTACKER: usize = 1;
const OTHER: usize = 2;
const KIND: MessageKind = MessageKind(3);

fn propose(network: &mut TestNetwork, number: u32, proposal: &ClaimedProposal) {
    network.with(ATTACKER, |now, session: &mut Session| {
        let claim = Claim::Propose {
            number,
            oldest_open: 1,
            proposal: proposal.clone(),
        };
        session.claim(now, PeerId(0), &claim);
    });
}

/// Decides all requests that came in.
fn resolve(network: &mut TestNetwork) -> usize {
    let requests = network.events[0].iter().filter_map(|event| match event {
        SessionEvent::Request { ticket, .. } => Some(*ticket),
        _ => None,
    });
    let requests: Vec<_> = requests.collect();
    network.events[0].clear();
    for ticket in &requests {
        network.with(0, |now, session| {
            session.resolve(now, *ticket, Verdict::Command(vec![1]));
        });
    }
    requests.len()
}

#[test]
fn a_flood_of_proposals_is_kept_within_bounds() {
    let mut network = TestNetwork::near(1);
    network.hosted(config("Ann"), 2);
    // The host's game does not decide for a while. 2,000 actions of 60,000 bytes would be 120 MB.
    for number in 1..=2_000 {
        propose(
            &mut network,
            number,
            &ClaimedProposal::Action { bytes: 60_000 },
        );
        if number % 20 == 0 {
            network.run(ms(200));
        }
    }
    network.run(ms(2_000));
    assert!(
        network.at(0).refused() > 100,
        "{} refused",
        network.at(0).refused()
    );
    network.with(OTHER, |now, session| {
        session.request_bytes(now, KIND, b"mine").unwrap();
    });
    network.run(ms(200));
    let mut decided = 0;
    for _ in 0..100 {
        decided += resolve(&mut network);
        network.run(ms(20));
    }
    // What fits into a megabyte, and the one that the game was asked about; and that of the other.
    assert!((2..=20).contains(&decided), "{decided} were kept");
    let applied = |event: &&SessionEvent| {
        matches!(
            event,
            SessionEvent::Command {
                request: Some(_),
                ..
            }
        )
    };
    assert_eq!(network.events[OTHER].iter().filter(applied).count(), 1);
}

#[test]
fn a_program_is_told_when_too_many_of_its_requests_are_unanswered() {
    let mut network = TestNetwork::near(2);
    network.hosted(config("Ann"), 1);
    let outcomes: Vec<_> = (0..2_000)
        .map(|_| network.with(1, |now, session| session.request_bytes(now, KIND, b"x")))
        .collect();
    assert!(outcomes[..1_024].iter().all(Result::is_ok));
    assert!(
        outcomes[1_024..]
            .iter()
            .all(|it| *it == Err(SendError::Unanswered))
    );
    // And the host itself, whose own questions wait like everybody's.
    let outcomes =
        (0..2_000).map(|_| network.with(0, |now, host| host.request_bytes(now, KIND, b"x")));
    assert!(outcomes.filter(Result::is_ok).count() <= 1_100);
}

#[test]
fn a_client_lets_nobody_in() {
    let mut network = TestNetwork::near(3);
    let mut few = config("Ann");
    few.capacity = 6;
    network.hosted(few, 2);
    for number in 1..=10 {
        propose(
            &mut network,
            number,
            &ClaimedProposal::Admit {
                newcomer: number as u16,
            },
        );
    }
    network.run(ms(1_000));
    assert_eq!(network.at(0).room().peers().len(), 3);
    let join = Role::Client(JoinTo::new(address(0)));
    let late = network.enter(config("Bo"), join);
    network.run_until(ms(2_000), |network| {
        *network.at(late).state() == State::InSync
    });
}

#[test]
fn a_connection_lets_in_one_newcomer() {
    for mesh in [false, true] {
        let mut network = TestNetwork::near(4);
        let mut crowd = config("Ann");
        crowd.capacity = 40;
        match mesh {
            false => network.hosted(crowd, 1),
            true => network.mesh(crowd, 2),
        };
        let join = JoinTo::new(address(0));
        let role = if mesh {
            Role::Peer(join)
        } else {
            Role::Client(join)
        };
        let attacker = network.enter(config("liar"), role);
        for _ in 0..200 {
            network.with(attacker, |now, session| {
                let claim = Claim::Hello {
                    players: 1,
                    clock_us: 0,
                };
                session.claim_to_all(now, &claim);
            });
            network.run(ms(2));
        }
        network.run(ms(1_000));
        let peers = network.at(0).room().peers().len();
        assert!(peers <= 3, "{peers} peers, mesh: {mesh}");
    }
}

#[test]
fn objects_of_one_client_leave_room_for_those_of_others() {
    let mut network = TestNetwork::near(5);
    network.hosted(config("Ann"), 2);
    for number in 1..=1_500 {
        let by = network.peer(ATTACKER).0;
        propose(&mut network, number, &ClaimedProposal::Name { by, number });
        if number % 200 == 0 {
            network.run(ms(200));
        }
    }
    network.run(ms(1_000));
    assert_eq!(network.at(0).room().network_objects().len(), 1_000);
    let id = network
        .with(OTHER, |now, session| session.new_network_id(now, 5))
        .unwrap();
    network.run(ms(500));
    let named = |object: &&samestep_session::NetworkObject| object.id == id;
    assert_eq!(
        network
            .at(0)
            .room()
            .network_objects()
            .iter()
            .filter(named)
            .count(),
        1
    );
}

#[test]
fn actions_of_one_client_leave_room_for_those_of_others() {
    let mut network = TestNetwork::near(6);
    network.hosted(config("Ann"), 2);
    for round in 0..6_000 {
        network.with(ATTACKER, |now, session| {
            session.act_bytes(now, KIND, b"x").unwrap()
        });
        if round % 500 == 0 {
            network.run(ms(100));
        }
    }
    network.run(ms(1_000));
    network.with(OTHER, |now, session| {
        session.act_bytes(now, KIND, b"y").unwrap()
    });
    network.run(ms(500));
    let checks = |node: usize| {
        let peer = network.peer(node);
        let of = move |event: &&SessionEvent| matches!(event, SessionEvent::Check { ticket, .. } if ticket.peer == peer);
        network.events[0].iter().filter(of).count()
    };
    assert_eq!((checks(ATTACKER), checks(OTHER)), (1_024, 1));
}

#[test]
fn spectators_and_clients_do_not_decide_what_is_the_hosts() {
    let mut network = TestNetwork::near(7);
    network.hosted(config("Ann"), 1);
    let mut watching = config("Vi");
    watching.players.clear();
    let spectator = network.enter(watching, Role::Spectator(JoinTo::new(address(0))));
    network.run_until(ms(2_000), |network| {
        *network.at(spectator).state() == State::InSync
    });
    for node in [1, spectator] {
        network.with(node, |now, session| session.start(now));
    }
    network.run(ms(500));
    assert_eq!(
        *network.at(0).room().phase(),
        samestep_session::Phase::SetUp
    );
    network.with(0, |now, session| session.start(now));
    network.run(ms(500));
    network.with(spectator, |now, session| session.propose_end(now, b"I win"));
    network.with(0, |now, session| session.propose_end(now, b"draw"));
    network.run(ms(500));
    let ended = network.at(1).room().phase().clone();
    network.with(spectator, |now, session| session.rematch(now));
    network.run(ms(500));
    assert_eq!(*network.at(1).room().phase(), ended);
    network.with(1, |now, session| session.rematch(now));
    network.run(ms(500));
    assert_eq!(
        *network.at(1).room().phase(),
        samestep_session::Phase::SetUp
    );
}
