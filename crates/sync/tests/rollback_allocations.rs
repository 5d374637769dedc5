//! Once memory is there, a game with rollback goes back and simulates again without asking for more.
#![allow(missing_docs)]

use std::collections::VecDeque;
use std::time::Duration;

use samestep_sync::{
    Entities, Events, Input, InputKind, Inputs, Live, Member, Model, Outgoing, PeerId, PlayerId,
    Record, Replicate, Rollback, RollbackConfig, Roster, Simulation, Wire,
};
use samestep_wire::encode_to_vec;

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Steer(u8);

impl Input for Steer {
    fn predict(&self) -> Self {
        self.clone()
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Record)]
struct Vehicle {
    place: (f32, f32),
    heading: f32,
}

#[derive(Clone, Replicate)]
struct SteeringGame {
    vehicles: Entities<Vehicle>,
    bumps: u32,
}

impl Simulation for SteeringGame {
    type Input = Steer;
    type Event = u8;
    const NAME: &'static str = "game";

    fn step(&mut self, inputs: &Inputs<'_, Steer>, events: &mut Events<u8>) {
        for ((_, Steer(steer)), vehicle) in inputs.iter().zip(self.vehicles.as_mut_slice()) {
            vehicle.heading += f32::from(*steer) * 0.01;
            vehicle.place.0 += vehicle.heading;
            if steer.is_multiple_of(8) {
                self.bumps += 1;
                events.emit(*steer);
            }
        }
    }
}

/// Two programs; messages of one reach the other four ticks later.
struct TwoPeers {
    now: Duration,
    tick: u64,
    peers: Vec<(Rollback, Live<SteeringGame>)>,
    on_the_way: VecDeque<(u64, usize, Outgoing)>,
    inputs: Vec<Vec<u8>>,
}

impl TwoPeers {
    fn new() -> TwoPeers {
        let member = |id: u16| Member {
            peer: PeerId(id),
            players: vec![PlayerId(id)],
            in_sync: true,
            away: false,
            watches: false,
            incarnation: 1,
            latency: Duration::from_millis(67),
            loss: 0,
        };
        let mut vehicles = Entities::new();
        for _ in 0..600 {
            vehicles.insert(Vehicle {
                place: (0.0, 0.0),
                heading: 0.0,
            });
        }
        let game = SteeringGame { vehicles, bumps: 0 };
        let mut peers: Vec<(Rollback, Live<SteeringGame>)> = (0..2)
            .map(|id| {
                let mut model = Rollback::new(RollbackConfig::default()).unwrap();
                let roster = Roster {
                    me: PeerId(id),
                    authority: PeerId(0),
                    is_mesh: true,
                    members: vec![member(0), member(1)],
                };
                model.handle_roster(Duration::ZERO, &roster);
                (model, Live::without_recording(game.clone()))
            })
            .collect();
        let (host, guest) = peers.split_at_mut(1);
        let checkpoint = host[0]
            .0
            .checkpoint(Duration::ZERO, PeerId(1), &mut host[0].1);
        let (model, world) = &mut guest[0];
        model.adopt(Duration::ZERO, &checkpoint, world).unwrap();
        for (model, _) in &mut peers {
            model.handle_start(Duration::ZERO, Duration::from_secs(1));
        }
        TwoPeers {
            now: Duration::ZERO,
            tick: 0,
            peers,
            on_the_way: VecDeque::new(),
            inputs: (0..=255)
                .map(|at| encode_to_vec(&Steer(at)).unwrap())
                .collect(),
        }
    }

    fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.tick += 1;
            self.now = Duration::from_nanos(self.tick * 16_666_667 + 100);
            while self
                .on_the_way
                .front()
                .is_some_and(|sent| sent.0 + 4 <= self.tick)
            {
                let (_, from, message) = self.on_the_way.pop_front().unwrap();
                let heard = &mut self.peers[1 - from].0;
                heard.handle_message(self.now, PeerId(from as u16), &message.bytes);
                self.peers[from].0.reclaim(message);
            }
            for at in 0..2 {
                let (model, world) = &mut self.peers[at];
                let input = &self.inputs[self.tick as usize % 256];
                model.input(self.now, PlayerId(at as u16), input, InputKind::Controls);
                model.advance(self.now, world);
                while let Some(message) = model.poll_message() {
                    self.on_the_way.push_back((self.tick, at, message));
                }
                while world.poll_event().is_some() {}
            }
        }
    }
}

#[test]
fn going_back_and_simulating_again_allocates_nothing() {
    let mut two = TwoPeers::new();
    two.run(2000);
    let before = two.peers[1].0.status();
    // What is remembered of the comparison of states, once a second, is left out.
    let head = two.peers[0].0.status().tick.0;
    two.run(72 - head % 60);
    let allocations = allocation_counter::measure(|| two.run(45));
    let status = two.peers[1].0.status();
    assert!(status.resimulated > before.resimulated + 100, "{status:?}");
    assert_eq!(status.stalled_ticks, before.stalled_ticks);
    assert_eq!(allocations.count_total, 0);
}
