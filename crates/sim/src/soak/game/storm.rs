//! Bad links, and what befalls the programs in it.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_session::Presence;
use samestep_sync::Tick;

use super::{MOST, Script, Settings};
use crate::NodeId;
use crate::check::{Breach, Promise};

/// Who was frozen may take that long to be with the others again.
const RECOVERS: Duration = Duration::from_secs(3);

/// Since when everyone shows the same tick.
#[derive(Debug)]
pub(super) struct Stands {
    shown: BTreeMap<NodeId, (Tick, Duration)>,
    /// Who was frozen, or without its host, and is not counted until then.
    excused: BTreeMap<NodeId, Duration>,
    longest: Duration,
    most: Duration,
}

impl Stands {
    fn new(most: Duration) -> Stands {
        Stands {
            shown: BTreeMap::new(),
            excused: BTreeMap::new(),
            longest: Duration::ZERO,
            most,
        }
    }
}

impl<S: Settings> Script<'_, S> {
    pub(super) fn storm(&mut self) -> Result<(), Breach> {
        let link = S::storm(&mut self.rng, self.severity);
        self.trace(|| format!("storm: {link}"));
        self.testbed.set_links(link.clone());
        let end = self.testbed.now() + Duration::from_secs(self.rng.range(4..12));
        let undisturbed = S::is_undisturbed(&mut self.rng);
        let longest = self.settings.longest_stand(&link, undisturbed, self.mesh);
        self.stands = longest.map(Stands::new);
        while self.testbed.now() < end {
            self.run_for(Duration::from_millis(100))?;
            if !undisturbed && self.rng.chance(0.08) {
                self.disturb();
            }
        }
        if let Some(stands) = &self.stands {
            let words = if undisturbed {
                "nobody came or went, and"
            } else {
                ""
            };
            let words = format!("{words} the longest stand was {:?}", stands.longest);
            self.trace(|| words);
        }
        Ok(())
    }

    /// Nobody stands still for longer than the settings allow.
    pub(super) fn watch_stands(&mut self) -> Result<(), Breach> {
        let Some(mut stands) = self.stands.take() else {
            return Ok(());
        };
        let now = self.testbed.now();
        let sleeps = |node: NodeId| {
            let program = self.testbed.machine(node);
            program.is_some_and(|program| program.is_paused(self.testbed.local(node)))
        };
        // Without its host a room stands still, and those who come just then are not yet where it is.
        let without_host = !self.mesh && sleeps(NodeId(0));
        for program in &self.programs {
            if without_host || sleeps(program.node) {
                stands.excused.insert(program.node, now + RECOVERS);
            }
        }
        let mut playing = self.playing();
        playing.retain(|node| !self.is_disowned(*node));
        let excused = |node: &NodeId| stands.excused.get(node).is_some_and(|until| now < *until);
        let counted = |node: &NodeId| playing.contains(node) && !excused(node);
        stands.shown.retain(|node, _| counted(node));
        for node in playing.iter().copied().filter(counted) {
            let Some(tick) = self.shown(node) else {
                continue;
            };
            let (shown, since) = stands.shown.entry(node).or_insert((tick, now));
            if *shown != tick {
                (*shown, *since) = (tick, now);
            }
            let stood = now - *since;
            stands.longest = stands.longest.max(stood);
            if stood > stands.most {
                let what = format!(
                    "{node:?} shows tick {tick} for {stood:?}: {}",
                    self.words(node)
                );
                return Err(self.breach(Promise::GoesOn, what));
            }
        }
        self.stands = Some(stands);
        Ok(())
    }

    fn disturb(&mut self) {
        let playing = self.playing();
        // A host that is gone takes its room with it.
        let may_go: Vec<NodeId> = playing
            .iter()
            .copied()
            .filter(|node| self.mesh || node.0 != 0)
            .collect();
        let running = self
            .programs
            .iter()
            .filter(|program| program.running)
            .count();
        match self.rng.range(0..6) {
            0 if running < MOST => self.join(None),
            1 => {
                let gone: Vec<usize> = (0..self.programs.len())
                    .filter(|at| !self.programs[*at].running)
                    .collect();
                if let Some(at) = gone.get(self.rng.range(0..gone.len().max(1) as u64) as usize) {
                    self.join(Some(*at));
                }
            }
            2 | 3 if playing.len() > 3 && (!self.mesh || self.is_settled()) => {
                let Some(node) = self.pick(&may_go) else {
                    return;
                };
                let gracefully = self.rng.chance(0.5);
                self.trace(|| {
                    format!(
                        "{node:?} goes{}",
                        if gracefully { "" } else { " without a word" }
                    )
                });
                if gracefully {
                    self.testbed.with(node, |now, program| {
                        program.game.session_mut().leave(now, "bye")
                    });
                } else {
                    self.end(node);
                    self.testbed.kill(node);
                }
            }
            _ => {
                let Some(node) = self.pick(&playing) else {
                    return;
                };
                let sleep = Duration::from_millis(self.rng.range(300..4000));
                self.trace(|| format!("{node:?} is frozen for {sleep:?}"));
                self.testbed
                    .with(node, |now, program| program.pause_until(now + sleep));
            }
        }
    }

    /// Whether everyone listed is there and awake: a mesh that loses one after the other keeps its majority, one that loses
    /// half of its members at once rightly stands still.
    fn is_settled(&self) -> bool {
        let playing = self.playing();
        playing.iter().all(|node| {
            self.testbed.machine(*node).is_some_and(|program| {
                let peers = program.game.session().room().peers();
                let all_there = peers.iter().all(|peer| peer.presence == Presence::InSync);
                all_there
                    && peers.len() == playing.len()
                    && !program.is_paused(self.testbed.local(*node))
            })
        })
    }
}
