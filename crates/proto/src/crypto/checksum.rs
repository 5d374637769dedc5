//! The checksum of plain packets and of handshake datagrams.

use zeroize::Zeroize;

/// A 32-bit checksum under a 64-bit secret: 16 bytes per 64×64-bit multiplication.
///
/// `mix(a, b)` is the 128-bit product of `a` and `b`, its upper half xor its lower half. With `k`
/// the four keys of the direction, `n` the number and `len` the length of the content:
///
/// ```text
/// h = mix(n ^ k[0], len ^ k[1])
/// for each block of 16 bytes that has at least one byte after it: h = mix(lo ^ k[2], hi ^ h)
/// last: h = mix(lo ^ k[3], hi ^ h)
/// checksum = low 32 bits of (h ^ (h >> 32))
/// ```
///
/// `lo` and `hi` are the block's halves (u64, little endian). The last block is the last 16 bytes
/// of the content (it may overlap the one before), or, for content shorter than 16 bytes, the
/// content followed by zeros. The keys are outputs `4·direction ..` of SplitMix64 seeded with the
/// secret; direction 0 is client to server, 1 is server to client.
#[derive(Clone, Copy)]
pub struct Checksum {
    keys: [u64; 4],
}

impl Checksum {
    /// The checksum of one direction under `secret`.
    pub const fn new(secret: u64, direction: u64) -> Self {
        let first = 4 * direction + 1;
        Self {
            keys: [
                split_mix(secret, first),
                split_mix(secret, first + 1),
                split_mix(secret, first + 2),
                split_mix(secret, first + 3),
            ],
        }
    }

    /// Forgets the keys.
    pub fn erase(&mut self) {
        self.keys.zeroize();
    }

    /// The checksum of `content` in the packet `number`.
    #[inline]
    pub fn of(&self, number: u64, content: &[u8]) -> u32 {
        let [k0, k1, k2, k3] = self.keys;
        let mut hash = mix(number ^ k0, content.len() as u64 ^ k1);
        let last = match content.last_chunk::<16>() {
            Some(last) => {
                let mut rest = content;
                while rest.len() > 16 {
                    let Some((block, after)) = rest.split_first_chunk::<16>() else {
                        break;
                    };
                    let (lo, hi) = halves(block);
                    hash = mix(lo ^ k2, hi ^ hash);
                    rest = after;
                }
                *last
            }
            None => {
                let mut padded = [0; 16];
                padded[..content.len()].copy_from_slice(content);
                padded
            }
        };
        let (lo, hi) = halves(&last);
        hash = mix(lo ^ k3, hi ^ hash);
        (hash ^ (hash >> 32)) as u32
    }
}

#[inline]
fn halves(block: &[u8; 16]) -> (u64, u64) {
    let both = u128::from_le_bytes(*block);
    (both as u64, (both >> 64) as u64)
}

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Output `index` (from 1) of SplitMix64.
const fn split_mix(seed: u64, index: u64) -> u64 {
    let z = seed.wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Random;

    /// Changing two or three bytes at random goes unnoticed about once in 2³².
    #[test]
    fn checksum_spreads_small_changes() {
        let mut random = Random::new([6; 32]);
        let checksum = Checksum::new(random.next_u64(), 0);
        let mut ones = [0u32; 32];
        const ROUNDS: u32 = 50_000;
        for _ in 0..ROUNDS {
            let mut bytes = vec![0; 1 + (random.next_u32() % 80) as usize];
            random.fill(&mut bytes);
            let before = checksum.of(1, &bytes);
            for _ in 0..1 + random.next_u32() % 3 {
                let at = random.next_u32() as usize % bytes.len();
                bytes[at] ^= 1 << (random.next_u32() % 8);
            }
            let change = before ^ checksum.of(1, &bytes);
            for (bit, count) in ones.iter_mut().enumerate() {
                *count += (change >> bit) & 1;
            }
        }
        for count in ones {
            // Half, less a few cases in which two flips cancelled each other.
            let share = f64::from(count) / f64::from(ROUNDS);
            assert!((0.48..0.52).contains(&share), "{share}");
        }
    }

    #[test]
    fn checksum_matches_the_written_algorithm() {
        // The text of WIRE.md transcribed, without any shortcut.
        fn slow(secret: u64, direction: u64, number: u64, content: &[u8]) -> u32 {
            let mut state = secret;
            let mut outputs = Vec::new();
            for _ in 0..8 {
                state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let mut z = state;
                z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                outputs.push(z ^ (z >> 31));
            }
            let k = &outputs[4 * direction as usize..];
            let mix = |a: u64, b: u64| {
                let product = u128::from(a) * u128::from(b);
                (product % (1 << 64)) as u64 ^ (product / (1 << 64)) as u64
            };
            let word = |at: usize| {
                (0..8).fold(0u64, |acc, i| {
                    acc | u64::from(content.get(at + i).copied().unwrap_or(0)) << (8 * i)
                })
            };
            let len = content.len();
            let mut h = mix(number ^ k[0], len as u64 ^ k[1]);
            let mut at = 0;
            while at + 16 < len {
                h = mix(word(at) ^ k[2], word(at + 8) ^ h);
                at += 16;
            }
            let at = len.saturating_sub(16);
            h = mix(word(at) ^ k[3], word(at + 8) ^ h);
            (h ^ (h >> 32)) as u32
        }
        let mut random = Random::new([7; 32]);
        for len in 0..100 {
            let mut bytes = vec![0; len];
            random.fill(&mut bytes);
            let (secret, number) = (random.next_u64(), random.next_u64());
            for direction in 0..2 {
                assert_eq!(
                    Checksum::new(secret, direction).of(number, &bytes),
                    slow(secret, direction, number, &bytes)
                );
            }
        }
    }
}
