//! The state of the game and the order of the steps in a tick.

use samestep_sync::{
    Entities, EntityId, Events, Inputs, Interest, LagCompensation, List, PlayerId, Record,
    Replicate, Rng, Simulation,
};

use crate::arena::{Arena, MAX_NAME, Pad, Spot};
use crate::character::{Character, Projectile};
use crate::config::{MAX_PLAYERS, SublockusConfig, SublockusConfigError};
use crate::controls::{Act, Controls};
use crate::event::SublockusEvent;
use crate::item::{Item, POCKETS};
use crate::motion::Steer;
use crate::place::{ONE, Place};
use crate::seat::{Round, Seat};
use crate::terrain::{Block, MAX_HEIGHT, Row, Terrain};

#[cfg(test)]
mod tests;

/// The state of a game.
#[derive(Clone, Replicate)]
pub struct Sublockus {
    pub(crate) characters: Entities<Character>,
    pub(crate) projectiles: Entities<Projectile>,
    pub(crate) items: Entities<Item>,
    /// In ascending order of the players.
    pub(crate) seats: Vec<Seat>,
    pub(crate) rows: Vec<Row>,
    pub(crate) spawns: Vec<Spot>,
    pub(crate) name: List<u8, MAX_NAME>,
    pub(crate) width: u8,
    pub(crate) rules: Rules,
    pub(crate) round: Round,
    pub(crate) clock: u32,
    pub(crate) chance: Chance,
}

/// The rules that a [`SublockusConfig`] sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub(crate) struct Rules {
    pub grace: u32,
    pub respawn: u32,
    pub shelter: u32,
    pub frag_limit: Option<u16>,
    pub time_limit: Option<u32>,
    pub fog: bool,
}

/// The hidden state that only the authority knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub(crate) struct Chance {
    #[field(secret)]
    pub rng: Rng,
}

/// Ticks between two wounds by thorns, and what they take.
const THORNS: (u32, i16) = (30, 15);

/// Ticks in which a point of health comes back.
const HEALING: u32 = 30;

impl Sublockus {
    /// The beginning of a game. Whoever is present in the first tick gets a character there.
    pub fn new(config: &SublockusConfig) -> Result<Self, SublockusConfigError> {
        config.check()?;
        let arena = config.arena()?;
        let mut name = List::new();
        for byte in arena.name().bytes() {
            // The arena's name has been checked.
            let _ = name.push(byte);
        }
        let mut game = Self {
            characters: Entities::with_capacity(usize::from(MAX_PLAYERS)),
            projectiles: Entities::with_capacity(2 * usize::from(MAX_PLAYERS)),
            items: Entities::with_capacity(128),
            seats: Vec::with_capacity(usize::from(MAX_PLAYERS)),
            spawns: arena.spawns.clone(),
            width: arena.width,
            name,
            rules: Rules {
                grace: config.grace,
                respawn: config.respawn,
                shelter: config.shelter,
                frag_limit: config.frag_limit,
                time_limit: config.time_limit,
                fog: config.fog,
            },
            round: Round::default(),
            clock: 0,
            chance: Chance {
                rng: Rng::new(config.seed),
            },
            rows: arena.rows,
        };
        if config.items {
            arena.pads.iter().for_each(|pad| game.add_pad(*pad));
        }
        Ok(game)
    }

    /// All characters, in no particular order: those in the arena and those that wait to enter.
    pub fn characters(&self) -> &Entities<Character> {
        &self.characters
    }

    /// The character of a player, if it has one: in the arena, or waiting to enter.
    pub fn character_of(&self, player: PlayerId) -> Option<&Character> {
        self.characters.as_slice().get(self.place_of(player)?)
    }

    /// Where in the list of characters a player's is.
    pub(crate) fn place_of(&self, player: PlayerId) -> Option<usize> {
        let characters = self.characters.as_slice();
        characters.iter().position(|other| other.player == player)
    }

    /// All fireballs on their way, in no particular order.
    pub fn projectiles(&self) -> &Entities<Projectile> {
        &self.projectiles
    }

