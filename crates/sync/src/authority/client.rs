//! The authority's record of one client: its inputs, its events, its budget.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use super::message::{EarlyEvent, EventBatch, InputEntry, RewindReport, TickEvents};
use super::window::Placed;
use crate::standby::InputLedger;
use crate::{InputKind, Member, PlayerId, Tick, ViewTime, World};

/// The maximum number of a player's inputs that wait.
pub(super) const MAX_WAITING: usize = 128;
/// Inputs for ticks farther ahead than this are refused: nobody needs to be so early.
const MAX_AHEAD: u64 = 240;
/// Bytes of events that go with one update, and those that may wait.
const EVENT_BYTES: usize = 400;
const MAX_EVENT_TICKS: usize = 8192;
/// Bytes of a packet that are not its message: addresses, numbers, acknowledgements, the seal.
const PACKET_BYTES: usize = 80;

/// For how long a client is told that an input came too late, and how many such inputs it is told of.
const TELL_REFUSED: Duration = Duration::from_secs(1);
const MAX_REFUSED: usize = 64;

/// By how many ticks what is drawn somewhere may be off from one moment to another, for inputs wait for a tick to begin, and by how much faster or slower it may run.
const UNEVEN: f64 = 1.5;
const UNEVEN_SPEED: f64 = 0.05;
/// Bytes that may come at once where a budget is set, in a packet or so.
const BURST: u64 = 1500;
/// Bytes for which it is worth to send a packet.
const WORTH: usize = 200;

/// The bytes that a snapshot may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Budget {
    /// The whole snapshot fits.
    Unlimited,
    /// So many bytes.
    Bytes(usize),
    /// Nothing yet: the allowance is not worth a packet.
    Wait,
}

/// An input and the tick it is due in.
#[derive(Clone, Debug)]
pub(super) struct Due {
    pub tick: Tick,
    /// Its number among the client's inputs; of several that were merged, the last one's.
    pub number: u64,
    pub input: Vec<u8>,
    pub view_time: Option<ViewTime>,
    pub kind: InputKind,
}

/// A player's inputs in the order they were given.
#[derive(Debug, Default)]
pub(super) struct Queue(VecDeque<Due>);

impl Queue {
    /// False if too much waits already.
    pub(super) fn push(&mut self, due: Due) -> bool {
        if self.0.len() >= MAX_WAITING {
            return false;
        }
        self.0.push_back(due);
        true
    }

    /// The inputs that wait.
    pub(super) fn into_inputs(self) -> impl Iterator<Item = Due> {
        self.0.into_iter()
    }

    /// The input of a tick. Controls that came too late for their own tick are merged into it, or wait for the next if they cannot be; a command
    /// has a tick of its own.
    pub(super) fn take(&mut self, tick: Tick, world: &mut dyn World) -> Option<Due> {
        let is_due = |due: &Due| due.tick <= tick;
        self.0.front().filter(|due| is_due(due))?;
        let mut taken = self.0.pop_front()?;
        let may_merge = |due: &Due| due.kind == InputKind::Controls;
        while let Some(next) = self.0.front().filter(|due| is_due(due))
            && may_merge(&taken)
            && may_merge(next)
        {
            let Some(both) = world.merge(&taken.input, &next.input) else {
                break;
            };
            let next = self.0.pop_front();
            taken = Due {
                tick,
                number: next.as_ref().map_or(taken.number, |next| next.number),
                input: both,
                view_time: next.and_then(|next| next.view_time).or(taken.view_time),
                kind: taken.kind,
            };
        }
        Some(taken)
    }
}

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    pub epoch: u8,
    pub incarnation: u64,
    pub players: Vec<PlayerId>,
    pub watches: bool,
    /// The round trip as measured here.
    pub round_trip: Duration,
    pub loss: u8,
    /// Numbers of the parts of the whole state that it was sent, until it has acknowledged them.
    pub given: Option<(u32, u32)>,
    pub queues: BTreeMap<PlayerId, Queue>,
    /// Inputs before this number have been received.
    pub acknowledged: u64,
    /// Which of them are in which tick.
    pub ledger: InputLedger,
    /// All its inputs for the ticks before this one have been received.
    pub reached: Tick,
    /// The minimum time in µs by which its inputs were early since the last report to it, and the tick they were for.
    pub slack: Option<(Tick, i64)>,
    /// Events it has not acknowledged, and the tick they begin at.
    events: VecDeque<(Tick, usize, Vec<u8>)>,
    pub events_since: Tick,
    /// Events confirmed before their ticks are final that it has not acknowledged, numbered consecutively, and the number of the first.
    early: VecDeque<(Tick, Vec<u8>)>,
    early_first: u64,
    /// The numbers of inputs that were too old for the update window, and when they came.
    refused: VecDeque<(Duration, u64)>,
    /// How far in the past others were drawn there when it did something last, in ticks, and when that was.
    drawn: Option<(Tick, f64)>,
    /// Bytes a second, as its connection estimates.
    pub rate: Option<u64>,
    /// Bytes that may be sent now.
    allowance: i64,
    /// Bytes of the last snapshot that had no limit.
    unlimited: usize,
}

