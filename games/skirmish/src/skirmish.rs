//! The state of the game and the order of things in a tick.

use samestep_sync::{Entities, EntityId, Events, Inputs, PlayerId, Replicate, Rng, Simulation};

use crate::building::{Building, Mine};
use crate::command::Command;
use crate::event::SkirmishEvent;
use crate::fog::FogBlock;
use crate::grid::Grid;
use crate::place::Place;
use crate::side::{SQUADS, Side, SideId, Squad};
use crate::unit::Unit;

/// The state of a game.
#[derive(Clone, Replicate)]
pub struct Skirmish {
    pub(crate) units: Entities<Unit>,
    pub(crate) buildings: Vec<Building>,
    pub(crate) mines: Vec<Mine>,
    pub(crate) sides: Vec<Side>,
    /// [`SQUADS`] for each side.
    pub(crate) squads: Vec<Squad>,
    /// Row by row.
    pub(crate) fog: Vec<FogBlock>,
    pub(crate) size: u16,
    pub(crate) max_units: u32,
    pub(crate) winner: Option<PlayerId>,
    pub(crate) rng: Rng,
    #[replicate(skip)]
    pub(crate) scratch: Scratch,
}

/// Memory that is used again in every tick. Nothing in it outlives the tick.
#[derive(Default)]
pub(crate) struct Scratch {
    pub grid: Grid,
    /// Where each side's workers bring gold, side by side; and where those of each side begin.
    pub drops: Vec<Place>,
    pub drops_of: Vec<u16>,
    /// Whom the units that think in this tick fight, as places in the list of units.
    pub targets: Vec<Option<(EntityId, u16)>>,
    /// Who has died, and by whom.
    pub dead: Vec<(EntityId, SideId)>,
    /// Soldiers of each side around a building.
    pub counts: Vec<u16>,
}

impl Clone for Scratch {
    /// There is nothing to be copied.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Skirmish {
    /// All units, in no particular order.
    pub fn units(&self) -> &Entities<Unit> {
        &self.units
    }

    /// All buildings, each in the place that its [`BuildingId`](crate::BuildingId) says.
    pub fn buildings(&self) -> &[Building] {
        &self.buildings
    }

    /// All mines, empty ones too.
    pub fn mines(&self) -> &[Mine] {
        &self.mines
    }

    /// All sides, those defeated too.
    pub fn sides(&self) -> &[Side] {
        &self.sides
    }

    /// The side a player plays; `None` for a spectator.
    pub fn side_of(&self, player: PlayerId) -> Option<SideId> {
        let at = self.sides.iter().position(|side| side.player == player)?;
        Some(SideId(at as u8))
    }

    /// The squads of a side.
    pub fn squads(&self, side: SideId) -> &[Squad] {
        self.squads
            .get(side.index() * SQUADS..(side.index() + 1) * SQUADS)
            .unwrap_or(&[])
    }

    /// Width and height of the map in units.
    pub fn size(&self) -> u16 {
        self.size
    }

    /// How many units a side may have before it has to stop training.
    pub fn max_units(&self) -> u32 {
        self.max_units
    }

    /// Who has won: the only one left.
    pub fn winner(&self) -> Option<PlayerId> {
        self.winner
    }

    /// To try out what happens to a state that differs: a unit to be changed behind the rules' back.
    pub fn unit_mut(&mut self, id: EntityId) -> Option<&mut Unit> {
        self.units.get_mut(id)
    }

    /// What everything else in a tick builds on: who is where.
    pub(crate) fn prepare(&mut self) {
        let room = (self.max_units as usize)
            .saturating_mul(self.sides.len())
            .min(1 << 16);
        let grid = &mut self.scratch.grid;
        grid.rebuild(self.size, self.units.as_slice(), room);
        for building in &self.buildings {
            if let Some(side) = building.side {
                grid.mark(building.place, side);
            }
        }
        self.collect_drops();
        self.scratch.targets.reserve(room / 8 + 64);
        self.scratch.dead.reserve(room / 8);
    }

    /// Whoever is here without a side takes over one of somebody who is not.
    fn seat(&mut self, present: &[PlayerId], events: &mut Events<SkirmishEvent>) {
        let seated = |sides: &[Side], player| sides.iter().any(|side| side.player == player);
        for &to in present {
            if seated(&self.sides, to) {
                continue;
            }
            let vacant = |side: &&mut Side| {
                !side.is_defeated && present.binary_search(&side.player).is_err()
            };
            let Some(side) = self.sides.iter_mut().find(vacant) else {
                return;
            };
            let from = core::mem::replace(&mut side.player, to);
            events.emit(SkirmishEvent::TakenOver { from, to });
        }
    }

    /// Steps everybody makes.
    fn advance(&mut self) {
        let size = self.size;
        for unit in self.units.as_mut_slice() {
            let (vx, vy) = unit.velocity;
            unit.place = unit.place.offset(i32::from(vx), i32::from(vy)).within(size);
        }
    }

    /// Takes away who has died in this tick.
    fn bury(&mut self, events: &mut Events<SkirmishEvent>) {
        let mut dead = core::mem::take(&mut self.scratch.dead);
        for (id, by) in dead.drain(..) {
            let Some(unit) = self.units.remove(id) else {
                continue;
            };
            self.leave_squad(&unit);
            let Some(side) = self.sides.get_mut(unit.side.index()) else {
                continue;
            };
            side.units = side.units.saturating_sub(1);
            side.losses += 1;
            let player = side.player;
            let Some(killer) = self.sides.get_mut(by.index()) else {
                continue;
            };
            killer.kills += 1;
            events.emit(SkirmishEvent::Killed {
                unit: id,
                kind: unit.kind,
                place: unit.place,
                player,
                by: killer.player,
            });
        }
        self.scratch.dead = dead;
    }
}

impl Simulation for Skirmish {
    type Input = Command;
    type Event = SkirmishEvent;

    const NAME: &'static str = "skirmish";

    fn step(&mut self, inputs: &Inputs<'_, Command>, events: &mut Events<SkirmishEvent>) {
        let tick = inputs.tick().0;
        self.seat(inputs.players(), events);
        self.prepare();
        for (player, command) in inputs.given() {
            if let Some(side) = self.side_of(player) {
                self.obey(side, *command);
            }
        }
        self.run_buildings(events);
        self.contest_buildings(tick, events);
        self.march(tick);
        self.think(tick);
        self.separate(tick);
        self.advance();
        self.bury(events);
        self.lift_fog(tick);
    }
}
