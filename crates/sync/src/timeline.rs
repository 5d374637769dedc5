//! The timeline: the inputs of every tick and the changes of players, as far as known.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::input::Attendance;
use crate::released::ReleasedPlayers;
use crate::{PeerId, PlayerId, Tick, TickInputs};

/// An input source: a peer in one of its incarnations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SourceId {
    pub(crate) peer: PeerId,
    pub(crate) incarnation: u64,
}

/// A change at a tick: of who takes part, or of the state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// A player takes part from this tick on.
    Join(PlayerId),
    /// A player takes part until this tick, and is gone for good.
    Leave(PlayerId),
    /// A player is present until this tick, and may come back.
    Away(PlayerId),
    /// From this tick on a source provides the inputs of its players, and every tick waits for it.
    Source(SourceId, Vec<PlayerId>),
    /// The authority replaces the state before this tick.
    State,
}

/// The inputs of a stretch of ticks, kept for a while after they were simulated.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    base: Tick,
    ticks: VecDeque<TickInputs>,
    changes: BTreeMap<Tick, Vec<Change>>,
    /// The checkpoints that replace the state.
    replacements: BTreeMap<Tick, Arc<[u8]>>,
    /// Who has lost its place in the room, and is not announced to be gone yet.
    pub(crate) released: ReleasedPlayers,
    spare: Vec<TickInputs>,
    /// The first tick that has changed since [`take_touched`](Timeline::take_touched).
    touched: Option<Tick>,
}

/// Ticks that may be known ahead of the oldest kept one; more is refused.
const MAX_TICKS: u64 = 1 << 16;
/// Replacements of the state that are kept; the oldest are over.
const MAX_REPLACEMENTS: usize = 64;
/// Emptied ticks whose memory is kept.
const MAX_SPARE: usize = 64;

impl Timeline {
    /// Begins anew: nothing is known from a tick on.
    pub(crate) fn begin(&mut self, base: Tick) {
        *self = Timeline {
            base,
            ..Timeline::default()
        };
    }

    /// The first tick that is kept.
    pub(crate) fn base(&self) -> Tick {
        self.base
    }

    /// The first tick after those that have inputs.
    pub(crate) fn end(&self) -> Tick {
        self.base + self.ticks.len() as u64
    }

    /// Adds the input of a player. False if the tick is too far ahead, or forgotten.
    pub(crate) fn insert(&mut self, tick: Tick, player: PlayerId, input: &[u8]) -> bool {
        let Some(inputs) = self.make(tick) else {
            return false;
        };
        inputs.insert(player, input);
        self.touch(tick);
        true
    }

    /// The inputs of a tick, which are there from now on. `None` if the tick is too far ahead, or forgotten.
    fn make(&mut self, tick: Tick) -> Option<&mut TickInputs> {
        if tick < self.base || tick.since(self.base) >= MAX_TICKS {
            return None;
        }
        let at = tick.since(self.base) as usize;
        while self.ticks.len() <= at {
            let fresh = self.spare.pop();
            let fresh = fresh.or_else(|| self.ticks.back().map(TickInputs::with_room_of));
            self.ticks.push_back(fresh.unwrap_or_default());
        }
        self.ticks.get_mut(at)
    }

    /// Notes that a tick has changed.
    pub(crate) fn touch(&mut self, tick: Tick) {
        self.touched = Some(self.touched.map_or(tick, |touched| touched.min(tick)));
    }

    /// The first tick that has changed since this was asked last.
    pub(crate) fn take_touched(&mut self) -> Option<Tick> {
        self.touched.take()
    }

    /// Adds a change; one that is known already counts once.
    pub(crate) fn change(&mut self, tick: Tick, change: Change) {
        if tick < self.base || tick.since(self.base) >= MAX_TICKS {
            return;
        }
        if let Change::Leave(player) = change {
            self.released.take(player);
        }
        let known = self.changes.entry(tick).or_default();
        if !known.contains(&change) {
            known.push(change);
            self.touch(tick);
        }
    }

    /// Adds the checkpoint that replaces the state at a tick, once that is announced by [`Change::State`].
    pub(crate) fn set_replacement(&mut self, tick: Tick, checkpoint: Arc<[u8]>) {
        if tick < self.base || tick.since(self.base) >= MAX_TICKS {
            return;
        }
        if self.replacements.len() >= MAX_REPLACEMENTS {
            self.replacements.pop_first();
        }
        self.replacements.insert(tick, checkpoint);
    }

    /// Whether the state is replaced at a tick by one that has not arrived.
    pub(crate) fn lacks_replacement(&self, tick: Tick) -> bool {
        self.changes(tick).contains(&Change::State) && !self.replacements.contains_key(&tick)
    }

    /// The state is not replaced at a tick after all.
    pub(crate) fn cancel_replacement(&mut self, tick: Tick) {
        if let Some(changes) = self.changes.get_mut(&tick) {
            changes.retain(|change| *change != Change::State);
        }
    }

