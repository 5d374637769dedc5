//! A battle of bots: what a tick costs, how many units are alive, what is allocated. Then a smaller one, in which the last 8 ticks are
//! simulated again after every tick, as when an input arrives 8 ticks late.
//!
//! `cargo bench -p samestep-skirmish -- [PLAYERS [UNITS [SECONDS [SEED]]]]`
//!
//! Times are those on the processor: what else runs on the machine does not count.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use samestep_skirmish::{Bot, Command, Skirmish, SkirmishConfig, SkirmishEvent};
use samestep_sync::{
    EventStage, Events, Inputs, Live, PlayerId, Replicate, Simulation, SmoothConfig, Table, Tick,
    TickInputs, World,
};

/// Ticks until buffers have found their sizes.
const WARM_UP: u64 = 120;

/// Ticks that are simulated again, and of how many players and units.
const DEPTH: u64 = 8;
const AGAIN: (u16, u32) = (8, 3000);

/// Ticks until those armies have met.
const APPROACH: u64 = 30 * 60;

fn main() {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|arg| arg.parse().ok())
        .collect();
    let number = |at: usize, default: u64| numbers.get(at).copied().unwrap_or(default);
    let (players, units) = (number(0, 40) as u16, number(1, 23_000) as u32);
    let (seconds, seed) = (number(2, 60), number(3, 1));
    let config = SkirmishConfig::battle(seed, players, units);
    let mut game = match Skirmish::new(&config) {
        Ok(game) => game,
        Err(error) => return println!("{error}"),
    };
    let players: Vec<_> = (0..players).map(PlayerId).collect();
    let mut bots: Vec<_> = players
        .iter()
        .map(|player| Bot::new(seed, *player))
        .collect();
    let mut saved = game.clone();
    let mut events = Events::new();
    // The list of events is the caller's: let it have its size.
    (0..1000).for_each(|_| {
        events.emit(SkirmishEvent::Won {
            player: PlayerId(0),
        })
    });
    events.drain().for_each(drop);
    let (mut steps, mut checks, mut saves, mut thoughts) = (vec![], vec![], vec![], Duration::ZERO);
    let (mut allocations, mut commands_given, mut fewest) = (0, 0, usize::MAX);
    let (mut killed, mut trained, mut captured, mut defeated) = (0, 0, 0, 0);
    for tick in (0..WARM_UP + seconds * 60).map(Tick) {
        let begin = processor();
        let decide = |bot: &mut Bot| bot.decide(tick, &game).unwrap_or_default();
        let commands: Vec<_> = bots.iter_mut().map(decide).collect();
        thoughts += processor() - begin;
        let is_given = |at: &u16| commands[usize::from(*at)] != Command::None;
        let given: Vec<_> = (0..players.len() as u16).filter(is_given).collect();
        commands_given += given.len();
        let inputs = Inputs::new(tick, &players, &commands, &given);
        let mut took = Duration::ZERO;
        let counted = allocation_counter::measure(|| {
            let begin = processor();
            game.step(&inputs, &mut events);
            took = processor() - begin;
        });
        for event in events.drain() {
            match event {
                SkirmishEvent::Killed { .. } => killed += 1,
                SkirmishEvent::Trained { .. } => trained += 1,
                SkirmishEvent::Captured { .. } => captured += 1,
                SkirmishEvent::Defeated { .. } => defeated += 1,
                _ => {}
            }
        }
        if tick.0 < WARM_UP {
            continue;
        }
        steps.push(took);
        allocations += counted.count_total;
        fewest = fewest.min(game.units().len());
        if tick.0 % 10 == 0 {
            let begin = processor();
            black_box(game.checksum());
            checks.push(processor() - begin);
            let begin = processor();
            saved.assign(&game);
            saves.push(processor() - begin);
        }
    }
    println!(
        "{} bots, {seconds} s after {WARM_UP} ticks of warm-up, seed {seed}",
        players.len()
    );
    println!("step        {}", Summary(&mut steps));
    println!("checksum    {}", Summary(&mut checks));
    println!("save        {}", Summary(&mut saves));
    println!(
        "bots        mean {:.0} µs per tick, {commands_given} commands",
        thoughts.as_secs_f64() * 1e6 / (seconds * 60) as f64
    );
    println!(
        "alive       {fewest} at least, {} at the end",
        game.units().len()
    );
    println!(
        "events      {killed} killed, {trained} trained, {captured} captured, {defeated} defeated"
    );
    let mut table = Table::new(Skirmish::schema());
    game.extract(&mut table);
    let bytes = table.encode().len();
    println!(
        "transfer    {bytes} bytes, {:.1} per unit",
        bytes as f64 / game.units().len() as f64
    );
    println!("allocations {allocations}");
    println!("checksum    {:016x}", game.checksum());
    simulate_again(seconds, seed, false);
    simulate_again(seconds, seed, true);
}

