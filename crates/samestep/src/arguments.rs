//! The command line that [`Game::from_args`](crate::Game::from_args) and the examples have in common.

use std::path::Path;

use samestep_proto::{LobbyKey, PublicKeyError};
use samestep_session::{Identity, Password, SessionConfig};

use crate::background::StartError;
use crate::identity::keep_identity;
use crate::password::{PasswordError, read_password};
use crate::token::read_token;

/// A command line: its words, and the options that every program takes.
///
/// `--log FILTER` says what is logged (see `samestep::log`, which needs the feature `log`), `--stats FILE` where the figures of a game
/// are written once a second ([`Game::write_stats`](crate::Game::write_stats)), `--name NAME` how its first player is called, and
/// `--password-file FILE` in which file the password of its room is; without it, the environment variable `SAMESTEP_PASSWORD` holds that.
///
/// Where a lobby decides who joins, whoever opens a game says `--lobby-key KEY`, and `--shard N` if several servers share a key; who joins says
/// `--token-file FILE`, or sets the environment variable `SAMESTEP_TOKEN`. Both keep their own key with `--key-file FILE`.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    words: Vec<String>,
    log: Option<String>,
    name: Option<String>,
    password_file: Option<String>,
    password: Option<Password>,
    key_file: Option<String>,
    identity: Option<Identity>,
    token_file: Option<String>,
    token: Option<Vec<u8>>,
    lobby_key: Option<String>,
    shard: Option<String>,
    lobby: Option<(LobbyKey, u32)>,
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
            Arguments {
                token_file: Some(_),
                ..
            } => "--token-file: this program has no `Game` to join",
            Arguments {
                lobby_key: Some(_), ..
            } => "--lobby-key: this program has no `Game` to protect",
            Arguments {
                key_file: Some(_), ..
            } => "--key-file: this program has no `Game` to be known in",
            _ => return Ok(arguments),
        };
        Err(StartError::Option(refused.into()))
    }

    /// The command line of a program that plays a [`Game`](crate::Game).
    pub fn for_game() -> Result<Arguments, StartError> {
        let mut arguments = Arguments::parse(std::env::args().skip(1))?;
        let file = arguments.password_file.as_deref().map(Path::new);
        arguments.password = read_password(file)?;
        arguments.token = read_token(arguments.token_file.as_deref().map(Path::new))?;
        if let Some(file) = &arguments.key_file {
            arguments.identity = Some(keep_identity(file).map_err(StartError::Io)?);
        }
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
                "--key-file" => &mut arguments.key_file,
                "--token-file" => &mut arguments.token_file,
                "--lobby-key" => &mut arguments.lobby_key,
                "--shard" => &mut arguments.shard,
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
        arguments.lobby = arguments.lobby()?;
        Ok(arguments)
    }

    fn lobby(&self) -> Result<Option<(LobbyKey, u32)>, StartError> {
        let Some(key) = &self.lobby_key else {
            let words = "--shard: it tells servers of one lobby apart, so give --lobby-key too";
            let alone = self
                .shard
                .as_ref()
                .map(|_| StartError::Option(words.into()));
            return alone.map_or(Ok(None), Err);
        };
        let shard = self.shard.as_deref().unwrap_or("0").parse();
        let shard = shard.map_err(|_| StartError::Option("--shard: it is a number".into()))?;
        let key = key
            .parse()
            .map_err(|error: PublicKeyError| StartError::Option(format!("--lobby-key: {error}")))?;
        Ok(Some((key, shard)))
    }

    /// Puts `--name`, the password, the program's own key, the token and the lobby into the settings of a game.
    pub fn apply(&self, config: &mut SessionConfig) {
        if let (Some(name), Some(first)) = (&self.name, config.players.first_mut()) {
            first.name.clone_from(name);
        }
        if self.password.is_some() {
            config.password.clone_from(&self.password);
        }
        if self.identity.is_some() {
            config.protocol.identity.clone_from(&self.identity);
        }
        if self.token.is_some() {
            config.token.clone_from(&self.token);
        }
        if let Some((key, shard)) = self.lobby {
            *config = config.clone().admits_by_lobby(key, shard);
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
    fn a_lobby_and_a_key_reach_the_settings() {
        let key = samestep_proto::TokenIssuer::new([3; 32]).public_key();
        let mut config = SessionConfig::new("test", 1);
        let line = format!("host --lobby-key {key} --shard 7");
        parse(&line).unwrap().apply(&mut config);
        let accept = config.protocol.accept.unwrap();
        assert_eq!((accept.lobby_key, accept.shard), (Some(key), 7));
        let error = |line: &str| parse(line).unwrap_err().to_string();
        assert!(error("host --shard 7").contains("--lobby-key"));
        assert!(error("host --lobby-key sesame").contains("43 characters"));
        let line = format!("host --lobby-key {key} --shard north");
        assert_eq!(error(&line), "--shard: it is a number");
    }

    #[test]
    fn an_option_needs_a_value() {
        let error = parse("host --stats").unwrap_err();
        assert_eq!(error.to_string(), "--stats needs a value");
    }
}
