//! A mesh of ten in which one pair cannot reach each other: everything still reaches everyone.

use std::collections::BTreeSet;
use std::time::Duration;

use samestep_netem::{LinkConfig, Loss};
use samestep_session::{
    Delivery, JoinTo, MessageKind, Role, Session, SessionConfig, SessionEvent, State, To,
};
use samestep_sim::{NodeId, Testbed};

const MEMBERS: u16 = 10;
const TALK: MessageKind = MessageKind(1);

fn mesh(seed: u64, cut: Option<(NodeId, NodeId)>) -> Testbed<Session> {
    let mut testbed = Testbed::new(seed);
    testbed.set_links(LinkConfig {
        latency: Duration::from_millis(15),
        loss: Loss::Bernoulli(0.01),
        ..LinkConfig::default()
    });
    let mut order: Vec<NodeId> = (0..MEMBERS).map(|_| testbed.add_node()).collect();
    if let Some((a, b)) = cut {
        testbed.cut(a, b);
    }
    // Who cannot reach the opener joins last, through somebody else: it could not even ask.
    let cut_off = cut.filter(|(_, b)| *b == NodeId(0)).map(|(a, _)| a);
    order.sort_by_key(|node| Some(*node) == cut_off);
    for (index, node) in order.iter().enumerate() {
        let through = match cut_off == Some(*node) {
            true => order[1],
            false => order[0],
        };
        let config = SessionConfig::new("mesh", 1).player(&format!("player {}", node.0));
        let role = match index {
            0 => Role::Introducer,
            _ => Role::Peer(JoinTo::new(testbed.address(through))),
        };
        testbed.start(*node, |now, seed| {
            Session::new(now, config, role, seed).unwrap()
        });
        run(&mut testbed, Duration::from_millis(100), |_, _| ());
    }
    testbed
}

fn run(testbed: &mut Testbed<Session>, time: Duration, mut on: impl FnMut(NodeId, SessionEvent)) {
    let until = testbed.now() + time;
    while let Some((_, node, event)) = testbed.next(until) {
        on(node, event);
    }
}

/// Everyone says a word to all others; whom they reached.
fn exchange(testbed: &mut Testbed<Session>, word: u8, rest: Duration) -> BTreeSet<(u16, u16)> {
    for node in testbed.nodes() {
        let payload = [word, node.0 as u8];
        testbed
            .with(node, |now, session| {
                session.send_bytes(now, To::Others, Delivery::ReliableOrdered, TALK, &payload)
            })
            .unwrap()
            .unwrap();
    }
    let mut heard = BTreeSet::new();
    run(testbed, rest, |node, event| {
        if let SessionEvent::Message { payload, .. } = event {
            assert_eq!(payload[0], word);
            assert!(
                heard.insert((u16::from(payload[1]), node.0)),
                "heard twice from {} at {node}",
                payload[1]
            );
        }
    });
    heard
}

fn pairs() -> impl Iterator<Item = (NodeId, NodeId)> {
    (0..MEMBERS).flat_map(|a| (0..a).map(move |b| (NodeId(a), NodeId(b))))
}

const EVERYTHING: usize = MEMBERS as usize * (MEMBERS as usize - 1);

#[test]
fn any_pair_may_be_cut_from_the_start() {
    for (a, b) in pairs() {
        let mut testbed = mesh(1, Some((a, b)));
        run(&mut testbed, Duration::from_secs(10), |_, _| ());
        for node in testbed.nodes() {
            let session = testbed.machine(node).unwrap();
            assert_eq!(*session.state(), State::InSync, "{a}, {b} cut: {node}");
            assert_eq!(session.room().peers().len(), usize::from(MEMBERS));
        }
        let heard = exchange(&mut testbed, 1, Duration::from_secs(3));
        assert_eq!(heard.len(), EVERYTHING, "{a}, {b} cut");
    }
}

#[test]
fn any_pair_may_be_cut_in_the_middle() {
    for (a, b) in pairs() {
        let mut testbed = mesh(2, None);
        run(&mut testbed, Duration::from_secs(2), |_, _| ());
        let heard = exchange(&mut testbed, 1, Duration::from_secs(1));
        assert_eq!(heard.len(), EVERYTHING, "before the cut");
        testbed.cut(a, b);
        // At once, when nobody knows of the cut yet, and once it is known.
        let heard = exchange(&mut testbed, 2, Duration::from_secs(20));
        assert_eq!(heard.len(), EVERYTHING, "{a}, {b} just cut");
        let heard = exchange(&mut testbed, 3, Duration::from_secs(2));
        assert_eq!(heard.len(), EVERYTHING, "{a}, {b} cut for a while");
        for node in testbed.nodes() {
            let session = testbed.machine(node).unwrap();
            assert_eq!(*session.state(), State::InSync, "{a}, {b} cut: {node}");
        }
    }
}
