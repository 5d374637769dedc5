//! `samestep sync-test`: resimulates every tick of a game and compares the states.

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use samestep::sync::sync_test;

use samestep_catalog::Visitor;
use samestep_playable::{Bots, Playable, Setup};

use crate::games;

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
    /// How many ticks to play
    #[arg(long, value_name = "N", default_value_t = 600)]
    ticks: u64,
    /// How many ticks to roll back each time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1000))]
    depth: u64,
    /// Seed of all randomness
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    games::with(&arguments.game, Test(arguments))?
}

struct Test<'a>(&'a Arguments);

impl Visitor for Test<'_> {
    type Output = Result<ExitCode, Box<dyn Error>>;

    fn visit<G: Playable>(self) -> Self::Output {
        let arguments = self.0;
        let setup = Setup {
            players: arguments.players.unwrap_or(G::PLAYERS),
            size: arguments.entities,
            seed: arguments.seed,
        };
        let game = G::begin(&setup)?;
        let mut bots = Bots::<G>::new(&setup);
        let players = bots.players();
        let begun = Instant::now();
        let tested = sync_test(
            game,
            arguments.ticks,
            arguments.depth,
            |tick, game, inputs| {
                inputs.set_players(&players);
                bots.act(game, tick, inputs);
            },
        );
        let took = begun.elapsed().as_secs_f64();
        match tested {
            Ok(report) => {
                println!("{}, seed {}: {report} ({took:.1} s)", G::NAME, setup.seed);
                Ok(ExitCode::SUCCESS)
            }
            Err(mismatch) => {
                println!("{}, seed {}: {mismatch}", G::NAME, setup.seed);
                Ok(ExitCode::FAILURE)
            }
        }
    }
}
