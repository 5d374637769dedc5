//! States that no match reaches.

use samestep_sync::{Rng, Tick};

use super::*;
use crate::motion::{Body, Velocity};
use crate::place::{Heading, Place};
use crate::{Bot, ItemKind};

fn wild(rng: &mut Rng) -> i32 {
    match rng.below(4) {
        0 => rng.next_u32() as i32,
        1 => rng.range(-1000..1000),
        2 => [i32::MIN, i32::MAX, 0, -1][rng.below(4) as usize],
        _ => rng.range(0..30_000),
    }
}

fn place(rng: &mut Rng) -> Place {
    Place::new(wild(rng), wild(rng))
}

fn cell(rng: &mut Rng) -> Cell {
    Cell::new(wild(rng) as u8, wild(rng) as u8)
}

/// A state in which everything is made up.
fn nonsense(rng: &mut Rng) -> HatHunters {
    let mut game = HatHunters::new(&HatHuntersConfig::default()).unwrap();
    let id = |rng: &mut Rng| EntityId::fixed(rng.below(50));
    for number in 0..rng.below(60) {
        let fixed = EntityId::fixed(number);
        let character = Character {
            body: Body {
                place: place(rng),
                velocity: Velocity {
                    x: wild(rng),
                    y: wild(rng),
                },
            },
            steering: Some(Heading(wild(rng) as u8)),
            look: Heading(wild(rng) as u8),
            hat: Some(PlayerId(wild(rng) as u16)),
            hat_since: wild(rng) as u32,
            silhouette: Some(Silhouette {
                cell: cell(rng),
                is_left: rng.below(2) == 0,
            }),
            fast_until: wild(rng) as u32,
            hits: wild(rng) as u8,
            is_out: rng.below(4) == 0,
        };
        game.characters.insert_fixed(fixed, character);
        let purse = Purse {
            stars: wild(rng) as u8,
            item: Some(ItemKind::ALL[rng.below(7) as usize]),
            box_from: wild(rng) as u32,
            made: wild(rng) as u16,
        };
        game.purses.insert_fixed(fixed, purse);
        if rng.below(2) == 0 {
            let mind = Brain::of_nobody(Rng::new(number.into()), 0);
            game.minds.insert_fixed(fixed, mind);
        }
        game.stars.insert(Star {
            place: place(rng),
            velocity: place(rng),
            from: wild(rng) as u32,
            waits_until: Some(wild(rng) as u32),
        });
        game.containers.insert(Container { cell: cell(rng) });
        game.projectiles.insert(Projectile {
            place: place(rng),
            velocity: place(rng),
            by: id(rng),
            bounces: wild(rng) as u8,
            waits_until: None,
            is_spent: rng.below(4) == 0,
        });
        game.bombs.insert(Bomb {
            place: place(rng),
            by: id(rng),
            bursts_at: wild(rng) as u32,
        });
        let deed = match rng.below(8) {
            0 => Deed::PlaceBox { cell: cell(rng) },
            1 => Deed::RemoveBox { cell: cell(rng) },
            2 => Deed::CollectStar { star: id(rng) },
            3 => Deed::CollectItem { container: id(rng) },
            4 => Deed::UseItem {
                item: ItemKind::ALL[rng.below(7) as usize],
                place: place(rng),
                look: Heading(wild(rng) as u8),
            },
            5 => Deed::Hit {
                victim: id(rng),
                from: place(rng),
                projectile: None,
            },
            6 => Deed::Steal { victim: id(rng) },
            _ => Deed::Catch {
                victim: id(rng),
                from: place(rng),
            },
        };
        game.claims.push(Claim {
            due: wild(rng) as u32,
            made: wild(rng) as u32,
            by: id(rng),
            deed,
        });
        game.boxes.push(PlacedBox {
            cell: cell(rng),
            until: wild(rng) as u32,
        });
    }
    for row in game.rows.iter_mut().chain(&mut game.first_rows) {
        row.set(wild(rng) as usize, Ground::Box);
        row.stumps ^= rng.next_u64();
    }
    game.rows.resize(rng.below(200) as usize, Row::default());
    game.width = wild(rng) as u8;
    game.rules = Rules {
        mode: Mode::ALL[rng.below(4) as usize],
        stars: wild(rng) as u8,
        ai: rng.below(60) as u8,
        growth: wild(rng) as u32,
        bounces: wild(rng) as u8,
        speed: wild(rng) as u8,
        time_limit: Some(wild(rng) as u32),
        ..Rules::default()
    };
    game.clock = wild(rng) as u32;
    game.round.number = wild(rng) as u16;
    game
}

#[test]
fn a_forged_state_breaks_nothing() {
    let mut rng = Rng::new(1);
    for _ in 0..300 {
        let mut game = nonsense(&mut rng);
        let players = [0, 1, 2, 9].map(PlayerId);
        let mut bots = players.map(|player| Bot::new(3, player));
        for tick in (0..40).map(Tick) {
            let controls = bots.each_mut().map(|bot| Controls {
                place_box: tick.0 % 7 == 0,
                use_item: true,
                ..bot.decide(tick, &game).unwrap_or_default()
            });
            let inputs = Inputs::new(tick, &players, &controls, &[]);
            game.step(&inputs, &mut Events::new());
            let field = game.field();
            for character in game.characters.as_slice() {
                let (column, row) = character.place().column_and_row();
                let (most, lowest) = (field.width().max(1), field.height().max(1));
                assert!((-1..=most).contains(&column), "{column} of {most}");
                assert!((-1..=lowest).contains(&row), "{row} of {lowest}");
            }
        }
    }
}

#[test]
fn a_state_that_is_sent_in_part_says_so() {
    let game = HatHunters::new(&HatHuntersConfig::default()).unwrap();
    assert!(game.knows_all() && game.authority.seed != 0);
    let schema = HatHunters::schema();
    let secrets = |name: &str| {
        let globals = schema.kinds()[0].fields.iter();
        globals
            .filter(|field| field.shown.secret && field.name.contains(name))
            .count()
    };
    assert_eq!((secrets("seed"), secrets("knows_all")), (1, 1));
}
