//! What telling 40 clients of 16,000 entities costs, of which nine in ten move: time, bits and memory.
//!
//! `cargo bench -p samestep-sync --bench stream`
#![allow(clippy::disallowed_methods, missing_docs)]

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use samestep_sync::{
    Entities, EntityId, Interest, PeerId, PlayerId, Publisher, PublisherConfig, PublisherStats,
    Record, Relevance, Replicate, Rng, Table, Tick,
};

const ENTITIES: usize = 16_000;
const CLIENTS: u16 = 40;
const SNAPSHOTS: u64 = 240;
const WARM_UP: u64 = 60;
/// Ticks from one to the next, of 60 in a second.
const EVERY: u64 = 3;

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

struct Case {
    name: &'static str,
    loss: f32,
    budget_bytes: Option<usize>,
    /// Of a tick, in units.
    speed: f32,
    /// Whether every client sees something else, and what is far from it less often.
    by_distance: bool,
}

fn main() {
    println!(
        "{ENTITIES} entities of {} fields, 9 of 10 move; {CLIENTS} clients, 2 to 3 snapshots behind; one core, {} snapshots",
        Entity::CELLS,
        SNAPSHOTS - WARM_UP,
    );
    let slow = 1.0 / 64.0;
    let case = |name, loss, budget_bytes, speed| Case {
        name,
        loss,
        budget_bytes,
        speed,
        by_distance: false,
    };
    run(&case("2 % lost", 0.02, None, slow));
    run(&case(
        "2 % lost, a quarter of a unit a tick",
        0.02,
        None,
        0.25,
    ));
    run(&case("nothing lost", 0.0, None, slow));
    run(&case("10 % lost", 0.1, None, slow));
    let budget = Some(31_000 / 20);
    run(&case("2 % lost, 31 kB/s", 0.02, budget, slow));
    run(&Case {
        by_distance: true,
        ..case("2 % lost, by distance", 0.02, None, slow)
    });
    run(&Case {
        by_distance: true,
        ..case("2 % lost, 31 kB/s, by distance", 0.02, budget, slow)
    });
}

fn run(case: &Case) {
    let mut rng = Rng::new(7);
    let mut field = field(&mut rng);
    let mut table = Table::new(Field::schema());
    let mut publisher = Publisher::new(&Field::schema(), PublisherConfig::default());
    let clients: Vec<_> = (0..CLIENTS).map(PeerId).collect();
    field.extract(&mut table);
    publisher.publish(Tick(0), &table);
    for client in &clients {
        publisher.join_knowing(*client, Tick(0));
    }
    let interests: Vec<_> = clients
        .iter()
        .map(|client| case.by_distance.then(|| interest(*client, &field)))
        .collect();
    let mut parts = Vec::new();
    let mut on_the_way: VecDeque<Vec<(PeerId, u32)>> = VecDeque::new();
    let mut figures = Figures::default();
    let mut before = PublisherStats::default();
    let mut moving = 0;
    for snapshot in 1..=SNAPSHOTS {
        for _ in 0..EVERY {
            step(&mut field, case.speed, &mut rng);
        }
        field.extract(&mut table);
        if snapshot == WARM_UP {
            before = publisher.stats();
            figures = Figures::default();
            moving = 0;
        }
        moving += ENTITIES * 9 / 10;
        figures.measure(&mut publisher, |publisher| {
            publisher.publish(Tick(snapshot * EVERY), &table);
        });
        let mut sent = Vec::new();
        for (client, interest) in clients.iter().zip(&interests) {
            let interest = interest.as_ref();
            figures.measure_more(&mut publisher, |publisher| {
                publisher.write(*client, interest, case.budget_bytes, &mut parts);
            });
            for part in parts.drain(..) {
                let lag = usize::from(client.0 % 2);
                if !rng.chance(case.loss) {
                    sent.push((lag, *client, part.number));
                }
            }
        }
        while on_the_way.len() < 4 {
            on_the_way.push_back(Vec::new());
        }
        for (lag, client, number) in sent {
            on_the_way[1 + lag].push((client, number));
        }
        let acknowledged = on_the_way.pop_front().unwrap_or_default();
        let start = Instant::now();
        for (client, number) in acknowledged {
            publisher.acknowledge(client, number, 0);
        }
        figures.acknowledging += start.elapsed();
        figures.finish();
    }
    let stats = publisher.stats();
    let (bytes, rows) = (stats.bytes - before.bytes, stats.rows - before.rows);
    let (coded, reused) = (
        stats.segments_coded - before.segments_coded,
        stats.segments_reused - before.segments_reused,
    );
    let runs = figures.times.len() as u64;
    let all_moving = moving as u64 * u64::from(CLIENTS);
    println!("{}:", case.name);
    println!(
        "  {:.2} ms at best, {:.2} in the middle; acknowledgements {:.2}; {} allocations a snapshot",
        figures.ms(0.0),
        figures.ms(0.5),
        figures.acknowledging.as_secs_f64() * 1e3 / runs as f64,
        figures.allocations / runs,
    );
    println!(
        "  {:.1} bits for each row told of, {:.1} for each that moves; {} parts and {} kB to a client a second",
        bytes as f64 * 8.0 / rows as f64,
        bytes as f64 * 8.0 / all_moving as f64,
        (stats.parts - before.parts) * 20 / runs / u64::from(CLIENTS),
        bytes * 20 / runs / u64::from(CLIENTS) / 1000,
    );
    println!(
        "  {} segments coded and {} reused a snapshot",
        coded / runs,
        reused / runs,
    );
}

