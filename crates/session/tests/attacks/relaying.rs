//! Having the host say what only the host, or a model, says.
//!
//! The attacker is a client of a hosted room. The host passes its messages on to the others, marked with its name. It sends kinds that belong to
//! the library: updates of shared fields, actions that the host is said to have approved, messages of the model. It wants others to take
//! them for the host's, or to go past the host's checks.

use samestep_session::{Chat, Delivery, Message, MessageKind, Session, SessionEvent, To};

use crate::room::{TestNetwork, config, ms};

fn heard(network: &TestNetwork, node: usize, kind: MessageKind) -> usize {
    let of = |event: &&SessionEvent| {
        matches!(event, SessionEvent::Message { kind: other, .. } if *other == kind)
            || matches!(
                event,
                SessionEvent::Acted { .. } | SessionEvent::Rejected { .. }
            )
    };
    network.events[node].iter().filter(of).count()
}

#[test]
fn reserved_kinds_are_not_passed_on() {
    for delivery in [
        Delivery::Unreliable,
        Delivery::ReliableOrdered,
        Delivery::UnreliableSequenced,
    ] {
        let mut network = TestNetwork::near(1);
        network.hosted(config("Ann"), 2);
        let other = network.peer(2);
        let player = network.at(2).my_players().next().unwrap();
        let reserved = [0xFF00, 0xFF01, 0xFF02, 0xFF03, 0xFF04, 0xFF06, 0xFFFF];
        for kind in reserved.map(MessageKind) {
            for to in [To::Peer(other), To::Others, To::Player(player)] {
                network.with(1, |now, session: &mut Session| {
                    // Actor 0, kind 9, payload 01 02, as the host passes actions on.
                    let payload = [0, 9, 0, 2, 0, 2, 4, 0];
                    session
                        .send_bytes(now, to, delivery, kind, &payload)
                        .unwrap();
                });
            }
        }
        network.run(ms(500));
        for kind in reserved.map(MessageKind) {
            assert_eq!(heard(&network, 2, kind), 0, "{kind:?} by {delivery:?}");
        }
        assert_eq!(network.at(0).refused(), 3 * reserved.len() as u64);
        assert!(network.agree(&[0, 1, 2]));
    }
}

#[test]
fn the_games_own_messages_and_chat_are() {
    let mut network = TestNetwork::near(2);
    network.hosted(config("Ann"), 2);
    let own = MessageKind(7);
    network.with(1, |now, session: &mut Session| {
        let delivery = Delivery::ReliableOrdered;
        session
            .send_bytes(now, To::Others, delivery, own, b"hi")
            .unwrap();
        session
            .send(
                now,
                To::Others,
                &Chat {
                    text: "hello".into(),
                },
            )
            .unwrap();
    });
    network.run(ms(500));
    assert_eq!(heard(&network, 2, own), 1);
    assert_eq!(heard(&network, 2, Chat::KIND), 1);
    assert_eq!(network.at(0).refused(), 0);
}
