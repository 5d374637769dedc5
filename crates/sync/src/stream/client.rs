//! The publisher's record of one client: its acknowledged baselines and the parts in flight.

use std::collections::VecDeque;

use super::acknowledged::Acknowledged;
use super::history::History;
use super::part::PageId;
use crate::Tick;

#[derive(Debug, Default)]
pub(super) struct Client {
    kinds: Vec<Vec<Acknowledged>>,
    next_number: u32,
    /// Parts that are not confirmed and may still be, in the order of their numbers; the last has the one before the next.
    parts: VecDeque<Option<InFlight>>,
    free: Vec<Vec<PageId>>,
}

/// A part on its way.
#[derive(Debug)]
struct InFlight {
    tick: Tick,
    /// The pages that it mentions.
    pages: Vec<PageId>,
}

impl Client {
    /// One that has the whole state as it was at a tick.
    pub(super) fn knowing(history: &History, tick: Tick) -> Client {
        let mut client = Client::default();
        for pages in history.kinds() {
            let known = pages.iter().map(|versions| match versions.at(tick) {
                Some(page) => Acknowledged::all_of(page, tick),
                None => Acknowledged::default(),
            });
            client.kinds.push(known.collect());
        }
        client
    }

    /// The number of the part that is being written.
    pub(super) fn next_number(&self) -> u32 {
        self.next_number
    }

    /// Makes room for what is known of all pages.
    pub(super) fn grow(&mut self, history: &History) {
        if self.kinds.len() < history.kinds().len() {
            self.kinds.resize_with(history.kinds().len(), Vec::new);
        }
        for (known, pages) in self.kinds.iter_mut().zip(history.kinds()) {
            if known.len() < pages.len() {
                known.resize_with(pages.len(), Acknowledged::default);
            }
        }
    }

    /// What is known of a page; there is [room](Self::grow) for it.
    pub(super) fn known(&mut self, place: PageId) -> &mut Acknowledged {
        &mut self.kinds[usize::from(place.kind)][place.page as usize]
    }

    /// The next part is complete, and mentions these pages.
    pub(super) fn on_part(&mut self, tick: Tick, pages: &[PageId]) {
        let mut list = self.free.pop().unwrap_or_default();
        list.extend_from_slice(pages);
        self.parts.push_back(Some(InFlight { tick, pages: list }));
        self.next_number = self.next_number.wrapping_add(1);
    }

    /// The client has a part.
    pub(super) fn on_confirmed(&mut self, number: u32, history: &History) {
        let back = self.next_number.wrapping_sub(number) as usize;
        let Some(at) = self.parts.len().checked_sub(back).filter(|_| back > 0) else {
            return;
        };
        let Some(mut part) = self.parts[at].take() else {
            return;
        };
        for place in part.pages.drain(..) {
            if let Some(versions) = history.page(place) {
                self.known(place).on_confirmed(number, versions);
            }
        }
        self.free.push(part.pages);
        while let Some(None) = self.parts.front() {
            self.parts.pop_front();
        }
    }

    /// Snapshots before the oldest are no baselines any more. Returns how many rows have none left.
    pub(super) fn on_expired(&mut self, oldest: Tick, history: &History) -> u32 {
        while let Some(front) = self.parts.front_mut() {
            match front {
                Some(part) if part.tick >= oldest => break,
                Some(part) => {
                    part.pages.clear();
                    self.free.push(core::mem::take(&mut part.pages));
                }
                None => {}
            }
            self.parts.pop_front();
        }
        let mut lost = 0;
        for (known, pages) in self.kinds.iter_mut().zip(history.kinds()) {
            for (known, versions) in known.iter_mut().zip(pages) {
                lost += known.on_expired(oldest, versions);
            }
        }
        lost
    }
}
