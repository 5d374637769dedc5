//! Programs in virtual time: addresses, a network that loses, repeats, reorders and cuts, and a game that counts what it is shown.

use core::cmp::Reverse;
use core::time::Duration;
use std::collections::{BTreeMap, BinaryHeap};

use samestep_session::agreement::{
    Agreement, AgreementConfig, Ballot, Body, Event, Holding, Incarnation, Member, Message, Slot,
    Standing, View,
};

use crate::fault::Fault;
use crate::oracle::{Oracle, chain, item_of};

pub const MS: Duration = Duration::from_millis(1);
/// A program that left ends after so long, whether or not everybody knows.
const LINGER: Duration = Duration::from_millis(1000);
/// Items of a stream in one packet, and kept of it.
const STREAM_KEPT: u64 = 200;

/// Random numbers (SplitMix64), so that a seed replays a schedule.
#[derive(Clone)]
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// How packets travel.
#[derive(Clone, Debug)]
pub struct Network {
    pub latency_us: (u64, u64),
    pub loss_percent: u64,
    pub duplicate_percent: u64,
    /// From which address to which nothing arrives.
    cut: [u16; 16],
}

impl Default for Network {
    fn default() -> Self {
        Self {
            latency_us: (5_000, 20_000),
            loss_percent: 0,
            duplicate_percent: 0,
            cut: [0; 16],
        }
    }
}

impl Network {
    pub fn cut_one_way(&mut self, from: usize, to: usize) {
        self.cut[from] |= 1 << to;
    }

    pub fn cut(&mut self, a: usize, b: usize) {
        self.cut_one_way(a, b);
        self.cut_one_way(b, a);
    }

    /// Nothing passes between addresses of different groups.
    pub fn split(&mut self, group: impl Fn(usize) -> u64) {
        for a in 0..16 {
            for b in (0..16).filter(|b| group(a) != group(*b)) {
                self.cut_one_way(a, b);
            }
        }
    }

    pub fn heal(&mut self) {
        self.cut = [0; 16];
    }

    pub fn passes(&self, from: usize, to: usize) -> bool {
        self.cut[from] >> to & 1 == 0
    }
}

enum Packet {
    Agreement(Message<u32>),
    /// The last items of a member's stream, up to this number.
    Stream {
        from: Incarnation,
        to: Incarnation,
        last: u64,
    },
}

struct InFlight {
    at: Duration,
    order: u64,
    to: usize,
    packet: Box<Packet>,
}

impl PartialEq for InFlight {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for InFlight {}
impl PartialOrd for InFlight {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for InFlight {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// A program and its game.
pub struct Program {
    pub core: Agreement<u32>,
    checked: u64,
    shown: u64,
    hash: u64,
    frozen: bool,
    stranded: bool,
    pub room_frozen: bool,
    leaves_at: Option<Duration>,
    returns_at: Option<Duration>,
    /// How much of each stream was delivered; those held back are marked.
    streams: BTreeMap<Incarnation, (u64, bool)>,
    sent: u64,
    next_item: Duration,
}

/// All programs, by address.
pub struct World {
    pub now: Duration,
    pub rng: Rng,
    pub network: Network,
    pub oracle: Oracle,
    pub programs: Vec<Option<Program>>,
    pub fault: Fault,
    /// Every message that was sent, if it is to be recorded.
    pub record: Option<Vec<Message<u32>>>,
    config: AgreementConfig,
    addresses: BTreeMap<Incarnation, usize>,
    slots: Vec<Option<Slot>>,
    in_flight: BinaryHeap<Reverse<InFlight>>,
    order: u64,
    commands: u32,
}

impl World {
    pub fn new(seed: u64, config: AgreementConfig, fault: Fault) -> Self {
        Self {
            now: Duration::ZERO,
            rng: Rng(seed),
            network: Network::default(),
            oracle: Oracle::new(fault),
            programs: Vec::new(),
            fault,
            record: None,
            config,
            addresses: BTreeMap::new(),
            slots: Vec::new(),
            in_flight: BinaryHeap::new(),
            order: 0,
            commands: 0,
        }
    }

    /// A room of so many members, in order of their addresses from 0, the founder leading.
    pub fn room(seed: u64, config: AgreementConfig, members: usize, fault: Fault) -> Self {
        let mut world = Self::new(seed, config, fault);
        world.found(0);
        for address in 1..members {
            world.join(address);
            world.run_until(5000, |w| w.is_settled());
        }
        assert!(world.is_settled(), "the room was not formed");
        world
    }

    fn incarnation(&mut self, address: usize) -> Incarnation {
        let reused = self.fault == Fault::ReusedIncarnation;
        let incarnation = match reused {
            // The address makes it last.
            true => Incarnation(1 + address as u64),
            false => Incarnation(self.rng.next() | 1),
        };
        self.addresses.insert(incarnation, address);
        incarnation
    }

