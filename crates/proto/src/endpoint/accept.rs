//! Accepting: the server's half of the handshake. Nothing is kept for a client before it has proven its address.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tracing::{debug, info};
use zeroize::Zeroizing;

use super::limits::{Bucket, Limit, Network, Rate};
use crate::config::{AcceptConfig, Config, ConfigError, Security};
use crate::connection::{Connection, State};
use crate::cookie::{CookieKey, NO_COOKIE};
use crate::cpace::SHARE_BYTES;
use crate::crypto::{ConnectionEnd, same};
use crate::endpoint::{Content, Endpoint, MAX_REPLIES, Slot};
use crate::event::{CloseReason, Event};
use crate::handshake::{
    Accept, AcceptPayload, ClientNonce, Connect, ConnectHeader, ConnectPayload, ConnectionKeys,
    Finish, Hello, PasswordExchange, Proof, Protection, Refuse, RefuseReason, Retry, game_hash,
};
use crate::id::ConnectionId;
use crate::key::{Password, PublicKey};
use crate::noise::Responder;
use crate::rng::Random;
use crate::token::{self, Presented, TokenClaims, UsedTokens};

/// How long an accepted client may take to show that it holds the keys.
const CONFIRM_WITHIN: Duration = Duration::from_secs(5);

/// Accepted clients that have yet to confirm; of more (or of twice the capacity) the oldest are forgotten.
const MAX_UNCONFIRMED: usize = 1024;

/// The same for clients that have not even proven their address: more are asked to.
const MAX_UNPROVEN: usize = 64;

/// Key exchanges with clients that have not proven their address. Anyone can use them up: then everyone proves it first.
const UNPROVEN: Rate = Rate {
    per_second: 32.0,
    at_once: 32.0,
};

/// Key exchanges answered at once, in all and for each network.
const AT_ONCE: f64 = 8.0;

/// Guesses of the password, for each network and in all.
const GUESSES_EACH: Rate = Rate {
    per_second: 0.2,
    at_once: 5.0,
};
const GUESSES_TOTAL: Rate = Rate {
    per_second: 50.0,
    at_once: 50.0,
};

/// Tokens remembered as used, about 100 bytes each.
const MAX_USED_TOKENS: usize = 100_000;

/// A client that was sent an Accept and has yet to show that it holds the keys.
#[derive(Debug)]
struct Unconfirmed {
    address: SocketAddr,
    nonce: ClientNonce,
    /// The first bytes of its Noise message, by which a repetition is recognised.
    ephemeral: Vec<u8>,
    key: PublicKey,
    user_data: Vec<u8>,
    /// What the lobby says about it, used up when it confirms.
    token: Option<TokenClaims>,
    /// Whether it has proven its address.
    is_proven: bool,
    /// Whether its Accept told it if its password is right.
    is_guess: bool,
}

/// What accepting needs to remember.
#[derive(Debug)]
pub(super) struct Acceptor {
    cookies: CookieKey,
    used_tokens: UsedTokens,
    /// Slots of the confirmed connections, by address and key: one that connects anew replaces its old connection.
    guests: BTreeMap<(SocketAddr, PublicKey), u16>,
    /// Connections of each network, unconfirmed ones with a proven address included.
    per_network: BTreeMap<Network, usize>,
    /// Confirmed connections that still hold a slot.
    confirmed: usize,
    /// By slot; they take no one's place.
    unconfirmed: BTreeMap<u16, Unconfirmed>,
    /// Slots by the address and nonce of their request, to recognise its repetitions.
    requests: BTreeMap<(SocketAddr, ClientNonce), u16>,
    /// Slots of `unconfirmed` with a proven address, oldest first.
    proven: VecDeque<u16>,
    exchanges: Limit,
    unproven_exchanges: Bucket,
    guesses: Limit,
    /// Keys that need neither password nor token.
    trusted: BTreeSet<PublicKey>,
}

impl Acceptor {
    pub(super) fn new(config: &AcceptConfig, random: &mut Random) -> Self {
        let rate = |per_second: u32| Rate {
            per_second: per_second.into(),
            at_once: AT_ONCE,
        };
        Self {
            cookies: CookieKey::new(Duration::ZERO, random.fork()),
            used_tokens: UsedTokens::new(MAX_USED_TOKENS),
            guests: BTreeMap::new(),
            per_network: BTreeMap::new(),
            confirmed: 0,
            unconfirmed: BTreeMap::new(),
            requests: BTreeMap::new(),
            proven: VecDeque::new(),
            exchanges: Limit::new(
                rate(config.handshakes_per_second_per_address),
                rate(config.handshakes_per_second),
            ),
            unproven_exchanges: Bucket::full(UNPROVEN),
            guesses: Limit::new(GUESSES_EACH, GUESSES_TOTAL),
            trusted: BTreeSet::new(),
        }
    }

