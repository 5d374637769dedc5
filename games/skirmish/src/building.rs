//! Buildings and mines.

use samestep_sync::{Record, Wire};

use crate::place::{ONE, Place};
use crate::side::SideId;
use crate::unit::UnitKind;

/// Kinds of buildings. None is ever destroyed: they are captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record, Wire)]
pub enum BuildingKind {
    /// Where gold is brought and workers are trained.
    #[default]
    Hall,
    /// Where soldiers are trained.
    Barracks,
    /// Nobody's at first. Whoever holds it gets gold and sees from it, and gold may be brought there.
    Outpost,
}

impl BuildingKind {
    /// Gold it costs; outposts cannot be built.
    pub const fn cost(self) -> Option<u32> {
        match self {
            BuildingKind::Hall => Some(400),
            BuildingKind::Barracks => Some(150),
            BuildingKind::Outpost => None,
        }
    }

    /// Ticks until it stands.
    pub const fn construction(self) -> u16 {
        match self {
            BuildingKind::Hall => 1800,
            BuildingKind::Barracks => 900,
            BuildingKind::Outpost => 0,
        }
    }

    /// Whether units of this kind are trained here.
    pub const fn trains(self, kind: UnitKind) -> bool {
        match self {
            BuildingKind::Hall => !kind.is_soldier(),
            BuildingKind::Barracks => kind.is_soldier(),
            BuildingKind::Outpost => false,
        }
    }

    /// Whether workers bring gold here.
    pub const fn takes_gold(self) -> bool {
        matches!(self, BuildingKind::Hall | BuildingKind::Outpost)
    }
}

/// How near soldiers must be to take or hold a building, in steps.
pub const CAPTURE_RADIUS: i32 = 5 * ONE;

/// How far a building being captured must come to change hands.
pub const CAPTURE: u8 = 60;

/// One of the buildings, counted from 0 as they were begun; there is no end to a building, so the number stays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Wire)]
pub struct BuildingId(#[wire(varint)] pub u16);

impl BuildingId {
    /// Its place in the list of buildings.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A building.
#[derive(Clone, Copy, PartialEq, Debug, Record)]
pub struct Building {
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub kind: BuildingKind,
    /// Its side, if it has one.
    pub side: Option<SideId>,
    /// Ticks until it stands; nothing is trained before.
    pub unfinished: u16,
    /// What is trained here.
    pub training: UnitKind,
    /// How many more, the one under way included.
    pub queue: u8,
    /// Ticks until the next one is ready; 0 if none is paid for.
    pub(crate) left: u16,
    /// The squad that those trained here join.
    pub squad: u8,
    /// Who is about to capture it.
    pub captor: Option<SideId>,
    /// How far that is, up to [`CAPTURE`].
    pub captured: u8,
}

impl Building {
    pub(crate) fn new(kind: BuildingKind, side: Option<SideId>, place: Place) -> Self {
        Self {
            place,
            kind,
            side,
            unfinished: 0,
            training: UnitKind::Worker,
            queue: 0,
            left: 0,
            squad: match kind {
                BuildingKind::Hall => 0,
                _ => 1,
            },
            captor: None,
            captured: 0,
        }
    }

    /// Whether it belongs to somebody and stands.
    pub(crate) fn works_for(&self, side: SideId) -> bool {
        self.side == Some(side) && self.unfinished == 0
    }
}

/// Where gold is dug.
#[derive(Clone, Copy, PartialEq, Debug, Record)]
pub struct Mine {
    /// Where it is.
    pub place: Place,
    /// What is left of it.
    pub gold: u32,
}
