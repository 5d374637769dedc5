//! A toy for several terminals: each types lines, all see the newest line of everyone.
use samestep::prelude::*;
use std::{env, error::Error, io, process, time::Duration};

/// The same in all terminals. Each line belongs to one player, who alone may set it.
#[derive(Default, SharedFields)]
struct Toy {
    #[shared(owner = each_player)]
    lines: [Synced<String>; 4],
}

/// `toy host [PORT]` opens a room, `toy join ADDRESS` joins it.
pub fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let Err(error) = run(&arguments.join(" ")) {
        eprintln!("{error}");
        process::exit(1);
    }
}

fn run(command: &str) -> Result<(), Box<dyn Error>> {
    let mut config = SessionConfig::new("toy", 1).player("somebody");
    config.capacity = 4;
    let usage = "use it as `toy host [PORT]` or `toy join ADDRESS`";
    let room = match command.split_once(' ') {
        None if command == "host" => Background::host(DEFAULT_PORT, config)?,
        Some(("host", port)) => Background::host(port.parse().map_err(|_| usage)?, config)?,
        Some(("join", address)) => Background::join(address, config)?,
        _ => return Err(usage.into()),
    };
    let toy = room.share(NetworkId::Static(1), Toy::default())?;
    room.wait_in_sync(Duration::from_secs(10))?; // From here on it stays the same by itself.

    let me = room.my_player().ok_or("nobody plays here")?;
    println!("You are {me}, at port {}.", room.local_addr().port());
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
