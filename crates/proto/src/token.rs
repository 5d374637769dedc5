//! Connect tokens: a lobby says who may connect to which server, and signs it.
//!
//! The lobby has an Ed25519 key (`TokenIssuer`); servers know its public half and admit only
//! clients that bring a token signed by it. A token holds:
//!
//! | bytes | field |
//! |---|---|
//! | 0 | format, 1 |
//! | 1..17 | id, random: a token is good for one connection |
//! | 17..25 | expiry in seconds since 1970-01-01 UTC, u64 |
//! | 1 | number of server addresses, at most 8; none means any |
//! | … | each: family (4 or 6), address (4 or 16 bytes), port (u16) |
//! | 1 | number of client addresses, at most 8; none means any |
//! | … | each: family (4 or 6), address |
//! | 2 | length of the user data, u16, at most 256 |
//! | … | user data |
//! | last 64 | Ed25519 signature of `"samestep connect token\0"` and everything before |
//!
//! Integers are little endian, and nothing follows.
//!
//! A token is not encrypted. Whoever reads one on its way can use it first, so let the token name
//! the client's address, or let the client know the server's key, which hides the token.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

#[cfg(feature = "crypto")]
use ring::signature;

use crate::handshake::{MAX_USER_DATA_BYTES, RefuseReason};

/// Limit of the addresses of each kind in a token.
pub const MAX_TOKEN_ADDRESSES: usize = 8;

const FORMAT: u8 = 1;
const SIGNATURE_BYTES: usize = 64;
#[cfg(feature = "crypto")]
const CONTEXT: &[u8] = b"samestep connect token\0";

/// The name of a token, by which its second use is noticed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(pub [u8; 16]);

impl fmt::Debug for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenId({:032x})", u128::from_be_bytes(self.0))
    }
}

/// What a lobby promises about a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenClaims {
    /// Unique to this token: 16 random bytes.
    pub id: TokenId,
    /// When it stops being good, in seconds since 1970-01-01 UTC. A minute from now is plenty:
    /// it only has to last until the client has connected.
    pub expires_unix_s: u64,
    /// The servers it is good for, at most [`MAX_TOKEN_ADDRESSES`]; empty: any server.
    pub servers: Vec<SocketAddr>,
    /// The addresses it may be used from, at most [`MAX_TOKEN_ADDRESSES`]; empty: any address.
    pub clients: Vec<IpAddr>,
    /// For the game on the server: account, team, rating. At most 256 bytes.
    pub user_data: Vec<u8>,
}

impl TokenClaims {
    /// Whether a client at `client` may use the token now, on a server that goes by any of
    /// `servers`. A server that does not know its own addresses admits only tokens for any
    /// server.
    pub fn check(
        &self,
        unix_s: u64,
        servers: &[SocketAddr],
        client: IpAddr,
    ) -> Result<(), TokenError> {
        // A dual-stack socket shows IPv4 addresses in their IPv6-mapped form.
        let plain = |addr: &SocketAddr| (addr.ip().to_canonical(), addr.port());
        if unix_s >= self.expires_unix_s {
            return Err(TokenError::Expired);
        }
        if !self.servers.is_empty()
            && !(self.servers.iter()).any(|one| servers.iter().any(|own| plain(own) == plain(one)))
        {
            return Err(TokenError::Server);
        }
        let client = client.to_canonical();
        if !self.clients.is_empty() && !self.clients.iter().any(|ip| ip.to_canonical() == client) {
            return Err(TokenError::Client);
        }
        Ok(())
    }

