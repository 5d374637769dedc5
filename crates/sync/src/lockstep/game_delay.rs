//! The game delay: how long after it was made an input takes effect, the same for everyone.
//!
//! Every receiver measures how long batches take to reach it, as a mean and a deviation (Jacobson, *Congestion avoidance and control*, 1988;
//! Ramjee et al. take the same for playout delays), and announces the longest. Everyone takes the maximum of what is announced, within the
//! bounds of its settings: so all arrive at the same delay, and nobody has to decide it.

use core::time::Duration;
use std::collections::BTreeMap;

use super::message::{DelayAnnouncement, InputBatch, Message};
use super::room::Topology;
use super::{CLOCK_ALLOWANCE, Lockstep};
use crate::timeline::SourceId;
use crate::{Delivery, PeerId, Tick};

/// A change of what is announced that is worth a message of its own.
const WORTH_TELLING: Duration = Duration::from_millis(5);
/// Such messages are this far apart.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// What has not changed is announced again after so long, with a report.
const REPEAT_AFTER: Duration = Duration::from_millis(1900);
/// What has changed by more is announced with the next report.
const NOTICED: Duration = Duration::from_micros(500);
/// The delay grows by a tenth of the time that passes, and falls by a fiftieth of it.
const RISE: u32 = 10;
const FALL: u32 = 50;
/// A program that was not driven for longer changes its delay as after this time.
const MAX_STEP: Duration = Duration::from_millis(100);
/// A source that has been silent for this long is waited for, as far as anybody waits.
const SILENT: Duration = Duration::from_secs(1);

/// How long after it was made an input takes effect, everywhere at the same instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GameDelay {
    /// Always the same: inputs of a peer that is farther away are late, and repaired.
    Constant(Duration),
    /// As long as inputs take between the two peers that are farthest apart, within bounds.
    Dynamic {
        /// The minimum.
        min: Duration,
        /// The maximum: inputs that take longer are late, and repaired. One peer that is far away delays the others by no more than this.
        max: Duration,
    },
}

impl GameDelay {
    fn clamp(self, needed: Duration) -> Duration {
        match self {
            Self::Constant(delay) => delay,
            Self::Dynamic { min, max } => needed.clamp(min, max),
        }
    }

    pub(crate) fn min(self) -> Duration {
        self.clamp(Duration::ZERO)
    }

    pub(crate) fn max(self) -> Duration {
        self.clamp(Duration::MAX)
    }
}

/// The delay in use, and what it is computed from.
#[derive(Debug)]
pub(super) struct CommonDelay {
    setting: GameDelay,
    length: Duration,
    /// When it was last adjusted; `None` before it is in use: until then it may jump.
    adjusted: Option<Duration>,
    /// What latency requires, before anything is measured.
    expected: Duration,
    transits: BTreeMap<PeerId, Transit>,
    /// How much earlier than the delay requires turns are closed.
    allowance: Duration,
    /// What other peers announced.
    announced: BTreeMap<PeerId, DelayAnnouncement>,
    /// What this program announced, and when.
    told: Option<(Duration, DelayAnnouncement)>,
}

/// How long batches of a peer take from their closing to their arrival here, in µs.
#[derive(Clone, Debug)]
struct Transit {
    mean: i64,
    deviation: i64,
    /// The last two samples: the median of three counts, so that a single batch that is very late does not.
    last: [i64; 2],
}

impl Transit {
    fn new(us: i64) -> Transit {
        Transit {
            mean: us,
            deviation: us / 8,
            last: [us; 2],
        }
    }

    fn add(&mut self, us: i64) {
        let [older, newer] = self.last;
        let median = us.clamp(older.min(newer), older.max(newer));
        self.last = [newer, us];
        let error = median - self.mean;
        self.mean += error / 8;
        self.deviation += (error.abs() - self.deviation) / 8;
    }

