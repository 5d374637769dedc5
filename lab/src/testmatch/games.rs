//! The games of a match: how each begins, what its players do, and what of it is seen.

use samestep_evaluation::Evaluation;
use samestep_skirmish::{Bot, Command, ONE, Skirmish, SkirmishConfig};
use samestep_sublockus::{Place, Sublockus, SublockusConfig};
use samestep_sync::{EntityId, Events, Input, Inputs, PlayerId, Simulation, Tick};

/// What is where, in ascending order of the entities.
pub type Positions = Vec<(EntityId, (f32, f32))>;

/// A game of which the lab knows where things are.
pub trait Positioned: Simulation {
    /// What is seen where, in units, in ascending order of the entities.
    fn positions(&self, positions: &mut Positions);
}

/// A game that the lab plays.
pub trait ScriptedGame: Positioned {
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

impl Positioned for Evaluation {
    fn positions(&self, positions: &mut Positions) {
        let entities = (0..).zip(self.entities());
        positions
            .extend(entities.map(|(number, entity)| (EntityId::fixed(number), entity.position)));
    }
}

impl ScriptedGame for Evaluation {
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

/// A game that bots have played alone before: what they did is done again at the same times.
pub struct Rehearsal<G: Simulation, B> {
    game: G,
    players: Vec<PlayerId>,
    bots: Vec<B>,
    decide: fn(&mut B, Tick, &G) -> Option<G::Input>,
    /// What they do in this tick, and who of them began with it in it; the state is that at it.
    tick: Tick,
    doing: Vec<G::Input>,
    given: Vec<u16>,
}

impl<G: Simulation, B> Rehearsal<G, B> {
    fn new(
        game: G,
        bots: Vec<B>,
        decide: fn(&mut B, Tick, &G) -> Option<G::Input>,
    ) -> Rehearsal<G, B> {
        let mut rehearsal = Rehearsal {
            game,
            players: (0..bots.len() as u16).map(PlayerId).collect(),
            doing: vec![G::Input::default(); bots.len()],
            bots,
            decide,
            tick: Tick(0),
            given: Vec::new(),
        };
        rehearsal.decide();
        rehearsal
    }

    fn decide(&mut self) {
        self.given.clear();
        for ((at, bot), doing) in (0..).zip(&mut self.bots).zip(&mut self.doing) {
            *doing = doing.predict();
            if let Some(input) = (self.decide)(bot, self.tick, &self.game) {
                *doing = input;
                self.given.push(at);
            }
        }
    }

    /// What a player does in a tick, if it is something new.
    fn input(&mut self, tick: Tick, player: PlayerId) -> Option<G::Input> {
        while self.tick < tick {
            let inputs = Inputs::new(self.tick, &self.players, &self.doing, &self.given);
            self.game.step(&inputs, &mut Events::new());
            self.tick = self.tick.next();
            self.decide();
        }
        let is_new = self.given.contains(&player.0);
        let input = self.doing.get(usize::from(player.0));
        input.filter(|_| is_new).cloned()
    }
}

impl Positioned for Skirmish {
    fn positions(&self, positions: &mut Positions) {
        let along = |steps: i32| steps as f32 / ONE as f32;
        let units = self.units().iter();
        positions.extend(units.map(|(id, unit)| (id, (along(unit.place.x), along(unit.place.y)))));
        positions.sort_unstable_by_key(|(id, _)| *id);
    }
}

impl ScriptedGame for Skirmish {
    type Script = Rehearsal<Skirmish, Bot>;

    fn begin(players: u16, entities: usize, seed: u64) -> Result<Self, String> {
        let battle = SkirmishConfig::battle(seed, players, entities as u32);
        Skirmish::new(&battle).map_err(|error| error.to_string())
    }

    fn script(players: u16, entities: usize, seed: u64) -> Result<Self::Script, String> {
        let game = Self::begin(players, entities, seed)?;
        let bots = (0..players).map(|player| Bot::new(seed, PlayerId(player)));
        let decide = |bot: &mut Bot, tick, game: &Skirmish| {
            let command = bot.decide(tick, game);
            command.filter(|command| *command != Command::None)
        };
        Ok(Rehearsal::new(game, bots.collect(), decide))
    }

    fn command(
        &self,
        rehearsal: &mut Self::Script,
        tick: Tick,
        player: PlayerId,
    ) -> Option<Self::Input> {
        rehearsal.input(tick, player)
    }
}

impl Positioned for Sublockus {
    /// Characters in the arena and fireballs, in blocks.
    fn positions(&self, positions: &mut Positions) {
        let clock = self.clock();
        let characters = self.characters().iter();
        let characters = characters.filter(|(_, character)| character.is_in(clock));
        let characters = characters.map(|(id, character)| (id, character.place()));
        let balls = self.projectiles().iter();
        let balls = balls.filter_map(|(id, ball)| Some((ball_id(id)?, ball.place)));
        let at = |(id, place): (EntityId, Place)| (id, place.blocks());
        positions.extend(characters.chain(balls).map(at));
        positions.sort_unstable_by_key(|(id, _)| *id);
    }
}

impl ScriptedGame for Sublockus {
    type Script = Rehearsal<Sublockus, samestep_sublockus::Bot>;

    fn begin(players: u16, _: usize, seed: u64) -> Result<Self, String> {
        let config = SublockusConfig::free_for_all(seed, players);
        Sublockus::new(&config).map_err(|error| error.to_string())
    }

    fn script(players: u16, entities: usize, seed: u64) -> Result<Self::Script, String> {
        let game = Self::begin(players, entities, seed)?;
        let bot = |player| samestep_sublockus::Bot::new(seed, PlayerId(player));
        let bots = (0..players).map(bot).collect();
        Ok(Rehearsal::new(game, bots, samestep_sublockus::Bot::decide))
    }

    fn command(
        &self,
        rehearsal: &mut Self::Script,
        tick: Tick,
        player: PlayerId,
    ) -> Option<Self::Input> {
        rehearsal.input(tick, player)
    }
}

/// Fireballs are numbered as characters are: from here on they can be told apart.
fn ball_id(id: EntityId) -> Option<EntityId> {
    EntityId::from_number(id.number() & 0x7fff_ffff)
}
