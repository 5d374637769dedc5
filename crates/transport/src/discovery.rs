use crate::{Datagram, Poller, clock, poller};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::time::Duration;

/// The port on which programs can be found unless they agree on another.
pub const DISCOVERY_PORT: u16 = 14241;

/// The multicast group of those who want to be found; of the addresses that stay within a site.
pub const DISCOVERY_GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 83, 115);

/// Receives what is sent to everyone in the local network, and replies to its sender.
///
/// Several on one machine, also of different programs, share a port and all receive everything. Listens on all interfaces, loopback
/// included, for multicast and for broadcast, since networks tend to lose one of the two.
#[derive(Debug)]
pub struct LanListener {
    socket: UdpSocket,
    port: u16,
    buffer: Vec<u8>,
}

impl LanListener {
    /// Listens on a port, usually [`DISCOVERY_PORT`]; 0 for any free one.
    pub fn bind(port: u16) -> io::Result<LanListener> {
        let addr = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
        let open = || -> io::Result<UdpSocket> {
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
            // Enough on Linux and Windows; the others share a port only if both options say so.
            socket.set_reuse_address(true)?;
            #[cfg(all(
                unix,
                not(any(
                    target_os = "linux",
                    target_os = "android",
                    target_os = "solaris",
                    target_os = "illumos"
                ))
            ))]
            socket.set_reuse_port(true)?;
            socket.bind(&addr.into())?;
            socket.set_nonblocking(true)?;
            Ok(socket.into())
        };
        let socket = open().map_err(|error| crate::bind::explain("UDP", addr, error))?;
        let mut listener = LanListener {
            port: socket.local_addr()?.port(),
            socket,
            buffer: vec![0; BUFFER_BYTES],
        };
        listener.refresh();
        Ok(listener)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Listens on interfaces that have appeared meanwhile, too; call it every few seconds.
    pub fn refresh(&mut self) {
        for interface in interfaces() {
            // Being a member already is an error too. Where multicast does not work broadcast may.
            let _ = self
                .socket
                .join_multicast_v4(&DISCOVERY_GROUP, &interface.address);
        }
    }

    /// The next datagram that has arrived, if any.
    pub fn recv(&mut self) -> io::Result<Option<Datagram<'_>>> {
        let found = read(&self.socket, &mut self.buffer)?;
        Ok(found.map(|found| datagram(found, &mut self.buffer)))
    }

    /// Sends to one address. What cannot be sent is dropped, as the network may do anyway.
    pub fn reply(&mut self, to: SocketAddr, datagram: &[u8]) {
        let _ = self.socket.send_to(datagram, to);
    }

    /// Blocks until a datagram may be there or the [clock](crate::now) reaches `until`; `None` waits for ever.
    pub fn wait(&mut self, until: Option<Duration>) -> io::Result<()> {
        poller::wait_readable(&self.socket, until)
    }
}

/// Sends to everyone in the local network and receives the replies.
///
/// Sends on all interfaces, loopback included, by multicast and by broadcast: a listener may receive it more than once.
#[derive(Debug)]
pub struct LanSeeker {
    sockets: Vec<SeekerSocket>,
    poller: Poller,
    port: u16,
    /// The socket to read from next, so that none is starved.
    next: usize,
    buffer: Vec<u8>,
}

/// A socket at one interface.
#[derive(Debug)]
struct SeekerSocket {
    interface: Interface,
    socket: UdpSocket,
}

impl LanSeeker {
    /// Speaks to listeners at a port, usually [`DISCOVERY_PORT`].
    pub fn new(port: u16) -> io::Result<LanSeeker> {
        let mut seeker = LanSeeker {
            sockets: Vec::new(),
            poller: Poller::new()?,
            port,
            next: 0,
            buffer: vec![0; BUFFER_BYTES],
        };
        seeker.refresh();
        if seeker.sockets.is_empty() {
            return Err(io::Error::new(
                ErrorKind::NetworkUnreachable,
                "no network interface with an IPv4 address is up, not even loopback",
            ));
        }
        Ok(seeker)
    }

