//! What is drawn of a game that goes back and simulates again.
#![allow(missing_docs)]

use core::f32::consts::PI;
use core::time::Duration;
use std::collections::VecDeque;

use samestep_sync::{
    Entities, Events, Input, InputKind, Inputs, Live, Member, Model, PeerId, PlayerId, Record,
    Replicate, Rng, Rollback, RollbackConfig, Roster, Simulation, SmoothConfig, Tick, TickInputs,
    Wire, World, math,
};
use samestep_wire::encode_to_vec;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Which way a player goes.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Way(u8);

impl Input for Way {
    fn predict(&self) -> Self {
        self.clone()
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Record)]
struct Walker {
    #[field(blend = "linear")]
    place: [f32; 2],
    #[field(blend = "angle")]
    heading: f32,
}

#[derive(Clone, Replicate)]
struct Square {
    walkers: Entities<Walker>,
}

/// Units that a walker goes in a tick.
const SPEED: f32 = 2.0;

impl Simulation for Square {
    type Input = Way;
    type Event = ();
    const NAME: &'static str = "square";

    fn step(&mut self, inputs: &Inputs<'_, Way>, _: &mut Events<()>) {
        for ((_, Way(way)), walker) in inputs.iter().zip(self.walkers.as_mut_slice()) {
            let axis = usize::from(way & 1);
            walker.place[axis] += if way & 2 == 0 { SPEED } else { -SPEED };
            walker.heading = f32::from(*way) * PI / 2.0;
        }
    }
}

const PLAYERS: [PlayerId; 3] = [PlayerId(0), PlayerId(1), PlayerId(2)];

/// Everybody goes somewhere, and may turn at any tick.
struct Walk {
    live: Live<Square>,
    ways: Vec<[u8; 3]>,
    rng: Rng,
}

impl Walk {
    fn new(seed: u64) -> Walk {
        let mut square = Square {
            walkers: Entities::new(),
        };
        for x in 0..3 {
            let place = [100.0 * x as f32, 0.0];
            square.walkers.insert(Walker {
                place,
                heading: 0.0,
            });
        }
        Walk {
            live: Live::without_recording(square),
            ways: Vec::new(),
            rng: Rng::new(seed),
        }
    }

    fn step(&mut self) {
        let mut ways = self.ways.last().copied().unwrap_or_default();
        if self.rng.chance(0.1) {
            ways[0] = self.rng.below(4) as u8;
        }
        self.ways.push(ways);
        self.simulate(self.ways.len() - 1);
    }

    /// Somebody had turned so many ticks ago.
    fn roll_back(&mut self, ticks: usize) {
        let from = self.ways.len().saturating_sub(ticks);
        let (player, way) = (self.rng.below(3) as usize, self.rng.below(4) as u8);
        for ways in &mut self.ways[from..] {
            ways[player] = way;
        }
        assert!(self.live.load(Tick(from as u64)));
        for tick in from..self.ways.len() {
            self.simulate(tick);
        }
    }

    fn simulate(&mut self, at: usize) {
        let tick = Tick(at as u64);
        self.live.save(tick);
        let mut inputs = TickInputs::new();
        inputs.set_players(&PLAYERS);
        for (player, way) in PLAYERS.iter().zip(self.ways[at]) {
            inputs.give(*player, &Way(way));
        }
        self.live.step(tick, &inputs);
    }
}

fn distance(a: [f32; 2], b: [f32; 2]) -> f32 {
    math::hypot(a[0] - b[0], a[1] - b[1])
}

#[test]
fn no_correction_makes_what_is_drawn_jump() {
    // Eight ticks the wrong way and back.
    let farthest = 2.0 * 8.0 * SPEED;
    let (frame, tick, glide) = (6_944u64, 16_667u64, 100_000u64);
    let moves = SPEED * frame as f32 / tick as f32;
    let corrects = farthest * (1.0 - samestep_sync::math::exp(-(frame as f32) / glide as f32));
    for seed in 0..20 {
        let mut walk = Walk::new(seed);
        walk.live.smooth(SmoothConfig::default());
        let (mut drawn, mut state) = (Vec::new(), Vec::new());
        let (mut largest, mut largest_of_state) = (0f32, 0f32);
        for n in 0..3000 {
            let now = n * frame;
            while (walk.ways.len() as u64) < now / tick {
                walk.step();
                if walk.rng.chance(0.05) {
                    let ticks = 1 + walk.rng.below(8) as usize;
                    walk.roll_back(ticks);
                }
            }
            let places = |square: &Square| -> Vec<_> {
                square
                    .walkers
                    .as_slice()
                    .iter()
                    .map(|walker| walker.place)
                    .collect()
            };
            let next = places(walk.live.shown(Duration::from_micros(now)));
            let next_state = places(walk.live.state());
            for at in 0..if n > 20 { 3 } else { 0 } {
                largest = largest.max(distance(drawn[at], next[at]));
                largest_of_state = largest_of_state.max(distance(state[at], next_state[at]));
            }
            (drawn, state) = (next, next_state);
        }
        let stats = walk.live.view().unwrap().stats();
        assert!(stats.corrections > 20 && stats.largest <= f64::from(farthest));
        assert!(largest <= moves + corrects, "seed {seed}: {largest}");
        assert!(
            largest_of_state > 4.0 * largest,
            "seed {seed}: {largest_of_state} {largest}"
        );

        // It comes to rest where it is right.
        let state = walk.live.state().clone();
        let drawn = walk.live.shown(Duration::from_secs(99));
        assert_eq!(drawn.walkers, state.walkers);
    }
}

