//! `sum LINK STEPS` plays a match and prints the checksum of the server's state then: the same natively, in the window and in the page.
//! `sum games` lists the games, a name and a title each.

use std::process::ExitCode;

use samestep_catalog::{GAMES, Visitor, visit};
use samestep_sandbox::{Playable, Sandbox, Scenario};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let text = match arguments[..] {
        ["games"] => {
            let lines = GAMES
                .iter()
                .map(|game| format!("{} {}", game.name, game.title));
            Ok(lines.collect::<Vec<_>>().join("\n"))
        }
        [link, steps] => match steps.parse() {
            Ok(steps) => sum(link, steps),
            Err(_) => Err(format!("{steps}: expected a number of steps")),
        },
        _ => Err("usage: sum LINK STEPS, or sum games".into()),
    };
    match text {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("sum: {error}");
            ExitCode::FAILURE
        }
    }
}

fn sum(link: &str, steps: u64) -> Result<String, String> {
    let scenario = &Scenario::from_link(link).map_err(|error| error.to_string())?;
    let checksum = visit(&scenario.game, Play { scenario, steps });
    checksum.unwrap_or_else(|| Err(format!("no such game: {}", scenario.game)))
}

struct Play<'a> {
    scenario: &'a Scenario,
    steps: u64,
}

impl Visitor for Play<'_> {
    type Output = Result<String, String>;

    fn visit<G: Playable>(self) -> Self::Output {
        let mut sandbox = Sandbox::<G>::new(self.scenario).map_err(|error| error.to_string())?;
        (0..self.steps).for_each(|_| sandbox.step());
        Ok(format!("{:016x}", sandbox.checksum()))
    }
}
