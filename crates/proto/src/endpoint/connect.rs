//! Connecting: the client's half of the handshake.

use core::cmp::Reverse;
use core::time::Duration;
use std::net::SocketAddr;

use tracing::{debug, info, warn};
use zeroize::Zeroizing;

use super::limits::{Bucket, Rate};
use crate::config::{Config, ConnectOptions, Security};
use crate::connection::{Connection, State};
use crate::cookie::{Cookie, NO_COOKIE};
use crate::cpace::SHARE_BYTES;
use crate::crypto::{ConnectionEnd, same};
use crate::endpoint::{Content, Endpoint};
use crate::event::{CloseReason, ConnectError, Event};
use crate::handshake::{
    Accept, AcceptPayload, ClientNonce, ConnectHeader, ConnectPayload, ConnectionKeys, Finish,
    Hello, MAX_TOKEN_BYTES, MAX_USER_DATA_BYTES, PasswordExchange, Protection, Refuse,
    RefuseReason, Retry, game_hash,
};
use crate::id::ConnectionId;
use crate::key::PublicKey;
use crate::noise::{Initiator, MESSAGE_1_OVERHEAD_BYTES};

/// Wait before a request is repeated. It grows by half each time once so many steady repeats were in vain: up to there a loss is likelier than a server that is busy or gone.
const REPEAT_AFTER: Duration = Duration::from_millis(200);
const STEADY_REPEATS: u8 = 4;
const REPEAT_AT_MOST: Duration = Duration::from_secs(1);
/// Answers tried; each costs two curve operations, and anyone who sees the request can send one.
const ANSWERS: Rate = Rate {
    per_second: 100.0,
    at_once: 100.0,
};

/// An attempt to connect.
#[derive(Debug)]
pub(super) struct Attempt {
    to: SocketAddr,
    nonce: ClientNonce,
    options: ConnectOptions,
    request: Vec<u8>,
    /// Once the server's key is known.
    exchange: Option<Exchange>,
    /// A cookie has been given, and is in the request.
    has_cookie: bool,
    answers: Bucket,
    deadline: Duration,
    next_at: Duration,
    wait: Duration,
    /// How often the present request was sent.
    sent: u8,
    /// The best guess why it fails, if it does.
    failure: CloseReason,
}

/// A key exchange that waits for the server's answer.
#[derive(Debug)]
struct Exchange {
    server: PublicKey,
    initiator: Initiator,
    password: Option<PasswordExchange>,
}

/// What the server's answer comes to.
enum Answer {
    /// The server's connection id, and the keys.
    Keys(u16, ConnectionKeys),
    /// Not from the server.
    Forged,
    /// From whoever holds the server's key, and they do not know the password.
    WrongPassword,
}

impl Exchange {
    fn finish(&self, body: &[u8]) -> Answer {
        let Ok((split, payload)) = self.initiator.finish(body) else {
            return Answer::Forged;
        };
        let Ok(payload) = AcceptPayload::decode(&payload) else {
            return Answer::Forged;
        };
        let key = match (&self.password, &payload.proof) {
            (None, None) => None,
            (None, Some(_)) => return Answer::Forged,
            (Some(_), None) => return Answer::WrongPassword,
            (Some(ours), Some(proof)) => {
                let hash = self.initiator.hash();
                let key = ours.agree(ConnectionEnd::Client, &proof.share, hash);
                match key {
                    Some(key) if same(&key.proof(hash), &proof.tag) => Some(key),
                    _ => return Answer::WrongPassword,
                }
            }
        };
        Answer::Keys(payload.cid, ConnectionKeys::new(split, key.as_ref()))
    }
}

impl Attempt {
    /// Begins with a Connect if the server's key is known and no password is used, else with a Hello.
    fn new(
        now: Duration,
        endpoint: &mut Endpoint,
        to: SocketAddr,
        options: ConnectOptions,
    ) -> Self {
        let config = &endpoint.config;
        let nonce = ClientNonce(endpoint.random.next_u64());
        let hello = Hello {
            nonce,
            game: game_hash(&config.game),
            version: config.version,
            encrypted: config.security == Security::Encrypted,
        };
        Self {
            to,
            nonce,
            options,
            request: hello.encode().to_vec(),
            exchange: None,
            has_cookie: false,
            answers: Bucket::full(ANSWERS),
            deadline: now + config.connect_timeout,
            next_at: now,
            wait: REPEAT_AFTER,
            sent: 0,
            failure: CloseReason::NoAnswer,
        }
    }

    pub(super) fn poll_transmit(
        &mut self,
        now: Duration,
        buf: &mut [u8],
    ) -> Option<(SocketAddr, usize)> {
        if now < self.next_at {
            return None;
        }
        self.next_at = (now + self.wait).min(self.deadline);
        self.sent = self.sent.saturating_add(1);
        if self.sent >= STEADY_REPEATS {
            self.wait = (self.wait * 3 / 2).min(REPEAT_AT_MOST);
        }
        buf[..self.request.len()].copy_from_slice(&self.request);
        Some((self.to, self.request.len()))
    }

