//! Fights of Sublockus, as the suites judge them.

use samestep_catalog::sublockus::{Bot, Character, Controls, Sublockus, SublockusConfig};
use samestep_sync::{Live, PlayerId, Tick};

use super::judge::Judged;

impl Judged for Sublockus {
    type Seen = Characters;

    fn world(seed: u64) -> Live<Sublockus> {
        let config = SublockusConfig::free_for_all(seed, 6);
        Live::without_recording(Sublockus::new(&config).expect("an arena of the game's own"))
    }

    fn at_rest() -> Controls {
        Controls::default()
    }

    /// Every tick has an input, changed or not.
    fn act(&self, bot: &mut Bot, tick: Tick) -> Option<Controls> {
        Some(bot.controls(tick, self))
    }

    fn seen(&self) -> Characters {
        let mut all: Vec<Character> = self.characters().as_slice().to_vec();
        all.sort_by_key(|character| character.player);
        Characters(all)
    }

    fn difference(
        here: &Characters,
        tick: Tick,
        right: &Characters,
        before: &Characters,
        own: &[PlayerId],
    ) -> Option<String> {
        here.difference(tick, right, before, own)
    }
}

/// All characters at a tick.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Characters(Vec<Character>);

impl Characters {
    /// What is not right, if anything: where somebody is who has not moved since `before`, and all about one's own. Of what moves far away
    /// one is told now and then; where somebody will enter is decided by chance that nobody is told of.
    fn difference(
        &self,
        tick: Tick,
        right: &Characters,
        before: &Characters,
        own: &[PlayerId],
    ) -> Option<String> {
        let players = self.0.iter().chain(&right.0).map(|known| known.player);
        players.into_iter().find_map(|player| {
            let (here, right) = (self.of_player(player), right.of_player(player));
            let place = |known: Option<&Character>| known.map(Character::place);
            let is_at_rest = place(before.of_player(player)) == place(right);
            let is_in = right.is_none_or(|right| u64::from(right.enters) < tick.0);
            let same = match own.contains(&player) {
                _ if !is_in => true,
                true => here == right,
                false => !is_at_rest || place(here) == place(right),
            };
            (!same).then(|| format!("{here:?}, and right is {right:?}"))
        })
    }

    fn of_player(&self, player: PlayerId) -> Option<&Character> {
        self.0.iter().find(|character| character.player == player)
    }
}
