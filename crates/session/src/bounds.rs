//! The bounds of times and numbers that other programs name: what exceeds them is malformed, so that arithmetic on them cannot overflow.

use core::time::Duration;

use crate::agreement::{Body, Entry as Agreed, Message, Start, Suffix};
use crate::clock::MeshReport;
use crate::control::{Beginning, Control, Entries, Heartbeat, Proposal, TakeOver, Welcome};
use crate::id::NetworkId;
use crate::log::Entry;
use crate::room::{Change, Phase, Room};
use crate::session::Shipped;

/// The longest time, in µs: 35 years.
const MAX_US: u64 = 1 << 50;
/// The last index of a log.
const MAX_INDEX: u64 = 1 << 48;
/// The last term, and the last number of a proposal or an object.
const MAX_NUMBER: u32 = 1 << 31;

/// A time in µs as others accept it.
pub(crate) fn us(time: Duration) -> u64 {
    u64::try_from(time.as_micros())
        .unwrap_or(MAX_US)
        .min(MAX_US)
}

/// Something another program sent that may hold times and numbers.
pub(crate) trait Bounded {
    /// Whether all of them are within their bounds.
    fn is_bounded(&self) -> bool;
}

impl Bounded for NetworkId {
    fn is_bounded(&self) -> bool {
        match self {
            NetworkId::Dynamic { number, .. } => *number <= MAX_NUMBER,
            NetworkId::Static(_) | NetworkId::Connection(_) => true,
        }
    }
}

impl Bounded for Change {
    fn is_bounded(&self) -> bool {
        match self {
            Change::Start { at_us } => *at_us <= MAX_US,
            Change::Banned { until_us, .. } => *until_us <= MAX_US,
            Change::Returned { count_from, .. } => {
                let numbers = count_from.iter().flatten();
                numbers.copied().all(|number| number <= MAX_NUMBER)
            }
            Change::Named(object) => object.id.is_bounded(),
            Change::Played { tick, .. } => *tick <= MAX_INDEX,
            _ => true,
        }
    }
}

impl Bounded for Entry {
    fn is_bounded(&self) -> bool {
        let origin = self.origin.is_none_or(|origin| origin.number <= MAX_NUMBER);
        origin && self.change.is_bounded()
    }
}

impl Bounded for Shipped {
    fn is_bounded(&self) -> bool {
        match self {
            Shipped::Room(entry) => entry.is_bounded(),
            Shipped::Game(_) | Shipped::Password(_) => true,
        }
    }
}

impl Bounded for TakeOver {
    fn is_bounded(&self) -> bool {
        self.index <= MAX_INDEX
            && self.room.is_bounded()
            && self.entries.iter().all(Bounded::is_bounded)
            && self.clock_us <= MAX_US
            && self.epoch_us.unsigned_abs() <= MAX_US
    }
}

impl Bounded for Entries {
    fn is_bounded(&self) -> bool {
        self.after <= MAX_INDEX && self.entries.iter().all(Bounded::is_bounded)
    }
}

impl<C: Bounded> Bounded for Agreed<C> {
    fn is_bounded(&self) -> bool {
        match self {
            Agreed::Command { request, command } => request.n <= MAX_NUMBER && command.is_bounded(),
            Agreed::Next(_) => true,
        }
    }
}

impl<C: Bounded> Bounded for Suffix<C> {
    fn is_bounded(&self) -> bool {
        let start = match &self.start {
            Start::After(index) => *index <= MAX_INDEX,
            Start::Snapshot(snapshot) => {
                snapshot.point.index <= MAX_INDEX && snapshot.point.view.number <= MAX_NUMBER
            }
        };
        start && self.decided <= MAX_INDEX && self.entries.iter().all(Bounded::is_bounded)
    }
}

impl<C: Bounded> Bounded for Message<C> {
    fn is_bounded(&self) -> bool {
        let content = match &self.body {
            Body::Promise {
                suffix: Some(suffix),
                ..
            }
            | Body::Tail {
                suffix: Some(suffix),
                ..
            }
            | Body::Sync { suffix, .. }
            | Body::CatchUp(suffix)
            | Body::Farewell { suffix, .. } => suffix.is_bounded(),
            Body::Accept { entries, .. } => entries.iter().all(Bounded::is_bounded),
            Body::Request { commands, .. } => commands.iter().all(Bounded::is_bounded),
            _ => true,
        };
        Message::is_bounded(self) && content
    }
}