    /// Hardly any batch takes longer.
    fn most(&self) -> Duration {
        Duration::from_micros((self.mean + 4 * self.deviation).max(0) as u64)
    }
}

impl CommonDelay {
    pub(super) fn new(setting: GameDelay) -> CommonDelay {
        CommonDelay {
            setting,
            length: setting.min(),
            adjusted: None,
            expected: Duration::ZERO,
            transits: BTreeMap::new(),
            allowance: Duration::ZERO,
            announced: BTreeMap::new(),
            told: None,
        }
    }

    pub(super) fn length(&self) -> Duration {
        self.length
    }

    /// Sets what latency requires, for as long as nothing is measured.
    pub(super) fn expect_latency(&mut self, latency: Duration) {
        self.expected = latency;
    }

    /// A batch of a peer arrived this many µs before its last tick was due, and was closed `allowance` earlier than its delay requires.
    fn on_arrival(&mut self, peer: PeerId, slack_us: i64, allowance: Duration) {
        self.allowance = allowance;
        let delay = self.announced.get(&peer).map_or(self.length, |it| it.delay);
        let most = 2 * self.setting.max().as_micros() as i64;
        let us = (delay + allowance).as_micros() as i64;
        let us = us.saturating_sub(slack_us).clamp(0, most);
        let transit = self.transits.entry(peer);
        transit
            .and_modify(|transit| transit.add(us))
            .or_insert_with(|| Transit::new(us));
    }

    fn on_announced(&mut self, peer: PeerId, announced: DelayAnnouncement) {
        self.announced.insert(peer, announced);
    }

    /// Forgets peers that are gone.
    pub(super) fn retain(&mut self, here: impl Fn(PeerId) -> bool) {
        self.transits.retain(|peer, _| here(*peer));
        self.announced.retain(|peer, _| here(*peer));
    }

    /// What the longest path to this program requires.
    fn own_need(&self) -> Duration {
        let measured = self.transits.values().map(Transit::most).max();
        measured.unwrap_or(self.expected)
    }

    /// What the longest path that is known of requires.
    fn need(&self) -> Duration {
        let others = self.announced.values().map(|announced| announced.need);
        others.max().unwrap_or_default().max(self.own_need())
    }

    /// Moves the delay towards what is required, a little at a time.
    pub(super) fn adjust(&mut self, now: Duration) {
        let target = self.setting.clamp(self.need());
        let Some(before) = self.adjusted.replace(now) else {
            self.length = target;
            return;
        };
        let passed = now.saturating_sub(before).min(MAX_STEP);
        self.length = match target > self.length {
            true => target.min(self.length + passed / RISE),
            false => target.max(self.length.saturating_sub(passed / FALL)),
        };
    }

    /// The peer whose batches usually take longer than the longest delay allowed.
    fn late_peer(&self) -> Option<PeerId> {
        let latest = self.transits.iter().max_by_key(|(_, it)| it.mean)?;
        let max = (self.setting.max() + self.allowance).as_micros() as i64;
        (latest.1.mean > max).then_some(*latest.0)
    }

    /// Whether what was announced last was long ago, or is not quite so any more.
    fn is_outdated(&self, now: Duration) -> bool {
        self.told.as_ref().is_none_or(|(at, told)| {
            let differs = |new: Duration, old: Duration| new.abs_diff(old) > NOTICED;
            let is_old = now >= *at + REPEAT_AFTER;
            is_old || differs(self.length, told.delay) || differs(self.own_need(), told.need)
        })
    }

    /// What to announce, if it is time to. A host speaks for its guests.
    fn announce(
        &mut self,
        now: Duration,
        is_host: bool,
        is_due: bool,
    ) -> Option<DelayAnnouncement> {
        let announcement = DelayAnnouncement {
            need: if is_host {
                self.need()
            } else {
                self.own_need()
            },
            delay: self.length,
        };
        if let Some((at, told)) = &self.told
            && !is_due
        {
            let differs = |new: Duration, old: Duration| new.abs_diff(old) > WORTH_TELLING;
            let is_news =
                differs(announcement.need, told.need) || differs(announcement.delay, told.delay);
            if !is_news || now < *at + TELL_EVERY {
                return None;
            }
        }
        self.told = Some((now, announcement));
        Some(announcement)
    }
}

