//! Replays and save games of anybody: read, played through and loaded, or refused. Their checksums are not checked here, so that what is behind them is
//! reached.
#![no_main]

mod script;

use libfuzzer_sys::fuzz_target;
use samestep_sync::{Live, Playback, Replay, Tick, load_game, save_game};
use script::room::Sum;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((sum, tick)) = load_game::<Sum>(bytes) {
        let again = save_game(&sum, tick);
        assert!(load_game::<Sum>(&again).is_ok());
    }
    let Ok(replay) = Replay::parse(bytes.to_vec()) else {
        return;
    };
    let _ = (replay.header().check::<Sum>(), replay.checksums().count());
    let end = replay.end();
    if let Ok(mut playback) = Playback::new(replay, Live::without_recording(Sum::new())) {
        for _ in 0..300 {
            if playback.step().is_err() {
                break;
            }
            let _ = playback.check();
        }
        let _ = playback.approach(Tick(3), 100);
        let _ = playback.approach(end, 100);
    }
});
