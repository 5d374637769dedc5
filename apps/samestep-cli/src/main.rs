//! The `samestep` program: everything the libraries do, to be tried from a terminal.
//!
//! ```text
//! samestep play                              the games in the browser, or in a window
//! samestep host sublockus                    a game with others; `join`, `serve` and `watch` take part
//! samestep console host                      a room for several terminals; `join` and `peer` take part
//! samestep demo --latency 80 --loss 5%       a host and three bots over real UDP, with a live table
//! samestep bots skirmish                     bots on the terminal; `replay` shows a recorded match
//! samestep lobby --store sqlite:lobby.db     a lobby for people who know no address
//! samestep sync-test sublockus --seed 3      a game against itself
//! samestep lab run delivery                  an experiment; `lab list`, `lab report`, `lab soak`
//! samestep --help
//! ```
//!
//! A command is a file of its name with an `Arguments` and a `run`; `room.rs` has the three of `samestep console` that open or join a room, and `console` what is typed and shown in it.
//! `games.rs` knows the games by name. `online` has the games that people play over a network, with `samestep-play`. What fails does so with words and an exit code from there, the same for every command: 0 if all went well, 1 if something measured is
//! not as it should be, more for why it could not be done.
//!
//! It holds no networking and no rules of its own: rooms come from `samestep`, matches from `samestep-sandbox`, experiments from `samestep-lab`.

mod bots;
mod console;
mod demo;
mod discover;
mod games;
mod lab;
mod lobby;
mod online;
mod ping;
mod play;
mod proxy;
mod relay;
mod replay;
mod room;
mod scoreboard;
mod stage;
mod sync_test;
mod terminal;
mod token;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use samestep_play::failure::{self, Failure, Kind};

/// One game simulation, kept in step over any network.
#[derive(Parser)]
#[command(name = "samestep", version, max_term_width = 100)]
struct Arguments {
    /// Log on standard error what this filter asks for, such as samestep=debug [default: RUST_LOG]
    #[arg(long, value_name = "FILTER", global = true)]
    log: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Game(Box<samestep_play::Command>),
    /// A room for several terminals, without a game: chat, shared values, figures
    #[command(subcommand)]
    Console(room::Command),
    /// List the rooms in the local network
    #[command(after_help = failure::codes())]
    Discover(discover::Arguments),
    /// Measure round trips to a room, without joining it
    #[command(after_help = failure::codes())]
    Ping(ping::Arguments),
    /// Connect tokens: who may join a server that asks for them
    #[command(subcommand)]
    Token(token::Command),
    /// A lobby: rooms, codes, chat and connect tokens for people who know no address
    #[command(after_help = failure::codes())]
    Lobby(lobby::Arguments),
    /// See and play the games, in the browser or in a window
    Play(play::Arguments),
    /// A host and three bots over real UDP through an impaired link, with a live table
    Demo(demo::Arguments),
    /// An impaired UDP relay in front of any program
    Proxy(proxy::Arguments),
    /// A relay for players behind routers that let no direct way through: TURN and STUN, with limits
    #[command(after_help = failure::codes())]
    Relay(relay::Arguments),
    /// Watch bots play a game, on the terminal, without a network
    Bots(bots::Arguments),
    /// What a recorded match contains; play, verify, watch it
    #[command(after_help = failure::codes())]
    Replay(replay::Arguments),
    /// Run a game against itself: simulate every tick again and compare
    SyncTest(sync_test::Arguments),
    /// Experiments: plans, tables, plots, soak
    #[command(subcommand)]
    Lab(lab::Command),
}

/// The game of the rooms, as far as the protocol is concerned.
const GAME: &str = "samestep-console";
/// Its version, which those in a room have in common.
const VERSION: u32 = 1;

/// 0 if all went well, 1 if something measured is not as it should be, else why it failed: see [`failure::Kind`].
fn main() -> ExitCode {
    let Arguments { log, command } = Arguments::parse();
    if let Err(error) = samestep::log::init(log.as_deref()) {
        eprintln!("samestep: {error}");
        return ExitCode::from(Kind::Other.code());
    }
    let outcome = match command {
        Command::Game(command) => online::run(&command),
        Command::Console(command) => room::run(&command),
        Command::Discover(arguments) => discover::run(&arguments),
        Command::Ping(arguments) => ping::run(&arguments),
        Command::Token(command) => token::run(&command),
        Command::Lobby(arguments) => lobby::run(&arguments),
        Command::Play(arguments) => play::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Proxy(arguments) => proxy::run(&arguments),
        Command::Relay(arguments) => relay::run(&arguments),
        Command::Bots(arguments) => bots::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::SyncTest(arguments) => sync_test::run(&arguments),
        Command::Lab(command) => lab::run(command),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("samestep: {error}");
            let kind = error.downcast_ref().map(|failure: &Failure| failure.kind);
            ExitCode::from(kind.unwrap_or(Kind::Other).code())
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn durations_and_losses_are_read_as_people_write_them() {
        let link = |arguments: &[&str]| {
            let all = ["samestep", "demo"].iter().chain(arguments);
            match Arguments::try_parse_from(all).map(|parsed| parsed.command) {
                Ok(Command::Demo(demo)) => Ok(demo.link.path().unwrap().up),
                Ok(_) => unreachable!("demo was asked for"),
                Err(error) => Err(error.to_string()),
            }
        };
        let plain = link(&["--latency", "30", "--loss", "0.1", "--jitter", "2"]).unwrap();
        assert_eq!(
            plain,
            link(&["--latency", "30ms", "--loss", "10%", "--jitter", "2ms"]).unwrap()
        );
        assert!(link(&["--loss", "10"]).unwrap_err().contains("0 to 1"));
        assert!(
            link(&["--latency", "soon"])
                .unwrap_err()
                .contains("latency")
        );
        assert!(link(&["--profile", "marsnet"]).unwrap_err().contains("lte"));
    }
}
