//! The games of a match: how each begins, what its players do, and what of it is seen.

use samestep_evaluation::Evaluation;
use samestep_skirmish::{Bot, Command, ONE, Skirmish, SkirmishConfig};
use samestep_sublockus::{Place, Sublockus};
use samestep_sync::{EntityId, Events, Inputs, PlayerId, Simulation, Tick};

/// A game of which the lab knows where things are.
pub trait Placed: Simulation {
    /// What is seen where, in units, in ascending order of the entities.
    fn places(&self, places: &mut Vec<(EntityId, (f32, f32))>);
}

/// A game that the lab plays.
pub trait Contest: Placed {
    /// What the players do: the same whichever model keeps them in step, so that models can be compared.
    type Script: Send + 'static;

    /// The state it begins with; in words what is wrong if it cannot be played so.
    fn begin(players: u16, entities: usize, seed: u64) -> Result<Self, String>;

    /// What will be done.
    fn script(players: u16, entities: usize, seed: u64) -> Result<Self::Script, String>;

    /// What a player does in a tick of the script, if anything. Ticks are asked for in their order.
    fn command(
        &self,
        script: &mut Self::Script,
        tick: Tick,
        player: PlayerId,
    ) -> Option<Self::Input>;
}

impl Placed for Evaluation {
    fn places(&self, places: &mut Vec<(EntityId, (f32, f32))>) {
        let entities = (0..).zip(self.entities());
        places.extend(entities.map(|(number, entity)| (EntityId::fixed(number), entity.position)));
    }
}

impl Contest for Evaluation {
    /// The seed.
    type Script = u64;

    fn begin(players: u16, entities: usize, seed: u64) -> Result<Self, String> {
        Ok(Evaluation::new(seed, players, entities))
    }

    fn script(_: u16, _: usize, seed: u64) -> Result<u64, String> {
        Ok(seed)
    }

    fn command(&self, seed: &mut u64, tick: Tick, player: PlayerId) -> Option<Self::Input> {
        samestep_evaluation::script(*seed, player, tick, self)
    }
}

/// A battle that bots have fought alone before: their commands are given again at the same times.
pub struct Rehearsal {
    game: Skirmish,
    bots: Vec<Bot>,
    /// What they do in this tick, each; the state is that at it.
    tick: Tick,
    commands: Vec<Command>,
}

impl Rehearsal {
    fn decide(&mut self) {
        let (tick, game) = (self.tick, &self.game);
        let commands = self.bots.iter_mut().map(|bot| bot.decide(tick, game));
        self.commands = commands.map(Option::unwrap_or_default).collect();
    }

    fn step(&mut self) {
        let players: Vec<PlayerId> = self.bots.iter().map(Bot::player).collect();
        let given = (0..).zip(&self.commands);
        let given = given.filter(|(_, command)| **command != Command::None);
        let given: Vec<u16> = given.map(|(at, _)| at).collect();
        let inputs = Inputs::new(self.tick, &players, &self.commands, &given);
        self.game.step(&inputs, &mut Events::new());
        self.tick = self.tick.next();
        self.decide();
    }
}

impl Placed for Skirmish {
    fn places(&self, places: &mut Vec<(EntityId, (f32, f32))>) {
        let along = |steps: i32| steps as f32 / ONE as f32;
        let units = self.units().iter();
        places.extend(units.map(|(id, unit)| (id, (along(unit.place.x), along(unit.place.y)))));
        places.sort_unstable_by_key(|(id, _)| *id);
    }
}

impl Contest for Skirmish {
    type Script = Rehearsal;

    fn begin(players: u16, entities: usize, seed: u64) -> Result<Self, String> {
        let battle = SkirmishConfig::battle(seed, players, entities as u32);
        Skirmish::new(&battle).map_err(|error| error.to_string())
    }

    fn script(players: u16, entities: usize, seed: u64) -> Result<Rehearsal, String> {
        let mut rehearsal = Rehearsal {
            game: Self::begin(players, entities, seed)?,
            bots: (0..players)
                .map(PlayerId)
                .map(|player| Bot::new(seed, player))
                .collect(),
            tick: Tick(0),
            commands: Vec::new(),
        };
        rehearsal.decide();
        Ok(rehearsal)
    }

    fn command(
        &self,
        rehearsal: &mut Rehearsal,
        tick: Tick,
        player: PlayerId,
    ) -> Option<Self::Input> {
        while rehearsal.tick < tick {
            rehearsal.step();
        }
        let command = rehearsal.commands.get(usize::from(player.0)).copied();
        command.filter(|command| *command != Command::None)
    }
}

impl Placed for Sublockus {
    /// Characters in the arena and fireballs, in blocks.
    fn places(&self, places: &mut Vec<(EntityId, (f32, f32))>) {
        let clock = self.clock();
        let characters = self.characters().iter();
        let characters = characters.filter(|(_, character)| character.is_in(clock));
        let characters = characters.map(|(id, character)| (id, character.place()));
        let balls = self.projectiles().iter();
        let balls = balls.filter_map(|(id, ball)| Some((ball_id(id)?, ball.place)));
        let at = |(id, place): (EntityId, Place)| (id, place.blocks());
        places.extend(characters.chain(balls).map(at));
        places.sort_unstable_by_key(|(id, _)| *id);
    }
}

/// Fireballs are numbered as characters are: from here on they can be told apart.
fn ball_id(id: EntityId) -> Option<EntityId> {
    EntityId::from_number(id.number() & 0x7fff_ffff)
}
