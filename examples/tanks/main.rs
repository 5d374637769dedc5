//! A tank duel for two to four: a waiting room, rounds, rematches, late joins, a place that is kept for who was cut off.
//!
//! `host PORT` or `serve PORT`, and `join ADDRESS`; drive with w a s d, shoot with the space bar, q leaves. Options:
//!
//! | | |
//! |---|---|
//! | `--model rollback` | any model, the same for all: lockstep, rollback, snapshot, state-sync |
//! | `--rejoin FILE` | keeps this player's secret in a file: after a crash the same command returns to tank and score |
//! | `--link KEY=VALUE` | makes the network bad on purpose: `--link latency=50ms --link loss=5%` |
//! | `--rounds 3`, `--armour 3`, `--reload 20` | the rounds that win a duel, the hits that a tank takes, the ticks between two of its shots |
//! | `--players 2` | how many have to be there for a duel to begin |
//! | `--fps 144` | the frames per second; a bot takes several, `60,144`, in turns |
//! | `--bot SEED` | a bot at the keys, and lines of text in place of the picture |
//! | `--salvo 1` | the shots that a bot fires before it waits until it has seen them |
//!
//! `rules.rs` has the game, `net.rs` all that concerns the network, this file keys and picture.

mod bot;
mod net;
mod picture;
mod rules;

use bot::Bot;
use net::Tanks;
use rules::Duel;
use samestep::Arguments;
use samestep::netem::{LinkConfig, Path};
use samestep::prelude::*;
use samestep::session::RejoinSecret;
use samestep::sync::{ModelConfig, ModelKind};
use std::{error::Error, fs, num::ParseIntError, time::Duration};

/// What the command line asks for.
struct Options {
    /// `host`, `serve` or `join`, and where.
    words: Vec<String>,
    model: ModelConfig,
    rejoin: Option<String>,
    path: Path,
    rounds: u16,
    armour: u8,
    reload: u8,
    players: usize,
    rates: Vec<u32>,
    bot: Option<u64>,
    salvo: usize,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Options, Box<dyn Error>> {
        let mut link = LinkConfig::default();
        let mut options = Options {
            words: Vec::new(),
            model: ModelKind::named("rollback").ok_or("no rollback")?.config(),
            rejoin: None,
            path: Path::default(),
            rounds: 3,
            armour: 3,
            reload: 20,
            players: 2,
            rates: vec![144],
            bot: None,
            salvo: 1,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(option) = word.strip_prefix("--") else {
                options.words.push(word.to_string());
                continue;
            };
            let value = *words.next().ok_or(format!("{word} needs a value"))?;
            match option {
                "model" => {
                    let names = ModelKind::ALL
                        .iter()
                        .map(|kind| kind.name)
                        .collect::<Vec<_>>();
                    let kind = ModelKind::named(value);
                    options.model = kind
                        .ok_or(format!("the models are {}", names.join(", ")))?
                        .config();
                }
                "rejoin" => options.rejoin = Some(value.into()),
                "link" => {
                    let (key, value) = value.split_once('=').ok_or("a link has KEY=VALUE")?;
                    link.set(key, value)?;
                }
                "rounds" => options.rounds = value.parse()?,
                "armour" => options.armour = value.parse()?,
                "reload" => options.reload = value.parse()?,
                "players" => options.players = value.parse()?,
                "fps" => {
                    let rates = value.split(',').map(str::parse::<u32>);
                    let rates = rates.map(|rate| Ok(rate?.clamp(1, 1000)));
                    options.rates = rates.collect::<Result<_, ParseIntError>>()?;
                }
                "bot" => options.bot = Some(value.parse()?),
                "salvo" => options.salvo = value.parse::<usize>()?.max(1),
                _ => {
                    return Err(format!(
                        "{word} is unknown: see the top of examples/tanks/main.rs"
                    )
                    .into());
                }
            }
        }
        options.path = Path::symmetric(link);
        Ok(options)
    }

    fn enter(&self, arguments: &Arguments) -> Result<Tanks, Box<dyn Error>> {
        let rule = StartRule::AllReady {
            players: self.players,
        };
        let mut config = SessionConfig::new("tanks", 1).starts(rule);
        config.capacity = 4;
        let usage = "use it as `host PORT`, `serve PORT` or `join ADDRESS`";
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let at = match words[..] {
            ["host" | "serve", port] => (None, port.parse().map_err(|_| usage)?),
            ["join", address] => (Some(address), 0),
            _ => return Err(usage.into()),
        };
        if words[0] != "serve" {
            config = config.player("tank");
        }
        arguments.apply(&mut config);
        let kept = self.rejoin.as_ref().and_then(|file| fs::read(file).ok());
        let secret = kept.and_then(|bytes| Some(RejoinSecret(bytes.try_into().ok()?)));
        let duel = Duel::new(self.armour, self.reload, self.rounds);
        let game = net::enter(at, secret, (config, &self.model, &self.path), duel)?;
        if let Some(file) = &self.rejoin {
            fs::write(file, game.rejoin_secret().0)?;
        }
        Ok(game)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::for_game()?;
    let options = Options::parse(&arguments.words())?;
    let mut game = options.enter(&arguments)?;
    if let Some(file) = &arguments.stats {
        game.write_stats(file)?;
    }
    println!("This is port {}.", game.local_addr().port());
    match options.bot {
        Some(seed) => bot::run(&mut game, Bot::new(seed, &options.rates, options.salvo)),
        None => picture::run(&mut game, Duration::from_secs(1) / options.rates[0]),
    }
}
