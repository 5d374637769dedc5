//! The endpoint: owns its connections, and is all the outside talks to.

mod accept;
mod connect;
mod limits;

use core::cmp::Reverse;
use core::time::Duration;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tracing::{debug_span, info, trace, warn};

use crate::config::{Config, ConfigError};
use crate::connection::{Connection, State};
use crate::crypto::wipe_stack;
use crate::event::{CloseReason, DeliveryReport, Event, Message, SendError, Transmit};
use crate::exchange::Exchange;
use crate::handshake::{Datagram, DecodeError, RefuseReason, hash64};
use crate::id::{ChannelId, ConnectionId, MessageId};
use crate::key::{Identity, PublicKey};
use crate::packet::decode_header;
use crate::rng::Random;
use crate::stats::{EndpointStats, Stats};
use accept::Acceptor;
use connect::Attempt;

/// Answers to strangers waiting to leave; more are dropped.
const MAX_REPLIES: usize = 64;
/// Outgoing attempts and connections together.
const MAX_SLOTS: usize = u16::MAX as usize;

/// A network endpoint without IO: datagrams and the time go in, datagrams and events come out.
///
/// Call [`handle_datagram`](Self::handle_datagram) for what arrives, [`handle_timeout`](Self::handle_timeout) when
/// [`poll_timeout`](Self::poll_timeout) says so, and after either, and after `send`, drain
/// [`poll_transmit`](Self::poll_transmit) and [`poll_event`](Self::poll_event). `now` is the time since any fixed
/// moment; it should not run backwards by more than the jitter of receive timestamps.
#[derive(Debug)]
pub struct Endpoint {
    config: Arc<Config>,
    channels_hash: u64,
    identity: Identity,
    random: Random,
    slots: Vec<Slot>,
    free: VecDeque<u16>,
    /// Slots of attempts to connect.
    connecting: Vec<u16>,
    acceptor: Option<Acceptor>,
    /// Slots that may have something to send.
    ready: VecDeque<u16>,
    timers: BinaryHeap<Reverse<(Duration, u16)>>,
    events: VecDeque<Event>,
    replies: VecDeque<(SocketAddr, Vec<u8>)>,
    bans: BTreeMap<IpAddr, Duration>,
    stats: EndpointStats,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Free,
    Connecting(Box<Attempt>),
    Connection(Box<Connection>),
}

