//! Random schedules of hosted rooms: hosts that crash, freeze, leave and come back, guests, cuts of every shape, loss and repetition, then a calm network.

use core::time::Duration;

use super::fault::Fault;
use super::world::World;

/// The time within which there must be one room once the network is calm.
const CALM_MS: u64 = 5000;

/// How a schedule ended.
pub struct Outcome {
    pub violation: Option<String>,
    /// The time from the calm to one room of everyone who lives; `None` if too few members of the newest view live.
    pub settled: Option<Duration>,
    /// Changes of what was seen.
    pub rewinds: u32,
}

/// Runs the schedule of a seed.
pub fn run(seed: u64, fault: Fault) -> Outcome {
    let mut world = chaos(seed, fault);
    let mut settled = None;
    if world.oracle.violation.is_none() {
        settled = calm(&mut world);
    }
    let rewinds = world.programs.iter().flatten().map(|p| p.game.rewinds);
    Outcome {
        rewinds: rewinds.sum(),
        violation: world.oracle.violation,
        settled,
    }
}

fn calm(world: &mut World) -> Option<Duration> {
    world.network.heal();
    world.slow = None;
    world.network.latency_us = (5_000, 30_000);
    (world.network.loss_percent, world.network.duplicate_percent) = (0, 0);
    for address in 0..world.programs.len() {
        world.sleep(address, 0);
        if world.programs[address].is_none() && world.rng.percent(50) {
            world.join(address);
        }
    }
    for address in world.living() {
        world.propose(address);
    }
    let settled = world.run_until(CALM_MS, |w| w.is_settled());
    if settled.is_none() && world.has_quorum() && world.oracle.violation.is_none() {
        let text = world.describe();
        world
            .oracle
            .violate(format!("no one room after {CALM_MS} ms:\n{text}"));
    }
    settled
}

/// The disturbed part of a schedule.
fn chaos(seed: u64, fault: Fault) -> World {
    let mut world = World::new(seed, fault);
    let programs = 2 + world.rng.below(8) as usize;
    world.standbys = [2, 2, 2, 1, 3, 4][world.rng.below(6) as usize];
    let latencies = [(1_000, 10_000), (10_000, 40_000), (20_000, 120_000)];
    world.network.latency_us = latencies[world.rng.below(3) as usize];
    world.found(0);
    for address in 1..programs {
        let wait = world.rng.below(60);
        world.run_for(wait);
        world.join(address);
    }
    // Some rooms are disturbed before they are formed.
    let wait = world.rng.below(1500);
    world.run_for(wait);
    world.network.loss_percent = [0, 2, 5, 20][world.rng.below(4) as usize];
    world.network.duplicate_percent = [0, 5][world.rng.below(2) as usize];
    if world.rng.percent(20) {
        let slow = world.rng.below(programs as u64) as usize;
        let extra = Duration::from_millis(50 + world.rng.below(250));
        world.slow = Some((slow, extra));
    }
    let disturbances = 4 + world.rng.below(12);
    for _ in 0..disturbances {
        disturb(&mut world, programs);
        let pauses = [20, 100, 400, 1000];
        let pause = pauses[world.rng.below(4) as usize];
        let wait = world.rng.below(pause);
        world.run_for(wait);
        if world.oracle.violation.is_some() {
            break;
        }
    }
    world
}

