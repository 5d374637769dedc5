//! A room of many over real sockets of this machine: what joining, idling and playing cost.
//!
//! `crowd MEMBERS [PROCESSES] [SECONDS]` hosts the room and starts itself again for the members.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};
use std::{env, error::Error, fs};

use samestep::Crowd;
use samestep::prelude::*;
use samestep::transport::UdpConfig;

const TURN: Duration = Duration::from_millis(250);
const TURN_KIND: MessageKind = MessageKind(1);
const INPUT_KIND: MessageKind = MessageKind(2);
const PART: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.first().is_some_and(|a| a == "members") {
        return members(&arguments[1..]);
    }
    let number = |at: usize, default: usize| -> usize {
        arguments
            .get(at)
            .and_then(|a| a.parse().ok())
            .unwrap_or(default)
    };
    host(number(0, 100), number(1, 2), number(2, 5), number(3, 7))
}

fn config(name: &str, capacity: usize) -> SessionConfig {
    let mut config = SessionConfig::new("crowd", 1).player(name);
    config.capacity = capacity;
    config.protocol.accept = Some(AcceptConfig {
        handshakes_per_second: 2000,
        ..AcceptConfig::default()
    });
    config.protocol.connect_timeout = Duration::from_secs(60);
    config
}

/// CPU seconds of this process.
fn cpu() -> f64 {
    let stat = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos: f64 = stat
        .split(' ')
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(0.0);
    nanos / 1e9
}

fn memory_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = status
        .split(' ')
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(0.0);
    pages * 4096.0 / 1e6
}

fn wall_us() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |d| d.as_micros() as u64)
}

fn host(
    count: usize,
    processes: usize,
    seconds: usize,
    bytes: usize,
) -> Result<(), Box<dyn Error>> {
    let driver = Driver::session(
        Udp::bind("127.0.0.1:0".parse()?)?,
        config("host", count + 1),
        Role::Host,
    )?;
    let address = driver.local_addr();
    let mut crowd: Crowd<Session> = Crowd::new()?;
    crowd.add(driver)?;
    let children: Vec<Child> = (0..processes)
        .map(|at| {
            let share = count * (at + 1) / processes - count * at / processes;
            Command::new(env::current_exe()?)
                .args([
                    "members",
                    &address.to_string(),
                    &share.to_string(),
                    &count.to_string(),
                ])
                .stdout(Stdio::piped())
                .spawn()
        })
        .collect::<Result<_, _>>()?;
    let (began, before) = (crowd.now(), cpu());
    let mut in_sync = 0;
    while in_sync < count {
        let Some((_, event)) = crowd.next(began + Duration::from_secs(120))? else {
            return Err(format!("only {in_sync} joined").into());
        };
        if let SessionEvent::PeerInSync { .. } = event {
            in_sync += 1;
            if in_sync % 100 == 0 {
                eprintln!(
                    "{in_sync} in sync after {:.2} s, cpu {:.2}",
                    (crowd.now() - began).as_secs_f64(),
                    cpu() - before
                );
            }
        }
    }
    println!(
        "host: {count} joined in {:.2} s, {:.2} s of CPU, {:.0} MB",
        (crowd.now() - began).as_secs_f64(),
        cpu() - before,
        memory_mb()
    );
    health("host joined", &crowd);
    let pause = |crowd: &mut Crowd<Session>, seconds: usize| -> Result<(), Box<dyn Error>> {
        let until = crowd.now() + Duration::from_secs(seconds as u64);
        while crowd.next(until)?.is_some() {}
        Ok(())
    };
    crowd.with(0, |now, session| {
        session.send_bytes(now, To::Others, Delivery::ReliableOrdered, TURN_KIND, &[1])
    })?;
    pause(&mut crowd, 3)?;
    crowd.with(0, |now, session| {
        session.send_bytes(now, To::Others, Delivery::ReliableOrdered, TURN_KIND, &[2])
    })?;
    let before = (cpu(), samestep_stats(&crowd));
    pause(&mut crowd, seconds)?;
    report("host idle", before, &crowd, seconds);
    crowd.with(0, |now, session| {
        session.send_bytes(now, To::Others, Delivery::ReliableOrdered, TURN_KIND, &[3])
    })?;
    let before = (cpu(), samestep_stats(&crowd));
    let mut next = crowd.now();
    let mut inputs = 0u64;
    for _ in 0..seconds * 4 {
        next += TURN;
        while let Some((_, event)) = crowd.next(next)? {
            inputs += u64::from(matches!(event, SessionEvent::Message { .. }));
        }
        let mut left = count * 2 * bytes;
        let stamp = wall_us();
        while left > 0 {
            let len = left.min(PART).max(16);
            left = left.saturating_sub(PART);
            let mut part = vec![7; len];
            part[..8].copy_from_slice(&stamp.to_le_bytes());
            part[8] = u8::from(left == 0);
            crowd.with(0, |now, session| {
                session.send_bytes(now, To::Others, Delivery::ReliableOrdered, TURN_KIND, &part)
            })?;
        }
    }
    println!("inputs: {inputs}");
    report("host busy", before, &crowd, seconds);
    pause(&mut crowd, 1)?;
    crowd.with(0, |now, session| {
        session.send_bytes(now, To::Others, Delivery::ReliableOrdered, TURN_KIND, &[4])
    })?;
    pause(&mut crowd, 1)?;
    crowd.with(0, |now, session| session.leave(now, "done"));
    pause(&mut crowd, 1)?;
    for mut child in children {
        let output = child.stdout.take().ok_or("no output")?;
        for line in BufReader::new(output).lines() {
            println!("{}", line?);
        }
        child.wait()?;
    }
    Ok(())
}

