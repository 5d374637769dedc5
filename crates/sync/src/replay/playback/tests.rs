//! A small game of chance, recorded and played.

use super::*;
use crate::{
    Events, Input, Inputs, LagCompensation, Live, PlayerId, Recorder, ReplayHeader, Replicate, Rng,
    Simulation, ViewTime, Wire,
};

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Push {
    held: bool,
    roll: bool,
}

impl Input for Push {
    fn predict(&self) -> Self {
        Self {
            held: self.held,
            roll: false,
        }
    }
}

/// Whoever holds goes on by itself; who rolls jumps somewhere.
#[derive(Clone, Replicate)]
struct Race {
    places: Vec<u64>,
    rng: Rng,
}

impl Simulation for Race {
    type Input = Push;
    type Event = PlayerId;
    const NAME: &'static str = "race";
    const TICKS_PER_SECOND: u32 = 20;

    fn step(&mut self, inputs: &Inputs<'_, Push>, events: &mut Events<PlayerId>) {
        for (player, input) in inputs.iter() {
            let place = &mut self.places[usize::from(player.0)];
            *place += u64::from(input.held);
            if input.roll {
                *place = place.wrapping_add(self.rng.next_u64() >> 40);
                events.emit(player);
            }
        }
    }
}

fn race(seed: u64) -> Live<Race> {
    Live::without_recording(Race {
        places: (0..4).collect(),
        rng: Rng::new(seed),
    })
}

/// A world and the recording of it.
struct Recorded {
    world: Live<Race>,
    recorder: Recorder,
    random: Rng,
    tick: Tick,
    /// The checksum of every state.
    checksums: Vec<u64>,
}

impl Recorded {
    fn new(seed: u64) -> Self {
        let mut world = race(seed);
        Self {
            recorder: Recorder::new(&ReplayHeader::of::<Race>(), Tick(0), &world.checkpoint()),
            checksums: [world.checksum()].into(),
            world,
            random: Rng::new(seed ^ 1),
            tick: Tick(0),
        }
    }

    fn run(&mut self, ticks: u64) {
        let mut inputs = TickInputs::new();
        for _ in 0..ticks {
            inputs.clear();
            let present = [PlayerId(0), PlayerId(2), PlayerId(3)];
            inputs.set_players(&present[..2 + (self.tick.0 / 50 % 2) as usize]);
            for player in inputs.players().to_vec() {
                let (held, roll) = (self.random.chance(0.5), self.random.chance(0.5));
                if self.random.chance(0.1) {
                    inputs.give(player, &Push { held, roll });
                }
            }
            World::step(&mut self.world, self.tick, &inputs);
            self.recorder.on_tick(self.tick, &inputs);
            self.tick = self.tick.next();
            self.checksums.push(self.world.checksum());
            if self.tick.0.is_multiple_of(20) {
                self.recorder.on_checksum(self.tick, self.world.checksum());
            }
        }
    }

    fn playback(&self) -> Playback<Live<Race>> {
        let replay = Replay::parse(self.recorder.bytes()).unwrap();
        Playback::new(replay, race(999)).unwrap()
    }
}

#[test]
fn a_replay_verifies() {
    for seed in 0..20 {
        let mut recorded = Recorded::new(seed);
        recorded.run(1000);
        let verified = recorded.playback().verify();
        let expected = Verified {
            ticks: 1000,
            checksums: 50,
        };
        assert_eq!(verified, Ok(expected), "seed {seed}");
    }
}

#[test]
fn any_tick_is_reached_from_any_other() {
    let mut recorded = Recorded::new(3);
    recorded.run(3000);
    let mut playback = recorded.playback();
    let mut random = Rng::new(4);
    for _ in 0..60 {
        let tick = u64::from(random.below(3001));
        playback.seek(Tick(tick)).unwrap();
        assert_eq!(playback.tick(), Tick(tick));
        let checksum = playback.world_mut().checksum();
        assert_eq!(checksum, recorded.checksums[tick as usize], "tick {tick}");
    }
    playback.seek(Tick(1_000_000)).unwrap();
    assert_eq!(playback.tick(), Tick(3000));
    assert_eq!(playback.step(), Ok(Progress::Ended));
}

#[test]
fn what_is_kept_for_going_back_stays_bounded() {
    let mut recorded = Recorded::new(3);
    recorded.run(60_000);
    let mut playback = recorded.playback();
    playback.seek(Tick(60_000)).unwrap();
    assert!(
        (16..=KEPT).contains(&playback.kept.len()),
        "{}",
        playback.kept.len()
    );
    playback.seek(Tick(31_234)).unwrap();
    assert_eq!(playback.world_mut().checksum(), recorded.checksums[31_234]);
}

