//! What a tick, a checksum and a save of the evaluation game cost, in time on the processor.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use samestep_evaluation::{Command, Evaluation, script};
use samestep_sync::{Events, Inputs, PlayerId, Replicate, Simulation, Table, Tick};

const TICKS: u64 = 600;

fn main() {
    println!("{TICKS} ticks, 8 commands a second and player; mean, best");
    for (players, entities) in [
        (10, 1024),
        (40, 4096),
        (40, 8192),
        (40, 16_000),
        (1000, 1024),
    ] {
        let mut game = Evaluation::new(1, players, entities);
        let mut saved = game.clone();
        let players: Vec<_> = (0..players).map(PlayerId).collect();
        let mut events = Events::new();
        let (mut steps, mut checks, mut saves) = (Times::new(), Times::new(), Times::new());
        for tick in (0..TICKS).map(Tick) {
            let command = |player: &PlayerId| script(1, *player, tick, &game).unwrap_or_default();
            let commands: Vec<_> = players.iter().map(command).collect();
            let is_given = |at: &u16| commands[usize::from(*at)] != Command::None;
            let given: Vec<_> = (0..players.len() as u16).filter(is_given).collect();
            let inputs = Inputs::new(tick, &players, &commands, &given);
            steps.measure(|| game.step(&inputs, &mut events));
            checks.measure(|| black_box(game.checksum()));
            saves.measure(|| saved.assign(&game));
        }
        println!(
            "{:>5} players {entities:>6} entities   step {steps}   checksum {checks}   save {saves}   transfer {:.1} bytes per entity",
            players.len(),
            transfer(&game) as f64 / entities as f64,
        );
    }
}

/// Bytes that the whole state takes.
fn transfer(game: &Evaluation) -> usize {
    let mut table = Table::new(Evaluation::schema());
    game.extract(&mut table);
    table.encode().len()
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
        write!(
            f,
            "{:>6.1} {:>6.1} µs",
            micros(self.sum / self.count),
            micros(self.best)
        )
    }
}
