//! Requests: each is decided at most once, however often and of however many leaders it is asked.

use std::collections::VecDeque;

use samestep_wire::Wire;

use super::view::{Incarnation, Slot, View};

/// Slots of former members that are remembered.
const REMEMBERED: usize = 64;
/// Guests whose last requests are remembered.
const GUESTS: usize = 256;
/// Requests of one member that may be undecided, as far as it knows.
pub const MAX_PENDING: usize = 1024;
/// Requests in one message.
pub const MAX_ASKED: usize = 64;

/// The name of a request: whose, and which of its requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct Request {
    /// The requester.
    pub by: Incarnation,
    /// Its requests are numbered from 1.
    #[wire(varint)]
    pub n: u32,
}

/// The last decided request of everyone: part of what the log leads to, and of every snapshot.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Wire)]
pub struct RequestTable {
    #[wire(max_len = 128)]
    rows: Vec<Row>,
    /// The last requests of programs that were never members, the latest last: guests of a hosted room.
    #[wire(max_len = 256)]
    guests: Vec<Request>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
struct Row {
    slot: Slot,
    last: Request,
    /// The last request of the incarnation that had the slot before: its program learns from it what became of what it asked.
    former: Option<Request>,
    /// The index at which the slot's incarnation was excluded.
    absent_since: Option<u64>,
}

impl RequestTable {
    /// The number of the last decided request of an incarnation; 0 if there is none.
    pub fn last(&self, by: Incarnation) -> u32 {
        let of = |request: &Request| (request.by == by).then_some(request.n);
        let rows = self.rows.iter();
        rows.filter_map(|row| of(&row.last).or(row.former.as_ref().and_then(of)))
            .chain(self.guests.iter().filter_map(of))
            .max()
            .unwrap_or(0)
    }

    /// Whether an incarnation is or was a member, as far as is remembered: it is not admitted again.
    pub fn knows(&self, who: Incarnation) -> bool {
        let is = |request: &Request| request.by == who;
        self.rows
            .iter()
            .any(|row| is(&row.last) || row.former.as_ref().is_some_and(is))
    }

    /// The last request of the incarnation that had a slot before the present one, or before it fell vacant.
    pub fn former(&self, slot: Slot) -> Option<Request> {
        let row = self.rows.iter().find(|row| row.slot == slot)?;
        match row.absent_since {
            Some(_) => Some(row.last),
            None => row.former,
        }
    }

    /// Notes a decided request.
    pub(super) fn on_decided(&mut self, request: Request) {
        if let Some(row) = self.rows.iter_mut().find(|r| r.last.by == request.by) {
            row.last.n = row.last.n.max(request.n);
            return;
        }
        self.guests.retain(|last| last.by != request.by);
        if self.guests.len() == GUESTS {
            self.guests.remove(0);
        }
        self.guests.push(request);
    }

    /// Follows the log into another view.
    pub(super) fn on_view(&mut self, view: &View) {
        for row in &mut self.rows {
            if !view.contains(row.last.by) && row.absent_since.is_none() {
                row.absent_since = Some(view.first_index);
            }
        }
        for member in &view.members {
            let last = Request {
                by: member.incarnation,
                n: self.last(member.incarnation),
            };
            self.guests.retain(|guest| guest.by != last.by);
            match self.rows.iter_mut().find(|row| row.slot == member.slot) {
                Some(row) if row.last.by == member.incarnation => row.absent_since = None,
                Some(row) => {
                    row.former = Some(row.last);
                    row.last = last;
                    row.absent_since = None;
                }
                None => self.rows.push(Row {
                    slot: member.slot,
                    last,
                    former: None,
                    absent_since: None,
                }),
            }
        }
        let absent = |row: &Row| row.absent_since;
        while self.rows.iter().filter_map(absent).count() > REMEMBERED {
            let oldest = self.rows.iter().filter_map(absent).min();
            self.rows
                .retain(|row| row.absent_since.is_none() || row.absent_since != oldest);
        }
    }

    /// The lowest slot that nobody has and nobody can come back to.
    pub(super) fn free_slot(&self, taken: &[Slot]) -> Slot {
        (0..=u16::MAX)
            .map(Slot)
            .find(|slot| !taken.contains(slot) && self.rows.iter().all(|r| r.slot != *slot))
            .unwrap_or(Slot(u16::MAX))
    }
}

/// What this program asked for and has not yet seen decided.
#[derive(Clone, Debug)]
pub(super) struct Pending<C> {
    last: u32,
    open: VecDeque<C>,
}

impl<C> Default for Pending<C> {
    fn default() -> Self {
        Self {
            last: 0,
            open: VecDeque::new(),
        }
    }
}

impl<C: Clone> Pending<C> {
    /// Adds a request and returns its number, or `None` if too many are open.
    pub(super) fn push(&mut self, command: C) -> Option<u32> {
        if self.open.len() == MAX_PENDING {
            return None;
        }
        self.last = self.last.checked_add(1)?;
        self.open.push_back(command);
        Some(self.last)
    }

