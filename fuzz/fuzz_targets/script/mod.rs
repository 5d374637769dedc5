//! What a hostile member of a match does, read from the fuzzer's bytes. The corpus holds such scripts with messages of real matches.
//!
//! The first byte sets up the match. Then come operations: a byte whose two lowest bits say which, and whose next two bits to whom.
//!
//! | | |
//! |---|---|
//! | 0 | a message: its length (2 bytes, little endian), its bytes |
//! | 1 | a message of numbers: its tag, how many numbers, and for each a byte that says which |
//! | 2 | time passes: milliseconds |
//! | 3 | a player acts |
#![allow(dead_code, reason = "each target uses its own part")]

#[path = "../../../crates/sync/tests/attacks/room.rs"]
pub mod room;

use room::{Room, message};
use samestep_sync::Model;

/// Numbers that arithmetic may fail on.
const EXTREMES: [u64; 12] = [
    0,
    1,
    u64::MAX,
    u64::MAX - 1,
    1 << 63,
    (1 << 48) - 1,
    1 << 48,
    1 << 50,
    (1 << 50) + 1,
    u32::MAX as u64,
    1 << 32,
    65_535,
];

/// Operations of one script at most, and what an honest player does in it: each takes a tick.
const MAX_OPERATIONS: usize = 200;
const MAX_ACTS: usize = 10;

/// Who is hostile: the authority, a player or a spectator. The other player is honest.
pub const ATTACKERS: [usize; 3] = [1, 3, 0];
pub const BYSTANDER: usize = 2;

/// The bytes of a script that are left.
pub struct Script<'a>(pub &'a [u8]);

impl Script<'_> {
    pub fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let (bytes, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        bytes.to_vec()
    }
}

/// A number: small, near the present tick, or at the end of a range.
fn number(byte: u8, tick: u64) -> u64 {
    match byte {
        0..=99 => byte.into(),
        100..=219 => (tick + u64::from(byte)).saturating_sub(160),
        _ => EXTREMES[usize::from(byte) % EXTREMES.len()],
    }
}

/// Plays a match in which one member follows the script. `mark` puts a tag where the model has it.
pub fn play<M: Model>(
    script: &mut Script<'_>,
    is_mesh: bool,
    attacker: usize,
    model: impl Fn() -> M,
    mark: impl Fn(Vec<u8>) -> Vec<u8>,
) {
    let mut room = Room::new(is_mesh, 3, 1, model);
    room.run(1400);
    let mut acts = 0;
    for _ in 0..MAX_OPERATIONS {
        let Some(operation) = script.byte() else {
            break;
        };
        let to = usize::from(operation >> 2 & 3);
        let to = if to == attacker { BYSTANDER } else { to };
        match operation & 3 {
            0 => {
                let len = usize::from(script.byte().unwrap_or(0));
                let len = len | usize::from(script.byte().unwrap_or(0) & 15) << 8;
                let bytes = script.bytes(len);
                room.say(attacker, to, bytes);
            }
            1 => {
                let (tag, tick) = (script.byte().unwrap_or(0), room.tick(to));
                let count = usize::from(script.byte().unwrap_or(0) % 16);
                let numbers = script.bytes(count);
                let numbers: Vec<u64> = numbers.iter().map(|byte| number(*byte, tick)).collect();
                room.say(attacker, to, mark(message(tag, &numbers)));
            }
            2 => room.run(1 + u64::from(script.byte().unwrap_or(0) / 4)),
            _ if acts < MAX_ACTS => {
                acts += 1;
                room.add(BYSTANDER, operation >> 4);
            }
            _ => {}
        }
    }
    room.run(40);
    if is_mesh || attacker == 0 {
        return;
    }
    // A guest neither stops the host nor drives it and another guest apart.
    let before = room.tick(0);
    room.run(1000);
    assert!(room.tick(0) > before + 20, "the host plays on");
    assert_eq!(room.total(0), room.total(BYSTANDER));
}
