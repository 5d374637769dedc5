//! `samestep demo`: a host and a few bots over real UDP through an impaired link, with a live table.

use std::error::Error;
use std::io::{ErrorKind, IsTerminal, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use clap::Args;
use samestep::Driver;
use samestep::netem::Path;
use samestep::proto::{ChannelConfig, ChannelId, Config, ConnectOptions, Delivery, Event};
use samestep::transport::{Impaired, Udp, now};

use crate::scoreboard::{Peer, table};
use samestep_play::link::LinkArguments;

#[derive(Args)]
pub struct Arguments {
    /// How long to play
    #[arg(long, value_name = "N", default_value_t = 20.0)]
    seconds: f64,
    /// How many bots
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=32))]
    bots: u8,
    /// The host's port; another one is taken if this one is in use
    #[arg(long, value_name = "PORT", default_value_t = 14242)]
    port: u16,
    #[command(flatten)]
    pub link: LinkArguments,
}

/// The traffic of bots and host; the index in the list is the channel.
struct Traffic {
    name: &'static str,
    delivery: Delivery,
    bytes: usize,
    interval: Duration,
}

/// Positions may get lost, inputs are repeated until they have arrived, events are reliable and in order.
const TRAFFIC: [Traffic; 3] = [
    Traffic {
        name: "state",
        delivery: Delivery::UnreliableSequenced,
        bytes: 64,
        interval: Duration::from_millis(50),
    },
    Traffic {
        name: "input",
        delivery: Delivery::Redundant,
        bytes: 16,
        interval: Duration::from_micros(16_667),
    },
    Traffic {
        name: "event",
        delivery: Delivery::ReliableOrdered,
        bytes: 100,
        interval: Duration::from_millis(100),
    },
];

fn config() -> Config {
    Config {
        channels: TRAFFIC
            .map(|traffic| ChannelConfig::new(traffic.delivery))
            .to_vec(),
        ..Config::new("samestep-demo", 1)
    }
}

/// State shared by the threads.
struct Board {
    peers: Mutex<Vec<Peer>>,
    /// Messages sent by each bot on each channel, and why it failed if it did.
    bots: Mutex<Vec<Result<[u32; 3], String>>>,
    stop: AtomicBool,
}

impl Board {
    fn peers(&self) -> MutexGuard<'_, Vec<Peer>> {
        self.peers.lock().expect("nobody panics with the lock")
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let mut path = Path::default();
    for (key, value) in [("latency", "50"), ("jitter", "5"), ("loss", "5%")] {
        path.set(key, value)?;
    }
    let path = arguments.link.path_from(path)?;
    let bots = usize::from(arguments.bots);
    let host = Driver::new(bind(arguments.port)?, config().accepting(bots))?;
    let address = host.local_addr();
    println!(
        "host on {address} (UDP), {bots} bots, each way: {}",
        arguments.link.describe(&path)
    );
    println!(
        "bots to host: {}",
        TRAFFIC
            .map(|t| format!("{} every {:.0} ms", t.name, t.interval.as_secs_f64() * 1e3))
            .join(", ")
    );
    println!();
    let board = Board {
        peers: Mutex::new(vec![Peer::default(); bots]),
        bots: Mutex::new(vec![Ok([0; 3]); bots]),
        stop: AtomicBool::new(false),
    };
    let seconds = Duration::from_secs_f64(arguments.seconds.clamp(0.1, 1e9));
    let end = now() + seconds;
    let seed = arguments.link.seed;
    thread::scope(|scope| -> Result<(), Box<dyn Error>> {
        let hosting = scope.spawn(|| play_host(host, &board));
        for bot in 0..bots {
            let (board, path) = (&board, &path);
            scope.spawn(move || {
                let played = play_bot(bot, address, path, seed.wrapping_add(bot as u64), end);
                board.bots.lock().expect("nobody panics with the lock")[bot] = played;
            });
        }
        watch(&board, end, seconds);
        // The bots close their connections; the host runs until all are closed.
        while board.peers().iter().any(|peer| peer.closed.is_none())
            && now() < end + GRACE
            && !hosting.is_finished()
        {
            thread::park_timeout(Duration::from_millis(20));
        }
        board.stop.store(true, Ordering::Relaxed);
        hosting
            .join()
            .expect("the host does not panic")
            .map_err(|error| format!("the host's socket failed: {error}").into())
    })?;
    Ok(summary(&board))
}

