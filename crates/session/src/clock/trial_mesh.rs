//! The mesh clock in virtual time, against the truth.

use core::time::Duration;
use std::collections::BTreeMap;

use samestep_netem::{Distribution, Jitter, Link, LinkConfig, Rng};

use super::trial::ms;
use super::{ClockConfig, Exchange, MeshClock, MeshReport};
use crate::id::PeerId;

/// Members with clocks of their own and a link between any two.
struct Mesh {
    now: f64,
    /// Seconds at the beginning, and how fast.
    clocks: Vec<(f64, f64)>,
    members: Vec<MeshClock>,
    links: BTreeMap<(usize, usize), Link>,
    agenda: BTreeMap<(Duration, u64), Happening>,
    number: u64,
    present: Vec<usize>,
    shown: Vec<Duration>,
}

enum Happening {
    Ping(usize, usize),
    Report(usize),
    Asked(usize, usize, Duration),
    Answered(usize, usize, Exchange),
    Told(usize, usize, MeshReport),
}

fn id(index: usize) -> PeerId {
    PeerId(index as u16)
}

impl Mesh {
    fn new(count: usize, jitter: Jitter, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let clocks = (0..count)
            .map(|_| (1.0 + 10_000.0 * rng.f64(), 1.0 + (rng.f64() - 0.5) * 1e-4))
            .collect();
        let mut links = BTreeMap::new();
        for a in 0..count {
            for b in 0..a {
                let config = LinkConfig {
                    latency: ms(5.0 + 45.0 * rng.f64()),
                    jitter,
                    ..LinkConfig::default()
                };
                links.insert((a, b), Link::new(config.clone(), rng.next_u64()).unwrap());
                links.insert((b, a), Link::new(config, rng.next_u64()).unwrap());
            }
        }
        let mut mesh = Self {
            now: 0.0,
            clocks,
            members: Vec::new(),
            links,
            agenda: BTreeMap::new(),
            number: 0,
            present: Vec::new(),
            shown: vec![Duration::ZERO; count],
        };
        for member in 0..count {
            let clock = MeshClock::new(mesh.local(member), id(member), &ClockConfig::default());
            mesh.members.push(clock);
            for other in (0..count).filter(|other| *other != member) {
                mesh.add(0.25 * rng.f64(), Happening::Ping(member, other));
            }
            mesh.add(0.25 * rng.f64(), Happening::Report(member));
        }
        let now = mesh.local(0);
        mesh.members[0].open(now);
        mesh
    }

    fn local_at(&self, member: usize, at: f64) -> Duration {
        let (start, rate) = self.clocks[member];
        Duration::from_secs_f64(start + rate * at)
    }

    fn local(&self, member: usize) -> Duration {
        self.local_at(member, self.now)
    }

    fn set_members(&mut self, present: &[usize], reference: usize) {
        self.present = present.to_vec();
        let ids: Vec<PeerId> = present.iter().map(|member| id(*member)).collect();
        for member in present {
            let now = self.local(*member);
            self.members[*member].set_members(now, &ids, id(reference));
        }
    }

    fn add(&mut self, after: f64, happening: Happening) {
        self.number += 1;
        let at = Duration::from_secs_f64(self.now + after);
        self.agenda.insert((at, self.number), happening);
    }

    fn send(&mut self, from: usize, to: usize, happening: impl Fn() -> Happening) {
        let at = Duration::from_secs_f64(self.now);
        let fate = self.links.get_mut(&(from, to)).unwrap().send(at, 60);
        for arrival in fate.arrivals.iter() {
            let after = arrival.as_secs_f64() - self.now;
            self.add(after.max(0.0), happening());
        }
    }

    fn run_until(&mut self, until: f64) {
        while let Some((&(at, number), _)) = self.agenda.first_key_value() {
            if at.as_secs_f64() > until {
                break;
            }
            self.now = at.as_secs_f64();
            let happening = self.agenda.remove(&(at, number)).unwrap();
            self.happen(happening);
        }
        self.now = until;
        for member in self.present.clone() {
            let time = self.members[member].time(self.local(member));
            let time = time.unwrap_or_default();
            assert!(time >= self.shown[member], "member {member} went back");
            self.shown[member] = time;
        }
    }

