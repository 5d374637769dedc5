//! What the one who measures and the one who is measured tell each other.

use std::{
    net::SocketAddr,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

/// Longest time anything may sleep without looking at its [`Control`].
pub const PATIENCE: Duration = Duration::from_millis(100);

/// Shared between a measured side and its measurer, which is another thread.
#[derive(Default)]
pub struct Control {
    address: OnceLock<SocketAddr>,
    connected: AtomicUsize,
    go: AtomicBool,
    stop: AtomicBool,
    trips: AtomicU64,
    retries: AtomicU64,
}

impl Control {
    /// The server is listening.
    pub fn announce(&self, address: SocketAddr) {
        self.address
            .set(address)
            .expect("a server announces itself once");
    }

    /// Where the server listens, once it does.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address.get().copied()
    }

    /// One more client is connected.
    pub fn on_connected(&self) {
        self.connected.fetch_add(1, Relaxed);
    }

    /// Clients connected so far.
    pub fn connected(&self) -> usize {
        self.connected.load(Relaxed)
    }

    /// Let the clients begin.
    pub fn go(&self) {
        self.go.store(true, Relaxed);
    }

    /// Whether the clients may begin.
    pub fn is_going(&self) -> bool {
        self.go.load(Relaxed)
    }

    /// End the loops.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether the loops should end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// A ping came back.
    pub fn on_trip(&self) {
        // One writer: a plain store is enough and costs no bus lock in the measured loop.
        self.trips.store(self.trips.load(Relaxed) + 1, Relaxed);
    }

    /// Pings that came back.
    pub fn trips(&self) -> u64 {
        self.trips.load(Relaxed)
    }

    /// A ping was repeated because no answer came.
    pub fn on_retry(&self) {
        self.retries.fetch_add(1, Relaxed);
    }

    /// Pings repeated.
    pub fn retries(&self) -> u64 {
        self.retries.load(Relaxed)
    }
}
