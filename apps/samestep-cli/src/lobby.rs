//! `samestep lobby`: the lobby as a service, which brings together people who know no address.

use std::error::Error;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;

use clap::Args;
use samestep::keep_identity;
use samestep_lobby::{Lobby, LobbyConfig, LobbyError, StoreChoice};
use samestep_play::failure::{Failure, Kind};

#[derive(Args)]
pub struct Arguments {
    /// Where it listens [default: 0.0.0.0:7780]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// What must survive is in memory, sqlite:FILE or postgres://user@host/database [default: memory, or SAMESTEP_LOBBY_STORE, which keeps a password off the command line]
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Where the key is kept that signs connect tokens; all lobbies of a store need the same [default: FILE.key beside sqlite:FILE, a new key in memory]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Further settings, in TOML; what is said on the command line counts before them
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print all settings as TOML, as they would be, and end
    #[arg(long)]
    print_config: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let mut config = settings(arguments, std::env::var("SAMESTEP_LOBBY_STORE").ok())?;
    if arguments.print_config {
        print!("{}", toml::to_string(&config)?);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = key_file(arguments, &config.store) {
        let secret = keep_identity(&file).map_err(|error| other(error.to_string()))?;
        config.signing_key = Some(zeroize::Zeroizing::new(*secret.secret()));
    }
    let (stop, stopped) = mpsc::channel();
    ctrlc::set_handler(move || {
        let _ = stop.send(());
    })?;
    let lobby = Lobby::start(config).map_err(|error| {
        let kind = match error {
            LobbyError::Listen(..) => Kind::PortTaken,
            _ => Kind::Other,
        };
        Failure::new(kind, error.to_string())
    })?;
    // In one piece, for whoever reads the first line alone.
    let words = format!(
        "the lobby is open at http://{}\ngames that it sends players to: --lobby-key {}\nCtrl-C closes it; rooms wait for the next in a store that is not in memory\n",
        lobby.address(),
        lobby.lobby_key()
    );
    std::io::stdout().write_all(words.as_bytes())?;
    // Ends only with Ctrl-C or a request to stop.
    let _ = stopped.recv();
    lobby.stop();
    Ok(ExitCode::SUCCESS)
}

fn other(words: impl Into<String>) -> Failure {
    Failure::new(Kind::Other, words.into())
}

fn settings(arguments: &Arguments, store: Option<String>) -> Result<LobbyConfig, Failure> {
    let mut config = match &arguments.config {
        Some(file) => read(file)?,
        None => LobbyConfig::default(),
    };
    if let Some(store) = arguments.store.clone().or(store) {
        config.store = store
            .parse()
            .map_err(|error: LobbyError| other(error.to_string()))?;
    }
    config.listen = arguments.listen.unwrap_or(config.listen);
    Ok(config)
}

fn read(file: &Path) -> Result<LobbyConfig, Failure> {
    let cannot = |error: &dyn std::fmt::Display| {
        other(format!(
            "the settings in {} cannot be read: {error}",
            file.display()
        ))
    };
    let text = std::fs::read_to_string(file).map_err(|error| cannot(&error))?;
    toml::from_str(&text).map_err(|error| cannot(&error))
}

fn key_file(arguments: &Arguments, store: &StoreChoice) -> Option<PathBuf> {
    let beside = match store {
        StoreChoice::Sqlite(file) => {
            let mut name = file.clone().into_os_string();
            name.push(".key");
            Some(name.into())
        }
        StoreChoice::Memory | StoreChoice::Postgres(_) => None,
    };
    arguments.key_file.clone().or(beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments() -> Arguments {
        Arguments {
            listen: None,
            store: None,
            key_file: None,
            config: None,
            print_config: false,
        }
    }

    #[test]
    fn settings_are_printed_as_they_are_read() {
        let text = toml::to_string(&LobbyConfig::default()).unwrap();
        assert_eq!(
            toml::from_str::<LobbyConfig>(&text).unwrap(),
            LobbyConfig::default()
        );
        let error = toml::from_str::<LobbyConfig>("max_conections = 3").unwrap_err();
        assert!(error.to_string().contains("max_connections"), "{error}");
    }

    #[test]
    fn the_command_line_counts_before_the_environment() {
        let said = Arguments {
            store: Some("sqlite:a.db".into()),
            ..arguments()
        };
        let config = settings(&said, Some("memory".into())).unwrap();
        assert_eq!(config.store, StoreChoice::Sqlite("a.db".into()));
        assert_eq!(key_file(&said, &config.store), Some("a.db.key".into()));
        assert_eq!(
            settings(&arguments(), None).unwrap(),
            LobbyConfig::default()
        );
        assert!(
            settings(&arguments(), Some("disk".into()))
                .unwrap_err()
                .to_string()
                .contains("sqlite:FILE")
        );
        let missing = Arguments {
            config: Some("/nowhere/lobby.toml".into()),
            ..arguments()
        };
        assert!(
            settings(&missing, None)
                .unwrap_err()
                .to_string()
                .contains("/nowhere/lobby.toml")
        );
    }
}
