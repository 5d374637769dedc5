//! A member of a room sends control messages and changes of the log that are well formed and untrue: the others do not panic, and a hosted room stays
//! whole.
//!
//! The first byte says which room, and who lies. Then come operations: 0, a message with its envelope: length (2 bytes), bytes; 1, a claim: which, and
//! four bytes for its numbers; 2, time passes.
#![no_main]

mod table;

use libfuzzer_sys::fuzz_target;
use samestep_proto::ChannelId;
use samestep_session::hostile::{Claim, ClaimedBody, ClaimedChange, ClaimedProposal};
use samestep_session::{LeaveReason, PeerId, Session, State};
use std::time::Duration;
use table::{GUEST, OPENER, Table};

const EXTREMES: [u64; 10] = [
    0,
    1,
    u64::MAX,
    u64::MAX - 1,
    1 << 50,
    (1 << 50) + 1,
    1 << 48,
    u32::MAX as u64,
    1 << 31,
    65_535,
];

/// A number: small, near where the log is, or at the end of a range.
fn number(byte: u8, session: &Session) -> u64 {
    match byte {
        0..=99 => byte.into(),
        100..=199 => (session.log_index() + u64::from(byte)).saturating_sub(150),
        _ => EXTREMES[usize::from(byte) % EXTREMES.len()],
    }
}

fn change(which: u8, a: u64, b: u64) -> ClaimedChange {
    let (peer, number) = (a as u16, b as u32);
    match which % 12 {
        0 => ClaimedChange::Joined {
            peer,
            player: b as u16,
        },
        1 => ClaimedChange::Returned {
            peer,
            count_from: number,
        },
        2 => ClaimedChange::InSync { peer },
        3 => ClaimedChange::Away { peer },
        4 => ClaimedChange::Kicked { peer },
        5 => ClaimedChange::Start { at_us: b },
        6 => ClaimedChange::End,
        7 => ClaimedChange::Authority { peer },
        8 => ClaimedChange::TieBreaker { peer },
        9 => ClaimedChange::Named { by: peer, number },
        10 => ClaimedChange::Command { from: peer, number },
        _ => ClaimedChange::Closed,
    }
}

fn proposal(which: u8, a: u64, b: u64) -> ClaimedProposal {
    let (by, number) = (a as u16, b as u32);
    match which % 11 {
        0 => ClaimedProposal::Action {
            bytes: number as usize % 5_000,
        },
        1 => ClaimedProposal::Profile { player: by },
        2 => ClaimedProposal::Ready { player: by },
        3 => ClaimedProposal::Settings,
        4 => ClaimedProposal::Start,
        5 => ClaimedProposal::End,
        6 => ClaimedProposal::Rematch,
        7 => ClaimedProposal::Loaded,
        8 => ClaimedProposal::Name { by, number },
        9 => ClaimedProposal::Unname { by, number },
        _ => ClaimedProposal::Admit { newcomer: by },
    }
}

/// What a liar says in the agreement.
fn body(which: u8, [a, b, c]: [u64; 3]) -> ClaimedBody {
    let (n, length, after) = (a as u32, b, b);
    let changes = vec![change(which, b, c), change(which.wrapping_add(3), c, b)];
    match which % 14 {
        0 => ClaimedBody::Beat {
            n,
            length,
            leads: c % 2 == 0,
        },
        1 => ClaimedBody::PreVote { round: n },
        2 => ClaimedBody::PreVoted { round: n },
        3 => ClaimedBody::Prepare { n, length },
        4 => ClaimedBody::Promise { n, length, changes },
        5 => ClaimedBody::Sync { n, after, changes },
        6 => ClaimedBody::Accept { n, after, changes },
        7 => ClaimedBody::Accepted { n, length },
        8 => ClaimedBody::Decided { n },
        9 => ClaimedBody::Status { n, length },
        10 => ClaimedBody::CatchUp {
            after,
            changes,
            members: vec![0, 1, c as u16],
        },
        11 => ClaimedBody::Farewell { n, after },
        12 => ClaimedBody::Learn { slot: c as u16 },
        _ => ClaimedBody::Request { first: n, changes },
    }
}

fn claim(which: u8, [a, b, c, d]: [u64; 4]) -> Claim {
    let words = || String::from("a lie");
    match which % 16 {
        0 if a % 4 == 0 => Claim::Link { from: b as u16 },
        0 => Claim::Hello {
            players: b as usize % 4,
            clock_us: c,
        },
        1 => Claim::Welcome {
            you: a as u16,
            since: b,
            index: d,
            absence_ms: a,
            clock_us: b,
            epoch_us: c as i64,
        },
        2 => Claim::Farewell(match a % 5 {
            0 => LeaveReason::Left(words()),
            1 => LeaveReason::Kicked(words()),
            2 => LeaveReason::RoomClosed(words()),
            3 => LeaveReason::Silent,
            _ => LeaveReason::WrongTopology,
        }),
        3..=5 => Claim::Propose {
            number: a as u32,
            oldest_open: b as u32,
            proposal: proposal(which >> 4, c, d),
        },
        6 => Claim::Denied {
            of_action: a % 2 == 0,
            number: b as u32,
        },
        7 => Claim::Entries {
            after: b,
            changes: vec![change(which >> 4, c, d), change(which >> 3, d, c)],
        },
        8..=13 => Claim::Agreement {
            speaks_as: (a % 8 == 0).then_some(b as u16),
            view: a as u32,
            decided: b,
            body: body(which >> 4, [b, c, d]),
        },
        14 => Claim::Out { index: a },
        _ => Claim::Heartbeat {
            peers: vec![0, 1, 2, c as u16],
            acks: (d, d as u32),
            clock_us: d,
            report: Some((c as i64, d as i32, c as u32)),
        },
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.iter().copied();
    let setup = bytes.next().unwrap_or(0);
    let (mesh, liar) = (setup & 1 != 0, if setup & 2 != 0 { OPENER } else { GUEST });
    let mut table = Table::new(mesh);
    for _ in 0..60 {
        let Some(operation) = bytes.next() else {
            break;
        };
        let to = PeerId(u16::from(operation >> 2 & 3));
        let now = table.now;
        let session = &mut table.sessions[liar];
        match operation & 3 {
            0 => {
                let len = [bytes.next(), bytes.next()].map(|byte| usize::from(byte.unwrap_or(0)));
                let len = len[0] | (len[1] & 7) << 8;
                let message: Vec<u8> = bytes.by_ref().take(len).collect();
                session.send_raw(now, to, ChannelId(operation >> 4), &message);
            }
            1 | 3 => {
                let which = bytes.next().unwrap_or(0);
                let numbers = [0; 4].map(|_: u8| number(bytes.next().unwrap_or(0), session));
                session.claim(now, to, &claim(which, numbers));
            }
            _ => table.now += Duration::from_millis(u64::from(bytes.next().unwrap_or(0)) * 4),
        }
        table.exchange();
    }
    table.wait(Duration::from_millis(600));
    if !mesh && liar != OPENER {
        // A client cannot talk the host and another client apart.
        let [host, _, bystander] = &table.sessions[..] else {
            unreachable!("three were made");
        };
        assert_eq!(*bystander.state(), State::InSync);
        assert_eq!(host.room(), bystander.room());
    }
});
