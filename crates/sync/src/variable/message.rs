//! What programs say to each other about exact variables, in bits.

use samestep_wire::Wire;
use thiserror::Error;

use crate::fields::Stamp;
use crate::id::{Owner, PeerId};

/// The longest change of one request, in bytes.
pub(super) const MAX_CHANGE: usize = 16_384;

/// The longest values of one group together, in bytes.
pub(super) const MAX_STATE: usize = 65_536;

/// A message about one group of exact variables.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub(super) struct Message {
    /// The sender's number for who owns what.
    #[wire(varint)]
    pub term: u64,
    /// The group, counted from 0 in the order of the struct.
    #[wire(varint)]
    pub group: u16,
    pub body: Body,
}

/// What is said of it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub(super) enum Body {
    /// To the sequencer: make this change, my `number`th in this life of mine.
    Request {
        life: u64,
        #[wire(varint)]
        number: u64,
        #[wire(max_len = 16_384)]
        change: Vec<u8>,
    },
    /// Of the sequencer, to all: the change that comes at this place of the sequence, or a refusal.
    Entry {
        #[wire(varint)]
        count: u64,
        by: PeerId,
        life: u64,
        #[wire(varint)]
        number: u64,
        verdict: Verdict,
    },
    /// To the sequencer: I have everything up to this place.
    Have {
        #[wire(varint)]
        count: u64,
    },
    /// Of the sequencer, to all: everybody has everything up to this place.
    Certain {
        #[wire(varint)]
        count: u64,
    },
    /// Of the sequencer: in this term the sequence begins with the state of stamp `base`, and has come as far as `count`.
    Claim {
        base: Place,
        #[wire(varint)]
        count: u64,
    },
    /// To the sequencer: I lack something.
    Question,
    /// Of the sequencer, to who lacks something.
    State {
        #[wire(varint)]
        count: u64,
        state: State,
    },
    /// Of the next sequencer: I have this. Who has more?
    Collect { have: Place },
    /// What the next sequencer lacks.
    Reply { more: Option<(Place, State)> },
}

/// A stamp, as it travels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub(super) struct Place {
    #[wire(varint)]
    pub term: u64,
    #[wire(varint)]
    pub count: u64,
}

impl From<Stamp> for Place {
    fn from(Stamp { term, count }: Stamp) -> Place {
        Place { term, count }
    }
}

impl From<Place> for Stamp {
    fn from(Place { term, count }: Place) -> Stamp {
        Stamp { term, count }
    }
}

/// What becomes of a request.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub(super) enum Verdict {
    Change(#[wire(max_len = 16_384)] Vec<u8>),
    Refused(Refusal),
}

/// Everything that has to survive a sequencer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub(super) struct State {
    #[wire(max_len = 1024)]
    pub table: Vec<(PeerId, Asker)>,
    /// The values of the group.
    #[wire(max_len = 65_536)]
    pub values: Vec<u8>,
}

/// What is known of one member's requests.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Wire)]
pub(super) struct Asker {
    pub life: u64,
    /// The last request that has come to its place.
    #[wire(varint)]
    pub last: u64,
    /// Those among the last that were refused.
    #[wire(max_len = 64)]
    pub refused: Vec<(u64, Refusal)>,
}

/// Why a change of a variable was refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire, Error)]
pub enum Refusal {
    /// It belongs to somebody else, who alone may change it.
    #[error("this variable is changed by its owner alone, which is {0}")]
    NotYours(Owner),
    /// The result would break the limits of its type or of this library.
    #[error("the changed value would not fit into its type: ask for a smaller change")]
    DoesNotFit,
    /// The requester's program has other variables than the owner's.
    #[error("the owner does not understand this change: both must declare the same variables")]
    NotUnderstood,
    /// The requester is a spectator.
    #[error("spectators change nothing")]
    Watches,
}
