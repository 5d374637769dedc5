//! Datagrams written by hand, as a hostile client could: the handshake by `snow`, then authentic packets with anything inside. Only
//! what WIRE.md says is used, nothing of the crate.

use blake2::Blake2sMac;
use blake2::digest::consts::U32;
use blake2::digest::{FixedOutput, Update};

/// Bytes of a Connect before its body.
pub const HEADER: usize = 67;

/// Writes what a client would, with whatever content.
pub struct Forger {
    keys: [u64; 4],
    connection: u16,
    /// Number of the next packet.
    pub next: u64,
}

/// The exchange as `snow` does it, with a static key of the forger's own.
pub fn snow_initiator(prologue: &[u8], server: &[u8; 32]) -> snow::HandshakeState {
    let params = "Noise_IK_25519_ChaChaPoly_BLAKE2s".parse();
    snow::Builder::new(params.expect("a pattern"))
        .prologue(prologue)
        .and_then(|builder| builder.local_private_key(&[77; 32]))
        .and_then(|builder| builder.remote_public_key(server))
        .and_then(snow::Builder::build_initiator)
        .expect("all keys are there")
}

/// A Connect with this head around a Noise message.
pub fn connect_around(header: &[u8], message: &[u8]) -> Vec<u8> {
    let mut datagram = header[..HEADER].to_vec();
    datagram.extend_from_slice(message);
    datagram.resize(datagram.len().max(188) + 4, 0);
    close_handshake(&mut datagram);
    datagram
}

/// `mac` of WIRE.md.
pub fn mac(key: &[u8], purpose: &[u8; 8], parts: &[&[u8]]) -> [u8; 32] {
    let mac = Blake2sMac::<U32>::new_with_salt_and_personal(key, &[], purpose).expect("lengths");
    let mac = parts.iter().fold(mac, |mac, part| mac.chain(part));
    mac.finalize_fixed().into()
}

/// A handshake in plain mode that takes the place of a client's own.
pub struct Exchange {
    nonce: Vec<u8>,
    state: snow::HandshakeState,
}

impl Exchange {
    /// Begins it with the head of a client's Connect, which has a valid cookie and the length of a Noise message around an empty payload.
    /// Returns the Connect to send instead.
    pub fn begin(connect: &[u8], server: &[u8; 32]) -> (Self, Vec<u8>) {
        let mut state = snow_initiator(&connect[..HEADER], server);
        let mut message = [0; 200];
        let len = state.write_message(&[0; 4], &mut message).expect("room");
        let nonce = connect[..14].to_vec();
        (
            Self { nonce, state },
            connect_around(connect, &message[..len]),
        )
    }

    /// Takes the server's Accept. Returns the Finish to send.
    pub fn finish(mut self, accept: &[u8]) -> (Forger, Vec<u8>) {
        assert_eq!(accept[0], 0x04, "an Accept");
        let mut payload = [0; 200];
        let body = &accept[16..accept.len() - 4];
        let read = self.state.read_message(body, &mut payload);
        read.expect("the server's answer is authentic");
        let (up, _) = self.state.dangerously_get_raw_split();
        let bound = [&[0; 32][..], self.state.get_handshake_hash()];
        let secret = mac(&up, b"SStpplai", &bound);
        let mut finish = self.nonce;
        finish[0] = 0x06;
        finish.extend_from_slice(&payload[..2]);
        finish.extend_from_slice(&mac(&up, b"SStpconC", &bound)[..16]);
        finish.extend_from_slice(&[0; 4]);
        close_handshake(&mut finish);
        let forger = Forger {
            keys: keys(u64::from_le_bytes(std::array::from_fn(|i| secret[i]))),
            connection: u16::from_le_bytes([payload[0], payload[1]]),
            next: 0,
        };
        (forger, finish)
    }
}

impl Forger {
    /// The next packet, with this content.
    pub fn packet(&mut self, body: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x80];
        packet.extend_from_slice(&self.connection.to_le_bytes());
        packet.extend_from_slice(&(self.next as u16).to_le_bytes());
        packet.extend_from_slice(body);
        let tag = checksum(&self.keys, self.next, &packet);
        packet.extend_from_slice(&tag.to_le_bytes());
        self.next += 1;
        packet
    }
}

/// Makes the checksum at the end of a handshake datagram fit.
pub fn close_handshake(datagram: &mut [u8]) {
    if let Some(end) = datagram.len().checked_sub(4) {
        let tag = checksum(&keys(0x5353_7470), 0, &datagram[..end]);
        datagram[end..].copy_from_slice(&tag.to_le_bytes());
    }
}

/// Outputs 1 to 4 of SplitMix64: the keys from client to server.
fn keys(secret: u64) -> [u64; 4] {
    std::array::from_fn(|i| {
        let mut z = secret.wrapping_add(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(i as u64 + 1));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// The checksum as WIRE.md describes it, without regard to speed.
fn checksum(keys: &[u64; 4], number: u64, content: &[u8]) -> u32 {
    let mix = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product >> 64) as u64 ^ product as u64
    };
    let halves = |block: &[u8]| {
        let mut padded = [0; 16];
        padded[..block.len()].copy_from_slice(block);
        let both = u128::from_le_bytes(padded);
        (both as u64, (both >> 64) as u64)
    };
    let mut hash = mix(number ^ keys[0], content.len() as u64 ^ keys[1]);
    let inner = content.len().saturating_sub(1) / 16;
    for block in content.chunks(16).take(inner) {
        let (lo, hi) = halves(block);
        hash = mix(lo ^ keys[2], hi ^ hash);
    }
    let (lo, hi) = halves(&content[content.len().saturating_sub(16)..]);
    hash = mix(lo ^ keys[3], hi ^ hash);
    (hash ^ (hash >> 32)) as u32
}
