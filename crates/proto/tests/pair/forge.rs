//! Packets written by hand, as a hostile client on a plain connection could: authentic, and anything inside.

/// Writes what a client would, with whatever content.
pub struct Forger {
    keys: [u64; 4],
    connection: u16,
    /// Number of the next packet.
    pub next: u64,
}

impl Forger {
    /// Takes the place of a client, knowing what the server's Accept told it (kind 0x04; in plain mode its body is the
    /// connection's number and the secret).
    pub fn from_accept(accept: &[u8]) -> Self {
        assert_eq!(accept[0], 0x04, "an Accept");
        let body = &accept[16..26];
        let secret = u64::from_le_bytes(body[2..].try_into().expect("8 bytes"));
        Self {
            keys: keys(secret),
            connection: u16::from_le_bytes([body[0], body[1]]),
            next: 0,
        }
    }

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
