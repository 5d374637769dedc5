//! The key exchange: `Noise_IK_25519_ChaChaPoly_BLAKE2s` (Noise, revision 34), two messages.
//!
//! ```text
//! <- s
//! -> e, es, s, ss
//! <- e, ee, se
//! ```
//!
//! The initiator knows the responder's static key and sends its own, encrypted. It is written here instead of taken from `snow`, which
//! erases nothing from memory; the tests hold the two against each other byte by byte. Public keys that are not canonical or of low order
//! are refused, and so is an exchange whose result is zero: the Noise specification leaves both to the application.

use std::fmt;

use blake2::{Blake2s256, Digest};
use chacha20poly1305::aead::AeadInPlace;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Nonce, Tag};
use curve25519_dalek::MontgomeryPoint;
use zeroize::{Zeroize, Zeroizing};

use crate::crypto::same;
use crate::key::{Identity, PublicKey};

const NAME: &[u8] = b"Noise_IK_25519_ChaChaPoly_BLAKE2s";
const KEY_BYTES: usize = 32;
const TAG_BYTES: usize = 16;

/// Bytes that message 1 adds to its payload: two keys and two tags.
pub const MESSAGE_1_OVERHEAD_BYTES: usize = 2 * KEY_BYTES + 2 * TAG_BYTES;

/// Bytes that message 2 adds to its payload: a key and a tag.
pub const MESSAGE_2_OVERHEAD_BYTES: usize = KEY_BYTES + TAG_BYTES;

/// 32 secret bytes.
pub type Secret = Zeroizing<[u8; 32]>;

/// The message does not fit: another key, something changed on the way, or nonsense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key exchange failed")]
pub struct ExchangeFailed;

/// What the exchange yields.
pub struct Split {
    /// The initiator's key, then the responder's.
    pub keys: [Secret; 2],
    /// The hash of everything both sides said.
    pub hash: [u8; 32],
}

/// The initiator's side: message 1 has been written.
pub struct Initiator {
    symmetric: Symmetric,
    ephemeral: Secret,
    identity: Identity,
}

impl Initiator {
    /// Begins an exchange with a random `ephemeral` secret; returns message 1 as well, [`MESSAGE_1_OVERHEAD_BYTES`] longer than
    /// `payload`.
    pub fn new(
        ephemeral: Secret,
        identity: &Identity,
        responder: &PublicKey,
        prologue: &[u8],
        payload: &[u8],
    ) -> Result<(Self, Vec<u8>), ExchangeFailed> {
        let mut symmetric = Symmetric::new(prologue, responder);
        let mut message = Vec::with_capacity(payload.len() + MESSAGE_1_OVERHEAD_BYTES);
        symmetric.write_ephemeral(&ephemeral, &mut message);
        symmetric.mix_key(&agree(&ephemeral, responder)?);
        symmetric.encrypt(identity.public_key().as_bytes(), &mut message);
        symmetric.mix_key(&agree(identity.secret(), responder)?);
        symmetric.encrypt(payload, &mut message);
        let initiator = Self {
            symmetric,
            ephemeral,
            identity: identity.clone(),
        };
        Ok((initiator, message))
    }

    /// The hash of message 1 and everything before.
    pub fn hash(&self) -> &[u8; 32] {
        &self.symmetric.hash
    }

    /// Completes the exchange with message 2; returns its payload as well. A message that does not fit changes nothing: whoever can
    /// send to the initiator could have sent it.
    pub fn finish(&self, message: &[u8]) -> Result<(Split, Vec<u8>), ExchangeFailed> {
        let mut symmetric = self.symmetric.clone();
        let mut rest = message;
        let theirs = symmetric.read_ephemeral(&mut rest)?;
        symmetric.mix_key(&agree(&self.ephemeral, &theirs)?);
        symmetric.mix_key(&agree(self.identity.secret(), &theirs)?);
        let payload = symmetric.decrypt(rest)?;
        Ok((symmetric.split(), payload))
    }
}

