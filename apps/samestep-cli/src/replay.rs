//! `samestep replay`: what a recording contains; plays, verifies, shows it.

use std::error::Error;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use samestep::sync::{
    Divergence, Live, Playback, PlayerId, Progress, Replay, ReplayError, ReplayHeader, Table, Tick,
    VerifyError, World,
};
use samestep_catalog::Visitor;
use samestep_playable::Playable;

use crate::bots::speed;
use crate::games;
use crate::stage::{Scene, ShowOptions, show};
use samestep_play::failure::{Failure, Kind};
use samestep_play::printable;

#[derive(Args)]
pub struct Arguments {
    /// The recording
    file: PathBuf,
    /// Play it and compare every checksum; fails if one differs or there is none
    #[arg(long)]
    verify: bool,
    /// Go to this tick and print its state; with --watch, begin there
    #[arg(long, value_name = "TICK")]
    seek: Option<u64>,
    /// Play it and list checksums of its states, one each second of the game and wherever one was recorded
    #[arg(long)]
    checksums: bool,
    /// Play it on the terminal
    #[arg(long)]
    watch: bool,
    /// With --watch: show only what this player sees
    #[arg(long, value_name = "N", requires = "watch")]
    viewer: Option<u16>,
    /// With --watch: speed, as a multiple of real time
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let replay = open(&arguments.file)?;
    let plays =
        arguments.verify || arguments.checksums || arguments.watch || arguments.seek.is_some();
    if !arguments.checksums && !arguments.watch {
        print!("{}", describe(&arguments.file, &replay));
    }
    if !plays {
        return Ok(ExitCode::SUCCESS);
    }
    let game = replay.header().game.clone();
    games::with(&game, Play { replay, arguments })?
}

/// Reads a replay; the words of a failure begin with the file's name.
fn open(file: &Path) -> Result<Replay, Failure> {
    let name = file.display();
    let bytes = std::fs::read(file).map_err(|error| {
        let words = match error.kind() {
            ErrorKind::NotFound => format!("{name}: there is no such file"),
            _ => format!("{name}: {error}"),
        };
        Failure::new(Kind::Other, words)
    })?;
    Replay::parse(bytes).map_err(|error| failure(file, &error))
}

fn failure(file: &Path, error: &ReplayError) -> Failure {
    let kind = match error {
        ReplayError::AnotherFormat(_)
        | ReplayError::AnotherGame { .. }
        | ReplayError::AnotherVersion { .. } => Kind::Version,
        _ => Kind::Other,
    };
    Failure::new(kind, format!("{}: {error}", file.display()))
}

/// The facts that need no playing.
fn describe(file: &Path, replay: &Replay) -> String {
    let ReplayHeader {
        game,
        version,
        ticks_per_second,
    } = replay.header();
    let ticks = replay.end().since(replay.first());
    let seconds = ticks as f64 / f64::from((*ticks_per_second).max(1));
    let kilobytes = replay.size() as f64 / 1e3;
    let (states, later) = replay
        .checkpoints()
        .fold((0, 0), |(states, _), (_, state)| (states + 1, state.len()));
    let first = replay
        .checkpoints()
        .next()
        .map_or(0, |(_, state)| state.len());
    let mut text = format!(
        "{}: {} version {version}, {ticks_per_second} ticks per second\n",
        file.display(),
        printable(game)
    );
    let _ = writeln!(
        text,
        "  ticks {} to {}: {}:{:04.1} minutes",
        replay.first(),
        replay.end(),
        (seconds / 60.0) as u64,
        seconds % 60.0
    );
    let _ = write!(
        text,
        "  {kilobytes:.1} kB: a state of {:.1} kB, then {:.2} kB/s",
        first as f64 / 1e3,
        (replay.size() - first) as f64 / 1e3 / seconds.max(1.0)
    );
    let _ = writeln!(text, "; {} checksums", replay.checksums().count());
    if states > 1 {
        let times = states - 1;
        let _ = writeln!(
            text,
            "  the state was replaced {times} times, by {later} bytes last"
        );
    }
    for divergence in replay.divergences() {
        text += &diverged(divergence);
    }
    let ended = match (replay.damage(), replay.ending()) {
        (Some(damage), _) => format!("{damage}; what comes before can be played"),
        (None, Some(ending)) => ending.to_string(),
        (None, None) => "it was still being recorded".to_string(),
    };
    let _ = writeln!(text, "  {ended}");
    text
}

fn diverged(divergence: &Divergence) -> String {
    let Divergence {
        tick,
        description,
        ours,
        theirs,
    } = divergence;
    let mut text = format!("  a divergence was found at tick {tick}:\n");
    for line in description.lines() {
        let _ = writeln!(text, "    {}", printable(line));
    }
    let (a, b) = (ours.checksum, theirs.checksum);
    let _ = writeln!(text, "    checksums {a:016x} (ours), {b:016x} (theirs)");
    text
}

struct Play<'a> {
    replay: Replay,
    arguments: &'a Arguments,
}