/// The maximum time the bots take to close.
const GRACE: Duration = Duration::from_secs(4);

/// The wanted port, or any other if that one is in use: a demo should run.
fn bind(port: u16) -> Result<Udp, String> {
    let at = |port| Udp::bind(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    match at(port) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            println!("port {port} is in use, taking another one");
            at(0).map_err(|error| format!("no UDP socket: {error}"))
        }
        bound => bound.map_err(|error| format!("no UDP socket on port {port}: {error}")),
    }
}

fn play_host(mut host: Driver<Udp>, board: &Board) -> std::io::Result<()> {
    let broadcast = Duration::from_millis(50);
    let mut next = host.now();
    let mut state = vec![0; 400];
    while !board.stop.load(Ordering::Relaxed) {
        while let Some(event) = host.drive(next)? {
            let mut peers = board.peers();
            match event {
                Event::Connected { id, user_data, .. } => {
                    if let Some(peer) = user_data
                        .first()
                        .and_then(|bot| peers.get_mut(usize::from(*bot)))
                    {
                        *peer = Peer::new(id);
                    }
                }
                Event::Closed { id, reason } => {
                    if let Some(peer) = peers.iter_mut().find(|peer| peer.id == Some(id)) {
                        peer.closed = Some(reason.to_string());
                    }
                }
                Event::Readable { id } => {
                    let mut peer = peers.iter_mut().find(|peer| peer.id == Some(id));
                    while let Some(message) = host.recv(id) {
                        let Some((number, sent)) = read_stamp(message.payload) else {
                            continue;
                        };
                        let channel = usize::from(message.channel.0);
                        if let Some(heard) = peer
                            .as_mut()
                            .and_then(|peer| peer.channels.get_mut(channel))
                        {
                            heard.on_message(number, now().saturating_sub(sent));
                        }
                    }
                }
                Event::Moved { .. } | Event::Refused { .. } => {}
            }
        }
        next += broadcast;
        for peer in board
            .peers()
            .iter_mut()
            .filter(|peer| peer.closed.is_none())
        {
            let Some(id) = peer.id else { continue };
            write_stamp(&mut state, 0, host.now());
            // A connection that is just closing takes no more; its event follows.
            let _ = host.send(id, ChannelId(0), &state);
            if let Some(stats) = host.stats(id) {
                peer.stats = stats;
            }
        }
    }
    Ok(())
}

/// Plays one bot; returns how many messages it sent on each channel.
fn play_bot(
    bot: usize,
    host: SocketAddr,
    path: &Path,
    seed: u64,
    end: Duration,
) -> Result<[u32; 3], String> {
    let words = |error: std::io::Error| format!("socket failed: {error}");
    let socket = Udp::bind(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)).map_err(words)?;
    let socket = Impaired::new(socket, path, seed).map_err(|error| error.to_string())?;
    let mut driver = Driver::new(socket, config()).map_err(|error| error.to_string())?;
    let options = ConnectOptions {
        user_data: vec![bot as u8],
        ..ConnectOptions::default()
    };
    let id = driver
        .connect(host, options)
        .map_err(|error| error.to_string())?;
    let mut connected = false;
    let mut sent = [0; 3];
    let mut due = [driver.now(); 3];
    let mut message = vec![0; 256];
    loop {
        let next = due.into_iter().min().expect("three streams").min(end);
        match driver
            .drive(if connected { next } else { end })
            .map_err(words)?
        {
            Some(Event::Connected { .. }) => {
                connected = true;
                due = [driver.now(); 3];
            }
            Some(Event::Closed { reason, .. }) => return Err(reason.to_string()),
            Some(Event::Readable { id }) => while driver.recv(id).is_some() {},
            Some(Event::Moved { .. } | Event::Refused { .. }) => {}
            None if driver.now() >= end => break,
            None => {
                for (stream, traffic) in TRAFFIC.iter().enumerate() {
                    if due[stream] > driver.now() {
                        continue;
                    }
                    write_stamp(&mut message, sent[stream], driver.now());
                    if driver
                        .send(id, ChannelId(stream as u8), &message[..traffic.bytes])
                        .is_ok()
                    {
                        sent[stream] += 1;
                    }
                    due[stream] += traffic.interval;
                }
            }
        }
    }
    if !connected {
        return Err("no connection in the given time".into());
    }
    driver.close(id, 0, "done");
    while let Some(event) = driver.drive(end + GRACE).map_err(words)? {
        match event {
            Event::Closed { .. } => break,
            Event::Readable { id } => while driver.recv(id).is_some() {},
            _ => {}
        }
    }
    driver.finish(end + GRACE).map_err(words)?;
    Ok(sent)
}

