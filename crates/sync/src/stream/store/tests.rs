//! A publisher, a network that loses, doubles and reorders, and a store.

use std::collections::BTreeMap;

use super::*;
use crate::random::Rng;
use crate::stream::{PacketPart, Publisher, PublisherConfig};
use crate::{Interest, PeerId, Record, Relevance, Replicate};

const CLIENT: PeerId = PeerId(4);

#[derive(Clone, Copy, PartialEq, Debug, Record)]
pub(in crate::stream) struct Mover {
    #[field(range(0.0, 1024.0), precision = 0.015625, blend = "linear")]
    pub(in crate::stream) at: (f32, f32),
    #[field(blend = "angle")]
    pub(in crate::stream) heading: f32,
    #[field(blend = "linear")]
    pub(in crate::stream) charge: u8,
    pub(in crate::stream) colour: u8,
    pub(in crate::stream) target: Option<EntityId>,
    #[field(secret)]
    pub(in crate::stream) plan: u64,
}

#[derive(Clone, Replicate)]
pub(in crate::stream) struct Population {
    pub(in crate::stream) movers: Entities<Mover>,
    pub(in crate::stream) marks: Vec<(i32, bool)>,
    pub(in crate::stream) score: u32,
}

impl Population {
    pub(in crate::stream) fn new(count: usize, rng: &mut Rng) -> Population {
        let mut population = Population {
            movers: Entities::new(),
            marks: Vec::new(),
            score: 0,
        };
        for _ in 0..count {
            population.spawn(rng);
        }
        population
    }

    fn spawn(&mut self, rng: &mut Rng) {
        self.movers.insert(Mover {
            at: (rng.unit() * 1024.0, rng.unit() * 1024.0),
            heading: rng.unit() * 6.0,
            charge: rng.below(200) as u8,
            colour: rng.below(8) as u8,
            target: None,
            plan: rng.next_u64(),
        });
    }

    /// A tick: some move, few are born or die.
    pub(in crate::stream) fn step(&mut self, rng: &mut Rng) {
        for (place, mover) in self.movers.as_mut_slice().iter_mut().enumerate() {
            mover.plan = mover.plan.wrapping_add(1);
            if place % 4 != 3 {
                mover.at.0 = (mover.at.0 + 0.25).min(1024.0);
                mover.heading = (mover.heading + 0.02) % 6.25;
            } else if rng.chance(0.02) {
                mover.at.1 = rng.unit() * 1024.0;
            }
            if rng.chance(0.01) {
                mover.colour = rng.below(8) as u8;
                mover.charge = rng.below(200) as u8;
            }
        }
        let ids = self.movers.ids();
        let any = (!ids.is_empty()).then(|| ids[rng.below(ids.len() as u32) as usize]);
        if let Some(id) = any.filter(|_| rng.chance(0.2)) {
            self.movers.remove(id);
        }
        if rng.chance(0.2) {
            self.spawn(rng);
        }
        if rng.chance(0.1) {
            self.marks.resize(rng.below(100) as usize, (-7, true));
        }
        if let Some(mark) = self.marks.last_mut() {
            mark.0 += 1;
        }
        self.score += 1;
    }

    pub(in crate::stream) fn table(&self) -> Table {
        let mut table = Table::new(Population::schema());
        self.extract(&mut table);
        table
    }
}

/// What the link does to parts; times are ticks.
#[derive(Clone, Copy, Debug)]
pub(in crate::stream) struct LinkConditions {
    pub(in crate::stream) loss: f32,
    pub(in crate::stream) doubled: f32,
    pub(in crate::stream) delay: u32,
    pub(in crate::stream) jitter: u32,
}

pub(in crate::stream) const GOOD_LINK: LinkConditions = LinkConditions {
    loss: 0.0,
    doubled: 0.0,
    delay: 0,
    jitter: 0,
};

pub(in crate::stream) const BAD_LINK: LinkConditions = LinkConditions {
    loss: 0.15,
    doubled: 0.1,
    delay: 5,
    jitter: 7,
};

