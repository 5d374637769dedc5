//! Stalls: what a tick that is due lacks, and how it is requested.

use core::time::Duration;

use super::message::Message;
use super::{Lockstep, Pace};
use crate::timeline::SourceId;
use crate::{Delivery, Tick};

/// After a stall this long missing inputs are requested, and again as often.
const RESEND_AFTER: Duration = Duration::from_millis(400);
/// After a stall this long the whole state is requested, in case the authority has a newer one.
const STATE_AFTER: Duration = Duration::from_secs(3);
/// In a game without real time a turn is requested after this long, then less and less often.
const RESEND_TURN_AFTER: Duration = Duration::from_secs(1);
/// It is requested at least this often.
const RESEND_TURN_EVERY: Duration = Duration::from_secs(30);

/// Whether the simulation stalls or lags.
#[derive(Debug, Default)]
pub(super) struct Stall {
    /// Since when the simulation stalls, and whose inputs it lacks.
    pub(super) current: Option<(Duration, SourceId)>,
    next_resend_request: Duration,
    next_state_request: Duration,
    /// The simulation is behind the schedule for a known reason: late ticks are not counted.
    pub(super) catching_up: bool,
    /// Ticks that could have been simulated in the last call, and were not.
    pub(super) behind: u64,
}

impl Stall {
    /// A tick that was due lacks the inputs of a source.
    pub(super) fn begin(&mut self, due: Duration, tick: Tick, id: SourceId) {
        if self.current.is_none() {
            tracing::debug!(tick = tick.0, waiting_for = %id.peer, "stalled");
        }
        let since = self.current.map_or(due, |(since, _)| since);
        self.current = Some((since, id));
    }

    /// The stall is over, if there was one: returns how long it took.
    pub(super) fn end(&mut self, now: Duration) -> Option<Duration> {
        let (since, id) = self.current.take()?;
        let took = now.saturating_sub(since);
        tracing::debug!(waited_for = %id.peer, ?took, "stall over");
        Some(took)
    }

    /// The schedule has moved, and the beginning of the stall with it.
    pub(super) fn on_offset_grown(&mut self, by: Duration) {
        if let Some((since, _)) = &mut self.current {
            *since += by;
        }
    }

    /// Begins to catch up from a state that was taken over.
    pub(super) fn restart(&mut self) {
        (self.current, self.catching_up, self.behind) = (None, true, 0);
    }

    /// Whether to request what has been lacking since then.
    fn requests(&mut self, now: Duration, since: Duration, pace: Pace, after: Duration) -> bool {
        let stalled = now.saturating_sub(since);
        let (after, every) = match pace {
            Pace::RealTime => (after, after),
            // A player is thinking, or its turn was lost.
            Pace::Initiative { .. } => (RESEND_TURN_AFTER, stalled.min(RESEND_TURN_EVERY)),
        };
        if now < self.next_resend_request || stalled < after {
            return false;
        }
        self.next_resend_request = now + every;
        true
    }

    /// Whether more than a resend may be asked for now.
    fn may_ask_for_more(&mut self, now: Duration) -> bool {
        let may = now >= self.next_state_request;
        if may {
            self.next_state_request = now + RESEND_AFTER;
        }
        may
    }
}

impl Lockstep {
    /// How long a stall takes before missing inputs are requested, again and again.
    fn resend_after(&self) -> Duration {
        match self.simulated.prediction {
            Some(_) => 3 * self.schedule.tick_time,
            None => RESEND_AFTER,
        }
    }

    /// Where ticks are simulated without waiting for anybody: the source that keeps them from being final although nobody sends its inputs any more,
    /// and since when.
    fn awaited_end(&self) -> Option<(Duration, SourceId)> {
        let lacking = self.known_upto().max(self.simulated.confirmed_tick);
        let id = self.blocked_by(lacking)?;
        let is_gone =
            self.room.source_id(id.peer) != Some(id) || self.sources.departed.contains(&id);
        let since = self.schedule.due(lacking).filter(|_| is_gone)?;
        Some((since + RESEND_AFTER, id))
    }

