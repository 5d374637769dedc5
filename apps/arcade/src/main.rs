//! The arcade in a window.

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    native::main()
}

/// In a page there is no program to start: the page starts the library.
#[cfg(target_arch = "wasm32")]
fn main() {}

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use std::path::Path;
    use std::process::ExitCode;

    use clap::Parser;
    use eframe::egui;
    use samestep_arcade::app::{Arcade, Opening};
    use samestep_arcade::online;
    use samestep_arcade::platform::Window;
    use samestep_arcade::registry;
    use samestep_sandbox::Scenario;

    const HELP: &str = "\
The games of Samestep to see and play.

Usage: samestep-arcade [LINK | FILE]
       samestep-arcade host|join|watch GAME …   as `samestep host|join|watch` do, in a window

  LINK    what the sandbox begins with, such as \"game=skirmish&model=rollback&players=3&net=lte&seed=7\";
          it says game, model, players, server, seed, size, net, latency, jitter, loss, burst, duplicate and rate
  FILE    a recorded match or a desync bundle

With neither, the sandbox begins as usual.";

    /// What is on the command line is nonsense.
    const NONSENSE: u8 = 2;

    /// A game over a network.
    #[derive(Parser)]
    #[command(name = "samestep-arcade")]
    struct Online {
        #[command(subcommand)]
        command: samestep_play::Command,
    }

    pub fn main() -> ExitCode {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let first = arguments.first().map(String::as_str);
        if matches!(first, Some("host" | "serve" | "join" | "watch")) {
            let code = online::run(&Online::parse().command);
            return ExitCode::from(code);
        }
        let opening = match &arguments[..] {
            [] => Ok(Opening::Link(String::new())),
            [help] if help == "--help" || help == "-h" => {
                println!("{HELP}");
                return ExitCode::SUCCESS;
            }
            [one] => opening(one),
            _ => Err("one link or one file is expected; see --help".into()),
        };
        match opening.map(show) {
            Ok(Ok(())) => ExitCode::SUCCESS,
            Ok(Err(error)) => complain(&error.to_string(), ExitCode::FAILURE),
            Err(words) => complain(&words, ExitCode::from(NONSENSE)),
        }
    }

    fn complain(words: &str, code: ExitCode) -> ExitCode {
        eprintln!("samestep-arcade: {words}");
        code
    }

    /// What an argument means: a file if there is one, or else a link.
    fn opening(argument: &str) -> Result<Opening, String> {
        let path = Path::new(argument);
        if path.is_file() {
            let bytes = std::fs::read(path).map_err(|error| format!("{argument}: {error}"))?;
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            return Ok(Opening::Replay { name, bytes });
        }
        if argument.starts_with('-') {
            return Err(format!("{argument}: there is no such option; see --help"));
        }
        if !argument.contains('=') {
            return Err(format!(
                "{argument}: there is no such file, and it is no link; see --help"
            ));
        }
        let link = argument.split_once('#').map_or(argument, |(_, link)| link);
        let scenario = Scenario::from_link(link).map_err(|error| error.to_string())?;
        if registry::game(&scenario.game).is_none() {
            return Err(format!("there is no game {:?}", scenario.game));
        }
        Ok(Opening::Link(link.into()))
    }

    fn show(opening: Opening) -> eframe::Result {
        let viewport = egui::ViewportBuilder::default()
            .with_title("Samestep")
            .with_inner_size([1280.0, 720.0])
            .with_min_inner_size([900.0, 560.0]);
        let options = eframe::NativeOptions {
            viewport,
            ..Default::default()
        };
        eframe::run_native(
            "Samestep",
            options,
            Box::new(move |cc| Ok(Box::new(Arcade::new(cc, opening, Box::new(Window::new()))))),
        )
    }
}
