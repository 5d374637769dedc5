//! Secrets and passwords: what of them is kept, and how a guess is checked. None of these types shows its content.

use std::fmt;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use blake2::{Blake2s256, Digest};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use crate::refusal::Refusal;

/// Longest password of a room, in bytes.
pub const MAX_PASSWORD_BYTES: usize = 128;
const CONTEXT: &[u8] = b"samestep lobby rejoin secret\0";

/// What a member proves itself with when it comes back: 32 random bytes that its own program makes, as 43 characters of base64url.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, pattern = "^[A-Za-z0-9_-]{43}$")]
pub struct RejoinSecret(Zeroizing<[u8; 32]>);

impl RejoinSecret {
    /// The secret with these bytes, which must be random.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// What the store keeps of it. It is random, so one fast hash hides it.
    pub(crate) fn hashed(&self) -> SecretHash {
        let hash = Blake2s256::new()
            .chain_update(CONTEXT)
            .chain_update(*self.0);
        SecretHash(URL_SAFE_NO_PAD.encode(hash.finalize()))
    }
}

impl TryFrom<String> for RejoinSecret {
    type Error = Refusal;

    fn try_from(text: String) -> Result<Self, Refusal> {
        let text = Zeroizing::new(text);
        let mut bytes = Zeroizing::new([0; 32]);
        match URL_SAFE_NO_PAD.decode_slice(text.as_bytes(), &mut *bytes) {
            Ok(32) => Ok(Self(bytes)),
            _ => Err(Refusal::BadField),
        }
    }
}

impl From<RejoinSecret> for String {
    fn from(secret: RejoinSecret) -> Self {
        URL_SAFE_NO_PAD.encode(*secret.0)
    }
}

impl fmt::Debug for RejoinSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RejoinSecret")
    }
}

/// The hash of a rejoin secret. Comparing two tells nothing about the secrets, whatever time it takes.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SecretHash(String);

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash")
    }
}

/// A room's password as somebody gave it: 1 to 128 bytes. It is erased when it has been checked.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(from = "String", into = "String")]
#[schema(value_type = String, pattern = "^.{1,128}$")]
pub struct RoomPassword(Zeroizing<String>);

impl RoomPassword {
    /// The password with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// Whether it is neither empty nor too long.
    pub(crate) fn is_sound(&self) -> bool {
        (1..=MAX_PASSWORD_BYTES).contains(&self.0.len())
    }
}

impl From<String> for RoomPassword {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<RoomPassword> for String {
    fn from(password: RoomPassword) -> Self {
        password.0.to_string()
    }
}

impl fmt::Debug for RoomPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RoomPassword")
    }
}

/// What checking one password costs: whoever has stolen the store pays it for each guess, the lobby for each join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PasswordCost {
    /// Memory in KiB. Default 19,456, the least that OWASP recommends for Argon2id.
    pub memory_kib: u32,
    /// Passes over it. Default 2.
    pub passes: u32,
}

impl Default for PasswordCost {
    fn default() -> Self {
        Self {
            memory_kib: 19 * 1024,
            passes: 2,
        }
    }
}

impl PasswordCost {
    /// The least that Argon2 can do, for tests.
    pub const LEAST: Self = Self {
        memory_kib: 8,
        passes: 1,
    };
}

/// Salt, cost and Argon2id hash of a room's password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasswordHash {
    cost: PasswordCost,
    salt: String,
    hash: String,
}

impl PasswordHash {
    /// The hash of a password that is to be kept.
    ///
    /// # Errors
    /// [`Refusal::Busy`] if the cost is more than this machine has memory for.
    pub fn make(
        password: &RoomPassword,
        salt: [u8; 16],
        cost: PasswordCost,
    ) -> Result<Self, Refusal> {
        let params = Params::new(cost.memory_kib, cost.passes, 1, Some(32));
        let argon = Argon2::new(
            Algorithm::Argon2id,
            Version::V0x13,
            params.or(Err(Refusal::Busy))?,
        );
        let mut hash = [0; 32];
        let hashed = argon.hash_password_into(password.0.as_bytes(), &salt, &mut hash);
        hashed.or(Err(Refusal::Busy))?;
        Ok(Self {
            cost,
            salt: URL_SAFE_NO_PAD.encode(salt),
            hash: URL_SAFE_NO_PAD.encode(hash),
        })
    }

    /// Whether this is the hash of `password`.
    pub fn is_of(&self, password: &RoomPassword) -> bool {
        let mut salt = [0; 16];
        let read = URL_SAFE_NO_PAD.decode_slice(&self.salt, &mut salt);
        read == Ok(16) && Self::make(password, salt, self.cost).as_ref() == Ok(self)
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_known_by_its_hash_alone() {
        let password = RoomPassword::new("open sesame");
        let hash = PasswordHash::make(&password, [7; 16], PasswordCost::LEAST).unwrap();
        assert!(hash.is_of(&password));
        assert!(!hash.is_of(&RoomPassword::new("open sesam")));
        let other = PasswordHash::make(&password, [8; 16], PasswordCost::LEAST).unwrap();
        assert_ne!(hash, other, "the salt counts");
        let kept = serde_json::to_string(&hash).unwrap();
        assert!(!kept.contains("sesame"));
        assert_eq!(serde_json::from_str::<PasswordHash>(&kept).unwrap(), hash);
        assert_eq!(
            format!("{password:?} {hash:?}"),
            "RoomPassword PasswordHash"
        );
    }

    #[test]
    fn a_secret_is_32_bytes_and_its_hash_is_kept() {
        let secret = RejoinSecret::from_bytes([3; 32]);
        let text = String::from(secret.clone());
        assert_eq!(RejoinSecret::try_from(text.clone()), Ok(secret.clone()));
        let kept = serde_json::to_string(&secret.hashed()).unwrap();
        assert!(!kept.contains(&text) && !format!("{secret:?}").contains(&text));
        for bad in ["", "AAAA", &text[1..], &(text.clone() + "A")] {
            assert_eq!(
                RejoinSecret::try_from(bad.to_owned()),
                Err(Refusal::BadField)
            );
        }
    }
}