impl Lockstep {
    /// Makes this a model whose inputs take effect after a common delay, and that waits for nobody.
    pub(crate) fn set_game_delay(&mut self, setting: GameDelay, packet_interval: Duration) {
        self.schedule.game_delay = Some(CommonDelay::new(setting));
        self.broadcast.set_interval(packet_interval);
    }

    /// The common delay at present; none for a model without.
    pub(crate) fn game_delay(&self) -> Duration {
        let delay = self.schedule.game_delay.as_ref();
        delay.map_or(Duration::ZERO, CommonDelay::length)
    }

    /// Adjusts the common delay, if there is one.
    pub(super) fn adjust_game_delay(&mut self, now: Duration) {
        if let Some(delay) = &mut self.schedule.game_delay {
            delay.adjust(now);
        }
    }

    /// Measures how long a batch took: it was sent when its last tick was closed.
    pub(super) fn note_transit(&mut self, now: Duration, batch: &InputBatch<'_>) {
        let last = Tick(batch.to.0.saturating_sub(1));
        let Some(slack) = self.schedule.slack_us(now, last) else {
            return;
        };
        // A program that was frozen, or catches up, measures its own lateness.
        if now < self.timers.frozen_until || self.stall.catching_up || self.room.is_spectator {
            return;
        }
        let allowance = self.schedule.tick_time / CLOCK_ALLOWANCE;
        if let Some(delay) = &mut self.schedule.game_delay {
            delay.on_arrival(batch.source.peer, slack, allowance);
        }
    }

    /// Another peer announces what it needs. `None` for a model without such a delay.
    pub(super) fn on_delay_announced(
        &mut self,
        from: PeerId,
        announced: DelayAnnouncement,
    ) -> Option<()> {
        let delay = self.schedule.game_delay.as_mut()?;
        delay.on_announced(from, announced);
        Some(())
    }

    /// Announces what this program needs: in a mesh to everyone, else to the host, and the host to its guests.
    pub(super) fn announce_game_delay(&mut self, now: Duration, is_due: bool) {
        let is_host = self.room.is_hub() && self.room.is_authority();
        let Some(delay) = &mut self.schedule.game_delay else {
            return;
        };
        if self.room.is_spectator {
            return;
        }
        let is_due = is_due && delay.is_outdated(now);
        let Some(announcement) = delay.announce(now, is_host, is_due) else {
            return;
        };
        let host = match self.room.topology {
            Topology::Mesh => None,
            Topology::Hub | Topology::Sequenced => self.room.other_authority(),
        };
        let others = self.room.others().filter(|member| {
            let hears = member.in_sync && !member.watches && !member.away;
            hears && host.is_none_or(|host| member.peer == host)
        });
        let peers = others.map(|member| member.peer);
        if peers.clone().next().is_some() {
            let message = Message::DelayAnnouncement(announcement);
            message.push_to(&mut self.outbox, peers, Delivery::Unreliable);
        }
    }