    /// All items, in no particular order, including those that are not back yet: see [`is_there`](Self::is_there).
    pub fn items(&self) -> &Entities<Item> {
        &self.items
    }

    /// Whether an item lies there now.
    pub fn is_there(&self, item: &Item) -> bool {
        item.is_dropped() || self.clock >= item.from
    }

    /// Everybody who plays or has played, with frags and deaths, in ascending order of the players.
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// The blocks.
    pub fn terrain(&self) -> Terrain<'_> {
        Terrain::new(&self.rows, self.width)
    }

    /// Where characters enter.
    pub fn spawns(&self) -> &[Spot] {
        &self.spawns
    }

    /// The arena, as far as it is known: to be looked at, edited and kept. Items that were dropped are no part of it.
    pub fn arena(&self) -> Arena {
        let items = self.items.as_slice().iter();
        let pads = items.filter(|item| !item.is_dropped()).map(|item| {
            let (column, row) = item.place.block();
            Pad {
                spot: Spot {
                    column: column as u8,
                    row: row as u8,
                },
                kind: (!item.varies).then_some(item.kind),
            }
        });
        Arena {
            name: String::from_utf8_lossy(&self.name).into_owned(),
            width: self.width,
            rows: self.rows.clone(),
            spawns: self.spawns.clone(),
            pads: pads.collect(),
        }
    }

    /// The round that is played.
    pub fn round(&self) -> &Round {
        &self.round
    }

    /// Ticks since the game began: what all its times are counted in.
    pub fn clock(&self) -> u32 {
        self.clock
    }

    /// Whether a player gets only the part of the state that its character sees or hears (fog of war).
    pub fn has_fog(&self) -> bool {
        self.rules.fog
    }

    /// When so many ticks have passed.
    pub(crate) fn later(&self, ticks: u32) -> u32 {
        self.clock.saturating_add(ticks)
    }

    /// A character to change behind the rules' back, to provoke a desync.
    pub fn character_mut(&mut self, player: PlayerId) -> Option<&mut Character> {
        let place = self.place_of(player)?;
        self.characters.row_mut(place)
    }

    /// Removes a character behind the rules' back, to try out a state of which only part is known.
    pub fn forget(&mut self, player: PlayerId) -> bool {
        let place = self.place_of(player);
        let id = place.and_then(|place| self.characters.ids().get(place).copied());
        id.is_some_and(|id| self.characters.remove(id).is_some())
    }

    /// The whole of a tick; `judge` says where a target was for whom.
    fn tick(
        &mut self,
        inputs: &Inputs<'_, Controls>,
        judge: &impl Judge,
        events: &mut Events<SublockusEvent>,
    ) {
        self.clock = self.clock.wrapping_add(1);
        self.make_sound();
        self.seat(inputs, events);
        self.run_round(events);
        for (player, controls) in inputs.iter() {
            self.obey(player, controls, judge, events);
        }
        self.move_characters(inputs, events);
        self.move_projectiles(events);
        self.feel_thorns(events);
        self.recover();
        self.bury(events);
        self.run_items(events);
    }

    /// A state may be forged by a hostile peer.
    fn make_sound(&mut self) {
        self.rows.truncate(MAX_HEIGHT);
        let terrain = Terrain::new(&self.rows, self.width);
        for character in self.characters.as_mut_slice() {
            character.body.keep_inside(&terrain);
        }
    }

    fn move_characters(
        &mut self,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<SublockusEvent>,
    ) {
        let terrain = Terrain::new(&self.rows, self.width);
        for character in self.characters.as_mut_slice() {
            let player = character.player;
            if !character.is_in(self.clock) {
                continue;
            }
            if character.enters == self.clock {
                let place = character.place();
                events.emit(SublockusEvent::Entered { player, place });
            }
            let controls = inputs.of(player).copied().unwrap_or_default();
            character.aim = controls.aim;
            let steer = Steer {
                direction: i32::from(controls.right) - i32::from(controls.left),
                jump: controls.jump,
                down: controls.down,
            };
            let place = character.place();
            let gait = character.gait();
            if character.body.advance(steer, gait, &terrain) {
                events.emit(SublockusEvent::Jumped { player, place });
            }
        }
    }

    fn feel_thorns(&mut self, events: &mut Events<SublockusEvent>) {
        let clock = self.clock;
        let terrain = Terrain::new(&self.rows, self.width);
        for character in self.characters.as_mut_slice() {
            if !character.is_target(clock) || clock < character.thorns_from {
                continue;
            }
            let place = character.place();
            if !terrain.touches(place, crate::motion::HALF, Block::Thorns) {
                continue;
            }
            let damage = character.suffers(THORNS.1);
            character.health = character.health.saturating_sub(damage);
            character.thorns_from = clock.saturating_add(THORNS.0);
            character.body.push(Place::new(0, -THORNS_PUSH));
            events.emit(SublockusEvent::Hit {
                victim: character.player,
                by: None,
                ability: None,
                damage,
                place,
            });
        }
    }

    fn recover(&mut self) {
        let clock = self.clock;
        for character in self.characters.as_mut_slice() {
            if character.health <= 0 || !character.is_in(clock) {
                continue;
            }
            // Not everybody in the same tick.
            let phase = clock.wrapping_add(u32::from(character.player.0));
            if phase.is_multiple_of(HEALING) && character.health < crate::character::HEALTH {
                character.health += 1;
            }
            let most = character.max_mana();
            if phase.is_multiple_of(character.mana_period()) && character.mana < most {
                character.mana += 1;
            }
            character.mana = character.mana.min(most);
        }
    }
}

