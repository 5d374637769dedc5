//! What lies on the field or flies over it: stars, containers, projectiles and bombs.

use samestep_sync::{Effect, EntityId, Events, Inputs, Record};

use crate::claim::Deed;
use crate::controls::Controls;
use crate::event::HatHuntersEvent;
use crate::field::{Field, Ground};
use crate::hat_hunters::HatHunters;
use crate::motion::RADIUS;
use crate::place::{Cell, ONE, Place};

/// How far a star or a container reaches from its middle.
pub const THING: i32 = 260;

/// How far a green projectile reaches from its middle.
pub const GREEN: i32 = 140;

/// How fast a green projectile flies, in units per tick: nine cells a second.
pub const GREEN_SPEED: i32 = 154;

/// How fast a star moves that was knocked out of a character, in units per tick.
pub const STAR_SPEED: i32 = 72;

/// Ticks until a bomb bursts.
pub const FUSE: u32 = 90;

/// How far a bomb reaches, in units.
pub const BLAST: i32 = 2 * ONE + ONE / 4;

/// A star.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Star {
    /// Where.
    pub place: Place,
    /// How it moves over the field, in units per tick: nowhere if it lies.
    pub velocity: Place,
    /// When it can be collected, by the game's clock.
    pub from: u32,
    /// Until when it waits at an obstacle for a bounce to be confirmed.
    pub waits_until: Option<u32>,
}

impl Star {
    /// One that lies there.
    pub fn lying(place: Place) -> Self {
        Self {
            place,
            velocity: Place::default(),
            from: 0,
            waits_until: None,
        }
    }

    /// Whether it was knocked out of a character and moves.
    pub fn is_moving(&self) -> bool {
        self.velocity != Place::default()
    }
}

/// A container with an item in it; which one shows when it is collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Container {
    /// Where.
    pub cell: Cell,
}

/// A box that a character has placed. Those that a map begins with are not listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct PlacedBox {
    /// Where.
    pub cell: Cell,
    /// When it falls apart, by the game's clock.
    pub until: u32,
}

/// A green projectile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Projectile {
    /// Where.
    pub place: Place,
    /// In units per tick.
    pub velocity: Place,
    /// The character that shot it, which it does not hit before it has bounced.
    pub by: EntityId,
    /// How often it has bounced.
    pub bounces: u8,
    /// Until when it waits at an obstacle for a bounce to be confirmed.
    pub waits_until: Option<u32>,
    /// Whether it has hit a character, and waits for that to be confirmed.
    pub is_spent: bool,
}

/// A bomb that will burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Bomb {
    /// Where.
    pub place: Place,
    /// The character that put it there.
    pub by: EntityId,
    /// When it bursts, by the game's clock.
    pub bursts_at: u32,
}

/// What comes next on a straight way.
enum Ahead {
    Free(Place),
    /// The obstacle, and the velocity after bouncing off it.
    Obstacle(Cell, Place),
}

fn ahead(place: Place, velocity: Place, field: &Field<'_>) -> Ahead {
    let to = place.offset(velocity);
    let beside = [Place::new(to.x, place.y), Place::new(place.x, to.y)];
    // A box or a bush may appear around something that flies: it flies on, out of that cell.
    let inside = place.column_and_row();
    let blocks = |place: Place| place.column_and_row() != inside && field.blocks(place);
    let [across, down] = beside.map(blocks);
    let (obstacle, bounced) = match (across, down) {
        (false, false) if !blocks(to) => return Ahead::Free(to),
        (true, false) => (beside[0], Place::new(-velocity.x, velocity.y)),
        (false, true) => (beside[1], Place::new(velocity.x, -velocity.y)),
        (true, true) => (beside[0], Place::new(-velocity.x, -velocity.y)),
        (false, false) => (to, Place::new(-velocity.x, -velocity.y)),
    };
    Ahead::Obstacle(obstacle.cell(), bounced)
}