fn samestep_stats(crowd: &Crowd<Session>) -> samestep::transport::TransportStats {
    let mut sum = samestep::transport::TransportStats::default();
    for index in 0..crowd.len() {
        let stats = crowd.transport(index).stats();
        sum.sent += stats.sent;
        sum.received += stats.received;
        sum.bytes_sent += stats.bytes_sent;
        sum.bytes_received += stats.bytes_received;
        sum.dropped_full += stats.dropped_full;
    }
    sum
}

fn health(what: &str, crowd: &Crowd<Session>) {
    let (mut sum, mut slowest, mut loss) = (Stats::default(), u64::MAX, 0.0f32);
    let (mut rtt, mut queueing, mut queued) = (Duration::ZERO, Duration::ZERO, 0);
    for index in 0..crowd.len() {
        let endpoint = crowd.member(index).endpoint();
        for stats in endpoint.connections().filter_map(|id| endpoint.stats(id)) {
            sum.packets_resent += stats.packets_resent;
            sum.packets_lost += stats.packets_lost;
            sum.packets_late += stats.packets_late;
            sum.segments_recovered += stats.segments_recovered;
            sum.segments_duplicate += stats.segments_duplicate;
            slowest = slowest.min(stats.bandwidth_bytes_per_s);
            loss = loss.max(stats.loss);
            rtt = rtt.max(stats.rtt);
            queueing = queueing.max(stats.queueing);
            queued = queued.max(stats.queued_bytes);
        }
    }
    println!(
        "{what}: resent {} lost {} late {} recovered {} duplicate {}; slowest {} kB/s, worst loss {loss:.3}, rtt {rtt:?}, queue {queueing:?}, queued {queued}",
        sum.packets_resent,
        sum.packets_lost,
        sum.packets_late,
        sum.segments_recovered,
        sum.segments_duplicate,
        slowest / 1000,
    );
}

