//! A room of walkers that shoot at each other, and what each peer holds of every shot when it first simulates it.

use core::ops::{Deref, DerefMut};
use core::time::Duration;
use std::collections::BTreeMap;

use crate::test_room::TestRoom;
use crate::{
    Entities, EventDelay, EventStage, Events, Input, InputKind, Inputs, Model, PlayerId, Record,
    Replicate, Rng, Simulation, Tick, Wire,
};

/// A shot hits who is this near.
const REACH: i32 = 40;

#[derive(Clone, Default, PartialEq, Debug, Wire)]
pub(super) struct Steer {
    right: bool,
    fire: bool,
}

impl Input for Steer {
    fn predict(&self) -> Self {
        Steer {
            fire: false,
            ..self.clone()
        }
    }
}

#[derive(Clone, PartialEq, Debug, Record)]
pub(super) struct Walker {
    pub(super) player: PlayerId,
    place: i32,
}

#[derive(Clone, Replicate)]
pub(super) struct Duel {
    pub(super) walkers: Entities<Walker>,
    pub(super) shots: u32,
    hits: u32,
}

/// Who shot, and how many were hit.
type Shot = (PlayerId, u8);

impl Simulation for Duel {
    type Input = Steer;
    type Event = Shot;
    const NAME: &'static str = "duel";

    fn step(&mut self, inputs: &Inputs<'_, Steer>, events: &mut Events<Shot>) {
        self.walkers
            .retain(|_, walker| inputs.players().contains(&walker.player));
        for (player, steer) in inputs.iter() {
            let known = self
                .walkers
                .as_slice()
                .iter()
                .any(|walker| walker.player == player);
            if !known {
                let place = 10 * i32::from(player.0);
                self.walkers.insert(Walker { player, place });
            }
            let walkers = self.walkers.as_mut_slice();
            for walker in walkers.iter_mut().filter(|walker| walker.player == player) {
                let step = if steer.right { 1 } else { -1 };
                walker.place = (walker.place + step).clamp(-60, 60);
            }
        }
        for (player, _) in inputs.iter().filter(|(_, steer)| steer.fire) {
            let is_own = |walker: &&Walker| walker.player == player;
            let own = self.walkers.as_slice().iter().find(is_own);
            let from = own.map_or(0, |walker| walker.place);
            let others = self
                .walkers
                .as_slice()
                .iter()
                .filter(|walker| !is_own(walker));
            let hit = others.filter(|walker| (walker.place - from).abs() < REACH);
            let hit = hit.count() as u8;
            self.shots += 1;
            self.hits += u32::from(hit);
            events.emit((player, hit));
        }
    }
}

/// Peers that shoot at each other, and what each has held of it.
pub(super) struct DuelRoom {
    room: TestRoom<EventDelay, Duel>,
    observed: Vec<Observed>,
}

/// What a peer held of each shot when it first simulated its tick, and for good.
#[derive(Clone, Default)]
struct Observed {
    first: BTreeMap<(Tick, PlayerId), u8>,
    confirmed: Vec<(Tick, Shot)>,
    last_tick: Tick,
}

/// How far peers agreed on shots.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Verdicts {
    pub(super) shots: usize,
    pub(super) hits: usize,
    /// Shots of which some peer held something else, or nothing, when it first simulated their tick.
    pub(super) disagreements: usize,
}

impl Deref for DuelRoom {
    type Target = TestRoom<EventDelay, Duel>;

    fn deref(&self) -> &Self::Target {
        &self.room
    }
}

impl DerefMut for DuelRoom {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.room
    }
}

impl DuelRoom {
    pub(super) fn of(
        peers: usize,
        mesh: bool,
        delay_ms: u64,
        model: impl Fn() -> EventDelay,
    ) -> DuelRoom {
        let game = Duel {
            walkers: Entities::new(),
            shots: 0,
            hits: 0,
        };
        let start = Duration::from_secs(2);
        DuelRoom {
            room: TestRoom::begin(peers, mesh, delay_ms, start, &game, model),
            observed: vec![Observed::default(); peers],
        }
    }

    fn steer(&mut self, at: usize, right: bool, fire: bool) -> bool {
        let input = samestep_wire::encode_to_vec(&Steer { right, fire }).unwrap();
        let (now, player) = (self.now, PlayerId(at as u16));
        let model = &mut self.peers[at].model;
        model.input(now, player, &input, InputKind::Command)
    }

