//! A fight of bots: what a tick, a checksum, a save and the bots cost, in time on the processor. Then the last 8 ticks are
//! simulated again after every tick, as when an input arrives 8 ticks late.
//!
//! `cargo bench -p samestep-rawrlocks --bench brawl -- [SECONDS [SEED]]`

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use samestep_rawrlocks::{Bot, Controls, Rawrlocks, RawrlocksConfig};
use samestep_sync::{
    Events, Input, Inputs, Live, PlayerId, Replicate, Simulation, Table, Tick, TickInputs, World,
};

/// Ticks that are simulated again.
const DEPTH: u64 = 8;

fn main() {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let seconds = numbers.first().copied().unwrap_or(60);
    let seed = numbers.get(1).copied().unwrap_or(1);
    println!("{seconds} s, seed {seed}; mean, best");
    for players in [2, 5, 10] {
        let config = RawrlocksConfig::for_players(seed, players);
        match Rawrlocks::new(&config) {
            Ok(game) => fight(game, players, seconds, seed),
            Err(error) => println!("{error}"),
        }
    }
    let config = RawrlocksConfig::for_players(seed, 10);
    match Rawrlocks::new(&config) {
        Ok(game) => fight_again(game, 10, seconds, seed),
        Err(error) => println!("{error}"),
    }
}

fn fight(mut game: Rawrlocks, players: u16, seconds: u64, seed: u64) {
    let players: Vec<_> = (0..players).map(PlayerId).collect();
    let mut bots: Vec<_> = players.iter().map(|p| Bot::new(seed, *p)).collect();
    let mut held = vec![Controls::default(); players.len()];
    let mut saved = game.clone();
    let mut events = Events::new();
    let (mut steps, mut checks) = (Times::new(), Times::new());
    let (mut saves, mut thoughts) = (Times::new(), Times::new());
    let mut said = 0;
    for tick in (0..seconds * 60).map(Tick) {
        thoughts.measure(|| {
            for (bot, held) in bots.iter_mut().zip(&mut held) {
                let controls = bot.decide(tick, &game);
                said += u64::from(controls.is_some());
                *held = controls.unwrap_or(held.predict());
            }
        });
        let inputs = Inputs::new(tick, &players, &held, &[]);
        steps.measure(|| game.step(&inputs, &mut events));
        events.drain().for_each(drop);
        checks.measure(|| black_box(game.checksum()));
        saves.measure(|| saved.assign(&game));
    }
    let kills: u32 = game.seats().iter().map(|seat| u32::from(seat.kills)).sum();
    let mut table = Table::new(Rawrlocks::schema());
    game.extract(&mut table);
    println!(
        "{:>3} players: step {steps}   checksum {checks}   save {saves}   bots {thoughts}   {:.1} inputs a second and bot   {kills} kills   transfer {} bytes",
        players.len(),
        said as f64 / (seconds as f64 * players.len() as f64),
        table.encode().len(),
    );
}

fn fight_again(game: Rawrlocks, players: u16, seconds: u64, seed: u64) {
    let players: Vec<_> = (0..players).map(PlayerId).collect();
    let mut bots: Vec<_> = players.iter().map(|p| Bot::new(seed, *p)).collect();
    let mut live = Live::without_recording(game);
    let mut played: VecDeque<TickInputs> = VecDeque::new();
    let mut again = Times::new();
    live.save(Tick(0));
    for tick in (0..seconds * 60).map(Tick) {
        let mut inputs = TickInputs::new();
        inputs.set_players(&players);
        for bot in &mut bots {
            if let Some(controls) = bot.decide(tick, live.state()) {
                inputs.give(bot.player(), &controls);
            }
        }
        live.step(tick, &inputs);
        live.save(tick.next());
        played.push_back(inputs);
        let from = Tick((tick.0 + 1).saturating_sub(DEPTH));
        again.measure(|| {
            live.load(from);
            for (at, inputs) in (from.0..).map(Tick).zip(&played) {
                live.step(at, inputs);
                live.save(at.next());
            }
        });
        if played.len() as u64 == DEPTH {
            if let Some(inputs) = played.pop_front() {
                live.confirm(from, &inputs);
            }
            live.release(from);
        }
        while live.poll_event().is_some() {}
    }
    println!(
        "{DEPTH} ticks again, {} players: {again} for all of them",
        players.len()
    );
}

fn processor() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

struct Times {
    sum: Duration,
    best: Duration,
    count: u32,
}

impl Times {
    fn new() -> Self {
        Self {
            sum: Duration::ZERO,
            best: Duration::MAX,
            count: 0,
        }
    }

    fn measure<T>(&mut self, work: impl FnOnce() -> T) {
        let begin = processor();
        black_box(work());
        let took = processor() - begin;
        self.sum += took;
        self.best = self.best.min(took);
        self.count += 1;
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let mean = self.sum / self.count.max(1);
        write!(f, "{:>6.1} {:>6.1} µs", micros(mean), micros(self.best))
    }
}
