//! A game in which everyone walks, and a network in virtual time between those who play it.

use core::time::Duration;

use samestep_wire::encode_to_vec;

use crate::{
    Delivery, Entities, Events, Input, Inputs, Interest, Live, Member, Model, PeerId, PlayerId,
    Record, Relevance, Replicate, Rng, Roster, Simulation, Wire,
};

/// A held input (`walk`) and a momentary one (`signal`).
#[derive(Clone, Default, PartialEq, Debug, Wire)]
pub(super) struct Walk {
    pub walk: i8,
    pub signal: bool,
}

impl Input for Walk {
    fn predict(&self) -> Self {
        Walk {
            walk: self.walk,
            signal: false,
        }
    }

    fn merge(&mut self, late: &Self) -> bool {
        self.signal |= late.signal;
        true
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Record)]
pub(super) struct Walker {
    #[field(owner)]
    pub player: PlayerId,
    #[field(blend = "linear")]
    pub place: i32,
    pub signals: u32,
}

#[derive(Clone, Replicate)]
pub(super) struct WalkingGame {
    pub walkers: Entities<Walker>,
    pub blinking: Entities<(i32, i32)>,
    /// Beyond this nobody sees anybody.
    pub view_distance: i32,
}

#[derive(Clone, Copy, PartialEq, Debug, Wire)]
pub(super) struct Signal(pub PlayerId, pub u32);

impl WalkingGame {
    pub(super) fn new(blinking: i32) -> WalkingGame {
        let mut game = WalkingGame {
            walkers: Entities::new(),
            blinking: Entities::new(),
            view_distance: 0,
        };
        for place in 0..blinking {
            game.blinking.insert((place, 7));
        }
        game
    }

    pub(super) fn walker(&self, player: PlayerId) -> Option<Walker> {
        let walkers = self.walkers.as_slice().iter();
        walkers.copied().find(|walker| walker.player == player)
    }
}

impl Simulation for WalkingGame {
    type Input = Walk;
    type Event = Signal;
    const NAME: &'static str = "game";

    fn step(&mut self, inputs: &Inputs<'_, Walk>, events: &mut Events<Signal>) {
        for player in inputs.players() {
            if self.walker(*player).is_none() {
                self.walkers.insert(Walker {
                    player: *player,
                    place: 100 * i32::from(player.0),
                    signals: 0,
                });
            }
        }
        self.walkers
            .retain(|_, walker| inputs.of(walker.player).is_some());
        for walker in self.walkers.as_mut_slice() {
            let Some(input) = inputs.of(walker.player) else {
                continue;
            };
            walker.place += i32::from(input.walk);
            if input.signal {
                walker.signals += 1;
                events.emit(Signal(walker.player, walker.signals));
            }
        }
        let time = inputs.tick().0 as i32;
        for blinker in self.blinking.as_mut_slice() {
            blinker.1 = (blinker.0 * 7 + time) % 50;
        }
    }

    fn allows(&self, _: PlayerId, input: &Walk) -> bool {
        input.walk.abs() <= 10
    }

    fn interest(&self, viewers: &[PlayerId], interest: &mut Interest) {
        if self.view_distance == 0 {
            return;
        }
        let eyes: Vec<i32> = viewers
            .iter()
            .filter_map(|viewer| Some(self.walker(*viewer)?.place))
            .collect();
        let mut walkers = interest.part("walkers");
        for (row, walker) in self.walkers.as_slice().iter().enumerate() {
            let seen = eyes
                .iter()
                .any(|eye| (eye - walker.place).abs() <= self.view_distance);
            walkers.row(
                row,
                if seen {
                    Relevance::FULL
                } else {
                    Relevance::HIDDEN
                },
            );
        }
    }

    fn perceives(&self, viewers: &[PlayerId], event: &Signal) -> bool {
        self.view_distance == 0 || viewers.contains(&event.0)
    }
}

pub(super) struct Peer<M> {
    pub model: M,
    pub world: Live<WalkingGame>,
    pub here: bool,
}

