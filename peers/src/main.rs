//! The same work done by other networking libraries and by Samestep, measured in one run.
//!
//! - `latency`: 100-byte messages at 60 Hz through one impaired UDP proxy.
//! - `pingpong`: many clients, each with exactly one 32-byte ping in flight to one server.
//! - `idle`: what a connection costs that does nothing, in bytes/s and memory.
//! - `rollback`: one game rolled back equally far: time, allocations and bytes beyond the game's own.
//!
//! Servers and clients of `pingpong` and `idle` are child processes of this program, so that the kernel accounts
//! for each side. Adapters (`renet`, `enet`, `quinn`, `tcp`, `udp`, `samestep`) only say how a library is driven;
//! what is said over it is in [`load`], who measures is in [`latency`], [`pingpong`] and [`idle`].

mod child;
mod control;
mod enet;
mod idle;
mod latency;
mod library;
mod load;
mod pingpong;
mod polled;
mod proxy;
mod quinn;
mod renet;
mod report;
mod rollback;
mod samestep;
mod sockets;
mod tcp;
mod udp;

use std::{error::Error, net::SocketAddr, path::PathBuf};

use clap::{Parser, Subcommand, ValueEnum};

use crate::{
    library::{Library, Mode},
    report::Report,
};

/// Compares networking libraries doing the same work.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Seconds each measurement lasts [default: latency 20, pingpong 3, idle 10, rollback 20].
    #[arg(long, global = true)]
    seconds: Option<u64>,
    /// Connections in `pingpong` and `idle`.
    #[arg(long, global = true, default_value_t = 500)]
    clients: usize,
    /// Rounds of `pingpong`; libraries take turns within a round.
    #[arg(long, global = true, default_value_t = 5)]
    rounds: usize,
    /// Only this library, with its variants; may be repeated.
    #[arg(long, global = true)]
    only: Vec<String>,
    /// Where the tables are written; by default RESULTS.md beside the program's sources, and only by `all`. A single measurement
    /// takes the place of the one of its kind in an older file.
    #[arg(long, global = true)]
    out: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Everything, and write RESULTS.md.
    All,
    /// One-way latency through a lossy link.
    Latency,
    /// Round trips per second and per CPU-second.
    Pingpong,
    /// Bytes and memory of idle connections.
    Idle,
    /// One game rolled back by ggrs and by Samestep.
    Rollback {
        #[command(flatten)]
        settings: rollback::Settings,
    },
    /// A server for the other commands.
    #[command(hide = true)]
    Serve {
        library: Library,
        mode: Mode,
        #[arg(long)]
        public: Option<SocketAddr>,
    },
    /// The clients for the other commands.
    #[command(hide = true)]
    Connect {
        library: Library,
        mode: Mode,
        server: SocketAddr,
        /// Say one thing, then rest.
        #[arg(long)]
        rest: bool,
    },
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    sockets::raise_file_limit();
    let libraries: Vec<Library> = Library::value_variants()
        .iter()
        .copied()
        .filter(|library| {
            arguments.only.is_empty() || arguments.only.iter().any(|name| library.is_named(name))
        })
        .collect();
    let mut report = Report::new(&libraries);
    let default_out = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("RESULTS.md");
    let mut out = arguments.out.clone();
    let is_all = matches!(arguments.command, Command::All);
    match arguments.command {
        Command::All => {
            out = out.or_else(|| Some(default_out()));
            report.add(latency::measure(
                &libraries,
                arguments.seconds.unwrap_or(20),
            )?);
            report.add(idle::measure(
                &libraries,
                arguments.clients,
                arguments.seconds.unwrap_or(10),
            )?);
            report.add(pingpong::measure(
                &libraries,
                arguments.clients,
                arguments.rounds,
                arguments.seconds.unwrap_or(3),
            )?);
            report.add(rollback::measure(
                rollback::Settings::default(),
                arguments.seconds.unwrap_or(20),
            )?);
        }
        Command::Latency => report.add(latency::measure(
            &libraries,
            arguments.seconds.unwrap_or(20),
        )?),
        Command::Pingpong => report.add(pingpong::measure(
            &libraries,
            arguments.clients,
            arguments.rounds,
            arguments.seconds.unwrap_or(3),
        )?),
        Command::Idle => {
            report.add(idle::measure(
                &libraries,
                arguments.clients,
                arguments.seconds.unwrap_or(10),
            )?);
        }
        Command::Rollback { settings } => {
            report.add(rollback::measure(
                settings,
                arguments.seconds.unwrap_or(20),
            )?);
        }
        Command::Serve {
            library,
            mode,
            public,
        } => {
            return child::serve(library, mode, arguments.clients, public);
        }
        Command::Connect {
            library,
            mode,
            server,
            rest,
        } => {
            return child::connect(library, mode, arguments.clients, server, rest);
        }
    }
    println!("{report}");
    if let Some(path) = out {
        let older = match is_all {
            true => None,
            false => std::fs::read_to_string(&path).ok(),
        };
        let text = older.map_or_else(|| report.to_string(), |older| report.merged_into(&older));
        std::fs::write(&path, text)?;
        println!("Written to {}.", path.display());
    }
    Ok(())
}
