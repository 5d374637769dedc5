//! What a host ships to its standbys, and how far it is certain.

use core::time::Duration;
use std::collections::VecDeque;

use samestep_wire::{Wire, encode_to_vec};
use tracing::debug;

use super::BASE;
use crate::agreement::{HostedRole, Request};
use crate::channels::{BULK, UNRELIABLE};
use crate::control::Control;
use crate::id::PeerId;
use crate::log::Entry;
use crate::room::Room;
use crate::session::send::sealed;
use crate::session::{AgreedPassword, Session};

/// Entries of the agreed log that are kept before it is shortened, and the most that anybody is waited for.
const SHORTEN_AT: usize = 512;
const SHORTEN_ANYWAY: usize = 6000;
/// Guests learn what is certain at most this often.
const CERTAIN_EVERY: Duration = Duration::from_millis(50);

/// What a host ships to its standbys.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub(crate) enum Shipped {
    /// A change of the room.
    Room(Entry),
    /// A record of the game: the ticks since the last one.
    Game(#[wire(max_len = 16_777_216)] Vec<u8>),
    /// The password that newcomers need from now on.
    Password(AgreedPassword),
}

/// What a standby begins with.
#[derive(Clone, PartialEq, Debug, Wire)]
pub(in crate::session) struct Base {
    /// The index of the agreed log that it stands for.
    #[wire(varint)]
    pub(super) index: u64,
    pub(super) room: Room,
    /// The last index of the room's own log, and what all before it comes to.
    #[wire(varint)]
    pub(super) log_index: u64,
    pub(super) chain: u64,
    pub(super) password: Option<AgreedPassword>,
    /// The exact state of the game, if the room has one.
    #[wire(max_len = 67_108_864)]
    pub(super) game: Option<Vec<u8>>,
}

/// What the host has shipped.
#[derive(Debug, Default)]
pub(in crate::session) struct Shipping {
    /// What could not be appended to the agreed log yet.
    pub(super) backlog: VecDeque<Shipped>,
    /// The records that were shipped: index and the first tick after each.
    pub(super) marks: VecDeque<(u64, u64)>,
    /// The first tick that is not certain.
    pub(in crate::session) certain: Option<u64>,
    next_certain: Duration,
}

impl Shipping {
    pub(super) fn forget(&mut self) {
        self.backlog.clear();
        self.marks.clear();
        self.certain = None;
    }
}

impl Session {
    /// Whether the game is to hand over its exact state for a standby to follow from.
    pub(crate) fn wants_base(&self) -> bool {
        !self.standbys.choosing.bases_wanted.is_empty() && self.standbys.shipping.backlog.is_empty()
    }

    /// Whether records of the game are shipped.
    pub(crate) fn ships(&self) -> bool {
        self.leads() && !self.room.is_mesh() && self.standbys.ships()
    }

    /// The first tick that may still be lost with the host; `None` if the room has no standbys, and nothing is more certain than what is told.
    pub(crate) fn certain_before(&self) -> Option<u64> {
        if self.room.is_mesh() {
            return self.game_certain();
        }
        let has_standbys = !self.room.is_mesh() && !self.room.standbys().is_empty();
        self.standbys.shipping.certain.filter(|_| has_standbys)
    }

    /// The host ships a record of the game, which leads up to a tick.
    pub(crate) fn ship_record(&mut self, now: Duration, record: Vec<u8>, tick: u64) {
        if let Some(index) = self.ship(now, Shipped::Game(record)) {
            self.standbys.shipping.marks.push_back((index, tick));
            if self.standbys.shipping.marks.len() > SHORTEN_ANYWAY {
                self.standbys.shipping.marks.pop_front();
            }
            self.pump_standbys(now);
        }
    }

    /// Ships something, as soon as it can be. Returns the index that it has, if it has one already.
    pub(in crate::session) fn ship(&mut self, now: Duration, shipped: Shipped) -> Option<u64> {
        if !self.ships() {
            return None;
        }
        self.standbys.shipping.backlog.push_back(shipped);
        self.ship_backlog(now)
    }