/// Peers whose messages take `delay`; the first is the authority.
pub(super) struct TestNetwork<M> {
    pub now: Duration,
    pub delay: Duration,
    pub authority: u16,
    pub peers: Vec<Peer<M>>,
    /// Messages that get lost, in percent.
    pub loss: u32,
    /// What messages may take longer.
    pub jitter_ms: u32,
    rng: Rng,
    on_the_way: Vec<(Duration, usize, usize, Vec<u8>)>,
    /// All that was sent to each peer.
    pub sent: Vec<Vec<Vec<u8>>>,
}

impl<M: Model> TestNetwork<M> {
    pub(super) fn new(
        peers: usize,
        delay_ms: u64,
        game: &WalkingGame,
        model: impl Fn() -> M,
    ) -> TestNetwork<M> {
        let peer = |_| Peer {
            model: model(),
            world: Live::new(game.clone()),
            here: true,
        };
        let mut network = TestNetwork {
            now: Duration::from_secs(1),
            delay: Duration::from_millis(delay_ms),
            authority: 0,
            peers: (0..peers).map(peer).collect(),
            loss: 0,
            jitter_ms: 0,
            rng: Rng::new(3),
            on_the_way: Vec::new(),
            sent: vec![Vec::new(); peers],
        };
        network.pass_roster_on();
        for to in 1..peers {
            network.hand_over(to);
        }
        let start = network.now + Duration::from_millis(200);
        for peer in &mut network.peers {
            peer.model.handle_start(network.now, start);
        }
        network
    }

    pub(super) fn hand_over(&mut self, to: usize) {
        let Peer { model, world, .. } = &mut self.peers[0];
        let state = model.checkpoint(self.now, PeerId(to as u16), world);
        self.sent[to].push(state.clone());
        let Peer { model, world, .. } = &mut self.peers[to];
        model.adopt(self.now, &state, world).unwrap();
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
                is_mesh: false,
                members: members.clone(),
            };
            peer.model.handle_roster(self.now, &roster);
        }
    }

    pub(super) fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += Duration::from_millis(1);
            let on_the_way = core::mem::take(&mut self.on_the_way);
            let (due, rest) = on_the_way.into_iter().partition(|sent| sent.0 <= self.now);
            self.on_the_way = rest;
            let due: Vec<(Duration, usize, usize, Vec<u8>)> = due;
            for (_, from, to, bytes) in due {
                let peer = &mut self.peers[to];
                if peer.here {
                    peer.model
                        .handle_message(self.now, PeerId(from as u16), &bytes);
                }
            }
            for at in 0..self.peers.len() {
                self.advance(at);
            }
        }
    }

    fn advance(&mut self, at: usize) {
        let Peer { model, world, here } = &mut self.peers[at];
        if !*here {
            return;
        }
        if model.poll_timeout().is_some_and(|at| at <= self.now) {
            model.advance(self.now, world);
        }
        while let Some(message) = model.poll_message() {
            for to in message.to {
                self.sent[usize::from(to.0)].push(message.bytes.clone());
                let lost = self.rng.below(100) < self.loss;
                if lost && message.delivery == Delivery::Unreliable {
                    continue;
                }
                let jitter = self.rng.below(self.jitter_ms + 1);
                let at_there = self.now + self.delay + Duration::from_millis(jitter.into());
                let to = usize::from(to.0);
                self.on_the_way
                    .push((at_there, at, to, message.bytes.clone()));
            }
        }
    }

    pub(super) fn walk(&mut self, at: usize, walk: i8, signal: bool) -> bool {
        let input = encode_to_vec(&Walk { walk, signal }).unwrap();
        let peer = &mut self.peers[at];
        peer.model.input(self.now, PlayerId(at as u16), &input)
    }

    /// Where a player is, for a peer.
    pub(super) fn place(&self, at: usize, player: u16) -> Option<i32> {
        let state = self.peers[at].world.state();
        state.walker(PlayerId(player)).map(|walker| walker.place)
    }

    /// Where a player is drawn, for a peer.
    pub(super) fn drawn(&mut self, at: usize, player: u16) -> Option<i32> {
        let Peer { model, world, .. } = &mut self.peers[at];
        let state = match model.view(self.now, world) {
            true => world.drawn(),
            false => world.state(),
        };
        state.walker(PlayerId(player)).map(|walker| walker.place)
    }
}
