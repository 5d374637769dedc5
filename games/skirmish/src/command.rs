//! The commands of players.

use samestep_sync::{Input, Wire};

use crate::building::{BuildingId, BuildingKind};
use crate::side::Order;
use crate::unit::UnitKind;

/// The command of a player in one tick: mostly none. It takes 4 to 6 bytes.
///
/// Places are in whole units. An impossible command (another side's building, no gold) has no effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub enum Command {
    /// Nothing.
    #[default]
    None,
    /// A squad gets an order.
    Order {
        /// Which one.
        #[wire(range = 0..=7)]
        squad: u8,
        /// What to do.
        order: Order,
        /// Where.
        #[wire(range = 0..=2047)]
        x: u16,
        /// Where.
        #[wire(range = 0..=2047)]
        y: u16,
    },
    /// Units around a place join a squad.
    Select {
        /// Which one.
        #[wire(range = 0..=7)]
        squad: u8,
        /// Which kinds: bit 0 for workers, 1 for spears, 2 for archers, 3 for knights.
        #[wire(range = 0..=15)]
        kinds: u8,
        /// Where.
        #[wire(range = 0..=2047)]
        x: u16,
        /// Where.
        #[wire(range = 0..=2047)]
        y: u16,
        /// Up to how many units of length away.
        #[wire(range = 0..=63)]
        radius: u8,
    },
    /// Units of one squad join another.
    Muster {
        /// Which one they leave.
        #[wire(range = 0..=7)]
        from: u8,
        /// Which one they join.
        #[wire(range = 0..=7)]
        into: u8,
        /// How many at most.
        #[wire(range = 0..=1023)]
        count: u16,
    },
    /// A building trains units, one after the other, each paid for when it is begun. This replaces its earlier orders.
    Train {
        /// Which one.
        building: BuildingId,
        /// What kind.
        kind: UnitKind,
        /// How many.
        #[wire(range = 0..=31)]
        count: u8,
    },
    /// Units trained in a building join a squad.
    Rally {
        /// Which building.
        building: BuildingId,
        /// Which squad.
        #[wire(range = 0..=7)]
        squad: u8,
    },
    /// A building is begun, at most 24 units from another of the same side and at least 6 from any.
    Build {
        /// What.
        kind: BuildingKind,
        /// Where.
        #[wire(range = 0..=2047)]
        x: u16,
        /// Where.
        #[wire(range = 0..=2047)]
        y: u16,
    },
}

impl Input for Command {
    fn predict(&self) -> Self {
        Command::None
    }
}
