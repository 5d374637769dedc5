//! A flood of bogus handshakes: what does a connected player notice?

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use samestep::proto::{ChannelConfig, ChannelId, Config, ConnectOptions, Delivery, Event};
use samestep::transport::Udp;
use samestep::{Driver, transport};
use samestep_proto::{AcceptConfig, Endpoint};

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::pair;
use crate::parameters::{Case, Domain, Key};
use crate::plot::{Data, Plot};
use crate::real::LOCALHOST;
use crate::stats::Samples;

/// Real sockets always: what is measured is the server's CPU, which virtual time does not spend.
pub static EXPERIMENT: Experiment = Experiment {
    summaries: const { &[CHANNELS[0].name(), CHANNELS[1].name()] },
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
    Key::number(
        "with_cookie",
        0.05,
        Domain::Number(0.0, 1.0),
        "share of them that come from a real address with a valid cookie, and ask for a key exchange",
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
];

/// The player's channels, as indices of the plan's cases.
const CHANNELS: [Delivery; 2] = [Delivery::Unreliable, Delivery::ReliableOrdered];
const MESSAGE_BYTES: usize = 100;
/// Time between phases for the last messages to arrive.
const PAUSE: Duration = Duration::from_millis(200);
const SOURCES: usize = 16;

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
    findings.plots.push(plot(&findings));
    Ok(findings)
}