/// The responder's side: message 1 has been read, message 2 is still to be written. Between the two it decides whether it wants the
/// initiator.
pub struct Responder {
    symmetric: Symmetric,
    ephemeral: PublicKey,
    initiator: PublicKey,
}

impl Responder {
    /// Reads message 1, which costs one or two curve operations; returns its payload as well.
    pub fn new(
        identity: &Identity,
        prologue: &[u8],
        message: &[u8],
    ) -> Result<(Self, Vec<u8>), ExchangeFailed> {
        let mut symmetric = Symmetric::new(prologue, &identity.public_key());
        let mut rest = message;
        let ephemeral = symmetric.read_ephemeral(&mut rest)?;
        symmetric.mix_key(&agree(identity.secret(), &ephemeral)?);
        let (sealed, rest) = rest
            .split_at_checked(KEY_BYTES + TAG_BYTES)
            .ok_or(ExchangeFailed)?;
        let initiator = public_key(&symmetric.decrypt(sealed)?)?;
        symmetric.mix_key(&agree(identity.secret(), &initiator)?);
        let payload = symmetric.decrypt(rest)?;
        let responder = Self {
            symmetric,
            ephemeral,
            initiator,
        };
        Ok((responder, payload))
    }

    /// The initiator's static key, which it has shown to hold unless message 1 is a repetition.
    pub fn initiator(&self) -> PublicKey {
        self.initiator
    }

    /// The hash of message 1 and everything before.
    pub fn hash(&self) -> &[u8; 32] {
        &self.symmetric.hash
    }

    /// Writes message 2 with a random `ephemeral` secret, which completes the exchange on this side: three curve operations.
    pub fn finish(
        mut self,
        ephemeral: Secret,
        payload: &[u8],
    ) -> Result<(Split, Vec<u8>), ExchangeFailed> {
        let mut message = Vec::with_capacity(payload.len() + MESSAGE_2_OVERHEAD_BYTES);
        self.symmetric.write_ephemeral(&ephemeral, &mut message);
        self.symmetric.mix_key(&agree(&ephemeral, &self.ephemeral)?);
        self.symmetric.mix_key(&agree(&ephemeral, &self.initiator)?);
        self.symmetric.encrypt(payload, &mut message);
        Ok((self.symmetric.split(), message))
    }
}

/// Noise's symmetric state: a chain of keys, and a hash of everything said.
#[derive(Clone)]
struct Symmetric {
    chain: Secret,
    key: Secret,
    /// Messages sealed with this key.
    sealed: u64,
    hash: [u8; 32],
}

impl Symmetric {
    fn new(prologue: &[u8], responder: &PublicKey) -> Self {
        let hash: [u8; 32] = Blake2s256::digest(NAME).into();
        let mut symmetric = Self {
            chain: Zeroizing::new(hash),
            key: Zeroizing::new([0; 32]),
            sealed: 0,
            hash,
        };
        symmetric.mix_hash(prologue);
        symmetric.mix_hash(responder.as_bytes());
        symmetric
    }

    fn mix_hash(&mut self, data: &[u8]) {
        let hash = Blake2s256::new().chain_update(self.hash).chain_update(data);
        self.hash = hash.finalize().into();
    }

    fn mix_key(&mut self, input: &Secret) {
        [self.chain, self.key] = derive(&self.chain, &input[..]);
        self.sealed = 0;
    }

    fn write_ephemeral(&mut self, secret: &Secret, message: &mut Vec<u8>) {
        let public = MontgomeryPoint::mul_base_clamped(**secret).to_bytes();
        self.mix_hash(&public);
        message.extend_from_slice(&public);
    }

    fn read_ephemeral(&mut self, message: &mut &[u8]) -> Result<PublicKey, ExchangeFailed> {
        let (key, rest) = message.split_at_checked(KEY_BYTES).ok_or(ExchangeFailed)?;
        *message = rest;
        self.mix_hash(key);
        public_key(key)
    }

