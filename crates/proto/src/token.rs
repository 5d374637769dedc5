//! Connect tokens: a lobby says who may connect to which server, and signs it.
//!
//! The lobby has an Ed25519 key (`TokenIssuer`); servers know its public half and admit only
//! clients that bring a token signed by it. A token holds:
//!
//! | bytes | field |
//! |---|---|
//! | 0 | format, 2 |
//! | 1..17 | id, random: a token is good for one connection |
//! | 17..25 | time of issue in seconds since 1970-01-01 UTC, u64 |
//! | 25..33 | expiry in seconds since 1970-01-01 UTC, u64, at most 300 after the time of issue |
//! | 33..65 | static key of the server it is for |
//! | 65..69 | shard, u32: which of the servers that share this key |
//! | 69..101 | static key of the client it is for |
//! | 1 | number of client addresses, at most 8; none means any |
//! | … | each: family (4 or 6), address |
//! | 2 | length of the user data, u16, at most 256 |
//! | … | user data |
//! | last 64 | Ed25519 signature of `"samestep connect token\0"` and everything before |
//!
//! Integers are little endian, and nothing follows.
//!
//! A token is no secret: it admits the holder of the client's static key, to the holder of the server's, once. Clocks of lobby and server may
//! differ by [`CLOCK_SKEW_S`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use crate::handshake::{MAX_TOKEN_BYTES, MAX_USER_DATA_BYTES, RefuseReason};
use crate::key::{PublicKey, PublicKeyError, bytes_of, text_of};

/// Limit of the client addresses in a token.
pub const MAX_TOKEN_ADDRESSES: usize = 8;

/// Longest time between issue and expiry of a token, in seconds.
pub const MAX_TOKEN_LIFE_S: u64 = 300;

/// How far the clocks of lobby and server may differ, in seconds.
pub const CLOCK_SKEW_S: u64 = 10;

const FORMAT: u8 = 2;
const SIGNATURE_BYTES: usize = 64;
const CONTEXT: &[u8] = b"samestep connect token\0";

/// The name of a token, by which its second use is noticed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(pub [u8; 16]);

impl fmt::Debug for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenId({:032x})", u128::from_be_bytes(self.0))
    }
}

/// The public half of a lobby's key, by which servers know its tokens. As text it is written like a [`PublicKey`], in 43 characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LobbyKey([u8; 32]);

impl LobbyKey {
    /// The key with these bytes.
    ///
    /// # Errors
    /// [`PublicKeyError::NotAKey`] for bytes that are no Ed25519 key.
    pub fn from_bytes(bytes: [u8; 32]) -> Result<Self, PublicKeyError> {
        match VerifyingKey::from_bytes(&bytes) {
            Ok(key) if !key.is_weak() => Ok(Self(bytes)),
            _ => Err(PublicKeyError::NotAKey),
        }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for LobbyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text_of(&self.0))
    }
}

impl fmt::Debug for LobbyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LobbyKey({self})")
    }
}

impl FromStr for LobbyKey {
    type Err = PublicKeyError;

    fn from_str(text: &str) -> Result<Self, PublicKeyError> {
        Self::from_bytes(bytes_of(text)?)
    }
}

/// A token as text, for files and environment variables: unpadded base64url (RFC 4648, section 5).
pub fn token_to_text(token: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(token)
}

/// The token that [`token_to_text`] wrote. Who signed it is not checked.
///
/// # Errors
/// [`TokenError::Malformed`] if the text is no token.
pub fn token_from_text(text: &str) -> Result<Vec<u8>, TokenError> {
    let token = URL_SAFE_NO_PAD.decode(text);
    let token = token.or(Err(TokenError::Malformed))?;
    if token.len() > MAX_TOKEN_BYTES {
        return Err(TokenError::Malformed);
    }
    TokenClaims::of_token(&token)?;
    Ok(token)
}