/// The speed at which thorns throw up a character.
const THORNS_PUSH: i32 = 150;

/// Where targets are when it is decided who is hit.
pub(crate) trait Judge {
    /// Where a character, now at `place`, was for a player who attacked.
    fn place_for(&self, attacker: PlayerId, target: EntityId, place: Place) -> Place;
}

/// They are where they are.
pub(crate) struct Present;

impl Judge for Present {
    fn place_for(&self, _: PlayerId, _: EntityId, place: Place) -> Place {
        place
    }
}

/// They are where the attacker saw them.
impl Judge for LagCompensation<'_, Sublockus> {
    fn place_for(&self, attacker: PlayerId, target: EntityId, place: Place) -> Place {
        let Some(seen) = self.seen_by(attacker) else {
            return place;
        };
        let before = seen.before.characters.get(target);
        let after = seen.after.characters.get(target);
        let (Some(before), Some(after)) = (before, after) else {
            return place;
        };
        let part = (seen.fraction * ONE as f32) as i32;
        before.place().between(after.place(), part)
    }
}

impl Simulation for Sublockus {
    type Input = Controls;
    type Event = SublockusEvent;

    const NAME: &'static str = "sublockus";

    const PAST: u64 = 30;

    fn step(&mut self, inputs: &Inputs<'_, Controls>, events: &mut Events<SublockusEvent>) {
        self.tick(inputs, &Present, events);
    }

    fn step_lag_compensated(
        &mut self,
        inputs: &Inputs<'_, Controls>,
        past: &LagCompensation<'_, Self>,
        events: &mut Events<SublockusEvent>,
    ) {
        self.tick(inputs, past, events);
    }

    /// Refuses pockets that do not exist, and items of other players.
    fn allows(&self, player: PlayerId, controls: &Controls) -> bool {
        match controls.act {
            Act::Use(pocket) | Act::Drop(pocket) => usize::from(pocket) < POCKETS,
            // One that has burst meanwhile was no mistake.
            Act::Detonate(id) => {
                let projectile = self.projectiles.get(id);
                projectile.is_none_or(|projectile| projectile.player == player)
            }
            Act::None | Act::TakeOff(_) => true,
        }
    }

    fn interest(&self, viewers: &[PlayerId], interest: &mut Interest) {
        self.tell_interest(viewers, interest);
    }

    fn perceives(&self, viewers: &[PlayerId], event: &SublockusEvent) -> bool {
        self.tells(viewers, event)
    }
}
