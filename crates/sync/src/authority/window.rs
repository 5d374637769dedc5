//! The update window (server rewind): the authority keeps the ticks of the last moments open, places late inputs where they belong, and recomputes.
//!
//! A tick is open from when it is simulated until the tick is due that follows it by the length of the window: what was decided in it takes effect
//! there, so it must be final. The states before all open ticks are saved, so
//! recomputing begins with the first tick that changed, and nothing is recomputed if nothing changed. A tick that leaves the window is confirmed:
//! its inputs are final, and its events are told.
//!
//! Rewinding the server to the time of an action: Yahn W. Bernier 2001 for shots; here it is done for every input, by recomputing.

use core::time::Duration;
use std::collections::VecDeque;

use super::context::Context;
use crate::{PeerId, PlayerId, Tick, TickInputs, UpdateWindow, WindowLength, World};

/// For how long the lateness of inputs counts.
const COUNTS: Duration = Duration::from_secs(2);
/// Ticks that a window which follows the players is longer than the lateness seen.
const SPARE_TICKS: u64 = 2;

/// How an authority rewinds.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RewindSettings {
    pub length: WindowLength,
    pub lead: bool,
    pub client_window: bool,
}

/// Counts what an authority has recomputed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RewindStats {
    /// Inputs that came late and were placed in the tick they belong to.
    pub late: u64,
    /// Late inputs that changed nothing, so that nothing was recomputed for them.
    pub unchanged: u64,
    /// Inputs that were older than the window, and refused.
    pub refused: u64,
    /// Late inputs that changed a tick whose result clients had been told already.
    pub after_told: u64,
    /// How often ticks were recomputed.
    pub rewinds: u64,
    /// Ticks recomputed.
    pub recomputed: u64,
    /// The most ticks that were recomputed at once.
    pub deepest: u64,
    /// Ticks that a scheme which recomputes the whole window in every tick would have recomputed.
    pub whole_windows: u64,
}

/// What became of a late input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Placed {
    /// It is in its own tick, or in the first after it that was free: this one.
    InWindow(Tick),
    /// All open ticks from its own on have an input of this player: it waits for the next.
    Next,
    /// Its tick has left the window.
    TooOld,
}

/// A tick that may still change.
#[derive(Debug, Default)]
struct OpenTick {
    inputs: TickInputs,
    /// What the players held before it.
    held: TickInputs,
    /// Its events for each client: how many, and their bytes.
    events: Vec<(PeerId, usize, Vec<u8>)>,
}

/// The open ticks of an authority.
#[derive(Debug)]
pub(super) struct Window {
    settings: RewindSettings,
    ticks: VecDeque<OpenTick>,
    spare: Vec<OpenTick>,
    /// The first open tick.
    first: Tick,
    /// The first tick that has to be recomputed.
    changed: Option<Tick>,
    /// The present length.
    length: u64,
    lateness: Lateness,
    pub stats: RewindStats,
}

impl Window {
    /// A window whose first tick comes next.
    pub(super) fn new(settings: RewindSettings, next: Tick) -> Window {
        Window {
            settings,
            ticks: VecDeque::new(),
            spare: Vec::new(),
            first: next,
            changed: None,
            length: 0,
            lateness: Lateness::default(),
            stats: RewindStats::default(),
        }
    }

    /// The first tick that may still change.
    pub(super) fn first(&self) -> Tick {
        self.first
    }

    /// The first tick that was not simulated yet.
    fn next(&self) -> Tick {
        self.first + self.ticks.len() as u64
    }

    /// For how many ticks inputs are accepted.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The tick whose state clients are told, a multiple of `every`: the newest whose inputs have all been received, if the window is open so far
    /// back. None if there is no such tick. `reached` is the tick before which the inputs of all clients are known.
    pub(super) fn told(&self, reached: Tick, every: u64) -> Option<Tick> {
        let newest = match self.settings.client_window {
            true => reached.clamp(self.first, self.next()),
            false => self.next(),
        };
        let before = Tick(newest.0 - newest.0 % every);
        let told = if before < self.first {
            before + every
        } else {
            before
        };
        (told <= self.next()).then_some(told)
    }

    /// An input arrived so many ticks after the tick it was made in.
    pub(super) fn on_late(&mut self, now: Duration, ticks: u64) {
        self.lateness.on_late(now, ticks);
    }

    /// Sets the length for the tick that is simulated next. A window grows at once, and shrinks by a tick at a time, so that no tick is confirmed before
    /// an earlier one.
    pub(super) fn set_length(&mut self, now: Duration, context: &Context) -> UpdateWindow {
        self.lateness.pass(now);
        let most = self.settings.length.in_ticks(context.tick_time);
        let wanted = match self.settings.length {
            WindowLength::Fixed(_) => most,
            WindowLength::Following { .. } => (self.lateness.ticks() + SPARE_TICKS).min(most),
        };
        self.length = wanted.max(self.length.saturating_sub(1));
        UpdateWindow {
            ticks: self.length as u16,
            predicting: false,
        }
    }

