//! The inputs that players here gave, until they would survive the loss of the host.

use std::collections::VecDeque;

use super::Lockstep;
use crate::{PlayerId, Tick, TickInputs};

/// Ticks for which an input is remembered that was in one: far more than a host and those who follow it differ by.
const REMEMBERED: u64 = 600;
/// Inputs remembered.
const MAX_GIVEN: usize = 2048;

/// Inputs in the order in which they were given.
#[derive(Debug, Default)]
pub(super) struct GivenInputs(VecDeque<Given>);

#[derive(Debug)]
struct Given {
    player: PlayerId,
    input: Vec<u8>,
    /// The confirmed tick that it is in, if it is in one.
    tick: Option<Tick>,
}

impl GivenInputs {
    pub(super) fn push(&mut self, player: PlayerId, input: &[u8]) {
        if self.0.len() == MAX_GIVEN {
            self.0.pop_front();
        }
        self.0.push_back(Given {
            player,
            input: input.into(),
            tick: None,
        });
    }

    /// A tick is confirmed with these inputs. What a player gave before one of them and was in no tick was merged into others.
    pub(super) fn on_confirmed(&mut self, tick: Tick, inputs: &TickInputs) {
        if self.0.is_empty() {
            return;
        }
        for (player, input) in inputs.entries() {
            self.mark(tick, player, input);
        }
        let is_old = |given: &Given| given.tick.is_some_and(|at| at.0 + REMEMBERED < tick.0);
        while self.0.front().is_some_and(is_old) {
            self.0.pop_front();
        }
    }

    /// An input of a player is in a tick.
    pub(super) fn mark(&mut self, tick: Tick, player: PlayerId, input: &[u8]) {
        let open = |given: &Given| given.player == player && given.tick.is_none();
        let same = |given: &Given| open(given) && given.input == input;
        if let Some(at) = self.0.iter().position(same) {
            for before in self.0.iter_mut().take(at + 1).filter(|given| open(given)) {
                before.tick = Some(tick);
            }
        }
    }

    /// The state goes on from a tick: what was in a later one is in none.
    fn reopen(&mut self, from: Tick) -> impl DoubleEndedIterator<Item = (PlayerId, &[u8])> {
        self.0
            .retain(|given| given.tick.is_none_or(|tick| tick >= from));
        for given in &mut self.0 {
            given.tick = None;
        }
        self.0.iter().map(|given| (given.player, &given.input[..]))
    }
}

impl Lockstep {
    /// Another host goes on from a tick: what players here gave and is not in its state is given again.
    pub(super) fn give_again(&mut self, from: Tick) {
        let players = self.own_players();
        for player in &players {
            self.pending.forget(*player);
        }
        let given = self.given.reopen(from);
        for (player, input) in given.rev().filter(|(player, _)| players.contains(player)) {
            self.pending.push_first(player, input);
        }
    }

    fn own_players(&self) -> Vec<PlayerId> {
        let roster = self.room.roster.as_ref();
        let me = roster.and_then(|roster| roster.member(roster.me));
        me.map_or_else(Vec::new, |me| me.players.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_the_state_is_given_again() {
        let mut given = GivenInputs::default();
        let (ann, ben) = (PlayerId(1), PlayerId(2));
        for (player, input) in [(ann, b"a"), (ben, b"x"), (ann, b"b"), (ann, b"c")] {
            given.push(player, input);
        }
        let mut inputs = TickInputs::new();
        inputs.insert(ann, b"a");
        given.on_confirmed(Tick(5), &inputs);
        inputs.clear();
        inputs.insert(ann, b"b");
        given.on_confirmed(Tick(6), &inputs);
        let again: Vec<_> = given
            .reopen(Tick(6))
            .map(|(player, input)| (player.0, input.to_vec()))
            .collect();
        assert_eq!(
            again,
            [(2, b"x".to_vec()), (1, b"b".to_vec()), (1, b"c".to_vec())]
        );
    }
}