    /// A slot was freed; if it was accepted here, its place is free again. Returns the address of a client that was told whether its
    /// password is right and has not come back: it was wrong.
    pub(super) fn on_gone(
        &mut self,
        slot: u16,
        incoming_from: Option<IpAddr>,
    ) -> Option<SocketAddr> {
        let network = Network::of(incoming_from?);
        self.requests.retain(|_, other| *other != slot);
        let unconfirmed = self.take_unconfirmed(slot);
        match &unconfirmed {
            None => {
                self.confirmed -= 1;
                self.guests.retain(|_, guest| *guest != slot);
                self.uncount(network);
            }
            Some(client) if client.is_proven => self.uncount(network),
            Some(_) => {}
        }
        unconfirmed.filter(|c| c.is_guess).map(|c| c.address)
    }

    fn take_unconfirmed(&mut self, slot: u16) -> Option<Unconfirmed> {
        let client = self.unconfirmed.remove(&slot)?;
        self.proven.retain(|other| *other != slot);
        Some(client)
    }

    fn count(&mut self, network: Network) {
        *self.per_network.entry(network).or_insert(0) += 1;
    }

    fn uncount(&mut self, network: Network) {
        if let Some(count) = self.per_network.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.per_network.remove(&network);
            }
        }
    }

    fn unproven(&self) -> usize {
        self.unconfirmed.len() - self.proven.len()
    }
}

impl Endpoint {
    pub(super) fn refuse(&mut self, to: SocketAddr, nonce: ClientNonce, reason: RefuseReason) {
        self.note_refused(to, reason);
        self.reply(to, Refuse { nonce, reason }.encode().to_vec());
    }

    pub(super) fn note_refused(&mut self, peer: SocketAddr, reason: RefuseReason) {
        self.stats.refused += 1;
        debug!(%peer, %reason, "client refused");
        // A flood of requests does not fill the memory: as many are told of as can be answered.
        if self.replies.len() < MAX_REPLIES {
            self.events.push_back(Event::Refused { peer, reason });
        }
    }

    pub(super) fn reply(&mut self, to: SocketAddr, datagram: Vec<u8>) {
        if self.replies.len() >= MAX_REPLIES {
            self.stats.replies_dropped += 1;
        } else {
            self.replies.push_back((to, datagram));
        }
    }

    pub(super) fn on_hello(&mut self, now: Duration, from: SocketAddr, hello: &Hello) {
        if self.acceptor.is_none() {
            self.stats.malformed += 1;
            return;
        }
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
        debug!(%from, "hello received, cookie sent");
        self.retry(now, from, hello.nonce);
    }

    /// Asks a client to prove its address.
    fn retry(&mut self, now: Duration, to: SocketAddr, nonce: ClientNonce) {
        let (Some(acceptor), Some(accept)) = (&mut self.acceptor, &self.config.accept) else {
            return;
        };
        let retry = Retry {
            nonce,
            cookie: acceptor.cookies.issue(now, to, nonce),
            key: self.identity.public_key(),
            encrypted: self.config.security == Security::Encrypted,
            password: accept.password.is_some(),
            token: accept.lobby_key.is_some(),
        };
        self.reply(to, retry.encode().to_vec());
    }

