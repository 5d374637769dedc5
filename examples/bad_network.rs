//! A bad network on purpose: any transport behind a model of a link, to feel what others will feel.
//!
//! `host` and `join ADDRESS PROFILE`, such as `join 127.0.0.1 lte`. Press Enter to bounce the ball.
use samestep::netem::{NetworkProfile, Path};
use samestep::prelude::*;
use samestep::session::{JoinTo, Role};
use samestep::sync::Live;
use samestep::transport::{Impaired, Udp};
use samestep::{Arguments, DEFAULT_PORT, resolve};
use std::{error::Error, io, sync::mpsc, thread, time::Duration};

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Bounce(bool);

impl Input for Bounce {
    fn predict(&self) -> Self {
        Bounce(false)
    }
}

#[derive(Clone, Default, Replicate)]
struct Ball {
    bounces: u32,
}

impl Simulation for Ball {
    type Input = Bounce;
    type Event = String;
    const NAME: &'static str = "ball";

    fn step(&mut self, inputs: &Inputs<'_, Bounce>, events: &mut Events<String>) {
        for (player, _) in inputs.iter().filter(|(_, bounce)| bounce.0) {
            self.bounces += 1;
            events.emit(format!(
                "{player} bounces the ball, the {}. time",
                self.bounces
            ));
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::for_game()?;
    let usage = "use it as `host [PORT]` or `join ADDRESS PROFILE`";
    let (role, port, path) = match arguments.words()[..] {
        ["host"] => (Role::Host, DEFAULT_PORT, Path::default()),
        ["host", port] => (
            Role::Host,
            port.parse().map_err(|_| usage)?,
            Path::default(),
        ),
        ["join", address, profile] => {
            let profile = NetworkProfile::find(profile).map_err(|error| error.to_string())?;
            (
                Role::Client(JoinTo::new(resolve(address)?)),
                0,
                profile.path(),
            )
        }
        _ => return Err(usage.into()),
    };
    let udp = Udp::bind(([0, 0, 0, 0], port).into())?;
    let mut config = SessionConfig::new("ball", 1).player("somebody");
    arguments.apply(&mut config);
    let (model, world) = (Rollback::default(), Live::new(Ball::default()));
    let mut game = Game::over(Impaired::new(udp, &path, 1)?, config, role, model, world)?;
    if let Some(file) = &arguments.stats {
        game.write_stats(file)?;
    }
    println!("This is port {}.", game.local_addr().port());

    let (send, typed) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = io::stdin().lines().map_while(Result::ok);
        lines.try_for_each(|line| send.send(line))
    });
    loop {
        game.run_for(Duration::from_millis(10))?;
        while let Some(TimedEvent {
            tick, stage, event, ..
        }) = game.next_event()
        {
            println!("{stage:?}: {event} (tick {tick})");
        }
        match typed.try_recv() {
            Ok(_) => {
                tell(game.command(&Bounce(true)));
                let status = game.status();
                println!(
                    "Corrected so far: {} times, {} ticks at most.",
                    status.rollbacks, status.max_rollback_depth
                );
            }
            Err(mpsc::TryRecvError::Empty) => {}
            Err(mpsc::TryRecvError::Disconnected) => return Ok(game.leave("bye")?),
        }
    }
}

/// Nothing that was typed is lost without a word.
fn tell(taken: bool) {
    if !taken {
        println!("Not yet: the game has not begun here.");
    }
}
