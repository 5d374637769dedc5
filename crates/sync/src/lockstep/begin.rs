//! Beginning in the middle of a game that was kept in step otherwise so far, and ending where it will be.

use core::time::Duration;

use super::instead::Hearing;
use super::{FROZEN, Lockstep, Voice};
use crate::switch::Beginning;
use crate::timeline::Change;
use crate::{Tick, World};

/// Ticks that are spoken of beyond the last one that is simulated, so that what is lost is said again with them.
const SPOKEN_ON: u64 = 120;

impl Lockstep {
    /// When tick 0 was due before anything slipped, and how much everything has.
    pub(crate) fn schedule(&self) -> Option<(Duration, Duration)> {
        self.start.map(|start| (start, self.slip))
    }

    /// Begins in the middle: everyone's world is in the same state.
    pub(crate) fn begin(&mut self, now: Duration, at: &Beginning<'_>, world: &mut dyn World) {
        let rate = world.ticks_per_second().max(1);
        self.tick_time = Duration::from_nanos(1_000_000_000 / u64::from(rate));
        (self.start, self.slip) = (Some(at.start), at.schedule_offset);
        (self.next, self.head) = (at.tick, at.tick);
        self.timeline.begin(at.tick);
        self.present.set_players(at.players);
        self.present_ahead.share_players(&self.present);
        if self.prediction.is_some() {
            self.saves.keep(at.tick, &self.present, false, world);
        }
        self.voices.clear();
        self.departed.clear();
        let authority = self.authority().and_then(|peer| self.voice_id(peer));
        if let Some(id) = authority {
            self.voices.insert(id, Voice::new(at.tick, Vec::new()));
        }
        self.roll = at.players.iter().copied().collect();
        self.unvoiced = at.players.to_vec();
        self.heard = Hearing::at_guest(Tick(0), 0);
        self.hurrying = true;
        // What is said first is late for a reason that does not last.
        self.frozen_until = now + 2 * self.farthest() + FROZEN;
        self.expect_latency();
        self.wake_at(now);
    }

    /// Whether all is simulated that ever will be.
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some_and(|held| self.head >= held)
    }

    /// Whether nothing changes any more.
    pub(super) fn is_over(&self) -> bool {
        self.held.is_some_and(|held| self.next >= held)
    }

    /// How far ahead of the world turns are closed beyond what is due anyway.
    pub(super) fn spoken_on(&self) -> u64 {
        match self.is_held() {
            true => SPOKEN_ON,
            false => 0,
        }
    }

    /// What was predicted of ticks that will not be simulated is taken back.
    pub(super) fn keep_to_hold(&mut self, world: &mut dyn World) {
        if let Some(held) = self.held.filter(|held| self.head > *held)
            && self.next <= held
            && self.go_back(held, true, world)
        {
            self.go_again(held, world);
        }
    }

    /// Goes on telling the others what they need to come as far, without a world.
    pub(crate) fn linger(&mut self, now: Duration) {
        self.see_time(now);
        self.wake = None;
        self.for_world.clear();
        if self.start.is_none() || self.roster.is_none() {
            return;
        }
        self.close_turns(now);
        self.speak_for_silent(now);
        self.see_departures(now);
        self.tell(now);
        self.plan_wake(now);
    }

    /// Where everyone speaks for itself: players that were present from the beginning on, and nobody speaks for, are gone.
    pub(super) fn send_off_unvoiced(&mut self, from: Tick) {
        for player in core::mem::take(&mut self.unvoiced) {
            let is_voiced = |voice: &Voice| voice.players.contains(&player);
            if !self.voices.values().any(is_voiced) {
                self.timeline.change(from, Change::Leave(player));
            }
        }
    }
}
