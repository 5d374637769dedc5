//! Plays replays of the games, and matches of the sandbox, and says what came out: the same natively and in WebAssembly, or `make wasm` fails.
//!
//! A game that computes something else in a browser than on a server drifts apart there, so it is tried: a match is recorded once, and played
//! natively and in Node, in debug and in release. Each play gives a report, a checksum of the state every few ticks, and the four are compared byte for byte.
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

use samestep_evaluation::{Evaluation, script};
use samestep_skirmish::{Bot, Skirmish, SkirmishConfig};
use samestep_sublockus::{Sublockus, SublockusConfig};
use samestep_sync::{
    Live, Playback, PlayerId, Progress, Replay, Simulation, Tick, TickInputs, World,
};

/// Ticks between two checksums of a report.
const EVERY: u64 = 20;

/// The games, by [`Simulation::NAME`].
pub const GAMES: [&str; 3] = [Evaluation::NAME, Skirmish::NAME, Sublockus::NAME];

/// What can be recorded: each game, and a match of the sandbox for each game and model.
pub fn subjects() -> Vec<String> {
    let games = GAMES.map(String::from).into_iter();
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
    match replay.header().game.as_str() {
        Evaluation::NAME => play(replay, Evaluation::new(0, 1, 0)),
        Skirmish::NAME => play(replay, skirmish()),
        Sublockus::NAME => play(replay, sublockus()),
        game => Err(format!("no such game: {game}")),
    }
}

fn play<S: Simulation>(replay: Replay, any: S) -> Result<String, String> {
    let header = replay.header();
    header.check::<S>().map_err(|error| error.to_string())?;
    let mut report = format!("{} version {}\n", header.game, header.version);
    let world = Live::without_recording(any);
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

fn skirmish() -> Skirmish {
    let config = SkirmishConfig::battle(7, PLAYERS, 800);
    Skirmish::new(&config).expect("a battle that is possible")
}

fn sublockus() -> Sublockus {
    let config = SublockusConfig::free_for_all(7, PLAYERS);
    Sublockus::new(&config).expect("a fight that is possible")
}

/// In a recorded match.
const PLAYERS: u16 = 8;

/// Records a match of bots, or how one of the sandbox begins; `None` if there is no such subject.
pub fn record(game: &str) -> Option<Vec<u8>> {
    match game {
        Evaluation::NAME => {
            let game = Evaluation::new(7, PLAYERS, 1024);
            Some(bots(game, 900, |game, player, tick, inputs| {
                if let Some(command) = script(7, player, tick, game) {
                    inputs.give(player, &command);
                }
            }))
        }
        Skirmish::NAME => {
            let mut minds: Vec<_> = players().map(|player| Bot::new(7, player)).collect();
            Some(bots(skirmish(), 3600, |game, player, tick, inputs| {
                if let Some(command) = minds[usize::from(player.0)].decide(tick, game) {
                    inputs.give(player, &command);
                }
            }))
        }
        Sublockus::NAME => {
            let bot = |player| samestep_sublockus::Bot::new(7, player);
            let mut minds: Vec<_> = players().map(bot).collect();
            Some(bots(sublockus(), 3600, |game, player, tick, inputs| {
                if let Some(controls) = minds[usize::from(player.0)].decide(tick, game) {
                    inputs.give(player, &controls);
                }
            }))
        }
        _ => sandbox::record(game),
    }
}

fn players() -> impl Iterator<Item = PlayerId> {
    (0..PLAYERS).map(PlayerId)
}

fn bots<S: Simulation>(
    game: S,
    ticks: u64,
    mut act: impl FnMut(&S, PlayerId, Tick, &mut TickInputs),
) -> Vec<u8> {
    let mut game = Live::new(game);
    let mut inputs = TickInputs::new();
    inputs.set_players(&players().collect::<Vec<_>>());
    for tick in (0..ticks).map(Tick) {
        inputs.clear();
        for player in players() {
            act(game.state(), player, tick, &mut inputs);
        }
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
