//! [`Background`]: a session on a thread of its own.

mod desk;
mod shared;
mod worker;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use samestep_session::{
    LeaveReason, Message, NetworkId, PlayerId, PlayerInfo, Role, SendError, Session, SessionConfig,
    SessionEvent, SetupError, ShareError, State, To,
};
use samestep_sync::SharedFields;
use samestep_transport::{Transport, Udp, UdpConfig};

use self::desk::{Desk, Waker};
pub use self::shared::SharedHandle;
use self::worker::Worker;
use crate::address::{AddressError, Listen, resolve_join};
use crate::driver::{Driver, seed, session_with_clock};
use crate::password::PasswordError;
use crate::token::ReadTokenError;

/// A session on a thread of its own, for programs without a loop: tools, editors, anything that only shares a few values.
///
/// It keeps what is [shared](Background::share) the same everywhere, and leaves the room when it is dropped. All calls are cheap and
/// may come from any thread.
///
/// ```no_run
/// use samestep::prelude::*;
/// use samestep::{Background, DEFAULT_PORT};
/// use samestep::session::NetworkId;
/// use std::time::Duration;
///
/// #[derive(Default, SharedFields)]
/// struct Lamp {
///     #[shared(owner = authority)]
///     is_on: Synced<bool>,
///     /// Everyone counts, and nobody's count is lost.
///     #[shared(owner = authority, exact, changed_by = all)]
///     pressed: Variable<u32>,
/// }
///
/// let room = Background::host(DEFAULT_PORT, SessionConfig::new("lamp", 1).player("Ada"))?;
/// let lamp = room.share(NetworkId::Static(1), Lamp::default())?;
/// room.wait_in_sync(Duration::from_secs(5))?;
/// lamp.write(|lamp| lamp.is_on.set(true))?;
/// lamp.write(|lamp| lamp.pressed.modify(1))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Background {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
    local_addr: SocketAddr,
}

impl Background {
    /// Opens a room on this machine at `port`, 0 for any free one. Without players of its own it is a dedicated server.
    pub fn host(at: impl Into<Listen>, config: SessionConfig) -> Result<Background, StartError> {
        Background::start(bind_any(at.into())?, config, Role::Host)
    }

    /// Joins a host's room: `"example.org:14242"`, `"192.168.0.7"`, `"[::1]:5000"`, each also with the host's key behind a `#`.
    pub fn join(address: &str, config: SessionConfig) -> Result<Background, StartError> {
        let join = resolve_join(address)?;
        Background::start(bind_towards(join.address)?, config, Role::Client(join))
    }

    /// Opens a mesh on this machine at `port`, 0 for any free one.
    pub fn open_mesh(
        at: impl Into<Listen>,
        config: SessionConfig,
    ) -> Result<Background, StartError> {
        Background::start(bind_any(at.into())?, config, Role::Introducer)
    }

    /// Joins a mesh through any of its members.
    pub fn join_mesh(address: &str, config: SessionConfig) -> Result<Background, StartError> {
        let join = resolve_join(address)?;
        Background::start(bind_towards(join.address)?, config, Role::Peer(join))
    }

    /// Takes any role in a room, over a socket of your own.
    pub fn start(udp: Udp, config: SessionConfig, role: Role) -> Result<Background, StartError> {
        let config = session_with_clock(udp.now(), config);
        let session = Session::new(udp.now(), config, role, seed().map_err(StartError::Io)?)
            .map_err(StartError::Setup)?;
        let local_addr = udp.local_addr();
        let desk = Arc::new(Desk::new(Waker::new(local_addr).map_err(StartError::Io)?));
        let worker = Worker::new(Driver::over(udp, session), desk.clone());
        let thread = thread::Builder::new()
            .name("samestep".into())
            .spawn(move || worker.run())
            .map_err(StartError::Io)?;
        Ok(Background {
            desk,
            thread: Some(thread),
            local_addr,
        })
    }

    /// Keeps `fields` the same in all programs that share under this name.
    pub fn share<S>(&self, id: NetworkId, fields: S) -> Result<SharedHandle<S>, ShareError>
    where
        S: SharedFields + Send + 'static,
    {
        let handle = SharedHandle::new(id, fields, self.desk.clone())?;
        self.desk.lock().newcomers.push(handle.follower());
        self.desk.wake();
        Ok(handle)
    }

    /// Waits until this program is in the room and all its shared fields are up to date.
    pub fn wait_in_sync(&self, timeout: Duration) -> Result<(), WaitError> {
        let deadline = Instant::now() + timeout;
        let mut board = self.desk.lock();
        loop {
            if let Some(reason) = &board.left {
                return Err(WaitError::Left(reason.clone()));
            }
            if let Some(error) = &board.failure {
                return Err(WaitError::Failed(error.clone()));
            }
            if board.state == State::InSync && board.complete && board.newcomers.is_empty() {
                return Ok(());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(WaitError::TimedOut(timeout));
            }
            board = self.desk.wait(board, left);
        }
    }

