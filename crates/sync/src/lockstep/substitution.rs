//! Input substitution: a host that relays everyone's inputs does not wait long for a guest.
//!
//! The host closes due ticks of a silent guest as ticks without inputs. When the guest is heard again it is told so, and gives the inputs it
//! had meant for those ticks to later ones, and those that came after them to still later ones, so that their order stays. The host takes none of its inputs
//! until it has answered from which tick on they count again. A guest's own inputs are therefore final for itself only once the host has acknowledged them;
//! until then it simulates them as a prediction.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use super::Lockstep;
use super::message::{InputAck, InputBatch, Message};
use super::receive::MAX_TICKS_AHEAD;
use crate::timeline::SourceId;
use crate::{Delivery, PeerId, Tick};

/// A guest gets an acknowledgement every so many ticks.
const ACKNOWLEDGE_EVERY: u64 = 4;

/// What a host knows of its guests, and a guest of its host.
#[derive(Debug, Default)]
pub(super) struct Substitution {
    /// At the host: its guests.
    guests: BTreeMap<SourceId, Guest>,
    /// At a guest: how far the host has acknowledged this program's inputs.
    acknowledged: Tick,
    /// At a guest: how many times the host substituted this program's inputs.
    substitutions: u64,
    /// At a guest: from here on its inputs count again after the last substitution.
    resume: Tick,
    /// At a guest: the latency from the host to the farthest other guest.
    pub(super) beyond_host: Duration,
}

/// What a host knows of a guest beside its inputs.
#[derive(Clone, Debug)]
struct Guest {
    /// When the last message arrived.
    last_message: Duration,
    /// When the last new input arrived.
    last_input: Duration,
    /// The host has substituted inputs from here on, and goes on until the guest has answered.
    substituted_from: Option<Tick>,
    /// The last acknowledgement that was sent.
    acknowledged: Tick,
    /// How many times the host substituted the guest's inputs.
    substitutions: u64,
}

impl Guest {
    fn new(now: Duration) -> Guest {
        Guest {
            last_message: now,
            last_input: now,
            substituted_from: None,
            acknowledged: Tick(0),
            substitutions: 0,
        }
    }

    fn is_silent(&self, now: Duration, patience: Duration) -> bool {
        now > self.last_message + patience || now > self.last_input + 2 * patience
    }
}

impl Substitution {
    /// Begins anew at a guest with a state of its host's.
    pub(super) fn restart(&mut self, acknowledged: Tick, substitutions: u64) {
        (self.acknowledged, self.substitutions) = (acknowledged, substitutions);
        self.resume = acknowledged;
    }

    /// Another peer leads: it decides anew.
    pub(super) fn on_new_authority(&mut self) {
        self.guests.clear();
        self.restart(Tick(0), 0);
    }

    /// A message arrived from a guest. One that is back gets time to send its inputs.
    pub(super) fn on_message(&mut self, now: Duration, id: SourceId, patience: Duration) {
        if let Some(guest) = self.guests.get_mut(&id) {
            if now > guest.last_message + patience {
                guest.last_input = now;
            }
            guest.last_message = now;
        }
    }

    /// A new input arrived from a guest.
    pub(super) fn on_input(&mut self, now: Duration, id: SourceId) {
        if let Some(guest) = self.guests.get_mut(&id) {
            guest.last_input = now;
        }
    }

    /// This program was frozen: that it heard nothing meanwhile says nothing about its guests.
    pub(super) fn excuse_all(&mut self, now: Duration) {
        for guest in self.guests.values_mut() {
            (guest.last_message, guest.last_input) = (now, now);
        }
    }

    /// How many times the host substituted a guest's inputs.
    pub(super) fn count_of(&self, id: SourceId) -> u64 {
        self.guests.get(&id).map_or(0, |guest| guest.substitutions)
    }

    /// Whether the host takes no inputs of a guest, because that one may not know yet that others were substituted.
    pub(super) fn awaits_answer(&self, id: SourceId) -> bool {
        let guest = self.guests.get(&id);
        guest.is_some_and(|guest| guest.substituted_from.is_some())
    }

