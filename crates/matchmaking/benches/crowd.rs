//! What a ticket costs while ten thousand others wait: on arrival, at a look in vain, and when a match is formed.
//!
//! `cargo bench -p samestep-matchmaking --bench crowd`
// A benchmark is the one place in this crate that may look at the clock.
#![allow(clippy::disallowed_methods, missing_docs)]

use std::time::{Duration, Instant};

use samestep_matchmaking::{
    BeaconId, Entrant, HostAbility, Matchmaker, MatchmakerConfig, ModeConfig, ModeId, Place,
    PlayerId, Rating, Ticket,
};
use samestep_netem::Rng;

const MODE: ModeId = ModeId(1);
const BEACONS: u16 = 12;

fn ticket(rng: &mut Rng, player: u64, can_host: bool) -> Ticket {
    let home = rng.range(0..u64::from(BEACONS)) as u16;
    let rtt = |rng: &mut Rng, beacon: u16| {
        let away = u64::from(beacon.abs_diff(home));
        Duration::from_millis(5 + 25 * away + rng.range(0..15))
    };
    let beacons: Vec<_> = (0..BEACONS).map(|b| (BeaconId(b), rtt(rng, b))).collect();
    let entrant = Entrant {
        player: PlayerId(player),
        rating: Rating {
            mean: 25.0 + 25.0 / 3.0 * rng.normal(),
            uncertainty: 1.0 + 2.0 * rng.f64(),
        },
        place: Place::new(beacons),
        ability: can_host.then_some(HostAbility {
            step: Duration::from_millis(2),
            upstream: 1_000_000,
            failures: 0,
        }),
    };
    Ticket::solo(MODE, entrant)
}

/// A matchmaker with so many tickets. If nobody can host, every group that fits is tried in vain, and all of them stay: no look costs more.
fn crowd(mode: ModeConfig, count: u64, can_host: bool) -> (Matchmaker, Duration) {
    let config = MatchmakerConfig::default().mode(MODE, mode);
    let mut matchmaker = Matchmaker::new(config).expect("these settings make sense");
    let mut rng = Rng::new(1);
    let tickets: Vec<Ticket> = (0..count)
        .map(|player| ticket(&mut rng, player, can_host))
        .collect();
    let started = Instant::now();
    for ticket in tickets {
        matchmaker
            .handle_ticket(Duration::ZERO, ticket)
            .expect("there is room");
    }
    (matchmaker, started.elapsed())
}

/// Every ticket is looked at once.
fn look_at_all(matchmaker: &mut Matchmaker) {
    while matchmaker.poll_timeout() == Some(Duration::ZERO) {
        matchmaker.handle_timeout(Duration::ZERO);
    }
}

fn main() {
    println!(
        "{:>8} {:>22} {:>12} {:>12} {:>12}",
        "tickets", "mode", "arrive µs", "look µs", "match µs"
    );
    let modes = [
        ("1 against 1", 2, 1),
        ("5 against 5", 2, 5),
        ("each of 4", 4, 1),
    ];
    for (name, sides, side_size) in modes {
        for count in [1_000, 5_000, 10_000, 20_000] {
            let mode = ModeConfig::new(sides, side_size);
            let (mut matchmaker, arrived) = crowd(mode.clone(), count, false);
            let started = Instant::now();
            look_at_all(&mut matchmaker);
            let looked = started.elapsed();
            assert_eq!(matchmaker.waiting(), count as usize);
            let (mut matchmaker, _) = crowd(mode, count, true);
            let started = Instant::now();
            look_at_all(&mut matchmaker);
            let formed = started.elapsed();
            let per = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
            let matches = matchmaker.running() as f64;
            assert!(matches > 0.0);
            println!(
                "{count:>8} {name:>22} {:>12.2} {:>12.2} {:>12.2}   {matches} matches, {} still wait",
                per(arrived),
                per(looked),
                formed.as_secs_f64() * 1e6 / matches,
                matchmaker.waiting(),
            );
        }
    }
}
