//! The key exchange: two messages of the Noise protocol framework, by `snow`.
//!
//! * `Noise_NXpsk2_25519_ChaChaPoly_BLAKE2s` when the client does not know the server's key: it
//!   learns the key and has to believe it. Message 1 is authenticated against damage only; its
//!   payload can be read by anyone.
//! * `Noise_NKpsk2_25519_ChaChaPoly_BLAKE2s` when it does (from the lobby, say): nobody can pose
//!   as the server, and message 1 is encrypted too.
//!
//! The pre-shared key is [`password_key`]: zero without a password. It enters in message 2, so
//! listening does not help to guess the password, and a client with the wrong one finds out by not
//! being able to read message 2. The server finds out when no packet follows that it can open.
//!
//! The prologue is the head of the Connect, bytes 0..59. What the two sides agree on there cannot
//! be changed on the way without making the exchange fail.

use std::fmt;
use std::sync::Arc;

use snow::params::{CipherChoice, DHChoice, HashChoice, NoiseParams};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::{Builder, HandshakeState, types};

use crate::crypto::same;
use crate::handshake::password_key;
use crate::rng::Random;

/// Bytes that message 1 adds to its payload: a key and a tag.
pub const MESSAGE_1_OVERHEAD_BYTES: usize = 48;

/// Bytes that message 2 adds to its payload at most (NX): two keys and two tags.
pub const MESSAGE_2_OVERHEAD_BYTES: usize = 96;

/// A server's long-term X25519 key pair. Its public half is what a lobby hands out.
#[derive(Clone)]
pub struct StaticKey {
    pair: Arc<dyn types::Dh>,
}

impl StaticKey {
    /// A new key.
    pub fn generate(random: &mut Random) -> Self {
        Self::from_secret(random.bytes())
    }

    /// The key kept from an earlier run, so that clients recognise the server. Any 32 bytes will
    /// do; they must be secret and random.
    pub fn from_secret(secret: [u8; 32]) -> Self {
        let mut pair = x25519();
        pair.set(&secret);
        Self { pair: pair.into() }
    }

    /// What clients may know.
    pub fn public(&self) -> [u8; 32] {
        let mut public = [0; 32];
        public.copy_from_slice(self.pair.pubkey());
        public
    }
}

impl fmt::Debug for StaticKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticKey").finish_non_exhaustive()
    }
}

/// What the exchange yields, from the point of view of one side.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// First link of the chain of keys for packets this side sends.
    pub send: [u8; 32],
    /// The same for packets it receives.
    pub receive: [u8; 32],
    /// The server's public key: known before (NK) or learnt just now (NX).
    pub server_key: [u8; 32],
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

/// Why the exchange did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// The client gave a password, and the server's answer does not fit it.
    #[error("the password is wrong")]
    Password,
    /// The message does not fit: another server key, something changed on the way, or nonsense.
    #[error("the key exchange failed")]
    Failed,
}

/// The client's side of an exchange.
pub struct Initiator {
    state: Box<HandshakeState>,
    known_key: bool,
    password: bool,
}

impl Initiator {
    /// Begins an exchange; returns message 1 as well, [`MESSAGE_1_OVERHEAD_BYTES`] longer than
    /// `payload`.
    pub fn new(
        random: &mut Random,
        password: Option<&str>,
        server_key: Option<&[u8; 32]>,
        prologue: &[u8],
        payload: &[u8],
    ) -> (Self, Vec<u8>) {
        let psk = password_key(password);
        let mut builder = builder(random, None, &psk, server_key.is_some(), prologue);
        if let Some(key) = server_key {
            builder = builder
                .remote_public_key(key)
                .expect("the server's key is set once");
        }
        let mut state = Box::new(
            builder
                .build_initiator()
                .expect("the pattern's keys are all there"),
        );
        let mut message = vec![0; payload.len() + MESSAGE_1_OVERHEAD_BYTES];
        let len = state
            .write_message(payload, &mut message)
            .expect("message 1 has room and its turn");
        debug_assert_eq!(len, message.len());
        let initiator = Self {
            state,
            known_key: server_key.is_some(),
            password: password.is_some(),
        };
        (initiator, message)
    }

