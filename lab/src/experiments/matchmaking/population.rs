//! People of known skill at known places: what the matchmaker is told of them, and what is true.

use std::time::Duration;

use samestep_matchmaking::{BeaconId, HostAbility, HostDemand, Place, PlayerId};
use samestep_netem::Rng;

/// The spread of skills, that of the ratings of newcomers.
const SKILL_MEAN: f64 = 25.0;
const SKILL_SPREAD: f64 = 25.0 / 3.0;
/// Cities of a region, and how far they lie from its centre, in ms of round trip.
const CITIES: usize = 6;
const CITY_SPREAD_MS: f64 = 12.0;
/// The distance between neighbouring regions.
const REGION_GAP_MS: f64 = 100.0;
/// Beacons of a region, each in a city.
const BEACONS: usize = 3;
/// The longest detour between two people, as a share of the straight way.
const DETOUR: f64 = 0.3;

/// Somebody who plays.
pub struct Person {
    /// The skill that decides matches.
    pub skill: f64,
    /// The region it lives in.
    pub region: usize,
    /// What its machine can do.
    pub ability: HostAbility,
    /// What it has measured.
    pub place: Place,
    at: [f64; 2],
    access_ms: f64,
}

/// Everybody.
pub struct Population {
    /// By number, which is also their player id.
    pub people: Vec<Person>,
    seed: u64,
}

impl Population {
    /// So many people, evenly distributed over the regions.
    pub fn new(seed: u64, count: usize, regions: usize) -> Self {
        let mut rng = Rng::stream(seed, 1);
        let near = |rng: &mut Rng, at: [f64; 2], spread: f64| at.map(|x| x + spread * rng.normal());
        let mut cities = Vec::new();
        for region in 0..regions {
            // On a grid two wide.
            let centre = [region % 2, region / 2].map(|x| x as f64 * REGION_GAP_MS);
            cities.push([(); CITIES].map(|()| near(&mut rng, centre, CITY_SPREAD_MS)));
        }
        let mut people = Vec::with_capacity(count);
        for number in 0..count {
            let region = number % regions;
            let city = rng.range(0..CITIES as u64) as usize;
            let at = near(&mut rng, cities[region][city], 2.0);
            let access_ms = 2.0 + (8.0 * rng.exponential()).min(60.0);
            let to_beacon = |(beacon, from): (usize, &[f64; 2])| {
                let way = distance(at, *from) * (1.0 + DETOUR * rng.f64());
                let rtt = way + access_ms + rng.normal().abs();
                (BeaconId(beacon as u16), from_ms(rtt))
            };
            let beacons = cities.iter().flat_map(|cities| &cities[..BEACONS]);
            let place = Place::new(beacons.enumerate().map(to_beacon).collect::<Vec<_>>());
            let ability = HostAbility {
                step: from_ms(1.0 + 4.0 * rng.exponential()),
                upstream: (16_000.0 + 400_000.0 * rng.exponential()) as u64,
                failures: 0,
            };
            people.push(Person {
                skill: SKILL_MEAN + SKILL_SPREAD * rng.normal(),
                region,
                ability,
                place,
                at,
                access_ms,
            });
        }
        Self { people, seed }
    }

    /// Who a player is.
    pub fn person(&self, player: PlayerId) -> &Person {
        &self.people[player.0 as usize]
    }

    /// The true round trip between two players, in ms.
    pub fn rtt_ms(&self, a: PlayerId, b: PlayerId) -> f64 {
        let (low, high) = (a.min(b), a.max(b));
        let detour = Rng::stream(self.seed, 2 + (low.0 << 32 | high.0)).f64();
        let [from, to] = [low, high].map(|player| self.person(player));
        distance(from.at, to.at) * (1.0 + DETOUR * detour) + from.access_ms + to.access_ms
    }

    /// How much longer the way from a match's host to the farthest player is than from the best of those that can host, in ms.
    pub fn host_excess_ms(&self, host: PlayerId, players: &[PlayerId], demand: &HostDemand) -> f64 {
        let worst = |of: PlayerId| {
            let others = players.iter().filter(|other| **other != of);
            others
                .map(|other| self.rtt_ms(of, *other))
                .fold(0.0, f64::max)
        };
        let able = players
            .iter()
            .filter(|p| self.person(**p).ability.meets(demand));
        let best = able
            .map(|player| worst(*player))
            .fold(f64::INFINITY, f64::min);
        (worst(host) - best).max(0.0)
    }
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    let [x, y] = [a[0] - b[0], a[1] - b[1]];
    (x * x + y * y).sqrt()
}

fn from_ms(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1e3)
}
