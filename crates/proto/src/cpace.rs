//! CPace, a balanced password-authenticated key exchange: `CPACE-RISTR255-SHA512` of draft-irtf-cfrg-cpace, in its
//! initiator-responder form.
//!
//! Each side sends a share made from the password and a secret number. Shares are random group elements to whoever does not hold that
//! number, so neither listening nor one answer tells a wrong password from a right one: a guess has to be made before the other's share is
//! known, one for each exchange.

use std::fmt;

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::Identity;
use sha2::{Digest, Sha512};
use zeroize::{Zeroize, Zeroizing};

const DSI: &[u8] = b"CPaceRistretto255";
const DSI_ISK: &[u8] = b"CPaceRistretto255_ISK";
/// Input block of SHA-512.
const BLOCK_BYTES: usize = 128;

/// Length of a share.
pub const SHARE_BYTES: usize = 32;

/// The intermediate session key: 64 secret bytes.
pub type SessionKey = Zeroizing<[u8; 64]>;

/// Which side of the exchange this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one whose share is sent first.
    Initiator,
    /// The other.
    Responder,
}

/// One side's share of an exchange, and the secret number behind it.
pub struct Share {
    number: Scalar,
    public: [u8; SHARE_BYTES],
}

impl Share {
    /// A share of `password` for the channel `ci` and the session `sid`, which both sides know. `number` is random and secret.
    pub fn new(number: &[u8; 64], password: &[u8], ci: &[u8], sid: &[u8]) -> Self {
        let number = Scalar::from_bytes_mod_order_wide(number);
        Self::of(number, &mut generator(password, ci, sid))
    }

    fn of(number: Scalar, generator: &mut RistrettoPoint) -> Self {
        let public = (number * *generator).compress().to_bytes();
        generator.zeroize();
        Self { number, public }
    }

    /// What the other side is sent.
    pub fn public(&self) -> &[u8; SHARE_BYTES] {
        &self.public
    }

    /// The key both sides have if they used the same password; `None` if `theirs` is no share. `ad_initiator` and `ad_responder` are
    /// what each side wants to have agreed on.
    pub fn agree(
        &self,
        side: Side,
        sid: &[u8],
        theirs: &[u8; SHARE_BYTES],
        ad_initiator: &[u8],
        ad_responder: &[u8],
    ) -> Option<SessionKey> {
        let theirs_point = CompressedRistretto(*theirs).decompress()?;
        let mut point = self.number * theirs_point;
        let is_neutral = point == RistrettoPoint::identity();
        let shared = Zeroizing::new(point.compress().to_bytes());
        point.zeroize();
        if is_neutral {
            return None;
        }
        let (first, second) = match side {
            Side::Initiator => (&self.public, theirs),
            Side::Responder => (theirs, &self.public),
        };
        let mut input = Zeroizing::new(Vec::with_capacity(256));
        for part in [
            DSI_ISK,
            sid,
            &shared[..],
            first,
            ad_initiator,
            second,
            ad_responder,
        ] {
            append(&mut input, part);
        }
        Some(Zeroizing::new(Sha512::digest(&input[..]).into()))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.number.zeroize();
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Share").finish_non_exhaustive()
    }
}

/// The group element that a password stands for in one session.
fn generator(password: &[u8], ci: &[u8], sid: &[u8]) -> RistrettoPoint {
    let hash: Zeroizing<[u8; 64]> =
        Zeroizing::new(Sha512::digest(&generator_string(password, ci, sid)[..]).into());
    RistrettoPoint::from_uniform_bytes(&hash)
}

/// The padding makes the password fill the first block of the hash alone, so that its length does not show in the time it takes.
fn generator_string(password: &[u8], ci: &[u8], sid: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(Vec::with_capacity(2 * BLOCK_BYTES + password.len()));
    append(&mut out, DSI);
    append(&mut out, password);
    let padding = [0; BLOCK_BYTES];
    let left = (BLOCK_BYTES - 1).saturating_sub(out.len());
    append(&mut out, &padding[..left]);
    append(&mut out, ci);
    append(&mut out, sid);
    out
}

