//! A member of the room says whatever it likes: the others do not panic, and a hosted room stays whole.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use samestep_proto::ChannelId;
use samestep_session::{
    Action, Delivery, Handlers, JoinTo, Message, MessageKind, PeerId, Role, Session, SessionConfig,
    State, To,
};
use samestep_wire::Wire;
use std::net::SocketAddr;
use std::time::Duration;

/// What the sessions may keep, given that nobody reads or answers for long.
const MEMORY: usize = 64 << 20;

const OPENER: usize = 0;
const GUEST: usize = 1;

#[derive(Arbitrary, Debug)]
enum Op<'a> {
    /// Anything, on any channel.
    Raw {
        to: u8,
        channel: u8,
        bytes: &'a [u8],
    },
    /// The session's own messages.
    Control {
        to: u8,
        reliable: bool,
        body: &'a [u8],
    },
    /// The game's messages, of the kinds that are handled and of the library's own.
    Game {
        to: u8,
        delivery: u8,
        kind: u8,
        payload: &'a [u8],
    },
    Request {
        payload: &'a [u8],
    },
    Act {
        payload: &'a [u8],
    },
    Wait {
        ms: u8,
    },
}

#[derive(Clone, Wire, Message)]
#[message(kind = 0)]
struct Chat(String, Option<Vec<u16>>);

#[derive(Clone, Wire, Message, Action)]
#[message(kind = 1)]
struct Take(#[wire(range = 0..=9)] u8);

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

struct Table {
    now: Duration,
    sessions: Vec<Session>,
    handlers: Vec<Handlers<usize>>,
    heard: usize,
}

fn address(session: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1 + session as u8], 7777))
}

impl Table {
    /// Who opened the room, and two guests, in sync.
    fn new(mesh: bool) -> Table {
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

    fn exchange(&mut self) {
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

    fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += Duration::from_millis(20);
            self.exchange();
        }
    }
}

fuzz_target!(|input: (bool, bool, Vec<Op<'_>>)| {
    let (mesh, opener_lies, ops) = input;
    let liar = if opener_lies { OPENER } else { GUEST };
    let mut table = Table::new(mesh);
    let peer = |to: u8| PeerId(u16::from(to % 4));
    for op in ops {
        let now = table.now;
        let liar = &mut table.sessions[liar];
        match op {
            Op::Raw { to, channel, bytes } => {
                liar.send_raw(now, peer(to), ChannelId(channel % 8), bytes);
            }
            Op::Control { to, reliable, body } => {
                let bytes = [&[8][..], body].concat();
                let channel = ChannelId(if reliable { 5 } else { 0 });
                liar.send_raw(now, peer(to), channel, &bytes);
            }
            Op::Game {
                to,
                delivery,
                kind,
                payload,
            } => {
                let delivery = Delivery::ALL[usize::from(delivery) % Delivery::ALL.len()];
                let kind = match kind % 8 {
                    own @ 0..4 => MessageKind(0xFF00 + u16::from(own)),
                    kind => MessageKind(u16::from(kind - 4)),
                };
                let _ = liar.send_bytes(now, To::Peer(peer(to)), delivery, kind, payload);
            }
            Op::Request { payload } => {
                let _ = liar.request_bytes(now, Take::KIND, payload);
            }
            Op::Act { payload } => {
                let _ = liar.act_bytes(now, Take::KIND, payload);
            }
            Op::Wait { ms } => table.now += Duration::from_millis(u64::from(ms)),
        }
        table.exchange();
        for session in &table.sessions {
            let bytes = session.endpoint().memory_bytes();
            assert!(bytes < MEMORY, "{bytes}");
        }
    }
    if !mesh && !opener_lies {
        // A client cannot talk the host and another client apart.
        table.wait(Duration::from_secs(1));
        let [host, _, bystander] = &table.sessions[..] else {
            unreachable!("three were made");
        };
        assert_eq!(*bystander.state(), State::InSync);
        assert_eq!(host.room(), bystander.room());
    }
});
