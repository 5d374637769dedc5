//! A guest that follows the host, to take its place.

use core::time::Duration;
use std::collections::VecDeque;

use samestep_proto::ConnectionId;
use samestep_wire::decode_exact;

use super::ship::{Base, Shipped};
use crate::agreement::{Hosted, HostedConfig};
use crate::control::Control;
use crate::event::State;
use crate::log::{HostLog, KEPT};
use crate::room::Room;
use crate::session::agree::room_number;
use crate::session::{AgreedPassword, OtherEnd, Session};

/// A guest that could host says so, and how well, at least this often.
const ABILITY_EVERY: Duration = Duration::from_secs(5);

/// What a game that follows the host gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shipment {
    /// The exact state, to begin with.
    State(Vec<u8>),
    /// What happened since.
    Record(Vec<u8>),
}

/// The room as shipped, beside the one that this guest sees.
#[derive(Debug)]
pub(in crate::session) struct Follower {
    /// The last index of the agreed log that is in it.
    pub(super) applied: u64,
    pub(super) room: Room,
    pub(super) log: HostLog,
    pub(super) password: Option<AgreedPassword>,
    /// What is not certain yet.
    pub(super) seen: VecDeque<(u64, Shipped)>,
}

impl Follower {
    pub(super) fn apply(
        &mut self,
        index: u64,
        shipped: Shipped,
        shipments: &mut VecDeque<Shipment>,
    ) {
        if index <= self.applied {
            return;
        }
        self.applied = index;
        match shipped {
            Shipped::Room(entry) => {
                let at = self.log.append(entry.clone());
                self.log.trim(KEPT);
                self.room.apply(at, &entry.change);
                self.room.settle(&entry);
            }
            Shipped::Game(record) => shipments.push_back(Shipment::Record(record)),
            Shipped::Password(password) => self.password = Some(password),
        }
    }

    pub(super) fn settle(&mut self, certain: u64, shipments: &mut VecDeque<Shipment>) {
        while let Some((index, _)) = self.seen.front()
            && *index <= certain
            && let Some((index, shipped)) = self.seen.pop_front()
        {
            self.apply(index, shipped, shipments);
        }
    }
}

/// What a guest that stands by has of the host.
#[derive(Debug, Default)]
pub(in crate::session) struct Following {
    pub(super) follower: Option<Follower>,
    /// What the game here has to follow.
    pub(super) shipments: VecDeque<Shipment>,
    pub(super) next_ability: Duration,
    /// Whether the host was told that this program follows it.
    pub(super) has_told_ready: bool,
    /// The time of a step here, as the program measured it.
    step: Duration,
    pub(super) frozen_since: Option<Duration>,
    /// When this program was driven last, and since when it has been without a pause: who was asleep cannot tell that the host is gone.
    pub(super) driven_at: Duration,
    pub(super) awake_since: Duration,
}

impl Following {
    pub(super) fn forget(&mut self) {
        (self.follower, self.frozen_since) = (None, None);
        self.shipments.clear();
        (self.next_ability, self.has_told_ready) = (Duration::ZERO, false);
    }
}

impl Session {
    /// Says how long a step of the simulation takes here: the host chooses its standbys by that, too.
    pub fn set_step_time(&mut self, step: Duration) {
        self.standbys.following.step = step;
    }

    /// Whether this program follows the host, and knows the common time that it would have to keep.
    pub(in crate::session) fn could_take_over(&self, now: Duration) -> bool {
        self.standbys.is_ready() && self.time(now).is_some()
    }

    pub(in crate::session) fn may_host(&self) -> bool {
        self.config.may_host == Some(true)
    }

    /// What the host has shipped for the game here, if this program stands by.
    pub(crate) fn next_shipment(&mut self) -> Option<Shipment> {
        self.standbys.following.shipments.pop_front()
    }

    /// The game here cannot follow: this program does not stand by until it is given a state anew.
    pub(crate) fn cannot_follow(&mut self, now: Duration) {
        self.standbys.forget();
        self.tell_ability(now);
    }

    /// A guest is given what to follow from.
    pub(in crate::session) fn on_base(
        &mut self,
        now: Duration,
        id: ConnectionId,
        bytes: &[u8],
    ) -> Option<()> {
        let base: Base = decode_exact(bytes).ok()?;
        let host = self.room.authority();
        let is_host = self.links.connections.get(&id) == Some(&OtherEnd::Peer(host));
        let may = is_host && !self.room.is_mesh() && !self.leads() && self.may_host();
        let is_mine = base.room.id() == self.room.id();
        if !may || !is_mine || self.state != State::InSync {
            self.traffic.refused += 1;
            return Some(());
        }
        let number = room_number(base.room.id());
        let core = Hosted::join(now, HostedConfig::default(), number, self.own.incarnation);
        self.standbys.forget();
        self.standbys.core = Some(Box::new(core));
        if let Some(game) = base.game {
            self.standbys
                .following
                .shipments
                .push_back(Shipment::State(game));
        }
        let log = HostLog::of(base.log_index, base.chain, Vec::new());
        self.standbys.following.follower = Some(Follower {
            applied: base.index,
            room: base.room,
            log,
            password: base.password,
            seen: VecDeque::new(),
        });
        self.wake_at(now);
        Some(())
    }

    /// A guest tells the host whether it could take its place.
    pub(in crate::session) fn tell_ability(&mut self, now: Duration) {
        self.standbys.following.next_ability = now + ABILITY_EVERY;
        let host = self.room.authority();
        let is_ready = self.could_take_over(now);
        self.standbys.following.has_told_ready = is_ready;
        let ability = Control::Ability {
            is_ready,
            step_us: crate::bounds::us(self.standbys.following.step),
            upstream: self.available_rate(host).unwrap_or(0),
        };
        self.send_control(now, host, &ability);
    }
}
