//! Matches of the sandbox: all programs of a room, with the links between them.

use std::fmt::Write;

use samestep_catalog::{NAMES, Visitor, visit};
use samestep_sandbox::{Conditions, ModelKind, Playable, Sandbox, Scenario};

use crate::EVERY;

/// How a file begins that holds a link.
const BEGINS: &str = "sandbox ";
/// Steps that are played.
const STEPS: u64 = 360;

/// Each game under each model.
fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let both = |game: &'static str| ModelKind::ALL.iter().map(move |kind| (game, kind.name));
    NAMES.iter().copied().flat_map(both)
}

fn name((game, model): (&str, &str)) -> String {
    format!("sandbox-{game}-{model}")
}

/// All matches of the sandbox that can be recorded.
pub fn subjects() -> impl Iterator<Item = String> {
    pairs().map(name)
}

/// A link, in a file; `None` if there is no such subject.
pub fn record(subject: &str) -> Option<Vec<u8>> {
    let (game, model) = pairs().find(|pair| name(*pair) == subject)?;
    let mut scenario = Scenario::new(game);
    scenario.model = ModelKind::named(model)?;
    scenario.seed = 7;
    scenario.set_players(3);
    scenario.set_conditions(Conditions::preset("bad-wifi").ok()?);
    scenario.conditions_mut(1).latency_ms = 70.0;
    Some(format!("{BEGINS}{}", scenario.to_link()).into_bytes())
}

/// The link in a file, if it holds one.
pub fn link_in(file: &[u8]) -> Option<&str> {
    std::str::from_utf8(file).ok()?.strip_prefix(BEGINS)
}

/// Plays a match and lists checksums of the server's states.
pub fn report(link: &str) -> Result<String, String> {
    let scenario = Scenario::from_link(link).map_err(|error| error.to_string())?;
    visit(&scenario.game, Play(&scenario))
        .unwrap_or_else(|| Err(format!("no such game: {}", scenario.game)))
}

/// Plays a match and lists checksums.
struct Play<'a>(&'a Scenario);

impl Visitor for Play<'_> {
    type Output = Result<String, String>;

    fn visit<G: Playable>(self) -> Self::Output {
        play::<G>(self.0)
    }
}

fn play<G: Playable>(scenario: &Scenario) -> Result<String, String> {
    let mut sandbox = Sandbox::<G>::new(scenario).map_err(|error| error.to_string())?;
    let mut report = format!("{}\n", scenario.to_link());
    for step in 1..=STEPS {
        // Half-way the model changes, so that every change happens somewhere.
        if step == STEPS / 2 {
            let others = ModelKind::ALL.iter().cycle();
            let next = others.skip_while(|kind| **kind != scenario.model).nth(1);
            next.map(|next| sandbox.set_model(*next));
        }
        sandbox.step();
        if step.is_multiple_of(EVERY) {
            let _ = writeln!(report, "{step} {:016x}", sandbox.checksum());
        }
    }
    Ok(report)
}
