//! Set-up, start, end and rematch; actions; network ids; fairness; the common clock.

mod room;

use room::{Hall, Place, config, ms};
use samestep_session::{
    Delivery, Fairness, MessageKind, NetworkId, Phase, Profile, SessionConfig, SessionEvent,
    Settings, StartRule, To, Verdict,
};

const KIND: MessageKind = MessageKind(3);

fn times(hall: &Hall, place: Place, of: impl Fn(&SessionEvent) -> bool) -> usize {
    hall.events[place].iter().filter(|e| of(e)).count()
}

fn both(seed: u64, config: &SessionConfig, run: impl Fn(Hall)) {
    let mut hall = Hall::rough(seed);
    hall.hosted(config.clone(), 3);
    run(hall);
    let mut hall = Hall::rough(seed);
    hall.mesh(config.clone(), 4);
    run(hall);
}

#[test]
fn a_game_begins_for_all_at_the_same_time_once_everyone_is_ready() {
    for seed in 0..5 {
        let mut config = config("Ann");
        config.start = StartRule::AllReady { players: 3 };
        both(seed, &config, |mut hall| {
            hall.run(ms(2_000));
            let settings = Settings {
                map: "woods".into(),
                mode: "hats".into(),
                values: vec![("stars".into(), "5".into())],
            };
            let ready = |hall: &mut Hall, place| {
                hall.with(place, |now, session| {
                    let player = session.my_players().next().unwrap();
                    session.set_ready(now, player, true);
                });
            };
            for place in 0..3 {
                ready(&mut hall, place);
            }
            hall.run(ms(1_000));
            // Other settings: those who were ready were so for something else.
            hall.with(1, |now, session| {
                session.propose_settings(now, settings.clone())
            });
            hall.run(ms(1_000));
            ready(&mut hall, 3);
            hall.run(ms(1_000));
            assert_eq!(*hall.at(2).room().phase(), Phase::SetUp);
            for place in 0..3 {
                ready(&mut hall, place);
            }
            let mut began = Vec::new();
            for _ in 0..4_000 {
                hall.run(ms(1));
                for place in 0..4 {
                    if hall.seen(place, &SessionEvent::Started) == 1
                        && began.iter().all(|(p, _)| *p != place)
                    {
                        began.push((place, hall.now));
                    }
                }
            }
            assert_eq!(began.len(), 4, "{hall:?}");
            let spread = began[3].1 - began[0].1;
            assert!(spread <= ms(6), "{spread:?}");
            assert_eq!(*hall.at(3).room().settings(), settings);

            for place in 0..4 {
                hall.with(place, |now, session| session.propose_end(now, b"Ann won"));
            }
            hall.run(ms(2_000));
            for place in 0..4 {
                let ended = |e: &SessionEvent| matches!(e, SessionEvent::Ended { result } if result == b"Ann won");
                assert_eq!(times(&hall, place, ended), 1);
            }
            hall.with(2, |now, session| session.rematch(now));
            hall.run(ms(1_000));
            for place in 0..4 {
                assert_eq!(hall.seen(place, &SessionEvent::Rematch), 1);
                assert_eq!(hall.at(place).room().games(), 1);
            }
        });
    }
}

#[test]
fn names_and_things_are_the_same_everywhere() {
    both(1, &config("Ann"), |mut hall| {
        let player = hall.at(2).my_players().next().unwrap();
        let id = hall.with(2, |now, session| {
            session.set_profile(now, player, Profile::named("Zoe"));
            session.new_network_id(now, 12).unwrap()
        });
        let me = hall.at(2).me().unwrap();
        assert_eq!(
            id,
            NetworkId::Dynamic {
                by: me,
                number: hall_number(id)
            }
        );
        hall.run(ms(1_000));
        for place in 0..4 {
            let room = hall.at(place).room();
            assert_eq!(room.player(player).unwrap().profile.name, "Zoe");
            assert_eq!(room.things().len(), 1);
            assert_eq!(room.things()[0].kind, 12);
        }
        // Only the owner gives it up.
        hall.with(1, |now, session| session.free_network_id(now, id));
        hall.run(ms(1_000));
        assert_eq!(hall.at(0).room().things().len(), 1);
        hall.with(2, |now, session| session.free_network_id(now, id));
        hall.run(ms(1_000));
        assert_eq!(hall.at(0).room().things().len(), 0);
    });
}

fn hall_number(id: NetworkId) -> u32 {
    match id {
        NetworkId::Dynamic { number, .. } => number,
        _ => u32::MAX,
    }
}