    pub(super) fn on_connect(&mut self, now: Duration, from: SocketAddr, connect: &Connect<'_>) {
        let Some(acceptor) = &self.acceptor else {
            self.stats.malformed += 1;
            return;
        };
        let header = &connect.header;
        let nonce = header.nonce;
        if let Some(slot) = acceptor.requests.get(&(from, nonce)) {
            match acceptor.unconfirmed.get(slot) {
                // A repeat that was late: the client is in.
                None => return,
                Some(client) if connect.body.starts_with(&client.ephemeral) => {
                    // A repeat: the answer was lost, or is on its way.
                    if let Content::Connection(connection) = &self.slots[usize::from(*slot)].content
                        && let State::Unconfirmed { accept, .. } = &connection.state
                    {
                        let again = accept.clone();
                        self.reply(from, again);
                    }
                    return;
                }
                Some(_) => {}
            }
        }
        if let Some(reason) = self.mismatch(header) {
            self.refuse(from, nonce, reason);
            return;
        }
        if header.server != self.identity.public_key().id() {
            debug!(%from, "exchange for another key, told of this one");
            self.retry(now, from, nonce);
            return;
        }
        let is_proven = acceptor.cookies.check(now, from, nonce, &header.cookie);
        self.stats.bad_cookies += u64::from(!is_proven && header.cookie != NO_COOKIE);
        if !is_proven && (header.password || acceptor.unproven() >= MAX_UNPROVEN) {
            self.retry(now, from, nonce);
            return;
        }
        if let Some(reason) = self.unwelcome(from, header) {
            self.refuse(from, nonce, reason);
            return;
        }
        let Some(acceptor) = &mut self.acceptor else {
            return;
        };
        if is_proven {
            if !acceptor.exchanges.take(now, Network::of(from.ip())) {
                self.stats.handshakes_limited += 1;
                debug!(%from, "too many key exchanges, request ignored");
                return;
            }
        } else if !acceptor.unproven_exchanges.take(now, UNPROVEN) {
            self.retry(now, from, nonce);
            return;
        }
        match self.admit(now, from, connect, is_proven) {
            Ok(()) => {}
            // No honest client sends this, and to answer the others would help them alone.
            Err(NotAdmitted::Nonsense) => {
                self.stats.handshakes_failed += 1;
                debug!(%from, "key exchange failed, request ignored");
            }
            Err(NotAdmitted::Refused(reason)) => self.refuse(from, nonce, reason),
        }
    }

    /// What both ends must have in common and do not.
    fn mismatch(&self, header: &ConnectHeader) -> Option<RefuseReason> {
        let encrypted = self.config.security == Security::Encrypted;
        if header.game != game_hash(&self.config.game) {
            Some(RefuseReason::Game)
        } else if header.version != self.config.version {
            Some(RefuseReason::Version {
                theirs: self.config.version,
                ours: header.version,
            })
        } else if header.channels != self.channels_hash {
            Some(RefuseReason::Channels)
        } else if matches!(header.protection, Protection::Encrypted(_)) != encrypted {
            Some(RefuseReason::Security { encrypted })
        } else {
            None
        }
    }

    /// Why a client is refused whoever it is.
    fn unwelcome(&self, from: SocketAddr, header: &ConnectHeader) -> Option<RefuseReason> {
        let (acceptor, accept) = (self.acceptor.as_ref()?, self.config.accept.as_ref()?);
        let connections = acceptor.per_network.get(&Network::of(from.ip()));
        if acceptor.confirmed >= accept.capacity
            || connections.is_some_and(|n| *n >= accept.per_address)
        {
            return Some(RefuseReason::Full);
        }
        if accept.password.is_none() && header.password {
            return Some(RefuseReason::PasswordUnneeded);
        }
        // Whether it is one of the trusted shows only in the exchange.
        if acceptor.trusted.is_empty() {
            accept.missing(header)
        } else {
            None
        }
    }