    fn place(&mut self, address: usize, core: Agreement<u32>) {
        while self.programs.len() <= address {
            self.programs.push(None);
            self.slots.push(None);
        }
        let next_item = self.now;
        self.programs[address] = Some(Program {
            core,
            checked: 0,
            shown: 0,
            hash: 0,
            frozen: false,
            stranded: false,
            room_frozen: false,
            leaves_at: None,
            returns_at: None,
            streams: BTreeMap::new(),
            sent: 0,
            next_item,
        });
        self.settle(address);
    }

    pub fn found(&mut self, address: usize) {
        let incarnation = self.incarnation(address);
        let slot = Slot(address as u16);
        let me = Member { incarnation, slot };
        let core = Agreement::found(self.now, self.config, 1, me);
        self.place(address, core);
    }

    /// Starts a program that joins, or comes back to the slot it had.
    pub fn join(&mut self, address: usize) {
        let slot = self.slots.get(address).copied().flatten();
        self.join_as(address, slot);
    }

    /// Starts a program that wants this slot.
    pub fn join_as(&mut self, address: usize, slot: Option<Slot>) {
        let incarnation = self.incarnation(address);
        let core = Agreement::join(self.now, self.config, 1, incarnation, slot);
        self.place(address, core);
    }

    pub fn crash(&mut self, address: usize) {
        self.programs[address] = None;
    }

    pub fn leave(&mut self, address: usize) {
        let (now, end) = (self.now, self.now + LINGER);
        if let Some(program) = &mut self.programs[address] {
            program.core.leave(now);
            program.leaves_at = Some(end);
        }
        self.settle(address);
    }

    pub fn propose(&mut self, address: usize) {
        self.commands += 1;
        let (now, command) = (self.now, self.commands);
        let again = self.fault == Fault::RenumberedRequests && command.is_multiple_of(7);
        if let Some(program) = &mut self.programs[address] {
            let _ = program.core.propose(now, command);
            if again {
                let _ = program.core.propose(now, command);
            }
        }
        self.settle(address);
    }

    pub fn compact(&mut self, address: usize) {
        if let Some(program) = &mut self.programs[address] {
            let state = program.hash.to_le_bytes().to_vec();
            program.core.compact(state);
        }
    }

    pub fn program(&self, address: usize) -> &Program {
        self.programs[address].as_ref().expect("a program")
    }

    pub fn core(&self, address: usize) -> &Agreement<u32> {
        &self.program(address).core
    }

    pub fn incarnation_at(&self, address: usize) -> Incarnation {
        self.core(address).replica().me()
    }

    pub fn decided(&self, address: usize) -> u64 {
        self.core(address).replica().log().decided().index
    }

    /// The addresses of programs that run and do not leave.
    pub fn living(&self) -> Vec<usize> {
        let lives = |p: &Program| p.leaves_at.is_none();
        (0..self.programs.len())
            .filter(|a| self.programs[*a].as_ref().is_some_and(lives))
            .collect()
    }

    /// Whether everyone who lives is a member of one view, which has no other members, and has been shown everything.
    pub fn is_settled(&self) -> bool {
        let living = self.living();
        let last = self.oracle.last();
        living.iter().all(|address| {
            let core = self.core(*address);
            core.standing() == Standing::Member
                && core.view().members.len() == living.len()
                && core.pending() == 0
                && core.replica().log().decided().index == last
                && Some(core.view().number) == self.oracle.newest_view().map(|v| v.number)
        })
    }

    /// Whether a quorum lives: of the newest view that anybody entered, and of the newest that anybody who lives knows. What leads from one to the other
    /// may have died with those who decided it.
    pub fn has_quorum(&self) -> bool {
        let living = self.living();
        let members: Vec<Incarnation> = living.iter().map(|a| self.incarnation_at(*a)).collect();
        let known = living.iter().map(|a| self.core(*a).view());
        let known = known.max_by_key(|view| view.number);
        let quorum = |view: &View| view.is_quorum(|m| members.contains(&m));
        self.oracle.newest_view().is_some_and(quorum) && known.is_some_and(quorum)
    }

    pub fn run_for(&mut self, ms: u64) {
        self.run_until(ms, |_| false);
    }

    /// Runs until something is true, or for so long. Returns how long it took.
    pub fn run_until(&mut self, ms: u64, done: impl Fn(&Self) -> bool) -> Option<Duration> {
        let start = self.now;
        let end = start + Duration::from_millis(ms);
        let mut next_look = start;
        loop {
            if self.now >= next_look {
                next_look = self.now + 10 * MS;
                if done(self) {
                    return Some(self.now - start);
                }
            }
            if !self.step(end) || self.oracle.violation.is_some() {
                return done(self).then_some(self.now - start);
            }
        }
    }

