//! Authenticated encryption of packets, with keys that change by packet number.

use std::fmt;
use std::hint::black_box;

use ring::aead;
use zeroize::Zeroizing;

use super::{AEAD_TAG_BYTES, Cipher, OpenError, REKEY_SHIFT, mac};

// RFC 9001, section 6.6: AES-GCM may seal 2²³ packets under one key before its output can be told from noise; for ChaCha20-Poly1305 the limit is
// beyond the number of packets there can be. A key changes long before: only REKEY_SHIFT decides when.
const _: () = assert!(1u64 << REKEY_SHIFT <= 1 << 23);

impl Cipher {
    /// How many forged packets a connection refuses at most before somebody could have been lucky (RFC 9001, section 6.6). They are
    /// counted over all keys of a connection.
    const fn integrity_limit(self) -> u64 {
        match self {
            Self::Aes256Gcm => 1 << 52,
            Self::ChaCha20Poly1305 => 1 << 36,
        }
    }
}

/// Encrypted mode: a chain of keys per direction.
///
/// The chain starts with the handshake's key of that direction. Of each link of the chain,
/// `mac(link, "SStp-key")` is the packet key of its epoch and `mac(link, "SStpnext")` the next
/// link; a link is forgotten once it has been used, so keys of the past cannot be found again.
pub struct Aead {
    cipher: Cipher,
    send_epoch: u64,
    send: Key,
    send_chain: Chain,
    /// The newest epoch from which a packet was believed.
    receive_epoch: u64,
    /// The keys of that epoch, of the one before, for packets that the network delayed across the change of keys, and of the next one, each at its
    /// epoch modulo 3. The next one is derived when a packet first claims it, and kept whether or not it was genuine: forged
    /// numbers cost one derivation per epoch at most.
    receive: [Key; 3],
    receive_chain: Chain,
    forged: u64,
}

impl Aead {
    pub(super) fn new(cipher: Cipher, send: &[u8; 32], receive: &[u8; 32]) -> Self {
        let mut aead = Self {
            cipher,
            send_epoch: 0,
            send: Key::none(cipher),
            send_chain: Chain::new(send),
            receive_epoch: 0,
            receive: [(); 3].map(|()| Key::none(cipher)),
            receive_chain: Chain::new(receive),
            forged: 0,
        };
        aead.send.become_next(cipher, &mut aead.send_chain);
        aead.receive[0].become_next(cipher, &mut aead.receive_chain);
        aead
    }

    #[inline]
    pub(super) fn seal(&mut self, packet_number: u64, packet: &mut [u8], header_len: usize) {
        let epoch = packet_number >> REKEY_SHIFT;
        assert!(
            epoch >= self.send_epoch,
            "packet numbers rise: the key of packet {packet_number} is gone"
        );
        while epoch > self.send_epoch {
            self.send.become_next(self.cipher, &mut self.send_chain);
            self.send_epoch += 1;
        }
        let (header, rest) = packet.split_at_mut(header_len);
        let (body, tag) = rest.split_at_mut(rest.len() - AEAD_TAG_BYTES);
        let sealed = (self.send.key)
            .seal_in_place_separate_tag(nonce(packet_number), aead::Aad::from(header), body)
            .expect("a packet is far below the cipher's limit of 64 GiB");
        tag.copy_from_slice(sealed.as_ref());
    }

    #[inline]
    pub(super) fn open(
        &mut self,
        packet_number: u64,
        datagram: &mut [u8],
        header_len: usize,
    ) -> Result<(), OpenError> {
        let epoch = packet_number >> REKEY_SHIFT;
        if epoch + 1 < self.receive_epoch {
            return Err(OpenError::TooOld);
        }
        if epoch > self.receive_epoch + 1 {
            return Err(OpenError::TooFar);
        }
        if self.forged >= self.cipher.integrity_limit() {
            return Err(OpenError::LimitReached);
        }
        let (header, sealed) = datagram.split_at_mut(header_len);
        let (nonce, header) = (nonce(packet_number), aead::Aad::from(header));
        let key = &mut self.receive[(epoch % 3) as usize];
        if !key.is_known {
            // Only the next one can be missing.
            key.become_next(self.cipher, &mut self.receive_chain);
        }
        if key.key.open_in_place(nonce, header, sealed).is_err() {
            self.forged += 1;
            return Err(match self.forged < self.cipher.integrity_limit() {
                true => OpenError::Forged,
                false => OpenError::LimitReached,
            });
        }
        if epoch > self.receive_epoch {
            self.receive_epoch = epoch;
            // The key of two epochs ago is where that of the next one will be.
            self.receive[((epoch + 1) % 3) as usize].erase(self.cipher);
        }
        Ok(())
    }

