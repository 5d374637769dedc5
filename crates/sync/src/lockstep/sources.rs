//! The input sources: everyone whose inputs the simulation waits for, and how far each is known.

use core::ops::Bound;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::announcing::Announcing;
use crate::cut::Cut;
use crate::input::Attendance;
use crate::timeline::SourceId;
use crate::{PeerId, PlayerId, Tick};

/// Batches that may wait for those before them: of all senders, and of one. A host sends those of everyone.
const MAX_EARLY_BATCHES: usize = 512;
const MAX_EARLY_BATCHES_OF_ONE: usize = 32;

/// All input sources: the authority where it sequences the inputs, else every peer that plays.
#[derive(Debug, Default)]
pub(super) struct InputSources {
    pub(super) known: BTreeMap<SourceId, InputSource>,
    /// Sources that are gone, or held back, until their end is known.
    pub(super) departed: BTreeSet<SourceId>,
    /// Sources that the room is about to exclude.
    pub(super) held: Vec<SourceId>,
    /// Where the room has ended sources, the last of them.
    pub(super) cuts: VecDeque<(SourceId, Cut)>,
    /// Encoded batches that arrived before those they follow.
    pub(super) early_batches: Vec<(PeerId, Vec<u8>)>,
    /// Where the authority sequences: players that are present at the end of its turns.
    pub(super) announced_players: BTreeSet<PlayerId>,
    /// Where the authority sequences: players that are away then.
    pub(super) announced_away: BTreeSet<PlayerId>,
    /// Players that were present when this model took over a running game, until a source provides inputs for them.
    pub(super) unclaimed_players: Vec<PlayerId>,
}

/// What is known of one input source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct InputSource {
    /// From this tick on the simulation waits for it.
    pub(super) from: Tick,
    /// Its inputs before this tick are known.
    pub(super) known_upto: Tick,
    /// It provides no inputs from here on.
    pub(super) end: Option<Tick>,
    /// The players it provides inputs for; none where the authority sequences.
    pub(super) players: Vec<PlayerId>,
    /// By how much its batches arrived early since the last report.
    pub(super) slack: ArrivalSlack,
    /// The next resend request goes out no earlier.
    pub(super) next_resend_request: Duration,
    /// A resend from here on was requested.
    pub(super) requested_from: Option<Tick>,
    /// How far it is believed about who comes and goes.
    pub(super) announcing: Announcing,
}

/// The three smallest times, in µs, by which batches arrived early, and their first ticks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ArrivalSlack {
    smallest: [Option<(i64, Tick)>; 3],
}

impl ArrivalSlack {
    pub(super) fn add(&mut self, slack_us: i64, tick: Tick) {
        let mut new = Some((slack_us, tick));
        for smallest in &mut self.smallest {
            if new.is_some_and(|(new, _)| smallest.is_none_or(|(smallest, _)| new < smallest)) {
                core::mem::swap(smallest, &mut new);
            }
        }
    }

    /// The third smallest: rarer outliers are left to the receiver's playout delay.
    pub(super) fn low(&self) -> Option<(i64, Tick)> {
        self.smallest.iter().rev().flatten().next().copied()
    }
}

/// What keeps a tick from being simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Blocked {
    No,
    By(SourceId),
    /// No source covers the tick: the authority has to announce one.
    ByAuthority,
}

impl InputSource {
    pub(super) fn new(from: Tick, players: Vec<PlayerId>) -> InputSource {
        InputSource {
            from,
            known_upto: from,
            end: None,
            players,
            slack: ArrivalSlack::default(),
            next_resend_request: Duration::ZERO,
            requested_from: None,
            announcing: Announcing::default(),
        }
    }

    /// Whether its missing inputs keep a tick from being simulated.
    pub(super) fn blocks(&self, tick: Tick) -> bool {
        self.from <= tick && self.end.is_none_or(|end| end > tick) && self.known_upto <= tick
    }
}

impl InputSources {
    /// Starts with the one source of an authority, for a game that goes on from a tick.
    pub(super) fn restart(
        &mut self,
        tick: Tick,
        authority: Option<SourceId>,
        attendance: &Attendance,
    ) {
        self.known.clear();
        self.departed.clear();
        if let Some(id) = authority {
            self.insert(id, tick, Vec::new());
        }
        self.set_announced(attendance);
        self.unclaimed_players.clone_from(&attendance.players);
    }

    /// Sets who takes part at the end of what is announced.
    pub(super) fn set_announced(&mut self, attendance: &Attendance) {
        self.announced_players = attendance.players.iter().copied().collect();
        self.announced_away = attendance.away.iter().map(|away| away.0).collect();
    }

