//! A game and what its players do.
#![allow(dead_code)] // Each test uses part of it.

use samestep_sublockus::{
    Ability, Act, Angle, ArenaChoice, Bot, Character, Controls, HALF, ONE, Place, Sublockus,
    SublockusConfig, SublockusEvent,
};
use samestep_sync::{Events, Input, Inputs, PlayerId, Simulation, Tick};

#[derive(Clone)]
pub struct Scene {
    pub game: Sublockus,
    pub tick: Tick,
    pub players: Vec<PlayerId>,
    pub away: Vec<(PlayerId, Tick)>,
    pub bots: Vec<Bot>,
    pub events: Vec<SublockusEvent>,
    /// What each player holds.
    pub held: Vec<Controls>,
}

impl Scene {
    pub fn new(config: &SublockusConfig, players: u16) -> Self {
        Self {
            game: Sublockus::new(config).expect("a sound configuration"),
            tick: Tick(0),
            players: (0..players).map(PlayerId).collect(),
            away: Vec::new(),
            bots: Vec::new(),
            events: Vec::new(),
            held: vec![Controls::default(); usize::from(players)],
        }
    }

    pub fn with_bots(config: &SublockusConfig, players: u16) -> Self {
        let mut scene = Self::new(config, players);
        let bot = |player: &PlayerId| Bot::new(config.seed, *player);
        scene.bots = scene.players.iter().map(bot).collect();
        scene
    }

    pub fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            for bot in &mut self.bots {
                let at = usize::from(bot.player().0);
                if let Some(controls) = bot.decide(self.tick, &self.game) {
                    self.held[at] = controls;
                }
            }
            let controls = |player: &PlayerId| self.held[usize::from(player.0)];
            let controls: Vec<_> = self.players.iter().map(controls).collect();
            let mut emitted = Events::new();
            let inputs = Inputs::new(self.tick, &self.players, &controls, &[]);
            let inputs = inputs.with_away(&self.away);
            self.game.step(&inputs, &mut emitted);
            self.events.extend(emitted.drain());
            for held in &mut self.held {
                *held = held.predict();
            }
            self.tick = self.tick.next();
        }
    }

    /// Casts in the next tick.
    pub fn cast(&mut self, player: u16, ability: Ability, aim: Angle) {
        let held = &mut self.held[usize::from(player)];
        (held.cast, held.aim) = (Some(ability), aim);
        self.run(1);
    }

    /// Does something in the next tick.
    pub fn act(&mut self, player: u16, act: Act) {
        self.held[usize::from(player)].act = act;
        self.run(1);
    }

    pub fn character(&self, player: u16) -> Character {
        *self.game.character_of(PlayerId(player)).expect("it plays")
    }

    /// Puts a character somewhere, at rest.
    pub fn put(&mut self, player: u16, place: Place) {
        let character = self.game.character_mut(PlayerId(player));
        let character = character.expect("it plays");
        character.body.place = place;
        character.body.velocity = Default::default();
    }

    pub fn count(&self, test: impl Fn(&SublockusEvent) -> bool) -> usize {
        self.events.iter().filter(|event| test(event)).count()
    }
}

/// A hall of 40 blocks with a wall from the ceiling in the middle, and thorns at the right end. Its floor is row 8.
pub const HALL: &str = "\
name: Hall

########################################
#                   #                  #
#                   #                  #
#                   #                  #
#                   #                  #
#                                      #
#                                      #
#  S    S   S                   S    ^^#
########################################
";

/// The hall, without delays.
pub fn hall() -> SublockusConfig {
    SublockusConfig {
        arena: ArenaChoice::Text(HALL.into()),
        grace: 0,
        shelter: 0,
        items: false,
        ..SublockusConfig::default()
    }
}

/// Where one stands in a column of the hall.
pub fn floor(column: i32) -> Place {
    Place::new(column * ONE + ONE / 2, 8 * ONE - HALF.y)
}

/// Two players who stand in the hall, so many blocks apart, and nobody else.
pub fn two(apart: i32) -> Scene {
    let mut scene = Scene::new(&hall(), 2);
    scene.run(30);
    scene.put(0, floor(3));
    scene.put(1, floor(3 + apart));
    scene.run(5);
    scene.events.clear();
    scene
}
