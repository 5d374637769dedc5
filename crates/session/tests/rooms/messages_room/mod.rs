//! Programs of one game in a room, joined in memory and in virtual time.
#![allow(dead_code)] // each test file uses a part of it

use std::net::SocketAddr;
use std::time::Duration;

use samestep_netem::{Jitter, LinkConfig, Loss};
use samestep_session::{Handlers, JoinTo, Role, Session, SessionConfig, SessionEvent, State};
use samestep_sim::{NodeId, Testbed};

/// The program that opens the room.
pub const OPENER: usize = 0;

/// A game in a room: programs with the same handlers, each with its own context.
pub struct Game<C> {
    testbed: Testbed<Session>,
    pub programs: Vec<Program<C>>,
}

/// One program.
pub struct Program<C> {
    pub handlers: Handlers<C>,
    pub context: C,
    /// What no handler wanted.
    pub left_over: Vec<(Duration, SessionEvent)>,
    /// One way to or from it.
    latency: Duration,
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
    SocketAddr::from(([10, 0, 0, 1 + program as u8], 40_000 + program as u16))
}

fn id(program: usize) -> NodeId {
    NodeId(program as u16)
}

impl<C> Game<C> {
    pub fn new(seed: u64) -> Self {
        Self {
            testbed: Testbed::new(seed),
            programs: Vec::new(),
        }
    }

    /// Lets links lose one of this many datagrams, double one and delay all by up to 20 ms; 0 for none of it.
    pub fn set_lossy(&mut self, one_of: u64) {
        let share = if one_of == 0 {
            0.0
        } else {
            1.0 / one_of as f64
        };
        for from in 0..self.programs.len() {
            for to in (0..self.programs.len()).filter(|to| *to != from) {
                let link = LinkConfig {
                    latency: self.programs[from].latency + self.programs[to].latency,
                    jitter: Jitter {
                        amount: if one_of == 0 { ms(0) } else { ms(20) },
                        ..Jitter::default()
                    },
                    loss: Loss::Bernoulli(share),
                    duplicate: share,
                    ..LinkConfig::default()
                };
                self.testbed.set_link(id(from), id(to), link);
            }
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
        let program = usize::from(self.testbed.add_node().0);
        self.programs.push(Program {
            handlers,
            context,
            left_over: Vec::new(),
            latency,
        });
        self.set_lossy(0);
        self.testbed.start(id(program), |now, seed| {
            Session::new(now, config, role, seed).expect("the settings are good")
        });
        let end = self.testbed.now() + Duration::from_secs(10);
        while self.session(program).state() != &State::InSync {
            let now = self.testbed.now();
            assert!(now < end, "program {program} did not get in sync");
            self.run(ms(10));
        }
        program
    }

    pub fn session(&self, program: usize) -> &Session {
        let session = self.testbed.machine(id(program));
        session.expect("the program runs")
    }

    /// What the clock of a program shows.
    pub fn local(&self, program: usize) -> Duration {
        self.testbed.local(id(program))
    }

    /// A program vanishes without a word.
    pub fn crash(&mut self, program: usize) {
        self.testbed.kill(id(program));
    }

    /// Lets time pass, and the handlers handle what happens.
    pub fn run(&mut self, time: Duration) {
        let end = self.testbed.now() + time;
        while let Some((at, node, event)) = self.testbed.next(end) {
            let program = &mut self.programs[usize::from(node.0)];
            let handled = self.testbed.with(node, |now, session| {
                let context = &mut program.context;
                program.handlers.handle(now, session, context, &event)
            });
            if handled == Some(false) {
                program.left_over.push((at, event));
            }
        }
    }

    /// A program's session and handlers, to say something with.
    pub fn speak<R>(
        &mut self,
        program: usize,
        speak: impl FnOnce(Duration, &mut Session, &mut Handlers<C>, &mut C) -> R,
    ) -> R {
        let Program {
            handlers, context, ..
        } = &mut self.programs[program];
        let speak = |now, session: &mut Session| speak(now, session, handlers, context);
        let done = self.testbed.with(id(program), speak);
        done.expect("the program runs")
    }

    pub fn contexts(&self) -> impl Iterator<Item = &C> {
        self.programs.iter().map(|p| &p.context)
    }
}
