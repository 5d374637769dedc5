//! The better bot: it leads its shots, dodges, keeps away from the lava, takes power-ups and saves itself.

use samestep_playable::Level;
use samestep_sync::Rng;

use super::{Wish, enemies, nearest};
use crate::ability::Ability;
use crate::avatar::{Avatar, HEALTH, RADIUS};
use crate::fireball::{FIREBALL_RADIUS, FIREBALL_SPEED, FIREBALL_TICKS, Fireball};
use crate::motion::Body;
use crate::place::{HEADINGS, Heading, ONE, Place};
use crate::rawrlocks::Rawrlocks;

/// Ticks ahead for which it tries out where a step leads.
const FORESIGHT: i32 = 36;

/// Which of these ticks it looks at: every third is enough for a fireball, which is as wide as its way of five.
const STRIDE: i32 = 3;

/// How far from the lava it feels safe, in units.
const SAFE: i32 = 70 * ONE;

/// How far it likes to be from others that it cannot scourge, in units.
const DISTANCE: i32 = 190 * ONE;

/// How far it stays away from others that can scourge, in units: their reach, and what they walk while they cast.
const THREAT: i32 = 150 * ONE;

/// Farther from the lava than so many units, nothing throws it in.
const FARTHEST_THROW: i32 = 300 * ONE;

#[derive(Clone, Debug)]
pub(super) struct Duelist {
    /// Ticks from one decision where to walk to the next.
    reaction: u64,
    /// How far it may aim beside, in yards.
    clumsiness: i32,
    walk: Option<Heading>,
    think_at: u64,
    shoot_at: u64,
}

impl Duelist {
    pub fn new(level: Level) -> Self {
        let (reaction, clumsiness) = match level {
            Level::Easy | Level::Normal => (9, 18),
            Level::Hard => (3, 2),
        };
        Self {
            reaction,
            clumsiness,
            walk: None,
            think_at: 0,
            shoot_at: 0,
        }
    }

    pub fn decide(&mut self, tick: u64, own: &Avatar, game: &Rawrlocks, rng: &mut Rng) -> Wish {
        if tick >= self.think_at || game.arena().is_lava(own.place()) {
            self.think_at = tick + self.reaction;
            self.walk = choose_walk(own, game);
        }
        let walk = self.walk;
        let cast = self
            .save_itself(own, game)
            .or_else(|| dodge(own, walk, game))
            .or_else(|| flee(own, game))
            .or_else(|| scourge(own, walk, game))
            .or_else(|| self.shoot(tick, own, game, rng));
        Wish { walk, cast }
    }

    /// A teleport, or else a thrust, if walking back does not help in time.
    fn save_itself(&self, own: &Avatar, game: &Rawrlocks) -> Option<(Ability, Place)> {
        let is_far = game.arena().margin(own.place()) > FARTHEST_THROW;
        if !game.is_fighting() || is_far {
            return None;
        }
        let clock = game.clock();
        let mut body = own.body;
        let inwards = Heading::of(own.place().to(Place::CENTRE));
        let speed = game.speed_of(own.player);
        let mut burnt = 0;
        for _ in 0..45 {
            body.advance(inwards, speed);
            burnt += i32::from(game.arena().is_lava(body.place));
        }
        // In the lava for half a second, and it is worth going back to.
        if burnt < 30 || game.arena().radius < 2 * RADIUS {
            return None;
        }
        let back = game
            .arena()
            .project(own.place())
            .with_length(game.arena().radius / 2);
        if own.can_cast(Ability::Teleport, clock) {
            return Some((Ability::Teleport, back));
        }
        // A thrust towards the centre adds to what knocks it outwards, and so stops that.
        let can = own.can_cast(Ability::Thrust, clock);
        can.then_some((Ability::Thrust, own.place().offset(own.place().reversed())))
    }

    /// A fireball at where an enemy will be when it arrives.
    fn shoot(
        &mut self,
        tick: u64,
        own: &Avatar,
        game: &Rawrlocks,
        rng: &mut Rng,
    ) -> Option<(Ability, Place)> {
        if tick < self.shoot_at || !own.can_cast(Ability::Fireball, game.clock()) {
            return None;
        }
        let speed = game.speed_of(own.player);
        let cast_ticks = Ability::Fireball.stats().cast_ticks;
        let muzzle = ahead(own.body, self.walk, speed, cast_ticks);
        let met = |enemy: &Avatar| {
            let (way, ticks) = lead(muzzle, enemy, cast_ticks, game)?;
            Some((ticks, enemy.health, enemy.player, way))
        };
        let (ticks, .., way) = enemies(own, game)
            .filter_map(met)
            .min_by_key(|(ticks, health, player, _)| (*ticks / 16, *health, *player))?;
        self.shoot_at = tick + self.reaction;
        // A long shot is dodged more often than not.
        if ticks > FIREBALL_TICKS * 3 / 4 && rng.below(4) > 0 {
            return None;
        }
        let mut beside = || rng.range(-self.clumsiness..self.clumsiness + 1) * ONE;
        let way = way.offset(Place::new(beside(), beside()));
        // The aim counts from where it stands now.
        Some((Ability::Fireball, own.place().offset(way)))
    }
}

