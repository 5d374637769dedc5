//! What is derived from the exchange: the keys of a connection, and the proofs that both ends hold them.

use std::fmt;

use zeroize::Zeroizing;

use super::Protection;
use super::payload::PROOF_BYTES;
use crate::cpace::{SHARE_BYTES, SessionKey, Share, Side, append};
use crate::crypto::{ConnectionEnd, PacketCrypto, mac};
use crate::key::{Password, PublicKey};
use crate::noise::{Secret, Split};

/// Length of the tag of a [`Finish`](super::Finish).
pub const FINISH_TAG_BYTES: usize = 16;

/// One side of the password exchange, which runs inside the two Noise messages: a share in each, and in the second the server's proof.
#[derive(Debug)]
pub struct PasswordExchange {
    share: Share,
    session: [u8; 32],
}

impl PasswordExchange {
    /// A share for the exchange between these two keys that has this prologue. `number` is random and secret.
    pub fn new(
        number: &[u8; 64],
        password: &Password,
        client: &PublicKey,
        server: &PublicKey,
        prologue: &[u8],
    ) -> Self {
        let mut channel = Vec::with_capacity(80);
        append(&mut channel, b"samestep 2");
        append(&mut channel, client.as_bytes());
        append(&mut channel, server.as_bytes());
        let session = mac(&[0; 32], b"SStp-sid", &[prologue]);
        let share = Share::new(number, password.as_bytes(), &channel, &session);
        Self { share, session }
    }

    /// What the other side is sent.
    pub fn share(&self) -> &[u8; SHARE_BYTES] {
        self.share.public()
    }

    /// The key that both sides have if they know the same password; `None` if `theirs` is no share. `hash` is that of Noise message 1.
    pub fn agree(
        &self,
        end: ConnectionEnd,
        theirs: &[u8; SHARE_BYTES],
        hash: &[u8; 32],
    ) -> Option<PasswordKey> {
        let side = match end {
            ConnectionEnd::Client => Side::Initiator,
            ConnectionEnd::Server => Side::Responder,
        };
        let key = self.share.agree(side, &self.session, theirs, &[], hash)?;
        Some(PasswordKey(key))
    }
}

/// What the password exchange yields.
pub struct PasswordKey(SessionKey);

impl PasswordKey {
    /// The server's proof that it knows the password: the first 16 bytes of `mac(first half, "SStpconS", second half ‖ hash)`.
    pub fn proof(&self, hash: &[u8; 32]) -> [u8; PROOF_BYTES] {
        let (first, second) = self.0.split_at(32);
        let key = Zeroizing::new(std::array::from_fn(|i| first[i]));
        let tag = mac(&key, b"SStpconS", &[second, hash]);
        std::array::from_fn(|i| tag[i])
    }
}

/// The keys of a connection: Noise's two keys, bound to the password and to everything both sides said.
pub struct ConnectionKeys {
    /// The client's, then the server's.
    keys: [Secret; 2],
    /// The first half of the password exchange's key, or zeros.
    password: Secret,
    hash: [u8; 32],
}

impl ConnectionKeys {
    /// The keys that follow from the two exchanges.
    pub fn new(split: Split, password: Option<&PasswordKey>) -> Self {
        let mut first_half = Zeroizing::new([0; 32]);
        if let Some(PasswordKey(key)) = password {
            first_half.copy_from_slice(&key[..32]);
        }
        Self {
            keys: split.keys,
            password: first_half,
            hash: split.hash,
        }
    }

    /// `mac(key, purpose, password ‖ hash)` with the key of one end.
    fn derive(&self, end: ConnectionEnd, purpose: &[u8; 8]) -> Secret {
        let key = match end {
            ConnectionEnd::Client => &self.keys[0],
            ConnectionEnd::Server => &self.keys[1],
        };
        Zeroizing::new(mac(key, purpose, &[&self.password[..], &self.hash]))
    }

    /// The tag of the client's Finish.
    pub fn finish(&self) -> [u8; FINISH_TAG_BYTES] {
        let tag = self.derive(ConnectionEnd::Client, b"SStpconC");
        std::array::from_fn(|i| tag[i])
    }

    /// What protects the packets of this end.
    pub fn packet_crypto(&self, end: ConnectionEnd, protection: Protection) -> PacketCrypto {
        match protection {
            Protection::Plain => {
                let secret = self.derive(ConnectionEnd::Client, b"SStpplai");
                let secret = u64::from_le_bytes(std::array::from_fn(|i| secret[i]));
                PacketCrypto::plain(end, secret)
            }
            #[cfg(feature = "crypto")]
            Protection::Encrypted(cipher) => {
                let up = self.derive(ConnectionEnd::Client, b"SStp-c2s");
                let down = self.derive(ConnectionEnd::Server, b"SStp-s2c");
                match end {
                    ConnectionEnd::Client => PacketCrypto::aead(cipher, &up, &down),
                    ConnectionEnd::Server => PacketCrypto::aead(cipher, &down, &up),
                }
            }
            #[cfg(not(feature = "crypto"))]
            Protection::Encrypted(_) => {
                unreachable!("an endpoint built without encryption is plain, and refuses others")
            }
        }
    }
}

impl fmt::Debug for PasswordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordKey").finish_non_exhaustive()
    }
}

