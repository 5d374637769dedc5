//! The update window: late inputs count when they were made, and what was confirmed stays.

use core::time::Duration;

use samestep_wire::encode_to_vec;

use super::test_network::{Signal, TestNetwork, WalkingGame};
use crate::test_room::TestRoom;
use crate::{
    Confirmation, Effect, EventStage, Events, Input, InputKind, Inputs, Model, PlayerId, Replicate,
    Rewind, RewindConfig, Rng, Simulation, TimedEvent, WindowLength, Wire,
};

fn rewind() -> Rewind {
    Rewind::default()
}

fn with_window(window: WindowLength) -> Rewind {
    Rewind::new(RewindConfig {
        window,
        ..RewindConfig::default()
    })
    .unwrap()
}

fn delivered<S: Simulation, M: Model>(
    room: &mut TestRoom<M, S>,
    at: usize,
) -> Vec<TimedEvent<S::Event>> {
    let world = &mut room.peers[at].world;
    core::iter::from_fn(|| world.poll_event()).collect()
}

fn confirmed<E: Clone>(delivered: &[TimedEvent<E>]) -> Vec<E> {
    let confirmed = delivered
        .iter()
        .filter(|delivered| delivered.stage == EventStage::Confirmed);
    confirmed.map(|delivered| delivered.event.clone()).collect()
}

#[test]
fn a_late_input_counts_when_it_was_made_and_nothing_is_corrected() {
    let mut network = TestNetwork::new(3, 50, &WalkingGame::new(50), rewind);
    // The lead that the first guess asked for is given up within seconds.
    network.run(5000);
    let before = network.peers[1].model.status();
    assert_eq!(before.lead, Duration::ZERO);
    for step in 0..100u32 {
        let walk = if step % 10 < 5 { 3 } else { -1 };
        network.walk(1, walk, step % 10 == 3);
        network.run(60);
        // Host and guest are in the same tick, and a late input has been placed in its own.
        let (host, guest) = (network.place(0, 1).unwrap(), network.place(1, 1).unwrap());
        assert!((host - guest).abs() <= 12, "{host} {guest}");
    }
    network.walk(1, 0, false);
    network.run(500);
    for at in [1, 2] {
        assert_eq!(network.place(at, 1), network.place(0, 1));
    }
    let status = network.peers[1].model.status();
    assert_eq!(status.corrections, before.corrections, "{status:?}");
    assert_eq!(status.inputs_too_late, 0);
    let rewound = network.peers[0].model.rewound();
    assert!(rewound.late >= 30 && rewound.rewinds >= 30, "{rewound:?}");
    // Three or four ticks for every change, where the whole window in every tick would be six.
    assert!(
        rewound.recomputed * 100 < rewound.whole_windows * 40,
        "{rewound:?}"
    );
    let signals = delivered(&mut network, 1);
    let stages = |stage| signals.iter().filter(|event| event.stage == stage).count();
    assert_eq!(stages(EventStage::Predicted), 10);
    assert_eq!(stages(EventStage::Confirmed), 10);
    assert_eq!(stages(EventStage::Cancelled), 0);
    let all = delivered(&mut network, 0);
    assert_eq!(confirmed(&all), confirmed(&signals));
}

#[test]
fn without_a_window_inputs_count_when_they_arrive() {
    let none = || with_window(WindowLength::Fixed(Duration::ZERO));
    let mut network = TestNetwork::new(2, 50, &WalkingGame::new(0), none);
    network.run(5000);
    network.walk(1, 3, false);
    network.run(1000);
    network.walk(1, 0, true);
    network.run(1000);
    assert_eq!(network.place(1, 1), network.place(0, 1));
    assert_eq!(network.peers[0].model.rewound().rewinds, 0);
    assert_eq!(confirmed(&delivered(&mut network, 1)).len(), 1);
}

#[test]
fn loss_and_jitter_stop_nobody() {
    for window in [
        WindowLength::default(),
        WindowLength::Following {
            most: Duration::from_millis(150),
        },
    ] {
        let mut network = TestNetwork::new(3, 50, &WalkingGame::new(300), || with_window(window));
        (network.loss, network.jitter_ms) = (20, 40);
        network.run(1000);
        for step in 0..150u32 {
            let walk = if step % 14 < 7 { 3 } else { -3 };
            network.walk(1, walk, step % 10 == 3);
            network.walk(2, -walk, false);
            network.run(20);
        }
        (network.loss, network.jitter_ms) = (0, 0);
        network.walk(1, 0, false);
        network.walk(2, 0, false);
        network.run(1000);
        for player in [1, 2] {
            assert_eq!(network.place(1, player), network.place(0, player));
            assert_eq!(network.place(2, player), network.place(0, player));
        }
        // Every signal came to pass once, whenever it arrived.
        let signals = network.peers[0].world.state().walker(PlayerId(1));
        assert_eq!(signals.unwrap().signals, 15);
        let at_authority: Vec<Signal> = confirmed(&delivered(&mut network, 0));
        assert_eq!(at_authority.len(), 15);
        for at in [1, 2] {
            assert_eq!(confirmed(&delivered(&mut network, at)), at_authority);
        }
    }
}

