//! `wasm-check subjects` lists what can be recorded, `wasm-check record SUBJECT FILE` records a match of bots, `wasm-check play FILE` plays it and prints checksums.

use std::process::ExitCode;

use samestep_wasm_check::{record, report, subjects};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["subjects"] => {
            println!("{}", subjects().join("\n"));
            Ok(())
        }
        ["record", subject, file] => match record(subject) {
            Some(replay) => {
                std::fs::write(file, replay).map_err(|error| format!("{file}: {error}"))
            }
            None => Err(format!(
                "no such subject: {subject}; there are {}",
                subjects().join(", ")
            )),
        },
        ["play", file] => std::fs::read(file)
            .map_err(|error| format!("{file}: {error}"))
            .and_then(report)
            .map(|report| print!("{report}")),
        _ => Err("say subjects, record SUBJECT FILE or play FILE".to_string()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wasm-check: {error}");
            ExitCode::FAILURE
        }
    }
}
