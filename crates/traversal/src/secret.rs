//! Keyed hashes: what checks are authenticated by, and where names and passwords come from.

use hmac::{Hmac, Mac};
use is::{IceCreds, Sha1HmacProvider};
use sha1::Sha1;
use sha2::Sha256;

/// HMAC-SHA1, which ICE and TURN prescribe.
pub(crate) fn hmac_sha1(key: &[u8], parts: &[&[u8]]) -> [u8; 20] {
    let mut mac = Hmac::<Sha1>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// HMAC-SHA256.
pub(crate) fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// The HMAC of the ICE agents.
#[derive(Debug)]
pub(crate) struct CheckHmac;

impl Sha1HmacProvider for CheckHmac {
    fn sha1_hmac(&self, key: &[u8], payloads: &[&[u8]]) -> [u8; 20] {
        hmac_sha1(key, payloads)
    }
}

/// Where a traversal's names and passwords come from: one seed, which its owner draws.
pub(crate) struct Secrets {
    seed: [u8; 32],
    drawn: u64,
}

impl Secrets {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self { seed, drawn: 0 }
    }

    fn draw(&mut self, purpose: &[u8]) -> [u8; 32] {
        self.drawn += 1;
        hmac_sha256(&self.seed, &[purpose, &self.drawn.to_be_bytes()])
    }

    /// A name of 16 and a password of 32 characters, for the checks with one peer.
    pub(crate) fn credentials(&mut self) -> IceCreds {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        IceCreds {
            ufrag: hex(&self.draw(b"ufrag")[..8]),
            pass: hex(&self.draw(b"pass")[..16]),
        }
    }

    pub(crate) fn number(&mut self) -> u64 {
        let drawn = self.draw(b"number");
        u64::from_be_bytes(*drawn.first_chunk().expect("32 bytes"))
    }

    /// A transaction id of STUN, which nobody who does not see the request can guess.
    pub(crate) fn transaction(&mut self) -> u128 {
        let drawn = self.draw(b"transaction");
        u128::from_be_bytes(*drawn.first_chunk().expect("32 bytes")) >> 32
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hmac_sha1_is_that_of_rfc_2202() {
        let mac = hmac_sha1(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        let hex: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
    }

    #[test]
    fn a_seed_gives_the_same_secrets_again_and_never_one_twice() {
        let (mut one, mut two) = (Secrets::new([1; 32]), Secrets::new([1; 32]));
        let first = one.credentials();
        assert_eq!(first, two.credentials());
        let second = one.credentials();
        assert!(first.ufrag != second.ufrag && first.pass != second.pass);
        assert_eq!((first.ufrag.len(), first.pass.len()), (16, 32));
    }
}
