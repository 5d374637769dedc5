//! Blocks as few large rectangles.

use std::ops::Range;

use samestep_catalog::sublockus::{Block, Terrain};

/// A run of blocks in a row, as columns.
pub(super) type Run = Range<i32>;

/// Columns and rows to look at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Window {
    pub columns: Range<i32>,
    pub rows: Range<i32>,
}

/// Calls back for each run of numbers in a range for which something is so.
pub(super) fn runs(range: Range<i32>, is_so: impl Fn(i32) -> bool, mut each: impl FnMut(Run)) {
    let mut begun = None;
    for at in range.clone() {
        match (begun, is_so(at)) {
            (None, true) => begun = Some(at),
            (Some(first), false) => {
                each(first..at);
                begun = None;
            }
            _ => {}
        }
    }
    if let Some(first) = begun {
        each(first..range.end);
    }
}

/// Calls back for rectangles, as columns and rows, that together cover the blocks of a kind without overlapping: runs that are alike in rows below
/// each other are one.
pub(super) fn rectangles(
    terrain: &Terrain<'_>,
    window: &Window,
    block: Block,
    mut each: impl FnMut(Range<i32>, Range<i32>),
) {
    let mut open: Vec<(Run, i32)> = Vec::with_capacity(16);
    let mut row_runs: Vec<Run> = Vec::with_capacity(16);
    for row in window.rows.clone() {
        row_runs.clear();
        let is_so = |column| terrain.block(column, row) == block;
        runs(window.columns.clone(), is_so, |run| row_runs.push(run));
        open.retain(|(run, first)| {
            let goes_on = row_runs.contains(run);
            if !goes_on {
                each(run.clone(), *first..row);
            }
            goes_on
        });
        for run in &row_runs {
            if !open.iter().any(|(begun, _)| begun == run) {
                open.push((run.clone(), row));
            }
        }
    }
    for (run, first) in open {
        each(run, first..window.rows.end);
    }
}

#[cfg(test)]
mod tests {
    use samestep_catalog::sublockus::Builtin;

    use super::*;

    #[test]
    fn rectangles_cover_each_block_once() {
        for builtin in Builtin::ALL {
            let arena = builtin.arena();
            let terrain = arena.terrain();
            let (width, height) = (terrain.width(), terrain.height());
            let window = Window {
                columns: -2..width + 2,
                rows: -1..height + 3,
            };
            for block in [Block::Rock, Block::Air, Block::Ledge, Block::Thorns] {
                let mut covered = std::collections::BTreeMap::new();
                let mut count = 0;
                rectangles(&terrain, &window, block, |columns, rows| {
                    count += 1;
                    for row in rows {
                        for column in columns.clone() {
                            *covered.entry((column, row)).or_insert(0) += 1;
                        }
                    }
                });
                for row in window.rows.clone() {
                    for column in window.columns.clone() {
                        let times = covered.get(&(column, row)).copied().unwrap_or(0);
                        let wanted = i32::from(terrain.block(column, row) == block);
                        assert_eq!(times, wanted, "{builtin:?} {block:?} {column} {row}");
                    }
                }
                assert!(count * 2 <= covered.len().max(2), "{builtin:?}: {count}");
            }
        }
    }

    #[test]
    fn runs_end_with_the_range() {
        let mut found = Vec::new();
        runs(0..7, |at| ![0, 3].contains(&at), |run| found.push(run));
        assert_eq!(found, [1..3, 4..7]);
    }
}
