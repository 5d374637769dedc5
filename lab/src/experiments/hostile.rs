//! A flood of bogus handshakes: what do a connected player and newcomers notice?

mod attack;
mod newcomers;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use samestep::proto::{ChannelConfig, ChannelId, Config, ConnectOptions, Delivery, Event};
use samestep::transport::Udp;
use samestep::{Driver, transport};
use samestep_proto::AcceptConfig;

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::pair;
use crate::parameters::{Case, Domain, Key};
use crate::plot::{Data, Plot};
use crate::real::LOCALHOST;
use crate::stats::Samples;
use newcomers::{IN_TIME, Newcomer};

/// Real sockets always: what is measured is the server's CPU, which virtual time does not spend.
pub static EXPERIMENT: Experiment = Experiment {
    summaries: &[
        "unreliable",
        "reliable-ordered",
        "damaged-connects/unreliable",
        "damaged-connects/reliable-ordered",
    ],
    real: true,
    ..Experiment::new("hostile", KEYS, METRICS, run)
};

const KEYS: &[&[Key]] = &[&[
    Key::number(
        "attack_hz",
        10_000.0,
        Domain::Whole(1, 200_000),
        "bogus handshakes per second",
    ),
    Key::text(
        "attack",
        HANDSHAKES,
        Domain::Choice(&[HANDSHAKES, DAMAGED]),
        "handshakes: first packets and key exchanges that are never confirmed, from many addresses; damaged-connects: all from one address, with a valid cookie and a damaged body",
    )
    .labelled(|value| Some(value.to_string()).filter(|text| text != HANDSHAKES)),
    Key::number(
        "with_cookie",
        0.05,
        Domain::Number(0.0, 1.0),
        "share of the attack `handshakes` that comes from a real address with a valid cookie, and asks for a key exchange",
    ),
    Key::number(
        "newcomers",
        0.0,
        Domain::Whole(0, 200),
        "how many connect for the first time in each attacked phase, each from an address of its own",
    ),
    Key::number(
        "rate_hz",
        60.0,
        Domain::Number(1.0, 1_000.0),
        "messages of the player per second and channel",
    ),
    Key::number(
        "seconds",
        2.0,
        Domain::Number(0.2, 600.0),
        "length of each calm and each attacked phase, in s",
    ),
    link::REPEATS,
]];

const METRICS: &[Metric] = &[
    Metric::wall_clock(
        "p99_calm",
        "ms",
        "p99 latency without attack, median of the repeats",
    ),
    Metric::wall_clock(
        "p99_attacked",
        "ms",
        "p99 latency under attack, median of the repeats",
    ),
    Metric::wall_clock(
        "p99_added",
        "ms",
        "the difference within a repeat, median of the repeats",
    ),
    Metric::wall_clock("delivered", "%", "messages that arrived under attack"),
    Metric::wall_clock(
        "attacks",
        "1/s",
        "bogus handshakes that were really sent per second",
    ),
    Metric::wall_clock(
        "newcomers_in",
        "%",
        "newcomers that were connected within 2 s, under attack",
    ),
    Metric::wall_clock(
        "newcomer_slowest",
        "ms",
        "from the first packet of a newcomer until it was connected, under attack, the longest",
    ),
];

/// The kinds of attack.
const HANDSHAKES: &str = "handshakes";
const DAMAGED: &str = "damaged-connects";

/// The player's channels, as indices of the plan's cases.
const CHANNELS: [Delivery; 2] = [Delivery::Unreliable, Delivery::ReliableOrdered];
const MESSAGE_BYTES: usize = 100;
/// Time between phases for the last messages to arrive.
const PAUSE: Duration = Duration::from_millis(200);

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let mut findings = Findings::default();
    for case in &context.cases {
        let log = siege(case, context.seed).map_err(|why| LabError::Measurement {
            case: case.name.clone(),
            why,
        })?;
        for (channel, delivery) in CHANNELS.iter().enumerate() {
            let name = match case.name.is_empty() || context.cases.len() == 1 {
                true => delivery.name().to_string(),
                false => format!("{}/{}", case.name, delivery.name()),
            };
            findings.add(&name, METRICS, &[], &log.figures(case, channel));
        }
    }
    findings.retain_measured();
    findings.plots.push(plot(&findings));
    Ok(findings)
}

/// Calm beside attacked.
fn plot(findings: &Findings) -> Plot {
    let of = |metric: &'static str| findings.rows.iter().filter(move |row| row.metric == metric);
    let bars = |metric| of(metric).map(|row| row.ours).collect();
    let series = vec![
        ("calm".into(), bars("p99_calm")),
        ("under attack".into(), bars("p99_attacked")),
    ];
    let cases = of("p99_calm").map(|row| row.case.clone()).collect();
    Plot::new(
        "siege",
        "Latency of a player's messages, 99th percentile",
        ["", "ms"],
        Data::Bars(cases, series),
    )
}

