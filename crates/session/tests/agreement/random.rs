//! Random schedules in virtual time: two to seven members and newcomers, cuts of every shape, crashes, farewells and returns, then a calm network.

use core::time::Duration;

use samestep_session::agreement::AgreementConfig;

use crate::fault::Fault;
use crate::world::World;

/// The time within which there must be one view once the network is calm.
const CALM_MS: u64 = 3000;

/// How a schedule ended.
pub struct Outcome {
    pub violation: Option<String>,
    /// The time from the calm to one view of everyone who lives; `None` if too few members of the newest view live.
    pub settled: Option<Duration>,
}

/// Runs the schedule of a seed.
pub fn run(seed: u64, fault: Fault) -> Outcome {
    let mut world = chaos(seed, fault);
    if world.oracle.violation.is_some() {
        return Outcome {
            violation: world.oracle.violation,
            settled: None,
        };
    }
    // Calm.
    world.network.heal();
    world.network.latency_us = (5_000, 30_000);
    (world.network.loss_percent, world.network.duplicate_percent) = (0, 0);
    if world.rng.percent(50) {
        for address in 0..world.programs.len() {
            if world.programs[address].is_none() {
                world.join(address);
            }
        }
    }
    for address in world.living() {
        world.propose(address);
    }
    let settled = world.run_until(CALM_MS, |w| w.is_settled());
    if settled.is_none() && world.has_quorum() && world.oracle.violation.is_none() {
        let standings: Vec<String> = world
            .living()
            .into_iter()
            .map(|a| {
                let core = world.core(a);
                let (me, view) = (core.replica().me(), core.view());
                let (leader, status) = (core.leader(world.now), core.replica().status());
                format!(
                    "{me} {:?} led by {leader:?} {status:?} decided {} of {} {view:?}",
                    core.standing(),
                    core.replica().log().decided().index,
                    world.oracle.last()
                )
            })
            .collect();
        world
            .oracle
            .violate(format!("no one view after {CALM_MS} ms: {standings:?}"));
    }
    Outcome {
        violation: world.oracle.violation,
        settled,
    }
}

/// The disturbed part of a schedule.
fn chaos(seed: u64, fault: Fault) -> World {
    let config = AgreementConfig {
        cuts: seed.is_multiple_of(3),
        ..AgreementConfig::default()
    };
    let mut world = World::new(seed, config, fault);
    let members = 2 + world.rng.below(6) as usize;
    let latencies = [(1_000, 10_000), (10_000, 40_000), (20_000, 80_000)];
    world.network.latency_us = latencies[world.rng.below(3) as usize];
    world.found(0);
    for address in 1..members {
        let wait = world.rng.below(60);
        world.run_for(wait);
        world.join(address);
    }
    // Some rooms are disturbed before they are formed.
    let wait = world.rng.below(800);
    world.run_for(wait);
    world.network.loss_percent = [0, 2, 10, 30][world.rng.below(4) as usize];
    world.network.duplicate_percent = [0, 5][world.rng.below(2) as usize];
    let disturbances = 4 + world.rng.below(12);
    for _ in 0..disturbances {
        disturb(&mut world, members);
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

fn disturb(world: &mut World, members: usize) {
    let addresses = world.programs.len() as u64;
    let one = world.rng.below(addresses) as usize;
    let other = world.rng.below(addresses) as usize;
    let living = world.living();
    match world.rng.below(16) {
        0 => world.network.split(|a| u64::from(a == one)),
        1 => {
            // Equal halves, if the number is even.
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
            // A chain.
            for a in 0..addresses as usize {
                for b in (0..a).filter(|b| a - b > 1) {
                    world.network.cut(a, b);
                }
            }
        }
        6 => {
            // A star.
            for a in (0..addresses as usize).filter(|a| *a != one) {
                for b in (0..a).filter(|b| *b != one) {
                    world.network.cut(a, b);
                }
            }
        }
        7 | 8 => world.network.heal(),
        9 if living.len() > 1 => world.crash(one),
        10 if world.programs[one].is_none() => world.join(one),
        11 if living.len() > 1 && living.contains(&one) => world.leave(one),
        12 if addresses < members as u64 + 2 => world.join(addresses as usize),
        13 => world.compact(one),
        _ => {}
    }
    for _ in 0..world.rng.below(3) {
        let one = world.rng.below(addresses) as usize;
        world.propose(one);
    }
}

/// What many schedules came to.
#[derive(Default)]
struct Tally {
    schedules: u64,
    stranded: u64,
    settled: Vec<Duration>,
    violations: Vec<(u64, String)>,
}

impl Tally {
    fn run(first: u64, count: u64, fault: Fault) -> Self {
        let mut tally = Self::default();
        for seed in first..first + count {
            let outcome = run(seed, fault);
            tally.schedules += 1;
            match outcome.settled {
                Some(time) => tally.settled.push(time),
                None => tally.stranded += 1,
            }
            tally
                .violations
                .extend(outcome.violation.map(|v| (seed, v)));
            if seed % 100_000 == 99_999 {
                println!(
                    "{} schedules, {} violations",
                    tally.schedules,
                    tally.violations.len()
                );
            }
        }
        tally.settled.sort_unstable();
        tally
    }

    fn print(&self) {
        let at = |per_mille: usize| self.settled.get(self.settled.len() * per_mille / 1000);
        println!(
            "{} schedules, {} violations, {} without a living quorum; one view after {:?} (median), {:?} (p99), {:?} (max)",
            self.schedules,
            self.violations.len(),
            self.stranded,
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
    let tally = Tally::run(0, 3000, Fault::None);
    tally.print();
    assert!(tally.violations.is_empty());
    assert!(tally.settled.len() > 2000, "most schedules end with a room");
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
    finds(Fault::OwnTieBreaker, 2000, "two v");
    finds(Fault::ForgetfulPromise, 2000, "two values");
    finds(Fault::ReusedIncarnation, 2000, "two values");
    finds(Fault::RenumberedRequests, 2000, "decided twice");
    finds(Fault::NoCatchUp, 2000, "no one view");
    finds(Fault::SilentThaw, 2000, "while frozen");
    finds(Fault::NoHold, 6000, "ends at");
    finds(Fault::NoItems, 6000, "ends at");
}

/// A million schedules: `SCHEDULES=1000000 FIRST_SEED=0 cargo test -p samestep-session --test agreement many_random_schedules -- --ignored --nocapture`.
#[test]
#[ignore = "half an hour"]
fn many_random_schedules_keep_every_promise() {
    let number = |name: &str, otherwise| {
        std::env::var(name).map_or(otherwise, |n| n.parse::<u64>().expect("a number"))
    };
    let (first, count) = (number("FIRST_SEED", 0), number("SCHEDULES", 1_000_000));
    let tally = Tally::run(first, count, Fault::None);
    tally.print();
    assert!(tally.violations.is_empty());
}
