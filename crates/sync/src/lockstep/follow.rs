//! Simulating what is due and known, and how much later than the schedule.

use core::time::Duration;

use super::message::Message;
use super::{Lockstep, Pace, Voice};
use crate::timeline::VoiceId;
use crate::{Delivery, Tick, World};

/// Ticks simulated in one call; the rest follows at once in the next, so that the network is not kept waiting.
const AT_ONCE: u32 = 32;
/// A schedule is given up for a later one when its keeper is this many ticks behind it.
const SLIP_TICKS: i64 = 30;
/// Who stands still this long asks for what is missing, and again as often.
const WANT_AFTER: Duration = Duration::from_millis(400);
/// Who stands still this long asks for the whole state, if the authority has one that is newer.
const GIVE_UP: Duration = Duration::from_secs(3);
/// How long a turn of a game without real time takes before it is asked for, then less and less often.
const WANT_TURN_AFTER: Duration = Duration::from_secs(1);
/// How often at least.
const WANT_TURN_EVERY: Duration = Duration::from_secs(30);
/// What came in time for this long need not be waited for as long.
const CALM: Duration = Duration::from_secs(10);
const RELAX_EVERY: Duration = Duration::from_millis(250);
/// Waited for until it is known how steady the connection is: three packets in a row may be lost.
const UNTIL_MEASURED: Duration = Duration::from_millis(50);
/// Who is nearer has hardly any loss.
const NEAR: Duration = Duration::from_millis(5);
/// What is allowed for before anything has come late, where it may: two short turns.
const SPARE: Duration = Duration::from_millis(67);
/// How much earlier than needed things are to arrive, in µs.
const MARGIN_US: i64 = 2_000;

/// How much later than the common schedule this program simulates.
#[derive(Debug)]
pub(super) struct Extra {
    patience: Duration,
    /// For a spectator: what it must not see before.
    floor: Duration,
    length: Duration,
    /// What is allowed for before anything has come late.
    spare: Duration,
    /// How much more than was needed is waited for: a tick.
    headroom: Duration,
    /// The least slack of two halves of the last while, in µs.
    worst: [Option<i64>; 2],
    half_ends: Duration,
    next_relax: Duration,
}

impl Extra {
    pub(super) fn new(patience: Duration) -> Extra {
        Extra {
            patience,
            floor: Duration::ZERO,
            length: UNTIL_MEASURED,
            spare: Duration::ZERO,
            headroom: Duration::from_millis(16),
            worst: [None; 2],
            half_ends: Duration::ZERO,
            next_relax: Duration::ZERO,
        }
    }

    pub(super) fn length(&self) -> Duration {
        self.floor + self.length.max(self.spare)
    }

    pub(super) fn set_floor(&mut self, floor: Duration) {
        self.floor = floor;
    }

    /// For whoever puts everything into order itself.
    fn wait_for_nobody(&mut self) {
        (self.length, self.spare) = (Duration::ZERO, Duration::ZERO);
    }

    pub(super) fn set_spare(&mut self, spare: Duration) {
        self.spare = spare;
    }

    pub(super) fn floor(&self) -> Duration {
        self.floor
    }

    /// Something arrived this much before it was due by the schedule.
    pub(super) fn on_slack(&mut self, now: Duration, slack_us: i64) {
        let slack_us = slack_us.saturating_add(self.floor.as_micros() as i64);
        let needed = MARGIN_US - slack_us;
        if needed > self.patience.as_micros() as i64 {
            return;
        }
        let worst = &mut self.worst[0];
        *worst = Some(worst.map_or(slack_us, |worst| worst.min(slack_us)));
        if needed > self.length.max(self.spare).as_micros() as i64 {
            // What was a little late once is later the next time: one more packet is lost.
            self.length = Duration::from_micros(needed as u64) + self.headroom;
            self.next_relax = now + CALM;
        }
    }

    /// The schedule itself has moved: what was late by it is not any more.
    pub(super) fn on_slip(&mut self, by: Duration) {
        self.length = self.length.saturating_sub(by);
        self.worst = [None; 2];
    }