    /// Requests what the simulation lacks.
    fn request_missing(&mut self, now: Duration) {
        let (pace, after) = (self.config.pace, self.resend_after());
        let Some((since, id)) = self.stall.current.or_else(|| self.awaited_end()) else {
            return;
        };
        if !self.stall.requests(now, since, pace, after) {
            return;
        }
        let stalled = now.saturating_sub(since);
        if pace != Pace::RealTime {
            return self.request_resends();
        }
        let Some((me, authority)) = self.room.me().zip(self.room.authority()) else {
            return;
        };
        let is_departed = self.sources.departed.contains(&id);
        let is_current = self.room.source_id(id.peer) == Some(id);
        if is_current && id.peer != me && !is_departed {
            self.request_resends();
        }
        if !self.stall.may_ask_for_more(now) {
            return;
        }
        if authority == me {
            // A member that has taken over a later state cannot resend what the leader lacks: the leader follows it.
            let is_mesh = !self.room.is_hub() && !self.room.is_sequenced();
            if stalled > STATE_AFTER && is_mesh && is_current && id.peer != me && !is_departed {
                self.transfer.requested_from = Some(id.peer);
                self.request_state(id.peer, self.simulated.confirmed_tick);
            }
            return;
        }
        if stalled > STATE_AFTER {
            // Whatever was lost: a peer that goes on without it has a state that is as good.
            self.request_state(authority, self.simulated.confirmed_tick);
        }
        if !is_current || is_departed {
            // The source may have ended before this program was there to hear of it.
            let from = self.known_upto_of(id);
            let message = Message::ResendRequest { source: id, from };
            self.send(authority, Delivery::ReliableOrdered, &message);
        }
    }

    /// Requests a resend from every source that keeps the next tick from being confirmed.
    fn request_resends(&mut self) {
        let known = self.known_upto().max(self.simulated.confirmed_tick);
        let mut last = None;
        while let Some(id) = self.sources.after(last) {
            last = Some(id);
            let source = self.sources.known.get(&id);
            let blocking = source.filter(|source| source.blocks(known));
            let from = blocking.map(|source| source.known_upto);
            if let Some(from) = from.filter(|_| Some(id.peer) != self.room.me()) {
                self.request_resend(id, from);
            }
        }
    }

    /// Requests the inputs of a source from a tick on, from the peer that sends them.
    pub(super) fn request_resend(&mut self, source: SourceId, from: Tick) {
        let sender = match self.room.other_authority() {
            Some(host) if self.room.is_hub() => host,
            _ => source.peer,
        };
        // With prediction a request is repeated sooner than a loss would be noticed.
        let delivery = match self.simulated.prediction {
            Some(_) => Delivery::Unreliable,
            None => Delivery::ReliableOrdered,
        };
        tracing::debug!(source = %source.peer, tick = from.0, "resend requested");
        let message = Message::ResendRequest { source, from };
        self.send(sender, delivery, &message);
    }

    /// Who keeps a tick from being simulated; `None` if nobody does.
    pub(super) fn blocked_by(&self, tick: Tick) -> Option<SourceId> {
        use super::sources::Blocked;
        match self.sources.blocked(tick, self.room.is_sequenced()) {
            Blocked::No => None,
            Blocked::By(id) => Some(id),
            Blocked::ByAuthority => self.room.authority_source(),
        }
    }

    /// Requests what is missing, and plans when to be called next.
    pub(super) fn plan_wake(&mut self, now: Duration) {
        self.request_missing(now);
        if self.stall.behind > 0 {
            return self.timers.wake_at(now);
        }
        match self.due_here(self.simulated.predicted_tick) {
            Some(due) if due > now => self.timers.wake_at(due),
            // Arriving messages wake a stalled program; this is for the next request.
            Some(_) => self.timers.wake_at(now + self.resend_after() / 4),
            None => {}
        }
        if let Some(at) = self.closes_turn_at().filter(|at| *at > now) {
            self.timers.wake_at(at);
        }
        let next_tick = now + self.schedule.tick_time;
        self.timers.wake_at(self.timers.next_report.max(next_tick));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PeerId;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn id(peer: u16) -> SourceId {
        SourceId {
            peer: PeerId(peer),
            incarnation: 1,
        }
    }

    #[test]
    fn a_stall_is_counted_from_its_first_due_tick() {
        let mut stall = Stall::default();
        assert_eq!(stall.end(ms(5)), None);
        stall.begin(ms(10), Tick(1), id(1));
        stall.begin(ms(40), Tick(1), id(2));
        assert_eq!(stall.current, Some((ms(10), id(2))));
        stall.on_offset_grown(ms(3));
        assert_eq!(stall.end(ms(100)), Some(ms(87)));
    }

    #[test]
    fn requests_are_repeated_but_not_too_often() {
        let mut stall = Stall::default();
        let mut requests = |at| stall.requests(ms(at), ms(100), Pace::RealTime, ms(50));
        let times = (100..300).filter(|at| requests(*at));
        assert_eq!(times.collect::<Vec<u64>>(), [150, 200, 250]);
        let turns = Pace::Initiative { ticks: 1 };
        let mut stall = Stall::default();
        let mut requests = |at| stall.requests(ms(1000 * at), ms(0), turns, ms(50));
        let times = (0..100).filter(|at| requests(*at));
        assert_eq!(times.collect::<Vec<u64>>(), [1, 2, 4, 8, 16, 32, 62, 92]);
    }
}
