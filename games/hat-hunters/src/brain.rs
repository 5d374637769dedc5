//! How a character is steered by itself: the same for those that nobody plays and for bots that play.
//!
//! A brain picks something to walk to and changes its steering at the intervals of a person, not every tick. It sees what any player sees.

use samestep_playable::Level;
use samestep_sync::{EntityId, Record, Rng};

use crate::character::{Character, Purse};
use crate::controls::{Controls, Steer};
use crate::hat_hunters::HatHunters;
use crate::item::ItemKind;
use crate::mode::Mode;
use crate::path::next_place;
use crate::place::{Cell, Heading, ONE, Place};

/// Ticks between two changes of steering, at least and at most: 150 and 600 ms.
const INTERVAL: (u32, u32) = (9, 36);

/// Ticks for which a goal is pursued at most.
const PATIENCE: u32 = 480;

/// The intentions of a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub(crate) struct Brain {
    rng: Rng,
    temper: Temper,
    goal: Goal,
    /// When it gives up its goal, by the game's clock.
    gives_up: u32,
    /// When it changes its steering.
    turns: u32,
    /// When it thinks of a box.
    boxes: u32,
    /// When it uses what it holds; 0 if it holds nothing that it knows of.
    uses: u32,
}

/// What distinguishes brains. It is in percent, but for `delay`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
struct Temper {
    /// How often it goes for stars.
    greed: u8,
    /// How often it goes after who wears a hat.
    malice: u8,
    /// How often it stops for a moment.
    rest: u8,
    /// The least number of ticks between two changes of steering.
    delay: u8,
    /// Whether it has a stick, and steers in all directions; else it has keys for eight.
    has_stick: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
enum Goal {
    /// Somewhere.
    Cell(Cell),
    Star(EntityId),
    Container(EntityId),
    /// Somebody, to be near it.
    Character(EntityId),
}

impl Brain {
    /// The brain of a character that nobody plays.
    pub fn of_nobody(rng: Rng, clock: u32) -> Self {
        Self::new(rng, clock, (40, 10, 14, INTERVAL.0))
    }

    /// The brain of a bot that plays.
    pub fn of_bot(rng: Rng, level: Level) -> Self {
        Self::new(
            rng,
            0,
            match level {
                Level::Easy => (55, 15, 14, 15),
                Level::Normal => (75, 40, 8, INTERVAL.0),
                Level::Hard => (92, 65, 2, 6),
            },
        )
    }

    fn new(mut rng: Rng, clock: u32, temper: (u8, u8, u8, u32)) -> Self {
        let (greed, malice, rest, delay) = temper;
        let has_stick = rng.below(3) == 0;
        Self {
            temper: Temper {
                greed,
                malice,
                rest,
                delay: delay as u8,
                has_stick,
            },
            goal: Goal::Cell(Cell::default()),
            gives_up: 0,
            turns: clock.saturating_add(rng.below(45)),
            boxes: clock.saturating_add(180 + rng.below(900)),
            uses: 0,
            rng,
        }
    }

    /// It is to do something else at once.
    pub fn startle(&mut self, clock: u32) {
        self.gives_up = 0;
        self.turns = clock;
    }

    fn percent(&mut self, percent: u8) -> bool {
        self.rng.below(100) < u32::from(percent)
    }

    /// What the character with this id is to do now; `None` if it goes on as it does.
    pub fn think(&mut self, game: &HatHunters, id: EntityId) -> Option<Controls> {
        let own = game.characters().get(id).filter(|own| !own.is_out)?;
        let clock = game.clock();
        let mut controls = Controls::default();
        if clock >= self.turns {
            controls.steer = self.steer(game, id, own);
        }
        if clock >= self.boxes {
            self.boxes = game.later(420 + self.rng.below(1200));
            // A box in front of one's own feet helps nobody: it walks on.
            controls.place_box = own.steering.is_some();
        }
        if let Some(purse) = game.purse(id) {
            self.handle(game, id, own, purse, &mut controls);
        }
        (controls != Controls::default()).then_some(controls)
    }

    fn steer(&mut self, game: &HatHunters, id: EntityId, own: &Character) -> Steer {
        let here = own.place();
        let clock = game.clock();
        let target = self.target(game).filter(|_| clock < self.gives_up);
        let is_there = target.is_some_and(|target| here.is_within(target, ONE / 2));
        let target = match target {
            Some(target) if !is_there => Some(target),
            _ => {
                if self.percent(self.temper.rest) {
                    self.gives_up = 0;
                    self.turns = game.later(15 + self.rng.below(50));
                    return Steer::Stop;
                }
                self.choose(game, id, own);
                self.target(game)
            }
        };
        let next = target.and_then(|target| next_place(&game.field(), here, target));
        let Some(next) = next else {
            // It cannot get there.
            self.gives_up = 0;
            let heading = Heading(self.rng.below(32) as u8);
            self.turns = game.later(INTERVAL.0 + self.rng.below(12));
            return self.towards(heading);
        };
        let distance = here.distance(next);
        let walk = (distance / 80)
            .min(INTERVAL.1 as i32)
            .max(self.temper.delay.into()) as u32;
        self.turns = game.later(walk + self.rng.below(4));
        match Heading::of(here.to(next)) {
            Some(heading) => self.towards(heading),
            None => Steer::Stop,
        }
    }

