//! Connecting: the client's half of the handshake.

use core::time::Duration;
use std::net::SocketAddr;

use tracing::{debug, info, warn};

use crate::config::{Config, ConnectOptions, Security};
use crate::connection::{Connection, State};
use crate::crypto::{ConnectionEnd, PacketCrypto};
use crate::endpoint::{Content, Endpoint};
use crate::event::{CloseReason, ConnectError, Event};
use crate::handshake::{
    Accept, AcceptPayload, ClientNonce, ConnectHeader, ConnectPayload, Hello, MAX_TOKEN_BYTES,
    MAX_USER_DATA_BYTES, PlainConnect, Protection, Refuse, RefuseReason, Retry, game_hash,
    password_key, password_proof,
};
use crate::id::ConnectionId;
use crate::rng::Random;

/// First wait before a request is repeated; grows by half each time.
const REPEAT_AFTER: Duration = Duration::from_millis(200);
const REPEAT_AT_MOST: Duration = Duration::from_secs(1);
/// How long a client that cannot read an answer waits for a better one: anyone could have sent the first.
#[cfg(feature = "crypto")]
const BETTER_ANSWER: Duration = Duration::from_millis(500);

/// An attempt to connect.
#[derive(Debug)]
pub(super) struct Attempt {
    to: SocketAddr,
    nonce: ClientNonce,
    options: ConnectOptions,
    request: Vec<u8>,
    #[cfg(feature = "crypto")]
    initiator: Option<crate::noise::Initiator>,
    /// A cookie has been given: the request is a Connect now.
    has_cookie: bool,
    deadline: Duration,
    next_at: Duration,
    wait: Duration,
    /// The best guess why it fails, if it does.
    failure: CloseReason,
}