    pub(super) fn insert(&mut self, id: SourceId, from: Tick, players: Vec<PlayerId>) {
        self.known.insert(id, InputSource::new(from, players));
    }

    /// The source after another one, in their order; the first after none.
    pub(super) fn after(&self, id: Option<SourceId>) -> Option<SourceId> {
        let after = id.map_or(Bound::Unbounded, Bound::Excluded);
        let mut sources = self.known.range((after, Bound::Unbounded));
        sources.next().map(|(id, _)| *id)
    }

    /// A source that has neither ended nor departed.
    pub(super) fn active(&self, id: SourceId) -> Option<&InputSource> {
        let source = self.known.get(&id)?;
        let is_active = source.end.is_none() && !self.departed.contains(&id);
        is_active.then_some(source)
    }

    /// All sources that have neither ended nor departed.
    pub(super) fn all_active(&self) -> impl Iterator<Item = SourceId> + Clone {
        let ids = self.known.keys().copied();
        ids.filter(|id| self.active(*id).is_some())
    }

    pub(super) fn players_of(&self, id: SourceId) -> &[PlayerId] {
        self.known.get(&id).map_or(&[], |source| &source.players)
    }

    /// The first tick without the players of a source that ends. A source that ends where it begins has them for one tick: of the changes of a tick
    /// arrivals count last.
    pub(super) fn absent_from(&self, id: SourceId, end: Tick) -> Tick {
        let begins = self.known.get(&id).map(|source| source.from);
        match begins == Some(end) {
            true => end.next(),
            false => end,
        }
    }

    /// The first tick whose inputs are not known from every source; `None` if no source goes on.
    pub(super) fn known_upto(&self) -> Option<Tick> {
        let sources = self.known.values();
        let going_on =
            sources.filter(|source| source.end.is_none_or(|end| end > source.known_upto));
        going_on.map(|source| source.known_upto).min()
    }

    /// Where the last source ended, if all have.
    pub(super) fn all_ended_at(&self) -> Option<Tick> {
        let ends = self.known.values().map(|source| source.end);
        ends.collect::<Option<Vec<Tick>>>()?.into_iter().max()
    }

    /// What keeps a tick from being simulated.
    pub(super) fn blocked(&self, tick: Tick, is_sequenced: bool) -> Blocked {
        if let Some((id, _)) = self.known.iter().find(|(_, source)| source.blocks(tick)) {
            return Blocked::By(*id);
        }
        let covers = |source: &InputSource| source.from <= tick && source.known_upto > tick;
        // In a mesh nobody plays between the end of all sources and the announced beginning of the next.
        let begins_later = |source: &InputSource| source.from > tick && source.end.is_none();
        let mut sources = self.known.values();
        match sources.any(|source| covers(source) || (!is_sequenced && begins_later(source))) {
            true => Blocked::No,
            false => Blocked::ByAuthority,
        }
    }

    /// A peer announces a source. If two announce the same, the earlier tick counts.
    pub(super) fn announce(&mut self, id: SourceId, tick: Tick, players: &[PlayerId]) {
        let new = || InputSource::new(tick, players.to_vec());
        let source = self.known.entry(id).or_insert_with(new);
        if source.players.is_empty() {
            source.players = players.to_vec();
        }
        if tick < source.from && source.known_upto == source.from && source.end.is_none() {
            (source.from, source.known_upto) = (tick, tick);
        }
    }

    /// Ends a source at an agreed tick. Returns its players, and whether more of it was known.
    pub(super) fn end(&mut self, id: SourceId, end: Tick) -> Option<(Vec<PlayerId>, bool)> {
        self.departed.remove(&id);
        let source = self.known.get_mut(&id)?;
        let knew_more = source.known_upto > end;
        (source.known_upto, source.end) = (source.known_upto.min(end), Some(end));
        Some((source.players.clone(), knew_more))
    }

    /// Which sources are gone: their batches are no longer taken, and their end is not known yet. Those that are held back are among them.
    pub(super) fn set_departed(&mut self, gone: impl Fn(&SourceId) -> bool) {
        let going_on = self.known.iter().filter(|(_, s)| s.end.is_none());
        let departed = going_on
            .map(|(id, _)| *id)
            .filter(|id| gone(id) || self.held.contains(id));
        let departed: BTreeSet<SourceId> = departed.collect();
        for id in departed.difference(&self.departed) {
            tracing::debug!(peer = %id.peer, incarnation = id.incarnation, "input source departed");
        }
        self.departed = departed;
    }

