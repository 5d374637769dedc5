//! The state of the game and the order of the steps in a tick.

use samestep_sync::{
    Confirmation, Entities, EntityId, Events, Inputs, Interest, List, PlayerId, Record, Replicate,
    Simulation, random,
};

use crate::brain::Brain;
use crate::character::{Character, Hunter, Purse, Silhouette, hunter_id};
use crate::claim::{Claim, Deed, MAX_CLAIMS, MAX_FLYING};
use crate::config::{HatHuntersConfig, HatHuntersConfigError, MAX_HUNTERS};
use crate::confirmations::{Confirmations, of_event};
use crate::controls::{Controls, Steer};
use crate::event::HatHuntersEvent;
use crate::field::{Field, Ground, MAX_HEIGHT, MAX_WIDTH, Row};
use crate::map::{MAX_NAME, Map};
use crate::mode::{MAX_AI, MAX_AT_ONCE, Mode, Rules};
use crate::motion::RADIUS;
use crate::place::Cell;
use crate::round::{MAX_SEATS, Round, Seat};
use crate::things::{Bomb, Container, PlacedBox, Projectile, Star, THING};

#[cfg(test)]
mod tests;

/// The state of a match.
#[derive(Clone, Replicate)]
pub struct HatHunters {
    /// What everyone sees of the characters.
    pub(crate) characters: Entities<Character>,
    /// What each character carries, by the id of the character. Only its player knows it.
    pub(crate) purses: Entities<Purse>,
    /// Who plays which character. Only the player itself knows it.
    pub(crate) hunters: Entities<Hunter>,
    /// The intentions of the characters that nobody plays at present, by the id of the character. Only the authority knows them.
    pub(crate) minds: Entities<Brain>,
    pub(crate) stars: Entities<Star>,
    pub(crate) containers: Entities<Container>,
    pub(crate) projectiles: Entities<Projectile>,
    pub(crate) bombs: Entities<Bomb>,
    /// The boxes that were placed in this round, the oldest first.
    pub(crate) boxes: Vec<PlacedBox>,
    /// In the order in which they were made.
    pub(crate) claims: Vec<Claim>,
    /// In ascending order of the players.
    pub(crate) seats: Vec<Seat>,
    pub(crate) rows: Vec<Row>,
    /// What stood there when the first round began.
    pub(crate) first_rows: Vec<Row>,
    pub(crate) width: u8,
    pub(crate) name: List<u8, MAX_NAME>,
    pub(crate) rules: Rules,
    pub(crate) confirmations: Confirmations,
    pub(crate) round: Round,
    pub(crate) clock: u32,
    pub(crate) authority: Authority,
}

/// What only the authority knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub(crate) struct Authority {
    /// All randomness follows from it and from what is settled, so that ticks that are simulated again draw the same.
    #[field(secret)]
    pub seed: u64,
    /// Whether this is the whole state. A program that is sent part of it has false here, as secret fields are not sent: it simulates what it sees and
    /// leaves to the authority what depends on more.
    #[field(secret)]
    pub knows_all: bool,
}

/// What a random number is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Salt {
    Item,
    Swap,
    Star,
    Container,
    Bush,
    Place,
    Look,
    Hunter,
    Mind,
    Newcomer,
}