impl Client {
    pub(super) fn new(member: &Member, epoch: u8, tick: Tick) -> Client {
        Client {
            epoch,
            incarnation: member.incarnation,
            players: member.players.clone(),
            watches: member.watches,
            round_trip: member.latency * 2,
            loss: member.loss,
            given: None,
            queues: BTreeMap::new(),
            acknowledged: 0,
            ledger: InputLedger::new(epoch),
            reached: tick,
            slack: None,
            events: VecDeque::new(),
            events_since: tick,
            early: VecDeque::new(),
            early_first: 0,
            refused: VecDeque::new(),
            drawn: None,
            rate: None,
            allowance: 0,
            unlimited: 0,
        }
    }

    /// Queues its inputs; `next` is the tick that is simulated next. `place` may take one that is late into the update window. Returns how many were
    /// refused.
    pub(super) fn handle_inputs(
        &mut self,
        now: Duration,
        next: Tick,
        first: u64,
        entries: &[InputEntry<'_>],
        mut place: impl FnMut(&InputEntry<'_>) -> Placed,
    ) -> u64 {
        let mut refused = 0;
        for (at, entry) in entries.iter().enumerate() {
            let number = first.saturating_add(at as u64);
            if number != self.acknowledged {
                refused += u64::from(number > self.acknowledged);
                continue;
            }
            self.acknowledged += 1;
            let is_own = self.players.contains(&entry.player);
            let is_soon = entry.tick.0 <= next.0 + MAX_AHEAD;
            if is_own && entry.tick < next {
                match place(entry) {
                    Placed::InWindow(tick) => {
                        self.ledger.on_received(number, entry.player, Some(tick));
                        continue;
                    }
                    Placed::Next => {}
                    Placed::TooOld => {
                        self.ledger.on_refused(number);
                        self.on_too_old(now, number);
                        refused += 1;
                        continue;
                    }
                }
            }
            let due = Due {
                tick: entry.tick,
                number,
                input: entry.input.to_vec(),
                view_time: entry.view_time,
                kind: entry.kind,
            };
            let queued =
                is_own && is_soon && self.queues.entry(entry.player).or_default().push(due);
            match queued {
                true => self.ledger.on_received(number, entry.player, None),
                false => self.ledger.on_refused(number),
            }
            refused += u64::from(!queued);
        }
        refused
    }

    fn on_too_old(&mut self, now: Duration, number: u64) {
        tracing::debug!(number, "input refused: its tick has left the update window");
        if self.refused.len() == MAX_REFUSED {
            self.refused.pop_front();
        }
        self.refused.push_back((now, number));
    }

    /// Queues an event that is confirmed before its tick is final.
    pub(super) fn on_early_event(&mut self, tick: Tick, bytes: Vec<u8>) {
        if tick < self.events_since {
            return;
        }
        if self.early.len() == MAX_EVENT_TICKS {
            self.early.pop_front();
            self.early_first += 1;
        }
        self.early.push_back((tick, bytes));
    }

    /// It has received the early events before a number.
    pub(super) fn on_early_acknowledged(&mut self, before: u64) {
        let sent = self.early_first + self.early.len() as u64;
        while self.early_first < before.min(sent) {
            self.early.pop_front();
            self.early_first += 1;
        }
    }

    /// Forgets refused inputs that it has been told of for long enough.
    pub(super) fn forget_refused(&mut self, now: Duration) {
        let is_over = |(at, _): &(Duration, u64)| *at + TELL_REFUSED < now;
        while self.refused.front().is_some_and(is_over) {
            self.refused.pop_front();
        }
    }

    /// What it is told of the update window, and the first tick with early events that do not fit.
    pub(super) fn rewind_report(&self, window: u64) -> (RewindReport<'_>, Option<Tick>) {
        let (mut bytes, mut early, mut left) = (0, Vec::new(), None);
        for (tick, event) in &self.early {
            if bytes > 0 && bytes + event.len() > EVENT_BYTES {
                left = self.early.iter().skip(early.len()).map(|left| left.0).min();
                break;
            }
            bytes += event.len() + 3;
            early.push(EarlyEvent {
                tick: *tick,
                bytes: event,
            });
        }
        let report = RewindReport {
            window: window as u16,
            refused: self.refused.iter().map(|(_, number)| *number).collect(),
            first: self.early_first,
            early,
        };
        (report, left)
    }

    /// Inputs for a tick arrived this much before it was due.
    pub(super) fn on_slack(&mut self, tick: Tick, us: i64) {
        if self.slack.is_none_or(|(_, least)| us < least) {
            self.slack = Some((tick, us));
        }
    }

    /// Whether its view time is consistent with earlier ones: the time that is drawn moves on evenly, so a client whose claims jump back and forth is
    /// lying.
    pub(super) fn may_see(&mut self, tick: Tick, view_time: &ViewTime) -> bool {
        let between = view_time.after.since(view_time.before) as f64
            * f64::from(view_time.fraction)
            / 65_536.0;
        let late = tick.since(view_time.before) as f64 - between;
        let Some((before, was_late)) = self.drawn else {
            self.drawn = Some((tick, late));
            return true;
        };
        let may_differ = UNEVEN + UNEVEN_SPEED * tick.since(before) as f64;
        let differs = late - was_late;
        let drawn = was_late + differs.clamp(-may_differ, may_differ);
        self.drawn = Some((tick, drawn));
        differs.abs() <= may_differ
    }

    /// Queues the events of a tick that it may know of.
    pub(super) fn on_events(&mut self, tick: Tick, count: usize, bytes: Vec<u8>) {
        // A tick in the update window may be older than the state that it was given to begin with.
        if tick < self.events_since {
            return;
        }
        if self.events.len() == MAX_EVENT_TICKS {
            self.events.pop_front();
        }
        self.events.push_back((tick, count, bytes));
    }

    /// It has received the events before a tick.
    pub(super) fn on_events_acknowledged(&mut self, before: Tick, next: Tick) {
        if before <= self.events_since || before > next {
            return;
        }
        self.events_since = before;
        while self.events.front().is_some_and(|(tick, ..)| *tick < before) {
            self.events.pop_front();
        }
    }

    /// Events before a tick, as many as fit.
    pub(super) fn events(&self, before: Tick) -> EventBatch<'_> {
        self.events_within(before, EVENT_BYTES)
    }

    /// All events before a tick.
    pub(super) fn all_events(&self, before: Tick) -> EventBatch<'_> {
        self.events_within(before, usize::MAX)
    }