    /// Completes the exchange with message 2; returns its payload as well.
    ///
    /// After an error another message may be tried: whoever can send to the client could have
    /// sent a wrong one.
    pub fn finish(&mut self, message: &[u8]) -> Result<(Keys, Vec<u8>), HandshakeError> {
        let mut payload = vec![0; message.len()];
        let len = self
            .state
            .read_message(message, &mut payload)
            .map_err(|_| {
                // In NX the server's key comes before the password does: if that could not be
                // read, it is not the password's fault.
                let read_key = self.known_key || self.state.get_remote_static().is_some();
                if self.password && read_key {
                    HandshakeError::Password
                } else {
                    HandshakeError::Failed
                }
            })?;
        payload.truncate(len);
        let server_key = (self.state.get_remote_static())
            .and_then(|key| key.try_into().ok())
            .ok_or(HandshakeError::Failed)?;
        let (send, receive) = self.state.dangerously_get_raw_split();
        let keys = Keys {
            send,
            receive,
            server_key,
        };
        Ok((keys, payload))
    }
}

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Initiator").finish_non_exhaustive()
    }
}

/// The server's side of an exchange: message 1 has been read, message 2 is still to be written.
/// Between the two the server decides whether it wants the client.
pub struct Responder {
    state: Box<HandshakeState>,
    server_key: [u8; 32],
}

impl Responder {
    /// Reads message 1; returns its payload as well. NX costs no curve operation up to here,
    /// NK one.
    ///
    /// `known_key` is the flag of the Connect: whether the client uses NK.
    pub fn new(
        random: &mut Random,
        key: &StaticKey,
        password: Option<&str>,
        known_key: bool,
        prologue: &[u8],
        message: &[u8],
    ) -> Result<(Self, Vec<u8>), HandshakeError> {
        let psk = password_key(password);
        let mut state = Box::new(
            builder(random, Some(key), &psk, known_key, prologue)
                .local_private_key(key.pair.privkey())
                .expect("the server's key is set once")
                .build_responder()
                .expect("the pattern's keys are all there"),
        );
        let mut payload = vec![0; message.len()];
        let len = state
            .read_message(message, &mut payload)
            .map_err(|_| HandshakeError::Failed)?;
        payload.truncate(len);
        let responder = Self {
            state,
            server_key: key.public(),
        };
        Ok((responder, payload))
    }

    /// Writes message 2, which completes the exchange on this side: two or three curve
    /// operations.
    pub fn finish(mut self, payload: &[u8]) -> (Keys, Vec<u8>) {
        let mut message = vec![0; payload.len() + MESSAGE_2_OVERHEAD_BYTES];
        let len = self
            .state
            .write_message(payload, &mut message)
            .expect("message 2 has room and its turn");
        message.truncate(len);
        let (receive, send) = self.state.dangerously_get_raw_split();
        let keys = Keys {
            send,
            receive,
            server_key: self.server_key,
        };
        (keys, message)
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").finish_non_exhaustive()
    }
}

fn builder<'a>(
    random: &mut Random,
    key: Option<&StaticKey>,
    psk: &'a [u8; 32],
    known_key: bool,
    prologue: &'a [u8],
) -> Builder<'a> {
    let name = if known_key {
        "Noise_NKpsk2_25519_ChaChaPoly_BLAKE2s"
    } else {
        "Noise_NXpsk2_25519_ChaChaPoly_BLAKE2s"
    };
    let params: NoiseParams = name.parse().expect("snow knows both patterns");
    let resolver = Resolver {
        seed: random.bytes(),
        key: key.cloned(),
    };
    Builder::with_resolver(params, Box::new(resolver))
        .prologue(prologue)
        .and_then(|builder| builder.psk(2, psk))
        .expect("prologue and pre-shared key are set once")
}

fn x25519() -> Box<dyn types::Dh> {
    DefaultResolver
        .resolve_dh(&DHChoice::Curve25519)
        .expect("snow is built with X25519")
}

