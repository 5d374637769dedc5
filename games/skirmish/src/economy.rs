//! What buildings do: train, yield gold, change hands.

use samestep_sync::Events;

use crate::building::{Building, BuildingId, BuildingKind, CAPTURE, CAPTURE_RADIUS};
use crate::config::around;
use crate::event::SkirmishEvent;
use crate::place::Place;
use crate::side::{SQUADS, SideId};
use crate::skirmish::{Scratch, Skirmish};
use crate::unit::Unit;

/// A building in this many looks each tick who is around it, and an outpost then yields gold.
const ROUND: u64 = 16;

/// Gold of an outpost per round.
const YIELD: u32 = 1;

impl Skirmish {
    /// Where gold is brought, by side.
    pub(crate) fn collect_drops(&mut self) {
        let sides = self.sides.len();
        let takes_gold = |building: &&Building| {
            let stands = building.kind.takes_gold() && building.unfinished == 0;
            stands && building.side.is_some_and(|side| side.index() < sides)
        };
        let drops = || self.buildings.iter().filter(takes_gold);
        let side_of = |building: &Building| building.side.map_or(0, SideId::index);
        let Scratch {
            drops: places,
            drops_of: begins,
            ..
        } = &mut self.scratch;
        begins.clear();
        begins.resize(sides + 1, 0);
        for building in drops().take(usize::from(u16::MAX)) {
            begins[side_of(building)] += 1;
        }
        let mut end = 0;
        for begin in begins.iter_mut() {
            end += *begin;
            *begin = end;
        }
        places.clear();
        places.reserve(self.buildings.len());
        places.resize(usize::from(end), Place::default());
        for building in drops().take(usize::from(u16::MAX)) {
            let begin = &mut begins[side_of(building)];
            *begin -= 1;
            places[usize::from(*begin)] = building.place;
        }
    }

    /// Construction and training go on.
    pub(crate) fn run_buildings(&mut self, events: &mut Events<SkirmishEvent>) {
        for (at, building) in self.buildings.iter_mut().enumerate() {
            let Some(side_id) = building.side else {
                continue;
            };
            let Some(side) = self.sides.get_mut(side_id.index()) else {
                continue;
            };
            if building.unfinished > 0 {
                building.unfinished -= 1;
                if building.unfinished == 0 {
                    events.emit(SkirmishEvent::Built {
                        building: BuildingId(at as u16),
                        kind: building.kind,
                        player: side.player,
                    });
                }
                continue;
            }
            if building.queue == 0 {
                continue;
            }
            let (kind, stats) = (building.training, building.training.stats());
            if building.left == 0 {
                if side.gold >= stats.cost && side.units < self.max_units {
                    side.gold -= stats.cost;
                    building.left = stats.training;
                }
                continue;
            }
            // Several are trained at the same time: the last may have to wait at the door.
            if building.left == 1 && side.units >= self.max_units {
                continue;
            }
            building.left -= 1;
            if building.left > 0 {
                continue;
            }
            building.queue -= 1;
            let squad_at = side_id.index() * SQUADS + usize::from(building.squad);
            let Some(squad) = self.squads.get_mut(squad_at) else {
                continue;
            };
            let size = &mut squad.size[kind as usize];
            *size = size.saturating_add(1);
            side.units = side.units.saturating_add(1);
            let direction = self.rng.below(8) as usize;
            let place = around(building.place, 3, direction).within(self.size);
            let stamp = squad.stamp.wrapping_sub(1);
            let unit = Unit::new(kind, side_id, place, building.squad, stamp);
            events.emit(SkirmishEvent::Trained {
                unit: self.units.insert(unit),
                kind,
                player: side.player,
            });
        }
    }

    /// Some buildings see who is around them, and may change hands.
    pub(crate) fn contest_buildings(&mut self, tick: u64, events: &mut Events<SkirmishEvent>) {
        let first = (tick % ROUND) as usize;
        for at in (first..self.buildings.len()).step_by(ROUND as usize) {
            let victor = self.contest(at);
            let building = &self.buildings[at];
            match victor {
                Some(victor) => self.capture(at, victor, events),
                None if building.kind == BuildingKind::Outpost => {
                    if let Some(side) = building.side {
                        self.earn(side, YIELD);
                    }
                }
                None => {}
            }
        }
    }

    pub(crate) fn earn(&mut self, side: SideId, gold: u32) {
        if let Some(side) = self.sides.get_mut(side.index()) {
            side.gold = side.gold.saturating_add(gold);
            side.gathered = side.gathered.saturating_add(gold);
        }
    }

    /// Lets time pass for a building; returns who has captured it just now.
    fn contest(&mut self, at: usize) -> Option<SideId> {
        let building = self.buildings.get(at)?;
        let place = building.place;
        let counts = &mut self.scratch.counts;
        counts.clear();
        counts.resize(self.sides.len(), 0);
        let mut total = 0;
        for near in self.scratch.grid.around(place, CAPTURE_RADIUS).flatten() {
            let is_here = near.kind.is_soldier() && near.place().is_near(place, CAPTURE_RADIUS);
            if let Some(count) = counts.get_mut(near.side.index()).filter(|_| is_here) {
                *count += 1;
                total += 1;
            }
        }
        if total == 0 && building.captured == 0 {
            return None;
        }
        let held = building.side.and_then(|side| counts.get(side.index()));
        let held = held.copied().unwrap_or(0);
        let strongest = (0..counts.len()).max_by_key(|side| (counts[*side], usize::MAX - side))?;
        let most = counts[strongest];
        let building = self.buildings.get_mut(at)?;
        // Whoever holds it keeps it while one of its soldiers stands there.
        if held > 0 || 2 * most <= total {
            if held > 0 || total == 0 {
                building.captured = building.captured.saturating_sub(4);
            }
            return None;
        }
        let strongest = SideId(strongest as u8);
        if building.captor != Some(strongest) {
            building.captor = Some(strongest);
            building.captured = 0;
        }
        let gain = most.div_ceil(3).min(8) as u8;
        building.captured = building.captured.saturating_add(gain);
        (building.captured >= CAPTURE).then_some(strongest)
    }

    fn capture(&mut self, at: usize, victor: SideId, events: &mut Events<SkirmishEvent>) {
        let Some(building) = self.buildings.get_mut(at) else {
            return;
        };
        let from = building.side.replace(victor);
        let kind = building.kind;
        (building.captor, building.captured) = (None, 0);
        (building.queue, building.left) = (0, 0);
        let by = &mut self.sides[victor.index()];
        by.buildings = by.buildings.saturating_add(1);
        by.captures = by.captures.saturating_add(1);
        let by = by.player;
        events.emit(SkirmishEvent::Captured {
            building: BuildingId(at as u16),
            kind,
            from: from.and_then(|side| Some(self.sides.get(side.index())?.player)),
            by,
        });
        let Some((from, loser)) =
            from.and_then(|from| Some((from, self.sides.get_mut(from.index())?)))
        else {
            return;
        };
        loser.buildings = loser.buildings.saturating_sub(1);
        if loser.buildings > 0 {
            return;
        }
        loser.is_defeated = true;
        let player = loser.player;
        events.emit(SkirmishEvent::Defeated { player, by });
        self.surrender(from, victor);
        let mut left = self.sides.iter().filter(|side| !side.is_defeated);
        if let (Some(last), None) = (left.next(), left.next()) {
            self.winner = Some(last.player);
            events.emit(SkirmishEvent::Won {
                player: last.player,
            });
        }
    }
}