#[test]
fn an_input_that_is_too_old_is_refused_told_and_given_again() {
    let mut network = TestNetwork::new(2, 20, &WalkingGame::new(0), rewind);
    network.run(5000);
    // The way becomes longer all at once: what is on it now comes too late.
    network.delay = Duration::from_millis(220);
    network.walk(1, 2, true);
    network.run(200);
    network.walk(1, 4, false);
    network.run(2000);
    network.walk(1, 0, false);
    network.run(3000);
    let [host, guest] = [0, 1].map(|at| network.peers[at].model.status().inputs_too_late);
    assert!((1..=4).contains(&host), "{host}");
    assert_eq!(guest, host);
    assert_eq!(network.place(1, 1), network.place(0, 1));
    let walker = network.peers[0].world.state().walker(PlayerId(1)).unwrap();
    assert_eq!(walker.signals, 1, "what was pressed is not lost");
    // It acts ahead now, by what the way takes beyond the window.
    let lead = network.peers[1].model.status().lead;
    assert!(
        (110..200).contains(&lead.as_millis()),
        "{lead:?} of 220 ms, with a window of 100"
    );
}

#[test]
fn presses_that_came_too_late_are_not_merged_with_later_ones() {
    // Every way of falling out of the window: the delay changes at different moments, by different lengths, while a key is pressed again and again.
    for delay_ms in (120..280).step_by(8) {
        for apart_ms in [20, 34, 50, 83] {
            let mut network = TestNetwork::new(2, 20, &WalkingGame::new(0), rewind);
            network.run(3000);
            let before = network.peers[1].model.status().inputs_too_late;
            network.delay = Duration::from_millis(delay_ms);
            for press in 0..10 {
                network.walk(1, press % 3, true);
                network.run(apart_ms);
            }
            network.walk(1, 0, false);
            network.run(3000);
            let walker = network.peers[0].world.state().walker(PlayerId(1)).unwrap();
            assert_eq!(walker.signals, 10, "{delay_ms} ms, {apart_ms} ms apart");
            let refused = network.peers[1].model.status().inputs_too_late - before;
            assert!(refused > 0 || delay_ms < 140, "{delay_ms} ms");
            assert_eq!(network.place(1, 1), network.place(0, 1));
        }
    }
}

#[test]
fn what_clients_were_told_never_changes() {
    for (client_window, changes) in [(true, false), (false, true)] {
        let model = || {
            Rewind::new(RewindConfig {
                client_window,
                ..RewindConfig::default()
            })
            .unwrap()
        };
        let mut network = TestNetwork::new(4, 30, &WalkingGame::new(0), model);
        (network.loss, network.jitter_ms) = (5, 40);
        let mut rng = Rng::new(9);
        for _ in 0..600 {
            let at = 1 + rng.below(3) as usize;
            network.walk(at, rng.below(7) as i8 - 3, false);
            network.run(u64::from(rng.below(40)));
        }
        let rewound = network.peers[0].model.rewound();
        assert!(rewound.rewinds > 100, "{rewound:?}");
        assert_eq!(rewound.after_told > 0, changes, "{rewound:?}");
    }
}

#[test]
fn commands_are_each_done_once_and_in_order_however_late_they_come() {
    let mut network = TestNetwork::new(2, 60, &WalkingGame::new(0), rewind);
    (network.loss, network.jitter_ms) = (10, 120);
    network.run(2000);
    let mut given = 0;
    while given < 60 {
        let walk = super::test_network::Walk {
            walk: 0,
            signal: true,
        };
        let input = encode_to_vec(&walk).unwrap();
        let model = &mut network.peers[1].model;
        given += u32::from(model.input(network.now, PlayerId(1), &input, InputKind::Command));
        network.run(25);
    }
    network.run(3000);
    let walker = network.peers[0].world.state().walker(PlayerId(1));
    assert_eq!(walker.unwrap().signals, 60);
    let at_authority: Vec<Signal> = confirmed(&delivered(&mut network, 0));
    assert_eq!(confirmed(&delivered(&mut network, 1)), at_authority);
}

#[test]
fn an_input_that_changes_nothing_recomputes_nothing() {
    let mut network = TestNetwork::new(2, 50, &WalkingGame::new(0), rewind);
    network.run(4000);
    network.walk(1, 2, false);
    network.run(500);
    let before = network.peers[0].model.rewound();
    for _ in 0..10 {
        network.walk(1, 2, false);
        network.run(100);
    }
    let after = network.peers[0].model.rewound();
    assert_eq!(after.late, before.late + 10);
    assert_eq!(after.unchanged, before.unchanged + 10);
    assert_eq!(after.recomputed, before.recomputed);
}

#[test]
fn a_window_that_follows_the_players_is_as_long_as_they_need() {
    let following = || {
        with_window(WindowLength::Following {
            most: Duration::from_millis(150),
        })
    };
    let mut network = TestNetwork::new(2, 20, &WalkingGame::new(0), following);
    network.run(8000);
    let near = delay_of_confirmation(&network);
    network.delay = Duration::from_millis(80);
    network.run(8000);
    let far = delay_of_confirmation(&network);
    network.delay = Duration::from_millis(400);
    network.run(8000);
    let bound = delay_of_confirmation(&network);
    assert!((3..=6).contains(&near), "{near}");
    assert!((6..=9).contains(&far), "{far}");
    assert_eq!(bound, 9);
}