fn write_stamp(message: &mut [u8], number: u32, at: Duration) {
    message[..4].copy_from_slice(&number.to_le_bytes());
    message[4..12].copy_from_slice(&(at.as_nanos() as u64).to_le_bytes());
}

fn read_stamp(message: &[u8]) -> Option<(u32, Duration)> {
    let (number, rest) = message.split_first_chunk()?;
    let at = rest.first_chunk()?;
    Some((
        u32::from_le_bytes(*number),
        Duration::from_nanos(u64::from_le_bytes(*at)),
    ))
}

/// Redraws the table in place on a terminal; prints it every five seconds elsewhere.
fn watch(board: &Board, end: Duration, seconds: Duration) {
    let terminal = std::io::stdout().is_terminal();
    let period = if terminal {
        Duration::from_millis(250)
    } else {
        Duration::from_secs(5).min(seconds / 2)
    };
    let start = end - seconds;
    let names = [TRAFFIC[0].name, TRAFFIC[1].name, TRAFFIC[2].name];
    let mut lines = 0;
    let mut next = start + period;
    loop {
        let pause = next.min(end).saturating_sub(now());
        thread::park_timeout(pause);
        if now() < next && now() < end {
            continue;
        }
        next += period;
        let text = table(&mut board.peers(), names, now() - start, seconds);
        let mut out = std::io::stdout().lock();
        let up = if terminal && lines > 0 {
            format!("\x1b[{lines}A\x1b[J")
        } else {
            String::new()
        };
        lines = text.lines().count();
        // A closed pipe ends the output, not the demo.
        if write!(out, "{up}{text}")
            .and_then(|()| out.flush())
            .is_err()
            || now() >= end
        {
            return;
        }
    }
}

/// What arrived of what was sent; a reliable message that is missing or out of order fails the demo.
fn summary(board: &Board) -> ExitCode {
    let peers = board.peers();
    let bots = board.bots.lock().expect("nobody panics with the lock");
    let mut broken = false;
    println!();
    for (number, (peer, sent)) in peers.iter().zip(bots.iter()).enumerate() {
        let sent = match sent {
            Ok(sent) => sent,
            Err(why) => {
                println!("bot {}: {why}", number + 1);
                broken = true;
                continue;
            }
        };
        let mut parts = Vec::new();
        for ((traffic, heard), sent) in TRAFFIC.iter().zip(&peer.channels).zip(sent) {
            broken |=
                traffic.delivery.is_reliable() && (heard.arrived != *sent || heard.disorder > 0);
            parts.push(format!("{} {} of {}", traffic.name, heard.arrived, sent));
        }
        println!("bot {}: {} arrived", number + 1, parts.join(", "));
    }
    match broken {
        false => println!("every input and event arrived exactly once and in order"),
        true => println!("NOT every input and event arrived"),
    }
    if broken {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_survive() {
        let mut message = [0; 16];
        write_stamp(&mut message, 77, Duration::from_nanos(123_456_789_012));
        assert_eq!(
            read_stamp(&message),
            Some((77, Duration::from_nanos(123_456_789_012)))
        );
        assert_eq!(read_stamp(&message[..11]), None);
    }
}
