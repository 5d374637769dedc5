//! Who may use the relay: names and passwords that the lobby issues and the relay can check without knowing anybody, good for a time.

use std::fmt;
use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::config::RelayAccess;
use crate::secret::{hmac_sha1, hmac_sha256};

/// The longest name of a user, in bytes.
pub const MAX_USER_BYTES: usize = 64;

/// How long a nonce is good: an allocation's life.
const NONCE_LIFE_S: u64 = 3600;

/// The secret that the lobby and the relay share.
///
/// Names are `EXPIRY:USER`, where `EXPIRY` is in seconds since 1970, and passwords `base64(HMAC-SHA1(secret, name))`: the scheme of
/// *A REST API For Access To TURN Services* (draft-uberti-behave-turn-rest), which coturn knows as `use-auth-secret`.
#[derive(Clone, PartialEq, Eq)]
pub struct RelaySecret(Vec<u8>);

/// Why a secret or a user's name cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RelaySecretError {
    /// The secret is too easily guessed.
    #[error("a relay's secret has at least 16 bytes: put 32 random characters into its file")]
    TooShort,
    /// The user's name is not fit for credentials.
    #[error("a relay's user is named by 1 to {MAX_USER_BYTES} letters, digits, `-` and `_`")]
    User,
}

impl RelaySecret {
    /// A secret of at least 16 bytes; white space around it does not count, so that it can be read from a file.
    pub fn new(secret: &[u8]) -> Result<Self, RelaySecretError> {
        let secret = secret.trim_ascii();
        match secret.len() {
            16.. => Ok(Self(secret.to_vec())),
            _ => Err(RelaySecretError::TooShort),
        }
    }

    /// Lets a user use the relay that listens at `server` until the given time, in seconds since 1970-01-01 UTC.
    pub fn issue(
        &self,
        server: SocketAddr,
        user: &str,
        expires_unix_s: u64,
    ) -> Result<RelayAccess, RelaySecretError> {
        let fit = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
        if user.is_empty() || user.len() > MAX_USER_BYTES || !user.bytes().all(fit) {
            return Err(RelaySecretError::User);
        }
        let username = format!("{expires_unix_s}:{user}");
        Ok(RelayAccess {
            server,
            password: self.password(&username),
            username,
        })
    }

    /// The password of a name.
    pub(super) fn password(&self, username: &str) -> String {
        STANDARD.encode(hmac_sha1(&self.0, &[username.as_bytes()]))
    }

    /// The user in a name, if its time is not over. Whether it is genuine, the password shows.
    pub(super) fn user_of(username: &str, unix_s: u64) -> Option<&str> {
        let (expires, user) = username.split_once(':')?;
        let expires: u64 = expires.parse().ok()?;
        (unix_s < expires && !user.is_empty() && user.len() <= MAX_USER_BYTES).then_some(user)
    }
}

impl fmt::Debug for RelaySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelaySecret").finish_non_exhaustive()
    }
}

/// Nonces that prove nothing but that their holder receives at its address; none is remembered.
pub(super) struct Nonces {
    key: [u8; 32],
}

impl Nonces {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    fn mac(&self, expires: u64, client: SocketAddr) -> String {
        let (expires, client) = (expires.to_be_bytes(), client.to_string());
        let mac = hmac_sha256(&self.key, &[b"nonce", &expires, client.as_bytes()]);
        mac[..12].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(super) fn issue(&self, unix_s: u64, client: SocketAddr) -> String {
        let expires = unix_s + NONCE_LIFE_S;
        format!("{expires:x}-{}", self.mac(expires, client))
    }

    pub(super) fn is_good(&self, nonce: &str, unix_s: u64, client: SocketAddr) -> bool {
        let Some((expires, mac)) = nonce.split_once('-') else {
            return false;
        };
        let Ok(expires) = u64::from_str_radix(expires, 16) else {
            return false;
        };
        // Guessing one is of no use without a password, so the comparison need not take the same time for all.
        (unix_s..=unix_s + NONCE_LIFE_S).contains(&expires) && mac == self.mac(expires, client)
    }
}

impl fmt::Debug for Nonces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nonces").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> RelaySecret {
        RelaySecret::new(b"0123456789abcdef\n").unwrap()
    }

    #[test]
    fn names_and_passwords_are_those_that_coturn_expects() {
        let server = "203.0.113.5:3478".parse().unwrap();
        let access = secret().issue(server, "ada", 2_000_000_000).unwrap();
        // echo -n 2000000000:ada | openssl dgst -sha1 -hmac 0123456789abcdef -binary | base64
        assert_eq!(
            access.to_string(),
            "203.0.113.5:3478 2000000000:ada I5OIV3d8z1K9+MPBor2rAmjXP+4="
        );
        assert_eq!(
            RelaySecret::user_of(&access.username, 1_999_999_999),
            Some("ada")
        );
        assert_eq!(RelaySecret::user_of(&access.username, 2_000_000_000), None);
        for user in ["", "a:b", "a b", &"a".repeat(65)] {
            assert_eq!(secret().issue(server, user, 1), Err(RelaySecretError::User));
        }
        assert_eq!(
            RelaySecret::new(b"   short   "),
            Err(RelaySecretError::TooShort)
        );
    }

    #[test]
    fn a_nonce_is_good_for_its_address_and_its_time() {
        let nonces = Nonces::new([1; 32]);
        let client = "198.51.100.1:7".parse().unwrap();
        let nonce = nonces.issue(1000, client);
        assert!(nonces.is_good(&nonce, 1000, client) && nonces.is_good(&nonce, 4600, client));
        assert!(!nonces.is_good(&nonce, 4601, client));
        assert!(!nonces.is_good(&nonce, 999, client), "from the future");
        assert!(!nonces.is_good(&nonce, 1000, "198.51.100.1:8".parse().unwrap()));
        assert!(!Nonces::new([2; 32]).is_good(&nonce, 1000, client));
        for junk in ["", "-", "zz-0", &nonce[1..]] {
            assert!(!nonces.is_good(junk, 1000, client), "{junk}");
        }
    }
}