    /// The inputs of a tick with everything that belongs to it: its changes are applied to the players that are present.
    pub(crate) fn complete<'a>(
        &'a mut self,
        tick: Tick,
        present: &'a mut TickInputs,
    ) -> &'a TickInputs {
        self.apply_changes(tick, present);
        if self.changes(tick).contains(&Change::State) {
            let replacement = self.replacements.get(&tick).cloned();
            if let Some(inputs) = self.make(tick) {
                inputs.set_replacement(replacement);
            }
        }
        match self.inputs_mut(tick) {
            Some(inputs) => {
                inputs.share_attendance(present);
                inputs
            }
            None => present,
        }
    }

    /// The inputs of a tick, to be completed with the players that are present; `None` if there are none.
    fn inputs_mut(&mut self, tick: Tick) -> Option<&mut TickInputs> {
        if tick < self.base {
            return None;
        }
        self.ticks.get_mut(tick.since(self.base) as usize)
    }

    /// The inputs of a tick; `None` if there are none.
    pub(crate) fn inputs(&self, tick: Tick) -> Option<&TickInputs> {
        if tick < self.base {
            return None;
        }
        self.ticks.get(tick.since(self.base) as usize)
    }

    /// The changes at a tick.
    pub(crate) fn changes(&self, tick: Tick) -> &[Change] {
        self.changes.get(&tick).map_or(&[], Vec::as_slice)
    }

    /// The changes from a tick on.
    pub(crate) fn changes_from(&self, tick: Tick) -> impl Iterator<Item = (Tick, &Change)> {
        self.changes
            .range(tick..)
            .flat_map(|(tick, changes)| changes.iter().map(move |change| (*tick, change)))
    }

    /// Applies the changes of a tick to who takes part: first absences, then departures, then arrivals, in whatever order they came to be known.
    pub(crate) fn apply_changes(&self, tick: Tick, present: &mut TickInputs) {
        let changes = self.changes(tick);
        if changes.is_empty() {
            return;
        }
        let mut attendance = Attendance::clone(present.attendance());
        for change in changes {
            if let Change::Away(player) = change {
                attendance.lose(*player, tick);
            }
        }
        for change in changes {
            if let Change::Leave(player) = change {
                attendance.leave(*player);
            }
        }
        for change in changes {
            match change {
                Change::Join(player) => attendance.join(*player),
                Change::Source(_, theirs) => {
                    theirs.iter().for_each(|player| attendance.join(*player));
                }
                Change::Leave(_) | Change::Away(_) | Change::State => {}
            }
        }
        if attendance != **present.attendance() {
            present.set_attendance(&Arc::new(attendance));
        }
    }

    /// Forgets the inputs of some players from one tick to another.
    pub(crate) fn forget_between(&mut self, from: Tick, to: Tick, players: &[PlayerId]) {
        self.touch(from);
        let (skip, end) = (from.since(self.base), to.since(self.base));
        let ticks = self.ticks.iter_mut().take(end as usize);
        for inputs in ticks.skip(skip as usize) {
            if inputs
                .entries()
                .any(|(player, _)| players.contains(&player))
            {
                let mut rest = TickInputs::new();
                for (player, input) in inputs
                    .entries()
                    .filter(|(player, _)| !players.contains(player))
                {
                    rest.push(player, input);
                }
                *inputs = rest;
            }
        }
    }

    /// Forgets ticks before this one.
    pub(crate) fn forget_before(&mut self, tick: Tick) {
        while self.base < tick {
            if let Some(mut gone) = self.ticks.pop_front()
                && self.spare.len() < MAX_SPARE
            {
                gone.clear();
                self.spare.push(gone);
            }
            self.base = self.base.next();
        }
        while let Some(oldest) = self
            .changes
            .first_entry()
            .filter(|entry| *entry.key() < tick)
        {
            oldest.remove();
        }
        self.replacements.retain(|at, _| *at >= tick);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_kept_in_the_order_of_the_players() {
        let mut timeline = Timeline::default();
        timeline.begin(Tick(10));
        assert!(timeline.insert(Tick(12), PlayerId(3), b"c"));
        assert!(timeline.insert(Tick(12), PlayerId(1), b"aa"));
        assert!(timeline.insert(Tick(12), PlayerId(3), b"ccc"));
        assert!(!timeline.insert(Tick(9), PlayerId(1), b"late"));
        assert!(!timeline.insert(Tick(u64::MAX), PlayerId(1), b"far"));
        let entries: Vec<_> = timeline.inputs(Tick(12)).unwrap().entries().collect();
        assert_eq!(entries, [(PlayerId(1), &b"aa"[..]), (PlayerId(3), b"c")]);
        timeline.forget_before(Tick(13));
        assert!(timeline.inputs(Tick(12)).is_none());
        assert_eq!(timeline.base(), Tick(13));
    }

    #[test]
    fn a_change_that_comes_twice_counts_once() {
        let mut timeline = Timeline::default();
        let source = Change::Source(
            SourceId {
                peer: PeerId(1),
                incarnation: 1,
            },
            [PlayerId(4)].into(),
        );
        timeline.change(Tick(5), source.clone());
        timeline.change(Tick(5), source);
        timeline.change(Tick(6), Change::Leave(PlayerId(4)));
        let mut present = TickInputs::new();
        present.set_players(&[PlayerId(2)]);
        timeline.apply_changes(Tick(5), &mut present);
        assert_eq!(present.players(), [PlayerId(2), PlayerId(4)]);
        timeline.apply_changes(Tick(6), &mut present);
        assert_eq!(present.players(), [PlayerId(2)]);
        assert_eq!(timeline.changes_from(Tick(0)).count(), 2);
    }

    #[test]
    fn the_changes_of_a_tick_have_one_effect_in_any_order() {
        let changes = [
            Change::Away(PlayerId(1)),
            Change::Leave(PlayerId(1)),
            Change::Away(PlayerId(2)),
            Change::Leave(PlayerId(3)),
            Change::Join(PlayerId(3)),
        ];
        for turn in 0..changes.len() {
            let mut timeline = Timeline::default();
            let turned = changes.iter().cycle().skip(turn).take(changes.len());
            turned.for_each(|change| timeline.change(Tick(5), change.clone()));
            let mut present = TickInputs::new();
            present.set_players(&[1, 2, 3].map(PlayerId));
            timeline.apply_changes(Tick(5), &mut present);
            assert_eq!(present.players(), [PlayerId(3)]);
            assert_eq!(present.away(), [(PlayerId(2), Tick(5))]);
        }
    }
}
