//! What players do and no tick has yet.

use std::collections::{BTreeMap, VecDeque};

use crate::PlayerId;

/// Inputs of a player that may wait for their ticks.
const MAX_PENDING: usize = 256;
/// Bytes of one input.
const MAX_INPUT: usize = 4096;
/// Inputs that were taken whose memory is kept.
const MAX_SPARE: usize = 64;

/// Inputs in the order in which they were given, by player.
#[derive(Debug, Default)]
pub(super) struct Pending {
    of: BTreeMap<PlayerId, VecDeque<Vec<u8>>>,
    spare: Vec<Vec<u8>>,
}

impl Pending {
    /// Adds what a player does next. False if too much waits already, or it is too long.
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

    /// Adds what a player does before all that waits.
    pub(super) fn push_first(&mut self, player: PlayerId, input: &[u8]) {
        self.of.entry(player).or_default().push_front(input.into());
    }

    /// Takes what the players of whom `may` says so do next, at most so many of each: calls back with the player, which of its
    /// inputs it is, and the input.
    pub(super) fn take(
        &mut self,
        most: u64,
        may: impl Fn(PlayerId) -> bool,
        mut tell: impl FnMut(PlayerId, u64, &[u8]),
    ) {
        for (player, waiting) in self.of.iter_mut().filter(|(player, _)| may(**player)) {
            for (input, which) in waiting.drain(..waiting.len().min(most as usize)).zip(0..) {
                tell(*player, which, &input);
                if self.spare.len() < MAX_SPARE {
                    self.spare.push(input);
                }
            }
        }
    }

    /// Takes all there is.
    pub(super) fn take_all(&mut self) -> Vec<(PlayerId, Vec<Vec<u8>>)> {
        let waiting = core::mem::take(&mut self.of).into_iter();
        let waiting = waiting.filter(|(_, inputs)| !inputs.is_empty());
        waiting
            .map(|(player, inputs)| (player, inputs.into()))
            .collect()
    }

    /// How many of a player's wait.
    pub(super) fn count(&self, player: PlayerId) -> usize {
        self.of.get(&player).map_or(0, VecDeque::len)
    }

    /// A player does nothing any more.
    pub(super) fn forget(&mut self, player: PlayerId) {
        self.of.remove(&player);
    }
}
