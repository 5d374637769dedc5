//! A member of a match in lockstep, with rollback or with event delay says whatever it likes: the others do not panic, and a hosted match goes on.
#![no_main]

mod script;

use libfuzzer_sys::fuzz_target;
use samestep_sync::{EventDelay, Lockstep, LockstepConfig, Rollback};
use script::{ATTACKERS, Script, play};
use std::time::Duration;

fuzz_target!(|bytes: &[u8]| {
    let mut script = Script(bytes);
    let setup = script.byte().unwrap_or(0);
    let attacker = ATTACKERS[usize::from(setup >> 4) % ATTACKERS.len()];
    let (script, as_is) = (&mut script, |bytes| bytes);
    match setup & 15 {
        0 | 1 => play(script, false, attacker, Lockstep::default, as_is),
        2 => play(script, true, attacker, Lockstep::default, as_is),
        3 | 4 => play(script, false, attacker, Rollback::default, as_is),
        5 => play(script, true, attacker, Rollback::default, as_is),
        8 | 9 => play(script, false, attacker, EventDelay::default, as_is),
        10 => play(script, true, attacker, EventDelay::default, as_is),
        // Spectators that see the game later, and inputs that are forgotten soon.
        6 => {
            let model = || {
                Lockstep::new(LockstepConfig {
                    spectator_delay: Duration::from_millis(300),
                    desync_check_interval: 15,
                    keep: 300,
                    ..LockstepConfig::default()
                })
                .expect("settings that make sense")
            };
            play(script, false, attacker, model, as_is);
        }
        _ => {
            let model = || {
                Lockstep::new(LockstepConfig {
                    correct_host: true,
                    desync_check_interval: 15,
                    ..LockstepConfig::default()
                })
                .expect("settings that make sense")
            };
            // Guests may correct this host: it is no more than not to panic.
            play(script, true, attacker, model, as_is);
        }
    }
});
