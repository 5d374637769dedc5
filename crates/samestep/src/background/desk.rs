//! Where the program and the session's thread meet.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use samestep_session::{LeaveReason, PeerId, PlayerInfo, Session, SessionEvent, State};

use super::shared::Follower;

pub type Job = Box<dyn FnOnce(Duration, &mut Session) + Send>;

/// The queues between the program and the thread.
pub struct Desk {
    board: Mutex<Board>,
    pub news: Condvar,
    pub waker: Waker,
}

pub struct Board {
    // For the thread.
    pub jobs: Vec<Job>,
    pub newcomers: Vec<Box<dyn Follower>>,
    pub farewell: Option<String>,
    // For the program.
    pub state: State,
    pub complete: bool,
    pub left: Option<LeaveReason>,
    pub failure: Option<String>,
    pub has_ended: bool,
    pub me: Option<PeerId>,
    pub players: Vec<PlayerInfo>,
    pub events: VecDeque<SessionEvent>,
}

impl Desk {
    pub fn new(waker: Waker) -> Desk {
        Desk {
            board: Mutex::new(Board {
                jobs: Vec::new(),
                newcomers: Vec::new(),
                farewell: None,
                state: State::Connecting,
                complete: false,
                left: None,
                failure: None,
                has_ended: false,
                me: None,
                players: Vec::new(),
                events: VecDeque::new(),
            }),
            news: Condvar::new(),
            waker,
        }
    }

    /// Held only for moments, and nothing foreign runs meanwhile: it cannot be poisoned half-way through something.
    pub fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub fn wait<'a>(&self, board: MutexGuard<'a, Board>, time: Duration) -> MutexGuard<'a, Board> {
        match self.news.wait_timeout(board, time) {
            Ok((board, _)) => board,
            Err(poisoned) => poisoned.into_inner().0,
        }
    }

    pub fn wake(&self) {
        self.waker.wake();
    }
}

/// Wakes the thread, which waits for datagrams, with a datagram: works on every system, and a session drops it like any
/// other noise.
pub struct Waker {
    socket: std::net::UdpSocket,
    pending: AtomicBool,
}

impl Waker {
    pub fn new(local: SocketAddr) -> io::Result<Waker> {
        let (v4, v6) = (
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        );
        // A socket for both families is reached over either, also where loopback has only one.
        let ways = match local.ip() {
            ip if !ip.is_unspecified() => [ip, ip],
            IpAddr::V4(_) => [v4, v4],
            IpAddr::V6(_) => [v6, v4],
        };
        let bind = |ip| std::net::UdpSocket::bind((ip, 0)).map(|socket| (socket, ip));
        let (socket, ip) = bind(ways[0]).or_else(|_| bind(ways[1]))?;
        socket.set_nonblocking(true)?;
        socket.connect((ip, local.port()))?;
        Ok(Waker {
            socket,
            pending: AtomicBool::new(false),
        })
    }

    pub fn wake(&self) {
        if !self.pending.swap(true, Ordering::AcqRel) {
            // If it does not fit, other datagrams wait there already.
            let _ = self.socket.send(&[0]);
        }
    }

    pub fn on_awake(&self) {
        self.pending.store(false, Ordering::Release);
    }
}
