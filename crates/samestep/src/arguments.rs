//! The command line that [`Game::from_args`](crate::Game::from_args) and the examples have in common.

use std::path::Path;

use samestep_session::{Password, SessionConfig};

use crate::background::StartError;
use crate::password::{PasswordError, read_password};

/// A command line: its words, and the options that every program takes.
///
/// `--log FILTER` says what is logged (see `samestep::log`, which needs the feature `log`), `--stats FILE` where the figures of a game
/// are written once a second ([`Game::write_stats`](crate::Game::write_stats)), `--name NAME` how its first player is called, and
/// `--password-file FILE` in which file the password of its room is; without it, the environment variable `SAMESTEP_PASSWORD` holds that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    words: Vec<String>,
    log: Option<String>,
    name: Option<String>,
    password_file: Option<String>,
    password: Option<Password>,
    /// The file of `--stats`.
    pub stats: Option<String>,
}

impl Arguments {
    /// The command line of a program without a [`Game`](crate::Game), which refuses the options of a game. Starts the log if
    /// the command line, or `RUST_LOG`, asks for one.
    pub fn from_env() -> Result<Arguments, StartError> {
        let arguments = Arguments::for_game()?;
        let refused = match &arguments {
            Arguments { stats: Some(_), .. } => {
                "--stats: this program has no `Game` whose figures it could write"
            }
            Arguments { name: Some(_), .. } => "--name: this program has no `Game` to play in",
            Arguments {
                password_file: Some(_),
                ..
            } => "--password-file: this program has no `Game` to protect",
            _ => return Ok(arguments),
        };
        Err(StartError::Option(refused.into()))
    }

    /// The command line of a program that plays a [`Game`](crate::Game).
    pub fn for_game() -> Result<Arguments, StartError> {
        let mut arguments = Arguments::parse(std::env::args().skip(1))?;
        let file = arguments.password_file.as_deref().map(Path::new);
        arguments.password = read_password(file)?;
        #[cfg(feature = "log")]
        crate::log::init(arguments.log.as_deref()).map_err(StartError::Io)?;
        #[cfg(not(feature = "log"))]
        if arguments.log.is_some() {
            let message = "--log: this program is built without the feature `log`";
            return Err(StartError::Option(message.into()));
        }
        Ok(arguments)
    }

    fn parse(given: impl IntoIterator<Item = String>) -> Result<Arguments, StartError> {
        let mut arguments = Arguments::default();
        let mut given = given.into_iter();
        while let Some(word) = given.next() {
            let option = match word.as_str() {
                "--log" => &mut arguments.log,
                "--name" => &mut arguments.name,
                "--password" => return Err(PasswordError::OnCommandLine.into()),
                "--password-file" => &mut arguments.password_file,
                "--stats" => &mut arguments.stats,
                _ => {
                    arguments.words.push(word);
                    continue;
                }
            };
            let value = given.next();
            let missing = || StartError::Option(format!("{word} needs a value"));
            *option = Some(value.ok_or_else(missing)?);
        }
        Ok(arguments)
    }

    /// Puts `--name` and the password into the settings of a game.
    pub fn apply(&self, config: &mut SessionConfig) {
        if let (Some(name), Some(first)) = (&self.name, config.players.first_mut()) {
            first.name.clone_from(name);
        }
        if self.password.is_some() {
            config.password.clone_from(&self.password);
        }
    }

    /// Everything but the options.
    pub fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, StartError> {
        Arguments::parse(line.split(' ').map(str::to_string))
    }

    #[test]
    fn options_may_stand_anywhere() {
        let arguments = parse("--log debug join --stats out.csv ::1").unwrap();
        assert_eq!(arguments.words(), ["join", "::1"]);
        assert_eq!(arguments.log.as_deref(), Some("debug"));
        assert_eq!(arguments.stats.as_deref(), Some("out.csv"));
    }

    #[test]
    fn name_and_password_reach_the_settings() {
        let mut config = SessionConfig::new("test", 1).player("somebody");
        parse("host").unwrap().apply(&mut config);
        assert_eq!(
            (&*config.players[0].name, &config.password),
            ("somebody", &None)
        );
        let mut given = parse("join ::1 --name Ann --password-file word").unwrap();
        assert_eq!(given.password_file.as_deref(), Some("word"));
        given.password = Some("sesame".into());
        given.apply(&mut config);
        assert_eq!(config.players[0].name, "Ann");
        assert_eq!(config.password, Some("sesame".into()));
    }

    #[test]
    fn a_password_on_the_command_line_is_refused_with_what_to_do() {
        let error = parse("join ::1 --password sesame").unwrap_err().to_string();
        assert!(error.contains("SAMESTEP_PASSWORD") && error.contains("--password-file FILE"));
        assert!(!error.contains("sesame"));
    }

    #[test]
    fn an_option_needs_a_value() {
        let error = parse("host --stats").unwrap_err();
        assert_eq!(error.to_string(), "--stats needs a value");
    }
}
