//! Going ahead of what is known, and putting right what turns out to be otherwise.

use core::time::Duration;

use super::message::Message;
use super::{Ahead, FROZEN, Lockstep};
use crate::{Delivery, Tick, World};

/// Right after a correction the next state is kept if the last one is so many ticks old.
const STRIDE: u64 = 4;
/// Beyond the window a state is kept every so many ticks.
const LONG_STRIDE: u64 = 16;
/// Ticks between states of which it is not known yet whether everybody has heard what they follow from.
const SPARSE: u64 = 8;
/// Ticks that a guest goes on before its host has heard it.
const UNHEARD: u64 = 90;
/// Ticks of the window that are not counted on: a packet may be lost, or wait for the next tick.
const SPARE: u64 = 2;

/// How soon inputs are delayed less, once everything comes in time.
const SETTLES: Duration = Duration::from_secs(3);

/// How many packets in a row get lost now and then, of so many percent lost: about every ten thousandth time more do.
fn lost_in_a_row(percent: u8) -> u64 {
    match percent {
        0..=1 => 2,
        2..=5 => 3,
        6..=12 => 4,
        13..=20 => 5,
        21..=30 => 6,
        _ => 8,
    }
}

/// How soon loss is believed to be greater, and by how many percent.
const BELIEVE_EVERY: Duration = Duration::from_millis(500);
const BELIEVED_MORE: u8 = 1;

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
        self.ahead = Ahead::new(self.config.input_delay, 0, SETTLES);
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

    /// Loss is measured on few packets: that it has grown is believed little by little.
    pub(super) fn believe_loss(&mut self, now: Duration) {
        if self.prediction.is_none() || now < self.next_belief {
            return;
        }
        self.next_belief = now + BELIEVE_EVERY;
        let members = self.roster.iter().flat_map(|roster| &roster.members);
        let loss = members.map(|member| member.loss).max().unwrap_or(0);
        if loss > self.believed_loss {
            self.believed_loss = loss.min(self.believed_loss + BELIEVED_MORE);
            self.expect_latency();
        }
    }

    /// The authority says whether the room is so small that nothing need be predicted.
    pub(super) fn choose_whether_to_predict(&mut self, now: Duration) {
        let Some((roster, prediction)) = self.roster.as_ref().zip(self.prediction.as_ref()) else {
            return;
        };
        if !self.is_authority() {
            return;
        }
        let Some([(_, far), (_, next)]) = self.two_farthest() else {
            return;
        };
        // Through a host, what two guests say to each other goes both their ways.
        let round_trip = match roster.is_mesh {
            true => 2 * far,
            false => 2 * (far + next),
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
        // What was late is not, or the other way round; and what is said before everyone knows of it says nothing.
        self.frozen_until = now + 2 * self.farthest() + FROZEN;
        for voice in self.voices.values_mut() {
            voice.slack = super::Slack::default();
        }
        self.hurrying = true;
    }

    /// Turns are closed as far ahead as latency and loss require.
    pub(super) fn expect_latency(&mut self) {
        let farthest = self.farthest();
        let Some(prediction) = self.prediction.as_ref().filter(|_| self.predicting) else {
            return self.ahead.expect(farthest, self.tick_time);
        };
        let members = self.roster.iter().flat_map(|roster| &roster.members);
        let loss = members.map(|member| member.loss).max().unwrap_or(0);
        self.believed_loss = self.believed_loss.min(loss);
        let lost = lost_in_a_row(self.believed_loss);
        let way = farthest.as_nanos().div_ceil(self.tick_time.as_nanos()) as u64;
        // A word that waits for the next tick, or for the host's, is a tick later.
        let relayed = u64::from(!self.beyond_host.is_zero());
        let needed = way + lost + 1 + relayed;
        self.ahead
            .set_floor(needed.saturating_sub(prediction.window));
    }

    /// The longest way from here, as far as known.
    pub(super) fn farthest(&self) -> Duration {
        let members = self.roster.iter().flat_map(|roster| &roster.members);
        let farthest = members.map(|member| member.latency).max();
        farthest.unwrap_or_default() + self.beyond_host
    }

    /// Simulates a tick that may have to be simulated again. The state before it is kept, unless one nearly as new is.
    pub(super) fn predict_tick(&mut self, world: &mut dyn World) {
        let window = self
            .prediction
            .as_ref()
            .map_or(0, |prediction| prediction.window);
        let ahead = self.head.since(self.known_upto());
        let stride = match ahead <= window {
            // Where all was just simulated again, what was kept then is new enough.
            true if self.put_right_at == Some(self.head) => STRIDE,
            true => 1,
            false => LONG_STRIDE,
        };
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
    ///
    /// False if that cannot be done: then nothing is final until another's state has come.
    pub(super) fn put_right(&mut self, world: &mut dyn World) -> bool {
        let touched = self.timeline.take_touched();
        let Some(touched) = touched.filter(|touched| *touched < self.head) else {
            return true;
        };
        let ahead = self.head;
        if !self.go_back(touched, false, world) {
            self.timeline.touch(touched);
            return false;
        }
        let ticks = ahead.since(self.head);
        self.again.times += 1;
        self.again.ticks += ticks;
        self.again.deepest = self.again.deepest.max(ticks);
        self.go_again(ahead, world);
        self.put_right_at = Some(ahead);
        true
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
    pub(super) fn go_back(&mut self, tick: Tick, keep: bool, world: &mut dyn World) -> bool {
        // What will be final once it is simulated again needs no state to go back to.
        let known = self.known_upto();
        let all_heard = known > self.next && self.is_heard(Tick(known.0 - 1));
        // What may yet turn out not to have been heard hardly ever does: an older state is good enough for that.
        let is_near =
            |saved: Tick, older: Option<Tick>| older.is_some_and(|older| older + SPARSE > saved);
        let is_needed = |saved: Tick, older: Option<Tick>| {
            keep || saved >= known || !(all_heard || is_near(saved, older))
        };
        let Some(save) = self.saves.go_back(tick, is_needed, world) else {
            // What a world was told to keep it keeps: only one that breaks its word comes here.
            let authority = self.authority().filter(|peer| Some(*peer) != self.me());
            let asked = self.trouble.is_some();
            if let Some(authority) = authority.filter(|_| !asked) {
                let message = Message::Leaves { tick, tree: &[] };
                self.say(authority, Delivery::ReliableOrdered, &message);
            }
            self.is_wrong = true;
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
        // Where the tick before was put right as well, the next will be so too, from that first tick on.
        let again = self.put_right_at.is_some_and(|last| last.next() == to);
        let stride = if again { STRIDE } else { 0 };
        let (mut keep, mut stride) = (self.known_upto().max(self.next), stride);
        if self.head < to {
            self.timeline.take_touched();
        }
        while self.head < to {
            if self.head >= keep {
                self.keep_head(world);
                keep = self.head + stride.max(1);
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