/// How many ticks of the authority are open.
fn delay_of_confirmation<M: Model>(network: &TestNetwork<M>) -> u64 {
    let status = network.peers[0].model.status();
    status.tick.since(status.confirmed_tick)
}

/// A prize that belongs to whoever reached for it first, which is decided when nothing can come before it any more.
#[derive(Clone, Replicate)]
struct Prizes {
    reached: Vec<(u64, u64, PlayerId)>,
    taken: Vec<PlayerId>,
}

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Reach(bool);

impl Input for Reach {
    fn predict(&self) -> Self {
        Reach(false)
    }

    fn merge(&mut self, late: &Self) -> bool {
        self.0 |= late.0;
        true
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Wire)]
enum PrizeEvent {
    /// Somebody reached for the prize.
    Reached(PlayerId),
    /// Somebody has it, by the number of prizes that were taken before.
    Taken(PlayerId, u32),
}

impl Simulation for Prizes {
    type Input = Reach;
    type Event = PrizeEvent;
    const NAME: &'static str = "prizes";

    fn step(&mut self, inputs: &Inputs<'_, Reach>, events: &mut Events<PrizeEvent>) {
        let tick = inputs.tick().0;
        for (player, reach) in inputs.iter() {
            if !reach.0 {
                continue;
            }
            events.emit(PrizeEvent::Reached(player));
            match inputs.effect(Confirmation::WindowEnd) {
                Effect::Now => self.reached.push((tick, tick, player)),
                Effect::After(ticks) => self.reached.push((tick + ticks, tick, player)),
                Effect::Elsewhere => {}
            }
        }
        // There is a prize every four ticks; the first of the same four gets it.
        let (due, later) = self.reached.iter().partition(|(due, ..)| *due <= tick);
        self.reached = later;
        let due: Vec<(u64, u64, PlayerId)> = due;
        for (_, made, player) in due {
            let prize = (made / 4) as usize;
            if prize >= self.taken.len() {
                self.taken.resize(prize, PlayerId(999));
                self.taken.push(player);
                events.emit(PrizeEvent::Taken(player, prize as u32));
            }
        }
    }

    fn confirmation(&self, event: &PrizeEvent) -> Confirmation {
        match event {
            PrizeEvent::Reached(_) => Confirmation::WindowEnd,
            PrizeEvent::Taken(..) => Confirmation::AtOnce,
        }
    }
}

#[test]
fn a_prize_belongs_to_one_and_what_was_confirmed_is_never_taken_back() {
    for seed in 1..=20 {
        let prizes = Prizes {
            reached: Vec::new(),
            taken: Vec::new(),
        };
        let start = Duration::from_millis(1200);
        let mut room = TestRoom::begin(4, false, 45, start, &prizes, rewind);
        (room.loss, room.jitter_ms) = (5, 20);
        let mut rng = Rng::new(seed);
        room.run(3000);
        for _ in 0..400 {
            let at = rng.below(4) as usize;
            let reach = encode_to_vec(&Reach(true)).unwrap();
            let model = &mut room.peers[at].model;
            model.input(room.now, PlayerId(at as u16), &reach, InputKind::Controls);
            room.run(u64::from(rng.below(40)));
        }
        (room.loss, room.jitter_ms) = (0, 0);
        room.run(2000);
        let told: Vec<Vec<TimedEvent<PrizeEvent>>> =
            (0..4).map(|at| delivered(&mut room, at)).collect();
        let taken = |told: &[TimedEvent<PrizeEvent>]| {
            let mut taken = confirmed(told);
            taken.retain(|event| matches!(event, PrizeEvent::Taken(..)));
            taken
        };
        let truth = taken(&told[0]);
        assert!(truth.len() > 100, "{} prizes, seed {seed}", truth.len());
        let state = room.peers[0].world.state().clone();
        for event in &truth {
            let PrizeEvent::Taken(player, prize) = event else {
                continue;
            };
            assert_eq!(state.taken[*prize as usize], *player, "seed {seed}");
        }
        for (at, told) in told.iter().enumerate() {
            assert_eq!(taken(told), truth, "peer {at}, seed {seed}");
            assert_eq!(room.peers[at].world.state().taken, state.taken);
            let is_early =
                |event: &TimedEvent<PrizeEvent>| matches!(event.event, PrizeEvent::Reached(_));
            // Those that wait for the end of the window are told when they are certain, and not before.
            assert!(
                told.iter()
                    .filter(|event| is_early(event))
                    .all(|event| event.stage == EventStage::Confirmed)
            );
        }
        let reached = |told: &[TimedEvent<PrizeEvent>]| {
            let mut reached = confirmed(told);
            reached.retain(|event| matches!(event, PrizeEvent::Reached(_)));
            reached
        };
        let all = reached(&told[0]);
        for told in &told {
            assert_eq!(reached(told), all, "seed {seed}");
        }
    }
}