    /// The next thing that happens before `end`; false if there is none.
    fn step(&mut self, end: Duration) -> bool {
        let timers = self.programs.iter().enumerate();
        let timer = timers
            .filter_map(|(a, p)| p.as_ref().map(|p| (p.next(self.config.cuts), a)))
            .min();
        let arrival = self.in_flight.peek().map(|Reverse(p)| p.at);
        let due = timer.map(|(at, _)| at);
        let next = match (arrival, due) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).unwrap_or(end),
        };
        if next >= end {
            self.now = end;
            return false;
        }
        self.now = self.now.max(next);
        match timer {
            Some((at, address)) if arrival.is_none_or(|arrival| at <= arrival) => {
                self.wake(address)
            }
            _ => self.arrive(),
        }
        true
    }

    fn wake(&mut self, address: usize) {
        let now = self.now;
        let Some(program) = &mut self.programs[address] else {
            return;
        };
        let over = |at: Option<Duration>| at.is_some_and(|at| now >= at);
        if over(program.leaves_at) || (program.leaves_at.is_some() && program.core.is_gone()) {
            return self.crash(address);
        }
        if over(program.returns_at) {
            return self.join(address);
        }
        let before = program.standing();
        program.core.handle_timeout(now);
        self.check_frozen(address, before);
        self.stream(address);
        self.settle(address);
    }

    fn arrive(&mut self) {
        let Some(Reverse(InFlight { to, packet, .. })) = self.in_flight.pop() else {
            return;
        };
        let now = self.now;
        let Some(program) = self.programs.get_mut(to).and_then(Option::as_mut) else {
            return;
        };
        let no_hold = self.fault == Fault::NoHold;
        match *packet {
            Packet::Agreement(mut message) => {
                if self.fault == Fault::NoCatchUp && matches!(message.body, Body::CatchUp(_)) {
                    let learner = program.core.standing() == Standing::Learner;
                    if !learner {
                        return;
                    }
                }
                let me = program.core.replica().me();
                self.fault.strike(me, &mut message.body);
                let before = program.standing();
                program.core.handle(now, message.from, message);
                self.check_frozen(to, before);
                self.settle(to);
            }
            Packet::Stream { from, to, last } => program.on_stream(from, to, last, no_hold),
        }
    }

    /// Nothing is decided by a leader that was frozen before and after.
    fn check_frozen(&mut self, address: usize, before: (Option<(u32, Ballot)>, u64)) {
        let Some(program) = &self.programs[address] else {
            return;
        };
        let after = program.standing();
        if before.0.is_some() && before.0 == after.0 && after.1 > before.1 {
            let me = program.core.replica().me();
            self.oracle.violate(format!("{me} decided while frozen"));
        }
    }

    /// Sends what a program has to send, checks what it decided, and plays its game, until there is nothing more to do.
    fn settle(&mut self, address: usize) {
        while self.settle_once(address) {}
    }

    fn settle_once(&mut self, address: usize) -> bool {
        let now = self.now;
        let Some(program) = &mut self.programs[address] else {
            return false;
        };
        let me = program.core.replica().me();
        let mut out = Vec::new();
        while let Some(message) = program.core.poll_message() {
            if let Some(to) = self.addresses.get(&message.to) {
                out.push((*to, message));
            }
        }
        if let Some(knock) = program.core.poll_knock() {
            let doors = 0..self.slots.len();
            out.extend(doors.filter(|d| *d != address).map(|d| (d, knock.clone())));
        }
        let log = program.core.replica().log();
        if log.decided().index > program.checked {
            let first = program.checked.max(log.snapshot().point.index) + 1;
            for index in first..=log.decided().index {
                if let Some(entry) = log.entry(index) {
                    self.oracle.on_decided(me, index, entry);
                }
            }
            program.checked = log.decided().index;
            if log.decided().view.contains(me) {
                self.oracle.on_view(me, &log.decided().view);
            }
            if let Some(slot) = log.decided().view.slot(me) {
                self.slots[address] = Some(slot);
            }
        }
        let event = program.core.poll_event(now);
        let played = event.is_some();
        if let Some(event) = event {
            program.play(now, &mut self.oracle, self.fault, event);
        }
        if program.core.standing() == Standing::Excluded && program.returns_at.is_none() {
            program.returns_at = Some(now + Duration::from_millis(self.rng.below(150)));
        }
        for (to, message) in out {
            if let Some(record) = &mut self.record {
                record.push(message.clone());
            }
            self.send(address, to, Packet::Agreement(message));
        }
        played
    }

