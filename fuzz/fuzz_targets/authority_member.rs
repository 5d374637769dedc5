//! A client or the authority of a match says whatever it likes: the others do not panic, and the match of an honest authority goes on.
#![no_main]

mod script;

use libfuzzer_sys::fuzz_target;
use samestep_sync::{Rewind, Snapshot, StateSync};
use script::{ATTACKERS, Script, play};

fuzz_target!(|bytes: &[u8]| {
    let mut script = Script(bytes);
    let setup = script.byte().unwrap_or(0);
    let attacker = ATTACKERS[usize::from(setup >> 4) % ATTACKERS.len()];
    let (script, as_is) = (&mut script, |bytes| bytes);
    match setup % 3 {
        0 => play(script, false, attacker, Snapshot::default, as_is),
        1 => play(script, false, attacker, StateSync::default, as_is),
        _ => play(script, false, attacker, Rewind::default, as_is),
    }
});
