//! CPU time of a round trip of 32 bytes: 500 clients with a socket each and one server, in one process and one thread.
//!
//! `cargo bench -p samestep-transport` prints a table, with `-- NAME` of those cases whose name contains it. The first row is plain system calls, what a program without this crate
//! would do; nothing above datagrams is involved, so the difference to a protocol's figure is the protocol's own cost.

use rustix::time::{ClockId, clock_gettime};
use samestep_transport::{Poller, Tcp, Transport, Udp, UdpConfig};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

const CLIENTS: usize = 500;
const SERVER: u64 = CLIENTS as u64;
const MESSAGE: [u8; 32] = [7; 32];

fn main() {
    // Without --bench it is run as a test: only see that it works.
    let bench = std::env::args().any(|arg| arg == "--bench");
    let (repeats, count) = if bench { (10, 50_000) } else { (1, 2_000) };
    let cases: [(&str, &dyn Fn(usize) -> Duration); 6] = [
        ("plain send_to, recv_from", &plain),
        ("Udp", &|count| udp(count, false)),
        ("Udp, clients connected", &|count| udp(count, true)),
        ("Tcp", &tcp),
        ("1200 bytes, singly", &|count| bulk(count, 1)),
        ("1200 bytes, 40 per flush", &|count| bulk(count, 40)),
    ];
    let wanted = std::env::args()
        .skip(1)
        .find(|arg| !arg.starts_with('-'))
        .unwrap_or_default();
    let cases: Vec<_> = cases
        .into_iter()
        .filter(|(name, _)| name.contains(&wanted))
        .collect();
    let mut costs = vec![Vec::new(); cases.len()];
    // In turns, so that a busy machine disturbs all alike.
    for _ in 0..repeats {
        for ((_, run), costs) in cases.iter().zip(&mut costs) {
            costs.push(run(count).as_secs_f64() * 1e6 / count as f64);
        }
    }
    println!(
        "CPU µs per round trip of 32 bytes or per datagram of 1200{:>14}{:>9}",
        "least", "median"
    );
    for ((name, _), mut costs) in cases.iter().zip(costs) {
        costs.sort_by(f64::total_cmp);
        println!(
            "{name:<58}{:>13.2}{:>9.2}",
            costs[0],
            costs[costs.len() / 2]
        );
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn local() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn plain(round_trips: usize) -> Duration {
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
    let start = cpu_time();
    while done < round_trips {
        for key in poller.wait(None).unwrap() {
            let socket = clients.get(key as usize).unwrap_or(&server);
            while let Ok((len, from)) = socket.recv_from(&mut buffer) {
                done += usize::from(key != SERVER);
                socket.send_to(&buffer[..len], from).unwrap();
            }
        }
    }
    cpu_time() - start
}

fn udp(round_trips: usize, connect: bool) -> Duration {
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
    let start = cpu_time();
    while done < round_trips {
        for key in poller.wait(None).unwrap() {
            let transport = clients.get_mut(key as usize).unwrap_or(&mut server);
            done += echo(transport) * usize::from(key != SERVER);
        }
    }
    cpu_time() - start
}

fn tcp(round_trips: usize) -> Duration {
    let mut server = Tcp::bind(local()).unwrap();
    let to = server.local_addr();
    let mut clients: Vec<Tcp> = (0..CLIENTS).map(|_| Tcp::outgoing().unwrap()).collect();
    for client in &mut clients {
        client.send(to, &MESSAGE).unwrap();
        client.flush().unwrap();
    }
    let mut done = 0;
    let start = cpu_time();
    while done < round_trips {
        echo(&mut server);
        for client in &mut clients {
            client.wait(Some(Duration::ZERO)).unwrap();
            done += echo(client);
        }
    }
    cpu_time() - start
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

fn bulk(datagrams: usize, batch: usize) -> Duration {
    let (mut from, mut to) = (Udp::bind(local()).unwrap(), Udp::bind(local()).unwrap());
    let addr = to.local_addr();
    let mut received = 0;
    let start = cpu_time();
    while received < datagrams {
        for _ in 0..batch {
            from.send(addr, &[1; 1200]).unwrap();
        }
        from.flush().unwrap();
        while to.recv().unwrap().is_some() {
            received += 1;
        }
    }
    cpu_time() - start
}
