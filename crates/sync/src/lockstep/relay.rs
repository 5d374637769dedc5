//! Passing on what guests say to each other, in a hosted room in which everyone speaks for itself.

use alloc::collections::BTreeMap;
use core::time::Duration;

use super::Lockstep;
use super::close::TELL_BACK;
use crate::timeline::VoiceId;
use crate::{PeerId, Tick};

/// How much of whose words everyone was told.
#[derive(Debug, Default)]
pub(super) struct Relay {
    told: BTreeMap<(VoiceId, PeerId), Tick>,
    /// Once a tick is enough: everyone's words share a packet.
    next: Duration,
}

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
        let Some(roster) = self.roster.as_ref() else {
            return;
        };
        let (me, base) = (roster.me, self.timeline.base());
        let mut last = None;
        while let Some(id) = self.voice_after(last) {
            last = Some(id);
            if id.peer != me {
                self.pass_on_voice(now, id, base);
            }
        }
        self.say_heard();
        let voices = &self.voices;
        self.relay.told.retain(|(id, _), _| voices.contains_key(id));
    }

    fn pass_on_voice(&mut self, now: Duration, id: VoiceId, base: Tick) {
        let Some((roster, voice)) = self.roster.as_ref().zip(self.voices.get(&id)) else {
            return;
        };
        let mut listeners = core::mem::take(&mut self.listeners);
        let delayed = self.delayed_upto(now, voice.upto);
        for member in &roster.members {
            // Who has no state yet is told from the state on that it gets.
            let has_state = member.in_sync || self.relay.told.contains_key(&(id, member.peer));
            if member.peer == roster.me || member.peer == id.peer || !has_state {
                continue;
            }
            let first = Tick(voice.upto.0.saturating_sub(TELL_BACK)).max(voice.from);
            let told = self.relay.told.entry((id, member.peer)).or_insert(first);
            let until = if member.watches { delayed } else { voice.upto };
            if *told < until {
                let from = core::mem::replace(told, until).max(base);
                listeners.push((from, until, member.peer));
            }
        }
        self.tell_listeners(id, listeners);
    }
}