    fn stream(&mut self, address: usize) {
        let now = self.now;
        let Some(program) = &mut self.programs[address] else {
            return;
        };
        if !self.config.cuts || now < program.next_item {
            return;
        }
        program.next_item = now + 60 * MS;
        if program.core.standing() != Standing::Member {
            return;
        }
        program.sent += 1;
        let (from, last) = (program.core.replica().me(), program.sent);
        let members: Vec<Incarnation> = program.core.view().incarnations().collect();
        for member in members.into_iter().filter(|m| *m != from) {
            if let Some(to) = self.addresses.get(&member) {
                let packet = Packet::Stream {
                    from,
                    to: member,
                    last,
                };
                self.send(address, *to, packet);
            }
        }
    }

    fn send(&mut self, from: usize, to: usize, packet: Packet) {
        let (low, high) = self.network.latency_us;
        let lost = self.rng.percent(self.network.loss_percent);
        if lost || !self.network.passes(from, to) {
            return;
        }
        let twice = self.rng.percent(self.network.duplicate_percent);
        if let (true, Packet::Agreement(message)) = (twice, &packet) {
            let again = Packet::Agreement(message.clone());
            self.put(low + self.rng.clone().below(3 * high), to, again);
        }
        let delay = low + self.rng.below(high - low + 1);
        self.put(delay, to, packet);
    }

    fn put(&mut self, delay_us: u64, to: usize, packet: Packet) {
        self.order += 1;
        self.in_flight.push(Reverse(InFlight {
            at: self.now + Duration::from_micros(delay_us),
            order: self.order,
            to,
            packet: Box::new(packet),
        }));
    }
}

impl Program {
    fn next(&self, streams: bool) -> Duration {
        let mut next = self.core.next_timeout();
        for at in [self.leaves_at, self.returns_at].into_iter().flatten() {
            next = next.min(at);
        }
        match streams {
            true => next.min(self.next_item),
            false => next,
        }
    }

    /// The ballot that is led although the room is frozen, and how far the log is decided.
    fn standing(&self) -> (Option<(u32, Ballot)>, u64) {
        let replica = self.core.replica();
        let frozen = self.core.standing() == Standing::Frozen && replica.leads();
        let ballot = frozen.then_some((replica.view().number, replica.status().promised));
        (ballot, replica.log().decided().index)
    }

    pub fn is_stranded(&self) -> bool {
        self.stranded
    }

    /// Each packet has the last items of its stream: what lies beyond a gap is not delivered.
    fn on_stream(&mut self, from: Incarnation, to: Incarnation, last: u64, no_hold: bool) {
        if to != self.core.replica().me() {
            return;
        }
        let (delivered, held) = self.streams.entry(from).or_insert((last - 1, false));
        if (!*held || no_hold) && last > *delivered && last <= *delivered + STREAM_KEPT {
            *delivered = last;
        }
    }

    fn play(&mut self, now: Duration, oracle: &mut Oracle, fault: Fault, event: Event<u32>) {
        let me = self.core.replica().me();
        let shows = matches!(event, Event::Command { .. } | Event::ViewChanged { .. });
        if self.frozen && shows {
            oracle.violate(format!("{me} was shown something while frozen"));
        }
        match event {
            Event::Command { index, command, .. } => {
                self.hash = chain(self.hash, command);
                oracle.on_shown(me, self.shown, index, self.hash);
                self.shown = index;
            }
            Event::Restored { index, state } => {
                oracle.on_restored(me, index, &state);
                self.hash = u64::from_le_bytes(state.try_into().unwrap_or_default());
                self.shown = index;
            }
            Event::Frozen => self.frozen = true,
            Event::Thawed => self.frozen = fault == Fault::SilentThaw,
            Event::Stranded => self.stranded = true,
            Event::RoomFrozen { .. } => self.room_frozen = true,
            Event::ViewChanged { view, cuts } => {
                for cut in &cuts {
                    let delivered = self.streams.remove(&cut.owner).map_or(0, |s| s.0);
                    if view.contains(me) {
                        oracle.on_cut(me, cut, delivered);
                    }
                }
                for (_, held) in self.streams.values_mut() {
                    *held = false;
                }
            }
            Event::Flush(flush) => {
                let named = |owner: &Incarnation| flush.owners.iter().find(|(o, _)| o == owner);
                for (owner, (_, held)) in &mut self.streams {
                    *held = named(owner).is_some();
                }
                let holdings = flush.owners.iter().map(|(owner, have)| {
                    let (last, _) = *self.streams.entry(*owner).or_insert((0, true));
                    let oldest = last.saturating_sub(STREAM_KEPT);
                    let first = match self.core.replica().leads() {
                        true => oldest,
                        false => oldest.max(*have).min(last),
                    };
                    Holding {
                        owner: *owner,
                        last,
                        items: (first + 1..=last).map(item_of).collect(),
                    }
                });
                let holdings = holdings.collect();
                self.core.answer_flush(now, &flush, holdings);
            }
        }
    }
}
