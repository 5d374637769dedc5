//! Unconfirmed actions: at once here, everywhere else after a check, or taken back.

use crate::messages_room::{Game, config, join, ms};
use samestep_session::{Action, Handlers, Message, PeerId, Role};
use samestep_wire::Wire;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Clone, PartialEq, Debug, Wire, Message, Action)]
#[action(denial = GoBack)]
struct Move {
    to: i16,
}

/// Where it really is.
#[derive(Clone, PartialEq, Debug, Wire)]
struct GoBack {
    to: i16,
}

#[derive(Default)]
struct World {
    positions: BTreeMap<PeerId, i16>,
    seen: Vec<(PeerId, i16, Duration)>,
    own: usize,
    checked: usize,
    rejected: Vec<Option<GoBack>>,
}

fn handlers() -> Handlers<World> {
    let mut handlers = Handlers::<World>::new();
    handlers
        .unconfirmed::<Move>()
        .unwrap()
        .acted(|world, call, step| {
            world.positions.insert(call.from, step.to);
            world.seen.push((call.from, step.to, call.now));
            world.own += usize::from(call.is_own());
        })
        .check(|world, call, step| {
            world.checked += 1;
            // The authority's own steps are already taken: a position alone must tell.
            let here = world.positions.get(&call.from).copied().unwrap_or(0);
            match step.to.abs() <= 1000 {
                true => Ok(()),
                false if call.is_own() => Err(GoBack { to: 0 }),
                false => Err(GoBack { to: here }),
            }
        })
        .rejected(|world, call, why| {
            assert!(call.is_own() && call.request_id().is_some());
            if let Some(GoBack { to }) = why {
                world.positions.insert(call.from, to);
            }
            world.rejected.push(why);
        });
    handlers
}

fn hosted() -> Game<World> {
    let mut game = Game::new(1);
    let programs = [
        (Role::Host, config().player("Ada")),
        (Role::Client(join()), config().player("Bob")),
        (Role::Client(join()), config().player("Cid")),
        (Role::Spectator(join()), config()),
    ];
    for (role, config) in programs {
        game.add(role, config, handlers(), World::default());
    }
    game.run(ms(200));
    game
}

fn mesh(members: usize) -> Game<World> {
    let mut game = Game::new(2);
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

fn step(game: &mut Game<World>, program: usize, to: i16) {
    game.speak(program, |now, session, _, _| {
        session.act(now, &Move { to }).unwrap();
    });
    game.run(Duration::ZERO);
}

fn peer(game: &Game<World>, program: usize) -> PeerId {
    game.session(program).me().expect("it has joined")
}

#[test]
fn it_takes_place_at_once_here_and_once_everywhere() {
    for mut game in [hosted(), mesh(4)] {
        for actor in 0..3 {
            let (me, to) = (peer(&game, actor), 10 + actor as i16);
            let now = game.local(actor);
            step(&mut game, actor, to);
            assert_eq!(game.programs[actor].context.seen, [(me, to, now)]);
            game.run(ms(500));
            let is_mesh = game.session(0).room().is_mesh();
            let authority = (0..3).find(|program| game.session(*program).is_authority());
            for (number, program) in game.programs.iter_mut().enumerate() {
                let world = &mut program.context;
                assert_eq!(world.seen.len(), 1, "by {actor}, seen by {number}");
                assert_eq!(world.positions[&me], to);
                assert_eq!(world.own, usize::from(number == actor));
                // By the authority; in a mesh, where it needs nobody to pass it on, by all who receive it too.
                let receives = is_mesh && number != actor;
                let checks = authority == Some(number) || receives;
                assert_eq!(world.checked, usize::from(checks), "{actor}, {number}");
                assert!(world.rejected.is_empty());
                (world.own, world.checked) = (0, 0);
                world.seen.clear();
            }
        }
    }
}

#[test]
fn what_does_not_pass_goes_no_further_and_is_taken_back() {
    for mut game in [hosted(), mesh(4)] {
        for actor in 0..3 {
            let me = peer(&game, actor);
            step(&mut game, actor, 0);
            game.run(ms(500));
            step(&mut game, actor, 5000);
            assert_eq!(game.programs[actor].context.seen.last().unwrap().1, 5000);
            game.run(ms(500));
            for (number, program) in game.programs.iter_mut().enumerate() {
                let world = &mut program.context;
                assert_eq!(world.positions[&me], 0);
                let rejected: &[Option<GoBack>] = match number == actor {
                    true => &[Some(GoBack { to: 0 })],
                    false => &[],
                };
                assert_eq!(world.rejected, rejected, "by {actor}, seen by {number}");
                world.rejected.clear();
            }
        }
    }
}

#[test]
fn without_a_check_all_passes_that_can_be_read() {
    let mut game = Game::new(3);
    for role in [Role::Host, Role::Client(join()), Role::Client(join())] {
        let mut handlers = Handlers::<World>::new();
        handlers
            .unconfirmed::<Move>()
            .unwrap()
            .acted(|world, call, step| {
                world.positions.insert(call.from, step.to);
            })
            .rejected(|world, _, why| world.rejected.push(why));
        game.add(role, config().player("Ada"), handlers, World::default());
    }
    game.run(ms(200));
    let me = peer(&game, 1);
    step(&mut game, 1, 5000);
    game.speak(1, |now, session, _, _| {
        session.act_bytes(now, Move::KIND, &[1, 2, 3]).unwrap();
    });
    game.run(ms(500));
    for world in game.contexts() {
        assert_eq!(world.positions[&me], 5000);
    }
    assert_eq!(game.programs[1].context.rejected, [None]);
    // The actor could not read it, and the authority could not check it; nobody else has seen it.
    let counted: Vec<u64> = game
        .programs
        .iter()
        .map(|p| p.handlers.stats().undecodable)
        .collect();
    assert_eq!(counted, [1, 1, 0]);
}

#[test]
fn losses_and_copies_change_nothing() {
    for seed in 0..5 {
        for mut game in [hosted(), mesh(4)] {
            game.set_lossy(8);
            let mut good = 0;
            let mut bad = 0;
            for round in 0..60i16 {
                let actor = (round as usize * 5 + seed) % 3;
                let far = round % 6 == 5;
                step(&mut game, actor, if far { 2000 + round } else { round });
                good += usize::from(!far);
                bad += usize::from(far);
                game.run(ms(round as u64 * 7 % 23));
            }
            game.set_lossy(0);
            game.run(ms(5000));
            let rejected: usize = game.contexts().map(|w| w.rejected.len()).sum();
            assert_eq!(rejected, bad, "seed {seed}");
            for world in game.contexts() {
                let passed = world.seen.iter().filter(|(_, to, _)| *to < 1000).count();
                assert_eq!(passed, good, "seed {seed}");
                assert_eq!(world.seen.len() - passed, world.rejected.len());
            }
        }
    }
}
