//! A bot at the keys, which says in lines what it sees: events, scores, and how long its own shots took from key to picture.

use super::net::{Tanks, play};
use super::rules::{Duel, Keys, Tank};
use samestep::prelude::*;
use std::error::Error;
use std::f32::consts::TAU;
use std::io::{self, Read};
use std::sync::mpsc::{self, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

pub struct Bot {
    rng: Rng,
    /// When the shot was fired that is not seen yet, and the shots seen before it.
    fired: Option<(Instant, u16)>,
    /// When it presses again at the earliest.
    rested: Instant,
    /// Which of the others it goes for, whether it drives there, and until when.
    aim: (u32, bool, Instant),
}

impl Bot {
    pub fn new(seed: u64) -> Bot {
        Bot {
            rng: Rng::new(seed),
            fired: None,
            rested: Instant::now(),
            aim: (0, true, Instant::now()),
        }
    }

    /// The keys for a frame: towards the nearest enemy, and shoot. Tells how long the last shot took from the key to the picture.
    fn look(&mut self, duel: &Duel, me: PlayerId) -> (Keys, Option<Duration>) {
        let now = Instant::now();
        let Some(tank) = duel.tank(me) else {
            return (Keys::default(), None);
        };
        let mut felt = None;
        if let Some((at, shots)) = self.fired {
            // A shot that nobody sees was fired between two rounds.
            let lost = now - at > Duration::from_secs(2);
            if tank.shots != shots || lost {
                felt = (!lost).then(|| now - at);
                self.fired = None;
                self.rested = now + Duration::from_millis(u64::from(50 + self.rng.below(150)));
            }
        }
        if now > self.aim.2 {
            let lasts = Duration::from_millis(u64::from(300 + self.rng.below(900)));
            self.aim = (self.rng.next_u32(), self.rng.chance(0.6), now + lasts);
        }
        let mut keys = self.keys(duel, tank);
        let can = tank.armour > 0 && tank.reload == 0 && duel.pause == 0 && duel.winner.is_none();
        if self.fired.is_none() && can && now > self.rested {
            keys.fire = true;
            self.fired = Some((now, tank.shots));
        }
        (keys, felt)
    }

    /// Turns towards an enemy, and drives there.
    fn keys(&self, duel: &Duel, tank: &Tank) -> Keys {
        let (which, drives, _) = self.aim;
        let enemies = duel.tanks.as_slice().iter();
        let enemies = enemies.filter(|other| other.owner != tank.owner && other.armour > 0);
        let enemies: Vec<&Tank> = enemies.collect();
        if enemies.is_empty() {
            return Keys::default();
        }
        let enemy = enemies[which as usize % enemies.len()];
        let (dx, dy) = (enemy.x - tank.x, enemy.y - tank.y);
        let turn = (dy.atan2(dx) - tank.heading + TAU * 1.5) % TAU - TAU / 2.0;
        Keys {
            left: turn < -0.03,
            right: turn > 0.03,
            forward: drives && dx * dx + dy * dy > 16.0,
            ..Keys::default()
        }
    }
}

/// Plays until the input is closed.
pub fn run(game: &mut Tanks, mut bot: Bot, frame: Duration) -> Result<(), Box<dyn Error>> {
    let (send, input) = mpsc::channel::<()>();
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        drop(send);
    });
    while input.try_recv() != Err(TryRecvError::Disconnected) {
        let (mut keys, mut felt) = (Keys::default(), None);
        if let Some(me) = game.me() {
            (keys, felt) = bot.look(game.shown(), me);
        }
        if let Some(felt) = felt {
            println!("felt {}", felt.as_micros());
        }
        let on_event = |event: &TimedEvent<_>| {
            if event.stage == EventStage::Confirmed {
                println!("event {} {:?}", event.tick, event.event);
            }
        };
        let result = play(game, (&keys, frame), on_event, |game, news| match news {
            SessionEvent::Joined { .. } => println!("joined as {:?}", game.me()),
            SessionEvent::Ended { .. } => scores(game.state()),
            SessionEvent::HostSilent { .. }
            | SessionEvent::HostHeard
            | SessionEvent::Reconnecting { .. }
            | SessionEvent::PeerAway { .. }
            | SessionEvent::PeerInSync { .. } => println!("news {news:?}"),
            _ => {}
        });
        if let Err(error) = result {
            println!("over: {error}");
            return Err(error.into());
        }
    }
    Ok(())
}

fn scores(duel: &Duel) {
    let mut line = String::from("scores");
    for tank in duel.tanks.as_slice() {
        line += &format!(" {}:{}", tank.duels, tank.shots);
    }
    println!("{line}");
}
