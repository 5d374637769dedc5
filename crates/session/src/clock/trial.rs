//! Clocks in virtual time, against the truth.

use core::time::Duration;
use std::collections::BTreeMap;

use samestep_netem::{Distribution, Jitter, Link, LinkConfig, Loss, Rng, Spike};

use super::{Clock, ClockConfig, Exchange};

pub(super) fn ms(ms: f64) -> Duration {
    Duration::from_secs_f64(ms * 1e-3)
}

/// A client and a clock to follow.
#[derive(Clone)]
pub(super) struct Trial {
    pub(super) up: LinkConfig,
    pub(super) down: LinkConfig,
    /// The reference clock minus the client's at the beginning, in seconds, and how much faster it runs.
    pub(super) offset: f64,
    pub(super) drift_ppm: f64,
    pub(super) seconds: f64,
    /// Exchanges a second; 0 leaves it to the clock's own probes.
    pub(super) rate: f64,
    pub(super) silence: (f64, f64),
}

/// Errors over time: seconds and milliseconds.
pub(super) struct Course {
    errors: Vec<(f64, f64)>,
    first: Option<f64>,
    pub(super) backwards: u32,
}

impl Course {
    fn since(&self, from: f64) -> Vec<f64> {
        let late = self.errors.iter().filter(|(at, _)| *at >= from);
        late.map(|(_, error)| *error).collect()
    }

    fn std_dev(&self, from: f64) -> f64 {
        let errors = self.since(from);
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let squares: f64 = errors.iter().map(|e| (e - mean) * (e - mean)).sum();
        (squares / errors.len() as f64).sqrt()
    }

    pub(super) fn worst(&self, from: f64) -> f64 {
        self.since(from)
            .into_iter()
            .map(f64::abs)
            .fold(0.0, f64::max)
    }

    fn p99(&self, from: f64) -> f64 {
        let mut errors: Vec<f64> = self.since(from).into_iter().map(f64::abs).collect();
        errors.sort_by(f64::total_cmp);
        errors[errors.len() * 99 / 100]
    }

    /// When the error was below 5 ms for good.
    fn usable(&self) -> f64 {
        let last = self.errors.iter().rev().find(|(_, e)| e.abs() >= 5.0);
        last.map_or(self.first.unwrap_or(f64::INFINITY), |(at, _)| at + 0.02)
    }
}

enum Happening {
    Arrives { sent_at: Duration },
    Returns(Exchange),
}

impl Trial {
    pub(super) fn new(link: LinkConfig) -> Self {
        Self {
            up: link.clone(),
            down: link,
            offset: 1.0,
            drift_ppm: 0.0,
            seconds: 120.0,
            rate: 0.0,
            silence: (0.0, 0.0),
        }
    }

    pub(super) fn run(&self, seed: u64) -> Course {
        let mut rng = Rng::new(seed);
        let mut up = Link::new(self.up.clone(), rng.next_u64()).unwrap();
        let mut down = Link::new(self.down.clone(), rng.next_u64()).unwrap();
        // True time is counted from zero; both clocks may have been running for long.
        let local_start = 1.0 + (-self.offset).max(0.0);
        let local = |at: f64| Duration::from_secs_f64(local_start + at);
        let truth = |at: f64| local_start + self.offset + at * (1.0 + self.drift_ppm * 1e-6);
        let mut clock = Clock::new(local(0.0), &ClockConfig::default());
        let mut course = Course {
            errors: Vec::new(),
            first: None,
            backwards: 0,
        };
        let mut agenda: BTreeMap<(Duration, u64), Happening> = BTreeMap::new();
        let (mut number, mut next_look, mut next_send) = (0, 0.0, 0.0);
        let mut shown = Duration::ZERO;
        loop {
            let probe = clock.next_probe().as_secs_f64() - local_start;
            let send = if self.rate > 0.0 { next_send } else { probe };
            let happening = agenda
                .first_key_value()
                .map_or(f64::INFINITY, |(key, _)| key.0.as_secs_f64());
            let now = send.min(next_look).min(happening);
            if now > self.seconds {
                return course;
            }
            if now == happening {
                let ((at, _), happening) = agenda.pop_first().unwrap();
                match happening {
                    Happening::Arrives { sent_at } => {
                        let held = ms(5.0 * rng.f64());
                        let received_at = Duration::from_secs_f64(truth(now));
                        let answered_at = Duration::from_secs_f64(truth(now) + held.as_secs_f64());
                        for arrival in down.send(at + held, 60).arrivals.iter() {
                            let exchange = Exchange {
                                sent_at,
                                received_at,
                                answered_at,
                                returned_at: local(arrival.as_secs_f64()),
                            };
                            number += 1;
                            agenda.insert((*arrival, number), Happening::Returns(exchange));
                        }
                    }
                    Happening::Returns(exchange) => clock.on_exchange(local(now), exchange),
                }
            } else if now == next_look {
                next_look += 0.02;
                if let Some(time) = clock.time(local(now)) {
                    course.first.get_or_insert(now);
                    course.backwards += u32::from(time < shown);
                    shown = time;
                    course
                        .errors
                        .push((now, (time.as_secs_f64() - truth(now)) * 1e3));
                }
            } else {
                clock.on_probe(local(now.max(0.0)));
                if self.rate > 0.0 {
                    next_send = now + 1.0 / self.rate;
                }
                let silent = (self.silence.0..self.silence.1).contains(&now);
                if !silent {
                    let at = Duration::from_secs_f64(now.max(0.0));
                    for arrival in up.send(at, 60).arrivals.iter() {
                        number += 1;
                        let sent_at = local(now);
                        agenda.insert((*arrival, number), Happening::Arrives { sent_at });
                    }
                }
            }
        }
    }
}

