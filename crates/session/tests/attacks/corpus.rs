//! Writes the corpus of the fuzz target `room_member` from rooms: `fuzz/run` calls it. No attack.
//!
//! A script is a byte that says which room and who speaks, and then control messages as members of such a room say them.

use std::fs;
use std::path::PathBuf;

use samestep_session::hostile::{Claim, ClaimedBody, ClaimedChange, ClaimedProposal};
use samestep_session::{LeaveReason, Session};

use crate::room::{TestNetwork, config, ms};

/// What a member says in the room as it is, if it is honest.
fn claims(session: &Session) -> Vec<Claim> {
    let index = session.log_index();
    let me = session.me().map_or(0, |me| me.0);
    let bodies = [
        ClaimedBody::Beat {
            n: 0,
            length: index,
            leads: session.is_authority(),
        },
        ClaimedBody::PreVote { round: 1 },
        ClaimedBody::PreVoted { round: 1 },
        ClaimedBody::Prepare {
            n: 1,
            length: index,
        },
        ClaimedBody::Accepted {
            n: 0,
            length: index,
        },
        ClaimedBody::Decided { n: 0 },
        ClaimedBody::Farewell { n: 0, after: index },
        ClaimedBody::Learn { slot: me },
    ];
    let mut claims = vec![
        Claim::Heartbeat {
            peers: session
                .room()
                .peers()
                .iter()
                .map(|peer| peer.id.0)
                .collect(),
            acks: (index, 0),
            clock_us: 3_000_000,
            report: Some((20, 100, 50)),
        },
        Claim::Denied {
            of_action: true,
            number: 1,
        },
        Claim::Hello {
            players: 1,
            clock_us: 3_000_000,
        },
        Claim::Farewell(LeaveReason::Left("bye".into())),
    ];
    claims.extend(bodies.map(|body| Claim::Agreement {
        speaks_as: None,
        view: session.view_number(),
        decided: index,
        body,
    }));
    let proposals = [
        ClaimedProposal::Loaded,
        ClaimedProposal::Ready { player: me },
        ClaimedProposal::Settings,
        ClaimedProposal::Name { by: me, number: 0 },
        ClaimedProposal::Unname { by: me, number: 0 },
        ClaimedProposal::Action { bytes: 4 },
        ClaimedProposal::End,
    ];
    for (proposal, number) in proposals.into_iter().zip(1..) {
        claims.push(Claim::Propose {
            number,
            oldest_open: 1,
            proposal,
        });
    }
    let changes = [
        ClaimedChange::Joined { peer: 3, player: 3 },
        ClaimedChange::InSync { peer: 3 },
        ClaimedChange::Named { by: 1, number: 0 },
        ClaimedChange::Start { at_us: 5_000_000 },
        ClaimedChange::Command { from: 1, number: 1 },
        ClaimedChange::End,
        ClaimedChange::Away { peer: 3 },
        ClaimedChange::Returned {
            peer: 3,
            count_from: 9,
        },
        ClaimedChange::Kicked { peer: 3 },
        ClaimedChange::Closed,
    ];
    for (change, at) in changes.into_iter().zip(index..) {
        claims.push(Claim::Entries {
            after: at,
            changes: vec![change.clone()],
        });
        claims.push(Claim::Agreement {
            speaks_as: None,
            view: session.view_number(),
            decided: at + 1,
            body: ClaimedBody::Accept {
                n: 0,
                after: at,
                changes: vec![change],
            },
        });
    }
    claims
}

#[test]
#[ignore = "writes files: fuzz/run calls it"]
fn writes_the_corpus() {
    let root = PathBuf::from(std::env::var_os("SAMESTEP_FUZZ_CORPUS").expect("a folder"));
    let folder = root.join("room_member");
    fs::create_dir_all(&folder).unwrap();
    for mesh in [false, true] {
        let mut network = TestNetwork::near(1);
        match mesh {
            false => network.hosted(config("Ann"), 2),
            true => network.mesh(config("Ann"), 3),
        };
        network.run(ms(1_000));
        for (speaker, bits) in [(1, 0u8), (0, 2)] {
            let session = network.at(speaker);
            let mut script = vec![bits | u8::from(mesh)];
            for claim in claims(session) {
                let bytes = session.encoded_claim(&claim);
                // A message to peer 0 or 1, on the channel of control messages, and then some time.
                script.push(u8::from(speaker == 0) << 2 | 5 << 4);
                script.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
                script.extend_from_slice(&bytes);
                script.extend_from_slice(&[2, 10]);
            }
            let name = format!("{}-{speaker}", if mesh { "mesh" } else { "hosted" });
            fs::write(folder.join(name), script).unwrap();
        }
    }
}