    fn events_within(&self, before: Tick, most_bytes: usize) -> EventBatch<'_> {
        let (mut entries, mut bytes, mut upto) = (Vec::new(), 0, before);
        for (tick, count, tick_events) in &self.events {
            if *tick >= before {
                break;
            }
            if bytes > 0 && bytes + tick_events.len() > most_bytes {
                upto = *tick;
                break;
            }
            bytes += tick_events.len() + 4;
            entries.push(TickEvents {
                tick: *tick,
                count: *count,
                bytes: tick_events,
            });
        }
        EventBatch {
            since: self.events_since,
            upto: upto.max(self.events_since),
            entries,
        }
    }

    /// The budget of the next snapshot, `passed` after the last.
    pub(super) fn budget(&mut self, budget: Option<u32>, passed: Duration) -> Budget {
        let set = budget.map(|bits| u64::from(bits) / 8);
        // A bucket that is full at the beginning of a second may be emptied in it beside what flows in: so that both fit, less flows in. Something
        // is left for what the session says.
        let burst = set.map_or(BURST, |set| BURST.min(set / 4));
        let set = set.map(|set| set - set / 16 - burst);
        let rate = match (set, self.rate) {
            (Some(set), Some(rate)) => set.min(rate),
            (Some(rate), None) | (None, Some(rate)) => rate,
            (None, None) => return Budget::Unlimited,
        };
        let more = (u128::from(rate) * passed.as_micros() / 1_000_000) as i64;
        self.allowance = (self.allowance + more).min(more.max(burst as i64));
        if set.is_none() && self.allowance > 2 * self.unlimited as i64 + 4096 {
            return Budget::Unlimited;
        }
        let allowance = usize::try_from(self.allowance).unwrap_or(0);
        let packets = allowance / (1100 + PACKET_BYTES) + 1;
        match allowance.checked_sub(packets * PACKET_BYTES) {
            Some(bytes) if bytes >= WORTH.min(burst as usize / 2) => Budget::Bytes(bytes),
            _ => Budget::Wait,
        }
    }

    /// Messages of so many bytes were sent to it.
    pub(super) fn on_sent(&mut self, messages: usize, bytes: usize, had_limit: bool) {
        self.allowance -= (bytes + messages * PACKET_BYTES) as i64;
        if !had_limit {
            self.unlimited = bytes;
        }
    }
}
