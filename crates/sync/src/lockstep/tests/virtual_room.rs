//! Models and worlds without a network: messages arrive after a while, or get lost.

use core::time::Duration;

use crate::lockstep::Lockstep;
use crate::{
    Delivery, Entities, Events, Input, Inputs, Live, LockstepConfig, Member, Model, PeerId,
    PlayerId, Record, Replicate, Rng, Roster, Simulation, Wire,
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

pub(super) struct Peer {
    pub(super) model: Lockstep,
    pub(super) world: Live<ManyStones>,
    pub(super) here: bool,
}

/// Peers whose messages take `delay`; the first is the authority.
pub(super) struct VirtualRoom {
    pub(super) now: Duration,
    pub(super) delay: Duration,
    pub(super) mesh: bool,
    pub(super) authority: u16,
    pub(super) peers: Vec<Peer>,
    /// Messages that get lost, in percent.
    pub(super) loss: u32,
    chance: Rng,
    pub(super) on_the_way: Vec<(Duration, usize, usize, Vec<u8>)>,
    pub(super) messages_sent: usize,
}

impl VirtualRoom {
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
        let peer = |_| Peer {
            model: model(),
            world: Live::new(ManyStones::new()),
            here: true,
        };
        let mut room = VirtualRoom {
            now: Duration::from_secs(1),
            delay: Duration::from_millis(delay_ms),
            mesh,
            authority: 0,
            peers: (0..peers).map(peer).collect(),
            loss: 0,
            chance: Rng::new(9),
            on_the_way: Vec::new(),
            messages_sent: 0,
        };
        room.pass_roster_on();
        // Everyone begins with what the authority hands out.
        for to in 1..peers {
            room.hand_over(to);
        }
        for peer in &mut room.peers {
            peer.model.handle_start(room.now, Duration::from_secs(2));
        }
        room
    }

    pub(super) fn hand_over(&mut self, to: usize) {
        let by = usize::from(self.authority);
        let Peer { model, world, .. } = &mut self.peers[by];
        let checkpoint = model.checkpoint(self.now, PeerId(to as u16), world);
        let Peer { model, world, .. } = &mut self.peers[to];
        model.adopt(self.now, &checkpoint, world).unwrap();
    }

    pub(super) fn pass_roster_on(&mut self) {
        let members: Vec<Member> = (0..self.peers.len())
            .filter(|at| self.peers[*at].here)
            .map(|at| Member {
                peer: PeerId(at as u16),
                players: vec![PlayerId(at as u16)],
                in_sync: true,
                away: false,
                watches: false,
                incarnation: 1,
                latency: self.delay,
                loss: self.loss as u8,
            })
            .collect();
        for (at, peer) in self.peers.iter_mut().enumerate() {
            let roster = Roster {
                me: PeerId(at as u16),
                authority: PeerId(self.authority),
                is_mesh: self.mesh,
                members: members.clone(),
            };
            peer.model.handle_roster(self.now, &roster);
        }
    }

    pub(super) fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += Duration::from_millis(1);
            let (due, rest) = core::mem::take(&mut self.on_the_way)
                .into_iter()
                .partition(|(at, ..)| *at <= self.now);
            self.on_the_way = rest;
            let due: Vec<(Duration, usize, usize, Vec<u8>)> = due;
            for (_, from, to, bytes) in due {
                if self.peers[to].here {
                    self.peers[to]
                        .model
                        .handle_message(self.now, PeerId(from as u16), &bytes);
                }
            }
            for at in 0..self.peers.len() {
                let Peer { model, world, here } = &mut self.peers[at];
                if !*here {
                    continue;
                }
                if model.poll_timeout().is_some_and(|at| at <= self.now) {
                    model.advance(self.now, world);
                }
                while let Some(message) = model.poll_message() {
                    self.messages_sent += 1;
                    for to in message.to {
                        let may_be_lost = message.delivery == Delivery::Unreliable;
                        if may_be_lost && self.chance.below(100) < self.loss {
                            continue;
                        }
                        self.on_the_way.push((
                            self.now + self.delay,
                            at,
                            usize::from(to.0),
                            message.bytes.clone(),
                        ));
                    }
                }
            }
        }
    }

    pub(super) fn push(&mut self, at: usize, force: u8) -> bool {
        let input = samestep_wire::encode_to_vec(&Push(Some(force))).unwrap();
        self.peers[at]
            .model
            .input(self.now, PlayerId(at as u16), &input)
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