pub(super) fn link(latency: f64, amount: f64, distribution: Distribution) -> LinkConfig {
    LinkConfig {
        latency: ms(latency),
        jitter: Jitter {
            amount: ms(amount),
            distribution,
        },
        ..LinkConfig::default()
    }
}

/// A LAN as games see it: short ways, rare and large delays.
fn lan() -> LinkConfig {
    LinkConfig {
        spikes: vec![Spike {
            chance: 0.05,
            min: ms(60.0),
            max: ms(125.0),
        }],
        ..link(0.8, 0.5, Distribution::Exponential)
    }
}

/// A phone: bell-shaped jitter, the hard case for a filter that looks at the smallest delays.
fn lte() -> LinkConfig {
    LinkConfig {
        loss: Loss::Bernoulli(0.01),
        spikes: vec![Spike {
            chance: 0.01,
            min: ms(20.0),
            max: ms(80.0),
        }],
        ..link(14.0, 6.2, Distribution::Normal)
    }
}

fn every_distribution() -> impl Iterator<Item = LinkConfig> {
    let jitters = [4.0, 8.0, 12.0];
    Distribution::ALL
        .into_iter()
        .flat_map(move |distribution| jitters.map(|amount| link(15.0, amount, distribution)))
}

/// The same, longer by `ms` from `from` to `until` seconds.
pub(super) fn detour(link: &LinkConfig, longer_ms: f64, from: f64, until: f64) -> LinkConfig {
    let longer = LinkConfig {
        latency: link.latency + ms(longer_ms),
        ..link.clone()
    };
    let back = link.clone();
    link.clone()
        .then(ms(from * 1e3), longer)
        .then(ms(until * 1e3), back)
}

/// Runs a trial with several seeds; what holds for all of them is asserted by the caller.
fn all(trial: &Trial, seeds: u64) -> Vec<Course> {
    let runs: Vec<Course> = (0..seeds).map(|seed| trial.run(seed)).collect();
    for (seed, run) in runs.iter().enumerate() {
        assert_eq!(run.backwards, 0, "seed {seed}: time ran backwards");
    }
    runs
}

fn greatest(runs: &[Course], of: impl Fn(&Course) -> f64) -> f64 {
    runs.iter().map(of).fold(0.0, f64::max)
}

fn mean(runs: &[Course], of: impl Fn(&Course) -> f64) -> f64 {
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}

#[test]
fn usable_at_once_from_any_offset() {
    for (link, seeds) in [(lan(), 40), (lte(), 40)] {
        for offset in [0.0, 1e-3, -1e-3, 0.5, -40.0, 3_600.0, -7_200.0, 1e6, -1e6] {
            let trial = Trial {
                offset,
                seconds: 4.0,
                ..Trial::new(link.clone())
            };
            let runs = all(&trial, seeds);
            let usable = greatest(&runs, Course::usable);
            assert!(usable <= 1.5, "offset {offset}: {usable} s");
        }
    }
}

#[test]
fn steady_on_a_lan_and_on_a_phone() {
    for (link, bound) in [(lan(), 0.3), (lte(), 0.7)] {
        for drift_ppm in [0.0, 50.0, -50.0] {
            let trial = Trial {
                drift_ppm,
                ..Trial::new(link.clone())
            };
            let runs = all(&trial, 20);
            let (std_dev, p99) = (
                mean(&runs, |c| c.std_dev(3.0)),
                greatest(&runs, |c| c.p99(3.0)),
            );
            assert!(
                std_dev <= bound && p99 <= 3.0,
                "{drift_ppm} ppm: std-dev {std_dev} ms, p99 {p99} ms"
            );
        }
    }
}

