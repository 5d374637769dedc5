//! The programs that run inside the namespaces: a relay, and talkers that find ways to each other.
//!
//! Each talker prints its description; what the other printed is typed in after `start`.

use crate::network::SECRET;
use samestep_netem::{LinkConfig, Path};
use samestep_transport::{Impaired, Transport, Udp, UdpConfig, now};
use samestep_traversal::{
    Path as Way, PeerId, RelayAccess, RelayConfig, RelaySecret, RelayServer, RelayServerConfig,
    TraversalConfig, TraversalEvent, Traversed,
};
use std::collections::hash_map::RandomState;
use std::error::Error;
use std::hash::{BuildHasher, Hasher};
use std::io::BufRead;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

const PEER: PeerId = PeerId(1);
/// The end of 32-bit time, in 2038.
const EXPIRES: u64 = i32::MAX as u64;
const FRAME: Duration = Duration::from_micros(16_667);

/// What the variable `SAMESTEP_PROGRAM` asks for: `relay ADDRESS`, or `talk ADDRESS RELAY ONE-WAY-MS`.
pub fn run(words: &str) -> Result<(), Box<dyn Error>> {
    // The harness has begun a line.
    println!();
    match words.split(' ').collect::<Vec<_>>()[..] {
        ["relay", listen] => relay(listen.parse()?),
        ["talk", own, relay, one_way_ms] => {
            Talker::new(own.parse()?, relay.parse()?, one_way_ms.parse()?)?.run()
        }
        _ => Err(format!("there is no program {words:?}").into()),
    }
}

fn secret() -> RelaySecret {
    RelaySecret::new(SECRET.as_bytes()).expect("it is long enough")
}

fn seed() -> [u8; 32] {
    let mut seed = [0; 32];
    for chunk in seed.chunks_mut(8) {
        // Seeded by the system; good enough for a test, not for a game.
        chunk.copy_from_slice(&RandomState::new().build_hasher().finish().to_ne_bytes());
    }
    seed
}

fn relay(listen: SocketAddr) -> Result<(), Box<dyn Error>> {
    let mut config = RelayServerConfig::new(listen);
    config.relay = RelayConfig::new(listen.ip());
    let server = RelayServer::start(config, secret(), seed())?;
    println!("relay {}", server.local_addr());
    for _ in std::io::stdin().lines() {}
    Ok(())
}

/// One program that talks to another at 60 Hz.
struct Talker {
    transport: Traversed<Impaired<Udp>>,
    input: Receiver<String>,
    described: Option<String>,
    start: Option<Duration>,
    next_frame: Duration,
    last_heard: Option<Duration>,
    gap: Duration,
    /// Datagrams that came since the path is direct.
    direct: u32,
    is_direct: bool,
}

impl Talker {
    fn new(own: SocketAddr, relay: SocketAddr, one_way_ms: u64) -> Result<Self, Box<dyn Error>> {
        let config = TraversalConfig {
            relay: Some(access(relay, own)?),
            ..TraversalConfig::default()
        };
        let link = LinkConfig {
            latency: Duration::from_millis(one_way_ms),
            ..LinkConfig::default()
        };
        let socket = Udp::with_config(own, &UdpConfig::client())?;
        let socket = Impaired::new(socket, &Path::symmetric(link), 1)?;
        let (send, input) = channel();
        #[expect(clippy::disallowed_methods, reason = "input is read beside the rest")]
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let mut transport = Traversed::new(socket, config, seed())?;
        transport.traversal().add_peer(PEER)?;
        Ok(Self {
            transport,
            input,
            described: None,
            start: None,
            next_frame: Duration::ZERO,
            last_heard: None,
            gap: Duration::ZERO,
            direct: 0,
            is_direct: false,
        })
    }

    fn run(mut self) -> Result<(), Box<dyn Error>> {
        loop {
            match self.input.try_recv() {
                Ok(line) => self.on_line(&line)?,
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => break,
            }
            self.receive()?;
            self.tell();
            self.talk()?;
            let tick = now() + Duration::from_millis(5);
            let until = self.start.map_or(tick, |_| tick.min(self.next_frame));
            self.transport.wait(Some(until))?;
        }
        self.transport.traversal().close(now());
        self.transport.flush()?;
        Ok(())
    }

    fn on_line(&mut self, line: &str) -> Result<(), Box<dyn Error>> {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("start", description) => {
                let traversal = self.transport.traversal();
                traversal.handle_description(now(), PEER, description)?;
                traversal.set_expected(now(), PEER, true);
                self.start = Some(now());
                self.next_frame = now();
            }
            ("gap", _) => {
                let since = self
                    .last_heard
                    .map_or(Duration::ZERO, |heard| now().saturating_sub(heard));
                println!("gap {}", self.gap.max(since).as_millis());
                self.gap = Duration::ZERO;
            }
            (other, _) => return Err(format!("there is no command {other:?}").into()),
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<(), Box<dyn Error>> {
        while let Some(datagram) = self.transport.recv()? {
            if datagram.from != PEER.address() {
                continue;
            }
            self.direct += 1;
            if self.direct == 60 && self.is_direct {
                println!("settled");
            }
            match (self.last_heard.replace(datagram.at), self.start) {
                (Some(last), _) => self.gap = self.gap.max(datagram.at.saturating_sub(last)),
                (None, Some(start)) => {
                    println!("first {}", datagram.at.saturating_sub(start).as_millis());
                }
                // The other was told to start a moment sooner.
                (None, None) => println!("first 0"),
            }
        }
        Ok(())
    }

    fn tell(&mut self) {
        let traversal = self.transport.traversal();
        if traversal.is_gathered() {
            let text = traversal
                .description(PEER)
                .map(|description| description.to_string());
            if let Ok(text) = text
                && self.described.as_ref() != Some(&text)
            {
                println!("description {text}");
                self.described = Some(text);
            }
        }
        while let Some(event) = traversal.poll_event() {
            let since = self.start.map_or(Duration::ZERO, |start| now() - start);
            match event {
                TraversalEvent::PathChanged { path, .. } => {
                    println!("path {path:?} {}", since.as_millis());
                    self.is_direct = path == Way::Direct;
                    self.direct = 0;
                }
                TraversalEvent::Lost { .. } => println!("lost {}", since.as_millis()),
                TraversalEvent::Found { .. } => println!("found {}", since.as_millis()),
                _ => {}
            }
        }
    }

    fn talk(&mut self) -> Result<(), Box<dyn Error>> {
        if self.start.is_some() && now() >= self.next_frame {
            self.next_frame += FRAME;
            self.transport.send(PEER.address(), &[0x80; 200])?;
            self.transport.flush()?;
        }
        Ok(())
    }
}

/// What a lobby would hand out.
fn access(relay: SocketAddr, own: SocketAddr) -> Result<RelayAccess, Box<dyn Error>> {
    let user = format!("user-{}", own.port());
    Ok(secret().issue(relay, &user, EXPIRES)?)
}