    fn nonce(&mut self) -> Nonce {
        let mut nonce = Nonce::default();
        nonce[4..].copy_from_slice(&self.sealed.to_le_bytes());
        self.sealed += 1;
        nonce
    }

    fn encrypt(&mut self, plaintext: &[u8], message: &mut Vec<u8>) {
        let start = message.len();
        message.extend_from_slice(plaintext);
        let nonce = self.nonce();
        let tag = ChaCha20Poly1305::new((&*self.key).into())
            .encrypt_in_place_detached(&nonce, &self.hash, &mut message[start..])
            .expect("handshake payloads are far below the cipher's limit");
        message.extend_from_slice(&tag);
        self.mix_hash(&message[start..]);
    }

    fn decrypt(&mut self, sealed: &[u8]) -> Result<Vec<u8>, ExchangeFailed> {
        let (ciphertext, tag) = sealed
            .split_last_chunk::<TAG_BYTES>()
            .ok_or(ExchangeFailed)?;
        let mut plaintext = ciphertext.to_vec();
        let nonce = self.nonce();
        ChaCha20Poly1305::new((&*self.key).into())
            .decrypt_in_place_detached(&nonce, &self.hash, &mut plaintext, Tag::from_slice(tag))
            .map_err(|_| ExchangeFailed)?;
        self.mix_hash(sealed);
        Ok(plaintext)
    }

    fn split(&self) -> Split {
        Split {
            keys: derive(&self.chain, &[]),
            hash: self.hash,
        }
    }
}

fn public_key(bytes: &[u8]) -> Result<PublicKey, ExchangeFailed> {
    let bytes = bytes.try_into().map_err(|_| ExchangeFailed)?;
    PublicKey::from_bytes(bytes).map_err(|_| ExchangeFailed)
}

/// X25519, refusing a result of zero.
pub fn agree(secret: &[u8; 32], public: &PublicKey) -> Result<Secret, ExchangeFailed> {
    let mut point = MontgomeryPoint(*public.as_bytes()).mul_clamped(*secret);
    let shared = Zeroizing::new(point.to_bytes());
    point.zeroize();
    if same(&shared[..], &[0; 32]) {
        return Err(ExchangeFailed);
    }
    Ok(shared)
}

/// Noise's HKDF with two outputs.
fn derive(chain: &[u8; 32], input: &[u8]) -> [Secret; 2] {
    let temporary = hmac(chain, &[input]);
    let first = hmac(&temporary, &[&[1]]);
    let second = hmac(&temporary, &[&first[..], &[2]]);
    [first, second]
}

/// HMAC-BLAKE2s (RFC 2104).
fn hmac(key: &[u8; 32], parts: &[&[u8]]) -> Secret {
    let pad = |byte: u8| {
        let mut pad = Zeroizing::new([byte; 64]);
        pad.iter_mut().zip(key).for_each(|(pad, key)| *pad ^= key);
        Blake2s256::new().chain_update(&pad[..])
    };
    let inner = parts.iter().fold(pad(0x36), Digest::chain_update);
    let inner = Zeroizing::new(<[u8; 32]>::from(inner.finalize()));
    Zeroizing::new(pad(0x5c).chain_update(&inner[..]).finalize().into())
}

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Initiator").finish_non_exhaustive()
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").finish_non_exhaustive()
    }
}

