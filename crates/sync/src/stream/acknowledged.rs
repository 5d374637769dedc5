//! The acknowledged baselines of one client, page by page, and the parts in flight to it.

use super::history::Versions;
use super::page::{PAGE_ROWS, Page, rows_of};
use crate::Tick;

/// The acknowledged baselines of one page.
///
/// A row is in one of three conditions: confirmed as it was at a tick, confirmed not to be there (or never mentioned), or
/// neither, because what was sent last about its being there is not confirmed. Rows that the client must not see are not there for it.
#[derive(Debug)]
pub(super) struct Acknowledged {
    /// No row is in two of them, and their ticks differ.
    layers: Vec<Layer>,
    /// The rows that the client does not have.
    absent: u64,
    sent: Vec<Sent>,
    /// How long each row has waited to be sent, in units of relevance; empty if none has.
    pub(super) waits: Vec<u16>,
}

/// Rows that the client has as they were at a tick.
#[derive(Clone, Copy, Debug)]
struct Layer {
    tick: Tick,
    rows: u64,
}

/// Rows of a part that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u32,
    tick: Tick,
    rows: u64,
    gone: u64,
}

/// Rows that differ from a baseline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Delta {
    pub(super) baseline: Tick,
    pub(super) rows: u64,
}

impl Default for Acknowledged {
    fn default() -> Acknowledged {
        Acknowledged {
            layers: Vec::new(),
            absent: u64::MAX,
            sent: Vec::new(),
            waits: Vec::new(),
        }
    }
}

impl Acknowledged {
    /// All that was there at a tick.
    pub(super) fn all_of(page: &Page, tick: Tick) -> Acknowledged {
        let mut known = Acknowledged::default();
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
        if !self.waits.is_empty() {
            rows_of(rows | gone).for_each(|row| self.waits[row] = 0);
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

    /// Snapshots before `oldest` are no baselines any more. Returns how many rows have none left.
    pub(super) fn on_expired(&mut self, oldest: Tick, versions: &Versions) -> u32 {
        if self.sent.first().is_some_and(|sent| sent.tick < oldest) {
            self.sent.retain(|sent| sent.tick >= oldest);
        }
        if self.layers.iter().all(|layer| layer.tick >= oldest) {
            return 0;
        }
        let (mut rows, mut lost) = (0, 0);
        self.layers.retain(|layer| {
            if layer.tick >= oldest {
                return true;
            }
            let changed = versions.changed_between(layer.tick, oldest);
            rows |= layer.rows & !changed;
            lost += (layer.rows & changed).count_ones();
            false
        });
        match self.layers.iter_mut().find(|layer| layer.tick == oldest) {
            Some(layer) => layer.rows |= rows,
            None if rows == 0 => {}
            None => self.layers.push(Layer { tick: oldest, rows }),
        }
        lost
    }

    /// Lets all rows wait for a snapshot longer, by their relevance; returns those whose turn it is.
    ///
    /// Turns come every 1, 2, 4 … snapshots, for all rows of a page in the same ones: what is told together is confirmed together, and told
    /// by differences from the same baseline the next time. What has had nothing to tell for two turns does not wait for its own.
    pub(super) fn wait(
        &mut self,
        relevance: &[u8; PAGE_ROWS],
        wanted: u64,
        missing: u64,
        time: u32,
    ) -> u64 {
        self.waits.resize(PAGE_ROWS, 0);
        let mut due = 0;
        for row in rows_of(wanted | missing) {
            let halvings = u32::from(HALVINGS[usize::from(relevance[row])]);
            let mut wait = self.waits[row].saturating_add(TURN >> halvings);
            if missing >> row & 1 == 0 {
                wait = wait.min(2 * TURN);
            }
            self.waits[row] = wait;
            let is_turn = time.trailing_zeros() >= halvings;
            let least = if is_turn { TURN / 2 } else { 2 * TURN };
            due |= u64::from(wait >= least) << row;
        }
        due
    }

    /// Lets all rows wait for another turn.
    pub(super) fn wait_equally(&mut self, missing: u64) {
        self.waits.resize(PAGE_ROWS, 0);
        for wait in &mut self.waits {
            *wait = wait.saturating_add(TURN);
        }
        for row in rows_of(!missing) {
            self.waits[row] = self.waits[row].min(2 * TURN);
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

    /// The longest that any of these rows has waited.
    pub(super) fn longest_wait(&self, rows: u64) -> u16 {
        let waits = rows_of(rows).map(|row| self.waits.get(row).copied().unwrap_or(0));
        waits.max().unwrap_or(0)
    }
}

/// What a row of full relevance waits from one snapshot to the next.
const TURN: u16 = 256;

/// Of each relevance, which power of ½ is nearest: the borders lie at 255 by the root of 2, half of that, and so on.
const HALVINGS: [u8; 256] = {
    let mut halvings = [0; 256];
    let mut relevance = 0;
    while relevance < 256 {
        halvings[relevance] = match relevance {
            181.. => 0,
            91.. => 1,
            46.. => 2,
            23.. => 3,
            _ => 4,
        };
        relevance += 1;
    }
    halvings
};

/// The rows that are the same entities as they were.
fn same_ids(versions: &Versions, tick: Tick, rows: u64) -> u64 {
    let (Some(then), Some(now)) = (versions.at(tick), versions.latest()) else {
        return 0;
    };
    let (then, now) = (&then.columns[0], &now.columns[0]);
    if std::sync::Arc::ptr_eq(then, now) {
        return rows;
    }
    let same = rows_of(rows).filter(|row| then[*row] == now[*row]);
    same.fold(0, |rows, row| rows | 1 << row)
}
