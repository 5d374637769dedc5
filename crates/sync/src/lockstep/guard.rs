//! Comparing states, finding what differs and putting it right while the others play on.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Lockstep;
use super::message::Message;
use crate::{
    ChecksumTree, Delivery, DesyncReport, Difference, DivergedState, Divergence, ModelEvent,
    PeerId, PlayerId, Tick, TickInputs, World,
};

/// Checks that are remembered.
const MAX_CHECKS: usize = 16;
/// How long the authority waits for the others' check values before it decides who differs.
const HEAR_OUT: Duration = Duration::from_millis(600);
/// A repair that takes longer is begun anew.
const REPAIR_TIME: Duration = Duration::from_secs(2);
/// Repairs of one peer in a row, after which it gets the whole state.
const PATIENCE: u32 = 1;
/// Longest words about a difference.
const MAX_WORDS: usize = 1024;

/// What is known about everyone's states.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// This program's own check values, and who was present then.
    own: BTreeMap<Tick, (u64, Arc<[PlayerId]>)>,
    theirs: BTreeMap<Tick, Heard>,
    /// Peers that are being repaired: until when nothing else is begun, and how often it was.
    repairing: BTreeMap<PeerId, (Duration, u32)>,
    /// This program is being repaired from another's state at a tick.
    repair: Option<(Tick, PeerId)>,
    desyncs: u64,
}

#[derive(Debug, Default)]
struct Heard {
    checksums: BTreeMap<PeerId, u64>,
    /// When the first of them differed.
    since: Option<Duration>,
}

impl Guard {
    pub(super) fn desyncs(&self) -> u64 {
        self.desyncs
    }

    pub(super) fn begin_anew(&mut self) {
        *self = Guard {
            desyncs: self.desyncs,
            ..Guard::default()
        };
    }

    pub(super) fn on_new_authority(&mut self) {
        self.theirs.clear();
        self.repairing.clear();
        self.repair = None;
    }

    pub(super) fn retain(&mut self, here: impl Fn(PeerId) -> bool) {
        for heard in self.theirs.values_mut() {
            heard.checksums.retain(|peer, _| here(*peer));
        }
        self.repairing.retain(|peer, _| here(*peer));
    }

    /// A peer says what its state was.
    pub(super) fn on_check(&mut self, now: Duration, from: PeerId, tick: Tick, checksum: u64) {
        let newest = self
            .own
            .last_key_value()
            .map_or(tick, |(newest, _)| *newest);
        if tick.since(newest) > 36_000
            || self
                .own
                .first_key_value()
                .is_some_and(|(oldest, _)| tick < *oldest)
        {
            return;
        }
        self.theirs
            .entry(tick)
            .or_default()
            .checksums
            .insert(from, checksum);
        if self.theirs.len() > MAX_CHECKS {
            self.theirs.pop_first();
        }
        // What was wrong once and is right now needs no patience any more.
        let right = self.own.get(&tick).is_some_and(|(own, _)| *own == checksum);
        if right
            && self
                .repairing
                .get(&from)
                .is_some_and(|(until, _)| *until <= now)
        {
            self.repairing.remove(&from);
        }
    }
}

impl Lockstep {
    /// The state has reached a tick at which all compare.
    pub(super) fn check(&mut self, tick: Tick, world: &mut dyn World, is_new: bool) {
        // The world's own knows better than a copy what has changed since the last time.
        let (checksum, present) = match tick == self.head {
            true => (Some(world.checksum()), &self.present_ahead),
            false => (world.checksum_at(tick), &self.present),
        };
        let Some(checksum) = checksum else {
            return;
        };
        if is_new {
            world.record_checksum(tick, checksum);
        }
        let players = present.shared_players().clone();
        self.guard.own.insert(tick, (checksum, players));
        if self.guard.own.len() > MAX_CHECKS {
            self.guard.own.pop_first();
        }
        if let Some(authority) = self
            .authority()
            .filter(|authority| Some(*authority) != self.me())
            && (!self.watches || self.config.spectator_delay.is_zero())
        {
            self.say(
                authority,
                Delivery::Redundant,
                &Message::Check { tick, checksum },
            );
        }
    }

