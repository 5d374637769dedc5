//! Static keys: by which an endpoint is recognised, now and after a restart.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use curve25519_dalek::MontgomeryPoint;
use samestep_wire::{BitReader, BitWriter, DecodeError, Wire};
use zeroize::Zeroizing;

use crate::crypto::mac;
use crate::rng::Random;

/// Length of a [`PublicKey`] as text.
const TEXT_CHARACTERS: usize = 43;

/// The public half of an endpoint's static X25519 key: what it is recognised by.
///
/// As text it is unpadded base64url (RFC 4648, section 5), 43 characters:
///
/// ```
/// use samestep_proto::{Identity, PublicKey};
///
/// let key = Identity::from_secret([7; 32]).public_key();
/// assert_eq!(key.to_string().parse::<PublicKey>(), Ok(key));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// The u-coordinates of points of low order (RFC 7748, section 6.1): with them every exchange has the same result.
    const LOW_ORDER: [[u8; 32]; 5] = {
        let mut one = [0; 32];
        one[0] = 1;
        let mut minus_one = [0xff; 32];
        minus_one[0] = 0xec;
        minus_one[31] = 0x7f;
        [
            [0; 32],
            one,
            [
                0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f,
                0xc4, 0x6a, 0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16,
                0x5f, 0x49, 0xb8, 0x00,
            ],
            [
                0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83,
                0xef, 0x5b, 0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd,
                0xd0, 0x9f, 0x11, 0x57,
            ],
            minus_one,
        ]
    };

    /// The key with these bytes.
    ///
    /// # Errors
    /// [`PublicKeyError::NotAKey`] for bytes that no honest key has: they are not in canonical form, or of low order.
    pub fn from_bytes(bytes: [u8; 32]) -> Result<Self, PublicKeyError> {
        if is_canonical(&bytes) && !Self::LOW_ORDER.contains(&bytes) {
            Ok(Self(bytes))
        } else {
            Err(PublicKeyError::NotAKey)
        }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A short name for it in a Connect: the first 8 bytes of `mac(0, "SStp-kid", key)`.
    pub(crate) fn id(&self) -> [u8; 8] {
        let tag = mac(&[0; 32], b"SStp-kid", &[&self.0]);
        std::array::from_fn(|i| tag[i])
    }
}

