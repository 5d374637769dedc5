//! Inputs that players gave and no tick has yet.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use crate::{PlayerId, Tick};

/// Inputs of a player that may wait for their ticks.
const MAX_PENDING: usize = 256;
/// Inputs of a player that may wait at an authority that sequences them, besides those of a jitter's length.
const MAX_RELEASED: u64 = 128;
/// Bytes of one input.
const MAX_INPUT: usize = 4096;
/// Taken inputs whose memory is kept.
const MAX_SPARE: usize = 64;

/// Inputs in the order in which they were given, by player.
#[derive(Debug, Default)]
pub(super) struct PendingInputs {
    of: BTreeMap<PlayerId, VecDeque<Vec<u8>>>,
    spare: Vec<Vec<u8>>,
    /// How many inputs of a player were released and may not have been taken by a tick yet, as of a tick.
    released: BTreeMap<PlayerId, (Tick, u64)>,
    /// When the first of those that wait was given by a local player.
    pub(super) since: Option<Duration>,
}

impl PendingInputs {
    /// Adds a player's next input. False if too many wait already, or it is too long.
    pub(super) fn push(&mut self, player: PlayerId, input: &[u8]) -> bool {
        let waiting = self.of.entry(player).or_default();
        if waiting.len() >= MAX_PENDING || input.len() > MAX_INPUT {
            return false;
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(input);
        waiting.push_back(bytes);
        true
    }

    /// Adds a local player's next input, as [`push`](Self::push).
    pub(super) fn push_local(&mut self, now: Duration, player: PlayerId, input: &[u8]) -> bool {
        let pushed = self.push(player, input);
        if pushed {
            self.since.get_or_insert(now);
        }
        pushed
    }

    /// Adds an input before all that wait.
    pub(super) fn push_first(&mut self, player: PlayerId, input: &[u8]) {
        self.of.entry(player).or_default().push_front(input.into());
    }

    /// Takes at most `max` inputs of each player that `may`: calls back with the player, which of its inputs it is, and the input.
    pub(super) fn take(
        &mut self,
        max: u64,
        may: impl Fn(PlayerId) -> bool,
        mut taken: impl FnMut(PlayerId, u64, &[u8]),
    ) {
        self.since = None;
        for (player, waiting) in self.of.iter_mut().filter(|(player, _)| may(**player)) {
            for (input, which) in waiting.drain(..waiting.len().min(max as usize)).zip(0..) {
                taken(*player, which, &input);
                if self.spare.len() < MAX_SPARE {
                    self.spare.push(input);
                }
            }
        }
    }

    /// Takes the inputs to send to an authority that sequences them. Every tick takes one of a player there, so no more are released than it can
    /// keep: a burst, and one more per tick. Without a tick everything is released.
    pub(super) fn release(
        &mut self,
        now: Duration,
        tick: Option<Tick>,
    ) -> Vec<(PlayerId, Vec<Vec<u8>>)> {
        self.since = None;
        let mut all = Vec::new();
        for (player, waiting) in self.of.iter_mut().filter(|(_, inputs)| !inputs.is_empty()) {
            let mut count = waiting.len();
            if let Some(tick) = tick {
                let (since, unused) = self.released.entry(*player).or_insert((tick, 0));
                *unused = unused.saturating_sub(tick.since(*since));
                *since = tick;
                count = count.min((MAX_RELEASED - *unused) as usize);
                *unused += count as u64;
            }
            if count > 0 {
                all.push((*player, waiting.drain(..count).collect()));
            }
            if !waiting.is_empty() {
                self.since = Some(now);
            }
        }
        all
    }

    /// How many inputs of a player wait.
    pub(super) fn count(&self, player: PlayerId) -> usize {
        self.of.get(&player).map_or(0, VecDeque::len)
    }

    /// The number of inputs of the player of whom most wait.
    pub(super) fn most_of_one(&self) -> usize {
        self.of.values().map(VecDeque::len).max().unwrap_or(0)
    }

    /// Drops the inputs of a player that left.
    pub(super) fn forget(&mut self, player: PlayerId) {
        self.of.remove(&player);
        self.released.remove(&player);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_taken_in_their_order_and_only_of_those_who_may() {
        let mut pending = PendingInputs::default();
        assert!(pending.push_local(Duration::from_secs(1), PlayerId(2), b"b"));
        assert!(pending.push(PlayerId(1), b"x") && pending.push(PlayerId(2), b"c"));
        pending.push_first(PlayerId(2), b"a");
        assert_eq!(pending.since, Some(Duration::from_secs(1)));
        let mut taken = Vec::new();
        let mut note = |player: PlayerId, which, input: &[u8]| {
            taken.push((player.0, which, input.to_vec()));
        };
        pending.take(2, |player| player == PlayerId(2), &mut note);
        assert_eq!(taken, [(2, 0, b"a".to_vec()), (2, 1, b"b".to_vec())]);
        assert_eq!((pending.since, pending.count(PlayerId(2))), (None, 1));
        pending.forget(PlayerId(1));
        let released = pending.release(Duration::ZERO, Some(Tick(0)));
        assert_eq!(released, [(PlayerId(2), vec![b"c".to_vec()])]);
    }

    #[test]
    fn no_more_are_released_than_the_authority_takes() {
        let mut pending = PendingInputs::default();
        for number in 0..200u8 {
            assert!(pending.push_local(Duration::ZERO, PlayerId(2), &[number]));
        }
        let mut released = |tick| {
            let all = pending.release(Duration::from_secs(1), Some(Tick(tick)));
            let all = all.into_iter().flat_map(|(_, inputs)| inputs).flatten();
            (all.collect::<Vec<u8>>(), pending.since)
        };
        let later = Some(Duration::from_secs(1));
        assert_eq!(released(10), ((0..128).collect(), later));
        assert_eq!(released(10), (Vec::new(), later));
        assert_eq!(released(12), (vec![128, 129], later));
        assert_eq!(released(1000), ((130..200).collect(), None));
    }

    #[test]
    fn a_player_cannot_fill_the_memory() {
        let mut pending = PendingInputs::default();
        assert!(!pending.push(PlayerId(0), &[0; MAX_INPUT + 1]));
        let taken = (0..1000).filter(|_| pending.push(PlayerId(0), b"x"));
        assert_eq!(taken.count(), MAX_PENDING);
    }
}
