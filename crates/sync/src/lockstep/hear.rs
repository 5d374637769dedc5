//! What the others say.

use core::time::Duration;
use std::collections::BTreeSet;

use super::message::{Message, Span};
use super::{Lockstep, Slack, Voice};
use crate::timeline::{Change, VoiceId};
use crate::{Delivery, PeerId, Tick, TickInputs};

/// How often somebody is asked to say again what was lost.
const GAP_EVERY: Duration = Duration::from_millis(100);
/// Spans that may wait for those before them.
const MAX_EARLY: usize = 512;
/// Messages that may wait for the world.
const MAX_FOR_WORLD: usize = 64;
/// How far a voice may be ahead of the simulation.
const MAX_AHEAD: u64 = 36_000;
/// How far the schedule moves at most at a word of somebody else's.
const MAX_SLIP: Duration = Duration::from_secs(3600);

impl Lockstep {
    /// Takes a message; `None` if it makes no sense.
    pub(super) fn hear(&mut self, now: Duration, from: PeerId, bytes: &[u8]) -> Option<()> {
        self.roster.as_ref()?.member(from)?;
        self.note_alive(now, from);
        let roster = self.roster.as_ref()?;
        let (authority, me, hub) = (roster.authority, roster.me, self.is_hub());
        match Message::read(bytes)? {
            Message::Span(span) => {
                let passed_on = hub && from == authority;
                if (span.voice.peer != from && !passed_on) || from == me || span.voice.peer == me {
                    return None;
                }
                if hub && from != authority && !span.changes.is_empty() {
                    return None;
                }
                self.hear_or_keep(now, from, &span)?;
            }
            Message::Words(_) if from != authority || !hub => return None,
            Message::Words(words) => words.each(|span| {
                let is_others = span.voice.peer != me;
                is_others.then(|| self.hear_or_keep(now, from, &span))?
            })?,
            Message::Inputs(entries) => {
                if !self.is_sequenced() || me != authority {
                    return None;
                }
                let theirs = roster.member(from)?.players.clone();
                let mut refused = 0;
                let holder = self.initiative;
                let pending = &mut self.pending;
                entries.each(|_, player, input| {
                    let may =
                        theirs.contains(&player) && holder.is_none_or(|holder| holder == player);
                    if !may || !pending.push(player, input) {
                        refused += 1;
                    }
                })?;
                self.inputs_refused += refused;
            }
            Message::EndTurn(player) => {
                let theirs = roster.member(from)?.players.contains(&player);
                if !theirs || me != authority || self.initiative != Some(player) {
                    return None;
                }
                self.turn_ended = true;
                self.wake_at(now);
            }
            Message::Report(report) => self.on_report(now, from, report),
            Message::Check { tick, checksum } => self.guard.on_check(now, from, tick, checksum),
            Message::Want { voice, from: tick } => {
                let base = self.timeline.base();
                let ended = self.voices.get(&voice).and_then(|voice| voice.end);
                if let Some(end) = ended.filter(|_| me == authority) {
                    self.say_end(from, voice, end);
                } else if tick < base {
                    // Too long ago: whoever asks needs the whole state.
                    self.queue_for_world(now, from, &Message::Leaves { tick, tree: &[] }.write());
                } else if voice.peer != me {
                    self.relay.tell_again(voice, from, tick);
                    self.wake_at(now);
                } else if let Some(cursor) = self.cursors.get_mut(&from) {
                    cursor.told = cursor.told.min(tick);
                    self.untold = true;
                    self.wake_at(now);
                }
            }
            Message::Have { span } => self.on_have(now, from, &span)?,
            Message::Recall(voice) => {
                if from != authority {
                    return None;
                }
                self.on_recall(voice);
            }
            Message::Alive(voice) => {
                if from != authority {
                    return None;
                }
                self.departed.remove(&voice);
                self.take_early(now);
                self.wake_at(now);
            }
            Message::End { span } => {
                if from != authority {
                    return None;
                }
                self.on_end(now, &span)?;
            }
            Message::Heard { .. } | Message::Instead { .. } if from != authority || !hub => {
                return None;
            }
            Message::Heard {
                upto,
                times,
                beyond,
            } => self.on_heard(upto, times, beyond),
            Message::Instead { times, span } => self.on_instead(now, times, &span)?,
            Message::Granted { times } => self.on_granted(from, times),
            Message::Repaired { tick, words } => self.on_repaired(from, tick, words),
            Message::Checkpoint(_) if self.newer == Some(from) => {
                self.newer = None;
                self.queue_for_world(now, from, bytes);
            }
            Message::Diverged { .. } | Message::Checkpoint(_) if from != authority => return None,
            Message::Diverged { .. } => {
                self.is_wrong = true;
                self.queue_for_world(now, from, bytes);
            }
            Message::Leaves { .. } | Message::Rows { .. } | Message::Checkpoint(_) => {
                self.queue_for_world(now, from, bytes);
            }
        }
        Some(())
    }

