//! A small game with everything that can go wrong in it: entities that come and go, held and momentary inputs, randomness, floats,
//! events of all of them.

use samestep_sync::{
    Entities, EntityId, Events, Input, Inputs, PlayerId, Record, Replicate, Rng, Simulation, Wire,
    math,
};

/// Sheep of several shepherds.
#[derive(Clone, Replicate)]
pub(super) struct Pasture {
    sheep: Entities<Sheep>,
    shorn: [u32; 16],
    present: u32,
    rng: Rng,
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Sheep {
    owner: PlayerId,
    position: (f32, f32),
    heading: f32,
    wool: u16,
    friend: Option<EntityId>,
}

/// What a shepherd does: walking goes on, shouting does not.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
pub(super) struct Shepherd {
    pub(super) walk: u8,
    pub(super) shout: Option<u8>,
}

impl Input for Shepherd {
    fn predict(&self) -> Self {
        Shepherd {
            walk: self.walk,
            shout: None,
        }
    }
}

/// What is heard from the pasture.
#[derive(Clone, PartialEq, Debug, Wire)]
pub(super) enum Bleat {
    /// A shepherd shouts.
    Shout(PlayerId, u8),
    /// A sheep is shorn and gone, with that much wool.
    Shorn(EntityId, u16),
    /// A sheep steps over a fence.
    Fence(EntityId),
}

/// From one fence to the next.
const FENCES: f32 = 4.0;

impl Pasture {
    pub(super) fn new(seed: u64) -> Pasture {
        let mut pasture = Pasture {
            sheep: Entities::new(),
            shorn: [0; 16],
            present: 0,
            rng: Rng::new(seed),
        };
        for number in 0..24 {
            pasture.lamb(PlayerId(number % 8));
        }
        pasture
    }

    fn lamb(&mut self, owner: PlayerId) {
        let friend = self.sheep.ids().last().copied();
        self.sheep.insert(Sheep {
            owner,
            position: (self.rng.unit() * 100.0, self.rng.unit() * 100.0),
            heading: self.rng.unit() * 6.0,
            wool: 0,
            friend,
        });
    }

    /// Something that no rule does.
    pub(super) fn spoil(&mut self) {
        if let Some(id) = self.sheep.ids().first().copied()
            && let Some(sheep) = self.sheep.get_mut(id)
        {
            sheep.wool ^= 0x55;
        }
    }
}

impl Simulation for Pasture {
    type Input = Shepherd;
    type Event = Bleat;
    const NAME: &'static str = "pasture";

    fn step(&mut self, inputs: &Inputs<'_, Shepherd>, events: &mut Events<Bleat>) {
        self.present = inputs.players().len() as u32;
        for (player, shepherd) in inputs.iter() {
            let step = 0.01 * f32::from(shepherd.walk);
            for sheep in self
                .sheep
                .iter_mut()
                .map(|(_, sheep)| sheep)
                .filter(|sheep| sheep.owner == player)
            {
                sheep.heading += step;
                sheep.wool = sheep.wool.wrapping_add(1);
            }
            if let Some(word) = shepherd.shout {
                events.emit(Bleat::Shout(player, word));
                self.hear(player, word, events);
            }
        }
        for (id, sheep) in self.sheep.iter_mut() {
            let field = (sheep.position.0 / FENCES).floor();
            sheep.position.0 += math::cos(sheep.heading) * 0.1;
            if (sheep.position.0 / FENCES).floor() != field {
                events.emit(Bleat::Fence(id));
            }
            sheep.position.1 += math::sin(sheep.heading) * 0.1;
        }
    }
}

impl Pasture {
    fn hear(&mut self, player: PlayerId, word: u8, events: &mut Events<Bleat>) {
        match word % 3 {
            0 if self.sheep.len() < 200 => self.lamb(player),
            1 if self.sheep.len() > 4 => {
                let at = self.rng.below(self.sheep.len() as u32) as usize;
                let id = self.sheep.ids()[at];
                if let Some(sheep) = self.sheep.remove(id) {
                    events.emit(Bleat::Shorn(id, sheep.wool));
                    self.shorn[usize::from(player.0) % 16] += u32::from(sheep.wool);
                }
            }
            _ => {
                let turn = self.rng.unit();
                for (_, sheep) in self.sheep.iter_mut() {
                    sheep.heading -= turn;
                }
            }
        }
    }
}
