//! What one client is known to have of a page, and what is on its way to it.

use alloc::vec::Vec;

use super::history::Versions;
use super::page::{PAGE_ROWS, Page, rows_of};
use crate::Tick;

/// Of one page, by what the client has confirmed.
///
/// A row is in one of three conditions: confirmed as it was at a tick, confirmed not to be there (or never mentioned), or
/// neither, because what was sent last about its being there is not confirmed. Rows that the client must not see are not there for it.
#[derive(Debug)]
pub(super) struct Known {
    /// No row is in two of them, and their ticks differ.
    layers: Vec<Layer>,
    /// The rows that the client does not have.
    absent: u64,
    sent: Vec<Sent>,
    /// How long each row has waited to be told of, in units of relevance; empty if none has.
    pub(super) waits: Vec<u16>,
}

/// Rows that the client has as they were at a tick.
#[derive(Clone, Copy, Debug)]
struct Layer {
    tick: Tick,
    rows: u64,
}

/// What a part that is not confirmed says.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u32,
    tick: Tick,
    rows: u64,
    gone: u64,
}

/// Rows that differ from a baseline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Delta {
    pub(super) baseline: Tick,
    pub(super) rows: u64,
}

impl Default for Known {
    fn default() -> Known {
        Known {
            layers: Vec::new(),
            absent: u64::MAX,
            sent: Vec::new(),
            waits: Vec::new(),
        }
    }
}

impl Known {
    /// All that was there at a tick.
    pub(super) fn all_of(page: &Page, tick: Tick) -> Known {
        let mut known = Known::default();
        if page.present != 0 {
            known.absent = !page.present;
            known.layers.push(Layer {
                tick,
                rows: page.present,
            });
        }
        known
    }

    /// What the client has to be told so that it has the rows `wanted` as they are now, and no others: fresh rows, gone rows, and
    /// differences.
    #[inline]
    pub(super) fn missing(
        &self,
        versions: &Versions,
        has_ids: bool,
        wanted: u64,
        deltas: &mut Vec<Delta>,
    ) -> (u64, u64) {
        let gone = !wanted & !self.absent;
        let mut fresh = wanted;
        for layer in &self.layers {
            fresh &= !layer.rows;
            let mut rows = layer.rows & wanted;
            rows &= versions.changed_since(layer.tick);
            if rows != 0 && has_ids {
                let same = same_ids(versions, layer.tick, rows);
                fresh |= rows & !same;
                rows &= same;
            }
            if rows != 0 {
                deltas.push(Delta {
                    baseline: layer.tick,
                    rows,
                });
            }
        }
        (fresh, gone)
    }

    /// Something was sent.
    pub(super) fn on_sent(&mut self, number: u32, tick: Tick, rows: u64, gone: u64) {
        self.absent &= !rows;
        if gone != 0 {
            for layer in &mut self.layers {
                layer.rows &= !gone;
            }
            self.layers.retain(|layer| layer.rows != 0);
        }
        // Of a row only the last word on whether it is there can be confirmed.
        for sent in &mut self.sent {
            sent.rows &= !gone;
            sent.gone &= !rows;
        }
        self.sent.push(Sent {
            number,
            tick,
            rows,
            gone,
        });
        for row in rows_of(rows | gone) {
            let Some(wait) = self.waits.get_mut(row) else {
                break;
            };
            // What is told of less often keeps the rest of its turn.
            *wait = match *wait {
                wait if wait < 2 * TURN => wait.saturating_sub(TURN),
                _ => 0,
            };
        }
    }