    /// Whose inputs are overdue while the simulation goes on: those of a peer that is silent, or too far away for the delay.
    pub(super) fn overdue_peer(&self) -> Option<PeerId> {
        let delay = self.schedule.game_delay.as_ref()?;
        let me = self.room.me()?;
        let silent = self.schedule.ticks_in(SILENT);
        let reached = self.simulated.predicted_tick;
        let is_overdue = |id: &SourceId| {
            let source = self.sources.known.get(id);
            id.peer != me
                && source
                    .is_some_and(|it| it.blocks(it.known_upto) && it.known_upto + silent < reached)
        };
        let silent = self.sources.known.keys().find(|id| is_overdue(id));
        silent.map(|id| id.peer).or(delay.late_peer())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWANCE: Duration = Duration::from_millis(4);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn dynamic() -> CommonDelay {
        CommonDelay::new(GameDelay::Dynamic {
            min: ms(20),
            max: ms(300),
        })
    }

    /// Batches of a peer that take so long, for a while.
    fn hear(delay: &mut CommonDelay, peer: u16, transit_ms: i64) {
        for _ in 0..100 {
            let lead = (delay.length + ALLOWANCE).as_micros() as i64;
            delay.on_arrival(PeerId(peer), lead - 1000 * transit_ms, ALLOWANCE);
        }
    }

    #[test]
    fn a_constant_delay_stays() {
        let mut delay = CommonDelay::new(GameDelay::Constant(ms(50)));
        hear(&mut delay, 1, 40);
        assert_eq!(delay.late_peer(), None);
        hear(&mut delay, 2, 90);
        delay.adjust(ms(1000));
        assert_eq!(
            (delay.length(), delay.late_peer()),
            (ms(50), Some(PeerId(2)))
        );
    }

    #[test]
    fn the_delay_begins_with_what_latency_requires_and_then_moves_gradually() {
        let mut delay = dynamic();
        delay.expect_latency(ms(70));
        delay.adjust(ms(1000));
        assert_eq!(delay.length(), ms(70));
        hear(&mut delay, 1, 150);
        let mut last = delay.length();
        for at in 1001..2500 {
            delay.adjust(ms(at));
            let step = delay.length().abs_diff(last);
            assert!(step <= Duration::from_micros(100), "{step:?} at {at}");
            last = delay.length();
        }
        assert!(last.abs_diff(ms(150)) <= ms(3), "{last:?}");
        delay.retain(|_| false);
        delay.expect_latency(ms(5));
        delay.adjust(ms(2600));
        assert_eq!(delay.length(), last - ms(2), "it falls more slowly");
        for at in 0..100 {
            delay.adjust(ms(2700 + 100 * at));
        }
        assert_eq!(delay.length(), ms(20));
    }

    #[test]
    fn everyone_arrives_at_the_need_of_the_worst_pair() {
        let (mut near, mut far) = (dynamic(), dynamic());
        hear(&mut near, 9, 20);
        hear(&mut far, 9, 120);
        let told = far.announce(ms(0), false, false).unwrap();
        assert_eq!(far.announce(ms(1), false, false), None, "nothing is new");
        near.on_announced(PeerId(2), told);
        near.adjust(ms(1));
        far.adjust(ms(1));
        assert_eq!(near.length(), far.length());
        // A member of a mesh speaks for itself, a host for all.
        let need = |it: DelayAnnouncement| it.need;
        assert!(near.announce(ms(2), false, true).map(need).unwrap() < ms(25));
        assert_eq!(near.announce(ms(3), true, true).map(need), Some(told.need));
    }

    #[test]
    fn one_peer_that_is_too_far_delays_the_others_up_to_the_bound() {
        let mut delay = dynamic();
        delay.on_announced(
            PeerId(3),
            DelayAnnouncement {
                need: Duration::from_secs(9000),
                delay: Duration::from_secs(9000),
            },
        );
        delay.adjust(ms(1));
        assert_eq!(delay.length(), ms(300));
        hear(&mut delay, 4, 400);
        assert_eq!(delay.late_peer(), Some(PeerId(4)));
    }

    #[test]
    fn a_single_late_batch_moves_nothing() {
        let mut delay = dynamic();
        hear(&mut delay, 1, 30);
        let before = delay.own_need();
        let lead = (delay.length + ALLOWANCE).as_micros() as i64;
        delay.on_arrival(PeerId(1), lead - 550_000, ALLOWANCE);
        assert_eq!(delay.own_need(), before);
        delay.on_arrival(PeerId(1), i64::MIN, ALLOWANCE);
        assert!(delay.own_need() > before);
    }
}