/// What a lobby promises about a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenClaims {
    /// Unique to this token: 16 random bytes.
    pub id: TokenId,
    /// When it was issued, in seconds since 1970-01-01 UTC. A server refuses tokens from before its start, since it does not know which
    /// of them were used.
    pub issued_unix_s: u64,
    /// When it stops being good, in seconds since 1970-01-01 UTC, at most [`MAX_TOKEN_LIFE_S`] after it was issued. A minute is
    /// plenty: it only has to last until the client has connected.
    pub expires_unix_s: u64,
    /// The server it is good for.
    pub server: PublicKey,
    /// Which of the servers that share this key ([`AcceptConfig::shard`](crate::AcceptConfig::shard)).
    pub shard: u32,
    /// The client it admits, by its [identity](crate::Config::identity).
    pub client: PublicKey,
    /// The addresses it may be used from, at most [`MAX_TOKEN_ADDRESSES`]; empty: any address.
    pub client_addresses: Vec<IpAddr>,
    /// For the game on the server: account, team, rating. At most 256 bytes.
    pub user_data: Vec<u8>,
}

/// Where and when a token is shown.
#[derive(Clone, Copy, Debug)]
pub struct Presented {
    /// The server's key.
    pub server: PublicKey,
    /// Its shard.
    pub shard: u32,
    /// The client's key, as the key exchange shows it.
    pub client: PublicKey,
    /// The client's address.
    pub address: IpAddr,
    /// Now, by the server's clock.
    pub unix_s: u64,
    /// When the server started.
    pub started_unix_s: u64,
}

impl TokenClaims {
    /// Whether the token is good where and when it is shown.
    pub fn check(&self, at: &Presented) -> Result<(), TokenError> {
        if (self.server, self.shard) != (at.server, at.shard) {
            return Err(TokenError::Server);
        }
        // A dual-stack socket shows IPv4 addresses in their IPv6-mapped form.
        let address = at.address.to_canonical();
        let mut addresses = self.client_addresses.iter();
        if self.client != at.client
            || !self.client_addresses.is_empty() && !addresses.any(|a| a.to_canonical() == address)
        {
            return Err(TokenError::Client);
        }
        if self.life_s().is_none() || self.issued_unix_s > at.unix_s.saturating_add(CLOCK_SKEW_S) {
            return Err(TokenError::Time);
        }
        if at.unix_s >= self.expires_unix_s.saturating_add(CLOCK_SKEW_S) {
            return Err(TokenError::Expired);
        }
        if self.issued_unix_s <= at.started_unix_s.saturating_add(CLOCK_SKEW_S) {
            return Err(TokenError::BeforeStart);
        }
        Ok(())
    }

    /// How long it is good for, if that is not too long.
    fn life_s(&self) -> Option<u64> {
        let life = self.expires_unix_s.checked_sub(self.issued_unix_s)?;
        (life <= MAX_TOKEN_LIFE_S).then_some(life)
    }

    /// The part of a token that is signed.
    ///
    /// # Errors
    /// [`TokenError::TooLarge`] if the claims exceed a limit.
    pub fn encode(&self) -> Result<Vec<u8>, TokenError> {
        if self.client_addresses.len() > MAX_TOKEN_ADDRESSES
            || self.user_data.len() > MAX_USER_DATA_BYTES
        {
            return Err(TokenError::TooLarge);
        }
        let mut out = vec![FORMAT];
        out.extend_from_slice(&self.id.0);
        out.extend_from_slice(&self.issued_unix_s.to_le_bytes());
        out.extend_from_slice(&self.expires_unix_s.to_le_bytes());
        out.extend_from_slice(self.server.as_bytes());
        out.extend_from_slice(&self.shard.to_le_bytes());
        out.extend_from_slice(self.client.as_bytes());
        out.push(self.client_addresses.len() as u8);
        for address in &self.client_addresses {
            encode_ip(*address, &mut out);
        }
        out.extend_from_slice(&(self.user_data.len() as u16).to_le_bytes());
        out.extend_from_slice(&self.user_data);
        Ok(out)
    }

    /// What a token says, whoever signed it: for the client that it is for.
    ///
    /// # Errors
    /// [`TokenError::Malformed`] if the bytes are no token.
    pub fn of_token(token: &[u8]) -> Result<Self, TokenError> {
        let signed = token.split_last_chunk::<SIGNATURE_BYTES>();
        Self::decode(signed.ok_or(TokenError::Malformed)?.0)
    }

    /// Reads the part of a token that is signed, without regard to who wrote it: see `verify`.
    pub fn decode(bytes: &[u8]) -> Result<Self, TokenError> {
        Self::read(bytes).ok_or(TokenError::Malformed)
    }

