//! The vectors of WIRE.md, sections 6.7 and 6.8.

use samestep_wire::{Wire, encode_to_vec};

use super::*;
use crate::agreement::{
    Ballot, Beat, Body, Entry as Agreed, Member, NextView, Request, Slot, Start, Status,
};
use crate::golden::assert_vectors;
use crate::log::HostLog;
use crate::room::Change;

const A: Incarnation = Incarnation(0x1111_1111_1111_1111);
const B: Incarnation = Incarnation(0x2222_2222_2222_2222);
const BALLOT: Ballot = Ballot { n: 3, by: A };

fn bytes(value: &impl Wire) -> Vec<u8> {
    encode_to_vec(value).unwrap()
}

/// From A to B of the room 7, in view 2, with 300 entries decided.
fn message<C>(body: Body<C>) -> Message<C> {
    Message {
        room: 7,
        from: A,
        to: B,
        view: 2,
        decided: 300,
        body,
    }
}

fn away() -> Entry {
    Entry {
        origin: None,
        change: Change::Away { peer: PeerId(5) },
    }
}

#[test]
fn messages_of_the_agreement_are_those_of_the_page() {
    let status = Status {
        promised: BALLOT,
        accepted: BALLOT,
        length: 301,
    };
    let beat = Beat {
        status,
        leads: true,
        hears: 0b11,
    };
    let prepare = Body::Prepare {
        ballot: BALLOT,
        accepted: Ballot { n: 2, by: B },
        length: 301,
    };
    let request = Request { by: A, n: 9 };
    let accept = Body::Accept {
        ballot: BALLOT,
        after: 300,
        entries: vec![Agreed::Command {
            request,
            command: away(),
        }],
    };
    let member = |incarnation, slot| Member {
        incarnation,
        slot: Slot(slot),
    };
    let next = NextView {
        members: vec![member(A, 0), member(B, 5)],
        tie_breaker: A,
        owner: B,
        cuts: Vec::new(),
    };
    let suffix = Suffix {
        start: Start::After(300),
        entries: vec![Agreed::Next(next)],
        decided: 301,
    };
    let said = |body: Body<Entry>| bytes(&message(body));
    assert_vectors(&[
        ("agreement.beat", &said(Body::Beat(beat))),
        ("agreement.pre-vote", &said(Body::PreVote { round: 4 })),
        ("agreement.prepare", &said(prepare)),
        ("agreement.accept", &said(accept)),
        ("agreement.catch-up", &said(Body::CatchUp(suffix))),
    ]);
}

#[test]
fn messages_of_standbys_are_those_of_the_page() {
    let mut log = HostLog::default();
    log.append(away());
    let lease = message::<Shipped>(Body::Lease {
        ballot: BALLOT,
        number: 8,
    });
    let ability = Control::Ability {
        is_ready: true,
        step_us: 1500,
        upstream: 250_000,
    };
    assert_vectors(&[
        ("standbys.ability", &bytes(&ability)),
        (
            "standbys.certain",
            &bytes(&Control::Certain { before: 777 }),
        ),
        (
            "standbys.yields",
            &bytes(&Control::Yields { to: PeerId(5) }),
        ),
        (
            "standbys.lease",
            &bytes(&Control::Succession(Box::new(lease))),
        ),
        ("standbys.shipped-room", &bytes(&Shipped::Room(away()))),
        (
            "standbys.shipped-game",
            &bytes(&Shipped::Game(vec![1, 2, 3])),
        ),
        ("standbys.chain", &log.chain().to_le_bytes()),
    ]);
}