fn disturb(world: &mut World, programs: usize) {
    let addresses = world.programs.len() as u64;
    // Half of what happens, happens to the host.
    let mut one = world.rng.below(addresses) as usize;
    if world.rng.percent(50) {
        one = world.host().unwrap_or(one);
    }
    let other = world.rng.below(addresses) as usize;
    let living = world.living();
    match world.rng.below(18) {
        0 => world.network.split(|a| u64::from(a == one)),
        1 => {
            let half = addresses as usize / 2;
            world
                .network
                .split(|a| u64::from((a + one) % (2 * half.max(1)) < half));
        }
        2 => {
            let groups = world.rng.next();
            world.network.split(|a| groups >> (2 * a) & 3);
        }
        3 => world.network.cut_one_way(one, other),
        4 => {
            for a in (0..addresses as usize).filter(|a| *a != one) {
                match world.rng.percent(50) {
                    true => world.network.cut_one_way(a, one),
                    false => world.network.cut_one_way(one, a),
                }
            }
        }
        5 => {
            // A star: guests hear the host alone.
            for a in (0..addresses as usize).filter(|a| *a != one) {
                for b in (0..a).filter(|b| *b != one) {
                    world.network.cut(a, b);
                }
            }
        }
        6..=8 => world.network.heal(),
        9 if living.len() > 1 => world.crash(one),
        10 if world.programs[one].is_none() => world.join(one),
        11 if living.len() > 1 && living.contains(&one) => world.leave(one),
        12 if addresses < programs as u64 + 2 => world.join(addresses as usize),
        13 => world.compact(one),
        14 | 15 => {
            let ms = [200, 600, 3000][world.rng.below(3) as usize];
            world.sleep(one, ms);
        }
        16 => {
            world.with(one, |now, core| core.hand_over(now, None));
        }
        _ => {}
    }
    for _ in 0..world.rng.below(4) {
        let one = world.rng.below(addresses) as usize;
        world.propose(one);
    }
}

/// What many schedules came to.
#[derive(Default)]
struct Tally {
    schedules: u64,
    stranded: u64,
    rewinds: u64,
    settled: Vec<Duration>,
    violations: Vec<(u64, String)>,
}

impl Tally {
    fn run(first: u64, count: u64, fault: Fault) -> Self {
        let mut tally = Self::default();
        for seed in first..first + count {
            let outcome = run(seed, fault);
            tally.schedules += 1;
            tally.rewinds += u64::from(outcome.rewinds);
            match outcome.settled {
                Some(time) => tally.settled.push(time),
                None => tally.stranded += 1,
            }
            tally
                .violations
                .extend(outcome.violation.map(|v| (seed, v)));
        }
        tally.settled.sort_unstable();
        tally
    }

    fn print(&self) {
        let at = |per_mille: usize| self.settled.get(self.settled.len() * per_mille / 1000);
        println!(
            "{} schedules, {} violations, {} without a living quorum, {} rewinds; one room after {:?} (median), {:?} (p99), {:?} (max)",
            self.schedules,
            self.violations.len(),
            self.stranded,
            self.rewinds,
            at(500),
            at(990),
            self.settled.last()
        );
        for (seed, violation) in self.violations.iter().take(10) {
            println!("seed {seed}: {violation}");
        }
    }
}

#[test]
fn random_schedules_keep_every_promise() {
    let tally = Tally::run(0, 500, Fault::None);
    tally.print();
    assert!(tally.violations.is_empty());
    assert!(tally.settled.len() > 300, "most schedules end with a room");
    assert!(tally.rewinds > 0, "something is taken back");
}

/// Whether one of the first schedules finds a broken rule by a violation that says this.
fn finds(fault: Fault, schedules: u64, what: &str) {
    let found = (0..schedules).find_map(|seed| {
        let violation = run(seed, fault).violation?;
        violation.contains(what).then_some((seed, violation))
    });
    println!("{fault:?}: {found:?}");
    assert!(found.is_some(), "{fault:?} was not found");
}

#[test]
fn each_broken_rule_is_found() {
    finds(Fault::ForgetfulPromise, 2000, "two values");
    finds(Fault::NoRewind, 2000, "after");
    finds(Fault::SeenIsCertain, 2000, "was shown");
}

/// Many schedules: `SCHEDULES=100000 FIRST_SEED=0 cargo test --release -p samestep-session --test agreement many_hosted_schedules -- --ignored --nocapture`.
#[test]
#[ignore = "minutes"]
fn many_hosted_schedules_keep_every_promise() {
    let number = |name: &str, otherwise| {
        std::env::var(name).map_or(otherwise, |n| n.parse::<u64>().expect("a number"))
    };
    let (first, count) = (number("FIRST_SEED", 0), number("SCHEDULES", 100_000));
    let tally = Tally::run(first, count, Fault::None);
    tally.print();
    assert!(tally.violations.is_empty());
}
