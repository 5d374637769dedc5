//! A room of lockstep models that simulate many stones.

use core::time::Duration;

use crate::lockstep::Lockstep;
use crate::test_room::TestRoom;
use crate::{
    Entities, Events, Input, InputKind, Inputs, LockstepConfig, Model, PlayerId, Record, Replicate,
    Rng, Simulation, Wire,
};

#[derive(Clone, Default, PartialEq, Debug, Wire)]
pub(in crate::lockstep) struct Push(pub Option<u8>);

impl Input for Push {
    fn predict(&self) -> Self {
        Push(None)
    }
}

#[derive(Clone, PartialEq, Debug, Record)]
pub(super) struct Stone {
    pub(super) place: f32,
    pub(super) weight: u16,
}

#[derive(Clone, Replicate)]
pub(in crate::lockstep) struct ManyStones {
    pub(super) stones: Entities<Stone>,
    pub(super) pushes: u32,
    pub(super) rng: Rng,
}

impl ManyStones {
    pub(in crate::lockstep) fn new() -> ManyStones {
        let mut stones = Entities::new();
        for weight in 0..300 {
            stones.insert(Stone { place: 0.0, weight });
        }
        ManyStones {
            stones,
            pushes: 0,
            rng: Rng::new(5),
        }
    }
}

impl Simulation for ManyStones {
    type Input = Push;
    type Event = (PlayerId, u8);
    const NAME: &'static str = "many stones";

    fn step(&mut self, inputs: &Inputs<'_, Push>, events: &mut Events<(PlayerId, u8)>) {
        for (player, push) in inputs.given() {
            let Push(Some(force)) = push else {
                continue;
            };
            events.emit((player, *force));
            self.pushes += 1;
            let at = self.rng.below(self.stones.len() as u32) as usize;
            self.stones.as_mut_slice()[at].place += f32::from(*force);
        }
    }
}

/// Peers that play with the stones.
pub(super) type VirtualRoom = TestRoom<Lockstep, ManyStones>;

impl TestRoom<Lockstep, ManyStones> {
    pub(super) fn new(
        peers: usize,
        mesh: bool,
        delay_ms: u64,
        config: LockstepConfig,
    ) -> VirtualRoom {
        let model = || Lockstep::new(config.clone()).unwrap();
        Self::of(peers, mesh, delay_ms, model)
    }

    pub(super) fn of(
        peers: usize,
        mesh: bool,
        delay_ms: u64,
        model: impl Fn() -> Lockstep,
    ) -> VirtualRoom {
        let start = Duration::from_secs(2);
        Self::begin(peers, mesh, delay_ms, start, &ManyStones::new(), model)
    }

    pub(super) fn push(&mut self, at: usize, force: u8) -> bool {
        let input = samestep_wire::encode_to_vec(&Push(Some(force))).unwrap();
        self.peers[at]
            .model
            .input(self.now, PlayerId(at as u16), &input, InputKind::Command)
    }

    pub(super) fn assert_same(&mut self) {
        let first = self.peers.iter().position(|peer| peer.here).unwrap();
        let ticks: Vec<u64> = self
            .peers
            .iter()
            .filter(|peer| peer.here)
            .map(|peer| peer.model.simulated.confirmed_tick.0)
            .collect();
        let (least, most) = (ticks.iter().min().unwrap(), ticks.iter().max().unwrap());
        // Guests are later by what they allow for loss.
        assert!(most - least <= 6, "{ticks:?}");
        let pushes = self.peers[first].world.state().pushes;
        for peer in self.peers.iter_mut().filter(|peer| peer.here) {
            assert_eq!(peer.world.state().pushes, pushes);
            assert_eq!(peer.model.stats.refused, 0);
            assert_eq!(peer.model.desync.desyncs, 0);
        }
    }
}
