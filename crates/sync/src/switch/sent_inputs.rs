//! Numbered inputs, so that none is lost or takes effect twice when the model changes.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use crate::bytes::{Bytes, put};
use crate::{InputKind, PlayerId, TickInputs};

/// The maximum number of a player's inputs that are not known to have taken effect.
const MAX_KEPT: usize = 1024;
/// An input that has not taken effect for so long, while later ones have, is lost.
const LOST: Duration = Duration::from_secs(1);
/// Numbers that are left out for inputs which an earlier incarnation of a program may have sent and nobody has received yet.
const LIFE: u64 = 1024;

/// An input with its number in front; none has the number 0.
pub(super) fn wrap(number: u64, input: &[u8], out: &mut Vec<u8>) {
    out.clear();
    put(out, number);
    out.extend_from_slice(input);
}

/// The number of an input, and the input; without a number it is empty.
pub(super) fn unwrap(wrapped: &[u8]) -> (u64, &[u8]) {
    let mut r = Bytes(wrapped);
    match r.number() {
        Some(number) => (number, r.0),
        None => (0, &[]),
    }
}

/// Inputs of this program's players that are not known to have taken effect.
#[derive(Debug, Default)]
pub(super) struct SentInputs {
    of: BTreeMap<PlayerId, PlayerInputs>,
    /// The state was replaced meanwhile: some may have taken effect unseen.
    uncertain: bool,
}

#[derive(Debug, Default)]
struct PlayerInputs {
    /// The number of the newest.
    last: u64,
    /// In their order.
    kept: VecDeque<KeptInput>,
    /// How many of the last of those the model has yet to be given.
    pending: usize,
}

#[derive(Debug)]
struct KeptInput {
    given_at: Duration,
    number: u64,
    input: Vec<u8>,
    kind: InputKind,
}

impl SentInputs {
    /// Keeps an input, to be given to the model.
    pub(super) fn push(
        &mut self,
        now: Duration,
        player: PlayerId,
        input: &[u8],
        kind: InputKind,
    ) -> bool {
        let of = self.of.entry(player).or_default();
        if of.kept.len() >= MAX_KEPT {
            return false;
        }
        of.last += 1;
        of.kept.push_back(KeptInput {
            given_at: now,
            number: of.last,
            input: input.to_vec(),
            kind,
        });
        of.pending += 1;
        true
    }

    /// The next input that the model is to be given, with its number in front.
    pub(super) fn next_pending(
        &self,
        out: &mut Vec<u8>,
        after: Option<PlayerId>,
    ) -> Option<(PlayerId, InputKind)> {
        let mut waiting = self.of.iter().filter(|(_, of)| of.pending > 0);
        let (player, of) =
            waiting.find(|(player, _)| after.is_none_or(|after| **player > after))?;
        let next = of.kept.get(of.kept.len() - of.pending)?;
        wrap(next.number, &next.input, out);
        Some((*player, next.kind))
    }

    /// The model has taken a player's next pending input.
    pub(super) fn on_given(&mut self, player: PlayerId) {
        if let Some(of) = self.of.get_mut(&player) {
            of.pending = of.pending.saturating_sub(1);
        }
    }

    /// The model refuses the last input: it counts as never given.
    pub(super) fn take_back(&mut self, player: PlayerId) {
        if let Some(of) = self.of.get_mut(&player) {
            of.kept.pop_back();
            of.pending = of.pending.min(of.kept.len());
        }
    }

    /// Whether inputs of a player wait to be given to the model.
    pub(super) fn has_pending(&self, player: PlayerId) -> bool {
        self.of.get(&player).is_some_and(|of| of.pending > 0)
    }

    /// A tick in which this input took effect is confirmed.
    pub(super) fn on_confirmed(&mut self, now: Duration, player: PlayerId, number: u64) {
        let Some(of) = self.of.get_mut(&player) else {
            return;
        };
        let given = of.kept.len() - of.pending;
        let mut place = 0;
        let mut dropped = 0;
        of.kept.retain(|kept| {
            place += 1;
            let is_lost = kept.number < number && kept.given_at + LOST < now;
            let goes = kept.number == number || is_lost;
            dropped += usize::from(goes && place > given);
            !goes
        });
        of.pending -= dropped;
        self.uncertain &= !of.kept.is_empty();
    }

    /// The authority reports that every input up to this number has taken effect.
    pub(super) fn on_applied(&mut self, player: PlayerId, number: u64) {
        if let Some(of) = self.of.get_mut(&player) {
            of.kept.retain(|kept| kept.number > number);
            of.pending = of.pending.min(of.kept.len());
        }
    }

