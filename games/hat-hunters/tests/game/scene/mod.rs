//! A match and what its players do.
#![allow(dead_code)] // Each test uses part of it.

use samestep_hat_hunters::{
    Bot, Cell, Character, Controls, HatHunters, HatHuntersConfig, HatHuntersEvent, Heading,
    ItemKind, MapChoice, Place, Purse, Rules,
};
use samestep_sync::{EntityId, Events, Input, Inputs, PlayerId, Simulation, Tick, UpdateWindow};

#[derive(Clone)]
pub struct Scene {
    pub game: HatHunters,
    pub tick: Tick,
    pub players: Vec<PlayerId>,
    pub away: Vec<(PlayerId, Tick)>,
    pub window: UpdateWindow,
    pub bots: Vec<Bot>,
    pub events: Vec<HatHuntersEvent>,
    /// What each player holds.
    pub held: Vec<Controls>,
}

impl Scene {
    pub fn new(config: &HatHuntersConfig, players: u16) -> Self {
        Self {
            game: HatHunters::new(config).expect("a sound configuration"),
            tick: Tick(0),
            players: (0..players).map(PlayerId).collect(),
            away: Vec::new(),
            window: UpdateWindow::default(),
            bots: Vec::new(),
            events: Vec::new(),
            held: vec![Controls::default(); usize::from(players)],
        }
    }

    pub fn with_bots(config: &HatHuntersConfig, players: u16) -> Self {
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
                    self.held[at].merge(&controls);
                    self.held[at].steer = match controls.steer {
                        samestep_hat_hunters::Steer::Keep => self.held[at].steer,
                        steer => steer,
                    };
                }
            }
            let controls = |player: &PlayerId| self.held[usize::from(player.0)];
            let controls: Vec<_> = self.players.iter().map(controls).collect();
            let mut emitted = Events::new();
            let inputs = Inputs::new(self.tick, &self.players, &controls, &[]);
            let inputs = inputs.with_away(&self.away).with_window(self.window);
            self.game.step(&inputs, &mut emitted);
            self.events.extend(emitted.drain());
            for held in &mut self.held {
                *held = held.predict();
            }
            self.tick = self.tick.next();
        }
    }

    /// Walks into a direction, or stops, from the next tick on.
    pub fn steer(&mut self, player: u16, heading: Option<Heading>) {
        self.held[usize::from(player)].steer = Controls::steering(heading).steer;
    }

    /// Presses the key for boxes in the next tick.
    pub fn place_box(&mut self, player: u16) {
        self.held[usize::from(player)].place_box = true;
        self.run(1);
    }

    /// Uses an item in the next tick that the player is given before.
    pub fn use_item(&mut self, player: u16, item: ItemKind) {
        self.purse_mut(player).item = Some(item);
        self.held[usize::from(player)].use_item = true;
        self.run(1);
    }

    pub fn id(&self, player: u16) -> EntityId {
        let hunter = self.game.hunter(PlayerId(player));
        hunter.expect("it plays").character
    }

    pub fn character(&self, player: u16) -> Character {
        *self.game.character_of(PlayerId(player)).expect("it plays")
    }

    pub fn purse(&self, player: u16) -> Purse {
        *self.game.purse_of(PlayerId(player)).expect("it plays")
    }

    pub fn purse_mut(&mut self, player: u16) -> &mut Purse {
        let id = self.id(player);
        self.game.purse_mut(id).expect("it plays")
    }

    /// Puts a character somewhere, at rest.
    pub fn put(&mut self, player: u16, place: Place) {
        let id = self.id(player);
        let character = self.game.character_mut(id).expect("it plays");
        character.body.place = place;
        character.body.velocity = Default::default();
        character.steering = None;
    }

    pub fn count(&self, test: impl Fn(&HatHuntersEvent) -> bool) -> usize {
        self.events.iter().filter(|event| test(event)).count()
    }
}

/// A yard of 16 by 10 cells with a stump in the middle.
pub const YARD: &str = "\
name: Yard

################
#..............#
#..............#
#..............#
#.......#......#
#..............#
#..............#
#..............#
#..............#
################
";

/// The yard, with nobody but the players and nothing that appears by itself.
pub fn yard() -> HatHuntersConfig {
    HatHuntersConfig {
        map: MapChoice::Text(YARD.into()),
        rules: Rules {
            ai: 0,
            containers: 0,
            ..Rules::default()
        },
        ..HatHuntersConfig::default()
    }
}

/// So many players who stand in the yard, one in each row from the second on, and the field is empty.
pub fn players(count: u16, config: &HatHuntersConfig) -> Scene {
    let mut scene = Scene::new(config, count);
    scene.run(1);
    for player in 0..count {
        scene.put(player, Place::middle_of(2, i32::from(player) * 2 + 1));
    }
    scene.game.clear_things();
    scene.events.clear();
    scene
}

/// The cell in a column and row.
pub fn cell(column: u8, row: u8) -> Cell {
    Cell::new(column, row)
}