    /// Takes a span, or keeps it until what is missing before it is known.
    fn hear_or_keep(&mut self, now: Duration, from: PeerId, span: &Span<'_>) -> Option<()> {
        if self.hear_span(now, span, true)? {
            self.take_early(now);
            if self.stalled.is_some() {
                self.wake_at(now);
            }
        } else if self.early.len() < MAX_EARLY {
            self.early.push((from, Message::Span(span.clone()).write()));
        }
        Some(())
    }

    fn queue_for_world(&mut self, now: Duration, from: PeerId, bytes: &[u8]) {
        // Where nothing changes any more the world is another's.
        if self.for_world.len() < MAX_FOR_WORLD && !self.is_over() {
            self.for_world.push_back((from, bytes.into()));
            self.wake_at(now);
        }
    }

    /// Takes what a voice says. False if something before it is missing.
    fn hear_span(&mut self, now: Duration, span: &Span<'_>, at_once: bool) -> Option<bool> {
        let authority = self.authority()?;
        let is_authority = span.voice.peer == authority;
        if self.is_sequenced() && !is_authority {
            return None;
        }
        if !self.voices.contains_key(&span.voice) {
            // It will be told to speak by somebody whose word has not come yet, or begins where all others have ended.
            let own = span
                .changes
                .iter()
                .find(|(_, change)| matches!(change, Change::Voice(id, _) if *id == span.voice));
            let ended = self
                .voices
                .values()
                .map(|voice| voice.end)
                .collect::<Option<Vec<Tick>>>();
            let all_ended = ended.and_then(|ended| ended.into_iter().max());
            match own.zip(all_ended) {
                Some(((tick, _), end)) if is_authority && *tick == end => {
                    self.voices.insert(span.voice, Voice::new(end, Vec::new()));
                }
                _ => return Some(false),
            }
        }
        let again = match self.prediction {
            Some(_) => self.tick_time,
            None => GAP_EVERY,
        };
        let voice = self.voices.get_mut(&span.voice)?;
        if span.from > voice.upto {
            let gone = voice.end.is_some() || self.departed.contains_key(&span.voice);
            if now >= voice.next_want && !gone {
                // More was lost than is said again.
                voice.next_want = now + again;
                let from = voice.upto;
                voice.asked = Some(from);
                self.ask_again(span.voice, from);
            }
            return Some(false);
        }
        let voice_upto = voice.upto;
        if span.to.0 > self.next.0 + MAX_AHEAD
            || self.departed.contains_key(&span.voice)
            || voice.end.is_some()
        {
            return Some(true);
        }
        if span.to > voice.upto {
            self.hear_slip(span.slip, is_authority);
            if is_authority && self.prediction.is_some() {
                self.set_predicting(now, span.predicting);
            }
            // What was lost, and what waited for it, is later than the way takes.
            let asked = self.voices.get_mut(&span.voice)?.asked.take();
            if at_once && asked.is_none() {
                self.note_slack(now, span);
            }
            self.take_span(span)?;
            self.note_spoken(now, span.voice);
            if self.is_sequenced() {
                self.turn = span.to.since(voice_upto.max(span.from));
                self.initiative = span.initiative;
            }
        }
        Some(true)
    }

    /// Asks whoever tells of a voice to say that again.
    pub(super) fn ask_again(&mut self, voice: VoiceId, from: Tick) {
        let teller = match self.authority() {
            Some(authority) if self.is_hub() && !self.is_authority() => authority,
            _ => voice.peer,
        };
        // Where every tick counts it is asked for again sooner than a loss is noticed.
        let delivery = match self.prediction {
            Some(_) => Delivery::Unreliable,
            None => Delivery::ReliableOrdered,
        };
        self.say(teller, delivery, &Message::Want { voice, from });
    }

