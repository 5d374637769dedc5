//! Sides: what a player commands.

use samestep_sync::{PlayerId, Record};

use crate::place::Place;

/// How many squads each side has. Squad 0 is the workers' at first, squad 1 the soldiers'.
pub const SQUADS: usize = 8;

/// How many sides there may be: what each of them sees takes one bit.
pub const MAX_SIDES: usize = 64;

/// One of the sides, counted from 0. It keeps its number whoever plays it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Record)]
pub struct SideId(pub u8);

impl SideId {
    /// Its place in lists of sides.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Its bit where sets of sides are kept.
    #[inline]
    pub(crate) const fn bit(self) -> u64 {
        1 << (self.0 % 64)
    }
}

/// A side.
#[derive(Clone, Copy, PartialEq, Debug, Record)]
pub struct Side {
    /// Who plays it. If that player leaves, the units go on by themselves until somebody else takes over.
    pub player: PlayerId,
    /// What it can spend.
    pub gold: u32,
    /// Units it has.
    pub units: u32,
    /// Buildings it has.
    pub buildings: u16,
    /// Whether it has lost its last building.
    pub is_defeated: bool,
    /// Gold it has brought home.
    pub gathered: u32,
    /// Units of others it has killed.
    pub kills: u32,
    /// Units it has lost.
    pub losses: u32,
    /// Buildings it has captured.
    pub captures: u16,
    /// Where it began.
    pub home: Place,
}

impl Side {
    /// What its player has achieved: 1 for 10 gold, 10 for a kill, 100 for a building captured, 20 for each held.
    pub fn score(&self) -> u32 {
        let buildings = 100 * u32::from(self.captures) + 20 * u32::from(self.buildings);
        let kills = self.kills.saturating_mul(10);
        (self.gathered / 10 + buildings).saturating_add(kills)
    }
}

/// What a squad is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record, samestep_sync::Wire)]
pub enum Order {
    /// Workers dig for gold, soldiers stay at their place and fight whoever comes near.
    #[default]
    Gather,
    /// Go there, fighting whoever is met.
    Attack,
    /// Go there without fighting.
    Move,
}

/// Units that act together. They have no orders of their own: changing a squad's costs nothing, however large it is.
#[derive(Clone, Copy, PartialEq, Debug, Record)]
pub struct Squad {
    /// What it is to do.
    pub order: Order,
    /// Where.
    pub place: Place,
    /// Where it has come so far: its posts are around here.
    pub at: Place,
    /// Where its front looks, a vector of about 64.
    pub facing: (i8, i8),
    /// Counts orders, around the clock: a unit that has seen another number takes a new post.
    pub(crate) stamp: u8,
    /// How many units of each kind it has.
    pub size: [u16; 4],
    /// The next free posts, in the front and behind it.
    pub(crate) free: [u16; 2],
    /// How many of it have had somebody to fight lately.
    pub(crate) engaged: u16,
}

impl Squad {
    pub(crate) fn new(place: Place) -> Self {
        Self {
            order: Order::Gather,
            place,
            at: place,
            facing: (64, 0),
            stamp: 0,
            size: [0; 4],
            free: [0; 2],
            engaged: 0,
        }
    }

    /// How many units it has.
    pub fn len(&self) -> u32 {
        self.size.iter().map(|size| u32::from(*size)).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.size == [0; 4]
    }

    pub(crate) fn command(&mut self, order: Order, place: Place) {
        if place != self.at {
            self.facing = self.at.facing(place);
        }
        self.order = order;
        self.place = place;
        self.reform();
    }

    /// It comes into being here.
    pub(crate) fn form_at(&mut self, at: Place) {
        (self.at, self.place) = (at, at);
    }

    /// Everybody takes a new post.
    pub(crate) fn reform(&mut self) {
        self.stamp = self.stamp.wrapping_add(1);
        self.free = [0; 2];
    }
}
