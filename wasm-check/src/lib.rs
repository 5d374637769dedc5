//! Plays replays of the games, and matches of the sandbox, and says what came out: the same natively and in WebAssembly, or `make wasm` fails.
//!
//! A game that computes something else in a browser than on a server drifts apart there, so it is tried: a match is recorded once, and played
//! natively with checks of overflow, and in Node as the page is compiled. Each play gives a report, a checksum of the state every few ticks, and the two are
//! compared byte for byte.
//!
//! ```
//! use samestep_wasm_check::{record, report, subjects};
//!
//! assert!(subjects().contains(&"evaluation".to_string()));
//! let replay = record("evaluation").expect("one of the subjects");
//! let played = report(replay)?;
//! let mut lines = played.lines();
//! assert_eq!(lines.next(), Some("evaluation version 1"));
//! assert!(lines.next().unwrap().starts_with("0 ")); // the tick, and its state's checksum
//! assert!(played.ends_with("recorded checksums agree\n"));
//! # Ok::<(), String>(())
//! ```
//!
//! In WebAssembly the host of the module, a script in Node (`play.mjs`), calls [`alloc`](exports::alloc), writes the file into memory, calls [`run`](exports::run)
//! and reads the report at [`text`](exports::text): three exports, no bindings.
//!
//! It says *that* two builds differ and from which tick on. Where the state differs, `samestep sync-test` and `samestep replay --verify` say.

mod sandbox;

use std::fmt::Write;

use samestep_catalog::{NAMES, Visitor, visit};
use samestep_playable::{Bots, Playable, Setup};
use samestep_sync::{Live, Playback, Progress, Replay, Tick, TickInputs, World};

/// Ticks between two checksums of a report.
const EVERY: u64 = 20;

/// What can be recorded: each game, and a match of the sandbox for each game and model.
pub fn subjects() -> Vec<String> {
    let games = NAMES.iter().map(|name| name.to_string());
    games.chain(sandbox::subjects()).collect()
}

/// Plays a replay, or a match of the sandbox, and lists checksums of its states: `tick checksum`, a line each.
///
/// Fails if the replay is damaged, or a state is not as recorded.
pub fn report(file: Vec<u8>) -> Result<String, String> {
    if let Some(link) = sandbox::link_in(&file) {
        return sandbox::report(link);
    }
    let replay = Replay::parse(file).map_err(|error| error.to_string())?;
    if let Some(damage) = replay.damage() {
        return Err(damage.to_string());
    }
    let game = replay.header().game.clone();
    visit(&game, Play(replay)).unwrap_or_else(|| Err(format!("no such game: {game}")))
}

/// Plays a replay and lists checksums.
struct Play(Replay);

impl Visitor for Play {
    type Output = Result<String, String>;

    fn visit<G: Playable>(self) -> Self::Output {
        play::<G>(self.0)
    }
}

fn play<G: Playable>(replay: Replay) -> Result<String, String> {
    let header = replay.header();
    header.check::<G>().map_err(|error| error.to_string())?;
    let mut report = format!("{} version {}\n", header.game, header.version);
    let world = Live::without_recording(G::placeholder());
    let mut playback = Playback::new(replay, world).map_err(|error| error.to_string())?;
    let mut checked = 0;
    loop {
        if let Some(check) = playback.check() {
            check.map_err(|deviation| deviation.to_string())?;
            checked += 1;
        }
        let tick = playback.tick();
        let is_last = tick == playback.replay().end();
        if tick.0.is_multiple_of(EVERY) || is_last {
            let _ = writeln!(report, "{tick} {:016x}", playback.world_mut().checksum());
        }
        if playback.step().map_err(|error| error.to_string())? == Progress::Ended {
            let _ = writeln!(report, "{checked} recorded checksums agree");
            return Ok(report);
        }
    }
}

/// Records a match of bots, or how one of the sandbox begins; `None` if there is no such subject.
pub fn record(subject: &str) -> Option<Vec<u8>> {
    visit(subject, Record).or_else(|| sandbox::record(subject))
}

/// Records a minute of bots, with the checksum of every second.
struct Record;

impl Visitor for Record {
    type Output = Vec<u8>;

    fn visit<G: Playable>(self) -> Vec<u8> {
        let setup = Setup {
            players: 8,
            size: G::SIZES.map(|sizes| sizes.load),
            seed: 7,
        };
        let game = G::begin_measured(&setup).expect("eight players can play every game");
        let mut game = Live::new(game);
        let mut bots = Bots::<G>::new(&setup);
        let mut inputs = TickInputs::new();
        inputs.set_players(&bots.players());
        for tick in (0..3600).map(Tick) {
            inputs.clear();
            bots.act(game.state(), tick, &mut inputs);
            game.step(tick, &inputs);
            game.confirm(tick, &inputs);
            if tick.0.is_multiple_of(60) {
                let checksum = game.checksum();
                game.record_checksum(tick.next(), checksum);
            }
        }
        let recorder = game.recorder_mut().expect("games are recorded by default");
        recorder.finish();
        recorder.bytes()
    }
}

/// What a WebAssembly module offers its host.
#[allow(
    unsafe_code,
    reason = "exported functions need names that the compiler leaves as they are"
)]
pub mod exports {
    use std::sync::Mutex;

    /// What the host writes, then what it reads.
    static BUFFER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

    /// Makes room for `len` bytes and says where.
    #[unsafe(no_mangle)]
    pub extern "C" fn alloc(len: usize) -> *mut u8 {
        let mut buffer = BUFFER.lock().expect("nobody panics with the lock");
        buffer.clear();
        buffer.resize(len, 0);
        buffer.as_mut_ptr()
    }

    /// Plays the replay written there. Returns the length of the report, negative if it says why there is none; [`text`] says where
    /// it is.
    #[unsafe(no_mangle)]
    pub extern "C" fn run() -> i32 {
        let mut buffer = BUFFER.lock().expect("nobody panics with the lock");
        let report = super::report(std::mem::take(&mut *buffer));
        let sign = if report.is_ok() { 1 } else { -1 };
        let (Ok(text) | Err(text)) = report;
        *buffer = text.into_bytes();
        sign * buffer.len() as i32
    }

    /// Where the report is.
    #[unsafe(no_mangle)]
    pub extern "C" fn text() -> *const u8 {
        BUFFER.lock().expect("nobody panics with the lock").as_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_can_be_recorded() {
        for subject in sandbox::subjects() {
            assert!(record(&subject).is_some(), "{subject}");
        }
        assert!(record("sandbox-hat-telepathy").is_none());
    }
}