    /// The part of a token that is signed.
    ///
    /// # Errors
    /// [`TokenError::TooLarge`] if the claims exceed a limit.
    pub fn encode(&self) -> Result<Vec<u8>, TokenError> {
        if self.servers.len() > MAX_TOKEN_ADDRESSES
            || self.clients.len() > MAX_TOKEN_ADDRESSES
            || self.user_data.len() > MAX_USER_DATA_BYTES
        {
            return Err(TokenError::TooLarge);
        }
        let mut out = vec![FORMAT];
        out.extend_from_slice(&self.id.0);
        out.extend_from_slice(&self.expires_unix_s.to_le_bytes());
        out.push(self.servers.len() as u8);
        for server in &self.servers {
            encode_ip(server.ip(), &mut out);
            out.extend_from_slice(&server.port().to_le_bytes());
        }
        out.push(self.clients.len() as u8);
        for client in &self.clients {
            encode_ip(*client, &mut out);
        }
        out.extend_from_slice(&(self.user_data.len() as u16).to_le_bytes());
        out.extend_from_slice(&self.user_data);
        Ok(out)
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
        let expires_unix_s = u64::from_le_bytes(take(bytes)?);
        let servers = list(bytes, |bytes| {
            let ip = decode_ip(bytes)?;
            Some(SocketAddr::new(ip, u16::from_le_bytes(take(bytes)?)))
        })?;
        let clients = list(bytes, decode_ip)?;
        let len = usize::from(u16::from_le_bytes(take(bytes)?));
        if len > MAX_USER_DATA_BYTES || len != bytes.len() {
            return None;
        }
        Some(Self {
            id,
            expires_unix_s,
            servers,
            clients,
            user_data: bytes.to_vec(),
        })
    }
}

/// The lobby's side: signs tokens.
#[cfg(feature = "crypto")]
pub struct TokenIssuer {
    key: signature::Ed25519KeyPair,
}

#[cfg(feature = "crypto")]
impl TokenIssuer {
    /// An issuer with the key that belongs to `seed`: 32 random bytes, kept secret.
    pub fn new(seed: [u8; 32]) -> Self {
        let key = signature::Ed25519KeyPair::from_seed_unchecked(&seed)
            .expect("an Ed25519 seed has 32 bytes");
        Self { key }
    }

    /// What servers need to check the tokens.
    pub fn public_key(&self) -> [u8; 32] {
        use signature::KeyPair;
        let mut key = [0; 32];
        key.copy_from_slice(self.key.public_key().as_ref());
        key
    }

    /// A signed token for one connection.
    ///
    /// # Errors
    /// [`TokenError::TooLarge`] if the claims exceed a limit.
    pub fn issue(&self, claims: &TokenClaims) -> Result<Vec<u8>, TokenError> {
        let mut token = claims.encode()?;
        let signature = self.key.sign(&[CONTEXT, &token].concat());
        token.extend_from_slice(signature.as_ref());
        Ok(token)
    }
}

#[cfg(feature = "crypto")]
impl fmt::Debug for TokenIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenIssuer").finish_non_exhaustive()
    }
}

/// Reads a token if the lobby with the public key `lobby_key` signed it. Whether it is good here
/// and now, [`TokenClaims::check`] and [`UsedTokens`] say.
#[cfg(feature = "crypto")]
pub fn verify(lobby_key: &[u8; 32], token: &[u8]) -> Result<TokenClaims, TokenError> {
    let (claims, signature) = token
        .split_last_chunk::<SIGNATURE_BYTES>()
        .ok_or(TokenError::Malformed)?;
    // The signature first: a stranger's bytes are not parsed at all.
    signature::UnparsedPublicKey::new(&signature::ED25519, lobby_key)
        .verify(&[CONTEXT, claims].concat(), signature)
        .map_err(|_| TokenError::Signature)?;
    TokenClaims::decode(claims)
}

/// Without encryption there are no signatures either: refuses every token.
#[cfg(not(feature = "crypto"))]
pub fn verify(_lobby_key: &[u8; 32], token: &[u8]) -> Result<TokenClaims, TokenError> {
    Err(if token.len() < SIGNATURE_BYTES {
        TokenError::Malformed
    } else {
        TokenError::Signature
    })
}

