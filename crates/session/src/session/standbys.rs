//! Standbys: guests of a hosted room that follow its host and can take its place.
//!
//! The host ships them every change of the room and every record of the game, in the order of one log that the host and its standbys agree on
//! (`docs/agreement.md`, "Hosted rooms"). Guests that are no standbys know nothing of that log: they are told by the next host that it hosts.

mod choose;
mod follow;
mod link;
mod ship;

use core::time::Duration;
use std::collections::BTreeMap;

use samestep_proto::ConnectionId;
use tracing::{debug, info};

use crate::agreement::{Grade, Hosted, HostedEvent, HostedRole, Incarnation};
use crate::control::Control;
use crate::event::{SessionEvent, State};
use crate::id::PeerId;
use crate::log::HostLog;
use crate::room::Room;
use crate::session::agree::{member, room_number};
use crate::session::take_over::Passing;
use crate::session::{AgreedPassword, Contact, Session};
use choose::{CHOOSE_EVERY, Choosing};
pub(crate) use follow::Shipment;
use follow::{Follower, Following};
use link::Link;
pub(crate) use ship::Shipped;
use ship::Shipping;

/// A room with one standby cannot tell who of the two is lost: the standby goes on as another room after so long.
const ALONE_AFTER: Duration = Duration::from_millis(300);
/// A program that was not driven for so long was asleep, and is not alone for so long after.
const ASLEEP: Duration = Duration::from_millis(1500);
const AWAKE: Duration = Duration::from_secs(3);
/// What the first byte of a message on the channel for states says that it is.
pub(super) const BASE: u8 = 1;

/// Who could take the host's place, and what this program needs to do so itself.
#[derive(Debug, Default)]
pub(super) struct Standbys {
    /// The agreement of host and standbys; `None` on guests that are none, and as long as there are none.
    core: Option<Box<Hosted<Shipped>>>,
    is_pumping: bool,
    links: BTreeMap<PeerId, Link>,
    choosing: Choosing,
    pub(super) shipping: Shipping,
    following: Following,
    pub(super) passing: Passing,
}

impl Standbys {
    /// Whether what a host decides is shipped to standbys.
    pub(super) fn ships(&self) -> bool {
        self.core.is_some()
    }

    /// The connection to a standby, or of a standby to another guest.
    fn link(&self, peer: PeerId) -> Option<ConnectionId> {
        self.links.get(&peer)?.connection
    }

    /// All links there are.
    pub(super) fn linked(&self) -> Vec<(PeerId, ConnectionId)> {
        let links = self.links.iter();
        links
            .filter_map(|(peer, link)| Some((*peer, link.connection?)))
            .collect()
    }

    /// A link is no longer one: it was lost, or is the connection to the host now.
    pub(super) fn unlink(&mut self, id: ConnectionId) {
        for link in self.links.values_mut() {
            link.connection = link.connection.filter(|connection| *connection != id);
        }
    }

    /// The guests that follow a host go on following the next one.
    pub(super) fn takes_over(
        &mut self,
        now: Duration,
    ) -> Option<(Room, HostLog, Option<AgreedPassword>)> {
        let mut follower = self.following.follower.take()?;
        // Whoever leads holds a log that nobody else can go beyond.
        for (index, shipped) in core::mem::take(&mut follower.seen) {
            follower.apply(index, shipped, &mut self.following.shipments);
        }
        self.choosing.candidates.clear();
        self.shipping.marks.clear();
        self.following.frozen_since = None;
        // The guests say first what they can.
        self.choosing.next_choice = now + CHOOSE_EVERY;
        Some((follower.room, follower.log, follower.password))
    }

    /// Another program hosts: it is told soon what this one can.
    pub(super) fn on_another_host(&mut self, now: Duration) {
        self.passing.on_another_host();
        (self.following.next_ability, self.following.has_told_ready) = (now, false);
    }

    /// Whether this program follows the host.
    fn is_ready(&self) -> bool {
        let decided = self
            .core
            .as_ref()
            .map(|core| core.replica().log().decided().index);
        let follower = self.following.follower.as_ref();
        follower.is_some_and(|follower| decided.is_some_and(|at| at >= follower.applied))
    }