    fn read(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        if take::<1>(bytes)? != [FORMAT] {
            return None;
        }
        let id = TokenId(take(bytes)?);
        let issued_unix_s = u64::from_le_bytes(take(bytes)?);
        let expires_unix_s = u64::from_le_bytes(take(bytes)?);
        let server = PublicKey::from_bytes(take(bytes)?).ok()?;
        let shard = u32::from_le_bytes(take(bytes)?);
        let client = PublicKey::from_bytes(take(bytes)?).ok()?;
        let [count] = take(bytes)?;
        if usize::from(count) > MAX_TOKEN_ADDRESSES {
            return None;
        }
        let client_addresses = (0..count)
            .map(|_| decode_ip(bytes))
            .collect::<Option<_>>()?;
        let len = usize::from(u16::from_le_bytes(take(bytes)?));
        if len > MAX_USER_DATA_BYTES || len != bytes.len() {
            return None;
        }
        Some(Self {
            id,
            issued_unix_s,
            expires_unix_s,
            server,
            shard,
            client,
            client_addresses,
            user_data: bytes.to_vec(),
        })
    }
}

/// The lobby's side: signs tokens.
pub struct TokenIssuer {
    key: SigningKey,
}

impl TokenIssuer {
    /// The issuer whose key is derived from 32 secret, random bytes. Keep them: servers know the public key that belongs to them.
    pub fn new(seed: [u8; 32]) -> Self {
        Self {
            key: SigningKey::from_bytes(&seed),
        }
    }

    /// What servers must know ([`AcceptConfig::lobby_key`](crate::AcceptConfig::lobby_key)).
    pub fn public_key(&self) -> LobbyKey {
        LobbyKey(self.key.verifying_key().to_bytes())
    }

    /// A signed token for one connection.
    ///
    /// # Errors
    /// [`TokenError::TooLarge`] if the claims exceed a limit, [`TokenError::Time`] if they expire before they are issued or more than
    /// [`MAX_TOKEN_LIFE_S`] after.
    pub fn issue(&self, claims: &TokenClaims) -> Result<Vec<u8>, TokenError> {
        claims.life_s().ok_or(TokenError::Time)?;
        let mut token = claims.encode()?;
        let signature = self.key.sign(&[CONTEXT, &token].concat());
        token.extend_from_slice(&signature.to_bytes());
        Ok(token)
    }
}

impl fmt::Debug for TokenIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenIssuer").finish_non_exhaustive()
    }
}

/// Reads a token that is good where and when it is shown, if the lobby with the public key `lobby_key` signed it. Whether it was used before,
/// [`UsedTokens`] says. The signature comes last, since it costs most.
pub fn verify(
    lobby_key: &LobbyKey,
    token: &[u8],
    at: &Presented,
) -> Result<TokenClaims, TokenError> {
    let (claims, signature) = token
        .split_last_chunk::<SIGNATURE_BYTES>()
        .ok_or(TokenError::Malformed)?;
    let read = TokenClaims::decode(claims)?;
    read.check(at)?;
    VerifyingKey::from_bytes(&lobby_key.0)
        .and_then(|key| {
            let signed = [CONTEXT, claims].concat();
            key.verify_strict(&signed, &Signature::from_bytes(signature))
        })
        .map_err(|_| TokenError::Signature)?;
    Ok(read)
}

/// Why a token was not issued or not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The claims exceed a limit (when issuing).
    #[error("a token holds at most 8 client addresses and 256 bytes of data")]
    TooLarge,
    /// It is not a token.
    #[error("these bytes are not a connect token")]
    Malformed,
    /// It was not signed by this lobby.
    #[error("the token was not signed by this server's lobby")]
    Signature,
    /// Its times make no sense: it is good for too long, or not issued yet.
    #[error(
        "a token is good for at most {MAX_TOKEN_LIFE_S} s from its issue, and is not issued in the future: check the clocks of lobby and server"
    )]
    Time,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// It was issued before the server started, or within the tolerance of clocks after.
    #[error("the token is from before the server started: ask for a new one")]
    BeforeStart,
    /// It is for another server.
    #[error("the token is for another server")]
    Server,
    /// It is for another client, or another address of it.
    #[error("the token is for another client or client address")]
    Client,
    /// It has been used before.
    #[error("the token has been used")]
    Used,
    /// Too many tokens are being remembered to check another.
    #[error("too many tokens were used recently to remember another")]
    Full,
}

