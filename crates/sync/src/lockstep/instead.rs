//! A host that passes everyone's words on does not wait long for a guest: it goes on without it, and says so.
//!
//! Ticks of which a silent guest has said nothing are closed by the host, as if the guest had said that nothing changes. When it is heard
//! again it is told, and says in later ticks what it had said for those. So that nothing is final for a guest that the host has
//! decided otherwise, a guest's own words are final for itself only once the host has heard them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use super::Lockstep;
use super::message::{Message, Span};
use crate::timeline::VoiceId;
use crate::{Carriage, PeerId, Tick};

/// How often a guest is told how much of it was heard, in ticks.
const SAY_HEARD_EVERY: u64 = 4;

/// What the host knows of a guest beside what it said, and a guest of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Hearing {
    /// At the host: when anything was last heard of the guest.
    alive: Duration,
    /// At the host: from here on it went on without the guest, which does not know that yet.
    instead: Option<Tick>,
    /// At the host: how much was heard, as the guest was told last. At the guest: as the host said last.
    told: Tick,
    /// How often the host went on without the guest.
    times: u64,
}

impl Hearing {
    /// What a guest knows that begins with a state of its host's.
    pub(super) fn at_guest(told: Tick, times: u64) -> Hearing {
        Hearing {
            told,
            times,
            ..Hearing::default()
        }
    }
}

impl Lockstep {
    /// A tick's inputs cannot become others any more, as far as this program's own are concerned.
    pub(super) fn is_heard(&self, tick: Tick) -> bool {
        if !self.is_hub() || self.is_authority() {
            return true;
        }
        let Some((_, voice)) = self.my_voice() else {
            return true;
        };
        tick < voice.from || tick < self.heard.told
    }

    /// Something came from a guest.
    pub(super) fn note_alive(&mut self, now: Duration, from: PeerId) {
        if !self.is_hub() || !self.is_authority() {
            return;
        }
        let Some(id) = self.voice_id(from) else {
            return;
        };
        let to = self.known_of(id);
        let hearing = self.hearing.entry(id).or_default();
        hearing.alive = now;
        if let Some(since) = hearing.instead.take() {
            hearing.times += 1;
            hearing.told = to;
            let times = hearing.times;
            // What had come too early for its tick may have come to fit.
            let mut entries = Vec::new();
            self.write_all_said(id, since, to, &mut entries);
            let span = self.span_of(id, since, to, &entries);
            let message = Message::Instead { times, span };
            self.say(from, Carriage::Reliable, &message);
        }
    }

    /// This program was frozen: that it has heard nothing meanwhile says nothing about the others.
    pub(super) fn excuse_all(&mut self, now: Duration) {
        for hearing in self.hearing.values_mut() {
            hearing.alive = hearing.alive.max(now);
        }
    }

    /// The host closes what is due for guests that have been silent for too long.
    pub(super) fn speak_for_silent(&mut self, now: Duration) {
        if !self.is_hub() || !self.is_authority() {
            return;
        }
        let Some((me, metronome)) = self.me().zip(self.metronome(now)) else {
            return;
        };
        let due = Tick(u64::try_from(metronome + 1).unwrap_or(0));
        let mut last = None;
        while let Some(id) = self.voice_after(last) {
            last = Some(id);
            let speaks = !self.departed.contains_key(&id) && id.peer != me;
            let Some(voice) = self.voices.get_mut(&id).filter(|_| speaks) else {
                continue;
            };
            let hearing = self.hearing.entry(id).or_insert_with(|| Hearing {
                alive: now,
                ..Hearing::default()
            });
            let is_late = voice.end.is_none() && voice.upto < due;
            if !is_late || now <= hearing.alive + self.config.patience {
                continue;
            }
            hearing.instead.get_or_insert(voice.upto);
            voice.upto = due;
        }
        let voices = &self.voices;
        self.hearing.retain(|id, _| voices.contains_key(id));
    }

    /// The host tells guests how much of them it has heard.
    pub(super) fn say_heard(&mut self) {
        let Some(me) = self.me() else {
            return;
        };
        let mut last = None;
        while let Some(id) = self.voice_after(last) {
            last = Some(id);
            let upto = self.known_of(id);
            let Some(hearing) = self.hearing.get_mut(&id) else {
                continue;
            };
            let is_news = upto.since(hearing.told) >= SAY_HEARD_EVERY;
            if id.peer != me && is_news && hearing.instead.is_none() {
                hearing.told = upto;
                let times = hearing.times;
                let message = Message::Heard { upto, times };
                self.say(id.peer, Carriage::Unreliable, &message);
            }
        }
    }

    /// How often the host went on without a guest.
    pub(super) fn times_without(&self, guest: PeerId) -> u64 {
        let hearing = self.voice_id(guest).and_then(|id| self.hearing.get(&id));
        hearing.map_or(0, |hearing| hearing.times)
    }

    /// The host has heard this program's words up to a tick.
    pub(super) fn on_heard(&mut self, upto: Tick, times: u64) {
        // What was said before the host went on without this program counts only as the host says.
        if times == self.heard.times {
            self.heard.told = self.heard.told.max(upto);
        }
    }

    /// The host went on without this program: for some ticks it did nothing new. What it said for those it says for later ones.
    pub(super) fn on_instead(&mut self, now: Duration, times: u64, span: &Span<'_>) -> Option<()> {
        let (id, voice) = self.my_voice().filter(|(id, _)| *id == span.voice)?;
        let (players, upto) = (voice.players.clone(), voice.upto);
        self.heard.times = times;
        self.heard.told = self.heard.told.max(span.to);
        let said = self.said_from(span.from, upto.min(span.to), &players);
        self.timeline.forget_between(span.from, span.to, &players);
        let mut taken = BTreeSet::new();
        let timeline = &mut self.timeline;
        span.entries.each(|after, player, input| {
            let tick = span.from + after.min(1 << 32);
            if tick < span.to && players.contains(&player) {
                timeline.insert(tick, player, input);
                taken.insert((tick, player));
            }
        })?;
        for (tick, player, input) in said.iter().rev() {
            if !taken.contains(&(*tick, *player)) {
                self.pending.push_first(*player, input);
            }
        }
        if let Some(voice) = self.voices.get_mut(&id) {
            voice.upto = upto.max(span.to);
        }
        for cursor in self.cursors.values_mut() {
            cursor.told = cursor.told.max(span.to);
        }
        self.wake_at(now);
        Some(())
    }

    /// Somebody else leads: what the one before had decided it decides anew.
    pub(super) fn forget_hearing(&mut self) {
        self.hearing.clear();
        self.heard = Hearing::default();
    }
}

/// What the host knows of its guests.
pub(super) type Hearings = BTreeMap<VoiceId, Hearing>;