    fn towards(&self, heading: Heading) -> Steer {
        Steer::Towards(match self.temper.has_stick {
            true => heading,
            false => heading.of_keys(),
        })
    }

    /// Where its goal is, if it still is.
    fn target(&self, game: &HatHunters) -> Option<Place> {
        match self.goal {
            Goal::Cell(cell) => Some(cell.middle()),
            Goal::Star(id) => game.stars().get(id).map(|star| star.place),
            Goal::Container(id) => {
                let container = game.containers().get(id);
                container.map(|container| container.cell.middle())
            }
            Goal::Character(id) => {
                let character = game.characters().get(id);
                let character = character.filter(|it| !it.is_out && it.hat.is_some());
                character.map(Character::place)
            }
        }
    }

    fn choose(&mut self, game: &HatHunters, id: EntityId, own: &Character) {
        let here = own.place();
        self.gives_up = game.later(PATIENCE / 2 + self.rng.below(PATIENCE / 2));
        let has_item = game.purse(id).is_some_and(|purse| purse.item.is_some());
        let hats = game.characters().iter();
        let mut hats = hats.filter(|(other, it)| *other != id && it.hat.is_some());
        let is_armed = has_item || game.rules().mode == Mode::HatCatch;
        if let Some((hat, _)) = hats.next().filter(|_| is_armed)
            && self.percent(self.temper.malice)
        {
            self.goal = Goal::Character(hat);
            return;
        }
        let stars = game.stars().iter();
        let star = stars.min_by_key(|(id, star)| (here.distance(star.place), *id));
        if let Some((star, _)) = star
            && self.percent(self.temper.greed)
        {
            self.goal = Goal::Star(star);
            return;
        }
        let containers = game.containers().iter();
        let container = containers.min_by_key(|(id, it)| (here.distance(it.cell.middle()), *id));
        if let Some((container, _)) = container.filter(|_| !has_item)
            && self.rng.below(3) > 0
        {
            self.goal = Goal::Container(container);
            return;
        }
        let field = game.field();
        let nth = self.rng.below(field.floor().count() as u32);
        let cell = field.floor().nth(nth as usize);
        self.goal = Goal::Cell(cell.unwrap_or_default());
    }

    /// Uses what it holds, after a while and if there is reason to.
    fn handle(
        &mut self,
        game: &HatHunters,
        id: EntityId,
        own: &Character,
        purse: &Purse,
        controls: &mut Controls,
    ) {
        let clock = game.clock();
        let Some(item) = purse.item else {
            self.uses = 0;
            return;
        };
        if self.uses == 0 {
            self.uses = game.later(40 + self.rng.below(200));
        }
        if clock < self.uses {
            return;
        }
        match item {
            ItemKind::Green => match self.aim(game, id, own) {
                Some(heading) => {
                    controls.steer = Steer::Towards(heading);
                    self.turns = game.later(INTERVAL.0 + self.rng.below(12));
                }
                None => {
                    self.uses = game.later(20 + self.rng.below(40));
                    return;
                }
            },
            ItemKind::Magnet if self.nearest(game, id, own, 2 * ONE).is_none() => {
                self.uses = game.later(10 + self.rng.below(20));
                return;
            }
            _ => {}
        }
        controls.use_item = true;
        // If it did not work, it tries again.
        self.uses = game.later(30);
    }

    /// Where to shoot: at who wears a hat, or at somebody near.
    fn aim(&mut self, game: &HatHunters, id: EntityId, own: &Character) -> Option<Heading> {
        let here = own.place();
        let others = game.characters().iter();
        let others = others.filter(|(other, it)| *other != id && !it.is_out);
        let sees = |it: &Character| {
            here.is_within(it.place(), 9 * ONE) && game.field().is_clear(here, it.place())
        };
        let mut hats = others.filter(|(_, it)| it.hat.is_some());
        let hat = hats.find(|(_, it)| sees(it)).map(|(_, it)| it.place());
        let target = match hat {
            Some(place) => Some(place),
            None if self.percent(30) => {
                let near = self.nearest(game, id, own, 6 * ONE);
                near.filter(|it| sees(it)).map(Character::place)
            }
            None => None,
        };
        Heading::of(here.to(target?))
    }

    fn nearest<'a>(
        &self,
        game: &'a HatHunters,
        id: EntityId,
        own: &Character,
        reach: i32,
    ) -> Option<&'a Character> {
        let here = own.place();
        let others = game.characters().iter();
        let others = others.filter(|(other, it)| *other != id && !it.is_out);
        let near = others.filter(|(_, it)| here.is_within(it.place(), reach));
        let nearest = near.min_by_key(|(id, it)| (here.distance(it.place()), *id));
        nearest.map(|(_, character)| character)
    }
}
