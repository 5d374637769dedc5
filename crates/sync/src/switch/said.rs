//! Numbers for what players do, so that nothing is lost or done twice when the model changes.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use crate::bytes::{Bytes, put};
use crate::{PlayerId, TickInputs};

/// Inputs of a player that may wait to be known to have taken effect.
const MAX_KEPT: usize = 1024;
/// What has not taken effect for so long, while later things have, never will.
const LOST: Duration = Duration::from_secs(1);
/// Numbers that are left out for what a former life of a program may have said and nobody has heard yet.
const LIFE: u64 = 1024;

/// An input with its number in front; none has the number 0.
pub(super) fn wrap(number: u64, input: &[u8], out: &mut Vec<u8>) {
    out.clear();
    put(out, number);
    out.extend_from_slice(input);
}

/// The number of an input, and the input. What has none is nothing.
pub(super) fn unwrap(wrapped: &[u8]) -> (u64, &[u8]) {
    let mut r = Bytes(wrapped);
    match r.number() {
        Some(number) => (number, r.0),
        None => (0, &[]),
    }
}

/// What the players of this program have said and is not known to have taken effect.
#[derive(Debug, Default)]
pub(super) struct Said {
    of: BTreeMap<PlayerId, Kept>,
    /// The state was replaced meanwhile: some may have taken effect unseen.
    unsure: bool,
}

#[derive(Debug, Default)]
struct Kept {
    /// The number of the newest.
    last: u64,
    /// Of those that are kept, in their order: when it was said, number, input.
    kept: VecDeque<(Duration, u64, Vec<u8>)>,
    /// How many of the last of those the model has yet to be told.
    untold: usize,
}

impl Said {
    /// Keeps what a player does, to be told.
    pub(super) fn push(&mut self, now: Duration, player: PlayerId, input: &[u8]) -> bool {
        let of = self.of.entry(player).or_default();
        if of.kept.len() >= MAX_KEPT {
            return false;
        }
        of.last += 1;
        of.kept.push_back((now, of.last, input.to_vec()));
        of.untold += 1;
        true
    }

    /// The next thing that the model is to be told, with its number in front.
    pub(super) fn next_untold(
        &self,
        out: &mut Vec<u8>,
        after: Option<PlayerId>,
    ) -> Option<PlayerId> {
        let mut waiting = self.of.iter().filter(|(_, of)| of.untold > 0);
        let (player, of) =
            waiting.find(|(player, _)| after.is_none_or(|after| **player > after))?;
        let (_, number, input) = of.kept.get(of.kept.len() - of.untold)?;
        wrap(*number, input, out);
        Some(*player)
    }

    /// The model has taken that.
    pub(super) fn on_told(&mut self, player: PlayerId) {
        if let Some(of) = self.of.get_mut(&player) {
            of.untold = of.untold.saturating_sub(1);
        }
    }

    /// The model does not take what was said last: it was never said.
    pub(super) fn take_back(&mut self, player: PlayerId) {
        if let Some(of) = self.of.get_mut(&player) {
            of.kept.pop_back();
            of.untold = of.untold.min(of.kept.len());
        }
    }

    /// Whether something of a player waits to be told that was said before the last.
    pub(super) fn waits_of(&self, player: PlayerId) -> bool {
        self.of.get(&player).is_some_and(|of| of.untold > 0)
    }

    /// Some model's ticks are settled in which this took effect.
    pub(super) fn on_settled(&mut self, now: Duration, player: PlayerId, number: u64) {
        let Some(of) = self.of.get_mut(&player) else {
            return;
        };
        let told = of.kept.len() - of.untold;
        let mut place = 0;
        let mut dropped = 0;
        of.kept.retain(|(at, kept, _)| {
            place += 1;
            let is_lost = *kept < number && *at + LOST < now;
            let goes = *kept == number || is_lost;
            dropped += usize::from(goes && place > told);
            !goes
        });
        of.untold -= dropped;
        self.unsure &= !of.kept.is_empty();
    }

    /// The authority says that everything up to this number has taken effect.
    pub(super) fn on_applied(&mut self, player: PlayerId, number: u64) {
        if let Some(of) = self.of.get_mut(&player) {
            of.kept.retain(|(_, kept, _)| *kept > number);
            of.untold = of.untold.min(of.kept.len());
        }
    }

    /// A program that begins goes on where another life of it may have ended.
    pub(super) fn go_on_from(&mut self, player: PlayerId, number: u64) {
        let of = self.of.entry(player).or_default();
        if of.last < number {
            of.last = number + LIFE;
        }
    }

    /// The state was replaced: what has taken effect was not seen.
    pub(super) fn on_replaced(&mut self) {
        self.unsure = self.of.values().any(|of| !of.kept.is_empty());
    }

