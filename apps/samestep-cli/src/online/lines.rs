//! A game without a screen: news, chat and scores as lines, for servers and scripts.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use samestep_play::{Playing, Stage};
use samestep_playable::Playable;

use crate::terminal::interruption;
use samestep_play::failure::Failure;

/// How long the network is waited for at once.
const MOMENT: Duration = Duration::from_millis(4);
/// Between two lines of figures.
const FIGURES: Duration = Duration::from_secs(1);

/// Plays until it is over: what is typed is chat or a command, what happens is printed.
pub fn print<G: Playable>(playing: &mut Playing<G>) -> Result<(), Failure> {
    let interrupted = interruption();
    let typed = typed();
    let is_terminal = std::io::stdout().is_terminal();
    let mut scores = String::new();
    let mut next_figures = Instant::now();
    loop {
        let run = playing.run_for(MOMENT);
        while playing.next_event().is_some() {}
        while let Ok(line) = typed.try_recv() {
            playing.say(&line);
        }
        for line in playing.lines() {
            say(&line, is_terminal);
        }
        let table = playing.table().to_line();
        if playing.stage() == Stage::Playing && table != scores {
            say(&format!("scores: {table}"), is_terminal);
            scores = table;
        }
        if is_terminal && Instant::now() >= next_figures {
            next_figures = Instant::now() + FIGURES;
            write(&format!("\r\x1b[K{}", playing.figures()));
        }
        run?;
        if playing.is_finished() || interrupted.load(Ordering::Relaxed) {
            if is_terminal {
                write("\r\x1b[K");
            }
            return Ok(());
        }
    }
}

/// Prints a line, above the figures if there are some.
fn say(line: &str, is_terminal: bool) {
    let clear = if is_terminal { "\r\x1b[K" } else { "" };
    write(&format!("{clear}{line}\n"));
}

/// A reader who has seen enough closes the pipe; the game goes on.
fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The lines of standard input, read by a thread.
fn typed() -> Receiver<String> {
    let (sender, typed) = sync_channel(64);
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    typed
}
