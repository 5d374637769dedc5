//! Where the inputs of an excluded member of a mesh end: the room asks every copy of a model what it has, and decides.
//!
//! Some members have received more of it than others, and may have simulated with that. So before the room excludes a member, every member that stays
//! holds back what comes from it and tells how much it has ([`Model::hold`](crate::Model::hold)); the change of the view carries the maximum and what
//! anybody lacks ([`Model::cut`](crate::Model::cut)). This is the flush of virtual synchrony (Birman and Joseph, 1987).

use crate::PeerId;

/// A member that is about to be excluded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departing {
    /// The member.
    pub peer: PeerId,
    /// Its incarnation, as in the roster.
    pub incarnation: u64,
    /// Items up to this number are not asked for.
    pub above: u64,
}

/// What a copy of a model has of a member that is about to be excluded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    /// The member.
    pub peer: PeerId,
    /// The number of the last item, before which none is missing. An item is what the member sent for one tick: that of tick *t* has the number *t* + 1.
    pub last: u64,
    /// The last items, the newest last.
    pub items: Vec<Vec<u8>>,
}

/// A member was excluded: where what it sent ends, for everyone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The member.
    pub peer: PeerId,
    /// Its incarnation.
    pub incarnation: u64,
    /// The number of the last item that counts; `None` where nobody was asked, because this program goes on alone: what it has counts.
    pub last: Option<u64>,
    /// The last items, as far as anybody lacked them; the last of them has the number `last`.
    pub items: Vec<Vec<u8>>,
    /// Whether the member was the authority: then it was the one to announce who comes and goes.
    pub was_authority: bool,
    /// Whether its place is kept: its players may come back.
    pub keeps_place: bool,
    /// The member that opens the next view, and its incarnation: it goes on where an excluded member did something for all.
    pub heir: Option<(PeerId, u64)>,
}