    /// The state of the session.
    pub fn state(&self) -> State {
        self.desk.lock().state.clone()
    }

    /// The players in the room, in the order of their slots.
    pub fn players(&self) -> Vec<PlayerInfo> {
        self.desk.lock().players.clone()
    }

    /// The first player on this program; `None` before it has joined, or if nobody plays here.
    pub fn my_player(&self) -> Option<PlayerId> {
        let board = self.desk.lock();
        let me = board.me?;
        let mut players = board.players.iter();
        players
            .find(|player| player.peer == me)
            .map(|player| player.id)
    }

    /// Sends a message.
    pub fn send<M: Message + Send>(&self, to: To, message: M) -> Result<(), SendError> {
        self.with(move |now, session| session.send(now, to, &message))
            .unwrap_or(Err(SendError::NotInRoom))
    }

    /// The next message or other event, apart from those of shared fields; waits for it at most this long. The last 1024 are kept.
    pub fn next_event(&self, timeout: Duration) -> Option<SessionEvent> {
        let deadline = Instant::now() + timeout;
        let mut board = self.desk.lock();
        loop {
            if let Some(event) = board.events.pop_front() {
                return Some(event);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || board.has_ended {
                return None;
            }
            board = self.desk.wait(board, left);
        }
    }

    /// Calls a function with the session, on its thread, and returns the result; `None` if the thread has failed.
    pub fn with<R: Send + 'static>(
        &self,
        act: impl FnOnce(Duration, &mut Session) -> R + Send + 'static,
    ) -> Option<R> {
        let (tell, told) = mpsc::channel();
        let mut board = self.desk.lock();
        if board.has_ended {
            return None;
        }
        board.jobs.push(Box::new(move |now, session| {
            let _ = tell.send(act(now, session));
        }));
        drop(board);
        self.desk.wake();
        told.recv().ok()
    }

    /// The address others join at; if it is a wildcard, on any address of this machine.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Leaves the room with this message to the others. Dropping does the same without a message.
    pub fn leave(self, words: &str) {
        self.desk.lock().farewell = Some(words.into());
    }
}

impl Drop for Background {
    /// Leaves the room; waits at most two seconds for the acknowledgement of the others.
    fn drop(&mut self) {
        self.desk.lock().farewell.get_or_insert_default();
        self.desk.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A socket at one address, or at a port for IPv4 and IPv6.
pub(crate) fn bind_any(at: Listen) -> Result<Udp, StartError> {
    let (bound, port) = match at {
        Listen::At(address) => (Udp::bind(address), address.port()),
        Listen::Port(port) => {
            // One socket for both families; machines without IPv6 have only the other.
            let v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
            let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
            (Udp::bind(v6).or_else(|_| Udp::bind(v4)), port)
        }
    };
    bound.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => StartError::PortTaken(port),
        _ => StartError::Io(error),
    })
}

/// A socket of the family of that address.
pub(crate) fn bind_towards(address: SocketAddr) -> Result<Udp, StartError> {
    let local = match address {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    Udp::with_config(local, &UdpConfig::client()).map_err(StartError::Io)
}

/// Why a session or a game could not begin. `Debug` shows the message too, so that `main` may return it.
#[derive(thiserror::Error)]
pub enum StartError {
    /// The address cannot be resolved.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The session refuses its settings.
    #[error(transparent)]
    Setup(SetupError),
    /// The command line is none that [`Game::from_args`](crate::Game::from_args) knows.
    #[error(
        "use one of `host [PORT]`, `serve [PORT]`, `join ADDRESS`, `watch ADDRESS`, or without a host `mesh [PORT]`, `peer ADDRESS`"
    )]
    Command(String),
    /// An option that this program does not take, or that lacks its value: the message says which.
    #[error("{0}")]
    Option(String),
    /// The password of the room cannot be read.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// The connect token cannot be read.
    #[error(transparent)]
    Token(#[from] ReadTokenError),
    /// Another program listens at this port.
    #[error("port {0} is taken: end the program that listens there, or choose another port")]
    PortTaken(u16),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] crate::JournalFileError),
    /// An error of the operating system.
    #[error(transparent)]
    Io(io::Error),
}

/// Why a session did not get in sync. `Debug` shows the message too, so that `main` may return it.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// The session has ended, or was refused.
    #[error("{0}")]
    Left(LeaveReason),
    /// The session's thread has ended, because the socket failed.
    #[error("{0}")]
    Failed(String),
    /// It takes longer than this; it may still succeed.
    #[error("not in sync after {0:?}: is the host running, and is the address right?")]
    TimedOut(Duration),
}