    /// The authority compares what it has heard.
    pub(super) fn judge_checks(&mut self, now: Duration) {
        if !self.is_authority() || self.guard.theirs.is_empty() {
            return;
        }
        let Some(me) = self.me() else {
            return;
        };
        let expected: BTreeSet<PeerId> = self
            .roster
            .iter()
            .flat_map(|roster| {
                roster
                    .members
                    .iter()
                    .filter(|member| member.in_sync && !member.watches)
            })
            .map(|member| member.peer)
            .filter(|peer| *peer != me)
            .collect();
        let ticks: Vec<Tick> = self.guard.theirs.keys().copied().collect();
        for tick in ticks {
            let Some((own, _)) = self.guard.own.get(&tick) else {
                continue;
            };
            let own = *own;
            let Some(heard) = self.guard.theirs.get_mut(&tick) else {
                continue;
            };
            let all = expected
                .iter()
                .all(|peer| heard.checksums.contains_key(peer));
            let differing: Vec<(PeerId, u64)> = heard
                .checksums
                .iter()
                .filter(|(_, checksum)| **checksum != own)
                .map(|(peer, checksum)| (*peer, *checksum))
                .collect();
            if differing.is_empty() {
                if all {
                    self.guard.theirs.remove(&tick);
                }
                continue;
            }
            let since = *heard.since.get_or_insert(now);
            if !all && now < since + HEAR_OUT {
                self.wake_at(since + HEAR_OUT);
                continue;
            }
            let agreeing = heard.checksums.len() + 1 - differing.len();
            self.guard.theirs.remove(&tick);
            self.judge(now, me, tick, &differing, agreeing);
        }
    }

    fn judge(
        &mut self,
        now: Duration,
        me: PeerId,
        tick: Tick,
        differing: &[(PeerId, u64)],
        agreeing: usize,
    ) {
        // If most of the others agree with each other, it is this program that differs.
        let mut votes: BTreeMap<u64, Vec<PeerId>> = BTreeMap::new();
        for (peer, checksum) in differing {
            votes.entry(*checksum).or_default().push(*peer);
        }
        let most = votes.values().max_by_key(|peers| peers.len());
        let outvoted = most
            .filter(|peers| peers.len() > agreeing && 2 * peers.len() > differing.len() + agreeing);
        if let Some(ask) = outvoted.and_then(|peers| peers.first().copied()) {
            let begun = self
                .guard
                .repairing
                .get(&me)
                .is_some_and(|(until, _)| now < *until);
            if !begun {
                self.guard.repairing.insert(me, (now + REPAIR_TIME, 0));
                self.for_world
                    .push_back((me, Message::Diverged { tick, ask }.write()));
                self.wake_at(now);
            }
            return;
        }
        for (peer, _) in differing {
            let (until, times) = self.guard.repairing.get(peer).copied().unwrap_or_default();
            if now < until {
                continue;
            }
            self.guard
                .repairing
                .insert(*peer, (now + REPAIR_TIME, times + 1));
            self.guard.desyncs += 1;
            self.events.push_back(ModelEvent::Desync(DesyncReport {
                peer: *peer,
                tick,
                difference: None,
                bundle: None,
            }));
            match times < PATIENCE {
                true => self.say(
                    *peer,
                    Delivery::ReliableOrdered,
                    &Message::Diverged { tick, ask: me },
                ),
                // Its inputs must have been others: only the whole state helps.
                false => self
                    .for_world
                    .push_back((*peer, Message::Leaves { tick, tree: &[] }.write())),
            }
            self.wake_at(now);
        }
    }

    /// Does what needs the world.
    pub(super) fn answer_with_world(&mut self, now: Duration, world: &mut dyn World) {
        while let Some((from, bytes)) = self.for_world.pop_front() {
            match Message::read(&bytes) {
                Some(Message::Diverged { tick, ask }) => self.ask_for_rows(tick, ask, world),
                Some(Message::Leaves { tick, tree }) => {
                    self.send_rows(now, from, tick, tree, world)
                }
                Some(Message::Rows {
                    tick,
                    checksum,
                    rows,
                }) => self.take_rows(now, from, tick, checksum, rows, world),
                Some(Message::Checkpoint(bytes)) => self.take_over(now, from, bytes, world),
                _ => self.refused += 1,
            }
        }
    }

    fn ask_for_rows(&mut self, tick: Tick, ask: PeerId, world: &mut dyn World) {
        self.guard.desyncs += 1;
        self.guard.repair = Some((tick, ask));
        let tree = world
            .checksum_tree_at(tick)
            .map(|tree| tree.encode())
            .unwrap_or_default();
        self.say(
            ask,
            Delivery::ReliableOrdered,
            &Message::Leaves { tick, tree: &tree },
        );
    }

    fn send_rows(
        &mut self,
        now: Duration,
        to: PeerId,
        tick: Tick,
        tree: &[u8],
        world: &mut dyn World,
    ) {
        // The authority's state counts, or the one it asks for because its own is behind.
        let may = self.is_authority() || self.authority() == Some(to);
        let ours = world.checksum_tree_at(tick);
        let theirs = ChecksumTree::decode(tree).ok().filter(|_| !tree.is_empty());
        let rows = ours.as_ref().zip(theirs).and_then(|(ours, theirs)| {
            let parts = ours.differing(&theirs);
            world.rows_at(tick, Some(&parts))
        });
        match (ours, rows) {
            (Some(ours), Some(rows)) => {
                let checksum = ours.root();
                self.say(
                    to,
                    Delivery::ReliableOrdered,
                    &Message::Rows {
                        tick,
                        checksum,
                        rows: &rows,
                    },
                );
            }
            _ if may && Some(to) != self.me() && tick < self.next => {
                self.hand_to(now, to, world);
            }
            _ => {}
        }
    }