/// One message as it arrived.
struct Arrival {
    phase: u32,
    channel: usize,
    latency: Duration,
}

struct Log {
    arrivals: Vec<Arrival>,
    /// Of all attacked phases.
    newcomers: Vec<Newcomer>,
    attacks: u64,
    attacked_for: Duration,
}

impl Log {
    /// In the order of the metrics. Even phases are calm, odd ones attacked.
    fn figures(&self, case: &Case, channel: usize) -> [Option<f64>; 7] {
        let repeats = case.number("repeats") as u32;
        let p99 = |phase: u32| {
            let mut samples = Samples::new();
            for arrival in &self.arrivals {
                if arrival.phase == phase && arrival.channel == channel {
                    samples.push(arrival.latency.as_secs_f64() * 1000.0);
                }
            }
            samples.sorted().percentile(99.0)
        };
        let [mut calm, mut attacked, mut added] = [Samples::new(), Samples::new(), Samples::new()];
        for repeat in 0..repeats {
            if let (Some(before), Some(during)) = (p99(2 * repeat), p99(2 * repeat + 1)) {
                calm.push(before);
                attacked.push(during);
                added.push(during - before);
            }
        }
        let attacked_messages = self
            .arrivals
            .iter()
            .filter(|arrival| arrival.phase % 2 == 1 && arrival.channel == channel)
            .count();
        let sent = f64::from(per_phase(case)) * f64::from(repeats);
        let took = |newcomer: &Newcomer| newcomer.took.filter(|took| *took <= IN_TIME);
        let in_time = self.newcomers.iter().filter_map(took).count();
        let slowest = self.newcomers.iter().map(|newcomer| newcomer.took);
        // Somebody who never got in has no time that could be the longest.
        let slowest = slowest.max_by_key(|took| took.unwrap_or(Duration::MAX));
        [
            calm.sorted().percentile(50.0),
            attacked.sorted().percentile(50.0),
            added.sorted().percentile(50.0),
            Some(100.0 * attacked_messages as f64 / sent),
            Some(self.attacks as f64 / self.attacked_for.as_secs_f64()),
            (!self.newcomers.is_empty())
                .then(|| 100.0 * in_time as f64 / self.newcomers.len() as f64),
            slowest.flatten().map(|took| took.as_secs_f64() * 1000.0),
        ]
    }
}

fn per_phase(case: &Case) -> u32 {
    (case.number("seconds") * case.number("rate_hz")) as u32
}

/// What the threads of a siege tell each other.
#[derive(Debug, Default)]
struct Signals {
    /// Counts the phases: even ones are calm, odd ones attacked.
    phase: AtomicU32,
    /// The last phase whose newcomers are all in or have given up.
    settled: AtomicU32,
    over: AtomicBool,
    attacks: AtomicU64,
}

impl Signals {
    fn phase(&self) -> u32 {
        self.phase.load(Ordering::Relaxed)
    }