    pub(super) fn shoot(&mut self, at: usize) -> bool {
        self.steer(at, false, true)
    }

    /// Lets everyone turn and shoot at random for a while, and what they did take effect. Returns how often they shot.
    pub(super) fn fight(&mut self, seed: u64, ms: u64) -> usize {
        let shots = self.fight_on(seed, ms);
        for _ in 0..400 {
            self.run(1);
            self.observe();
        }
        shots
    }

    /// The same without a pause at the end.
    pub(super) fn fight_on(&mut self, seed: u64, ms: u64) -> usize {
        let mut rng = Rng::new(seed);
        let mut shots = 0;
        for _ in 0..ms {
            for at in 0..self.peers.len() {
                if self.peers[at].here && rng.below(100) == 0 {
                    let (right, fire) = (rng.below(2) == 0, rng.below(2) == 0);
                    assert!(self.steer(at, right, fire));
                    shots += usize::from(fire);
                }
            }
            self.run(1);
            self.observe();
        }
        shots
    }

    fn observe(&mut self) {
        for (peer, observed) in self.room.peers.iter_mut().zip(&mut self.observed) {
            let before = observed.last_tick;
            observed.last_tick = peer.model.status().tick;
            while let Some(event) = peer.world.poll_event() {
                let (player, hit) = event.event;
                // What comes after its tick was simulated is a correction.
                if event.tick >= before && event.stage != EventStage::Cancelled {
                    let first = observed.first.entry((event.tick, player));
                    first.or_insert(hit);
                }
                if event.stage == EventStage::Confirmed {
                    observed.confirmed.push((event.tick, event.event));
                }
            }
        }
    }

    /// How far all agreed on what was confirmed at the first peer.
    pub(super) fn verdicts(&self) -> Verdicts {
        let mut verdicts = Verdicts::default();
        for (tick, (player, hit)) in &self.observed[0].confirmed {
            let held = |peer: &Observed| peer.first.get(&(*tick, *player)) == Some(hit);
            verdicts.shots += 1;
            verdicts.hits += usize::from(*hit > 0);
            verdicts.disagreements += usize::from(!self.observed.iter().all(held));
        }
        verdicts
    }

    pub(super) fn confirmed_shots(&mut self) -> Vec<Vec<(Tick, Shot)>> {
        self.observe();
        let observed = self.observed.iter();
        observed.map(|it| it.confirmed.clone()).collect()
    }

    pub(super) fn shots_seen(&self) -> Vec<u32> {
        let worlds = self.peers.iter().map(|peer| &peer.world);
        worlds.map(|world| world.state().shots).collect()
    }

    /// The world of every peer is where the clock says, and never stood still.
    pub(super) fn assert_on_time(&self) {
        let since = self.now - Duration::from_secs(2);
        let due = since.as_nanos() as u64 * 60 / 1_000_000_000;
        for peer in self.peers.iter().filter(|peer| peer.here) {
            let status = peer.model.status();
            assert!(status.tick.0.abs_diff(due) <= 1, "{due}: {status:?}");
            assert_eq!(status.stalled_ticks, 0, "{status:?}");
        }
    }

    /// Instants at which something is sent to the first peer: what leaves at once shares a packet.
    pub(super) fn count_packets(&mut self, ms: u64) -> usize {
        let mut instants = 0;
        for _ in 0..ms {
            let before = self.sent[0].len();
            self.run(1);
            instants += usize::from(self.sent[0].len() > before);
        }
        instants
    }

    /// Everyone's state is the same, and nothing was refused or differed.
    pub(super) fn assert_same(&self) {
        let mut here = (0..self.peers.len()).filter(|at| self.peers[*at].here);
        let state = |at: usize| {
            let state = self.peers[at].world.state();
            (state.walkers.as_slice().to_vec(), state.shots, state.hits)
        };
        let first = state(here.next().unwrap());
        for at in here {
            assert_eq!(state(at), first, "peer {at}");
            let status = self.peers[at].model.status();
            assert_eq!((status.refused, status.desyncs), (0, 0), "{status:?}");
        }
    }
}
