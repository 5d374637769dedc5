//! A network in virtual time: two programs behind routers, a relay, delays and losses; and what the programs notice.

use crate::endpoints::Talk;
use crate::nat::{Nat, NatKind};
use samestep_netem::Rng;
use samestep_traversal::{
    AllocationId, Path, PeerId, Received, Relay, RelayCommand, RelayConfig, RelaySecret,
    RelaySocket, Traversal, TraversalConfig, TraversalEvent,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

pub const UNIX_S: u64 = 2_000_000_000;
pub const FRAME: Duration = Duration::from_nanos(16_666_667);

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

pub fn server() -> SocketAddr {
    addr("203.0.113.5:3478")
}

pub fn secret() -> RelaySecret {
    RelaySecret::new(b"0123456789abcdef").unwrap()
}

/// A program, its router, and what it has noticed.
pub struct Program {
    pub traversal: Traversal,
    pub nat: Nat,
    pub peer: PeerId,
    pub events: Vec<(Duration, TraversalEvent)>,
    /// When a datagram of the game came, when it was sent, and whether it came over the relay.
    pub heard: Vec<(Duration, Duration, bool)>,
    pub strangers: usize,
    /// The game's protocol, if it is to be run; else plain datagrams are sent.
    pub talk: Option<Talk>,
    /// An address that no router translates, if it has one.
    host6: Option<SocketAddr>,
    talks_from: Option<Duration>,
    has_news: bool,
    sent: u64,
}

impl Program {
    pub fn path(&self) -> Path {
        self.traversal.path(self.peer)
    }

    /// When the path became the given kind, at or after a time.
    pub fn became(&self, path: Path, after: Duration) -> Option<Duration> {
        let event = TraversalEvent::PathChanged {
            peer: self.peer,
            path,
        };
        self.when(event, after)
    }

    pub fn when(&self, event: TraversalEvent, after: Duration) -> Option<Duration> {
        let mut events = self.events.iter();
        events
            .find(|(at, told)| *at >= after && *told == event)
            .map(|(at, _)| *at)
    }

    /// The longest time between two datagrams of the game that came in this time.
    pub fn gap(&self, from: Duration, to: Duration) -> Duration {
        let within = self.heard.iter().map(|(at, ..)| *at);
        let times: Vec<Duration> = within.filter(|at| (from..=to).contains(at)).collect();
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.max().unwrap_or(to - from)
    }
}

pub struct World {
    pub now: Duration,
    pub programs: Vec<Program>,
    pub relay: Option<Relay>,
    /// From every program or the relay to the middle of the network.
    pub leg: Duration,
    pub loss: f64,
    /// Whether the programs' routers cannot reach each other.
    pub cut: bool,
    queue: BTreeMap<(Duration, u64), (SocketAddr, SocketAddr, Vec<u8>)>,
    queued: u64,
    /// How many checks, and how many other datagrams, programs have sent to each address.
    pub sent_to: BTreeMap<SocketAddr, (u64, u64)>,
    /// How often the relay has sent to an address from what it lends.
    pub relay_sent_to: BTreeMap<SocketAddr, u64>,
    /// The addresses that the second program says to have, in place of its own; it sends nothing itself.
    pub names: Option<String>,
    captured: Option<Vec<Vec<u8>>>,
    ports: BTreeMap<u16, AllocationId>,
    next_port: u16,
    rng: Rng,
}

impl World {
    /// Two programs behind routers of these kinds; every two of programs and relay are `round_trip` apart.
    pub fn new(kinds: [NatKind; 2], round_trip: Duration, loss: f64, seed: u64) -> Self {
        Self::with(kinds, round_trip, loss, seed, [true; 2], false)
    }

    pub fn with(
        kinds: [NatKind; 2],
        round_trip: Duration,
        loss: f64,
        seed: u64,
        relayed: [bool; 2],
        ipv6: bool,
    ) -> Self {
        let relay = Relay::new(RelayConfig::new(server().ip()), secret(), [9; 32]);
        let program = |i: u8| {
            let host = SocketAddr::from(([10, 0, i, 2], 5000));
            let host6 = ipv6.then(|| addr(&format!("[2001:db8::{}]:5000", i + 1)));
            let hosts: Vec<SocketAddr> = [Some(host), host6].into_iter().flatten().collect();
            let access = secret().issue(server(), ["ada", "bob"][usize::from(i)], UNIX_S + 3600);
            let config = TraversalConfig {
                stun_servers: vec![server()],
                relay: relayed[usize::from(i)].then(|| access.unwrap()),
                strangers: true,
                ..TraversalConfig::default()
            };
            let mut key = [i + 1; 32];
            key[8..16].copy_from_slice(&seed.to_be_bytes());
            let mut traversal = Traversal::new(Duration::ZERO, config, &hosts, key).unwrap();
            let peer = PeerId(u32::from(1 - i));
            traversal.add_peer(peer).unwrap();
            let public = [192, 0, 2, i + 1].into();
            Program {
                traversal,
                nat: Nat::new(kinds[usize::from(i)], public, host, seed * 2 + u64::from(i)),
                peer,
                events: vec![],
                heard: vec![],
                strangers: 0,
                talk: None,
                host6,
                talks_from: None,
                has_news: false,
                sent: 0,
            }
        };
        Self {
            now: Duration::ZERO,
            programs: vec![program(0), program(1)],
            relay: Some(relay),
            leg: round_trip / 4,
            loss,
            cut: false,
            queue: BTreeMap::new(),
            queued: 0,
            sent_to: BTreeMap::new(),
            relay_sent_to: BTreeMap::new(),
            names: None,
            captured: None,
            ports: BTreeMap::new(),
            next_port: 49152,
            rng: Rng::new(seed ^ 0x5eed),
        }
    }

    /// Another relay in place of the first, with these settings; it knows nobody.
    pub fn limit_relay(&mut self, config: RelayConfig) {
        self.relay = Some(Relay::new(config, secret(), [9; 32]));
        self.ports.clear();
    }

    /// Everything that the second program sends in a time.
    pub fn capture(&mut self, time: Duration) -> Vec<Vec<u8>> {
        self.captured = Some(vec![]);
        self.run(time);
        self.captured.take().unwrap()
    }

    /// Gathers, as in a waiting room, then exchanges descriptions; from then on both talk at 60 Hz. Returns when that was.
    pub fn start(&mut self) -> Duration {
        while !self.programs.iter().all(|p| p.traversal.is_gathered()) {
            self.step(self.now + ms(10));
            assert!(self.now < ms(20_000), "nothing gathered");
        }
        // At no particular moment of the client's rhythm.
        self.run(ms(237));
        let mut texts: Vec<String> = self.programs.iter().map(Self::description).collect();
        if let Some(names) = &self.names {
            let credentials: Vec<&str> = texts[1].split(' ').take(3).collect();
            texts[1] = format!("{} {names}", credentials.join(" "));
        }
        for (i, text) in texts.iter().enumerate() {
            let now = self.now;
            let program = &mut self.programs[1 - i];
            let peer = program.peer;
            program
                .traversal
                .handle_description(now, peer, text)
                .unwrap();
            program.traversal.set_expected(now, peer, true);
            program.talks_from = Some(now);
        }
        self.now
    }

    /// What a lobby does while a match runs: it passes on what programs have to say about their addresses.
    fn signal(&mut self) {
        for i in 0..self.programs.len() {
            if !std::mem::take(&mut self.programs[i].has_news) {
                continue;
            }
            let (now, text) = (self.now, Self::description(&self.programs[i]));
            let other = &mut self.programs[1 - i];
            let taken = other.traversal.handle_description(now, other.peer, &text);
            taken.unwrap();
        }
    }

    fn description(program: &Program) -> String {
        let description = program.traversal.description(program.peer);
        description.unwrap().to_string()
    }

    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.step(until);
        }
    }

    /// Goes on to whatever happens next, at most to `until`.
    pub fn step(&mut self, until: Duration) {
        self.drain();
        let mut next = until;
        if let Some(((at, _), _)) = self.queue.first_key_value() {
            next = next.min(*at);
        }
        for program in &mut self.programs {
            let timeout = program.traversal.poll_timeout(self.now);
            let talk = program.talk.as_mut().and_then(Talk::poll_timeout);
            let frame = program
                .talks_from
                .map(|from| from + FRAME * program.sent as u32);
            next = [timeout, frame, talk]
                .into_iter()
                .flatten()
                .fold(next, Duration::min);
        }
        // Nothing may want to be called again at once for ever.
        self.now = next.max(self.now + Duration::from_micros(10)).min(until);
        self.deliver();
        for program in &mut self.programs {
            let due = program.traversal.poll_timeout(self.now);
            if due.is_some_and(|due| due <= self.now) {
                program.traversal.handle_timeout(self.now);
            }
            if let Some(from) = program.talks_from
                && self.now >= from + FRAME * program.sent as u32
            {
                program.sent += 1;
                if let Some(talk) = &mut program.talk {
                    talk.on_frame(self.now);
                    continue;
                }
                let mut datagram = vec![0x80, 0, 0, 0, 0];
                datagram.extend((self.now.as_nanos() as u64).to_be_bytes());
                datagram.resize(200, 0);
                let sent = program.traversal.send(self.now, program.peer, &datagram);
                sent.unwrap();
            }
        }
        if let Some(relay) = &mut self.relay {
            relay.handle_timeout(self.now);
        }
        for program in &mut self.programs {
            if let Some(talk) = &mut program.talk {
                talk.drive(self.now, &mut program.traversal);
            }
        }
        self.drain();
    }

    /// Takes what programs and relay want to send, and what they tell.
    fn drain(&mut self) {
        let mut out = [0; 2000];
        for i in 0..self.programs.len() {
            while let Some(transmit) = self.programs[i].traversal.poll_transmit(&mut out) {
                let program = &mut self.programs[i];
                if i == 1 && self.names.is_some() && program.talks_from.is_some() {
                    continue;
                }
                let shown = match (transmit.to, program.host6) {
                    (SocketAddr::V4(_), _) => program.nat.out(transmit.to),
                    (_, Some(own)) => own,
                    (_, None) => continue,
                };
                let sent = self.sent_to.entry(transmit.to).or_default();
                match out[0] & 0xc0 {
                    0 => sent.0 += 1,
                    _ => sent.1 += 1,
                }
                if let (1, Some(captured)) = (i, &mut self.captured) {
                    captured.push(out[..transmit.len].to_vec());
                }
                self.post(shown, transmit.to, &out[..transmit.len]);
            }
            let (now, program) = (self.now, &mut self.programs[i]);
            while let Some(event) = program.traversal.poll_event() {
                program.has_news |=
                    program.talks_from.is_some() && event == TraversalEvent::DescriptionsChanged;
                program.events.push((now, event));
            }
        }
        self.signal();
        let Some(mut relay) = self.relay.take() else {
            return;
        };
        while let Some(command) = relay.poll_command() {
            match command {
                RelayCommand::Open(id) => {
                    self.next_port += 1;
                    self.ports.insert(self.next_port, id);
                    relay.handle_opened(self.now, id, Some(self.next_port));
                }
                RelayCommand::Close(id) => self.ports.retain(|_, open| *open != id),
            }
        }
        while let Some(transmit) = relay.poll_transmit(&mut out) {
            let from = match transmit.from {
                RelaySocket::Clients => Some(server()),
                RelaySocket::Allocation(id) => {
                    let mut ports = self.ports.iter();
                    let port = ports.find(|(_, open)| **open == id);
                    port.map(|(port, _)| SocketAddr::new(server().ip(), *port))
                }
            };
            if let Some(from) = from {
                if from != server() {
                    *self.relay_sent_to.entry(transmit.to).or_default() += 1;
                }
                self.post(from, transmit.to, &out[..transmit.len]);
            }
        }
        self.relay = Some(relay);
    }

    /// Puts a datagram on the network, with the sender's address as shown there.
    pub fn post(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if self.rng.chance(self.loss) {
            return;
        }
        self.queued += 1;
        let key = (self.now + self.leg * 2, self.queued);
        self.queue.insert(key, (from, to, bytes.to_vec()));
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.queue.first_entry()
            && entry.key().0 <= self.now
        {
            let (from, to, bytes) = entry.remove();
            let relay_ip = server().ip();
            let passes_relay = from.ip() == relay_ip || to.ip() == relay_ip;
            if self.cut && !passes_relay {
                continue;
            }
            if to.ip() == relay_ip {
                self.deliver_to_relay(from, to, &bytes);
                continue;
            }
            let now = self.now;
            for program in &mut self.programs {
                let translated =
                    program.nat.public() == to.ip() && program.nat.host_behind(from, to).is_some();
                if translated || program.host6 == Some(to) {
                    program.take(now, from, &bytes);
                }
            }
        }
    }

    fn deliver_to_relay(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        let id = self.ports.get(&to.port()).copied();
        match (&mut self.relay, id) {
            (Some(relay), _) if to == server() => {
                relay.handle_client(self.now, UNIX_S + self.now.as_secs(), from, bytes);
            }
            (Some(relay), Some(id)) => relay.handle_peer(self.now, id, from, bytes),
            _ => {}
        }
    }
}

impl Program {
    pub fn stop_talking(&mut self) {
        self.talks_from = None;
    }

    pub fn take(&mut self, now: Duration, from: SocketAddr, bytes: &[u8]) {
        match self.traversal.handle_datagram(now, from, bytes) {
            Received::Data { peer, range } => {
                assert_eq!(peer, self.peer);
                if let Some(talk) = &mut self.talk {
                    talk.take(now, peer, &mut bytes[range].to_vec());
                    return;
                }
                let datagram = &bytes[range];
                let sent = datagram.get(5..13).and_then(|sent| sent.try_into().ok());
                if let Some(sent) = sent {
                    let sent = Duration::from_nanos(u64::from_be_bytes(sent));
                    self.heard.push((now, sent, from.ip() == server().ip()));
                }
            }
            Received::Stranger => self.strangers += 1,
            Received::Consumed => {}
        }
    }
}
