//! The state of the game and the order of the steps in a tick.

use samestep_sync::{Entities, EntityId, Events, Inputs, PlayerId, Replicate, Rng, Simulation};

use crate::building::{Building, Mine};
use crate::command::Command;
use crate::event::SkirmishEvent;
use crate::fog::FogBlock;
use crate::grid::{BLOCK, Grid};
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

    /// A unit to change behind the rules' back, to provoke a desync.
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

    /// Whoever is here without a side takes over one of somebody who is gone. The side of a player that is away fights on by itself, and waits for it.
    fn seat(&mut self, inputs: &Inputs<'_, Command>, events: &mut Events<SkirmishEvent>) {
        let seated = |sides: &[Side], player| sides.iter().any(|side| side.player == player);
        for &to in inputs.players() {
            if seated(&self.sides, to) {
                continue;
            }
            let vacant = |side: &&mut Side| !side.is_defeated && inputs.is_gone(side.player);
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
            side.losses = side.losses.saturating_add(1);
            let player = side.player;
            let Some(killer) = self.sides.get_mut(by.index()) else {
                continue;
            };
            killer.kills = killer.kills.saturating_add(1);
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
        // States may come from somebody who made them up.
        self.size = self.size.clamp(BLOCK, 2048) / BLOCK * BLOCK;
        self.seat(inputs, events);
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

#[cfg(test)]
mod tests {
    use samestep_sync::Tick;

    use super::*;
    use crate::{BuildingKind, Order, SkirmishConfig, UnitKind, Work};

    /// A state in which everything is made up.
    fn nonsense(rng: &mut Rng) -> Skirmish {
        let config = SkirmishConfig {
            players: 4,
            ..SkirmishConfig::default()
        };
        let mut game = Skirmish::new(&config).unwrap();
        let wild = |rng: &mut Rng| match rng.below(3) {
            0 => rng.next_u32() as i32,
            1 => rng.range(-1000..1000),
            _ => rng.range(0..100_000),
        };
        let place = |rng: &mut Rng| Place {
            x: wild(rng),
            y: wild(rng),
        };
        let side = |rng: &mut Rng| SideId((rng.below(8) * rng.below(37)) as u8);
        for unit in game.units.as_mut_slice() {
            *unit = Unit {
                place: place(rng),
                velocity: (wild(rng) as i16, wild(rng) as i16),
                kind: UnitKind::ALL[rng.below(4) as usize],
                side: side(rng),
                health: wild(rng) as i16,
                squad: rng.below(12) as u8,
                stamp: rng.below(256) as u8,
                post: wild(rng) as u16,
                target: EntityId::from_number(rng.below(60)),
                ready: wild(rng) as u16,
                work: [Work::Seeking, Work::Digging, Work::Carrying][rng.below(3) as usize],
            };
        }
        for building in &mut game.buildings {
            *building = Building {
                place: place(rng),
                kind: [BuildingKind::Hall, BuildingKind::Barracks][rng.below(2) as usize],
                side: rng.chance(0.7).then(|| side(rng)),
                unfinished: rng.below(3) as u16,
                training: UnitKind::Spear,
                queue: wild(rng) as u8,
                left: rng.below(3) as u16,
                squad: rng.below(256) as u8,
                captor: rng.chance(0.5).then(|| side(rng)),
                captured: wild(rng) as u8,
            };
        }
        for squad in &mut game.squads {
            (squad.at, squad.place) = (place(rng), place(rng));
            squad.size = [wild(rng) as u16; 4];
            squad.free = [wild(rng) as u16; 2];
            squad.order = Order::Attack;
        }
        for side in &mut game.sides {
            side.gold = wild(rng) as u32;
            (side.units, side.buildings) = (wild(rng) as u32, wild(rng) as u16);
            (side.kills, side.gathered, side.captures) = (u32::MAX, u32::MAX, u16::MAX);
        }
        for mine in &mut game.mines {
            mine.place = place(rng);
        }
        game.squads.truncate(rng.below(40) as usize);
        game.sides.truncate(rng.below(5) as usize);
        game.fog.truncate(rng.below(500) as usize);
        game.size = wild(rng) as u16;
        game.max_units = wild(rng) as u32;
        game
    }

    #[test]
    fn states_that_make_no_sense_do_no_harm() {
        let mut rng = Rng::new(4);
        let players = [PlayerId(0), PlayerId(1)];
        for seed in 0..400 {
            let mut game = nonsense(&mut rng);
            let mut bots = players.map(|player| crate::Bot::new(seed, player));
            for tick in (0..40).map(Tick) {
                let commands = bots
                    .each_mut()
                    .map(|bot| bot.decide(tick, &game).unwrap_or_default());
                let inputs = Inputs::new(tick, &players, &commands, &[0, 1]);
                game.step(&inputs, &mut Events::new());
            }
            crate::terminal::picture(&game, Some(PlayerId(0)), None, 40, 20);
            crate::status_line(&game, None);
        }
    }
}
