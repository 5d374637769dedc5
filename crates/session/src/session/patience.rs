//! What may wait for a packet of the game's to travel with: acknowledgements, and beats of the agreement that say what the last one said.
//!
//! A model that sends to everyone several times a second, and waits for no acknowledgement, saves most of the packets that hold nothing else.

use core::time::Duration;

use crate::control::Control;
use crate::id::PeerId;
use crate::session::Session;

impl Session {
    /// How long what changes nothing may wait for packets of the game's; zero where nothing waits.
    pub(crate) fn set_patience(&mut self, patience: Duration) {
        self.timers.patience = patience;
        self.endpoint.set_ack_patience(patience);
    }

    /// Lets a beat wait, at most for so long, if it says what the last one said. It takes the place of one that waits already.
    pub(super) fn lets_wait(
        &mut self,
        now: Duration,
        peer: PeerId,
        longest: Duration,
        beat: &Control,
    ) -> bool {
        let patience = self.timers.patience.min(longest);
        let contact = self.links.contacts.entry(peer).or_default();
        let before = contact.waiting_beat.take();
        if patience.is_zero() || !matches!(beat, Control::SameBeat { .. }) {
            return false;
        }
        let until = before.map_or(now + patience, |(until, _)| until);
        contact.waiting_beat = Some((until, beat.clone()));
        self.timers.wake_at(until);
        true
    }

    /// The game sends something to a peer: a beat that waits leaves before it.
    pub(super) fn release_beat(&mut self, now: Duration, peer: PeerId) {
        let Some(contact) = self.links.contacts.get_mut(&peer) else {
            return;
        };
        contact.sent_game = Some(now);
        if let Some((_, beat)) = contact.waiting_beat.take() {
            self.send_control_unreliably(now, peer, &beat);
        }
    }

    /// Sends the beats that have waited for long enough.
    pub(super) fn release_beats(&mut self, now: Duration) {
        let mut due = Vec::new();
        for (peer, contact) in &mut self.links.contacts {
            match &contact.waiting_beat {
                Some((until, _)) if *until <= now => due.push((*peer, contact.waiting_beat.take())),
                Some((until, _)) => self.timers.wake_at(*until),
                None => {}
            }
        }
        for (peer, beat) in due {
            if let Some((_, beat)) = beat {
                self.send_control_unreliably(now, peer, &beat);
            }
        }
    }
}
