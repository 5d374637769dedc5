//! Packet protection: what stands between a datagram's bytes and the connection that believes them.
//!
//! A packet is `header ‖ body ‖ tag`. The header stays readable and is authenticated, the tag
//! closes the packet. [`PacketCrypto`] has two modes:
//!
//! * **Encrypted**: AES-256-GCM or ChaCha20-Poly1305, tag 16 bytes. The nonce is four zero bytes
//!   and the packet number (u64, little endian). Keys change every 65,536 packets by the packet
//!   number alone, so both sides change at the same packet without announcing it.
//! * **Plain**: the body is readable and the tag is a 4-byte checksum keyed with the session
//!   secret. It rejects corrupted and stray packets, packets of earlier sessions, and forgeries by
//!   anyone who cannot see the traffic. It gives **no secrecy and no protection from whoever can
//!   read the link**: the checksum is not made to withstand somebody who sees many packets. It is
//!   for trusted links, and for transports that encrypt by themselves.
//!
//! Neither mode drops replays: the connection does that by packet number.

use std::fmt;
use std::ops::Range;

use blake2::Blake2sMac;
use blake2::digest::consts::U32;
use blake2::digest::{FixedOutput, Update};
use subtle::ConstantTimeEq;

#[cfg(feature = "crypto")]
mod aead;
mod checksum;

#[cfg(feature = "crypto")]
pub use aead::Aead;
pub use checksum::Checksum;

/// Bytes that plain mode adds to a packet.
pub const PLAIN_TAG_BYTES: usize = 4;

/// Bytes that encrypted mode adds to a packet.
#[cfg(feature = "crypto")]
pub const AEAD_TAG_BYTES: usize = 16;

/// A key protects `1 << REKEY_SHIFT` packets: packet `n` belongs to epoch `n >> REKEY_SHIFT`.
#[cfg(feature = "crypto")]
pub const REKEY_SHIFT: u32 = 16;

/// Which end of the connection this is: each direction has keys of its own, so a packet sent back
/// to its sender is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// The end that connected.
    Client,
    /// The end that accepted.
    Server,
}

/// The cipher of an encrypted connection; the client chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Cipher {
    /// AES-256-GCM: the fastest where the processor has AES instructions, slow elsewhere.
    #[default]
    Aes256Gcm,
    /// ChaCha20-Poly1305: fast on every processor.
    ChaCha20Poly1305,
}

impl Cipher {
    /// The faster cipher on this processor.
    pub fn fastest() -> Self {
        #[cfg(target_arch = "x86_64")]
        let hardware = std::arch::is_x86_feature_detected!("aes")
            && std::arch::is_x86_feature_detected!("pclmulqdq");
        #[cfg(target_arch = "aarch64")]
        let hardware = std::arch::is_aarch64_feature_detected!("aes")
            && std::arch::is_aarch64_feature_detected!("pmull");
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let hardware = false;
        if hardware {
            Self::Aes256Gcm
        } else {
            Self::ChaCha20Poly1305
        }
    }
}

/// Why a packet was not opened. It is dropped and counted, nothing more, unless the keys are worn out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Shorter than its header and tag.
    #[error("the packet is shorter than its header and tag")]
    Short,
    /// The tag does not fit the bytes: corrupted, forged, or meant for someone else.
    #[error("the packet's tag does not fit its content")]
    Forged,
    /// From before the previous key.
    #[cfg(feature = "crypto")]
    #[error("the packet's key is no longer kept")]
    TooOld,
    /// Two or more keys ahead of the newest packet believed so far. Refused without deriving keys,
    /// so an invented packet number costs nothing.
    #[cfg(feature = "crypto")]
    #[error("the packet's number is too far ahead")]
    TooFar,
    /// So many packets were forged that these keys must not be used any more: the connection has to end.
    #[cfg(feature = "crypto")]
    #[error("too many packets were forged for these keys")]
    LimitReached,
}

impl OpenError {
    /// Whether the connection has to end.
    pub fn ends_connection(self) -> bool {
        #[cfg(feature = "crypto")]
        return self == Self::LimitReached;
        #[cfg(not(feature = "crypto"))]
        false
    }
}

/// Protects the packets of one connection, both directions.
#[derive(Debug)]
pub enum PacketCrypto {
    /// Readable packets with a keyed checksum.
    Plain(Plain),
    /// Encrypted and authenticated packets.
    #[cfg(feature = "crypto")]
    Aead(Box<Aead>),
}

impl PacketCrypto {
    /// Plain mode with the secret the server chose.
    pub fn plain(end: ConnectionEnd, secret: u64) -> Self {
        Self::Plain(Plain::new(end, secret))
    }

