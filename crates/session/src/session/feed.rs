//! The log of a hosted room: the host decides alone and tells its guests.

use core::time::Duration;

use crate::channels::CONTROL;
use crate::control::{Control, Entries};
use crate::event::State;
use crate::id::PeerId;
use crate::log::{Entry, HostLog, KEPT};
use crate::session::send::sealed;
use crate::session::{Session, Shipped};

/// Entries in one message.
const BATCH: usize = 64;
/// A room with more members than this is told of changes not one by one, but together, at least this long for each member
/// after the last ones: in a crowd everyone's coming and going would else cost a packet for each of them and each of the others.
const CROWD: usize = 64;
const CROWD_SPACING: Duration = Duration::from_micros(20);

/// The message of entries that was made last: who lacks the same gets the same bytes.
#[derive(Default)]
struct Sealed {
    after: Option<u64>,
    last: u64,
    bytes: Vec<u8>,
}

/// The log of a hosted room, and how far the guests were told of it.
#[derive(Default)]
pub(super) struct HostedLog {
    pub(super) log: HostLog,
    /// Before this time further changes are not sent: they are batched for all.
    next_entries: Duration,
    /// The last change that was sent.
    told: u64,
}

impl Session {
    /// The host makes a change: it is committed at once.
    pub(super) fn append_hosted(&mut self, now: Duration, entry: Entry) {
        if !self.leads() {
            return;
        }
        let index = self.hosted.log.append(entry.clone());
        self.ship(now, Shipped::Room(entry.clone()));
        self.apply(now, index, entry);
        self.hosted.log.trim(KEPT);
        self.feed_all(now);
        self.pump_standbys(now);
        self.decide(now);
    }

    /// Sends every guest what it was not sent yet.
    pub(super) fn feed_all(&mut self, now: Duration) {
        if now < self.hosted.next_entries {
            return self.wake_at(self.hosted.next_entries);
        }
        self.hosted.told = self.hosted.log.last();
        let peers: Vec<PeerId> = self.links.contacts.keys().copied().collect();
        if peers.len() > CROWD {
            self.hosted.next_entries = now + CROWD_SPACING * peers.len() as u32;
        }
        let mut last = Sealed::default();
        for peer in peers {
            self.feed_again(now, peer, &mut last);
        }
    }

    /// Sends what a crowd was not yet told.
    pub(super) fn feed_held(&mut self, now: Duration) {
        if !self.room.is_mesh() && self.leads() && self.hosted.told < self.hosted.log.last() {
            self.feed_all(now);
        }
    }

    /// Sends a guest what it was not sent yet.
    pub(super) fn feed(&mut self, now: Duration, peer: PeerId) {
        self.feed_again(now, peer, &mut Sealed::default());
    }

    /// The same for one of many, most of whom lack the same: see [`Sealed`].
    fn feed_again(&mut self, now: Duration, peer: PeerId, again: &mut Sealed) {
        if self.room.is_mesh() || !self.leads() {
            return;
        }
        let last = self.hosted.log.last();
        while let Some(contact) = self.links.contacts.get_mut(&peer)
            && contact.welcomed
            && contact.sent_index < last
        {
            let after = contact.sent_index;
            if again.after != Some(after) {
                let entries = self.hosted.log.entries_after(after, BATCH);
                *again = Sealed {
                    after: Some(after),
                    last: after + entries.len() as u64,
                    bytes: sealed(&Control::Entries(Entries { after, entries })),
                };
            }
            contact.sent_index = again.last;
            self.put_sealed(now, peer, CONTROL, &again.bytes);
        }
    }

    /// Takes entries from the host. They come in order on one connection, each once.
    pub(super) fn on_entries(&mut self, now: Duration, message: Entries) {
        let known = self.hosted.log.last().saturating_sub(message.after);
        if message.after > self.hosted.log.last() {
            return self.rejoin_through(now, None, "missed a change of the room");
        }
        for entry in message.entries.into_iter().skip(known as usize) {
            let index = self.hosted.log.append(entry.clone());
            // Only the host has use for what is past.
            self.hosted.log.trim(0);
            self.apply(now, index, entry);
            if matches!(self.state, State::Left(_)) {
                return;
            }
        }
    }
}
