//! The desync detector: peers compare checksums of their states; one that differs corrects the differing parts while the others play on.
//!
//! The parts are found with a checksum tree, a Merkle tree of the state (Merkle 1987): the peer sends its tree, and gets the rows below the
//! leaves that differ.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Lockstep;
use super::message::{Fixed, Message};
use crate::input::Attendance;
use crate::{
    ChecksumTree, Delivery, DesyncReport, Difference, DivergedState, Divergence, ModelEvent,
    PeerId, Tick, TickInputs, World,
};

/// Desync checks that are remembered.
const MAX_CHECKS: usize = 16;
/// Checksums of checks so many after this program's newest are not kept: those that others do need fit in.
pub(super) const MAX_CHECKS_BEYOND: u64 = 8;
/// How long the authority waits for the others' checksums before it decides who differs.
const WAIT_FOR_OTHERS: Duration = Duration::from_millis(600);
/// A correction that takes longer is begun anew.
const CORRECTION_TIME: Duration = Duration::from_secs(2);
/// Corrections of one peer in a row, after which it gets the whole state.
const MAX_CORRECTIONS: u32 = 1;
/// The longest description of a difference, in bytes.
const MAX_DESCRIPTION: usize = 1024;

/// The checksums of all peers, and who is being corrected.
#[derive(Debug, Default)]
pub(super) struct DesyncDetector {
    /// This program's own checksums, and who took part then.
    own: BTreeMap<Tick, (u64, Arc<Attendance>)>,
    /// At the authority: the checksums of the others.
    theirs: BTreeMap<Tick, Checksums>,
    /// Peers that are being corrected: no other correction begins before this time; and how many there were in a row.
    correcting: BTreeMap<PeerId, (Duration, u32)>,
    /// This program corrects its state of a tick from another peer's.
    correction: Option<(Tick, PeerId)>,
    /// At an authority that was outvoted: the checksum that most have at a tick.
    voted: Option<(Tick, u64)>,
    pub(super) desyncs: u64,
    /// What is simulated here is known to be wrong: another's state is taken over even if it is of an earlier tick.
    pub(super) state_is_wrong: bool,
}

/// The checksums of the others at one tick.
#[derive(Debug, Default)]
struct Checksums {
    of: BTreeMap<PeerId, u64>,
    /// When the first of them differed.
    differing_since: Option<Duration>,
}

/// What the authority finds out by comparing checksums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// Most peers agree with each other and not with the authority, which is to ask one of them.
    Outvoted {
        tick: Tick,
        checksum: u64,
        ask: PeerId,
    },
    /// A peer differs. After a correction that did not help, its inputs must have been others, and only the whole state helps.
    Differs {
        peer: PeerId,
        tick: Tick,
        needs_state: bool,
    },
}

impl DesyncDetector {
    /// Begins anew with a state that was taken over.
    pub(super) fn restart(&mut self) {
        *self = DesyncDetector {
            desyncs: self.desyncs,
            ..DesyncDetector::default()
        };
    }

    pub(super) fn on_new_authority(&mut self) {
        self.theirs.clear();
        self.correcting.clear();
        (self.correction, self.voted) = (None, None);
    }

    pub(super) fn retain(&mut self, here: impl Fn(PeerId) -> bool) {
        for checksums in self.theirs.values_mut() {
            checksums.of.retain(|peer, _| here(*peer));
        }
        self.correcting.retain(|peer, _| here(*peer));
    }

    /// Notes this program's own checksum.
    fn record(&mut self, tick: Tick, checksum: u64, attendance: Arc<Attendance>) {
        self.own.insert(tick, (checksum, attendance));
        if self.own.len() > MAX_CHECKS {
            self.own.pop_first();
        }
    }

    /// A peer's checksum arrived, of a check that is not after `last`.
    pub(super) fn on_checksum(
        &mut self,
        now: Duration,
        from: PeerId,
        tick: Tick,
        checksum: u64,
        last: Tick,
    ) {
        let oldest = self.own.first_key_value().map_or(tick, |(tick, _)| *tick);
        if tick > last || tick < oldest {
            return;
        }
        let checksums = self.theirs.entry(tick).or_default();
        checksums.of.insert(from, checksum);
        if self.theirs.len() > MAX_CHECKS {
            self.theirs.pop_first();
        }
        // A peer whose correction helped is corrected in parts again the next time.
        let agrees = self.own.get(&tick).is_some_and(|(own, _)| *own == checksum);
        let correction = self.correcting.get(&from);
        if agrees && correction.is_some_and(|(until, _)| *until <= now) {
            self.correcting.remove(&from);
        }
    }

