//! Short tries that overlap: many in a simulated minute, and yet each player acts no more often than in a fight.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use samestep_sim::NodeId;
use samestep_sync::{EventStage, Simulation, Tick};

use super::{DelayRoom, Seen};
use crate::testmatch::TICK;

/// Tries that go on at the same time, each in a lane of its own, and each a tenth of its length later than the one before: four begin in a second.
pub const LANES: usize = 10;
/// How long a try takes.
pub const LENGTH: Duration = Duration::from_millis(2500);
/// Ticks of a try.
const TRY_TICKS: u64 = LENGTH.as_millis() as u64 * 60 / 1000;
/// How long the programs play before anything counts.
const SETTLING: Duration = Duration::from_secs(10);
/// Tries that are not judged yet: those that go on, and a few whose verdict may still be corrected.
const OPEN: usize = LANES + 4;

/// The first tick of a try.
pub fn first_tick(which: u64) -> Tick {
    let lanes = LANES as u64;
    Tick(which / lanes * TRY_TICKS + which % lanes * (TRY_TICKS / lanes))
}

/// The try that begins in a lane at a tick, if one does.
pub fn beginning(tick: Tick, lane: usize) -> Option<u64> {
    let since = tick.0.checked_sub(first_tick(lane as u64).0)?;
    let begins = since.is_multiple_of(TRY_TICKS);
    begins.then(|| since / TRY_TICKS * LANES as u64 + lane as u64)
}

/// The lane of a try.
pub fn lane_of(which: u64) -> usize {
    (which % LANES as u64) as usize
}

/// What a program holds of a try. Times are true ones, in s.
#[derive(Clone, Copy, Debug)]
pub struct Held<V> {
    /// The verdict when its tick was simulated for the first time.
    first: Option<V>,
    /// When the program had a verdict for the first time.
    judged: Option<f64>,
    /// The verdict now, and since when.
    verdict: Option<(V, f64)>,
}

impl<V> Default for Held<V> {
    fn default() -> Self {
        Held {
            first: None,
            judged: None,
            verdict: None,
        }
    }
}

impl<V: Copy + PartialEq> Held<V> {
    /// The program shows an event that is a verdict.
    pub fn on<E>(&mut self, at: f64, seen: &Seen<E>, verdict: V) {
        let is_held = self.verdict.is_some_and(|(held, _)| held == verdict);
        if seen.stage == EventStage::Cancelled {
            self.verdict = self.verdict.filter(|_| !is_held);
            return;
        }
        if !is_held {
            self.verdict = Some((verdict, at));
        }
        if self.judged.is_none() {
            self.judged = Some(at);
            self.first = seen.is_first.then_some(verdict);
        }
    }

    /// The verdict of the program when it simulated the deciding tick for the first time; none if it learnt of it later.
    pub fn first(&self) -> Option<V> {
        self.first
    }
}

/// How two programs stand to each other about a try that is over.
#[derive(Clone, Copy, Debug)]
pub struct Judged<V> {
    /// What both hold in the end.
    pub verdict: V,
    /// Whether both held it at once.
    pub agreed: bool,
    /// From the first verdict of either to both holding the same, in ms.
    pub settled_ms: f64,
}

impl<V: Copy + PartialEq> Judged<V> {
    /// `None` if either has no verdict, or another.
    pub fn of(held: [&Held<V>; 2]) -> Option<Judged<V>> {
        let [(a, a_since), (b, b_since)] = [held[0].verdict?, held[1].verdict?];
        let [first, second] = [held[0].judged?, held[1].judged?];
        (a == b).then(|| Judged {
            verdict: a,
            agreed: held[0].first.is_some() && held[0].first == held[1].first,
            settled_ms: (a_since.max(b_since) - first.min(second)) * 1e3,
        })
    }
}

