//! The messages of the agreement, with the bounds of what is decoded.

use samestep_wire::Wire;

use super::ballot::Ballot;
use super::flush::{Flush, Holding};
use super::log::{Entry, Suffix};
use super::view::{Incarnation, Slot};

/// A message. Every one carries the view of its sender and how far its sender has decided, so that whoever is behind is noticed by any of them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct Message<C> {
    /// The room. Those of another room are dropped.
    pub room: u64,
    /// The sender.
    pub from: Incarnation,
    /// The receiver; [`Incarnation::ANYONE`] in a knock at an address. Those to somebody else are dropped: a former incarnation may have been meant.
    pub to: Incarnation,
    /// The sender's view.
    #[wire(varint)]
    pub view: u32,
    /// The sender's last decided index.
    #[wire(varint)]
    pub decided: u64,
    /// What it says.
    pub body: Body<C>,
}

/// What a message says.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub enum Body<C> {
    /// Every member to every other, several times a second.
    Beat(Beat),
    /// Would the receiver promise? (Raft's pre-vote.)
    PreVote {
        /// Answers to another round do not count.
        #[wire(varint)]
        round: u32,
    },
    /// It would.
    PreVoted {
        /// The round that is answered.
        #[wire(varint)]
        round: u32,
    },
    /// Phase 1: a candidate asks for promises.
    Prepare {
        /// The candidate's ballot.
        ballot: Ballot,
        /// The ballot its log follows.
        accepted: Ballot,
        /// Its last index.
        #[wire(varint)]
        length: u64,
    },
    /// The sender will accept no lower ballot.
    Promise {
        /// The promised ballot.
        ballot: Ballot,
        /// The ballot the sender's log follows.
        accepted: Ballot,
        /// The sender's last index.
        #[wire(varint)]
        length: u64,
        /// Its log beyond the candidate's decided index, if it is ahead of the candidate's.
        suffix: Option<Suffix<C>>,
    },
    /// Phase 2 begins: the leader's log in place of everything undecided.
    Sync {
        /// The leader's ballot.
        ballot: Ballot,
        /// Its log beyond the receiver's decided index.
        suffix: Suffix<C>,
    },
    /// Further entries of a leader.
    Accept {
        /// The leader's ballot.
        ballot: Ballot,
        /// The index before the first entry.
        #[wire(varint)]
        after: u64,
        /// The entries.
        #[wire(max_len = 8192)]
        entries: Vec<Entry<C>>,
    },
    /// The sender's log equals the leader's up to an index.
    Accepted {
        /// The leader's ballot.
        ballot: Ballot,
        /// The index.
        #[wire(varint)]
        length: u64,
    },
    /// The leader's log is decided as far as the message says.
    Decided {
        /// The leader's ballot.
        ballot: Ballot,
    },
    /// Where the sender stands: the answer to a newer view, and to a ballot that it does not follow.
    Status(Status),
    /// To whoever is in an older view, and to learners: the decided log beyond theirs.
    CatchUp(Suffix<C>),
    /// The sender's last promise: it never votes again.
    Farewell {
        /// The ballot it promised.
        promised: Ballot,
        /// The ballot its log follows.
        accepted: Ballot,
        /// Its log beyond the receiver's decided index.
        suffix: Suffix<C>,
    },
    /// The receiver's farewell has arrived.
    Parted,
    /// A learner wants in.
    Learn {
        /// The slot it comes back to.
        slot: Option<Slot>,
        /// Whether the receiver is the one that is to feed it.
        feed: bool,
        /// Whether it has all that it takes to be a member, apart from the log.
        ready: bool,
    },
    /// The sender is frozen and admits nobody; these are the members it knows.
    Frozen {
        /// The members.
        #[wire(max_len = 64)]
        members: Vec<Incarnation>,
    },
    /// A member asks the leader for these commands.
    Request {
        /// The number of the first.
        #[wire(varint)]
        first: u32,
        /// The commands.
        #[wire(max_len = 64)]
        commands: Vec<C>,
    },
    /// The leader asks to hold back the streams of those who are to be excluded.
    Flush(Flush),
    /// They are held.
    Flushed {
        /// The leader's ballot.
        ballot: Ballot,
        /// The round that is answered.
        #[wire(varint)]
        round: u32,
        /// What the sender has of each.
        #[wire(max_len = 64)]
        holdings: Vec<Holding>,
    },
    /// Hosted rooms: a guest is there, and stands here.
    Follow {
        /// Where its log stands. It promised nobody anything.
        status: Status,
        /// Whether the receiver is the one that is to feed it.
        feed: bool,
    },
    /// Hosted rooms: what a guest holds, the answer to Prepare.
    Tail {
        /// The candidate's ballot.
        ballot: Ballot,
        /// The ballot the guest's log follows.
        accepted: Ballot,
        /// Its log beyond the candidate's decided index, if it is ahead of the candidate's.
        suffix: Option<Suffix<C>>,
    },
    /// Hosted rooms: the host asks its standbys to grant its lease.
    Lease {
        /// The host's ballot.
        ballot: Ballot,
        /// The number of the question.
        #[wire(varint)]
        number: u32,
    },
    /// Hosted rooms: it is granted from the time at which the question arrived.
    Granted {
        /// The host's ballot.
        ballot: Ballot,
        /// The number of the question.
        #[wire(varint)]
        number: u32,
    },
    /// Hosted rooms: the host wants this standby to be the next host.
    HandOver {
        /// The host's ballot.
        ballot: Ballot,
        /// The next host.
        to: Incarnation,
    },
}