    /// The authority compares the checksums it has. Returns what it found, and when to look again.
    ///
    /// Only the peers that are `expected` to answer have a vote, and that counts only if the authority may be corrected.
    fn judge(
        &mut self,
        now: Duration,
        me: PeerId,
        expected: &BTreeSet<PeerId>,
        may_be_corrected: bool,
    ) -> (Vec<Verdict>, Option<Duration>) {
        let (mut verdicts, mut again) = (Vec::new(), None::<Duration>);
        let ticks: Vec<Tick> = self.theirs.keys().copied().collect();
        for tick in ticks {
            let own = self.own.get(&tick).map(|(own, _)| *own);
            let Some((own, theirs)) = own.zip(self.theirs.get_mut(&tick)) else {
                continue;
            };
            let complete = expected.iter().all(|peer| theirs.of.contains_key(peer));
            let differing = theirs.of.iter().filter(|(_, checksum)| **checksum != own);
            let differing: Vec<(PeerId, u64)> =
                differing.map(|(peer, sum)| (*peer, *sum)).collect();
            if differing.is_empty() {
                if complete {
                    self.theirs.remove(&tick);
                }
                continue;
            }
            let until = *theirs.differing_since.get_or_insert(now) + WAIT_FOR_OTHERS;
            if !complete && now < until {
                again = Some(again.map_or(until, |again| again.min(until)));
                continue;
            }
            let votes = differing.iter().filter(|(peer, _)| expected.contains(peer));
            let votes: Vec<(PeerId, u64)> = votes.copied().collect();
            let voters = theirs.of.keys().filter(|peer| expected.contains(peer));
            let agreeing = voters.count() + 1 - votes.len();
            self.theirs.remove(&tick);
            match outvoted_by(&votes, agreeing).filter(|_| may_be_corrected) {
                Some((ask, checksum)) => {
                    let begins = self.begin_correction(now, me).is_some();
                    verdicts.extend(begins.then_some(Verdict::Outvoted {
                        tick,
                        checksum,
                        ask,
                    }));
                }
                None => verdicts.extend(differing.into_iter().filter_map(|(peer, _)| {
                    let needs_state = self.begin_correction(now, peer)? > MAX_CORRECTIONS;
                    self.desyncs += 1;
                    Some(Verdict::Differs {
                        peer,
                        tick,
                        needs_state,
                    })
                })),
            }
        }
        (verdicts, again)
    }

    /// Notes that the correction of a peer begins, and returns how many there were in a row; `None` while one is under way.
    fn begin_correction(&mut self, now: Duration, peer: PeerId) -> Option<u32> {
        let (until, times) = self.correcting.get(&peer).copied().unwrap_or_default();
        if now < until {
            return None;
        }
        let correction = (now + CORRECTION_TIME, times + 1);
        self.correcting.insert(peer, correction);
        Some(times + 1)
    }
}

/// One of the peers that agree with each other, and their checksum, if they are the majority and more than those that agree with the authority.
fn outvoted_by(differing: &[(PeerId, u64)], agreeing: usize) -> Option<(PeerId, u64)> {
    let mut votes: BTreeMap<u64, Vec<PeerId>> = BTreeMap::new();
    for (peer, checksum) in differing {
        votes.entry(*checksum).or_default().push(*peer);
    }
    let (checksum, most) = votes.into_iter().max_by_key(|(_, peers)| peers.len())?;
    let is_majority = most.len() > agreeing && 2 * most.len() > differing.len() + agreeing;
    let first = most.first().filter(|_| is_majority);
    first.map(|peer| (*peer, checksum))
}

