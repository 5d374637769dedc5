//! Taking over a running game from another model, and handing it over to one.

use core::time::Duration;

use super::{FREEZE_THRESHOLD, Lockstep, Pace};
use crate::switch::{Beginning, SwitchableModel};
use crate::timeline::Change;
use crate::{Tick, World};

/// Ticks that are closed beyond the last one that is simulated, so that their batches repeat what is lost.
const TICKS_BEYOND_HOLD: u64 = 120;

impl SwitchableModel for Lockstep {
    fn is_real_time(&self) -> bool {
        self.config.pace == Pace::RealTime
    }

    fn is_same_everywhere(&self) -> bool {
        true
    }

    fn schedule(&self) -> Option<(Duration, Duration)> {
        let start = self.schedule.start?;
        Some((start, self.schedule.offset))
    }

    fn begin(&mut self, now: Duration, at: &Beginning<'_>, world: &mut dyn World) {
        self.schedule.set_rate(world.ticks_per_second());
        (self.schedule.start, self.schedule.offset) = (Some(at.start), at.schedule_offset);
        self.timeline.begin(at.tick);
        self.simulated.restart(at.tick, at.attendance, world);
        let authority = self.room.authority_source();
        self.sources.restart(at.tick, authority, at.attendance);
        self.substitution.restart(Tick(0), 0);
        self.stall.catching_up = true;
        // The first batches are late for a reason that does not last.
        self.timers.frozen_until = now + 2 * self.max_latency() + FREEZE_THRESHOLD;
        self.expect_latency();
        self.timers.wake_at(now);
    }

    fn linger(&mut self, now: Duration) {
        self.note_time(now);
        self.timers.wake = None;
        self.transfer.for_world.clear();
        if self.schedule.start.is_none() || self.room.roster.is_none() {
            return;
        }
        self.close_turns(now);
        self.substitute_silent_guests(now);
        self.end_departed(now);
        self.send_due(now);
        self.plan_wake(now);
    }
}

impl Lockstep {
    /// How far ahead of the world turns are closed beyond what is due anyway.
    pub(super) fn ticks_beyond_hold(&self) -> u64 {
        match self.simulated.is_held() {
            true => TICKS_BEYOND_HOLD,
            false => 0,
        }
    }

    /// Players that were present from the beginning on, and no source provides inputs for, are away or gone.
    pub(super) fn remove_unclaimed_players(&mut self, from: Tick) {
        for player in core::mem::take(&mut self.sources.unclaimed_players) {
            let mut sources = self.sources.known.values();
            let is_same = !self.timeline.released.contains(player);
            if !is_same || !sources.any(|source| source.players.contains(&player)) {
                let change = match self.may_return(player) {
                    true => Change::Away(player),
                    false => Change::Leave(player),
                };
                self.timeline.change(from, change);
            }
        }
    }
}
