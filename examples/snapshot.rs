//! Hide and seek in the dark, by snapshots: one program knows everything and shows each what it may see. For secrets, and for crowds.
//!
//! `host`, or `serve`, and `join ADDRESS`. Type l or r to walk; you see as far as ten steps.
use samestep::prelude::*;
use std::{error::Error, io, sync::mpsc, thread, time::Duration};

/// Steps to the left or to the right.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Walk(i8);

impl Input for Walk {
    fn predict(&self) -> Self {
        Walk(0)
    }
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Walker {
    #[field(owner)]
    player: PlayerId,
    place: i32,
}

#[derive(Clone, Default, Replicate)]
struct Dark {
    walkers: Entities<Walker>,
}

impl Simulation for Dark {
    type Input = Walk;
    type Event = String;
    const NAME: &'static str = "dark";

    fn step(&mut self, inputs: &Inputs<'_, Walk>, events: &mut Events<String>) {
        self.walkers
            .retain(|_, walker| !inputs.is_gone(walker.player));
        for (player, walk) in inputs.iter() {
            let others: Vec<Walker> = self.walkers.as_slice().to_vec();
            let Some((_, me)) = self.walkers.iter_mut().find(|(_, me)| me.player == player) else {
                let place = i32::from(player.0 % 4) * 20;
                self.walkers.insert(Walker { player, place });
                continue;
            };
            me.place = (me.place + i32::from(walk.0.clamp(-5, 5))).clamp(0, 60);
            let found = |other: &&Walker| other.place == me.place && other.player != player;
            if walk.0 != 0
                && let Some(other) = others.iter().find(found)
            {
                events.emit(format!("{player} has found {}", other.player));
            }
        }
    }

    /// What those who play on a program may see: walkers not farther away than ten steps. Of others nothing is sent.
    fn interest(&self, viewers: &[PlayerId], interest: &mut Interest) {
        let walkers = self.walkers.as_slice();
        let eyes = walkers
            .iter()
            .filter(|walker| viewers.contains(&walker.player));
        let mut seen = interest.part("walkers");
        for (row, walker) in walkers.iter().enumerate() {
            if !eyes
                .clone()
                .any(|eye| eye.place.abs_diff(walker.place) <= 10)
            {
                seen.hide(row);
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = SessionConfig::new("dark", 1).player("somebody");
    let mut game = Game::from_args(config, Snapshot::default(), Dark::default())?;
    println!("This is port {}.", game.local_addr().port());

    let (send, typed) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = io::stdin().lines().map_while(Result::ok);
        lines.try_for_each(|line| send.send(line))
    });
    let mut before = String::new();
    loop {
        game.run_for(Duration::from_millis(20))?;
        let mut picture = vec![b'.'; 61];
        for (_, walker) in game.shown().walkers.iter() {
            picture[walker.place.clamp(0, 60) as usize] = b'0' + walker.player.0 as u8;
        }
        let picture = String::from_utf8_lossy(&picture).into_owned();
        if picture != before {
            println!("{picture}");
            before = picture;
        }
        while let Some(TimedEvent { tick, event, .. }) = game.next_event() {
            println!("tick {tick}: {event}");
        }
        match typed.try_recv().as_deref() {
            Ok("l") => tell(game.set_controls(&Walk(-5))),
            Ok("r") => tell(game.set_controls(&Walk(5))),
            Ok(_) => println!("Type l or r."),
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
