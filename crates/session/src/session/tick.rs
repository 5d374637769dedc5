//! The timers of a session.

use core::time::Duration;

use samestep_proto::ConnectionId;

use crate::event::State;
use crate::session::links::BEAT;
use crate::session::{OtherEnd, Session};

/// The time between two rounds of upkeep in a room without heartbeats.
const LOOK_AFTER: Duration = Duration::from_millis(500);

/// When something is due.
#[derive(Debug)]
pub(super) struct Timers {
    /// When the session wants to be driven next.
    pub(super) wake: Option<Duration>,
    /// When the members of a mesh are told next about routes and clocks, and how often they were.
    pub(super) next_beat: Duration,
    pub(super) beats: u32,
    /// When everyone was last told, news or not.
    pub(super) last_round: Duration,
    /// When the members of the mesh last changed.
    pub(super) met_at: Duration,
    /// How long acknowledgements and what changes nothing may wait for a packet of the game's.
    pub(super) patience: Duration,
}

impl Timers {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            wake: Some(now),
            next_beat: now,
            beats: 0,
            last_round: now,
            met_at: now,
            patience: Duration::ZERO,
        }
    }

    /// Makes sure that the session is driven by then.
    pub(super) fn wake_at(&mut self, at: Duration) {
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }
}

impl Session {
    pub(super) fn on_time(&mut self, now: Duration) {
        self.timers.wake = None;
        if matches!(self.state, State::Left(_)) {
            return;
        }
        self.dismiss_strangers(now);
        self.await_state(now);
        self.resend_hello(now);
        self.retry(now);
        if matches!(self.state, State::Left(_)) {
            return;
        }
        if self.proposals_due().is_some_and(|at| at <= now) {
            self.send_proposals(now);
        }
        self.release_held(now);
        self.decide(now);
        self.tell_password(now);
        self.feed_held(now);
        self.expire(now);
        self.start_when_due(now);
        self.keep_time(now);
        self.release_beats(now);
        self.watch_host(now);
        self.keep_standbys(now);
        let agrees = self.keep_agreement(now);
        // What is due soon goes into the same packets.
        let beat_from = match agrees {
            true => self.timers.next_beat.saturating_sub(BEAT / 2),
            false => self.timers.next_beat,
        };
        if now >= beat_from {
            self.beat(now, agrees);
        }
        let due = [self.proposals_due(), self.leading.askers.next_release(now)];
        for at in due.into_iter().flatten() {
            self.wake_at(at.max(now));
        }
        if !matches!(self.state, State::Left(_)) {
            let rest = match self.room.is_mesh() && self.me.is_some() {
                true => self.timers.next_beat,
                false => now + LOOK_AFTER,
            };
            self.wake_at(rest);
        }
    }

    fn dismiss_strangers(&mut self, now: Duration) {
        let mut next: Option<Duration> = None;
        let mut over: Vec<ConnectionId> = Vec::new();
        for (id, end) in &self.links.connections {
            if let OtherEnd::Stranger { until } | OtherEnd::Linking { until, .. } = end {
                match *until <= now {
                    true => over.push(*id),
                    false => next = Some(next.map_or(*until, |n| n.min(*until))),
                }
            }
        }
        for id in over {
            self.links.give_up(id);
            self.endpoint.close(now, id, 0, "said nothing");
        }
        if let Some(next) = next {
            self.wake_at(next);
        }
    }
}
