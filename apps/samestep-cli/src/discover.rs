//! `samestep discover`: the rooms in the local network.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use samestep::session::discovery::Found;
use samestep_play::search::{PortArgument, nobody, search, table, topology};
use serde_json::json;

#[derive(Args)]
pub struct Arguments {
    /// How long to look
    #[arg(long, value_name = "N", default_value_t = 2.0)]
    seconds: f64,
    /// Only rooms of this game
    #[arg(long, value_name = "NAME")]
    game: Option<String>,
    /// One line of JSON for each room
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    port: PortArgument,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let time = Duration::from_secs_f64(arguments.seconds.clamp(0.05, 1e6));
    let game = arguments.game.as_deref().unwrap_or_default();
    let rooms = search(arguments.port.discovery_port, game, time, |_| false)?;
    if arguments.json {
        for room in &rooms {
            println!("{}", as_json(room));
        }
    } else if !rooms.is_empty() {
        print!("{}", table(&rooms));
    }
    if rooms.is_empty() {
        return Err(nobody(arguments.port.discovery_port).into());
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(room: &Found) -> serde_json::Value {
    let about = &room.announcement;
    json!({
        "address": room.address.to_string(),
        "key": about.key.to_string(),
        "room": about.room,
        "game": about.game,
        "version": about.version,
        "players": about.players,
        "capacity": about.capacity,
        "password": about.password,
        "kind": topology(about.topology),
        "round_trip_ms": room.round_trip.as_secs_f64() * 1e3,
    })
}