impl Endpoint {
    /// An endpoint with these settings. All its randomness, keys included, comes from `seed`: take it from the
    /// operating system, or fix it to replay a run.
    pub fn new(config: Config, seed: [u8; 32]) -> Result<Self, ConfigError> {
        config.check()?;
        let mut random = Random::new(seed);
        let channels_hash = hash_channels(&config);
        let identity = match &config.identity {
            Some(identity) => identity.clone(),
            None => Identity::generate(&mut random),
        };
        let acceptor = config
            .accept
            .as_ref()
            .map(|accept| Acceptor::new(accept, &mut random));
        Ok(Self {
            config: Arc::new(config),
            channels_hash,
            identity,
            random,
            slots: Vec::new(),
            free: VecDeque::new(),
            connecting: Vec::new(),
            acceptor,
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            events: VecDeque::new(),
            replies: VecDeque::new(),
            bans: BTreeMap::new(),
            stats: EndpointStats::default(),
        })
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The key by which others recognise this endpoint, as a server and as a client.
    pub fn public_key(&self) -> PublicKey {
        self.identity.public_key()
    }

    /// Takes a datagram that arrived at `now`. It is decrypted in place. Returns the connection it belongs to, if it is an
    /// authentic and new packet of one: only there can be exchanges or delivery reports that were not there before.
    pub fn handle_datagram(
        &mut self,
        now: Duration,
        from: SocketAddr,
        datagram: &mut [u8],
    ) -> Option<ConnectionId> {
        if !self.bans.is_empty() && self.is_banned(now, from.ip()) {
            self.stats.banned += 1;
            let nonce = match Datagram::decode(datagram) {
                Ok(Datagram::Hello(hello)) => hello.nonce,
                Ok(Datagram::Connect(connect)) => connect.header.nonce,
                _ => return None,
            };
            if self.acceptor.is_some() {
                self.refuse(from, nonce, RefuseReason::Banned);
            }
            return None;
        }
        if let Some((number, low)) = decode_header(datagram) {
            return self.on_data(now, from, number, low, datagram);
        }
        match Datagram::decode(datagram) {
            Ok(Datagram::Hello(hello)) => self.on_hello(now, from, &hello),
            Ok(Datagram::Connect(connect)) => {
                self.on_connect(now, from, &connect);
                wipe_stack();
            }
            Ok(Datagram::Retry(retry)) => self.on_retry(now, from, &retry),
            Ok(Datagram::Accept(accept)) => {
                self.on_accept(now, from, &accept);
                wipe_stack();
            }
            Ok(Datagram::Refuse(refuse)) => self.on_refuse(from, &refuse),
            Ok(Datagram::Finish(finish)) => self.on_finish(now, from, &finish),
            Err(DecodeError::Protocol { nonce, protocol }) if self.acceptor.is_some() => {
                let theirs = crate::handshake::PROTOCOL_VERSION;
                self.refuse(
                    from,
                    nonce,
                    RefuseReason::Protocol {
                        theirs,
                        ours: protocol,
                    },
                );
            }
            Err(_) => self.stats.malformed += 1,
        }
        None
    }

    fn on_data(
        &mut self,
        now: Duration,
        from: SocketAddr,
        number: u16,
        low: u16,
        datagram: &mut [u8],
    ) -> Option<ConnectionId> {
        let Some(Slot {
            generation,
            content: Content::Connection(connection),
        }) = self.slots.get_mut(usize::from(number))
        else {
            self.stats.unknown_connection += 1;
            return None;
        };
        let id = ConnectionId {
            slot: number,
            generation: *generation,
        };
        if connection.has_timed_out(now) {
            // A program that was suspended reads what had come before its time-outs are handled: the other end has given up long ago.
            connection.handle_timeout(now);
            self.after(number);
            return None;
        }
        let unconfirmed = matches!(connection.state, State::Unconfirmed { .. });
        let span = debug_span!("connection", %id).entered();
        trace!(%from, bytes = datagram.len(), "packet received");
        if !connection.handle_packet(now, from, low, datagram, &mut self.random) {
            if connection.wants_attention() {
                self.after(number);
            }
            return None;
        }
        drop(span);
        if unconfirmed {
            self.confirm(now, id);
        }
        self.after(number);
        Some(id)
    }

    /// Lets time pass. Call it when `poll_timeout` is due; calling it more often does no harm.
    pub fn handle_timeout(&mut self, now: Duration) {
        while let Some(&Reverse((at, slot))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            let place = &mut self.slots[usize::from(slot)];
            match &mut place.content {
                Content::Free => {}
                Content::Connecting(attempt) => {
                    if attempt.is_over(now) {
                        let reason = attempt.failure();
                        self.fail_attempt(slot, reason);
                    } else {
                        self.ready.push_back(slot);
                    }
                }
                Content::Connection(connection) => {
                    if connection.timer == Some(at) {
                        connection.timer = None;
                    }
                    let id = ConnectionId {
                        slot,
                        generation: place.generation,
                    };
                    debug_span!("connection", %id).in_scope(|| connection.handle_timeout(now));
                    self.after(slot);
                }
            }
        }
    }

    /// When `handle_timeout` wants to be called next.
    pub fn poll_timeout(&mut self) -> Option<Duration> {
        self.timers.peek().map(|Reverse((at, _))| *at)
    }

    /// Fills `buf`, which holds at least `max_packet` bytes, with the next datagram to send. Call until `None`.
    ///
    /// # Panics
    /// If `buf` is shorter than `max_packet`.
    pub fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        assert!(
            buf.len() >= self.config.max_packet,
            "the buffer must hold max_packet bytes"
        );
        if let Some((to, reply)) = self.replies.pop_front() {
            buf[..reply.len()].copy_from_slice(&reply);
            return Some(Transmit {
                to,
                len: reply.len(),
            });
        }
        while let Some(&slot) = self.ready.front() {
            let place = &mut self.slots[usize::from(slot)];
            let generation = place.generation;
            let sent = match &mut place.content {
                Content::Free => None,
                Content::Connecting(attempt) => {
                    let sent = attempt.poll_transmit(now, buf);
                    if sent.is_some() {
                        self.timers.push(Reverse((attempt.next_at(), slot)));
                    }
                    sent
                }
                Content::Connection(connection) => connection.poll_transmit(now, buf),
            };
            if let Some((to, len)) = sent {
                let id = ConnectionId { slot, generation };
                trace!(%id, %to, bytes = len, "packet sent");
                return Some(Transmit { to, len });
            }
            self.ready.pop_front();
            if let Content::Connection(connection) = &mut self.slots[usize::from(slot)].content {
                connection.queued = false;
                self.schedule(now, slot);
            }
        }
        None
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Queues a message. It leaves with the next packets taken from `poll_transmit`.
    pub fn send(
        &mut self,
        now: Duration,
        to: ConnectionId,
        channel: ChannelId,
        message: &[u8],
    ) -> Result<MessageId, SendError> {
        let connection = self.connection(to).ok_or(SendError::NotConnected)?;
        let id = connection.send(now, channel, message)?;
        if !connection.queued {
            connection.queued = true;
            self.ready.push_back(to.slot);
        }
        Ok(id)
    }

    /// The next message received on a connection.
    pub fn recv(&mut self, from: ConnectionId) -> Option<Message<'_>> {
        let connection = self.connection(from)?;
        connection
            .recv()
            .map(|(channel, payload)| Message { channel, payload })
    }

