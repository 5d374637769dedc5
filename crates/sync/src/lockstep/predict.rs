//! Going ahead of what is known, and putting right what turns out to be otherwise.

use core::time::Duration;

use super::message::Message;
use super::{Ahead, Lockstep};
use crate::{Carriage, Tick, World};

/// Going ahead, a state is kept every so many ticks.
const STRIDE: u64 = 2;
/// The same beyond the window.
const LONG_STRIDE: u64 = 16;
/// Ticks that a guest goes on before its host has heard it.
const UNHEARD: u64 = 90;
/// Ticks of the window that are not counted on: a packet may be lost, or wait for the next tick.
const SPARE: u64 = 2;

/// How soon inputs are delayed less, once everything comes in time.
const SETTLES: Duration = Duration::from_secs(3);

/// How far to go ahead of what is known.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Prediction {
    /// Ticks that latency may take up.
    pub(crate) window: u64,
    /// Ticks that are gone ahead before anybody is waited for.
    pub(crate) most: u64,
    /// Nothing is predicted while the farthest round trip is shorter.
    pub(crate) lockstep_below: Duration,
}

impl Lockstep {
    /// A model in which everyone speaks for itself, and goes ahead of what is known.
    pub(crate) fn set_prediction(&mut self, prediction: Prediction) {
        self.predicting = true;
        self.prediction = Some(prediction);
        self.ahead = Ahead::new(self.config.delay, SETTLES);
    }

    /// Whether ticks are simulated before everything is known of them. Who only watches sees what happened.
    pub(super) fn predicts(&self) -> bool {
        self.predicting && self.prediction.is_some() && !self.watches
    }

    /// Whether the world may go one tick farther ahead.
    pub(super) fn may_predict(&self) -> bool {
        let most = self
            .prediction
            .as_ref()
            .map_or(0, |prediction| prediction.most);
        let ahead = self.head.since(self.known_upto().max(self.next));
        let unheard = self.head.since(self.next);
        match self.predicts() {
            true => ahead < most && unheard < most.max(UNHEARD),
            // Who predicts nothing yet has to be heard.
            false => {
                most > 0 && ahead == 0 && self.held_up_by(self.head).is_none() && unheard < UNHEARD
            }
        }
    }

    /// What comes later than its tick by no more than this does not hold anybody up.
    pub(super) fn allowance(&self) -> Duration {
        let ahead = self.prediction.as_ref().filter(|_| self.predicting);
        let ticks = ahead.map_or(0, |prediction| prediction.window.saturating_sub(SPARE));
        self.tick_time * ticks as u32
    }

    /// The authority says whether the room is so small that nothing need be predicted.
    pub(super) fn choose_whether_to_predict(&mut self, now: Duration) {
        let Some((roster, prediction)) = self.roster.as_ref().zip(self.prediction.as_ref()) else {
            return;
        };
        if !self.is_authority() {
            return;
        }
        let mut farthest = [Duration::ZERO; 2];
        for member in roster.members.iter().filter(|member| !member.away) {
            if member.latency > farthest[0] {
                farthest = [member.latency, farthest[0]];
            } else {
                farthest[1] = farthest[1].max(member.latency);
            }
        }
        // Through a host, what two guests say to each other goes both their ways.
        let round_trip = match roster.is_mesh {
            true => 2 * farthest[0],
            false => 2 * (farthest[0] + farthest[1]),
        };
        let limit = prediction.lockstep_below;
        let predicting = match self.predicting {
            true => round_trip >= limit * 3 / 4,
            false => round_trip >= limit,
        };
        self.set_predicting(now, predicting);
    }

    /// Begins, or ceases, to go ahead of what is known.
    pub(super) fn set_predicting(&mut self, now: Duration, predicting: bool) {
        if core::mem::replace(&mut self.predicting, predicting) == predicting {
            return;
        }
        self.ahead.begin_anew(now);
        self.expect_latency();
        // What was late is not, or the other way round.
        for voice in self.voices.values_mut() {
            voice.slack = super::Slack::default();
        }
        self.hurrying = true;
    }

    /// Turns are closed as far ahead as latency alone requires.
    pub(super) fn expect_latency(&mut self) {
        let mut latency = self.farthest();
        if self.prediction.is_some() {
            let members = self.roster.iter().flat_map(|roster| &roster.members);
            // Where many packets get lost, what they say mostly comes some ticks later.
            let lost = match members.map(|member| member.loss).max().unwrap_or(0) {
                0..=10 => 0,
                11..=20 => 1,
                21..=30 => 2,
                _ => 3,
            };
            latency += self.tick_time * lost;
        }
        let latency = latency.saturating_sub(self.allowance());
        self.ahead.expect(latency, self.tick_time);
    }