fn report(
    what: &str,
    before: (f64, samestep::transport::TransportStats),
    crowd: &Crowd<Session>,
    seconds: usize,
) {
    health(what, crowd);
    let after = samestep_stats(crowd);
    let per = |a: u64, b: u64| (a - b) as f64 / seconds as f64;
    println!(
        "{what}: {:.3} of a core, {:.0} packets/s {:.0} kB/s out, {:.0} packets/s {:.0} kB/s in, {} dropped, {:.0} MB",
        (cpu() - before.0) / seconds as f64,
        per(after.sent, before.1.sent),
        per(after.bytes_sent, before.1.bytes_sent) / 1e3,
        per(after.received, before.1.received),
        per(after.bytes_received, before.1.bytes_received) / 1e3,
        after.dropped_full - before.1.dropped_full,
        memory_mb(),
    );
}

fn members(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let address = arguments[0].parse()?;
    let share: usize = arguments[1].parse()?;
    let count: usize = arguments[2].parse()?;
    let mut crowd: Crowd<Session> = Crowd::new()?;
    let before = cpu();
    let mut before = (before, samestep_stats(&crowd));
    let began = crowd.now();
    let mut phase = 0;
    let mut delays: Vec<u64> = Vec::new();
    let mut next_turn = Duration::MAX;
    let mut busy_at = Duration::ZERO;
    let mut next_join = began;
    let mut joined_at = Duration::ZERO;
    loop {
        if crowd.len() < share && crowd.now() >= next_join {
            let socket = Udp::with_config("127.0.0.1:0".parse()?, &UdpConfig::client())?;
            let role = Role::Client(JoinTo::new(address));
            let name = format!("{}", crowd.len());
            crowd.add(Driver::session(socket, config(&name, count), role)?)?;
            next_join += Duration::from_micros(2000);
        }
        let until = next_turn
            .min(if crowd.len() < share {
                next_join
            } else {
                Duration::MAX
            })
            .min(crowd.now() + Duration::from_secs(1));
        match crowd.next(until)? {
            Some((index, SessionEvent::Message { payload, .. })) => match payload.len() {
                1 if index == 0 => {
                    match payload[0] {
                        1 => {
                            println!(
                                "members: joined {:.2} s, {:.2} s CPU, {:.0} MB",
                                (joined_at - began).as_secs_f64(),
                                cpu() - before.0,
                                memory_mb()
                            );
                        }
                        2 => {}
                        3 => {
                            report("members idle", before, &crowd, 5);
                            next_turn = crowd.now();
                            busy_at = crowd.now();
                            phase = 1;
                        }
                        _ => {
                            phase = 2;
                            let seconds = (crowd.now() - busy_at).as_secs() as usize;
                            report("members busy", before, &crowd, seconds);
                        }
                    }
                    before = (cpu(), samestep_stats(&crowd));
                }
                1 => {}
                _ if payload[8] == 1 => {
                    let stamp = u64::from_le_bytes(payload[..8].try_into()?);
                    delays.push(wall_us() - stamp);
                }
                _ => {}
            },
            Some((_, SessionEvent::InSync)) => joined_at = crowd.now(),
            Some((index, SessionEvent::Left { reason })) if index == 0 || phase < 2 => {
                if phase < 2 {
                    println!("{index} left: {reason}");
                } else {
                    break;
                }
            }
            Some(_) => {}
            None if phase == 1 && crowd.now() >= next_turn => {
                next_turn += TURN;
                for index in 0..crowd.len() {
                    crowd.with(index, |now, session| {
                        session.send_bytes(
                            now,
                            To::Authority,
                            Delivery::Redundant,
                            INPUT_KIND,
                            &[9; 16],
                        )
                    })?;
                }
            }
            None => {}
        }
    }
    delays.sort_unstable();
    let at = |fraction: f64| {
        delays
            .get((delays.len() as f64 * fraction) as usize)
            .copied()
            .unwrap_or(0) as f64
            / 1e3
    };
    println!(
        "turns: {} delivered, delay p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms",
        delays.len(),
        at(0.5),
        at(0.99),
        at(0.9999)
    );
    Ok(())
}
