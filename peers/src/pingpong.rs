//! Many clients with exactly one small message in flight each: what a round trip costs in CPU time.

use std::{collections::BTreeMap, error::Error, thread, time::Duration};

use crate::{
    child::{Child, Status},
    library::{Library, Mode},
    report::{Section, Table},
};

const WARM_UP: Duration = Duration::from_millis(500);

/// Runs every library in both modes, taking turns for `rounds` rounds.
pub fn measure(
    libraries: &[Library],
    clients: usize,
    rounds: usize,
    seconds: u64,
) -> Result<Section, Box<dyn Error>> {
    let mut samples: BTreeMap<(Mode, Library), Vec<Sample>> = BTreeMap::new();
    let mut failures = Vec::new();
    for round in 1..=rounds {
        for mode in Mode::ALL {
            for &library in libraries.iter().filter(|library| library.supports(mode)) {
                match run(library, mode, clients, Duration::from_secs(seconds)) {
                    Ok(sample) => {
                        eprintln!(
                            "pingpong: round {round}, {library} {mode}: {:.0} trips/s, {:.2} µs each",
                            sample.trips_per_second(),
                            sample.cost_us()
                        );
                        samples.entry((mode, library)).or_default().push(sample);
                    }
                    Err(error) => {
                        failures.push(format!("{library} {mode} failed in round {round}: {error}"))
                    }
                }
            }
        }
    }
    let mut table = Table::new(
        2,
        &[
            "mode",
            "library",
            "trips/s",
            "CPU µs/trip",
            "min–max",
            "server µs",
            "user",
            "system",
            "clients µs",
            "user",
            "system",
            "trips/CPU-s",
            "repeated",
        ],
    );
    let mut costs = BTreeMap::new();
    for (&(mode, library), samples) in &samples {
        let of = |figure: fn(&Sample) -> f64| median(samples.iter().map(figure).collect());
        let us = |figure: fn(&Sample) -> f64| format!("{:.2}", of(figure));
        let all = || samples.iter().map(Sample::cost_us);
        let cost_us = of(Sample::cost_us);
        costs.insert((mode, library), cost_us);
        table.row([
            mode.to_string(),
            library.to_string(),
            format!("{:.0}", of(Sample::trips_per_second)),
            format!("{cost_us:.2}"),
            format!(
                "{:.2}–{:.2}",
                all().fold(f64::INFINITY, f64::min),
                all().fold(0.0, f64::max)
            ),
            us(|sample| sample.per_trip_us(sample.server.user + sample.server.system)),
            us(|sample| sample.per_trip_us(sample.server.user)),
            us(|sample| sample.per_trip_us(sample.server.system)),
            us(|sample| sample.per_trip_us(sample.clients.user + sample.clients.system)),
            us(|sample| sample.per_trip_us(sample.clients.user)),
            us(|sample| sample.per_trip_us(sample.clients.system)),
            format!("{:.0}", 1e6 / cost_us),
            samples
                .iter()
                .map(|sample| sample.retries)
                .sum::<u64>()
                .to_string(),
        ]);
    }
    failures.extend(conclusions(&costs));
    Ok(Section {
        title: format!("Ping-pong of {clients} clients"),
        notes: vec![
            format!(
                "{clients} clients, each with its own socket and exactly one message of 32 bytes in flight to one server. Server and \
                 clients are one thread each, in processes of their own on a core of their own; {rounds} rounds of {seconds} s in \
                 which the libraries take turns. Medians of the rounds; CPU time (user and system, by getrusage) of both sides."
            ),
            "Everything is driven by readiness (epoll). Renet does not say which clients have messages, and its netcode server can only be asked for the \
             packets of all clients at once; its acknowledgements travel in packets of their own. ENet and renet are also called every 100 ms for their timers."
                .into(),
            "udp is no library but bare datagrams: what the sockets alone cost, without connections, acknowledgements or checks."
                .into(),
            "repeated: unreliable pings sent again because no answer came within 250 ms.".into(),
        ],
        tables: vec![table],
        conclusions: failures,
    })
}

/// The ratios everything was measured for.
fn conclusions(costs: &BTreeMap<(Mode, Library), f64>) -> Vec<String> {
    let mut lines = Vec::new();
    for mode in Mode::ALL {
        let fastest = costs
            .iter()
            .filter(|((of, library), _)| *of == mode && library.is_plain() && library.is_peer())
            .min_by(|a, b| a.1.total_cmp(b.1));
        let plain = costs.get(&(mode, Library::SamestepPlain));
        let encrypted = costs.get(&(mode, Library::Samestep));
        if let (Some(((_, peer), peer_us)), Some(plain_us)) = (fastest, plain) {
            lines.push(format!(
                "{mode}: Samestep plain does {:.2}× the round trips per CPU-second of the fastest plain peer ({peer}).",
                peer_us / plain_us
            ));
        }
        if let (Some(encrypted_us), Some(plain_us)) = (encrypted, plain) {
            lines.push(format!(
                "{mode}: Samestep encrypted costs {:.2}× Samestep plain.",
                encrypted_us / plain_us
            ));
        }
    }
    lines
}

struct Sample {
    trips: u64,
    retries: u64,
    wall: Duration,
    server: Cpu,
    clients: Cpu,
}

struct Cpu {
    user: Duration,
    system: Duration,
}

impl Sample {
    fn trips_per_second(&self) -> f64 {
        self.trips as f64 / self.wall.as_secs_f64()
    }

    fn per_trip_us(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e6 / self.trips as f64
    }

    fn cost_us(&self) -> f64 {
        let Sample {
            server, clients, ..
        } = self;
        self.per_trip_us(server.user + server.system + clients.user + clients.system)
    }
}

impl Cpu {
    fn between(before: &Status, after: &Status) -> Cpu {
        Cpu {
            user: after.user - before.user,
            system: after.system - before.system,
        }
    }
}

fn run(
    library: Library,
    mode: Mode,
    count: usize,
    duration: Duration,
) -> Result<Sample, Box<dyn Error>> {
    let (mut server, address) = Child::server(library, mode, count, None)?;
    let mut clients = Child::clients(library, mode, count, address, false)?;
    clients.go()?;
    thread::sleep(WARM_UP);
    let before = (server.status()?, clients.status()?);
    thread::sleep(duration);
    let after = (server.status()?, clients.status()?);
    let trips = after.1.trips - before.1.trips;
    if trips == 0 {
        return Err("no ping came back".into());
    }
    Ok(Sample {
        trips,
        retries: after.1.retries - before.1.retries,
        wall: after.1.at - before.1.at,
        server: Cpu::between(&before.0, &after.0),
        clients: Cpu::between(&before.1, &after.1),
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        (values[middle - 1] + values[middle]) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_and_even_counts() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
