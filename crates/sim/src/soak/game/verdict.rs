//! Whether everyone saw the same, and plays on.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_session::Presence;
use samestep_sync::{EventStage, Live, Playback, Replay, Tick, VerifyError};

use super::recorded::WorldRecord;
use super::test_game::TestGame;
use super::{Script, Settings, TickRecord, good_link};
use crate::NodeId;
use crate::check::{Breach, Promise};

/// How long members of a mesh take to know who is none any more.
const MEMBERS_KNOW: Duration = Duration::from_secs(12);

impl<S: Settings> Script<'_, S> {
    /// The network recovers; soon everyone plays on, together.
    pub(super) fn calm(&mut self) -> Result<(), Breach> {
        self.room.trace(|| "calm".into());
        self.room.testbed.set_links(good_link());
        self.run_for(Duration::from_secs(14))?;
        let ticks = |script: &Self| -> BTreeMap<NodeId, Tick> {
            let playing = script.room.playing().into_iter();
            playing
                .filter_map(|node| Some((node, script.shown(node)?)))
                .collect()
        };
        let before = ticks(self);
        self.run_for(Duration::from_secs(2))?;
        let after = ticks(self);
        let newest = after.values().max().copied().unwrap_or_default();
        for (node, tick) in &after {
            let Some(was) = before.get(node) else {
                continue;
            };
            if tick.since(*was) < 100 {
                return Err(self.room.breach(
                    Promise::GoesOn,
                    format!(
                        "{node:?} stands still at tick {tick}: {}",
                        self.explain(*node)
                    ),
                ));
            }
            if newest.since(*tick) > 45 {
                return Err(self.room.breach(
                    Promise::GoesOn,
                    format!(
                        "{node:?} is at tick {tick}, others at {newest}: {}",
                        self.explain(*node)
                    ),
                ));
            }
        }
        let running: Vec<NodeId> = self
            .room
            .programs
            .iter()
            .filter(|program| program.running)
            .map(|program| program.node)
            .collect();
        match running.iter().find(|node| !after.contains_key(node)) {
            Some(node) => Err(self.room.breach(
                Promise::GoesOn,
                format!("{node:?} does not take part: {}", self.explain(*node)),
            )),
            None => {
                // Everyone is a member now: all that was recorded counts.
                self.compare_all()
            }
        }
    }

    /// How things stand with everyone, a program first.
    pub(super) fn explain(&self, node: NodeId) -> String {
        let others = self.room.programs.iter().filter(|program| program.running);
        let others = others
            .map(|program| program.node)
            .filter(|other| *other != node);
        let mut description = String::new();
        for node in std::iter::once(node).chain(others) {
            if let Some(program) = self.room.testbed.machine(node) {
                let (session, model) = (program.game.session(), program.game.model());
                let me = session.me().map_or(u16::MAX, |peer| peer.0);
                let led_by = session.room().authority().0;
                let state = session.state();
                description += &format!(
                    "\n  {node:?}, peer {me} led by {led_by}, {state:?}: {}",
                    S::explain(model)
                );
            }
        }
        description
    }

    /// Changes one state by hand.
    pub(super) fn spoil_one(&mut self) -> Result<(), Breach> {
        let playing: Vec<NodeId> = self.room.playing();
        let watches = |node: &NodeId| {
            let mut programs = self.room.programs.iter();
            programs.any(|program| program.node == *node && program.notes.kind.watches())
        };
        // Two that differ are told apart by a third; who watches has no say.
        let players = playing.iter().filter(|node| !watches(node)).count();
        let may: Vec<NodeId> = playing
            .iter()
            .copied()
            .filter(|node| players > 2 || node.0 != 0)
            .collect();
        let Some(node) = self.room.pick(&may) else {
            return Ok(());
        };
        self.room.trace(|| format!("{node:?} is spoiled"));
        self.spoiled = Some((node, false));
        self.room
            .testbed
            .with(node, |_, program| program.game.world_mut().break_rules());
        self.run_for(Duration::from_secs(5))?;
        match self.spoiled {
            Some((_, true)) => {}
            _ => {
                return Err(self.room.breach(
                    Promise::SameState,
                    format!("the spoiled state of {node:?} was not found"),
                ));
            }
        }
        self.spoiled = None;
        self.run_for(Duration::from_secs(2))?;
        self.compare_all()
    }

    /// The tick that a program shows.
    pub(super) fn shown(&self, node: NodeId) -> Option<Tick> {
        Some(self.room.testbed.machine(node)?.game.status().tick)
    }

    /// Everyone's state at a tick is the same, and so are its events.
    ///
    /// A member of a mesh that the others have dropped, because it was silent, goes on for some ticks before it learns of that,
    /// and then gets the state of the others. So what members say counts a little later, if they are members then.
    pub(super) fn compare(&mut self) -> Result<(), Breach> {
        let now = self.room.testbed.now();
        let patience = match self.topology.is_mesh() && !self.all_is_well {
            true => MEMBERS_KNOW,
            false => Duration::ZERO,
        };
        for at in 0..self.room.programs.len() {
            self.collect(at)?;
            let node = self.room.programs[at].node;
            let disowned = self.topology.is_mesh() && self.is_disowned(node);
            if disowned || self.spoiled.is_some_and(|(spoiled, _)| spoiled == node) {
                self.room.programs[at].notes.disown(now);
            }
            let due = |(recorded_at, _): &(Duration, TickRecord)| now >= *recorded_at + patience;
            while self.room.programs[at]
                .notes
                .records
                .front()
                .is_some_and(due)
            {
                if let Some((_, record)) = self.room.programs[at].notes.records.pop_front() {
                    self.compare_record(node, record)?;
                }
            }
        }
        Ok(())
    }

    /// Everyone is a member now: all that was recorded counts.
    pub(super) fn compare_all(&mut self) -> Result<(), Breach> {
        self.all_is_well = true;
        self.compare()?;
        self.all_is_well = false;
        Ok(())
    }

    fn compare_record(&mut self, node: NodeId, record: TickRecord) -> Result<(), Breach> {
        let tick = record.tick;
        let (first, by) = *self.states.entry(tick).or_insert((record.checksum, node));
        if first != record.checksum {
            let description = self.explain(node);
            let what = format!("{node:?} differs from {by:?} at tick {tick}: {description}");
            return Err(self.room.breach(Promise::SameState, what));
        }
        let Some(events) = record.events else {
            return Ok(());
        };
        let (first, by) = self
            .events
            .entry(tick)
            .or_insert_with(|| (events.clone(), node));
        if *first != events {
            let what = format!("before tick {tick} {node:?} had {events:?}, {by:?} {first:?}");
            return Err(self.room.breach(Promise::Events, what));
        }
        Ok(())
    }

    /// Takes what a program recorded since the last time.
    pub(super) fn collect(&mut self, at: usize) -> Result<(), Breach> {
        let (now, node) = (self.room.testbed.now(), self.room.programs[at].node);
        let records = self
            .room
            .testbed
            .with(node, |_, program| program.game.world_mut().take_records());
        let program = &mut self.room.programs[at];
        let mut fresh: Vec<TickRecord> = Vec::new();
        for record in records.unwrap_or_default() {
            let checked = match record {
                WorldRecord::Settled(tick, checksum) => {
                    let events = Some(Vec::new());
                    fresh.push(TickRecord {
                        tick,
                        checksum,
                        events,
                    });
                    Ok(())
                }
                WorldRecord::Adopted(tick, checksum) => {
                    let settled = fresh.last().map(|record| record.tick);
                    let settled = settled.unwrap_or(program.notes.events.settled());
                    let counts = now > program.notes.disowned + MEMBERS_KNOW;
                    let events = None;
                    fresh.push(TickRecord {
                        tick,
                        checksum,
                        events,
                    });
                    match tick < settled && counts {
                        true => Err(format!(
                            "goes back to tick {tick}, and all before {settled} were final"
                        )),
                        false => program.notes.events.on_adopted(tick),
                    }
                }
                WorldRecord::Events(occurrences) => {
                    let settled = fresh.last().map(|record| record.tick);
                    let settled = settled.unwrap_or(program.notes.events.settled());
                    let checked = occurrences.iter().try_for_each(|occurrence| {
                        program.notes.events.on_occurrence(occurrence, settled)
                    });
                    for occurrence in occurrences
                        .into_iter()
                        .filter(|occurrence| occurrence.stage == EventStage::Confirmed)
                    {
                        let of = fresh
                            .iter_mut()
                            .rfind(|record| record.tick == occurrence.tick.next());
                        if let Some(TickRecord {
                            events: Some(events),
                            ..
                        }) = of
                        {
                            events.push(occurrence.event);
                        }
                    }
                    checked.and_then(|()| program.notes.events.on_settled(settled))
                }
            };
            checked.map_err(|what| Promise::Events.breach(now, format!("{node:?}: {what}")))?;
        }
        program
            .notes
            .records
            .extend(fresh.into_iter().map(|record| (now, record)));
        Ok(())
    }

    /// What somebody recorded leads to the same.
    pub(super) fn verify_recording(&self) -> Result<(), Breach> {
        let playing = self.room.playing();
        let Some(node) = playing.get(self.seed as usize % playing.len().max(1)) else {
            return Ok(());
        };
        let node = *node;
        let machine = self.room.testbed.machine(node);
        let recorder = machine.and_then(|program| program.game.world().live.recorder());
        let bytes = recorder
            .map(|recorder| recorder.bytes())
            .unwrap_or_default();
        let world = Live::without_recording(TestGame::new(0));
        let verified = Replay::parse(bytes)
            .map_err(|error| error.to_string())
            .and_then(|replay| {
                let playback = Playback::new(replay, world);
                let mut playback = playback.map_err(|error| error.to_string())?;
                match playback.verify() {
                    // A match that ended before the first check.
                    Ok(_) | Err(VerifyError::NothingCompared { .. }) => Ok(()),
                    Err(error) => Err(error.to_string()),
                }
            });
        match verified {
            Ok(()) => Ok(()),
            Err(error) => {
                let what = format!("what {node:?} recorded leads elsewhere: {error}");
                Err(self.room.breach(Promise::SameState, what))
            }
        }
    }

    /// Whether those who lead the room do not count a program among its members.
    pub(super) fn is_disowned(&self, node: NodeId) -> bool {
        let Some(me) = self
            .room
            .testbed
            .machine(node)
            .and_then(|program| program.game.session().me())
        else {
            return true;
        };
        let leads = |other: &NodeId| {
            let program = self.room.testbed.machine(*other);
            program.is_some_and(|program| program.game.session().is_authority())
        };
        let others = self
            .room
            .playing()
            .into_iter()
            .filter(|other| *other != node);
        others.filter(leads).any(|other| {
            let room = self
                .room
                .testbed
                .machine(other)
                .map(|program| program.game.session().room());
            let listed = room.and_then(|room| room.peer(me));
            listed.is_none_or(|peer| peer.presence != Presence::InSync)
        })
    }
}
