//! The encrypted payloads of Connect and Accept.

use super::{DecodeError, Fields, MAX_TOKEN_BYTES, MAX_USER_DATA_BYTES, length};
use crate::cpace::SHARE_BYTES;

/// Length of the server's proof that it knows the password.
pub const PROOF_BYTES: usize = 16;

/// What a client says about itself inside a Connect.
///
/// | bytes | field |
/// |---|---|
/// | 32 | the client's CPace share; only if the header says that a password is used |
/// | 2 | length of the user data, u16, at most 256 |
/// | … | user data |
/// | 2 | length of the token, u16, at most 576; zero means none |
/// | … | token |
///
/// Nothing follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ConnectPayload<'a> {
    /// The client's share of the password exchange.
    pub share: Option<[u8; SHARE_BYTES]>,
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
        let mut out = Vec::with_capacity(36 + self.user_data.len() + self.token.len());
        out.extend(self.share.iter().flatten());
        for part in [self.user_data, self.token] {
            out.extend_from_slice(&length(part.len()));
            out.extend_from_slice(part);
        }
        out
    }

    /// Takes the bytes apart; `password` as the header says.
    pub fn decode(bytes: &'a [u8], password: bool) -> Result<Self, DecodeError> {
        let mut fields = Fields { rest: bytes };
        let share = password.then(|| fields.array()).transpose()?;
        let user_data = fields.prefixed(MAX_USER_DATA_BYTES)?;
        let token = fields.prefixed(MAX_TOKEN_BYTES)?;
        if !fields.rest.is_empty() {
            return Err(DecodeError::Malformed);
        }
        Ok(Self {
            share,
            user_data,
            token,
        })
    }
}

/// The server's half of the password exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Its CPace share.
    pub share: [u8; SHARE_BYTES],
    /// That it knows the password.
    pub tag: [u8; PROOF_BYTES],
}

/// What a server says inside an Accept.
///
/// | bytes | field |
/// |---|---|
/// | 0..2 | cid, u16: the connection id the server wants on packets sent to it |
/// | 2..34 | the server's CPace share; only with a password |
/// | 34..50 | its proof; only with a password |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptPayload {
    /// The connection id for packets to the server.
    pub cid: u16,
    /// With a password: the server's share, and the proof that it knows it.
    pub proof: Option<Proof>,
}

impl AcceptPayload {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.cid.to_le_bytes().to_vec();
        if let Some(proof) = &self.proof {
            out.extend_from_slice(&proof.share);
            out.extend_from_slice(&proof.tag);
        }
        out
    }

    /// Takes the bytes apart.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut fields = Fields { rest: bytes };
        let cid = fields.u16()?;
        let proof = match fields.rest.len() {
            0 => None,
            _ => Some(Proof {
                share: fields.array()?,
                tag: fields.array()?,
            }),
        };
        if !fields.rest.is_empty() {
            return Err(DecodeError::Malformed);
        }
        Ok(Self { cid, proof })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;

    #[test]
    fn payloads_round_trip() {
        for (user, token) in [
            (0, 0),
            (1, 0),
            (0, 1),
            (MAX_USER_DATA_BYTES, MAX_TOKEN_BYTES),
        ] {
            for share in [None, Some([3; SHARE_BYTES])] {
                let payload = ConnectPayload {
                    share,
                    user_data: &vec![1; user],
                    token: &vec![2; token],
                };
                let bytes = payload.encode();
                assert_eq!(ConnectPayload::decode(&bytes, share.is_some()), Ok(payload));
            }
        }
        let proof = Proof {
            share: [4; SHARE_BYTES],
            tag: [5; PROOF_BYTES],
        };
        for proof in [None, Some(proof)] {
            let payload = AcceptPayload { cid: 77, proof };
            assert_eq!(AcceptPayload::decode(&payload.encode()), Ok(payload));
        }
    }

    #[test]
    fn payloads_refuse_hostile_bytes() {
        let over_limit = [&[1, 1][..], &[0; 257], &[0, 0]].concat();
        assert!(ConnectPayload::decode(&over_limit, false).is_err());
        assert!(
            ConnectPayload::decode(&[0, 0, 0, 0, 0], false).is_err(),
            "trailing"
        );
        let mut random = Random::new([1; 32]);
        for round in 0..50_000 {
            let mut bytes = vec![0; (random.next_u32() % 60) as usize];
            random.fill(&mut bytes);
            if random.next_u32().is_multiple_of(2) {
                bytes.iter_mut().for_each(|byte| *byte %= 8);
            }
            if let Ok(payload) = ConnectPayload::decode(&bytes, round % 2 == 0) {
                assert_eq!(payload.encode(), bytes);
            }
            if let Ok(payload) = AcceptPayload::decode(&bytes) {
                assert_eq!(payload.encode(), bytes);
            }
        }
    }
}