impl Visitor for Play<'_> {
    type Output = Result<ExitCode, Box<dyn Error>>;

    fn visit<G: Playable>(self) -> Self::Output {
        let arguments = self.arguments;
        let checked = self.replay.header().check::<G>();
        checked.map_err(|error| failure(&arguments.file, &error))?;
        let world = Live::without_recording(G::placeholder());
        let mut playback = Playback::new(self.replay, world)?;
        if arguments.verify {
            return verify(&mut playback);
        }
        if arguments.checksums {
            return list(&mut playback);
        }
        if let Some(tick) = arguments.seek {
            playback.seek(Tick(tick))?;
        }
        if arguments.watch {
            let viewer = arguments.viewer.map(PlayerId);
            let speed = arguments.speed;
            let until = None;
            show(
                &mut Played { playback, viewer },
                ShowOptions { speed, until },
            )?;
        } else {
            print!("{}", inspect(&mut playback));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn verify<G: Playable>(playback: &mut Playback<Live<G>>) -> Result<ExitCode, Box<dyn Error>> {
    let damaged = playback
        .replay()
        .damage()
        .is_some_and(|damage| !damage.cut_off);
    let code = match playback.verify() {
        Ok(verified) => {
            let (ticks, checksums) = (verified.ticks, verified.checksums);
            println!("  verified: {ticks} ticks played, all {checksums} checksums as recorded");
            ExitCode::SUCCESS
        }
        Err(error @ VerifyError::NothingCompared { .. }) => {
            println!("  not verified: {error}");
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("  not as recorded: {error}");
            ExitCode::FAILURE
        }
    };
    for divergence in playback.replay().divergences().to_vec() {
        playback.seek(divergence.tick)?;
        if playback.tick() == divergence.tick {
            println!("  {}", judge(&divergence, playback.world_mut().checksum()));
        }
    }
    Ok(if damaged { ExitCode::FAILURE } else { code })
}

/// Which of the two states the rules lead to.
fn judge(divergence: &Divergence, played: u64) -> String {
    let tick = divergence.tick;
    if played == divergence.theirs.checksum {
        format!(
            "played here, tick {tick} is theirs: something other than the rules had changed the state, or the rules differ on the machine that recorded this"
        )
    } else if played == divergence.ours.checksum {
        format!(
            "played here, tick {tick} is ours: the rules lead here on this machine, and elsewhere on others"
        )
    } else {
        format!(
            "played here, tick {tick} is neither theirs nor ours ({played:016x}): the rules do not lead to the same state twice"
        )
    }
}

fn list<G: Playable>(playback: &mut Playback<Live<G>>) -> Result<ExitCode, Box<dyn Error>> {
    let second = u64::from(G::TICKS_PER_SECOND.max(1));
    let mut code = ExitCode::SUCCESS;
    loop {
        let tick = playback.tick();
        let check = playback.check();
        let is_last = tick == playback.replay().end();
        if check.is_some() || tick.0.is_multiple_of(second) || is_last {
            let checksum = playback.world_mut().checksum();
            let recorded = match check {
                None => "",
                Some(Ok(())) => " as recorded",
                Some(Err(_)) => " not as recorded",
            };
            if matches!(check, Some(Err(_))) {
                code = ExitCode::FAILURE;
            }
            println!("{tick} {checksum:016x}{recorded}");
        }
        if playback.step()? == Progress::Ended {
            return Ok(code);
        }
    }
}

/// The state at the current tick.
fn inspect<G: Playable>(playback: &mut Playback<Live<G>>) -> String {
    let (tick, checksum) = (playback.tick(), playback.world_mut().checksum());
    let mut text = format!("  at tick {tick}: checksum {checksum:016x}\n");
    let mut table = Table::new(G::schema());
    playback.world().state().extract(&mut table);
    for (kind, at) in table.schema().kinds().iter().zip(0..) {
        let _ = writeln!(text, "    {:<16}{:>7} rows", kind.name, table.len(at));
    }
    text
}

/// A replay on the terminal.
struct Played<G: Playable> {
    playback: Playback<Live<G>>,
    viewer: Option<PlayerId>,
}

impl<G: Playable> Scene for Played<G> {
    fn tick(&self) -> Tick {
        self.playback.tick()
    }

    fn range(&self) -> (Tick, Tick) {
        (self.playback.replay().first(), self.playback.replay().end())
    }

    fn ticks_per_second(&self) -> u32 {
        G::TICKS_PER_SECOND
    }

    fn step(&mut self) -> Result<bool, Box<dyn Error>> {
        loop {
            match self.playback.step()? {
                Progress::Stepped => return Ok(true),
                Progress::Replaced => {}
                Progress::Ended => return Ok(false),
            }
        }
    }

    fn seek(&mut self, tick: Tick) -> Result<(), Box<dyn Error>> {
        Ok(self.playback.seek(tick)?)
    }

    fn paint(&mut self, columns: usize, lines: usize) -> Vec<String> {
        self.playback
            .world()
            .state()
            .picture(self.viewer, columns, lines)
    }
}