    /// Whether some may have taken effect unseen.
    pub(super) fn is_unsure(&self) -> bool {
        self.unsure
    }

    /// Another model is to be told everything that has not taken effect.
    pub(super) fn say_again(&mut self) {
        self.unsure = false;
        for of in self.of.values_mut() {
            of.untold = of.kept.len();
        }
    }

    /// Forgets those who do not play here any more.
    pub(super) fn retain(&mut self, here: &[PlayerId]) {
        self.of.retain(|player, _| here.contains(player));
    }
}

/// What is known from the ticks that were settled.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// The last number of each player that took effect.
    last: BTreeMap<PlayerId, u64>,
    /// Since that was asked.
    news: Vec<(PlayerId, u64)>,
}

impl Applied {
    pub(super) fn on_settled(&mut self, player: PlayerId, number: u64) {
        if number > 0 {
            self.last.insert(player, number);
            self.news.push((player, number));
        }
    }

    /// What has taken effect since this was asked.
    pub(super) fn news(&mut self) -> impl Iterator<Item = (PlayerId, u64)> {
        self.news.drain(..)
    }

    pub(super) fn of(&self, player: PlayerId) -> Option<u64> {
        self.last.get(&player).copied()
    }
}

/// What players say in a tick, without the numbers.
pub(super) fn strip(inputs: &TickInputs, out: &mut TickInputs) {
    out.clear();
    out.share_players(inputs);
    for (player, wrapped) in inputs.entries() {
        out.push(player, unwrap(wrapped).1);
    }
    for (player, view_time) in inputs.view_times() {
        out.set_view_time(*player, *view_time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(5);
    const ANN: PlayerId = PlayerId(4);

    /// What the model is told.
    fn tell(said: &mut Said) -> Vec<(u64, Vec<u8>)> {
        let (mut told, mut bytes) = (Vec::new(), Vec::new());
        while let Some(player) = said.next_untold(&mut bytes, None) {
            let (number, input) = unwrap(&bytes);
            told.push((number, input.to_vec()));
            said.on_told(player);
        }
        told
    }

    fn numbers(told: Vec<(u64, Vec<u8>)>) -> Vec<u64> {
        told.into_iter().map(|(number, _)| number).collect()
    }

    #[test]
    fn what_has_not_taken_effect_is_said_again_in_its_order() {
        let mut said = Said::default();
        for input in [b"a", b"b", b"c"] {
            assert!(said.push(NOW, ANN, input));
        }
        assert_eq!(numbers(tell(&mut said)), [1, 2, 3]);
        said.on_settled(NOW, ANN, 2);
        assert!(said.push(NOW, ANN, b"d"));
        said.say_again();
        let again = [(1, b"a".to_vec()), (3, b"c".to_vec()), (4, b"d".to_vec())];
        assert_eq!(tell(&mut said), again);
        said.on_applied(ANN, 3);
        said.say_again();
        assert_eq!(numbers(tell(&mut said)), [4]);
    }

    #[test]
    fn what_got_lost_long_ago_is_not_said_again() {
        let mut said = Said::default();
        for _ in 0..3 {
            said.push(NOW, ANN, b"");
        }
        tell(&mut said);
        said.on_settled(NOW + 2 * LOST, ANN, 2);
        said.say_again();
        assert_eq!(numbers(tell(&mut said)), [3]);
    }

    #[test]
    fn what_is_not_taken_was_never_said() {
        let mut said = Said::default();
        said.push(NOW, ANN, b"a");
        said.take_back(ANN);
        assert!(!said.waits_of(ANN));
        assert_eq!(tell(&mut said), []);
    }

    #[test]
    fn another_life_of_a_program_counts_on() {
        let mut said = Said::default();
        said.go_on_from(ANN, 70);
        said.push(NOW, ANN, b"a");
        let told = numbers(tell(&mut said));
        assert!(told[0] > 70, "{told:?}");
        said.go_on_from(ANN, 80);
        said.push(NOW, ANN, b"b");
        assert_eq!(numbers(tell(&mut said)), [told[0] + 1]);
    }

    #[test]
    fn an_input_without_a_number_is_nothing() {
        assert_eq!(unwrap(&[]), (0, &[][..]));
        assert_eq!(unwrap(&[0xff; 20]), (0, &[][..]));
        let mut inputs = TickInputs::new();
        inputs.set_players(&[ANN]);
        inputs.push(ANN, &[5, 7, 8]);
        let mut plain = TickInputs::new();
        strip(&inputs, &mut plain);
        assert_eq!(plain.entries().collect::<Vec<_>>(), [(ANN, &[7, 8][..])]);
        assert_eq!(plain.players(), [ANN]);
    }
}
