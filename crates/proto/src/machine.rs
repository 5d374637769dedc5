//! The shape that endpoints, sessions and matches share, so that one loop drives any of them.

use core::time::Duration;
use std::net::SocketAddr;

use crate::endpoint::Endpoint;
use crate::event::{Event, Transmit};

/// Something that talks to the network without doing IO: datagrams and the time go in, datagrams and events come out.
///
/// One loop drives any of them: hand over what arrives, call [`handle_timeout`](Machine::handle_timeout) when
/// [`poll_timeout`](Machine::poll_timeout) is due, then send what [`poll_transmit`](Machine::poll_transmit) gives and read
/// the events.
pub trait Machine {
    /// What its owner is notified of.
    type Event;

    /// Takes a datagram that arrived at `now`. It may be changed in place.
    fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]);

    /// Lets time pass. Calling it more often than needed does no harm.
    fn handle_timeout(&mut self, now: Duration);

    /// Fills `buf`, which holds at least [`max_packet`](Machine::max_packet) bytes, with the next datagram to send. Call
    /// until `None`.
    fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit>;

    /// When `handle_timeout` wants to be called next.
    fn poll_timeout(&mut self) -> Option<Duration>;

    /// The next event.
    fn poll_event(&mut self) -> Option<Self::Event>;

    /// Longest datagram it sends.
    fn max_packet(&self) -> usize;
}

impl Machine for Endpoint {
    type Event = Event;

    fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        Endpoint::handle_datagram(self, now, from, datagram);
    }

    fn handle_timeout(&mut self, now: Duration) {
        Endpoint::handle_timeout(self, now);
    }

    fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        Endpoint::poll_transmit(self, now, buf)
    }

    fn poll_timeout(&mut self) -> Option<Duration> {
        Endpoint::poll_timeout(self)
    }

    fn poll_event(&mut self) -> Option<Event> {
        Endpoint::poll_event(self)
    }

    fn max_packet(&self) -> usize {
        self.config().max_packet
    }
}