    /// As if so many packets had been forged that the next one reaches the limit.
    #[cfg(test)]
    pub(crate) fn wear_out(&mut self) {
        self.forged = self.cipher.integrity_limit() - 1;
    }
}

impl Drop for Aead {
    fn drop(&mut self) {
        for key in self.receive.iter_mut().chain([&mut self.send]) {
            key.erase(self.cipher);
        }
    }
}

impl fmt::Debug for Aead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aead")
            .field("cipher", &self.cipher)
            .field("send_epoch", &self.send_epoch)
            .field("receive_epoch", &self.receive_epoch)
            .finish_non_exhaustive()
    }
}

/// The place of a packet key. Keys are made and erased in their place, as a move would leave a copy.
struct Key {
    key: aead::LessSafeKey,
    is_known: bool,
}

impl Key {
    fn none(cipher: Cipher) -> Self {
        Self {
            key: expand(cipher, &[0; 32]),
            is_known: false,
        }
    }

    /// Takes the place of the key before it in the chain.
    fn become_next(&mut self, cipher: Cipher, chain: &mut Chain) {
        self.key = chain.next_key(cipher);
        self.is_known = true;
        super::wipe_stack();
    }

    /// Overwrites the key: `ring` does not when it drops one.
    fn erase(&mut self, cipher: Cipher) {
        self.key = expand(cipher, &[0; 32]);
        self.is_known = false;
        black_box(self);
    }
}

struct Chain {
    link: Zeroizing<[u8; 32]>,
}

impl Chain {
    fn new(start: &[u8; 32]) -> Self {
        Self {
            link: Zeroizing::new(*start),
        }
    }

    fn next_key(&mut self, cipher: Cipher) -> aead::LessSafeKey {
        let bytes = Zeroizing::new(mac(&self.link, b"SStp-key", &[]));
        *self.link = mac(&self.link, b"SStpnext", &[]);
        expand(cipher, &bytes)
    }
}

fn expand(cipher: Cipher, bytes: &[u8; 32]) -> aead::LessSafeKey {
    let algorithm = match cipher {
        Cipher::Aes256Gcm => &aead::AES_256_GCM,
        Cipher::ChaCha20Poly1305 => &aead::CHACHA20_POLY1305,
    };
    let key = aead::UnboundKey::new(algorithm, bytes).expect("both ciphers take a key of 32 bytes");
    aead::LessSafeKey::new(key)
}