/// Answers what the authority is asked: odd numbers are denied.
fn decide(hall: &mut Hall, done: &mut [usize]) {
    for (place, done) in done.iter_mut().enumerate() {
        let fresh = hall.events[place][*done..].to_vec();
        *done = hall.events[place].len();
        for event in fresh {
            match event {
                SessionEvent::Request {
                    ticket, payload, ..
                } => hall.with(place, |now, session| {
                    let verdict = match payload[0] % 2 {
                        0 => Verdict::Command(payload.to_vec()),
                        _ => Verdict::Deny(b"odd".to_vec()),
                    };
                    session.resolve(now, ticket, verdict);
                }),
                SessionEvent::Check {
                    ticket, payload, ..
                } => hall.with(place, |now, session| {
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
        both(seed, &config("Ann"), |mut hall| {
            let mut done = vec![0; 4];
            for word in 0..20u8 {
                for place in 0..4u8 {
                    hall.with(usize::from(place), |now, session| {
                        session.request_bytes(now, KIND, &[word, place]).unwrap();
                        session.act_bytes(now, KIND, &[word, place]).unwrap();
                    });
                }
                for _ in 0..10 {
                    hall.run(ms(10));
                    decide(&mut hall, &mut done);
                }
            }
            for _ in 0..2_000 {
                hall.run(ms(10));
                decide(&mut hall, &mut done);
            }
            let commands = |place: Place| -> Vec<(u64, Vec<u8>)> {
                let of = |event: &SessionEvent| match event {
                    SessionEvent::Command { index, payload, .. } => {
                        Some((*index, payload.to_vec()))
                    }
                    _ => None,
                };
                hall.events[place].iter().filter_map(of).collect()
            };
            let first = commands(0);
            assert_eq!(first.len(), 40, "{hall:?}");
            for place in 0..4 {
                assert_eq!(commands(place), first);
                let denied = |e: &SessionEvent| matches!(e, SessionEvent::Denied { .. });
                assert_eq!(times(&hall, place, denied), 10);
                let rejected = |e: &SessionEvent| matches!(e, SessionEvent::Rejected { .. });
                assert_eq!(times(&hall, place, rejected), 10);
                // All of its own, and the sensible ones of the others.
                let acted = |e: &SessionEvent| matches!(e, SessionEvent::Acted { .. });
                assert_eq!(times(&hall, place, acted), 20 + 30);
            }
        });
    }
}

#[test]
fn the_nearest_is_not_heard_first_if_time_is_delayed_for_fairness() {
    let mut config = config("Ann");
    config.fairness = Some(Fairness::default());
    let mut hall = Hall::near(1);
    hall.hosted(config, 1);
    hall.run(ms(3_000));
    for place in 0..2 {
        hall.with(place, |now, session| {
            session
                .send_bytes(
                    now,
                    To::Authority,
                    Delivery::ReliableOrdered,
                    KIND,
                    &[place as u8],
                )
                .unwrap();
        });
    }
    let message = |e: &SessionEvent| matches!(e, SessionEvent::Message { .. });
    hall.run(ms(8));
    assert_eq!(times(&hall, 0, message), 0);
    hall.run(ms(8));
    assert_eq!(times(&hall, 0, message), 2);
    let host = hall.at(0).me().unwrap();
    let delay = hall.at(0).fairness_delay(host);
    assert!(delay > ms(8) && delay < ms(12), "{delay:?}");
}

#[test]
fn the_common_clock_is_common() {
    for seed in 0..5 {
        both(seed, &config("Ann"), |mut hall| {
            hall.run(ms(10_000));
            let times: Vec<f64> = (0..4)
                .map(|p| hall.at(p).time(hall.local(p)).unwrap().as_secs_f64() * 1e3)
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
        both(seed, &config("Ann"), |mut hall| {
            for delivery in [
                Delivery::ReliableOrdered,
                Delivery::ReliableUnordered,
                Delivery::Redundant,
            ] {
                hall.with(1, |now, session| {
                    session
                        .send_bytes(now, To::Others, delivery, KIND, b"all")
                        .unwrap();
                });
            }
            let two = hall.at(2).me().unwrap();
            let player = hall.at(3).my_players().next().unwrap();
            hall.with(1, |now, session| {
                let ordered = Delivery::ReliableOrdered;
                session
                    .send_bytes(now, To::Peer(two), ordered, KIND, b"two")
                    .unwrap();
                session
                    .send_bytes(now, To::Player(player), ordered, KIND, b"three")
                    .unwrap();
            });
            hall.run(ms(3_000));
            let from = hall.at(1).me().unwrap();
            let heard = |place: Place, word: &[u8]| {
                times(&hall, place, |e| match e {
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
