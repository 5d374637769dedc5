//! Sublockus as the lab plays it: what players do is known beforehand, and done at the same times whichever model keeps them together.

mod paths;
mod pictures;
mod played;

use std::collections::BTreeMap;

use samestep_catalog::sublockus::{Angle, Bot, Controls, Sublockus};
use samestep_sync::{Events, Input, Inputs, PlayerId, Rng, Simulation, Tick, random};

use crate::testmatch::InputScript;
pub use paths::{CharacterSample, Correction, PredictedPath, TruePath};
pub use played::{FightConfig, FightScenario, Played, PlayerRecord, play};

/// The inputs of all players, in the order of their ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedInputs {
    lines: Vec<ScriptedInput>,
}

/// The input of a player in a tick of the script.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScriptedInput {
    /// The tick of the input.
    pub tick: Tick,
    /// The player who gives it.
    pub player: PlayerId,
    /// The controls as the player holds them.
    pub controls: Controls,
}

impl ScriptedInputs {
    /// The inputs of bots that fight without a network: their inputs take effect at once.
    pub fn rehearsed(game: &Sublockus, seed: u64, players: u16, ticks: u64) -> ScriptedInputs {
        let mut game = game.clone();
        let players: Vec<PlayerId> = (0..players).map(PlayerId).collect();
        let mut bots: Vec<Bot> = players.iter().map(|p| Bot::new(seed, *p)).collect();
        let mut held = vec![Controls::default(); players.len()];
        let mut tags = Tags::new(players.len());
        let mut lines = Vec::new();
        for tick in (0..ticks).map(Tick) {
            let mut given = Vec::new();
            for (at, bot) in bots.iter_mut().enumerate() {
                held[at] = held[at].predict();
                let Some(controls) = bot.decide(tick, &game) else {
                    continue;
                };
                held[at] = tags.mark(at, controls);
                given.push(at as u16);
                lines.push(ScriptedInput {
                    tick,
                    player: players[at],
                    controls: held[at],
                });
            }
            let inputs = Inputs::new(tick, &players, &held, &given);
            game.step(&inputs, &mut Events::new());
        }
        ScriptedInputs { lines }
    }

    /// Everyone runs, jumps and looks around, and does nothing to anybody.
    pub fn strolled(seed: u64, players: u16, ticks: u64) -> ScriptedInputs {
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
                    controls: tags.mark(at, controls),
                });
            }
        }
        ScriptedInputs { lines }
    }

    /// Only what one player does.
    pub fn only(mut self, player: PlayerId) -> ScriptedInputs {
        self.lines.retain(|line| line.player == player);
        self
    }

    /// The inputs of the script.
    pub fn lines(&self) -> &[ScriptedInput] {
        &self.lines
    }

    /// The script as a match plays it.
    pub fn script(self) -> InputScript<Sublockus> {
        let keyed = |line: &ScriptedInput| ((line.tick, line.player), line.controls);
        let lines: BTreeMap<(Tick, PlayerId), Controls> = self.lines.iter().map(keyed).collect();
        Box::new(move |_, tick, player| lines.get(&(tick, player)).copied())
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

/// Numbers what players do, so that it can be recognised in what others are shown of them: in the last bits of where they aim.
#[derive(Clone, Debug)]
pub struct Tags {
    next: Vec<u16>,
}

/// How many numbers there are; together they change the aim by a third of a degree.
pub const TAGS: u16 = 64;

impl Tags {
    /// For so many players.
    pub fn new(players: usize) -> Tags {
        Tags {
            next: vec![1; players],
        }
    }

    /// The same with the next number of this player.
    pub fn mark(&mut self, player: usize, mut controls: Controls) -> Controls {
        let tag = self.next[player];
        self.next[player] = tag % (TAGS - 1) + 1;
        controls.aim = Angle(controls.aim.0 - controls.aim.0 % TAGS + tag);
        controls
    }
}

/// The number of what somebody did last, by where it aims.
pub fn tag_of(aim: Angle) -> u16 {
    aim.0 % TAGS
}

/// Whether the one who did `shown` last has done `tag` by then: it is at most half of all numbers ago. Who has done nothing yet shows 0.
pub fn has_done(shown: u16, tag: u16) -> bool {
    shown != 0 && (shown + TAGS - 1 - tag) % (TAGS - 1) < TAGS / 2
}

#[cfg(test)]
mod tests {
    use samestep_catalog::sublockus::SublockusConfig;

    use super::*;

    fn game(seed: u64) -> Sublockus {
        Sublockus::new(&SublockusConfig::free_for_all(seed, 4)).unwrap()
    }

    #[test]
    fn a_rehearsal_is_a_fight_and_the_same_every_time() {
        let script = ScriptedInputs::rehearsed(&game(3), 3, 4, 1200);
        assert_eq!(script, ScriptedInputs::rehearsed(&game(3), 3, 4, 1200));
        let casts = |player| {
            let of = |line: &&ScriptedInput| {
                line.player == PlayerId(player) && line.controls.cast.is_some()
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
        let harmless = |line: &ScriptedInput| line.controls == line.controls.predict();
        assert!(script.lines().iter().all(harmless));
        assert!(script.lines().iter().any(|line| line.controls.jump));
    }

    #[test]
    fn what_was_done_is_recognised_by_its_number() {
        let mut tags = Tags::new(2);
        let mut seen = Vec::new();
        for number in 0..200 {
            let controls = Controls {
                aim: Angle(65_535),
                ..Controls::default()
            };
            let aim = tags.mark(1, controls).aim;
            assert!(65_535 - aim.0 < TAGS);
            seen.push(tag_of(aim));
            for (earlier, tag) in seen.iter().enumerate().rev().take(30) {
                assert!(has_done(seen[number], *tag), "{earlier} and {number}");
                assert!(earlier == number || !has_done(*tag, seen[number]));
            }
            assert!(!has_done(0, seen[number]));
        }
    }
}