/// The bytes behind their length (LEB128), as the draft's `prepend_len`.
pub fn append(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut len = bytes.len();
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::hex;
    use crate::rng::Random;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        assert_eq!(hex.len(), 2 * N);
        std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
    }

    fn share(number: &str, generator: RistrettoPoint) -> Share {
        let number = Option::from(Scalar::from_canonical_bytes(bytes(number))).unwrap();
        Share::of(number, &mut { generator })
    }

    /// Appendix B.3 of the draft.
    #[test]
    fn the_vectors_of_the_draft() {
        let ci = b"\nAinitiator\nBresponder";
        let sid: [u8; 16] = bytes("7e4b4791d6a8ef019b936c79fb7f2c57");
        let string = generator_string(b"Password", ci, &sid);
        assert_eq!(string.len(), 168);
        let generator = generator(b"Password", ci, &sid);
        assert_eq!(
            hex(generator.compress().as_bytes()),
            "5e25411ca1ad7c9debfd0b33ad987a95cefef2d3f15dcc8bd26415a5dfe2e15a"
        );
        let a = share(
            "da3d23700a9e5699258aef94dc060dfda5ebb61f02a5ea77fad53f4ff0976d08",
            generator,
        );
        assert_eq!(
            hex(a.public()),
            "383a85dd236978f17f8c8545b50dabc52a39fcdab2cf8bc531ce040ff77ca82d"
        );
        let b = share(
            "d2316b454718c35362d83d69df6320f38578ed5984651435e2949762d900b80d",
            generator,
        );
        assert_eq!(
            hex(b.public()),
            "a6206309c0e8e5f579295e35997ac4300ab3fecec3c17f7b604f3e698fa1383c"
        );
        let expected = "e91ccb2c0f5e0d0993a33956e3be59754f3f2b07db57631f5394452ea2e7b435\
                        4674eb1f5686c078462bf83bec72e8743df440108e638f3526d9b90e85be096f";
        let key = a.agree(Side::Initiator, &sid, b.public(), b"ADa", b"ADb");
        assert_eq!(hex(&key.unwrap()[..]), expected);
        let key = b.agree(Side::Responder, &sid, a.public(), b"ADa", b"ADb");
        assert_eq!(hex(&key.unwrap()[..]), expected);
    }

    /// The same appendix: multiplication, and points that must end the exchange.
    #[test]
    fn invalid_points_are_refused() {
        let number = "7cd0e075fa7955ba52c02759a6c90dbbfc10e6d40aea8d283e407d88cf538a05";
        let valid: [u8; 32] =
            bytes("2c3c6b8c4f3800e7aef6864025b4ed79bd599117e427c41bd47d93d654b4a51c");
        let point = CompressedRistretto(valid).decompress().unwrap();
        let share = share(number, point);
        assert_eq!(
            hex(share.public()),
            "7c13645fe790a468f62c39beb7388e541d8405d1ade69d1778c5fe3e7f6b600e"
        );
        let agree = |theirs| share.agree(Side::Initiator, b"", &theirs, b"", b"");
        assert!(agree(valid).is_some());
        let off_the_curve = "2b3c6b8c4f3800e7aef6864025b4ed79bd599117e427c41bd47d93d654b4a51c";
        assert!(agree(bytes(off_the_curve)).is_none());
        assert!(agree([0; 32]).is_none());
        assert!(agree([0xff; 32]).is_none());
    }

    #[test]
    fn only_the_same_password_session_and_data_give_the_same_key() {
        let mut random = Random::new([1; 32]);
        let mut exchange = |a: &str, b: &str, sid: &[u8], ad: &[u8]| {
            let ours = Share::new(&random.bytes(), a.as_bytes(), b"ci", b"sid");
            let theirs = Share::new(&random.bytes(), b.as_bytes(), b"ci", sid);
            let here = ours.agree(Side::Initiator, b"sid", theirs.public(), b"", b"ad");
            let there = theirs.agree(Side::Responder, sid, ours.public(), b"", ad);
            here.unwrap() == there.unwrap()
        };
        assert!(exchange("sesame", "sesame", b"sid", b"ad"));
        assert!(!exchange("sesame", "Sesame", b"sid", b"ad"));
        assert!(!exchange("sesame", "sesame", b"another", b"ad"));
        assert!(!exchange("sesame", "sesame", b"sid", b"other"));
        let long = "a password much longer than one block of the hash ".repeat(6);
        assert!(exchange(&long, &long, b"sid", b"ad"));
        assert!(!exchange(&long, &long[1..], b"sid", b"ad"));
    }
}