/// Both ends of a stream that tells of every third tick.
pub(in crate::stream) struct TestStream {
    pub(in crate::stream) link: LinkConditions,
    pub(in crate::stream) rng: Rng,
    pub(in crate::stream) tick: u64,
    pub(in crate::stream) publisher: Publisher,
    pub(in crate::stream) store: Store,
    /// What was, on the grid, of ticks that were told of.
    pub(in crate::stream) truth: BTreeMap<u64, Table>,
    pub(in crate::stream) budget: Option<usize>,
    pub(in crate::stream) interest: Option<Interest>,
    /// By the tick at which they arrive.
    parts: BTreeMap<(u64, u64), Vec<u8>>,
    acks: BTreeMap<(u64, u64), (u32, u128)>,
    sent: u64,
    pub(in crate::stream) received: Vec<ReceivedPart>,
}

impl TestStream {
    pub(in crate::stream) fn new(seed: u64, link: LinkConditions, schema: &Schema) -> TestStream {
        let config = PublisherConfig {
            part_bytes: 700,
            ..PublisherConfig::default()
        };
        let mut publisher = Publisher::new(schema, config);
        publisher.join(CLIENT);
        TestStream {
            link,
            rng: Rng::new(seed),
            tick: 0,
            publisher,
            store: Store::new(schema.clone()),
            truth: BTreeMap::new(),
            budget: None,
            interest: None,
            parts: BTreeMap::new(),
            acks: BTreeMap::new(),
            sent: 0,
            received: Vec::new(),
        }
    }

    /// When something arrives that is sent now; `None` if it does not.
    fn arrival(&mut self) -> Option<(u64, u64)> {
        self.sent += 1;
        let jitter = u64::from(self.rng.below(self.link.jitter + 1));
        let is_lost = self.rng.chance(self.link.loss);
        (!is_lost).then_some((self.tick + u64::from(self.link.delay) + jitter, self.sent))
    }

    /// The next tick; `table` is what is to be told of it.
    pub(in crate::stream) fn advance(&mut self, table: &Table) {
        self.tick += 1;
        while let Some((latest, before)) = due(&mut self.acks, self.tick) {
            self.publisher.acknowledge(CLIENT, latest, before);
        }
        if self.tick.is_multiple_of(3) {
            self.publisher.publish(Tick(self.tick), table);
            let mut snapped = table.clone();
            self.publisher.grid().snap(&mut snapped);
            self.truth.insert(self.tick, snapped);
            let mut parts: Vec<PacketPart> = Vec::new();
            let interest = self.interest.as_ref();
            self.publisher
                .write(CLIENT, interest, self.budget, &mut parts);
            for part in parts {
                if let Some(at) = self.arrival() {
                    self.parts.insert(at, part.bytes.clone());
                }
                if self.rng.chance(self.link.doubled)
                    && let Some(at) = self.arrival()
                {
                    self.parts.insert(at, part.bytes);
                }
            }
        }
        self.received.clear();
        while let Some(bytes) = due(&mut self.parts, self.tick) {
            let received = self.store.handle(&bytes);
            self.received.push(received.expect("no part is damaged"));
        }
        let acks: Vec<_> = self.store.acknowledgements(4).collect();
        for ack in acks {
            if let Some(at) = self.arrival() {
                self.acks.insert(at, ack);
            }
        }
    }
}

fn due<T>(queue: &mut BTreeMap<(u64, u64), T>, tick: u64) -> Option<T> {
    let first = queue.first_entry().filter(|entry| entry.key().0 <= tick)?;
    Some(first.remove())
}

/// Whether two tables have the same rows.
pub(in crate::stream) fn same_rows(a: &Table, b: &Table) -> bool {
    (0..a.schema().kinds().len() as u16).all(|kind| a.rows(kind).eq(b.rows(kind)))
}