impl From<TokenError> for RefuseReason {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::TooLarge | TokenError::Malformed | TokenError::Signature => {
                Self::TokenInvalid
            }
            TokenError::Time => Self::TokenTime,
            TokenError::Expired => Self::TokenExpired,
            TokenError::BeforeStart => Self::TokenBeforeStart,
            TokenError::Server => Self::TokenServer,
            TokenError::Client => Self::TokenClient,
            TokenError::Used => Self::TokenUsed,
            TokenError::Full => Self::Busy,
        }
    }
}

/// Remembers used tokens until they expire, so that each admits one connection.
///
/// It holds at most `limit` tokens. When it is full, further tokens are refused
/// ([`TokenError::Full`]) until some expire: forgetting one early would let it be used twice.
/// Only tokens with a genuine signature get here, so only the lobby can fill it.
#[derive(Debug)]
pub struct UsedTokens {
    limit: usize,
    expiry: BTreeMap<TokenId, u64>,
    by_expiry: BTreeSet<(u64, TokenId)>,
}

impl UsedTokens {
    /// Remembers up to `limit` tokens, about 100 bytes each.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            expiry: BTreeMap::new(),
            by_expiry: BTreeSet::new(),
        }
    }

    /// Whether a token can be used.
    pub fn check(&mut self, unix_s: u64, claims: &TokenClaims) -> Result<(), TokenError> {
        self.forget_expired(unix_s);
        if self.expiry.contains_key(&claims.id) {
            return Err(TokenError::Used);
        }
        if self.expiry.len() >= self.limit {
            return Err(TokenError::Full);
        }
        Ok(())
    }

    /// Uses a token up, or says why it cannot be used.
    pub fn redeem(&mut self, unix_s: u64, claims: &TokenClaims) -> Result<(), TokenError> {
        self.check(unix_s, claims)?;
        let forgotten_at = claims.expires_unix_s.saturating_add(CLOCK_SKEW_S);
        self.expiry.insert(claims.id, forgotten_at);
        self.by_expiry.insert((forgotten_at, claims.id));
        Ok(())
    }

    fn forget_expired(&mut self, unix_s: u64) {
        while let Some((forgotten_at, id)) = self.by_expiry.first().copied()
            && forgotten_at <= unix_s
        {
            self.by_expiry.pop_first();
            self.expiry.remove(&id);
        }
    }
}

fn encode_ip(ip: IpAddr, out: &mut Vec<u8>) {
    match ip {
        IpAddr::V4(ip) => {
            out.push(4);
            out.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(6);
            out.extend_from_slice(&ip.octets());
        }
    }
}

