//! Confirmed actions: asked for, decided, and applied once everywhere or denied once to the asker.

use crate::messages_room;
use std::time::Duration;

use crate::messages_room::{Game, config, join, ms};
use samestep_session::{Action, Fairness, Handlers, Message, PeerId, Role};
use samestep_wire::Wire;

/// Takes a thing that lies on the ground.
#[derive(Clone, PartialEq, Debug, Wire, Message, Action)]
#[action(command = Taken, denial = Refusal)]
struct Take {
    thing: u8,
}

/// Who has it now: for the authority to say.
#[derive(Clone, PartialEq, Debug, Wire)]
struct Taken {
    thing: u8,
    by: PeerId,
}

#[derive(Clone, Copy, PartialEq, Debug, Wire)]
enum Refusal {
    HasOwner(PeerId),
    DoesNotExist,
}

/// What one program knows, and which hooks it saw.
#[derive(Default)]
struct World {
    owners: Vec<(u8, PeerId)>,
    requested: Vec<u8>,
    resolved: Vec<(u8, PeerId, Duration)>,
    applied: Vec<(u64, u8, PeerId)>,
    own: Vec<u8>,
    denied: Vec<Option<Refusal>>,
}

impl World {
    fn owner(&self, thing: u8) -> Option<PeerId> {
        let entry = self.owners.iter().find(|(owned, _)| *owned == thing);
        entry.map(|(_, by)| *by)
    }
}

fn handlers() -> Handlers<World> {
    let mut handlers = Handlers::<World>::new();
    handlers
        .confirmed::<Take>()
        .unwrap()
        .requested(|world, call, take| {
            assert!(call.is_own() && call.request_id().is_some());
            world.requested.push(take.thing);
        })
        .resolve(|world, call, take| {
            world.resolved.push((take.thing, call.from, call.now));
            match world.owner(take.thing) {
                Some(owner) => Err(Refusal::HasOwner(owner)),
                None if take.thing >= 200 => Err(Refusal::DoesNotExist),
                None => Ok(Taken {
                    thing: take.thing,
                    by: call.from,
                }),
            }
        })
        .applied(|world, call, taken| {
            assert_eq!(call.from, taken.by);
            assert_eq!(world.owner(taken.thing), None, "applied twice");
            world.owners.push((taken.thing, taken.by));
            let index = call.index().expect("a command has an index");
            world.applied.push((index, taken.thing, taken.by));
            if call.is_own() {
                assert!(call.request_id().is_some());
                world.own.push(taken.thing);
            }
        })
        .denied(|world, call, why| {
            assert!(call.is_own() && call.request_id().is_some());
            world.denied.push(why);
        });
    handlers
}

/// A hosting player, two clients (one with two players), and a spectator.
fn hosted() -> Game<World> {
    let mut game = Game::new(1);
    let programs = [
        (Role::Host, config().player("Ada")),
        (Role::Client(join()), config().player("Bob").player("Cid")),
        (Role::Client(join()), config().player("Dan")),
        (Role::Spectator(join()), config()),
    ];
    for (role, config) in programs {
        game.add(role, config, handlers(), World::default());
    }
    game.run(ms(200));
    game
}

/// A server without players, and two clients.
fn dedicated() -> Game<World> {
    let mut game = Game::new(2);
    game.add(Role::Host, config(), handlers(), World::default());
    for name in ["Ada", "Bob"] {
        let config = config().player(name);
        game.add(Role::Client(join()), config, handlers(), World::default());
    }
    game.run(ms(200));
    game
}

fn mesh(members: usize) -> Game<World> {
    let mut game = Game::new(3);
    for member in 0..members {
        let role = match member {
            0 => Role::Introducer,
            _ => Role::Peer(join()),
        };
        let config = config().player(&format!("member {member}"));
        game.add(role, config, handlers(), World::default());
    }
    game.run(ms(500));
    game
}

fn ask(game: &mut Game<World>, program: usize, thing: u8) {
    game.speak(program, |now, session, handlers, world| {
        handlers
            .request(now, session, world, &Take { thing })
            .unwrap();
    });
}

fn peer(game: &Game<World>, program: usize) -> PeerId {
    game.session(program).me().expect("it has joined")
}

/// Everyone has seen the same things happen in the same order.
fn assert_agreed(game: &Game<World>) {
    let mut worlds = game.contexts();
    let first = &worlds.next().expect("somebody").applied;
    assert!(first.is_sorted_by(|a, b| a.0 < b.0));
    for world in worlds {
        assert_eq!(&world.applied, first);
    }
}

