//! Claims: effects that were decided in a tick which the authority may still change, and wait until it cannot.
//!
//! Whether a claim is granted depends on boxes, stars, containers and earlier claims alone, which are settled when it is due. It never depends on where
//! characters are by then: so its outcome is the same when the last ticks are simulated again.

use samestep_sync::{Confirmation, Effect, EntityId, Events, Inputs, Record, random};

use crate::character::{Character, made_id};
use crate::confirmations::Confirmations;
use crate::controls::Controls;
use crate::event::HatHuntersEvent;
use crate::field::Ground;
use crate::hat_hunters::{HatHunters, Salt};
use crate::item::ItemKind;
use crate::mode::Mode;
use crate::place::{Cell, Heading, ONE, Place};
use crate::things::{Bomb, FUSE, GREEN_SPEED, PlacedBox, Projectile, STAR_SPEED, Star};

/// The most claims that wait at once. One that finds no room is made again in the next tick, if there is still reason to.
pub const MAX_CLAIMS: usize = 64;

/// An effect that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Claim {
    /// When it is judged, by the game's clock.
    pub due: u32,
    /// When it was made: the earlier of two claims to the same star is granted.
    pub made: u32,
    /// The character that made it.
    pub by: EntityId,
    /// What it is about.
    pub deed: Deed,
}

/// What a character does to something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub enum Deed {
    /// Puts a box into a cell that it has left.
    PlaceBox {
        /// Where.
        cell: Cell,
    },
    /// Destroys a box.
    RemoveBox {
        /// Where.
        cell: Cell,
    },
    /// Collects a star.
    CollectStar {
        /// Which one.
        star: EntityId,
    },
    /// Collects an item.
    CollectItem {
        /// In which container.
        container: EntityId,
    },
    /// Uses the item that it holds.
    UseItem {
        /// What it is.
        item: ItemKind,
        /// Where the character was.
        place: Place,
        /// Where it looked.
        look: Heading,
    },
    /// Hits a character.
    Hit {
        /// Which one.
        victim: EntityId,
        /// Where it was.
        from: Place,
        /// With which projectile, which breaks.
        projectile: Option<EntityId>,
    },
    /// Steals a star from a character.
    Steal {
        /// From which one.
        victim: EntityId,
    },
    /// Catches a character.
    Catch {
        /// Which one.
        victim: EntityId,
        /// Where it was.
        from: Place,
    },
}

impl Deed {
    fn confirmation(&self, confirmations: &Confirmations) -> Confirmation {
        match self {
            Deed::PlaceBox { .. } => confirmations.box_placed,
            Deed::RemoveBox { .. } => confirmations.box_removed,
            Deed::CollectStar { .. }
            | Deed::Hit { .. }
            | Deed::Steal { .. }
            | Deed::Catch { .. } => confirmations.star_collected,
            Deed::CollectItem { .. } => confirmations.item_collected,
            Deed::UseItem { .. } => confirmations.projectile_started,
        }
    }

    /// What a character claims only once at a time.
    fn subject(&self) -> (u8, u32) {
        let cell = |cell: &Cell| u32::from(cell.row) << 8 | u32::from(cell.column);
        match self {
            Deed::PlaceBox { cell: at } => (0, cell(at)),
            Deed::RemoveBox { cell: at } => (1, cell(at)),
            Deed::CollectStar { star } => (2, star.number()),
            Deed::CollectItem { .. } => (3, 0),
            Deed::UseItem { .. } => (4, 0),
            Deed::Hit {
                victim, projectile, ..
            } => match projectile {
                Some(projectile) => (5, projectile.number()),
                None => (6, victim.number()),
            },
            Deed::Steal { .. } => (7, 0),
            Deed::Catch { victim, .. } => (8, victim.number()),
        }
    }
}

impl HatHunters {
    /// A character does something: now, or when it is certain, or as the authority says. False if nothing comes of it in this tick.
    pub(crate) fn decide(
        &mut self,
        inputs: &Inputs<'_, Controls>,
        by: EntityId,
        deed: Deed,
        events: &mut Events<HatHuntersEvent>,
    ) -> bool {
        let made = self.clock;
        match inputs.effect(deed.confirmation(&self.confirmations)) {
            Effect::Now => {
                let due = made;
                let claim = Claim {
                    due,
                    made,
                    by,
                    deed,
                };
                self.grant(&claim, inputs, events);
                true
            }
            Effect::After(ticks) => {
                let is_same =
                    |claim: &Claim| claim.by == by && claim.deed.subject() == deed.subject();
                if self.claims.len() >= MAX_CLAIMS || self.claims.iter().any(is_same) {
                    return false;
                }
                let claim = Claim {
                    due: self.later(ticks as u32),
                    made,
                    by,
                    deed,
                };
                let at = self
                    .claims
                    .partition_point(|other| (other.made, other.by) <= (made, by));
                self.claims.insert(at, claim);
                true
            }
            Effect::Elsewhere => false,
        }
    }

