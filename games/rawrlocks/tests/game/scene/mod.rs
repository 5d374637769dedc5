//! A game and what its players do.
#![allow(dead_code)] // Each test uses part of it.

use samestep_playable::Level;
use samestep_rawrlocks::{
    Ability, Avatar, Bot, Controls, Cursor, Heading, MAX_PLAYERS, Place, Rawrlocks,
    RawrlocksConfig, RawrlocksEvent,
};
use samestep_sync::{Events, Input, Inputs, PlayerId, Simulation, Tick};

#[derive(Clone)]
pub struct Scene {
    pub game: Rawrlocks,
    pub tick: Tick,
    pub players: Vec<PlayerId>,
    pub away: Vec<(PlayerId, Tick)>,
    pub bots: Vec<Bot>,
    pub events: Vec<RawrlocksEvent>,
    /// What each player holds.
    pub held: Vec<Controls>,
}

impl Scene {
    pub fn new(config: &RawrlocksConfig, players: u16) -> Self {
        Self {
            game: Rawrlocks::new(config).expect("a sound configuration"),
            tick: Tick(0),
            players: (0..players).map(PlayerId).collect(),
            away: Vec::new(),
            bots: Vec::new(),
            events: Vec::new(),
            held: vec![Controls::default(); usize::from(players)],
        }
    }

    pub fn with_bots(config: &RawrlocksConfig, levels: &[Level]) -> Self {
        let mut scene = Self::new(config, levels.len() as u16);
        let players = scene.players.iter().zip(levels);
        let bot = |(player, level): (&PlayerId, &Level)| Bot::new(config.seed, *player).at(*level);
        scene.bots = players.map(bot).collect();
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

    /// Begins to cast in the next tick.
    pub fn cast(&mut self, player: u16, ability: Ability, at: Place) {
        let held = &mut self.held[usize::from(player)];
        (held.cast, held.cursor) = (Some(ability), Cursor::at(at));
        self.run(1);
    }

    /// Casts, and waits until it has taken effect.
    pub fn fire(&mut self, player: u16, ability: Ability, at: Place) {
        self.cast(player, ability, at);
        self.run(ability.stats().cast_ticks.into());
    }

    pub fn walk(&mut self, player: u16, heading: Option<Heading>) {
        self.held[usize::from(player)].walk = heading;
    }

    pub fn avatar(&self, player: u16) -> Avatar {
        *self.game.avatar_of(PlayerId(player)).expect("it plays")
    }

    pub fn avatar_mut(&mut self, player: u16) -> &mut Avatar {
        self.game.avatar_mut(PlayerId(player)).expect("it plays")
    }

    /// Puts an avatar somewhere, at rest.
    pub fn put(&mut self, player: u16, place: Place) {
        let avatar = self.avatar_mut(player);
        avatar.body.place = place;
        avatar.body.knockback = Place::CENTRE;
    }

    pub fn count(&self, test: impl Fn(&RawrlocksEvent) -> bool) -> usize {
        self.events.iter().filter(|event| test(event)).count()
    }
}

/// A round that has just begun and in which the arena does not shrink for long, without power-ups and breaks.
pub fn quiet() -> RawrlocksConfig {
    RawrlocksConfig {
        shrink_ticks: 60 * 60,
        break_ticks: 0,
        power_ups: false,
        ..RawrlocksConfig::default()
    }
}

/// So many players who stand in a row 200 yards apart, the first in the centre, while a round is fought.
pub fn fighting(config: &RawrlocksConfig, players: u16) -> Scene {
    let mut scene = Scene::new(config, players);
    while !scene.game.is_fighting() {
        scene.run(1);
    }
    for player in 0..players.min(MAX_PLAYERS) {
        scene.put(player, Place::yards(200 * i32::from(player), 0));
    }
    scene.events.clear();
    scene
}