    pub(in crate::session) fn ship_backlog(&mut self, now: Duration) -> Option<u64> {
        let (me, standbys) = (self.own.incarnation, &mut self.standbys);
        let core = standbys.core.as_mut()?;
        let mut last = None;
        while let Some(shipped) = standbys.shipping.backlog.front() {
            let n = core.replica().log().last_request(me) + 1;
            let Ok(index) = core.append(now, Request { by: me, n }, shipped.clone()) else {
                // Indices of what waits are not known yet: nobody is told that it is certain.
                return None;
            };
            standbys.shipping.backlog.pop_front();
            last = Some(index);
        }
        last
    }

    /// The host hands the game's state to those who are to follow from it.
    pub(crate) fn provide_base(&mut self, now: Duration, game: Option<Vec<u8>>) {
        let wanted = core::mem::take(&mut self.standbys.choosing.bases_wanted);
        let Some(core) = &self.standbys.core else {
            return;
        };
        let base = Base {
            index: core.replica().log().length(),
            room: self.room.clone(),
            log_index: self.hosted.log.last(),
            chain: self.hosted.log.chain(),
            password: self.agreed_password(),
            game,
        };
        let Ok(encoded) = encode_to_vec(&base) else {
            return self.forgo_standbys();
        };
        let bytes = [&[BASE][..], &encoded].concat();
        for peer in wanted {
            debug!(%peer, bytes = bytes.len(), "asking a guest to stand by");
            self.put_sealed(now, peer, BULK, &bytes);
        }
    }

    pub(in crate::session) fn on_certain_index(&mut self, now: Duration, index: u64) {
        if !self.leads() {
            let standbys = &mut self.standbys;
            if let Some(follower) = &mut standbys.following.follower {
                follower.settle(index, &mut standbys.following.shipments);
            }
            return;
        }
        let index = index.min(self.survives());
        let standbys = &mut self.standbys;
        while let Some((at, tick)) = standbys.shipping.marks.front()
            && *at <= index
        {
            standbys.shipping.certain = Some(*tick);
            standbys.shipping.marks.pop_front();
        }
        self.tell_certain(now);
    }

    /// The last index that would survive the loss of this host. A host with one standby decides alone, so that what it decides need not.
    pub(in crate::session) fn survives(&self) -> u64 {
        let Some(core) = &self.standbys.core else {
            return u64::MAX;
        };
        let view = core.view();
        let others = || {
            view.incarnations()
                .filter(|who| *who != self.own.incarnation)
        };
        match others().count() {
            1 => others().map(|who| core.replica().matched(who)).min(),
            _ => None,
        }
        .unwrap_or(u64::MAX)
    }

    /// Tells the guests which ticks are certain.
    pub(in crate::session) fn tell_certain(&mut self, now: Duration) {
        if !self.leads()
            || now < self.standbys.shipping.next_certain
            || self.room.standbys().is_empty()
        {
            return;
        }
        if let Some(before) = self.standbys.shipping.certain {
            self.standbys.shipping.next_certain = now + CERTAIN_EVERY;
            let bytes = sealed(&Control::Certain { before });
            let peers: Vec<PeerId> = self.links.contacts.keys().copied().collect();
            for peer in peers {
                self.put_sealed(now, peer, UNRELIABLE, &bytes);
            }
        }
    }

    /// The agreed log keeps what the members, and those who are about to be, have not got yet.
    pub(in crate::session) fn shorten_shipped(&mut self) {
        let Some(core) = &mut self.standbys.core else {
            return;
        };
        let kept = core.replica().log().kept();
        if kept < SHORTEN_AT {
            return;
        }
        let decided = core.replica().log().decided().index;
        let asked = self.standbys.choosing.candidates.values();
        let asked = asked
            .filter(|c| c.asked_at.is_some() && !c.is_ready)
            .count();
        let me = self.own.incarnation;
        let others = core.view().incarnations().filter(|who| *who != me);
        let held = others.map(|who| core.replica().matched(who)).min();
        let waits = core.role() == HostedRole::Host && kept < SHORTEN_ANYWAY;
        let upto = match waits {
            true if asked > 0 => return,
            true => held.unwrap_or(decided).min(decided),
            false => decided,
        };
        core.compact(upto, Vec::new());
    }
}
