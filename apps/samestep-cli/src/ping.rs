//! `samestep ping`: round trips to a room, without joining it.
//!
//! A host answers the first datagram of a client without keeping state, so a round trip costs it next to nothing, takes no slot and
//! needs no password.

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use samestep::proto::{CloseReason, Config, ConnectOptions, Endpoint, Event, RefuseReason};
use samestep::transport::{Impaired, Transport, Udp, now};
use samestep_lab::Samples;

use crate::{GAME, VERSION};
use samestep_play::address::{any_port, resolve};
use samestep_play::failure::{Failure, Kind};
use samestep_play::link::LinkArguments;

#[derive(Args)]
pub struct Arguments {
    /// The room: host, or host and port
    address: String,
    /// How many round trips
    #[arg(short, long, value_name = "N", default_value_t = 5)]
    count: u32,
    /// Seconds between two of them
    #[arg(short, long, value_name = "N", default_value_t = 1.0)]
    interval: f64,
    /// Seconds to wait for an answer
    #[arg(long, value_name = "N", default_value_t = 2.0)]
    timeout: f64,
    #[command(flatten)]
    link: LinkArguments,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let to = resolve(&arguments.address)?;
    let mut socket = Udp::bind(any_port(to)).map_err(Failure::of_bind)?;
    socket.connect(to)?;
    let path = arguments.link.path()?;
    let mut socket = Impaired::new(socket, &path, arguments.link.seed)?;
    let seconds = |seconds: f64| Duration::from_secs_f64(seconds.clamp(0.0, 1e6));
    let (interval, timeout) = (seconds(arguments.interval), seconds(arguments.timeout));
    let (mut trips_ms, mut words) = (Samples::default(), None);
    println!("{to}: {} round trips", arguments.count);
    for number in 1..=arguments.count {
        let start = now();
        let errors = socket.stats().errors_reported;
        match ask(&mut socket, to, timeout)? {
            Some(answer) => {
                let ms = answer.round_trip.as_secs_f64() * 1e3;
                println!("answer {number}: {ms:.2} ms");
                trips_ms.push(ms);
                words = answer.words.or(words);
            }
            None if socket.stats().errors_reported > errors => {
                println!("answer {number}: none, the machine says that nothing listens there");
            }
            None => println!("answer {number}: none within {} s", timeout.as_secs_f64()),
        }
        if number < arguments.count {
            pause(&mut socket, start + interval)?;
        }
    }
    let answered = trips_ms.len();
    let lost = 100.0 * (1.0 - answered as f64 / f64::from(arguments.count.max(1)));
    println!(
        "{} sent, {answered} answered, {lost:.0} % lost",
        arguments.count
    );
    let sorted = trips_ms.sorted();
    if let (Some(least), Some(most), Some(mean)) = (
        sorted.percentile(0.0),
        sorted.percentile(100.0),
        trips_ms.mean(),
    ) {
        let middle = sorted.percentile(50.0).unwrap_or(mean);
        println!(
            "round trip: least {least:.2}, half {middle:.2}, mean {mean:.2}, most {most:.2} ms"
        );
    }
    if let Some(words) = words {
        println!("{words}");
    }
    if answered == 0 {
        let words = match socket.stats().errors_reported {
            0 => format!(
                "nobody answers at {to}: check address and port, and whether a firewall drops UDP"
            ),
            _ => format!(
                "nobody there: the machine {} is up, but nothing listens at port {}",
                to.ip(),
                to.port()
            ),
        };
        return Err(Failure::new(Kind::NobodyThere, words).into());
    }
    Ok(ExitCode::SUCCESS)
}

/// The first byte of what a host answers to a client it does not refuse.
const RETRY: u8 = 2;

struct Answer {
    round_trip: Duration,
    /// A remark about the host.
    words: Option<String>,
}

/// Sends the first datagram of a handshake, and waits for the host's answer.
fn ask(
    socket: &mut Impaired<Udp>,
    to: SocketAddr,
    timeout: Duration,
) -> Result<Option<Answer>, Box<dyn Error>> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| format!("no randomness: {error}"))?;
    let mut client = Endpoint::new(Config::new(GAME, VERSION), seed)?;
    let id = client.connect(now(), to, ConnectOptions::default())?;
    let mut hello = vec![0; client.config().max_packet];
    let len = client
        .poll_transmit(now(), &mut hello)
        .map_or(0, |packet| packet.len);
    let sent = now();
    let errors = socket.stats().errors_reported;
    socket.send(to, &hello[..len])?;
    let end = sent + timeout;
    loop {
        while let Some(datagram) = socket.recv()? {
            // Answers of all versions repeat the client's nonce at this offset.
            if datagram.from != to || datagram.bytes.get(6..14) != hello.get(6..14) {
                continue;
            }
            let round_trip = datagram.at.saturating_sub(sent);
            let mut words = None;
            // This bit of a Retry says that a password is required.
            if let [RETRY, ..] = datagram.bytes
                && datagram.bytes.get(66).is_some_and(|flags| flags & 2 != 0)
            {
                words = Some("joining takes a password".into());
            }
            client.handle_datagram(datagram.at, to, datagram.bytes);
            while let Some(event) = client.poll_event() {
                match event {
                    Event::Closed {
                        id: closed,
                        reason: CloseReason::Refused(reason),
                    } if closed == id => {
                        words = Some(about(reason));
                    }
                    _ => {}
                }
            }
            return Ok(Some(Answer { round_trip, words }));
        }
        if now() >= end || socket.stats().errors_reported > errors {
            return Ok(None);
        }
        socket.wait(Some(end))?;
    }
}

/// The reason of a host that answered with a refusal.
fn about(reason: RefuseReason) -> String {
    format!("joining would be refused: {reason}")
}

/// Waits while the impaired link goes on delivering.
fn pause(socket: &mut Impaired<Udp>, until: Duration) -> std::io::Result<()> {
    while now() < until {
        while socket.recv()?.is_some() {}
        socket.wait(Some(until))?;
    }
    Ok(())
}