/// Two programs in a mesh, each with a walker of its own; messages take some ticks.
struct TwoPeers {
    peers: Vec<(Rollback, Live<Square>)>,
    on_the_way: VecDeque<(u64, usize, Vec<u8>)>,
    rng: Rng,
}

impl TwoPeers {
    fn new(seed: u64) -> TwoPeers {
        let start = Duration::ZERO;
        let member = |id: u16| Member {
            peer: PeerId(id),
            players: vec![PlayerId(id)],
            in_sync: true,
            away: false,
            watches: false,
            incarnation: 1,
            latency: ms(67),
            loss: 0,
        };
        let peer = |id| {
            let mut model = Rollback::new(RollbackConfig::default()).unwrap();
            let roster = Roster {
                me: PeerId(id),
                authority: PeerId(0),
                is_mesh: true,
                members: vec![member(0), member(1)],
            };
            model.handle_roster(start, &roster);
            let mut live = Walk::new(seed).live;
            live.smooth(SmoothConfig::default());
            (model, live)
        };
        let mut peers: Vec<_> = [0, 1].map(peer).into();
        let (model, world) = &mut peers[0];
        let checkpoint = model.checkpoint(start, PeerId(1), world);
        let (model, world) = &mut peers[1];
        model.adopt(start, &checkpoint, world).unwrap();
        for (model, _) in &mut peers {
            model.handle_start(start, ms(1000));
        }
        TwoPeers {
            peers,
            on_the_way: VecDeque::new(),
            rng: Rng::new(seed),
        }
    }

    fn frame(&mut self, frame: u64, now: Duration) {
        while self
            .on_the_way
            .front()
            .is_some_and(|sent| sent.0 + 10 <= frame)
        {
            let (_, from, bytes) = self.on_the_way.pop_front().unwrap();
            let hears = &mut self.peers[1 - from].0;
            hears.handle_message(now, PeerId(from as u16), &bytes);
        }
        for (at, (model, world)) in self.peers.iter_mut().enumerate() {
            if self.rng.chance(0.02) {
                let way = encode_to_vec(&Way(self.rng.below(4) as u8)).unwrap();
                model.input(now, PlayerId(at as u16), &way, InputKind::Controls);
            }
            model.advance(now, world);
            while let Some(message) = model.poll_message() {
                self.on_the_way.push_back((frame, at, message.bytes));
            }
        }
    }
}

#[test]
fn with_rollback_others_turn_without_a_jump() {
    let (frame, tick) = (6_944u64, 16_667u64);
    for seed in 0..10 {
        let mut two = TwoPeers::new(seed);
        let (mut drawn, mut state) = (Vec::new(), Vec::new());
        let (mut largest, mut largest_of_state) = (0f32, 0f32);
        for n in 0..4000 {
            let now = Duration::from_micros(n * frame);
            two.frame(n, now);
            // How the first sees the second.
            let live = &mut two.peers[0].1;
            state.push(live.state().walkers.as_slice()[1].place);
            drawn.push(live.shown(now).walkers.as_slice()[1].place);
        }
        // Three seconds after they began to play, everything has found its pace.
        for pair in drawn[600..].windows(2) {
            largest = largest.max(distance(pair[0], pair[1]));
        }
        for pair in state[600..].windows(2) {
            largest_of_state = largest_of_state.max(distance(pair[0], pair[1]));
        }
        let stats = two.peers[0].1.view().unwrap().stats();
        assert!(stats.corrections > 20, "{stats:?}");
        let moves = SPEED * frame as f32 / tick as f32;
        let corrects = 0.07 * stats.largest as f32;
        assert!(largest <= moves + corrects, "seed {seed}: {largest}");
        assert!(
            largest_of_state > 4.0 * largest,
            "seed {seed}: {largest_of_state} {largest}"
        );
    }
}

#[test]
fn a_repair_glides_too() {
    let mut walk = Walk::new(3);
    walk.live.smooth(SmoothConfig::default());
    for _ in 0..10 {
        walk.step();
    }
    let before = walk.live.shown(ms(0)).walkers.as_slice()[1].place;
    let checkpoint = {
        let mut other = Walk::new(4);
        for _ in 0..10 {
            other.step();
        }
        let walker = &mut other.live.state_mut().walkers.as_mut_slice()[1];
        walker.place = [70.0, 70.0];
        other.live.checkpoint()
    };
    walk.live.adopt(Tick(10), &checkpoint).unwrap();
    assert_eq!(walk.live.shown(ms(0)).walkers.as_slice()[1].place, before);
    let after = walk.live.shown(ms(2000)).walkers.as_slice()[1].place;
    assert_eq!(after, [70.0, 70.0]);
}

#[test]
fn switched_off_it_costs_nothing() {
    let mut walk = Walk::new(1);
    walk.step();
    let state: *const Square = walk.live.state();
    assert!(core::ptr::eq(walk.live.shown(ms(0)), state));
    assert!(walk.live.view().is_none());
}
