//! From the states at ticks to what is shown in between, without knowing their type.

use core::mem::swap;

use super::SmoothStats;
use super::column::Blending;
use super::frame::{Frame, cells};
use super::offset::Offsets;
use crate::Tick;
use crate::blend::turn;
use crate::math::double as math;
use crate::table::{Rows, Schema, Table};

/// A state that comes so many ticks after the last, or before it, has nothing to do with it.
const GAP: u64 = 16;

#[derive(Clone, Debug)]
pub(super) struct Motion {
    pub(super) kinds: Vec<Blending>,
    /// The last two states. If their ticks are the same, there is only the last.
    from: Frame,
    to: Frame,
    /// The first of them as it was simulated again.
    from_again: Frame,
    is_from_again: bool,
    /// Filled next.
    spare: Frame,
    offsets: Vec<Offsets>,
    next: Offsets,
    /// Which tick is shown.
    phase: f64,
    pub(super) stats: SmoothStats,
    scratch: Scratch,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    before: Vec<f64>,
    after: Vec<f64>,
}

impl Motion {
    /// The first state, which `extract` writes, is that at `tick`.
    pub(super) fn new(
        schema: Schema,
        snap: f64,
        tick: Tick,
        extract: impl FnOnce(&mut Table),
    ) -> Motion {
        let frame = Frame::new(schema.clone(), tick);
        let kinds = schema.kinds();
        let mut offsets = Vec::new();
        offsets.resize(kinds.len(), Offsets::default());
        let mut motion = Motion {
            kinds: kinds.iter().map(|kind| Blending::new(kind, snap)).collect(),
            from: frame.clone(),
            to: frame.clone(),
            from_again: frame.clone(),
            is_from_again: false,
            spare: frame,
            offsets,
            next: Offsets::default(),
            phase: tick.0 as f64,
            stats: SmoothStats::default(),
            scratch: Scratch::default(),
        };
        extract(&mut motion.to.table);
        observe(&mut motion.kinds, &motion.to.table);
        motion
    }

    /// The newest state.
    pub(super) fn right(&self) -> &Table {
        &self.to.table
    }

    /// The state at a tick is known: it is to be written here, and then [`handle`](Self::handle)d. `None` if it does not matter.
    pub(super) fn wanted(&mut self, tick: Tick) -> Option<&mut Table> {
        if tick >= self.to.tick {
            return Some(&mut self.spare.table);
        }
        (tick == self.from.tick).then_some(&mut self.from_again.table)
    }

    pub(super) fn handle(&mut self, tick: Tick) {
        if tick < self.to.tick {
            self.from_again.on_filled(tick);
            self.is_from_again = true;
            return observe(&mut self.kinds, &self.from_again.table);
        }
        self.spare.on_filled(tick);
        observe(&mut self.kinds, &self.spare.table);
        if tick == self.to.tick {
            let part = self.part();
            self.correct(part, part);
            swap(&mut self.to, &mut self.spare);
            if self.is_from_again {
                swap(&mut self.from, &mut self.from_again);
            }
        } else if tick.since(self.to.tick) > GAP {
            self.begin_anew();
        } else {
            self.go_on();
        }
        self.is_from_again = false;
    }

    /// Where a state that replaces the present one is to be written; then [`replace`](Self::replace).
    pub(super) fn replacement(&mut self) -> &mut Table {
        &mut self.spare.table
    }

    pub(super) fn replace(&mut self, tick: Tick) {
        self.spare.on_filled(tick);
        observe(&mut self.kinds, &self.spare.table);
        if tick.0.abs_diff(self.to.tick.0) > GAP {
            return self.begin_anew();
        }
        self.correct(self.part(), 1.0);
        swap(&mut self.to, &mut self.spare);
        self.stand();
    }

    fn begin_anew(&mut self) {
        swap(&mut self.to, &mut self.spare);
        self.offsets.iter_mut().for_each(Offsets::clear);
        self.stand();
    }

    /// There is only the last state.
    fn stand(&mut self) {
        self.from.tick = self.to.tick;
        self.is_from_again = false;
        self.phase = self.to.tick.0 as f64;
    }

    fn go_on(&mut self) {
        swap(&mut self.from, &mut self.to);
        swap(&mut self.to, &mut self.spare);
        for (kind, offsets) in self.offsets.iter_mut().enumerate() {
            offsets.realign(kind, &mut self.from, self.to.rows(kind), &mut self.next);
        }
    }

    /// The part of the way between the last two states that has been shown.
    fn part(&self) -> f64 {
        let ticks = self.to.tick.since(self.from.tick) as f64;
        match ticks > 0.0 {
            true => ((self.phase - self.from.tick.0 as f64) / ticks).clamp(0.0, 1.0),
            false => 1.0,
        }
    }

    /// Shows this part of the way from here on.
    pub(super) fn set_part(&mut self, part: f64) {
        let ticks = self.to.tick.since(self.from.tick) as f64;
        self.phase = self.from.tick.0 as f64 + ticks * part.clamp(0.0, 1.0);
    }

    /// So many ticks have passed.
    pub(super) fn pass(&mut self, ticks: f64) {
        let (from, to) = (self.from.tick.0 as f64, self.to.tick.0 as f64);
        self.phase = (self.phase + ticks).clamp(from, to);
    }

