//! The model changed while the game goes on: by whoever hosts it, here by typing.
//!
//! `host`, or `serve`, and `join ADDRESS`. Press Enter to knock. Who hosts types lockstep, rollback, snapshot or state-sync.
use samestep::prelude::*;
use samestep::sync::{ModelKind, Switch};
use std::{error::Error, io, sync::mpsc, thread, time::Duration};

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Knock(bool);

impl Input for Knock {
    fn predict(&self) -> Self {
        Knock(false)
    }
}

#[derive(Clone, Default, Replicate)]
struct Door {
    knocks: u32,
}

impl Simulation for Door {
    type Input = Knock;
    type Event = String;
    const NAME: &'static str = "door";

    fn step(&mut self, inputs: &Inputs<'_, Knock>, events: &mut Events<String>) {
        for (player, _) in inputs.given().filter(|(_, knock)| knock.0) {
            self.knocks += 1;
            events.emit(format!("{player} knocks, the {}. time", self.knocks));
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // Everyone has to give the same choices. The first runs first.
    let model = Switch::new(ModelKind::ALL.iter().map(|kind| kind.config()).collect())?;
    let config = SessionConfig::new("door", 1).player("somebody");
    let mut game = Game::from_args(config, model, Door::default())?;
    println!("This is port {}.", game.local_addr().port());

    let (send, typed) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = io::stdin().lines().map_while(Result::ok);
        lines.try_for_each(|line| send.send(line))
    });
    let mut before = usize::MAX;
    loop {
        game.run_for(Duration::from_millis(20))?;
        let current = game.current_model();
        if current != before {
            println!("The model is {}.", ModelKind::ALL[current].name);
            before = current;
        }
        while let Some(TimedEvent { stage, event, .. }) = game.next_event() {
            if stage == EventStage::Confirmed {
                println!("{event}");
            }
        }
        match typed.try_recv().as_deref() {
            Ok("") => tell(game.command(&Knock(true))),
            Ok(name) => change(&mut game, name),
            Err(mpsc::TryRecvError::Empty) => {}
            Err(mpsc::TryRecvError::Disconnected) => return Ok(game.leave("bye")?),
        }
    }
}

fn change(game: &mut Game<Door, Switch>, name: &str) {
    let mut kinds = ModelKind::ALL.iter();
    match kinds.position(|kind| kind.name == name) {
        Some(choice) if game.switch_to(choice) => {}
        Some(_) => println!("Not now: only who hosts may, and one change after the other."),
        None => {
            let names: Vec<_> = ModelKind::ALL.iter().map(|kind| kind.name).collect();
            println!("Type nothing, or one of {}.", names.join(", "));
        }
    }
}

/// Nothing that was typed is lost without a word.
fn tell(taken: bool) {
    if !taken {
        println!("Not yet: the game has not begun here.");
    }
}