    /// Continues the numbers where an earlier incarnation of this program may have ended.
    pub(super) fn continue_from(&mut self, player: PlayerId, number: u64) {
        let of = self.of.entry(player).or_default();
        if of.last < number {
            of.last = number + LIFE;
        }
    }

    /// The state was replaced: what has taken effect was not seen.
    pub(super) fn on_replaced(&mut self) {
        self.uncertain = self.of.values().any(|of| !of.kept.is_empty());
    }

    /// Whether some may have taken effect unseen.
    pub(super) fn is_uncertain(&self) -> bool {
        self.uncertain
    }

    /// The next model is to be given every input that has not taken effect.
    pub(super) fn give_again(&mut self) {
        self.uncertain = false;
        for of in self.of.values_mut() {
            of.pending = of.kept.len();
        }
    }

    /// Forgets those who do not play here any more.
    pub(super) fn retain(&mut self, here: &[PlayerId]) {
        self.of.retain(|player, _| here.contains(player));
    }
}

/// Which inputs have taken effect in confirmed ticks.
#[derive(Debug, Default)]
pub(super) struct AppliedInputs {
    /// The last number of each player that took effect.
    last: BTreeMap<PlayerId, u64>,
    /// Since that was asked.
    news: Vec<(PlayerId, u64)>,
}

impl AppliedInputs {
    pub(super) fn on_confirmed(&mut self, player: PlayerId, number: u64) {
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
    out.share_attendance(inputs);
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

    /// What the model is given.
    fn give(sent_inputs: &mut SentInputs) -> Vec<(u64, Vec<u8>)> {
        let (mut given, mut bytes) = (Vec::new(), Vec::new());
        while let Some((player, _)) = sent_inputs.next_pending(&mut bytes, None) {
            let (number, input) = unwrap(&bytes);
            given.push((number, input.to_vec()));
            sent_inputs.on_given(player);
        }
        given
    }

    fn numbers(given: Vec<(u64, Vec<u8>)>) -> Vec<u64> {
        given.into_iter().map(|(number, _)| number).collect()
    }

    #[test]
    fn what_has_not_taken_effect_is_said_again_in_its_order() {
        let mut sent_inputs = SentInputs::default();
        for input in [b"a", b"b", b"c"] {
            assert!(sent_inputs.push(NOW, ANN, input, InputKind::Command));
        }
        assert_eq!(numbers(give(&mut sent_inputs)), [1, 2, 3]);
        sent_inputs.on_confirmed(NOW, ANN, 2);
        assert!(sent_inputs.push(NOW, ANN, b"d", InputKind::Command));
        sent_inputs.give_again();
        let again = [(1, b"a".to_vec()), (3, b"c".to_vec()), (4, b"d".to_vec())];
        assert_eq!(give(&mut sent_inputs), again);
        sent_inputs.on_applied(ANN, 3);
        sent_inputs.give_again();
        assert_eq!(numbers(give(&mut sent_inputs)), [4]);
    }

    #[test]
    fn what_got_lost_long_ago_is_not_said_again() {
        let mut sent_inputs = SentInputs::default();
        for _ in 0..3 {
            sent_inputs.push(NOW, ANN, b"", InputKind::Command);
        }
        give(&mut sent_inputs);
        sent_inputs.on_confirmed(NOW + 2 * LOST, ANN, 2);
        sent_inputs.give_again();
        assert_eq!(numbers(give(&mut sent_inputs)), [3]);
    }

    #[test]
    fn what_is_not_taken_was_never_said() {
        let mut sent_inputs = SentInputs::default();
        sent_inputs.push(NOW, ANN, b"a", InputKind::Command);
        sent_inputs.take_back(ANN);
        assert!(!sent_inputs.has_pending(ANN));
        assert_eq!(give(&mut sent_inputs), []);
    }

    #[test]
    fn another_life_of_a_program_counts_on() {
        let mut sent_inputs = SentInputs::default();
        sent_inputs.continue_from(ANN, 70);
        sent_inputs.push(NOW, ANN, b"a", InputKind::Command);
        let given = numbers(give(&mut sent_inputs));
        assert!(given[0] > 70, "{given:?}");
        sent_inputs.continue_from(ANN, 80);
        sent_inputs.push(NOW, ANN, b"b", InputKind::Command);
        assert_eq!(numbers(give(&mut sent_inputs)), [given[0] + 1]);
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