    /// Places a late input of a player. `is_command`: it has a tick of its own, and counts in the first open one that clients were not told of if its
    /// own is not open any more.
    ///
    /// Where clients are told of ticks that all have spoken for, such a tick is not open any more: whoever has an input for it after all said that it had
    /// none.
    pub(super) fn place(
        &mut self,
        player: PlayerId,
        tick: Tick,
        input: &[u8],
        is_command: bool,
        told: Option<Tick>,
    ) -> Placed {
        if self.length == 0 {
            return Placed::Next;
        }
        let mut at = tick.since(self.first) as usize;
        let spoken_for = told.filter(|_| self.settings.client_window);
        if tick < self.first || spoken_for.is_some_and(|told| tick < told) {
            if !is_command {
                self.stats.refused += 1;
                return Placed::TooOld;
            }
            at = told.map_or(0, |told| told.since(self.first)) as usize;
        }
        // Nor does it count in a tick in which its player does not take part.
        let cannot = |open: &OpenTick| {
            let takes_part = open.inputs.attendance().players.contains(&player);
            !takes_part || open.inputs.entries().any(|(of, _)| of == player)
        };
        while self.ticks.get(at).is_some_and(cannot) {
            at += 1;
        }
        if at >= self.ticks.len() {
            return Placed::Next;
        }
        self.stats.late += 1;
        let tick = self.first + at as u64;
        if !is_command && self.is_held_after(at, player, input) {
            self.stats.unchanged += 1;
            return Placed::InWindow(tick);
        }
        self.ticks[at].inputs.insert(player, input);
        self.stats.after_told += u64::from(told.is_some_and(|told| tick < told));
        self.changed = Some(self.changed.map_or(tick, |changed| changed.min(tick)));
        Placed::InWindow(tick)
    }

    /// Whether a player is known to have done just this in an open tick: then the input changes nothing. Of ticks that are to be simulated again, and
    /// of the newest, nothing is known.
    fn is_held_after(&self, at: usize, player: PlayerId, input: &[u8]) -> bool {
        let after = self.ticks.get(at + 1).filter(|_| self.changed.is_none());
        after.is_some_and(|after| after.held.entries().any(|held| held == (player, input)))
    }

    /// Opens the tick that is simulated next, with these inputs.
    pub(super) fn open(&mut self, inputs: &TickInputs) {
        let mut open = self.spare.pop().unwrap_or_default();
        open.inputs.clone_from(inputs);
        self.ticks.push_back(open);
        self.stats.whole_windows += self.length;
    }

    /// The first tick that has to be simulated again, if late inputs have changed any.
    pub(super) fn take_changed(&mut self) -> Option<Tick> {
        let changed = self.changed.take()?;
        self.stats.rewinds += 1;
        let ticks = self.next().since(changed);
        self.stats.recomputed += ticks;
        self.stats.deepest = self.stats.deepest.max(ticks);
        Some(changed)
    }

    /// Simulates an open tick, after keeping the state before it. `tell` writes its events.
    pub(super) fn step(
        &mut self,
        tick: Tick,
        world: &mut dyn World,
        tell: impl FnOnce(&mut dyn World, &mut Vec<(PeerId, usize, Vec<u8>)>),
    ) {
        let at = tick.since(self.first) as usize;
        let Some(open) = self.ticks.get_mut(at) else {
            return;
        };
        world.save(tick);
        world.scene().held_inputs(&mut open.held);
        world.step(tick, &open.inputs);
        open.events.clear();
        tell(world, &mut open.events);
    }

    /// Confirms the first open tick if it has left the window, or in any case: hands over its events.
    pub(super) fn confirm_first(
        &mut self,
        in_any_case: bool,
        world: &mut dyn World,
        mut tell: impl FnMut(PeerId, Tick, usize, Vec<u8>),
    ) -> bool {
        let Some(open) = self.ticks.front() else {
            return false;
        };
        let stays_open = u64::from(open.inputs.window().ticks);
        if !in_any_case && self.next().since(self.first) < stays_open {
            return false;
        }
        let Some(mut open) = self.ticks.pop_front() else {
            return false;
        };
        let tick = self.first;
        for (peer, count, bytes) in open.events.drain(..) {
            if count > 0 {
                tell(peer, tick, count, bytes);
            }
        }
        let second = u64::from(world.ticks_per_second().max(1));
        if tick.0.is_multiple_of(second)
            && let Some(checksum) = world.checksum_at(tick)
        {
            world.record_checksum(tick, checksum);
        }
        world.confirm(tick, &open.inputs);
        world.release(tick);
        self.first = tick.next();
        open.inputs.clear();
        self.spare.push(open);
        true
    }

    /// What the players held before an open tick.
    pub(super) fn held_before(&self, tick: Tick) -> Option<&TickInputs> {
        let at = tick.0.checked_sub(self.first.0)?;
        self.ticks.get(at as usize).map(|open| &open.held)
    }
}

/// How late inputs come, at most, in the last seconds.
#[derive(Debug, Default)]
struct Lateness {
    /// The maximum in this while and in the one before, in ticks.
    most: [u64; 2],
    ends: Duration,
}

impl Lateness {
    fn pass(&mut self, now: Duration) {
        if now >= self.ends {
            self.ends = now + COUNTS;
            self.most = [0, self.most[0]];
        }
    }

    fn on_late(&mut self, now: Duration, ticks: u64) {
        self.pass(now);
        self.most[0] = self.most[0].max(ticks);
    }

    fn ticks(&self) -> u64 {
        self.most[0].max(self.most[1])
    }
}
