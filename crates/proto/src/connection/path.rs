//! Path migration: how a server finds out that a client's address has changed, and how it is not fooled about it.
//!
//! Whoever copies packets and sends them on from elsewhere looks like a client whose address has changed, and may even be faster than the
//! client. Two things tell them apart. A new address must answer a challenge, as in QUIC (RFC 9000, section 8.2). And once it has, the
//! address in use is challenged too: as long as that one answers, nothing has changed (RFC 9000, section 9.3.3). Only a client that is silent there and
//! answers elsewhere is followed. Until that is decided packets go to both.

use core::time::Duration;
use std::net::SocketAddr;

use tracing::{debug, info};

use crate::connection::Connection;
use crate::crypto::mac;
use crate::packet::{Frame, Frames, HEADER_BYTES, PATH_FRAME_BYTES};
use crate::rng::Random;
use crate::rtt::Rtt;

/// Only packets this close to the highest number show where the client is.
const RECENT_PACKETS: u64 = 64;
/// Time between challenges to one new address, at least.
const CHALLENGE_SPACING: Duration = Duration::from_millis(50);
/// Time between challenges to new addresses altogether: what a flood of invented addresses can cost.
const CHALLENGE_PACE: Duration = Duration::from_millis(2);
/// New addresses remembered at a time.
const MAX_CANDIDATES: usize = 32;
/// Challenges to the address in use within a window.
const WINDOW_CHALLENGES: u32 = 4;
/// A window is three round trips, but at least this.
const MIN_WINDOW: Duration = Duration::from_millis(250);
/// Windows of silence that a move takes at most: one, and one more for each time that the address in use has answered lately.
const MAX_WINDOWS: u32 = 4;
/// How long an address is held off after the address in use has answered; it doubles each time.
const FIRST_HOLD: Duration = Duration::from_secs(2);
const LONGEST_HOLD: Duration = Duration::from_secs(64);
/// Held addresses remembered at a time.
const MAX_HELD: usize = 8;
/// An address is held off only while packets come from the one in use.
const HOLD_WITHIN: Duration = Duration::from_secs(1);
/// Challenges to answer at a time.
const MAX_ANSWERS: usize = 4;

/// An address from which authentic packets came and that has not proven to receive any.
#[derive(Debug)]
struct Candidate {
    address: SocketAddr,
    value: u64,
    /// Bytes received from there, and sent there: the second never exceeds the first.
    received: usize,
    sent: usize,
    /// A challenge is due, in this order among the candidates. The order is random: whoever sends more often or at chosen moments is
    /// preferred no more than by their share.
    due: Option<u64>,
    since: Duration,
    next_at: Duration,
}

impl Candidate {
    /// Whether so many bytes may be sent there.
    fn covers(&self, bytes: usize) -> bool {
        self.received.saturating_sub(self.sent) >= bytes
    }
}

/// An address that has proven to receive packets, and the question whether the one in use still does.
#[derive(Debug)]
struct Trial {
    rival: SocketAddr,
    value: u64,
    started: Duration,
    window: Duration,
    windows: u32,
    challenges: u32,
}

impl Trial {
    /// When the next challenge to the address in use is due: four in the first half of each window, so that the last can be answered within it.
    fn next_at(&self) -> Option<Duration> {
        let (window, place) = (
            self.challenges / WINDOW_CHALLENGES,
            self.challenges % WINDOW_CHALLENGES,
        );
        (window < self.windows)
            .then(|| self.started + self.window * window + self.window * place / 6)
    }

    fn ends_at(&self) -> Duration {
        self.started + self.window * self.windows
    }
}

#[derive(Debug)]
struct Held {
    address: SocketAddr,
    lasting: Duration,
    until: Duration,
}

/// A packet of the path check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PathPacket {
    /// An answer to the other end, to where the connection is.
    Answer(u64),
    /// A challenge to where the connection is.
    Current(u64),
    /// A challenge to a new address.
    Candidate(SocketAddr, u64),
}

