//! Beginning in the middle of a game that was kept in step otherwise so far, and ending where it will be.

use core::time::Duration;

use super::message::{Message, Update};
use super::{Engine, Side};
use crate::switch::Beginning;
use crate::{PeerId, Tick, World};

/// Counts the states that somebody was given to begin with: the one that everyone has when this begins in the middle.
pub(super) const FIRST: u8 = 1;

impl Engine {
    /// When tick 0 was due before anything slipped, and how much everything has.
    pub(crate) fn schedule(&self) -> Option<(Duration, Duration)> {
        Some((self.seat.start?, self.seat.slip))
    }

    /// Begins in the middle. Those who have not the authority's state are to be given a checkpoint.
    pub(crate) fn begin(&mut self, now: Duration, at: &Beginning<'_>, world: &mut dyn World) {
        (self.seat.start, self.seat.slip) = (Some(at.start), at.slip);
        self.prepare(now, world);
        match &mut self.side {
            Side::None => {}
            Side::Host(host) => host.begin_at(at, &self.seat, world),
            Side::Guest(guest) => guest.begin_at(at, &self.seat, world),
        }
        self.seat.wake_at(now);
    }

    /// What somebody may not have heard yet of what happened, for its model.
    pub(crate) fn farewell(&self, peer: PeerId) -> Vec<u8> {
        let mut out = Vec::new();
        if let Side::Host(host) = &self.side
            && let Some(client) = host.clients.get(&peer)
        {
            let update = Message::Update(Update {
                epoch: client.epoch,
                tick: host.next,
                slip: self.seat.slip,
                heard: client.heard,
                beyond: false,
                slack: None,
                news: client.all_news(host.next),
                part: &[],
            });
            update.write_to(&mut out);
        }
        out
    }

    /// Somebody will have the checkpoint that was made for it before it hears of anything else.
    pub(crate) fn trust(&mut self, peer: PeerId) {
        if let Side::Host(host) = &mut self.side {
            host.trust(peer);
        }
    }

    /// Whether what is drawn has come to a tick.
    pub(crate) fn has_shown(&mut self, now: Duration, tick: Tick) -> bool {
        match &mut self.side {
            Side::Guest(guest) if self.seat.settings.prediction.is_none() => {
                let shown = guest.shown(now).and_then(|at| self.seat.ticks_at(at));
                shown.is_none_or(|shown| shown >= tick.0 as f64)
            }
            _ => true,
        }
    }

    /// Tells the game everything that is known to have happened.
    pub(crate) fn finish(&mut self, world: &mut dyn World) {
        if let Side::Guest(guest) = &mut self.side {
            guest.tell_all_news(world);
        }
    }
}