    fn happen(&mut self, happening: Happening) {
        let here = |mesh: &Self, member: &usize| mesh.present.contains(member);
        match happening {
            Happening::Ping(from, to) => {
                if here(self, &from) && here(self, &to) {
                    let sent = self.local(from);
                    self.members[from].on_probe(sent, id(to));
                    self.send(from, to, || Happening::Asked(from, to, sent));
                }
                let burst = self.members[from].next_probe(id(to)).map_or(0.25, |next| {
                    next.as_secs_f64() - self.local(from).as_secs_f64()
                });
                self.add(burst.clamp(0.02, 0.25), Happening::Ping(from, to));
            }
            Happening::Asked(from, to, sent_at) => {
                let received_at = self.local(to);
                let now = self.now;
                let answer = Exchange {
                    sent_at,
                    received_at,
                    answered_at: received_at,
                    returned_at: Duration::from_secs_f64(now),
                };
                self.send(to, from, || Happening::Answered(from, to, answer));
            }
            Happening::Answered(from, to, mut exchange) => {
                if here(self, &from) {
                    let now = self.local(from);
                    exchange.returned_at = now;
                    self.members[from].on_exchange(now, id(to), exchange);
                }
            }
            Happening::Report(from) => {
                if here(self, &from) {
                    let report = self.members[from].report(self.local(from));
                    for to in self.present.clone() {
                        if to != from {
                            self.send(from, to, || Happening::Told(from, to, report.clone()));
                        }
                    }
                }
                self.add(0.4, Happening::Report(from));
            }
            Happening::Told(from, to, report) => {
                if here(self, &to) {
                    let now = self.local(to);
                    self.members[to].on_report(now, id(from), &report);
                }
            }
        }
    }

    /// Common times of those present, in seconds.
    fn times(&self) -> Vec<f64> {
        let time = |member: &usize| self.members[*member].time(self.local(*member));
        self.present
            .iter()
            .filter_map(time)
            .map(|t| t.as_secs_f64())
            .collect()
    }

    /// Standard deviation of the differences between any two members from now to `until`, and the greatest, in milliseconds.
    fn spread(&mut self, until: f64) -> (f64, f64) {
        let (mut squares, mut count, mut worst) = (0.0, 0, 0.0f64);
        while self.now < until {
            self.run_until(self.now + 0.1);
            let times = self.times();
            assert_eq!(times.len(), self.present.len(), "somebody has no time");
            for (i, a) in times.iter().enumerate() {
                for b in &times[..i] {
                    let difference = (a - b) * 1e3;
                    squares += difference * difference;
                    count += 1;
                    worst = worst.max(difference.abs());
                }
            }
        }
        ((squares / f64::from(count)).sqrt(), worst)
    }
}

fn uniform() -> Jitter {
    Jitter {
        amount: ms(5.0),
        distribution: Distribution::Uniform,
    }
}

#[test]
fn ten_members_agree() {
    for seed in 0..10 {
        for (distribution, bound) in [
            (Distribution::Uniform, 0.2),
            (Distribution::Exponential, 0.2),
            (Distribution::Normal, 0.9),
        ] {
            let jitter = Jitter {
                distribution,
                ..uniform()
            };
            let mut mesh = Mesh::new(10, jitter, seed);
            mesh.set_members(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 0);
            mesh.run_until(10.0);
            let (spread, worst) = mesh.spread(40.0);
            assert!(spread <= bound, "{distribution}, seed {seed}: {spread} ms");
            assert!(
                worst <= 5.0 * bound,
                "{distribution}, seed {seed}: {worst} ms"
            );
        }
    }
}

#[test]
fn a_newcomer_soon_knows_the_time() {
    for seed in 0..6 {
        let mut mesh = Mesh::new(6, uniform(), seed);
        mesh.set_members(&[0, 1, 2, 3, 4], 0);
        mesh.run_until(20.0);
        mesh.set_members(&[0, 1, 2, 3, 4, 5], 0);
        mesh.run_until(21.5);
        let (_, worst) = mesh.spread(30.0);
        assert!(worst <= 1.0, "seed {seed}: {worst} ms");
    }
}

#[test]
fn the_time_outlives_its_reference() {
    for seed in 0..6 {
        let mut mesh = Mesh::new(6, uniform(), seed);
        mesh.set_members(&[0, 1, 2, 3, 4, 5], 0);
        mesh.run_until(20.0);
        let before: f64 = mesh.times().iter().sum::<f64>() / 6.0;
        mesh.set_members(&[1, 2, 3, 4, 5], 3);
        let (_, worst) = mesh.spread(40.0);
        assert!(worst <= 1.0, "seed {seed}: {worst} ms");
        let after: f64 = mesh.times().iter().sum::<f64>() / 5.0;
        let pace = (after - before) / 20.0 / mesh.clocks[3].1;
        assert!((pace - 1.0).abs() < 2e-5, "seed {seed}: {pace}");
    }
}

#[test]
fn a_one_sided_link_is_outvoted() {
    let mut mesh = Mesh::new(6, uniform(), 1);
    let slow = LinkConfig {
        latency: ms(90.0),
        jitter: uniform(),
        ..LinkConfig::default()
    };
    mesh.links
        .insert((0, 4), Link::new(slow.clone(), 77).unwrap());
    mesh.set_members(&[0, 1, 2, 3, 4, 5], 0);
    mesh.run_until(10.0);
    let (spread, worst) = mesh.spread(30.0);
    assert!(worst <= 2.0, "{spread} {worst} ms");
}
