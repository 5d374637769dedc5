//! The six datagrams by which a connection comes about.
//!
//! ```text
//! client                          server
//! Hello    ───────────────────▶              nothing is kept
//!          ◀───────────────────   Retry      a cookie, the server's key, and what the server expects
//! Connect  ───────────────────▶              cookie checked, keys agreed
//!          ◀───────────────────   Accept
//! Finish   ───────────────────▶              in plain mode; else the first packet that opens: the connection counts
//!          ◀───────────────────   Refuse     instead of Retry or Accept, with the reason
//! ```
//!
//! A client that knows the server's key and has no password begins with a Connect whose cookie is zero; a server that is busy answers it with
//! a Retry.
//!
//! Layouts are fixed and byte-aligned, integers little endian. All begin with the kind (u8), the
//! magic `SStp` and the protocol version (u8), and end with a 4-byte checksum of everything before
//! it ([`Checksum`] with the secret [`HANDSHAKE_SECRET`], direction 0, number 0), so a datagram
//! damaged on its way is dropped and sent again, instead of being answered with a refusal.
//!
//! No reply is larger than its request: a Hello is padded to [`HELLO_BYTES`], a Connect to at
//! least [`CONNECT_MIN_BYTES`]. Padding is zero when sent and ignored when received.

use crate::cookie::Cookie;
use crate::cpace::SHARE_BYTES;
use crate::crypto::{Checksum, mac};
use crate::key::PublicKey;
use crate::noise::MESSAGE_1_OVERHEAD_BYTES;

mod connect;
mod payload;
mod refuse;
mod schedule;

pub use connect::{Connect, ConnectHeader, Protection};
pub use payload::{AcceptPayload, ConnectPayload, Proof};
pub use refuse::{Refuse, RefuseReason};
pub use schedule::{ConnectionKeys, FINISH_TAG_BYTES, PasswordExchange};

/// The version of the protocol these files speak.
pub const PROTOCOL_VERSION: u8 = 2;

/// Bytes 1 to 4 of every handshake datagram.
pub const MAGIC: [u8; 4] = *b"SStp";

/// The secret of the checksum at the end of handshake datagrams. It is public: the checksum only
/// finds damage.
pub const HANDSHAKE_SECRET: u64 = 0x5353_7470;

/// Length of a Hello: more than a Retry or a Refuse.
pub const HELLO_BYTES: usize = 96;

/// Length of a Retry.
pub const RETRY_BYTES: usize = 71;

/// Length of a Refuse.
pub const REFUSE_BYTES: usize = 28;

/// Length of a Finish.
pub const FINISH_BYTES: usize = 36;

/// Length of a Connect up to its body. These bytes are the prologue of the Noise handshake.
pub const CONNECT_HEADER_BYTES: usize = 67;

/// A Connect is padded to this length, more than the longest Accept.
pub const CONNECT_MIN_BYTES: usize = 192;

/// The longest Connect: everything at its limit.
pub const CONNECT_MAX_BYTES: usize = CONNECT_HEADER_BYTES
    + MESSAGE_1_OVERHEAD_BYTES
    + SHARE_BYTES
    + 4
    + MAX_USER_DATA_BYTES
    + MAX_TOKEN_BYTES
    + CHECKSUM_BYTES;

/// Limit of the data a game may send along with its wish to connect.
pub const MAX_USER_DATA_BYTES: usize = 256;

/// Limit of a connect token.
pub const MAX_TOKEN_BYTES: usize = 576;

const ACCEPT_HEADER_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 4;
const CHECKSUM: Checksum = Checksum::new(HANDSHAKE_SECRET, 0);

const HELLO: u8 = 0x01;
const RETRY: u8 = 0x02;
const CONNECT: u8 = 0x03;
const ACCEPT: u8 = 0x04;
const REFUSE: u8 = 0x05;
const FINISH: u8 = 0x06;

const FLAG_ENCRYPTED: u8 = 1;
const FLAG_PASSWORD: u8 = 1 << 1;
const FLAG_TOKEN: u8 = 1 << 2;

/// Chosen at random by the client for each attempt to connect; every reply repeats it, so nobody
/// who has not seen the attempt can answer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientNonce(pub u64);