/// Where the other end might be, and what is asked to find out.
#[derive(Default)]
pub(super) struct PathCheck {
    /// Makes the challenges; drawn with the first packet from elsewhere.
    secret: Option<[u8; 32]>,
    trials: u64,
    candidates: Vec<Candidate>,
    next_challenge_at: Duration,
    trial: Option<Trial>,
    held: Vec<Held>,
    /// How often the address in use has answered in a trial lately, and when it last did.
    confirmed: u32,
    confirmed_at: Duration,
    /// When an authentic packet last came from the address in use.
    heard_at: Duration,
    answers: Vec<u64>,
    /// The last packet that goes to a second address, and which, until it has left.
    copy: Vec<u8>,
    copy_to: Option<SocketAddr>,
}

impl PathCheck {
    /// An authentic packet came from the address in use.
    fn on_packet_from_current(&mut self, now: Duration) {
        self.heard_at = self.heard_at.max(now);
    }

    /// An authentic packet of this length came from elsewhere. `challenge_bytes`: what a challenge takes.
    fn on_packet_from_elsewhere(
        &mut self,
        now: Duration,
        address: SocketAddr,
        bytes: usize,
        challenge_bytes: usize,
        random: &mut Random,
    ) {
        let is_rival = |trial: &Trial| trial.rival == address;
        if self.trial.as_ref().is_some_and(is_rival) || self.is_held(now, address) {
            return;
        }
        let secret = self.secret.get_or_insert_with(|| random.bytes());
        let index = match self.candidates.iter().position(|c| c.address == address) {
            Some(index) => index,
            None => {
                debug!(%address, "packet from a new address");
                self.candidates.push(Candidate {
                    address,
                    value: challenge_value(secret, address),
                    received: 0,
                    sent: 0,
                    due: None,
                    since: now,
                    next_at: now,
                });
                self.candidates.len() - 1
            }
        };
        let candidate = &mut self.candidates[index];
        candidate.received = candidate.received.saturating_add(bytes);
        if candidate.covers(challenge_bytes) && candidate.due.is_none() && candidate.next_at <= now
        {
            candidate.due = Some(random.next_u64());
        }
        self.shrink();
    }

    /// Drops a candidate if there are too many: one that is not to be challenged now, else the last in order.
    fn shrink(&mut self) {
        if self.candidates.len() <= MAX_CANDIDATES {
            return;
        }
        let order = |candidate: &Candidate| (candidate.due.is_none(), candidate.due);
        let last = (0..self.candidates.len()).max_by_key(|i| order(&self.candidates[*i]));
        if let Some(last) = last {
            self.candidates.swap_remove(last);
        }
    }

    fn is_held(&self, now: Duration, address: SocketAddr) -> bool {
        let is_heard = now < self.heard_at + HOLD_WITHIN;
        let mut held = self.held.iter().filter(|held| held.address == address);
        is_heard && held.any(|held| now < held.until)
    }

    /// Whether it matters now that packets come from the address in use.
    fn is_contested(&self) -> bool {
        !self.held.is_empty()
    }

    /// The other end wants to know whether packets reach us.
    fn on_challenge(&mut self, value: u64) {
        if self.answers.len() < MAX_ANSWERS {
            self.answers.push(value);
        }
    }

