//! Taking over a running game from another model, and handing it over to the next.

use core::time::Duration;

use super::message::{Message, Update};
use super::{Engine, Role};
use crate::switch::{Beginning, SwitchableModel};
use crate::{PeerId, Tick, World};

/// Counts the states that somebody was given to begin with: the one that everyone has when this begins in the middle.
pub(super) const FIRST: u8 = 1;

impl SwitchableModel for Engine {
    fn is_same_everywhere(&self) -> bool {
        false
    }

    fn schedule(&self) -> Option<(Duration, Duration)> {
        Some((self.context.start?, self.context.schedule_offset))
    }

    fn begin(&mut self, now: Duration, at: &Beginning<'_>, world: &mut dyn World) {
        (self.context.start, self.context.schedule_offset) = (Some(at.start), at.schedule_offset);
        self.prepare(now, world);
        match &mut self.role {
            Role::None => {}
            Role::Host(host) => host.begin_at(at, &self.context, world),
            Role::Guest(guest) => guest.begin_at(at, &self.context, world),
        }
        self.context.wake_at(now);
    }

    fn farewell(&mut self, peer: PeerId) -> Vec<u8> {
        let mut out = Vec::new();
        if let Role::Host(host) = &self.role
            && let Some(client) = host.clients.get(&peer)
        {
            let update = Message::Update(Update {
                epoch: client.epoch,
                tick: host.next_tick,
                schedule_offset: self.context.schedule_offset,
                acknowledged: client.acknowledged,
                beyond_compensation: false,
                slack: None,
                rewind: None,
                events: client.all_events(host.next_tick),
                part: &[],
            });
            update.write_to(&mut out);
        }
        out
    }

    fn trust(&mut self, peer: PeerId) {
        if let Role::Host(host) = &mut self.role {
            host.trust(peer);
        }
    }

    fn has_shown(&mut self, now: Duration, tick: Tick) -> bool {
        match &mut self.role {
            Role::Guest(guest) if self.context.settings.prediction.is_none() => {
                let shown = guest.shown(now).and_then(|at| self.context.ticks_at(at));
                shown.is_none_or(|shown| shown >= tick.0 as f64)
            }
            _ => true,
        }
    }

    fn finish(&mut self, world: &mut dyn World) {
        if let Role::Guest(guest) = &mut self.role {
            guest.deliver_all_events(world);
        }
        let me = self.context.roster.as_ref().map(|roster| roster.me);
        if let Some((mut loopback, me)) = self.loopback.take().zip(me) {
            loopback.finish(&self.farewell(me), world);
        }
    }
}