    /// Agrees on keys and takes a slot.
    fn admit(
        &mut self,
        now: Duration,
        from: SocketAddr,
        connect: &Connect<'_>,
        is_proven: bool,
    ) -> Result<(), NotAdmitted> {
        let config = self.config.clone();
        let (Some(accept), Some(acceptor)) = (&config.accept, &mut self.acceptor) else {
            return Err(NotAdmitted::Refused(RefuseReason::ShuttingDown));
        };
        let header = &connect.header;
        let (responder, payload) = Responder::new(&self.identity, connect.prologue, connect.body)
            .map_err(|_| NotAdmitted::Nonsense)?;
        let payload =
            ConnectPayload::decode(&payload, header.password).map_err(|_| NotAdmitted::Nonsense)?;
        let key = responder.initiator();
        let mut token = None;
        if !acceptor.trusted.contains(&key) {
            if let Some(reason) = accept.missing(header) {
                return Err(NotAdmitted::Refused(reason));
            }
            let server = self.identity.public_key();
            token = acceptor.check_token(now, &config, server, (from, key), &payload)?;
        }
        let user_data = match &token {
            Some(claims) => claims.user_data.clone(),
            None => payload.user_data.to_vec(),
        };
        let exchange = match (&accept.password, payload.share) {
            (Some(password), Some(theirs)) => {
                // From the answer the client learns whether its password is right. Those sent by the lobby are no strangers.
                if token.is_none() && !acceptor.guesses.take(now, Network::of(from.ip())) {
                    debug!(%from, "too many guesses of the password");
                    return Err(NotAdmitted::Refused(RefuseReason::Busy));
                }
                let number = Zeroizing::new(self.random.bytes());
                let server = self.identity.public_key();
                let prologue = connect.prologue;
                let ours = PasswordExchange::new(&number, password, &key, &server, prologue);
                Some((ours, theirs))
            }
            _ => None,
        };
        if acceptor.proven.len() >= MAX_UNCONFIRMED.max(2 * accept.capacity)
            && let Some(&oldest) = acceptor.proven.front()
        {
            self.free_slot(oldest);
        }
        let slot = self
            .take_slot()
            .ok_or(NotAdmitted::Refused(RefuseReason::Full))?;
        let is_guess = exchange.is_some() && token.is_none();
        let Ok((keys, body)) = answer(&mut self.random, responder, slot, exchange) else {
            self.free.push_back(slot);
            return Err(NotAdmitted::Nonsense);
        };
        let answer = Accept {
            nonce: header.nonce,
            body: &body,
        }
        .encode();
        let crypto = keys.packet_crypto(ConnectionEnd::Server, header.protection);
        let state = State::Unconfirmed {
            accept: answer.clone(),
            until: now + CONFIRM_WITHIN,
            finish: (header.protection == Protection::Plain).then(|| keys.finish()),
        };
        let mut connection = Connection::new(now, &config, from, header.cid, crypto, state);
        connection.incoming_from = Some(from.ip());
        self.slots[usize::from(slot)].content = Content::Connection(Box::new(connection));
        self.stats.open += 1;
        if let Some(acceptor) = &mut self.acceptor {
            if is_proven {
                acceptor.proven.push_back(slot);
                acceptor.count(Network::of(from.ip()));
            }
            acceptor.requests.insert((from, header.nonce), slot);
            acceptor.unconfirmed.insert(
                slot,
                Unconfirmed {
                    address: from,
                    nonce: header.nonce,
                    ephemeral: connect.body[..32].to_vec(),
                    key,
                    user_data,
                    token,
                    is_proven,
                    is_guess,
                },
            );
        }
        debug!(%from, %key, "keys agreed, client accepted");
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
    fn turn_away(&mut self, now: Duration, slot: u16, why: &str) {
        if let Content::Connection(connection) = &mut self.slots[usize::from(slot)].content {
            connection.abort(now, 0, why);
            connection.forget();
        }
    }

    /// In plain mode: a client says that it holds the keys.
    pub(super) fn on_finish(&mut self, now: Duration, from: SocketAddr, finish: &Finish) {
        let acceptor = self.acceptor.as_ref();
        let client = acceptor.and_then(|acceptor| acceptor.unconfirmed.get(&finish.cid));
        let Some(Slot {
            generation,
            content: Content::Connection(connection),
        }) = self.slots.get_mut(usize::from(finish.cid))
        else {
            self.stats.unknown_connection += 1;
            return;
        };
        if let State::Unconfirmed {
            finish: Some(tag), ..
        } = &connection.state
            && client.is_some_and(|c| (c.address, c.nonce) == (from, finish.nonce))
            && same(tag, &finish.tag)
        {
            let id = ConnectionId {
                slot: finish.cid,
                generation: *generation,
            };
            connection.state = State::Open;
            self.confirm(now, id);
            self.after(finish.cid);
        }
    }

    /// The client has shown that it holds the keys. Only now does the connection count.
    pub(super) fn confirm(&mut self, now: Duration, id: ConnectionId) {
        let Some(acceptor) = &mut self.acceptor else {
            return;
        };
        let Some(client) = acceptor.take_unconfirmed(id.slot) else {
            return;
        };
        let peer = client.address;
        let network = Network::of(peer.ip());
        if client.is_guess {
            acceptor.guesses.give_back(network);
        }
        if !client.is_proven {
            acceptor.count(network);
        }
        acceptor.confirmed += 1;
        if let (Some(claims), Some(clock)) = (&client.token, &self.config.clock)
            && let Err(error) = acceptor.used_tokens.redeem(clock.unix_s(now), claims)
        {
            debug!(%id, %peer, %error, "token cannot be used, client turned away");
            self.turn_away(now, id.slot, "the invitation has been used");
            return;
        }
        let old = acceptor.guests.insert((peer, client.key), id.slot);
        let known = acceptor.trusted.contains(&client.key);
        if let Some(old) = old {
            self.replace(old, peer);
        }
        let (Some(acceptor), Some(accept)) = (&self.acceptor, &self.config.accept) else {
            return;
        };
        let from_there = acceptor.per_network.get(&network);
        if acceptor.confirmed > accept.capacity
            || from_there.is_some_and(|n| *n > accept.per_address)
        {
            // Several confirmed at once for the last place.
            debug!(%id, %peer, "server full, client turned away");
            self.turn_away(now, id.slot, "the server is full: try again later");
            return;
        }
        self.stats.accepted += 1;
        info!(%id, %peer, key = %client.key, known, "client connected");
        self.events.push_back(Event::Connected {
            id,
            peer,
            incoming: true,
            key: client.key,
            known,
            user_data: client.user_data,
        });
    }

    /// Admits whoever holds this key without password or token from now on, and tells of it as [known](Event::Connected).
    pub fn trust(&mut self, key: PublicKey) {
        if let Some(acceptor) = &mut self.acceptor {
            acceptor.trusted.insert(key);
        }
    }

    /// Demands another password of whoever connects from now on, or none. Who has agreed on keys with the old one and is not connected yet has to
    /// begin anew; open connections stay.
    ///
    /// # Errors
    /// [`ConfigError::EmptyPassword`], and nothing changes.
    pub fn set_password(&mut self, password: Option<Password>) -> Result<(), ConfigError> {
        if password.as_ref().is_some_and(Password::is_empty) {
            return Err(ConfigError::EmptyPassword);
        }
        if let Some(accept) = &mut Arc::make_mut(&mut self.config).accept {
            accept.password = password;
        }
        let mut stale = Vec::new();
        if let Some(acceptor) = &mut self.acceptor {
            for (slot, client) in &mut acceptor.unconfirmed {
                if !acceptor.trusted.contains(&client.key) {
                    // It need not have guessed wrong.
                    client.is_guess = false;
                    stale.push(*slot);
                }
            }
        }
        for slot in stale {
            self.free_slot(slot);
        }
        Ok(())
    }

    /// Takes back [`trust`](Self::trust). Open connections stay.
    pub fn distrust(&mut self, key: &PublicKey) {
        if let Some(acceptor) = &mut self.acceptor {
            acceptor.trusted.remove(key);
        }
    }
}

/// Why an exchange did not lead to an Accept.
enum NotAdmitted {
    /// The client is told.
    Refused(RefuseReason),
    /// The request is no exchange at all.
    Nonsense,
}

impl From<RefuseReason> for NotAdmitted {
    fn from(reason: RefuseReason) -> Self {
        Self::Refused(reason)
    }
}

/// Completes the exchanges: the keys, and the body of the Accept.
fn answer(
    random: &mut Random,
    responder: Responder,
    slot: u16,
    exchange: Option<(PasswordExchange, [u8; SHARE_BYTES])>,
) -> Result<(ConnectionKeys, Vec<u8>), NotAdmitted> {
    let mut password_key = None;
    let mut payload = AcceptPayload {
        cid: slot,
        proof: None,
    };
    if let Some((ours, theirs)) = &exchange {
        let hash = responder.hash();
        let key = ours
            .agree(ConnectionEnd::Server, theirs, hash)
            .ok_or(NotAdmitted::Nonsense)?;
        payload.proof = Some(Proof {
            share: *ours.share(),
            tag: key.proof(hash),
        });
        password_key = Some(key);
    }
    let (split, body) = responder
        .finish(Zeroizing::new(random.bytes()), &payload.encode())
        .map_err(|_| NotAdmitted::Nonsense)?;
    Ok((ConnectionKeys::new(split, password_key.as_ref()), body))
}

impl AcceptConfig {
    /// What a client without trust must bring along and does not.
    fn missing(&self, header: &ConnectHeader) -> Option<RefuseReason> {
        if self.password.is_some() && !header.password {
            Some(RefuseReason::PasswordRequired)
        } else if self.lobby_key.is_some() && !header.token {
            Some(RefuseReason::TokenRequired)
        } else {
            None
        }
    }
}

impl Acceptor {
    /// Checks a connect token if the server wants one. Returns what the lobby says about the client.
    fn check_token(
        &mut self,
        now: Duration,
        config: &Config,
        server: PublicKey,
        (from, client): (SocketAddr, PublicKey),
        payload: &ConnectPayload<'_>,
    ) -> Result<Option<TokenClaims>, RefuseReason> {
        let accept = config.accept.as_ref().ok_or(RefuseReason::ShuttingDown)?;
        let Some(lobby_key) = &accept.lobby_key else {
            return Ok(None);
        };
        // `Config::check` demands a clock.
        let clock = config.clock.as_ref().ok_or(RefuseReason::TokenInvalid)?;
        let at = Presented {
            server,
            shard: accept.shard,
            client,
            address: from.ip(),
            unix_s: clock.unix_s(now),
            started_unix_s: clock.started_unix_s(),
        };
        let claims = token::verify(lobby_key, payload.token, &at)?;
        self.used_tokens.check(at.unix_s, &claims)?;
        Ok(Some(claims))
    }
}