    /// Encrypted mode with the two keys of the handshake.
    #[cfg(feature = "crypto")]
    pub fn aead(cipher: Cipher, send: &[u8; 32], receive: &[u8; 32]) -> Self {
        let aead = Box::new(Aead::new(cipher, send, receive));
        wipe_stack();
        Self::Aead(aead)
    }

    /// Bytes a packet grows by when sealed.
    pub fn overhead(&self) -> usize {
        match self {
            Self::Plain(_) => PLAIN_TAG_BYTES,
            #[cfg(feature = "crypto")]
            Self::Aead(_) => AEAD_TAG_BYTES,
        }
    }

    /// Whether an eavesdropper is kept out.
    pub fn is_encrypted(&self) -> bool {
        !matches!(self, Self::Plain(_))
    }

    /// Seals the packet at the start of `buf`: `header_len` bytes of header, `plaintext_len` bytes
    /// of body, then room for [`overhead`](Self::overhead) bytes. Returns the packet's length.
    ///
    /// A packet number must be used only once per connection and may not fall back by a key.
    ///
    /// # Panics
    /// If `buf` has no room for the tag, or the packet number belongs to an earlier key.
    #[inline]
    pub fn seal(
        &mut self,
        packet_number: u64,
        buf: &mut [u8],
        header_len: usize,
        plaintext_len: usize,
    ) -> usize {
        let end = header_len + plaintext_len;
        let total = end + self.overhead();
        let packet = &mut buf[..total];
        match self {
            Self::Plain(plain) => plain.seal(packet_number, packet),
            #[cfg(feature = "crypto")]
            Self::Aead(aead) => aead.seal(packet_number, packet, header_len),
        }
        total
    }

    /// Opens a packet in place and says where its body lies. When it fails, the bytes after the
    /// header are unspecified.
    ///
    /// `packet_number` is the full number, restored from the header by the connection.
    #[inline]
    pub fn open(
        &mut self,
        packet_number: u64,
        datagram: &mut [u8],
        header_len: usize,
    ) -> Result<Range<usize>, OpenError> {
        let end = datagram
            .len()
            .checked_sub(self.overhead())
            .filter(|end| *end >= header_len)
            .ok_or(OpenError::Short)?;
        match self {
            Self::Plain(plain) => plain.open(packet_number, datagram)?,
            #[cfg(feature = "crypto")]
            Self::Aead(aead) => aead.open(packet_number, datagram, header_len)?,
        }
        Ok(header_len..end)
    }
}

/// Plain mode: a keyed checksum per direction.
pub struct Plain {
    send: Checksum,
    receive: Checksum,
}

impl Plain {
    fn new(end: ConnectionEnd, secret: u64) -> Self {
        let (up, down) = (Checksum::new(secret, 0), Checksum::new(secret, 1));
        match end {
            ConnectionEnd::Client => Self {
                send: up,
                receive: down,
            },
            ConnectionEnd::Server => Self {
                send: down,
                receive: up,
            },
        }
    }

    #[inline]
    fn seal(&self, packet_number: u64, packet: &mut [u8]) {
        let (content, tag) = packet.split_at_mut(packet.len() - PLAIN_TAG_BYTES);
        tag.copy_from_slice(&self.send.of(packet_number, content).to_le_bytes());
    }

    #[inline]
    fn open(&self, packet_number: u64, datagram: &[u8]) -> Result<(), OpenError> {
        let (content, tag) = datagram
            .split_last_chunk::<PLAIN_TAG_BYTES>()
            .ok_or(OpenError::Short)?;
        if same(&self.receive.of(packet_number, content).to_le_bytes(), tag) {
            Ok(())
        } else {
            Err(OpenError::Forged)
        }
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.send.erase();
        self.receive.erase();
    }
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plain").finish_non_exhaustive()
    }
}

/// Keyed BLAKE2s-256 of `parts`, one after the other. `purpose` is BLAKE2's personalisation: one
/// key used for two purposes gives unrelated results.
pub fn mac(key: &[u8; 32], purpose: &[u8; 8], parts: &[&[u8]]) -> [u8; 32] {
    let mut state = Blake2sMac::<U32>::new_with_salt_and_personal(key, &[], purpose)
        .expect("a key of 32 and a personalisation of 8 bytes are within BLAKE2s's limits");
    for part in parts {
        state.update(part);
    }
    state.finalize_fixed().into()
}

/// Overwrites what the functions called before have left on the stack: making a key takes copies of it that nobody can name.
#[inline(never)]
pub fn wipe_stack() {
    std::hint::black_box([0u8; 16_384]);
}

