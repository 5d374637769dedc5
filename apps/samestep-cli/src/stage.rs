//! A game on the whole terminal: drawn as it goes, paused, slowed down, wound back.

use std::error::Error;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use samestep::sync::Tick;
use samestep_playable::Key;

use crate::terminal::Terminal;

/// A match that can be shown.
pub trait Scene {
    /// The tick it is at.
    fn tick(&self) -> Tick;

    /// The first and the last tick there is; for something that goes on, both are where it is.
    fn range(&self) -> (Tick, Tick);

    fn ticks_per_second(&self) -> u32;

    /// One tick; false at the end.
    fn step(&mut self) -> Result<bool, Box<dyn Error>>;

    /// Goes to a tick, if it can.
    fn seek(&mut self, tick: Tick) -> Result<(), Box<dyn Error>>;

    /// A picture of so many columns and lines at most.
    fn paint(&mut self, columns: usize, lines: usize) -> Vec<String>;
}

/// How a scene is shown.
#[derive(Clone, Copy, Debug)]
pub struct ShowOptions {
    /// Times real time.
    pub speed: f64,
    /// Stop at this tick.
    pub until: Option<Tick>,
}

const SPEEDS: [f64; 9] = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0];
/// Between two pictures.
const PICTURE: Duration = Duration::from_millis(40);
/// A key winds this far, in seconds of the game.
const WIND: u64 = 5;

/// Shows it until it ends, or somebody has seen enough. Where nobody looks (no terminal), the last picture alone is printed, if it is known
/// which one that is.
pub fn show(scene: &mut dyn Scene, show: ShowOptions) -> Result<(), Box<dyn Error>> {
    if !std::io::stdout().is_terminal() {
        return print_final(scene, show);
    }
    let mut terminal = Terminal::open();
    let mut clock = Clock::new(show.speed);
    let mut ended = false;
    loop {
        let begun = Instant::now();
        while let Some(key) = terminal.key() {
            match key {
                Key::Escape | Key::Interrupt | Key::Char('q' | 'Q') => return Ok(()),
                Key::Char(' ' | 'p') => clock.pause(),
                Key::Char('+' | '=') => clock.faster(),
                Key::Char('-') => clock.slower(),
                Key::Char('.') => {
                    clock.paused = true;
                    scene.step()?;
                }
                Key::Left | Key::Right => {
                    let by = WIND * u64::from(scene.ticks_per_second());
                    let at = scene.tick().0;
                    let to = match key {
                        Key::Left => at.saturating_sub(by),
                        _ => at + by,
                    };
                    scene.seek(Tick(to))?;
                    ended = false;
                }
                _ => {}
            }
        }
        if terminal.is_interrupted() {
            return Ok(());
        }
        // A machine too slow for the speed shows fewer ticks a second rather than fewer pictures.
        for _ in 0..clock.due(scene.ticks_per_second()) {
            if show.until.is_some_and(|until| scene.tick() >= until) {
                return Ok(());
            }
            if !scene.step()? {
                ended = true;
                break;
            }
            if begun.elapsed() > PICTURE * 2 {
                break;
            }
        }
        let (columns, lines) = terminal.size();
        let mut picture = scene.paint(columns, lines.saturating_sub(1));
        picture.truncate(lines.saturating_sub(1));
        picture.push(status(scene, &clock, ended, columns));
        terminal.draw(&picture);
        terminal.wait(PICTURE.saturating_sub(begun.elapsed()));
    }
}

fn print_final(scene: &mut dyn Scene, show: ShowOptions) -> Result<(), Box<dyn Error>> {
    let (_, last) = scene.range();
    let until = match show.until {
        Some(until) => until,
        None if last > scene.tick() => last,
        None => {
            return Err("watching needs a terminal; with --ticks N the picture at that tick is printed anywhere".into());
        }
    };
    while scene.tick() < until && scene.step()? {}
    let picture = scene.paint(80, 30);
    let text: String = picture.iter().map(|line| plain(line) + "\n").collect();
    // A reader who has seen enough (`| head`) closes the pipe; that is no error.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(())
}

/// A line without colours.
fn plain(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| {
        text + part.split_once('m').map_or(part, |(_, rest)| rest)
    })
}

fn status(scene: &dyn Scene, clock: &Clock, ended: bool, columns: usize) -> String {
    let per_second = f64::from(scene.ticks_per_second().max(1));
    let time = |tick: Tick| {
        let seconds = (tick.0 as f64 / per_second) as u64;
        format!("{}:{:02}", seconds / 60, seconds % 60)
    };
    let (first, last) = scene.range();
    let of = match first == last {
        true => String::new(),
        false => format!(" of {}", time(last)),
    };
    let state = match (ended, clock.paused) {
        (true, _) => "end".to_string(),
        (_, true) => "paused".to_string(),
        _ => format!("×{}", clock.speed),
    };
    let wind = if first == last { "" } else { "  ←→ wind" };
    let line = format!(
        " tick {}  {}{of}  {state}    space pause  . step  +- speed{wind}  q quit",
        scene.tick(),
        time(scene.tick())
    );
    let line: String = line.chars().take(columns).collect();
    format!("\x1b[7m{line:<columns$}\x1b[0m")
}

/// How many ticks are due.
struct Clock {
    speed: f64,
    paused: bool,
    /// Ticks owed, with a fraction.
    owed: f64,
    last: Instant,
}

impl Clock {
    fn new(speed: f64) -> Self {
        Self {
            speed,
            paused: false,
            owed: 0.0,
            last: Instant::now(),
        }
    }

    fn due(&mut self, per_second: u32) -> u64 {
        let passed = self.last.elapsed();
        self.last = Instant::now();
        if self.paused {
            return 0;
        }
        // Owing more than a few pictures' worth would only make the picture stand still.
        let passed = passed.min(PICTURE * 4).as_secs_f64();
        self.owed += passed * self.speed * f64::from(per_second);
        let whole = self.owed.floor();
        self.owed -= whole;
        whole as u64
    }

    fn pause(&mut self) {
        self.paused = !self.paused;
    }

    fn faster(&mut self) {
        let next = SPEEDS.iter().find(|speed| **speed > self.speed);
        self.speed = next.copied().unwrap_or(self.speed);
    }

    fn slower(&mut self) {
        let next = SPEEDS.iter().rev().find(|speed| **speed < self.speed);
        self.speed = next.copied().unwrap_or(self.speed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_left_out_where_nobody_looks() {
        assert_eq!(plain("a\x1b[38;2;1;2;3mb\x1b[0m c"), "ab c");
        assert_eq!(plain("\x1b[0m"), "");
    }

    #[test]
    fn speeds_go_up_and_down_and_stop_at_the_ends() {
        let mut clock = Clock::new(1.5);
        clock.faster();
        assert_eq!(clock.speed, 2.0);
        clock.slower();
        assert_eq!(clock.speed, 1.0);
        for _ in 0..20 {
            clock.slower();
        }
        assert_eq!(clock.speed, 0.1);
    }
}