impl HatHunters {
    /// The beginning of a match. The first round begins with whoever is present in the first tick.
    pub fn new(config: &HatHuntersConfig) -> Result<Self, HatHuntersConfigError> {
        config.check()?;
        let map = config.map()?;
        let mut name = List::new();
        for byte in map.name().bytes() {
            // The map's name has been checked.
            let _ = name.push(byte);
        }
        let population = usize::from(MAX_AI) + 2 * usize::from(MAX_HUNTERS);
        let lying = usize::from(MAX_AT_ONCE);
        Ok(Self {
            characters: Entities::with_capacity(population),
            purses: Entities::with_capacity(population),
            hunters: Entities::with_capacity(usize::from(MAX_HUNTERS)),
            minds: Entities::with_capacity(population),
            stars: Entities::with_capacity(lying + 20 * population),
            containers: Entities::with_capacity(lying),
            projectiles: Entities::with_capacity(MAX_FLYING),
            bombs: Entities::with_capacity(MAX_FLYING),
            boxes: Vec::with_capacity(map.width() * map.height()),
            claims: Vec::with_capacity(MAX_CLAIMS),
            seats: Vec::with_capacity(MAX_SEATS),
            first_rows: map.rows.clone(),
            width: map.width,
            name,
            rules: config.rules,
            confirmations: config.confirmations,
            round: Round::default(),
            clock: 0,
            authority: Authority {
                seed: random::hash(config.seed, 0x4861_7473, 0x4875_6e74),
                knows_all: true,
            },
            rows: map.rows,
        })
    }

    /// The same match with other confirmations.
    #[must_use]
    pub fn with_confirmations(self, confirmations: Confirmations) -> Self {
        Self {
            confirmations,
            ..self
        }
    }

    /// All characters, those that are out included, in no particular order.
    pub fn characters(&self) -> &Entities<Character> {
        &self.characters
    }

    /// The hunter that a player plays, as far as this program may know: its own, or all after a round.
    pub fn hunter(&self, player: PlayerId) -> Option<&Hunter> {
        self.hunters.get(hunter_id(player))
    }

    /// All hunters that this program may know, in no particular order.
    pub fn hunters(&self) -> &Entities<Hunter> {
        &self.hunters
    }

    /// The character that a player plays, if this program may know.
    pub fn character_of(&self, player: PlayerId) -> Option<&Character> {
        self.characters.get(self.hunter(player)?.character)
    }

    /// The player of a character, if somebody plays it and this program may know.
    pub fn player_of(&self, character: EntityId) -> Option<PlayerId> {
        let mut hunters = self.hunters.as_slice().iter();
        let hunter = hunters.find(|hunter| hunter.character == character);
        hunter.map(|hunter| hunter.player)
    }

    /// What a player's character carries (stars, item, when it may place a box), if this program may know.
    pub fn purse_of(&self, player: PlayerId) -> Option<&Purse> {
        self.purses.get(self.hunter(player)?.character)
    }

    /// What a character carries, if this program may know.
    pub fn purse(&self, character: EntityId) -> Option<&Purse> {
        self.purses.get(character)
    }

    /// All stars, those that lie and those that move, in no particular order.
    pub fn stars(&self) -> &Entities<Star> {
        &self.stars
    }

    /// All item containers, in no particular order.
    pub fn containers(&self) -> &Entities<Container> {
        &self.containers
    }

    /// All green projectiles, in no particular order.
    pub fn projectiles(&self) -> &Entities<Projectile> {
        &self.projectiles
    }

    /// All bombs, in no particular order.
    pub fn bombs(&self) -> &Entities<Bomb> {
        &self.bombs
    }