/// A thrust across the way of a fireball that would hit whatever it walks.
fn dodge(own: &Avatar, walk: Option<Heading>, game: &Rawrlocks) -> Option<(Ability, Place)> {
    if !game.is_fighting() || !own.can_cast(Ability::Thrust, game.clock()) {
        return None;
    }
    let speed = game.speed_of(own.player);
    let mut body = own.body;
    for tick in 1..=24 {
        body.advance(walk, speed);
        // Too late before that.
        if tick < 8 {
            continue;
        }
        let hits = game.fireballs.as_slice().iter().find(|fireball| {
            let there = flown(fireball, tick);
            let gap = body.place.distance(there) - RADIUS - FIREBALL_RADIUS;
            fireball.player != own.player && gap < 0
        });
        let Some(fireball) = hits else {
            continue;
        };
        let way = fireball.velocity.with_length(100 * ONE);
        let sides = [Place::new(-way.y, way.x), Place::new(way.y, -way.x)];
        let sides = sides.map(|side| own.place().offset(side));
        // Away from the middle of the fireball, unless there is lava.
        let start = fireball.place;
        let off = |side: &Place| {
            let is_lava = game.arena().margin(*side) < RADIUS;
            let across = start.to(own.place()).dot(own.place().to(*side));
            (!is_lava, across)
        };
        let best = sides.into_iter().max_by_key(off)?;
        return Some((Ability::Thrust, best));
    }
    None
}

/// Where a fireball will be.
fn flown(fireball: &Fireball, ticks: i32) -> Place {
    let step = fireball.velocity.at_most(FIREBALL_SPEED);
    fireball
        .place
        .bounded()
        .offset(Place::new(step.x * ticks, step.y * ticks))
}

/// A teleport to the other side of the arena, if several others are close, or one and it is weak.
fn flee(own: &Avatar, game: &Rawrlocks) -> Option<(Ability, Place)> {
    let can = own.can_cast(Ability::Teleport, game.clock()) && game.is_fighting();
    let close = |enemy: &&Avatar| own.place().distance(enemy.place()) < THREAT * 2 / 3;
    let count = enemies(own, game).filter(close).count();
    let others = enemies(own, game).count();
    let is_weak = own.health < HEALTH / 3;
    if !can || count == 0 || (count < 2 && !is_weak) || others < 2 {
        return None;
    }
    // Of eight places, the one that is farthest from everybody.
    let ring = game.arena().radius / 2;
    let places = (0..HEADINGS).step_by(4).map(|turn| Heading(turn).way(ring));
    let gap = |place: &Place| {
        let distances = enemies(own, game).map(|enemy| enemy.place().distance(*place));
        distances.min()
    };
    Some((Ability::Teleport, places.max_by_key(gap)?))
}

/// Where something is after so many ticks.
fn ahead(mut body: Body, walk: Option<Heading>, speed: i32, ticks: u32) -> Place {
    (0..ticks).for_each(|_| body.advance(walk, speed));
    body.place
}

/// The way from a muzzle to where an enemy will be when a fireball gets there, and the ticks that this takes.
fn lead(muzzle: Place, enemy: &Avatar, cast_ticks: u32, game: &Rawrlocks) -> Option<(Place, u32)> {
    let speed = game.speed_of(enemy.player);
    let mut body = enemy.body;
    (0..cast_ticks).for_each(|_| body.advance(enemy.walk, speed));
    for ticks in 0..FIREBALL_TICKS {
        let way = muzzle.to(body.place);
        if way.length() <= FIREBALL_SPEED * ticks as i32 + RADIUS {
            return Some((way, ticks));
        }
        body.advance(enemy.walk, speed);
    }
    None
}

