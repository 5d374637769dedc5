//! The sending side of a stream.

use std::collections::BTreeMap;

use super::acknowledged::Delta;
use super::cache::Cache;
use super::client::Client;
use super::grid::Grid;
use super::history::History;
use super::pack::{Missing, PacketPart, Packing, Scratch};
use super::page::{PAGE_ROWS, first_rows, rows_of};
use super::part::PageId;
use super::priority;
use crate::interest::Interest;
use crate::table::{Schema, Table};
use crate::{PeerId, Tick};

/// How a [`Publisher`] works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublisherConfig {
    /// How many snapshots back a client may have its last confirmation and still be sent only differences.
    pub keep: usize,
    /// How large parts become at most, in bytes. Only a single row that takes more by itself makes a larger one.
    pub part_bytes: usize,
}

impl Default for PublisherConfig {
    fn default() -> PublisherConfig {
        PublisherConfig {
            keep: 64,
            part_bytes: 1100,
        }
    }
}

/// What a [`Publisher`] has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PublisherStats {
    /// Parts written, for all clients.
    pub parts: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows in them.
    pub rows: u64,
    /// Segments that were coded.
    pub segments_coded: u64,
    /// Segments that had been coded already, for another client.
    pub segments_reused: u64,
}

/// Sends clients a state, each the changes since the baseline that it has acknowledged.
///
/// A state is [published](Self::publish) once, then [written](Self::write) for every client. Parts may be lost or come in any order: what is not
/// acknowledged is sent again, as differences from what is. What a client must not see is never in its bytes.
///
/// ```
/// use samestep_sync::{Entities, PeerId, Publisher, PublisherConfig, Replicate, Table, Tick};
///
/// #[derive(Clone, Replicate)]
/// struct Battle {
///     units: Entities<(u16, u16)>,
/// }
///
/// let mut battle = Battle { units: Entities::new() };
/// for place in 0..100 {
///     battle.units.insert((place * 643 % 1000, 500));
/// }
/// let mut publisher = Publisher::new(&Battle::schema(), PublisherConfig::default());
/// publisher.join(PeerId(1));
/// let (mut table, mut parts) = (Table::new(Battle::schema()), Vec::new());
/// battle.extract(&mut table);
/// publisher.publish(Tick(0), &table);
/// publisher.write(PeerId(1), None, None, &mut parts);
/// let whole = parts[0].bytes.len();
///
/// // The client has it. A unit moves.
/// publisher.acknowledge(PeerId(1), parts[0].number, 0);
/// battle.units.as_mut_slice()[42].0 += 7;
/// battle.extract(&mut table);
/// publisher.publish(Tick(3), &table);
/// parts.clear();
/// publisher.write(PeerId(1), None, None, &mut parts);
/// assert!(whole > 100 && parts[0].bytes.len() < 20);
/// ```
#[derive(Debug)]
pub struct Publisher {
    config: PublisherConfig,
    grid: Grid,
    history: History,
    clients: BTreeMap<PeerId, Client>,
    cache: Cache,
    stats: PublisherStats,
    missing: Vec<Missing>,
    deltas: Vec<Delta>,
    order: Vec<(u16, u32)>,
    scratch: Scratch,
}