    fn take_rows(
        &mut self,
        now: Duration,
        from: PeerId,
        tick: Tick,
        checksum: u64,
        rows: &[u8],
        world: &mut dyn World,
    ) {
        let Some(me) = self.me() else {
            return;
        };
        if self.guard.repair != Some((tick, from))
            || self.timeline.base() > tick
            || tick > self.next
        {
            return;
        }
        self.guard.repair = None;
        let Some((own, players)) = self.guard.own.get(&tick).cloned() else {
            return;
        };
        let agreed = self
            .guard
            .own
            .range(..tick)
            .next_back()
            .map(|(agreed, _)| *agreed);
        let patched = match world.patch(tick, rows) {
            Ok(patched) => patched,
            Err(error) => {
                self.trouble = Some(error.to_string());
                return;
            }
        };
        let difference = patched.difference;
        let words = difference
            .as_ref()
            .map(Difference::to_string)
            .unwrap_or_default();
        let right = world.checksum() == checksum;
        let ours = DivergedState {
            checksum: own,
            rows: patched.replaced,
        };
        let theirs = DivergedState {
            checksum,
            rows: rows.into(),
        };
        let divergence = Divergence {
            tick,
            words: words.clone(),
            ours,
            theirs,
        };
        // The recording goes through what this program simulated, so it is made before that is replaced.
        let bundle = agreed.and_then(|agreed| self.recording(agreed, &divergence, world));
        self.present_ahead.set_shared_players(&players);
        self.head = tick;
        self.saves.release_after(tick, world);
        if right {
            world.save(tick);
            self.guard.own.insert(tick, (checksum, players));
        }
        while self.head < self.next {
            self.step(world);
            if self.guard.own.contains_key(&self.head) {
                self.check(self.head, world, false);
            }
        }
        world.replaced(self.head);
        let bytes = rows.len();
        self.events.push_back(ModelEvent::Desync(DesyncReport {
            peer: me,
            tick,
            difference,
            bundle,
        }));
        if let Some(authority) = self.authority() {
            if !right && authority != me {
                self.say(
                    authority,
                    Delivery::ReliableOrdered,
                    &Message::Leaves { tick, tree: &[] },
                );
            } else if authority != me {
                let words = shortened(&words);
                self.say(
                    authority,
                    Delivery::ReliableOrdered,
                    &Message::Repaired {
                        tick,
                        words: words.as_bytes(),
                    },
                );
            }
        }
        self.is_wrong = !right;
        if right {
            self.guard.repairing.remove(&me);
            self.events.push_back(ModelEvent::Repaired {
                peer: me,
                tick,
                bytes,
            });
        }
        self.wake_at(now);
    }

    fn recording(
        &self,
        agreed: Tick,
        divergence: &Divergence,
        world: &mut dyn World,
    ) -> Option<Vec<u8>> {
        if self.timeline.base() > agreed {
            return None;
        }
        let (_, players) = self.guard.own.get(&agreed)?;
        let mut present = TickInputs::new();
        present.set_shared_players(players);
        let mut ticks = Vec::new();
        let mut tick = agreed;
        while tick < divergence.tick {
            self.timeline.apply_changes(tick, &mut present);
            let mut inputs = self
                .timeline
                .inputs(tick)
                .cloned()
                .unwrap_or_else(TickInputs::new);
            inputs.share_players(&present);
            ticks.push(inputs);
            tick = tick.next();
        }
        world.desync_bundle(agreed, &ticks, divergence)
    }

    /// A peer says that its state is right again.
    pub(super) fn on_repaired(&mut self, from: PeerId, tick: Tick, words: &[u8]) {
        if !self.is_authority() || !self.guard.repairing.contains_key(&from) {
            return;
        }
        let words = String::from_utf8_lossy(&words[..words.len().min(MAX_WORDS)]);
        self.trouble = Some(format!("{from} differed at tick {tick}: {words}"));
        self.events.push_back(ModelEvent::Repaired {
            peer: from,
            tick,
            bytes: 0,
        });
    }
}

fn shortened(words: &str) -> &str {
    let end = (0..=words.len().min(MAX_WORDS))
        .rev()
        .find(|at| words.is_char_boundary(*at));
    &words[..end.unwrap_or(0)]
}
