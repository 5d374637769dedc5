//! `sum LINK STEPS` plays a match and prints the checksum of the server's state then: the same natively, in the window and in the page.

use std::process::ExitCode;

use samestep_evaluation::Evaluation;
use samestep_sandbox::{Playable, Sandbox, Scenario};
use samestep_skirmish::Skirmish;
use samestep_sublockus::Sublockus;
use samestep_sync::Simulation;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sum = match &arguments[..] {
        [link, steps] => match steps.parse() {
            Ok(steps) => sum(link, steps),
            Err(_) => Err(format!("{steps}: a number of steps is expected")),
        },
        _ => Err("say LINK STEPS".into()),
    };
    match sum {
        Ok(sum) => {
            println!("{sum:016x}");
            ExitCode::SUCCESS
        }
        Err(words) => {
            eprintln!("sum: {words}");
            ExitCode::FAILURE
        }
    }
}

fn sum(link: &str, steps: u64) -> Result<u64, String> {
    let scenario = Scenario::from_link(link).map_err(|error| error.to_string())?;
    match scenario.game.as_str() {
        Evaluation::NAME => played::<Evaluation>(&scenario, steps),
        Skirmish::NAME => played::<Skirmish>(&scenario, steps),
        Sublockus::NAME => played::<Sublockus>(&scenario, steps),
        game => Err(format!("no such game: {game}")),
    }
}

fn played<G: Playable>(scenario: &Scenario, steps: u64) -> Result<u64, String> {
    let mut sandbox = Sandbox::<G>::new(scenario).map_err(|error| error.to_string())?;
    (0..steps).for_each(|_| sandbox.step());
    Ok(sandbox.checksum())
}
