//! The messages about exact variables are written as WIRE.md says.

use samestep_wire::encode_to_vec;

use super::message::{Asker, Body, Message, Place, Refusal, State, Verdict};
use crate::id::{Owner, PeerId};

#[test]
fn messages_are_written_as_the_page_says() {
    let change = vec![1, 0, 5];
    let asker = Asker {
        life: 9,
        last: 4,
        refused: vec![(3, Refusal::DoesNotFit)],
    };
    let state = State {
        table: vec![(PeerId(2), asker)],
        values: vec![5],
    };
    let place = Place { term: 6, count: 3 };
    let entry = |verdict| Body::Entry {
        count: 2,
        by: PeerId(2),
        life: 9,
        number: 4,
        verdict,
    };
    let lines = [
        (
            "variables.request",
            Body::Request {
                life: 9,
                number: 4,
                change: change.clone(),
            },
        ),
        ("variables.entry", entry(Verdict::Change(change))),
        (
            "variables.entry_refused",
            entry(Verdict::Refused(Refusal::NotYours(Owner::player(1)))),
        ),
        ("variables.have", Body::Have { count: 2 }),
        ("variables.certain", Body::Certain { count: 2 }),
        (
            "variables.claim",
            Body::Claim {
                base: place,
                count: 1,
            },
        ),
        ("variables.question", Body::Question),
        (
            "variables.state",
            Body::State {
                count: 2,
                state: state.clone(),
            },
        ),
        ("variables.collect", Body::Collect { have: place }),
        (
            "variables.reply",
            Body::Reply {
                more: Some((place, state)),
            },
        ),
    ];
    let page = include_str!("../../../../WIRE.md");
    let mut missing = String::new();
    for (name, body) in lines {
        let message = Message {
            term: 7,
            group: 1,
            body,
        };
        let bytes = encode_to_vec(&message).unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let has_it = |line: &str| {
            let right = line.split_once('=').filter(|(left, _)| left.trim() == name);
            right.is_some_and(|(_, right)| right.split('#').next().unwrap().trim() == hex)
        };
        if !page.lines().any(has_it) {
            missing += &format!("{name} = {hex}\n");
        }
    }
    assert!(missing.is_empty(), "WIRE.md should have:\n{missing}");
}
