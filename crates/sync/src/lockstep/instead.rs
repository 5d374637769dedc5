//! A host that passes everyone's words on does not wait long for a guest: it goes on without it, and says so.
//!
//! Ticks of which a silent guest has said nothing are closed by the host, as if the guest had said that nothing changes. When it is heard
//! again it is told, and says in later ticks what it had said for those. So that nothing is final for a guest that the host has
//! decided otherwise, a guest's own words are final for itself only once the host has heard them.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use super::Lockstep;
use super::message::{Message, Span};
use crate::timeline::VoiceId;
use crate::{Delivery, PeerId, Tick};

/// How often a guest is told how much of it was heard, in ticks.
const SAY_HEARD_EVERY: u64 = 4;

/// What the host knows of a guest beside what it said, and a guest of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Hearing {
    /// At the host: when anything was last heard of the guest.
    alive: Duration,
    /// At the host: when it last said something new.
    spoke: Duration,
    /// At the host: from here on it went on without the guest, which may not know that yet.
    instead: Option<Tick>,
    /// At the host: how much was heard, as the guest was told last. At the guest: as the host said last.
    told: Tick,
    /// How many times the host spoke in the guest's place.
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
        let id = self.voice_id(from).filter(|_| self.is_hub());
        if let Some(hearing) = id.and_then(|id| self.hearing.get_mut(&id)) {
            if now > hearing.alive + self.config.patience {
                // It is back: it gets time to find its words.
                hearing.spoke = now;
            }
            hearing.alive = now;
        }
    }

    /// A guest said something new.
    pub(super) fn note_spoken(&mut self, now: Duration, id: VoiceId) {
        if let Some(hearing) = self.hearing.get_mut(&id) {
            hearing.spoke = now;
        }
    }

    /// This program was frozen: that it has heard nothing meanwhile says nothing about the others.
    pub(super) fn excuse_all(&mut self, now: Duration) {
        for hearing in self.hearing.values_mut() {
            (hearing.alive, hearing.spoke) = (now, now);
        }
    }

    /// The host closes what is due for guests that have been silent for too long, and for those that are there but say nothing new.
    pub(super) fn speak_for_silent(&mut self, now: Duration) {
        if !self.is_hub() || !self.is_authority() {
            return;
        }
        let reached = self.me().zip(self.metronome(now)).zip(self.two_farthest());
        let Some(((me, metronome), [(_, farthest), _])) = reached else {
            return;
        };
        // Not before the others need it: the guest's own words may come until then.
        let way = farthest.as_nanos().div_ceil(self.tick_time.as_nanos()) as i64;
        let window = self
            .prediction
            .as_ref()
            .map_or(0, |prediction| prediction.window as i64);
        let spare = (window - 2 - way).max(0);
        let due = Tick(u64::try_from(metronome + 1 - spare).unwrap_or(0));
        let mut last = None;
        while let Some(id) = self.voice_after(last) {
            last = Some(id);
            let speaks = !self.departed.contains_key(&id) && id.peer != me;
            let Some(voice) = self.voices.get_mut(&id).filter(|_| speaks) else {
                continue;
            };
            let hearing = self.hearing.entry(id).or_insert_with(|| Hearing {
                alive: now,
                spoke: now,
                ..Hearing::default()
            });
            let is_late = voice.end.is_none() && voice.upto < due;
            let is_silent = now > hearing.alive + self.config.patience
                || now > hearing.spoke + 2 * self.config.patience;
            if !is_late || !is_silent {
                continue;
            }
            hearing.times += 1;
            hearing.instead.get_or_insert(voice.upto);
            voice.upto = due;
        }
        let voices = &self.voices;
        self.hearing.retain(|id, _| voices.contains_key(id));
    }

    /// The host tells guests how much of them it has heard.
    pub(super) fn say_heard(&mut self) {
        let Some((me, farthest)) = self.me().zip(self.two_farthest()) else {
            return;
        };
        // Where nothing goes on all wait for it.
        let every = match self.is_held() {
            true => 1,
            false => SAY_HEARD_EVERY,
        };
        let mut last = None;
        while let Some(id) = self.voice_after(last) {
            last = Some(id);
            let upto = self.known_of(id);
            let others = farthest.iter().filter(|(peer, _)| *peer != id.peer);
            let beyond = others.map(|(_, way)| *way).max().unwrap_or_default();
            let Some(hearing) = self.hearing.get_mut(&id) else {
                continue;
            };
            let is_news = upto.since(hearing.told) >= every;
            if id.peer == me || !is_news {
                continue;
            }
            hearing.told = upto;
            let (times, instead) = (hearing.times, hearing.instead);
            let Some(since) = instead else {
                let message = Message::Heard {
                    upto,
                    times,
                    beyond,
                };
                self.say(id.peer, Delivery::Unreliable, &message);
                continue;
            };
            // What had come too early for its tick may have come to fit.
            let mut entries = Vec::new();
            self.write_all_said(id, since, upto, &mut entries);
            let span = self.span_of(id, since, upto, &entries);
            let message = Message::Instead { times, span };
            self.say(id.peer, Delivery::Unreliable, &message);
        }
    }

    /// How many times the host spoke in a guest's place.
    pub(super) fn times_without(&self, guest: PeerId) -> u64 {
        let hearing = self.voice_id(guest).and_then(|id| self.hearing.get(&id));
        hearing.map_or(0, |hearing| hearing.times)
    }

    /// Which two who play are farthest from here, and how far.
    pub(super) fn two_farthest(&self) -> Option<[(PeerId, Duration); 2]> {
        let roster = self.roster.as_ref()?;
        let mut farthest = [(roster.me, Duration::ZERO); 2];
        let playing = roster
            .members
            .iter()
            .filter(|member| member.peer != roster.me && !member.away && !member.watches);
        for member in playing {
            if member.latency > farthest[0].1 {
                farthest = [(member.peer, member.latency), farthest[0]];
            } else if member.latency > farthest[1].1 {
                farthest[1] = (member.peer, member.latency);
            }
        }
        Some(farthest)
    }

    /// The host has heard this program's words up to a tick.
    pub(super) fn on_heard(&mut self, upto: Tick, times: u64, beyond: Duration) {
        if beyond.abs_diff(self.beyond_host) > self.tick_time / 4 {
            self.beyond_host = beyond;
            self.expect_latency();
        }
        // What was said before the host went on without this program counts only as the host says.
        if times == self.heard.times {
            self.heard.told = self.heard.told.max(upto);
        }
    }

    /// The host went on without this program: some ticks are as the host says. What this program said for those, and was not
    /// heard, it says for later ones.
    pub(super) fn on_instead(&mut self, now: Duration, times: u64, span: &Span<'_>) -> Option<()> {
        let Some((id, voice)) = self.my_voice().filter(|(id, _)| *id == span.voice) else {
            // It is not known here yet that this program speaks.
            return Some(());
        };
        let authority = self.authority()?;
        if times == self.heard.times {
            self.say(authority, Delivery::Unreliable, &Message::Granted { times });
            return Some(());
        }
        let (players, upto) = (voice.players.clone(), voice.upto);
        let from = span
            .from
            .max(self.heard.told)
            .max(self.next)
            .max(voice.from);
        if from < span.to {
            let said = self.said_from(from, upto.min(span.to), &players);
            self.timeline.forget_between(from, span.to, &players);
            let mut taken = BTreeSet::new();
            let timeline = &mut self.timeline;
            span.entries.each(|after, player, input| {
                let tick = span.from + after.min(1 << 32);
                if (from..span.to).contains(&tick) && players.contains(&player) {
                    timeline.insert(tick, player, input);
                    taken.insert((tick, player));
                }
            })?;
            for (tick, player, input) in said.iter().rev() {
                if !taken.contains(&(*tick, *player)) {
                    self.pending.push_first(*player, input);
                }
            }
        }
        self.heard.times = times;
        self.heard.told = self.heard.told.max(span.to);
        if let Some(voice) = self.voices.get_mut(&id) {
            voice.upto = upto.max(span.to);
        }
        for cursor in self.cursors.values_mut() {
            cursor.told = cursor.told.max(span.to);
        }
        self.say(authority, Delivery::Unreliable, &Message::Granted { times });
        self.wake_at(now);
        Some(())
    }

    /// A guest knows how often the host went on without it, and what counts instead.
    pub(super) fn on_granted(&mut self, from: PeerId, times: u64) {
        let id = self.voice_id(from);
        let hearing = id.and_then(|id| self.hearing.get_mut(&id));
        if let Some(hearing) = hearing.filter(|hearing| hearing.times == times) {
            hearing.instead = None;
        }
    }

    /// Somebody else leads: what the one before had decided it decides anew.
    pub(super) fn forget_hearing(&mut self) {
        self.hearing.clear();
        self.heard = Hearing::default();
    }
}

/// What the host knows of its guests.
pub(super) type Hearings = BTreeMap<VoiceId, Hearing>;