#[derive(Default)]
struct Figures {
    current: Duration,
    times: Vec<Duration>,
    acknowledging: Duration,
    allocations: u64,
}

impl Figures {
    fn measure(&mut self, publisher: &mut Publisher, run: impl FnOnce(&mut Publisher)) {
        self.current = Duration::ZERO;
        self.measure_more(publisher, run);
    }

    fn measure_more(&mut self, publisher: &mut Publisher, run: impl FnOnce(&mut Publisher)) {
        let mut time = Duration::ZERO;
        let info = allocation_counter::measure(|| {
            let start = Instant::now();
            run(publisher);
            time = start.elapsed();
        });
        self.current += time;
        self.allocations += info.count_total;
    }

    fn finish(&mut self) {
        self.times.push(self.current);
    }

    /// The time that so large a share of the snapshots took less than.
    fn ms(&self, share: f64) -> f64 {
        let mut times = self.times.clone();
        times.sort();
        times[(times.len() as f64 * share) as usize].as_secs_f64() * 1e3
    }
}

fn field(rng: &mut Rng) -> Field {
    let mut entities = Entities::new();
    for number in 0..ENTITIES {
        let position = (rng.unit() * 1023.0, rng.unit() * 1023.0);
        let id = EntityId::fixed(number as u32);
        let entity = Entity {
            kind: rng.below(16) as u16,
            position,
            player: PlayerId((number / 400) as u16),
            coordinates: somewhere_near(position, rng),
            colour: rng.below(8) as u8,
        };
        entities.insert_fixed(id, entity);
    }
    Field { entities, seed: 1 }
}

/// Of somebody who stands somewhere and sees a quarter of the world.
fn interest(client: PeerId, field: &Field) -> Interest {
    let mut interest = Interest::new(&Field::schema());
    let mut entities = interest.part("entities");
    let (x, y) = (
        f32::from(client.0 % 8) * 128.0,
        f32::from(client.0 / 8) * 200.0,
    );
    for (row, entity) in field.entities.as_slice().iter().enumerate() {
        let (dx, dy) = ((entity.position.0 - x).abs(), (entity.position.1 - y).abs());
        match dx.max(dy) {
            far if far > 256.0 => entities.hide(row),
            near => entities.row(row, Relevance::at_distance(near, 64.0)),
        }
    }
    interest
}

fn somewhere_near((x, y): (f32, f32), rng: &mut Rng) -> (i32, i32) {
    let mut near = |at: f32| (at as i32 + rng.range(-64..65)).clamp(0, 1023);
    (near(x), near(y))
}

/// One in ten stands still; the others go somewhere, and somewhere else once they are there.
fn step(field: &mut Field, speed: f32, rng: &mut Rng) {
    let reach = speed * core::f32::consts::FRAC_1_SQRT_2;
    for (number, entity) in field.entities.as_mut_slice().iter_mut().enumerate() {
        if number % 10 == 9 {
            continue;
        }
        let (x, y) = (entity.coordinates.0 as f32, entity.coordinates.1 as f32);
        if entity.position == (x, y) {
            entity.coordinates = somewhere_near(entity.position, rng);
        }
        entity.position.0 += (x - entity.position.0).clamp(-reach, reach);
        entity.position.1 += (y - entity.position.1).clamp(-reach, reach);
    }
}
