//! Accepting: the server's half of the handshake. Nothing is kept for a client before it has proven its address.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use tracing::{debug, info};

use crate::config::{AcceptConfig, Config, Security};
use crate::connection::{Connection, State};
use crate::cookie::CookieKey;
use crate::crypto::{ConnectionEnd, PacketCrypto};
use crate::endpoint::{Content, Endpoint, MAX_REPLIES};
use crate::event::{CloseReason, Event};
use crate::handshake::{
    Accept, AcceptPayload, ClientNonce, Connect, ConnectPayload, Hello, PlainConnect, Protection,
    Refuse, RefuseReason, Retry, game_hash, password_key,
};
use crate::id::ConnectionId;
use crate::rng::Random;
use crate::token::{self, UsedTokens};

/// How long an accepted client may take to send its first packet.
const CONFIRM_WITHIN: Duration = Duration::from_secs(5);

/// Accepted clients that have yet to confirm; of more (or of twice the capacity) the oldest are forgotten.
const MAX_UNCONFIRMED: usize = 1024;

/// Tokens remembered as used, about 100 bytes each.
const MAX_USED_TOKENS: usize = 100_000;

/// A client that was let in.
#[derive(Debug)]
struct Guest {
    slot: u16,
    nonce: ClientNonce,
    user_data: Vec<u8>,
}

/// What accepting needs to remember.
#[derive(Debug)]
pub(super) struct Acceptor {
    cookies: CookieKey,
    #[cfg(feature = "crypto")]
    key: crate::noise::StaticKey,
    used_tokens: UsedTokens,
    /// By address: the newest connection from there, confirmed or not.
    guests: BTreeMap<SocketAddr, Guest>,
    per_ip: BTreeMap<IpAddr, usize>,
    /// Confirmed connections that still hold a slot.
    confirmed: usize,
    /// Slots of those that have yet to show that they hold the keys, oldest first. They take no one's place.
    unconfirmed: VecDeque<u16>,
    key_exchanges: KeyExchangeBucket,
}

/// Key exchanges that may be answered: a token bucket, so small that a flood of them never holds others up for long.
#[derive(Debug)]
struct KeyExchangeBucket {
    left: f64,
    at: Duration,
}

impl KeyExchangeBucket {
    const AT_ONCE: f64 = 8.0;

    fn take(&mut self, now: Duration, per_second: u32) -> bool {
        let elapsed = now.saturating_sub(self.at).as_secs_f64();
        self.at = self.at.max(now);
        self.left = (self.left + elapsed * f64::from(per_second)).min(Self::AT_ONCE);
        let allowed = self.left >= 1.0;
        if allowed {
            self.left -= 1.0;
        }
        allowed
    }
}

impl Acceptor {
    pub(super) fn new(config: &AcceptConfig, random: &mut Random) -> Self {
        #[cfg(not(feature = "crypto"))]
        let _ = config;
        Self {
            cookies: CookieKey::new(Duration::ZERO, random.fork()),
            #[cfg(feature = "crypto")]
            key: match config.identity {
                Some(secret) => crate::noise::StaticKey::from_secret(secret),
                None => crate::noise::StaticKey::generate(random),
            },
            used_tokens: UsedTokens::new(MAX_USED_TOKENS),
            guests: BTreeMap::new(),
            per_ip: BTreeMap::new(),
            confirmed: 0,
            unconfirmed: VecDeque::new(),
            key_exchanges: KeyExchangeBucket {
                left: KeyExchangeBucket::AT_ONCE,
                at: Duration::ZERO,
            },
        }
    }

    pub(super) fn public_key(&self) -> Option<[u8; 32]> {
        #[cfg(feature = "crypto")]
        return Some(self.key.public());
        #[cfg(not(feature = "crypto"))]
        None
    }

    /// A slot was freed; if it was accepted here, its place is free again.
    pub(super) fn on_gone(&mut self, slot: u16, incoming_from: Option<IpAddr>) {
        let Some(ip) = incoming_from else { return };
        match self.unconfirmed.iter().position(|s| *s == slot) {
            Some(position) => {
                self.unconfirmed.remove(position);
            }
            None => self.confirmed -= 1,
        }
        if let Some(count) = self.per_ip.get_mut(&ip) {
            *count -= 1;
            if *count == 0 {
                self.per_ip.remove(&ip);
            }
        }
        self.guests.retain(|_, guest| guest.slot != slot);
    }
}

