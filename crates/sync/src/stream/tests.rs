//! A publisher against the simplest receiver: what every part says is compared with what was.

use std::collections::BTreeMap;

use samestep_wire::DecodeError;

use super::grid::Grid;
use super::page::{PAGE_ROWS, Page, first_rows, rows_of};
use super::part::{self, PageId, PartContent, PartHeader};
use super::{PacketPart, Publisher, PublisherConfig};
use crate::interest::{Interest, Relevance};
use crate::random::Rng;
use crate::table::{Schema, Table};
use crate::{Entities, EntityId, PeerId, Record, Replicate, Tick};

mod budget;
mod fog;
mod hostile;
mod vectors;

const CLIENT: PeerId = PeerId(3);

#[derive(Clone, Copy, PartialEq, Debug, Record)]
struct Unit {
    #[field(range(0.0, 256.0), precision = 0.01)]
    at: (f32, f32),
    heading: f32,
    health: u8,
    target: Option<EntityId>,
    #[field(secret)]
    plan: u64,
}

#[derive(Clone, Replicate)]
struct Field {
    units: Entities<Unit>,
    marks: Vec<(i64, u64, bool)>,
    score: [u32; 3],
}

impl Field {
    fn new() -> Field {
        Field {
            units: Entities::new(),
            marks: Vec::new(),
            score: [0; 3],
        }
    }

    fn spawn(&mut self, rng: &mut Rng) {
        self.units.insert(Unit {
            at: (rng.unit() * 256.0, rng.unit() * 256.0),
            heading: rng.unit(),
            health: 100,
            target: None,
            plan: rng.next_u64(),
        });
    }

    /// A tick in which anything may happen.
    fn change(&mut self, rng: &mut Rng) {
        let share = rng.unit();
        let ids = self.units.ids().to_vec();
        for unit in self.units.as_mut_slice() {
            unit.plan = rng.next_u64();
            if rng.unit() < share {
                unit.at.0 += rng.unit() - 0.5;
                unit.at.1 += 0.25;
            }
            if rng.chance(0.05) {
                unit.health = rng.below(101) as u8;
                unit.target = rng
                    .chance(0.5)
                    .then(|| ids[rng.below(ids.len() as u32) as usize]);
                unit.heading = rng.unit();
            }
        }
        for _ in 0..rng.below(5) {
            match rng.below(8) {
                0..4 => self.spawn(rng),
                4..6 if !ids.is_empty() => {
                    self.units.remove(ids[rng.below(ids.len() as u32) as usize]);
                }
                6 => self.units.retain(|_, unit| unit.health % 16 != 3),
                _ => {
                    let count = rng.below(70) as usize;
                    self.marks.resize(count, (-1, u64::MAX, true));
                    if let Some(mark) = self.marks.last_mut() {
                        mark.0 = rng.next_u64() as i64;
                    }
                }
            }
        }
        if rng.chance(0.1) {
            self.units.clear();
            (0..rng.below(200)).for_each(|_| self.spawn(rng));
        }
        self.score[rng.below(3) as usize] += 1;
    }

    fn table(&self) -> Table {
        let mut table = Table::new(Field::schema());
        self.extract(&mut table);
        table
    }
}

/// What was at a tick, as a client may know it.
#[derive(Default)]
struct Truth {
    kinds: Vec<Vec<Page>>,
}

impl Truth {
    fn new(grid: &Grid, table: &Table, interest: Option<&Interest>) -> Truth {
        let mut truth = Truth::default();
        for kind in 0..grid.kinds() {
            let rows = table.kind(kind).unwrap();
            let pages = (0..rows.count.div_ceil(PAGE_ROWS)).map(|number| {
                let mut page = Page::empty(grid.columns(kind));
                page.present = first_rows(rows.count - number * PAGE_ROWS);
                for row in 0..PAGE_ROWS {
                    let row_number = number * PAGE_ROWS + row;
                    let is_hidden =
                        |interest: &Interest| interest.relevance(kind, row_number).number() == 0;
                    if interest.is_some_and(is_hidden) {
                        page.present &= !(1 << row);
                    }
                }
                for (at, column) in page.columns.iter_mut().enumerate() {
                    let mut values = [0; PAGE_ROWS];
                    grid.read_column(kind, at, rows, number, &mut values);
                    *column = values.into();
                }
                page
            });
            truth.kinds.push(pages.collect());
        }
        truth
    }

    fn row(&self, place: PageId, row: usize) -> Option<Vec<i64>> {
        let page = self.kinds[usize::from(place.kind)].get(place.page as usize)?;
        value(page, row)
    }

