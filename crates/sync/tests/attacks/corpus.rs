//! Writes the corpus of the fuzz targets from matches: `fuzz/run` calls it. No attack.
//!
//! A script is what `fuzz/fuzz_targets/script` reads: the messages that a member really sent, to those it sent them to, with the time between them.

use std::fs;
use std::path::{Path, PathBuf};

use samestep_sync::{
    EventDelay, EventDelayConfig, Lockstep, LockstepConfig, Model, ModelConfig, Rewind, Rollback,
    RollbackConfig, Snapshot, StateSync, StateSyncConfig, Switch, save_game,
};

use crate::room::{Room, Sum};

/// When the fuzzer begins to play, and for how long its member is recorded.
const BEGIN_MS: u64 = 1400;
const RECORDED_MS: u64 = 400;
/// Who the fuzzer plays, by the upper half of a script's first byte.
const MEMBERS: [usize; 3] = [1, 3, 0];

/// Records what each member sends in a match.
fn record<M: Model>(into: &Path, setup: u8, is_mesh: bool, model: impl Fn() -> M) {
    for (which, member) in MEMBERS.into_iter().enumerate() {
        let mut room = Room::new(is_mesh, 3, 1, &model);
        room.run(BEGIN_MS);
        let mut script = vec![setup | (which as u8) << 4];
        for step in 0..RECORDED_MS / 20 {
            let before: Vec<usize> = room.received.iter().map(Vec::len).collect();
            room.add((step % 3) as usize, step as u8 + 1);
            room.run(20);
            for (to, before) in before.into_iter().enumerate() {
                for received in &room.received[to][before..] {
                    if received.from == member {
                        script.push((to as u8) << 2);
                        let len = received.bytes.len().min(0xfff) as u16;
                        script.extend_from_slice(&len.to_le_bytes());
                        script.extend_from_slice(&received.bytes[..usize::from(len)]);
                    }
                }
            }
            script.extend_from_slice(&[2, 79]);
        }
        fs::write(into.join(format!("match-{setup}-{member}")), script).unwrap();
    }
}

#[test]
#[ignore = "writes files: fuzz/run calls it"]
fn writes_the_corpus() {
    let root = PathBuf::from(std::env::var_os("SAMESTEP_FUZZ_CORPUS").expect("a folder"));
    let folder = |target: &str| {
        let folder = root.join(target);
        fs::create_dir_all(&folder).unwrap();
        folder
    };
    let lockstep = folder("lockstep_member");
    record(&lockstep, 0, false, Lockstep::default);
    record(&lockstep, 2, true, Lockstep::default);
    record(&lockstep, 3, false, Rollback::default);
    record(&lockstep, 5, true, Rollback::default);
    record(&lockstep, 8, false, EventDelay::default);
    record(&lockstep, 10, true, EventDelay::default);
    let authority = folder("authority_member");
    record(&authority, 0, false, Snapshot::default);
    record(&authority, 1, false, StateSync::default);
    record(&authority, 2, false, Rewind::default);
    let switch = folder("switch_member");
    for which in 0..4 {
        record(&switch, which, false, || {
            let mut choices = vec![
                ModelConfig::Lockstep(LockstepConfig::default()),
                ModelConfig::Rollback(RollbackConfig::default()),
                ModelConfig::StateSync(StateSyncConfig::default()),
                ModelConfig::EventDelay(EventDelayConfig::default()),
            ];
            choices.rotate_left(which.into());
            let switch = Switch::new(choices).unwrap();
            switch.with_policy(Box::new(|conditions| Some((conditions.current + 1) % 4)))
        });
    }
    let recordings = folder("recordings");
    for (name, is_mesh) in [("hosted", false), ("mesh", true)] {
        let mut room = Room::new(is_mesh, 3, 0, Lockstep::default);
        for step in 0..30 {
            room.run(100);
            room.add(step % 3, step as u8);
        }
        let world = &mut room.programs[0].world;
        let recorder = world.recorder_mut().expect("worlds record by default");
        fs::write(recordings.join(format!("{name}.replay")), recorder.bytes()).unwrap();
        let saved = save_game(room.programs[0].world.state(), samestep_sync::Tick(90));
        fs::write(recordings.join(format!("{name}.save")), saved).unwrap();
    }
    let fresh = save_game(&Sum::new(), samestep_sync::Tick(0));
    fs::write(recordings.join("fresh.save"), fresh).unwrap();
}