#[inline]
fn nonce(packet_number: u64) -> aead::Nonce {
    let mut bytes = [0; aead::NONCE_LEN];
    bytes[4..].copy_from_slice(&packet_number.to_le_bytes());
    aead::Nonce::assume_unique_for_key(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::PacketCrypto;
    use super::*;
    use crate::golden::hex;

    const HEADER: usize = 5;

    const EPOCH: u64 = 1 << REKEY_SHIFT;

    fn pair(cipher: Cipher) -> (PacketCrypto, PacketCrypto) {
        (
            PacketCrypto::aead(cipher, &[1; 32], &[2; 32]),
            PacketCrypto::aead(cipher, &[2; 32], &[1; 32]),
        )
    }

    fn sealed(from: &mut PacketCrypto, number: u64) -> Vec<u8> {
        let mut bytes = vec![9; HEADER + 20 + AEAD_TAG_BYTES];
        from.seal(number, &mut bytes, HEADER, 20);
        bytes
    }

    #[test]
    fn keys_change_without_a_word_even_when_packets_swap_around_the_change() {
        for cipher in [Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305] {
            let (mut client, mut server) = pair(cipher);
            for epoch in 1..5 {
                let numbers: Vec<u64> = (EPOCH * epoch - 8..EPOCH * epoch + 8).collect();
                let packets: Vec<_> = numbers
                    .iter()
                    .map(|n| (*n, sealed(&mut client, *n)))
                    .collect();
                // Every second one first, so new and old keys alternate.
                let (odd, even): (Vec<_>, Vec<_>) =
                    packets.into_iter().partition(|(n, _)| n % 2 == 1);
                for (number, mut bytes) in odd.into_iter().rev().chain(even.into_iter().rev()) {
                    assert_eq!(
                        server.open(number, &mut bytes, HEADER),
                        Ok(HEADER..HEADER + 20),
                        "{number}"
                    );
                    assert_eq!(bytes[HEADER..HEADER + 20], [9; 20]);
                }
            }
        }
    }

    #[test]
    fn two_keys_back_is_too_old() {
        let (mut client, mut server) = pair(Cipher::Aes256Gcm);
        let mut old = sealed(&mut client, 0);
        let mut first = sealed(&mut client, EPOCH);
        let mut second = sealed(&mut client, EPOCH * 2);
        assert!(server.open(EPOCH, &mut first, HEADER).is_ok());
        assert!(server.open(0, &mut old.clone(), HEADER).is_ok());
        assert!(server.open(EPOCH * 2, &mut second, HEADER).is_ok());
        assert_eq!(server.open(0, &mut old, HEADER), Err(OpenError::TooOld));
    }

    #[test]
    fn forged_numbers_neither_advance_the_keys_nor_cost_derivations() {
        let (mut client, mut server) = pair(Cipher::Aes256Gcm);
        let mut junk = sealed(&mut client, 5);
        for number in [EPOCH, EPOCH + 1, EPOCH * 2 - 1] {
            let opened = server.open(number, &mut junk.clone(), HEADER);
            assert_eq!(opened, Err(OpenError::Forged));
        }
        for number in [EPOCH * 2, EPOCH * 1000, u64::MAX] {
            let opened = server.open(number, &mut junk.clone(), HEADER);
            assert_eq!(opened, Err(OpenError::TooFar));
        }
        let PacketCrypto::Aead(state) = &server else {
            unreachable!("pair makes encrypted ends");
        };
        assert_eq!(state.receive_epoch, 0);
        // The chain stands one link on: the key kept for the next epoch.
        let mut expected = Chain::new(&[1; 32]);
        expected.next_key(Cipher::Aes256Gcm);
        expected.next_key(Cipher::Aes256Gcm);
        assert_eq!(state.receive_chain.link, expected.link);
        // And the genuine traffic goes on, across the change too.
        assert!(server.open(5, &mut junk, HEADER).is_ok());
        let mut next = sealed(&mut client, EPOCH);
        assert!(server.open(EPOCH, &mut next, HEADER).is_ok());
    }

    #[test]
    fn keys_are_given_up_after_too_many_forged_packets() {
        for cipher in [Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305] {
            let (mut client, mut server) = pair(cipher);
            let PacketCrypto::Aead(state) = &mut server else {
                unreachable!("pair makes encrypted ends");
            };
            state.wear_out();
            let good = sealed(&mut client, 1);
            assert!(server.open(1, &mut good.clone(), HEADER).is_ok());
            let mut forged = good.clone();
            forged[HEADER] ^= 1;
            let opened = server.open(1, &mut forged, HEADER);
            assert_eq!(opened, Err(OpenError::LimitReached), "{cipher:?}");
            let opened = server.open(1, &mut good.clone(), HEADER);
            assert_eq!(opened, Err(OpenError::LimitReached), "for good");
        }
    }

    #[test]
    #[should_panic(expected = "packet numbers rise")]
    fn sealing_under_a_forgotten_key_panics() {
        let (mut client, _) = pair(Cipher::Aes256Gcm);
        sealed(&mut client, EPOCH);
        sealed(&mut client, EPOCH - 1);
    }

    #[test]
    fn the_sender_may_skip_epochs() {
        let (mut client, _) = pair(Cipher::Aes256Gcm);
        let (mut other, mut server) = pair(Cipher::Aes256Gcm);
        for epoch in 1..4 {
            let mut bytes = sealed(&mut other, EPOCH * epoch);
            server.open(EPOCH * epoch, &mut bytes, HEADER).unwrap();
        }
        let mut bytes = sealed(&mut client, EPOCH * 4);
        assert!(server.open(EPOCH * 4, &mut bytes, HEADER).is_ok());
    }

    #[test]
    fn golden_aead_packets() {
        let key: [u8; 32] = std::array::from_fn(|i| i as u8);
        let cases = [
            (Cipher::Aes256Gcm, 42, crate::golden::vector("packet_aes")),
            (
                Cipher::ChaCha20Poly1305,
                42,
                crate::golden::vector("packet_chacha"),
            ),
            (
                Cipher::Aes256Gcm,
                EPOCH + 1,
                crate::golden::vector("packet_aes_second_key"),
            ),
        ];
        for (cipher, number, expected) in cases {
            let mut bytes = [0; 5 + 9 + AEAD_TAG_BYTES];
            bytes[..14].copy_from_slice(b"\x80\x01\x02\x03\x04encrypted");
            PacketCrypto::aead(cipher, &key, &[0; 32]).seal(number, &mut bytes, 5, 9);
            assert_eq!(hex(&bytes), expected, "{cipher:?} {number}");
        }
    }
}
