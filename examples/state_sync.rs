//! A race for coins, by state synchronisation: one program is right, and one's own runner moves at once. For action games.
//!
//! `host`, or `serve`, and `join ADDRESS`. Type l or r to run, s to stand still.
use samestep::prelude::*;
use std::{error::Error, io, sync::mpsc, thread, time::Duration};

/// Where to a player runs: held until something else is said.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Run(i8);

impl Input for Run {
    fn predict(&self) -> Self {
        self.clone() // who runs goes on running
    }
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Runner {
    #[field(owner)]
    player: PlayerId,
    #[field(blend = "linear")]
    place: i32,
    coins: u32,
}

#[derive(Clone, Replicate)]
struct Track {
    runners: Entities<Runner>,
    coin: i32,
    rng: Rng,
}

impl Simulation for Track {
    type Input = Run;
    type Event = String;
    const NAME: &'static str = "coins";

    fn step(&mut self, inputs: &Inputs<'_, Run>, events: &mut Events<String>) {
        self.runners
            .retain(|_, runner| !inputs.is_gone(runner.player));
        for (player, run) in inputs.iter() {
            let Some((_, me)) = self.runners.iter_mut().find(|(_, me)| me.player == player) else {
                let (place, coins) = (200 + 50 * i32::from(player.0 % 4), 0);
                self.runners.insert(Runner {
                    player,
                    place,
                    coins,
                });
                continue;
            };
            me.place = (me.place + 5 * i32::from(run.0.signum())).clamp(0, 600);
            if me.place == self.coin {
                me.coins += 1;
                events.emit(format!(
                    "{player} takes the coin at {}, its {}.",
                    self.coin, me.coins
                ));
                self.coin = 5 * self.rng.range(0..121);
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let track = Track {
        runners: Entities::new(),
        coin: 400,
        rng: Rng::new(1),
    };
    let config = SessionConfig::new("coins", 1).player("somebody");
    let mut game = Game::from_args(config, StateSync::default(), track)?;
    println!("This is port {}.", game.local_addr().port());

    let (send, typed) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = io::stdin().lines().map_while(Result::ok);
        lines.try_for_each(|line| send.send(line))
    });
    let mut before = String::new();
    loop {
        game.run_for(Duration::from_millis(20))?;
        let track = game.shown();
        let mut picture = vec![b'.'; 61];
        picture[track.coin as usize / 10] = b'o';
        for (_, runner) in track.runners.iter() {
            picture[runner.place as usize / 10] = b'0' + runner.player.0 as u8;
        }
        let picture = String::from_utf8_lossy(&picture).into_owned();
        if picture != before {
            println!("{picture}");
            before = picture;
        }
        while let Some(TimedEvent {
            tick, stage, event, ..
        }) = game.next_event()
        {
            if stage == EventStage::Confirmed {
                println!("tick {tick}: {event}");
            }
        }
        match typed.try_recv().as_deref() {
            Ok("l") => tell(game.set_controls(&Run(-1))),
            Ok("r") => tell(game.set_controls(&Run(1))),
            Ok(_) => tell(game.set_controls(&Run(0))),
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
