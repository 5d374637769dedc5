//! Agreeing on the last word of one who is gone.
//!
//! Some have heard more of it than others, and may have simulated on that. So everyone tells the authority what it has heard, and
//! the authority tells everyone the whole, and where it ends.

use core::time::Duration;
use std::collections::BTreeSet;

use super::message::{Message, Span};
use super::{FROZEN, Lockstep, Voice};
use crate::timeline::{Change, VoiceId};
use crate::{Delivery, PeerId, Tick};

/// How much of a voice that is gone is told: more than anybody can be behind and still follow.
const TELL_BACK: u64 = 600;
/// How often it is told again.
const AGAIN: Duration = Duration::from_secs(1);

/// A voice that is gone, while its end is not agreed on.
#[derive(Debug, Default)]
pub(super) struct Departed {
    answered: BTreeSet<PeerId>,
    next_word: Duration,
}

impl Departed {
    /// Somebody has nothing to say that is not known.
    pub(super) fn on_nothing_newer(&mut self, peer: PeerId) {
        self.answered.insert(peer);
    }

    /// What was said to another authority may be lost.
    pub(super) fn on_new_authority(&mut self) {
        self.next_word = Duration::ZERO;
        self.answered.clear();
    }
}

impl Lockstep {
    /// A voice is gone, and is not listened to any more.
    pub(super) fn on_departed(&mut self, id: VoiceId) {
        let speaks = self
            .voices
            .get(&id)
            .is_some_and(|voice| voice.end.is_none());
        if speaks {
            self.departed.entry(id).or_default();
        }
    }

    /// The authority looks for voices of those who are not there any more, or not the same.
    pub(super) fn look_for_departed(&mut self) {
        let Some(roster) = self
            .roster
            .as_ref()
            .filter(|roster| roster.me == roster.authority)
        else {
            return;
        };
        let sequenced = self.is_sequenced();
        let gone = self.voices.keys().filter(|id| {
            let member = roster.member(id.peer);
            let here =
                member.is_some_and(|member| member.in_sync && member.incarnation == id.incarnation);
            !here || (sequenced && id.peer != roster.authority)
        });
        let gone: Vec<VoiceId> = gone.copied().collect();
        for id in gone {
            self.on_departed(id);
        }
    }

    /// The authority finds out how the voices that are gone end.
    pub(super) fn see_departures(&mut self, now: Duration) {
        if self.departed.is_empty() || !self.is_authority() {
            return;
        }
        let Some(me) = self.me() else {
            return;
        };
        let gone: Vec<VoiceId> = self.departed.keys().copied().collect();
        for id in gone {
            self.settle_departed(now, me, id);
        }
    }

    /// Once all have said what they know, that is the end; who has not is asked.
    fn settle_departed(&mut self, now: Duration, me: PeerId, id: VoiceId) {
        // What was said through this host it knows best.
        let hub = self.is_hub() && self.led_always;
        let Some((roster, departed)) = self.roster.as_ref().zip(self.departed.get_mut(&id)) else {
            return;
        };
        let others = roster
            .members
            .iter()
            .filter(|member| !member.away && member.peer != me && !member.watches);
        let silent: Vec<PeerId> = others
            .map(|member| member.peer)
            .filter(|peer| !hub && !departed.answered.contains(peer))
            .collect();
        if !silent.is_empty() {
            if now >= departed.next_word {
                departed.next_word = now + AGAIN;
                self.outbox
                    .push(silent, Delivery::ReliableOrdered, &Message::Recall(id));
            }
            return self.wake_at(now + AGAIN);
        }
        let to: Vec<PeerId> = roster
            .members
            .iter()
            .map(|member| member.peer)
            .filter(|peer| *peer != me)
            .collect();
        let mut entries = Vec::new();
        let span = self.known_span(id, &mut entries);
        let end = span.to;
        self.outbox
            .push(to, Delivery::ReliableOrdered, &Message::End { span });
        self.end_voice(now, id, end);
    }

    /// The authority wants to know what was heard of a voice that is gone. It is not listened to any more.
    pub(super) fn on_recall(&mut self, voice: VoiceId) {
        let Some(authority) = self.authority() else {
            return;
        };
        self.on_departed(voice);
        self.say_known(authority, voice);
    }

