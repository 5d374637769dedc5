//! What describing a state once costs: checksum, saving, tables and bytes of 16,000 entities of twelve fields.
//!
//! `cargo bench -p samestep-sync --bench state`
#![allow(clippy::disallowed_methods, missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use samestep_sync::{Entities, EntityId, PlayerId, Record, Replicate, Rng, Table};

const ENTITIES: usize = 16_000;
const RUNS: usize = 400;

#[derive(Clone, Copy, PartialEq, Debug, Record)]
struct Unit {
    position: (f32, f32),
    velocity: (f32, f32),
    goal: (f32, f32),
    kind: u16,
    owner: PlayerId,
    health: u16,
    cooldown: u16,
    target: EntityId,
    formation: u32,
    seen: u32,
}

#[derive(Clone, Replicate)]
struct Battle {
    units: Entities<Unit>,
    gold: [u32; 40],
    rng: Rng,
}

/// The same without `Copy`, whose rows are cloned one by one.
#[derive(Clone, PartialEq, Debug, Record)]
struct Piece {
    unit: Unit,
}

#[derive(Clone, Replicate)]
struct Pieces {
    pieces: Entities<Piece>,
}

#[derive(Clone, Copy, PartialEq, Debug, Record)]
enum Order {
    Idle,
    Move(f32, f32),
    Attack(EntityId),
}

/// With variants and options, which cost a branch.
#[derive(Clone, Copy, PartialEq, Debug, Record)]
struct Soldier {
    position: (f32, f32),
    velocity: (f32, f32),
    order: Order,
    health: u16,
    owner: PlayerId,
    target: Option<EntityId>,
    kind: u8,
}

#[derive(Clone, Replicate)]
struct Army {
    soldiers: Entities<Soldier>,
}

fn main() {
    let mut rng = Rng::new(1);
    let mut units = Entities::new();
    for _ in 0..ENTITIES {
        units.insert(unit(&mut rng));
    }
    let mut battle = Battle {
        units,
        gold: [7; 40],
        rng,
    };
    let mut pieces = Pieces {
        pieces: Entities::new(),
    };
    for unit in battle.units.as_slice() {
        pieces.pieces.insert(Piece { unit: *unit });
    }
    let mut army = Army {
        soldiers: Entities::new(),
    };
    for unit in battle.units.as_slice() {
        army.soldiers.insert(Soldier {
            position: unit.position,
            velocity: unit.velocity,
            order: match rng.below(3) {
                0 => Order::Idle,
                1 => Order::Move(rng.unit() * 1024.0, rng.unit() * 1024.0),
                _ => Order::Attack(unit.target),
            },
            health: unit.health,
            owner: unit.owner,
            target: rng.chance(0.3).then_some(unit.target),
            kind: 3,
        });
    }

    println!(
        "{ENTITIES} entities of {} fields in {} bytes, one core (best of {RUNS} runs)",
        Unit::CELLS,
        size_of::<Unit>(),
    );
    row("checksum, all touched", &mut || {
        battle.units.as_mut_slice();
        black_box(battle.checksum());
    });
    row("checksum, nothing touched", &mut || {
        black_box(battle.checksum());
    });
    let ids: Vec<_> = battle.units.ids().iter().copied().step_by(160).collect();
    row("checksum, 100 entities touched", &mut || {
        for id in &ids {
            battle.units.get_mut(*id).unwrap().health ^= 1;
        }
        black_box(battle.checksum());
    });
    row(
        "checksum, all touched, with variants and options",
        &mut || {
            army.soldiers.as_mut_slice();
            black_box(army.checksum());
        },
    );
    row("tree", &mut || {
        black_box(battle.tree());
    });
    let mut copy = battle.clone();
    row("assign", &mut || {
        copy.assign(black_box(&battle));
    });
    let mut copy = pieces.clone();
    row("assign, rows that are not Copy", &mut || {
        copy.assign(black_box(&pieces));
    });
    let mut table = Table::new(Battle::schema());
    row("extract", &mut || {
        battle.extract(&mut table);
        black_box(&table);
    });
    let mut copy = battle.clone();
    row("restore", &mut || {
        copy.restore(black_box(&table)).unwrap();
    });
    let mut bytes = Vec::new();
    row("encode", &mut || {
        bytes = table.encode();
    });
    row("decode", &mut || {
        black_box(Table::decode(Battle::schema(), &bytes).unwrap());
    });
    row("look up every id once", &mut || {
        let units = black_box(&battle.units);
        let targets = units.as_slice().iter();
        black_box(targets.filter(|unit| units.contains(unit.target)).count());
    });
    println!(
        "{:.2} bytes per entity",
        bytes.len() as f64 / ENTITIES as f64
    );
    let mut table = Table::new(Army::schema());
    army.extract(&mut table);
    println!(
        "{:.2} bytes per entity with variants and options",
        table.encode().len() as f64 / ENTITIES as f64
    );
}

fn unit(rng: &mut Rng) -> Unit {
    let angle = rng.unit() * 6.0;
    Unit {
        position: (rng.unit() * 1024.0, rng.unit() * 1024.0),
        velocity: (angle, angle * 0.5 - 1.0),
        goal: (rng.below(1024) as f32, rng.below(1024) as f32),
        kind: rng.below(6) as u16,
        owner: PlayerId(rng.below(40) as u16),
        health: rng.below(101) as u16,
        cooldown: if rng.chance(0.8) {
            0
        } else {
            rng.below(60) as u16
        },
        target: EntityId::from_number(1 + rng.below(ENTITIES as u32)).unwrap(),
        formation: rng.below(200),
        seen: rng.below(1 << 16),
    }
}

fn row(name: &str, run: &mut dyn FnMut()) {
    run();
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    let allocations = allocation_counter::measure(run).count_total;
    println!(
        "{name:<52}{:>8.1} µs{allocations:>6} allocations",
        best.as_secs_f64() * 1e6,
    );
}
