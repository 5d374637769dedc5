//! Lines from a terminal or a pipe, and signals to stop.

use std::io::{BufRead, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use rustyline::error::ReadlineError;
use rustyline::{DefaultEditor, ExternalPrinter};

use super::screen::{Plain, Print};

/// A line, or the end of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    Line(String),
    /// No more lines: the end of a file, or Ctrl-D.
    End,
}

/// Where lines come from, and where to print so that a half-typed line stays whole.
pub struct Terminal {
    pub input: Receiver<Input>,
    pub out: Box<dyn Print>,
    /// Whether it is a terminal.
    pub interactive: bool,
    interrupted: Arc<AtomicBool>,
    restore: Restore,
}

/// The maximum number of lines read ahead.
const AHEAD: usize = 64;

impl Terminal {
    /// Begins to read standard input, on a thread: a terminal with line editing (unless `plain`), anything else line by line.
    pub fn open(plain: bool) -> Terminal {
        let restore = Restore::new();
        let (sender, input) = sync_channel(AHEAD);
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&interrupted);
        // Without the handler Ctrl-C kills the program, which is better than not starting.
        let _ = ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed));
        let interactive =
            !plain && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let edited = interactive.then(|| edit(&sender, &interrupted)).flatten();
        let out = edited.unwrap_or_else(|| {
            thread::spawn(move || read(&sender));
            Box::new(Plain)
        });
        Terminal {
            input,
            out,
            interactive,
            interrupted,
            restore,
        }
    }

    /// Gives the terminal back as it was: the program may end while a line is being edited.
    pub fn restore(&mut self) {
        self.restore.now();
    }

    /// Whether somebody pressed Ctrl-C, or another program asked this one to stop.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

fn read(to: &SyncSender<Input>) {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if to.send(Input::Line(line)).is_err() {
            return;
        }
    }
    let _ = to.send(Input::End);
}

struct Edited<P>(P);

impl<P: ExternalPrinter> Print for Edited<P> {
    fn print(&mut self, text: String) -> bool {
        self.0.print(text).is_ok()
    }
}

/// Reads edited lines; `None` if the terminal cannot do that.
fn edit(to: &SyncSender<Input>, interrupted: &Arc<AtomicBool>) -> Option<Box<dyn Print>> {
    let mut editor = DefaultEditor::new().ok()?;
    let printer = editor.create_external_printer().ok()?;
    let (to, interrupted) = (to.clone(), Arc::clone(interrupted));
    thread::spawn(move || {
        loop {
            let input = match editor.readline("> ") {
                Ok(line) => {
                    let _ = editor.add_history_entry(&line);
                    Input::Line(line)
                }
                Err(ReadlineError::Interrupted) => {
                    interrupted.store(true, Ordering::Relaxed);
                    return;
                }
                Err(_) => Input::End,
            };
            let last = input == Input::End;
            if to.send(input).is_err() || last {
                return;
            }
        }
    });
    Some(Box::new(Edited(printer)))
}

/// How the terminal was, to be restored at the latest when dropped.
#[cfg(unix)]
struct Restore(Option<rustix::termios::Termios>);

#[cfg(unix)]
impl Restore {
    fn new() -> Restore {
        Restore(rustix::termios::tcgetattr(std::io::stdin()).ok())
    }

    fn now(&mut self) {
        use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
        let Some(before) = &self.0.take() else { return };
        let stdin = std::io::stdin();
        if tcgetattr(&stdin).is_ok_and(|now| now.local_modes != before.local_modes) {
            let _ = tcsetattr(&stdin, OptionalActions::Now, before);
            // What was half typed stays above.
            println!();
        }
    }
}

#[cfg(unix)]
impl Drop for Restore {
    fn drop(&mut self) {
        self.now();
    }
}

#[cfg(not(unix))]
struct Restore;

#[cfg(not(unix))]
impl Restore {
    fn new() -> Restore {
        Restore
    }

    fn now(&mut self) {}
}