    /// Speaks on interfaces that have appeared meanwhile, too, and no longer on those that are gone.
    pub fn refresh(&mut self) {
        let now = interfaces();
        let poller = &mut self.poller;
        self.sockets.retain(|open| {
            let stays = now.contains(&open.interface);
            if !stays {
                let _ = poller.remove(&open.socket, open.interface.key());
            }
            stays
        });
        for interface in now {
            if self.sockets.iter().any(|m| m.interface == interface) {
                continue;
            }
            // An interface that allows neither is of no use; the others are.
            if let Ok(socket) = open_at(&interface)
                && self.poller.add(&socket, interface.key()).is_ok()
            {
                self.sockets.push(SeekerSocket { interface, socket });
            }
        }
    }

    /// Sends to everyone. The error is the last one if nothing could be sent on any interface.
    pub fn send_to_all(&mut self, datagram: &[u8]) -> io::Result<()> {
        let mut outcome = Err(ErrorKind::NetworkUnreachable.into());
        for SeekerSocket { interface, socket } in &self.sockets {
            for to in [Some(DISCOVERY_GROUP), interface.broadcast] {
                let Some(to) = to else { continue };
                match socket.send_to(datagram, SocketAddrV4::new(to, self.port)) {
                    Ok(_) => outcome = Ok(()),
                    Err(error) if outcome.is_err() => outcome = Err(error),
                    Err(_) => {}
                }
            }
        }
        outcome
    }

    /// The next datagram that has arrived, if any.
    pub fn recv(&mut self) -> io::Result<Option<Datagram<'_>>> {
        let count = self.sockets.len();
        for step in 0..count {
            let at = (self.next + step) % count;
            if let Some(found) = read(&self.sockets[at].socket, &mut self.buffer)? {
                self.next = at + 1;
                return Ok(Some(datagram(found, &mut self.buffer)));
            }
        }
        Ok(None)
    }

    /// Blocks until a datagram may be there or the [clock](crate::now) reaches `until`; `None` waits for ever.
    pub fn wait(&mut self, until: Option<Duration>) -> io::Result<()> {
        self.poller.wait(until).map(drop)
    }
}

/// More than any datagram of discovery; what is longer is cut, and refused by who reads it.
const BUFFER_BYTES: usize = 2048;

/// An interface's IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interface {
    address: Ipv4Addr,
    broadcast: Option<Ipv4Addr>,
}

impl Interface {
    /// Its key in the poller.
    fn key(&self) -> u64 {
        u32::from(self.address).into()
    }
}

/// Broadcast on the loopback interface, which does not say so itself.
const LOOPBACK: Interface = Interface {
    address: Ipv4Addr::LOCALHOST,
    broadcast: Some(Ipv4Addr::new(127, 255, 255, 255)),
};

#[cfg(any(target_os = "linux", target_os = "android"))]
fn interfaces() -> Vec<Interface> {
    use nix::net::if_::InterfaceFlags;
    let Ok(all) = nix::ifaddrs::getifaddrs() else {
        return vec![LOOPBACK];
    };
    let ip =
        |address: Option<nix::sys::socket::SockaddrStorage>| Some(address?.as_sockaddr_in()?.ip());
    let mut found = Vec::new();
    for entry in all.filter(|entry| entry.flags.contains(InterfaceFlags::IFF_UP)) {
        let Some(address) = ip(entry.address) else {
            continue;
        };
        let interface = if address == LOOPBACK.address {
            LOOPBACK
        } else {
            let broadcast = ip(entry.broadcast)
                .filter(|_| entry.flags.contains(InterfaceFlags::IFF_BROADCAST))
                .filter(|broadcast| *broadcast != address);
            Interface { address, broadcast }
        };
        if !found.contains(&interface) {
            found.push(interface);
        }
    }
    found
}

/// Without a list of the interfaces: whichever the system prefers, and loopback.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn interfaces() -> Vec<Interface> {
    let any = Interface {
        address: Ipv4Addr::UNSPECIFIED,
        broadcast: Some(Ipv4Addr::BROADCAST),
    };
    vec![any, LOOPBACK]
}

