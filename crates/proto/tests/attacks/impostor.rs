//! A server of the attacker's own, by `snow` and the words of WIRE.md alone: what somebody can do who answers in a server's place.

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use samestep_proto::{Identity, PublicKey};
use sha2::{Digest, Sha512};

use crate::forge::{HEADER, close_handshake, mac};

const SECRET: [u8; 32] = [66; 32];

/// The attacker's key.
pub fn key() -> PublicKey {
    Identity::from_secret(SECRET).public_key()
}

/// A Retry that shows the attacker's key.
pub fn retry(hello: &[u8]) -> Vec<u8> {
    let mut retry = hello[..14].to_vec();
    retry[0] = 0x02;
    retry.extend_from_slice(&[9; 20]);
    retry.extend_from_slice(key().as_bytes());
    retry.extend_from_slice(&[0b11, 0, 0, 0, 0]);
    close_handshake(&mut retry);
    retry
}

/// A client's Connect, read by the holder of a static key.
pub struct Read {
    pub client: [u8; 32],
    pub payload: Vec<u8>,
    state: snow::HandshakeState,
    prologue: Vec<u8>,
    head: Vec<u8>,
    server: [u8; 32],
}

pub fn read_connect(connect: &[u8], secret: &[u8; 32]) -> Read {
    let prologue = connect[..HEADER].to_vec();
    let len = usize::from(u16::from_le_bytes([connect[65], connect[66]]));
    let mut state = snow::Builder::new("Noise_IK_25519_ChaChaPoly_BLAKE2s".parse().unwrap())
        .prologue(&prologue)
        .and_then(|builder| builder.local_private_key(secret))
        .and_then(snow::Builder::build_responder)
        .unwrap();
    let mut payload = vec![0; 1200];
    let read = state.read_message(&connect[HEADER..HEADER + len], &mut payload);
    payload.truncate(read.expect("meant for this key"));
    Read {
        client: state.get_remote_static().unwrap().try_into().unwrap(),
        payload,
        state,
        prologue,
        head: connect[..14].to_vec(),
        server: *Identity::from_secret(*secret).public_key().as_bytes(),
    }
}

/// An Accept that is right if the guess is.
pub fn accept(connect: &[u8], guess: &str) -> Vec<u8> {
    let mut read = read_connect(connect, &SECRET);
    let session = mac(&[0; 32], b"SStp-sid", &[&read.prologue]);
    let number = Scalar::from_bytes_mod_order([5; 32]);
    let ours = (number * generator(guess, &read.client, &read.server, &session)).compress();
    let theirs: [u8; 32] = read.payload[..32].try_into().unwrap();
    let shared = number * CompressedRistretto(theirs).decompress().unwrap();
    let hash: [u8; 32] = read.state.get_handshake_hash().try_into().unwrap();
    let mut input = lv(b"CPaceRistretto255_ISK");
    for part in [&session, shared.compress().as_bytes(), &theirs] {
        input.extend(lv(part));
    }
    input.extend(lv(b""));
    input.extend(lv(ours.as_bytes()));
    input.extend(lv(&hash));
    let isk = Sha512::digest(&input);
    let proof = mac(&isk[..32], b"SStpconS", &[&isk[32..], &hash]);
    let payload = [&[1, 0], &ours.as_bytes()[..], &proof[..16]].concat();
    let mut message = vec![0; 200];
    let len = read.state.write_message(&payload, &mut message).unwrap();
    let mut accept = read.head;
    accept[0] = 0x04;
    accept.extend_from_slice(&(len as u16).to_le_bytes());
    accept.extend_from_slice(&message[..len]);
    accept.extend_from_slice(&[0; 4]);
    close_handshake(&mut accept);
    accept
}

/// What a password stands for in one exchange.
pub fn generator(guess: &str, client: &[u8], server: &[u8], session: &[u8]) -> RistrettoPoint {
    let channel = [lv(b"samestep 2"), lv(client), lv(server)].concat();
    let mut string = lv(b"CPaceRistretto255");
    string.extend(lv(guess.as_bytes()));
    string.extend(lv(&vec![0; 127 - string.len()]));
    string.extend(lv(&channel));
    string.extend(lv(session));
    RistrettoPoint::from_uniform_bytes(&Sha512::digest(&string).into())
}

fn lv(bytes: &[u8]) -> Vec<u8> {
    assert!(bytes.len() < 128);
    [&[bytes.len() as u8], bytes].concat()
}