/// Why a token was not issued or not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The claims exceed a limit (when issuing).
    #[error("a token holds at most 8 servers, 8 clients and 256 bytes of data")]
    TooLarge,
    /// It is not a token.
    #[error("these bytes are not a connect token")]
    Malformed,
    /// It was not signed by this lobby.
    #[error("the token was not signed by this server's lobby")]
    Signature,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// It is for other servers.
    #[error("the token is for another server")]
    Server,
    /// It is for other clients.
    #[error("the token is for another client address")]
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
            TokenError::Expired => Self::TokenExpired,
            TokenError::Server | TokenError::Client => Self::TokenAddress,
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

    /// Uses a token up, or says why it cannot be used.
    pub fn redeem(&mut self, unix_s: u64, claims: &TokenClaims) -> Result<(), TokenError> {
        self.forget_expired(unix_s);
        if unix_s >= claims.expires_unix_s {
            return Err(TokenError::Expired);
        }
        if self.expiry.contains_key(&claims.id) {
            return Err(TokenError::Used);
        }
        if self.expiry.len() >= self.limit {
            return Err(TokenError::Full);
        }
        self.expiry.insert(claims.id, claims.expires_unix_s);
        self.by_expiry.insert((claims.expires_unix_s, claims.id));
        Ok(())
    }

    fn forget_expired(&mut self, unix_s: u64) {
        while let Some((expires, id)) = self.by_expiry.first().copied()
            && expires <= unix_s
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

/// A count (u8, at most [`MAX_TOKEN_ADDRESSES`]) and as many items.
fn list<T>(bytes: &mut &[u8], item: impl Fn(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let [count] = take(bytes)?;
    if usize::from(count) > MAX_TOKEN_ADDRESSES {
        return None;
    }
    (0..count).map(|_| item(bytes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::MAX_TOKEN_BYTES;
    use crate::rng::Random;

    const NOW: u64 = 1_900_000_000;

    fn claims() -> TokenClaims {
        TokenClaims {
            id: TokenId([0xAA; 16]),
            expires_unix_s: 2_000_000_000,
            servers: vec![
                "192.0.2.1:4000".parse().unwrap(),
                "[2001:db8::1]:4000".parse().unwrap(),
            ],
            clients: vec!["198.51.100.7".parse().unwrap()],
            user_data: b"ada".to_vec(),
        }
    }

    fn numbered(id: u8, expires_unix_s: u64) -> TokenClaims {
        TokenClaims {
            id: TokenId([id; 16]),
            expires_unix_s,
            ..claims()
        }
    }

    #[test]
    fn claims_round_trip_up_to_their_limits() {
        let largest = TokenClaims {
            servers: vec!["[2001:db8::1]:4000".parse().unwrap(); MAX_TOKEN_ADDRESSES],
            clients: vec!["2001:db8::2".parse().unwrap(); MAX_TOKEN_ADDRESSES],
            user_data: vec![1; MAX_USER_DATA_BYTES],
            ..claims()
        };
        let smallest = TokenClaims {
            servers: vec![],
            clients: vec![],
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
        let mut over = largest.clone();
        over.servers.push(over.servers[0]);
        assert_eq!(over.encode(), Err(TokenError::TooLarge));
        let mut over = largest;
        over.clients.push(over.clients[0]);
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
            }
        }
    }

    #[test]
    fn a_token_is_good_in_its_time_at_its_server_from_its_client() {
        let client = "198.51.100.7".parse().unwrap();
        let servers = ["192.0.2.1:4000".parse().unwrap()];
        let claims = claims();
        let check = |unix_s, servers: &[SocketAddr], client| claims.check(unix_s, servers, client);
        assert_eq!(check(NOW, &servers, client), Ok(()));
        let mapped = ["[::ffff:192.0.2.1]:4000".parse().unwrap()];
        let mapped_client = "::ffff:198.51.100.7".parse().unwrap();
        assert_eq!(check(NOW, &mapped, mapped_client), Ok(()));
        assert_eq!(check(1_999_999_999, &servers, client), Ok(()));
        assert_eq!(
            check(2_000_000_000, &servers, client),
            Err(TokenError::Expired)
        );
        let other_port = ["192.0.2.1:4001".parse().unwrap()];
        assert_eq!(check(NOW, &other_port, client), Err(TokenError::Server));
        assert_eq!(check(NOW, &[], client), Err(TokenError::Server));
        let other = "198.51.100.8".parse().unwrap();
        assert_eq!(check(NOW, &servers, other), Err(TokenError::Client));
        let open = TokenClaims {
            servers: vec![],
            clients: vec![],
            ..claims.clone()
        };
        assert_eq!(open.check(NOW, &[], other), Ok(()));
    }

    #[test]
    fn a_token_is_used_once() {
        let mut used = UsedTokens::new(10);
        assert_eq!(used.redeem(NOW, &numbered(1, NOW + 10)), Ok(()));
        assert_eq!(
            used.redeem(NOW, &numbered(1, NOW + 10)),
            Err(TokenError::Used)
        );
        assert_eq!(
            used.redeem(NOW + 9, &numbered(1, NOW + 10)),
            Err(TokenError::Used)
        );
        assert_eq!(
            used.redeem(NOW + 10, &numbered(1, NOW + 10)),
            Err(TokenError::Expired)
        );
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
        assert_eq!(used.redeem(NOW + 10, &late), Ok(()));
        assert_eq!(used.expiry.len(), 3);
    }

    #[test]
    fn every_error_has_a_reason_for_the_player() {
        for (error, reason) in [
            (TokenError::Malformed, RefuseReason::TokenInvalid),
            (TokenError::Signature, RefuseReason::TokenInvalid),
            (TokenError::Expired, RefuseReason::TokenExpired),
            (TokenError::Server, RefuseReason::TokenAddress),
            (TokenError::Client, RefuseReason::TokenAddress),
            (TokenError::Used, RefuseReason::TokenUsed),
            (TokenError::Full, RefuseReason::Busy),
        ] {
            assert_eq!(RefuseReason::from(error), reason);
        }
    }

    #[cfg(feature = "crypto")]
    mod signed {
        use super::*;
        use crate::golden::hex;

        fn issuer() -> TokenIssuer {
            TokenIssuer::new(std::array::from_fn(|i| i as u8))
        }

        #[test]
        fn only_the_lobbys_own_tokens_are_read() {
            let token = issuer().issue(&claims()).unwrap();
            assert_eq!(verify(&issuer().public_key(), &token), Ok(claims()));
            let other = TokenIssuer::new([1; 32]).public_key();
            assert_eq!(verify(&other, &token), Err(TokenError::Signature));
            assert_eq!(verify(&[0; 32], &token), Err(TokenError::Signature));
        }

        #[test]
        fn changed_cut_and_random_tokens_are_refused() {
            let key = issuer().public_key();
            let token = issuer().issue(&claims()).unwrap();
            for bit in 0..token.len() * 8 {
                let mut changed = token.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(verify(&key, &changed), Err(TokenError::Signature));
            }
            for len in 0..token.len() {
                assert!(verify(&key, &token[..len]).is_err());
            }
            let mut random = Random::new([2; 32]);
            for _ in 0..300 {
                let mut junk = vec![0; random.next_u32() as usize % 300];
                random.fill(&mut junk);
                assert!(verify(&key, &junk).is_err());
            }
        }

        #[test]
        fn a_signature_for_another_purpose_is_no_token() {
            let issuer = issuer();
            let mut token = claims().encode().unwrap();
            let signature = issuer.key.sign(&token);
            token.extend_from_slice(signature.as_ref());
            assert_eq!(
                verify(&issuer.public_key(), &token),
                Err(TokenError::Signature)
            );
        }

        #[test]
        fn golden_token() {
            assert_eq!(
                hex(&issuer().public_key()),
                crate::golden::vector("token_lobby_key")
            );
            assert_eq!(
                hex(&issuer().issue(&claims()).unwrap()),
                crate::golden::vector("token")
            );
        }
    }

    #[cfg(not(feature = "crypto"))]
    #[test]
    fn without_signatures_every_token_is_refused() {
        assert_eq!(verify(&[0; 32], &[0; 100]), Err(TokenError::Signature));
        assert_eq!(verify(&[0; 32], &[]), Err(TokenError::Malformed));
    }
}
