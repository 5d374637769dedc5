//! Recordings: every match is recorded, by who plays and by who watches. A file is some inputs; playing it gives the same states again.
//!
//! `host`, or `serve`, and `join ADDRESS` or `watch ADDRESS`. Press Enter to roll a die; type `save FILE`. Then `verify FILE`.
use samestep::prelude::*;
use samestep::sync::{Live, Playback, Replay};
use std::{env, error::Error, fs, io, sync::mpsc, thread, time::Duration};

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Roll(bool);

impl Input for Roll {
    fn predict(&self) -> Self {
        Roll(false)
    }
}

#[derive(Clone, Replicate)]
struct Dice {
    sum: u32,
    rng: Rng,
}

impl Simulation for Dice {
    type Input = Roll;
    type Event = String;
    const NAME: &'static str = "dice";

    fn step(&mut self, inputs: &Inputs<'_, Roll>, events: &mut Events<String>) {
        for (player, _) in inputs.given().filter(|(_, roll)| roll.0) {
            let eyes = 1 + self.rng.below(6);
            self.sum += eyes;
            events.emit(format!("{player} rolls {eyes}, together {}", self.sum));
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let dice = Dice {
        sum: 0,
        rng: Rng::new(1),
    };
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [command, file] = &arguments[..]
        && command == "verify"
    {
        return verify(file, dice);
    }
    let config = SessionConfig::new("dice", 1).player("somebody");
    let mut game = Game::from_args(config, Lockstep::default(), dice)?;
    println!("This is port {}.", game.local_addr().port());

    let (send, typed) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = io::stdin().lines().map_while(Result::ok);
        lines.try_for_each(|line| send.send(line))
    });
    loop {
        game.run_for(Duration::from_millis(20))?;
        while let Some(TimedEvent { tick, event, .. }) = game.next_event() {
            println!("tick {tick}: {event}");
        }
        match typed.try_recv() {
            Ok(line) => match (line.as_str(), line.strip_prefix("save ")) {
                (_, Some(file)) => {
                    fs::write(file, game.recording().unwrap_or_default())?;
                    println!("Saved {file}.");
                }
                ("", None) => tell(game.command(&Roll(true))),
                _ => println!("Press Enter, or type `save FILE`."),
            },
            Err(mpsc::TryRecvError::Empty) => {}
            Err(mpsc::TryRecvError::Disconnected) => return Ok(game.leave("bye")?),
        }
    }
}

/// Plays a recording from its beginning, and compares every checksum in it.
fn verify(file: &str, dice: Dice) -> Result<(), Box<dyn Error>> {
    let bytes = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let replay = Replay::parse(bytes).map_err(|error| format!("{file}: {error}"))?;
    let checked = replay.header().check::<Dice>();
    checked.map_err(|error| format!("{file}: {error}"))?;
    let mut playback = Playback::new(replay, Live::without_recording(dice))?;
    let verified = playback.verify();
    let verified = verified.map_err(|error| format!("{file}: {error}"))?;
    let sum = playback.world().state().sum;
    println!(
        "{} ticks, {} checksums as recorded, together {sum}.",
        verified.ticks, verified.checksums
    );
    Ok(())
}

/// Nothing that was typed is lost without a word.
fn tell(taken: bool) {
    if !taken {
        println!("Not yet: the game has not begun here.");
    }
}