    fn relax(&mut self, now: Duration, tick_time: Duration) {
        self.headroom = tick_time;
        if now >= self.half_ends {
            self.half_ends = now + CALM / 2;
            self.worst = [None, self.worst[0]];
        }
        if self.next_relax.is_zero() {
            self.next_relax = now + CALM;
        }
        if now < self.next_relax || self.length.is_zero() {
            return;
        }
        self.next_relax = now + RELAX_EVERY;
        let Some(worst) = self.worst.into_iter().flatten().min() else {
            return;
        };
        let kept = self.headroom.as_micros() as i64 + 2 * MARGIN_US;
        let spare = worst + self.length.as_micros() as i64 - kept;
        if spare > 0 {
            let less = Duration::from_micros(spare as u64).min(tick_time / 4);
            self.length = self.length.saturating_sub(less);
        }
    }
}

impl Lockstep {
    /// Who keeps the schedule and cannot keep up with it moves it.
    pub(super) fn catch_slip(&mut self, now: Duration) {
        self.extra.relax(now, self.tick_time);
        self.allow_for_loss();
        if !self.is_sequenced() || !self.is_authority() || self.config.pace != Pace::RealTime {
            return;
        }
        let behind = self.metronome(now).unwrap_or(0) - self.next.0 as i64;
        if behind > SLIP_TICKS && !self.is_held() {
            self.slip += self.tick_time * (behind - 1) as u32;
        }
    }

    /// Far from the others two packets in a row may be lost before anybody has noticed that packets are lost at all.
    fn allow_for_loss(&mut self) {
        let Some(roster) = &self.roster else {
            return;
        };
        if self.is_authority() && self.is_sequenced() {
            return self.extra.wait_for_nobody();
        }
        let farthest = match roster.is_mesh {
            true => roster.members.iter().map(|member| member.latency).max(),
            false => roster.member(roster.authority).map(|host| host.latency),
        };
        let farthest = farthest.unwrap_or_default();
        if farthest > NEAR {
            self.extra.set_spare(SPARE);
        } else if farthest < NEAR / 2 {
            self.extra.set_spare(Duration::ZERO);
        }
    }

    /// Who keeps a tick from being simulated; `None` if nobody does.
    pub(super) fn held_up_by(&self, tick: Tick) -> Option<VoiceId> {
        if self.voices.is_empty() {
            return self.voice_of_authority();
        }
        let silent = self.voices.iter().find(|(_, voice)| voice.holds_up(tick));
        if let Some((id, _)) = silent {
            return Some(*id);
        }
        // Between the end of one who spoke for all and the beginning of the next, nobody has spoken yet.
        let spoken = self
            .voices
            .values()
            .any(|voice| voice.from <= tick && voice.upto > tick);
        // In a mesh nobody plays from where all have ended to where the next was told to begin.
        let next_begins = |voice: &Voice| voice.from > tick && voice.end.is_none();
        match spoken || (!self.is_sequenced() && self.voices.values().any(next_begins)) {
            true => None,
            false => self.voice_of_authority(),
        }
    }

    fn voice_of_authority(&self) -> Option<VoiceId> {
        let authority = self.authority()?;
        self.voice_id(authority)
    }

    /// How much later than the common schedule this program simulates.
    pub(super) fn lateness(&self) -> Duration {
        match self.predicts() {
            true => Duration::ZERO,
            false => self.extra.length(),
        }
    }

    /// When this program simulates a tick.
    fn due_here(&self, tick: Tick) -> Option<Duration> {
        self.due(tick).map(|due| due + self.lateness())
    }

