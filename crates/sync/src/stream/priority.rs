//! What goes first where not everything can go.

use super::pack::{Missing, Packing};
use super::page::PAGE_ROWS;
use crate::interest::Interest;

/// Less than this is not worth a segment.
const LEAST_BYTES: usize = 40;

/// The relevance of the rows of a page, and which of them may be seen.
pub(super) fn relevance(
    interest: &Interest,
    kind: usize,
    page: usize,
    into: &mut [u8; PAGE_ROWS],
) -> u64 {
    let mut visible = 0;
    for (row, into) in into.iter_mut().enumerate() {
        *into = interest.relevance(kind, page * PAGE_ROWS + row).number();
        visible |= u64::from(*into != 0) << row;
    }
    visible
}

/// Chooses the rows to send within so many bytes: pages whose rows have waited longest, by relevance.
pub(super) fn choose(
    packing: &mut Packing<'_>,
    missing: &mut [Missing],
    order: &mut Vec<(u16, u32)>,
    budget: usize,
) {
    order.clear();
    for (at, missing) in missing.iter_mut().enumerate() {
        if missing.chosen != 0 {
            let known = packing.client.known(missing.place);
            order.push((known.longest_wait(missing.chosen), at as u32));
        }
    }
    order.sort_unstable_by_key(|(wait, at)| (u16::MAX - wait, *at));
    let mut left = budget;
    for (_, at) in order.iter() {
        let missing = &mut missing[*at as usize];
        let mut chosen = missing.chosen;
        missing.chosen = 0;
        while left >= LEAST_BYTES && chosen != 0 {
            let bytes = packing.size(missing, chosen).filter(|bytes| *bytes <= left);
            if let Some(bytes) = bytes {
                left -= bytes;
                missing.chosen = chosen;
                break;
            }
            let known = packing.client.known(missing.place);
            chosen = known.longest_waiting(chosen, chosen.count_ones() as usize / 2);
        }
    }
}