    /// Tells the authority what is known of a voice that is gone.
    pub(super) fn say_known(&mut self, authority: PeerId, voice: VoiceId) {
        let mut entries = Vec::new();
        let span = self.known_span(voice, &mut entries);
        self.say(
            authority,
            Delivery::ReliableOrdered,
            &Message::Have { span },
        );
    }

    /// Everything known of the last words of a voice.
    fn known_span<'a>(&self, id: VoiceId, entries: &'a mut Vec<u8>) -> Span<'a> {
        let to = self.known_of(id);
        let from = Tick(to.0.saturating_sub(TELL_BACK))
            .max(self.timeline.base())
            .min(to);
        self.write_all_said(id, from, to, entries);
        self.span_of(id, from, to, entries)
    }

    /// To the authority: what somebody knows of one who is gone.
    pub(super) fn on_have(&mut self, now: Duration, from: PeerId, span: &Span<'_>) -> Option<()> {
        if !self.is_authority() {
            return Some(());
        }
        let voice = self.voices.get(&span.voice)?;
        if let Some(end) = voice.end {
            // It is agreed on already: whoever says this has missed it.
            self.say_end(from, span.voice, end);
            return Some(());
        }
        if !self.departed.contains_key(&span.voice) {
            // An authority before this one asked for it, and it came back.
            self.say(from, Delivery::ReliableOrdered, &Message::Alive(span.voice));
            return Some(());
        }
        if span.from > voice.upto {
            // Its state holds what it cannot tell any more: that state counts, and everyone goes on from it.
            self.newer = Some(from);
            let tick = self.next;
            self.say(
                from,
                Delivery::ReliableOrdered,
                &Message::Leaves { tick, tree: &[] },
            );
            return Some(());
        }
        self.take_span(span)?;
        if let Some(departed) = self.departed.get_mut(&span.voice) {
            departed.answered.insert(from);
        }
        self.wake_at(now);
        Some(())
    }

    /// Tells somebody who has missed it how a voice ended.
    pub(super) fn say_end(&mut self, to: PeerId, id: VoiceId, end: Tick) {
        let mut entries = Vec::new();
        let mut span = self.known_span(id, &mut entries);
        span.to = end;
        self.say(to, Delivery::ReliableOrdered, &Message::End { span });
    }

    /// The authority says how a voice that is gone ends.
    pub(super) fn on_end(&mut self, now: Duration, span: &Span<'_>) -> Option<()> {
        let voice = self.voices.get(&span.voice)?;
        if voice.end.is_some() {
            return Some(());
        }
        if span.from > voice.upto {
            // Too much is missing to follow: the whole state is wanted.
            let authority = self.authority()?;
            let tick = self.next;
            self.say(
                authority,
                Delivery::ReliableOrdered,
                &Message::Leaves { tick, tree: &[] },
            );
            return Some(());
        }
        self.take_span(span)?;
        self.end_voice(now, span.voice, span.to);
        Some(())
    }

    fn end_voice(&mut self, now: Duration, id: VoiceId, end: Tick) {
        self.departed.remove(&id);
        let sequenced = self.is_sequenced();
        let Some(voice) = self.voices.get_mut(&id) else {
            return;
        };
        let said_more = voice.upto > end;
        voice.upto = end;
        voice.end = Some(end);
        let players = voice.players.clone();
        if said_more && !sequenced {
            // Nobody whose word counts has heard that.
            self.timeline.forget_between(end, Tick(u64::MAX), &players);
            if let Some(authority) = self.authority().filter(|_| self.next > end) {
                self.is_wrong = true;
                let tick = Tick(0);
                self.say(
                    authority,
                    Delivery::ReliableOrdered,
                    &Message::Leaves { tick, tree: &[] },
                );
            }
        }
        if sequenced {
            if let Some(next) = self
                .authority()
                .and_then(|authority| self.voice_id(authority))
            {
                self.voices.insert(next, Voice::new(end, Vec::new()));
                self.roll = self.present_at_end();
                // What the new one says first is late for a reason that does not last.
                self.frozen_until = now + FROZEN;
                self.untold = true;
                for cursor in self.cursors.values_mut() {
                    cursor.told = cursor.told.min(end);
                }
            }
        } else {
            for player in players {
                self.timeline.change(end, Change::Leave(player));
            }
        }
        self.take_early(now);
        self.wake_at(now);
    }
}