    pub(super) fn simulate(&mut self, now: Duration, world: &mut dyn World) {
        self.behind_now = 0;
        if !self.put_right(world) {
            return;
        }
        self.keep_to_hold(world);
        self.settle_known(world);
        for _ in 0..AT_ONCE {
            if self.is_held() {
                self.stalled = None;
                return;
            }
            let Some(due) = self.due_here(self.head) else {
                return;
            };
            if now < due {
                self.hurrying = false;
                return;
            }
            let is_known = self.head == self.next && self.is_final(self.head);
            if !is_known && !self.may_predict() {
                let known = self.known_upto().max(self.next);
                let held_up_by = self.held_up_by(known).or(self.voice_of_authority());
                if let Some(id) = held_up_by {
                    let since = self.stalled.map_or(due, |(since, _)| since);
                    self.stalled = Some((since, id));
                }
                return;
            }
            let late = now - due;
            match self.stalled.take() {
                Some((since, _)) => self.on_resumed(now, now.saturating_sub(since)),
                None if late <= self.tick_time => self.hurrying = false,
                None if !self.hurrying => self.lagged += 1,
                None => {}
            }
            match is_known {
                false => self.predict_tick(world),
                true => {
                    self.step(world);
                    self.settle_known(world);
                }
            }
        }
        let reached = now.saturating_sub(self.lateness());
        let metronome = self.metronome(reached).unwrap_or(0);
        self.behind_now = u64::try_from(metronome - self.head.0 as i64).unwrap_or(0);
    }

    /// Ticks that could have been simulated by now, and were not.
    pub(super) fn behind(&self) -> u64 {
        self.behind_now
    }

    fn on_resumed(&mut self, now: Duration, stalled: Duration) {
        if self.config.pace != Pace::RealTime {
            return;
        }
        let ticks = stalled.as_nanos().div_ceil(self.tick_time.as_nanos()) as u64;
        if !self.hurrying {
            self.lagged += ticks;
        }
        self.hurrying = true;
        // In a mesh all have waited; through a host, it is the host that moves the schedule.
        let may = match self.is_hub() {
            true => self.is_authority(),
            false => !self.is_sequenced() && !self.watches,
        };
        if may && stalled > self.config.patience && now >= self.frozen_until {
            self.slip += stalled;
        }
    }

    /// Whether everything is known of a tick, and nothing of it can become other.
    fn is_final(&self, tick: Tick) -> bool {
        self.held_up_by(tick).is_none() && self.is_heard(tick)
    }

    /// Ticks of which everything is known are final once they are simulated.
    pub(super) fn settle_known(&mut self, world: &mut dyn World) {
        let before = self.next;
        while self.next < self.head && self.is_final(self.next) {
            self.settle(world);
        }
        if self.next == before {
            return;
        }
        self.saves.settle_before(self.next, world);
        let keep = Tick(self.next.0.saturating_sub(self.config.keep));
        if self.timeline.base() < keep {
            self.timeline.forget_before(keep);
            self.voices
                .retain(|_, voice| voice.end.is_none_or(|end| end > keep));
        }
    }

    fn settle(&mut self, world: &mut dyn World) {
        let tick = self.next;
        self.timeline.apply_changes(tick, &mut self.present);
        let inputs = match self.timeline.inputs_mut(tick) {
            Some(inputs) => {
                inputs.share_players(&self.present);
                inputs
            }
            None => &mut self.present,
        };
        world.confirm(tick, inputs);
        self.next = tick.next();
        if self.is_check(self.next) {
            self.check(self.next, world, true);
        }
    }

    /// One tick with what the timeline holds of it.
    pub(super) fn step(&mut self, world: &mut dyn World) {
        let tick = self.head;
        self.timeline.apply_changes(tick, &mut self.present_ahead);
        let inputs = match self.timeline.inputs_mut(tick) {
            Some(inputs) => {
                inputs.share_players(&self.present_ahead);
                inputs
            }
            None => &mut self.present_ahead,
        };
        world.step(tick, inputs);
        self.head = tick.next();
        if self.is_check(self.head) {
            self.saves.keep(self.head, &self.present_ahead, true, world);
        }
    }

    /// Whether all compare their states at a tick.
    fn is_check(&self, tick: Tick) -> bool {
        self.config.desync_check_interval > 0
            && tick.0.is_multiple_of(self.config.desync_check_interval)
    }

