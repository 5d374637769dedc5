//! What units do by themselves. Each thinks every eighth tick and then goes straight on.

use crate::place::{ONE, Place};
use crate::side::{Order, SQUADS, SideId};
use crate::skirmish::Skirmish;
use crate::unit::{NO_MINE, Unit, Work};

/// Ticks from thought to thought.
pub(crate) const THOUGHT: u64 = 8;

/// So many units that lie side by side think in the same tick.
const BLOCK: usize = 64;

/// How far a soldier looks for enemies, in steps, and how far it follows one.
const SIGHT: i32 = 9 * ONE;
const FOLLOW: i32 = 11 * ONE;

/// How near a worker must be to dig or to deliver, in steps.
const REACH: i32 = 3 * ONE;

/// How near to home workers without work stay, in steps: not in the way.
const LOITER: i32 = 12 * ONE;

/// How far from home workers dig, in steps.
const COMMUTE: i32 = 40 * ONE;

/// Thoughts that digging takes, and what it gives.
const DIG: u16 = 15;
const LOAD: u32 = 5;

impl Skirmish {
    /// One unit in eight looks around and decides what to do.
    pub(crate) fn think(&mut self, tick: u64) {
        let turn = (tick % THOUGHT) as usize;
        let now = (tick / THOUGHT) as u16;
        self.scratch.targets.clear();
        let mut begin = turn * BLOCK;
        while begin < self.units.len() {
            let end = (begin + BLOCK).min(self.units.len());
            for at in begin..end {
                let target = self.look(at, now);
                self.scratch.targets.push(target);
            }
            begin += BLOCK * THOUGHT as usize;
        }
        let mut targets = core::mem::take(&mut self.scratch.targets);
        let mut decided = targets.drain(..);
        let mut begin = turn * BLOCK;
        while begin < self.units.len() {
            let end = (begin + BLOCK).min(self.units.len());
            for (at, target) in (begin..end).zip(&mut decided) {
                self.act(at, target, now);
            }
            begin += BLOCK * THOUGHT as usize;
        }
        drop(decided);
        self.scratch.targets = targets;
    }

    /// Whom a unit fights from now on.
    #[inline]
    fn look(&self, at: usize, now: u16) -> Option<(samestep_sync::EntityId, u16)> {
        let units = self.units.as_slice();
        let unit = &units[at];
        if !unit.kind.is_soldier() || self.order_of(unit) == Order::Move {
            return None;
        }
        let old = unit
            .target
            .and_then(|id| Some((id, self.units.index_of(id)?)));
        if let Some((id, other)) = old.filter(|(_, other)| units[*other].side != unit.side) {
            let (place, theirs) = (unit.place, units[other].place);
            // One that can be hit is hit again; from time to time somebody nearer is looked for.
            let is_settled = !(usize::from(now) + at).is_multiple_of(4);
            if place.is_near(theirs, unit.kind.stats().range)
                || is_settled && place.is_near(theirs, FOLLOW)
            {
                return Some((id, other as u16));
            }
        }
        // Somebody new is looked for at every other thought.
        if !(usize::from(now) + at).is_multiple_of(2) {
            return None;
        }
        let found = self
            .scratch
            .grid
            .nearest_enemy(unit.place, unit.side, SIGHT)?;
        Some((self.units.ids()[found], found as u16))
    }

    #[inline]
    fn order_of(&self, unit: &Unit) -> Order {
        let squad = self.squads.get(squad_of(unit));
        squad.map_or(Order::Gather, |squad| squad.order)
    }

