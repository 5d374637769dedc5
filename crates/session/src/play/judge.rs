//! Who breaks the rules is reported: by every program that sees it in a final tick, on its own.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use samestep_sync::{Breach, Model, PlayerId, SeenBreach, Tick, World};
use tracing::warn;

use crate::play::Match;

/// So many implausible inputs of a player convict it, if they are this many seconds apart, within a longer time.
const ENOUGH: usize = 3;
const APART_SECONDS: u64 = 1;
const WITHIN_SECONDS: u64 = 30;

/// When players gave implausible inputs.
#[derive(Debug, Default)]
pub(super) struct Strikes(BTreeMap<PlayerId, VecDeque<Tick>>);

impl Strikes {
    /// Whether a breach convicts its player, with those before.
    fn convicts(&mut self, seen: &SeenBreach, ticks_per_second: u64) -> bool {
        if matches!(seen.breach, Breach::Impossible(_)) {
            return true;
        }
        let strikes = self.0.entry(seen.player).or_default();
        let is_old = |at: &Tick| *at + WITHIN_SECONDS * ticks_per_second < seen.tick;
        while strikes.front().is_some_and(is_old) {
            strikes.pop_front();
        }
        // What comes at once may have one cause, such as a line that was down.
        let is_apart = |last: &Tick| *last + APART_SECONDS * ticks_per_second <= seen.tick;
        if strikes.back().is_none_or(is_apart) {
            strikes.push_back(seen.tick);
        }
        strikes.len() >= ENOUGH
    }
}

impl<W: World, M: Model> Match<W, M> {
    /// Reports those whom the rules convict.
    pub(super) fn judge(&mut self, now: Duration) {
        while let Some(seen) = self.world.poll_breach() {
            let rate = u64::from(self.world.ticks_per_second().max(1));
            let players = self.session.room().players().iter();
            let peer = players.clone().find(|player| player.id == seen.player);
            let peer = peer.map(|player| player.peer);
            self.strikes
                .0
                .retain(|player, _| players.clone().any(|known| known.id == *player));
            let Some(peer) = peer.filter(|peer| Some(*peer) != self.session.me()) else {
                continue;
            };
            if self.strikes.convicts(&seen, rate) {
                let words = seen.breach.words();
                warn!(%peer, player = %seen.player, words, "the rules are broken");
                self.session.report(now, peer, words);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(tick: u64, breach: Breach) -> SeenBreach {
        SeenBreach {
            tick: Tick(tick),
            player: PlayerId(1),
            breach,
        }
    }

    #[test]
    fn one_impossible_input_or_several_implausible_ones_convict() {
        let (odd, forged) = (Breach::Implausible("early"), Breach::Impossible("forged"));
        let mut strikes = Strikes::default();
        let mut convicts = |tick, breach| strikes.convicts(&seen(tick, breach), 60);
        assert!((100..150).all(|tick| !convicts(tick, odd)), "at once");
        assert!(!convicts(170, odd));
        assert!(!convicts(2000, odd), "the first are long ago");
        assert!(!convicts(2100, odd));
        assert!(convicts(2200, odd));
        assert!(Strikes::default().convicts(&seen(1, forged), 60));
    }
}
