//! States that no game reaches.

use samestep_sync::Tick;

use super::*;
use crate::item::{ItemKind, Kit};
use crate::motion::{Body, Velocity};
use crate::place::Angle;
use crate::seat::{Round, Seat};
use crate::{Ability, Bot};

/// A state in which everything is made up.
fn nonsense(rng: &mut Rng) -> Sublockus {
    let mut game = Sublockus::new(&SublockusConfig::default()).unwrap();
    let wild = |rng: &mut Rng| match rng.below(4) {
        0 => rng.next_u32() as i32,
        1 => rng.range(-1000..1000),
        2 => [i32::MIN, i32::MAX, 0, -1][rng.below(4) as usize],
        _ => rng.range(0..100_000),
    };
    let place = |rng: &mut Rng| Place::new(wild(rng), wild(rng));
    let kind = |rng: &mut Rng| ItemKind::ALL[rng.below(8) as usize];
    for number in 0..rng.below(40) {
        let mut kit = Kit::default();
        for _ in 0..rng.below(7) {
            let _ = kit.pockets.push(kind(rng));
            kit.put_on(0);
        }
        let character = Character {
            player: PlayerId(rng.below(3) as u16),
            body: Body {
                place: place(rng),
                velocity: Velocity {
                    x: wild(rng),
                    y: wild(rng),
                },
                is_grounded: rng.below(2) == 0,
                holds_jump: rng.below(2) == 0,
                air_jumps: wild(rng) as u8,
            },
            aim: Angle(wild(rng) as u16),
            health: wild(rng) as i16,
            mana: wild(rng) as i16,
            kit,
            enters: wild(rng) as u32,
            safe_until: wild(rng) as u32,
            ready: [0; Ability::ALL.len()].map(|_: u32| wild(rng) as u32),
            hurt_by: (rng.below(2) == 0).then_some(PlayerId(1)),
            hurt_at: wild(rng) as u32,
            thorns_from: wild(rng) as u32,
            fireballs: wild(rng) as u16,
        };
        game.characters
            .insert_fixed(EntityId::fixed(number), character);
        game.projectiles.insert(Projectile {
            player: PlayerId(rng.below(3) as u16),
            place: place(rng),
            velocity: Velocity {
                x: wild(rng),
                y: wild(rng),
            },
            damage: wild(rng) as i16,
            until: wild(rng) as u32,
        });
        game.items.insert(Item {
            kind: kind(rng),
            place: place(rng),
            fall: wild(rng),
            from: wild(rng) as u32,
            until: (rng.below(2) == 0).then(|| wild(rng) as u32),
            varies: rng.below(2) == 0,
            by: None,
        });
    }
    for _ in 0..rng.below(5) {
        game.seats.push(Seat {
            player: PlayerId(rng.below(4) as u16),
            is_here: rng.below(2) == 0,
            plays: rng.below(2) == 0,
            frags: wild(rng) as u16,
            deaths: u16::MAX,
            wins: u16::MAX,
            lives: wild(rng) as u16,
        });
    }
    for spawn in &mut game.spawns {
        (spawn.column, spawn.row) = (wild(rng) as u8, wild(rng) as u8);
    }
    for row in &mut game.rows {
        (0..rng.below(60)).for_each(|column| row.set(column as usize, Block::Rock));
    }
    game.rows.truncate(rng.below(40) as usize);
    game.spawns.truncate(rng.below(5) as usize);
    (game.width, game.clock) = (wild(rng) as u8, wild(rng) as u32);
    game.rules = Rules {
        grace: wild(rng) as u32,
        respawn: wild(rng) as u32,
        shelter: wild(rng) as u32,
        frag_limit: (rng.below(2) == 0).then(|| wild(rng) as u16),
        time_limit: (rng.below(2) == 0).then(|| wild(rng) as u32),
        fog: rng.below(2) == 0,
    };
    game.round = Round {
        number: u16::MAX,
        since: wild(rng) as u32,
        over_until: (rng.below(2) == 0).then(|| wild(rng) as u32),
    };
    game
}

#[test]
fn states_that_make_no_sense_do_no_harm() {
    let mut rng = Rng::new(4);
    let players = [PlayerId(0), PlayerId(1)];
    for seed in 0..400 {
        let mut game = nonsense(&mut rng);
        let mut bots = players.map(|player| Bot::new(seed, player));
        let characters = game.characters.len();
        for tick in (0..40).map(Tick) {
            let mut events = Events::new();
            let controls = bots.each_mut().map(|bot| Controls {
                cast: Some(Ability::ALL[tick.0 as usize % 4]),
                ..bot.controls(tick, &game)
            });
            game.step(&Inputs::new(tick, &players, &controls, &[]), &mut events);
            for event in events.drain() {
                game.perceives(&players, &event);
            }
        }
        assert!(game.characters.len() <= characters + 10);
        let arena = game.arena();
        assert!(arena.to_string().len() > 6);
    }
}