    /// Whether to substitute the inputs of a guest that are known up to `known` and late; notes that it was done.
    fn substitute(
        &mut self,
        now: Duration,
        id: SourceId,
        known: Tick,
        is_late: bool,
        patience: Duration,
    ) -> bool {
        let guest = self.guests.entry(id).or_insert_with(|| Guest::new(now));
        if !is_late {
            return false;
        }
        if guest.substituted_from.is_none() && guest.is_silent(now, patience) {
            guest.substitutions += 1;
            guest.substituted_from = Some(known);
        }
        guest.substituted_from.is_some()
    }

    /// The acknowledgement that a guest is due to get: how often its inputs were substituted, and from where if it may not know it.
    fn acknowledge(
        &mut self,
        id: SourceId,
        known: Tick,
        every: u64,
    ) -> Option<(u64, Option<Tick>)> {
        let guest = self.guests.get_mut(&id)?;
        if known.since(guest.acknowledged) < every {
            return None;
        }
        guest.acknowledged = known;
        Some((guest.substitutions, guest.substituted_from))
    }

    /// A guest knows of the last substitution, and its inputs count from a tick on. Returns whether the host, which knows them up to `known`, can take them from there;
    /// if not, it has substituted what the guest gave again as well.
    fn on_substitution_ack(
        &mut self,
        now: Duration,
        id: SourceId,
        substitutions: u64,
        resume: Tick,
        known: Tick,
    ) -> bool {
        let guest = self.guests.get_mut(&id);
        let is_answer = |guest: &&mut Guest| {
            guest.substitutions == substitutions && guest.substituted_from.is_some()
        };
        let Some(guest) = guest.filter(is_answer) else {
            return false;
        };
        guest.last_input = now;
        if known > resume {
            guest.substitutions += 1;
            guest.substituted_from = Some(resume);
            return false;
        }
        guest.substituted_from = None;
        true
    }

    /// The host acknowledged this program's inputs. What was sent before a substitution counts only as the host says.
    fn on_input_ack(&mut self, upto: Tick, substitutions: u64) {
        if substitutions == self.substitutions {
            self.acknowledged = self.acknowledged.max(upto);
        }
    }
}

impl Lockstep {
    /// Whether the host has acknowledged this program's own inputs of a tick, or need not.
    pub(super) fn is_acknowledged(&self, tick: Tick) -> bool {
        if !self.room.is_hub() || self.room.is_authority() {
            return true;
        }
        let Some((_, source)) = self.own_source() else {
            return true;
        };
        tick < source.from || tick < self.substitution.acknowledged
    }

    /// The host closes due ticks of guests that have been silent for too long, or have sent nothing new.
    pub(super) fn substitute_silent_guests(&mut self, now: Duration) {
        if !self.room.is_hub() || !self.room.is_authority() {
            return;
        }
        let reached = self.room.me().zip(self.schedule.tick_at(now));
        let reached = reached.zip(self.room.two_farthest());
        let Some(((me, scheduled), [(_, farthest), _])) = reached else {
            return;
        };
        // The guest's inputs may arrive until the others need them.
        let latency = self.schedule.ticks_in(farthest) as i64;
        let spare = (self.simulated.window() as i64 - 2 - latency).max(0);
        let due = Tick(u64::try_from(scheduled + 1 - spare).unwrap_or(0));
        let mut last = None;
        while let Some(id) = self.sources.after(last) {
            last = Some(id);
            let is_guest = !self.sources.departed.contains(&id) && id.peer != me;
            let Some(source) = self.sources.known.get_mut(&id).filter(|_| is_guest) else {
                continue;
            };
            let (known, patience) = (source.known_upto, self.config.patience);
            let is_late = source.end.is_none() && known < due;
            if self
                .substitution
                .substitute(now, id, known, is_late, patience)
            {
                source.known_upto = due;
                tracing::debug!(peer = %id.peer, from = known.0, to = due.0, "inputs substituted");
            }
        }
        let sources = &self.sources.known;
        self.substitution
            .guests
            .retain(|id, _| sources.contains_key(id));
    }

