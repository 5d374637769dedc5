//! `wasm-check games` lists the games, `wasm-check record GAME FILE` records a match of bots, `wasm-check play FILE` plays it and prints checksums.

use std::process::ExitCode;

use samestep_wasm_check::{GAMES, record, report};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["games"] => {
            println!("{}", GAMES.join("\n"));
            Ok(())
        }
        ["record", game, file] => match record(game) {
            Some(replay) => {
                std::fs::write(file, replay).map_err(|error| format!("{file}: {error}"))
            }
            None => Err(format!(
                "no such game: {game}; there are {}",
                GAMES.join(", ")
            )),
        },
        ["play", file] => std::fs::read(file)
            .map_err(|error| format!("{file}: {error}"))
            .and_then(report)
            .map(|report| print!("{report}")),
        _ => Err("say games, record GAME FILE or play FILE".to_string()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wasm-check: {error}");
            ExitCode::FAILURE
        }
    }
}
