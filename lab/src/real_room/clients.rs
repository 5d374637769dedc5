//! The clients of a match over real sockets, many in one process.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use samestep::session::{JoinTo, Role, SessionEvent};
use samestep::transport::{Transport, Udp, UdpConfig};
use samestep::{Crowd, Driver};
use samestep_session::MatchEvent;
use samestep_sync::{Length, LockstepConfig};

use super::{Game, Player, RealRoom, counts, has_played};
use crate::real::LOCALHOST;
use crate::samples::{Counts, TimeSeries};
use crate::testmatch::{TICK, processor_time};

/// Time between two clients that begin to join.
const JOIN_EVERY: Duration = Duration::from_millis(3);
/// How long after its due time a tick is surely due for every client.
const AFTER: Duration = Duration::from_millis(1);
/// Time between two polls of all clients: a quarter of a tick.
const BEAT: Duration = Duration::from_nanos(1_000_000_000 / 240);
/// The longest wait for the host to finish measuring.
const LINGER: Duration = Duration::from_secs(10);

/// The arguments of [`be_clients`].
pub(super) fn arguments(room: &RealRoom, host: SocketAddr, numbers: Range<usize>) -> Vec<String> {
    let lockstep = &room.lockstep;
    let mut all = vec![
        host.to_string(),
        numbers.start.to_string(),
        numbers.end.to_string(),
        room.players.to_string(),
        room.entities.to_string(),
        room.seconds.to_string(),
        room.seed.to_string(),
        lockstep.keep.to_string(),
        lockstep.desync_check_interval.to_string(),
    ];
    for length in [lockstep.turn, lockstep.input_delay] {
        let (least, most) = match length {
            Length::Fixed(ticks) => (ticks, ticks),
            Length::Dynamic { min, max } => (min, max),
        };
        all.extend([least.to_string(), most.to_string()]);
    }
    all
}

fn next<T: FromStr>(arguments: &mut impl Iterator<Item = String>) -> Result<T, String> {
    let text = arguments.next().ok_or("an argument is missing")?;
    text.parse().map_err(|_| format!("{text} makes no sense"))
}

fn length(arguments: &mut impl Iterator<Item = String>) -> Result<Length, String> {
    let (least, most) = (next(arguments)?, next(arguments)?);
    Ok(match least == most {
        true => Length::Fixed(least),
        false => Length::Dynamic {
            min: least,
            max: most,
        },
    })
}

/// The part of a process of clients in `play`: it joins with many clients, plays with each, and prints their counters.
pub fn be_clients(arguments: &[String]) -> Result<(), String> {
    let mut arguments = arguments.iter().cloned();
    let host: SocketAddr = next(&mut arguments)?;
    let numbers: Range<u16> = next(&mut arguments)?..next(&mut arguments)?;
    let room = RealRoom {
        players: next(&mut arguments)?,
        entities: next(&mut arguments)?,
        seconds: next(&mut arguments)?,
        seed: next(&mut arguments)?,
        processes: 1,
        lockstep: LockstepConfig {
            keep: next(&mut arguments)?,
            desync_check_interval: next(&mut arguments)?,
            turn: length(&mut arguments)?,
            input_delay: length(&mut arguments)?,
            ..LockstepConfig::default()
        },
    };
    let fail = |error: std::io::Error| format!("a client's transport failed: {error}");
    let mut crowd: Crowd<Game> = Crowd::new().map_err(fail)?;
    let mut players = vec![Player::new(room.seed); numbers.len()];
    let mut second = 0;
    let mut next_keys = crowd.now();
    let mut output = String::new();
    let mut cpu = None;
    let mut waiting = numbers.clone();
    let mut next_join = crowd.now();
    let mut next_tick = crowd.now();
    let mut over = None;
    while over.is_none_or(|over| crowd.now() < over) {
        if crowd.now() >= next_join
            && let Some(number) = waiting.next()
        {
            let mut socket = Udp::with_config(LOCALHOST, &UdpConfig::client()).map_err(fail)?;
            socket.connect(host).map_err(fail)?;
            let role = Role::Client(JoinTo::new(host));
            let game = room.game(socket.now(), number, role)?;
            crowd.add(Driver::over(socket, game)).map_err(fail)?;
            next_join += JOIN_EVERY;
        }
        let until = match waiting.is_empty() {
            true => next_tick,
            false => next_tick.min(next_join),
        };
        if waiting.is_empty() {
            std::thread::sleep(until.saturating_sub(crowd.now()));
        }
        while let Some((index, event)) = crowd.next(until).map_err(fail)? {
            if let MatchEvent::Session(SessionEvent::Left { reason }) = event {
                if over.is_some() {
                    over = Some(Duration::ZERO);
                    continue;
                }
                let number = usize::from(numbers.start) + index;
                return Err(format!("client {number} has left: {reason}"));
            }
        }
        if crowd.now() < next_tick {
            continue;
        }
        next_tick = match crowd.is_empty() || !waiting.is_empty() {
            true => crowd.now() + TICK,
            false => next_beat(crowd.member(0), crowd.now()),
        };
        if crowd.now() >= next_keys {
            next_keys = crowd.now() + TICK - BEAT / 2;
            for (index, player) in players.iter_mut().enumerate().take(crowd.len()) {
                player.act(&mut crowd, index);
            }
        }
        // All clients share one time.
        if !crowd.is_empty()
            && second <= room.seconds
            && has_played(crowd.member(0), crowd.now(), second)
        {
            cpu.get_or_insert_with(processor_time);
            for index in 0..crowd.len() {
                let number = usize::from(numbers.start) + index;
                let line = (number, second, counts(crowd.member(index)));
                let line = serde_json::to_string(&line).expect("numbers");
                let _ = writeln!(output, "{line}");
            }
            second += 1;
        }
        if second > room.seconds && over.is_none() {
            let spent = processor_time() - cpu.unwrap_or_default();
            let _ = writeln!(output, "cpu {}", spent.as_secs_f64());
            over = Some(crowd.now() + LINGER);
        }
    }
    print!("{output}");
    Ok(())
}

/// When all clients are polled next: together, just after their ticks are due and a few times between, as programs do that draw a view. The ticks
/// of everyone are due at the same time, so that this disturbs each client's memory in the processor's caches less often.
fn next_beat(game: &Game, now: Duration) -> Duration {
    let start = game.session().room().phase().start();
    let time = game.session().time(now);
    let Some((start, time)) = start.zip(time) else {
        return now + BEAT;
    };
    let beat = BEAT.as_nanos() as u64;
    let since = (time + TICK).saturating_sub(start + AFTER).as_nanos() as u64;
    now + Duration::from_nanos(beat - since % beat)
}

/// Reads the output of a process of clients; returns its CPU seconds.
pub(super) fn read(lines: &[String], course: &mut TimeSeries) -> Result<f64, String> {
    let mut cpu = None;
    for line in lines {
        let garbled = || format!("a process of clients printed: {line}");
        if let Some(text) = line.strip_prefix("cpu ") {
            cpu = Some(text.parse().map_err(|_| garbled())?);
            continue;
        }
        let (client, second, counts): (u32, u32, Counts) =
            serde_json::from_str(line).map_err(|_| garbled())?;
        course.take(client, second, counts);
    }
    cpu.ok_or_else(|| "a process of clients ended without a result".into())
}
