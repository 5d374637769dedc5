//! Ants, in lockstep: only commands travel, so thousands of them cost no more than one. For strategy games.
//!
//! `host`, or `serve`, and `join ADDRESS`; without a host `mesh` and `peer ADDRESS`. Type 1 to 9 to send your ants to that heap of sugar.
use samestep::prelude::*;
use std::{error::Error, io, sync::mpsc, thread, time::Duration};

/// A command: all to this heap. 0 is no command.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Go(u8);

impl Input for Go {
    fn predict(&self) -> Self {
        Go(0) // a command is not repeated by itself
    }
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Ant {
    owner: PlayerId,
    heap: u8,
    place: i32,
    carries: bool,
}

#[derive(Clone, Replicate)]
struct Garden {
    ants: Entities<Ant>,
    heaps: [u32; 10],
    brought: [u32; 16],
    rng: Rng,
}

impl Simulation for Garden {
    type Input = Go;
    type Event = String;
    const NAME: &'static str = "ants";

    fn step(&mut self, inputs: &Inputs<'_, Go>, events: &mut Events<String>) {
        self.ants.retain(|_, ant| !inputs.is_gone(ant.owner));
        for &owner in inputs.players() {
            if !self.ants.iter().any(|(_, ant)| ant.owner == owner) {
                let ant = Ant {
                    owner,
                    heap: 0,
                    place: 0,
                    carries: false,
                };
                for _ in 0..500 {
                    self.ants.insert(ant.clone());
                }
                events.emit(format!("{owner} has 500 ants"));
            }
        }
        for (player, go) in inputs.given() {
            let ants = self.ants.iter_mut().map(|(_, ant)| ant);
            let mine = ants.filter(|ant| ant.owner == player);
            mine.for_each(|ant| ant.heap = go.0 % 10);
        }
        for (_, ant) in self.ants.iter_mut() {
            let goal = if ant.carries { 0 } else { ant.heap };
            let step = self.rng.range(1..6);
            ant.place += (i32::from(goal) * 100 - ant.place).clamp(-step, step);
            let heap = &mut self.heaps[usize::from(ant.heap)];
            if ant.place != i32::from(goal) * 100 {
                continue;
            } else if ant.carries {
                ant.carries = false;
                self.brought[usize::from(ant.owner.0) % 16] += 1;
            } else if *heap > 0 {
                ant.carries = true;
                *heap -= 1;
                if *heap == 0 {
                    let home = &self.brought[..inputs.players().len().min(16)];
                    events.emit(format!("heap {} is gone, home are {home:?}", ant.heap));
                }
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let garden = Garden {
        ants: Entities::new(),
        heaps: [0, 400, 400, 400, 400, 400, 400, 400, 400, 400],
        brought: [0; 16],
        rng: Rng::new(1),
    };
    let config = SessionConfig::new("ants", 1).player("gardener");
    let mut game = Game::from_args(config, Lockstep::default(), garden)?;
    println!("This is port {}.", game.local_addr().port());

    let (send, typed) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = io::stdin().lines().map_while(Result::ok);
        lines.try_for_each(|line| send.send(line))
    });
    loop {
        game.run_for(Duration::from_millis(20))?;
        while let Some(event) = game.next_event() {
            println!("tick {}: {}", event.tick, event.event);
        }
        match typed.try_recv() {
            Ok(heap) => match heap.parse() {
                Ok(heap @ 1..=9) => tell(game.command(&Go(heap))),
                _ => println!("Type 1 to 9."),
            },
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
