//! Programs of a hosted room in virtual time. Each has a clock of its own speed, may sleep, and asks for the standbys that it would choose.

mod run;

use core::cmp::Reverse;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use samestep_session::agreement::{
    Entry, Hosted, HostedConfig, Incarnation, Member, Message, Slot, View,
};

use super::fault::Fault;
use super::game::Game;
use crate::fault::Fault as MeshFault;
use crate::oracle::Oracle;
use crate::world::{Network, Rng};

pub const MS: Duration = Duration::from_millis(1);
const MILLION: u64 = 1_000_000;
/// A program that left ends after so long, whether or not everybody knows.
const LINGER: Duration = Duration::from_millis(1500);

struct InFlight {
    at: Duration,
    order: u64,
    to: usize,
    message: Box<Message<u32>>,
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
    pub core: Hosted<u32>,
    pub game: Game,
    /// The speed of its clock, in millionths.
    speed: u64,
    asleep_until: Duration,
    leaves_at: Option<Duration>,
    checked: u64,
    /// The newest number of a question for its lease.
    asked: u32,
}

impl Program {
    fn clock(&self, now: Duration) -> Duration {
        Duration::from_nanos((now.as_nanos() * u128::from(self.speed) / 1_000_000) as u64)
    }

    /// When the program's clock shows a time, or a little later.
    fn time(&self, clock: Duration) -> Duration {
        let nanos = clock.as_nanos() * 1_000_000 / u128::from(self.speed);
        Duration::from_nanos(nanos as u64 + 1)
    }

    fn next(&self) -> Duration {
        let due = self.time(self.core.next_timeout());
        due.min(self.leaves_at.unwrap_or(due))
            .max(self.asleep_until)
    }
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
    /// Whether hosts choose their standbys anew.
    pub chooses: bool,
    /// How many standbys a host wants.
    pub standbys: usize,
    /// By how much clocks may differ in speed, in millionths.
    pub drift: u64,
    /// Whether every host orders a command of its own every 20 ms.
    pub ticks: bool,
    /// What travels to this address takes so much longer.
    pub slow: Option<(usize, Duration)>,
    next_tick: Duration,
    pub config: HostedConfig,
    addresses: BTreeMap<Incarnation, usize>,
    in_flight: BinaryHeap<Reverse<InFlight>>,
    order: u64,
    commands: u32,
}

impl World {
    pub fn new(seed: u64, fault: Fault) -> Self {
        Self {
            now: Duration::ZERO,
            rng: Rng(seed),
            network: Network::default(),
            oracle: Oracle::new(MeshFault::None),
            programs: Vec::new(),
            fault,
            record: None,
            chooses: true,
            standbys: 2,
            drift: 20_000,
            ticks: false,
            slow: None,
            next_tick: Duration::ZERO,
            config: HostedConfig::default(),
            addresses: BTreeMap::new(),
            in_flight: BinaryHeap::new(),
            order: 0,
            commands: 0,
        }
    }

    /// A room of so many programs, the first hosting, with so many standbys.
    pub fn room(seed: u64, programs: usize, standbys: usize, fault: Fault) -> Self {
        let mut world = Self::new(seed, fault);
        world.form(programs, standbys);
        world
    }

    pub fn form(&mut self, programs: usize, standbys: usize) {
        self.standbys = standbys;
        self.found(0);
        for address in 1..programs {
            self.join(address);
        }
        let formed = self.run_until(10_000, |w| w.is_settled());
        assert!(formed.is_some(), "no room: {}", self.describe());
    }

    fn incarnation(&mut self, address: usize) -> Incarnation {
        let incarnation = Incarnation(self.rng.next() | 1);
        self.addresses.insert(incarnation, address);
        incarnation
    }

    fn place(&mut self, address: usize, make: impl FnOnce(Duration, HostedConfig) -> Hosted<u32>) {
        while self.programs.len() <= address {
            self.programs.push(None);
        }
        let speed = MILLION - self.drift / 2 + self.rng.below(self.drift + 1);
        let clock = self.now.as_nanos() * u128::from(speed) / 1_000_000;
        let core = make(Duration::from_nanos(clock as u64), self.config);
        let game = Game {
            last_at: self.now,
            ..Game::default()
        };
        self.programs[address] = Some(Program {
            core,
            game,
            speed,
            asleep_until: self.now,
            leaves_at: None,
            checked: 0,
            asked: 0,
        });
        self.settle(address);
    }

    pub fn found(&mut self, address: usize) {
        let incarnation = self.incarnation(address);
        let slot = Slot(address as u16);
        let me = Member { incarnation, slot };
        self.place(address, |now, config| Hosted::found(now, config, 1, me));
    }

    pub fn join(&mut self, address: usize) {
        let me = self.incarnation(address);
        self.place(address, |now, config| Hosted::join(now, config, 1, me));
    }