    /// How long nothing goes on before what is missing is asked for, again and again.
    fn want_after(&self) -> Duration {
        match self.prediction {
            Some(_) => 3 * self.tick_time,
            None => WANT_AFTER,
        }
    }

    /// Asks for the words of a voice that everything waits for.
    fn ask_for_missing(&mut self, now: Duration, stalled: Duration, id: VoiceId) {
        let Some((me, authority)) = self.me().zip(self.authority()) else {
            return;
        };
        let speaks = self.voice_id(id.peer) == Some(id);
        if speaks && id.peer != me && !self.departed.contains_key(&id) {
            self.ask_all_again();
        }
        if authority == me || now < self.next_plea {
            return;
        }
        self.next_plea = now + WANT_AFTER;
        if stalled > GIVE_UP {
            // Whatever it was that got lost: who goes on without it has a state that is as good.
            let tick = self.next;
            self.say(
                authority,
                Delivery::ReliableOrdered,
                &Message::Leaves { tick, tree: &[] },
            );
        }
        if !speaks || self.departed.contains_key(&id) {
            // How it ends may have been told before this program was there to hear it.
            self.say_known(authority, id);
        }
    }

    /// Asks everyone whose words keep the next tick from being final.
    fn ask_all_again(&mut self) {
        let known = self.known_upto().max(self.next);
        let mut last = None;
        while let Some(id) = self.voice_after(last) {
            last = Some(id);
            let holds_up = |voice: &&Voice| voice.holds_up(known);
            let from = self
                .voices
                .get(&id)
                .filter(holds_up)
                .map(|voice| voice.upto);
            if let Some(from) = from.filter(|_| Some(id.peer) != self.me()) {
                self.ask_again(id, from);
            }
        }
    }

    /// Asks for what is missing, and says when to be called next.
    pub(super) fn plan_wake(&mut self, now: Duration) {
        if let Some((since, id)) = self.stalled
            && now >= self.next_want
        {
            let waited = now.saturating_sub(since);
            match self.config.pace {
                Pace::RealTime if waited >= self.want_after() => {
                    self.next_want = now + self.want_after();
                    self.ask_for_missing(now, waited, id);
                }
                // Somebody thinks, or a turn was said before this program could hear it.
                Pace::Initiative { .. } if waited >= WANT_TURN_AFTER => {
                    self.next_want = now + waited.min(WANT_TURN_EVERY);
                    self.ask_all_again();
                }
                _ => {}
            }
        }
        if self.behind_now > 0 {
            return self.wake_at(now);
        }
        match self.due_here(self.head) {
            Some(due) if due > now => self.wake_at(due),
            // Word from the others wakes this up; this is for asking again.
            Some(_) => self.wake_at(now + self.want_after() / 4),
            None => {}
        }
        let closed = self.my_voice().map(|(_, voice)| voice.upto);
        if let Some(closed) = closed
            && let Some(due) = self.due(closed)
        {
            let at = due.saturating_sub(self.tick_time * self.ahead.ticks() as u32);
            if at > now {
                self.wake_at(at);
            }
        }
        self.wake_at(self.next_report.max(now + self.tick_time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_late_is_waited_for_and_later_less() {
        let tick = Duration::from_micros(16_667);
        let mut extra = Extra::new(Duration::from_millis(500));
        extra.on_slack(Duration::from_secs(1), -30_000);
        let most = extra.length();
        assert_eq!(most, UNTIL_MEASURED);
        for ms in 0..30_000u64 {
            let now = Duration::from_millis(1000 + ms);
            extra.on_slack(now, 20_000);
            extra.relax(now, tick);
        }
        assert!(
            extra.length() < Duration::from_millis(1),
            "{:?}",
            extra.length()
        );
        extra.on_slack(Duration::from_secs(60), -3_000_000);
        assert!(
            extra.length() < Duration::from_millis(1),
            "an outage is no jitter"
        );
    }
}