    /// Effects that wait until they are certain, in the order in which they were made.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// The cells: stumps, boxes and bushes.
    pub fn field(&self) -> Field<'_> {
        Field::new(&self.rows, self.width)
    }

    /// The map, as it was when the match began.
    pub fn map(&self) -> Map {
        Map {
            name: String::from_utf8_lossy(&self.name).into_owned(),
            width: self.width,
            rows: self.first_rows.clone(),
        }
    }

    /// Everybody who plays or watches, in ascending order of the players.
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// The round that is played.
    pub fn round(&self) -> &Round {
        &self.round
    }

    /// What the players have agreed on.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// When effects count.
    pub fn confirmations(&self) -> &Confirmations {
        &self.confirmations
    }

    /// Ticks since the match began: what all its times are counted in.
    pub fn clock(&self) -> u32 {
        self.clock
    }

    /// Whether this program has the whole state, not what an authority lets its players know.
    pub fn knows_all(&self) -> bool {
        self.authority.knows_all
    }

    /// A character to change behind the rules' back, to set up a scene or provoke a desync.
    pub fn character_mut(&mut self, character: EntityId) -> Option<&mut Character> {
        self.characters.get_mut(character)
    }

    /// What a character carries, to change behind the rules' back.
    pub fn purse_mut(&mut self, character: EntityId) -> Option<&mut Purse> {
        self.purses.get_mut(character)
    }

    /// Changes what stands in a cell, behind the rules' back.
    pub fn set_ground(&mut self, cell: Cell, ground: Ground) {
        if let Some(row) = self.rows.get_mut(usize::from(cell.row)) {
            row.set(usize::from(cell.column), ground);
        }
    }

    /// Lays a star somewhere, behind the rules' back.
    pub fn add_star(&mut self, star: Star) -> EntityId {
        self.stars.insert(star)
    }

    /// Lays a container somewhere, behind the rules' back.
    pub fn add_container(&mut self, cell: Cell) -> EntityId {
        self.containers.insert(Container { cell })
    }

    /// Takes all stars and containers from the field, behind the rules' back.
    pub fn clear_things(&mut self) {
        self.stars.clear();
        self.containers.clear();
    }

    /// When so many ticks have passed.
    pub(crate) fn later(&self, ticks: u32) -> u32 {
        self.clock.saturating_add(ticks)
    }

    /// A random number that follows from what it is for.
    pub(crate) fn random(&self, salt: Salt, a: u32, b: u32) -> u64 {
        let seed = self.authority.seed.wrapping_add(salt as u64);
        random::hash(seed, a.into(), b.into())
    }

    /// Whether nothing stands or lies in a cell.
    pub(crate) fn is_free(&self, cell: Cell) -> bool {
        let mut stars = self.stars.as_slice().iter();
        let mut containers = self.containers.as_slice().iter();
        self.field().at(cell) == Ground::Floor
            && !stars.any(|star| star.place.cell() == cell)
            && !containers.any(|container| container.cell == cell)
    }

    /// One of the cells in which nothing stands or lies, by a random number.
    pub(crate) fn free_cell(&self, number: u64) -> Option<Cell> {
        let free = || self.field().floor().filter(|cell| self.is_free(*cell));
        let nth = number.checked_rem(free().count() as u64)?;
        free().nth(nth as usize)
    }

    /// A state may be forged by a hostile peer.
    fn make_sound(&mut self) {
        self.rows.truncate(MAX_HEIGHT);
        self.claims.truncate(MAX_CLAIMS);
        self.boxes.truncate(MAX_WIDTH * MAX_HEIGHT);
        let field = Field::new(&self.rows, self.width);
        for character in self.characters.as_mut_slice() {
            character.body.keep_inside(&field);
        }
        self.bound_things();
    }

    /// What the players and the minds want.
    fn obey_all(&mut self, inputs: &Inputs<'_, Controls>, events: &mut Events<HatHuntersEvent>) {
        for at in 0..self.hunters.len() {
            let hunter = self.hunters.as_slice()[at];
            if let Some(controls) = inputs.of(hunter.player) {
                self.obey(hunter.character, *controls, inputs, events);
            }
        }
        for at in 0..self.minds.len() {
            let (id, mut mind) = (self.minds.ids()[at], self.minds.as_slice()[at]);
            let controls = mind.think(self, id);
            if let Some(row) = self.minds.row_mut(at) {
                *row = mind;
            }
            if let Some(controls) = controls {
                self.obey(id, controls, inputs, events);
            }
        }
    }

    /// What a character does, whoever controls it.
    fn obey(
        &mut self,
        id: EntityId,
        controls: Controls,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<HatHuntersEvent>,
    ) {
        let is_over = self.round.is_over();
        let clock = self.clock;
        let cooldown = self.rules.cooldown;
        let Some(character) = self.characters.get_mut(id) else {
            return;
        };
        if character.is_out {
            return;
        }
        match controls.steer {
            Steer::Keep => {}
            Steer::Stop => character.steering = None,
            Steer::Towards(heading) => {
                character.steering = Some(heading);
                character.look = heading;
            }
        }
        if is_over {
            return;
        }
        let Some(purse) = self.purses.get_mut(id) else {
            return;
        };
        if controls.place_box && clock >= purse.box_from && character.silhouette.is_none() {
            purse.box_from = clock.saturating_add(cooldown);
            character.silhouette = Some(Silhouette {
                cell: character.place().cell(),
                is_left: false,
            });
        }
        if controls.use_item
            && let Some(item) = purse.item
        {
            let deed = Deed::UseItem {
                item,
                place: character.place(),
                look: character.look,
            };
            self.decide(inputs, id, deed, events);
        }
    }

    fn move_characters(&mut self) {
        let field = Field::new(&self.rows, self.width);
        let (clock, speed) = (self.clock, self.rules.speed);
        for character in self.characters.as_mut_slice() {
            if !character.is_out {
                let force = character.force(clock, speed);
                character.body = character.body.advance(force, &field);
            }
        }
    }

    /// A box appears where its character was, if nobody else is there when it leaves.
    fn leave_boxes(&mut self, inputs: &Inputs<'_, Controls>, events: &mut Events<HatHuntersEvent>) {
        for at in 0..self.characters.len() {
            let (id, character) = (self.characters.ids()[at], self.characters.as_slice()[at]);
            let Some(Silhouette { cell, is_left }) = character.silhouette else {
                continue;
            };
            if is_left || cell.touches(character.place(), RADIUS) {
                continue;
            }
            let mut others = self.characters.as_slice().iter();
            let is_taken = others.any(|other| !other.is_out && cell.touches(other.place(), RADIUS));
            let silhouette = match is_taken {
                true => None,
                false if self.decide(inputs, id, Deed::PlaceBox { cell }, events) => {
                    let character = self.characters.get(id);
                    let waits = character.and_then(|character| character.silhouette);
                    waits.map(|silhouette| Silhouette {
                        is_left: true,
                        ..silhouette
                    })
                }
                false => continue,
            };
            if let Some(character) = self.characters.get_mut(id) {
                character.silhouette = silhouette;
            }
        }
    }

    /// Characters collect what they touch, and catch whom they may.
    fn touch(&mut self, inputs: &Inputs<'_, Controls>, events: &mut Events<HatHuntersEvent>) {
        for at in 0..self.characters.len() {
            let (id, character) = (self.characters.ids()[at], self.characters.as_slice()[at]);
            if character.is_out {
                continue;
            }
            let place = character.place();
            let reach = RADIUS + THING;
            let touched = self
                .stars
                .iter()
                .find(|(_, star)| star.from <= self.clock && place.is_within(star.place, reach));
            if let Some((star, _)) = touched {
                self.decide(inputs, id, Deed::CollectStar { star }, events);
            }
            let touched = self
                .containers
                .iter()
                .find(|(_, container)| place.is_within(container.cell.middle(), reach));
            // A hand that holds something takes nothing else; of others it is not known.
            let is_full = self
                .purses
                .get(id)
                .is_some_and(|purse| purse.item.is_some());
            if let Some((container, _)) = touched
                && !is_full
            {
                self.decide(inputs, id, Deed::CollectItem { container }, events);
            }
            if self.rules.mode == Mode::HatCatch && self.player_of(id).is_some() {
                self.touch_hats(id, inputs, events);
            }
        }
    }

    fn touch_hats(
        &mut self,
        id: EntityId,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<HatHuntersEvent>,
    ) {
        let Some(own) = self.characters.get(id).filter(|own| !own.is_out) else {
            return;
        };
        let caught = self.characters.iter().find(|(other, character)| {
            *other != id
                && !character.is_out
                && character.hat.is_some()
                && self.clock >= character.hat_since.saturating_add(HEAD_START)
                && own.place().is_within(character.place(), 2 * RADIUS)
        });
        if let Some((victim, character)) = caught {
            let from = character.place();
            self.decide(inputs, id, Deed::Catch { victim, from }, events);
        }
    }

    /// Whoever is close to winning wears its hat.
    fn wear_hats(&mut self, events: &mut Events<HatHuntersEvent>) {
        let stars = self.rules.hat_stars();
        for at in 0..self.hunters.len() {
            let Hunter {
                player, character, ..
            } = self.hunters.as_slice()[at];
            let has_hat = self
                .purses
                .get(character)
                .is_some_and(|purse| purse.stars >= stars);
            let Some(row) = self.characters.get(character) else {
                continue;
            };
            let hat = (has_hat && !row.is_out).then_some(player);
            if row.hat == hat {
                continue;
            }
            let clock = self.clock;
            if let Some(row) = self.characters.get_mut(character) {
                (row.hat, row.hat_since) = (hat, clock);
            }
            events.emit(match hat {
                Some(player) => HatHuntersEvent::HatOn { character, player },
                None => HatHuntersEvent::HatOff { character },
            });
        }
    }
}