    /// Forgets what has been decided.
    pub(super) fn on_decided(&mut self, last: u32) {
        while !self.open.is_empty() && self.first() <= last {
            self.open.pop_front();
        }
    }

    /// The number of the oldest open request.
    pub(super) fn first(&self) -> u32 {
        self.last - self.open.len() as u32 + 1
    }

    /// The oldest open requests, as many as fit in a message.
    pub(super) fn oldest(&self) -> Vec<C> {
        self.open.iter().take(MAX_ASKED).cloned().collect()
    }

    /// The open requests after a number, as many as fit in a message, and the number of the first of them.
    pub(super) fn after(&self, n: u32) -> (u32, Vec<C>) {
        let first = self.first().max(n.saturating_add(1));
        let known = (first - self.first()) as usize;
        let open = self.open.iter().skip(known).take(MAX_ASKED);
        (first, open.cloned().collect())
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::{Member, NextView};
    use super::*;

    fn view(members: &[(u64, u16)], index: u64) -> View {
        let members = members.iter().map(|(n, slot)| Member {
            incarnation: Incarnation(*n),
            slot: Slot(*slot),
        });
        NextView {
            members: members.collect(),
            tie_breaker: Incarnation(1),
            owner: Incarnation(1),
            cuts: Vec::new(),
        }
        .open(1, index)
    }

    #[test]
    fn a_slot_keeps_the_last_request_of_its_former_incarnation() {
        let request = |by, n| Request {
            by: Incarnation(by),
            n,
        };
        let mut table = RequestTable::default();
        table.on_view(&view(&[(1, 0), (2, 1)], 1));
        table.on_decided(request(2, 1));
        table.on_decided(request(2, 2));
        table.on_view(&view(&[(1, 0)], 9));
        assert_eq!(table.former(Slot(1)), Some(request(2, 2)));
        assert_eq!(table.free_slot(&[Slot(0)]), Slot(2), "2 may come back");
        table.on_view(&view(&[(1, 0), (7, 1)], 12));
        assert_eq!(table.former(Slot(1)), Some(request(2, 2)));
        assert_eq!(table.last(Incarnation(2)), 2);
        assert_eq!(table.last(Incarnation(7)), 0);
    }

    #[test]
    fn a_guest_that_becomes_a_member_keeps_its_last_number() {
        let guest = Incarnation(7);
        let mut table = RequestTable::default();
        table.on_view(&view(&[(1, 0)], 1));
        table.on_decided(Request { by: guest, n: 1 });
        table.on_decided(Request { by: guest, n: 2 });
        assert_eq!((table.last(guest), table.knows(guest)), (2, false));
        table.on_view(&view(&[(1, 0), (7, 1)], 5));
        assert_eq!((table.last(guest), table.guests.len()), (2, 0));
        table.on_view(&view(&[(1, 0)], 6));
        table.on_decided(Request { by: guest, n: 3 });
        table.on_view(&view(&[(1, 0), (7, 1)], 9));
        assert_eq!(table.last(guest), 3);
        assert!(table.rows.iter().all(|row| row.absent_since.is_none()));
        for other in 100..1000 {
            let by = Incarnation(other);
            table.on_decided(Request { by, n: 1 });
        }
        assert_eq!(table.guests.len(), GUESTS);
        assert_eq!(table.last(Incarnation(999)), 1);
    }

    #[test]
    fn no_number_of_visits_fills_the_table() {
        let mut table = RequestTable::default();
        for visit in 0..1000 {
            table.on_view(&view(&[(1, 0), (100 + visit, 1 + visit as u16)], visit));
        }
        assert!(table.rows.len() <= REMEMBERED + 2);
        assert_eq!(table.free_slot(&[Slot(0)]), Slot(1));
    }

    #[test]
    fn open_requests_keep_their_numbers() {
        let mut pending = Pending::default();
        assert_eq!(pending.push('a'), Some(1));
        assert_eq!(pending.push('b'), Some(2));
        pending.on_decided(1);
        assert_eq!((pending.first(), pending.oldest()), (2, vec!['b']));
        pending.on_decided(7);
        assert_eq!((pending.first(), pending.len()), (3, 0));
    }
}
