//! `samestep bots`: bots play a game on the terminal.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use samestep::sync::{Live, PlayerId, Recorder, ReplayHeader, Tick, TickInputs, World};
use samestep_catalog::Visitor;
use samestep_playable::{Bots, Playable, Setup};

use crate::games;
use crate::stage::{Scene, ShowOptions, show};
use samestep_play::failure::{Failure, Kind};

#[derive(Args)]
pub struct Arguments {
    /// The game's name
    #[arg(value_parser = games::known)]
    game: String,
    /// How many bots play; each game has its own default
    #[arg(long, value_name = "N")]
    players: Option<u16>,
    /// How many entities, for games that can be of any size
    #[arg(long, value_name = "N")]
    entities: Option<u32>,
    /// Seed of all randomness
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Speed, as a multiple of real time
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// Show only what this player sees
    #[arg(long, value_name = "N")]
    viewer: Option<u16>,
    /// Stop at this tick
    #[arg(long, value_name = "N")]
    ticks: Option<u64>,
    /// Record it, for `samestep replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// For the command line.
pub fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "a number, for example 0.5 or 2")?;
    match (0.01..=1000.0).contains(&speed) {
        true => Ok(speed),
        false => Err("0.01 to 1000 times real time".into()),
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    games::with(&arguments.game, Show(arguments))?
}

struct Show<'a>(&'a Arguments);

impl Visitor for Show<'_> {
    type Output = Result<ExitCode, Box<dyn Error>>;

    fn visit<G: Playable>(self) -> Self::Output {
        let arguments = self.0;
        let setup = Setup {
            players: arguments.players.unwrap_or(G::PLAYERS),
            size: arguments.entities,
            seed: arguments.seed,
        };
        let mut world = Live::without_recording(G::begin(&setup)?);
        let recording = arguments.record.as_ref();
        let recording = recording
            .map(|file| RecordingFile::new::<G>(file, &mut world))
            .transpose()?;
        let bots = Bots::new(&setup);
        let mut inputs = TickInputs::new();
        inputs.set_players(&bots.players());
        let mut bots_play = Match {
            world,
            bots,
            inputs,
            tick: Tick(0),
            viewer: arguments.viewer.map(PlayerId),
            recording,
        };
        let until = arguments.ticks.map(Tick);
        let speed = arguments.speed;
        let shown = show(&mut bots_play, ShowOptions { speed, until });
        if let Some(recording) = bots_play.recording {
            let (file, size) = recording.finish()?;
            println!("recorded {} ({size} bytes)", file.display());
        }
        shown?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A game among bots.
struct Match<G: Playable> {
    world: Live<G>,
    bots: Bots<G>,
    inputs: TickInputs,
    tick: Tick,
    viewer: Option<PlayerId>,
    recording: Option<RecordingFile>,
}

impl<G: Playable> Scene for Match<G> {
    fn tick(&self) -> Tick {
        self.tick
    }

    fn range(&self) -> (Tick, Tick) {
        (self.tick, self.tick)
    }

    fn ticks_per_second(&self) -> u32 {
        G::TICKS_PER_SECOND
    }

    fn step(&mut self) -> Result<bool, Box<dyn Error>> {
        self.inputs.clear();
        let state = self.world.state();
        self.bots.act(state, self.tick, &mut self.inputs);
        World::step(&mut self.world, self.tick, &self.inputs);
        World::confirm(&mut self.world, self.tick, &self.inputs);
        if let Some(recording) = &mut self.recording {
            recording.on_tick(self.tick, &self.inputs, &mut self.world)?;
        }
        self.tick = self.tick.next();
        Ok(true)
    }

    fn seek(&mut self, _: Tick) -> Result<(), Box<dyn Error>> {
        Ok(())
    }

    fn paint(&mut self, columns: usize, lines: usize) -> Vec<String> {
        self.world.state().picture(self.viewer, columns, lines)
    }
}

/// A recording that is written as the game goes on.
struct RecordingFile {
    recorder: Recorder,
    path: PathBuf,
    file: File,
    size: usize,
    ticks_per_second: u64,
}

impl RecordingFile {
    fn new<G: Playable>(path: &Path, world: &mut Live<G>) -> Result<Self, Failure> {
        let failed = |error| Failure::new(Kind::Other, format!("{}: {error}", path.display()));
        let file = File::create(path).map_err(failed)?;
        Ok(Self {
            recorder: Recorder::new(&ReplayHeader::of::<G>(), Tick(0), &world.checkpoint()),
            path: path.to_path_buf(),
            file,
            size: 0,
            ticks_per_second: G::TICKS_PER_SECOND.into(),
        })
    }

    /// The tick was simulated. Once a second its checksum is recorded as well, and everything written.
    fn on_tick(
        &mut self,
        tick: Tick,
        inputs: &TickInputs,
        world: &mut dyn World,
    ) -> Result<(), Failure> {
        self.recorder.on_tick(tick, inputs);
        let next = tick.next();
        if next.0.is_multiple_of(self.ticks_per_second) {
            self.recorder.on_checksum(next, world.checksum());
            self.write()?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(PathBuf, usize), Failure> {
        self.recorder.finish();
        self.write()?;
        Ok((self.path, self.size))
    }

    fn write(&mut self) -> Result<(), Failure> {
        let new = self.recorder.take_new();
        self.size += new.len();
        let path = self.path.display();
        let failed = |error| Failure::new(Kind::Other, format!("{path}: {error}"));
        self.file.write_all(&new).map_err(failed)
    }
}