impl Endpoint {
    pub(super) fn refuse(&mut self, to: SocketAddr, nonce: ClientNonce, reason: RefuseReason) {
        self.note_refused(to, reason);
        self.reply(to, Refuse { nonce, reason }.encode().to_vec());
    }

    fn note_refused(&mut self, peer: SocketAddr, reason: RefuseReason) {
        self.stats.refused += 1;
        debug!(%peer, %reason, "client refused");
        // A flood of requests does not fill the memory: as many are told of as can be answered.
        if self.replies.len() < MAX_REPLIES {
            self.events.push_back(Event::Refused { peer, reason });
        }
    }

    /// A client gives up because it cannot read the answer: its password is another. False if no such client is known.
    pub(super) fn on_given_up(&mut self, from: SocketAddr, refuse: &Refuse) -> bool {
        let acceptor = self.acceptor.as_ref();
        let guest = acceptor.and_then(|acceptor| acceptor.guests.get(&from));
        let guest = guest.filter(|guest| guest.nonce == refuse.nonce);
        if let Some(slot) = guest.map(|guest| guest.slot)
            && let Content::Connection(connection) = &self.slots[usize::from(slot)].content
            && matches!(connection.state, State::Unconfirmed { .. })
        {
            self.free_slot(slot);
            self.note_refused(from, refuse.reason);
            return true;
        }
        false
    }

    pub(super) fn reply(&mut self, to: SocketAddr, datagram: Vec<u8>) {
        if self.replies.len() >= MAX_REPLIES {
            self.stats.replies_dropped += 1;
        } else {
            self.replies.push_back((to, datagram));
        }
    }

    pub(super) fn on_hello(&mut self, now: Duration, from: SocketAddr, hello: &Hello) {
        let Some(acceptor) = &mut self.acceptor else {
            self.stats.malformed += 1;
            return;
        };
        self.stats.hellos += 1;
        let encrypted = self.config.security == Security::Encrypted;
        let refusal = if hello.game != game_hash(&self.config.game) {
            Some(RefuseReason::Game)
        } else if hello.version != self.config.version {
            Some(RefuseReason::Version {
                theirs: self.config.version,
                ours: hello.version,
            })
        } else if hello.encrypted != encrypted {
            Some(RefuseReason::Security { encrypted })
        } else {
            None
        };
        if let Some(reason) = refusal {
            self.refuse(from, hello.nonce, reason);
            return;
        }
        let accept = self.config.accept.as_ref();
        let retry = Retry {
            nonce: hello.nonce,
            cookie: acceptor.cookies.issue(now, from, hello.nonce),
            encrypted,
            password: accept.is_some_and(|a| a.password.is_some()),
            token: accept.is_some_and(|a| a.lobby_key.is_some()),
        };
        debug!(%from, "hello received, cookie sent");
        self.reply(from, retry.encode().to_vec());
    }

