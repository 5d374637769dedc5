//! Actions of, and in front of, programs that leave: each still ends exactly once for who asked.

use std::collections::BTreeMap;

use crate::messages_room::{Game, config, join, ms};
use samestep_session::{Action, Handlers, Message, RequestId, Role, State};
use samestep_wire::Wire;

#[derive(Clone, PartialEq, Debug, Wire, Message, Action)]
struct Add(u32);

#[derive(Default)]
struct World {
    /// The sum of all that was added, by its index in the log.
    added: BTreeMap<u64, u32>,
    /// How each request of this program ended.
    ended: BTreeMap<RequestId, &'static str>,
    asked: usize,
}

impl World {
    fn end(&mut self, request: Option<RequestId>, how: &'static str) {
        let request = request.expect("an own request");
        let before = self.ended.insert(request, how);
        assert_eq!(before, None, "{request:?} ended twice, now {how}");
    }
}

fn handlers() -> Handlers<World> {
    let mut handlers = Handlers::<World>::new();
    handlers
        .confirmed::<Add>()
        .unwrap()
        .resolve(|_, _, add| match add.0 {
            13 => Err("unlucky".into()),
            _ => Ok(add),
        })
        .applied(|world, call, add| {
            let index = call.index().expect("a command has an index");
            assert_eq!(world.added.insert(index, add.0), None, "applied twice");
            if call.is_own() {
                world.end(call.request_id(), "applied");
            }
        })
        .included(|world, call| world.end(call.request_id(), "included"))
        .denied(|world, call, why| {
            let how = if why.is_some() { "denied" } else { "undecided" };
            world.end(call.request_id(), how);
        });
    handlers
}

fn room(mesh: bool, programs: usize, seed: u64) -> Game<World> {
    let mut game = Game::new(seed);
    for number in 0..programs {
        let role = match (mesh, number) {
            (false, 0) => Role::Host,
            (true, 0) => Role::Introducer,
            (false, _) => Role::Client(join()),
            (true, _) => Role::Peer(join()),
        };
        let config = config().player(&format!("player {number}"));
        game.add(role, config, handlers(), World::default());
    }
    game.run(ms(1000));
    game
}

fn ask(game: &mut Game<World>, program: usize, number: u32) {
    game.speak(program, |now, session, _, world| {
        session.request(now, &Add(number)).unwrap();
        world.asked += 1;
    });
}

fn ended(game: &Game<World>, program: usize) -> Vec<&'static str> {
    let world = &game.programs[program].context;
    world.ended.values().copied().collect()
}

#[test]
fn who_leaves_learns_that_nothing_will_be_decided() {
    for mesh in [false, true] {
        let mut game = room(mesh, 3, 1);
        ask(&mut game, 2, 1);
        game.speak(2, |now, session, _, _| session.leave(now, "bye"));
        game.run(ms(1000));
        assert!(matches!(game.session(2).state(), State::Left(_)));
        // Decided while it was leaving, or not at all; but it knows.
        assert_eq!(ended(&game, 2).len(), 1);
        assert_eq!(
            game.programs[0].context.added,
            game.programs[1].context.added
        );
        game.speak(2, |now, session, _, _| {
            assert!(session.request(now, &Add(2)).is_err());
        });
    }
}

#[test]
fn a_room_that_closes_leaves_no_request_open() {
    let mut game = room(false, 3, 2);
    for program in [0, 1, 2] {
        ask(&mut game, program, 1);
    }
    game.speak(0, |now, session, _, _| {
        session.close_room(now, "good night")
    });
    game.run(ms(3000));
    for program in 0..3 {
        assert_eq!(ended(&game, program).len(), 1, "{program}");
    }
}

#[test]
fn an_asker_that_vanishes_holds_up_nobody() {
    for mesh in [false, true] {
        let mut game = room(mesh, 4, 3);
        ask(&mut game, 3, 1);
        game.run(ms(5));
        game.crash(3);
        for number in 2..5 {
            ask(&mut game, 1, number);
        }
        game.run(ms(10_000));
        assert_eq!(ended(&game, 1), ["applied"; 3]);
    }
}

#[test]
fn when_the_leader_of_a_mesh_vanishes_the_next_decides() {
    for seed in 0..20 {
        let mut game = room(true, 5, 100 + seed);
        game.set_lossy(20);
        for number in 0..10 {
            for program in 0..5 {
                let unlucky = number == 7;
                ask(&mut game, program, if unlucky { 13 } else { number + 100 });
            }
            game.run(ms(7 + seed % 5));
        }
        game.crash(0);
        for program in 1..5 {
            ask(&mut game, program, 50);
        }
        game.run(ms(30_000));
        let first = &game.programs[1].context.added;
        for program in 1..5 {
            let world = &game.programs[program].context;
            assert_eq!(*game.session(program).state(), State::InSync);
            assert_eq!(
                &world.added, first,
                "seed {seed}: {program} sees other actions"
            );
            assert_eq!(world.ended.len(), world.asked, "seed {seed}: {program}");
            let denied = world.ended.values().filter(|how| **how == "denied");
            assert_eq!(denied.count(), 1, "seed {seed}: {program}");
        }
        let of_survivors = 4 * 10;
        assert!(first.len() >= of_survivors, "seed {seed}");
    }
}
