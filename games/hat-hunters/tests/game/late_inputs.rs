//! What is settled stays as it is, however late inputs come within the update window.

use crate::scene;
use std::collections::{BTreeMap, VecDeque};

use samestep_hat_hunters::{
    Confirmations, Controls, HatHunters, HatHuntersConfig, HatHuntersEvent, Heading, Mode, Rules,
};
use samestep_sync::{
    Confirmation, Events, Input, Inputs, PlayerId, Replicate, Rng, Simulation, Tick, UpdateWindow,
};

const WINDOW: u16 = 6;
const PLAYERS: u16 = 4;

/// Inputs by tick and player.
type Given = BTreeMap<(u64, u16), Controls>;

/// Everybody changes its mind a few times a second.
fn made_up(seed: u64, ticks: u64) -> Given {
    let mut rng = Rng::new(seed);
    let mut given = Given::new();
    for tick in 0..ticks {
        for player in 0..PLAYERS {
            if rng.below(14) == 0 {
                let heading = Heading(rng.below(32) as u8);
                let controls = Controls {
                    place_box: rng.below(3) == 0,
                    use_item: rng.below(3) == 0,
                    ..Controls::steering((rng.below(8) > 0).then_some(heading))
                };
                given.insert((tick, player), controls);
            }
        }
    }
    given
}

/// An authority that simulates recent ticks again when an input belongs into one of them.
struct Authority {
    /// The states before the last ticks, with what players held.
    past: VecDeque<(HatHunters, Vec<Controls>)>,
    game: HatHunters,
    held: Vec<Controls>,
    tick: u64,
    known: Given,
    /// What the ticks emitted when they were simulated first, as far as it was certain, and what they emitted last.
    first: BTreeMap<u64, Vec<HatHuntersEvent>>,
    last: BTreeMap<u64, Vec<HatHuntersEvent>>,
}

impl Authority {
    fn new(game: HatHunters) -> Self {
        Self {
            past: VecDeque::new(),
            game,
            held: vec![Controls::default(); usize::from(PLAYERS)],
            tick: 0,
            known: Given::new(),
            first: BTreeMap::new(),
            last: BTreeMap::new(),
        }
    }

    fn step(&mut self) {
        self.past.push_back((self.game.clone(), self.held.clone()));
        if self.past.len() > usize::from(WINDOW) {
            self.past.pop_front();
        }
        let players: Vec<PlayerId> = (0..PLAYERS).map(PlayerId).collect();
        for (held, player) in self.held.iter_mut().zip(0..) {
            *held = held.predict();
            if let Some(controls) = self.known.get(&(self.tick, player)) {
                *held = *controls;
            }
        }
        let inputs = Inputs::new(Tick(self.tick), &players, &self.held, &[]);
        let inputs = inputs.with_window(UpdateWindow {
            ticks: WINDOW,
            predicting: false,
        });
        let mut events = Events::new();
        self.game.step(&inputs, &mut events);
        let is_certain =
            |event: &HatHuntersEvent| self.game.confirmation(event) == Confirmation::AtOnce;
        let events: Vec<_> = events.drain().filter(is_certain).collect();
        self.first.entry(self.tick).or_insert(events.clone());
        self.last.insert(self.tick, events);
        self.tick += 1;
    }

    /// An input for a tick that may be over.
    fn receive(&mut self, tick: u64, player: u16, controls: Controls) {
        self.known.insert((tick, player), controls);
        let now = self.tick;
        if tick >= now {
            return;
        }
        let ago = (now - tick) as usize;
        assert!(ago < usize::from(WINDOW) + 1, "still accepted");
        let at = self.past.len() - ago;
        (self.game, self.held) = self.past[at].clone();
        self.past.truncate(at);
        self.tick = tick;
        while self.tick < now {
            self.step();
        }
    }
}

fn game(seed: u64, mode: Mode) -> HatHunters {
    let config = HatHuntersConfig {
        rules: Rules {
            ai: 8,
            stars: 20,
            stars_at_once: 12,
            containers: 12,
            cooldown: 60,
            growth: 60,
            ..mode.rules()
        },
        seed,
        confirmations: Confirmations::default(),
        ..scene::yard()
    };
    HatHunters::new(&config).unwrap()
}

#[test]
fn what_is_settled_does_not_depend_on_when_inputs_come() {
    let (mut again, mut settled) = (0, 0);
    for (seed, mode) in (0..12).zip(Mode::ALL.into_iter().cycle()) {
        let ticks = 900;
        let given = made_up(seed, ticks);
        let mut in_time = Authority::new(game(seed, mode));
        in_time.known = given.clone();
        let mut late = Authority::new(game(seed, mode));
        let mut rng = Rng::new(seed + 100);
        // By the tick in which they arrive.
        let mut arrivals: BTreeMap<u64, Vec<(u64, u16, Controls)>> = BTreeMap::new();
        for ((tick, player), controls) in &given {
            let delay = u64::from(rng.below(u32::from(WINDOW)));
            let arrival = arrivals.entry(tick + delay).or_default();
            arrival.push((*tick, *player, *controls));
        }
        for tick in 0..ticks + u64::from(WINDOW) {
            in_time.step();
            for (of, player, controls) in arrivals.remove(&tick).unwrap_or_default() {
                again += tick - of;
                late.receive(of, player, controls);
            }
            late.step();
        }
        for (tick, first) in &late.first {
            assert_eq!(first, &late.last[tick], "tick {tick} took something back");
            assert_eq!(first, &in_time.first[tick], "tick {tick}, in time");
        }
        assert_eq!(late.game.checksum(), in_time.game.checksum());
        settled += late.last.values().map(Vec::len).sum::<usize>();
    }
    assert!(again > 1000, "{again} ticks again");
    assert!(settled > 1000, "{settled} events");
}

#[test]
fn what_does_not_wait_is_taken_back_when_inputs_come_late() {
    // The test above can fail: without waiting, some effects are decided before all inputs are known.
    let mut differs = 0;
    for seed in 0..6 {
        let given = made_up(seed, 900);
        let at_once = Confirmations::all(Confirmation::AtOnce);
        let mut late = Authority::new(game(seed, Mode::Stars).with_confirmations(at_once));
        for tick in 0..900 {
            let of = u64::saturating_sub(tick, u64::from(WINDOW) - 1);
            for player in 0..PLAYERS {
                if let Some(controls) = given.get(&(of, player)).filter(|_| of != tick) {
                    late.receive(of, player, *controls);
                }
            }
            late.step();
        }
        differs += usize::from(late.first != late.last);
    }
    assert!(differs > 0);
}