    /// The host tells guests how far it knows their inputs.
    pub(super) fn send_acknowledgements(&mut self) {
        let Some((me, farthest)) = self.room.me().zip(self.room.two_farthest()) else {
            return;
        };
        // Where the simulation is held all wait for the last acknowledgement.
        let every = match self.simulated.is_held() {
            true => 1,
            false => ACKNOWLEDGE_EVERY,
        };
        let mut last = None;
        while let Some(id) = self.sources.after(last) {
            last = Some(id);
            if id.peer == me {
                continue;
            }
            let upto = self.known_upto_of(id);
            let Some((substitutions, from)) = self.substitution.acknowledge(id, upto, every) else {
                continue;
            };
            let Some(from) = from else {
                let others = farthest.iter().filter(|(peer, _)| *peer != id.peer);
                let beyond_host = others.map(|(_, latency)| *latency).max();
                let message = Message::InputAck(InputAck {
                    upto,
                    substitutions,
                    beyond_host: beyond_host.unwrap_or_default(),
                });
                self.send(id.peer, Delivery::Unreliable, &message);
                continue;
            };
            // An input that had arrived too early for its tick may fit by now: the guest gets all that counts.
            let mut entries = Vec::new();
            self.encode_inputs_of(id, from, upto, usize::MAX, &mut entries);
            let batch = self.batch_of(id, from, upto, &entries);
            let message = Message::InputSubstitution {
                substitutions,
                batch,
            };
            self.send(id.peer, Delivery::Unreliable, &message);
        }
    }

    /// The host acknowledges this program's inputs up to a tick.
    pub(super) fn on_input_ack(&mut self, ack: &InputAck) {
        let before = self.substitution.beyond_host;
        if ack.beyond_host.abs_diff(before) > self.schedule.tick_time / 4 {
            self.substitution.beyond_host = ack.beyond_host;
            self.expect_latency();
        }
        self.substitution.on_input_ack(ack.upto, ack.substitutions);
    }

    /// The host substituted this program's inputs of some ticks: those that it did not take are given to later ticks.
    pub(super) fn on_substitution(
        &mut self,
        now: Duration,
        substitutions: u64,
        batch: &InputBatch<'_>,
    ) -> Option<()> {
        let Some((id, source)) = self.own_source().filter(|(id, _)| *id == batch.source) else {
            // The announcement of this program as a source has not arrived yet.
            return Some(());
        };
        if self.transfer.has_new_host {
            // Its state comes first, and everything that is not in it is given again.
            return Some(());
        }
        if batch.to.since(self.simulated.confirmed_tick) > MAX_TICKS_AHEAD {
            return None;
        }
        let authority = self.room.authority()?;
        if substitutions < self.substitution.substitutions {
            // It took longer than what came after.
            return Some(());
        }
        if substitutions == self.substitution.substitutions {
            let answer = Message::SubstitutionAck {
                substitutions,
                resume: self.substitution.resume,
            };
            self.send(authority, Delivery::Unreliable, &answer);
            return Some(());
        }
        tracing::debug!(
            from = batch.from.0,
            to = batch.to.0,
            "own inputs substituted"
        );
        let (players, known) = (source.players.clone(), source.known_upto);
        let from = batch.from.max(self.substitution.acknowledged);
        let from = from.max(self.simulated.confirmed_tick).max(source.from);
        let mut resume = known.max(batch.to);
        if batch.from == self.substitution.resume && self.substitution.substitutions > 0 {
            resume = resume.max(self.tick_at_next_answer(now));
        }
        if from < resume {
            // The host has taken none of those that were given to later ticks either.
            let own = self.inputs_between(from, known, &players);
            self.timeline.forget_between(from, resume, &players);
            let mut taken = BTreeSet::new();
            let timeline = &mut self.timeline;
            batch.entries.each(|after, player, input| {
                let tick = batch.from + after.min(1 << 32);
                if (from..batch.to).contains(&tick) && players.contains(&player) {
                    timeline.insert(tick, player, input);
                    taken.insert((tick, player));
                }
            })?;
            for (tick, player, input) in own.iter().rev() {
                if !taken.contains(&(*tick, *player)) {
                    self.pending.push_first(*player, input);
                }
            }
        }
        let acknowledged = self.substitution.acknowledged.max(batch.to);
        self.substitution.restart(acknowledged, substitutions);
        self.substitution.resume = resume;
        if let Some(source) = self.sources.known.get_mut(&id) {
            source.known_upto = resume;
        }
        self.broadcast.skip_to(resume);
        let answer = Message::SubstitutionAck {
            substitutions,
            resume,
        };
        self.send(authority, Delivery::Unreliable, &answer);
        self.timers.wake_at(now);
        Some(())
    }