impl Lockstep {
    /// Takes the checksum of a confirmed tick at which all compare, and sends it to the authority.
    pub(super) fn check_state(&mut self, tick: Tick, world: &mut dyn World, is_new: bool) {
        let simulated = &self.simulated;
        // The world knows what has changed since its last checksum, a saved copy does not.
        let (checksum, present) = match tick == simulated.predicted_tick {
            true => (Some(world.checksum()), &simulated.predicted_players),
            false => (world.checksum_at(tick), &simulated.confirmed_players),
        };
        let Some(checksum) = checksum else {
            return;
        };
        if is_new {
            world.record_checksum(tick, checksum);
        }
        let attendance = present.attendance().clone();
        self.desync.record(tick, checksum, attendance);
        if let Some(authority) = self.room.other_authority()
            && (!self.room.is_spectator || self.config.spectator_delay.is_zero())
        {
            let checksum = Fixed(checksum);
            let message = Message::Checksum { tick, checksum };
            self.send(authority, Delivery::Redundant, &message);
        }
    }

    /// The authority compares everyone's checksums.
    pub(super) fn judge_checksums(&mut self, now: Duration) {
        if !self.room.is_authority() || self.desync.theirs.is_empty() {
            return;
        }
        let Some(me) = self.room.me() else {
            return;
        };
        let expected = self.room.playing().map(|member| member.peer);
        let expected = expected.filter(|peer| *peer != me).collect();
        let may_be_corrected = self.may_be_corrected();
        let (verdicts, again) = self.desync.judge(now, me, &expected, may_be_corrected);
        if let Some(again) = again {
            self.timers.wake_at(again);
        }
        for verdict in verdicts {
            match verdict {
                Verdict::Outvoted {
                    tick,
                    checksum,
                    ask,
                } => {
                    self.desync.voted = Some((tick, checksum));
                    tracing::warn!(peer = %me, tick = tick.0, "desync: most peers differ from the authority");
                    let notice = Message::DesyncNotice { tick, ask };
                    self.transfer.for_world.push_back((me, notice.write()));
                }
                Verdict::Differs {
                    peer,
                    tick,
                    needs_state,
                } => {
                    tracing::warn!(%peer, tick = tick.0, "desync");
                    self.events.push_back(ModelEvent::Desync(DesyncReport {
                        peer,
                        tick,
                        difference: None,
                        bundle: None,
                    }));
                    match needs_state {
                        false => {
                            let notice = Message::DesyncNotice { tick, ask: me };
                            self.send(peer, Delivery::ReliableOrdered, &notice);
                        }
                        true => self.transfer.request_for(peer, tick),
                    }
                }
            }
            self.timers.wake_at(now);
        }
    }

    /// This program's state differs: it sends its checksum tree to a peer whose state is right.
    pub(super) fn request_rows(&mut self, tick: Tick, ask: PeerId, world: &mut dyn World) {
        tracing::warn!(tick = tick.0, %ask, "desync: this program's state differs");
        self.desync.desyncs += 1;
        self.desync.correction = Some((tick, ask));
        let Some(tree) = world.checksum_tree_at(tick) else {
            return self.request_state(ask, tick);
        };
        let tree = &tree.encode();
        let message = Message::ChecksumTree { tick, tree };
        self.send(ask, Delivery::ReliableOrdered, &message);
    }

    /// Sends the rows that differ from another's checksum tree; the whole state where that cannot be told any more.
    pub(super) fn send_rows(
        &mut self,
        now: Duration,
        to: PeerId,
        tick: Tick,
        tree: &[u8],
        world: &mut dyn World,
    ) {
        let ours = world.checksum_tree_at(tick);
        let theirs = ChecksumTree::decode(tree).ok();
        let rows = ours.as_ref().zip(theirs).and_then(|(ours, theirs)| {
            let parts = ours.differing(&theirs);
            world.rows_at(tick, Some(&parts))
        });
        let Some((ours, rows)) = ours.zip(rows) else {
            return self.answer_state_request(now, to, tick, world);
        };
        let message = Message::Rows {
            tick,
            checksum: Fixed(ours.root()),
            rows: &rows,
        };
        self.send(to, Delivery::ReliableOrdered, &message);
    }

