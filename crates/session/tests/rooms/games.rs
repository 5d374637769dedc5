//! Set-up, start, end and rematch; actions; network ids; fairness; the common clock.

use crate::room::{NodeIndex, TestNetwork, config, ms};
use samestep_session::{
    Delivery, Fairness, MessageKind, NetworkId, Phase, Profile, SessionConfig, SessionEvent,
    Settings, StartRule, To, Verdict,
};

const KIND: MessageKind = MessageKind(3);

fn times(network: &TestNetwork, node: NodeIndex, of: impl Fn(&SessionEvent) -> bool) -> usize {
    network.events[node].iter().filter(|e| of(e)).count()
}

fn both(seed: u64, config: &SessionConfig, run: impl Fn(TestNetwork)) {
    let mut network = TestNetwork::rough(seed);
    network.hosted(config.clone(), 3);
    run(network);
    let mut network = TestNetwork::rough(seed);
    network.mesh(config.clone(), 4);
    run(network);
}

#[test]
fn a_game_begins_for_all_at_the_same_time_once_everyone_is_ready() {
    for seed in 0..5 {
        let mut config = config("Ann");
        config.start = StartRule::AllReady { players: 3 };
        both(seed, &config, |mut network| {
            network.run(ms(2_000));
            let settings = Settings {
                map: "woods".into(),
                mode: "hats".into(),
                values: vec![("stars".into(), "5".into())],
            };
            let ready = |network: &mut TestNetwork, node| {
                network.with(node, |now, session| {
                    let player = session.my_players().next().unwrap();
                    session.set_ready(now, player, true);
                });
            };
            for node in 0..3 {
                ready(&mut network, node);
            }
            network.run(ms(1_000));
            // Other settings: those who were ready were so for something else.
            network.with(1, |now, session| {
                session.propose_settings(now, settings.clone())
            });
            network.run(ms(1_000));
            ready(&mut network, 3);
            network.run(ms(1_000));
            assert_eq!(*network.at(2).room().phase(), Phase::SetUp);
            for node in 0..3 {
                ready(&mut network, node);
            }
            let mut began = Vec::new();
            for _ in 0..4_000 {
                network.run(ms(1));
                for node in 0..4 {
                    if network.seen(node, &SessionEvent::Started) == 1
                        && began.iter().all(|(p, _)| *p != node)
                    {
                        began.push((node, network.now()));
                    }
                }
            }
            assert_eq!(began.len(), 4, "{network:?}");
            let spread = began[3].1 - began[0].1;
            assert!(spread <= ms(6), "{spread:?}");
            assert_eq!(*network.at(3).room().settings(), settings);

            for node in 0..4 {
                network.with(node, |now, session| session.propose_end(now, b"Ann won"));
            }
            network.run(ms(2_000));
            for node in 0..4 {
                let ended = |e: &SessionEvent| matches!(e, SessionEvent::Ended { result } if result == b"Ann won");
                assert_eq!(times(&network, node, ended), 1);
            }
            network.with(2, |now, session| session.rematch(now));
            network.run(ms(1_000));
            for node in 0..4 {
                assert_eq!(network.seen(node, &SessionEvent::Rematch), 1);
                assert_eq!(network.at(node).room().games(), 1);
            }
        });
    }
}

#[test]
fn names_and_things_are_the_same_everywhere() {
    both(1, &config("Ann"), |mut network| {
        let player = network.at(2).my_players().next().unwrap();
        let id = network.with(2, |now, session| {
            session.set_profile(now, player, Profile::named("Zoe"));
            session.new_network_id(now, 12).unwrap()
        });
        let me = network.at(2).me().unwrap();
        assert_eq!(
            id,
            NetworkId::Dynamic {
                by: me,
                number: hall_number(id)
            }
        );
        network.run(ms(1_000));
        for node in 0..4 {
            let room = network.at(node).room();
            assert_eq!(room.player(player).unwrap().profile.name, "Zoe");
            assert_eq!(room.network_objects().len(), 1);
            assert_eq!(room.network_objects()[0].kind, 12);
        }
        // Only the owner gives it up.
        network.with(1, |now, session| session.free_network_id(now, id));
        network.run(ms(1_000));
        assert_eq!(network.at(0).room().network_objects().len(), 1);
        network.with(2, |now, session| session.free_network_id(now, id));
        network.run(ms(1_000));
        assert_eq!(network.at(0).room().network_objects().len(), 0);
    });
}

fn hall_number(id: NetworkId) -> u32 {
    match id {
        NetworkId::Dynamic { number, .. } => number,
        _ => u32::MAX,
    }
}

/// Answers what the authority is asked: odd numbers are denied.
fn decide(network: &mut TestNetwork, done: &mut [usize]) {
    for (node, done) in done.iter_mut().enumerate() {
        let fresh = network.events[node][*done..].to_vec();
        *done = network.events[node].len();
        for event in fresh {
            match event {
                SessionEvent::Request {
                    ticket, payload, ..
                } => network.with(node, |now, session| {
                    let verdict = match payload[0] % 2 {
                        0 => Verdict::Command(payload.to_vec()),
                        _ => Verdict::Deny(b"odd".to_vec()),
                    };
                    session.resolve(now, ticket, verdict);
                }),
                SessionEvent::Check {
                    ticket, payload, ..
                } => network.with(node, |now, session| {
                    let verdict = match payload[0] % 2 {
                        0 => Ok(()),
                        _ => Err(b"odd".to_vec()),
                    };
                    session.judge(now, ticket, verdict);
                }),
                _ => {}
            }
        }
    }
}