impl Publisher {
    /// Of states of this schema, to nobody yet.
    pub fn new(schema: &Schema, config: PublisherConfig) -> Publisher {
        let grid = Grid::new(schema);
        Publisher {
            config,
            history: History::new(&grid, config.keep),
            grid,
            clients: BTreeMap::new(),
            cache: Cache::default(),
            stats: PublisherStats::default(),
            missing: Vec::new(),
            deltas: Vec::new(),
            order: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// The values that its clients can have.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The tick that was published last.
    pub fn latest(&self) -> Option<Tick> {
        self.history.latest()
    }

    /// Counts since the beginning.
    pub fn stats(&self) -> PublisherStats {
        PublisherStats {
            segments_coded: self.cache.coded,
            segments_reused: self.cache.reused,
            ..self.stats
        }
    }

    /// The state at `tick`, later than the last one, is this.
    ///
    /// # Panics
    /// If the tick is not later, or the table has another schema.
    pub fn publish(&mut self, tick: Tick, table: &Table) {
        self.history.push(&self.grid, tick, table);
        self.cache.clear();
        let oldest = self.history.oldest().unwrap_or(tick);
        for (peer, client) in &mut self.clients {
            let rows = client.on_expired(oldest, &self.history);
            if rows > 0 {
                tracing::debug!(
                    peer = peer.0,
                    rows,
                    "acknowledged baseline lost: rows are sent in full"
                );
            }
        }
        self.history.trim();
    }

    /// A client has come. It knows nothing.
    pub fn join(&mut self, peer: PeerId) {
        self.clients.insert(peer, Client::default());
    }

    /// A client has come, and has the state that was published at `tick`, all of it. If that is too long ago, it knows nothing.
    pub fn join_knowing(&mut self, peer: PeerId, tick: Tick) {
        let client = match self.history.has(tick) {
            true => Client::knowing(&self.history, tick),
            false => Client::default(),
        };
        self.clients.insert(peer, client);
    }

    /// A client has gone.
    pub fn leave(&mut self, peer: PeerId) {
        self.clients.remove(&peer);
    }

    /// A client has understood the part `latest`, and of those before it the ones whose bits are set: bit 0 stands for the part before.
    pub fn acknowledge(&mut self, from: PeerId, latest: u32, before: u128) {
        let Some(client) = self.clients.get_mut(&from) else {
            return;
        };
        for back in (0..128u32).rev() {
            if before >> back & 1 == 1 {
                client.on_confirmed(latest.wrapping_sub(1 + back), &self.history);
            }
        }
        client.on_confirmed(latest, &self.history);
    }

    /// Writes what a client is to be sent of the snapshot that was published last: at least one part, in at most `budget_bytes` all together.
    ///
    /// Without interest it may see everything. Nothing is written for who has not joined, nor if the budget does not suffice for a part.
    pub fn write(
        &mut self,
        to: PeerId,
        interest: Option<&Interest>,
        budget_bytes: Option<usize>,
        out: &mut Vec<PacketPart>,
    ) {
        let (Some(client), Some(_)) = (self.clients.get_mut(&to), self.history.latest()) else {
            return;
        };
        client.grow(&self.history);
        let interest = interest.filter(|interest| !interest.is_everything());
        let kinds = find_missing(
            &self.grid,
            &self.history,
            client,
            interest,
            budget_bytes.is_some(),
            &mut self.missing,
            &mut self.deltas,
        );
        let first = out.len();
        let mut packing = Packing::new(
            &self.grid,
            &self.history,
            &mut self.cache,
            client,
            out,
            &mut self.scratch,
            &self.deltas,
            self.config.part_bytes,
        );
        if let Some(budget) = budget_bytes {
            let overhead = packing.overhead(budget, kinds);
            let Some(budget) = budget.checked_sub(overhead) else {
                return;
            };
            priority::choose(&mut packing, &mut self.missing, &mut self.order, budget);
        }
        pack(&mut packing, &self.missing, budget_bytes.is_some());
        self.stats.rows += packing.rows;
        self.stats.bytes += packing.bytes;
        self.stats.parts += (out.len() - first) as u64;
    }
}

/// What a client lacks, page by page; returns of how many kinds.
fn find_missing(
    grid: &Grid,
    history: &History,
    client: &mut Client,
    interest: Option<&Interest>,
    has_budget: bool,
    missing: &mut Vec<Missing>,
    deltas: &mut Vec<Delta>,
) -> usize {
    missing.clear();
    deltas.clear();
    let mut kinds = 0;
    for (kind, pages) in history.kinds().iter().enumerate() {
        let before = missing.len();
        let has_ids = grid.has_ids(kind);
        for (page, versions) in pages.iter().enumerate() {
            let place = PageId {
                kind: kind as u16,
                page: page as u32,
            };
            let present = versions.latest().map_or(0, |page| page.present);
            let mut relevance = [255; PAGE_ROWS];
            let visible = match interest {
                Some(interest) => priority::relevance(interest, kind, page, &mut relevance),
                None => u64::MAX,
            };
            let known = client.known(place);
            let begin = deltas.len();
            let wanted = present & visible;
            let (fresh, gone) = known.missing(versions, has_ids, wanted, deltas);
            let all = deltas[begin..]
                .iter()
                .fold(fresh | gone, |all, delta| all | delta.rows);
            let mut chosen = all;
            if interest.is_some() {
                // A row that comes into view or goes out of it, or moves to another place, is sent at once.
                rows_of(gone | fresh).for_each(|row| relevance[row] = 255);
                // Pages take turns, so that not all have theirs at once.
                let time = history.count().wrapping_add(place.page);
                chosen &= known.wait(&relevance, wanted, all, time);
            } else if has_budget && all != 0 {
                known.wait_equally(all);
            }
            if all != 0 {
                missing.push(Missing {
                    place,
                    fresh,
                    gone,
                    deltas: begin..deltas.len(),
                    chosen,
                    all,
                    same: (wanted | behind(wanted)) & !all,
                });
            }
        }
        kinds += usize::from(missing.len() > before);
    }
    kinds
}

/// The rows behind the last of some.
fn behind(rows: u64) -> u64 {
    !first_rows((u64::BITS - rows.leading_zeros()) as usize)
}

/// Puts what was chosen into parts, and says what is left open.
fn pack(packing: &mut Packing<'_>, missing: &[Missing], has_budget: bool) {
    let is_open = |missing: &&Missing| missing.chosen == 0;
    let mut rest = missing;
    while let Some(first) = rest.first() {
        let place = first.place;
        if first.chosen != 0 {
            packing.page(first);
            rest = &rest[1..];
        } else if has_budget {
            // Where bytes are scarce, pages in between count as open as well.
            let is_next = |missing: &&Missing| is_open(missing) && missing.place.kind == place.kind;
            let count = rest.iter().take_while(is_next).count();
            let last = rest[count - 1].place;
            packing.open_pages(place, last.page - place.page + 1);
            rest = &rest[count..];
        } else {
            packing.open_rows(first);
            rest = &rest[1..];
        }
    }
    packing.finish();
}
