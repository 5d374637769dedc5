//! States that no game reaches.

use samestep_sync::{EntityId, Rng, Tick};

use super::*;
use crate::motion::Body;
use crate::{Ability, Aim, Bot, Casting, Cursor, Heading, Place};

/// A state in which everything is made up.
fn nonsense(rng: &mut Rng) -> Rawrlocks {
    let mut game = Rawrlocks::new(&RawrlocksConfig::default()).unwrap();
    let wild = |rng: &mut Rng| match rng.below(4) {
        0 => rng.next_u32() as i32,
        1 => rng.range(-1000..1000),
        2 => [i32::MIN, i32::MAX, 0, -1][rng.below(4) as usize],
        _ => rng.range(0..100_000),
    };
    let place = |rng: &mut Rng| Place::new(wild(rng), wild(rng));
    let player = |rng: &mut Rng| PlayerId(rng.below(3) as u16);
    for number in 0..rng.below(40) {
        let aim = match rng.below(3) {
            0 => Aim::Around,
            1 => Aim::Towards(place(rng)),
            _ => Aim::At(place(rng)),
        };
        let casting = Casting {
            ability: Ability::ALL[rng.below(4) as usize],
            aim,
            fires_at: wild(rng) as u32,
        };
        let avatar = Avatar {
            player: player(rng),
            body: Body {
                place: place(rng),
                knockback: place(rng),
            },
            walk: (rng.below(2) == 0).then(|| Heading(wild(rng) as u8)),
            look: Heading(wild(rng) as u8),
            casting: (rng.below(2) == 0).then_some(casting),
            ready: [0; Ability::ALL.len()].map(|_: u32| wild(rng) as u32),
            health: wild(rng) as i16,
            is_dead: rng.below(4) == 0,
            hurt_by: (rng.below(2) == 0).then(|| player(rng)),
            burns_from: wild(rng) as u32,
            fireballs: wild(rng) as u16,
        };
        game.avatars.insert_fixed(EntityId::fixed(number), avatar);
        game.fireballs.insert(Fireball {
            player: player(rng),
            place: place(rng),
            velocity: place(rng),
            damage: wild(rng) as i16,
            until: wild(rng) as u32,
        });
        game.power_ups.push(PowerUp {
            kind: PowerUpKind::ALL[rng.below(2) as usize],
            available_from: wild(rng) as u32,
            holder: (rng.below(2) == 0).then(|| player(rng)),
            held_until: wild(rng) as u32,
        });
    }
    for _ in 0..rng.below(5) {
        game.seats.push(Seat {
            player: PlayerId(rng.below(4) as u16),
            is_here: rng.below(2) == 0,
            plays: rng.below(2) == 0,
            wins: wild(rng) as u16,
            kills: u16::MAX,
            deaths: u16::MAX,
            avatars: wild(rng) as u16,
            fireballs: wild(rng) as u16,
        });
    }
    game.clock = wild(rng) as u32;
    game.arena = Arena {
        radius: wild(rng),
        shrinks_at: wild(rng) as u32,
    };
    game.rules = Rules {
        seed: rng.next_u64(),
        radius: wild(rng),
        shrink_by: wild(rng),
        shrink_ticks: wild(rng) as u32,
        break_ticks: wild(rng) as u32,
        wins: (rng.below(2) == 0).then(|| wild(rng) as u16),
        power_ups: rng.below(2) == 0,
    };
    let phase = match rng.below(4) {
        0 => Phase::Waiting,
        1 => Phase::Starting {
            at: wild(rng) as u32,
        },
        2 => Phase::Fighting,
        _ => Phase::Over {
            winner: (rng.below(2) == 0).then(|| player(rng)),
            is_last: rng.below(2) == 0,
            until: wild(rng) as u32,
        },
    };
    game.round = Round {
        number: u16::MAX,
        since: wild(rng) as u32,
        phase,
    };
    game
}

#[test]
fn states_that_make_no_sense_do_no_harm() {
    use samestep_playable::{Level, Playable};
    let mut rng = Rng::new(4);
    let players = [PlayerId(0), PlayerId(1)];
    for seed in 0..150 {
        let mut game = nonsense(&mut rng);
        let mut bots = [Level::Easy, Level::Hard].map(|level| {
            let player = players[usize::from(level == Level::Hard)];
            Bot::new(seed, player).at(level)
        });
        let avatars = game.avatars.len();
        // What is drawn is drawn of any state, also before a step has made it sound.
        assert!(!game.picture(Some(players[0]), 40, 10).is_empty());
        for tick in (0..40).map(Tick) {
            let mut events = Events::new();
            let controls = bots.each_mut().map(|bot| {
                let controls = bot.controls(tick, &game);
                Controls {
                    cursor: Cursor {
                        x: rng.next_u32() as i16,
                        y: rng.next_u32() as i16,
                    },
                    cast: Some(Ability::ALL[tick.0 as usize % 4]),
                    ..controls
                }
            });
            game.step(&Inputs::new(tick, &players, &controls, &[]), &mut events);
            events.drain().for_each(drop);
            game.positions(&mut Vec::new());
        }
        assert!(game.avatars.len() <= avatars + 2);
        assert!(!game.picture(Some(players[0]), 40, 10).is_empty());
    }
}
