//! A publisher, a network that loses, doubles and reorders, and a store.

use std::collections::BTreeMap;

use super::*;
use crate::random::Rng;
use crate::stream::{PacketPart, Publisher, PublisherConfig};
use crate::{Interest, PeerId, Record, Relevance, Replicate};

const CLIENT: PeerId = PeerId(4);

#[derive(Clone, Copy, PartialEq, Debug, Record)]
pub(in crate::stream) struct Mote {
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
pub(in crate::stream) struct Sky {
    pub(in crate::stream) motes: Entities<Mote>,
    pub(in crate::stream) marks: Vec<(i32, bool)>,
    pub(in crate::stream) score: u32,
}

impl Sky {
    pub(in crate::stream) fn new(count: usize, rng: &mut Rng) -> Sky {
        let mut sky = Sky {
            motes: Entities::new(),
            marks: Vec::new(),
            score: 0,
        };
        for _ in 0..count {
            sky.spawn(rng);
        }
        sky
    }

    fn spawn(&mut self, rng: &mut Rng) {
        self.motes.insert(Mote {
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
        for (place, mote) in self.motes.as_mut_slice().iter_mut().enumerate() {
            mote.plan = mote.plan.wrapping_add(1);
            if place % 4 != 3 {
                mote.at.0 = (mote.at.0 + 0.25).min(1024.0);
                mote.heading = (mote.heading + 0.02) % 6.25;
            } else if rng.chance(0.02) {
                mote.at.1 = rng.unit() * 1024.0;
            }
            if rng.chance(0.01) {
                mote.colour = rng.below(8) as u8;
                mote.charge = rng.below(200) as u8;
            }
        }
        let ids = self.motes.ids();
        let any = (!ids.is_empty()).then(|| ids[rng.below(ids.len() as u32) as usize]);
        if let Some(id) = any.filter(|_| rng.chance(0.2)) {
            self.motes.remove(id);
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
        let mut table = Table::new(Sky::schema());
        self.extract(&mut table);
        table
    }
}

/// What the way does to parts; times are ticks.
#[derive(Clone, Copy, Debug)]
pub(in crate::stream) struct Way {
    pub(in crate::stream) loss: f32,
    pub(in crate::stream) doubled: f32,
    pub(in crate::stream) delay: u32,
    pub(in crate::stream) jitter: u32,
}

pub(in crate::stream) const CALM: Way = Way {
    loss: 0.0,
    doubled: 0.0,
    delay: 0,
    jitter: 0,
};

pub(in crate::stream) const ROUGH: Way = Way {
    loss: 0.15,
    doubled: 0.1,
    delay: 5,
    jitter: 7,
};

/// Both ends of a stream that tells of every third tick.
pub(in crate::stream) struct Line {
    pub(in crate::stream) way: Way,
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

impl Line {
    pub(in crate::stream) fn new(seed: u64, way: Way, schema: &Schema) -> Line {
        let config = PublisherConfig {
            part_bytes: 700,
            ..PublisherConfig::default()
        };
        let mut publisher = Publisher::new(schema, config);
        publisher.join(CLIENT);
        Line {
            way,
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
        let jitter = u64::from(self.rng.below(self.way.jitter + 1));
        let is_lost = self.rng.chance(self.way.loss);
        (!is_lost).then_some((self.tick + u64::from(self.way.delay) + jitter, self.sent))
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
                if self.rng.chance(self.way.doubled)
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
        let mut sky = Sky::new(300, &mut rng);
        let mut line = Line::new(seed, CALM, &Sky::schema());
        let mut known = Table::new(Sky::schema());
        for _ in 0..200 {
            sky.step(&mut rng);
            line.advance(&sky.table());
            let Some(latest) = line.store.latest() else {
                continue;
            };
            assert_eq!(line.store.complete(), Some(latest));
            assert!(line.store.known(latest, &mut known));
            assert!(same_rows(&known, &line.truth[&latest.0]), "seed {seed}");
            // Also of ticks that are past.
            let past = Tick(latest.0.saturating_sub(15).max(3));
            assert!(line.store.known(past, &mut known));
            assert!(same_rows(&known, &line.truth[&past.0]), "seed {seed}");
            assert!(Sky::from_table(&known).is_ok());
        }
        assert_eq!(line.store.stats().unusable, 0);
    }
}

#[test]
fn after_loss_and_disorder_all_is_known_again() {
    for seed in 0..30 {
        let mut rng = Rng::new(seed);
        let mut sky = Sky::new(400, &mut rng);
        let mut line = Line::new(seed, ROUGH, &Sky::schema());
        let mut known = Table::new(Sky::schema());
        for _ in 0..300 {
            sky.step(&mut rng);
            line.advance(&sky.table());
            if let Some(latest) = line.store.latest() {
                // Whatever is missing, it is a state.
                line.store.known(latest, &mut known);
                assert!(Sky::from_table(&known).is_ok(), "seed {seed}");
            }
        }
        line.way = CALM;
        for _ in 0..40 {
            sky.step(&mut rng);
            line.advance(&sky.table());
        }
        let latest = line.store.latest().expect("something has arrived");
        assert!(line.store.known(latest, &mut known));
        assert!(same_rows(&known, &line.truth[&latest.0]), "seed {seed}");
        let stats = line.store.stats();
        assert!(stats.doubled > 0 && stats.damaged == 0);
        assert!(stats.unusable * 50 < stats.parts, "seed {seed}: {stats:?}");
    }
}

#[test]
fn complete_ticks_are_known_exactly_whatever_else_is_missing() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let mut sky = Sky::new(200, &mut rng);
        let mut line = Line::new(seed, ROUGH, &Sky::schema());
        let mut known = Table::new(Sky::schema());
        let mut complete = 0;
        for _ in 0..400 {
            sky.step(&mut rng);
            line.advance(&sky.table());
            for received in line.received.iter().filter(|r| r.is_new && r.complete) {
                assert!(line.store.known(received.tick, &mut known));
                let truth = &line.truth[&received.tick.0];
                assert!(same_rows(&known, truth), "seed {seed} {received:?}");
                complete += 1;
            }
        }
        assert!(complete > 10, "seed {seed}: {complete}");
    }
}

#[test]
fn what_is_kept_is_bounded() {
    for (way, acknowledges) in [(CALM, true), (ROUGH, true), (ROUGH, false)] {
        let mut rng = Rng::new(9);
        let mut sky = Sky::new(150, &mut rng);
        let mut line = Line::new(9, way, &Sky::schema());
        let mut table = Table::new(Sky::schema());
        for tick in 0..2000u32 {
            sky.step(&mut rng);
            line.advance(&sky.table());
            if !acknowledges {
                line.acks.clear();
            }
            let shown = f64::from(tick) - 20.0;
            if tick > 600 && shown >= 0.0 {
                let how = crate::stream::Interpolation::Linear;
                line.store.sample(shown, how, 6.0, &mut table);
            }
        }
        for known in &line.store.kinds {
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
    let mut sky = Sky::new(500, &mut rng);
    let mut line = Line::new(2, CALM, &Sky::schema());
    line.tick = 2;
    line.advance(&sky.table());
    let seed = sky.table();
    line.store = Store::new(Sky::schema());
    line.store.seed(Tick(3), &seed);
    line.publisher.join_knowing(CLIENT, Tick(3));
    assert_eq!(line.store.complete(), Some(Tick(3)));
    let mut known = Table::new(Sky::schema());
    for _ in 0..30 {
        sky.step(&mut rng);
        line.advance(&sky.table());
        let latest = line.store.latest().expect("it was seeded");
        assert!(line.store.known(latest, &mut known));
        assert!(same_rows(&known, &line.truth[&latest.0]));
    }
    let stats = line.publisher.stats();
    assert!(stats.bytes > 0 && line.store.stats().unusable == 0);
}

#[test]
fn what_is_hidden_is_not_there_and_what_waits_comes() {
    for seed in 0..10 {
        let mut rng = Rng::new(seed);
        let mut sky = Sky::new(300, &mut rng);
        let mut line = Line::new(seed, ROUGH, &Sky::schema());
        line.budget = Some(700);
        let mut known = Table::new(Sky::schema());
        let is_hidden = |mote: &Mote| mote.at.0 as u32 % 64 < 20;
        for _ in 0..400 {
            sky.step(&mut rng);
            let mut interest = Interest::new(&Sky::schema());
            let mut motes = interest.part("motes");
            for (row, mote) in sky.motes.as_slice().iter().enumerate() {
                match is_hidden(mote) {
                    true => motes.hide(row),
                    false => motes.row(row, Relevance::weight(0.3)),
                }
            }
            line.interest = Some(interest);
            line.advance(&sky.table());
            if let Some(latest) = line.store.latest() {
                line.store.known(latest, &mut known);
                let known = Sky::from_table(&known).expect("it is a state");
                assert!(known.motes.len() <= 320);
            }
        }
        line.way = CALM;
        line.budget = None;
        for _ in 0..120 {
            line.advance(&sky.table());
        }
        let latest = line.store.latest().expect("something has arrived");
        assert!(line.store.known(latest, &mut known));
        let known = Sky::from_table(&known).expect("it is a state");
        let visible = |(_, mote): &(EntityId, &Mote)| !is_hidden(mote);
        let ids: Vec<_> = sky.motes.iter().filter(visible).map(|(id, _)| id).collect();
        assert_eq!(known.motes.ids(), ids, "seed {seed}");
    }
}

#[test]
fn hostile_bytes_do_no_harm() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut sky = Sky::new(130, &mut rng);
        let mut line = Line::new(seed, CALM, &Sky::schema());
        let mut store = Store::new(Sky::schema());
        let mut table = Table::new(Sky::schema());
        let mut predicted = sky.table();
        for _ in 0..30 {
            sky.step(&mut rng);
            line.tick += 3;
            line.publisher.publish(Tick(line.tick), &sky.table());
            let mut parts = Vec::new();
            line.publisher.write(CLIENT, None, None, &mut parts);
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
                line.publisher.acknowledge(CLIENT, part.number, 0);
            }
            let tick = store.latest().unwrap_or_default();
            store.known(tick, &mut table);
            let _ = Sky::from_table(&table);
            store.sample(
                tick.0 as f64 - 4.5,
                crate::stream::Interpolation::Hermite,
                6.0,
                &mut table,
            );
            let _ = Sky::from_table(&table);
            store.correct(tick, &mut predicted);
            let _ = Sky::from_table(&predicted);
        }
    }
}
