//! The attacker has recorded everything that was sent, and later gets an image of a program's memory: a core dump, a swapped-out page, a
//! stolen virtual machine. They wanted to read what was said before.
//!
//! They try every 32 bytes of the image as the key of a packet, and as what such a key is derived from. What is still in use they may find; what was
//! before the previous change of keys, and anything of a connection that has ended, they must not.
//!
//! This is a program of its own, so that no other test's keys are in the image.
#![cfg(target_os = "linux")]

#[path = "../pair/world.rs"]
#[allow(dead_code)]
mod world;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use blake2::Blake2sMac;
use blake2::digest::consts::U32;
use blake2::digest::{FixedOutput, Update};
use ring::aead;
use samestep_proto::{Cipher, Config};
use zeroize::Zeroizing;

use world::*;

/// A packet as it was on the wire.
struct Recorded {
    what: &'static str,
    number: u64,
    bytes: Vec<u8>,
}

impl Recorded {
    fn opens(&self, key: &aead::LessSafeKey) -> bool {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.number.to_le_bytes());
        let nonce = aead::Nonce::assume_unique_for_key(nonce);
        let mut bytes = self.bytes.clone();
        let (header, body) = bytes.split_at_mut(5);
        key.open_in_place(nonce, aead::Aad::from(header), body)
            .is_ok()
    }
}

/// Bytes of memory looked at in one go.
const PIECE: u64 = 1 << 20;

/// Shows all memory that this program can write to, in pieces that overlap by a key less one byte. It leaves no copy behind, which the next search would find.
fn image(mut look: impl FnMut(&[u8])) {
    let maps = fs::read_to_string("/proc/self/maps").expect("Linux tells the regions of a program");
    let memory = File::open("/proc/self/mem").expect("a program may read its own memory");
    let mut buffer = Zeroizing::new(vec![0; PIECE as usize + 31]);
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        if !rights.starts_with("rw") {
            continue;
        }
        let (from, to) = range.split_once('-').expect("a range of addresses");
        let [from, to] = [from, to].map(|hex| u64::from_str_radix(hex, 16).expect("hexadecimal"));
        for at in (from..to).step_by(PIECE as usize) {
            let piece = &mut buffer[..(to - at).min(PIECE + 31) as usize];
            // Some regions of the kernel's cannot be read.
            if memory.read_exact_at(piece, at).is_ok() {
                look(piece);
            }
        }
    }
}

/// Random bytes hardly ever repeat: most of the memory is no key at first sight.
fn may_be_key(bytes: &[u8; 32]) -> bool {
    if bytes.starts_with(&[0; 4]) {
        return false;
    }
    let mut seen = [0u64; 4];
    for byte in bytes {
        seen[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }
    seen.iter().map(|bits| bits.count_ones()).sum::<u32>() > 20
}

fn key(cipher: Cipher, bytes: &[u8; 32]) -> aead::LessSafeKey {
    let algorithm = match cipher {
        Cipher::Aes256Gcm => &aead::AES_256_GCM,
        Cipher::ChaCha20Poly1305 => &aead::CHACHA20_POLY1305,
    };
    aead::LessSafeKey::new(aead::UnboundKey::new(algorithm, bytes).expect("32 bytes"))
}

/// The packet key that follows from a link of the chain of keys (WIRE.md, section 4).
fn key_of_link(link: &[u8; 32]) -> [u8; 32] {
    let mac = Blake2sMac::<U32>::new_with_salt_and_personal(link, &[], b"SStp-key");
    mac.expect("short enough")
        .chain(b"")
        .finalize_fixed()
        .into()
}

/// Which of the packets can be opened with what is in memory.
fn opened(cipher: Cipher, recorded: &[Recorded]) -> Vec<&'static str> {
    let mut opened = Vec::new();
    let (mut bytes, mut tried) = (0, 0u32);
    image(|piece| {
        bytes += piece.len();
        for window in piece.windows(32) {
            let window: &[u8; 32] = window.try_into().expect("32 bytes");
            if !may_be_key(window) {
                continue;
            }
            tried += 1;
            let of_link = Zeroizing::new(key_of_link(window));
            for bytes in [window, &of_link] {
                let key = key(cipher, bytes);
                for packet in recorded.iter().filter(|packet| packet.opens(&key)) {
                    opened.push(packet.what);
                }
            }
        }
    });
    // What this search itself has left on the stack.
    std::hint::black_box([0u8; 1 << 16]);
    opened.sort_unstable();
    opened.dedup();
    println!("{cipher:?}: {bytes} bytes, {tried} possible keys, opened {opened:?}");
    opened
}

/// Both ends send until they are beyond packet `number`; the last packet of each.
fn talk(pair: &mut Pair, number: u64, what: [&'static str; 2]) -> Vec<Recorded> {
    while [CLIENT, SERVER]
        .iter()
        .any(|who| pair.stats(*who).packets_sent <= number)
    {
        for who in [CLIENT, SERVER] {
            pair.send(who, UNRELIABLE, b"what nobody else shall read");
            pair[who].received.clear();
        }
        pair.run_for(Duration::from_micros(250));
    }
    pair.capture = true;
    pair.run_for(ms(5));
    let mut last = Vec::new();
    for (who, what) in [(CLIENT, what[0]), (SERVER, what[1])] {
        pair.send(who, UNRELIABLE, b"what nobody else shall read");
        pair.run_for(ms(1));
        let (from, sent) = (pair[who].address, pair.stats(who).packets_sent);
        let datagram = pair
            .captured
            .iter()
            .rfind(|d| d.from == from)
            .expect("it was sent");
        let low = u64::from(u16::from_le_bytes([datagram.bytes[3], datagram.bytes[4]]));
        last.push(Recorded {
            what,
            // The number nearest below the count of packets.
            number: sent - 1 - ((sent - 1).wrapping_sub(low) & 0xffff),
            bytes: datagram.bytes.clone(),
        });
    }
    pair.capture = false;
    pair.captured.clear();
    last
}

/// Runs a connection through two changes of keys; what can be opened during and after it.
fn converse(cipher: Cipher) -> (Vec<&'static str>, Vec<&'static str>) {
    let mut pair = Pair::connected(Config { cipher, ..config() });
    let mut recorded = talk(
        &mut pair,
        100,
        ["first of the client", "first of the server"],
    );
    recorded.extend(talk(
        &mut pair,
        2 * 65_536 + 1000,
        ["last of the client", "last of the server"],
    ));
    assert!(recorded[2].number >> 16 == 2 && recorded[3].number >> 16 == 2);
    let during = opened(cipher, &recorded);
    pair.close(CLIENT, 0, "");
    pair.run_for(secs(10));
    assert!(pair[CLIENT].endpoint.connections().next().is_none());
    assert!(pair[SERVER].endpoint.connections().next().is_none());
    let after = opened(cipher, &recorded);
    (during, after)
}

#[test]
fn what_was_said_before_cannot_be_read_with_what_is_in_memory() {
    for cipher in [Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305] {
        let (during, after) = converse(cipher);
        // The search finds keys where there are some.
        assert_eq!(
            during,
            ["last of the client", "last of the server"],
            "{cipher:?}"
        );
        assert_eq!(after, [""; 0], "{cipher:?}, after the end");
    }
}