#[test]
fn every_step_is_taken_once_whoever_asks() {
    for (mut game, askers) in [(hosted(), 3), (dedicated(), 3), (mesh(4), 4)] {
        for asker in 0..askers {
            let me = peer(&game, asker);
            ask(&mut game, asker, asker as u8);
            game.run(ms(500));
            assert_agreed(&game);
            let authority = (0..3).find(|program| game.session(*program).is_authority());
            for (number, program) in game.programs.iter_mut().enumerate() {
                let world = &mut program.context;
                let own: &[u8] = if number == asker { &[asker as u8] } else { &[] };
                assert_eq!(world.owner(asker as u8), Some(me));
                assert_eq!(world.requested, own, "asked by {asker}, seen by {number}");
                assert_eq!(world.own, own, "asked by {asker}, seen by {number}");
                assert_eq!(world.applied.len(), asker + 1);
                assert!(world.denied.is_empty());
                let resolved = usize::from(authority == Some(number));
                assert_eq!(world.resolved.len(), resolved);
                world.requested.clear();
                world.own.clear();
                world.resolved.clear();
            }
        }
    }
}

#[test]
fn a_denial_with_its_reason_reaches_only_the_asker() {
    for (mut game, askers) in [(hosted(), 3), (dedicated(), 3), (mesh(4), 4)] {
        for asker in 0..askers {
            ask(&mut game, asker, 200);
            game.run(ms(500));
            for (number, program) in game.programs.iter_mut().enumerate() {
                let denied: &[Option<Refusal>] = match number == asker {
                    true => &[Some(Refusal::DoesNotExist)],
                    false => &[],
                };
                assert_eq!(program.context.denied, denied);
                assert!(program.context.applied.is_empty());
                program.context.denied.clear();
            }
        }
    }
}

#[test]
fn of_two_who_ask_for_the_same_thing_one_gets_it() {
    for mut game in [hosted(), dedicated(), mesh(4)] {
        for thing in 0..20 {
            for program in 0..3 {
                ask(&mut game, program, thing);
            }
            game.run(ms(u64::from(thing % 5) * 7));
        }
        game.run(ms(1000));
        assert_agreed(&game);
        let denied: usize = game.contexts().map(|world| world.denied.len()).sum();
        let owners = &game.programs[0].context.owners;
        assert_eq!((owners.len(), denied), (20, 40));
        for world in game.contexts() {
            for why in &world.denied {
                let Some(Refusal::HasOwner(owner)) = why else {
                    panic!("denied for {why:?}");
                };
                assert!(owners.iter().any(|(_, by)| by == owner));
            }
        }
    }
}

#[test]
fn several_requests_in_one_go_are_decided_one_after_the_other() {
    // The second of two in the same packet must be decided knowing the first.
    for mut game in [hosted(), mesh(3)] {
        for program in [1, 0] {
            let thing = program as u8;
            ask(&mut game, program, thing);
            ask(&mut game, program, thing);
            game.run(ms(500));
            let me = peer(&game, program);
            let world = &game.programs[program].context;
            assert_eq!(world.owner(thing), Some(me));
            assert_eq!(world.denied, [Some(Refusal::HasOwner(me))]);
        }
        assert_agreed(&game);
    }
}

#[test]
fn losses_and_copies_change_nothing() {
    for seed in 0..10 {
        for mut game in [hosted(), mesh(4)] {
            game.set_lossy(8);
            let mut asked = 0;
            for round in 0..40u64 {
                let program = (round * 7 + seed) % 3;
                ask(&mut game, program as usize, (round * 11 % 30) as u8);
                asked += 1;
                game.run(ms(round * 13 % 29));
            }
            game.set_lossy(0);
            game.run(ms(5000));
            assert_agreed(&game);
            let mut own = 0;
            let mut denied = 0;
            for world in game.contexts() {
                own += world.own.len();
                denied += world.denied.len();
                assert_eq!(world.own.len() + world.denied.len(), world.requested.len());
            }
            assert_eq!(own + denied, asked, "seed {seed}");
            assert_eq!(own, game.programs[0].context.applied.len());
        }
    }
}

#[test]
fn what_is_no_action_is_denied_without_a_reason() {
    for mut game in [hosted(), mesh(3)] {
        for program in [0, 1, 2] {
            game.speak(program, |now, session, _, _| {
                session.request_bytes(now, Take::KIND, &[1, 2, 3]).unwrap();
            });
            game.run(ms(500));
            let world = &game.programs[program].context;
            assert_eq!(world.denied, [None]);
            assert!(world.applied.is_empty());
        }
        let undecodable = |p: &messages_room::Program<World>| p.handlers.stats().undecodable;
        let counted: Vec<u64> = game.programs.iter().map(undecodable).collect();
        assert_eq!(counted.iter().sum::<u64>(), 3);
    }
}

