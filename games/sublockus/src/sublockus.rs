//! The state of the game and the order of things in a tick.

use samestep_sync::{
    Entities, EntityId, Events, Inputs, Interest, List, Past, PlayerId, Record, Replicate, Rng,
    Simulation,
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

/// What a [`SublockusConfig`] says about the rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub(crate) struct Rules {
    pub grace: u32,
    pub respawn: u32,
    pub shelter: u32,
    pub frag_limit: Option<u16>,
    pub time_limit: Option<u32>,
    pub fog: bool,
}

/// What nobody may know beforehand.
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

    /// All items, in no particular order, also those that are not back yet: [`is_there`](Self::is_there) tells.
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

    /// Whether one is told only of what one sees or hears.
    pub fn has_fog(&self) -> bool {
        self.rules.fog
    }

    /// When so many ticks have passed.
    pub(crate) fn later(&self, ticks: u32) -> u32 {
        self.clock.saturating_add(ticks)
    }

    /// To try out what happens to a state that differs: a character to be changed behind the rules' back.
    pub fn character_mut(&mut self, player: PlayerId) -> Option<&mut Character> {
        let place = self.place_of(player)?;
        self.characters.row_mut(place)
    }

    /// To try out what happens to a state of which only part is known: takes a character away behind the rules' back.
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
        self.seat(inputs.players(), events);
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

    /// States may come from somebody who made them up.
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

/// How hard thorns throw up whoever touches them.
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
impl Judge for Past<'_, Sublockus> {
    fn place_for(&self, attacker: PlayerId, target: EntityId, place: Place) -> Place {
        let Some(seen) = self.seen_by(attacker) else {
            return place;
        };
        let before = seen.before.characters.get(target);
        let after = seen.after.characters.get(target);
        let (Some(before), Some(after)) = (before, after) else {
            return place;
        };
        let part = (seen.part * ONE as f32) as i32;
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

    fn step_with_past(
        &mut self,
        inputs: &Inputs<'_, Controls>,
        past: &Past<'_, Self>,
        events: &mut Events<SublockusEvent>,
    ) {
        self.tick(inputs, past, events);
    }

    /// Refuses pockets that nobody has, and what belongs to others.
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

#[cfg(test)]
mod tests {
    use samestep_sync::Tick;

    use super::*;
    use crate::item::{ItemKind, Kit};
    use crate::motion::{Body, Velocity};
    use crate::place::Angle;
    use crate::seat::{Round, Seat};
    use crate::{Ability, Bot};

    /// A state in which everything is made up.
    fn nonsense(rng: &mut Rng) -> Sublockus {
        let mut game = Sublockus::new(&SublockusConfig::default()).unwrap();
        let wild = |rng: &mut Rng| match rng.below(4) {
            0 => rng.next_u32() as i32,
            1 => rng.range(-1000..1000),
            2 => [i32::MIN, i32::MAX, 0, -1][rng.below(4) as usize],
            _ => rng.range(0..100_000),
        };
        let place = |rng: &mut Rng| Place::new(wild(rng), wild(rng));
        let kind = |rng: &mut Rng| ItemKind::ALL[rng.below(8) as usize];
        for number in 0..rng.below(40) {
            let mut kit = Kit::default();
            for _ in 0..rng.below(7) {
                let _ = kit.pockets.push(kind(rng));
                kit.put_on(0);
            }
            let character = Character {
                player: PlayerId(rng.below(3) as u16),
                body: Body {
                    place: place(rng),
                    velocity: Velocity {
                        x: wild(rng),
                        y: wild(rng),
                    },
                    is_grounded: rng.below(2) == 0,
                    holds_jump: rng.below(2) == 0,
                    air_jumps: wild(rng) as u8,
                },
                aim: Angle(wild(rng) as u16),
                health: wild(rng) as i16,
                mana: wild(rng) as i16,
                kit,
                enters: wild(rng) as u32,
                safe_until: wild(rng) as u32,
                ready: [0; Ability::ALL.len()].map(|_: u32| wild(rng) as u32),
                hurt_by: (rng.below(2) == 0).then_some(PlayerId(1)),
                hurt_at: wild(rng) as u32,
                thorns_from: wild(rng) as u32,
                fireballs: wild(rng) as u16,
            };
            game.characters
                .insert_fixed(EntityId::fixed(number), character);
            game.projectiles.insert(Projectile {
                player: PlayerId(rng.below(3) as u16),
                place: place(rng),
                velocity: Velocity {
                    x: wild(rng),
                    y: wild(rng),
                },
                damage: wild(rng) as i16,
                until: wild(rng) as u32,
            });
            game.items.insert(Item {
                kind: kind(rng),
                place: place(rng),
                fall: wild(rng),
                from: wild(rng) as u32,
                until: (rng.below(2) == 0).then(|| wild(rng) as u32),
                varies: rng.below(2) == 0,
                by: None,
            });
        }
        for _ in 0..rng.below(5) {
            game.seats.push(Seat {
                player: PlayerId(rng.below(4) as u16),
                is_here: rng.below(2) == 0,
                plays: rng.below(2) == 0,
                frags: wild(rng) as u16,
                deaths: u16::MAX,
                wins: u16::MAX,
                lives: wild(rng) as u16,
            });
        }
        for spawn in &mut game.spawns {
            (spawn.column, spawn.row) = (wild(rng) as u8, wild(rng) as u8);
        }
        for row in &mut game.rows {
            (0..rng.below(60)).for_each(|column| row.set(column as usize, Block::Rock));
        }
        game.rows.truncate(rng.below(40) as usize);
        game.spawns.truncate(rng.below(5) as usize);
        (game.width, game.clock) = (wild(rng) as u8, wild(rng) as u32);
        game.rules = Rules {
            grace: wild(rng) as u32,
            respawn: wild(rng) as u32,
            shelter: wild(rng) as u32,
            frag_limit: (rng.below(2) == 0).then(|| wild(rng) as u16),
            time_limit: (rng.below(2) == 0).then(|| wild(rng) as u32),
            fog: rng.below(2) == 0,
        };
        game.round = Round {
            number: u16::MAX,
            since: wild(rng) as u32,
            over_until: (rng.below(2) == 0).then(|| wild(rng) as u32),
        };
        game
    }

    #[test]
    fn states_that_make_no_sense_do_no_harm() {
        let mut rng = Rng::new(4);
        let players = [PlayerId(0), PlayerId(1)];
        for seed in 0..400 {
            let mut game = nonsense(&mut rng);
            let mut bots = players.map(|player| Bot::new(seed, player));
            let characters = game.characters.len();
            for tick in (0..40).map(Tick) {
                let mut events = Events::new();
                let controls = bots.each_mut().map(|bot| Controls {
                    cast: Some(Ability::ALL[tick.0 as usize % 4]),
                    ..bot.controls(tick, &game)
                });
                game.step(&Inputs::new(tick, &players, &controls, &[]), &mut events);
                for event in events.drain() {
                    game.perceives(&players, &event);
                }
            }
            assert!(game.characters.len() <= characters + 10);
            let arena = game.arena();
            assert!(arena.to_string().len() > 6);
        }
    }
}