/// A handshake datagram, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram<'a> {
    /// Client: I would like to connect.
    Hello(Hello),
    /// Server: say that again with this cookie.
    Retry(Retry),
    /// Client: here it is, with my half of the key exchange.
    Connect(Connect<'a>),
    /// Server: welcome, with the other half.
    Accept(Accept<'a>),
    /// Server: no, because.
    Refuse(Refuse),
    /// Client, in plain mode: I hold the keys too.
    Finish(Finish),
}

impl<'a> Datagram<'a> {
    /// Takes a datagram apart; nothing is allocated or believed yet.
    pub fn decode(datagram: &'a [u8]) -> Result<Self, DecodeError> {
        let (content, checksum) = datagram.split_last_chunk().ok_or(DecodeError::Foreign)?;
        let (&[kind, m0, m1, m2, m3, protocol], _) =
            content.split_first_chunk().ok_or(DecodeError::Foreign)?;
        if !(HELLO..=FINISH).contains(&kind) || [m0, m1, m2, m3] != MAGIC {
            return Err(DecodeError::Foreign);
        }
        if CHECKSUM.of(0, content) != u32::from_le_bytes(*checksum) {
            return Err(DecodeError::Damaged);
        }
        let mut fields = Fields {
            rest: &content[6..],
        };
        if kind == REFUSE {
            return Refuse::decode(protocol, fields).map(Datagram::Refuse);
        }
        if protocol != PROTOCOL_VERSION {
            // The nonce has this place in every version of the protocol. Short requests get no
            // answer: it would be larger.
            let nonce = ClientNonce(fields.u64()?);
            return Err(match kind {
                HELLO | CONNECT if datagram.len() >= REFUSE_BYTES => {
                    DecodeError::Protocol { nonce, protocol }
                }
                _ => DecodeError::Malformed,
            });
        }
        match kind {
            HELLO if datagram.len() >= HELLO_BYTES => Hello::decode(fields).map(Datagram::Hello),
            RETRY => Retry::decode(fields).map(Datagram::Retry),
            CONNECT if datagram.len() >= CONNECT_MIN_BYTES => {
                Connect::decode(content, fields).map(Datagram::Connect)
            }
            ACCEPT => Accept::decode(fields).map(Datagram::Accept),
            FINISH => Finish::decode(fields).map(Datagram::Finish),
            _ => Err(DecodeError::Malformed),
        }
    }
}

/// Why a datagram is no handshake datagram. All but `Protocol` are dropped and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Something else: no known kind, or no magic.
    #[error("not a handshake datagram")]
    Foreign,
    /// The checksum does not fit.
    #[error("the datagram's checksum does not fit")]
    Damaged,
    /// A client that speaks another version of the protocol: answer with
    /// [`RefuseReason::Protocol`].
    #[error("the sender speaks protocol version {protocol}")]
    Protocol {
        /// What to repeat in the answer.
        nonce: ClientNonce,
        /// The version the client speaks.
        protocol: u8,
    },
    /// Too short, or a field out of its range.
    #[error("the datagram is too short or has an impossible field")]
    Malformed,
}

/// Client to server: who is there, and what is expected?
///
/// | bytes | field |
/// |---|---|
/// | 0..6 | kind 0x01, magic, protocol version |
/// | 6..14 | client nonce, u64 |
/// | 14..22 | game, u64: [`game_hash`] |
/// | 22..26 | application version, u32 |
/// | 26 | flags: bit 0 encryption wanted |
/// | 27..92 | padding |
/// | 92..96 | checksum |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// This attempt.
    pub nonce: ClientNonce,
    /// The game, by [`game_hash`].
    pub game: u64,
    /// The game's version.
    pub version: u32,
    /// Whether the client wants encryption.
    pub encrypted: bool,
}

impl Hello {
    /// The datagram.
    pub fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut out = start(HELLO, self.nonce);
        out[14..22].copy_from_slice(&self.game.to_le_bytes());
        out[22..26].copy_from_slice(&self.version.to_le_bytes());
        out[26] = flag(FLAG_ENCRYPTED, self.encrypted);
        close(&mut out);
        out
    }

    fn decode(mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            nonce: ClientNonce(fields.u64()?),
            game: fields.u64()?,
            version: fields.u32()?,
            encrypted: fields.u8()? & FLAG_ENCRYPTED != 0,
        })
    }
}

/// Server to client: prove your address by repeating this cookie.
///
/// | bytes | field |
/// |---|---|
/// | 0..6 | kind 0x02, magic, protocol version |
/// | 6..14 | client nonce |
/// | 14..34 | cookie |
/// | 34..66 | the server's static key |
/// | 66 | flags: bit 0 encrypted, bit 1 password required, bit 2 token required |
/// | 67..71 | checksum |
///
/// Nothing in it is authentic: anyone on the way could have written it. A client that knows no key takes this one, and learns from the
/// exchange that the other end holds it. A client that knows another keeps to that. The flags are a hint for a better message to the
/// player: a client never drops encryption or a password because of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The attempt this answers.
    pub nonce: ClientNonce,
    /// What to repeat.
    pub cookie: Cookie,
    /// The server's static key.
    pub key: PublicKey,
    /// Whether the server's connections are encrypted.
    pub encrypted: bool,
    /// Whether it asks for a password.
    pub password: bool,
    /// Whether it asks for a connect token.
    pub token: bool,
}