    #[inline]
    fn act(&mut self, at: usize, target: Option<(samestep_sync::EntityId, u16)>, now: u16) {
        let (ids, units) = self.units.parts_mut();
        let unit = &units[at];
        let mut acted = Unit {
            target: target.map(|(id, _)| id),
            ..*unit
        };
        let Some(squad) = self.squads.get_mut(squad_of(unit)) else {
            return;
        };
        if unit.stamp != squad.stamp {
            acted.stamp = squad.stamp;
            acted.post = match squad.order == Order::Gather && !unit.kind.is_soldier() {
                true => NO_MINE,
                false => squad.enlist(unit.kind),
            };
        }
        if let Some((id, other)) = target {
            squad.engaged = squad.engaged.saturating_add(1);
            let other = &mut units[usize::from(other)];
            let stats = acted.kind.stats();
            if !acted.place.is_near(other.place, stats.range) {
                acted.velocity = acted
                    .place
                    .velocity_to(other.place, stats.speed, THOUGHT as i32);
            } else {
                acted.velocity = (0, 0);
                if is_due(acted.ready, now) && other.health > 0 {
                    acted.ready = now.wrapping_add(stats.period / THOUGHT as u16);
                    other.health -= acted.kind.damage_to(other.kind);
                    if other.health <= 0 {
                        self.scratch.dead.push((id, acted.side));
                    }
                }
            }
        } else if squad.order == Order::Gather && !acted.kind.is_soldier() {
            self.work(&mut acted, now);
            self.units.as_mut_slice()[at] = acted;
            return;
        } else {
            let speed = acted.kind.stats().speed;
            let post = squad.post(acted.kind, acted.post).within(self.size);
            acted.velocity = acted.place.velocity_to(post, speed, THOUGHT as i32);
            acted.ready = now;
        }
        let _ = ids;
        units[at] = acted;
    }

    /// A worker goes to a mine, digs, and brings the gold home.
    fn work(&mut self, worker: &mut Unit, now: u16) {
        let goal = match worker.work {
            Work::Seeking => {
                let mine = self.mines.get(usize::from(worker.post));
                // Who found nothing looks again after a while.
                let has_looked = worker.post == NO_MINE && !now.is_multiple_of(8);
                if !has_looked && mine.is_none_or(|mine| mine.gold == 0) {
                    worker.post = self.nearest_mine(worker);
                }
                match self.mines.get(usize::from(worker.post)) {
                    Some(mine) if worker.place.is_near(mine.place, REACH) => {
                        worker.work = Work::Digging;
                        worker.ready = now.wrapping_add(DIG);
                        None
                    }
                    Some(mine) => Some(mine.place),
                    // Nothing left to dig: go home.
                    None => self
                        .nearest_drop(worker)
                        .filter(|home| !worker.place.is_near(*home, LOITER)),
                }
            }
            Work::Digging => {
                if is_due(worker.ready, now) {
                    worker.work = Work::Seeking;
                    if let Some(mine) = self.mines.get_mut(usize::from(worker.post))
                        && mine.gold > 0
                    {
                        mine.gold = mine.gold.saturating_sub(LOAD);
                        worker.work = Work::Carrying;
                    }
                }
                None
            }
            Work::Carrying => {
                let home = self.nearest_drop(worker);
                if home.is_some_and(|home| worker.place.is_near(home, REACH)) {
                    worker.work = Work::Seeking;
                    self.earn(worker.side, LOAD);
                    None
                } else {
                    home
                }
            }
        };
        let speed = worker.kind.stats().speed;
        worker.velocity = match goal {
            Some(goal) => worker.place.velocity_to(goal, speed, THOUGHT as i32),
            None => (0, 0),
        };
    }

    fn drops_of(&self, side: SideId) -> &[Place] {
        let of = &self.scratch.drops_of;
        match (of.get(side.index()), of.get(side.index() + 1)) {
            (Some(begin), Some(end)) => &self.scratch.drops[usize::from(*begin)..usize::from(*end)],
            _ => &[],
        }
    }

    fn nearest_drop(&self, worker: &Unit) -> Option<Place> {
        let drops = self.drops_of(worker.side).iter().copied();
        drops.min_by_key(|place| place.distance_squared(worker.place))
    }

    /// The mine with gold that is nearest to a worker, if it is near to where gold is brought.
    fn nearest_mine(&self, worker: &Unit) -> u16 {
        let drops = self.drops_of(worker.side);
        let mines = self.mines.iter().enumerate().filter(|(_, mine)| {
            mine.gold > 0 && drops.iter().any(|drop| drop.is_near(mine.place, COMMUTE))
        });
        let nearest = mines.min_by_key(|(_, mine)| mine.place.distance_squared(worker.place));
        nearest.map_or(NO_MINE, |(at, _)| at as u16)
    }
}

#[inline]
fn squad_of(unit: &Unit) -> usize {
    unit.side.index() * SQUADS + usize::from(unit.squad)
}

/// Whether a time on the clock of decisions has come.
#[inline]
fn is_due(ready: u16, now: u16) -> bool {
    now.wrapping_sub(ready) < 1 << 15
}
