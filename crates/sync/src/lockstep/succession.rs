//! How a host is followed, and how another program goes on in its place.

use core::time::Duration;
use std::collections::VecDeque;

use super::Lockstep;
use crate::input::Attendance;
use crate::standby::write_record;
use crate::switch::{Beginning, SwitchableModel};
use crate::{AdoptError, Handover, Member, NotFed, PeerId, Tick, World};

/// A new host that is behind the schedule by no more catches up.
const CAUGHT_UP: Duration = Duration::from_millis(350);

impl Lockstep {
    pub(super) fn first_record(&mut self, world: &mut dyn World) -> Option<Vec<u8>> {
        if !self.room.is_authority() {
            return None;
        }
        let reached = self.roll_back_to_confirmed(world);
        let state = world.keep();
        let is_logged = world.begin_log(self.simulated.confirmed_tick);
        self.resimulate(reached, world);
        is_logged.then(|| write_record(&self.handover(), Some(&state), &[]))
    }

    pub(super) fn next_record(&mut self, world: &mut dyn World) -> Result<Option<Vec<u8>>, NotFed> {
        let log = world.take_log().filter(|_| self.room.is_authority());
        let log = log.ok_or(NotFed)?;
        let record = || write_record(&self.handover(), None, &log);
        Ok((!log.is_empty()).then(record))
    }

    /// How much of the time in which there was no host is not caught up with: all, or, if it was no more than it takes to hand over, what exceeds
    /// prediction until the first inputs come.
    fn not_caught_up(&self, late: Duration) -> Duration {
        let predicted = match self.predicts() {
            _ if late > CAUGHT_UP => Duration::ZERO,
            true => self.schedule.tick_time * self.simulated.window() as u32,
            false => return Duration::ZERO,
        };
        let answered = late + 2 * self.room.max_latency();
        late.min(answered.saturating_sub(predicted))
    }

    fn handover(&self) -> Handover {
        Handover {
            tick: self.simulated.confirmed_tick,
            start: self.schedule.start,
            schedule_offset: self.schedule.offset,
            attendance: Attendance::clone(self.simulated.confirmed_players.attendance()),
            accepted: Vec::new(),
            recent: VecDeque::new(),
        }
    }

    pub(super) fn succeed(
        &mut self,
        now: Duration,
        handover: &Handover,
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        if !self.room.is_authority() {
            let words = "the roster names another authority: hand over the roster first";
            return Err(AdoptError::Malformed(words.to_string()));
        }
        let (tick, attendance) = (handover.tick, &handover.attendance);
        let followed = self.simulated.confirmed_tick;
        self.schedule.set_rate(world.ticks_per_second());
        (self.schedule.start, self.schedule.offset) = (handover.start, handover.schedule_offset);
        let late = self.schedule.due(tick).map(|due| now.saturating_sub(due));
        let late = late.map(|late| self.not_caught_up(late));
        match handover.start {
            Some(start) => self.begin(
                now,
                &Beginning {
                    tick,
                    start,
                    schedule_offset: handover.schedule_offset + late.unwrap_or_default(),
                    is_known: true,
                    attendance,
                },
                world,
            ),
            None if tick == Tick(0) => {}
            None => {
                let words = "a game that has not begun is at tick 0".to_string();
                return Err(AdoptError::Malformed(words));
            }
        }
        for (at, player, input) in handover.recent.iter().filter(|(at, ..)| *at >= followed) {
            self.given.mark(*at, *player, input);
        }
        self.give_again(tick);
        self.transfer.recent = handover.recent.iter().cloned().collect();
        tracing::info!(tick = tick.0, "took over as the host");
        let is_here = |member: &&Member| member.in_sync && !member.away;
        let others = self.room.others().filter(is_here);
        let others: Vec<PeerId> = others.map(|member| member.peer).collect();
        for peer in others {
            self.send_state(now, peer, world);
        }
        Ok(())
    }
}