    /// Corrects this program's state with the rows that differ, and resimulates from there.
    pub(super) fn take_rows(
        &mut self,
        now: Duration,
        from: PeerId,
        tick: Tick,
        checksum: u64,
        rows: &[u8],
        world: &mut dyn World,
    ) {
        let Some(me) = self.room.me() else {
            return;
        };
        if self.desync.correction != Some((tick, from))
            || self.timeline.base() > tick
            || tick > self.simulated.confirmed_tick
        {
            return;
        }
        self.desync.correction = None;
        if self.room.is_authority() && self.desync.voted.take() != Some((tick, checksum)) {
            // The peer asked does not have the state that most have voted for.
            self.stats.refused += 1;
            return;
        }
        let Some((own, attendance)) = self.desync.own.get(&tick).cloned() else {
            return;
        };
        let agreed = self.desync.own.range(..tick).next_back();
        let agreed = agreed.map(|(agreed, _)| *agreed);
        let patched = match world.patch(tick, rows) {
            Ok(patched) => patched,
            Err(error) => {
                self.stats.trouble = Some(error.to_string());
                return;
            }
        };
        let difference = patched.difference;
        let description = difference.as_ref().map(Difference::to_string);
        let description = description.unwrap_or_default();
        let difference_there = difference
            .as_ref()
            .map(|difference| difference.seen_from_there().to_string());
        let is_right = world.checksum() == checksum;
        let divergence = Divergence {
            tick,
            description: description.clone(),
            ours: DivergedState {
                checksum: own,
                rows: patched.replaced,
            },
            theirs: DivergedState {
                checksum,
                rows: rows.into(),
            },
        };
        // The recording goes through what this program simulated, so it is made before that is replaced.
        let bundle = agreed.and_then(|agreed| self.recording(agreed, &divergence, world));
        self.simulated.rewind(tick, &attendance, world);
        if is_right {
            world.save(tick);
            self.desync.own.insert(tick, (checksum, attendance));
        }
        while self.simulated.predicted_tick < self.simulated.confirmed_tick {
            self.simulated.step(&mut self.timeline, world);
            let reached = self.simulated.predicted_tick;
            if self.desync.own.contains_key(&reached) {
                self.check_state(reached, world, false);
            }
        }
        world.replaced(self.simulated.predicted_tick);
        self.events.push_back(ModelEvent::Desync(DesyncReport {
            peer: me,
            tick,
            difference,
            bundle,
        }));
        match self.room.other_authority() {
            Some(authority) if is_right => {
                let there = difference_there.unwrap_or_default();
                let description = shortened(&there).as_bytes();
                let message = Message::Repaired { tick, description };
                self.send(authority, Delivery::ReliableOrdered, &message);
            }
            Some(authority) => self.request_state(authority, tick),
            None => {}
        }
        self.desync.state_is_wrong = !is_right;
        if is_right {
            tracing::info!(tick = tick.0, bytes = rows.len(), "state corrected");
            self.desync.correcting.remove(&me);
            self.events.push_back(ModelEvent::Repaired {
                peer: me,
                tick,
                bytes: rows.len(),
            });
        }
        self.timers.wake_at(now);
    }

    /// A recording of what was simulated from a check at which all agreed to the one at which this program differed.
    fn recording(
        &self,
        agreed: Tick,
        divergence: &Divergence,
        world: &mut dyn World,
    ) -> Option<Vec<u8>> {
        if self.timeline.base() > agreed {
            return None;
        }
        let (_, attendance) = self.desync.own.get(&agreed)?;
        let mut present = TickInputs::new();
        present.set_attendance(attendance);
        let mut ticks = Vec::new();
        for tick in (agreed.0..divergence.tick.0).map(Tick) {
            self.timeline.apply_changes(tick, &mut present);
            let inputs = self.timeline.inputs(tick).cloned();
            let mut inputs = inputs.unwrap_or_else(TickInputs::new);
            inputs.share_attendance(&present);
            ticks.push(inputs);
        }
        world.desync_bundle(agreed, &ticks, divergence)
    }

    /// A peer has corrected its state.
    pub(super) fn on_repaired(&mut self, from: PeerId, tick: Tick, description: &[u8]) {
        if !self.room.is_authority() || !self.desync.correcting.contains_key(&from) {
            return;
        }
        let description =
            String::from_utf8_lossy(&description[..description.len().min(MAX_DESCRIPTION)]);
        tracing::info!(peer = %from, tick = tick.0, difference = %description, "peer corrected its state");
        self.stats.trouble = Some(format!("{from} differed at tick {tick}: {description}"));
        self.events.push_back(ModelEvent::Repaired {
            peer: from,
            tick,
            bytes: 0,
        });
    }
}