    pub(super) fn next_at(&self) -> Duration {
        self.next_at
    }

    pub(super) fn is_over(&self, now: Duration) -> bool {
        now >= self.deadline
    }

    pub(super) fn failure(&self) -> CloseReason {
        self.failure.clone()
    }
}

/// Whether a client may ask with these options.
fn check(options: &ConnectOptions) -> Result<(), ConnectError> {
    if options.user_data.len() > MAX_USER_DATA_BYTES {
        return Err(ConnectError::UserDataTooLong);
    }
    if options.password.as_ref().is_some_and(|p| p.is_empty()) {
        return Err(ConnectError::EmptyPassword);
    }
    match &options.token {
        Some(token) if token.len() > MAX_TOKEN_BYTES => Err(ConnectError::TokenTooLong),
        Some(_) if options.server_key.is_none() => Err(ConnectError::TokenWithoutKey),
        _ => Ok(()),
    }
}

/// What this end writes into the head of a Connect.
fn header(
    config: &Config,
    channels: u64,
    attempt: &Attempt,
    slot: u16,
    server: &PublicKey,
    cookie: Cookie,
) -> ConnectHeader {
    ConnectHeader {
        nonce: attempt.nonce,
        cookie,
        game: game_hash(&config.game),
        version: config.version,
        channels,
        protection: protection(config),
        password: attempt.options.password.is_some(),
        token: attempt.options.token.is_some(),
        cid: slot,
        server: server.id(),
    }
}

fn protection(config: &Config) -> Protection {
    match config.security {
        Security::Encrypted => Protection::Encrypted(config.cipher),
        Security::Plain => Protection::Plain,
    }
}

impl Endpoint {
    /// Begins to connect. The outcome is an event: `Connected`, or `Closed` with the reason.
    pub fn connect(
        &mut self,
        now: Duration,
        to: SocketAddr,
        options: ConnectOptions,
    ) -> Result<ConnectionId, ConnectError> {
        check(&options)?;
        let slot = self.take_slot().ok_or(ConnectError::TooManyConnections)?;
        let mut attempt = Attempt::new(now, self, to, options);
        if let Some(key) = attempt.options.server_key
            && attempt.options.password.is_none()
        {
            self.begin_exchange(&mut attempt, slot, key, NO_COOKIE);
        }
        let place = &mut self.slots[usize::from(slot)];
        place.content = Content::Connecting(Box::new(attempt));
        self.connecting.push(slot);
        let id = ConnectionId {
            slot,
            generation: place.generation,
        };
        self.timers.push(Reverse((now, slot)));
        self.ready.push_back(slot);
        debug!(%id, %to, "connecting");
        Ok(id)
    }

    /// Makes the Connect for the holder of a key.
    fn begin_exchange(
        &mut self,
        attempt: &mut Attempt,
        slot: u16,
        server: PublicKey,
        cookie: Cookie,
    ) {
        let header = header(
            &self.config,
            self.channels_hash,
            attempt,
            slot,
            &server,
            cookie,
        );
        let options = &attempt.options;
        let mut payload = ConnectPayload {
            share: None,
            user_data: &options.user_data,
            token: options.token.as_deref().unwrap_or_default(),
        };
        let share_bytes = options.password.as_ref().map_or(0, |_| SHARE_BYTES);
        let body_bytes = MESSAGE_1_OVERHEAD_BYTES + payload.encode().len() + share_bytes;
        let prologue = header.encode(body_bytes);
        let client = self.identity.public_key();
        let password = options.password.as_ref().map(|password| {
            let number = Zeroizing::new(self.random.bytes());
            PasswordExchange::new(&number, password, &client, &server, &prologue)
        });
        payload.share = password.as_ref().map(|exchange| *exchange.share());
        let payload = payload.encode();
        let ephemeral = Zeroizing::new(self.random.bytes());
        let begun = Initiator::new(ephemeral, &self.identity, &server, &prologue, &payload);
        // A key that leads nowhere is as good as no answer; `PublicKey` holds none.
        let Ok((initiator, message)) = begun else {
            return;
        };
        attempt.request = header.datagram(&message);
        attempt.exchange = Some(Exchange {
            server,
            initiator,
            password,
        });
    }

    pub(super) fn is_connecting(&self, id: ConnectionId) -> bool {
        self.slots.get(usize::from(id.slot)).is_some_and(|slot| {
            slot.generation == id.generation && matches!(slot.content, Content::Connecting(_))
        })
    }

