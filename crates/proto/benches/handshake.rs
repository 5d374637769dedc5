//! CPU of a handshake, client and server apart: `cargo bench -p samestep-proto --bench handshake`.
//!
//! Datagrams are handed over directly; what each endpoint spends on making and reading them is added up. The best of many batches
//! counts, which is what the work costs when nothing else runs.
#![expect(clippy::disallowed_methods)]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use samestep_proto::{AcceptConfig, Config, ConnectOptions, Endpoint, Event};

const BATCHES: usize = 15;
const PER_BATCH: usize = 40;

struct Case {
    name: &'static str,
    config: Config,
    known: bool,
    password: bool,
}

fn main() {
    let config = || Config::new("handshake", 1);
    let case = |name, config, known, password| Case {
        name,
        config,
        known,
        password,
    };
    let cases = [
        case("server key unknown", config(), false, false),
        case("server key known", config(), true, false),
        case("password", config(), false, true),
        case("plain packets", config().plain(), false, false),
        case("plain packets, password", config().plain(), false, true),
    ];
    println!("{:<26}{:>12}{:>12}", "µs per handshake", "client", "server");
    for case in cases {
        let (client, server) = measure(&case);
        println!("{:<26}{client:>12.0}{server:>12.0}", case.name);
    }
}

/// Microseconds per handshake of the client and of the server.
fn measure(case: &Case) -> (f64, f64) {
    let mut best = (f64::MAX, f64::MAX);
    for batch in 0..BATCHES {
        let mut spent = (Duration::ZERO, Duration::ZERO);
        for round in 0..PER_BATCH {
            let (client, server) = connect(case, (batch * PER_BATCH + round) as u8);
            spent = (spent.0 + client, spent.1 + server);
        }
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / PER_BATCH as f64;
        best = (best.0.min(micros(spent.0)), best.1.min(micros(spent.1)));
    }
    best
}

fn connect(case: &Case, seed: u8) -> (Duration, Duration) {
    let addresses: [SocketAddr; 2] = [([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into()];
    let password = case.password.then(|| "open sesame".into());
    let accepting = Config {
        accept: Some(AcceptConfig {
            password: password.clone(),
            ..AcceptConfig::default()
        }),
        ..case.config.clone()
    };
    let mut client = Endpoint::new(case.config.clone(), [seed; 32]).expect("good settings");
    let mut server = Endpoint::new(accepting, [seed ^ 0x55; 32]).expect("good settings");
    let server_key = case.known.then(|| server.public_key());
    let options = ConnectOptions {
        password,
        server_key,
        ..ConnectOptions::default()
    };
    let now = Duration::from_secs(1);
    let mut spent = [Duration::ZERO; 2];
    let start = Instant::now();
    client
        .connect(now, addresses[1], options)
        .expect("good options");
    spent[0] += start.elapsed();
    let mut buf = [0; 1500];
    loop {
        for side in 0..2 {
            let (from, to) = match side {
                0 => (&mut client, &mut server),
                _ => (&mut server, &mut client),
            };
            loop {
                let start = Instant::now();
                let sent = from.poll_transmit(now, &mut buf);
                spent[side] += start.elapsed();
                let Some(sent) = sent else { break };
                let start = Instant::now();
                to.handle_datagram(now, addresses[side], &mut buf[..sent.len]);
                spent[1 - side] += start.elapsed();
            }
        }
        if std::iter::from_fn(|| server.poll_event()).any(|e| matches!(e, Event::Connected { .. }))
        {
            return (spent[0], spent[1]);
        }
    }
}