    pub fn crash(&mut self, address: usize) {
        self.programs[address] = None;
    }

    /// A program does nothing for a while; what is sent to it waits.
    pub fn sleep(&mut self, address: usize, ms: u64) {
        let until = self.now + Duration::from_millis(ms);
        if let Some(program) = &mut self.programs[address] {
            program.asleep_until = until;
        }
    }

    pub fn with<T>(
        &mut self,
        address: usize,
        act: impl FnOnce(Duration, &mut Hosted<u32>) -> T,
    ) -> Option<T> {
        let now = self.now;
        let program = self.programs.get_mut(address)?.as_mut()?;
        if now < program.asleep_until {
            return None;
        }
        let clock = program.clock(now);
        let done = act(clock, &mut program.core);
        self.settle(address);
        Some(done)
    }

    pub fn leave(&mut self, address: usize) {
        self.with(address, |now, core| core.leave(now));
        let end = self.now + LINGER;
        if let Some(program) = &mut self.programs[address] {
            program.leaves_at = Some(end);
        }
    }

    pub fn propose(&mut self, address: usize) {
        self.commands += 1;
        let command = self.commands;
        self.with(address, |now, core| core.propose(now, command).is_ok());
    }

    /// Keeps the state of a game in place of its log.
    pub fn compact(&mut self, address: usize) {
        if let Some(program) = &mut self.programs[address] {
            let (index, state) = (program.game.certain, program.game.hash.to_le_bytes());
            program.core.compact(index, state.to_vec());
        }
    }

    /// The number of the last command that anybody asked for.
    pub fn last_command(&self) -> u32 {
        self.commands
    }

    /// Whether somebody who lives has decided a command that was asked for after another.
    pub fn has_decided_after(&self, command: u32) -> bool {
        self.living().into_iter().any(|a| {
            let log = self.core(a).replica().log();
            let entry = log.entry(log.decided().index);
            matches!(entry, Some(Entry::Command { command: c, .. }) if *c > command)
        })
    }

    pub fn program(&self, address: usize) -> &Program {
        self.programs[address].as_ref().expect("a program")
    }

    pub fn core(&self, address: usize) -> &Hosted<u32> {
        &self.program(address).core
    }

    pub fn incarnation_at(&self, address: usize) -> Incarnation {
        self.core(address).replica().me()
    }

    /// The addresses of programs that run and do not leave.
    pub fn living(&self) -> Vec<usize> {
        let lives = |p: &Program| p.leaves_at.is_none();
        (0..self.programs.len())
            .filter(|a| self.programs[*a].as_ref().is_some_and(lives))
            .collect()
    }

    /// The program that hosts under a lease.
    pub fn host(&self) -> Option<usize> {
        let holds = |a: &usize| {
            let program = self.programs[*a].as_ref();
            program.is_some_and(|p| p.core.holds_lease(p.clock(self.now)))
        };
        (0..self.programs.len()).find(holds)
    }

    /// Whether all who live follow one host, which has the members that it wants, and everything asked for is certain everywhere.
    pub fn is_settled(&self) -> bool {
        let living = self.living();
        let Some(host) = self.host() else {
            return false;
        };
        let host_is = self.incarnation_at(host);
        let members = (living.len()).min(self.standbys + 1);
        living.iter().all(|address| {
            let program = self.program(*address);
            let core = &program.core;
            let clock = program.clock(self.now);
            core.host(clock) == Some(host_is)
                && !core.is_frozen()
                && core.view().members.len() == members
                && core.pending() == 0
                && core.replica().log().decided().index == self.oracle.last()
                && core.replica().log().length() == self.oracle.last()
                && program.game.seen.is_empty()
        })
    }

    /// Whether a quorum of the newest view that anybody entered lives, and of the newest that anybody who lives knows.
    pub fn has_quorum(&self) -> bool {
        let living = self.living();
        let members: BTreeSet<Incarnation> =
            living.iter().map(|a| self.incarnation_at(*a)).collect();
        let known = living.iter().map(|a| self.core(*a).view());
        let known = known.max_by_key(|view| view.number);
        let quorum = |view: &View| view.is_quorum(|m| members.contains(&m));
        self.oracle.newest_view().is_some_and(quorum) && known.is_some_and(quorum)
    }

    pub fn describe(&self) -> String {
        let of = |a: usize| {
            let program = self.program(a);
            let core = &program.core;
            let clock = program.clock(self.now);
            format!(
                "{}: {:?} of {:?} lease {} frozen {} decided {} of {} pending {} {:?} {:?}\n",
                core.replica().me(),
                core.role(),
                core.host(clock),
                core.holds_lease(clock),
                core.is_frozen(),
                core.replica().log().decided().index,
                self.oracle.last(),
                core.pending(),
                core.replica().status(),
                core.view(),
            )
        };
        self.living().into_iter().map(of).collect()
    }
}
