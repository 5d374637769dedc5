//! Numbers at the ends of their ranges, in every field of every control message.
//!
//! The attacker is a client, a host or a member of a mesh. It wants arithmetic on a clock, a time, an index, a term or a number to overflow, so that the
//! program of another panics.

use samestep_session::hostile::{Claim, ClaimedBody, ClaimedChange, ClaimedProposal};
use samestep_session::{LeaveReason, Session};

use crate::room::{TestNetwork, config, ms};

const EXTREMES: [u64; 8] = [
    0,
    1,
    u64::MAX,
    u64::MAX - 1,
    1 << 50,
    (1 << 50) + 1,
    1 << 48,
    u32::MAX as u64,
];

fn changes(x: u64) -> Vec<ClaimedChange> {
    let (peer, number) = (x as u16, x as u32);
    vec![
        ClaimedChange::Joined { peer, player: peer },
        ClaimedChange::Returned {
            peer,
            count_from: number,
        },
        ClaimedChange::InSync { peer },
        ClaimedChange::Start { at_us: x },
        ClaimedChange::Named { by: peer, number },
        ClaimedChange::Command { from: peer, number },
        ClaimedChange::TieBreaker { peer },
        ClaimedChange::Authority { peer },
        ClaimedChange::End,
        ClaimedChange::Away { peer },
        ClaimedChange::Kicked { peer },
    ]
}

/// Every message of the agreement with an extreme number: in the present view, the next, and one that is extreme itself.
fn agreement(x: u64) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (n, length) in [(x as u32, 1), (1, x), (x as u32, x)] {
        let after = length;
        let changes = || changes(x);
        for body in [
            ClaimedBody::Beat {
                n,
                length,
                leads: true,
            },
            ClaimedBody::PreVote { round: n },
            ClaimedBody::PreVoted { round: n },
            ClaimedBody::Prepare { n, length },
            ClaimedBody::Promise {
                n,
                length,
                changes: changes(),
            },
            ClaimedBody::Sync {
                n,
                after,
                changes: changes(),
            },
            ClaimedBody::Accept {
                n,
                after,
                changes: changes(),
            },
            ClaimedBody::Accepted { n, length },
            ClaimedBody::Decided { n },
            ClaimedBody::Status { n, length },
            ClaimedBody::CatchUp {
                after,
                changes: changes(),
                members: vec![0, 1, x as u16],
            },
            ClaimedBody::Farewell { n, after },
            ClaimedBody::Learn { slot: x as u16 },
            ClaimedBody::Request {
                first: n,
                changes: changes(),
            },
        ] {
            // A mesh of three is in its third view.
            for view in [3, 4, x as u32] {
                claims.push(Claim::Agreement {
                    speaks_as: None,
                    view,
                    decided: length,
                    body: body.clone(),
                });
            }
        }
    }
    claims
}

/// Every control message with an extreme number in one of its fields, or in all.
fn claims(x: u64) -> Vec<Claim> {
    let number = x as u32;
    let mut claims = Vec::new();
    claims.push(Claim::Hello {
        players: 1,
        clock_us: x,
    });
    for at in 0..7 {
        let of = |place: usize| if at == place || at == 6 { x } else { 1 };
        claims.push(Claim::Welcome {
            you: 1,
            since: of(0),
            index: of(2),
            absence_ms: of(3),
            clock_us: of(4),
            epoch_us: of(5) as i64,
        });
        claims.push(Claim::Heartbeat {
            peers: vec![0, 1, 2, of(3) as u16],
            acks: (of(4), of(4) as u32),
            clock_us: of(5),
            report: Some((of(5) as i64, of(5) as i32, of(5) as u32)),
        });
    }
    claims.push(Claim::Heartbeat {
        peers: vec![0, 1, 2],
        acks: (0, 0),
        clock_us: 1,
        report: Some((i64::MIN, i32::MIN, 0)),
    });
    for proposal in [
        ClaimedProposal::Action { bytes: 3 },
        ClaimedProposal::Profile { player: x as u16 },
        ClaimedProposal::Ready { player: x as u16 },
        ClaimedProposal::Settings,
        ClaimedProposal::Start,
        ClaimedProposal::End,
        ClaimedProposal::Rematch,
        ClaimedProposal::Loaded,
        ClaimedProposal::Name {
            by: x as u16,
            number,
        },
        ClaimedProposal::Name { by: 1, number },
        ClaimedProposal::Unname { by: 1, number },
        ClaimedProposal::Admit { newcomer: x as u16 },
    ] {
        for (number, oldest_open) in [(number, 1), (1, number), (number, number)] {
            claims.push(Claim::Propose {
                number,
                oldest_open,
                proposal: proposal.clone(),
            });
        }
    }
    for of_action in [false, true] {
        claims.push(Claim::Denied { of_action, number });
    }
    for after in [1, x] {
        let changes = changes(x);
        claims.push(Claim::Entries { after, changes });
    }
    claims.extend(agreement(x));
    claims.push(Claim::Out { index: x });
    claims.push(Claim::Farewell(LeaveReason::Left(String::new())));
    claims
}

/// An attacker says each of these in a room of its own, so that none keeps the others from being said.
fn attack(mesh: bool, attacker: usize, victim: usize) {
    for x in EXTREMES {
        for (at, claim) in claims(x).into_iter().enumerate() {
            let mut network = TestNetwork::near(at as u64);
            let mut plain = config("Ann");
            plain.protocol = plain.protocol.plain();
            match mesh {
                false => network.hosted(plain, 2),
                true => network.mesh(plain, 3),
            };
            let to = network.peer(victim);
            network.with(attacker, |now, session: &mut Session| {
                session.claim(now, to, &claim);
            });
            network.run(ms(30));
            // The victim goes on to work with what it has taken over.
            network.with(victim, |now, session| {
                let _ = session.request_bytes(now, samestep_session::MessageKind(1), b"x");
                session.new_network_id(now, 1);
            });
            network.run(ms(600));
            if !mesh && attacker != 0 {
                assert!(network.agree(&[0, 2]), "{claim:?}");
            }
        }
    }
}

#[test]
fn from_a_client() {
    attack(false, 1, 0);
}

#[test]
fn from_a_host() {
    attack(false, 0, 1);
}

#[test]
fn from_a_member_of_a_mesh() {
    attack(true, 2, 0);
}

#[test]
fn from_the_leader_of_a_mesh() {
    attack(true, 0, 1);
}