#[test]
fn steady_with_every_kind_of_jitter() {
    for (number, link) in every_distribution().enumerate() {
        let trial = Trial {
            drift_ppm: if number % 2 == 0 { 50.0 } else { -50.0 },
            seconds: 60.0,
            ..Trial::new(link.clone())
        };
        let bound = match link.jitter.distribution {
            // There is no floor to find, only the foot of the bell.
            Distribution::Normal => 0.25 * link.jitter.amount.as_secs_f64() * 1e3 + 0.5,
            _ => 1.5,
        };
        let runs = all(&trial, 8);
        let worst = mean(&runs, |c| c.worst(3.0));
        assert!(worst <= bound, "{:?}: {worst} ms", link.jitter);
    }
}

#[test]
fn a_change_of_route_does_not_move_the_clock() {
    for link in [lan(), lte(), link(30.0, 8.0, Distribution::Exponential)] {
        for (up, down) in [
            (60.0, 0.0),
            (0.0, 60.0),
            (60.0, 60.0),
            (60.0, 20.0),
            (15.0, 0.0),
        ] {
            let trial = Trial {
                up: detour(&link, up, 40.0, 80.0),
                down: detour(&link, down, 40.0, 80.0),
                drift_ppm: 50.0,
                ..Trial::new(link.clone())
            };
            let worst = greatest(&all(&trial, 12), |c| c.worst(1.5));
            assert!(worst <= 5.0, "+{up} ms there, +{down} ms back: {worst} ms");
        }
    }
}

#[test]
fn a_shorter_route_does_not_move_the_clock_either() {
    let long = link(80.0, 2.0, Distribution::Exponential);
    let trial = Trial {
        down: detour(&long, -60.0 + 60.0, 0.0, 30.0)
            .then(ms(30e3), link(20.0, 2.0, Distribution::Exponential)),
        seconds: 60.0,
        ..Trial::new(long.clone())
    };
    let worst = greatest(&all(&trial, 12), |c| c.worst(1.5));
    assert!(worst <= 5.0, "{worst} ms");
}

#[test]
fn a_detour_at_the_beginning_is_found_out() {
    let short = link(20.0, 2.0, Distribution::Exponential);
    let trial = Trial {
        up: detour(&short, 60.0, 0.0, 4.0),
        seconds: 40.0,
        ..Trial::new(short.clone())
    };
    let worst = greatest(&all(&trial, 12), |c| c.worst(20.0));
    assert!(worst <= 1.0, "{worst} ms");
}

#[test]
fn silence_is_bridged() {
    for link in [lan(), lte()] {
        let trial = Trial {
            silence: (40.0, 60.0),
            drift_ppm: 50.0,
            ..Trial::new(link)
        };
        let worst = greatest(&all(&trial, 12), |c| c.worst(3.0));
        assert!(worst <= 3.0, "{worst} ms");
    }
}

#[test]
fn any_rate_of_exchanges_will_do() {
    for rate in [1.0, 2.0, 5.0, 20.0, 60.0] {
        let trial = Trial {
            rate,
            drift_ppm: -50.0,
            ..Trial::new(lte())
        };
        let worst = mean(&all(&trial, 12), |c| c.worst(30.0));
        assert!(
            worst <= if rate < 4.0 { 4.0 } else { 2.5 },
            "{rate} Hz: {worst} ms"
        );
    }
}

#[test]
fn loss_duplicates_and_reordering_do_no_harm() {
    let bad = LinkConfig {
        loss: Loss::Burst {
            rate: 0.2,
            mean: ms(100.0),
        },
        duplicate: 0.1,
        reorder: 0.2,
        reorder_by: ms(40.0),
        ..link(30.0, 5.0, Distribution::Exponential)
    };
    let runs = all(&Trial::new(bad), 12);
    let (usable, worst) = (
        greatest(&runs, Course::usable),
        greatest(&runs, |c| c.worst(3.0)),
    );
    assert!(usable <= 1.5 && worst <= 2.0, "{usable} s, {worst} ms");
}

/// A machine that slept, or a virtual one that was moved: no route explains it.
#[test]
fn a_jump_of_the_other_clock_is_followed() {
    let lag = ms(20.0);
    for jump_ms in [15.0, 80.0, 600_000.0] {
        let mut clock = Clock::new(Duration::ZERO, &ClockConfig::default());
        for i in 0..600 {
            let sent_at = ms(f64::from(i) * 100.0);
            let jumped = if i >= 200 {
                ms(jump_ms)
            } else {
                Duration::ZERO
            };
            let received_at = sent_at + lag + jumped;
            let exchange = Exchange {
                sent_at,
                received_at,
                answered_at: received_at,
                returned_at: sent_at + 2 * lag,
            };
            clock.on_exchange(exchange.returned_at, exchange);
        }
        let now = Duration::from_secs(60);
        let off = clock.time(now).unwrap().as_secs_f64() - (now + ms(jump_ms)).as_secs_f64();
        assert!(off.abs() < 1e-3, "jump of {jump_ms} ms: {off} s");
    }
}