#[test]
fn actions_take_place_once_everywhere_in_one_order_or_not_at_all() {
    for seed in 0..5 {
        both(seed, &config("Ann"), |mut network| {
            let mut done = vec![0; 4];
            for word in 0..20u8 {
                for node in 0..4u8 {
                    network.with(usize::from(node), |now, session| {
                        session.request_bytes(now, KIND, &[word, node]).unwrap();
                        session.act_bytes(now, KIND, &[word, node]).unwrap();
                    });
                }
                for _ in 0..10 {
                    network.run(ms(10));
                    decide(&mut network, &mut done);
                }
            }
            for _ in 0..2_000 {
                network.run(ms(10));
                decide(&mut network, &mut done);
            }
            let commands = |node: NodeIndex| -> Vec<(u64, Vec<u8>)> {
                let of = |event: &SessionEvent| match event {
                    SessionEvent::Command { index, payload, .. } => {
                        Some((*index, payload.to_vec()))
                    }
                    _ => None,
                };
                network.events[node].iter().filter_map(of).collect()
            };
            let first = commands(0);
            assert_eq!(first.len(), 40, "{network:?}");
            for node in 0..4 {
                assert_eq!(commands(node), first);
                let denied = |e: &SessionEvent| matches!(e, SessionEvent::Denied { .. });
                assert_eq!(times(&network, node, denied), 10);
                let rejected = |e: &SessionEvent| matches!(e, SessionEvent::Rejected { .. });
                assert_eq!(times(&network, node, rejected), 10);
                // All of its own, and the sensible ones of the others.
                let acted = |e: &SessionEvent| matches!(e, SessionEvent::Acted { .. });
                assert_eq!(times(&network, node, acted), 20 + 30);
            }
        });
    }
}

#[test]
fn the_nearest_is_not_heard_first_if_time_is_delayed_for_fairness() {
    let mut config = config("Ann");
    config.fairness = Some(Fairness::default());
    let mut network = TestNetwork::near(1);
    network.hosted(config, 1);
    network.run(ms(3_000));
    for node in 0..2 {
        network.with(node, |now, session| {
            session
                .send_bytes(
                    now,
                    To::Authority,
                    Delivery::ReliableOrdered,
                    KIND,
                    &[node as u8],
                )
                .unwrap();
        });
    }
    let message = |e: &SessionEvent| matches!(e, SessionEvent::Message { .. });
    network.run(ms(8));
    assert_eq!(times(&network, 0, message), 0);
    network.run(ms(8));
    assert_eq!(times(&network, 0, message), 2);
    let host = network.at(0).me().unwrap();
    let delay = network.at(0).fairness_delay(host);
    assert!(delay > ms(8) && delay < ms(12), "{delay:?}");
}

#[test]
fn the_common_clock_is_common() {
    for seed in 0..5 {
        both(seed, &config("Ann"), |mut network| {
            network.run(ms(10_000));
            let times: Vec<f64> = (0..4)
                .map(|p| network.at(p).time(network.local(p)).unwrap().as_secs_f64() * 1e3)
                .collect();
            let (low, high) = times
                .iter()
                .fold((f64::MAX, 0f64), |(l, h), t| (l.min(*t), h.max(*t)));
            assert!(high - low < 3.0, "{times:?}");
        });
    }
}

#[test]
fn clients_talk_to_each_other_through_the_host() {
    for seed in 0..5 {
        both(seed, &config("Ann"), |mut network| {
            for delivery in [
                Delivery::ReliableOrdered,
                Delivery::ReliableUnordered,
                Delivery::Redundant,
            ] {
                network.with(1, |now, session| {
                    session
                        .send_bytes(now, To::Others, delivery, KIND, b"all")
                        .unwrap();
                });
            }
            let two = network.at(2).me().unwrap();
            let player = network.at(3).my_players().next().unwrap();
            network.with(1, |now, session| {
                let ordered = Delivery::ReliableOrdered;
                session
                    .send_bytes(now, To::Peer(two), ordered, KIND, b"two")
                    .unwrap();
                session
                    .send_bytes(now, To::Player(player), ordered, KIND, b"three")
                    .unwrap();
            });
            network.run(ms(3_000));
            let from = network.at(1).me().unwrap();
            let heard = |node: NodeIndex, word: &[u8]| {
                times(&network, node, |e| match e {
                    SessionEvent::Message {
                        from: f, payload, ..
                    } => *f == from && **payload == *word,
                    _ => false,
                })
            };
            assert_eq!([0, 1, 2, 3].map(|p| heard(p, b"all")), [3, 0, 3, 3]);
            assert_eq!([0, 1, 2, 3].map(|p| heard(p, b"two")), [0, 0, 1, 0]);
            assert_eq!([0, 1, 2, 3].map(|p| heard(p, b"three")), [0, 0, 0, 1]);
        });
    }
}
