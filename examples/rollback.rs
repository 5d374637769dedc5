//! Who is quickest, by rollback: one's own key counts at once, and what was assumed of the others is put right. For games of reflexes.
//!
//! `host`, or `serve`, and `join ADDRESS`; without a host `mesh` and `peer ADDRESS`. Press Enter as soon as it says "now!".
use samestep::prelude::*;
use std::{error::Error, io, sync::mpsc, thread, time::Duration};

/// Whether a player presses in this tick.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Press(bool);

impl Input for Press {
    fn predict(&self) -> Self {
        Press(false) // nobody is assumed to press until it is known
    }
}

#[derive(Clone, Replicate)]
struct Duel {
    /// Ticks until the signal.
    wait: u32,
    points: [i32; 16],
    rng: Rng,
}

impl Simulation for Duel {
    type Input = Press;
    type Event = String;
    const NAME: &'static str = "quickest";

    fn step(&mut self, inputs: &Inputs<'_, Press>, events: &mut Events<String>) {
        let was_given = self.wait == 0;
        self.wait = self.wait.saturating_sub(1);
        if self.wait == 0 && !was_given {
            events.emit("now!".into());
        }
        for (player, _) in inputs.iter().filter(|(_, press)| press.0) {
            let points = &mut self.points[usize::from(player.0) % 16];
            if was_given {
                *points += 1;
                events.emit(format!("{player} was first, and has {points} points"));
                self.wait = 60 + self.rng.below(240);
                return;
            }
            *points -= 1;
            events.emit(format!("{player} was too early, and has {points} points"));
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let duel = Duel {
        wait: 120,
        points: [0; 16],
        rng: Rng::new(1),
    };
    let config = SessionConfig::new("quickest", 1).player("somebody");
    let mut game = Game::from_args(config, Rollback::default(), duel)?;
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
            match stage {
                EventStage::Predicted => println!("{event}"),
                EventStage::Cancelled => println!("No: somebody else had pressed when \"{event}\""),
                EventStage::Confirmed => println!("Certain: {event} (tick {tick})"),
            }
        }
        match typed.try_recv() {
            Ok(_) => tell(game.command(&Press(true))),
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