    fn end(&self) -> usize {
        self.kinds.iter().map(Vec::len).max().unwrap_or(0)
    }
}

fn value(page: &Page, row: usize) -> Option<Vec<i64>> {
    let values = page.columns.iter().map(|column| column[row]).collect();
    (page.present >> row & 1 == 1).then_some(values)
}

/// All versions of all pages.
struct Receiver {
    grid: Grid,
    versions: BTreeMap<PageId, Vec<(Tick, u64, Page)>>,
    numbers: Vec<u32>,
    /// When something about a row was certain last.
    certain: BTreeMap<(PageId, usize), Tick>,
    oldest: Tick,
}

impl Receiver {
    fn new(schema: &Schema) -> Receiver {
        Receiver {
            grid: Grid::new(schema),
            versions: BTreeMap::new(),
            numbers: Vec::new(),
            certain: BTreeMap::new(),
            oldest: Tick(0),
        }
    }

    fn seed(&mut self, tick: Tick, truth: &Truth) {
        for (kind, pages) in truth.kinds.iter().enumerate() {
            for (page, values) in pages.iter().enumerate() {
                let place = PageId {
                    kind: kind as u16,
                    page: page as u32,
                };
                let versions = self.versions.entry(place).or_default();
                versions.push((tick, u64::MAX, values.clone()));
            }
        }
    }

    /// Of each row the newest not after a tick.
    fn page_at(&self, place: PageId, tick: Tick) -> Page {
        let mut page = Page::empty(self.grid.columns(usize::from(place.kind)));
        for row in 0..PAGE_ROWS {
            let versions = self.versions.get(&place).into_iter().flatten();
            let said = versions.filter(|(at, rows, _)| *at <= tick && rows >> row & 1 == 1);
            let Some((_, _, from)) = said.max_by_key(|(at, _, _)| *at) else {
                continue;
            };
            if from.present >> row & 1 == 1 {
                page.present |= 1 << row;
                for (into, from) in page.columns.iter_mut().zip(&from.columns) {
                    std::sync::Arc::make_mut(into)[row] = from[row];
                }
            }
        }
        page
    }

    fn read(&self, bytes: &[u8]) -> Result<(PartHeader, Vec<PartContent>), DecodeError> {
        let mut said = Vec::new();
        let header = part::read(
            &self.grid,
            bytes,
            &mut |place, tick| Some(self.page_at(place, tick)),
            &mut |what| said.push(what),
        )?;
        Ok((header, said))
    }

    /// Takes a part over, and compares all that it says or implies with what was.
    fn handle(&mut self, bytes: &[u8], truth: &Truth) {
        let header = part::read_header(&self.grid, bytes).expect("publishers write valid headers");
        if header.oldest < self.oldest {
            return; // overtaken: what it refers to may be forgotten
        }
        let (_, said) = self.read(bytes).expect("publishers write valid parts");
        let mut open = BTreeMap::new();
        for said in said {
            match said {
                PartContent::Open { place, pages } => {
                    for page in place.page..place.page + pages {
                        open.insert(PageId { page, ..place }, u64::MAX);
                    }
                }
                PartContent::Page(update) => {
                    open.insert(update.place, !update.rows & !update.unchanged);
                    let versions = self.versions.entry(update.place).or_default();
                    versions.push((header.tick, update.rows, update.values));
                }
            }
        }
        for kind in 0..self.grid.kinds() as u16 {
            for page in 0..truth.end() as u32 + 2 {
                let place = PageId { kind, page };
                if place < header.from || place >= header.to {
                    continue;
                }
                let known = self.page_at(place, header.tick);
                for row in rows_of(!open.get(&place).copied().unwrap_or(0)) {
                    let (is, was) = (value(&known, row), truth.row(place, row));
                    assert_eq!(is, was, "row {row} of {place:?} at {}", header.tick);
                    let certain = self.certain.entry((place, row)).or_default();
                    *certain = (*certain).max(header.tick);
                }
            }
        }
        self.numbers.push(header.number);
        self.forget(header.oldest);
    }

    /// As a receiver may.
    fn forget(&mut self, oldest: Tick) {
        if oldest <= self.oldest {
            return;
        }
        self.oldest = oldest;
        let places: Vec<_> = self.versions.keys().copied().collect();
        for place in places {
            let page = self.page_at(place, oldest);
            let versions = self.versions.get_mut(&place).expect("listed before");
            versions.retain(|(tick, _, _)| *tick > oldest);
            versions.push((oldest, u64::MAX, page));
        }
    }

