//! Games as the lab plays them: what players do is known beforehand, and done at the same times whichever model keeps them together.

mod games;
mod paths;
mod pictures;
mod played;
mod ruled;
mod verdicts;

use std::collections::BTreeMap;

use samestep_catalog::sublockus::{Angle, Controls, Sublockus};
use samestep_playable::Setup;
use samestep_sync::{Events, Input, Inputs, PlayerId, Rng, Simulation, Tick, random};

use crate::testmatch::InputScript;
pub use games::{MarkedGame, brawl, hunt};
pub use paths::{CharacterSample, Correction, PredictedPath, TruePath};
pub use played::{FightConfig, FightScenario, Played, PlayerRecord, play};
pub use ruled::play_ruled;

/// A game, and what its players do in it.
pub struct ScriptedGame<G: MarkedGame> {
    /// How it begins.
    pub game: G,
    /// The inputs of all players.
    pub inputs: ScriptedInputs<G::Input>,
}

/// The inputs of all players, in the order of their ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedInputs<I> {
    lines: Vec<ScriptedInput<I>>,
}

/// The input of a player in a tick of the script.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedInput<I> {
    /// The tick of the input.
    pub tick: Tick,
    /// The player who gives it.
    pub player: PlayerId,
    /// What the player does.
    pub input: I,
}

impl<G: MarkedGame> ScriptedGame<G> {
    /// A game with the inputs of bots that play it without a network: their inputs take effect at once.
    pub fn rehearsed(game: G, seed: u64, players: u16, ticks: u64) -> ScriptedGame<G> {
        let mut rehearsal = game.clone();
        let setup = Setup {
            players,
            size: None,
            seed,
        };
        let players: Vec<PlayerId> = (0..players).map(PlayerId).collect();
        let mut bots: Vec<G::Bot> = players.iter().map(|p| G::bot(&setup, *p)).collect();
        let mut held = vec![G::Input::default(); players.len()];
        let mut tags = Tags::new(players.len());
        let mut lines = Vec::new();
        for tick in (0..ticks).map(Tick) {
            let mut given = Vec::new();
            for (at, bot) in bots.iter_mut().enumerate() {
                held[at] = held[at].predict();
                let Some(input) = rehearsal.decide(bot, tick) else {
                    continue;
                };
                held[at] = tags.mark::<G>(at, input);
                given.push(at as u16);
                lines.push(ScriptedInput {
                    tick,
                    player: players[at],
                    input: held[at].clone(),
                });
            }
            let inputs = Inputs::new(tick, &players, &held, &given);
            rehearsal.step(&inputs, &mut Events::new());
        }
        let inputs = ScriptedInputs { lines };
        ScriptedGame { game, inputs }
    }
}

impl ScriptedInputs<Controls> {
    /// Everyone runs, jumps and looks around, and does nothing to anybody.
    pub fn strolled(seed: u64, players: u16, ticks: u64) -> ScriptedInputs<Controls> {
        let mut tags = Tags::new(players.into());
        let mut lines = Vec::new();
        let mut wanderers: Vec<Wanderer> = (0..players)
            .map(|player| Wanderer::new(random::hash(seed, player.into(), 2)))
            .collect();
        for tick in (0..ticks).map(Tick) {
            for (at, wanderer) in wanderers.iter_mut().enumerate() {
                let Some(controls) = wanderer.decide(tick.0) else {
                    continue;
                };
                lines.push(ScriptedInput {
                    tick,
                    player: PlayerId(at as u16),
                    input: tags.mark::<Sublockus>(at, controls),
                });
            }
        }
        ScriptedInputs { lines }
    }
}

impl<I: Input + Send> ScriptedInputs<I> {
    /// Only what one player does.
    pub fn only(mut self, player: PlayerId) -> ScriptedInputs<I> {
        self.lines.retain(|line| line.player == player);
        self
    }

    /// The inputs of the script.
    pub fn lines(&self) -> &[ScriptedInput<I>] {
        &self.lines
    }

    /// The script as a match plays it.
    pub fn script<G: Simulation<Input = I>>(self) -> InputScript<G> {
        let keyed = |line: ScriptedInput<I>| ((line.tick, line.player), line.input);
        let lines: BTreeMap<(Tick, PlayerId), I> = self.lines.into_iter().map(keyed).collect();
        Box::new(move |_, tick, player| lines.get(&(tick, player)).cloned())
    }
}

/// Somebody who runs and jumps for no reason.
#[derive(Clone, Debug)]
pub struct Wanderer {
    rng: Rng,
    held: Controls,
    turns_at: u64,
    jumps_at: u64,
}

impl Wanderer {
    /// A wanderer whose decisions follow from a seed.
    pub fn new(seed: u64) -> Wanderer {
        Wanderer {
            rng: Rng::new(seed),
            held: Controls::default(),
            turns_at: 0,
            jumps_at: 0,
        }
    }