#[test]
fn what_arrives_in_order_is_known_at_once() {
    for seed in 0..10 {
        let mut rng = Rng::new(seed);
        let mut population = Population::new(300, &mut rng);
        let mut stream = TestStream::new(seed, GOOD_LINK, &Population::schema());
        let mut known = Table::new(Population::schema());
        for _ in 0..200 {
            population.step(&mut rng);
            stream.advance(&population.table());
            let Some(latest) = stream.store.latest() else {
                continue;
            };
            assert_eq!(stream.store.complete(), Some(latest));
            assert!(stream.store.known(latest, &mut known));
            assert!(same_rows(&known, &stream.truth[&latest.0]), "seed {seed}");
            // Also of ticks that are past.
            let past = Tick(latest.0.saturating_sub(15).max(3));
            assert!(stream.store.known(past, &mut known));
            assert!(same_rows(&known, &stream.truth[&past.0]), "seed {seed}");
            assert!(Population::from_table(&known).is_ok());
        }
        assert_eq!(stream.store.stats().unusable, 0);
    }
}

#[test]
fn after_loss_and_disorder_all_is_known_again() {
    for seed in 0..30 {
        let mut rng = Rng::new(seed);
        let mut population = Population::new(400, &mut rng);
        let mut stream = TestStream::new(seed, BAD_LINK, &Population::schema());
        let mut known = Table::new(Population::schema());
        for _ in 0..300 {
            population.step(&mut rng);
            stream.advance(&population.table());
            if let Some(latest) = stream.store.latest() {
                // Whatever is missing, it is a state.
                stream.store.known(latest, &mut known);
                assert!(Population::from_table(&known).is_ok(), "seed {seed}");
            }
        }
        stream.link = GOOD_LINK;
        for _ in 0..40 {
            population.step(&mut rng);
            stream.advance(&population.table());
        }
        let latest = stream.store.latest().expect("something has arrived");
        assert!(stream.store.known(latest, &mut known));
        assert!(same_rows(&known, &stream.truth[&latest.0]), "seed {seed}");
        let stats = stream.store.stats();
        assert!(stats.doubled > 0 && stats.damaged == 0);
        assert!(stats.unusable * 50 < stats.parts, "seed {seed}: {stats:?}");
    }
}

#[test]
fn complete_ticks_are_known_exactly_whatever_else_is_missing() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let mut population = Population::new(200, &mut rng);
        let mut stream = TestStream::new(seed, BAD_LINK, &Population::schema());
        let mut known = Table::new(Population::schema());
        let mut complete = 0;
        for _ in 0..400 {
            population.step(&mut rng);
            stream.advance(&population.table());
            for received in stream.received.iter().filter(|r| r.is_new && r.complete) {
                assert!(stream.store.known(received.tick, &mut known));
                let truth = &stream.truth[&received.tick.0];
                assert!(same_rows(&known, truth), "seed {seed} {received:?}");
                complete += 1;
            }
        }
        assert!(complete > 10, "seed {seed}: {complete}");
    }
}

#[test]
fn what_is_kept_is_bounded() {
    for (link, acknowledges) in [(GOOD_LINK, true), (BAD_LINK, true), (BAD_LINK, false)] {
        let mut rng = Rng::new(9);
        let mut population = Population::new(150, &mut rng);
        let mut stream = TestStream::new(9, link, &Population::schema());
        let mut table = Table::new(Population::schema());
        for tick in 0..2000u32 {
            population.step(&mut rng);
            stream.advance(&population.table());
            if !acknowledges {
                stream.acks.clear();
            }
            let shown = f64::from(tick) - 20.0;
            if tick > 600 && shown >= 0.0 {
                let how = crate::stream::Interpolation::Linear;
                stream.store.sample(shown, how, 6.0, &mut table);
            }
        }
        for known in &stream.store.kinds {
            for history in known.pages.iter().flatten() {
                let count = history.versions.len();
                assert!(count <= if acknowledges { 40 } else { MOST }, "{count}");
            }
            assert!(known.places.len() < 400, "{}", known.places.len());
            assert!(known.moves.len() < 200, "{}", known.moves.len());
        }
    }
}

