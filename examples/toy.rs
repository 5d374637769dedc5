//! Shared fields: each types lines, all see the newest line of everyone.
//!
//! `host [PORT]` and `join ADDRESS`; without a host `mesh [PORT]` and `peer ADDRESS`.
use samestep::prelude::*;
use samestep::session::{NetworkId, State};
use samestep::{Arguments, Background, DEFAULT_PORT, SharedHandle};
use std::{error::Error, io, time::Duration};

/// The same in all terminals. Each line belongs to one player, who alone may set it.
#[derive(Default, SharedFields)]
struct Toy {
    #[shared(owner = each_player)]
    lines: [Synced<String>; 4],
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut config = SessionConfig::new("toy", 1).player("somebody");
    config.capacity = 4;
    let arguments = Arguments::from_env()?;
    let words = arguments.words();
    let usage = "use it as `host [PORT]`, `join ADDRESS`, `mesh [PORT]` or `peer ADDRESS`";
    let place = words.get(1).copied();
    let port = || place.map_or(Ok(DEFAULT_PORT), str::parse);
    let room = match (words.first().copied(), place) {
        (Some("host"), _) => Background::host(port().map_err(|_| usage)?, config)?,
        (Some("mesh"), _) => Background::open_mesh(port().map_err(|_| usage)?, config)?,
        (Some("join"), Some(address)) => Background::join(address, config)?,
        (Some("peer"), Some(address)) => Background::join_mesh(address, config)?,
        _ => return Err(usage.into()),
    };
    let toy = room.share(NetworkId::Static(1), Toy::default())?;
    room.wait_in_sync(Duration::from_secs(10))?; // From here on it stays the same by itself.

    let me = room.my_player().ok_or("nobody plays here")?;
    println!("You are {me}. This is port {}.", room.local_addr().port());
    toy.watch(show);
    for line in io::stdin().lines() {
        let line = line?;
        if let State::Left(reason) = room.state() {
            return Err(reason.to_string().into());
        }
        toy.write(|toy| toy.lines[usize::from(me.0)].set(line))?;
    }
    Ok(()) // Leaves the room.
}

fn show(toy: &SharedHandle<Toy>) {
    toy.read(|toy| {
        for (player, line) in toy.lines.iter().enumerate() {
            if !line.is_empty() {
                println!("player {player}: {line}");
            }
        }
    });
}
