//! What a lobby is told when it opens, and why it may not.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use samestep_proto::MAX_TOKEN_LIFE_S;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::directory::DirectoryConfig;
use crate::store::StoreError;

/// Where a lobby keeps what must survive: `memory`, `sqlite:FILE` or `postgres:URL`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StoreChoice {
    /// In memory: it ends with the program.
    #[default]
    Memory,
    /// In a file, for one lobby.
    Sqlite(PathBuf),
    /// In PostgreSQL, for several lobbies.
    Postgres(String),
}

impl FromStr for StoreChoice {
    type Err = LobbyError;

    fn from_str(text: &str) -> Result<Self, LobbyError> {
        match text.split_once(':') {
            None if text == "memory" => Ok(Self::Memory),
            Some(("sqlite", file)) if !file.is_empty() => Ok(Self::Sqlite(file.into())),
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                Ok(Self::Postgres(text.into()))
            }
            Some(("postgres", settings)) if !settings.is_empty() => {
                Ok(Self::Postgres(settings.into()))
            }
            _ => Err(LobbyError::Store(text.into())),
        }
    }
}

impl TryFrom<String> for StoreChoice {
    type Error = LobbyError;

    fn try_from(text: String) -> Result<Self, LobbyError> {
        text.parse()
    }
}

impl From<StoreChoice> for String {
    fn from(choice: StoreChoice) -> Self {
        match choice {
            StoreChoice::Memory => "memory".into(),
            StoreChoice::Sqlite(file) => format!("sqlite:{}", file.display()),
            StoreChoice::Postgres(url) if url.starts_with("postgres") => url,
            StoreChoice::Postgres(settings) => format!("postgres:{settings}"),
        }
    }
}

/// The settings of a lobby.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LobbyConfig {
    /// Where it listens. Default: port 7780 of all IPv4 addresses.
    pub listen: SocketAddr,
    /// Where it keeps what must survive. Default: in memory.
    pub store: StoreChoice,
    /// The 32 random bytes behind the key that signs connect tokens; default: new ones. A store that outlives the program needs the same each time, and all its
    /// lobbies too.
    #[serde(skip)]
    pub signing_key: Option<Zeroizing<[u8; 32]>>,
    /// What rooms and members may do.
    pub directory: DirectoryConfig,
    /// Most connections. Default 20,000.
    pub max_connections: usize,
    /// Most connections from one address. Default 128.
    pub max_connections_per_address: usize,
    /// How many seconds a request, the first message of a socket, or reading what is sent may take. Default 10.
    pub patience_s: u32,
    /// How many seconds a socket may be silent; half of that after which it is pinged. Default 60.
    pub silence_s: u32,
    /// Whether the last address in `X-Forwarded-For` is the client's: only behind a proxy that writes it. Default: no.
    pub trust_forwarded: bool,
}

impl Default for LobbyConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 7780)),
            store: StoreChoice::Memory,
            signing_key: None,
            directory: DirectoryConfig::default(),
            max_connections: 20_000,
            max_connections_per_address: 128,
            patience_s: 10,
            silence_s: 60,
            trust_forwarded: false,
        }
    }
}

impl LobbyConfig {
    /// On a free port of this machine alone, in memory.
    pub fn local() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            ..Self::default()
        }
    }

    /// Whether it makes sense.
    pub(super) fn check(&self) -> Result<(), LobbyError> {
        let rates = [
            self.directory.browsing,
            self.directory.entering,
            self.directory.wrong_guesses,
            self.directory.requests,
        ];
        let sound = rates
            .iter()
            .all(|rate| rate.burst > 0 && rate.per_second >= 0.0 && rate.per_second.is_finite());
        let life = u64::from(self.directory.token_life_s);
        if !sound {
            return Err(LobbyError::Setting(
                "a rate has a burst of at least 1 and a number per second",
            ));
        }
        if !(1..=MAX_TOKEN_LIFE_S).contains(&life) {
            return Err(LobbyError::Setting("directory.token_life_s is 1 to 300"));
        }
        if self.patience_s == 0 || self.silence_s < 2 {
            return Err(LobbyError::Setting(
                "patience_s is at least 1, silence_s at least 2",
            ));
        }
        if self.store != StoreChoice::Memory && self.signing_key.is_none() {
            return Err(LobbyError::NoKey);
        }
        Ok(())
    }
}

/// Why a lobby does not open.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LobbyError {
    /// The store is none that there is.
    #[error("{0:?} is no store: write memory, sqlite:FILE or postgres://user@host/database")]
    Store(String),
    /// A setting makes no sense.
    #[error("a setting of the lobby makes no sense: {0}")]
    Setting(&'static str),
    /// A store that outlives the program, and a key that does not.
    #[error(
        "a store that outlives the program needs a signing key that does: set signing_key, or --key-file"
    )]
    NoKey,
    /// Another lobby of the store signs with another key.
    #[error(
        "the store's lobbies sign with the key {found}, this one with {own}: give all of them the same key file"
    )]
    OtherKey {
        /// In the store.
        found: String,
        /// This one's.
        own: String,
    },
    /// The address cannot be listened at.
    #[error("cannot listen at {0}: {1}; choose another address or end the program that has it")]
    Listen(SocketAddr, String),
    /// The store failed.
    #[error(transparent)]
    StoreFailed(#[from] StoreError),
    /// No threads, no event loop.
    #[error("the lobby cannot run: {0}")]
    Runtime(String),
    /// No random bytes.
    #[error("the system gives no random bytes")]
    Randomness,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_read_as_people_write_them() {
        let read = |text: &str| text.parse::<StoreChoice>();
        assert_eq!(read("memory"), Ok(StoreChoice::Memory));
        assert_eq!(
            read("sqlite:lobby.db"),
            Ok(StoreChoice::Sqlite("lobby.db".into()))
        );
        let url = "postgres://ada@db/lobby";
        assert_eq!(read(url), Ok(StoreChoice::Postgres(url.into())));
        assert_eq!(
            read("postgres:host=/run dbname=l"),
            Ok(StoreChoice::Postgres("host=/run dbname=l".into()))
        );
        for text in [
            "memory",
            "sqlite:lobby.db",
            url,
            "postgres:host=/run dbname=l",
        ] {
            assert_eq!(String::from(read(text).unwrap()), text);
        }
        for text in ["", "disk", "sqlite:", "postgres:", "mysql://x"] {
            assert_eq!(read(text), Err(LobbyError::Store(text.into())));
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        assert_eq!(LobbyConfig::default().check(), Ok(()));
        let file = LobbyConfig {
            store: StoreChoice::Sqlite("x".into()),
            ..LobbyConfig::default()
        };
        assert_eq!(file.check(), Err(LobbyError::NoKey));
        let mut life = LobbyConfig::default();
        life.directory.token_life_s = 301;
        assert!(matches!(life.check(), Err(LobbyError::Setting(_))));
    }
}