    /// The schedule has moved.
    fn hear_slip(&mut self, slip: Duration, is_authority: bool) {
        let follows = match self.is_sequenced() || self.is_hub() {
            true => is_authority,
            false => slip > self.slip,
        };
        if !follows || slip > self.slip + MAX_SLIP {
            return;
        }
        if let Some(by) = slip.checked_sub(self.slip)
            && !by.is_zero()
        {
            self.extra.on_slip(by);
            // What was late by the old schedule says nothing about the new.
            for voice in self.voices.values_mut() {
                voice.slack = Slack::default();
            }
            if let Some((since, _)) = &mut self.stalled {
                *since += by;
            }
        }
        self.slip = slip;
    }

    fn note_slack(&mut self, now: Duration, span: &Span<'_>) {
        let Some(voice) = self.voices.get(&span.voice) else {
            return;
        };
        let first = span.from.max(voice.upto);
        let Some(due) = self.due(first) else {
            return;
        };
        // Nothing that happened long ago, nothing that waited here rather than on the way.
        if now < self.frozen_until || self.hurrying || first < self.next {
            return;
        }
        let slack = match due.checked_sub(now) {
            Some(early) => early.as_micros() as i64,
            None => -((now - due).as_micros() as i64),
        };
        let allowance = self.allowance().as_micros() as i64;
        if !self.predicts() {
            self.extra.on_slack(now, slack);
        }
        if let Some(voice) = self.voices.get_mut(&span.voice) {
            voice.slack.add(slack, first);
            if slack < -allowance {
                self.next_report = self.next_report.min(now + Duration::from_millis(50));
            }
        }
    }

    /// Adds to the timeline what a span says and was not known yet.
    pub(super) fn take_span(&mut self, span: &Span<'_>) -> Option<()> {
        let known = self.voices.get(&span.voice)?.upto;
        // Who speaks for whom comes first: it tells whose inputs count.
        for (tick, change) in &span.changes {
            if *tick < self.next {
                continue;
            }
            if let Change::Voice(id, players) = change {
                let begin = || Voice::new(*tick, players.clone());
                let voice = self.voices.entry(*id).or_insert_with(begin);
                if voice.players.is_empty() {
                    voice.players.clone_from(players);
                }
                // Two may have said so: the earlier one counts.
                if *tick < voice.from && voice.upto == voice.from && voice.end.is_none() {
                    (voice.from, voice.upto) = (*tick, *tick);
                }
            }
            self.timeline.change(*tick, change.clone());
        }
        let ticks = span.to.since(span.from);
        let sequenced = self.is_sequenced();
        let players = &self.voices.get(&span.voice)?.players;
        let timeline = &mut self.timeline;
        span.entries.each(|after, player, input| {
            let tick = span.from + after.min(1 << 32);
            let its_own = sequenced || players.contains(&player);
            if after < ticks && tick >= known && its_own {
                timeline.insert(tick, player, input);
            }
        })?;
        if let Some(voice) = self.voices.get_mut(&span.voice) {
            voice.upto = voice.upto.max(span.to);
        }
        Some(())
    }

    /// Looks again at what came too early.
    pub(super) fn take_early(&mut self, now: Duration) {
        loop {
            let mut progress = false;
            for (from, bytes) in core::mem::take(&mut self.early) {
                let taken = match Message::read(&bytes) {
                    Some(Message::Span(span)) => self.hear_span(now, &span, false),
                    _ => None,
                };
                match taken {
                    Some(false) => self.early.push((from, bytes)),
                    _ => progress = true,
                }
            }
            if !progress {
                return;
            }
        }
    }

    /// Who is present where everything that is known ends.
    pub(super) fn present_at_end(&self) -> BTreeSet<crate::PlayerId> {
        let mut present = TickInputs::new();
        present.share_players(&self.present);
        let last = self
            .timeline
            .changes_from(self.next)
            .map(|(tick, _)| tick)
            .max();
        let mut tick = self.next;
        while last.is_some_and(|last| tick <= last) {
            self.timeline.apply_changes(tick, &mut present);
            tick = tick.next();
        }
        present.players().iter().copied().collect()
    }

    /// The tick up to which a voice is known.
    pub(super) fn known_of(&self, id: VoiceId) -> Tick {
        self.voices.get(&id).map_or(self.next, |voice| voice.upto)
    }
}
