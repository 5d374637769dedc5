//! Example recordings: a short match, or one with a tampered state.

use samestep_sandbox::{Conditions, ModelKind, SandboxError, Scenario};

use crate::any_match::{AnyMatch, GameEntry};

/// How long a match is, in steps.
const MATCH: u64 = 20 * 60;
/// When the state is tampered with.
const TAMPERING: u64 = 5 * 60;
/// The time after which an undetected desync is given up.
const PATIENCE: u64 = 15 * 60;

/// The kinds of examples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A match of bots.
    Match,
    /// A tampered state, detected by the others.
    Desync,
}

/// A match that is played behind the scenes.
pub(super) struct Example {
    kind: Kind,
    live: Box<dyn AnyMatch>,
    name: String,
}

impl Example {
    /// Begins one.
    pub(super) fn new(game: &GameEntry, kind: Kind) -> Result<Example, SandboxError> {
        let mut scenario = Scenario::new(game.name);
        scenario.set_players(3);
        if let Ok(line) = Conditions::preset("broadband") {
            scenario.set_conditions(line);
        }
        // Those who simulate everything themselves are those who can differ.
        if let Some(model) = ModelKind::named("lockstep") {
            scenario.model = model;
        }
        let what = match kind {
            Kind::Match => "example",
            Kind::Desync => "desync",
        };
        Ok(Example {
            kind,
            live: (game.open)(&scenario)?,
            name: format!("{}-{what}.replay", game.name),
        })
    }

    /// How far it is, from 0 to 1.
    pub(super) fn progress(&self) -> f32 {
        let steps = match self.kind {
            Kind::Match => MATCH,
            Kind::Desync => TAMPERING + 120,
        };
        (self.live.steps() as f32 / steps as f32).min(1.0)
    }

    /// Advances by a step. At the end it returns a file with its name, or an error message.
    pub(super) fn step(&mut self) -> Option<Result<(String, Vec<u8>), String>> {
        self.live.step();
        match self.kind {
            Kind::Match if self.live.steps() >= MATCH => {
                Some(Ok((self.name.clone(), self.live.recording())))
            }
            Kind::Match => None,
            Kind::Desync => self.tamper(),
        }
    }

    fn tamper(&mut self) -> Option<Result<(String, Vec<u8>), String>> {
        let steps = self.live.steps();
        if steps == TAMPERING {
            self.live.tamper(1);
        }
        let bundles = self.live.desyncs().iter();
        let mut bundles = bundles.filter_map(|desync| desync.report.bundle.clone());
        match bundles.next() {
            Some(bundle) => Some(Ok((self.name.clone(), bundle))),
            None if steps > PATIENCE => Some(Err("nobody noticed the tampering".into())),
            None => None,
        }
    }
}
