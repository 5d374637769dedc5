//! The load that a lobby is built for, measured: `cargo run --release -p samestep-lobby --example load -- [rooms=1000] [members=5] [rate=200] [seconds=20] [store=memory]`.
//!
//! The lobby is a process of its own with one thread for everything but its store. Rooms are made and joined at the given rate until all are connected; then, for some seconds, members of every room
//! chat, a hundred programs watch the list, and as many members as before leave and join each second. Give the two processes a core each with `taskset` to see what one core does.

mod members;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use members::{Plan, run};
use samestep_lobby::{Lobby, LobbyConfig, Rate};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut plan = Plan {
        rooms: 1000,
        members: 5,
        rate: 200,
        seconds: 20,
        watchers: 100,
    };
    let mut store = "memory".to_owned();
    let mut core = None;
    while let Some(argument) = arguments.next() {
        let number = || {
            argument
                .split_once('=')
                .and_then(|(_, value)| value.parse::<u32>().ok())
        };
        match argument
            .split_once('=')
            .map_or(&*argument, |(name, _)| name)
        {
            "lobby" => return serve(&arguments.next().unwrap_or_default()),
            "rooms" => plan.rooms = number().expect("rooms=N"),
            "members" => plan.members = number().expect("members=N"),
            "rate" => plan.rate = number().expect("rate=N"),
            "seconds" => plan.seconds = number().expect("seconds=N"),
            "core" => core = number(),
            "store" => store = argument["store=".len()..].to_owned(),
            other => panic!("unknown: {other}"),
        }
    }
    let program = std::env::current_exe().expect("the program's path");
    let mut command = match core {
        Some(core) => {
            let mut command = Command::new("taskset");
            command.arg("-c").arg(core.to_string()).arg(program);
            command
        }
        None => Command::new(program),
    };
    let mut lobby = command
        .args(["lobby", &store])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the lobby starts");
    let mut line = String::new();
    BufReader::new(lobby.stdout.take().expect("its output"))
        .read_line(&mut line)
        .expect("its address");
    let address = line.trim().parse().expect("an address");
    let before = cpu_seconds(lobby.id());
    let begun = std::time::Instant::now();
    let figures = run(address, &plan, || {
        let cores = (cpu_seconds(lobby.id()) - before) / begun.elapsed().as_secs_f64();
        println!("connecting used {:.0} % of a core", cores * 100.0);
        (cpu_seconds(lobby.id()), std::time::Instant::now())
    });
    let (cpu, since) = figures.mark;
    let cores = (cpu_seconds(lobby.id()) - cpu) / since.elapsed().as_secs_f64();
    println!("{figures}");
    println!(
        "the lobby used {:.0} % of a core and {} MiB at the end",
        cores * 100.0,
        resident_mib(lobby.id())
    );
    drop(lobby.stdin.take());
    let _ = lobby.wait();
}

/// The lobby's process, until its input ends.
fn serve(store: &str) {
    let mut config = LobbyConfig::local();
    config.store = store.parse().unwrap_or_else(|error| panic!("{error}"));
    config.signing_key = Some(zeroize::Zeroizing::new([1; 32]));
    // All members of the measurement come from one address.
    config.max_connections_per_address = 20_000;
    config.directory.entering = Rate::new(1_000_000, 1e6);
    config.directory.browsing = Rate::new(1_000_000, 1e6);
    let lobby = Lobby::start(config).unwrap_or_else(|error| panic!("{error}"));
    println!("{}", lobby.address());
    let _ = std::io::stdin().lines().count();
    lobby.stop();
}

/// The processor time of a process, from /proc; 0 where there is none.
fn cpu_seconds(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat
        .rsplit_once(')')
        .map_or("", |(_, fields)| fields)
        .split_whitespace();
    let ticks: Vec<f64> = fields
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse().ok())
        .collect();
    ticks.iter().sum::<f64>() / 100.0
}

fn resident_mib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or_default()
        / 1024
}
