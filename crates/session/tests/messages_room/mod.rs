//! Programs of one game in a room, joined in memory and in virtual time.
#![allow(dead_code)] // each test file uses a part of it

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_session::{Handlers, JoinTo, Role, Session, SessionConfig, SessionEvent, State};

/// The first program's address.
pub const OPENER: usize = 0;

/// A game in a room: programs with the same handlers, each with its own context.
pub struct Game<C> {
    pub now: Duration,
    pub programs: Vec<Program<C>>,
    /// One of this many datagrams is lost, and one is doubled; 0 for none.
    pub lossy: u64,
    network: BTreeMap<(Duration, u64), (SocketAddr, SocketAddr, Vec<u8>)>,
    sent: u64,
    random: u64,
}

/// One program.
pub struct Program<C> {
    pub session: Session,
    pub handlers: Handlers<C>,
    pub context: C,
    /// What no handler wanted.
    pub left_over: Vec<(Duration, SessionEvent)>,
    /// One way to or from it.
    pub latency: Duration,
    /// Crashed: it hears and says nothing any more.
    pub crashed: bool,
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn config() -> SessionConfig {
    let mut config = SessionConfig::new("messages", 1);
    config.protocol = config.protocol.plain();
    config
}

pub fn join() -> JoinTo {
    JoinTo::new(address(OPENER))
}

fn address(program: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1 + program as u8], 7000))
}

impl<C> Game<C> {
    pub fn new(seed: u64) -> Self {
        Self {
            now: Duration::ZERO,
            programs: Vec::new(),
            lossy: 0,
            network: BTreeMap::new(),
            sent: 0,
            random: seed.wrapping_mul(2).wrapping_add(0x9E37_79B9_7F4A_7C15),
        }
    }

    /// Starts a program and waits until it takes part.
    pub fn add(
        &mut self,
        role: Role,
        config: SessionConfig,
        handlers: Handlers<C>,
        context: C,
    ) -> usize {
        self.add_at(ms(10), role, config, handlers, context)
    }

    /// The same at some distance.
    pub fn add_at(
        &mut self,
        latency: Duration,
        role: Role,
        config: SessionConfig,
        handlers: Handlers<C>,
        context: C,
    ) -> usize {
        let program = self.programs.len();
        let mut seed = [0; 32];
        seed[0] = program as u8;
        seed[1..9].copy_from_slice(&self.random.to_le_bytes());
        let session = Session::new(self.now, config, role, seed).expect("the settings are good");
        self.programs.push(Program {
            session,
            handlers,
            context,
            left_over: Vec::new(),
            latency,
            crashed: false,
        });
        let end = self.now + Duration::from_secs(10);
        while self.programs[program].session.state() != &State::InSync {
            assert!(self.now < end, "program {program} did not get in sync");
            self.run(ms(10));
        }
        program
    }

    /// Lets time pass.
    pub fn run(&mut self, lasting: Duration) {
        let end = self.now + lasting;
        self.settle();
        loop {
            let arrival = self.network.keys().next().map(|(at, _)| *at);
            let timers = self
                .programs
                .iter_mut()
                .filter(|p| !p.crashed)
                .filter_map(|p| p.session.poll_timeout());
            let next = timers.chain(arrival).min().filter(|next| *next <= end);
            let Some(next) = next else { break };
            self.now = self.now.max(next);
            let later = self.network.split_off(&(self.now, u64::MAX));
            for (_, (from, to, mut datagram)) in std::mem::replace(&mut self.network, later) {
                let program = (0..self.programs.len()).find(|p| address(*p) == to);
                if let Some(program) = program.map(|p| &mut self.programs[p])
                    && !program.crashed
                {
                    let session = &mut program.session;
                    session.handle_datagram(self.now, from, &mut datagram);
                }
            }
            for program in self.programs.iter_mut().filter(|p| !p.crashed) {
                program.session.handle_timeout(self.now);
            }
            self.settle();
        }
        self.now = end;
    }

    /// Handles events and puts what is to be sent on its way, until nothing is left to do at this instant.
    pub fn settle(&mut self) {
        let mut buf = [0; 1200];
        for number in 0..self.programs.len() {
            let program = &mut self.programs[number];
            if program.crashed {
                continue;
            }
            while let Some(event) = program.session.poll_event() {
                let handled = program.handlers.handle(
                    self.now,
                    &mut program.session,
                    &mut program.context,
                    &event,
                );
                if !handled {
                    program.left_over.push((self.now, event));
                }
            }
            while let Some(packet) = self.programs[number]
                .session
                .poll_transmit(self.now, &mut buf)
            {
                let to = (0..self.programs.len()).find(|p| address(*p) == packet.to);
                let there = to.map_or(Duration::ZERO, |to| self.programs[to].latency);
                let at = self.now + self.programs[number].latency + there;
                let datagram = buf[..packet.len].to_vec();
                for _ in 0..self.copies() {
                    let late = ms(if self.lossy > 0 { self.roll() % 20 } else { 0 });
                    self.sent += 1;
                    let carried = (address(number), packet.to, datagram.clone());
                    self.network.insert((at + late, self.sent), carried);
                }
            }
        }
    }

    fn copies(&mut self) -> usize {
        match self.lossy {
            0 => 1,
            n => match self.roll() % n {
                0 => 0,
                1 => 2,
                _ => 1,
            },
        }
    }

    fn roll(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 11
    }

    /// A program's session and handlers, to say something with.
    pub fn speak<R>(
        &mut self,
        program: usize,
        speak: impl FnOnce(Duration, &mut Session, &mut Handlers<C>, &mut C) -> R,
    ) -> R {
        let program = &mut self.programs[program];
        speak(
            self.now,
            &mut program.session,
            &mut program.handlers,
            &mut program.context,
        )
    }

    pub fn contexts(&self) -> impl Iterator<Item = &C> {
        self.programs.iter().map(|p| &p.context)
    }
}
