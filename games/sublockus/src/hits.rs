//! The acts of players: casting, hitting, using items.

use samestep_sync::{Events, PlayerId};

use crate::ability::Ability;
use crate::character::{Character, FIREBALL, FIREBALL_SPEED, FIREBALL_TICKS, HEALTH, Projectile};
use crate::controls::{Act, Controls};
use crate::event::SublockusEvent;
use crate::motion::{HALF, Velocity};
use crate::place::Place;
use crate::seat::id_of;
use crate::sublockus::{Judge, Present, Sublockus};
use crate::terrain::{WHOLE, box_entry};

/// The cause of a hit.
#[derive(Clone, Copy)]
struct Blow {
    by: PlayerId,
    ability: Ability,
    damage: i16,
    push: Place,
}

impl Sublockus {
    /// Does what a player says, except for moving.
    pub(crate) fn obey(
        &mut self,
        player: PlayerId,
        controls: &Controls,
        judge: &impl Judge,
        events: &mut Events<SublockusEvent>,
    ) {
        if controls.cast.is_none() && controls.act == Act::None {
            return;
        }
        let clock = self.clock;
        let Some(at) = self.place_of(player) else {
            return;
        };
        let character = self.characters.as_slice()[at];
        if !character.is_in(clock) || character.health <= 0 {
            return;
        }
        match controls.act {
            Act::Detonate(id) => {
                let projectile = self.projectiles.get(id).copied();
                if let Some(own) = projectile.filter(|projectile| projectile.player == player) {
                    self.projectiles.remove(id);
                    self.burst(own, events);
                }
            }
            act => self.handle_item(at, act, events),
        }
        let Some(ability) = controls.cast else {
            return;
        };
        let Some(caster) = self.characters.row_mut(at) else {
            return;
        };
        caster.aim = controls.aim;
        if !caster.can_cast(ability, clock) {
            return;
        }
        caster.mana -= ability.stats().mana;
        caster.ready[ability as usize] = clock.saturating_add(ability.stats().cooldown);
        let caster = *caster;
        events.emit(SublockusEvent::Cast {
            player,
            ability,
            place: caster.place(),
            aim: caster.aim,
        });
        match ability {
            Ability::Strike => self.strike(&caster, judge, events),
            Ability::Fireball => self.launch(at),
            Ability::Bolt => self.flash(&caster, judge, events),
            Ability::Mend => self.heal(at, caster.damage_of(ability), events),
        }
    }

    /// The position of a target as the attacker saw it (lag compensation), if the attacker can hurt it.
    fn target(&self, at: usize, by: PlayerId, judge: &impl Judge) -> Option<Place> {
        let character = self.characters.as_slice().get(at)?;
        let is_target = character.player != by && character.is_target(self.clock);
        is_target.then(|| judge.place_for(by, self.characters.ids()[at], character.place()))
    }

    fn strike(
        &mut self,
        caster: &Character,
        judge: &impl Judge,
        events: &mut Events<SublockusEvent>,
    ) {
        let reach = Ability::Strike.stats().reach;
        let from = caster.place();
        let middle = from.offset(caster.aim.way(reach * 3 / 4));
        for at in 0..self.characters.len() {
            let Some(place) = self.target(at, caster.player, judge) else {
                continue;
            };
            let gap = |from: i32, to: i32, half: i32| ((from - to).abs() - half).max(0);
            let gap = Place::new(
                gap(middle.x, place.x, HALF.x),
                gap(middle.y, place.y, HALF.y),
            );
            if gap.length() > reach || !self.terrain().sees(from, place) {
                continue;
            }
            let push = caster.push_of(Ability::Strike);
            let way = caster.aim.way(push);
            let blow = Blow {
                by: caster.player,
                ability: Ability::Strike,
                damage: caster.damage_of(Ability::Strike),
                push: Place::new(way.x, way.y / 2 - push / 2),
            };
            self.hurt(at, blow, place, events);
        }
    }

    fn flash(
        &mut self,
        caster: &Character,
        judge: &impl Judge,
        events: &mut Events<SublockusEvent>,
    ) {
        let (from, player) = (caster.place(), caster.player);
        let way = caster.aim.way(Ability::Bolt.stats().reach);
        let mut end = self.terrain().ray(from, from.offset(way));
        let mut hit = None;
        for at in 0..self.characters.len() {
            let Some(place) = self.target(at, player, judge) else {
                continue;
            };
            if let Some(enters) = box_entry(from, way, place, HALF).filter(|enters| *enters < end) {
                (end, hit) = (enters, Some((at, place)));
            }
        }
        let along = |way: i32| (i64::from(way) * end / WHOLE) as i32;
        let to = from.offset(Place::new(along(way.x), along(way.y)));
        events.emit(SublockusEvent::Flashed { player, from, to });
        if let Some((at, place)) = hit {
            let blow = Blow {
                by: player,
                ability: Ability::Bolt,
                damage: caster.damage_of(Ability::Bolt),
                push: caster.aim.way(caster.push_of(Ability::Bolt)),
            };
            self.hurt(at, blow, place, events);
        }
    }