    /// The longest way from here, as far as known.
    pub(super) fn farthest(&self) -> Duration {
        let members = self.roster.iter().flat_map(|roster| &roster.members);
        let farthest = members.map(|member| member.latency).max();
        // A guest knows its own way to the host only; others may be as far away.
        match self.is_hub() && !self.is_authority() {
            true => 2 * farthest.unwrap_or_default(),
            false => farthest.unwrap_or_default(),
        }
    }

    /// Simulates a tick that may have to be simulated again. The state before it is kept, unless one nearly as new is.
    pub(super) fn predict_tick(&mut self, world: &mut dyn World) {
        let window = self
            .prediction
            .as_ref()
            .map_or(0, |prediction| prediction.window);
        let ahead = self.head.since(self.known_upto());
        let stride = if ahead <= window { STRIDE } else { LONG_STRIDE };
        let newest = self.saves.newest_upto(self.head);
        if newest.is_none_or(|save| save.tick + stride <= self.head || save.tick < self.next) {
            self.keep_head(world);
        }
        self.step(world);
    }

    fn keep_head(&mut self, world: &mut dyn World) {
        let (head, present) = (self.head, &self.present_ahead);
        self.saves.keep(head, present, false, world);
    }

    /// Something came to be known of ticks that are simulated already: they are simulated again.
    pub(super) fn put_right(&mut self, world: &mut dyn World) {
        let touched = self.timeline.take_touched();
        let Some(touched) = touched.filter(|touched| *touched < self.head) else {
            return;
        };
        let ahead = self.head;
        if !self.go_back(touched, false, world) {
            return;
        }
        let ticks = ahead.since(self.head);
        self.again.times += 1;
        self.again.ticks += ticks;
        self.again.deepest = self.again.deepest.max(ticks);
        self.go_again(ahead, world);
    }

    /// Goes back to where everything is known, for what needs the world to be there. Gives the tick it was at.
    pub(super) fn retreat(&mut self, world: &mut dyn World) -> Tick {
        let ahead = self.head;
        if ahead > self.next {
            self.timeline.take_touched();
            if self.go_back(self.next, true, world) {
                self.go_again(self.next, world);
            }
        }
        ahead
    }

    /// Goes back to the last state kept that is not after a tick.
    fn go_back(&mut self, tick: Tick, keep: bool, world: &mut dyn World) -> bool {
        // What will be final once it is simulated again needs no state to go back to.
        let known = self.known_upto();
        let all_heard = known > self.next && self.is_heard(Tick(known.0 - 1));
        let is_needed = |saved: Tick| keep || !all_heard || saved >= known;
        let Some(save) = self.saves.go_back(tick, is_needed, world) else {
            // What a world was told to keep it keeps: only one that breaks its word comes here.
            let authority = self.authority().filter(|peer| Some(*peer) != self.me());
            if let Some(authority) = authority {
                let message = Message::Leaves { tick, tree: &[] };
                self.say(authority, Carriage::Reliable, &message);
            }
            self.trouble = Some("the world did not keep a state that it was to keep".into());
            return false;
        };
        self.head = save.tick;
        self.present_ahead.set_shared_players(&save.players);
        true
    }

    /// Simulates up to a tick that had been reached before.
    pub(super) fn go_again(&mut self, to: Tick, world: &mut dyn World) {
        // It will mostly be from the first tick that is not known that all is simulated again. The farther from there the fewer
        // states are kept: copying them is what all this costs.
        let (mut keep, mut stride) = (self.known_upto().max(self.next), 2);
        if self.head < to {
            self.timeline.take_touched();
        }
        while self.head < to {
            if self.head >= keep {
                self.keep_head(world);
                keep = self.head + stride;
                stride += 1;
            }
            self.step(world);
        }
    }

    /// The first tick that somebody has not spoken of.
    pub(super) fn known_upto(&self) -> Tick {
        let speaking = self
            .voices
            .values()
            .filter(|voice| voice.end.is_none_or(|end| end > voice.upto));
        speaking.map(|voice| voice.upto).min().unwrap_or(self.next)
    }
}