fn shortened(description: &str) -> &str {
    let end = (0..=description.len().min(MAX_DESCRIPTION))
        .rev()
        .find(|at| description.is_char_boundary(*at));
    &description[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: PeerId = PeerId(0);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A detector at the authority that has the checksum 7 at tick 60, and these of the others.
    fn detector(theirs: &[u64]) -> (DesyncDetector, BTreeSet<PeerId>) {
        let mut detector = DesyncDetector::default();
        detector.record(Tick(60), 7, Arc::default());
        let peers = (1..).map(PeerId).take(theirs.len());
        for (peer, checksum) in peers.clone().zip(theirs) {
            detector.on_checksum(ms(0), peer, Tick(60), *checksum, Tick(60));
        }
        (detector, peers.collect())
    }

    #[test]
    fn equal_checksums_are_no_news() {
        let (mut detector, expected) = detector(&[7, 7]);
        assert_eq!(detector.judge(ms(0), ME, &expected, true), (vec![], None));
        assert!(detector.theirs.is_empty() && detector.desyncs == 0);
    }

    #[test]
    fn one_that_differs_is_corrected_and_then_gets_the_whole_state() {
        let (mut detector, expected) = detector(&[7, 8]);
        let differs = |needs_state| Verdict::Differs {
            peer: PeerId(2),
            tick: Tick(60),
            needs_state,
        };
        let (verdicts, _) = detector.judge(ms(0), ME, &expected, true);
        assert_eq!(verdicts, [differs(false)]);
        for (at, verdict) in [(1000, None), (2000, Some(differs(true)))] {
            detector.on_checksum(ms(at), PeerId(1), Tick(60), 7, Tick(60));
            detector.on_checksum(ms(at), PeerId(2), Tick(60), 8, Tick(60));
            let (verdicts, _) = detector.judge(ms(at), ME, &expected, true);
            assert_eq!(verdicts.first().copied(), verdict);
        }
        assert_eq!(detector.desyncs, 2);
    }

    #[test]
    fn an_authority_that_differs_from_most_is_outvoted() {
        for (theirs, outvoted) in [
            (&[8, 8][..], true),
            (&[8, 8, 8, 7], true),
            (&[8, 8, 7], false),
            (&[8, 8, 9], false),
        ] {
            let (mut detector, expected) = detector(theirs);
            let (verdicts, _) = detector.judge(ms(0), ME, &expected, true);
            let verdict = Verdict::Outvoted {
                tick: Tick(60),
                checksum: 8,
                ask: PeerId(1),
            };
            assert_eq!(verdicts == [verdict], outvoted, "{theirs:?}: {verdicts:?}");
        }
    }

    #[test]
    fn who_is_not_expected_has_no_vote_and_a_host_is_right() {
        let (mut detector, mut expected) = detector(&[8, 8, 7]);
        let only_spectators = expected.split_off(&PeerId(3));
        let differ = |verdicts: &[Verdict]| {
            let differs = |verdict: &&Verdict| matches!(verdict, Verdict::Differs { .. });
            verdicts.iter().filter(differs).count()
        };
        let (verdicts, _) = detector.judge(ms(0), ME, &only_spectators, true);
        assert_eq!((verdicts.len(), differ(&verdicts)), (2, 2));
        let (mut detector, expected) = self::detector(&[8, 8, 8]);
        let (verdicts, _) = detector.judge(ms(0), ME, &expected, false);
        assert_eq!((verdicts.len(), differ(&verdicts)), (3, 3));
    }

    #[test]
    fn those_who_have_not_answered_are_waited_for() {
        let (mut detector, mut expected) = detector(&[8]);
        expected.insert(PeerId(5));
        let (verdicts, again) = detector.judge(ms(0), ME, &expected, true);
        assert_eq!((verdicts.len(), again), (0, Some(WAIT_FOR_OTHERS)));
        let (verdicts, _) = detector.judge(WAIT_FOR_OTHERS, ME, &expected, true);
        assert_eq!(verdicts.len(), 1);
    }

    #[test]
    fn a_description_is_cut_between_characters() {
        let long = "é".repeat(MAX_DESCRIPTION);
        assert_eq!(shortened(&long).len(), MAX_DESCRIPTION);
        let odd = format!("x{long}");
        assert_eq!(shortened(&odd).len(), MAX_DESCRIPTION - 1);
    }
}
