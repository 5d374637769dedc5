//! A small game with everything that can go wrong in it: entities that come and go, held and momentary inputs, randomness, floats,
//! events of all of them.

use samestep_sync::{
    Entities, EntityId, Events, Input, Inputs, PlayerId, Record, Replicate, Rng, Simulation, Wire,
    math,
};

/// The state: units of several players.
#[derive(Clone, Replicate)]
pub(super) struct TestGame {
    units: Entities<Unit>,
    total: [u32; 16],
    present: u32,
    rng: Rng,
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Unit {
    owner: PlayerId,
    position: (f32, f32),
    heading: f32,
    load: u16,
    friend: Option<EntityId>,
}

/// What a player does: a held input (`turn`) and a momentary one (`command`).
#[derive(Clone, Default, PartialEq, Debug, Wire)]
pub(super) struct TestInput {
    pub(super) turn: u8,
    pub(super) command: Option<u8>,
}

impl Input for TestInput {
    fn predict(&self) -> Self {
        TestInput {
            turn: self.turn,
            command: None,
        }
    }
}

/// An event of the game.
#[derive(Clone, PartialEq, Debug, Wire)]
pub(super) enum TestEvent {
    /// A player gives a command.
    Command(PlayerId, u8),
    /// A unit is removed, with that much load.
    Removed(EntityId, u16),
    /// A unit crosses a border.
    Crossed(EntityId),
}

/// The distance from one border to the next.
const BORDERS: f32 = 4.0;

impl TestGame {
    pub(super) fn new(seed: u64) -> TestGame {
        let mut game = TestGame {
            units: Entities::new(),
            total: [0; 16],
            present: 0,
            rng: Rng::new(seed),
        };
        for number in 0..24 {
            game.spawn(PlayerId(number % 8));
        }
        game
    }

    fn spawn(&mut self, owner: PlayerId) {
        let friend = self.units.ids().last().copied();
        self.units.insert(Unit {
            owner,
            position: (self.rng.unit() * 100.0, self.rng.unit() * 100.0),
            heading: self.rng.unit() * 6.0,
            load: 0,
            friend,
        });
    }

    /// Changes the state against the rules.
    pub(super) fn spoil(&mut self) {
        if let Some(id) = self.units.ids().first().copied()
            && let Some(unit) = self.units.get_mut(id)
        {
            unit.load ^= 0x55;
        }
    }
}

impl Simulation for TestGame {
    type Input = TestInput;
    type Event = TestEvent;
    const NAME: &'static str = "testing";

    fn step(&mut self, inputs: &Inputs<'_, TestInput>, events: &mut Events<TestEvent>) {
        self.present = inputs.players().len() as u32;
        for (player, input) in inputs.iter() {
            let step = 0.01 * f32::from(input.turn);
            let units = self.units.iter_mut().map(|(_, unit)| unit);
            for unit in units.filter(|unit| unit.owner == player) {
                unit.heading += step;
                unit.load = unit.load.wrapping_add(1);
            }
            if let Some(command) = input.command {
                events.emit(TestEvent::Command(player, command));
                self.obey(player, command, events);
            }
        }
        for (id, unit) in self.units.iter_mut() {
            let area = (unit.position.0 / BORDERS).floor();
            unit.position.0 += math::cos(unit.heading) * 0.1;
            if (unit.position.0 / BORDERS).floor() != area {
                events.emit(TestEvent::Crossed(id));
            }
            unit.position.1 += math::sin(unit.heading) * 0.1;
        }
    }
}

impl TestGame {
    fn obey(&mut self, player: PlayerId, command: u8, events: &mut Events<TestEvent>) {
        match command % 3 {
            0 if self.units.len() < 200 => self.spawn(player),
            1 if self.units.len() > 4 => {
                let at = self.rng.below(self.units.len() as u32) as usize;
                let id = self.units.ids()[at];
                if let Some(unit) = self.units.remove(id) {
                    events.emit(TestEvent::Removed(id, unit.load));
                    self.total[usize::from(player.0) % 16] += u32::from(unit.load);
                }
            }
            _ => {
                let turn = self.rng.unit();
                for (_, unit) in self.units.iter_mut() {
                    unit.heading -= turn;
                }
            }
        }
    }
}