    /// A tick that the host has not substituted when the answer that is sent now arrives, or one soon after it. A far guest that promised less would be too
    /// late each time.
    fn tick_at_next_answer(&self, now: Duration) -> Tick {
        let scheduled = self.schedule.tick_at(now).unwrap_or(0);
        let scheduled = Tick(u64::try_from(scheduled).unwrap_or(0));
        scheduled + self.schedule.ticks_in(2 * self.room.max_latency()) + ACKNOWLEDGE_EVERY
    }

    /// A guest knows of the substitution of its inputs, and has given none to the ticks before one.
    pub(super) fn on_substitution_ack(
        &mut self,
        now: Duration,
        from: PeerId,
        substitutions: u64,
        resume: Tick,
    ) -> Option<()> {
        if resume.since(self.simulated.confirmed_tick) > MAX_TICKS_AHEAD {
            return None;
        }
        let id = self.room.source_id(from)?;
        let known = self.known_upto_of(id);
        let counts = self
            .substitution
            .on_substitution_ack(now, id, substitutions, resume, known);
        if let Some(source) = self.sources.known.get_mut(&id).filter(|_| counts) {
            source.known_upto = resume;
            self.retry_early_batches(now);
        }
        self.timers.wake_at(now);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(500);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_silent_guest_is_substituted_until_it_is_heard_again() {
        let id = SourceId {
            peer: PeerId(1),
            incarnation: 1,
        };
        let mut host = Substitution::default();
        assert!(!host.substitute(ms(0), id, Tick(5), true, PATIENCE), "new");
        assert!(
            !host.substitute(ms(600), id, Tick(5), false, PATIENCE),
            "in time"
        );
        assert!(host.substitute(ms(600), id, Tick(5), true, PATIENCE));
        assert!(host.substitute(ms(620), id, Tick(6), true, PATIENCE));
        assert_eq!(host.acknowledge(id, Tick(7), 4), Some((1, Some(Tick(5)))));
        assert_eq!(host.acknowledge(id, Tick(8), 4), None, "not so soon");
        host.on_message(ms(700), id, PATIENCE);
        assert!(
            host.substitute(ms(1000), id, Tick(7), true, PATIENCE),
            "it is back, and does not know yet"
        );
        let mut answers = |substitutions, resume, known| {
            host.on_substitution_ack(ms(1000), id, substitutions, Tick(resume), Tick(known))
        };
        assert!(!answers(0, 9, 8), "of another substitution");
        assert!(!answers(1, 9, 10), "too late: these are substituted too");
        assert!(!answers(1, 12, 10), "of the one before");
        assert!(answers(2, 12, 10));
        assert!(!answers(2, 12, 10), "once");
        assert_eq!(host.acknowledge(id, Tick(16), 4), Some((2, None)));
        assert!(
            !host.substitute(ms(1000), id, Tick(16), true, PATIENCE),
            "back"
        );
        assert_eq!(host.count_of(id), 2);
    }

    #[test]
    fn an_acknowledgement_from_before_a_substitution_does_not_count() {
        let mut guest = Substitution::default();
        guest.restart(Tick(10), 1);
        guest.on_input_ack(Tick(30), 0);
        assert_eq!(guest.acknowledged, Tick(10));
        guest.on_input_ack(Tick(30), 1);
        guest.on_input_ack(Tick(20), 1);
        assert_eq!(guest.acknowledged, Tick(30));
    }
}
