//! The bounds of times and numbers that other programs name: what exceeds them is malformed, so that arithmetic on them cannot overflow.

use core::time::Duration;

use crate::clock::MeshReport;
use crate::control::{Control, Entries, Heartbeat, Proposal, Welcome};
use crate::id::NetworkId;
use crate::log::{Entry, Position};
use crate::room::{Change, Phase, Room};

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

impl Bounded for Position {
    fn is_bounded(&self) -> bool {
        self.index <= MAX_INDEX && self.term <= MAX_NUMBER
    }
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
            Change::Returned { count_from, .. } => {
                let numbers = count_from.iter().flatten();
                numbers.copied().all(|number| number <= MAX_NUMBER)
            }
            Change::Named(object) => object.id.is_bounded(),
            _ => true,
        }
    }
}

impl Bounded for Entry {
    fn is_bounded(&self) -> bool {
        let origin = self.origin.is_none_or(|origin| origin.number <= MAX_NUMBER);
        self.term <= MAX_NUMBER && origin && self.change.is_bounded()
    }
}

impl Bounded for Entries {
    fn is_bounded(&self) -> bool {
        self.term <= MAX_NUMBER
            && self.previous.is_bounded()
            && self.entries.iter().all(Bounded::is_bounded)
            && self.committed <= MAX_INDEX
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
        times.iter().all(|time| *time <= MAX_US)
            && peers
            && objects.map(|object| &object.id).all(Bounded::is_bounded)
            && self.owners_term() <= MAX_INDEX
            && self.games() <= MAX_NUMBER
    }
}

impl Bounded for Welcome {
    fn is_bounded(&self) -> bool {
        self.since <= MAX_INDEX
            && self.term <= MAX_NUMBER
            && self.room.iter().all(Bounded::is_bounded)
            && self.at.is_bounded()
            && self.history.iter().all(Bounded::is_bounded)
            && self.history_after.is_bounded()
            && self.absences.iter().all(|absence| absence.ms <= MAX_US)
            && self.clock_us <= MAX_US
            && self.epoch_us <= MAX_US
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
        self.term <= MAX_NUMBER
            && self.last.is_bounded()
            && self.committed <= MAX_INDEX
            && self.clock_us <= MAX_US
            && self.clock.iter().all(Bounded::is_bounded)
    }
}

impl Bounded for Proposal {
    fn is_bounded(&self) -> bool {
        match self {
            Proposal::Name { id, .. } | Proposal::Unname { id } => id.is_bounded(),
            Proposal::Admit { hello, .. } => {
                hello.clock_us <= MAX_US && hello.have.iter().all(Bounded::is_bounded)
            }
            _ => true,
        }
    }
}

impl Bounded for Control {
    fn is_bounded(&self) -> bool {
        match self {
            Control::Hello(hello) => {
                hello.clock_us <= MAX_US && hello.have.iter().all(Bounded::is_bounded)
            }
            Control::Welcome(welcome) => welcome.is_bounded(),
            Control::Propose {
                number,
                oldest_open,
                proposal,
            } => *number <= MAX_NUMBER && *oldest_open <= MAX_NUMBER && proposal.is_bounded(),
            Control::Entries(entries) => entries.is_bounded(),
            Control::Matched { since, term, index } => {
                *since <= MAX_INDEX && *term <= MAX_NUMBER && *index <= MAX_INDEX
            }
            Control::Gap { term, last } => *term <= MAX_NUMBER && *last <= MAX_INDEX,
            Control::Elect { term, last } => *term <= MAX_NUMBER && last.is_bounded(),
            Control::Vote { term } => *term <= MAX_NUMBER,
            Control::Out { index } => *index <= MAX_INDEX,
            Control::Heartbeat(beat) => beat.is_bounded(),
            Control::Link { .. }
            | Control::Prove(_)
            | Control::Farewell(_)
            | Control::Loaded
            | Control::Denied { .. } => true,
        }
    }
}