/// After every tick: back by [`DEPTH`] ticks (load), then each of them again (step) and kept again (save), through the same calls that a
/// model makes. If it `is_smooth`, then what there is to draw is asked for as well.
fn simulate_again(seconds: u64, seed: u64, is_smooth: bool) {
    let (players, units) = AGAIN;
    let game = Skirmish::new(&SkirmishConfig::battle(seed, players, units));
    let mut live = Live::without_recording(game.expect("a sound configuration"));
    if is_smooth {
        live.smooth(SmoothConfig::default());
    }
    let players: Vec<_> = (0..players).map(PlayerId).collect();
    let mut bots: Vec<_> = players
        .iter()
        .map(|player| Bot::new(seed, *player))
        .collect();
    let mut played: VecDeque<TickInputs> = VecDeque::new();
    let (mut times, mut draws) = (vec![], vec![]);
    let (mut killed, mut fighting, mut fewest) = (0, 0, usize::MAX);
    let mut allocations = 0;
    for tick in (0..APPROACH + seconds * 60).map(Tick) {
        let mut inputs = TickInputs::new();
        inputs.set_players(&players);
        for bot in &mut bots {
            if let Some(command) = bot.decide(tick, live.state()) {
                inputs.give(bot.player(), &command);
            }
        }
        live.save(tick);
        live.step(tick, &inputs);
        played.push_back(inputs);
        if played.len() as u64 > DEPTH {
            let settled = Tick(tick.0 - DEPTH);
            let inputs = played.pop_front().unwrap_or_default();
            live.confirm(settled, &inputs);
            live.release(settled);
        }
        if tick.0 < APPROACH - WARM_UP {
            continue;
        }
        let checksum = live.checksum();
        let mut took = Duration::ZERO;
        let counted = allocation_counter::measure(|| {
            let begin = processor();
            let from = tick.0 + 1 - DEPTH;
            live.load(Tick(from));
            for (again, inputs) in (from..).map(Tick).zip(&played) {
                live.save(again);
                live.step(again, inputs);
            }
            took = processor() - begin;
        });
        assert_eq!(live.checksum(), checksum, "simulated again it is the same");
        let begin = processor();
        black_box(live.shown(Duration::from_secs(tick.0) / 60));
        draws.push(processor() - begin);
        while let Some(told) = live.poll_event() {
            let is_kill = matches!(told.event, SkirmishEvent::Killed { .. });
            killed += u32::from(is_kill && told.stage == EventStage::Confirmed);
        }
        if tick.0 >= APPROACH {
            times.push(took);
            allocations += counted.count_total;
            let units = live.state().units();
            fewest = fewest.min(units.len());
            fighting += units
                .as_slice()
                .iter()
                .filter(|unit| unit.target.is_some())
                .count();
        }
    }
    let best = times.iter().min().map_or(0.0, Duration::as_secs_f64) * 1e6;
    println!(
        "{DEPTH} ticks simulated again{}, {} bots, {fewest} units at least, {} of them fighting, {killed} killed in {seconds} s",
        if is_smooth { " for a smooth view" } else { "" },
        players.len(),
        fighting / times.len().max(1),
    );
    println!(
        "load, {DEPTH} × (save, step)   best {best:.0} µs, {}",
        Summary(&mut times)
    );
    if is_smooth {
        println!("draw        {}", Summary(&mut draws));
    }
    println!("allocations {allocations}");
}

fn processor() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

struct Summary<'a>(&'a mut Vec<Duration>);

impl std::fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let at = |part: f64| micros(sorted[((sorted.len() - 1) as f64 * part) as usize]);
        let mean = micros(sorted.iter().sum::<Duration>()) / sorted.len() as f64;
        write!(
            f,
            "mean {mean:.0} µs, median {:.0}, p99 {:.0}, worst {:.0}",
            at(0.5),
            at(0.99),
            at(1.0)
        )
    }
}
