//! Keys and picture in a terminal, as many times a second as asked for.

use super::net::{Tanks, play};
use super::rules::{Duel, Event, Keys, SIZE, ahead};
use samestep::prelude::*;
use samestep::session::{Phase, Presence};
use std::error::Error;
use std::fmt::Write;
use std::io::{self, Read};
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

const COLOURS: [u8; 4] = [208, 39, 77, 170];
/// A terminal tells when a key is pressed and repeats, not when it is let go: it counts as held for this long.
const HELD: Duration = Duration::from_millis(180);

/// The keys w, a, s and d as they were last pressed, and the space bar.
struct Keyboard {
    typed: Receiver<u8>,
    pressed: [Option<Instant>; 4],
    fire: bool,
}

impl Keyboard {
    fn new() -> Keyboard {
        let (send, typed) = mpsc::channel();
        let mut bytes = io::stdin().bytes().map_while(Result::ok);
        thread::spawn(move || bytes.try_for_each(|byte| send.send(byte)));
        Keyboard {
            typed,
            pressed: [None; 4],
            fire: false,
        }
    }

    /// The keys of this frame; `None` if the player leaves.
    fn keys(&mut self) -> Option<Keys> {
        self.fire = false;
        let now = Instant::now();
        for key in self.typed.try_iter() {
            match key {
                b'q' | 3 => return None,
                b' ' => self.fire = true,
                key => {
                    if let Some(at) = b"adws".iter().position(|known| *known == key) {
                        self.pressed[at] = Some(now);
                    }
                }
            }
        }
        let held = |at: usize| self.pressed[at].is_some_and(|pressed| now - pressed < HELD);
        Some(Keys {
            left: held(0),
            right: held(1),
            forward: held(2),
            back: held(3),
            fire: self.fire,
        })
    }
}

/// Plays until the player leaves.
pub fn run(game: &mut Tanks, frame: Duration) -> Result<(), Box<dyn Error>> {
    let stty = |how: &str| Command::new("stty").args(how.split(' ')).status().ok();
    stty("-icanon -echo -isig"); // keys come one by one, unseen, and Ctrl-C is one of them
    print!("\x1b[?25l\x1b[2J");
    let result = frames(game, frame);
    print!("\x1b[?25h");
    stty("icanon echo isig");
    result
}

fn frames(game: &mut Tanks, frame: Duration) -> Result<(), Box<dyn Error>> {
    let mut keyboard = Keyboard::new();
    let mut message = String::new();
    while let Some(keys) = keyboard.keys() {
        let mut event = None;
        play(
            game,
            (&keys, frame),
            |timed| event = Some(timed.event).filter(|_| timed.stage == EventStage::Confirmed),
            |game, news| {
                if let Some((from, Chat { text })) = news.message() {
                    message = format!("{from} says: {text}");
                } else if let Some(error) = game.last_error() {
                    message = error.into();
                }
            },
        )?;
        message = event
            .and_then(|event| words(game, event))
            .unwrap_or(message);
        let picture = picture(game, &message);
        print!("\x1b[H{picture}\x1b[J");
        io::Write::flush(&mut io::stdout())?;
    }
    Ok(())
}

fn name(game: &Tanks, player: PlayerId) -> String {
    let mut players = game.players().iter();
    let found = players.find(|info| info.id == player);
    found.map_or(player.to_string(), |info| info.profile.name.clone())
}

fn words(game: &Tanks, event: Event) -> Option<String> {
    Some(match event {
        Event::Fired(_) => return None,
        Event::Hit { by, target } => format!("{} hits {}", name(game, by), name(game, target)),
        Event::RoundWon(player) => format!("{} wins the round", name(game, player)),
        Event::RoundDrawn => "the round is drawn".into(),
        Event::DuelWon(player) => format!("{} wins the duel!", name(game, player)),
    })
}

fn picture(game: &mut Tanks, message: &str) -> String {
    let mut text = String::new();
    arena(game.shown(), &mut text);
    let duel = game.state();
    for info in game.players() {
        let tank = duel.tank(info.id);
        let (rounds, duels) = tank.map_or((0, 0), |tank| (tank.rounds, tank.duels));
        let peer = game.room().peer(info.peer);
        let is_away = peer.is_some_and(|peer| peer.presence == Presence::Away);
        let mark = match (game.room().phase(), is_away) {
            (_, true) => "away",
            (Phase::SetUp, _) if info.ready => "ready",
            (Phase::SetUp, _) => "not ready",
            _ => "",
        };
        let colour = COLOURS[usize::from(info.id.0 % 4)];
        let name = &info.profile.name;
        let _ = writeln!(
            text,
            "\x1b[38;5;{colour}m{name:12}\x1b[0m rounds {rounds}  duels {duels}  {mark}\x1b[K"
        );
    }
    let stats = game.stats();
    let peer = stats.peers.first();
    let ms = |time: Option<Duration>| {
        time.map_or("?".into(), |time| {
            format!("{:.0} ms", time.as_secs_f64() * 1e3)
        })
    };
    let loss = peer.and_then(|peer| peer.loss);
    let _ = write!(
        text,
        "round trip {}  loss {}  input delay {} ticks  rollbacks {}  port {}\x1b[K\n{message}\x1b[K\n",
        ms(peer.and_then(|peer| peer.round_trip)),
        loss.map_or("?".into(), |loss| format!("{:.0} %", loss * 100.0)),
        stats.input_delay,
        stats.rollbacks,
        game.local_addr().port(),
    );
    text
}

fn arena(duel: &Duel, text: &mut String) {
    let (width, height) = (SIZE.0 as usize, SIZE.1 as usize);
    let mut cells = vec![(' ', 0); width * height];
    let mut put = |x: f32, y: f32, sign, owner: PlayerId| {
        let at = (y as usize).min(height - 1) * width + (x as usize).min(width - 1);
        cells[at] = (sign, COLOURS[usize::from(owner.0 % 4)]);
    };
    for tank in duel.tanks.as_slice().iter().filter(|tank| tank.armour > 0) {
        let (x, y) = ahead(tank.x, tank.y, tank.heading, 1.4);
        put(x, y, '∘', tank.owner);
        for dx in [-0.7, 0.0, 0.7] {
            put(tank.x + dx, tank.y, '█', tank.owner);
        }
    }
    for shell in duel.shells.as_slice() {
        put(shell.x, shell.y, '•', shell.owner);
    }
    for row in cells.chunks(width) {
        text.push_str("\x1b[48;5;235m");
        for (sign, colour) in row {
            let _ = write!(text, "\x1b[38;5;{colour}m{sign}");
        }
        text.push_str("\x1b[0m\x1b[K\n");
    }
}