/// Whether the bytes are a number below 2²⁵⁵ − 19, little endian.
fn is_canonical(bytes: &[u8; 32]) -> bool {
    bytes[31] < 0x7f || bytes[31] == 0x7f && (bytes[0] < 0xed || bytes[1..31] != [0xff; 30])
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text_of(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = PublicKeyError;

    fn from_str(text: &str) -> Result<Self, PublicKeyError> {
        Self::from_bytes(bytes_of(text)?)
    }
}

/// The text of 32 bytes.
pub(crate) fn text_of(bytes: &[u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The 32 bytes that [`text_of`] wrote.
pub(crate) fn bytes_of(text: &str) -> Result<[u8; 32], PublicKeyError> {
    let characters = text.chars().count();
    if characters != TEXT_CHARACTERS {
        return Err(PublicKeyError::Length(characters));
    }
    let strange = |c: &char| !(c.is_ascii_alphanumeric() || *c == '-' || *c == '_');
    if let Some(character) = text.chars().find(strange) {
        return Err(PublicKeyError::Character(character));
    }
    let mut bytes = [0; 32];
    match URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) {
        Ok(32) => Ok(bytes),
        _ => Err(PublicKeyError::NotAKey),
    }
}

/// Its 32 bytes; what is no key does not decode.
impl Wire for PublicKey {
    fn encode(&self, w: &mut BitWriter<'_>) {
        self.0.encode(w);
    }

    fn decode(r: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        Self::from_bytes(Wire::decode(r)?).or(Err(DecodeError::OutOfRange))
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn min_bits() -> usize {
        256
    }
}

/// Why text or bytes are no [`PublicKey`], or no [`LobbyKey`](crate::LobbyKey).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PublicKeyError {
    /// The text has another length.
    #[error("a public key has {TEXT_CHARACTERS} characters, this has {0}: copy all of it")]
    Length(usize),
    /// The text has a character that no key has.
    #[error("{0:?} does not occur in a public key: it has letters, digits, - and _ only")]
    Character(char),
    /// The bytes are no key that anybody could hold.
    #[error("this is not a public key: copy it again from where it was shown")]
    NotAKey,
}

/// An endpoint's static key pair: the secret by which it proves who it is.
///
/// Keep the 32 secret bytes it was made of to be recognised after a restart, and let nobody else read them. The secret is erased from
/// memory when the last copy is dropped, and `Debug` shows the public half alone.
#[derive(Clone)]
pub struct Identity(Arc<KeyPair>);

struct KeyPair {
    secret: Zeroizing<[u8; 32]>,
    public: PublicKey,
}

impl Identity {
    /// The identity that belongs to 32 secret bytes. Any bytes will do; take them from the operating system's generator.
    pub fn from_secret(secret: [u8; 32]) -> Self {
        let secret = Zeroizing::new(secret);
        let public = PublicKey(MontgomeryPoint::mul_base_clamped(*secret).to_bytes());
        Self(Arc::new(KeyPair { secret, public }))
    }

    pub(crate) fn generate(random: &mut Random) -> Self {
        Self::from_secret(random.bytes())
    }

    /// What others recognise it by.
    pub fn public_key(&self) -> PublicKey {
        self.0.public
    }

    /// The secret bytes it was made of, to keep them.
    pub fn secret(&self) -> &[u8; 32] {
        &self.0.secret
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.0.public)
    }
}

/// A password that both ends know. It is never sent, `Debug` does not show it, and it is erased from memory when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Zeroizing<String>);

impl Password {
    /// The password itself, for who has to show it or to tell it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl From<String> for Password {
    fn from(password: String) -> Self {
        Self(Zeroizing::new(password))
    }
}

impl From<&str> for Password {
    fn from(password: &str) -> Self {
        Self(Zeroizing::new(password.into()))
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

/// Every point of low order, in every spelling: what an attacker would send instead of a key.
#[cfg(test)]
pub(crate) fn low_order() -> Vec<[u8; 32]> {
    let mut keys = PublicKey::LOW_ORDER.to_vec();
    for first in [0xed, 0xee] {
        let mut key = [0xff; 32];
        key[0] = first;
        key[31] = 0x7f;
        keys.push(key);
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let key = Identity::from_secret([3; 32]).public_key();
        let text = key.to_string();
        assert_eq!(text, "Xf7dO2vUf2-ijuFdlp1bsOpTd01Ii9r53xxuASSz7yI");
        assert_eq!(text.parse(), Ok(key));
        assert_eq!(PublicKey::from_bytes(*key.as_bytes()), Ok(key));
    }

    #[test]
    fn bad_text_is_explained() {
        let key = Identity::from_secret([3; 32]).public_key().to_string();
        let parse = |text: &str| text.parse::<PublicKey>().unwrap_err();
        assert_eq!(parse(&key[..42]), PublicKeyError::Length(42));
        assert_eq!(parse(""), PublicKeyError::Length(0));
        let changed = key.replace('-', "+");
        assert_eq!(parse(&changed), PublicKeyError::Character('+'));
        let changed = key.replace('X', "ä");
        assert_eq!(parse(&changed), PublicKeyError::Character('ä'));
        // The last character stands for four bits alone.
        let changed = format!("{}J", &key[..42]);
        assert_eq!(parse(&changed), PublicKeyError::NotAKey);
        assert_eq!(parse(&"A".repeat(43)), PublicKeyError::NotAKey);
    }

    #[test]
    fn keys_without_effect_and_second_spellings_are_refused() {
        for key in low_order() {
            assert_eq!(PublicKey::from_bytes(key), Err(PublicKeyError::NotAKey));
        }
        let mut key = *Identity::from_secret([3; 32]).public_key().as_bytes();
        key[31] |= 0x80;
        assert_eq!(PublicKey::from_bytes(key), Err(PublicKeyError::NotAKey));
        let mut largest = [0xff; 32];
        largest[0] = 0xeb;
        largest[31] = 0x7f;
        assert!(PublicKey::from_bytes(largest).is_ok());
    }

    #[test]
    fn debug_shows_no_secret() {
        let identity = format!("{:?}", Identity::from_secret([3; 32]));
        assert_eq!(
            identity,
            "Identity(Xf7dO2vUf2-ijuFdlp1bsOpTd01Ii9r53xxuASSz7yI)"
        );
        assert_eq!(format!("{:?}", Password::from("sesame")), "Password(..)");
    }
}