    fn is_attacked(&self) -> bool {
        self.phase() % 2 == 1
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// A server, a player, an attacker and the newcomers, each in a thread of its own.
fn siege(case: &Case, seed: u64) -> Result<Log, String> {
    let config = pair::config(&CHANNELS.map(ChannelConfig::new));
    let defaults = AcceptConfig::default();
    let newcomers = (case.number("newcomers") * case.number("repeats")) as usize;
    let limits = AcceptConfig {
        capacity: defaults.capacity + newcomers,
        ..defaults
    };
    let accept = match case.text("attack") {
        DAMAGED => limits,
        // These would come from many addresses, and come from one here.
        _ => AcceptConfig {
            per_address: usize::MAX,
            handshakes_per_second_per_address: limits.handshakes_per_second,
            ..limits
        },
    };
    let accepting = Config {
        accept: Some(accept),
        ..config.clone()
    };
    let signals = Signals::default();
    let failure = Mutex::new(None);
    let note = |error: String| {
        failure
            .lock()
            .expect("nobody panics holding it")
            .get_or_insert(error);
        signals.over.store(true, Ordering::Relaxed);
    };
    let (address, started) = mpsc::channel();
    let (arrivals, newcomers, attacked_for) = thread::scope(|scope| {
        let server = scope.spawn(|| serve(accepting, address, &signals));
        let Ok(to) = started.recv() else {
            let failed = server.join().expect("the server does not panic");
            return failed.map(|arrivals| (arrivals, Vec::new(), Duration::ZERO));
        };
        let (config, signals, note) = (&config, &signals, &note);
        scope.spawn(move || {
            if let Err(error) = attack::attack(case, config, to, seed, signals) {
                note(format!("the attacker's socket failed: {error}"));
            }
        });
        let newcomers = scope.spawn(move || {
            newcomers::come(case, config, to, signals).unwrap_or_else(|error| {
                note(error);
                Vec::new()
            })
        });
        let attacked_for = play(case, config, to, signals).unwrap_or_else(|error| {
            note(error);
            Duration::ZERO
        });
        signals.over.store(true, Ordering::Relaxed);
        let newcomers = newcomers.join().expect("newcomers do not panic");
        let arrivals = server.join().expect("the server does not panic")?;
        Ok::<_, String>((arrivals, newcomers, attacked_for))
    })?;
    match failure.into_inner().expect("nobody panics holding it") {
        Some(error) => Err(error),
        None => Ok(Log {
            arrivals,
            newcomers,
            attacks: signals.attacks.into_inner(),
            attacked_for,
        }),
    }
}

fn serve(
    config: Config,
    address: mpsc::Sender<SocketAddr>,
    signals: &Signals,
) -> Result<Vec<Arrival>, String> {
    let socket = Udp::bind(LOCALHOST).map_err(|error| format!("no UDP socket: {error}"))?;
    let mut server = Driver::new(socket, config).map_err(|error| error.to_string())?;
    let _ = address.send(server.local_addr());
    let mut arrivals = Vec::new();
    while !signals.is_over() {
        let event = server
            .drive_for(Duration::from_millis(50))
            .map_err(|error| format!("the server's transport failed: {error}"))?;
        let Some(Event::Readable { id }) = event else {
            continue;
        };
        let now = transport::now();
        while let Some(message) = server.recv(id) {
            let field = |at: usize| {
                message.payload[at..at + 8]
                    .try_into()
                    .map(u64::from_le_bytes)
            };
            let (Ok(phase), Ok(sent_ns)) = (field(0), field(8)) else {
                continue;
            };
            arrivals.push(Arrival {
                phase: phase as u32,
                channel: usize::from(message.channel.0),
                latency: now.saturating_sub(Duration::from_nanos(sent_ns)),
            });
        }
    }
    Ok(arrivals)
}

/// Sends steadily on both channels through calm and attacked phases. Returns how long the attacked ones took; they last until their newcomers
/// are in or have given up.
fn play(
    case: &Case,
    config: &Config,
    to: SocketAddr,
    signals: &Signals,
) -> Result<Duration, String> {
    let fail = |error: io::Error| format!("the player's transport failed: {error}");
    let socket = Udp::bind(LOCALHOST).map_err(|error| format!("no UDP socket: {error}"))?;
    let mut player = Driver::new(socket, config.clone()).map_err(|error| error.to_string())?;
    let id = player
        .connect(to, ConnectOptions::default())
        .map_err(|error| error.to_string())?;
    loop {
        match player.drive_for(Duration::from_secs(1)).map_err(fail)? {
            Some(Event::Connected { .. }) => break,
            Some(Event::Closed { reason, .. }) => {
                return Err(format!("could not connect: {reason}"));
            }
            _ => {}
        }
    }
    let interval = Duration::from_secs_f64(1.0 / case.number("rate_hz"));
    let mut message = [0x5a; MESSAGE_BYTES];
    let mut attacked_for = Duration::ZERO;
    for phase in 0..2 * case.number("repeats") as u32 {
        signals.phase.store(phase, Ordering::Relaxed);
        let begun = player.now();
        let pause = player.now() + PAUSE;
        while player.drive(pause).map_err(fail)?.is_some() {}
        let start = player.now();
        for number in 0..per_phase(case) {
            while let Some(event) = player.drive(start + interval * number).map_err(fail)? {
                if let Event::Closed { reason, .. } = event {
                    return Err(format!("the player lost the connection: {reason}"));
                }
            }
            if signals.is_over() {
                return Ok(attacked_for);
            }
            message[..8].copy_from_slice(&u64::from(phase).to_le_bytes());
            message[8..16].copy_from_slice(&(player.now().as_nanos() as u64).to_le_bytes());
            for channel in 0..CHANNELS.len() as u8 {
                player
                    .send(id, ChannelId(channel), &message)
                    .map_err(|error| format!("could not send: {error}"))?;
            }
        }
        let mut pause = player.now() + PAUSE;
        while player.drive(pause).map_err(fail)?.is_some() {}
        if phase % 2 == 1 {
            while signals.settled.load(Ordering::Relaxed) < phase && !signals.is_over() {
                pause = player.now() + PAUSE;
                while player.drive(pause).map_err(fail)?.is_some() {}
            }
            attacked_for += player.now() - begun;
        }
    }
    Ok(attacked_for)
}
