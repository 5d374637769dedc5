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
struct Trial {
    up: LinkConfig,
    down: LinkConfig,
    /// The reference clock minus the client's at the beginning, in seconds, and how much faster it runs.
    offset: f64,
    drift_ppm: f64,
    seconds: f64,
    /// Exchanges a second; 0 leaves it to the clock's own probes.
    rate: f64,
    silence: (f64, f64),
}

/// Errors over time: seconds and milliseconds.
struct Course {
    errors: Vec<(f64, f64)>,
    first: Option<f64>,
    backwards: u32,
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

    fn worst(&self, from: f64) -> f64 {
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
    fn new(link: LinkConfig) -> Self {
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

    fn run(&self, seed: u64) -> Course {
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
            let probe = clock.next_probe().unwrap().as_secs_f64() - local_start;
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

fn link(latency: f64, amount: f64, distribution: Distribution) -> LinkConfig {
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

#[test]
fn show() {
    let cases: Vec<(&str, Trial)> = vec![
        ("lan", Trial::new(lan())),
        ("lte", Trial::new(lte())),
        (
            "lte 50ppm",
            Trial {
                drift_ppm: 50.0,
                offset: -7200.0,
                ..Trial::new(lte())
            },
        ),
        (
            "lan -50ppm",
            Trial {
                drift_ppm: -50.0,
                offset: 1e5,
                ..Trial::new(lan())
            },
        ),
        (
            "exp 8",
            Trial {
                drift_ppm: 50.0,
                ..Trial::new(link(30.0, 8.0, Distribution::Exponential))
            },
        ),
        (
            "pareto 8",
            Trial {
                drift_ppm: 50.0,
                ..Trial::new(link(30.0, 8.0, Distribution::Pareto))
            },
        ),
        (
            "half 8",
            Trial {
                drift_ppm: 50.0,
                ..Trial::new(link(30.0, 8.0, Distribution::HalfNormal))
            },
        ),
        (
            "uniform 15",
            Trial {
                drift_ppm: 50.0,
                ..Trial::new(link(30.0, 15.0, Distribution::Uniform))
            },
        ),
        (
            "lte 1Hz",
            Trial {
                rate: 1.0,
                ..Trial::new(lte())
            },
        ),
        (
            "lte 60Hz",
            Trial {
                rate: 60.0,
                ..Trial::new(lte())
            },
        ),
        (
            "lan 5Hz",
            Trial {
                rate: 5.0,
                drift_ppm: 50.0,
                ..Trial::new(lan())
            },
        ),
        (
            "lan silence",
            Trial {
                silence: (40.0, 60.0),
                drift_ppm: 50.0,
                ..Trial::new(lan())
            },
        ),
        (
            "lte silence",
            Trial {
                silence: (40.0, 60.0),
                drift_ppm: 50.0,
                ..Trial::new(lte())
            },
        ),
    ];
    let step = |base: LinkConfig, extra: f64, at: f64, back: f64| {
        let longer = LinkConfig {
            latency: base.latency + ms(extra),
            ..base.clone()
        };
        let b = base.clone();
        base.then(ms(at * 1e3), longer).then(ms(back * 1e3), b)
    };
    let mut cases = cases;
    for (name, base) in [
        ("lan", lan()),
        ("lte", lte()),
        ("exp8", link(30.0, 8.0, Distribution::Exponential)),
    ] {
        for (dir, up, down) in [
            ("up", 60.0, 0.0),
            ("down", 0.0, 60.0),
            ("both", 60.0, 60.0),
            ("uneven", 60.0, 20.0),
            ("up15", 15.0, 0.0),
        ] {
            cases.push((
                Box::leak(format!("{name} +60 {dir}").into_boxed_str()),
                Trial {
                    up: step(base.clone(), up, 40.0, 80.0),
                    down: step(base.clone(), down, 40.0, 80.0),
                    drift_ppm: 50.0,
                    ..Trial::new(base.clone())
                },
            ));
        }
    }
    for (name, trial) in &cases {
        let runs: Vec<Course> = (0..20).map(|seed| trial.run(seed)).collect();
        let max = |f: &dyn Fn(&Course) -> f64| runs.iter().map(f).fold(0.0, f64::max);
        let mean = |f: &dyn Fn(&Course) -> f64| runs.iter().map(f).sum::<f64>() / runs.len() as f64;
        println!(
            "{name:18} std mean {:.3} max {:.3}  p99 mean {:.3} max {:.3}  worst>3s {:.2} worst>35 {:.2}  usable mean {:.2} max {:.2}  back {}",
            mean(&|c| c.std_dev(3.0)),
            max(&|c| c.std_dev(3.0)),
            mean(&|c| c.p99(3.0)),
            max(&|c| c.p99(3.0)),
            max(&|c| c.worst(3.0)),
            max(&|c| c.worst(35.0)),
            mean(&|c| c.usable()),
            max(&|c| c.usable()),
            runs.iter().map(|c| c.backwards).sum::<u32>()
        );
    }
}