/// Compares secrets in a time that does not depend on where they differ.
pub fn same(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::hex;
    use crate::rng::Random;

    const HEADER: usize = 5;

    fn packet(random: &mut Random, body: usize, overhead: usize) -> Vec<u8> {
        let mut bytes = vec![0; HEADER + body + overhead];
        random.fill(&mut bytes[..HEADER + body]);
        bytes
    }

    /// Each mode: client and server.
    fn pairs() -> Vec<(PacketCrypto, PacketCrypto)> {
        let plain = (
            PacketCrypto::plain(ConnectionEnd::Client, 99),
            PacketCrypto::plain(ConnectionEnd::Server, 99),
        );
        #[cfg(not(feature = "crypto"))]
        return vec![plain];
        #[cfg(feature = "crypto")]
        {
            let aead = |cipher| {
                let (up, down) = ([1; 32], [2; 32]);
                (
                    PacketCrypto::aead(cipher, &up, &down),
                    PacketCrypto::aead(cipher, &down, &up),
                )
            };
            vec![
                plain,
                aead(Cipher::Aes256Gcm),
                aead(Cipher::ChaCha20Poly1305),
            ]
        }
    }

    #[test]
    fn round_trip_in_both_directions() {
        let mut random = Random::new([1; 32]);
        for (mut client, mut server) in pairs() {
            for body in (0..70).chain([100, 1000, 1180]) {
                let ways = [(0, 1), (1, 0)];
                for (from, to) in ways {
                    let ends = [&mut client, &mut server];
                    let original = packet(&mut random, body, ends[from].overhead());
                    let mut bytes = original.clone();
                    let len = ends[from].seal(body as u64, &mut bytes, HEADER, body);
                    assert_eq!(len, bytes.len());
                    if ends[from].is_encrypted() && body > 16 {
                        assert_ne!(bytes[HEADER..HEADER + body], original[HEADER..][..body]);
                    }
                    let range = ends[to].open(body as u64, &mut bytes, HEADER).unwrap();
                    assert_eq!(range, HEADER..HEADER + body);
                    assert_eq!(bytes[..range.end], original[..range.end]);
                }
            }
        }
    }

    #[test]
    fn a_reflected_packet_is_refused() {
        let mut random = Random::new([2; 32]);
        for (mut client, _) in pairs() {
            let mut bytes = packet(&mut random, 40, client.overhead());
            client.seal(3, &mut bytes, HEADER, 40);
            assert_eq!(
                client.open(3, &mut bytes, HEADER),
                Err(OpenError::Forged),
                "{client:?}"
            );
        }
    }

    #[test]
    fn any_flipped_bit_or_other_number_or_length_is_refused() {
        let mut random = Random::new([3; 32]);
        for (mut client, mut server) in pairs() {
            for body in [0, 1, 7, 10, 11, 12, 27, 43, 100] {
                let mut sealed = packet(&mut random, body, client.overhead());
                client.seal(7, &mut sealed, HEADER, body);
                for bit in 0..sealed.len() * 8 {
                    let mut bytes = sealed.clone();
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    let opened = server.open(7, &mut bytes, HEADER);
                    assert_eq!(opened, Err(OpenError::Forged), "body {body} bit {bit}");
                }
                for number in [0, 6, 8, 7 + (1 << 8), 7 | (1 << 15)] {
                    let opened = server.open(number, &mut sealed.clone(), HEADER);
                    assert_eq!(opened, Err(OpenError::Forged));
                }
                for len in 0..sealed.len() {
                    assert!(server.open(7, &mut sealed.clone()[..len], HEADER).is_err());
                }
                sealed.push(0);
                assert!(server.open(7, &mut sealed.clone(), HEADER).is_err());
            }
        }
    }

    #[test]
    fn random_bytes_are_refused() {
        let mut random = Random::new([4; 32]);
        for (mut client, _) in pairs() {
            for _ in 0..20_000 {
                let mut bytes = vec![0; (random.next_u32() % 64) as usize];
                random.fill(&mut bytes);
                let number = random.next_u64() >> (random.next_u32() % 64);
                assert!(client.open(number, &mut bytes, HEADER).is_err());
            }
        }
    }

    #[test]
    fn another_secret_is_refused() {
        let mut random = Random::new([5; 32]);
        let mut client = PacketCrypto::plain(ConnectionEnd::Client, 1);
        let mut bytes = packet(&mut random, 30, PLAIN_TAG_BYTES);
        client.seal(0, &mut bytes, HEADER, 30);
        for secret in (0..64).map(|bit| 1 ^ (1 << bit)) {
            let mut server = PacketCrypto::plain(ConnectionEnd::Server, secret);
            assert_eq!(
                server.open(0, &mut bytes, HEADER),
                Err(OpenError::Forged),
                "{secret}"
            );
        }
    }

    #[test]
    fn golden_plain_packet() {
        let mut bytes = *b"\x80\x01\x02\x03\x04a plain packet\0\0\0\0";
        PacketCrypto::plain(ConnectionEnd::Client, 0x0123_4567_89AB_CDEF)
            .seal(42, &mut bytes, 5, 14);
        assert_eq!(hex(&bytes), crate::golden::vector("packet_plain"));
    }
}