/// What something that flies does in a tick.
enum Flight {
    Goes(Place),
    Waits(Option<u32>),
    Bounces(Cell, Place),
}

impl HatHunters {
    /// A state may be forged: nothing is farther out or faster than anything is.
    pub(crate) fn bound_things(&mut self) {
        let slow = |velocity: Place| {
            let bound = |along: i32| along.clamp(-2 * GREEN_SPEED, 2 * GREEN_SPEED);
            Place::new(bound(velocity.x), bound(velocity.y))
        };
        for projectile in self.projectiles.as_mut_slice() {
            projectile.place = projectile.place.bounded();
            projectile.velocity = slow(projectile.velocity);
        }
        for star in self.stars.as_mut_slice() {
            star.place = star.place.bounded();
            star.velocity = slow(star.velocity);
        }
        for bomb in self.bombs.as_mut_slice() {
            bomb.place = bomb.place.bounded();
        }
    }

    /// One tick of something that flies, and when a bounce off an obstacle applies.
    fn fly(
        &self,
        inputs: &Inputs<'_, Controls>,
        place: Place,
        velocity: Place,
        waits_until: Option<u32>,
    ) -> Flight {
        match ahead(place, velocity, &self.field()) {
            Ahead::Free(to) => Flight::Goes(to),
            Ahead::Obstacle(cell, bounced) => match waits_until {
                Some(until) if self.clock < until => Flight::Waits(waits_until),
                Some(_) => Flight::Bounces(cell, bounced),
                None => match inputs.effect(self.confirmations.bounced) {
                    Effect::Now => Flight::Bounces(cell, bounced),
                    Effect::After(ticks) => Flight::Waits(Some(self.later(ticks as u32))),
                    Effect::Elsewhere => Flight::Waits(None),
                },
            },
        }
    }

    pub(crate) fn move_projectiles(
        &mut self,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<HatHuntersEvent>,
    ) {
        let mut at = 0;
        while let Some(&id) = self.projectiles.ids().get(at) {
            at += 1;
            let projectile = self.projectiles[id];
            if projectile.is_spent {
                continue;
            }
            if self.hit_somebody(id, &projectile, inputs, events) {
                // It may be gone, and another one be in its place.
                at = self.projectiles.index_of(id).map_or(at - 1, |at| at + 1);
                continue;
            }
            let Projectile {
                place,
                velocity,
                waits_until,
                ..
            } = projectile;
            let flight = self.fly(inputs, place, velocity, waits_until);
            if let Flight::Bounces(cell, _) = flight {
                events.emit(HatHuntersEvent::Bounced { place });
                if self.field().at(cell) == Ground::Box {
                    self.decide(inputs, projectile.by, Deed::RemoveBox { cell }, events);
                }
                if projectile.bounces >= self.rules.bounces {
                    self.projectiles.remove(id);
                    events.emit(HatHuntersEvent::Broke { place });
                    at -= 1;
                    continue;
                }
            }
            let Some(projectile) = self.projectiles.get_mut(id) else {
                continue;
            };
            match flight {
                Flight::Goes(to) => {
                    projectile.place = to;
                    projectile.waits_until = None;
                }
                Flight::Waits(until) => projectile.waits_until = until,
                Flight::Bounces(_, velocity) => {
                    projectile.velocity = velocity;
                    projectile.bounces = projectile.bounces.saturating_add(1);
                    projectile.waits_until = None;
                }
            }
        }
    }

    /// Whether a projectile has hit a character and flies no farther.
    fn hit_somebody(
        &mut self,
        id: EntityId,
        projectile: &Projectile,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<HatHuntersEvent>,
    ) -> bool {
        let Projectile { place, by, .. } = *projectile;
        let spares = (projectile.bounces == 0).then_some(by);
        let hit = self.characters.iter().find(|(other, character)| {
            !character.is_out
                && Some(*other) != spares
                && place.is_within(character.place(), RADIUS + GREEN)
        });
        let Some((victim, character)) = hit else {
            return false;
        };
        let deed = Deed::Hit {
            victim,
            from: character.place(),
            projectile: Some(id),
        };
        if !self.decide(inputs, by, deed, events) {
            return false;
        }
        if let Some(projectile) = self.projectiles.get_mut(id) {
            projectile.is_spent = true;
        }
        true
    }

