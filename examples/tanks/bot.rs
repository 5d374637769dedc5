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

const TICK: Duration = Duration::from_nanos(16_666_667);
/// After this time a shot is not expected to be seen any more.
const LOST: Duration = Duration::from_secs(2);

pub struct Bot {
    rng: Rng,
    /// The frames per second, which take turns salvo by salvo, and whose turn it is.
    rates: Vec<u32>,
    turn: usize,
    /// How many shots are a salvo, when those of the present one were fired, and how long those took that are seen by now.
    salvo: usize,
    fired: Vec<Instant>,
    felt: Vec<Duration>,
    /// The shots seen before the salvo.
    before: u16,
    /// When it presses again at the earliest.
    rested: Instant,
    /// Which of the others it goes for, whether it drives there, and until when.
    aim: (u32, bool, Instant),
}

impl Bot {
    pub fn new(seed: u64, rates: &[u32], salvo: usize) -> Bot {
        Bot {
            rng: Rng::new(seed),
            rates: rates.to_vec(),
            turn: 0,
            salvo,
            fired: Vec::new(),
            felt: Vec::new(),
            before: 0,
            rested: Instant::now(),
            aim: (0, true, Instant::now()),
        }
    }

    /// The frames per second at this time.
    fn rate(&self) -> u32 {
        self.rates[self.turn % self.rates.len()]
    }

    /// The keys for a frame: towards an enemy, and shoot. Tells how long the shots of the last salvo took from the key to the picture.
    fn look(&mut self, duel: &Duel, me: PlayerId) -> (Keys, Vec<Duration>) {
        let now = Instant::now();
        let Some(tank) = duel.tank(me) else {
            return (Keys::default(), Vec::new());
        };
        let can = tank.armour > 0 && duel.pause == 0 && duel.winner.is_none();
        let felt = self.watch(now, tank, can);
        if now > self.aim.2 {
            let lasts = Duration::from_millis(u64::from(300 + self.rng.below(900)));
            self.aim = (self.rng.next_u32(), self.rng.chance(0.6), now + lasts);
        }
        let mut keys = self.keys(duel, tank);
        if can && self.fired.len() < self.salvo && now > self.rested {
            keys.fire = true;
            if self.fired.is_empty() {
                self.before = tank.shots;
            }
            self.fired.push(now);
            let ticks = u32::from(duel.reload) + 2;
            let idles = Duration::from_millis(u64::from(self.rng.below(60)));
            self.rested = now + TICK * ticks + idles;
        }
        (keys, felt)
    }

    /// Watches the salvo's shots appear. When all are seen it tells how long each took. If one does not appear, because the tank was hit or
    /// the round is over, nobody knows which of the others is which: it tells nothing, and waits until none can be under way.
    fn watch(&mut self, now: Instant, tank: &Tank, can: bool) -> Vec<Duration> {
        if self.fired.is_empty() {
            return Vec::new();
        }
        let seen = usize::from(tank.shots.wrapping_sub(self.before)).min(self.fired.len());
        while self.felt.len() < seen {
            self.felt.push(now - self.fired[self.felt.len()]);
        }
        let is_complete = self.felt.len() == self.salvo;
        if !is_complete && can && now < self.rested + LOST {
            return Vec::new();
        }
        self.turn += 1;
        self.fired.clear();
        let mut felt = std::mem::take(&mut self.felt);
        if !is_complete {
            self.rested = now + LOST / 2;
            felt.clear();
        }
        felt
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
pub fn run(game: &mut Tanks, mut bot: Bot) -> Result<(), Box<dyn Error>> {
    let (send, input) = mpsc::channel::<()>();
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        drop(send);
    });
    while input.try_recv() != Err(TryRecvError::Disconnected) {
        let (mut keys, mut felt, rate) = (Keys::default(), Vec::new(), bot.rate());
        if let Some(me) = game.me() {
            (keys, felt) = bot.look(game.shown(), me);
        }
        for felt in felt {
            println!("felt at {rate}: {}", felt.as_micros());
        }
        let frame = Duration::from_secs(1) / bot.rate();
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
