//! How an authority is followed, and how another program takes its place.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use super::{Engine, Role};
use crate::standby::{InputLedger, write_record};
use crate::{AdoptError, Handover, Model, NotFed, PeerId, PlayerId, Tick, World};

use super::context::Context;
use super::guest::{Guest, PendingInput};
use super::host::Host;
use super::kinds::Kinds;

impl Host {
    /// What it takes to go on from the last tick that is final.
    fn handover(&self, context: &Context, world: &mut dyn World) -> Handover {
        let tick = self.confirmed_tick();
        Handover {
            tick,
            start: context.start,
            schedule_offset: context.schedule_offset,
            attendance: self.attendance_at(tick, world),
            accepted: self.accepted(context, tick),
            recent: VecDeque::new(),
        }
    }

    /// Goes on from a state at a tick that another authority has left.
    fn succeed(&mut self, handover: &Handover) {
        let epochs = handover.accepted.iter().map(|accepted| accepted.epoch);
        // No client takes what is sent from here for something that was sent before.
        let epochs = epochs.max().unwrap_or(0);
        let accepted = handover.accepted.iter();
        let former = accepted.map(|accepted| (accepted.peer, InputLedger::of(accepted)));
        self.inherit(epochs, former.collect(), handover.attendance.clone());
    }
}

impl Engine {
    pub(super) fn first_record(&mut self, now: Duration, world: &mut dyn World) -> Option<Vec<u8>> {
        self.prepare(now, world);
        let Role::Host(host) = &mut self.role else {
            return None;
        };
        let state = host.final_state(world);
        if !world.begin_log(host.confirmed_tick()) {
            return None;
        }
        let handover = host.handover(&self.context, world);
        Some(write_record(&handover, Some(&state), &[]))
    }

    pub(super) fn next_record(&mut self, world: &mut dyn World) -> Result<Option<Vec<u8>>, NotFed> {
        let Role::Host(host) = &self.role else {
            return Err(NotFed);
        };
        let log = world.take_log().ok_or(NotFed)?;
        if log.is_empty() {
            return Ok(None);
        }
        let handover = host.handover(&self.context, world);
        Ok(Some(write_record(&handover, None, &log)))
    }

    pub(super) fn succeed(
        &mut self,
        now: Duration,
        handover: &Handover,
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        if !self.context.is_host() {
            let words = "the roster names another authority: hand over the roster first";
            return Err(AdoptError::Malformed(words.to_string()));
        }
        let me = self.context.roster.as_ref().map(|roster| roster.me);
        let exactly = self.context.settings.prediction.is_some();
        let kinds = Kinds::new(&world.scene().schema(), exactly);
        // What the players here have given and the authority has not simulated with is given again.
        let before = core::mem::replace(&mut self.role, Role::None);
        let own = match (before, me) {
            (Role::Guest(mut guest), Some(me)) => guest.inputs_missing(me, handover),
            (Role::Host(host), Some(me)) if self.context.is_mesh() => {
                let mut guest = host.into_guest(kinds, &self.context);
                guest.inputs_missing(me, handover)
            }
            _ => OwnInputs::new(),
        };
        self.context.start = handover.start.or(self.context.start);
        self.context.schedule_offset = handover.schedule_offset;
        self.context.hold = None;
        self.start_tick = handover.tick;
        self.prepare(now, world);
        if let Role::Host(host) = &mut self.role {
            host.succeed(handover);
            for (player, inputs) in own {
                for (input, _, kind) in inputs {
                    host.input(player, &input, kind);
                }
            }
            if self.context.is_mesh() {
                // Everyone goes on from the same state.
                host.begin_with_followers(handover, &self.context, world);
            }
        }
        tracing::info!(tick = handover.tick.0, "took over as the authority");
        if !self.context.is_mesh() {
            self.send_state_to_all(now, world);
        }
        self.context.wake_at(now);
        Ok(())
    }
}

/// Inputs of the players here that are to be given again, in their order.
pub(super) type OwnInputs = BTreeMap<PlayerId, VecDeque<PendingInput>>;

impl Guest {
    /// The inputs of the players here that are not in the state at a handover.
    pub(super) fn inputs_missing(&mut self, me: PeerId, handover: &Handover) -> OwnInputs {
        let accepted = handover
            .accepted
            .iter()
            .find(|accepted| accepted.peer == me);
        let unknown = InputLedger::default().accepted(me, Tick(0));
        self.take_unaccepted(accepted.unwrap_or(&unknown))
    }
}