impl Retry {
    /// The datagram.
    pub fn encode(&self) -> [u8; RETRY_BYTES] {
        let mut out = start(RETRY, self.nonce);
        out[14..34].copy_from_slice(&self.cookie);
        out[34..66].copy_from_slice(self.key.as_bytes());
        out[66] = flag(FLAG_ENCRYPTED, self.encrypted)
            | flag(FLAG_PASSWORD, self.password)
            | flag(FLAG_TOKEN, self.token);
        close(&mut out);
        out
    }

    fn decode(mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let nonce = ClientNonce(fields.u64()?);
        let cookie = fields.array()?;
        let key = fields.array()?;
        let flags = fields.u8()?;
        Ok(Self {
            nonce,
            cookie,
            key: PublicKey::from_bytes(key).map_err(|_| DecodeError::Malformed)?,
            encrypted: flags & FLAG_ENCRYPTED != 0,
            password: flags & FLAG_PASSWORD != 0,
            token: flags & FLAG_TOKEN != 0,
        })
    }
}

/// Server to client: you are in.
///
/// | bytes | field |
/// |---|---|
/// | 0..6 | kind 0x04, magic, protocol version |
/// | 6..14 | client nonce |
/// | 14..16 | length of the body, u16 |
/// | 16.. | body |
/// | last 4 | checksum |
///
/// The body is Noise message 2 with an [`AcceptPayload`] inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept<'a> {
    /// The attempt this answers.
    pub nonce: ClientNonce,
    /// Noise message 2.
    pub body: &'a [u8],
}

impl<'a> Accept<'a> {
    /// The datagram.
    ///
    /// # Panics
    /// If it would be larger than the smallest Connect.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(CONNECT_MIN_BYTES);
        out.extend_from_slice(&start::<14>(ACCEPT, self.nonce));
        out.extend_from_slice(&length(self.body.len()));
        out.extend_from_slice(self.body);
        out.resize(out.len() + CHECKSUM_BYTES, 0);
        assert!(
            out.len() <= CONNECT_MIN_BYTES,
            "an Accept may not exceed its Connect"
        );
        close(&mut out);
        out
    }

    fn decode(mut fields: Fields<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            nonce: ClientNonce(fields.u64()?),
            body: fields.prefixed(CONNECT_MIN_BYTES - ACCEPT_HEADER_BYTES - CHECKSUM_BYTES)?,
        })
    }
}

/// Client to server, in plain mode: proof that the client holds the keys, and knows the password if there is one. In encrypted mode the
/// first packet shows that.
///
/// | bytes | field |
/// |---|---|
/// | 0..6 | kind 0x06, magic, protocol version |
/// | 6..14 | client nonce |
/// | 14..16 | cid, u16: the connection id of the Accept |
/// | 16..32 | tag: [`ConnectionKeys::finish`] |
/// | 32..36 | checksum |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finish {
    /// The attempt.
    pub nonce: ClientNonce,
    /// The connection.
    pub cid: u16,
    /// What only the client can know.
    pub tag: [u8; FINISH_TAG_BYTES],
}

impl Finish {
    /// The datagram.
    pub fn encode(&self) -> [u8; FINISH_BYTES] {
        let mut out = start(FINISH, self.nonce);
        out[14..16].copy_from_slice(&self.cid.to_le_bytes());
        out[16..32].copy_from_slice(&self.tag);
        close(&mut out);
        out
    }

    fn decode(mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            nonce: ClientNonce(fields.u64()?),
            cid: fields.u16()?,
            tag: fields.array()?,
        })
    }
}

/// The number a game goes by in the handshake: the first 8 bytes of `mac(0, "SStpgame", name)`.
pub fn game_hash(name: &str) -> u64 {
    hash64(b"SStpgame", &[name.as_bytes()])
}

/// 64 bits of `mac(0, purpose, parts)`: equal for equal content, for configurations to be compared.
pub fn hash64(purpose: &[u8; 8], parts: &[&[u8]]) -> u64 {
    let tag = mac(&[0; 32], purpose, parts);
    u64::from_le_bytes(std::array::from_fn(|i| tag[i]))
}

