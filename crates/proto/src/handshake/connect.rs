//! The Connect: everything a client asks for, bound to its key exchange.

use super::{
    CHECKSUM_BYTES, CONNECT, CONNECT_HEADER_BYTES, CONNECT_MAX_BYTES, CONNECT_MIN_BYTES,
    ClientNonce, DecodeError, FLAG_ENCRYPTED, FLAG_PASSWORD, FLAG_TOKEN, Fields, close, flag,
    length, start,
};
use crate::cookie::{COOKIE_BYTES, Cookie};
use crate::crypto::Cipher;

const FLAG_CHACHA: u8 = 1 << 3;
const FLAGS: u8 = FLAG_ENCRYPTED | FLAG_PASSWORD | FLAG_TOKEN | FLAG_CHACHA;

/// How a client wants its packets protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Not encrypted.
    Plain,
    /// Encrypted with this cipher; the handshake always uses ChaCha20-Poly1305.
    Encrypted(Cipher),
}

/// The head of a Connect: everything but the body.
///
/// | bytes | field |
/// |---|---|
/// | 0..6 | kind 0x03, magic, protocol version |
/// | 6..14 | client nonce |
/// | 14..34 | cookie; zeros if the client was given none |
/// | 34..42 | game |
/// | 42..46 | application version |
/// | 46..54 | channels, u64: hash of the channel configuration |
/// | 54 | flags: bit 0 encrypted, bit 1 password used, bit 2 token in the body, bit 3 ChaCha20 (else AES-256-GCM), zero if not encrypted; the others zero |
/// | 55..57 | cid, u16: the connection id the client wants on packets sent to it |
/// | 57..65 | the first 8 bytes of `mac(0, "SStp-kid", server's static key)`: the key this is meant for |
/// | 65..67 | length of the body, u16 |
/// | 67.. | body, then padding to at least 188 bytes |
/// | last 4 | checksum |
///
/// The body is Noise message 1 with a [`ConnectPayload`](super::ConnectPayload) inside. Bytes 0..67 are the prologue of the exchange: whoever
/// changes one of them on the way, to weaken the connection, makes it fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectHeader {
    /// The attempt.
    pub nonce: ClientNonce,
    /// From the server's Retry, or [`NO_COOKIE`](crate::cookie::NO_COOKIE).
    pub cookie: Cookie,
    /// The game, by [`game_hash`](super::game_hash).
    pub game: u64,
    /// The game's version.
    pub version: u32,
    /// Hash of the channels; both sides must have the same.
    pub channels: u64,
    /// Plain or encrypted, and how.
    pub protection: Protection,
    /// Whether the client used a password.
    pub password: bool,
    /// Whether the body holds a token.
    pub token: bool,
    /// The connection id for packets to the client.
    pub cid: u16,
    /// Which key of the server the exchange is for.
    pub server: [u8; 8],
}

impl ConnectHeader {
    /// The first bytes of the datagram, up to a body of `body_bytes`: also the prologue of the
    /// Noise handshake.
    pub fn encode(&self, body_bytes: usize) -> [u8; CONNECT_HEADER_BYTES] {
        let flags = match self.protection {
            Protection::Plain => 0,
            Protection::Encrypted(cipher) => {
                FLAG_ENCRYPTED | flag(FLAG_CHACHA, cipher == Cipher::ChaCha20Poly1305)
            }
        };
        let mut out = start(CONNECT, self.nonce);
        out[14..34].copy_from_slice(&self.cookie);
        out[34..42].copy_from_slice(&self.game.to_le_bytes());
        out[42..46].copy_from_slice(&self.version.to_le_bytes());
        out[46..54].copy_from_slice(&self.channels.to_le_bytes());
        out[54] = flags | flag(FLAG_PASSWORD, self.password) | flag(FLAG_TOKEN, self.token);
        out[55..57].copy_from_slice(&self.cid.to_le_bytes());
        out[57..65].copy_from_slice(&self.server);
        out[65..67].copy_from_slice(&length(body_bytes));
        out
    }

    /// The whole datagram around `body`.
    ///
    /// # Panics
    /// If the body is larger than the limits of its parts allow.
    pub fn datagram(&self, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(CONNECT_MAX_BYTES);
        out.extend_from_slice(&self.encode(body.len()));
        out.extend_from_slice(body);
        let padded = out.len().max(CONNECT_MIN_BYTES - CHECKSUM_BYTES);
        out.resize(padded + CHECKSUM_BYTES, 0);
        assert!(
            out.len() <= CONNECT_MAX_BYTES,
            "the Connect's body is too large"
        );
        close(&mut out);
        out
    }

    fn decode(fields: &mut Fields<'_>) -> Result<Self, DecodeError> {
        let nonce = ClientNonce(fields.u64()?);
        let cookie = fields.array::<COOKIE_BYTES>()?;
        let game = fields.u64()?;
        let version = fields.u32()?;
        let channels = fields.u64()?;
        let flags = fields.u8()?;
        let cid = fields.u16()?;
        let server = fields.array()?;
        let is_chacha = flags & FLAG_CHACHA != 0;
        let protection = match (flags & FLAG_ENCRYPTED != 0, is_chacha) {
            (false, false) => Protection::Plain,
            (false, true) => return Err(DecodeError::Malformed),
            (true, false) => Protection::Encrypted(Cipher::Aes256Gcm),
            (true, true) => Protection::Encrypted(Cipher::ChaCha20Poly1305),
        };
        if flags & !FLAGS != 0 {
            return Err(DecodeError::Malformed);
        }
        Ok(Self {
            nonce,
            cookie,
            game,
            version,
            channels,
            protection,
            password: flags & FLAG_PASSWORD != 0,
            token: flags & FLAG_TOKEN != 0,
            cid,
            server,
        })
    }
}

/// A Connect as it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connect<'a> {
    /// What is readable.
    pub header: ConnectHeader,
    /// The bytes of the header: the prologue of the Noise handshake.
    pub prologue: &'a [u8],
    /// Noise message 1.
    pub body: &'a [u8],
}

impl<'a> Connect<'a> {
    pub(super) fn decode(content: &'a [u8], mut fields: Fields<'a>) -> Result<Self, DecodeError> {
        let header = ConnectHeader::decode(&mut fields)?;
        let body = fields.prefixed(usize::from(u16::MAX))?;
        Ok(Self {
            header,
            prologue: &content[..CONNECT_HEADER_BYTES],
            body,
        })
    }
}
