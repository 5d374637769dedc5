//! `samestep host`, `serve`, `join` and `watch`: the games, played by people over a network.

mod lines;
mod screen;

use std::error::Error;
use std::io::IsTerminal;
use std::process::{self, ExitCode};

use samestep_catalog::Visitor;
use samestep_play::{Command, Playing};
use samestep_playable::Playable;

use crate::games;
use crate::play::window_program;
use samestep_play::failure::{Failure, Kind};

pub fn run(command: &Command) -> Result<ExitCode, Box<dyn Error>> {
    // A misspelt game is answered here, not in a window.
    games::known(&command.shared().game)?;
    if opens_window(command) {
        return run_window();
    }
    if command.needs_window() {
        let why = match window_program() {
            Ok(_) => "leave out --terminal, where there is a screen".to_string(),
            Err(failure) => failure.to_string(),
        };
        let words = format!("several players at one screen play in the window: {why}");
        return Err(Failure::new(Kind::Other, words).into());
    }
    games::with(&command.shared().game, Play(command))?
}

/// Whether the game is shown in a window: if it is wanted, or if nothing is said and it is possible.
fn opens_window(command: &Command) -> bool {
    let shared = command.shared();
    if matches!(command, Command::Serve(_)) || shared.terminal {
        return false;
    }
    let has_screen = !cfg!(target_os = "linux")
        || ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    shared.window || has_screen && window_program().is_ok()
}

/// Runs the window's program with the same command line, but for what it does not know.
fn run_window() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--log") {
        arguments.drain(at..(at + 2).min(arguments.len()));
    }
    arguments.retain(|argument| !argument.starts_with("--log="));
    let status = process::Command::new(window_program()?)
        .args(arguments)
        .status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(Kind::Other.code())))
}

struct Play<'a>(&'a Command);

impl Visitor for Play<'_> {
    type Output = Result<ExitCode, Box<dyn Error>>;

    fn visit<G: Playable>(self) -> Self::Output {
        let mut playing = Playing::<G>::open(self.0)?;
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let shows = is_terminal && !matches!(self.0, Command::Serve(_));
        match shows {
            true => screen::show(&mut playing)?,
            false => lines::print(&mut playing)?,
        }
        let has_disagreed = playing.has_disagreed();
        playing.leave()?;
        Ok(match has_disagreed {
            true => ExitCode::FAILURE,
            false => ExitCode::SUCCESS,
        })
    }
}
