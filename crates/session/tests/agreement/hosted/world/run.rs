//! What happens in a hosted room, one thing after another: timers, arrivals, choices of standbys.

use core::cmp::Reverse;
use core::time::Duration;

use samestep_session::agreement::{
    Ability, Body, Demand, HostedRole, Incarnation, Member, Message, Slot, choose_standbys,
};

use super::{InFlight, MS, Program, World};
use crate::hosted::fault::Fault;

impl World {
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
                next_look = self.now + 5 * MS;
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
            .filter_map(|(a, p)| p.as_ref().map(|p| (p.next(), a)))
            .min();
        let arrival = self.in_flight.peek().map(|Reverse(p)| p.at);
        let mut next = timer.map_or(end, |(at, _)| at);
        next = next.min(arrival.unwrap_or(end));
        if self.ticks {
            next = next.min(self.next_tick);
        }
        if next >= end {
            self.now = end;
            return false;
        }
        self.now = self.now.max(next);
        if self.ticks && next == self.next_tick {
            self.tick();
        } else if let Some((_, address)) = timer.filter(|(at, _)| *at == next) {
            self.wake(address);
        } else {
            self.arrive();
        }
        self.check_leases();
        true
    }

    /// At most one program holds a lease.
    fn check_leases(&mut self) {
        let holds = |p: &&Program| p.core.holds_lease(p.clock(self.now));
        let holders = self.programs.iter().flatten().filter(holds);
        let holders: Vec<Incarnation> = holders.map(|p| p.core.replica().me()).collect();
        if holders.len() > 1 {
            let text = self.describe();
            self.oracle
                .violate(format!("leases of {holders:?} at {:?}:\n{text}", self.now));
        }
    }

    fn tick(&mut self) {
        self.next_tick = self.now + 20 * MS;
        let hosts = (0..self.programs.len()).filter(|a| {
            let program = self.programs[*a].as_ref();
            program.is_some_and(|p| p.core.role() == HostedRole::Host && p.core.pending() < 50)
        });
        for address in hosts.collect::<Vec<_>>() {
            self.propose(address);
        }
    }

    fn wake(&mut self, address: usize) {
        let now = self.now;
        let Some(program) = &mut self.programs[address] else {
            return;
        };
        let over = program.leaves_at.is_some_and(|at| now >= at);
        if over || (program.leaves_at.is_some() && program.core.is_gone()) {
            return self.crash(address);
        }
        let clock = program.clock(now);
        program.core.handle_timeout(clock);
        if self.chooses {
            self.choose_standbys(address);
        }
        self.settle(address);
    }

    /// The host wants the nearest programs as standbys: those with the lowest addresses.
    fn choose_standbys(&mut self, address: usize) {
        let (now, count) = (self.now, self.standbys);
        let Some(program) = &mut self.programs[address] else {
            return;
        };
        let clock = program.clock(now);
        let (core, me) = (&program.core, program.core.replica().me());
        if core.role() != HostedRole::Host {
            return;
        }
        let members: Vec<Incarnation> = core.view().incarnations().filter(|m| *m != me).collect();
        let heard: Vec<Incarnation> = members.iter().copied().chain(core.guests(clock)).collect();
        let ability = |who: &Incarnation| {
            let at = self.addresses.get(who).copied().unwrap_or_default();
            Ability {
                who: *who,
                step: MS,
                upstream: 1_000_000,
                latency: Duration::from_millis(20 + at as u64),
            }
        };
        let present: Vec<Ability> = heard.iter().map(ability).collect();
        let demand = Demand {
            step: 8 * MS,
            upstream: 100_000,
        };
        // A member that is silent stands in nobody's way.
        let alive = |m: &Ability| core.hears(clock, m.who);
        let present: Vec<Ability> = present.into_iter().filter(alive).collect();
        let chosen = choose_standbys(&demand, &present, &members, count);
        let member = |incarnation: Incarnation| Member {
            incarnation,
            slot: Slot(
                self.addresses
                    .get(&incarnation)
                    .copied()
                    .unwrap_or_default() as u16,
            ),
        };
        let chosen = chosen.into_iter().map(member).collect();
        program.core.want_standbys(clock, chosen);
    }

    fn arrive(&mut self) {
        let Some(Reverse(mut packet)) = self.in_flight.pop() else {
            return;
        };
        let (now, to) = (self.now, packet.to);
        let Some(program) = self.programs.get_mut(to).and_then(Option::as_mut) else {
            return;
        };
        if now < program.asleep_until {
            packet.at = program.asleep_until;
            self.in_flight.push(Reverse(packet));
            return;
        }
        let mut message = *packet.message;
        self.fault.strike(program.asked, &mut message.body);
        let clock = program.clock(now);
        let mut forged = None;
        match (self.fault, &message.body) {
            (Fault::NoTails, Body::Tail { .. }) => return,
            (Fault::GrantsAnybody, Body::Lease { ballot, number }) => {
                let (ballot, number) = (*ballot, *number);
                forged = Some(Message {
                    from: message.to,
                    to: message.from,
                    body: Body::Granted { ballot, number },
                    ..message.clone()
                });
            }
            _ => {}
        }
        let back = self.addresses.get(&message.from).copied();
        program.core.handle(clock, message.from, message);
        if let (Some(answer), Some(back)) = (forged, back) {
            self.send(to, back, answer);
        }
        self.settle(to);
    }

    /// Sends what a program has to send, checks what it decided, and plays its game, until there is nothing more to do.
    pub(super) fn settle(&mut self, address: usize) {
        while self.settle_once(address) {}
    }

    fn settle_once(&mut self, address: usize) -> bool {
        let now = self.now;
        let Some(program) = &mut self.programs[address] else {
            return false;
        };
        let clock = program.clock(now);
        let me = program.core.replica().me();
        let mut out = Vec::new();
        while let Some(message) = program.core.poll_message() {
            if let Body::Lease { number, .. } = &message.body {
                program.asked = *number;
            }
            if let Some(to) = self.addresses.get(&message.to) {
                out.push((*to, message));
            }
        }
        if let Some(knock) = program.core.poll_knock() {
            let doors = 0..self.programs.len();
            out.extend(doors.filter(|d| *d != address).map(|d| (d, knock.clone())));
        }
        let program = self.programs[address].as_mut().expect("it was there");
        let log = program.core.replica().log();
        if log.decided().index > program.checked {
            let first = program.checked.max(log.snapshot().point.index) + 1;
            for index in first..=log.decided().index {
                if let Some(entry) = log.entry(index) {
                    self.oracle.on_decided(me, index, entry);
                }
            }
            program.checked = log.decided().index;
            self.oracle.on_view(me, &log.decided().view);
        }
        let event = program.core.poll_event(clock);
        let played = event.is_some();
        if let Some(event) = event {
            let Program { core, game, .. } = program;
            game.play(now, core, &mut self.oracle, self.fault, event);
        }
        for (to, message) in out {
            if let Some(record) = &mut self.record {
                record.push(message.clone());
            }
            self.send(address, to, message);
        }
        played
    }

    fn send(&mut self, from: usize, to: usize, message: Message<u32>) {
        let (low, high) = self.network.latency_us;
        let lost = self.rng.percent(self.network.loss_percent);
        if lost || !self.network.passes(from, to) {
            return;
        }
        if self.rng.percent(self.network.duplicate_percent) {
            let delay = low + self.rng.below(3 * high);
            self.put(delay, to, message.clone());
        }
        let delay = low + self.rng.below(high - low + 1);
        self.put(delay, to, message);
    }

    fn put(&mut self, delay_us: u64, to: usize, message: Message<u32>) {
        self.order += 1;
        let extra = self.slow.filter(|(slow, _)| *slow == to);
        let extra = extra.map_or(Duration::ZERO, |(_, extra)| extra);
        self.in_flight.push(Reverse(InFlight {
            at: self.now + Duration::from_micros(delay_us) + extra,
            order: self.order,
            to,
            message: Box::new(message),
        }));
    }
}
