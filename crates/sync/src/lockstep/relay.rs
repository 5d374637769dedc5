//! Passing on what guests say to each other, in a hosted room in which everyone speaks for itself.

use core::time::Duration;
use std::collections::BTreeMap;

use super::Lockstep;
use super::message::{Message, Words};
use super::tell::{ONE_PACKET_BYTES, TELL_BACK};
use crate::timeline::VoiceId;
use crate::{Delivery, PeerId, Tick};

/// How much of whose words everyone was told.
#[derive(Debug, Default)]
pub(super) struct Relay {
    told: BTreeMap<(VoiceId, PeerId), Tick>,
    /// Once a tick is enough: everyone's words share a packet.
    next: Duration,
    /// Room to write them into.
    words: Vec<u8>,
}

/// What of one voice is longer goes by itself.
const LONG_BYTES: usize = 300;
/// Ticks that one voice may be behind another in one message.
const COUNTED_BACK: u64 = 60;

impl Relay {
    /// Somebody knows a voice up to here.
    pub(super) fn set_told(&mut self, voice: VoiceId, peer: PeerId, upto: Tick) {
        self.told.insert((voice, peer), upto);
    }

    /// Somebody wants to hear a voice from here on.
    pub(super) fn tell_again(&mut self, voice: VoiceId, peer: PeerId, from: Tick) {
        if let Some(told) = self.told.get_mut(&(voice, peer)) {
            *told = from.min(*told);
        }
    }

    pub(super) fn retain(&mut self, here: impl Fn(PeerId) -> bool) {
        self.told.retain(|(_, peer), _| here(*peer));
    }
}

impl Lockstep {
    /// Whether the host passes on what everyone says.
    pub(super) fn is_hub(&self) -> bool {
        let hosted = self.roster.as_ref().is_some_and(|roster| !roster.is_mesh);
        hosted && !self.is_sequenced()
    }

    /// Tells every guest what the others said.
    pub(super) fn pass_on(&mut self, now: Duration) {
        if !self.is_hub() || !self.is_authority() || (now < self.relay.next && !self.untold) {
            return;
        }
        self.relay.next = now + self.tick_time;
        let (base, mut listener) = (self.timeline.base(), 0);
        while let Some(member) = self
            .roster
            .as_ref()
            .and_then(|roster| roster.members.get(listener))
        {
            listener += 1;
            let (peer, in_sync, watches) = (member.peer, member.in_sync, member.watches);
            if Some(peer) != self.me() {
                self.pass_on_to(now, peer, in_sync, watches, base);
            }
        }
        self.say_heard();
        let voices = &self.voices;
        self.relay.told.retain(|(id, _), _| voices.contains_key(id));
    }

    /// Tells a guest what the others said: in one message, as far as that goes into a packet.
    fn pass_on_to(
        &mut self,
        now: Duration,
        peer: PeerId,
        in_sync: bool,
        watches: bool,
        base: Tick,
    ) {
        let repeated = self.repeated_turns(core::iter::once(peer)) as u64;
        let mut words = core::mem::take(&mut self.relay.words);
        let mut entries = core::mem::take(&mut self.scratch);
        let (mut begun, mut last) = (None, None);
        while let Some(id) = self.voice_after(last) {
            last = Some(id);
            let Some(voice) = self.voices.get(&id).filter(|_| id.peer != peer) else {
                continue;
            };
            // Who has no state yet is told from the state on that it gets.
            let has_state = in_sync || self.relay.told.contains_key(&(id, peer));
            if Some(id.peer) == self.me() || !has_state {
                continue;
            }
            let (upto, begins) = (voice.upto, voice.from);
            let first = Tick(upto.0.saturating_sub(TELL_BACK)).max(begins);
            let until = match watches {
                true => self.delayed_upto(now, upto),
                false => upto,
            };
            let told = self.relay.told.entry((id, peer)).or_insert(first);
            if *told >= until {
                continue;
            }
            let from = core::mem::replace(told, until).max(base);
            let again = Tick(from.0.saturating_sub(repeated)).max(begins).max(base);
            let end = self.write_said(id, again, until, &mut entries);
            if end < until || entries.len() > LONG_BYTES {
                // Much at once goes by itself, and as often as it takes.
                self.listeners.push((from, until, peer));
                let listeners = core::mem::take(&mut self.listeners);
                self.tell_listeners(id, listeners);
                continue;
            }
            // Ticks are counted from one that is before all that is said here.
            let begin = *begun.get_or_insert_with(|| {
                words.clear();
                let begin = Tick(again.0.saturating_sub(COUNTED_BACK));
                Words::begin(self.slip, self.predicting, begin, &mut words);
                begin
            });
            if again < begin || words.len() + entries.len() > ONE_PACKET_BYTES {
                self.listeners.push((from, until, peer));
                let listeners = core::mem::take(&mut self.listeners);
                self.tell_listeners(id, listeners);
                continue;
            }
            Words::add(&mut words, begin, id, (again, until), &entries);
        }
        if begun.is_some() {
            let message = Message::Words(Words::encoded(&words));
            self.outbox.push([peer], Delivery::Unreliable, &message);
        }
        (self.relay.words, self.scratch) = (words, entries);
    }
}