/// Snow's own primitives with our randomness and our long-term key.
struct Resolver {
    seed: [u8; 32],
    key: Option<StaticKey>,
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn types::Random>> {
        Some(Box::new(Seeded(Random::new(self.seed))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn types::Dh>> {
        Some(Box::new(KeyPair {
            own: DefaultResolver.resolve_dh(choice)?,
            long_term: self.key.clone(),
            is_long_term: false,
        }))
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn types::Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn types::Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

/// A key pair that knows the server's long-term one. Snow hands over only its secret half for
/// each exchange, and to compute the public half again would cost as much as an exchange does
/// up to the point where a stranger's message is thrown away.
struct KeyPair {
    own: Box<dyn types::Dh>,
    long_term: Option<StaticKey>,
    is_long_term: bool,
}

impl KeyPair {
    fn pair(&self) -> &dyn types::Dh {
        match &self.long_term {
            Some(key) if self.is_long_term => &*key.pair,
            _ => &*self.own,
        }
    }
}

impl types::Dh for KeyPair {
    fn name(&self) -> &'static str {
        self.own.name()
    }

    fn pub_len(&self) -> usize {
        self.own.pub_len()
    }

    fn priv_len(&self) -> usize {
        self.own.priv_len()
    }

    fn set(&mut self, secret: &[u8]) {
        self.is_long_term =
            (self.long_term.as_ref()).is_some_and(|key| same(key.pair.privkey(), secret));
        if !self.is_long_term {
            self.own.set(secret);
        }
    }

    fn generate(&mut self, random: &mut dyn types::Random) -> Result<(), snow::Error> {
        self.is_long_term = false;
        self.own.generate(random)
    }

    fn pubkey(&self) -> &[u8] {
        self.pair().pubkey()
    }

    fn privkey(&self) -> &[u8] {
        self.pair().privkey()
    }

    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), snow::Error> {
        self.pair().dh(public, out)
    }
}

struct Seeded(Random);

impl types::Random for Seeded {
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), snow::Error> {
        self.0.fill(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cookie::COOKIE_BYTES;
    use crate::crypto::{Cipher, PacketCrypto};
    use crate::golden::hex;
    use crate::handshake::{
        Accept, AcceptPayload, CONNECT_MIN_BYTES, ClientNonce, ConnectHeader, ConnectPayload,
        Datagram, Protection,
    };

    const PROLOGUE: &[u8] = b"what both sides saw";

    fn server() -> StaticKey {
        StaticKey::generate(&mut Random::new([11; 32]))
    }

    /// A client against a server, with all that may differ between them.
    struct Attempt<'a> {
        known_key: Option<[u8; 32]>,
        client_password: Option<&'a str>,
        server_password: Option<&'a str>,
        server_prologue: &'a [u8],
        server_known_key: bool,
    }

    impl Attempt<'_> {
        fn new(known_key: bool) -> Self {
            Self {
                known_key: known_key.then(|| server().public()),
                client_password: None,
                server_password: None,
                server_prologue: PROLOGUE,
                server_known_key: known_key,
            }
        }

        fn run(&self) -> Result<(Keys, Keys), (&'static str, HandshakeError)> {
            let mut random = Random::new([1; 32]);
            let (mut initiator, message) = Initiator::new(
                &mut random,
                self.client_password,
                self.known_key.as_ref(),
                PROLOGUE,
                b"hello",
            );
            assert_eq!(message.len(), 5 + MESSAGE_1_OVERHEAD_BYTES);
            let (responder, payload) = Responder::new(
                &mut random,
                &server(),
                self.server_password,
                self.server_known_key,
                self.server_prologue,
                &message,
            )
            .map_err(|error| ("server", error))?;
            assert_eq!(payload, b"hello");
            let (server_keys, message) = responder.finish(b"welcome");
            assert!(message.len() <= 7 + MESSAGE_2_OVERHEAD_BYTES);
            let (client_keys, payload) = initiator
                .finish(&message)
                .map_err(|error| ("client", error))?;
            assert_eq!(payload, b"welcome");
            Ok((client_keys, server_keys))
        }
    }

    #[test]
    fn both_patterns_agree_on_keys_with_and_without_password() {
        for known_key in [false, true] {
            for password in [None, Some("open sesame")] {
                let attempt = Attempt {
                    client_password: password,
                    server_password: password,
                    ..Attempt::new(known_key)
                };
                let (client, at_server) = attempt.run().unwrap();
                assert_eq!(client.send, at_server.receive);
                assert_eq!(client.receive, at_server.send);
                assert_ne!(client.send, client.receive);
                assert_eq!(client.server_key, server().public());
                assert_eq!(at_server.server_key, server().public());
            }
        }
    }

    #[test]
    fn a_wrong_password_shows_at_the_client() {
        for known_key in [false, true] {
            for server_password in [None, Some("other")] {
                let attempt = Attempt {
                    client_password: Some("open sesame"),
                    server_password,
                    ..Attempt::new(known_key)
                };
                assert_eq!(
                    attempt.run(),
                    Err(("client", HandshakeError::Password)),
                    "{known_key} {server_password:?}"
                );
            }
            let attempt = Attempt {
                server_password: Some("open sesame"),
                ..Attempt::new(known_key)
            };
            assert_eq!(attempt.run(), Err(("client", HandshakeError::Failed)));
        }
    }

    #[test]
    fn a_wrong_server_key_or_pattern_fails_at_the_server() {
        let attempt = Attempt {
            known_key: Some(StaticKey::from_secret([5; 32]).public()),
            ..Attempt::new(true)
        };
        assert_eq!(attempt.run(), Err(("server", HandshakeError::Failed)));
        for known_key in [false, true] {
            let attempt = Attempt {
                server_known_key: !known_key,
                ..Attempt::new(known_key)
            };
            assert_eq!(attempt.run(), Err(("server", HandshakeError::Failed)));
        }
    }

    #[test]
    fn a_changed_prologue_fails_at_the_server() {
        for known_key in [false, true] {
            let attempt = Attempt {
                server_prologue: b"what someone made of it",
                ..Attempt::new(known_key)
            };
            assert_eq!(attempt.run(), Err(("server", HandshakeError::Failed)));
        }
    }

    #[test]
    fn one_seed_gives_one_exchange_and_keys_never_repeat_within_it() {
        let attempt = Attempt::new(false);
        assert_eq!(attempt.run(), attempt.run());
        let mut random = Random::new([1; 32]);
        let (_, first) = Initiator::new(&mut random, None, None, PROLOGUE, b"");
        let (_, second) = Initiator::new(&mut random, None, None, PROLOGUE, b"");
        assert_ne!(first, second);
    }

    #[test]
    fn the_payload_is_hidden_only_when_the_key_is_known() {
        let mut random = Random::new([1; 32]);
        let secret = [0x55; 64];
        let key = server().public();
        let (_, message) = Initiator::new(&mut random, None, Some(&key), PROLOGUE, &secret);
        let stranger = StaticKey::from_secret([6; 32]);
        let read = Responder::new(&mut random, &stranger, None, true, PROLOGUE, &message);
        assert!(read.is_err());
        let (_, message) = Initiator::new(&mut random, None, None, PROLOGUE, &secret);
        let read = Responder::new(&mut random, &stranger, None, false, PROLOGUE, &message);
        assert_eq!(read.unwrap().1, secret);
    }

    #[test]
    fn hostile_messages_fail_and_the_genuine_one_still_works() {
        for known_key in [None, Some(server().public())] {
            let mut random = Random::new([2; 32]);
            let (mut initiator, first) =
                Initiator::new(&mut random, None, known_key.as_ref(), PROLOGUE, b"hello");
            let respond = |random: &mut Random, message: &[u8]| {
                let known = known_key.is_some();
                Responder::new(random, &server(), None, known, PROLOGUE, message)
            };
            for bit in 0..first.len() * 8 {
                let mut flipped = first.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                // X25519 ignores the topmost bit of a key, but the transcript does not.
                assert!(respond(&mut random, &flipped).is_err(), "bit {bit}");
            }
            for len in 0..first.len() {
                assert!(respond(&mut random, &first[..len]).is_err());
            }
            let (_, second) = respond(&mut random, &first).unwrap().0.finish(b"welcome");
            for bit in 0..second.len() * 8 {
                let mut flipped = second.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(initiator.finish(&flipped), Err(HandshakeError::Failed));
            }
            for len in 0..second.len() {
                assert!(initiator.finish(&second[..len]).is_err());
            }
            for _ in 0..200 {
                let mut junk = vec![0; random.next_u32() as usize % 300];
                random.fill(&mut junk);
                assert!(initiator.finish(&junk).is_err());
                assert!(respond(&mut random, &junk).is_err());
            }
            assert_eq!(initiator.finish(&second).unwrap().1, b"welcome");
        }
    }

    fn connect(cipher: Cipher, known_key: bool) -> ConnectHeader {
        ConnectHeader {
            nonce: ClientNonce(3),
            cookie: [7; COOKIE_BYTES],
            game: 1,
            version: 2,
            channels: 3,
            protection: Protection::Encrypted { cipher, known_key },
            password: false,
            token: true,
            cid: 9,
        }
    }

    #[test]
    fn a_whole_handshake_fits_its_datagrams_and_leads_to_packets() {
        for known_key in [false, true] {
            let mut random = Random::new([3; 32]);
            let header = connect(Cipher::ChaCha20Poly1305, known_key);
            let payload = ConnectPayload {
                user_data: b"ada",
                token: b"",
            }
            .encode();
            let prologue = header.encode(payload.len() + MESSAGE_1_OVERHEAD_BYTES);
            let key = known_key.then(|| server().public());
            let (mut initiator, message) =
                Initiator::new(&mut random, None, key.as_ref(), &prologue, &payload);
            let request = header.datagram(&message);

            let Ok(Datagram::Connect(connect)) = Datagram::decode(&request) else {
                panic!("the Connect was not understood");
            };
            let (responder, payload) = Responder::new(
                &mut random,
                &server(),
                None,
                known_key,
                connect.prologue,
                connect.body,
            )
            .unwrap();
            let read = ConnectPayload::decode(&payload).unwrap();
            assert_eq!(read.user_data, b"ada");
            let welcome = AcceptPayload {
                cid: 4,
                secret: None,
            };
            let (server_keys, message) = responder.finish(&welcome.encode());
            let nonce = connect.header.nonce;
            let body = &message;
            let reply = Accept { nonce, body }.encode();
            assert!(reply.len() <= CONNECT_MIN_BYTES && reply.len() <= request.len());

            let Ok(Datagram::Accept(accept)) = Datagram::decode(&reply) else {
                panic!("the Accept was not understood");
            };
            let (keys, payload) = initiator.finish(accept.body).unwrap();
            assert_eq!(AcceptPayload::decode(&payload), Ok(welcome));

            let cipher = Cipher::ChaCha20Poly1305;
            let mut client = PacketCrypto::aead(cipher, &keys.send, &keys.receive);
            let mut server = PacketCrypto::aead(cipher, &server_keys.send, &server_keys.receive);
            let mut packet = [1; 64];
            let len = client.seal(0, &mut packet, 4, 44);
            assert_eq!(server.open(0, &mut packet[..len], 4), Ok(4..48));
        }
    }

    /// Each field that someone on the way might lower: cipher, pattern, versions, cookie, ids.
    #[test]
    fn nothing_in_the_head_of_a_connect_can_be_changed_on_the_way() {
        let mut random = Random::new([4; 32]);
        let header = connect(Cipher::Aes256Gcm, true);
        let payload = ConnectPayload::default().encode();
        let prologue = header.encode(payload.len() + MESSAGE_1_OVERHEAD_BYTES);
        let key = server().public();
        let (_, message) = Initiator::new(&mut random, None, Some(&key), &prologue, &payload);
        for bit in 0..prologue.len() * 8 {
            let mut seen = prologue;
            seen[bit / 8] ^= 1 << (bit % 8);
            for known_key in [false, true] {
                let read = Responder::new(&mut random, &server(), None, known_key, &seen, &message);
                assert!(read.is_err(), "bit {bit}");
            }
        }
    }

    #[test]
    fn golden_exchanges() {
        let cases = [
            (
                false,
                [
                    crate::golden::vector("noise_nx_message_1"),
                    crate::golden::vector("noise_nx_message_2"),
                    crate::golden::vector("noise_nx_client_to_server"),
                    crate::golden::vector("noise_nx_server_to_client"),
                ],
            ),
            (
                true,
                [
                    crate::golden::vector("noise_nk_message_1"),
                    crate::golden::vector("noise_nk_message_2"),
                    crate::golden::vector("noise_nk_client_to_server"),
                    crate::golden::vector("noise_nk_server_to_client"),
                ],
            ),
        ];
        for (known_key, expected) in cases {
            // The ephemeral keys come from the seeds [1; 32] and [2; 32].
            let (mut client, mut host) = (Random::new([1; 32]), Random::new([2; 32]));
            let key = StaticKey::from_secret([3; 32]);
            let (known, password) = (known_key.then_some(key.public()), Some("open sesame"));
            let (mut initiator, first) =
                Initiator::new(&mut client, password, known.as_ref(), PROLOGUE, b"hello");
            let (responder, _) =
                Responder::new(&mut host, &key, password, known_key, PROLOGUE, &first).unwrap();
            let (_, second) = responder.finish(b"welcome");
            let (keys, _) = initiator.finish(&second).unwrap();
            let got = [&first[..], &second, &keys.send, &keys.receive].map(hex);
            assert_eq!(got, expected, "{known_key}");
        }
        let ephemeral = |seed| hex(&Random::new(Random::new([seed; 32]).bytes()).bytes::<32>());
        assert_eq!(
            [ephemeral(1), ephemeral(2)],
            [
                crate::golden::vector("noise_client_ephemeral"),
                crate::golden::vector("noise_server_ephemeral")
            ]
        );
    }
}
