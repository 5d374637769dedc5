//! The attackers: many addresses with handshakes that are never finished, or one with Connects that cost as much as possible.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use samestep::proto::{Config, ConnectOptions};
use samestep::transport;
use samestep_netem::Rng;
use samestep_proto::Endpoint;

use super::{DAMAGED, Signals};
use crate::parameters::Case;
use crate::real::LOCALHOST;

/// How many sockets the attack with bogus handshakes has.
const SOURCES: usize = 16;

/// Where damaged Connects come from: not where players and newcomers are.
const ATTACKER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 66));

/// The attackers send this often, as many datagrams as are due.
const BEAT: Duration = Duration::from_millis(1);

/// A cookie is renewed this often: it is good for 30 s.
const RENEWAL: Duration = Duration::from_secs(1);

/// First bytes of datagrams (WIRE.md, section 2).
const HELLO: u8 = 0x01;
const RETRY: u8 = 0x02;
const CONNECT: u8 = 0x03;

/// Bytes of a Connect before its body.
const HEADER: usize = 67;

/// Attacks in the attacked phases, until the siege is over.
pub(super) fn attack(
    case: &Case,
    config: &Config,
    to: SocketAddr,
    seed: u64,
    signals: &Signals,
) -> io::Result<()> {
    let mut endpoint_seed = [0; 32];
    endpoint_seed[..8].copy_from_slice(&seed.to_le_bytes());
    let endpoint = Endpoint::new(config.clone(), endpoint_seed).map_err(io::Error::other)?;
    let per_beat = case.number("attack_hz") * BEAT.as_secs_f64();
    let mut attacker: Box<dyn FnMut(Duration) -> u64> = match case.text("attack") {
        DAMAGED => {
            let mut damaged = DamagedConnects::new(endpoint, to, per_beat, seed)?;
            Box::new(move |now| damaged.beat(now))
        }
        _ => {
            let with_cookie = case.number("with_cookie");
            let mut bogus = BogusHandshakes::new(endpoint, to, per_beat, with_cookie)?;
            Box::new(move |now| bogus.beat(now))
        }
    };
    let mut next = transport::now();
    while !signals.is_over() {
        next += BEAT;
        thread::sleep(next.saturating_sub(transport::now()));
        if signals.is_attacked() {
            let sent = attacker(transport::now());
            signals.attacks.fetch_add(sent, Ordering::Relaxed);
        }
    }
    Ok(())
}