    fn launch(&mut self, at: usize) {
        let until = self.later(FIREBALL_TICKS);
        let Some(caster) = self.characters.row_mut(at) else {
            return;
        };
        let id = id_of(caster.player, caster.fireballs);
        caster.fireballs = caster.fireballs.wrapping_add(1);
        let way = caster.aim.way(FIREBALL_SPEED);
        let projectile = Projectile {
            player: caster.player,
            place: caster.place(),
            velocity: Velocity { x: way.x, y: way.y },
            damage: caster.damage_of(Ability::Fireball),
            until,
        };
        self.projectiles.insert_fixed(id, projectile);
    }

    /// Fireballs fly on, and burst at the first they meet.
    pub(crate) fn move_projectiles(&mut self, events: &mut Events<SublockusEvent>) {
        let fastest = crate::motion::FASTEST;
        for at in (0..self.projectiles.len()).rev() {
            let mut projectile = self.projectiles.as_slice()[at];
            let way = Place::new(
                projectile.velocity.x.clamp(-fastest, fastest),
                projectile.velocity.y.clamp(-fastest, fastest),
            );
            let from = projectile.place.bounded();
            let mut end = self.terrain().ray(from, from.offset(way));
            let reach = HALF.offset(Place::new(FIREBALL, FIREBALL));
            for other in 0..self.characters.len() {
                let target = self.target(other, projectile.player, &Present);
                let enters = target.and_then(|place| box_entry(from, way, place, reach));
                end = enters.map_or(end, |enters| enters.min(end));
            }
            let along = |way: i32| (i64::from(way) * end / WHOLE) as i32;
            projectile.place = from.offset(Place::new(along(way.x), along(way.y)));
            if end < WHOLE || self.clock >= projectile.until {
                let id = self.projectiles.ids()[at];
                self.projectiles.remove(id);
                self.burst(projectile, events);
            } else if let Some(row) = self.projectiles.row_mut(at) {
                *row = projectile;
            }
        }
    }

    /// Hurts everybody around and throws them away, its owner without hurting.
    fn burst(&mut self, projectile: Projectile, events: &mut Events<SublockusEvent>) {
        let (player, middle) = (projectile.player, projectile.place);
        let place = middle;
        events.emit(SublockusEvent::Burst { player, place });
        let stats = Ability::Fireball.stats();
        for at in 0..self.characters.len() {
            let other = self.characters.as_slice()[at];
            let place = other.place();
            let is_own = other.player == player;
            if !other.is_in(self.clock) || !(is_own || other.is_target(self.clock)) {
                continue;
            }
            let gap = |from: i32, to: i32, half: i32| (to - from).abs().saturating_sub(half).max(0);
            let gap = Place::new(
                gap(middle.x, place.x, HALF.x),
                gap(middle.y, place.y, HALF.y),
            );
            let gap = gap.length();
            if gap > stats.reach || !self.terrain().sees(middle, place) {
                continue;
            }
            // All of it in the middle, a third at the edge.
            let share = |whole: i32| whole - whole * 2 * gap / (3 * stats.reach);
            let push = middle.to(place).with_length(share(stats.push));
            let push = Place::new(push.x, push.y - share(stats.push) / 4);
            if is_own {
                if let Some(own) = self.characters.row_mut(at) {
                    own.body.push(push);
                }
                continue;
            }
            let blow = Blow {
                by: player,
                ability: Ability::Fireball,
                damage: share(i32::from(projectile.damage)) as i16,
                push,
            };
            self.hurt(at, blow, place, events);
        }
    }

    /// `place` is where it was hit.
    fn hurt(&mut self, at: usize, blow: Blow, place: Place, events: &mut Events<SublockusEvent>) {
        let clock = self.clock;
        let Some(victim) = self.characters.row_mut(at) else {
            return;
        };
        let damage = victim.suffers(blow.damage);
        victim.health = victim.health.saturating_sub(damage);
        (victim.hurt_by, victim.hurt_at) = (Some(blow.by), clock);
        victim.body.push(blow.push);
        events.emit(SublockusEvent::Hit {
            victim: victim.player,
            by: Some(blow.by),
            ability: Some(blow.ability),
            damage,
            place,
        });
    }

    pub(crate) fn heal(&mut self, at: usize, health: i16, events: &mut Events<SublockusEvent>) {
        let Some(character) = self.characters.row_mut(at) else {
            return;
        };
        let missing = HEALTH.saturating_sub(character.health);
        let healed = missing.clamp(0, health);
        character.health += healed;
        events.emit(SublockusEvent::Healed {
            player: character.player,
            health: healed,
            place: character.place(),
        });
    }
}
