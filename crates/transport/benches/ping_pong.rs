//! CPU time of a round trip of 32 bytes: 500 clients with a socket each and one server, in one process and one thread.
//!
//! `cargo bench -p samestep-transport` prints a table. The first row is plain system calls, what a program without this crate
//! would do; nothing above datagrams is involved, so the difference to a protocol's figure is the protocol's own cost.

use rustix::time::{ClockId, clock_gettime};
use samestep_transport::{Poller, Tcp, Transport, Udp, UdpConfig};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const CLIENTS: usize = 500;
const SERVER: u64 = CLIENTS as u64;
const MESSAGE: [u8; 32] = [7; 32];

fn main() {
    // Without --bench it is run as a test: only see that it works.
    let round_trips = if std::env::args().any(|arg| arg == "--bench") {
        200_000
    } else {
        2_000
    };
    println!("{:<28} {:>16} {:>16}", "", "CPU µs each", "round trips/s");
    for _ in 0..2 {
        report("plain send_to/recv_from", || plain(round_trips));
        report("Udp", || udp(round_trips, false));
        report("Udp, clients connected", || udp(round_trips, true));
        report("Tcp", || tcp(round_trips));
    }
    println!("{:<28} {:>16} {:>16}", "", "CPU µs each", "MB/s");
    for (name, batch) in [
        ("1200 bytes one by one", 1),
        ("1200 bytes, 40 per flush", 40),
    ] {
        let (start, cpu) = (Instant::now(), cpu_time());
        bulk(round_trips, batch);
        let cpu = (cpu_time() - cpu).as_secs_f64() * 1e6 / round_trips as f64;
        let rate = round_trips as f64 * 1200.0 / start.elapsed().as_secs_f64() / 1e6;
        println!("{name:<28} {cpu:>16.2} {rate:>16.0}");
    }
}

fn report(name: &str, run: impl FnOnce() -> usize) {
    let (start, cpu) = (Instant::now(), cpu_time());
    let done = run();
    let cpu = (cpu_time() - cpu).as_secs_f64() * 1e6 / done as f64;
    println!(
        "{name:<28} {cpu:>16.2} {:>16.0}",
        done as f64 / start.elapsed().as_secs_f64()
    );
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn local() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn plain(round_trips: usize) -> usize {
    let open = || {
        let socket = UdpSocket::bind(local()).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    };
    let server = open();
    let to = server.local_addr().unwrap();
    let clients: Vec<UdpSocket> = (0..CLIENTS).map(|_| open()).collect();
    let mut poller = Poller::new().unwrap();
    poller.add(&server, SERVER).unwrap();
    for (key, client) in clients.iter().enumerate() {
        poller.add(client, key as u64).unwrap();
        client.send_to(&MESSAGE, to).unwrap();
    }
    let mut buffer = [0; 1500];
    let mut done = 0;
    while done < round_trips {
        for key in poller.wait(None).unwrap() {
            let socket = clients.get(key as usize).unwrap_or(&server);
            while let Ok((len, from)) = socket.recv_from(&mut buffer) {
                done += usize::from(key != SERVER);
                socket.send_to(&buffer[..len], from).unwrap();
            }
        }
    }
    done
}

fn udp(round_trips: usize, connect: bool) -> usize {
    let mut server = Udp::bind(local()).unwrap();
    let to = server.local_addr();
    let mut poller = Poller::new().unwrap();
    poller.add(&server, SERVER).unwrap();
    let mut clients = Vec::new();
    for key in 0..CLIENTS {
        let mut client = Udp::with_config(local(), &UdpConfig::client()).unwrap();
        if connect {
            client.connect(to).unwrap();
        }
        poller.add(&client, key as u64).unwrap();
        client.send(to, &MESSAGE).unwrap();
        client.flush().unwrap();
        clients.push(client);
    }
    let mut done = 0;
    while done < round_trips {
        for key in poller.wait(None).unwrap() {
            let transport = clients.get_mut(key as usize).unwrap_or(&mut server);
            done += echo(transport) * usize::from(key != SERVER);
        }
    }
    done
}

fn tcp(round_trips: usize) -> usize {
    let mut server = Tcp::bind(local()).unwrap();
    let to = server.local_addr();
    let mut clients: Vec<Tcp> = (0..CLIENTS).map(|_| Tcp::outgoing().unwrap()).collect();
    for client in &mut clients {
        client.send(to, &MESSAGE).unwrap();
        client.flush().unwrap();
    }
    let mut done = 0;
    while done < round_trips {
        echo(&mut server);
        for client in &mut clients {
            client.wait(Some(Duration::ZERO)).unwrap();
            done += echo(client);
        }
    }
    done
}

/// Sends everything that has arrived back to where it came from.
fn echo(transport: &mut impl Transport) -> usize {
    let mut count = 0;
    while let Some(datagram) = transport.recv().unwrap() {
        let mut copy = [0; 64];
        let (from, len) = (datagram.from, datagram.bytes.len());
        copy[..len].copy_from_slice(datagram.bytes);
        transport.send(from, &copy[..len]).unwrap();
        count += 1;
    }
    transport.flush().unwrap();
    count
}

fn bulk(datagrams: usize, batch: usize) {
    let (mut from, mut to) = (Udp::bind(local()).unwrap(), Udp::bind(local()).unwrap());
    let addr = to.local_addr();
    let mut received = 0;
    while received < datagrams {
        for _ in 0..batch {
            from.send(addr, &[1; 1200]).unwrap();
        }
        from.flush().unwrap();
        while to.recv().unwrap().is_some() {
            received += 1;
        }
    }
}
