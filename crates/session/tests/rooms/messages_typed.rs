//! Typed messages between programs of every role.

use crate::messages_room::{Game, config, join, ms};
use samestep_session::{Delivery, Handlers, Message, PeerId, PlayerId, Role, To};
use samestep_wire::Wire;

#[derive(Clone, PartialEq, Debug, Wire, Message)]
struct Chat {
    text: String,
}

#[derive(Clone, PartialEq, Debug, Wire, Message)]
#[message(delivery = "unreliable-sequenced")]
enum Pose {
    Standing,
    At(#[wire(range = -100..=100)] i16),
}

#[derive(Clone, PartialEq, Debug, Wire, Message)]
#[message(kind = 7)]
struct Echo(u32);

#[derive(Clone, PartialEq, Debug, Wire, Message)]
#[message(kind = 8)]
struct Answer(u32);

/// What a program has heard: from whom, and what.
type Heard = Vec<(u16, String)>;

fn handlers() -> Handlers<Heard> {
    let mut handlers = Handlers::<Heard>::new();
    handlers
        .on(|heard, call, chat: Chat| heard.push((call.from.0, chat.text)))
        .unwrap()
        .on(|heard, call, pose: Pose| heard.push((call.from.0, format!("{pose:?}"))))
        .unwrap()
        .on(|_, call, Echo(n)| call.reply(&Answer(n + 1)).unwrap())
        .unwrap()
        .on(|heard, call, Answer(n)| heard.push((call.from.0, n.to_string())))
        .unwrap();
    handlers
}

fn chat(text: &str) -> Chat {
    Chat { text: text.into() }
}

/// A hosting player, a client with two players, another client, and a spectator.
fn hosted() -> Game<Heard> {
    let mut game = Game::new(1);
    let players = [
        (Role::Host, config().player("Ada")),
        (Role::Client(join()), config().player("Bob").player("Cid")),
        (Role::Client(join()), config().player("Dan")),
        (Role::Spectator(join()), config()),
    ];
    for (role, config) in players {
        game.add(role, config, handlers(), Heard::new());
    }
    game.run(ms(200));
    game
}

fn mesh(members: usize) -> Game<Heard> {
    let mut game = Game::new(2);
    for member in 0..members {
        let role = match member {
            0 => Role::Introducer,
            _ => Role::Peer(join()),
        };
        let config = config().player(&format!("member {member}"));
        game.add(role, config, handlers(), Heard::new());
    }
    game.run(ms(500));
    game
}

fn peer(game: &Game<Heard>, program: usize) -> PeerId {
    game.session(program).me().expect("it has joined")
}

fn say(game: &mut Game<Heard>, program: usize, to: To, text: &str) {
    game.speak(program, |now, session, _, _| {
        session.send(now, to, &chat(text)).unwrap();
    });
}

/// Who has heard what, since the last time.
fn heard(game: &mut Game<Heard>) -> Vec<Vec<String>> {
    game.run(ms(500));
    game.programs
        .iter_mut()
        .map(|p| {
            let mut heard: Vec<String> = p.context.drain(..).map(|(_, text)| text).collect();
            heard.sort();
            heard
        })
        .collect()
}

#[test]
fn everyone_is_reached_from_everywhere_in_a_hosted_room() {
    let mut game = hosted();
    for from in 0..4 {
        say(&mut game, from, To::All, "all");
        say(&mut game, from, To::Others, "others");
        say(&mut game, from, To::Authority, "authority");
        let heard = heard(&mut game);
        for (program, heard) in heard.iter().enumerate() {
            let mut expected = vec!["all"];
            if program == 0 {
                expected.push("authority");
            }
            if program != from {
                expected.push("others");
            }
            assert_eq!(heard, &expected, "from {from} to {program}");
        }
    }
}

#[test]
fn everyone_is_reached_from_everywhere_in_a_mesh() {
    let mut game = mesh(4);
    for from in 0..4 {
        say(&mut game, from, To::All, "all");
        say(&mut game, from, To::Others, "others");
        let heard = heard(&mut game);
        for (program, heard) in heard.iter().enumerate() {
            let expected: &[&str] = if program == from {
                &["all"]
            } else {
                &["all", "others"]
            };
            assert_eq!(heard, expected, "from {from} to {program}");
        }
    }
}

#[test]
fn one_peer_is_reached_from_everywhere() {
    for mut game in [hosted(), mesh(4)] {
        for from in 0..4 {
            for to in 0..4 {
                let to_peer = To::Peer(peer(&game, to));
                say(&mut game, from, to_peer, "you");
                for (program, heard) in heard(&mut game).iter().enumerate() {
                    let expected: &[&str] = if program == to { &["you"] } else { &[] };
                    assert_eq!(heard, expected, "{from} to {to}, heard by {program}");
                }
            }
        }
    }
}

#[test]
fn a_player_is_reached_where_it_plays() {
    let mut game = hosted();
    for (player, program) in [(0, 0), (1, 1), (2, 1), (3, 2)] {
        say(&mut game, 3, To::Player(PlayerId(player)), "you");
        let heard = heard(&mut game);
        for (other, heard) in heard.iter().enumerate() {
            let expected: &[&str] = if other == program { &["you"] } else { &[] };
            assert_eq!(heard, expected, "player {player}, heard by {other}");
        }
    }
}

#[test]
fn the_sender_is_known() {
    for mut game in [hosted(), mesh(4)] {
        for from in 0..4 {
            let me = peer(&game, from);
            say(&mut game, from, To::All, "hello");
            game.run(ms(500));
            for program in &mut game.programs {
                assert_eq!(program.context, [(me.0, "hello".into())]);
                program.context.clear();
            }
        }
    }
}

#[test]
fn a_handler_answers_the_one_who_asked() {
    for mut game in [hosted(), mesh(4)] {
        for (from, to) in [(2, 0), (0, 2), (2, 1), (3, 3)] {
            let asked = peer(&game, to);
            game.speak(from, |now, session, _, _| {
                session.send(now, To::Peer(asked), &Echo(41)).unwrap();
            });
            game.run(ms(500));
            for (number, program) in game.programs.iter_mut().enumerate() {
                let expected: &[(u16, String)] = if number == from {
                    &[(asked.0, "42".into())]
                } else {
                    &[]
                };
                assert_eq!(program.context, expected);
                program.context.clear();
            }
        }
    }
}

#[test]
fn ordered_messages_arrive_once_and_in_order_through_losses() {
    for mut game in [hosted(), mesh(3)] {
        game.set_lossy(10);
        for n in 0..200 {
            say(&mut game, 1, To::All, &n.to_string());
            game.run(ms(5));
        }
        game.set_lossy(0);
        game.run(ms(3000));
        for context in game.contexts() {
            let texts: Vec<u32> = context.iter().map(|(_, t)| t.parse().unwrap()).collect();
            assert_eq!(texts, (0..200).collect::<Vec<u32>>());
        }
    }
}

#[test]
fn sequenced_messages_may_be_lost_but_never_go_back() {
    let mut game = hosted();
    game.set_lossy(5);
    game.speak(1, |now, session, _, _| {
        session.send(now, To::Others, &Pose::Standing).unwrap();
    });
    for n in -100..=100 {
        game.speak(1, |now, session, _, _| {
            session.send(now, To::Others, &Pose::At(n)).unwrap();
        });
        game.run(ms(5));
    }
    game.run(ms(1000));
    assert_eq!(Pose::DELIVERY, Delivery::UnreliableSequenced);
    for program in [0, 2, 3] {
        let heard = &game.programs[program].context;
        let at = |text: &str| text.strip_prefix("At(")?.strip_suffix(')')?.parse().ok();
        let positions: Vec<i16> = heard.iter().filter_map(|(_, text)| at(text)).collect();
        assert!(positions.len() > 50, "{} arrived", positions.len());
        assert!(positions.is_sorted_by(|a, b| a < b), "{positions:?}");
    }
}

#[test]
fn a_value_out_of_its_range_is_refused_to_the_sender() {
    let mut game = hosted();
    game.speak(1, |now, session, _, _| {
        assert!(session.send(now, To::All, &Pose::At(101)).is_err());
    });
    assert!(heard(&mut game).iter().all(Vec::is_empty));
}

#[test]
fn bytes_that_are_no_message_are_counted_and_dropped() {
    for mut game in [hosted(), mesh(3)] {
        let delivery = Delivery::ReliableOrdered;
        game.speak(1, |now, session, _, _| {
            for payload in [&[][..], &[255; 3], &[255; 3000]] {
                session
                    .send_bytes(now, To::Others, delivery, Chat::KIND, payload)
                    .unwrap();
            }
        });
        say(&mut game, 1, To::Others, "after");
        game.run(ms(500));
        for (number, program) in game.programs.iter().enumerate().filter(|(n, _)| *n != 1) {
            assert_eq!(program.handlers.stats().undecodable, 3, "{number}");
            assert_eq!(program.context.len(), 1);
        }
    }
}

#[test]
fn a_long_message_arrives_whole() {
    let mut game = hosted();
    let text = "samestep ".repeat(20_000);
    #[derive(Clone, Wire, Message)]
    struct Book(#[wire(max_len = 1 << 20)] String);
    for program in &mut game.programs {
        let on = &mut program.handlers;
        on.on(|heard, _, Book(text)| heard.push((0, text))).unwrap();
    }
    game.speak(1, |now, session, _, _| {
        session.send(now, To::Others, &Book(text.clone())).unwrap();
    });
    game.run(ms(10_000));
    for program in [0, 2, 3] {
        assert_eq!(game.programs[program].context, [(0, text.clone())]);
    }
}