    /// So much of every offset is left.
    pub(super) fn decay(&mut self, factor: f64) {
        for offsets in &mut self.offsets {
            offsets.decay(factor);
        }
    }

    /// What was shown differs from what will be from now on by some more: as much as the spare frame, which is right, from the last.
    fn correct(&mut self, part: f64, right_part: f64) {
        let mut has_moved = false;
        for kind in 0..self.kinds.len() {
            if !self.kinds[kind].is_empty() {
                has_moved |= self.correct_kind(kind, part, right_part);
            }
        }
        self.stats.corrections += u64::from(has_moved);
    }

    fn correct_kind(&mut self, kind: usize, part: f64, right_part: f64) -> bool {
        let blending = &self.kinds[kind];
        let right = self.spare.rows(kind);
        for frame in [&mut self.from, &mut self.to, &mut self.from_again] {
            frame.align(kind, right);
        }
        let was = self.to.rows(kind);
        let right_from = match self.is_from_again {
            true => &self.from_again,
            false => &self.from,
        };
        let Scratch { before, after } = &mut self.scratch;
        let offsets = &mut self.next;
        offsets.begin(right.count, blending.columns.len());
        let moved = self.stats.moved;
        for row in 0..right.count {
            // What appears is there at once.
            let Some(was_at) = self.to.same_row(kind, right, row) else {
                continue;
            };
            let (was, is) = (cells(was, was_at), cells(right, row));
            let (was_from, is_from) = (
                self.from.same(kind, right, row),
                right_from.same(kind, right, row),
            );
            if was == is && was_from == is_from {
                offsets.keep(row, &self.offsets[kind], was_at);
                continue;
            }
            blending.between(was_from, was, part, before);
            blending.between(is_from, is, right_part, after);
            let prior = self.offsets[kind].of(was_at);
            displace(blending, before, after, prior, &mut self.stats);
            offsets.correct(row, after);
        }
        swap(&mut self.offsets[kind], &mut self.next);
        self.stats.moved > moved
    }

    /// Writes down what is to be seen.
    pub(super) fn show(&mut self, shown: &mut Table) {
        let part = self.part();
        for (kind, blending) in self.kinds.iter().enumerate() {
            let to = self.to.table.kind(kind).expect("as many as the schema");
            let rows = shown.kind_mut(kind).expect("as many as the schema");
            copy(rows, to);
            let offsets = &self.offsets[kind];
            let is_still = part >= 1.0 && offsets.is_empty();
            if blending.is_empty() || to.count == 0 || is_still {
                continue;
            }
            self.from.align(kind, to);
            let width = to.cells.len() / to.count.max(1);
            for (row, shown) in rows.cells.chunks_exact_mut(width).enumerate() {
                let (from, to) = (self.from.same(kind, to, row), cells(to, row));
                let offset = offsets.of(row);
                if offset.is_none() && (part >= 1.0 || from.is_none_or(|from| from == to)) {
                    continue;
                }
                let values = &mut self.scratch.before;
                blending.between(from, to, part, values);
                for (at, column) in blending.columns.iter().enumerate() {
                    let value = values[at] + offset.map_or(0.0, |offset| offset[at]);
                    // What is exactly right is left as it is.
                    if value.is_finite() && column.read(to) != Some(value) {
                        shown[column.blended.field] = column.write(value);
                    }
                }
            }
        }
    }
}

/// Turns where a row is now (`after`) into its offset: what it was before, and where it has been shown, less where it is.
fn displace(
    blending: &Blending,
    before: &[f64],
    after: &mut [f64],
    prior: Option<&[f64]>,
    stats: &mut SmoothStats,
) {
    let mut has_moved = false;
    let mut at = 0;
    for columns in blending.columns.chunk_by(|a, b| a.group == b.group) {
        let group = &blending.groups[columns[0].group];
        let places = at..at + columns.len();
        at = places.end;
        let (mut moved, mut offset) = (0.0, 0.0);
        for (place, column) in places.clone().zip(columns) {
            let way = column.blended.way(after[place], before[place]);
            // Where nothing blends, nothing is carried over.
            let (way, prior) = match way.is_finite() {
                true => (way, prior.map_or(0.0, |prior| prior[place])),
                false => (0.0, 0.0),
            };
            let sum = prior + way;
            after[place] = if column.blended.is_angle {
                turn(sum)
            } else {
                sum
            };
            moved += way * way;
            offset += after[place] * after[place];
        }
        if moved > 0.0 {
            has_moved = true;
            let largest = match group.is_angle {
                true => &mut stats.largest_angle,
                false => &mut stats.largest,
            };
            *largest = math::max(*largest, math::sqrt(moved));
        }
        if offset > group.snap * group.snap {
            after[places].fill(0.0);
            stats.snapped += 1;
        }
    }
    stats.moved += u64::from(has_moved);
}

fn observe(kinds: &mut [Blending], table: &Table) {
    for (blending, (kind, rows)) in kinds.iter_mut().zip(table.kinds()) {
        if !blending.is_empty() {
            blending.observe(rows, kind.fields.len());
        }
    }
}

fn copy(into: &mut Rows, from: &Rows) {
    (into.count, into.counter) = (from.count, from.counter);
    into.ids.clone_from(&from.ids);
    into.cells.clone_from(&from.cells);
}