/// Calm beside attacked.
fn plot(findings: &Findings) -> Plot {
    let bars = |metric: &str| {
        let value = |delivery: &Delivery| {
            let mut rows = findings.rows.iter();
            let row = rows.find(|row| row.case.ends_with(delivery.name()) && row.metric == metric);
            row.and_then(|row| row.ours)
        };
        CHANNELS.iter().map(value).collect()
    };
    let series = vec![
        ("calm".into(), bars("p99_calm")),
        ("under attack".into(), bars("p99_attacked")),
    ];
    Plot::new(
        "siege",
        "Latency of a player's messages, 99th percentile",
        ["", "ms"],
        Data::Bars(
            CHANNELS.map(|delivery| delivery.name().into()).to_vec(),
            series,
        ),
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
    attacks: u64,
}

impl Log {
    /// In the order of the metrics. Even phases are calm, odd ones attacked.
    fn figures(&self, case: &Case, channel: usize) -> [Option<f64>; 5] {
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
        let seconds = (case.number("seconds") + 2.0 * PAUSE.as_secs_f64()) * f64::from(repeats);
        [
            calm.sorted().percentile(50.0),
            attacked.sorted().percentile(50.0),
            added.sorted().percentile(50.0),
            Some(100.0 * attacked_messages as f64 / sent),
            Some(self.attacks as f64 / seconds),
        ]
    }
}

fn per_phase(case: &Case) -> u32 {
    (case.number("seconds") * case.number("rate_hz")) as u32
}

/// A server, a player and an attacker, each in a thread of its own.
fn siege(case: &Case, seed: u64) -> Result<Log, String> {
    let config = pair::config(&CHANNELS.map(ChannelConfig::new));
    let accepting = Config {
        // All attackers share this machine's address here, but would not elsewhere.
        accept: Some(AcceptConfig {
            per_address: usize::MAX,
            handshakes_per_second_per_address: AcceptConfig::default().handshakes_per_second,
            ..AcceptConfig::default()
        }),
        ..config.clone()
    };
    let (under_attack, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let attacks = AtomicU64::new(0);
    let failure = Mutex::new(None);
    let note = |error: String| {
        failure
            .lock()
            .expect("nobody panics holding it")
            .get_or_insert(error);
        over.store(true, Ordering::Relaxed);
    };
    let (address, started) = mpsc::channel();
    let arrivals = thread::scope(|scope| {
        let server = scope.spawn(|| serve(accepting, address, &over));
        let Ok(to) = started.recv() else {
            return server.join().expect("the server does not panic");
        };
        let (config, under_attack, over) = (&config, &under_attack, &over);
        let (attacks, note) = (&attacks, &note);
        scope.spawn(move || {
            if let Err(error) = attack(case, config, to, seed, under_attack, over, attacks) {
                note(format!("the attacker's socket failed: {error}"));
            }
        });
        if let Err(error) = play(case, config, to, under_attack, over) {
            note(error);
        }
        over.store(true, Ordering::Relaxed);
        server.join().expect("the server does not panic")
    })?;
    match failure.into_inner().expect("nobody panics holding it") {
        Some(error) => Err(error),
        None => Ok(Log {
            arrivals,
            attacks: attacks.into_inner(),
        }),
    }
}

fn serve(
    config: Config,
    address: mpsc::Sender<SocketAddr>,
    over: &AtomicBool,
) -> Result<Vec<Arrival>, String> {
    let socket = Udp::bind(LOCALHOST).map_err(|error| format!("no UDP socket: {error}"))?;
    let mut server = Driver::new(socket, config).map_err(|error| error.to_string())?;
    let _ = address.send(server.local_addr());
    let mut arrivals = Vec::new();
    while !over.load(Ordering::Relaxed) {
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

/// Sends steadily on both channels through calm and attacked phases.
fn play(
    case: &Case,
    config: &Config,
    to: SocketAddr,
    under_attack: &AtomicBool,
    over: &AtomicBool,
) -> Result<(), String> {
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
    for phase in 0..2 * case.number("repeats") as u64 {
        under_attack.store(phase % 2 == 1, Ordering::Relaxed);
        let pause = player.now() + PAUSE;
        while player.drive(pause).map_err(fail)?.is_some() {}
        let start = player.now();
        for number in 0..per_phase(case) {
            while let Some(event) = player.drive(start + interval * number).map_err(fail)? {
                if let Event::Closed { reason, .. } = event {
                    return Err(format!("the player lost the connection: {reason}"));
                }
            }
            if over.load(Ordering::Relaxed) {
                return Ok(());
            }
            message[..8].copy_from_slice(&phase.to_le_bytes());
            message[8..16].copy_from_slice(&(player.now().as_nanos() as u64).to_le_bytes());
            for channel in 0..CHANNELS.len() as u8 {
                player
                    .send(id, ChannelId(channel), &message)
                    .map_err(|error| format!("could not send: {error}"))?;
            }
        }
        let pause = player.now() + PAUSE;
        while player.drive(pause).map_err(fail)?.is_some() {}
    }
    Ok(())
}

/// Sends bogus handshakes in the attacked phases: most are first packets from many sockets; some go on with the cookie they got, make the
/// server compute, and never confirm.
fn attack(
    case: &Case,
    config: &Config,
    to: SocketAddr,
    seed: u64,
    under_attack: &AtomicBool,
    over: &AtomicBool,
    attacks: &AtomicU64,
) -> io::Result<()> {
    let beat = Duration::from_millis(1);
    let sockets: Vec<UdpSocket> = (0..SOURCES)
        .map(|_| UdpSocket::bind(LOCALHOST))
        .collect::<io::Result<_>>()?;
    for socket in &sockets {
        socket.set_nonblocking(true)?;
    }
    let mut endpoint_seed = [0; 32];
    endpoint_seed[..8].copy_from_slice(&seed.to_le_bytes());
    let mut endpoint = Endpoint::new(config.clone(), endpoint_seed).map_err(io::Error::other)?;
    let per_beat = case.number("attack_hz") * beat.as_secs_f64();
    let (mut due, mut due_with_cookie) = (0.0, 0.0);
    let mut buf = [0; 2048];
    let mut hello: Vec<u8> = Vec::new();
    let mut next = transport::now();
    while !over.load(Ordering::Relaxed) {
        next += beat;
        thread::sleep(next.saturating_sub(transport::now()));
        if !under_attack.load(Ordering::Relaxed) {
            continue;
        }
        let now = transport::now();
        endpoint.handle_timeout(now);
        while endpoint.poll_event().is_some() {}
        due += per_beat;
        due_with_cookie += per_beat * case.number("with_cookie");
        while due_with_cookie >= 1.0 {
            due_with_cookie -= 1.0;
            let _ = endpoint.connect(now, to, ConnectOptions::default());
        }
        // Answers with cookies go on; acceptances are left hanging.
        while let Ok((len, from)) = sockets[0].recv_from(&mut buf) {
            if buf[0] == 0x02 {
                endpoint.handle_datagram(now, from, &mut buf[..len]);
            }
        }
        while let Some(packet) = endpoint.poll_transmit(now, &mut buf) {
            if buf[0] == 0x01 {
                hello = buf[..packet.len].to_vec();
            }
            let _ = sockets[0].send_to(&buf[..packet.len], to);
            attacks.fetch_add(1, Ordering::Relaxed);
            due -= 1.0;
        }
        let mut source = 0;
        while due >= 1.0 && !hello.is_empty() {
            due -= 1.0;
            source = source % (SOURCES - 1) + 1;
            let _ = sockets[source].send_to(&hello, to);
            attacks.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}
