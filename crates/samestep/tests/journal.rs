//! A program that crashes leaves its match in its journal, and goes on with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use samestep::prelude::*;
use samestep::session::{Identity, Phase};
use samestep::sync::Model;
use samestep::{Fsync, JournalConfig, JournalFile, JournalFileError, StartError};

const MOMENT: Duration = Duration::from_millis(4);
/// How long a test waits for anything; far more than it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Pull(bool);

impl Input for Pull {
    fn predict(&self) -> Self {
        Pull(false)
    }
}

#[derive(Clone, Default, Replicate)]
struct TugOfWar {
    rope: i32,
    ticks: u32,
}

impl Simulation for TugOfWar {
    type Input = Pull;
    type Event = ();
    const NAME: &'static str = "tug of war";

    fn step(&mut self, inputs: &Inputs<'_, Pull>, _: &mut Events<()>) {
        self.ticks += 1;
        self.rope += inputs.iter().filter(|(_, pull)| pull.0).count() as i32;
    }
}

fn config() -> SessionConfig {
    let mut config = SessionConfig::new("tug of war", 1).player("Ann");
    config.protocol.identity = Some(Identity::from_secret([5; 32]));
    config
}

/// The path of a journal that is not there.
fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("journals");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let _ = std::fs::remove_file(&path);
    path
}

fn settings(fsync: Fsync) -> JournalConfig {
    JournalConfig {
        fsync,
        // Begins anew often, or never, so that both kinds of records matter.
        state_every: match fsync {
            Fsync::Every(_) => Duration::from_millis(300),
            Fsync::Never | Fsync::Always => Duration::from_secs(600),
        },
    }
}

/// The common time.
fn time<M: Model>(game: &Game<TugOfWar, M>) -> Duration {
    let driver = game.driver();
    driver.machine().session().time(driver.now()).unwrap()
}

fn host<M: Model>(path: &PathBuf, fsync: Fsync, model: M) -> Result<Game<TugOfWar, M>, StartError> {
    let journal = JournalFile::open(path, settings(fsync))?;
    Game::host_with_journal(0, config(), model, TugOfWar::default(), journal)
}

fn run_until<M: Model>(
    game: &mut Game<TugOfWar, M>,
    mut so: impl FnMut(&mut Game<TugOfWar, M>) -> bool,
) {
    let end = Instant::now() + PATIENCE;
    while !so(game) {
        assert!(Instant::now() < end, "at tick {}", game.tick());
        game.run_for(MOMENT).unwrap();
    }
}

fn crashes_and_goes_on<M: Model>(name: &str, fsync: Fsync, model: impl Fn() -> M) {
    let path = path(name);
    let mut reached = (0, 0, Tick(0));
    let mut shown = Duration::ZERO;
    for crash in 1..=3 {
        let crashed = catch_unwind(AssertUnwindSafe(|| {
            let mut game = host(&path, fsync, model()).unwrap();
            let state = game.state();
            let there = (state.rope, state.ticks);
            assert_eq!(there, (reached.0, reached.1), "{name}: it is as it was");
            assert!(matches!(game.room().phase(), Phase::Playing { .. }));
            assert!(time(&game) >= shown, "{name}: time does not run backwards");
            let wanted = reached.0 + 3;
            run_until(&mut game, |game| {
                game.command(&Pull(true));
                game.state().rope >= wanted
            });
            // Under rollback the state is ahead of what is final.
            let final_tick = game.status().confirmed_tick;
            run_until(&mut game, |game| {
                game.status().confirmed_tick > final_tick + 30
            });
            game.run_for(MOMENT).unwrap();
            reached = (game.state().rope, game.state().ticks, game.tick());
            shown = time(&game);
            assert!(JournalFile::open(&path, settings(fsync)).is_err(), "in use");
            std::panic::resume_unwind(Box::new(crash));
        }));
        let why = crashed.unwrap_err();
        assert_eq!(why.downcast_ref(), Some(&crash), "{name}");
    }
    let game = host(&path, fsync, model()).unwrap();
    assert_eq!(game.tick(), reached.2, "{name}");
    game.leave("").unwrap();
    assert!(!path.exists(), "{name}: the room is closed for good");
}

#[test]
fn a_match_goes_on_after_a_crash() {
    crashes_and_goes_on("snapshot", Fsync::Never, Snapshot::default);
    crashes_and_goes_on("state-sync", Fsync::Always, StateSync::default);
    let often = Fsync::Every(Duration::from_millis(20));
    crashes_and_goes_on("lockstep", often, Lockstep::default);
}

#[test]
fn what_cannot_be_gone_on_with_is_left_alone() {
    let path = path("other");
    std::fs::write(&path, b"a letter").unwrap();
    let error = host(&path, Fsync::Never, StateSync::default()).err();
    let Some(StartError::Journal(JournalFileError::Unreadable { .. })) = &error else {
        panic!("{:?}", error.map(|error| error.to_string()));
    };
    assert_eq!(std::fs::read(&path).unwrap(), b"a letter");
    let words = error.unwrap().to_string();
    assert!(words.contains("move it away"), "{words}");

    std::fs::remove_file(&path).unwrap();
    let crashed = catch_unwind(AssertUnwindSafe(|| {
        let _game = host(&path, Fsync::Never, StateSync::default()).unwrap();
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(crashed.is_err());
    let kept = std::fs::read(&path).unwrap();
    let error = host(&path, Fsync::Never, Snapshot::default()).err();
    let words = error.map(|error| error.to_string()).unwrap_or_default();
    assert!(
        words.contains("by state-sync") && words.contains("by snapshot"),
        "{words}"
    );
    // Guests would not believe another key.
    let journal = JournalFile::open(&path, settings(Fsync::Never)).unwrap();
    let other = SessionConfig::new("tug of war", 1).player("Ann");
    let model = StateSync::default();
    let error = Game::host_with_journal(0, other, model, TugOfWar::default(), journal).err();
    let words = error.map(|error| error.to_string()).unwrap_or_default();
    assert!(words.contains("another key"), "{words}");
    assert_eq!(std::fs::read(&path).unwrap(), kept);
}
