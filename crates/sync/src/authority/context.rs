//! What host and guest both need: settings, roster, schedule, outgoing messages and counters.

use core::time::Duration;
use std::collections::VecDeque;

use super::SentStats;
use super::message::Message;
use super::settings::Settings;
use crate::outbox::Outbox;
use crate::{Delivery, ModelEvent, Outgoing, PeerId, PlayerId, Roster, Tick};

#[derive(Debug)]
pub(super) struct Context {
    pub settings: Settings,
    pub roster: Option<Roster>,
    /// When the game began.
    pub start: Option<Duration>,
    /// How far the schedule has moved since then.
    pub schedule_offset: Duration,
    pub tick_time: Duration,
    /// The first tick that is not simulated any more, because another model takes over there.
    pub hold: Option<Tick>,
    pub outbox: Outbox,
    pub events: VecDeque<ModelEvent>,
    pub wake: Option<Duration>,
    pub lagged: u64,
    pub refused: u64,
    pub inputs_refused: u64,
    pub sent: SentStats,
    pub trouble: Option<String>,
}

impl Context {
    pub(super) fn new(settings: Settings) -> Context {
        Context {
            settings,
            roster: None,
            start: None,
            schedule_offset: Duration::ZERO,
            tick_time: Duration::from_micros(16_667),
            hold: None,
            outbox: Outbox::default(),
            events: VecDeque::new(),
            wake: None,
            lagged: 0,
            refused: 0,
            inputs_refused: 0,
            sent: SentStats::default(),
            trouble: None,
        }
    }

    /// When a tick is simulated by the authority; `None` before the game has a beginning, and if that is in more than a century.
    pub(super) fn time_of(&self, tick: Tick) -> Option<Duration> {
        let ticks = (self.tick_time.as_nanos() as u64).checked_mul(tick.0)?;
        Some(self.start? + self.schedule_offset + Duration::from_nanos(ticks))
    }

    /// How many ticks have passed at a time; negative before the beginning.
    pub(super) fn ticks_at(&self, time: Duration) -> Option<f64> {
        let begin = (self.start? + self.schedule_offset).as_nanos() as i64;
        let passed = time.as_nanos() as i64 - begin;
        Some(passed as f64 / self.tick_time.as_nanos() as f64)
    }

    /// Whether a tick is to be simulated at `now`.
    pub(super) fn is_due(&self, now: Duration, tick: Tick) -> bool {
        self.hold.is_none_or(|hold| tick < hold) && self.time_of(tick).is_some_and(|at| at <= now)
    }

    /// The longest update window of these settings, in ticks.
    pub(super) fn window_ticks(&self) -> u16 {
        let rewind = self.settings.rewind.as_ref();
        rewind.map_or(0, |rewind| rewind.length.in_ticks(self.tick_time)) as u16
    }

    /// Whether this program decides.
    pub(super) fn is_host(&self) -> bool {
        let roster = self.roster.as_ref();
        roster.is_some_and(|roster| roster.me == roster.authority)
    }

    /// Whether everyone talks to everyone, and the authority is the room's leader.
    pub(super) fn is_mesh(&self) -> bool {
        self.roster.as_ref().is_some_and(|roster| roster.is_mesh)
    }

    /// Who plays here.
    pub(super) fn own_players(&self) -> &[PlayerId] {
        let roster = self.roster.as_ref();
        let me = roster.and_then(|roster| roster.member(roster.me));
        me.map_or(&[], |me| &me.players)
    }

    pub(super) fn wake_at(&mut self, at: Duration) {
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }

    /// A message to be sent.
    pub(super) fn outgoing(
        &mut self,
        to: PeerId,
        delivery: Delivery,
        message: &Message<'_>,
    ) -> Outgoing {
        self.outbox
            .message([to], delivery, |out| message.write_to(out))
    }

    pub(super) fn send(&mut self, to: PeerId, delivery: Delivery, message: &Message<'_>) {
        let outgoing = self.outgoing(to, delivery, message);
        self.outbox.push(outgoing);
    }
}
