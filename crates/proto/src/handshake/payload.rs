//! The encrypted payloads of Connect and Accept.

use super::{ClientNonce, DecodeError, Fields, MAX_TOKEN_BYTES, MAX_USER_DATA_BYTES, length};
use crate::cookie::Cookie;
use crate::crypto::{mac, same};

const PROOF_BYTES: usize = 16;

/// What a client says about itself inside a Connect.
///
/// | bytes | field |
/// |---|---|
/// | 0..2 | length of the user data, u16, at most 256 |
/// | … | user data |
/// | 2 | length of the token, u16, at most 768; zero means none |
/// | … | token |
///
/// Nothing follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ConnectPayload<'a> {
    /// For the game to read before it lets the player in.
    pub user_data: &'a [u8],
    /// A connect token, or empty.
    pub token: &'a [u8],
}

impl<'a> ConnectPayload<'a> {
    /// The bytes.
    ///
    /// # Panics
    /// If a part exceeds its limit; the endpoint checks them when asked to connect.
    pub fn encode(&self) -> Vec<u8> {
        assert!(
            self.user_data.len() <= MAX_USER_DATA_BYTES,
            "user data too long"
        );
        assert!(self.token.len() <= MAX_TOKEN_BYTES, "token too long");
        let mut out = Vec::with_capacity(4 + self.user_data.len() + self.token.len());
        for part in [self.user_data, self.token] {
            out.extend_from_slice(&length(part.len()));
            out.extend_from_slice(part);
        }
        out
    }

    /// Takes the bytes apart.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut fields = Fields { rest: bytes };
        let user_data = fields.prefixed(MAX_USER_DATA_BYTES)?;
        let token = fields.prefixed(MAX_TOKEN_BYTES)?;
        if !fields.rest.is_empty() {
            return Err(DecodeError::Malformed);
        }
        Ok(Self { user_data, token })
    }
}

/// The body of a Connect in plain mode: the proof (16 bytes), then the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainConnect<'a> {
    /// [`password_proof`], or zeros.
    pub proof: [u8; PROOF_BYTES],
    /// The rest.
    pub payload: ConnectPayload<'a>,
}

impl<'a> PlainConnect<'a> {
    /// The bytes.
    ///
    /// # Panics
    /// As [`ConnectPayload::encode`].
    pub fn encode(&self) -> Vec<u8> {
        [&self.proof[..], &self.payload.encode()].concat()
    }

    /// Takes the bytes apart.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut fields = Fields { rest: bytes };
        Ok(Self {
            proof: fields.array()?,
            payload: ConnectPayload::decode(fields.rest)?,
        })
    }

    /// Whether the client knew the password, without its having been sent.
    pub fn knows_password(&self, key: &[u8; 32], cookie: &Cookie, nonce: ClientNonce) -> bool {
        same(&self.proof, &password_proof(key, cookie, nonce))
    }
}

/// What a server says inside an Accept.
///
/// | bytes | field |
/// |---|---|
/// | 0..2 | cid, u16: the connection id the server wants on packets sent to it |
/// | 2..10 | session secret, u64; plain mode only |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptPayload {
    /// The connection id for packets to the server.
    pub cid: u16,
    /// In plain mode, the secret of the packets' checksum.
    pub secret: Option<u64>,
}

impl AcceptPayload {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.cid.to_le_bytes().to_vec();
        if let Some(secret) = self.secret {
            out.extend_from_slice(&secret.to_le_bytes());
        }
        out
    }

    /// Takes the bytes apart.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut fields = Fields { rest: bytes };
        let cid = fields.u16()?;
        let secret = match fields.rest.len() {
            0 => None,
            8 => Some(fields.u64()?),
            _ => return Err(DecodeError::Malformed),
        };
        Ok(Self { cid, secret })
    }
}

/// The key a password stands for: Noise's pre-shared key, or the key of [`password_proof`].
/// Without a password it is zero.
///
/// `mac(0, "SStppass", password as UTF-8)`. It is not stretched: a password keeps uninvited players
/// out; whoever may try to connect can also test guesses against a recorded answer at leisure.
pub fn password_key(password: Option<&str>) -> [u8; 32] {
    password.map_or([0; 32], |password| {
        mac(&[0; 32], b"SStppass", &[password.as_bytes()])
    })
}

/// In plain mode, shows knowledge of the password for this attempt only: the first 16 bytes of
/// `mac(key, "SStpprov", cookie ‖ nonce)`.
pub fn password_proof(key: &[u8; 32], cookie: &Cookie, nonce: ClientNonce) -> [u8; PROOF_BYTES] {
    let tag = mac(key, b"SStpprov", &[cookie, &nonce.0.to_le_bytes()]);
    std::array::from_fn(|i| tag[i])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cookie::COOKIE_BYTES;
    use crate::rng::Random;

    const NONCE: ClientNonce = ClientNonce(0x1122_3344_5566_7788);

    #[test]
    fn payloads_round_trip() {
        for (user, token) in [
            (0, 0),
            (1, 0),
            (0, 1),
            (MAX_USER_DATA_BYTES, MAX_TOKEN_BYTES),
        ] {
            let payload = ConnectPayload {
                user_data: &vec![1; user],
                token: &vec![2; token],
            };
            assert_eq!(ConnectPayload::decode(&payload.encode()), Ok(payload));
            let plain = PlainConnect {
                proof: [5; PROOF_BYTES],
                payload,
            };
            assert_eq!(PlainConnect::decode(&plain.encode()), Ok(plain));
        }
        for secret in [None, Some(u64::MAX - 1)] {
            let payload = AcceptPayload { cid: 77, secret };
            assert_eq!(AcceptPayload::decode(&payload.encode()), Ok(payload));
        }
    }

    #[test]
    fn payloads_refuse_hostile_bytes() {
        let over_limit = [&[1, 1][..], &[0; 257], &[0, 0]].concat();
        assert!(ConnectPayload::decode(&over_limit).is_err());
        assert!(
            ConnectPayload::decode(&[0, 0, 0, 0, 0]).is_err(),
            "trailing"
        );
        let mut random = Random::new([1; 32]);
        for _ in 0..50_000 {
            let mut bytes = vec![0; (random.next_u32() % 40) as usize];
            random.fill(&mut bytes);
            if random.next_u32().is_multiple_of(2) {
                bytes.iter_mut().for_each(|byte| *byte %= 8);
            }
            if let Ok(payload) = ConnectPayload::decode(&bytes) {
                assert_eq!(payload.encode(), bytes);
            }
            if let Ok(payload) = AcceptPayload::decode(&bytes) {
                assert_eq!(payload.encode(), bytes);
            }
            let _ = PlainConnect::decode(&bytes);
        }
    }

    #[test]
    fn a_password_is_proven_for_one_attempt_only() {
        let key = password_key(Some("open sesame"));
        let cookie = [1; COOKIE_BYTES];
        let plain = PlainConnect {
            proof: password_proof(&key, &cookie, NONCE),
            payload: ConnectPayload::default(),
        };
        assert!(plain.knows_password(&key, &cookie, NONCE));
        assert!(!plain.knows_password(&password_key(Some("open")), &cookie, NONCE));
        assert!(!plain.knows_password(&password_key(None), &cookie, NONCE));
        assert!(!plain.knows_password(&key, &[2; COOKIE_BYTES], NONCE));
        assert!(!plain.knows_password(&key, &cookie, ClientNonce(1)));
        assert_ne!(password_key(Some("")), password_key(None));
    }
}