impl fmt::Debug for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Split").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{hex, vector};
    use crate::rng::Random;

    const PROLOGUE: &[u8] = b"what both sides saw";

    fn client() -> Identity {
        Identity::from_secret([10; 32])
    }

    fn server() -> Identity {
        Identity::from_secret([11; 32])
    }

    fn initiate(random: &mut Random, payload: &[u8]) -> (Initiator, Vec<u8>) {
        let key = server().public_key();
        let ephemeral = Zeroizing::new(random.bytes());
        Initiator::new(ephemeral, &client(), &key, PROLOGUE, payload).unwrap()
    }

    #[test]
    fn both_sides_agree_and_know_each_other() {
        let mut random = Random::new([1; 32]);
        let (initiator, first) = initiate(&mut random, b"hello");
        assert_eq!(first.len(), 5 + MESSAGE_1_OVERHEAD_BYTES);
        let (responder, payload) = Responder::new(&server(), PROLOGUE, &first).unwrap();
        assert_eq!(payload, b"hello");
        assert_eq!(responder.initiator(), client().public_key());
        assert_eq!(responder.hash(), initiator.hash());
        let (at_server, second) = responder
            .finish(Zeroizing::new(random.bytes()), b"welcome")
            .unwrap();
        assert_eq!(second.len(), 7 + MESSAGE_2_OVERHEAD_BYTES);
        let (at_client, payload) = initiator.finish(&second).unwrap();
        assert_eq!(payload, b"welcome");
        assert_eq!(at_client.keys, at_server.keys);
        assert_eq!(at_client.hash, at_server.hash);
        assert_ne!(at_client.keys[0], at_client.keys[1]);
    }

    /// `snow` with the same keys: message 1, message 2 and the two keys.
    fn by_snow(secrets: [[u8; 32]; 4]) -> [Vec<u8>; 4] {
        let [client, server, client_ephemeral, server_ephemeral] = secrets;
        let params = || std::str::from_utf8(NAME).unwrap().parse().unwrap();
        let server_public = Identity::from_secret(server).public_key();
        let mut initiator = snow::Builder::new(params())
            .prologue(PROLOGUE)
            .and_then(|b| b.local_private_key(&client))
            .and_then(|b| b.remote_public_key(server_public.as_bytes()))
            .unwrap()
            .fixed_ephemeral_key_for_testing_only(&client_ephemeral)
            .build_initiator()
            .unwrap();
        let mut responder = snow::Builder::new(params())
            .prologue(PROLOGUE)
            .and_then(|b| b.local_private_key(&server))
            .unwrap()
            .fixed_ephemeral_key_for_testing_only(&server_ephemeral)
            .build_responder()
            .unwrap();
        let (mut first, mut second, mut read) = (vec![0; 200], vec![0; 200], vec![0; 200]);
        let len = initiator.write_message(b"hello", &mut first).unwrap();
        first.truncate(len);
        responder.read_message(&first, &mut read).unwrap();
        let len = responder.write_message(b"welcome", &mut second).unwrap();
        second.truncate(len);
        initiator.read_message(&second, &mut read).unwrap();
        let (up, down) = initiator.dangerously_get_raw_split();
        [first, second, up.to_vec(), down.to_vec()]
    }

    fn by_us([ours, theirs, client, server]: [[u8; 32]; 4]) -> [Vec<u8>; 4] {
        let [ours, theirs] = [ours, theirs].map(Identity::from_secret);
        let [client, server] = [client, server].map(Zeroizing::new);
        let key = theirs.public_key();
        let (initiator, first) = Initiator::new(client, &ours, &key, PROLOGUE, b"hello").unwrap();
        let (responder, _) = Responder::new(&theirs, PROLOGUE, &first).unwrap();
        let (_, second) = responder.finish(server, b"welcome").unwrap();
        let (split, _) = initiator.finish(&second).unwrap();
        let [up, down] = split.keys.map(|key| key.to_vec());
        [first, second, up, down]
    }

    #[test]
    fn every_byte_is_that_of_snow() {
        for seed in 0..50 {
            let mut random = Random::new([seed; 32]);
            let secrets = std::array::from_fn(|_| random.bytes());
            assert_eq!(by_us(secrets), by_snow(secrets), "seed {seed}");
        }
    }

    #[test]
    fn another_key_or_prologue_fails() {
        let mut random = Random::new([2; 32]);
        let (initiator, first) = initiate(&mut random, b"hello");
        let stranger = Identity::from_secret([12; 32]);
        assert!(Responder::new(&stranger, PROLOGUE, &first).is_err());
        assert!(Responder::new(&server(), b"what someone made of it", &first).is_err());
        // An answer to somebody else's message.
        let (_, other) = initiate(&mut random, b"hello");
        let (responder, _) = Responder::new(&server(), PROLOGUE, &other).unwrap();
        let (_, second) = responder
            .finish(Zeroizing::new(random.bytes()), b"")
            .unwrap();
        assert!(initiator.finish(&second).is_err());
    }

    #[test]
    fn hostile_messages_fail_and_the_genuine_one_still_works() {
        let mut random = Random::new([3; 32]);
        let (initiator, first) = initiate(&mut random, b"hello");
        for bit in 0..first.len() * 8 {
            let mut flipped = first.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Responder::new(&server(), PROLOGUE, &flipped).is_err());
        }
        for len in 0..first.len() {
            assert!(Responder::new(&server(), PROLOGUE, &first[..len]).is_err());
        }
        let (responder, _) = Responder::new(&server(), PROLOGUE, &first).unwrap();
        let (_, second) = responder
            .finish(Zeroizing::new(random.bytes()), b"welcome")
            .unwrap();
        for bit in 0..second.len() * 8 {
            let mut flipped = second.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(initiator.finish(&flipped).is_err());
        }
        for len in 0..second.len() {
            assert!(initiator.finish(&second[..len]).is_err());
        }
        assert_eq!(initiator.finish(&second).unwrap().1, b"welcome");
    }

    /// With a key of low order anybody can compute the results: `snow` takes such a static key for a client's.
    #[test]
    fn keys_of_low_order_are_refused_everywhere() {
        let mut random = Random::new([4; 32]);
        let (initiator, first) = initiate(&mut random, b"");
        let (responder, _) = Responder::new(&server(), PROLOGUE, &first).unwrap();
        let (_, second) = responder
            .finish(Zeroizing::new(random.bytes()), b"")
            .unwrap();
        for key in crate::key::low_order() {
            assert!(public_key(&key).is_err());
            let mut message = first.clone();
            message[..32].copy_from_slice(&key);
            assert!(Responder::new(&server(), PROLOGUE, &message).is_err());
            let mut message = second.clone();
            message[..32].copy_from_slice(&key);
            assert!(initiator.finish(&message).is_err());
            // As the client's static key, in a message that is genuine otherwise.
            let mut symmetric = Symmetric::new(PROLOGUE, &server().public_key());
            let ephemeral = Zeroizing::new([5; 32]);
            let mut message = Vec::new();
            symmetric.write_ephemeral(&ephemeral, &mut message);
            symmetric.mix_key(&agree(&ephemeral, &server().public_key()).unwrap());
            symmetric.encrypt(&key, &mut message);
            symmetric.mix_key(&Zeroizing::new([0; 32]));
            symmetric.encrypt(b"", &mut message);
            assert!(Responder::new(&server(), PROLOGUE, &message).is_err());
        }
    }

    #[test]
    fn golden_exchange() {
        let secrets = [[4; 32], [3; 32], [1; 32], [2; 32]];
        let got = by_us(secrets);
        let names = [
            "noise_message_1",
            "noise_message_2",
            "noise_key_1",
            "noise_key_2",
        ];
        let public = |secret| hex(Identity::from_secret(secret).public_key().as_bytes());
        let mut vectors = vec![
            ("noise_client_public", public(secrets[0])),
            ("noise_server_public", public(secrets[1])),
        ];
        vectors.extend(names.into_iter().zip(got.map(|bytes| hex(&bytes))));
        crate::golden::assert_vectors(&vectors);
        let names = [
            "noise_client_secret",
            "noise_server_secret",
            "noise_client_ephemeral",
            "noise_server_ephemeral",
        ];
        assert_eq!(names.map(vector), secrets.map(|secret| hex(&secret)));
    }
}
