//! Sockets with the same settings for everyone, and the limits they need.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
};

use nix::{
    sched::{CpuSet, sched_setaffinity},
    sys::resource::{Resource, getrlimit, setrlimit},
    unistd::Pid,
};
use socket2::{Domain, Protocol, Socket, Type};

/// Receive buffer asked for by servers: a ping of every client must fit, or unreliable pings are lost in the kernel.
const SERVER_BUFFER_BYTES: usize = 4 << 20;

/// Any port on this machine.
pub const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A non-blocking UDP socket for a server, with a large receive buffer.
pub fn server_udp() -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_recv_buffer_size(SERVER_BUFFER_BYTES)?;
    socket.set_send_buffer_size(SERVER_BUFFER_BYTES)?;
    socket.set_nonblocking(true)?;
    socket.bind(&ANY.into())?;
    Ok(socket.into())
}

/// A non-blocking UDP socket for a client.
pub fn client_udp() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(ANY)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// `None` where the call would block.
pub fn pending<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Lets this process open as many files as the system allows it.
pub fn raise_file_limit() {
    // Too low a limit shows itself when the sockets are opened.
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Keeps this process on one processor, so that server and clients do not move between rounds.
pub fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    // Where there is no such processor the scheduler decides, as it would anyway.
    if set.set(cpu).is_ok() {
        let _ = sched_setaffinity(Pid::from_raw(0), &set);
    }
}