/// Ticks for which somebody who has just put on its hat cannot be caught.
const HEAD_START: u32 = 60;

impl Simulation for HatHunters {
    type Input = Controls;
    type Event = HatHuntersEvent;

    const NAME: &'static str = "hat-hunters";

    fn step(&mut self, inputs: &Inputs<'_, Controls>, events: &mut Events<HatHuntersEvent>) {
        self.clock = self.clock.wrapping_add(1);
        self.make_sound();
        if self.knows_all() {
            self.attend(inputs, events);
            self.run_rounds(events);
        }
        if !self.round.is_over() {
            self.settle(inputs, events);
            self.rot_boxes(events);
        }
        self.obey_all(inputs, events);
        self.move_characters();
        if self.round.is_over() {
            return;
        }
        self.leave_boxes(inputs, events);
        self.touch(inputs, events);
        self.move_projectiles(inputs, events);
        self.move_stars(inputs, events);
        self.burst_bombs(inputs, events);
        if self.knows_all() {
            self.wear_hats(events);
            self.lay_things();
            self.grow_bushes(events);
            self.judge_round(events);
        }
    }

    fn interest(&self, viewers: &[PlayerId], interest: &mut Interest) {
        self.tell_interest(viewers, interest);
    }

    fn perceives(&self, viewers: &[PlayerId], event: &HatHuntersEvent) -> bool {
        match event {
            HatHuntersEvent::ItemDrawn { player, .. } => viewers.contains(player),
            _ => true,
        }
    }