    pub(crate) fn move_stars(
        &mut self,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<HatHuntersEvent>,
    ) {
        for at in 0..self.stars.len() {
            let star = self.stars.as_slice()[at];
            if !star.is_moving() {
                continue;
            }
            let flight = self.fly(inputs, star.place, star.velocity, star.waits_until);
            let is_slowing = self.clock.is_multiple_of(SLOWING);
            let Some(star) = self.stars.row_mut(at) else {
                continue;
            };
            match flight {
                Flight::Goes(to) => {
                    star.place = to;
                    star.waits_until = None;
                }
                Flight::Waits(until) => star.waits_until = until,
                Flight::Bounces(_, velocity) => {
                    star.velocity = velocity;
                    star.waits_until = None;
                    events.emit(HatHuntersEvent::Bounced { place: star.place });
                }
            }
            if is_slowing && star.waits_until.is_none() {
                star.velocity.x -= star.velocity.x.signum() * SLOWED.min(star.velocity.x.abs());
                star.velocity.y -= star.velocity.y.signum() * SLOWED.min(star.velocity.y.abs());
            }
        }
    }

    pub(crate) fn burst_bombs(
        &mut self,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<HatHuntersEvent>,
    ) {
        while let Some((id, bomb)) = self.ripe_bomb() {
            self.bombs.remove(id);
            let Bomb { place, by, .. } = bomb;
            events.emit(HatHuntersEvent::Burst { place });
            let (column, row) = place.column_and_row();
            for (x, y) in (-2..=2).flat_map(|y| (-2..=2).map(move |x| (x, y))) {
                let middle = Place::middle_of(column + x, row + y);
                if self.field().ground(column + x, row + y) == Ground::Box
                    && place.is_within(middle, BLAST)
                {
                    let cell = middle.cell();
                    self.decide(inputs, by, Deed::RemoveBox { cell }, events);
                }
            }
            for at in 0..self.characters.len() {
                let (victim, character) =
                    (self.characters.ids()[at], self.characters.as_slice()[at]);
                if !character.is_out && place.is_within(character.place(), BLAST) {
                    let deed = Deed::Hit {
                        victim,
                        from: character.place(),
                        projectile: None,
                    };
                    self.decide(inputs, by, deed, events);
                }
            }
        }
    }

    /// Boxes that are old enough fall apart.
    pub(crate) fn rot_boxes(&mut self, events: &mut Events<HatHuntersEvent>) {
        while let Some(oldest) = self.boxes.first().filter(|it| it.until <= self.clock) {
            let cell = oldest.cell;
            self.boxes.remove(0);
            self.remove_box(cell, events);
        }
    }

    /// A box is gone, if there is one.
    pub(crate) fn remove_box(&mut self, cell: Cell, events: &mut Events<HatHuntersEvent>) {
        if self.field().at(cell) == Ground::Box {
            self.set_ground(cell, Ground::Floor);
            self.boxes.retain(|placed| placed.cell != cell);
            events.emit(HatHuntersEvent::BoxRemoved { cell });
        }
    }

    fn ripe_bomb(&self) -> Option<(EntityId, Bomb)> {
        let mut bombs = self.bombs.iter();
        let ripe = bombs.find(|(_, bomb)| bomb.bursts_at <= self.clock);
        ripe.map(|(id, bomb)| (id, *bomb))
    }
}

/// A star that moves gets slower by so much along each axis, every so many ticks.
const SLOWED: i32 = 4;
const SLOWING: u32 = 12;