    /// Whether this program, which stood by, is to host.
    fn is_elected(&self, now: Duration) -> bool {
        let core = self
            .core
            .as_ref()
            .filter(|_| self.following.follower.is_some());
        core.is_some_and(|core| core.role() == HostedRole::Host && core.holds_lease(now))
    }

    /// This program is no standby and no host any more.
    pub(super) fn forget(&mut self) {
        self.core = None;
        self.shipping.forget();
        self.choosing.forget();
        self.following.forget();
        self.passing.forget();
    }

    /// A host that hands over has done so.
    pub(super) fn part(&mut self, now: Duration) {
        if let Some(core) = &mut self.core {
            core.handle_timeout(now);
        }
    }

    /// The host that the agreement follows, unless it is this program.
    pub(super) fn next_host(&self, now: Duration) -> Option<PeerId> {
        let core = self.core.as_ref()?;
        let slot = core.view().slot(core.host(now)?)?;
        Some(PeerId(slot.0))
    }

    /// The connection to a peer, as a guest of this program or as a standby.
    pub(super) fn link_or_contact(
        &self,
        contacts: &BTreeMap<PeerId, Contact>,
        peer: PeerId,
    ) -> Option<ConnectionId> {
        let contact = contacts.get(&peer).and_then(|c| c.connection);
        contact.or_else(|| self.link(peer))
    }

    /// Whether the agreement hears a program.
    pub(super) fn hears(&self, now: Duration, who: Incarnation) -> bool {
        self.core.as_ref().is_some_and(|core| core.hears(now, who))
    }
}

impl Session {
    /// Everything that is due about standbys.
    pub(super) fn keep_standbys(&mut self, now: Duration) {
        if self.room.is_mesh() || self.me.is_none() {
            return;
        }
        if now.saturating_sub(self.standbys.following.driven_at) >= ASLEEP {
            self.standbys.following.awake_since = now;
        }
        self.standbys.following.driven_at = now;
        self.retry_take_over(now);
        self.await_host(now);
        self.dial_standbys(now);
        let is_member = matches!(self.state, State::InSync | State::Frozen);
        if !is_member {
            return;
        }
        match self.leads() {
            true => self.choose(now),
            false if self.may_host() && now >= self.standbys.following.next_ability => {
                self.tell_ability(now);
            }
            false => {}
        }
        if let Some(core) = &mut self.standbys.core
            && core.next_timeout() <= now
        {
            core.handle_timeout(now);
        }
        self.pump_standbys(now);
        if !self.leads() && self.could_take_over(now) && !self.standbys.following.has_told_ready {
            self.tell_ability(now);
        }
        self.tell_certain(now);
    }

    /// Takes what the agreement of host and standbys has to tell and to send.
    pub(super) fn pump_standbys(&mut self, now: Duration) {
        if self.standbys.is_pumping {
            return;
        }
        self.standbys.is_pumping = true;
        loop {
            if matches!(self.state, State::Connecting | State::Left(_)) {
                break;
            }
            let Some(core) = &mut self.standbys.core else {
                break;
            };
            if let Some(event) = core.poll_event(now) {
                self.on_standby_event(now, event);
            } else if let Some(message) = core.poll_message() {
                self.send_succession(now, message);
            } else if let Some(knock) = core.poll_knock() {
                self.knock_at_members(now, &knock);
            } else if !self.standbys.shipping.backlog.is_empty() && core.holds_lease(now) {
                if self.ship_backlog(now).is_none() && !self.standbys.shipping.backlog.is_empty() {
                    break;
                }
            } else if self.standbys.is_elected(now) && !self.leads() {
                // All that is in the log has been shown.
                if !self.take_over(now) {
                    break;
                }
            } else {
                break;
            }
        }
        self.standbys.is_pumping = false;
        self.watch_lease(now);
        self.shorten_shipped();
        let is_member = matches!(self.state, State::InSync | State::Frozen);
        if let Some(core) = self.standbys.core.as_ref().filter(|_| is_member) {
            let next = core.next_timeout();
            self.wake_at(next.max(now));
        }
    }