    fn confirmation(&self, event: &HatHuntersEvent) -> Confirmation {
        let confirmations = &self.confirmations;
        match event {
            HatHuntersEvent::BoxPlaced { .. } => of_event(confirmations.box_placed),
            HatHuntersEvent::BoxRemoved { .. } => of_event(confirmations.box_removed),
            HatHuntersEvent::ItemCollected { .. } | HatHuntersEvent::ItemDrawn { .. } => {
                of_event(confirmations.item_collected)
            }
            HatHuntersEvent::StarCollected { .. }
            | HatHuntersEvent::Hit { .. }
            | HatHuntersEvent::StarLost { .. }
            | HatHuntersEvent::StarStolen { .. }
            | HatHuntersEvent::Caught { .. }
            | HatHuntersEvent::Out { .. }
            | HatHuntersEvent::HatOn { .. }
            | HatHuntersEvent::HatOff { .. }
            | HatHuntersEvent::RoundOver { .. }
            | HatHuntersEvent::MatchOver { .. } => of_event(confirmations.star_collected),
            HatHuntersEvent::ItemUsed { .. } | HatHuntersEvent::Burst { .. } => {
                of_event(confirmations.projectile_started)
            }
            HatHuntersEvent::Bounced { .. } | HatHuntersEvent::Broke { .. } => {
                of_event(confirmations.bounced)
            }
            // Who takes part and what the authority alone decides is certain.
            HatHuntersEvent::Joined { .. }
            | HatHuntersEvent::Left { .. }
            | HatHuntersEvent::Grew { .. }
            | HatHuntersEvent::RoundBegan => Confirmation::AtOnce,
        }
    }
}
