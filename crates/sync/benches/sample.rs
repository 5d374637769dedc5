//! What a client pays for 16,000 entities, of which nine in ten move: taking in a snapshot, showing one, checking a prediction.
//!
//! `cargo bench -p samestep-sync --bench sample`
#![allow(clippy::disallowed_methods, missing_docs)]

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use samestep_sync::{
    Entities, Interpolation, PeerId, PlayerId, Publisher, PublisherConfig, Record, Replicate, Rng,
    Store, Table, Tick,
};

const ENTITIES: usize = 16_000;
const SNAPSHOTS: u64 = 200;
const WARM_UP: u64 = 60;
/// Ticks from one to the next, of 60 in a second.
const EVERY: u64 = 3;
const CLIENT: PeerId = PeerId(1);

/// As in the evaluation game.
#[derive(Clone, Copy, PartialEq, Debug, Record)]
struct Entity {
    kind: u16,
    #[field(range(0.0, 1024.0), precision = 0.015625, blend = "linear")]
    position: (f32, f32),
    player: PlayerId,
    coordinates: (i32, i32),
    colour: u8,
}

#[derive(Clone, Replicate)]
struct Field {
    entities: Entities<Entity>,
    seed: u64,
}

#[derive(Default)]
struct Times {
    handle: Vec<Duration>,
    linear: Vec<Duration>,
    hermite: Vec<Duration>,
    correct: Vec<Duration>,
    known: Vec<Duration>,
}

fn main() {
    for loss in [0.0, 0.1] {
        let times = run(loss);
        println!(
            "{ENTITIES} entities, {:.0} % of parts lost; median and p99 in µs",
            loss * 100.0
        );
        for (name, mut times) in [
            ("a snapshot taken in", times.handle),
            ("shown, linear", times.linear),
            ("shown, hermite", times.hermite),
            ("a right prediction checked", times.correct),
            ("all that is known", times.known),
        ] {
            times.sort();
            let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_micros();
            println!("  {name:28} {:6} {:6}", at(0.5), at(0.99));
        }
    }
}

fn run(loss: f32) -> Times {
    let mut rng = Rng::new(1);
    let mut field = Field {
        entities: Entities::new(),
        seed: 1,
    };
    for _ in 0..ENTITIES {
        field.entities.insert(Entity {
            kind: rng.below(5) as u16,
            position: (rng.unit() * 1024.0, rng.unit() * 1024.0),
            player: PlayerId(rng.below(40) as u16),
            coordinates: (rng.below(64) as i32, rng.below(64) as i32),
            colour: rng.below(8) as u8,
        });
    }
    let schema = Field::schema();
    let mut publisher = Publisher::new(&schema, PublisherConfig::default());
    publisher.join(CLIENT);
    let mut linear = Store::new(schema.clone());
    let (mut table, mut shown) = (Table::new(schema.clone()), Table::new(schema.clone()));
    let (mut parts, mut times) = (Vec::new(), Times::default());
    let mut acks: VecDeque<Vec<(u32, u128)>> = VecDeque::new();
    let mut hermite = linear.clone();
    for snapshot in 1..=SNAPSHOTS {
        let tick = Tick(snapshot * EVERY);
        for entity in field.entities.as_mut_slice() {
            if rng.below(10) != 0 {
                let step = |rng: &mut Rng| (rng.unit() - 0.5) / 16.0;
                entity.position.0 += step(&mut rng);
                entity.position.1 += step(&mut rng);
            }
        }
        field.extract(&mut table);
        publisher.publish(tick, &table);
        parts.clear();
        publisher.write(CLIENT, None, None, &mut parts);
        parts.retain(|_| !rng.chance(loss));
        let begin = Instant::now();
        for part in &parts {
            linear.handle(&part.bytes).expect("no part is damaged");
        }
        let handled = begin.elapsed();
        for part in &parts {
            hermite.handle(&part.bytes).expect("no part is damaged");
        }
        acks.push_back(linear.acknowledgements(8).collect());
        if acks.len() > 2 {
            for (latest, before) in acks.pop_front().unwrap_or_default() {
                publisher.acknowledge(CLIENT, latest, before);
            }
        }
        publisher.grid().snap(&mut table);
        let begin = Instant::now();
        let differs = linear.correct(tick, &mut table);
        let corrected = begin.elapsed();
        assert!(!differs);
        let begin = Instant::now();
        linear.known(tick, &mut shown);
        let known = begin.elapsed();
        for part in [0.4, 1.3, 2.7] {
            let ticks = tick.0 as f64 - 8.0 + part;
            let begin = Instant::now();
            linear.sample(ticks, Interpolation::Linear, 6.0, &mut shown);
            let straight = begin.elapsed();
            let begin = Instant::now();
            hermite.sample(ticks, Interpolation::Hermite, 6.0, &mut shown);
            if snapshot > WARM_UP {
                times.linear.push(straight);
                times.hermite.push(begin.elapsed());
            }
        }
        if snapshot > WARM_UP {
            times.handle.push(handled);
            times.correct.push(corrected);
            times.known.push(known);
        }
    }
    times
}