    /// Acknowledges everything, in as many messages as it takes.
    fn acknowledge(&self, publisher: &mut Publisher) {
        let Some(latest) = self.numbers.iter().copied().max() else {
            return;
        };
        let mut before = 0u128;
        for number in &self.numbers {
            if let back @ 1..=128 = latest - number {
                before |= 1 << (back - 1);
            }
        }
        publisher.acknowledge(CLIENT, latest, before);
    }

    /// Whether the newest known is the truth, nothing more and nothing less.
    fn has(&self, tick: Tick, truth: &Truth) -> bool {
        let mut places: Vec<_> = self.versions.keys().copied().collect();
        for (kind, pages) in truth.kinds.iter().enumerate() {
            places.extend((0..pages.len()).map(|page| PageId {
                kind: kind as u16,
                page: page as u32,
            }));
        }
        places.into_iter().all(|place| {
            let page = self.page_at(place, tick);
            (0..PAGE_ROWS).all(|row| value(&page, row) == truth.row(place, row))
        })
    }
}

fn random_interest(field: &Field, rng: &mut Rng, interest: &mut Interest) {
    if rng.chance(0.05) {
        interest.reset();
    }
    let hidden = rng.unit() * 0.3;
    let mut units = interest.part("units");
    for row in 0..field.units.len() {
        if rng.chance(0.1) {
            match rng.unit() < hidden {
                true => units.hide(row),
                false => units.row(row, Relevance::weight(0.1 + rng.unit())),
            }
        }
    }
    if rng.chance(0.1) {
        let marks = match rng.chance(0.5) {
            true => Relevance::HIDDEN,
            false => Relevance::FULL,
        };
        interest.part("marks").all(marks);
    }
}

/// Loses, delays and repeats parts and acknowledgements.
fn converse(seed: u64, has_interest: bool, has_budget: bool) {
    let mut rng = Rng::new(seed);
    let schema = Field::schema();
    let keep = 4 + rng.below(40) as usize;
    let part_bytes = 150 + rng.below(1000) as usize;
    let mut publisher = Publisher::new(&schema, PublisherConfig { keep, part_bytes });
    let mut receiver = Receiver::new(&schema);
    let mut field = Field::new();
    (0..rng.below(300)).for_each(|_| field.spawn(&mut rng));
    publisher.join(CLIENT);
    let loss = rng.unit() * 0.5;
    let mut interest = Interest::new(&schema);
    let mut truths: Vec<Truth> = Vec::new();
    let mut on_the_way: Vec<PacketPart> = Vec::new();
    let mut tick = Tick(rng.below(1000).into());
    let begin = tick;
    let rounds = 60;
    for round in 0..rounds + 40 {
        let is_calm = round >= rounds;
        if !is_calm {
            field.change(&mut rng);
            if has_interest {
                random_interest(&field, &mut rng, &mut interest);
            }
        }
        let table = field.table();
        publisher.publish(tick, &table);
        let seen = has_interest.then_some(&interest);
        truths.push(Truth::new(&receiver.grid, &table, seen));
        let budget = (has_budget && !is_calm).then(|| rng.below(1500) as usize);
        let mut parts = Vec::new();
        publisher.write(CLIENT, seen, budget, &mut parts);
        let bytes: usize = parts.iter().map(|part| part.bytes.len()).sum();
        assert!(
            budget.is_none_or(|budget| bytes <= budget),
            "{bytes} of {budget:?}"
        );
        assert!(parts.iter().all(|part| part.bytes.len() <= part_bytes));
        on_the_way.extend(parts);
        // Those that stay longer are overtaken by later ones.
        let mut later = Vec::new();
        for part in core::mem::take(&mut on_the_way) {
            if !is_calm && rng.unit() < loss {
                continue;
            }
            if !is_calm && rng.chance(0.3) {
                later.push(part);
                continue;
            }
            if rng.chance(0.05) {
                later.push(part.clone());
            }
            let header = part::read_header(&receiver.grid, &part.bytes).expect("valid");
            assert_eq!(header.number, part.number);
            receiver.handle(&part.bytes, &truths[(header.tick.0 - begin.0) as usize]);
        }
        on_the_way = later;
        if is_calm || rng.chance(0.6) {
            receiver.acknowledge(&mut publisher);
        }
        tick = tick.next();
    }
    assert!(receiver.has(tick, truths.last().unwrap()), "seed {seed}");
}

#[test]
fn whatever_is_lost_or_late_every_part_tells_the_truth() {
    for seed in 0..60 {
        converse(seed, false, false);
    }
}

