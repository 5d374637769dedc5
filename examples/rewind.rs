//! Shots judged by what the shooter saw: others are drawn a little in the past, and the server goes back there to judge.
//!
//! `host`, or `serve`, and `join ADDRESS`. Everybody runs to and fro; press Enter to shoot at whom you see first.
use samestep::prelude::*;
use std::{error::Error, io, sync::mpsc, thread, time::Duration};

/// A shot at a place on the track; 0 is none.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Shot(i32);

impl Input for Shot {
    fn predict(&self) -> Self {
        Shot(0)
    }
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Runner {
    #[field(owner)]
    player: PlayerId,
    #[field(blend = "linear")]
    place: i32,
    way: i32,
}

#[derive(Clone, Default, Replicate)]
struct Track {
    runners: Entities<Runner>,
}

impl Simulation for Track {
    type Input = Shot;
    type Event = String;
    const NAME: &'static str = "rewind";
    /// States of the last second are kept to go back to.
    const PAST: u64 = 60;

    fn step(&mut self, inputs: &Inputs<'_, Shot>, _: &mut Events<String>) {
        self.runners
            .retain(|_, runner| !inputs.is_gone(runner.player));
        for &player in inputs.players() {
            if !self
                .runners
                .iter()
                .any(|(_, runner)| runner.player == player)
            {
                let (place, way) = (1000, 20);
                self.runners.insert(Runner { player, place, way });
            }
        }
        for (_, runner) in self.runners.iter_mut() {
            if !(100..2000).contains(&(runner.place + runner.way)) {
                runner.way = -runner.way;
            }
            runner.place += runner.way;
        }
    }

    fn step_lag_compensated(
        &mut self,
        inputs: &Inputs<'_, Shot>,
        past: &LagCompensation<'_, Self>,
        events: &mut Events<String>,
    ) {
        for (shooter, shot) in inputs.iter().filter(|(_, shot)| shot.0 > 0) {
            let targets = self
                .runners
                .iter()
                .filter(|(_, runner)| runner.player != shooter);
            for (id, target) in targets {
                // Where the shooter saw it, between two states; if nothing is known of that, where it is.
                let seen = past.seen_by(shooter).and_then(|seen| {
                    let before = seen.before.runners.get(id)?.place;
                    let after = seen.after.runners.get(id)?.place;
                    Some(before + ((after - before) as f32 * seen.fraction) as i32)
                });
                let (now, seen) = (target.place, seen.unwrap_or(target.place));
                let verdict = if seen.abs_diff(shot.0) < 10 {
                    "hits"
                } else {
                    "misses"
                };
                events.emit(format!(
                    "{shooter} {verdict} {}, seen at {seen}, now at {now}",
                    target.player
                ));
            }
        }
        self.step(inputs, events);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = SessionConfig::new("rewind", 1).player("somebody");
    let mut game = Game::from_args(config, StateSync::default(), Track::default())?;
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
            if stage == EventStage::Confirmed {
                println!("tick {tick}: {event}");
            }
        }
        match typed.try_recv() {
            Ok(_) => {
                let (me, runners) = (game.me(), game.shown().runners.as_slice());
                let target = runners.iter().find(|runner| Some(runner.player) != me);
                match target.map(|target| target.place) {
                    Some(place) => tell(game.command(&Shot(place))),
                    None => println!("Not yet: nobody is there to shoot at."),
                }
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
