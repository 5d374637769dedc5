use super::*;
use crate::clock;

const WAIT: Duration = Duration::from_secs(10);

fn local(text: &str) -> Udp {
    Udp::bind(text.parse().unwrap()).unwrap()
}

/// Waits for the next datagram; panics when none comes for a long time.
fn receive(udp: &mut Udp) -> (SocketAddr, Duration, Vec<u8>) {
    let until = clock::now() + WAIT;
    loop {
        if let Some(datagram) = udp.recv().unwrap() {
            return (datagram.from, datagram.at, datagram.bytes.to_vec());
        }
        assert!(clock::now() < until, "no datagram came");
        udp.wait(Some(until)).unwrap();
    }
}

fn round_trip(a: &mut Udp, b: &mut Udp, b_addr: SocketAddr) {
    a.send(b_addr, b"ping").unwrap();
    a.flush().unwrap();
    let (from, _, bytes) = receive(b);
    assert_eq!(bytes, b"ping");
    b.send(from, b"pong").unwrap();
    b.flush().unwrap();
    let (from, _, bytes) = receive(a);
    assert_eq!((from, &bytes[..]), (b_addr, &b"pong"[..]));
}

#[test]
fn datagrams_go_both_ways_over_ipv4_and_ipv6() {
    for addr in ["127.0.0.1:0", "[::1]:0"] {
        let (mut a, mut b) = (local(addr), local(addr));
        let b_addr = b.local_addr();
        round_trip(&mut a, &mut b, b_addr);
        assert_eq!((a.stats().sent, a.stats().bytes_received), (1, 4));
    }
}

#[test]
fn a_dual_stack_socket_serves_both_families_by_their_own_addresses() {
    let mut server = local("[::]:0");
    let port = server.local_addr().port();
    for ip in ["127.0.0.1", "::1"] {
        let ip: std::net::IpAddr = ip.parse().unwrap();
        let mut client = Udp::bind((ip, 0).into()).unwrap();
        client.send((ip, port).into(), b"hello").unwrap();
        client.flush().unwrap();
        let (from, ..) = receive(&mut server);
        assert_eq!(from, client.local_addr());
        server.send(from, b"welcome").unwrap();
        server.flush().unwrap();
        assert_eq!(receive(&mut client).2, b"welcome");
    }
}

#[test]
fn receive_times_are_those_of_arrival() {
    const PAUSE: Duration = Duration::from_millis(20);
    let (mut a, mut b) = (local("127.0.0.1:0"), local("127.0.0.1:0"));
    // A busy machine may pause us at any point, but not every time.
    let exact = (0..20).any(|_| {
        let before = clock::now();
        a.send(b.local_addr(), b"x").unwrap();
        a.flush().unwrap();
        let sent = clock::now();
        // Time passes between arrival and reading.
        while clock::now() < sent + PAUSE {
            a.wait(Some(sent + PAUSE)).unwrap();
        }
        let (_, at, _) = receive(&mut b);
        // The kernel keeps its two clocks together only to some microseconds.
        assert!(
            at + Duration::from_millis(1) >= before,
            "{at:?}, sent after {before:?}"
        );
        assert!(at <= clock::now());
        at < sent + PAUSE / 2
    });
    assert!(exact || !cfg!(target_os = "linux"));
}

#[test]
fn bulk_arrives_whole_and_in_order() {
    let (mut a, mut b) = (local("127.0.0.1:0"), local("127.0.0.1:0"));
    let to = b.local_addr();
    let mut expected = 0u32;
    for round in 0..20 {
        for i in 0..50u32 {
            // Equal sizes leave in one call; every tenth breaks the run.
            let len = if i % 10 == 9 { 40 } else { 1200 };
            let mut datagram = vec![round as u8; len];
            datagram[..4].copy_from_slice(&(round * 50 + i).to_le_bytes());
            a.send(to, &datagram).unwrap();
        }
        a.flush().unwrap();
        for _ in 0..50 {
            let (from, _, bytes) = receive(&mut b);
            assert_eq!(from, a.local_addr());
            assert_eq!(bytes[..4], expected.to_le_bytes());
            assert_eq!(bytes.len(), if expected % 10 == 9 { 40 } else { 1200 });
            expected += 1;
        }
    }
    assert_eq!((a.stats().sent, b.stats().received), (1000, 1000));
    assert_eq!(a.stats().bytes_sent, b.stats().bytes_received);
}

#[test]
fn empty_and_largest_datagrams_pass() {
    let (mut a, mut b) = (local("127.0.0.1:0"), local("127.0.0.1:0"));
    let to = b.local_addr();
    for len in [1, 1472, 65_507] {
        a.send(to, &vec![3; len]).unwrap();
        a.flush().unwrap();
        assert_eq!(receive(&mut b).2.len(), len);
    }
    a.send(to, &vec![3; 65_508]).unwrap();
    assert_eq!(a.stats().dropped_error, 1);
}

#[test]
fn a_closed_port_does_not_stop_the_socket() {
    let mut gone = local("127.0.0.1:0");
    let nobody = gone.local_addr();
    gone.flush().unwrap();
    drop(gone);
    let (mut a, mut b) = (local("127.0.0.1:0"), local("127.0.0.1:0"));
    for _ in 0..5 {
        a.send(nobody, b"anyone?").unwrap();
        a.flush().unwrap();
        let _ = a.recv().unwrap();
    }
    let b_addr = b.local_addr();
    round_trip(&mut a, &mut b, b_addr);

    // A connected socket gets the error, and continues as well.
    let mut c = local("127.0.0.1:0");
    c.connect(nobody).unwrap();
    for _ in 0..5 {
        c.send(nobody, b"anyone?").unwrap();
        c.flush().unwrap();
        let _ = c.recv().unwrap();
    }
    assert!(c.stats().errors_reported > 0);
    let mut back = Udp::bind(nobody).unwrap();
    round_trip(&mut c, &mut back, nobody);
}

#[test]
fn a_connected_socket_hears_only_its_peer() {
    let (mut server, mut stranger) = (local("127.0.0.1:0"), local("127.0.0.1:0"));
    let server_addr = server.local_addr();
    let mut client =
        Udp::with_config("127.0.0.1:0".parse().unwrap(), &UdpConfig::client()).unwrap();
    client.connect(server_addr).unwrap();
    stranger.send(client.local_addr(), b"psst").unwrap();
    stranger.flush().unwrap();
    round_trip(&mut client, &mut server, server_addr);
    client.send(stranger.local_addr(), b"what?").unwrap();
    assert_eq!(client.stats().dropped_error, 1);
}

#[test]
fn unroutable_datagrams_are_dropped_and_counted() {
    let mut udp = local("127.0.0.1:0");
    // A loopback socket has no route to the world, and an IPv4 socket none to IPv6.
    udp.send("[2001:db8::1]:9".parse().unwrap(), b"x").unwrap();
    udp.flush().unwrap();
    assert_eq!(udp.stats().dropped_error, 1);
}

#[test]
fn waiting_ends_on_time() {
    let mut udp = local("127.0.0.1:0");
    for wait in [
        Duration::ZERO,
        Duration::from_micros(200),
        Duration::from_millis(3),
    ] {
        let until = clock::now() + wait;
        udp.wait(Some(until)).unwrap();
        assert!(clock::now() >= until);
    }
}
