//! The attacker opens as many TCP connections as they can and says on them as little as possible: nothing, or a byte now and then. They wanted
//! to take all places, so that nobody else gets in (the attack known as Slowloris, 2009).

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use samestep_transport::{Tcp, TcpConfig, Transport, now};
use socket2::{Domain, Socket, Type};

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

fn server(config: TcpConfig) -> Tcp {
    Tcp::with_config(Some("127.0.0.1:0".parse().unwrap()), config).unwrap()
}

/// Short time-outs, so that the test does not take long.
fn impatient() -> TcpConfig {
    TcpConfig {
        first_datagram: Duration::from_millis(200),
        idle_timeout: Duration::from_millis(400),
        per_address: 1000,
        ..TcpConfig::default()
    }
}

/// Lets the server work for a moment; what it received.
fn serve(server: &mut Tcp) -> Vec<(SocketAddr, Vec<u8>)> {
    let mut received = Vec::new();
    while let Some(datagram) = server.recv().unwrap() {
        received.push((datagram.from, datagram.bytes.to_vec()));
    }
    for (from, datagram) in &received {
        server.send(*from, datagram).unwrap();
    }
    server.wait(Some(now() + Duration::from_millis(1))).unwrap();
    received
}

/// Serves until something holds.
fn serve_until(server: &mut Tcp, mut what: impl FnMut(&mut Tcp) -> bool) {
    let deadline = now() + PATIENCE;
    while !what(server) {
        assert!(now() < deadline, "it did not happen in {PATIENCE:?}");
        serve(server);
    }
}

/// Sends a byte, if the connection is still there.
fn dribble(stream: &mut TcpStream, byte: u8) {
    stream.set_nonblocking(true).unwrap();
    let _ = stream.write(&[byte]);
}

fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    match stream.read(&mut [0; 64]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

#[test]
fn whoever_says_nothing_whole_is_thrown_out_and_others_are_not() {
    let mut server = server(impatient());
    let mut honest = Tcp::outgoing().unwrap();
    let to = server.local_addr();
    let mut silent: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(to).unwrap()).collect();
    let mut dribbling: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(to).unwrap()).collect();
    let mut echoed = 0;
    let started = now();
    serve_until(&mut server, |server| {
        // Each announces a datagram of 1028 bytes, and sends them one at a time.
        for stream in &mut dribbling {
            dribble(stream, 4);
        }
        honest.send(to, b"here").unwrap();
        honest.wait(Some(now())).unwrap();
        while honest.recv().unwrap().is_some() {
            echoed += 1;
        }
        let lasted = now() - started > Duration::from_millis(1000);
        lasted && server.stats().connections_timed_out == 200
    });
    assert_eq!((server.connections(), honest.connections()), (1, 1));
    assert!(echoed > 10, "the honest one was answered {echoed} times");
    assert!(silent.iter_mut().chain(&mut dribbling).all(is_closed));
}

/// Having sent a datagram once is no licence.
#[test]
fn whoever_falls_silent_later_is_thrown_out_too() {
    let mut server = server(impatient());
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    stream.write_all(&[0, 2, b'h', b'i']).unwrap();
    serve_until(&mut server, |server| server.stats().received == 1);
    serve_until(&mut server, |server| {
        dribble(&mut stream, 4);
        server.connections() == 0
    });
    assert_eq!(server.stats().connections_timed_out, 1);
}

/// A server that does not read either wakes up by itself.
#[test]
fn waiting_for_ever_ends_with_the_next_time_out() {
    let mut server = server(impatient());
    let _silent = TcpStream::connect(server.local_addr()).unwrap();
    let deadline = now() + PATIENCE;
    while server.stats().connections_timed_out == 0 {
        assert!(now() < deadline);
        server.wait(None).unwrap();
    }
    assert_eq!(server.connections(), 0);
}

/// The attacker has one address, and with it all the places there are.
#[test]
#[cfg(target_os = "linux")]
fn one_address_takes_its_share_and_no_more() {
    let config = TcpConfig {
        max_connections: 50,
        per_address: 10,
        ..TcpConfig::default()
    };
    let mut server = server(config);
    let to = server.local_addr();
    let mut held = Vec::new();
    for round in 1..=5 {
        held.extend((0..20).map(|_| TcpStream::connect(to).unwrap()));
        serve_until(&mut server, |server| {
            server.stats().connections_refused == 20 * round - 10
        });
        assert_eq!(server.connections(), 10);
    }
    // Somebody else, from another address of this machine.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let other: SocketAddr = "127.0.0.2:0".parse().unwrap();
    socket.bind(&other.into()).unwrap();
    socket.connect(&to.into()).unwrap();
    let mut newcomer = TcpStream::from(socket);
    newcomer.write_all(&[0, 2, b'h', b'i']).unwrap();
    serve_until(&mut server, |server| server.stats().received == 1);
    assert_eq!(server.connections(), 11);
    // Those who leave make room for others of their address.
    drop(held);
    serve_until(&mut server, |server| server.connections() == 1);
    let _again = TcpStream::connect(to).unwrap();
    serve_until(&mut server, |server| server.connections() == 2);
}
