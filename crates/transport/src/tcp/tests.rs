use super::*;
use crate::clock;
use std::io::{Read, Write};
use std::net::TcpStream;

fn server() -> Tcp {
    Tcp::bind("127.0.0.1:0".parse().unwrap()).unwrap()
}

/// Lets both sides work until `side` has a datagram.
fn receive(side: &mut Tcp, other: &mut Tcp) -> (SocketAddr, Vec<u8>) {
    let until = clock::now() + Duration::from_secs(10);
    loop {
        if let Some(datagram) = side.recv().unwrap() {
            return (datagram.from, datagram.bytes.to_vec());
        }
        assert!(clock::now() < until, "no datagram came");
        other
            .wait(Some(clock::now() + Duration::from_micros(200)))
            .unwrap();
        side.wait(Some(clock::now() + Duration::from_micros(200)))
            .unwrap();
    }
}

#[test]
fn datagrams_keep_their_boundaries_both_ways() {
    for addr in ["127.0.0.1:0", "[::1]:0"] {
        let mut server = Tcp::bind(addr.parse().unwrap()).unwrap();
        let mut client = Tcp::outgoing().unwrap();
        let to = server.local_addr();
        for len in [1usize, 2, 1200, 65_535, 7] {
            client.send(to, &vec![len as u8; len]).unwrap();
        }
        client.flush().unwrap();
        for len in [1usize, 2, 1200, 65_535, 7] {
            let (from, bytes) = receive(&mut server, &mut client);
            assert_eq!(bytes, vec![len as u8; len]);
            server.send(from, &bytes[..1]).unwrap();
        }
        for _ in 0..5 {
            assert_eq!(receive(&mut client, &mut server).0, to);
        }
        assert_eq!((client.connections(), server.connections()), (1, 1));
    }
}

#[test]
fn many_clients_are_told_apart() {
    let mut server = server();
    let mut clients: Vec<Tcp> = (0..50).map(|_| Tcp::outgoing().unwrap()).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        client.send(server.local_addr(), &[i as u8 + 1]).unwrap();
        client.flush().unwrap();
    }
    for client in &mut clients {
        let (from, bytes) = receive(&mut server, client);
        server.send(from, &bytes).unwrap();
    }
    server.flush().unwrap();
    for (i, client) in clients.iter_mut().enumerate() {
        assert_eq!(receive(client, &mut server).1, [i as u8 + 1]);
    }
}

#[test]
fn nonsense_closes_that_connection_only() {
    let config = TcpConfig {
        max_datagram_bytes: 100,
        ..TcpConfig::default()
    };
    let mut server = Tcp::with_config(Some("127.0.0.1:0".parse().unwrap()), config).unwrap();
    let mut client = Tcp::outgoing().unwrap();
    for nonsense in [&[0u8, 0][..], &[255, 255, 1], &[0, 101]] {
        let mut hostile = TcpStream::connect(server.local_addr()).unwrap();
        hostile.write_all(nonsense).unwrap();
        client.send(server.local_addr(), b"honest").unwrap();
        client.flush().unwrap();
        assert_eq!(receive(&mut server, &mut client).1, b"honest");
        // The server closes: the hostile side reads the end, or that it was cut off.
        hostile.set_nonblocking(true).unwrap();
        loop {
            assert_eq!(server.recv().unwrap(), None);
            match hostile.read(&mut [0; 8]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    server
                        .wait(Some(clock::now() + Duration::from_millis(1)))
                        .unwrap();
                }
                end => {
                    assert!(end.is_err() || end.is_ok_and(|read| read == 0));
                    break;
                }
            }
        }
    }
    assert_eq!(
        (server.connections(), server.stats().connections_refused),
        (1, 3)
    );
}

#[test]
fn the_end_of_a_connection_delivers_what_came_before() {
    let mut server = server();
    let mut client = Tcp::outgoing().unwrap();
    let mut raw = TcpStream::connect(server.local_addr()).unwrap();
    raw.write_all(&[0, 2, b'h', b'i', 0, 9, b'c']).unwrap();
    drop(raw);
    assert_eq!(receive(&mut server, &mut client).1, b"hi");
    while server.connections() > 0 {
        assert_eq!(server.recv().unwrap(), None, "half a datagram is none");
        server
            .wait(Some(clock::now() + Duration::from_millis(1)))
            .unwrap();
    }
}

#[test]
fn queues_and_connections_are_bounded() {
    let config = TcpConfig {
        send_queue_bytes: 10_000,
        max_connections: 2,
        ..TcpConfig::default()
    };
    let mut server =
        Tcp::with_config(Some("127.0.0.1:0".parse().unwrap()), config.clone()).unwrap();
    let mut raw: Vec<_> = (0..5)
        .map(|_| TcpStream::connect(server.local_addr()).unwrap())
        .collect();
    while server.connections() < 2 || server.stats().connections_refused < 3 {
        server.wait(None).unwrap();
    }
    // The peer reads nothing: the system's buffers fill, then ours, then datagrams are dropped.
    let deaf = raw[0].local_addr().unwrap();
    while server.stats().dropped_full == 0 {
        server.send(deaf, &[1; 1000]).unwrap();
        server.flush().unwrap();
    }
    server.disconnect(deaf);
    assert_eq!(server.connections(), 1);
    raw.clear();
}

#[test]
fn a_refused_connection_only_loses_its_datagrams() {
    let closed = server();
    let nobody = closed.local_addr();
    drop(closed);
    let (mut server, mut client) = (server(), Tcp::outgoing().unwrap());
    client.send(nobody, b"anyone?").unwrap();
    client.send(server.local_addr(), b"hello").unwrap();
    assert_eq!(receive(&mut server, &mut client).1, b"hello");
    while client.connections() > 1 {
        let _ = client.recv().unwrap();
        client
            .wait(Some(clock::now() + Duration::from_millis(1)))
            .unwrap();
    }
    assert!(client.stats().dropped_error > 0);
}