    /// The next known fate of a message sent on a channel with `report`.
    pub fn poll_delivery(&mut self, of: ConnectionId) -> Option<DeliveryReport> {
        self.connection(of)?.poll_delivery()
    }

    /// The next pair of times at which a packet and its acknowledgement passed both ends, oldest first. Only the last
    /// few are kept.
    pub fn poll_exchange(&mut self, of: ConnectionId) -> Option<Exchange> {
        self.connection(of)?.poll_exchange()
    }

    /// Sends a packet that the other end acknowledges, to measure the way or the other end's clock. Anything sent
    /// anyway does the same.
    pub fn ping(&mut self, id: ConnectionId) {
        let Some(connection) = self.connection(id) else {
            return;
        };
        connection.ping();
        if !connection.queued {
            connection.queued = true;
            self.ready.push_back(id.slot);
        }
    }

    /// Changes how long acknowledgements of packets that hold nothing reliable may wait for something to travel with, on all connections and
    /// those to come: see [`Config::ack_patience`]. Where both ends send often anyway, that saves a packet for each that arrives.
    pub fn set_ack_patience(&mut self, patience: Duration) {
        if self.config.ack_patience == patience {
            return;
        }
        Arc::make_mut(&mut self.config).ack_patience = patience;
        for slot in &mut self.slots {
            if let Content::Connection(connection) = &mut slot.content {
                connection.set_config(&self.config);
            }
        }
    }

    /// Closes a connection once everything reliable has arrived (or `close_timeout` has passed), giving the other end a
    /// code and up to 255 bytes of reason.
    pub fn close(&mut self, now: Duration, id: ConnectionId, code: u32, reason: &str) {
        self.end(id, |connection| connection.close(now, code, reason));
    }

    /// Closes a connection at once; what was queued is lost.
    pub fn abort(&mut self, now: Duration, id: ConnectionId, code: u32, reason: &str) {
        self.end(id, |connection| connection.abort(now, code, reason));
    }

    fn end(&mut self, id: ConnectionId, how: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.connection(id) {
            how(connection);
            self.after(id.slot);
        } else if self.is_connecting(id) {
            self.fail_attempt(id.slot, CloseReason::Local);
        }
    }

    /// Bytes that may leave on a connection now without waiting: what a tick's worth of state should fit.
    pub fn budget(&mut self, now: Duration, id: ConnectionId) -> usize {
        self.connection(id).map_or(0, |c| c.budget(now))
    }