    /// Judges the claims that are due, in the order in which they were made.
    pub(crate) fn settle(
        &mut self,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<HatHuntersEvent>,
    ) {
        let mut at = 0;
        while let Some(claim) = self.claims.get(at).copied() {
            if claim.due > self.clock {
                at += 1;
                continue;
            }
            self.claims.remove(at);
            self.grant(&claim, inputs, events);
        }
    }

    /// Applies a claim if it is justified by what is settled.
    fn grant(
        &mut self,
        claim: &Claim,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<HatHuntersEvent>,
    ) {
        let by = claim.by;
        match claim.deed {
            Deed::PlaceBox { cell } => self.place_box(by, cell, events),
            Deed::RemoveBox { cell } => self.remove_box(cell, events),
            Deed::CollectStar { star } => {
                // Who is out collects nothing more.
                if !self.is_in(by) {
                    return;
                }
                if let Some(star) = self.stars.remove(star) {
                    if let Some(purse) = self.purses.get_mut(by) {
                        purse.stars = purse.stars.saturating_add(1);
                    }
                    events.emit(HatHuntersEvent::StarCollected {
                        character: by,
                        place: star.place,
                    });
                }
            }
            Deed::CollectItem { container } => self.collect_item(claim, container, events),
            Deed::UseItem { item, place, look } => {
                self.use_item(by, item, place, look, inputs, events);
            }
            Deed::Hit {
                victim,
                from,
                projectile,
            } => {
                if let Some(projectile) = projectile {
                    self.projectiles.remove(projectile);
                }
                self.hit(claim.made, victim, from, events);
            }
            Deed::Steal { victim } => self.steal(by, victim, events),
            Deed::Catch { victim, from } => self.catch(by, victim, from, events),
        }
    }

    fn is_in(&self, character: EntityId) -> bool {
        let character = self.characters.get(character);
        character.is_some_and(|character| !character.is_out)
    }

    fn place_box(&mut self, by: EntityId, cell: Cell, events: &mut Events<HatHuntersEvent>) {
        if let Some(character) = self.characters.get_mut(by) {
            let waits = |silhouette: crate::character::Silhouette| silhouette.cell == cell;
            if character.silhouette.is_some_and(waits) {
                character.silhouette = None;
            }
        }
        if self.is_free(cell) {
            self.set_ground(cell, Ground::Box);
            let until = self.later(self.rules.box_life);
            self.boxes.push(PlacedBox { cell, until });
            events.emit(HatHuntersEvent::BoxPlaced {
                character: by,
                cell,
            });
        }
    }

    /// The item follows from the container and the tick in which it was claimed, not from what was drawn before.
    fn collect_item(
        &mut self,
        claim: &Claim,
        container: EntityId,
        events: &mut Events<HatHuntersEvent>,
    ) {
        let by = claim.by;
        if !self.is_in(by) {
            return;
        }
        let Some(found) = self.containers.remove(container) else {
            return;
        };
        let cell = found.cell;
        events.emit(HatHuntersEvent::ItemCollected {
            character: by,
            cell,
        });
        if !self.knows_all() {
            return;
        }
        let number = self.random(Salt::Item, container.number(), claim.made);
        let item = self.rules.items.draw(number);
        if let Some(purse) = self.purses.get_mut(by) {
            purse.item = item;
        }
        if let Some((player, item)) = self.player_of(by).zip(item) {
            events.emit(HatHuntersEvent::ItemDrawn { player, item });
        }
    }

    fn use_item(
        &mut self,
        by: EntityId,
        item: ItemKind,
        place: Place,
        look: Heading,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<HatHuntersEvent>,
    ) {
        let Some(purse) = self.purses.get_mut(by) else {
            return;
        };
        if purse.item != Some(item) {
            return;
        }
        purse.item = None;
        purse.made = purse.made.wrapping_add(1);
        let id = made_id(by, purse.made);
        events.emit(HatHuntersEvent::ItemUsed {
            character: by,
            item,
            place,
        });
        match item {
            ItemKind::Green => {
                let projectile = Projectile {
                    place,
                    velocity: look.way(GREEN_SPEED),
                    by,
                    bounces: 0,
                    waits_until: None,
                    is_spent: false,
                };
                if self.projectiles.len() < MAX_FLYING {
                    self.projectiles.insert_fixed(id, projectile);
                }
            }
            ItemKind::Bomb => {
                let bursts_at = self.later(FUSE);
                let bomb = Bomb {
                    place,
                    by,
                    bursts_at,
                };
                if self.bombs.len() < MAX_FLYING {
                    self.bombs.insert_fixed(id, bomb);
                }
            }
            ItemKind::Axe => self.chop(by, place, look, inputs, events),
            ItemKind::Magnet => {
                let others = self.characters.iter();
                let others = others.filter(|(id, other)| *id != by && !other.is_out);
                let near = others.filter(|(_, other)| place.is_within(other.place(), MAGNET));
                let nearest = near.min_by_key(|(id, other)| (place.distance(other.place()), *id));
                if let Some(victim) = nearest.map(|(id, _)| id) {
                    self.decide(inputs, by, Deed::Steal { victim }, events);
                }
            }
            ItemKind::Boots => {
                let until = self.later(BOOTS_LAST);
                if let Some(character) = self.characters.get_mut(by) {
                    character.fast_until = until;
                }
            }
            ItemKind::Swap => self.swap(by),
            ItemKind::Whistle => {
                let clock = self.clock;
                for mind in self.minds.as_mut_slice() {
                    mind.startle(clock);
                }
            }
        }
    }