impl Attempt {
    pub(super) fn new(
        now: Duration,
        config: &Config,
        to: SocketAddr,
        options: ConnectOptions,
        random: &mut Random,
    ) -> Result<Self, ConnectError> {
        if options.user_data.len() > MAX_USER_DATA_BYTES {
            return Err(ConnectError::UserDataTooLong);
        }
        if let Some(token) = &options.token {
            if token.len() > MAX_TOKEN_BYTES {
                return Err(ConnectError::TokenTooLong);
            }
            if config.security == Security::Encrypted && options.server_key.is_none() {
                return Err(ConnectError::TokenWithoutKey);
            }
        }
        let nonce = ClientNonce(random.next_u64());
        let hello = Hello {
            nonce,
            game: game_hash(&config.game),
            version: config.version,
            encrypted: config.security == Security::Encrypted,
        };
        Ok(Self {
            to,
            nonce,
            options,
            request: hello.encode().to_vec(),
            #[cfg(feature = "crypto")]
            initiator: None,
            has_cookie: false,
            deadline: now + config.connect_timeout,
            next_at: now,
            wait: REPEAT_AFTER,
            failure: CloseReason::NoAnswer,
        })
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
        self.wait = (self.wait * 3 / 2).min(REPEAT_AT_MOST);
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

impl Endpoint {
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
        // Only the client can see that its password is not the server's: the server is told, and its slot is free again.
        if let Content::Connecting(attempt) = &self.slots[usize::from(slot)].content
            && reason == CloseReason::Refused(RefuseReason::Password)
            && self.config.security == Security::Encrypted
        {
            let (to, nonce, reason) = (attempt.to, attempt.nonce, RefuseReason::Password);
            self.reply(to, Refuse { nonce, reason }.encode().to_vec());
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
        let config = self.config.clone();
        let channels = self.channels_hash;
        let mut random = self.random.fork();
        let Some((slot, attempt)) = self.attempt(from, retry.nonce) else {
            self.stats.malformed += 1;
            return;
        };
        if attempt.has_cookie {
            // Another answer to a repeated Hello: the first one is as good.
            return;
        }
        let encrypted = config.security == Security::Encrypted;
        let payload = ConnectPayload {
            user_data: &attempt.options.user_data,
            token: attempt.options.token.as_deref().unwrap_or_default(),
        };
        let mut header = ConnectHeader {
            nonce: attempt.nonce,
            cookie: retry.cookie,
            game: game_hash(&config.game),
            version: config.version,
            channels,
            protection: Protection::Plain,
            password: attempt.options.password.is_some(),
            token: attempt.options.token.is_some(),
            cid: slot,
        };
        if encrypted {
            header.protection = Protection::Encrypted {
                cipher: config.cipher,
                known_key: attempt.options.server_key.is_some(),
            };
        }
        let password = attempt.options.password.as_deref();
        let body = if encrypted {
            #[cfg(feature = "crypto")]
            {
                use crate::noise::{Initiator, MESSAGE_1_OVERHEAD_BYTES};
                let payload = payload.encode();
                let prologue = header.encode(payload.len() + MESSAGE_1_OVERHEAD_BYTES);
                let key = attempt.options.server_key.as_ref();
                let (initiator, message) =
                    Initiator::new(&mut random, password, key, &prologue, &payload);
                attempt.initiator = Some(initiator);
                message
            }
            #[cfg(not(feature = "crypto"))]
            {
                let _ = &mut random;
                return;
            }
        } else {
            let proof = match password {
                Some(_) => password_proof(&password_key(password), &retry.cookie, attempt.nonce),
                None => [0; 16],
            };
            PlainConnect { proof, payload }.encode()
        };
        debug!(%from, encrypted, "cookie received, key exchange begun");
        attempt.request = header.datagram(&body);
        attempt.has_cookie = true;
        attempt.next_at = now;
        attempt.wait = REPEAT_AFTER;
        self.ready.push_back(slot);
    }

    pub(super) fn on_accept(&mut self, now: Duration, from: SocketAddr, accept: &Accept<'_>) {
        let encrypted = self.config.security == Security::Encrypted;
        let config = self.config.clone();
        let Some((slot, attempt)) = self.attempt(from, accept.nonce) else {
            // A repeat of an answer already taken.
            return;
        };
        let (crypto, payload) = if encrypted {
            #[cfg(feature = "crypto")]
            {
                use crate::noise::HandshakeError;
                let Some(initiator) = &mut attempt.initiator else {
                    return;
                };
                match initiator.finish(accept.body) {
                    Ok((keys, payload)) => (
                        PacketCrypto::aead(config.cipher, &keys.send, &keys.receive),
                        payload,
                    ),
                    Err(error) => {
                        debug!(%from, ?error, "answer does not authenticate");
                        attempt.failure = match error {
                            HandshakeError::Password => {
                                CloseReason::Refused(RefuseReason::Password)
                            }
                            HandshakeError::Failed => CloseReason::Identity,
                        };
                        attempt.deadline = attempt.deadline.min(now + BETTER_ANSWER);
                        return;
                    }
                }
            }
            #[cfg(not(feature = "crypto"))]
            {
                let _ = attempt;
                return;
            }
        } else {
            let secret = AcceptPayload::decode(accept.body)
                .ok()
                .and_then(|p| p.secret);
            let Some(secret) = secret else {
                self.stats.malformed += 1;
                return;
            };
            (
                PacketCrypto::plain(ConnectionEnd::Client, secret),
                accept.body.to_vec(),
            )
        };
        let Ok(payload) = AcceptPayload::decode(&payload) else {
            self.stats.malformed += 1;
            return;
        };
        let connection = Connection::new(now, &config, from, payload.cid, crypto, State::Open);
        let place = &mut self.slots[usize::from(slot)];
        place.content = Content::Connection(Box::new(connection));
        self.connecting.retain(|other| *other != slot);
        self.stats.open += 1;
        let id = ConnectionId {
            slot,
            generation: place.generation,
        };
        info!(%id, peer = %from, encrypted, "connected");
        self.events.push_back(Event::Connected {
            id,
            peer: from,
            incoming: false,
            user_data: Vec::new(),
        });
        self.after(slot);
    }

    pub(super) fn on_refuse(&mut self, from: SocketAddr, refuse: &Refuse) {
        let Some((slot, attempt)) = self.attempt(from, refuse.nonce) else {
            self.stats.malformed += u64::from(!self.on_given_up(from, refuse));
            return;
        };
        if refuse.reason == RefuseReason::Busy {
            debug!(%from, "server busy, trying on");
            attempt.failure = CloseReason::Refused(refuse.reason);
            return;
        }
        self.fail_attempt(slot, CloseReason::Refused(refuse.reason));
    }
}