#[test]
fn own_players_and_others_may_have_different_hooks() {
    let mut game = hosted();
    for program in &mut game.programs {
        program
            .handlers
            .confirmed::<Take>()
            .unwrap()
            .resolve_own(|_, _, _| Err(Refusal::DoesNotExist))
            .applied_own(|world, _, taken| world.own.push(taken.thing));
    }
    // The authority forbids itself what it allows others.
    ask(&mut game, 0, 1);
    ask(&mut game, 2, 2);
    game.run(ms(500));
    let seen: Vec<_> = game
        .contexts()
        .map(|w| (w.applied.len(), w.own.len(), w.denied.len()))
        .collect();
    assert_eq!(seen, [(1, 0, 1), (1, 0, 0), (0, 1, 0), (1, 0, 0)]);
}

#[test]
fn a_handler_may_ask_for_more() {
    let mut game = hosted();
    for program in &mut game.programs {
        program
            .handlers
            .confirmed::<Take>()
            .unwrap()
            .applied_own(|world, call, taken| {
                world.own.push(taken.thing);
                if taken.thing < 5 {
                    let thing = taken.thing + 1;
                    call.request(&Take { thing }).unwrap();
                }
            });
    }
    ask(&mut game, 1, 1);
    game.run(ms(1000));
    let world = &game.programs[1].context;
    assert_eq!(world.requested, [1, 2, 3, 4, 5]);
    assert_eq!(world.own, [1, 2, 3, 4, 5]);
}

#[test]
fn the_game_may_decide_later() {
    let mut game = Game::new(4);
    for role in [Role::Host, Role::Client(join())] {
        let mut handlers = Handlers::<World>::new();
        let hooks = handlers.confirmed::<Take>().unwrap();
        hooks
            .applied(|world, _, taken| world.own.push(taken.thing))
            .denied(|world, _, why| world.denied.push(why));
        game.add(role, config().player("Ada"), handlers, World::default());
    }
    for thing in [1, 2] {
        game.speak(1, |now, session, _, _| {
            session.request(now, &Take { thing }).unwrap();
        });
    }
    for _ in 0..2 {
        game.programs[0].left_over.clear();
        game.run(ms(500));
        // The second waits until the first is decided.
        let events = &game.programs[0].left_over;
        let asked: Vec<_> = events.iter().filter_map(|(_, e)| e.request()).collect();
        let [(ticket, Take { thing })] = asked[..] else {
            panic!("{} requests at a time", asked.len());
        };
        let verdict = match thing {
            1 => Err(Refusal::DoesNotExist),
            _ => Ok(Taken {
                thing,
                by: ticket.peer,
            }),
        };
        game.speak(0, |now, session, _, _| {
            session.resolve_as::<Take>(now, ticket, verdict).unwrap();
        });
    }
    game.run(ms(500));
    assert_eq!(game.programs[1].context.own, [2]);
    let denied = &game.programs[1].context.denied;
    assert_eq!(denied, &[Some(Refusal::DoesNotExist)]);
}

#[test]
fn with_fairness_the_near_wait_for_the_far() {
    let spread = |fairness: Option<Fairness>| {
        let mut game = Game::new(5);
        let mut fair = config().player("host");
        fair.fairness = fairness;
        game.add_at(ms(0), Role::Host, fair, handlers(), World::default());
        for (latency, name) in [(5, "near"), (80, "far")] {
            let config = config().player(name);
            let role = Role::Client(join());
            game.add_at(ms(latency), role, config, handlers(), World::default());
        }
        game.run(Duration::from_secs(10));
        for program in 0..3 {
            ask(&mut game, program, program as u8);
        }
        game.run(ms(1000));
        assert_agreed(&game);
        let mut times: Vec<_> = game.programs[0]
            .context
            .resolved
            .iter()
            .map(|(.., at)| *at)
            .collect();
        times.sort();
        assert_eq!(times.len(), 3);
        times[2] - times[0]
    };
    assert!(spread(None) > ms(70));
    let every = Duration::from_secs(2);
    let fair = spread(Some(Fairness {
        every,
        ..Fairness::default()
    }));
    assert!(fair < ms(10), "{fair:?} between the first and the last");
}
