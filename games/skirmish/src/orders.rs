//! Commands, carried out.

use crate::building::{Building, BuildingKind};
use crate::command::Command;
use crate::place::{ONE, Place};
use crate::side::{SQUADS, SideId, Squad};
use crate::skirmish::Skirmish;
use crate::unit::{Unit, UnitKind};

/// How far from each other one's own buildings may be begun, and how near to any, in units.
const BUILD_WITHIN: i32 = 24;
const BUILD_APART: i32 = 6;

impl Skirmish {
    /// Does what a side's player says, as far as it can be done.
    pub(crate) fn obey(&mut self, side: SideId, command: Command) {
        match command {
            Command::None => {}
            Command::Order { squad, order, x, y } => {
                let place = Place::new(x, y).within(self.size);
                if let Some(squad) = self.squad_mut(side, squad) {
                    squad.command(order, place);
                }
            }
            Command::Select {
                squad,
                kinds,
                x,
                y,
                radius,
            } => self.select(
                side,
                squad,
                kinds,
                Place::new(x, y),
                i32::from(radius) * ONE,
            ),
            Command::Muster { from, into, count } => self.muster(side, from, into, count),
            Command::Train {
                building,
                kind,
                count,
            } => {
                let building = self.buildings.get_mut(building.index());
                let Some(building) = building.filter(|building| building.works_for(side)) else {
                    return;
                };
                // What has been paid for is finished first.
                if building.kind.trains(kind) && building.left == 0 {
                    building.training = kind;
                }
                if building.kind.trains(kind) && building.training == kind {
                    building.queue = count.max(u8::from(building.left > 0));
                }
            }
            Command::Rally { building, squad } => {
                let building = self.buildings.get_mut(building.index());
                if let Some(building) = building.filter(|building| building.side == Some(side)) {
                    building.squad = squad % SQUADS as u8;
                }
            }
            Command::Build { kind, x, y } => self.build(side, kind, Place::new(x, y)),
        }
    }

    pub(crate) fn squad_mut(&mut self, side: SideId, squad: u8) -> Option<&mut Squad> {
        let at = side.index() * SQUADS + usize::from(squad);
        self.squads
            .get_mut(at)
            .filter(|_| usize::from(squad) < SQUADS)
    }

    pub(crate) fn leave_squad(&mut self, unit: &Unit) {
        if let Some(squad) = self.squad_mut(unit.side, unit.squad) {
            let size = &mut squad.size[unit.kind as usize];
            *size = size.saturating_sub(1);
        }
    }

    /// Units of some kinds around a place join a squad.
    fn select(&mut self, side: SideId, squad: u8, kinds: u8, place: Place, radius: i32) {
        let grid = core::mem::take(&mut self.scratch.grid);
        let (mut joined, mut sum) = (0, (0, 0));
        for near in grid.around(place, radius).flatten() {
            let is_meant = near.side == side && kinds >> (near.kind as u8) & 1 == 1;
            if is_meant && near.place().is_near(place, radius) {
                self.join_squad(usize::from(near.index), squad);
                joined += 1;
                let place = near.place();
                sum = (sum.0 + i64::from(place.x), sum.1 + i64::from(place.y));
            }
        }
        self.scratch.grid = grid;
        if let Some(squad) = self.squad_mut(side, squad).filter(|_| joined > 0) {
            if squad.len() == joined {
                let (x, y) = (sum.0 / i64::from(joined), sum.1 / i64::from(joined));
                squad.form_at(Place {
                    x: x as i32,
                    y: y as i32,
                });
            }
            squad.reform();
        }
    }

    /// Up to `count` units of one squad join another.
    fn muster(&mut self, side: SideId, from: u8, into: u8, count: u16) {
        if from == into {
            return;
        }
        let Some(at) = self.squad_mut(side, from).map(|squad| squad.at) else {
            return;
        };
        if let Some(new) = self.squad_mut(side, into).filter(|new| new.is_empty()) {
            new.form_at(at);
        }
        let mut left = count;
        for at in 0..self.units.len() {
            let unit = &self.units.as_slice()[at];
            if unit.side != side || unit.squad != from {
                continue;
            }
            if left == 0 {
                break;
            }
            left -= 1;
            self.join_squad(at, into);
        }
        if let Some(squad) = self.squad_mut(side, into) {
            squad.reform();
        }
    }

    fn join_squad(&mut self, at: usize, squad: u8) {
        let Some(unit) = self.units.row_mut(at) else {
            return;
        };
        let (old, new) = (unit.squad, squad % SQUADS as u8);
        unit.squad = new;
        let (side, kind) = (unit.side, unit.kind as usize);
        if let Some(old) = self.squad_mut(side, old) {
            old.size[kind] = old.size[kind].saturating_sub(1);
        }
        if let Some(new) = self.squad_mut(side, new) {
            new.size[kind] = new.size[kind].saturating_add(1);
        }
    }

    fn build(&mut self, side: SideId, kind: BuildingKind, place: Place) {
        let Some(cost) = kind
            .cost()
            .filter(|cost| *cost <= self.sides[side.index()].gold)
        else {
            return;
        };
        if self.buildings.len() >= usize::from(u16::MAX) {
            return;
        }
        let place = place.within(self.size);
        let mut has_neighbour = false;
        for building in &self.buildings {
            if building.place.is_near(place, BUILD_APART * ONE) {
                return;
            }
            has_neighbour |=
                building.works_for(side) && building.place.is_near(place, BUILD_WITHIN * ONE);
        }
        if has_neighbour {
            self.sides[side.index()].gold -= cost;
            let mut building = Building::new(kind, Some(side), place);
            building.unfinished = kind.construction();
            self.add_building(building);
        }
    }

    pub(crate) fn add_building(&mut self, building: Building) {
        if let Some(side) = building.side {
            let side = &mut self.sides[side.index()];
            side.buildings = side.buildings.saturating_add(1);
        }
        self.buildings.push(building);
    }

    /// Everything a defeated side has goes to the victor.
    pub(crate) fn surrender(&mut self, side: SideId, victor: SideId) {
        let mut moved = [0; UnitKind::ALL.len()];
        let Some(stamp) = self.squad_mut(victor, 1).map(|squad| {
            squad.reform();
            squad.stamp.wrapping_sub(1)
        }) else {
            return;
        };
        for unit in self.units.as_mut_slice() {
            if unit.side == side {
                let moved: &mut u16 = &mut moved[unit.kind as usize];
                *moved = moved.saturating_add(1);
                *unit = Unit {
                    side: victor,
                    squad: 1,
                    stamp,
                    target: None,
                    ..*unit
                };
            }
        }
        if let Some(squad) = self.squad_mut(victor, 1) {
            for (size, moved) in squad.size.iter_mut().zip(moved) {
                *size = size.saturating_add(moved);
            }
        }
        for squad in 0..SQUADS as u8 {
            if let Some(squad) = self.squad_mut(side, squad) {
                squad.size = Default::default();
            }
        }
        let loser = &mut self.sides[side.index()];
        let (gold, units) = (loser.gold, loser.units);
        (loser.gold, loser.units) = (0, 0);
        let victor = &mut self.sides[victor.index()];
        victor.gold = victor.gold.saturating_add(gold);
        victor.units = victor.units.saturating_add(units);
    }
}