    pub(super) fn on_connect(&mut self, now: Duration, from: SocketAddr, connect: &Connect<'_>) {
        let (Some(acceptor), Some(accept)) = (&mut self.acceptor, &self.config.accept) else {
            self.stats.malformed += 1;
            return;
        };
        let header = &connect.header;
        let nonce = header.nonce;
        if !acceptor.cookies.check(now, from, nonce, &header.cookie) {
            self.stats.bad_cookies += 1;
            debug!(%from, "cookie invalid or expired, request ignored");
            return;
        }
        // The address is proven from here on.
        if let Some(guest) = acceptor.guests.get(&from)
            && guest.nonce == nonce
        {
            // A repeat: the answer was lost, or is on its way.
            if let Content::Connection(connection) = &self.slots[usize::from(guest.slot)].content
                && let State::Unconfirmed { accept, .. } = &connection.state
            {
                let again = accept.clone();
                self.reply(from, again);
            }
            return;
        }
        let encrypted = self.config.security == Security::Encrypted;
        let crowded = acceptor
            .per_ip
            .get(&from.ip())
            .is_some_and(|n| *n >= accept.per_address);
        let refusal = if header.game != game_hash(&self.config.game) {
            Some(RefuseReason::Game)
        } else if header.version != self.config.version {
            Some(RefuseReason::Version {
                theirs: self.config.version,
                ours: header.version,
            })
        } else if header.channels != self.channels_hash {
            Some(RefuseReason::Channels)
        } else if matches!(header.protection, Protection::Encrypted { .. }) != encrypted {
            Some(RefuseReason::Security { encrypted })
        } else if acceptor.confirmed >= accept.capacity || crowded {
            Some(RefuseReason::Full)
        } else {
            match (&accept.password, header.password) {
                (Some(_), false) => Some(RefuseReason::PasswordRequired),
                (None, true) => Some(RefuseReason::PasswordUnneeded),
                _ if accept.lobby_key.is_some() && !header.token => {
                    Some(RefuseReason::TokenRequired)
                }
                _ => None,
            }
        };
        if let Some(reason) = refusal {
            self.refuse(from, nonce, reason);
            return;
        }
        if !acceptor
            .key_exchanges
            .take(now, accept.handshakes_per_second)
        {
            self.stats.handshakes_limited += 1;
            debug!(%from, "too many key exchanges, request ignored");
            return;
        }
        if let Err(reason) = self.admit(now, from, connect) {
            self.stats.handshakes_failed += u64::from(reason == RefuseReason::Handshake);
            self.refuse(from, nonce, reason);
        }
    }

    /// Agrees on keys and takes a slot.
    fn admit(
        &mut self,
        now: Duration,
        from: SocketAddr,
        connect: &Connect<'_>,
    ) -> Result<(), RefuseReason> {
        let config = self.config.clone();
        let (Some(accept), Some(acceptor)) = (&config.accept, &mut self.acceptor) else {
            return Err(RefuseReason::ShuttingDown);
        };
        let header = &connect.header;
        let password = accept.password.as_deref();
        let user_data;
        // What is decided only now, when the payload can be read.
        enum Pending {
            Plain(u64),
            #[cfg(feature = "crypto")]
            Aead(crate::crypto::Cipher, crate::noise::Responder),
        }
        let pending = match header.protection {
            Protection::Plain => {
                let plain =
                    PlainConnect::decode(connect.body).map_err(|_| RefuseReason::Handshake)?;
                if password.is_some()
                    && !plain.knows_password(&password_key(password), &header.cookie, header.nonce)
                {
                    return Err(RefuseReason::Password);
                }
                user_data = acceptor.check_token(now, &config, from, &plain.payload)?;
                Pending::Plain(self.random.next_u64())
            }
            #[cfg(feature = "crypto")]
            Protection::Encrypted { cipher, known_key } => {
                let mut random = self.random.fork();
                let (responder, payload) = crate::noise::Responder::new(
                    &mut random,
                    &acceptor.key,
                    password,
                    known_key,
                    connect.prologue,
                    connect.body,
                )
                .map_err(|_| RefuseReason::Handshake)?;
                let payload =
                    ConnectPayload::decode(&payload).map_err(|_| RefuseReason::Handshake)?;
                user_data = acceptor.check_token(now, &config, from, &payload)?;
                Pending::Aead(cipher, responder)
            }
            #[cfg(not(feature = "crypto"))]
            Protection::Encrypted { .. } => {
                return Err(RefuseReason::Security { encrypted: false });
            }
        };
        if acceptor.unconfirmed.len() >= MAX_UNCONFIRMED.max(2 * accept.capacity)
            && let Some(&oldest) = acceptor.unconfirmed.front()
        {
            self.free_slot(oldest);
        }
        let slot = self.take_slot().ok_or(RefuseReason::Full)?;
        let (crypto, body) = match pending {
            Pending::Plain(secret) => (
                PacketCrypto::plain(ConnectionEnd::Server, secret),
                AcceptPayload {
                    cid: slot,
                    secret: Some(secret),
                }
                .encode(),
            ),
            #[cfg(feature = "crypto")]
            Pending::Aead(cipher, responder) => {
                let (keys, message) = responder.finish(
                    &AcceptPayload {
                        cid: slot,
                        secret: None,
                    }
                    .encode(),
                );
                (
                    PacketCrypto::aead(cipher, &keys.send, &keys.receive),
                    message,
                )
            }
        };
        let answer = Accept {
            nonce: header.nonce,
            body: &body,
        }
        .encode();
        let state = State::Unconfirmed {
            accept: answer.clone(),
            until: now + CONFIRM_WITHIN,
        };
        let mut connection = Connection::new(now, &config, from, header.cid, crypto, state);
        connection.incoming_from = Some(from.ip());
        self.slots[usize::from(slot)].content = Content::Connection(Box::new(connection));
        self.stats.open += 1;
        if let Some(acceptor) = &mut self.acceptor {
            acceptor.unconfirmed.push_back(slot);
            *acceptor.per_ip.entry(from.ip()).or_insert(0) += 1;
            let replaced = acceptor.guests.insert(
                from,
                Guest {
                    slot,
                    nonce: header.nonce,
                    user_data,
                },
            );
            if let Some(old) = replaced {
                // The client at this address has started anew. Its cookie shows it is there, so the old one is not.
                self.replace(old.slot, from);
            }
        }
        debug!(%from, "keys agreed, client accepted");
        self.reply(from, answer);
        self.schedule(now, slot);
        Ok(())
    }