#[test]
fn a_client_that_knows_the_state_is_told_of_changes_only() {
    let mut rng = Rng::new(2);
    let mut population = Population::new(500, &mut rng);
    let mut stream = TestStream::new(2, GOOD_LINK, &Population::schema());
    stream.tick = 2;
    stream.advance(&population.table());
    let seed = population.table();
    stream.store = Store::new(Population::schema());
    stream.store.seed(Tick(3), &seed);
    stream.publisher.join_knowing(CLIENT, Tick(3));
    assert_eq!(stream.store.complete(), Some(Tick(3)));
    let mut known = Table::new(Population::schema());
    for _ in 0..30 {
        population.step(&mut rng);
        stream.advance(&population.table());
        let latest = stream.store.latest().expect("it was seeded");
        assert!(stream.store.known(latest, &mut known));
        assert!(same_rows(&known, &stream.truth[&latest.0]));
    }
    let stats = stream.publisher.stats();
    assert!(stats.bytes > 0 && stream.store.stats().unusable == 0);
}

#[test]
fn what_is_hidden_is_not_there_and_what_waits_comes() {
    for seed in 0..10 {
        let mut rng = Rng::new(seed);
        let mut population = Population::new(300, &mut rng);
        let mut stream = TestStream::new(seed, BAD_LINK, &Population::schema());
        stream.budget = Some(700);
        let mut known = Table::new(Population::schema());
        let is_hidden = |mover: &Mover| mover.at.0 as u32 % 64 < 20;
        for _ in 0..400 {
            population.step(&mut rng);
            let mut interest = Interest::new(&Population::schema());
            let mut movers = interest.part("movers");
            for (row, mover) in population.movers.as_slice().iter().enumerate() {
                match is_hidden(mover) {
                    true => movers.hide(row),
                    false => movers.row(row, Relevance::weight(0.3)),
                }
            }
            stream.interest = Some(interest);
            stream.advance(&population.table());
            if let Some(latest) = stream.store.latest() {
                stream.store.known(latest, &mut known);
                let known = Population::from_table(&known).expect("it is a state");
                assert!(known.movers.len() <= 320);
            }
        }
        stream.link = GOOD_LINK;
        stream.budget = None;
        for _ in 0..120 {
            stream.advance(&population.table());
        }
        let latest = stream.store.latest().expect("something has arrived");
        assert!(stream.store.known(latest, &mut known));
        let known = Population::from_table(&known).expect("it is a state");
        let visible = |(_, mover): &(EntityId, &Mover)| !is_hidden(mover);
        let ids: Vec<_> = population
            .movers
            .iter()
            .filter(visible)
            .map(|(id, _)| id)
            .collect();
        assert_eq!(known.movers.ids(), ids, "seed {seed}");
    }
}

#[test]
fn hostile_bytes_do_no_harm() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut population = Population::new(130, &mut rng);
        let mut stream = TestStream::new(seed, GOOD_LINK, &Population::schema());
        let mut store = Store::new(Population::schema());
        let mut table = Table::new(Population::schema());
        let mut predicted = population.table();
        for _ in 0..30 {
            population.step(&mut rng);
            stream.tick += 3;
            stream
                .publisher
                .publish(Tick(stream.tick), &population.table());
            let mut parts = Vec::new();
            stream.publisher.write(CLIENT, None, None, &mut parts);
            for part in &mut parts {
                if rng.chance(0.7) {
                    let at = rng.below(part.bytes.len() as u32) as usize;
                    part.bytes[at] ^= 1 << rng.below(8);
                }
                if rng.chance(0.1) {
                    part.bytes
                        .truncate(rng.below(part.bytes.len() as u32) as usize);
                }
                let _ = store.handle(&part.bytes);
                stream.publisher.acknowledge(CLIENT, part.number, 0);
            }
            let tick = store.latest().unwrap_or_default();
            store.known(tick, &mut table);
            let _ = Population::from_table(&table);
            store.sample(
                tick.0 as f64 - 4.5,
                crate::stream::Interpolation::Hermite,
                6.0,
                &mut table,
            );
            let _ = Population::from_table(&table);
            store.correct(tick, &mut predicted);
            let _ = Population::from_table(&predicted);
        }
    }
}