impl fmt::Debug for ConnectionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionKeys").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cookie::{COOKIE_BYTES, NO_COOKIE};
    use crate::crypto::Cipher;
    use crate::golden::{assert_vectors, hex};
    use crate::handshake::{
        Accept, AcceptPayload, ClientNonce, ConnectHeader, ConnectPayload, Datagram, Proof,
        game_hash,
    };
    use crate::key::Identity;
    use crate::noise::{Initiator, MESSAGE_1_OVERHEAD_BYTES, Responder};

    const NONCE: ClientNonce = ClientNonce(0x1122_3344_5566_7788);

    /// A whole handshake with fixed keys: the two datagrams, and what each side derives.
    struct Handshake {
        connect: Vec<u8>,
        accept: Vec<u8>,
        client: ConnectionKeys,
        server: ConnectionKeys,
        /// Whether the server's proof is the one the client expects.
        is_proven: bool,
    }

    fn handshake(protection: Protection, passwords: Option<[&str; 2]>) -> Handshake {
        let [client, server] = [[4; 32], [3; 32]].map(Identity::from_secret);
        let [client_key, server_key] = [&client, &server].map(Identity::public_key);
        let header = ConnectHeader {
            nonce: NONCE,
            cookie: passwords.map_or(NO_COOKIE, |_| [7; COOKIE_BYTES]),
            game: game_hash("skirmish"),
            version: 5,
            channels: 0xABCD,
            protection,
            password: passwords.is_some(),
            token: false,
            cid: 0x0102,
            server: server_key.id(),
        };
        let share_bytes = passwords.map_or(0, |_| SHARE_BYTES);
        let prologue = header.encode(MESSAGE_1_OVERHEAD_BYTES + 7 + share_bytes);
        let exchange = |number: u8, password: &str| {
            let (number, password) = ([number; 64], Password::from(password));
            PasswordExchange::new(&number, &password, &client_key, &server_key, &prologue)
        };
        let ours = passwords.map(|[password, _]| exchange(5, password));
        let payload = ConnectPayload {
            share: ours.as_ref().map(|ours| *ours.share()),
            user_data: b"ada",
            token: b"",
        }
        .encode();
        let ephemeral = Zeroizing::new([1; 32]);
        let (initiator, message) =
            Initiator::new(ephemeral, &client, &server_key, &prologue, &payload).unwrap();
        let connect = header.datagram(&message);

        let Ok(Datagram::Connect(read)) = Datagram::decode(&connect) else {
            panic!("the Connect was not understood");
        };
        let (responder, payload) = Responder::new(&server, read.prologue, read.body).unwrap();
        let payload = ConnectPayload::decode(&payload, read.header.password).unwrap();
        assert_eq!(payload.user_data, b"ada");
        let hash = *responder.hash();
        let password_key = passwords.map(|[_, password]| {
            let theirs = exchange(6, password);
            let key = theirs.agree(ConnectionEnd::Server, &payload.share.unwrap(), &hash);
            let key = key.unwrap();
            let proof = Proof {
                share: *theirs.share(),
                tag: key.proof(&hash),
            };
            (key, proof)
        });
        let answer = AcceptPayload {
            cid: 0x0304,
            proof: password_key.as_ref().map(|(_, proof)| *proof),
        };
        let (split, message) = responder
            .finish(Zeroizing::new([2; 32]), &answer.encode())
            .unwrap();
        let server = ConnectionKeys::new(split, password_key.as_ref().map(|(key, _)| key));
        let accept = Accept {
            nonce: NONCE,
            body: &message,
        }
        .encode();

        let Ok(Datagram::Accept(read)) = Datagram::decode(&accept) else {
            panic!("the Accept was not understood");
        };
        let (split, payload) = initiator.finish(read.body).unwrap();
        let payload = AcceptPayload::decode(&payload).unwrap();
        assert_eq!(payload, answer);
        let key = ours.map(|ours| {
            let theirs = &payload.proof.unwrap().share;
            ours.agree(ConnectionEnd::Client, theirs, &hash).unwrap()
        });
        let is_proven = match (&key, &payload.proof) {
            (Some(key), Some(proof)) => key.proof(&hash) == proof.tag,
            _ => true,
        };
        Handshake {
            connect,
            accept,
            client: ConnectionKeys::new(split, key.as_ref()),
            server,
            is_proven,
        }
    }

    impl ConnectionKeys {
        fn all(&self) -> [String; 4] {
            [
                hex(&self.derive(ConnectionEnd::Client, b"SStp-c2s")[..]),
                hex(&self.derive(ConnectionEnd::Server, b"SStp-s2c")[..]),
                hex(&self.finish()),
                hex(&self.derive(ConnectionEnd::Client, b"SStpplai")[..8]),
            ]
        }
    }

    #[test]
    fn golden_handshakes() {
        let encrypted = handshake(Protection::Encrypted(Cipher::Aes256Gcm), None);
        let plain = handshake(Protection::Plain, Some(["open sesame"; 2]));
        for done in [&encrypted, &plain] {
            assert_eq!(done.client.all(), done.server.all());
            assert!(done.is_proven);
            assert!(done.accept.len() <= done.connect.len());
        }
        let [up, down, ..] = encrypted.client.all();
        let [plain_up, _, finish, secret] = plain.client.all();
        assert_ne!(up, plain_up);
        assert_vectors(&[
            ("connect", hex(&encrypted.connect)),
            ("accept", hex(&encrypted.accept)),
            ("client_to_server", up),
            ("server_to_client", down),
            ("connect_plain_password", hex(&plain.connect)),
            ("accept_plain_password", hex(&plain.accept)),
            ("finish_tag", finish),
            ("plain_secret", secret),
        ]);
    }

    #[test]
    fn another_password_shows_in_the_proof_and_in_every_key() {
        let done = handshake(Protection::Plain, Some(["open sesame", "Open sesame"]));
        assert!(!done.is_proven);
        for (client, server) in done.client.all().iter().zip(done.server.all()) {
            assert_ne!(*client, server);
        }
    }
}