    /// Ends a connection whose client has gone, unless it has moved on from `address`.
    fn replace(&mut self, slot: u16, address: SocketAddr) {
        let place = &mut self.slots[usize::from(slot)];
        let Content::Connection(connection) = &mut place.content else {
            return;
        };
        if connection.peer != address {
            return;
        }
        let id = ConnectionId {
            slot,
            generation: place.generation,
        };
        let announced = !matches!(
            connection.state,
            State::Unconfirmed { .. } | State::Closing(_) | State::Drained { .. }
        );
        connection.state = State::Gone;
        if announced {
            self.events.push_back(Event::Closed {
                id,
                reason: CloseReason::Replaced,
            });
            info!(%id, %address, "connection replaced by a new one of the same client");
        }
        self.after(slot);
    }

    /// Closes a connection that was never announced to the application.
    fn turn_away(&mut self, now: Duration, slot: u16) {
        if let Content::Connection(connection) = &mut self.slots[usize::from(slot)].content {
            connection.abort(now, 0, "the server is full: try again later");
            connection.forget();
        }
    }

    /// The client's first packet shows that it holds the keys.
    pub(super) fn confirm(&mut self, now: Duration, id: ConnectionId) {
        let Content::Connection(connection) = &self.slots[usize::from(id.slot)].content else {
            return;
        };
        let peer = connection.peer;
        let capacity = self.config.accept.as_ref().map_or(0, |a| a.capacity);
        let Some(acceptor) = &mut self.acceptor else {
            return;
        };
        acceptor.unconfirmed.retain(|slot| *slot != id.slot);
        acceptor.confirmed += 1;
        let full = acceptor.confirmed > capacity;
        let guest = acceptor.guests.get_mut(&peer).filter(|g| g.slot == id.slot);
        let user_data = guest
            .map(|g| core::mem::take(&mut g.user_data))
            .unwrap_or_default();
        if full {
            // Several confirmed at once for the last place.
            debug!(%id, %peer, "server full, client turned away");
            self.turn_away(now, id.slot);
            return;
        }
        self.stats.accepted += 1;
        info!(%id, %peer, "client connected");
        self.events.push_back(Event::Connected {
            id,
            peer,
            incoming: true,
            user_data,
        });
    }
}

impl Acceptor {
    /// Checks a connect token if the server wants one. Returns the data handed to the application.
    fn check_token(
        &mut self,
        now: Duration,
        config: &Config,
        from: SocketAddr,
        payload: &ConnectPayload<'_>,
    ) -> Result<Vec<u8>, RefuseReason> {
        let accept = config.accept.as_ref().ok_or(RefuseReason::ShuttingDown)?;
        let Some(lobby_key) = &accept.lobby_key else {
            return Ok(payload.user_data.to_vec());
        };
        if payload.token.is_empty() {
            return Err(RefuseReason::TokenRequired);
        }
        let unix_s = config.unix_time_at_zero_s + now.as_secs();
        let claims = token::verify(lobby_key, payload.token)?;
        claims.check(unix_s, &accept.public_addresses, from.ip())?;
        self.used_tokens.redeem(unix_s, &claims)?;
        Ok(claims.user_data)
    }
}