fn socket(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Hellos from many sockets; some go on with the cookie they got, make the server compute, and never confirm.
struct BogusHandshakes {
    endpoint: Endpoint,
    to: SocketAddr,
    sockets: Vec<UdpSocket>,
    per_beat: f64,
    with_cookie: f64,
    due: f64,
    due_with_cookie: f64,
    hello: Vec<u8>,
}

impl BogusHandshakes {
    fn new(
        endpoint: Endpoint,
        to: SocketAddr,
        per_beat: f64,
        with_cookie: f64,
    ) -> io::Result<Self> {
        Ok(Self {
            endpoint,
            to,
            sockets: (0..SOURCES)
                .map(|_| socket(LOCALHOST))
                .collect::<io::Result<_>>()?,
            per_beat,
            with_cookie,
            due: 0.0,
            due_with_cookie: 0.0,
            hello: Vec::new(),
        })
    }

    fn beat(&mut self, now: Duration) -> u64 {
        let mut buf = [0; 2048];
        let mut sent = 0;
        self.endpoint.handle_timeout(now);
        while self.endpoint.poll_event().is_some() {}
        self.due += self.per_beat;
        self.due_with_cookie += self.per_beat * self.with_cookie;
        while self.due_with_cookie >= 1.0 {
            self.due_with_cookie -= 1.0;
            let _ = self
                .endpoint
                .connect(now, self.to, ConnectOptions::default());
        }
        // Answers with cookies go on; acceptances are left hanging.
        while let Ok((len, from)) = self.sockets[0].recv_from(&mut buf) {
            if buf[0] == RETRY {
                self.endpoint.handle_datagram(now, from, &mut buf[..len]);
            }
        }
        while let Some(packet) = self.endpoint.poll_transmit(now, &mut buf) {
            if buf[0] == HELLO {
                self.hello = buf[..packet.len].to_vec();
            }
            let _ = self.sockets[0].send_to(&buf[..packet.len], self.to);
            sent += 1;
            self.due -= 1.0;
        }
        let mut source = 0;
        while self.due >= 1.0 && !self.hello.is_empty() {
            self.due -= 1.0;
            source = source % (SOURCES - 1) + 1;
            let _ = self.sockets[source].send_to(&self.hello, self.to);
            sent += 1;
        }
        sent
    }
}

/// Connects with a valid cookie whose body is damaged in another way each time, so that the server finds out by computing.
struct DamagedConnects {
    endpoint: Endpoint,
    to: SocketAddr,
    socket: UdpSocket,
    per_beat: f64,
    due: f64,
    renewed: Option<Duration>,
    connect: Vec<u8>,
    random: Rng,
}

impl DamagedConnects {
    fn new(endpoint: Endpoint, to: SocketAddr, per_beat: f64, seed: u64) -> io::Result<Self> {
        Ok(Self {
            endpoint,
            to,
            socket: socket(SocketAddr::new(ATTACKER, 0))?,
            per_beat,
            due: 0.0,
            renewed: None,
            connect: Vec::new(),
            random: Rng::new(seed),
        })
    }

    fn beat(&mut self, now: Duration) -> u64 {
        self.renew(now);
        if self.connect.is_empty() {
            return 0;
        }
        let mut sent = 0;
        self.due += self.per_beat;
        while self.due >= 1.0 {
            self.due -= 1.0;
            let body = (self.connect.len() - 4 - HEADER) as u64;
            let at = HEADER + self.random.range(0..body) as usize;
            let change = 1 + self.random.range(0..255) as u8;
            self.connect[at] = self.connect[at].wrapping_add(change);
            close(&mut self.connect);
            sent += u64::from(self.socket.send_to(&self.connect, self.to).is_ok());
        }
        sent
    }

    /// Asks for a cookie now and then, and keeps the Connect that it leads to instead of sending it.
    fn renew(&mut self, now: Duration) {
        let mut buf = [0; 2048];
        self.endpoint.handle_timeout(now);
        while self.endpoint.poll_event().is_some() {}
        if self.renewed.is_none_or(|renewed| now >= renewed + RENEWAL) {
            self.renewed = Some(now);
            let _ = self
                .endpoint
                .connect(now, self.to, ConnectOptions::default());
        }
        while let Ok((len, from)) = self.socket.recv_from(&mut buf) {
            if buf[0] == RETRY {
                self.endpoint.handle_datagram(now, from, &mut buf[..len]);
            }
        }
        while let Some(packet) = self.endpoint.poll_transmit(now, &mut buf) {
            match buf[0] {
                CONNECT => self.connect = buf[..packet.len].to_vec(),
                _ => {
                    let _ = self.socket.send_to(&buf[..packet.len], self.to);
                }
            }
        }
    }
}

/// Makes the checksum at the end of a handshake datagram fit (WIRE.md, *Plain packets*). It is no secret: it finds damage, not forgers.
fn close(datagram: &mut [u8]) {
    let mut state = 0x5353_7470_u64;
    let keys: [u64; 4] = std::array::from_fn(|_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    });
    let mix = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product >> 64) as u64 ^ product as u64
    };
    let end = datagram.len() - 4;
    let content = &datagram[..end];
    let word = |at: usize| u64::from_le_bytes(content[at..at + 8].try_into().expect("8 bytes"));
    let mut hash = mix(keys[0], end as u64 ^ keys[1]);
    for block in 0..(end - 1) / 16 {
        hash = mix(word(16 * block) ^ keys[2], word(16 * block + 8) ^ hash);
    }
    hash = mix(word(end - 16) ^ keys[3], word(end - 8) ^ hash);
    datagram[end..].copy_from_slice(&((hash ^ (hash >> 32)) as u32).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_protocol() {
        let config = crate::pair::config(&[]);
        let config = Config {
            channels: vec![samestep::proto::ChannelConfig::new(
                samestep::proto::Delivery::Unreliable,
            )],
            ..config
        };
        let mut endpoint = Endpoint::new(config, [7; 32]).unwrap();
        let to = "10.0.0.1:1".parse().unwrap();
        endpoint
            .connect(Duration::ZERO, to, ConnectOptions::default())
            .unwrap();
        let mut buf = [0; 2048];
        let hello = endpoint.poll_transmit(Duration::ZERO, &mut buf).unwrap();
        let mut closed = buf[..hello.len].to_vec();
        close(&mut closed);
        assert_eq!(closed, buf[..hello.len]);
        closed[20] ^= 1;
        close(&mut closed);
        assert_ne!(closed[hello.len - 4..], buf[hello.len - 4..hello.len]);
    }
}
