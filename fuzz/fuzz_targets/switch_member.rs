//! A member of a match whose model can change says whatever it likes: the others do not panic, and a hosted match goes on.
#![no_main]

mod script;

use libfuzzer_sys::fuzz_target;
use samestep_sync::{
    EventDelayConfig, LockstepConfig, ModelConfig, RollbackConfig, StateSyncConfig, Switch,
};
use script::{ATTACKERS, Script, play};

fuzz_target!(|bytes: &[u8]| {
    let mut script = Script(bytes);
    let setup = script.byte().unwrap_or(0);
    let attacker = ATTACKERS[usize::from(setup >> 4) % ATTACKERS.len()];
    let model = || {
        let mut choices = vec![
            ModelConfig::Lockstep(LockstepConfig::default()),
            ModelConfig::Rollback(RollbackConfig::default()),
            ModelConfig::StateSync(StateSyncConfig::default()),
            ModelConfig::EventDelay(EventDelayConfig::default()),
        ];
        choices.rotate_left(usize::from(setup) % 4);
        let switch = Switch::new(choices).expect("settings that make sense");
        // The host changes as soon as it may.
        switch.with_policy(Box::new(|conditions| Some((conditions.current + 1) % 4)))
    };
    // The tag of a switch's message, or the epoch of a model's, is its last byte.
    let mark = |mut bytes: Vec<u8>| {
        let tag = bytes.remove(0);
        bytes.push(tag);
        bytes
    };
    play(&mut script, false, attacker, model, mark);
});