    /// The client has a part.
    pub(super) fn on_confirmed(&mut self, number: u32, versions: &Versions) {
        let Some(at) = self.sent.iter().position(|sent| sent.number == number) else {
            return;
        };
        let confirmed = self.sent.remove(at);
        self.absent |= confirmed.gone;
        let mut rows = confirmed.rows;
        let tick = confirmed.tick;
        for layer in &mut self.layers {
            if layer.tick >= tick {
                rows &= !layer.rows;
                continue;
            }
            layer.rows &= !rows;
            // What has not changed since is the same, whatever the tick.
            if layer.rows != 0 {
                let same = layer.rows & !versions.changed_between(layer.tick, tick);
                layer.rows &= !same;
                rows |= same;
            }
        }
        match self.layers.iter_mut().find(|layer| layer.tick == tick) {
            Some(layer) => layer.rows |= rows,
            None => self.layers.push(Layer { tick, rows }),
        }
        self.layers.retain(|layer| layer.rows != 0);
        self.sent.retain_mut(|sent| {
            if sent.tick <= tick {
                sent.rows &= !confirmed.rows;
                sent.gone &= !confirmed.gone;
            }
            sent.rows | sent.gone != 0
        });
    }

    /// Snapshots before `oldest` are no baselines any more.
    pub(super) fn on_expired(&mut self, oldest: Tick, versions: &Versions) {
        if self.sent.first().is_some_and(|sent| sent.tick < oldest) {
            self.sent.retain(|sent| sent.tick >= oldest);
        }
        if self.layers.iter().all(|layer| layer.tick >= oldest) {
            return;
        }
        let mut rows = 0;
        self.layers.retain(|layer| {
            if layer.tick >= oldest {
                return true;
            }
            rows |= layer.rows & !versions.changed_between(layer.tick, oldest);
            false
        });
        match self.layers.iter_mut().find(|layer| layer.tick == oldest) {
            Some(layer) => layer.rows |= rows,
            None if rows == 0 => {}
            None => self.layers.push(Layer { tick: oldest, rows }),
        }
    }

    /// Lets all rows wait a little longer, by their relevance; returns those whose turn it is.
    pub(super) fn wait(&mut self, relevance: &[u8; PAGE_ROWS], missing: u64) -> u64 {
        self.add_waits(|row| u16::from(relevance[row]), missing);
        let waits = self.waits.iter().enumerate();
        waits.fold(0, |due, (row, wait)| due | u64::from(*wait >= TURN) << row)
    }

    /// Lets all rows wait for another turn.
    pub(super) fn wait_equally(&mut self, missing: u64) {
        self.add_waits(|_| TURN, missing);
    }

    #[inline(always)]
    fn add_waits(&mut self, relevance: impl Fn(usize) -> u16, missing: u64) {
        self.waits.resize(PAGE_ROWS, 0);
        for (row, wait) in self.waits.iter_mut().enumerate() {
            *wait = wait.saturating_add(relevance(row));
        }
        // What has nothing to tell has its turn as soon as it has.
        for row in rows_of(!missing) {
            self.waits[row] = self.waits[row].min(TURN);
        }
    }

    /// So many of these rows that have waited longest.
    pub(super) fn longest_waiting(&self, rows: u64, count: usize) -> u64 {
        let mut order = [(0, 0); PAGE_ROWS];
        let mut len = 0;
        for row in rows_of(rows) {
            let wait = self.waits.get(row).copied().unwrap_or(0);
            order[len] = (u16::MAX - wait, row);
            len += 1;
        }
        order[..len].sort_unstable();
        let chosen = order[..len].iter().take(count);
        chosen.fold(0, |rows, (_, row)| rows | 1 << row)
    }

    /// The longest that any row has waited; not less than a turn if it is any row's.
    pub(super) fn longest_wait(&self) -> u16 {
        self.waits.iter().copied().max().unwrap_or(0)
    }
}

/// A row is told of when it has waited for so much; one of full relevance waits for as much with every snapshot.
const TURN: u16 = 255;

/// The rows that are the same entities as they were.
fn same_ids(versions: &Versions, tick: Tick, rows: u64) -> u64 {
    let (Some(then), Some(now)) = (versions.at(tick), versions.latest()) else {
        return 0;
    };
    let (then, now) = (&then.columns[0], &now.columns[0]);
    if alloc::sync::Arc::ptr_eq(then, now) {
        return rows;
    }
    let same = rows_of(rows).filter(|row| then[*row] == now[*row]);
    same.fold(0, |rows, row| rows | 1 << row)
}
