//! A game in which everyone walks, and a network in virtual time between those who play it.

use core::time::Duration;

use samestep_wire::encode_to_vec;

use crate::test_room::{TestPeer, TestRoom};
use crate::{
    Entities, Events, Input, InputKind, Inputs, Interest, Model, PlayerId, Record, Relevance,
    Replicate, Simulation, Wire,
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
        input.walk.unsigned_abs() <= 10
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

/// Peers that play the walking game with one authority.
pub(super) type TestNetwork<M> = TestRoom<M, WalkingGame>;

impl<M: Model> TestRoom<M, WalkingGame> {
    pub(super) fn new(
        peers: usize,
        delay_ms: u64,
        game: &WalkingGame,
        model: impl Fn() -> M,
    ) -> TestNetwork<M> {
        let start = Duration::from_millis(1200);
        Self::begin(peers, false, delay_ms, start, game, model)
    }

    pub(super) fn walk(&mut self, at: usize, walk: i8, signal: bool) -> bool {
        let input = encode_to_vec(&Walk { walk, signal }).unwrap();
        let peer = &mut self.peers[at];
        peer.model
            .input(self.now, PlayerId(at as u16), &input, InputKind::Controls)
    }

    /// Where a player is, for a peer.
    pub(super) fn place(&self, at: usize, player: u16) -> Option<i32> {
        let state = self.peers[at].world.state();
        state.walker(PlayerId(player)).map(|walker| walker.place)
    }

    /// Where a player is drawn, for a peer.
    pub(super) fn drawn(&mut self, at: usize, player: u16) -> Option<i32> {
        let TestPeer { model, world, .. } = &mut self.peers[at];
        let state = match model.view(self.now, world) {
            true => world.drawn(),
            false => world.state(),
        };
        state.walker(PlayerId(player)).map(|walker| walker.place)
    }
}