    /// A challenge has been answered in an authentic packet. Which address it was sent to follows from its value: the answer may
    /// come through somebody who copies packets.
    fn on_response(&mut self, now: Duration, from: SocketAddr, value: u64, round_trip: Duration) {
        let Some(secret) = &self.secret else { return };
        if let Some(trial) = &self.trial {
            if trial.value == value {
                let rival = trial.rival;
                debug!(%rival, "the address in use has answered, the new one is held off");
                self.trial = None;
                self.copy_to = None;
                self.hold(now, rival);
            }
            return;
        }
        let index = self.candidates.iter().position(|c| c.value == value);
        let rival = match index {
            Some(index) => self.candidates.swap_remove(index).address,
            // It had to make place for others meanwhile.
            None if challenge_value(secret, from) == value => from,
            None => return,
        };
        if self.is_held(now, rival) {
            return;
        }
        if now > self.confirmed_at + LONGEST_HOLD {
            self.confirmed = 0;
        }
        self.trials += 1;
        let value = mac(secret, b"SStptria", &[&self.trials.to_le_bytes()]);
        let windows = (self.confirmed + 1).min(MAX_WINDOWS);
        debug!(%rival, windows, "a new address has answered, the one in use is challenged");
        self.trial = Some(Trial {
            rival,
            value: first_u64(&value),
            started: now,
            window: (3 * round_trip).max(MIN_WINDOW),
            windows,
            challenges: 0,
        });
    }

    fn hold(&mut self, now: Duration, address: SocketAddr) {
        self.confirmed = self.confirmed.saturating_add(1);
        self.confirmed_at = now;
        let before = self.held.iter().position(|held| held.address == address);
        let before = before.map(|index| self.held.swap_remove(index).lasting);
        let lasting = before.map_or(FIRST_HOLD, |lasting| (2 * lasting).min(LONGEST_HOLD));
        if self.held.len() == MAX_HELD {
            let first = (0..MAX_HELD).min_by_key(|i| self.held[*i].until);
            self.held.swap_remove(first.unwrap_or_default());
        }
        self.held.push(Held {
            address,
            lasting,
            until: now + lasting,
        });
    }

    /// Where the connection has moved to, if the address in use has been silent for long enough.
    fn verdict(&mut self, now: Duration) -> Option<SocketAddr> {
        let trial = self.trial.take_if(|trial| trial.ends_at() <= now)?;
        self.candidates.clear();
        self.held.retain(|held| held.address != trial.rival);
        self.heard_at = now;
        self.copy_to = None;
        Some(trial.rival)
    }

    /// The next challenge or answer to send.
    pub(super) fn poll(&mut self, now: Duration, challenge_bytes: usize) -> Option<PathPacket> {
        if let Some(value) = self.answers.pop() {
            return Some(PathPacket::Answer(value));
        }
        if let Some(trial) = &mut self.trial
            && trial.next_at().is_some_and(|at| at <= now)
        {
            trial.challenges += 1;
            return Some(PathPacket::Current(trial.value));
        }
        if now < self.next_challenge_at {
            return None;
        }
        let due = self.candidates.iter_mut().filter(|c| c.due.is_some());
        let candidate = due.min_by_key(|candidate| candidate.due)?;
        candidate.due = None;
        candidate.sent += challenge_bytes;
        candidate.next_at = now + CHALLENGE_SPACING;
        self.next_challenge_at = now + CHALLENGE_PACE;
        Some(PathPacket::Candidate(candidate.address, candidate.value))
    }

    /// When something is to be sent or decided.
    pub(super) fn next_at(&self) -> Option<Duration> {
        if !self.answers.is_empty() || self.copy_to.is_some() {
            return Some(Duration::ZERO);
        }
        let trial = self.trial.as_ref();
        let trial = trial.map(|trial| trial.next_at().unwrap_or(trial.ends_at()));
        let is_due = self.candidates.iter().any(|c| c.due.is_some());
        let challenge = is_due.then_some(self.next_challenge_at);
        trial.into_iter().chain(challenge).min()
    }

    /// A packet leaves for the address in use. While a rival is on trial it gets the same. So does a lone candidate at first, as far as what came
    /// from there covers it: most are clients that hear nothing at the moment.
    pub(super) fn on_sent(&mut self, now: Duration, packet: &[u8]) {
        let to = match (&self.trial, &mut self.candidates[..]) {
            (Some(trial), _) => trial.rival,
            (None, [alone])
                if alone.sent > 0
                    && now < alone.since + MIN_WINDOW
                    && alone.covers(packet.len()) =>
            {
                alone.sent += packet.len();
                alone.address
            }
            _ => return,
        };
        self.copy.clear();
        self.copy.extend_from_slice(packet);
        self.copy_to = Some(to);
    }