fn start<const N: usize>(kind: u8, nonce: ClientNonce) -> [u8; N] {
    let mut out = [0; N];
    out[0] = kind;
    out[1..5].copy_from_slice(&MAGIC);
    out[5] = PROTOCOL_VERSION;
    out[6..14].copy_from_slice(&nonce.0.to_le_bytes());
    out
}

/// Writes the checksum into the last bytes.
fn close(datagram: &mut [u8]) {
    let (content, checksum) = datagram.split_at_mut(datagram.len() - CHECKSUM_BYTES);
    checksum.copy_from_slice(&CHECKSUM.of(0, content).to_le_bytes());
}

fn flag(bit: u8, set: bool) -> u8 {
    if set { bit } else { 0 }
}

fn length(bytes: usize) -> [u8; 2] {
    u16::try_from(bytes)
        .expect("handshake parts are far below 64 KiB")
        .to_le_bytes()
}

/// Reads fields one after another and never past the end.
struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (field, rest) = (self.rest)
            .split_first_chunk()
            .ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(*field)
    }

    fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    /// A u16 length and as many bytes, at most `limit`.
    fn prefixed(&mut self, limit: usize) -> Result<&'a [u8], DecodeError> {
        let len = usize::from(self.u16()?);
        if len > limit {
            return Err(DecodeError::Malformed);
        }
        let (field, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cookie::COOKIE_BYTES;
    use crate::crypto::Cipher;
    use crate::golden::hex;
    use crate::key::Identity;
    use crate::rng::Random;

    const NONCE: ClientNonce = ClientNonce(0x1122_3344_5566_7788);

    fn server_key() -> PublicKey {
        Identity::from_secret([3; 32]).public_key()
    }

    fn finish() -> Finish {
        Finish {
            nonce: NONCE,
            cid: 0x0304,
            tag: std::array::from_fn(|i| i as u8),
        }
    }

    fn hello() -> Hello {
        Hello {
            nonce: NONCE,
            game: game_hash("skirmish"),
            version: 5,
            encrypted: true,
        }
    }

    fn retry() -> Retry {
        Retry {
            nonce: NONCE,
            cookie: std::array::from_fn(|i| i as u8),
            key: server_key(),
            encrypted: true,
            password: true,
            token: false,
        }
    }

    fn connect(protection: Protection) -> ConnectHeader {
        ConnectHeader {
            nonce: NONCE,
            cookie: [7; COOKIE_BYTES],
            game: game_hash("skirmish"),
            version: 5,
            channels: 0xABCD,
            protection,
            password: true,
            token: false,
            cid: 0x0102,
            server: server_key().id(),
        }
    }

    fn protections() -> [Protection; 3] {
        [
            Protection::Plain,
            Protection::Encrypted(Cipher::Aes256Gcm),
            Protection::Encrypted(Cipher::ChaCha20Poly1305),
        ]
    }

    /// One valid datagram of each kind.
    fn samples() -> Vec<Vec<u8>> {
        let reason = RefuseReason::Full;
        vec![
            hello().encode().to_vec(),
            retry().encode().to_vec(),
            connect(Protection::Plain).datagram(&[3; 40]),
            connect(protections()[1]).datagram(&[3; 200]),
            Accept {
                nonce: NONCE,
                body: &[4; 98],
            }
            .encode(),
            Refuse {
                nonce: NONCE,
                reason,
            }
            .encode()
            .to_vec(),
            finish().encode().to_vec(),
        ]
    }

    #[test]
    fn hello_and_retry_round_trip() {
        assert_eq!(
            Datagram::decode(&hello().encode()),
            Ok(Datagram::Hello(hello()))
        );
        assert_eq!(
            Datagram::decode(&finish().encode()),
            Ok(Datagram::Finish(finish()))
        );
        for bits in 0..8 {
            let retry = Retry {
                encrypted: bits & 1 != 0,
                password: bits & 2 != 0,
                token: bits & 4 != 0,
                ..retry()
            };
            assert_eq!(
                Datagram::decode(&retry.encode()),
                Ok(Datagram::Retry(retry))
            );
        }
    }

    #[test]
    fn connect_and_accept_round_trip() {
        for protection in protections() {
            for (password, token) in [(false, false), (true, false), (false, true)] {
                let header = ConnectHeader {
                    password,
                    token,
                    ..connect(protection)
                };
                for len in [0, 1, 60, 61, 500] {
                    let body: Vec<u8> = (0..len).map(|i| i as u8).collect();
                    let bytes = header.datagram(&body);
                    let expected = Connect {
                        header,
                        prologue: &header.encode(len),
                        body: &body,
                    };
                    assert_eq!(Datagram::decode(&bytes), Ok(Datagram::Connect(expected)));
                }
            }
        }
        for len in [0, 2, 50, 98, 172] {
            let accept = Accept {
                nonce: NONCE,
                body: &vec![9; len],
            };
            assert_eq!(
                Datagram::decode(&accept.encode()),
                Ok(Datagram::Accept(accept))
            );
        }
    }

    #[test]
    fn a_reply_is_never_larger_than_its_request() {
        const { assert!(RETRY_BYTES <= HELLO_BYTES && REFUSE_BYTES <= HELLO_BYTES) };
        const { assert!(REFUSE_BYTES <= CONNECT_MIN_BYTES && CONNECT_MAX_BYTES <= 1200) };
        // Noise message 2: a key, a tag, the connection id and the proof of the password.
        let largest = 32 + 16 + 2 + 32 + 16;
        let accept = Accept {
            nonce: NONCE,
            body: &vec![0; largest],
        };
        for protection in protections() {
            let smallest = connect(protection).datagram(&[]);
            assert!(accept.encode().len() <= smallest.len());
        }
        // Requests cut short are not answered at all.
        for (request, minimum) in [
            (hello().encode().to_vec(), HELLO_BYTES),
            (connect(Protection::Plain).datagram(&[]), CONNECT_MIN_BYTES),
        ] {
            for len in 14..minimum {
                let mut short = request[..len].to_vec();
                close(&mut short);
                assert_eq!(Datagram::decode(&short), Err(DecodeError::Malformed));
            }
        }
    }

    #[test]
    fn damaged_datagrams_are_told_from_hostile_ones() {
        for sample in samples() {
            for bit in 0..sample.len() * 8 {
                let mut bytes = sample.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                let error = Datagram::decode(&bytes).unwrap_err();
                let expected = if bit < 40 && error == DecodeError::Foreign {
                    DecodeError::Foreign
                } else {
                    DecodeError::Damaged
                };
                assert_eq!(error, expected);
            }
            for len in 0..sample.len() {
                assert!(Datagram::decode(&sample[..len]).is_err());
            }
        }
    }

    #[test]
    fn hostile_datagrams_with_a_valid_checksum_never_panic() {
        let mut random = Random::new([2; 32]);
        let samples = samples();
        for round in 0..100_000usize {
            let mut bytes = samples[round % samples.len()].clone();
            for _ in 0..random.next_u32() % 4 {
                let at = 6 + random.next_u32() as usize % (bytes.len() - 6);
                bytes[at] = random.next_u32() as u8;
            }
            bytes.truncate(10 + random.next_u32() as usize % bytes.len());
            close(&mut bytes);
            match Datagram::decode(&bytes) {
                Ok(Datagram::Connect(connect)) => assert!(connect.body.len() < bytes.len()),
                Ok(Datagram::Accept(accept)) => assert!(accept.body.len() < bytes.len()),
                _ => {}
            }
        }
    }

    #[test]
    fn impossible_flags_are_refused() {
        for flags in 0..=255u8 {
            let mut bytes = connect(Protection::Plain).datagram(&[]);
            bytes[54] = flags;
            close(&mut bytes);
            let fine = flags & 0xF0 == 0 && (flags & 1 == 1 || flags & 8 == 0);
            assert_eq!(Datagram::decode(&bytes).is_ok(), fine, "{flags:#x}");
        }
    }

    #[test]
    fn another_protocol_version_is_recognised_and_answered() {
        for mut sample in [
            hello().encode().to_vec(),
            connect(Protection::Plain).datagram(&[]),
        ] {
            sample[5] = 9;
            // Whatever else that version put there.
            sample[20..50].fill(0xEE);
            sample.truncate(REFUSE_BYTES + 24);
            close(&mut sample);
            let expected = DecodeError::Protocol {
                nonce: NONCE,
                protocol: 9,
            };
            assert_eq!(Datagram::decode(&sample), Err(expected));
            sample.truncate(REFUSE_BYTES - 1);
            close(&mut sample);
            assert_eq!(Datagram::decode(&sample), Err(DecodeError::Malformed));
        }
        let mut retry = retry().encode();
        retry[5] = 9;
        close(&mut retry);
        assert_eq!(Datagram::decode(&retry), Err(DecodeError::Malformed));
    }

    #[test]
    fn golden_datagrams() {
        crate::golden::assert_vectors(&[
            ("hello", hex(&hello().encode())),
            ("retry", hex(&retry().encode())),
            ("finish", hex(&finish().encode())),
        ]);
    }
}
