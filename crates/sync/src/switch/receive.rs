//! What the others say.

use core::time::Duration;

use super::message::{Message, Received, epochs_after};
use super::{Handover, PlannedChange, Switch};
use crate::PeerId;
use crate::bytes::{Fixed, Prefixed};

/// Messages of the next epoch that may wait for it: of all peers, and of one that is not the authority.
const MAX_EARLY: usize = 1024;
const MAX_EARLY_OF_ONE: usize = 64;
/// How soon somebody who was handed an epoch may be handed it again.
const AGAIN: Duration = Duration::from_secs(1);

impl Switch {
    /// Takes a message; `None` if it makes no sense, or its sender may not send it.
    pub(super) fn receive(&mut self, now: Duration, from: PeerId, bytes: &[u8]) -> Option<()> {
        let roster = self.roster.as_ref()?;
        roster.member(from)?;
        let leads = self.leads();
        let from_authority = from == roster.authority && from != roster.me;
        let received = Received::read(bytes)?;
        // The one place where it is decided who may send what (WIRE.md, section 14); the models check their own messages.
        let permits = match &received {
            Received::Model { .. } => true,
            Received::Switch(Message::Passed { .. } | Message::RequestState) => leads,
            Received::Switch(_) => from_authority,
        };
        if !permits {
            return None;
        }
        let of_next = match &received {
            Received::Model { epoch_bits, .. } => epochs_after(self.epoch, *epoch_bits) == 1,
            Received::Switch(
                Message::PlannedChange { epoch, .. }
                | Message::Began { epoch, .. }
                | Message::Applied { epoch, .. },
            ) => *epoch == self.epoch + 1,
            Received::Switch(_) => false,
        };
        // A guest may be there before the authority.
        if of_next && (self.change.is_some() || !leads) {
            let of_it = self.early.iter().filter(|early| early.0 == from);
            let has_room = from_authority || of_it.count() < MAX_EARLY_OF_ONE;
            if !has_room || self.early.len() >= MAX_EARLY {
                return None;
            }
            self.early.push((from, bytes.into()));
            return Some(());
        }
        let message = match received {
            Received::Model {
                epoch_bits,
                change,
                bytes,
            } => {
                let after = epochs_after(self.epoch, epoch_bits);
                if let Some(change) = change.filter(|_| from_authority && after == 0) {
                    self.accept_change(now, change);
                }
                return self.handle_model_message(now, from, after, bytes);
            }
            Received::Switch(message) => message,
        };
        match message {
            Message::Passed { epoch } => {
                let passed = self.passed.entry(from).or_default();
                *passed = epoch.max(*passed);
                if epoch < self.epoch && !self.comes_by_itself(epoch) {
                    // It was given a state before the last change.
                    self.hand_to(now, from, false);
                }
                self.wake_at(now);
            }
            Message::RequestState => self.hand_to(now, from, true),
            Message::PlannedChange { epoch, change } => {
                if epoch == self.epoch {
                    self.accept_change(now, change);
                }
            }
            Message::Handover { number, .. } if number <= self.last_handed => {}
            Message::Handover {
                epoch,
                number,
                farewell: Prefixed(farewell),
                checkpoint,
            } => {
                self.last_handed = number;
                // An authority that has given a state goes on from that.
                let counts = self.next_ask.is_some() || !self.running.is_same_everywhere();
                if epoch == self.epoch + 1 && !farewell.is_empty() {
                    let model = &mut self.running;
                    model.handle_message(now, from, farewell);
                }
                if epoch > self.epoch || (epoch == self.epoch && counts) {
                    self.handover = Some(Handover {
                        epoch,
                        since: now,
                        bytes: checkpoint.into(),
                    });
                    self.wake_at(now);
                }
            }
            Message::Began {
                epoch,
                checksum: Fixed(checksum),
                applied,
            } => {
                if epoch == self.epoch {
                    self.on_began(now, checksum, &applied);
                }
            }
            Message::Applied { epoch, applied } => {
                if epoch == self.epoch && !self.running.is_same_everywhere() {
                    for (player, number) in applied {
                        self.sent_inputs.on_applied(player, number);
                    }
                }
            }
        }
        Some(())
    }

    fn handle_model_message(
        &mut self,
        now: Duration,
        from: PeerId,
        after: i8,
        bytes: &[u8],
    ) -> Option<()> {
        if after == 0 {
            self.running.handle_message(now, from, bytes);
            return Some(());
        }
        if !self.leads() {
            return Some(());
        }
        let epoch = self.epoch.checked_add_signed(after.into())?;
        if self.passed.get(&from).is_some_and(|passed| *passed > epoch) {
            // It took longer than what came after.
            return Some(());
        }
        let before = self.before.iter_mut().find(|before| before.epoch == epoch);
        match before {
            Some(before) => {
                let model = &mut before.running;
                model.handle_message(now, from, bytes);
            }
            None if epoch < self.epoch => self.hand_to(now, from, false),
            None => return None,
        }
        Some(())
    }

    /// Somebody is to be handed the present epoch, but not all the time: whatever it knows of it if it has asked.
    fn hand_to(&mut self, now: Duration, peer: PeerId, asked: bool) {
        if self.held.iter().any(|held| held.1 == peer) {
            return;
        }
        let handed = self.handed.get(&peer).map_or(now, |handed| *handed + AGAIN);
        let due = self.to_hand.entry(peer).or_insert((handed.max(now), asked));
        due.1 |= asked;
        let at = due.0;
        self.wake_at(at);
    }

    /// The authority has announced a change.
    pub(super) fn accept_change(&mut self, now: Duration, change: PlannedChange) {
        if self.change.is_some() {
            return;
        }
        if change.which >= self.choices.len() {
            self.trouble = Some(
                "the host changes to a model that this program does not have: give the same choices everywhere"
                    .to_string(),
            );
            return;
        }
        self.change = Some(change);
        self.running.stop_at(change.tick);
        self.wake_at(now);
    }

    /// Looks at what came too early for the epoch before.
    pub(super) fn handle_early(&mut self, now: Duration) {
        for (from, bytes) in core::mem::take(&mut self.early) {
            if self.receive(now, from, &bytes).is_none() {
                self.refused += 1;
            }
        }
    }
}