    pub(super) fn fail_attempt(&mut self, slot: u16, reason: CloseReason) {
        let id = ConnectionId {
            slot,
            generation: self.slots[usize::from(slot)].generation,
        };
        match &reason {
            CloseReason::Local => debug!(%id, "attempt to connect given up"),
            reason => warn!(%id, %reason, "could not connect"),
        }
        self.events.push_back(Event::Closed { id, reason });
        self.free_slot(slot);
    }

    /// The attempt an answer belongs to. Answers repeat the nonce, so a stranger cannot make them up.
    fn attempt(&mut self, from: SocketAddr, nonce: ClientNonce) -> Option<(u16, &mut Attempt)> {
        let slot = self.connecting.iter().copied().find(|slot| {
            matches!(
                &self.slots[usize::from(*slot)].content,
                Content::Connecting(attempt) if attempt.nonce == nonce && attempt.to == from
            )
        })?;
        match &mut self.slots[usize::from(slot)].content {
            Content::Connecting(attempt) => Some((slot, attempt)),
            _ => None,
        }
    }

    pub(super) fn on_retry(&mut self, now: Duration, from: SocketAddr, retry: &Retry) {
        let Some((slot, attempt)) = self.attempt(from, retry.nonce) else {
            self.stats.malformed += 1;
            return;
        };
        let expected = match &attempt.exchange {
            Some(exchange) => Some(exchange.server),
            None => attempt.options.server_key,
        };
        if let Some(expected) = expected
            && expected != retry.key
        {
            // Anyone could have written it: a hint for the player, no more.
            debug!(%from, seen = %retry.key, "another server key shown");
            attempt.failure = CloseReason::Identity {
                expected,
                seen: retry.key,
            };
            return;
        }
        if attempt.has_cookie {
            // Another answer to a repeated request: the first one is as good.
            return;
        }
        attempt.has_cookie = true;
        attempt.next_at = now;
        attempt.wait = REPEAT_AFTER;
        attempt.sent = 0;
        debug!(%from, key = %retry.key, "cookie received, key exchange begun");
        let content = &mut self.slots[usize::from(slot)].content;
        if let Content::Connecting(mut attempt) = core::mem::replace(content, Content::Free) {
            self.begin_exchange(&mut attempt, slot, retry.key, retry.cookie);
            self.slots[usize::from(slot)].content = Content::Connecting(attempt);
        }
        self.ready.push_back(slot);
    }

    pub(super) fn on_accept(&mut self, now: Duration, from: SocketAddr, accept: &Accept<'_>) {
        let config = self.config.clone();
        let Some((slot, attempt)) = self.attempt(from, accept.nonce) else {
            // A repeat of an answer already taken.
            return;
        };
        let Some(exchange) = &attempt.exchange else {
            self.stats.malformed += 1;
            return;
        };
        if !attempt.answers.take(now, ANSWERS) {
            self.stats.handshakes_limited += 1;
            return;
        }
        let (cid, keys) = match exchange.finish(accept.body) {
            Answer::Keys(cid, keys) => (cid, keys),
            Answer::Forged => {
                debug!(%from, "answer does not authenticate, ignored");
                self.stats.handshakes_failed += 1;
                return;
            }
            Answer::WrongPassword => {
                // Whoever it is has had their one guess.
                self.fail_attempt(slot, CloseReason::Refused(RefuseReason::Password));
                return;
            }
        };
        let (key, known) = (exchange.server, attempt.options.server_key.is_some());
        let protection = protection(&config);
        let crypto = keys.packet_crypto(ConnectionEnd::Client, protection);
        let mut connection = Connection::new(now, &config, from, cid, crypto, State::Open);
        if protection == Protection::Plain {
            let finish = Finish {
                nonce: accept.nonce,
                cid,
                tag: keys.finish(),
            };
            connection.send_finish(now, finish.encode());
        }
        let place = &mut self.slots[usize::from(slot)];
        place.content = Content::Connection(Box::new(connection));
        self.connecting.retain(|other| *other != slot);
        self.stats.open += 1;
        let id = ConnectionId {
            slot,
            generation: place.generation,
        };
        info!(%id, peer = %from, %key, known, "connected");
        self.events.push_back(Event::Connected {
            id,
            peer: from,
            incoming: false,
            key,
            known,
            user_data: Vec::new(),
        });
        self.after(slot);
    }

    pub(super) fn on_refuse(&mut self, from: SocketAddr, refuse: &Refuse) {
        let Some((slot, attempt)) = self.attempt(from, refuse.nonce) else {
            self.stats.malformed += 1;
            return;
        };
        match refuse.reason {
            RefuseReason::Busy => {
                debug!(%from, "server busy, trying on");
                attempt.failure = CloseReason::Refused(refuse.reason);
            }
            // No server says this.
            RefuseReason::Password => self.stats.malformed += 1,
            reason => self.fail_attempt(slot, CloseReason::Refused(reason)),
        }
    }
}