    /// All connections, those being closed included.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> {
        self.slots.iter().zip(0..).filter_map(|(place, slot)| {
            matches!(place.content, Content::Connection(_)).then_some(ConnectionId {
                slot,
                generation: place.generation,
            })
        })
    }

    /// Bytes a second that the application may offer to a connection without filling queues: more than is measured as long as nothing
    /// waits, less as soon as something does. It grows by a quarter a call at most: call it at steady intervals, such as ten times a second.
    pub fn available_rate(&mut self, id: ConnectionId) -> Option<u64> {
        Some(self.connection(id)?.available_rate())
    }

    /// Counters and estimates of a connection.
    pub fn stats(&self, id: ConnectionId) -> Option<Stats> {
        match self.slots.get(usize::from(id.slot)) {
            Some(Slot {
                generation,
                content: Content::Connection(c),
            }) if *generation == id.generation => Some(c.stats()),
            _ => None,
        }
    }

    /// Whether there is nothing left that the other ends have to hear: no connection is open, being opened or being
    /// closed. Connections that the other end has closed may still linger.
    pub fn is_quiet(&self) -> bool {
        let settled = |content: &Content| match content {
            Content::Free => true,
            Content::Connecting(_) => false,
            Content::Connection(c) => c.is_settled(),
        };
        self.replies.is_empty() && self.slots.iter().all(|slot| settled(&slot.content))
    }

    /// Counters of everything outside connections.
    pub fn endpoint_stats(&self) -> &EndpointStats {
        &self.stats
    }

    /// Where the other end of a connection is.
    pub fn peer_address(&self, id: ConnectionId) -> Option<SocketAddr> {
        match &self.slots.get(usize::from(id.slot))?.content {
            Content::Connection(c)
                if self.slots[usize::from(id.slot)].generation == id.generation =>
            {
                Some(c.peer)
            }
            _ => None,
        }
    }

    /// Ignores an address for a while: its open connections are closed, new ones refused.
    pub fn ban(&mut self, now: Duration, address: IpAddr, lasting: Duration) {
        for slot in 0..self.slots.len() as u16 {
            let Slot {
                generation,
                content: Content::Connection(connection),
            } = &mut self.slots[usize::from(slot)]
            else {
                continue;
            };
            if connection.peer.ip() == address {
                let id = ConnectionId {
                    slot,
                    generation: *generation,
                };
                self.abort(now, id, 0, "banned");
            }
        }
        self.bans.insert(address, now + lasting);
    }

    /// Bytes held for all connections and queues, approximately.
    pub fn memory_bytes(&self) -> usize {
        let slots: usize = self
            .slots
            .iter()
            .map(|slot| match &slot.content {
                Content::Free => 0,
                Content::Connecting(_) => 2048,
                Content::Connection(c) => c.memory_bytes(),
            })
            .sum();
        let replies: usize = self.replies.iter().map(|(_, r)| r.len()).sum();
        slots + replies + self.timers.len() * 24 + self.events.len() * 64
    }

    fn connection(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        match self.slots.get_mut(usize::from(id.slot)) {
            Some(Slot {
                generation,
                content: Content::Connection(connection),
            }) if *generation == id.generation => Some(connection),
            _ => None,
        }
    }

    fn is_banned(&mut self, now: Duration, address: IpAddr) -> bool {
        match self.bans.get(&address) {
            Some(until) if *until > now => true,
            Some(_) => {
                self.bans.remove(&address);
                false
            }
            None => false,
        }
    }

    /// Emits the events of a connection, and schedules its packets and timers.
    fn after(&mut self, slot: u16) {
        let place = &mut self.slots[usize::from(slot)];
        let Content::Connection(connection) = &mut place.content else {
            return;
        };
        let id = ConnectionId {
            slot,
            generation: place.generation,
        };
        if connection.has_messages() && !connection.readable_announced {
            connection.readable_announced = true;
            self.events.push_back(Event::Readable { id });
        }
        if connection.moved {
            connection.moved = false;
            self.events.push_back(Event::Moved {
                id,
                to: connection.peer,
            });
        }
        if let Some(reason) = connection.closed.take() {
            match &reason {
                CloseReason::Local | CloseReason::Remote { .. } => {
                    info!(%id, %reason, "connection closed");
                }
                _ => warn!(%id, %reason, "connection lost"),
            }
            self.events.push_back(Event::Closed { id, reason });
        }
        if matches!(connection.state, State::Gone) {
            self.free_slot(slot);
            return;
        }
        if !connection.queued {
            connection.queued = true;
            self.ready.push_back(slot);
        }
    }

    /// Makes sure a timer fires when the connection next wants one.
    fn schedule(&mut self, now: Duration, slot: u16) {
        let Content::Connection(connection) = &mut self.slots[usize::from(slot)].content else {
            return;
        };
        let Some(at) = connection.next_timeout(now) else {
            return;
        };
        if connection.timer.is_none_or(|timer| at < timer) {
            connection.timer = Some(at);
            self.timers.push(Reverse((at, slot)));
        }
    }

    fn take_slot(&mut self) -> Option<u16> {
        // The longest unused first, so that stray packets of an old connection seldom meet a new one.
        if let Some(slot) = (self.free.len() > 8 || self.slots.len() >= MAX_SLOTS)
            .then(|| self.free.pop_front())
            .flatten()
        {
            return Some(slot);
        }
        if self.slots.len() >= MAX_SLOTS {
            return None;
        }
        self.slots.push(Slot {
            generation: 0,
            content: Content::Free,
        });
        Some(self.slots.len() as u16 - 1)
    }

    fn free_slot(&mut self, slot: u16) {
        let place = &mut self.slots[usize::from(slot)];
        let mut guessed = None;
        if let Content::Connection(connection) = &place.content {
            self.stats.open -= 1;
            let acceptor = self.acceptor.as_mut();
            guessed = acceptor.and_then(|a| a.on_gone(slot, connection.incoming_from));
        }
        self.connecting.retain(|other| *other != slot);
        place.content = Content::Free;
        place.generation += 1;
        self.free.push_back(slot);
        if let Some(peer) = guessed {
            self.note_refused(peer, RefuseReason::Password);
        }
    }
}

/// What both ends must have in common about their channels.
fn hash_channels(config: &Config) -> u64 {
    let mut bytes = Vec::new();
    for channel in &config.channels {
        bytes.extend_from_slice(&[channel.delivery as u8, channel.recovery as u8]);
        bytes.extend_from_slice(&(channel.max_message as u64).to_le_bytes());
    }
    hash64(b"SStpchan", &[&bytes])
}