/// The highest index and number that a message may name: what is beyond cannot have been reached.
const MAX_INDEX: u64 = 1 << 48;
const MAX_NUMBER: u32 = 1 << 31;

impl<C> Message<C> {
    /// The highest number of a ballot that a message names.
    pub(super) fn highest_ballot(&self) -> u32 {
        match &self.body {
            Body::Beat(Beat { status, .. })
            | Body::Status(status)
            | Body::Follow { status, .. } => status.promised.max(status.accepted).n,
            Body::Prepare {
                ballot, accepted, ..
            }
            | Body::Promise {
                ballot, accepted, ..
            } => (*ballot).max(*accepted).n,
            Body::Farewell {
                promised, accepted, ..
            } => (*promised).max(*accepted).n,
            Body::Sync { ballot, .. }
            | Body::Accept { ballot, .. }
            | Body::Accepted { ballot, .. }
            | Body::Decided { ballot }
            | Body::Flushed { ballot, .. }
            | Body::Lease { ballot, .. }
            | Body::Granted { ballot, .. }
            | Body::HandOver { ballot, .. } => ballot.n,
            Body::Tail {
                ballot, accepted, ..
            } => (*ballot).max(*accepted).n,
            Body::Flush(flush) => flush.ballot.n,
            Body::PreVote { .. }
            | Body::PreVoted { .. }
            | Body::CatchUp(_)
            | Body::Parted
            | Body::Learn { .. }
            | Body::Frozen { .. }
            | Body::Request { .. } => 0,
        }
    }

    /// Whether every index and number is one that can have been reached. Messages beyond are dropped, so that no sum of them overflows.
    pub fn is_bounded(&self) -> bool {
        let index = |index: u64| index <= MAX_INDEX;
        let ballot = |ballot: &Ballot| ballot.n <= MAX_NUMBER;
        let suffix = |suffix: &Suffix<C>| index(suffix.start_index()) && index(suffix.decided);
        let body = match &self.body {
            Body::Beat(Beat { status, .. })
            | Body::Status(status)
            | Body::Follow { status, .. } => {
                ballot(&status.promised) && ballot(&status.accepted) && index(status.length)
            }
            Body::Prepare {
                ballot: own,
                accepted,
                length,
            } => ballot(own) && ballot(accepted) && index(*length),
            Body::Promise {
                ballot: own,
                accepted,
                length,
                suffix: log,
            } => {
                ballot(own) && ballot(accepted) && index(*length) && log.as_ref().is_none_or(suffix)
            }
            Body::Sync {
                ballot: own,
                suffix: log,
            } => ballot(own) && suffix(log),
            Body::Accept {
                ballot: own, after, ..
            } => ballot(own) && index(*after),
            Body::Accepted {
                ballot: own,
                length,
            } => ballot(own) && index(*length),
            Body::Decided { ballot: own } => ballot(own),
            Body::CatchUp(log) => suffix(log),
            Body::Farewell {
                promised,
                accepted,
                suffix: log,
            } => ballot(promised) && ballot(accepted) && suffix(log),
            Body::Request { first, .. } => *first <= MAX_NUMBER,
            Body::Flush(flush) => {
                let owners = flush.owners.iter();
                flush.round <= MAX_NUMBER && owners.clone().all(|(_, last)| index(*last))
            }
            Body::Flushed { holdings, .. } => holdings.iter().all(|h| index(h.last)),
            Body::Tail {
                ballot: own,
                accepted,
                suffix: log,
            } => ballot(own) && ballot(accepted) && log.as_ref().is_none_or(suffix),
            Body::Lease { ballot: own, .. }
            | Body::Granted { ballot: own, .. }
            | Body::HandOver { ballot: own, .. } => ballot(own),
            Body::PreVote { .. }
            | Body::PreVoted { .. }
            | Body::Parted
            | Body::Learn { .. }
            | Body::Frozen { .. } => true,
        };
        body && index(self.decided) && self.view <= MAX_NUMBER
    }
}

/// Where a member stands in its view.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct Status {
    /// The ballot it promised.
    pub promised: Ballot,
    /// The ballot its log follows.
    pub accepted: Ballot,
    /// Its last index.
    #[wire(varint)]
    pub length: u64,
}

/// The heartbeat of a member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct Beat {
    /// Where it stands.
    pub status: Status,
    /// Whether it leads the ballot it promised, and a quorum hears it.
    pub leads: bool,
    /// Whom it hears: a bit for each member of its view, in their order.
    #[wire(varint)]
    pub hears: u64,
}