#[test]
fn the_first_tick_that_differs_is_named() {
    let mut recorded = Recorded::new(3);
    recorded.run(130);
    // Something that is no rule.
    recorded.world.state_mut().places[2] += 1;
    recorded.run(100);
    let error = recorded.playback().verify().unwrap_err();
    let VerifyError::Differs(deviation) = error else {
        panic!("{error}");
    };
    assert_eq!(
        (deviation.tick, deviation.agreed),
        (Tick(140), Some(Tick(120)))
    );
    assert_eq!(deviation.recorded, recorded.checksums[140]);
}

#[test]
fn a_state_that_was_repaired_on_the_way_is_played_as_it_was() {
    let mut recorded = Recorded::new(3);
    recorded.run(100);
    let good = recorded.world.checkpoint();
    recorded.run(7);
    // It had gone wrong meanwhile; the state of tick 100 is taken over and the rest simulated again, with other inputs.
    recorded.world.adopt(Tick(100), &good).unwrap();
    recorded.recorder.on_checkpoint(Tick(100), &good);
    recorded.tick = Tick(100);
    recorded.checksums.truncate(101);
    recorded.run(100);
    let mut playback = recorded.playback();
    assert_eq!(playback.replay().end(), Tick(200));
    assert!(playback.verify().is_ok());
    for tick in [199, 100, 50, 107, 0, 200] {
        playback.seek(Tick(tick)).unwrap();
        let checksum = playback.world_mut().checksum();
        assert_eq!(checksum, recorded.checksums[tick as usize], "tick {tick}");
    }
}

#[test]
fn a_state_of_another_game_is_refused() {
    let header = ReplayHeader::of::<Race>();
    let recorder = Recorder::new(&header, Tick(0), b"no state of ours");
    let replay = Replay::parse(recorder.bytes()).unwrap();
    assert!(Playback::new(replay, race(1)).is_err());
}

#[test]
fn a_tick_is_approached_in_slices() {
    let mut recorded = Recorded::new(5);
    recorded.run(2000);
    let mut playback = recorded.playback();
    let mut slices = 0;
    while !playback.approach(Tick(1234), 100).unwrap() {
        slices += 1;
        assert_eq!(playback.tick(), Tick(100 * slices));
    }
    assert_eq!((slices, playback.tick()), (12, Tick(1234)));
    assert_eq!(playback.world_mut().checksum(), recorded.checksums[1234]);
    // Back from the last state that was kept, at tick 900.
    assert_eq!(playback.approach(Tick(1150), 200), Ok(false));
    assert_eq!(playback.tick(), Tick(1100));
    // On the way it may be changed where to.
    assert_eq!(playback.approach(Tick(905), 200), Ok(true));
    assert_eq!(playback.world_mut().checksum(), recorded.checksums[905]);
    assert_eq!(playback.approach(Tick(905), 0), Ok(true));
}

/// Whoever pushes adds what it saw.
#[derive(Clone, Replicate)]
struct Range {
    sum: u64,
}

impl Simulation for Range {
    type Input = Push;
    type Event = u64;
    const NAME: &'static str = "range";
    const PAST: u64 = 12;

    fn step(&mut self, inputs: &Inputs<'_, Push>, events: &mut Events<u64>) {
        self.step_lag_compensated(inputs, &LagCompensation::none(), events);
    }

    fn step_lag_compensated(
        &mut self,
        inputs: &Inputs<'_, Push>,
        past: &LagCompensation<'_, Self>,
        _: &mut Events<u64>,
    ) {
        for (player, _) in inputs.given() {
            let seen = past.seen_by(player).map(|seen| seen.before.sum);
            self.sum = self.sum.wrapping_mul(31) ^ seen.unwrap_or(7);
        }
    }
}

#[test]
fn what_rules_look_back_at_is_there_after_a_jump() {
    let mut world = Live::without_recording(Range { sum: 1 });
    let mut recorder = Recorder::new(&ReplayHeader::of::<Range>(), Tick(0), &world.checkpoint());
    let mut checksums = [world.checksum()].to_vec();
    let mut random = Rng::new(8);
    let mut inputs = TickInputs::new();
    inputs.set_players(&[PlayerId(0)]);
    for tick in 0..1500 {
        inputs.clear();
        inputs.give(PlayerId(0), &Push::default());
        let before = Tick(u64::saturating_sub(tick, random.below(12).into()));
        let view_time = ViewTime {
            before,
            after: before,
            fraction: 0,
        };
        inputs.set_view_time(PlayerId(0), view_time);
        World::step(&mut world, Tick(tick), &inputs);
        recorder.on_tick(Tick(tick), &inputs);
        checksums.push(world.checksum());
        if tick == 777 {
            recorder.on_checkpoint(Tick(778), &world.checkpoint());
        }
    }
    let replay = Replay::parse(recorder.bytes()).unwrap();
    let world = Live::without_recording(Range { sum: 0 });
    let mut playback = Playback::new(replay, world).unwrap();
    for _ in 0..60 {
        let tick = u64::from(random.below(1501));
        playback.seek(Tick(tick)).unwrap();
        let checksum = playback.world_mut().checksum();
        assert_eq!(checksum, checksums[tick as usize], "tick {tick}");
    }
}
