//! A game and what its players say.
#![allow(dead_code)] // Each test uses part of it.

use samestep_skirmish::{
    Bot, Command, Order, Place, SideId, Skirmish, SkirmishConfig, SkirmishEvent, Unit,
};
use samestep_sync::{Events, Inputs, PlayerId, Simulation, Tick, math};

#[derive(Clone)]
pub struct Scene {
    pub game: Skirmish,
    pub tick: Tick,
    pub players: Vec<PlayerId>,
    pub away: Vec<(PlayerId, Tick)>,
    pub bots: Vec<Bot>,
    pub events: Vec<SkirmishEvent>,
    said: Vec<(PlayerId, Command)>,
}

impl Scene {
    pub fn new(config: &SkirmishConfig) -> Self {
        Self {
            game: Skirmish::new(config).expect("a sound configuration"),
            tick: Tick(0),
            players: (0..config.players).map(PlayerId).collect(),
            away: Vec::new(),
            bots: Vec::new(),
            events: Vec::new(),
            said: Vec::new(),
        }
    }

    pub fn with_bots(config: &SkirmishConfig) -> Self {
        let mut scene = Self::new(config);
        let bot = |player: &PlayerId| Bot::new(config.seed, *player);
        scene.bots = scene.players.iter().map(bot).collect();
        scene
    }

    /// Will be said in the next tick.
    pub fn say(&mut self, player: u16, command: Command) {
        self.said.push((PlayerId(player), command));
        self.run(1);
    }

    pub fn order(&mut self, player: u16, squad: u8, order: Order, place: Place) {
        let (x, y) = place.units();
        self.say(player, Command::Order { squad, order, x, y });
    }

    pub fn run(&mut self, ticks: u64) {
        let mut emitted = Events::new();
        for _ in 0..ticks {
            for bot in &mut self.bots {
                let command = bot.decide(self.tick, &self.game);
                self.said
                    .extend(command.map(|command| (bot.player(), command)));
            }
            let said = |player: &PlayerId| self.said.iter().rev().find(|(by, _)| by == player);
            let command = |player: &PlayerId| said(player).map(|said| said.1).unwrap_or_default();
            let commands: Vec<_> = self.players.iter().map(command).collect();
            let is_given = |at: &u16| commands[usize::from(*at)] != Command::None;
            let given: Vec<_> = (0..self.players.len() as u16).filter(is_given).collect();
            let inputs = Inputs::new(self.tick, &self.players, &commands, &given);
            let inputs = inputs.with_away(&self.away);
            self.game.step(&inputs, &mut emitted);
            self.events.extend(emitted.drain());
            self.said.clear();
            self.tick = self.tick.next();
        }
    }

    pub fn units_of(&self, side: u8) -> Vec<Unit> {
        let units = self.game.units().as_slice().iter();
        units
            .filter(|unit| unit.side == SideId(side))
            .copied()
            .collect()
    }

    pub fn home(&self, side: usize) -> Place {
        self.game.sides()[side].home
    }

    /// A place on the straight line between two homes, at so many percent of the way from the first.
    pub fn between(&self, percent: i32) -> Place {
        let (from, to) = (self.home(0), self.home(1));
        Place {
            x: from.x + (to.x - from.x) * percent / 100,
            y: from.y + (to.y - from.y) * percent / 100,
        }
    }

    /// How deep units stand in each other on average: 0 is not at all, 1 is in the same place.
    pub fn overlap(&self) -> f64 {
        let mut units: Vec<_> = self.game.units().as_slice().to_vec();
        units.sort_by_key(|unit| unit.place.x);
        let mut sum = 0.0;
        for (at, unit) in units.iter().enumerate() {
            for other in &units[at + 1..] {
                let (dx, dy) = (other.place.x - unit.place.x, other.place.y - unit.place.y);
                if dx >= 256 {
                    break;
                }
                let distance = math::double::hypot(f64::from(dx), f64::from(dy));
                sum += (1.0 - distance / 256.0).clamp(0.0, 1.0);
            }
        }
        2.0 * sum / units.len() as f64
    }
}