    /// Whether the end of a source is not known yet, or a source may be about to end.
    pub(super) fn awaits_end(&self) -> bool {
        !self.departed.is_empty() || !self.held.is_empty()
    }

    /// Takes the inputs of a source up to a tick as known.
    pub(super) fn skip(&mut self, id: SourceId, to: Tick) {
        if let Some(source) = self.known.get_mut(&id) {
            source.known_upto = source.known_upto.max(to);
        }
    }

    /// Drops sources that ended before a tick.
    pub(super) fn forget_before(&mut self, tick: Tick) {
        self.known
            .retain(|_, source| source.end.is_none_or(|end| end > tick));
    }

    /// Drops what was measured by a schedule that no longer holds.
    pub(super) fn reset_slack(&mut self) {
        for source in self.known.values_mut() {
            source.slack = ArrivalSlack::default();
        }
    }

    /// Keeps a batch until those before it arrive.
    pub(super) fn keep_early(
        &mut self,
        from: PeerId,
        relays: bool,
        encoded: impl FnOnce() -> Vec<u8>,
    ) {
        let of_it = self.early_batches.iter().filter(|early| early.0 == from);
        let has_room = relays || of_it.count() < MAX_EARLY_BATCHES_OF_ONE;
        if has_room && self.early_batches.len() < MAX_EARLY_BATCHES {
            self.early_batches.push((from, encoded()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(peer: u16) -> SourceId {
        SourceId {
            peer: PeerId(peer),
            incarnation: 1,
        }
    }

    fn sources() -> InputSources {
        let mut sources = InputSources::default();
        sources.insert(id(1), Tick(0), vec![PlayerId(1)]);
        sources.insert(id(2), Tick(10), vec![PlayerId(2)]);
        sources.known.get_mut(&id(1)).unwrap().known_upto = Tick(20);
        sources
    }

    #[test]
    fn a_tick_waits_for_every_source_that_has_begun() {
        let mut sources = sources();
        assert_eq!(sources.known_upto(), Some(Tick(10)));
        assert_eq!(sources.blocked(Tick(9), false), Blocked::No);
        assert_eq!(sources.blocked(Tick(10), false), Blocked::By(id(2)));
        sources.end(id(2), Tick(10));
        assert_eq!(sources.blocked(Tick(10), false), Blocked::No);
        assert_eq!(sources.known_upto(), Some(Tick(20)));
        assert_eq!(
            sources.end(id(1), Tick(15)),
            Some((vec![PlayerId(1)], true))
        );
        assert_eq!(sources.blocked(Tick(15), true), Blocked::ByAuthority);
        assert_eq!(sources.all_ended_at(), Some(Tick(15)));
        sources.insert(id(3), Tick(30), Vec::new());
        assert_eq!(sources.blocked(Tick(15), true), Blocked::ByAuthority);
        assert_eq!(sources.blocked(Tick(15), false), Blocked::No);
    }

    #[test]
    fn of_two_announcements_the_earlier_counts() {
        let mut sources = sources();
        sources.announce(id(2), Tick(7), &[PlayerId(9)]);
        assert_eq!(sources.known[&id(2)].from, Tick(7));
        assert_eq!(sources.players_of(id(2)), [PlayerId(2)]);
        sources.announce(id(1), Tick(7), &[]);
        assert_eq!(sources.known[&id(1)].known_upto, Tick(20));
    }

    #[test]
    fn a_departed_source_is_not_active_but_still_waited_for() {
        let mut sources = sources();
        sources.set_departed(|gone| *gone == id(2) || *gone == id(9));
        assert_eq!(sources.departed.len(), 1);
        assert_eq!(sources.all_active().collect::<Vec<_>>(), [id(1)]);
        assert_eq!(sources.blocked(Tick(12), false), Blocked::By(id(2)));
        assert_eq!(sources.after(Some(id(1))), Some(id(2)));
        sources.set_departed(|_| false);
        assert_eq!(sources.all_active().count(), 2);
        sources.held = vec![id(2)];
        sources.set_departed(|_| false);
        assert!(sources.active(id(2)).is_none() && sources.awaits_end());
        sources.end(id(2), Tick(10));
        sources.forget_before(Tick(10));
        assert!(sources.departed.is_empty() && !sources.known.contains_key(&id(2)));
    }

    #[test]
    fn the_third_smallest_slack_counts() {
        let mut slack = ArrivalSlack::default();
        assert_eq!(slack.low(), None);
        for (us, tick) in [(5, 1), (3, 2), (9, 3), (4, 4)] {
            slack.add(us, Tick(tick));
        }
        assert_eq!(slack.low(), Some((5, Tick(1))));
    }
}