    /// Destroys the boxes ahead, up to the first stump or bush.
    fn chop(
        &mut self,
        by: EntityId,
        place: Place,
        look: Heading,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<HatHuntersEvent>,
    ) {
        let mut last = place.cell();
        for part in 1..=4 * AXE {
            let cell = place.offset(look.way(part * ONE / 4)).cell();
            if core::mem::replace(&mut last, cell) == cell {
                continue;
            }
            match self.field().at(cell) {
                Ground::Box => {
                    self.decide(inputs, by, Deed::RemoveBox { cell }, events);
                }
                Ground::Floor => {}
                Ground::Stump | Ground::Bush => return,
            }
        }
    }

    /// Changes places with a character that nobody plays. Which ones these are, only who knows everything can say.
    fn swap(&mut self, by: EntityId) {
        if !self.knows_all() {
            return;
        }
        let is_in = |id: &&EntityId| **id != by && self.is_in(**id);
        let count = self.minds.ids().iter().filter(is_in).count() as u64;
        let number = self.random(Salt::Swap, by.number(), self.clock);
        let Some(nth) = number.checked_rem(count) else {
            return;
        };
        let other = self.minds.ids().iter().filter(is_in).nth(nth as usize);
        let Some(other) = other.copied() else {
            return;
        };
        let bodies = [by, other].map(|id| self.characters.get(id).map(|one| one.body));
        for (id, body) in [by, other].into_iter().zip(bodies.into_iter().rev()) {
            if let Some((character, body)) = self.characters.get_mut(id).zip(body) {
                character.body = body;
            }
        }
    }

    /// A character that is hit loses a star, which moves away from it.
    fn hit(
        &mut self,
        made: u32,
        victim: EntityId,
        place: Place,
        events: &mut Events<HatHuntersEvent>,
    ) {
        if !self.is_in(victim) {
            return;
        }
        events.emit(HatHuntersEvent::Hit { victim, place });
        let from = self.later(STAR_REST);
        let heading = Heading((random::hash(made.into(), victim.number().into(), 0) >> 59) as u8);
        if let Some(purse) = self.purses.get_mut(victim)
            && purse.stars > 0
        {
            purse.stars -= 1;
            purse.made = purse.made.wrapping_add(1);
            let star = Star {
                velocity: heading.way(STAR_SPEED),
                from,
                ..Star::lying(place)
            };
            self.stars.insert_fixed(made_id(victim, purse.made), star);
            events.emit(HatHuntersEvent::StarLost { victim, place });
        }
        if self.rules.mode == Mode::Elimination {
            let limit = self.rules.hits;
            if let Some(character) = self.characters.get_mut(victim) {
                character.hits = character.hits.saturating_add(1);
                if character.hits >= limit {
                    self.put_out(victim, place, events);
                }
            }
        }
    }

    fn steal(&mut self, by: EntityId, victim: EntityId, events: &mut Events<HatHuntersEvent>) {
        if !self.is_in(by) || !self.is_in(victim) {
            return;
        }
        // Who does not know how many stars another has waits for what the authority says.
        let Some(purse) = self.purses.get_mut(victim).filter(|purse| purse.stars > 0) else {
            return;
        };
        purse.stars -= 1;
        if let Some(purse) = self.purses.get_mut(by) {
            purse.stars = purse.stars.saturating_add(1);
        }
        events.emit(HatHuntersEvent::StarStolen { victim, by });
    }

    fn catch(
        &mut self,
        by: EntityId,
        victim: EntityId,
        from: Place,
        events: &mut Events<HatHuntersEvent>,
    ) {
        if !self.is_in(by) || !self.is_in(victim) {
            return;
        }
        events.emit(HatHuntersEvent::Caught { victim, by });
        for hunter in self.hunters.as_mut_slice() {
            if hunter.character == by {
                hunter.catches = hunter.catches.saturating_add(1);
            }
        }
        self.put_out(victim, from, events);
    }

    fn put_out(&mut self, id: EntityId, place: Place, events: &mut Events<HatHuntersEvent>) {
        if let Some(character) = self.characters.get_mut(id) {
            *character = Character {
                is_out: true,
                hits: character.hits,
                ..Character::new(character.place(), character.look)
            };
            events.emit(HatHuntersEvent::Out {
                character: id,
                place,
            });
        }
    }
}

/// The most projectiles, and bombs, at once.
pub(crate) const MAX_FLYING: usize = 32;

/// The reach of an axe, in cells.
const AXE: i32 = 6;

/// The reach of a magnet.
const MAGNET: i32 = 2 * ONE + ONE / 2;

/// Ticks for which boots last.
const BOOTS_LAST: u32 = 300;

/// Ticks for which a star that was knocked out cannot be collected.
const STAR_REST: u32 = 20;