    /// The packet that another address is to get too.
    pub(super) fn poll_copy(&mut self, buf: &mut [u8]) -> Option<(SocketAddr, usize)> {
        let to = self.copy_to.take()?;
        buf[..self.copy.len()].copy_from_slice(&self.copy);
        Some((to, self.copy.len()))
    }
}

/// What an address is challenged with. It follows from the address, so that nothing has to be kept about it.
fn challenge_value(secret: &[u8; 32], address: SocketAddr) -> u64 {
    let (ip, port) = (address.ip(), address.port().to_le_bytes());
    let value = match ip {
        std::net::IpAddr::V4(ip) => mac(secret, b"SStppath", &[&ip.octets(), &port]),
        std::net::IpAddr::V6(ip) => mac(secret, b"SStppath", &[&ip.octets(), &port]),
    };
    first_u64(&value)
}

fn first_u64(bytes: &[u8; 32]) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(first)
}

impl Connection {
    /// Whether a packet from this address is looked at. A client knows where its server is; nothing in the protocol tells it otherwise.
    pub(super) fn listens_to(&self, from: SocketAddr) -> bool {
        from == self.peer || self.incoming_from.is_some()
    }

    /// Bytes of a packet that carries a challenge.
    pub(super) fn challenge_bytes(&self) -> usize {
        HEADER_BYTES + PATH_FRAME_BYTES + self.crypto.overhead()
    }

    /// Whether a packet with this number says where the other end is now.
    pub(super) fn is_recent(&self, number: u64) -> bool {
        number.saturating_add(RECENT_PACKETS) >= self.received.expected()
    }

    /// A recent and authentic packet of so many bytes.
    pub(super) fn note_source(
        &mut self,
        now: Duration,
        from: SocketAddr,
        bytes: usize,
        random: &mut Random,
    ) {
        if from == self.peer {
            self.path.on_packet_from_current(now);
        } else {
            let challenge = self.challenge_bytes();
            self.path
                .on_packet_from_elsewhere(now, from, bytes, challenge, random);
        }
    }

    /// A packet whose number has been received before. Nothing in it counts again, but it shows where it comes from: with a copier
    /// on the way who is faster, every packet of the client itself is such a repetition.
    pub(super) fn on_duplicate(
        &mut self,
        now: Duration,
        from: SocketAddr,
        number: u64,
        datagram: &mut [u8],
        random: &mut Random,
    ) {
        let matters = from != self.peer || self.path.is_contested();
        if !matters || !self.is_usable() || !self.is_recent(number) {
            return;
        }
        let Some(body) = self.open_packet(number, datagram) else {
            return;
        };
        let mut frames = Frames::new(&datagram[body], self.sent.next(), self.sequenced);
        while let Ok(Some(frame)) = frames.next() {
            if let Frame::PathResponse(value) = frame {
                self.on_path_response(now, from, value);
            }
        }
        self.note_source(now, from, datagram.len(), random);
    }

    pub(super) fn on_path_challenge(&mut self, from: SocketAddr, value: u64) {
        if from == self.peer {
            self.path.on_challenge(value);
        }
    }

    pub(super) fn on_path_response(&mut self, now: Duration, from: SocketAddr, value: u64) {
        let round_trip = self.rtt.smoothed();
        self.path.on_response(now, from, value, round_trip);
    }

    /// Follows the other end if it is silent where it was and has answered elsewhere.
    pub(super) fn judge_path(&mut self, now: Duration) {
        let Some(to) = self.path.verdict(now) else {
            return;
        };
        info!(from = %self.peer, %to, "path changed");
        self.peer = to;
        self.moved = true;
        self.rtt = Rtt::new();
        self.congestion.on_path_change(now);
    }
}