impl Bounded for Beginning {
    fn is_bounded(&self) -> bool {
        match self {
            Beginning::Hosted { index, room, .. } => {
                *index <= MAX_INDEX && room.iter().all(|room| room.is_bounded())
            }
            Beginning::Mesh(suffix) => suffix.is_bounded(),
        }
    }
}

impl Bounded for Room {
    fn is_bounded(&self) -> bool {
        let rules = &self.rules;
        let times = [
            rules.load_grace_us,
            rules.rejoin_grace_us,
            rules.countdown_us,
            rules.drop_after_us.unwrap_or(0),
            match self.phase() {
                Phase::Playing { at_us } => *at_us,
                Phase::SetUp | Phase::Ended { .. } => 0,
            },
        ];
        let peers = self.peers().iter().all(|peer| {
            peer.since <= MAX_INDEX && peer.settled.iter().all(|settled| *settled <= MAX_NUMBER)
        });
        let objects = self.network_objects().iter();
        rules.standbys <= 7
            && times.iter().all(|time| *time <= MAX_US)
            && peers
            && objects.map(|object| &object.id).all(Bounded::is_bounded)
            && self.owners_term() <= MAX_INDEX
            && self.former_owners_term() <= MAX_INDEX
            && self.games() <= MAX_NUMBER
    }
}

impl Bounded for Welcome {
    fn is_bounded(&self) -> bool {
        self.since <= MAX_INDEX
            && self.log.is_bounded()
            && self.absences.iter().all(|absence| absence.ms <= MAX_US)
            && self.clock_us <= MAX_US
            && self.epoch_us.unsigned_abs() <= MAX_US
    }
}

impl Bounded for MeshReport {
    fn is_bounded(&self) -> bool {
        let is_near = |us: i64| us.unsigned_abs() <= MAX_US;
        let offsets = self.offsets.iter();
        self.common_us.is_none_or(is_near) && offsets.map(|offset| offset.offset_us).all(is_near)
    }
}

impl Bounded for Heartbeat {
    fn is_bounded(&self) -> bool {
        self.clock_us <= MAX_US && self.clock.iter().all(Bounded::is_bounded)
    }
}

impl Bounded for Proposal {
    fn is_bounded(&self) -> bool {
        match self {
            Proposal::Name { id, .. } | Proposal::Unname { id } => id.is_bounded(),
            Proposal::Admit { hello, .. } => {
                hello.clock_us <= MAX_US && hello.have.is_none_or(|have| have.index <= MAX_INDEX)
            }
            _ => true,
        }
    }
}

impl Bounded for Control {
    fn is_bounded(&self) -> bool {
        match self {
            Control::Hello(hello) => {
                hello.clock_us <= MAX_US && hello.have.is_none_or(|have| have.index <= MAX_INDEX)
            }
            Control::Welcome(welcome) => welcome.is_bounded(),
            Control::Propose {
                number,
                oldest_open,
                proposal,
                ..
            } => *number <= MAX_NUMBER && *oldest_open <= MAX_NUMBER && proposal.is_bounded(),
            Control::Entries(entries) => entries.is_bounded(),
            Control::Agreement(message) => Bounded::is_bounded(&**message),
            Control::Out { index, .. } => *index <= MAX_INDEX,
            Control::Heartbeat(beat) => beat.is_bounded(),
            Control::Succession(message) => Bounded::is_bounded(&**message),
            Control::Ability { step_us, .. } => *step_us <= MAX_US,
            Control::Certain { before } => *before <= MAX_INDEX,
            Control::TakeOver(said) => said.is_bounded(),
            Control::Link { .. }
            | Control::Yields { .. }
            | Control::Follows { .. }
            | Control::Prove(_)
            | Control::Farewell(_)
            | Control::Frozen { .. }
            | Control::SameBeat { .. }
            | Control::Denied { .. } => true,
        }
    }
}
