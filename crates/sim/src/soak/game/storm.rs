//! Bad links, and what befalls the programs in it.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_session::Presence;
use samestep_sync::Tick;

use super::{Script, Settings};
use crate::NodeId;
use crate::check::{Breach, Promise};
use crate::soak::players::Disturbance;

/// Who was frozen may take that long to be with the others again.
const RECOVERS: Duration = Duration::from_secs(3);

/// Since when everyone shows the same tick.
#[derive(Debug)]
pub(super) struct Stalls {
    shown: BTreeMap<NodeId, (Tick, Duration)>,
    /// Who was frozen, or without its host, and is not counted until then.
    excused: BTreeMap<NodeId, Duration>,
    longest: Duration,
    most: Duration,
}

impl Stalls {
    fn new(most: Duration) -> Stalls {
        Stalls {
            shown: BTreeMap::new(),
            excused: BTreeMap::new(),
            longest: Duration::ZERO,
            most,
        }
    }
}

impl<S: Settings> Script<'_, S> {
    pub(super) fn storm(&mut self) -> Result<(), Breach> {
        let link = S::storm(&mut self.room.rng, self.room.severity);
        self.room.trace(|| format!("storm: {link}"));
        self.room.testbed.set_links(link.clone());
        let end = self.room.testbed.now() + Duration::from_secs(self.room.rng.range(4..12));
        let undisturbed = S::is_undisturbed(&mut self.room.rng);
        let longest = self
            .settings
            .longest_stall(&link, undisturbed, self.topology.is_mesh());
        self.stalls = longest.map(Stalls::new);
        while self.room.testbed.now() < end {
            self.run_for(Duration::from_millis(100))?;
            if !undisturbed && self.room.rng.chance(0.08) {
                self.disturb();
            }
        }
        if let Some(stalls) = &self.stalls {
            let text = if undisturbed {
                "nobody came or went, and"
            } else {
                ""
            };
            let text = format!("{text} the longest stall was {:?}", stalls.longest);
            self.room.trace(|| text);
        }
        Ok(())
    }

    /// Nobody stalls for longer than the settings allow.
    pub(super) fn watch_stalls(&mut self) -> Result<(), Breach> {
        let Some(mut stalls) = self.stalls.take() else {
            return Ok(());
        };
        let now = self.room.testbed.now();
        let sleeps = |node: NodeId| {
            let program = self.room.testbed.machine(node);
            program.is_some_and(|program| program.is_paused(self.room.testbed.local(node)))
        };
        // Without its host a room stalls, and those who come just then are not yet where it is.
        let without_host = !self.topology.is_mesh() && sleeps(NodeId(0));
        for program in &self.room.programs {
            if without_host || sleeps(program.node) {
                stalls.excused.insert(program.node, now + RECOVERS);
            }
        }
        let mut playing = self.room.playing();
        playing.retain(|node| !self.is_disowned(*node));
        let excused = |node: &NodeId| stalls.excused.get(node).is_some_and(|until| now < *until);
        let counted = |node: &NodeId| playing.contains(node) && !excused(node);
        stalls.shown.retain(|node, _| counted(node));
        for node in playing.iter().copied().filter(counted) {
            let Some(tick) = self.shown(node) else {
                continue;
            };
            let (shown, since) = stalls.shown.entry(node).or_insert((tick, now));
            if *shown != tick {
                (*shown, *since) = (tick, now);
            }
            let stood = now - *since;
            stalls.longest = stalls.longest.max(stood);
            if stood > stalls.most {
                let what = format!(
                    "{node:?} shows tick {tick} for {stood:?}: {}",
                    self.explain(node)
                );
                return Err(self.room.breach(Promise::GoesOn, what));
            }
        }
        self.stalls = Some(stalls);
        Ok(())
    }

    fn disturb(&mut self) {
        let (playing, mesh) = (self.room.playing(), self.topology.is_mesh());
        // A host that is gone takes its room with it.
        let may_go = playing.iter().copied().filter(|node| mesh || node.0 != 0);
        let may_go: Vec<NodeId> = may_go.collect();
        let one_may_go = playing.len() > 3 && (!mesh || self.is_settled());
        match self.room.disturb(&may_go, one_may_go, 300..4000) {
            Some(Disturbance::Join(who)) => self.join(who),
            Some(Disturbance::Kill(node)) => self.end(node),
            None => {}
        }
    }

    /// Whether everyone listed is there and awake: a mesh that loses one after the other keeps its majority, one that loses
    /// half of its members at once rightly stalls.
    fn is_settled(&self) -> bool {
        let playing = self.room.playing();
        playing.iter().all(|node| {
            self.room.testbed.machine(*node).is_some_and(|program| {
                let peers = program.game.session().room().peers();
                let all_there = peers.iter().all(|peer| peer.presence == Presence::InSync);
                all_there
                    && peers.len() == playing.len()
                    && !program.is_paused(self.room.testbed.local(*node))
            })
        })
    }
}
