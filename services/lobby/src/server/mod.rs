//! `Lobby`: the core on real sockets, with a store, for a program to embed or to be a service.

mod accept;
mod config;
mod engine;
mod http;
mod metrics;
mod openapi;
mod socket;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use samestep_proto::{LobbyKey, TokenIssuer};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

pub use config::{LobbyConfig, LobbyError, StoreChoice};
pub use openapi::openapi;

use crate::directory::Directory;
use crate::store::{
    CommitError, Content, Expect, Postgres, Record, Sqlite, Store, StoreError, Table, Write,
};
use engine::Engine;
use metrics::Counters;

/// Where the key that signs tokens is named in the store.
const KEY: &str = "lobby-key";
/// How long connections have to end when the lobby shuts down.
const FAREWELL: Duration = Duration::from_secs(5);

/// Now, since 1970-01-01 UTC.
fn now() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// A lobby with an open socket, which [`serve`](Self::serve) runs.
#[derive(Debug)]
pub struct Lobby {
    listener: TcpListener,
    address: SocketAddr,
    config: Arc<LobbyConfig>,
    store: Arc<dyn Store>,
    directory: Directory,
}

impl Lobby {
    /// Opens socket and store, and reads the rooms that are there.
    ///
    /// # Errors
    /// [`LobbyError`] says what to do.
    pub async fn bind(config: LobbyConfig) -> Result<Self, LobbyError> {
        config.check()?;
        let store: Arc<dyn Store> = match &config.store {
            StoreChoice::Memory => Arc::new(Sqlite::in_memory()?),
            StoreChoice::Sqlite(file) => Arc::new(Sqlite::open(file)?),
            StoreChoice::Postgres(url) => Arc::new(Postgres::connect(url).await?),
        };
        Self::with_store(config, store).await
    }

    /// The same with a store that is open already.
    ///
    /// # Errors
    /// [`LobbyError`] says what to do.
    pub async fn with_store(
        config: LobbyConfig,
        store: Arc<dyn Store>,
    ) -> Result<Self, LobbyError> {
        config.check()?;
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|_| LobbyError::Randomness)?;
        let secret = match &config.signing_key {
            Some(secret) => **secret,
            None => {
                let mut secret = [0; 32];
                getrandom::fill(&mut secret).map_err(|_| LobbyError::Randomness)?;
                secret
            }
        };
        let issuer = TokenIssuer::new(secret);
        agree_on_key(&*store, &issuer.public_key()).await?;
        let mut directory =
            Directory::new(config.directory.clone(), issuer, seed, store.is_shared());
        let listener = TcpListener::bind(config.listen).await;
        let listener =
            listener.map_err(|error| LobbyError::Listen(config.listen, error.to_string()))?;
        let address = listener.local_addr();
        let address =
            address.map_err(|error| LobbyError::Listen(config.listen, error.to_string()))?;
        let rooms = all_rooms(&*store).await?;
        directory.handle_all_rooms(now(), &rooms);
        Ok(Self {
            listener,
            address,
            config: Arc::new(config),
            store,
            directory,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The key that signs its connect tokens.
    pub fn lobby_key(&self) -> LobbyKey {
        *self.directory.lobby_key()
    }

    /// Runs until `shutdown` is done. Then members are told, their connections are closed, and what was asked is committed.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        let counters = Arc::new(Counters::default());
        let (stop, stopping) = watch::channel(false);
        let (engine, to_engine) = Engine::new(self.directory, self.store, Arc::clone(&counters));
        let engine = tokio::spawn(engine.run());
        let state = http::State {
            engine: to_engine,
            counters,
            config: self.config,
            stopping,
            next: Arc::default(),
        };
        tracing::info!(address = %self.address, "the lobby is open");
        let mut open = accept::accept(&self.listener, state, shutdown).await;
        tracing::info!("the lobby shuts down");
        drop(self.listener);
        let _ = stop.send(true);
        let ended = async { while open.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, ended).await.is_err() {
            tracing::warn!("connections do not end: they are cut");
        }
        let _ = tokio::time::timeout(FAREWELL, engine).await;
    }

    /// Runs a lobby on a thread of its own, for the program that hosts it.
    ///
    /// ```
    /// use samestep_lobby::{Lobby, LobbyConfig};
    ///
    /// let lobby = Lobby::start(LobbyConfig::local())?;
    /// println!("others find us at {}", lobby.address());
    /// lobby.stop();
    /// # Ok::<_, samestep_lobby::LobbyError>(())
    /// ```
    ///
    /// # Errors
    /// [`LobbyError`] says what to do.
    pub fn start(config: LobbyConfig) -> Result<RunningLobby, LobbyError> {
        let (report, reported) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => {
                    let _ = report.send(Err(LobbyError::Runtime(error.to_string())));
                    return;
                }
            };
            runtime.block_on(async move {
                match Self::bind(config).await {
                    Err(error) => drop(report.send(Err(error))),
                    Ok(lobby) => {
                        let _ = report.send(Ok((lobby.address(), lobby.lobby_key())));
                        lobby.serve(async { drop(stopped.await) }).await;
                    }
                }
            });
        };
        let thread = std::thread::Builder::new().name("lobby".into()).spawn(run);
        let thread = thread.map_err(|error| LobbyError::Runtime(error.to_string()))?;
        let ended = |_| LobbyError::Runtime("its thread has ended".into());
        let (address, key) = reported.recv().map_err(ended)??;
        Ok(RunningLobby {
            address,
            key,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

/// A lobby on a thread of its own, which ends with it.
#[derive(Debug)]
pub struct RunningLobby {
    address: SocketAddr,
    key: LobbyKey,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl RunningLobby {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The key that signs its connect tokens, for `SessionConfig::admits_by_lobby`.
    pub fn lobby_key(&self) -> LobbyKey {
        self.key
    }

    /// Tells members, and waits until it has ended.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for RunningLobby {
    fn drop(&mut self) {
        self.end();
    }
}

/// All lobbies of a store sign with one key, or members of one could not play at hosts of another.
async fn agree_on_key(store: &dyn Store, key: &LobbyKey) -> Result<(), LobbyError> {
    let write = Write {
        table: Table::Meta,
        key: KEY.into(),
        expect: Expect::Absent,
        content: Some(Content {
            payload: key.to_string().into_bytes(),
            ..Content::default()
        }),
    };
    match store.commit(vec![write]).await {
        Ok(()) => Ok(()),
        Err(CommitError::Store(error)) => Err(error.into()),
        Err(CommitError::Conflict { .. }) => {
            let found = store.load(Table::Meta, KEY.into()).await?;
            let found = found.map(|record| String::from_utf8_lossy(&record.payload).into_owned());
            let found = found.unwrap_or_default();
            let same = found == key.to_string();
            same.then_some(()).ok_or_else(|| LobbyError::OtherKey {
                found,
                own: key.to_string(),
            })
        }
    }
}

/// Every room of the store, a page at a time.
async fn all_rooms(store: &dyn Store) -> Result<Vec<Record>, StoreError> {
    const PAGE: u32 = 500;
    let mut rooms: Vec<Record> = Vec::new();
    loop {
        let after = rooms
            .last()
            .map_or_else(String::new, |room| room.key.clone());
        let page = store.list(Table::Rooms, after, PAGE).await?;
        let last = page.len() < PAGE as usize;
        rooms.extend(page);
        if last {
            return Ok(rooms);
        }
    }
}