    /// Its controls in a tick, unless they are the same as before.
    pub fn decide(&mut self, tick: u64) -> Option<Controls> {
        let before = self.held;
        if tick >= self.turns_at {
            self.turns_at = tick + 8 + u64::from(self.rng.below(40));
            let way = self.rng.below(8);
            (self.held.left, self.held.right) = (way < 3, (3..6).contains(&way));
            self.held.down = way == 7;
            self.held.aim = Angle(self.rng.below(65_536) as u16);
        }
        if tick >= self.jumps_at {
            self.held.jump = !self.held.jump;
            self.jumps_at = tick + 4 + u64::from(self.rng.below(30));
        }
        (self.held != before).then_some(self.held)
    }
}

/// Numbers what players do, so that it can be recognised in what others are shown of them.
#[derive(Clone, Debug)]
pub struct Tags {
    next: Vec<u16>,
}

impl Tags {
    /// For so many players.
    pub fn new(players: usize) -> Tags {
        Tags {
            next: vec![1; players],
        }
    }

    /// The same with the next number of this player, if it can bear one.
    pub fn mark<G: MarkedGame>(&mut self, player: usize, input: G::Input) -> G::Input {
        let tag = self.next[player];
        match G::mark(input.clone(), tag) {
            Some(marked) => {
                self.next[player] = tag % G::TAGS + 1;
                marked
            }
            None => input,
        }
    }
}

/// Whether the one who did `shown` last, of so many numbers, has done `tag` by then: it is at most half of all numbers ago. Who has done nothing yet shows 0.
pub fn has_done(tags: u16, shown: u16, tag: u16) -> bool {
    shown != 0 && (shown + tags - tag) % tags < tags.div_ceil(2)
}

#[cfg(test)]
mod tests {
    use samestep_catalog::hat_hunters::{Controls as HunterControls, HatHunters, Heading, Steer};
    use samestep_catalog::sublockus::SublockusConfig;

    use super::*;

    fn rehearsed(seed: u64) -> ScriptedInputs<Controls> {
        let game = Sublockus::new(&SublockusConfig::free_for_all(seed, 4)).unwrap();
        ScriptedGame::rehearsed(game, seed, 4, 1200).inputs
    }

    #[test]
    fn a_rehearsal_is_a_fight_and_the_same_every_time() {
        let script = rehearsed(3);
        assert_eq!(script, rehearsed(3));
        let casts = |player| {
            let of = |line: &&ScriptedInput<Controls>| {
                line.player == PlayerId(player) && line.input.cast.is_some()
            };
            script.lines().iter().filter(of).count()
        };
        assert!((0..4).all(|player| casts(player) > 0));
        assert!(script.lines().is_sorted_by_key(|line| line.tick));
    }

    #[test]
    fn strollers_hurt_nobody() {
        let script = ScriptedInputs::strolled(5, 3, 600);
        assert!(script.lines().len() > 60);
        let harmless = |line: &ScriptedInput<Controls>| line.input == line.input.predict();
        assert!(script.lines().iter().all(harmless));
        assert!(script.lines().iter().any(|line| line.input.jump));
    }

    /// Inputs that follow each other are told apart, as long as fewer of them are under way than half of all numbers.
    fn are_recognised<G: MarkedGame>(input: impl Fn(u32) -> G::Input) {
        let mut tags = Tags::new(2);
        let mut seen: Vec<u16> = Vec::new();
        for number in 0..200 {
            let marked = tags.mark::<G>(1, input(number));
            let tag = G::tag(&marked).expect("it bears a number");
            seen.push(tag);
            let recent = usize::from(G::TAGS).div_ceil(2);
            for (earlier, other) in seen.iter().enumerate().rev().take(recent) {
                assert!(has_done(G::TAGS, tag, *other), "{earlier} and {number}");
                assert!(other == &tag || !has_done(G::TAGS, *other, tag));
            }
            assert!(!has_done(G::TAGS, 0, tag));
        }
    }

    #[test]
    fn what_was_done_is_recognised_by_its_number() {
        are_recognised::<Sublockus>(|_| Controls {
            aim: Angle(65_535),
            ..Controls::default()
        });
        let towards = |number: u32| Heading((number * 7 % 32) as u8);
        are_recognised::<HatHunters>(|number| HunterControls::steering(Some(towards(number))));
    }

    #[test]
    fn a_number_changes_an_input_by_little() {
        for (heading, tag) in (0..32).flat_map(|heading| (1..=4).map(move |tag| (heading, tag))) {
            let marked = HatHunters::mark(HunterControls::steering(Some(Heading(heading))), tag);
            let Some(Steer::Towards(turned)) = marked.map(|controls| controls.steer) else {
                panic!("who walks bears a number");
            };
            let apart = (turned.0 + 32 - heading) % 32;
            assert!(
                apart <= 2 || apart == 31,
                "{heading} with {tag}: {turned:?}"
            );
        }
        assert_eq!(HatHunters::mark(HunterControls::default(), 1), None);
    }
}