/// A scourge, if somebody will be in its reach when it takes effect.
fn scourge(own: &Avatar, walk: Option<Heading>, game: &Rawrlocks) -> Option<(Ability, Place)> {
    if !own.can_cast(Ability::Scourge, game.clock()) {
        return None;
    }
    let stats = Ability::Scourge.stats();
    let here = ahead(own.body, walk, game.speed_of(own.player), stats.cast_ticks);
    let reached = enemies(own, game).any(|enemy| {
        let speed = game.speed_of(enemy.player);
        let there = ahead(enemy.body, enemy.walk, speed, stats.cast_ticks);
        here.distance(there) <= stats.reach + RADIUS / 2
    });
    reached.then_some((Ability::Scourge, own.place()))
}

/// Whether an enemy could scourge whoever comes near.
fn may_scourge(enemy: &Avatar, clock: u32) -> bool {
    enemy.ready[Ability::Scourge as usize] <= clock.saturating_add(FORESIGHT as u32)
}

/// The best of sixteen directions and standing still, by where each leads.
fn choose_walk(own: &Avatar, game: &Rawrlocks) -> Option<Heading> {
    let goal = goal(own, game);
    let ways = (0..HEADINGS).step_by(2).map(|turn| Some(Heading(turn)));
    let ways = core::iter::once(None).chain(ways);
    let best = ways.max_by_key(|walk| (worth(own, *walk, goal, game), walk.is_none()));
    best.flatten()
}

/// Where it would like to be.
fn goal(own: &Avatar, game: &Rawrlocks) -> Place {
    let here = own.place();
    let clock = game.clock();
    let is_nearest = |place: Place| {
        let distance = here.distance(place);
        enemies(own, game).all(|enemy| enemy.place().distance(place) > distance)
    };
    let power = game.power_ups.iter().find(|power| {
        let place = power.kind.place();
        let is_safe = game.arena().margin(place) > SAFE / 2;
        let is_close = here.distance(place) < 150 * ONE;
        power.is_available(clock) && is_safe && (is_close || is_nearest(place))
    });
    if let Some(power) = power {
        return power.kind.place();
    }
    let Some(enemy) = nearest(own, game) else {
        return Place::CENTRE;
    };
    // Between the enemy and the centre, so that what is thrown away is thrown out: close if only the own scourge is ready, else at a distance.
    let wants = match own.can_cast(Ability::Scourge, clock) && !may_scourge(enemy, clock) {
        true => Ability::Scourge.stats().reach / 2,
        false => DISTANCE,
    };
    let inwards = enemy.place().reversed().at_most(wants);
    enemy.place().offset(inwards)
}

/// What a direction is worth: the nearer the goal the better, but nothing is worth lava or a fireball.
fn worth(own: &Avatar, walk: Option<Heading>, goal: Place, game: &Rawrlocks) -> i64 {
    const LAVA: i64 = 4000;
    const FIRE: i64 = 2500;
    const BLAST: i64 = 900;
    let speed = game.speed_of(own.player);
    let clock = game.clock();
    let mut body = own.body;
    let mut worth = 0;
    let arena = game.arena();
    let shrinks_in = arena.shrinks_at.saturating_sub(clock);
    for tick in 1..=FORESIGHT {
        body.advance(walk, speed);
        if tick % STRIDE != 0 {
            continue;
        }
        let here = body.place;
        if arena.is_lava(here) {
            worth -= LAVA / 4;
        }
        for fireball in game.fireballs.as_slice() {
            if fireball.player == own.player || clock.saturating_add(tick as u32) > fireball.until {
                continue;
            }
            let gap = here.distance(flown(fireball, tick)) - RADIUS - FIREBALL_RADIUS;
            if gap < 8 * ONE {
                worth -= FIRE;
            }
        }
    }
    // The edge that there will be soon.
    let step = if shrinks_in < 150 {
        game.rules.shrink_by
    } else {
        0
    };
    let margin = i64::from(arena.margin(body.place).saturating_sub(step) / ONE);
    let safe = i64::from(SAFE / ONE).min(i64::from(arena.radius / ONE) / 2);
    if margin < safe {
        worth -= (safe - margin) * 30;
    }
    for enemy in enemies(own, game) {
        let distance = body.place.distance(enemy.place());
        let is_casting = enemy
            .casting
            .is_some_and(|casting| casting.ability == Ability::Scourge);
        if is_casting && distance < Ability::Scourge.stats().reach + RADIUS + 10 * ONE {
            worth -= BLAST;
        }
        if may_scourge(enemy, clock) {
            worth -= 14 * i64::from((THREAT - distance).max(0) / ONE);
        }
    }
    worth - 6 * i64::from(body.place.distance(goal) / ONE)
}