#[test]
fn with_interest_every_part_tells_the_visible_truth() {
    for seed in 100..160 {
        converse(seed, true, false);
    }
}

#[test]
fn within_a_budget_every_part_tells_the_truth() {
    for seed in 200..240 {
        converse(seed, false, true);
        converse(seed, true, true);
    }
}

#[test]
fn what_has_not_changed_is_not_told_again() {
    let mut rng = Rng::new(1);
    let mut field = Field::new();
    (0..500).for_each(|_| field.spawn(&mut rng));
    let mut publisher = Publisher::new(&Field::schema(), PublisherConfig::default());
    let mut receiver = Receiver::new(&Field::schema());
    publisher.join(CLIENT);
    let (table, mut parts) = (field.table(), Vec::new());
    let truth = Truth::new(&receiver.grid, &table, None);
    // Long enough for the first confirmation to be too old.
    for tick in 0..200 {
        publisher.publish(Tick(tick), &table);
        publisher.write(CLIENT, None, None, &mut parts);
        let bytes: usize = parts.iter().map(|part| part.bytes.len()).sum();
        assert!(tick == 0 || bytes < 12, "{bytes} at {tick}");
        for part in parts.drain(..) {
            receiver.handle(&part.bytes, &truth);
        }
        if tick == 0 {
            receiver.acknowledge(&mut publisher);
        }
    }
}

#[test]
fn a_segment_is_coded_once_for_all() {
    let mut rng = Rng::new(2);
    let mut field = Field::new();
    (0..640).for_each(|_| field.spawn(&mut rng));
    let mut publisher = Publisher::new(&Field::schema(), PublisherConfig::default());
    (0..10).for_each(|peer| publisher.join(PeerId(peer)));
    publisher.publish(Tick(1), &field.table());
    let mut written: Vec<Vec<PacketPart>> = vec![Vec::new(); 10];
    for (peer, parts) in written.iter_mut().enumerate() {
        publisher.write(PeerId(peer as u16), None, None, parts);
    }
    assert!(written.windows(2).all(|pair| pair[0] == pair[1]));
    let stats = publisher.stats();
    assert_eq!(stats.segments_reused, 9 * stats.segments_coded);
}

#[test]
fn who_knows_a_state_is_told_of_differences_only() {
    let mut rng = Rng::new(3);
    let mut field = Field::new();
    (0..300).for_each(|_| field.spawn(&mut rng));
    let schema = Field::schema();
    let mut publisher = Publisher::new(&schema, PublisherConfig::default());
    let mut receiver = Receiver::new(&schema);
    publisher.publish(Tick(5), &field.table());
    receiver.seed(Tick(5), &Truth::new(&receiver.grid, &field.table(), None));
    publisher.join_knowing(CLIENT, Tick(5));
    field.units.as_mut_slice()[70].health = 3;
    publisher.publish(Tick(8), &field.table());
    let mut parts = Vec::new();
    publisher.write(CLIENT, None, None, &mut parts);
    assert!(parts.len() == 1 && parts[0].bytes.len() < 20);
    receiver.handle(
        &parts[0].bytes,
        &Truth::new(&receiver.grid, &field.table(), None),
    );

    // A tick that was never published, or long ago, is as good as none.
    publisher.join_knowing(CLIENT, Tick(6));
    parts.clear();
    publisher.write(CLIENT, None, None, &mut parts);
    assert!(parts.len() > 1);
}

#[test]
fn a_row_larger_than_a_part_makes_a_larger_part() {
    #[derive(Clone, Replicate)]
    struct Large {
        noise: Vec<[u64; 30]>,
    }
    let mut rng = Rng::new(4);
    let noise = (0..5).map(|_| core::array::from_fn(|_| rng.next_u64()));
    let large = Large {
        noise: noise.collect(),
    };
    let mut table = Table::new(Large::schema());
    large.extract(&mut table);
    let config = PublisherConfig {
        part_bytes: 200,
        ..PublisherConfig::default()
    };
    let mut publisher = Publisher::new(&Large::schema(), config);
    publisher.join(CLIENT);
    publisher.publish(Tick(1), &table);
    let mut parts = Vec::new();
    publisher.write(CLIENT, None, None, &mut parts);
    assert!(parts.len() >= 5);
    let mut receiver = Receiver::new(&Large::schema());
    let truth = Truth::new(&receiver.grid, &table, None);
    for part in &parts {
        receiver.handle(&part.bytes, &truth);
    }
    assert!(receiver.has(Tick(1), &truth));
}