/// The tries in a room of two.
pub struct Tries<G: Simulation, S, T> {
    /// The room.
    pub room: DelayRoom<G, S>,
    /// The key of a player, in a lane.
    key: fn(NodeId, usize) -> G::Input,
    /// Keys that will be pressed: when, whose, and in which try.
    keys: BinaryHeap<Reverse<(Duration, NodeId, u64)>>,
    /// Tries that are not judged yet, the first of which has this number.
    open: VecDeque<T>,
    first: u64,
    next: u64,
    /// Keys that were pressed since last asked.
    pressed: Vec<(f64, NodeId, u64)>,
    /// When the first began, and what both had sent until then.
    began: Duration,
    sent: u64,
}

impl<G: Simulation + Clone + 'static, S: 'static, T: Default> Tries<G, S, T> {
    /// Lets the room settle.
    pub fn new(
        mut room: DelayRoom<G, S>,
        key: fn(NodeId, usize) -> G::Input,
    ) -> Result<Tries<G, S, T>, String> {
        room.run_until(room.now() + SETTLING)?;
        let reached = room.program(NodeId(0)).status().tick;
        let first = (0..).find(|which| first_tick(*which) > reached);
        let first = first.expect("numbers do not end") + 1;
        let mut tries = Tries {
            began: room.now(),
            room,
            key,
            keys: BinaryHeap::new(),
            open: VecDeque::new(),
            first,
            next: first,
            pressed: Vec::new(),
            sent: 0,
        };
        tries.sent = tries.sent();
        Ok(tries)
    }

    /// Lets time pass until the next try begins. `keys` says when its keys are pressed, by its number and from its beginning. Returns the try that
    /// is to be judged now.
    pub fn begin(
        &mut self,
        keys: impl FnOnce(u64) -> [(Duration, NodeId); 2],
        mut look: impl FnMut(&mut Self),
    ) -> Result<Option<T>, String> {
        let which = self.next;
        self.next += 1;
        let samples = self.room.watch(NodeId(0)).samples();
        let last = samples.last().ok_or("the game has not begun")?;
        let ahead = (first_tick(which).0 + 1).saturating_sub(last.tick.0);
        let due = self.room.world_time(NodeId(0), last.at);
        let due = Duration::from_secs_f64(due) + TICK * ahead as u32;
        self.press_until(due)?;
        look(self);
        for (after, node) in keys(which) {
            self.keys.push(Reverse((due + after, node, which)));
        }
        self.open.push_back(T::default());
        Ok(match self.open.len() > OPEN {
            true => self.close(),
            false => None,
        })
    }

    /// Lets the tries that go on come to their end.
    pub fn finish(&mut self) -> Result<(), String> {
        self.press_until(self.room.now() + LENGTH + Duration::from_secs(1))
    }

    /// The oldest try that is not judged yet.
    pub fn close(&mut self) -> Option<T> {
        let it = self.open.pop_front()?;
        self.first += 1;
        Some(it)
    }

    /// The keys that a player has pressed since last asked: when, in s, and in which try. Those of others are forgotten.
    pub fn take_pressed(&mut self, node: NodeId) -> Vec<(f64, u64)> {
        let pressed = core::mem::take(&mut self.pressed).into_iter();
        let own = pressed.filter(|(_, of, _)| *of == node);
        own.map(|(at, _, which)| (at, which)).collect()
    }

    /// A try that is not judged yet.
    pub fn of(&mut self, which: u64) -> Option<&mut T> {
        let at = which.checked_sub(self.first)?;
        self.open.get_mut(at as usize)
    }

    /// Lets time pass until then; keys are pressed when they are due.
    fn press_until(&mut self, until: Duration) -> Result<(), String> {
        while let Some(Reverse((at, node, which))) = self.keys.peek().copied()
            && at <= until
        {
            self.keys.pop();
            self.room.run_until(at)?;
            self.room.give(node, &(self.key)(node, lane_of(which)))?;
            self.pressed
                .push((self.room.now().as_secs_f64(), node, which));
        }
        self.room.run_until(until)
    }

    /// What each has sent to the other since the first try, in bytes, and the time since then, in s.
    pub fn traffic(&self) -> (u64, f64) {
        let time = self.room.now() - self.began;
        ((self.sent() - self.sent) / 2, time.as_secs_f64())
    }

    fn sent(&self) -> u64 {
        let nodes = self.room.nodes();
        nodes.map(|node| self.room.sent(node).1).sum()
    }
}