fn decode_ip(bytes: &mut &[u8]) -> Option<IpAddr> {
    match take(bytes)? {
        [4] => Some(IpAddr::from(take::<4>(bytes)?)),
        [6] => Some(IpAddr::from(take::<16>(bytes)?)),
        _ => None,
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{assert_vectors, hex};
    use crate::handshake::MAX_TOKEN_BYTES;
    use crate::key::Identity;
    use crate::rng::Random;

    const NOW: u64 = 2_000_000_000;

    fn key(secret: u8) -> PublicKey {
        Identity::from_secret([secret; 32]).public_key()
    }

    fn claims() -> TokenClaims {
        TokenClaims {
            id: TokenId([0xAA; 16]),
            issued_unix_s: NOW,
            expires_unix_s: NOW + 60,
            server: key(3),
            shard: 7,
            client: key(4),
            client_addresses: vec!["198.51.100.7".parse().unwrap()],
            user_data: b"ada".to_vec(),
        }
    }

    fn presented() -> Presented {
        Presented {
            server: key(3),
            shard: 7,
            client: key(4),
            address: "198.51.100.7".parse().unwrap(),
            unix_s: NOW + 1,
            started_unix_s: NOW - 1000,
        }
    }

    #[test]
    fn keys_and_tokens_as_text_and_back() {
        let key = issuer().public_key();
        assert_eq!(key.to_string().parse(), Ok(key));
        assert_eq!("sesame".parse::<LobbyKey>(), Err(PublicKeyError::Length(6)));
        // The point of order one: every signature would be right.
        let mut weak = [0; 32];
        weak[0] = 1;
        assert_eq!(LobbyKey::from_bytes(weak), Err(PublicKeyError::NotAKey));
        let token = issuer().issue(&claims()).unwrap();
        let text = token_to_text(&token);
        assert_eq!(token_from_text(&text), Ok(token.clone()));
        assert_eq!(TokenClaims::of_token(&token), Ok(claims()));
        for text in ["", "sesame", &text[1..], &(text.clone() + "AA")] {
            assert_eq!(token_from_text(text), Err(TokenError::Malformed), "{text}");
        }
    }

    fn numbered(id: u8, expires_unix_s: u64) -> TokenClaims {
        TokenClaims {
            id: TokenId([id; 16]),
            expires_unix_s,
            ..claims()
        }
    }

    fn issuer() -> TokenIssuer {
        TokenIssuer::new(std::array::from_fn(|i| i as u8))
    }

    #[test]
    fn claims_round_trip_up_to_their_limits() {
        let largest = TokenClaims {
            client_addresses: vec!["2001:db8::2".parse().unwrap(); MAX_TOKEN_ADDRESSES],
            user_data: vec![1; MAX_USER_DATA_BYTES],
            ..claims()
        };
        let smallest = TokenClaims {
            client_addresses: vec![],
            user_data: vec![],
            ..claims()
        };
        for claims in [claims(), largest.clone(), smallest] {
            let bytes = claims.encode().unwrap();
            assert!(bytes.len() + SIGNATURE_BYTES <= MAX_TOKEN_BYTES);
            assert_eq!(TokenClaims::decode(&bytes), Ok(claims));
        }
        let mut over = largest.clone();
        over.user_data.push(0);
        assert_eq!(over.encode(), Err(TokenError::TooLarge));
        let mut over = largest;
        over.client_addresses.push(over.client_addresses[0]);
        assert_eq!(over.encode(), Err(TokenError::TooLarge));
    }

    #[test]
    fn hostile_claims_never_panic_and_never_have_two_readings() {
        let bytes = claims().encode().unwrap();
        for len in 0..bytes.len() {
            assert!(TokenClaims::decode(&bytes[..len]).is_err());
        }
        let mut random = Random::new([1; 32]);
        for _ in 0..100_000 {
            let mut bytes = bytes.clone();
            for _ in 0..1 + random.next_u32() % 3 {
                let at = random.next_u32() as usize % bytes.len();
                bytes[at] = random.next_u32() as u8 >> (random.next_u32() % 8);
            }
            if random.next_u32().is_multiple_of(4) {
                bytes.push(0);
            }
            if let Ok(read) = TokenClaims::decode(&bytes) {
                assert_eq!(read.encode().as_ref(), Ok(&bytes));
                let _ = read.check(&presented());
            }
        }
    }

    #[test]
    fn a_token_is_good_at_its_server_for_its_client_only() {
        let check = |change: fn(&mut Presented)| {
            let mut at = presented();
            change(&mut at);
            claims().check(&at)
        };
        assert_eq!(check(|_| ()), Ok(()));
        let mapped = |at: &mut Presented| at.address = "::ffff:198.51.100.7".parse().unwrap();
        assert_eq!(check(mapped), Ok(()));
        assert_eq!(check(|at| at.server = key(5)), Err(TokenError::Server));
        assert_eq!(check(|at| at.shard = 8), Err(TokenError::Server));
        assert_eq!(check(|at| at.client = key(5)), Err(TokenError::Client));
        let elsewhere = |at: &mut Presented| at.address = "198.51.100.8".parse().unwrap();
        assert_eq!(check(elsewhere), Err(TokenError::Client));
    }

    #[test]
    fn a_token_is_good_in_its_time_give_or_take_the_skew_of_clocks() {
        let at = |unix_s| {
            claims().check(&Presented {
                unix_s,
                ..presented()
            })
        };
        assert_eq!(at(NOW - 11), Err(TokenError::Time));
        assert_eq!(at(NOW - 10), Ok(()));
        assert_eq!(at(NOW + 69), Ok(()));
        assert_eq!(at(NOW + 70), Err(TokenError::Expired));
        let started = |started_unix_s| {
            claims().check(&Presented {
                started_unix_s,
                ..presented()
            })
        };
        assert_eq!(started(NOW - 11), Ok(()));
        assert_eq!(started(NOW - 10), Err(TokenError::BeforeStart));
        for (issued_unix_s, expires_unix_s) in [(NOW, NOW + 301), (NOW, NOW - 1), (0, u64::MAX)] {
            let claims = TokenClaims {
                issued_unix_s,
                expires_unix_s,
                ..claims()
            };
            assert_eq!(claims.check(&presented()), Err(TokenError::Time));
            assert_eq!(issuer().issue(&claims), Err(TokenError::Time));
        }
    }

    #[test]
    fn a_token_is_used_once() {
        let mut used = UsedTokens::new(10);
        let token = numbered(1, NOW + 10);
        assert_eq!(used.redeem(NOW, &token), Ok(()));
        assert_eq!(used.redeem(NOW, &token), Err(TokenError::Used));
        assert_eq!(used.redeem(NOW + 19, &token), Err(TokenError::Used));
        // From here on it has expired for everyone.
        used.forget_expired(NOW + 20);
        assert!(used.expiry.is_empty());
    }

    #[test]
    fn a_full_memory_refuses_rather_than_forgets() {
        let mut used = UsedTokens::new(3);
        for id in 0..3 {
            let token = numbered(id, NOW + 10 + u64::from(id));
            assert_eq!(used.redeem(NOW, &token), Ok(()));
        }
        let late = numbered(9, NOW + 100);
        assert_eq!(used.redeem(NOW, &late), Err(TokenError::Full));
        assert_eq!(
            used.redeem(NOW, &numbered(0, NOW + 10)),
            Err(TokenError::Used)
        );
        assert_eq!(used.redeem(NOW + 20, &late), Ok(()));
        assert_eq!(used.expiry.len(), 3);
    }

    #[test]
    fn every_error_has_a_reason_for_the_player() {
        for (error, reason) in [
            (TokenError::Malformed, RefuseReason::TokenInvalid),
            (TokenError::Signature, RefuseReason::TokenInvalid),
            (TokenError::Time, RefuseReason::TokenTime),
            (TokenError::Expired, RefuseReason::TokenExpired),
            (TokenError::BeforeStart, RefuseReason::TokenBeforeStart),
            (TokenError::Server, RefuseReason::TokenServer),
            (TokenError::Client, RefuseReason::TokenClient),
            (TokenError::Used, RefuseReason::TokenUsed),
            (TokenError::Full, RefuseReason::Busy),
        ] {
            assert_eq!(RefuseReason::from(error), reason);
        }
    }

    #[test]
    fn only_the_lobbys_own_tokens_are_read() {
        let token = issuer().issue(&claims()).unwrap();
        let read = |lobby: &LobbyKey| verify(lobby, &token, &presented());
        assert_eq!(read(&issuer().public_key()), Ok(claims()));
        let other = TokenIssuer::new([1; 32]).public_key();
        assert_eq!(read(&other), Err(TokenError::Signature));
        assert_eq!(read(&LobbyKey([0; 32])), Err(TokenError::Signature));
    }

    #[test]
    fn changed_cut_and_random_tokens_are_refused() {
        let lobby = issuer().public_key();
        let token = issuer().issue(&claims()).unwrap();
        for bit in 0..token.len() * 8 {
            let mut changed = token.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&lobby, &changed, &presented()).is_err());
        }
        for len in 0..token.len() {
            assert!(verify(&lobby, &token[..len], &presented()).is_err());
        }
        let mut random = Random::new([2; 32]);
        for _ in 0..300 {
            let mut junk = vec![0; random.next_u32() as usize % 300];
            random.fill(&mut junk);
            assert!(verify(&lobby, &junk, &presented()).is_err());
        }
    }

    #[test]
    fn a_signature_for_another_purpose_is_no_token() {
        let issuer = issuer();
        let mut token = claims().encode().unwrap();
        let signature = issuer.key.sign(&token);
        token.extend_from_slice(&signature.to_bytes());
        assert_eq!(
            verify(&issuer.public_key(), &token, &presented()),
            Err(TokenError::Signature)
        );
    }

    #[test]
    fn golden_token() {
        assert_vectors(&[
            ("token_lobby_key", hex(issuer().public_key().as_bytes())),
            ("token", hex(&issuer().issue(&claims()).unwrap())),
        ]);
    }
}
