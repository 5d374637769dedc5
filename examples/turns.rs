//! Nim, without real time: a tick passes when whoever has the turn has passed it on. For board games.
//!
//! `host` and `join ADDRESS`; without a host `mesh` and `peer ADDRESS`. Type 1, 2 or 3 to take so many; who takes the last loses.
use samestep::prelude::*;
use samestep::sync::Pace;
use std::{error::Error, io, sync::mpsc, thread, time::Duration};

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Take(u8);

impl Input for Take {
    fn predict(&self) -> Self {
        Take(0)
    }
}

#[derive(Clone, Replicate)]
struct Nim {
    matches: u8,
}

impl Simulation for Nim {
    type Input = Take;
    type Event = String;
    const NAME: &'static str = "nim";

    fn step(&mut self, inputs: &Inputs<'_, Take>, events: &mut Events<String>) {
        for (player, take) in inputs.given() {
            self.matches = self.matches.saturating_sub(take.0);
            events.emit(format!(
                "{player} takes {}: {} are left",
                take.0, self.matches
            ));
            if self.matches == 0 {
                events.emit(format!("{player} loses"));
                self.matches = 21;
            }
        }
    }

    fn allows(&self, _: PlayerId, take: &Take) -> bool {
        (1..=3).contains(&take.0)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let model = Lockstep::new(LockstepConfig {
        pace: Pace::Initiative { ticks: 1 },
        ..LockstepConfig::default()
    })?;
    let config = SessionConfig::new("nim", 1).player("somebody");
    let mut game = Game::from_args(config, model, Nim { matches: 21 })?;
    println!("This is port {}.", game.local_addr().port());

    let (send, typed) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = io::stdin().lines().map_while(Result::ok);
        lines.try_for_each(|line| send.send(line))
    });
    let mut before = None;
    loop {
        game.run_for(Duration::from_millis(20))?;
        while let Some(TimedEvent { tick, event, .. }) = game.next_event() {
            println!("turn {tick}: {event}");
        }
        let turn = game.status().initiative;
        let my_turn = turn.is_some() && turn == game.me();
        if turn != before {
            println!(
                "{}",
                if my_turn {
                    "Your turn."
                } else {
                    "Not your turn."
                }
            );
            before = turn;
        }
        match (typed.try_recv(), my_turn) {
            (Ok(line), true) => match line.parse() {
                Ok(take @ 1..=3) => {
                    game.command(&Take(take));
                    game.end_turn();
                }
                _ => println!("Type 1, 2 or 3."),
            },
            (Ok(_), false) => println!("It is not your turn."),
            (Err(mpsc::TryRecvError::Empty), _) => {}
            (Err(mpsc::TryRecvError::Disconnected), _) => return Ok(game.leave("bye")?),
        }
    }
}
