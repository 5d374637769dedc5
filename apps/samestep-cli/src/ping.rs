//! `samestep ping`: round trips to a room, without joining it.
//!
//! A host answers the first datagram of a client without keeping state, so a round trip costs it next to nothing, takes no slot and
//! needs no password.

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use samestep::proto::{
    CloseReason, Config, ConnectOptions, Endpoint, Event, PublicKey, RefuseReason,
};
use samestep::session::JoinTo;
use samestep::transport::{Impaired, Transport, Udp, now};
use samestep_catalog::NAMES;
use samestep_lab::Samples;

use crate::{GAME, VERSION};
use samestep_play::address::{any_port, resolve_join};
use samestep_play::failure::{Failure, Kind};
use samestep_play::known_hosts::KnownHosts;
use samestep_play::link::LinkArguments;

#[derive(Args)]
pub struct Arguments {
    /// The room: host, or host:port, with #KEY behind it to check that its key is the same
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
    let join = resolve_join(&arguments.address)?;
    let to = join.address;
    let mut socket = Udp::bind(any_port(to)).map_err(Failure::of_bind)?;
    socket.connect(to)?;
    let path = arguments.link.path()?;
    let mut socket = Impaired::new(socket, &path, arguments.link.seed)?;
    let seconds = |seconds: f64| Duration::from_secs_f64(seconds.clamp(0.0, 1e6));
    let (interval, timeout) = (seconds(arguments.interval), seconds(arguments.timeout));
    let (mut trips_ms, mut words, mut key) = (Samples::default(), None, None);
    let mut games = vec![(GAME, VERSION)];
    games.extend(NAMES.iter().map(|name| (*name, samestep_play::VERSION)));
    println!("{to}: {} round trips", arguments.count);
    for number in 1..=arguments.count {
        let start = now();
        let errors = socket.stats().errors_reported;
        let mut answer = ask(&mut socket, to, timeout, games[0])?;
        // Who plays another game shows its key to those who ask for that one.
        while games.len() > 1 && answer.as_ref().is_some_and(|answer| answer.is_other_game) {
            games.remove(0);
            answer = ask(&mut socket, to, timeout, games[0])?;
        }
        match answer {
            Some(answer) => {
                let ms = answer.round_trip.as_secs_f64() * 1e3;
                println!("answer {number}: {ms:.2} ms");
                trips_ms.push(ms);
                words = answer.words.or(words);
                key = answer.key.or(key);
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
    if let Some(key) = key {
        say_who(&join, key)?;
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

/// Says who answered. A key that was given, or is remembered, has to be the one that is shown.
///
/// The answer is not authenticated: whoever is on the way can show any key, but cannot be joined by it.
fn say_who(join: &JoinTo, key: PublicKey) -> Result<(), Failure> {
    let known_hosts = KnownHosts::open(join.address);
    let remembered = known_hosts.as_ref().and_then(KnownHosts::key);
    let known = match (join.server_key, remembered) {
        (Some(given), _) if given == key => "as given",
        (Some(given), _) => {
            let words = format!(
                "whoever answers there shows the key {key}, expected was {given}: somebody else may be in its place"
            );
            return Err(Failure::new(Kind::Other, words));
        }
        (None, Some(known)) if known == key => "as it was joined before",
        (None, Some(_)) => {
            let advice = known_hosts.map_or_else(String::new, |known| known.advice());
            return Err(Failure::new(Kind::Other, advice));
        }
        (None, None) => "not known before; joining would believe it",
    };
    println!("key: {key} ({known})");
    Ok(())
}

/// The key and the flags in what a host answers to a client that it does not refuse (WIRE.md, section 2).
fn read_retry(datagram: &[u8]) -> Option<(Option<PublicKey>, u8)> {
    const RETRY: u8 = 2;
    let [RETRY, ..] = datagram else {
        return None;
    };
    let (key, rest) = datagram.get(34..)?.split_first_chunk()?;
    Some((PublicKey::from_bytes(*key).ok(), *rest.first()?))
}

struct Answer {
    round_trip: Duration,
    /// Whether it refuses because it plays another game.
    is_other_game: bool,
    /// The key that the host shows, unless it refuses.
    key: Option<PublicKey>,
    /// A remark about the host.
    words: Option<String>,
}

/// Sends the first datagram of a handshake, and waits for the host's answer.
fn ask(
    socket: &mut Impaired<Udp>,
    to: SocketAddr,
    timeout: Duration,
    (game, version): (&str, u32),
) -> Result<Option<Answer>, Box<dyn Error>> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| format!("no randomness: {error}"))?;
    let mut client = Endpoint::new(Config::new(game, version), seed)?;
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
            let (mut words, mut key, mut is_other_game) = (None, None, false);
            if let Some((shown, flags)) = read_retry(datagram.bytes) {
                key = shown;
                words = match (flags & 2 != 0, flags & 4 != 0) {
                    (true, true) => {
                        Some("joining takes a password and a token of the lobby".into())
                    }
                    (true, false) => Some("joining takes a password".into()),
                    (false, true) => Some("joining takes a token of the lobby".into()),
                    (false, false) => None,
                };
            }
            client.handle_datagram(datagram.at, to, datagram.bytes);
            while let Some(event) = client.poll_event() {
                match event {
                    Event::Closed {
                        id: closed,
                        reason: CloseReason::Refused(reason),
                    } if closed == id => {
                        is_other_game = reason == RefuseReason::Game;
                        words = Some(about(reason));
                    }
                    _ => {}
                }
            }
            return Ok(Some(Answer {
                round_trip,
                is_other_game,
                key,
                words,
            }));
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