    fn on_standby_event(&mut self, now: Duration, event: HostedEvent<Shipped>) {
        let hosts = self.leads();
        let standbys = &mut self.standbys;
        match event {
            HostedEvent::Restored { index, .. } => {
                let reaches = |follower: &Follower| follower.applied >= index;
                if !hosts && !standbys.following.follower.as_ref().is_some_and(reaches) {
                    debug!("missed more than the host remembers: no standby any more");
                    self.cannot_follow(now);
                }
            }
            HostedEvent::Command {
                index,
                command,
                grade,
                ..
            } => {
                if let Some(follower) = standbys.following.follower.as_mut().filter(|_| !hosts) {
                    follower.seen.push_back((index, command));
                }
                if grade == Grade::Certain {
                    self.on_certain_index(now, index);
                }
            }
            HostedEvent::Certain { index } => self.on_certain_index(now, index),
            HostedEvent::Rewound { index, .. } => {
                if let Some(follower) = &mut standbys.following.follower {
                    follower.seen.retain(|(at, _)| *at <= index);
                }
            }
            HostedEvent::HostChanged { host } => {
                if hosts && host.is_some_and(|host| host != self.own.incarnation) {
                    self.step_down(now);
                }
            }
            HostedEvent::ViewChanged { .. } => {
                standbys.choosing.next_choice = now;
                if hosts {
                    self.announce_standbys(now);
                } else {
                    self.tell_ability(now);
                }
            }
            HostedEvent::Frozen => standbys.following.frozen_since = Some(now),
            HostedEvent::Thawed => standbys.following.frozen_since = None,
            HostedEvent::Stranded if hosts => self.emit(SessionEvent::Stranded),
            HostedEvent::Stranded => {}
        }
    }

    /// A host that cannot be sure to host stops; a standby that is left alone with what it has goes on.
    fn watch_lease(&mut self, now: Duration) {
        let Some(core) = &self.standbys.core else {
            return;
        };
        if !self.leads() {
            let is_pair = core.view().members.len() == 2 && core.role() == HostedRole::Standby;
            let awake = now >= self.standbys.following.awake_since + AWAKE;
            let alone = self
                .standbys
                .following
                .frozen_since
                .filter(|_| is_pair && awake);
            if let Some(since) = alone {
                match now >= since + ALONE_AFTER {
                    true => self.go_on_as_host(now),
                    false => self.wake_at(since + ALONE_AFTER),
                }
            }
            return;
        }
        let hosts = core.role() == HostedRole::Host;
        let sure = core.holds_lease(now) || core.replica().log().is_closing();
        match self.state {
            _ if core.role() == HostedRole::Left => self.finish_leaving(now),
            State::InSync if !sure && hosts => {
                self.state = State::Frozen;
                self.emit(SessionEvent::Frozen);
            }
            State::Frozen if sure && hosts => {
                self.state = State::InSync;
                self.emit(SessionEvent::InSync);
                self.decide(now);
            }
            _ => {}
        }
    }

    /// A standby whose only other member is lost goes on as the host of another room, with all that it holds.
    fn go_on_as_host(&mut self, now: Duration) {
        let (Some(me), Some(core)) = (self.me, &self.standbys.core) else {
            return;
        };
        let id = self.own.secrets.next_room_id();
        let me = member(self.own.incarnation, me);
        let Some(alone) = core.found_from(now, room_number(&id), me) else {
            return;
        };
        info!("the host is lost, and there is no other standby: going on as another room");
        self.standbys.core = Some(Box::new(alone));
        if let Some(follower) = &mut self.standbys.following.follower {
            follower
                .room
                .go_on_as(id, PeerId(me.slot.0), self.own.incarnation);
        }
        self.pump_standbys(now);
    }

    /// Hands over to a standby before this host leaves. Returns whether there is one.
    pub(super) fn hand_over_and_leave(&mut self, now: Duration, words: &str) -> bool {
        let me = self.own.incarnation;
        let Some(core) = self.standbys.core.as_mut().filter(|_| self.me.is_some()) else {
            return false;
        };
        let others = core.view().incarnations().filter(|who| *who != me);
        if !others.into_iter().any(|who| core.hears(now, who)) {
            return false;
        }
        self.standbys.passing.leaving = Some(words.to_owned());
        let to = core
            .hand_over(now, None)
            .and_then(|who| core.view().slot(who));
        core.leave(now);
        if let Some(to) = to {
            self.send_control_to_all(now, &Control::Yields { to: PeerId(to.0) });
        }
        self.pump_standbys(now);
        true
    }
}
