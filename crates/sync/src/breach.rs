//! Inputs that break the rules of a game: every program that simulates sees them, and may say so.

use std::collections::VecDeque;

use crate::{PlayerId, Tick};

/// Breaches that are remembered until they are final, or asked for.
const MAX_BREACHES: usize = 256;

/// How an input breaks the rules, in words for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Breach {
    /// No unmodified program gives such an input, whatever the network does: once is enough.
    Impossible(&'static str),
    /// An unmodified program gives such an input at most now and then, when it does not know better yet: it takes several, some time apart.
    Implausible(&'static str),
}

impl Breach {
    /// What was seen.
    pub fn words(self) -> &'static str {
        match self {
            Breach::Impossible(words) | Breach::Implausible(words) => words,
        }
    }
}

/// A breach in a tick that is final: everyone who simulated it with everyone's inputs has seen the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeenBreach {
    /// The tick.
    pub tick: Tick,
    /// Whose input it was.
    pub player: PlayerId,
    /// What was wrong with it.
    pub breach: Breach,
}

/// The breaches of the ticks that are simulated.
#[derive(Debug, Default)]
pub(crate) struct Breaches {
    /// Of ticks that may still change.
    open: VecDeque<SeenBreach>,
    seen: VecDeque<SeenBreach>,
}

impl Breaches {
    pub(crate) fn on_seen(&mut self, tick: Tick, player: PlayerId, breach: Breach) {
        push(
            &mut self.open,
            SeenBreach {
                tick,
                player,
                breach,
            },
        );
    }

    /// Ticks from here on are simulated again.
    pub(crate) fn rewind(&mut self, to: Tick) {
        while self.open.back().is_some_and(|seen| seen.tick >= to) {
            self.open.pop_back();
        }
    }

    /// Ticks before this one are final.
    pub(crate) fn confirm_before(&mut self, tick: Tick) {
        while self.open.front().is_some_and(|seen| seen.tick < tick)
            && let Some(seen) = self.open.pop_front()
        {
            push(&mut self.seen, seen);
        }
    }

    /// Another state takes the place of this one.
    pub(crate) fn forget_open(&mut self) {
        self.open.clear();
    }

    pub(crate) fn poll(&mut self) -> Option<SeenBreach> {
        self.seen.pop_front()
    }
}

fn push(to: &mut VecDeque<SeenBreach>, seen: SeenBreach) {
    if to.len() == MAX_BREACHES {
        to.pop_front();
    }
    to.push_back(seen);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaches_count_once_their_tick_is_final() {
        let (mut breaches, breach) = (Breaches::default(), Breach::Impossible("flies"));
        for tick in 3..6 {
            breaches.on_seen(Tick(tick), PlayerId(1), breach);
        }
        assert_eq!(breaches.poll(), None);
        breaches.rewind(Tick(4));
        breaches.on_seen(Tick(5), PlayerId(2), breach);
        breaches.confirm_before(Tick(6));
        let seen =
            |breaches: &mut Breaches| breaches.poll().map(|seen| (seen.tick.0, seen.player.0));
        assert_eq!(seen(&mut breaches), Some((3, 1)));
        assert_eq!(seen(&mut breaches), Some((5, 2)));
        assert_eq!(seen(&mut breaches), None);
    }
}
