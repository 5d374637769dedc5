//! A room of three programs that handle what they are sent.
#![allow(dead_code, reason = "each target uses its own part")]

use samestep_session::{Action, Handlers, JoinTo, Message, Role, Session, SessionConfig, State};
use samestep_wire::Wire;
use std::net::SocketAddr;
use std::time::Duration;

pub const OPENER: usize = 0;
pub const GUEST: usize = 1;

#[derive(Clone, Wire, Message)]
#[message(kind = 0)]
pub struct Chat(String, Option<Vec<u16>>);

#[derive(Clone, Wire, Message, Action)]
#[message(kind = 1)]
pub struct Take(#[wire(range = 0..=9)] u8);

fn handlers() -> Handlers<usize> {
    let mut handlers = Handlers::<usize>::new();
    let registered = (|| {
        handlers.on(|heard, _, chat: Chat| *heard += chat.0.len())?;
        let confirmed = handlers.confirmed::<Take>()?;
        confirmed
            .resolve(|_, _, take| {
                if take.0 < 5 {
                    Ok(take)
                } else {
                    Err("no".into())
                }
            })
            .applied(|heard, _, _| *heard += 1)
            .denied(|heard, _, _| *heard += 1);
        let unconfirmed = handlers.unconfirmed::<Take>()?;
        unconfirmed
            .check(|_, _, take| if take.0 < 5 { Ok(()) } else { Err("no".into()) })
            .acted(|heard, _, _| *heard += 1)
            .rejected(|heard, _, _| *heard += 1);
        Ok::<(), samestep_session::KindError>(())
    })();
    registered.expect("every kind once");
    handlers
}

pub struct Table {
    pub now: Duration,
    pub sessions: Vec<Session>,
    handlers: Vec<Handlers<usize>>,
    heard: usize,
}

fn address(session: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1 + session as u8], 7777))
}

impl Table {
    /// Who opened the room, and two guests, in sync.
    pub fn new(mesh: bool) -> Table {
        let mut table = Table {
            now: Duration::ZERO,
            sessions: Vec::new(),
            handlers: Vec::new(),
            heard: 0,
        };
        for number in 0..3 {
            let mut config = SessionConfig::new("fuzz", 1).player("somebody");
            config.protocol = config.protocol.plain();
            let join = || JoinTo::new(address(OPENER));
            let role = match (mesh, number) {
                (false, OPENER) => Role::Host,
                (true, OPENER) => Role::Introducer,
                (false, _) => Role::Client(join()),
                (true, _) => Role::Peer(join()),
            };
            let session = Session::new(table.now, config, role, [number as u8; 32]);
            table.sessions.push(session.expect("the settings are good"));
            table.handlers.push(handlers());
            for _ in 0..100 {
                table.exchange();
                if table.sessions.iter().all(|s| *s.state() == State::InSync) {
                    break;
                }
                table.now += Duration::from_millis(5);
            }
        }
        assert!(table.sessions.iter().all(|s| *s.state() == State::InSync));
        table
    }

    pub fn exchange(&mut self) {
        let mut buf = [0; 1200];
        let mut sent = 0;
        for from in (0..self.sessions.len())
            .cycle()
            .take(self.sessions.len() * 3)
        {
            self.sessions[from].handle_timeout(self.now);
            while let Some(event) = self.sessions[from].poll_event() {
                let (session, heard) = (&mut self.sessions[from], &mut self.heard);
                self.handlers[from].handle(self.now, session, heard, &event);
            }
            while let Some(packet) = self.sessions[from].poll_transmit(self.now, &mut buf) {
                sent += 1;
                assert!(sent < 100_000, "talk comes to an end");
                if let Some(to) = (0..self.sessions.len()).find(|s| address(*s) == packet.to) {
                    let datagram = &mut buf[..packet.len];
                    self.sessions[to].handle_datagram(self.now, address(from), datagram);
                }
            }
        }
    }

    pub fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += Duration::from_millis(20);
            self.exchange();
        }
    }
}