fn open_at(interface: &Interface) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.bind(&SocketAddrV4::new(interface.address, 0).into())?;
    socket.set_multicast_if_v4(&interface.address)?;
    // Not beyond the next router, but to listeners on this machine.
    socket.set_multicast_ttl_v4(1)?;
    socket.set_multicast_loop_v4(true)?;
    socket.set_broadcast(true)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn datagram((len, from): (usize, SocketAddr), buffer: &mut [u8]) -> Datagram<'_> {
    Datagram {
        from,
        at: clock::now(),
        bytes: &mut buffer[..len],
    }
}

/// One datagram. What the network reports about earlier ones is passed over: it must not stop the socket.
fn read(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
    const REPORTS: usize = 64;
    for _ in 0..REPORTS {
        match socket.recv_from(buffer) {
            Ok(received) => return Ok(Some(received)),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => return Ok(None),
                ErrorKind::Interrupted
                | ErrorKind::ConnectionRefused
                | ErrorKind::ConnectionReset
                | ErrorKind::HostUnreachable
                | ErrorKind::NetworkUnreachable
                | ErrorKind::NetworkDown => {}
                _ => return Err(error),
            },
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const LIMIT: Duration = Duration::from_secs(10);

    /// Asks until every listener has replied; the network may lose something even on one machine.
    fn everyone_replies(seeker: &mut LanSeeker, listeners: &mut [LanListener]) {
        let end = clock::now() + LIMIT;
        let mut replies = BTreeSet::new();
        while replies.len() < listeners.len() {
            assert!(clock::now() < end, "only {replies:?} replied");
            seeker.send_to_all(b"who is there?").unwrap();
            for (number, listener) in listeners.iter_mut().enumerate() {
                listener
                    .wait(Some(clock::now() + Duration::from_millis(20)))
                    .unwrap();
                while let Some(datagram) = listener.recv().unwrap() {
                    assert_eq!(datagram.bytes, b"who is there?");
                    let from = datagram.from;
                    listener.reply(from, &[number as u8]);
                }
            }
            while let Some(datagram) = seeker.recv().unwrap() {
                replies.insert(datagram.bytes[0]);
            }
            seeker
                .wait(Some(clock::now() + Duration::from_millis(20)))
                .unwrap();
            while let Some(datagram) = seeker.recv().unwrap() {
                replies.insert(datagram.bytes[0]);
            }
        }
    }

    #[test]
    fn several_listeners_on_one_machine_share_a_port() {
        let first = LanListener::bind(0).unwrap();
        let port = first.port();
        let others = (0..2).map(|_| LanListener::bind(port).unwrap());
        let mut listeners: Vec<_> = std::iter::once(first).chain(others).collect();
        let mut seeker = LanSeeker::new(port).unwrap();
        everyone_replies(&mut seeker, &mut listeners);
        seeker.refresh();
        listeners[0].refresh();
        everyone_replies(&mut seeker, &mut listeners);
    }

    #[test]
    fn loopback_alone_is_enough_by_multicast_and_by_broadcast() {
        let mut listener = LanListener::bind(0).unwrap();
        for to in [Some(DISCOVERY_GROUP), LOOPBACK.broadcast] {
            let socket = open_at(&LOOPBACK).unwrap();
            let to = SocketAddrV4::new(to.unwrap(), listener.port());
            socket.send_to(b"hello", to).unwrap();
            listener.wait(Some(clock::now() + LIMIT)).unwrap();
            let datagram = listener.recv().unwrap().expect("it arrived");
            assert_eq!(datagram.bytes, b"hello");
            assert_eq!(datagram.from, socket.local_addr().unwrap());
            assert!(listener.recv().unwrap().is_none(), "once");
        }
        assert!(interfaces().contains(&LOOPBACK));
    }

    #[test]
    fn nobody_there_is_no_error() {
        let port = LanListener::bind(0).unwrap().port();
        let mut seeker = LanSeeker::new(port).unwrap();
        for _ in 0..3 {
            seeker.send_to_all(b"who is there?").unwrap();
            seeker
                .wait(Some(clock::now() + Duration::from_millis(5)))
                .unwrap();
            assert!(seeker.recv().unwrap().is_none());
        }
    }
}
