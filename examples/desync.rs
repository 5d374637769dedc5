//! A desync on purpose: a state that was tampered with is detected, named to the field, and repaired while the others play on.
//!
//! `host`, or `serve`, and `join ADDRESS`; without a host `mesh` and `peer ADDRESS`. Type a number to deposit it, `tamper` to falsify your copy.
use samestep::prelude::*;
use std::{error::Error, io, sync::mpsc, thread, time::Duration};

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Deposit(u32);

impl Input for Deposit {
    fn predict(&self) -> Self {
        Deposit(0)
    }
}

#[derive(Clone, Default, Replicate)]
struct Bank {
    balance: u32,
}

impl Simulation for Bank {
    type Input = Deposit;
    type Event = String;
    const NAME: &'static str = "bank";

    fn step(&mut self, inputs: &Inputs<'_, Deposit>, events: &mut Events<String>) {
        for (player, deposit) in inputs.given() {
            self.balance = self.balance.wrapping_add(deposit.0);
            events.emit(format!("{player} pays in {}: {}", deposit.0, self.balance));
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = SessionConfig::new("bank", 1).player("somebody");
    let mut game = Game::from_args(config, Lockstep::default(), Bank::default())?;
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
        while let Some(news) = game.next_news() {
            match news {
                MatchEvent::Model(ModelEvent::Desync(report)) => println!("Desync: {report}."),
                MatchEvent::Model(ModelEvent::Repaired { peer, tick, .. }) => {
                    println!("The state of {peer} is right again from tick {tick} on.");
                }
                _ => {}
            }
        }
        match typed.try_recv().as_deref() {
            Ok("tamper") => {
                game.disturb(|bank| bank.balance = 1_000_000);
                println!("You are a millionaire, until the next desync check.");
            }
            Ok(line) => match line.parse() {
                Ok(amount) if game.command(&Deposit(amount)) => {}
                Ok(_) => println!("Not yet: the game has not begun here."),
                Err(_) => println!("Type a number, or `tamper`."),
            },
            Err(mpsc::TryRecvError::Empty) => {}
            Err(mpsc::TryRecvError::Disconnected) => return Ok(game.leave("bye")?),
        }
    }
}
