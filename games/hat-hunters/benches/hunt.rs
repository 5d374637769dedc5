//! A hunt of bots: what a tick, a checksum, a save and what everybody is told cost, in time on the processor. Then the last 6 ticks are
//! simulated again after every tick, as when an input arrives 100 ms late.
//!
//! `cargo bench -p samestep-hat-hunters -- [SECONDS [SEED]]`

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use samestep_hat_hunters::{Bot, Controls, HatHunters, HatHuntersConfig, Rules};
use samestep_sync::{
    Events, Input, Inputs, Interest, Live, PlayerId, Replicate, Simulation, Table, Tick,
    TickInputs, UpdateWindow, World,
};

/// Ticks that are simulated again.
const WINDOW: u16 = 6;

fn main() {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let seconds = numbers.first().copied().unwrap_or(60);
    let seed = numbers.get(1).copied().unwrap_or(1);
    println!("{seconds} s, seed {seed}; mean, best, worst");
    for ai in [0, 12, 20, 40] {
        hunt(game(seed, ai), ai, seconds, seed);
    }
    hunt_again(game(seed, 20), seconds, seed);
}

fn game(seed: u64, ai: u8) -> HatHunters {
    let config = HatHuntersConfig {
        seed,
        rules: Rules {
            ai,
            rounds: 20,
            ..Rules::default()
        },
        ..HatHuntersConfig::default()
    };
    HatHunters::new(&config).expect("a sound configuration")
}

fn hunt(mut game: HatHunters, ai: u8, seconds: u64, seed: u64) {
    let players: Vec<_> = (0..4).map(PlayerId).collect();
    let mut bots: Vec<_> = players.iter().map(|p| Bot::new(seed, *p)).collect();
    let mut held = vec![Controls::default(); players.len()];
    let mut saved = game.clone();
    let mut events = Events::new();
    let mut interest = Interest::new(&HatHunters::schema());
    let (mut steps, mut checks) = (Times::new(), Times::new());
    let (mut saves, mut thoughts) = (Times::new(), Times::new());
    let mut tells = Times::new();
    for tick in (0..seconds * 60).map(Tick) {
        thoughts.measure(|| {
            for (bot, held) in bots.iter_mut().zip(&mut held) {
                *held = bot.decide(tick, &game).unwrap_or(held.predict());
            }
        });
        let inputs = Inputs::new(tick, &players, &held, &[]);
        steps.measure(|| game.step(&inputs, &mut events));
        events.drain().for_each(drop);
        checks.measure(|| black_box(game.checksum()));
        saves.measure(|| saved.assign(&game));
        tells.measure(|| {
            interest.reset();
            game.interest(&players[..1], &mut interest);
        });
    }
    let mut table = Table::new(HatHunters::schema());
    game.extract(&mut table);
    println!(
        "4 players, {ai:>2} others: step {steps}   checksum {checks}   save {saves}   bots {thoughts}   interest {tells}   transfer {} bytes",
        table.encode().len(),
    );
}

fn hunt_again(game: HatHunters, seconds: u64, seed: u64) {
    let players: Vec<_> = (0..4).map(PlayerId).collect();
    let mut bots: Vec<_> = players.iter().map(|p| Bot::new(seed, *p)).collect();
    let mut live = Live::without_recording(game);
    let mut played: VecDeque<TickInputs> = VecDeque::new();
    let mut again = Times::new();
    live.save(Tick(0));
    for tick in (0..seconds * 60).map(Tick) {
        let mut inputs = TickInputs::new();
        inputs.set_players(&players);
        inputs.set_window(UpdateWindow {
            ticks: WINDOW,
            predicting: false,
        });
        for bot in &mut bots {
            if let Some(controls) = bot.decide(tick, live.state()) {
                inputs.give(bot.player(), &controls);
            }
        }
        live.step(tick, &inputs);
        live.save(tick.next());
        played.push_back(inputs);
        let from = Tick((tick.0 + 1).saturating_sub(WINDOW.into()));
        again.measure(|| {
            live.load(from);
            for (at, inputs) in (from.0..).map(Tick).zip(&played) {
                live.step(at, inputs);
                live.save(at.next());
            }
        });
        if played.len() == usize::from(WINDOW) {
            if let Some(inputs) = played.pop_front() {
                live.confirm(from, &inputs);
            }
            live.release(from);
        }
        while live.poll_event().is_some() {}
    }
    println!("{WINDOW} ticks again, 4 players, 20 others: {again} for all of them");
}

fn processor() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

struct Times {
    sum: Duration,
    best: Duration,
    worst: Duration,
    count: u32,
}

impl Times {
    fn new() -> Self {
        Self {
            sum: Duration::ZERO,
            best: Duration::MAX,
            worst: Duration::ZERO,
            count: 0,
        }
    }

    fn measure<T>(&mut self, work: impl FnOnce() -> T) {
        let begin = processor();
        black_box(work());
        let took = processor() - begin;
        self.sum += took;
        self.best = self.best.min(took);
        self.worst = self.worst.max(took);
        self.count += 1;
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let mean = micros(self.sum / self.count.max(1));
        let (best, worst) = (micros(self.best), micros(self.worst));
        write!(f, "{mean:>5.1} {best:>5.1} {worst:>6.1} µs")
    }
}
