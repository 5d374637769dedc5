//! The same streams over real sockets of this machine, through an impaired transport.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use samestep::Driver;
use samestep::netem::Path;
use samestep::proto::{ChannelConfig, ConnectOptions, Delivery, Event, SendError};
use samestep::transport::{Impaired, Tcp, Transport, Udp};
use samestep_netem::IP_UDP_OVERHEAD_BYTES;

use crate::pair;
use crate::stream::{Arrival, CHANNEL, Stamp, StreamConfig, StreamLog};

/// A stream over UDP.
pub fn stream_udp(
    path: &Path,
    delivery: Delivery,
    config: StreamConfig,
    seed: u64,
) -> Result<StreamLog, String> {
    let bind = || Udp::bind(LOCALHOST).map_err(|error| format!("no UDP socket: {error}"));
    stream(bind, bind, path, delivery, config, seed)
}

/// A stream in datagrams framed on a TCP connection.
pub fn stream_tcp(
    path: &Path,
    delivery: Delivery,
    config: StreamConfig,
    seed: u64,
) -> Result<StreamLog, String> {
    let listen = || Tcp::bind(LOCALHOST).map_err(|error| format!("no TCP socket: {error}"));
    let connect = || Tcp::outgoing().map_err(|error| format!("no TCP socket: {error}"));
    stream(listen, connect, path, delivery, config, seed)
}

/// Any port of this machine.
pub const LOCALHOST: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The silence after which the receiver gives up on missing messages.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends from this thread to another one, through `path`; each makes its own transport, which need not be `Send`.
fn stream<T: Transport>(
    server: impl FnOnce() -> Result<T, String> + Send,
    client: impl FnOnce() -> Result<T, String>,
    path: &Path,
    delivery: Delivery,
    stream: StreamConfig,
    seed: u64,
) -> Result<StreamLog, String> {
    let config = pair::config(&[ChannelConfig::new(delivery)]);
    let reliable = delivery.is_reliable();
    let (address, started) = mpsc::channel();
    let left = &AtomicBool::new(false);
    let (sent, received) = thread::scope(|scope| {
        let accepting = config.clone().accepting(1);
        let receiver = scope.spawn(move || {
            let mut server =
                Driver::new(server()?, accepting).map_err(|error| error.to_string())?;
            let _ = address.send(server.local_addr());
            receive(&mut server, &stream, left)
        });
        let sent = started
            .recv()
            .map_err(|_| "the receiver did not start".to_string())
            .and_then(|to| {
                let client =
                    Impaired::new(client()?, path, seed).map_err(|error| error.to_string())?;
                let client = Driver::new(client, config).map_err(|error| error.to_string())?;
                send(client, to, &stream, reliable, path)
            });
        left.store(true, Ordering::Relaxed);
        (sent, receiver.join().expect("the receiver does not panic"))
    });
    let arrivals = received?;
    let (sent, wire_bytes) = sent?;
    if reliable && arrivals.len() != sent as usize {
        return Err(format!(
            "{} of {sent} reliable messages arrived",
            arrivals.len()
        ));
    }
    Ok(StreamLog {
        sent,
        arrivals,
        bytes: stream.bytes,
        wire_bytes,
    })
}

/// Connects, sends on the beat of the clock, closes; returns messages sent and bytes on the wire in both directions.
fn send<T: Transport>(
    mut client: Driver<Impaired<T>>,
    to: SocketAddr,
    stream: &StreamConfig,
    reliable: bool,
    path: &Path,
) -> Result<(u32, u64), String> {
    let fail = |error: std::io::Error| format!("the sender's transport failed: {error}");
    let id = client
        .connect(to, ConnectOptions::default())
        .map_err(|error| error.to_string())?;
    loop {
        match client.drive_for(Duration::from_secs(1)).map_err(fail)? {
            Some(Event::Connected { .. }) => break,
            Some(Event::Closed { reason, .. }) => {
                return Err(format!("could not connect: {reason}"));
            }
            _ => {}
        }
    }
    let before = wire_bytes(&client);
    let start = client.now();
    let mut message = vec![0x5a; stream.bytes];
    for number in 0..stream.count {
        let due = start + stream.interval * number;
        while let Some(event) = client.drive(due).map_err(fail)? {
            if let Event::Closed { reason, .. } = event {
                return Err(format!("the connection closed: {reason}"));
            }
        }
        Stamp::new(number, due, client.now(), client.machine(), id).write(&mut message);
        match client.send(id, CHANNEL, &message) {
            Ok(_) => {}
            Err(SendError::QueueFull) if !reliable => {}
            Err(error) => return Err(format!("could not send: {error}")),
        }
    }
    let rest = client.now() + Duration::from_secs(1) + path.up.latency + path.down.latency;
    while client.drive(rest).map_err(fail)?.is_some() {}
    let bytes = wire_bytes(&client) - before;
    client.close(id, 0, "");
    let patience = client.now() + PATIENCE;
    while let Some(event) = client.drive(patience).map_err(fail)? {
        if let Event::Closed { .. } = event {
            break;
        }
    }
    client.finish(patience).map_err(fail)?;
    Ok((stream.count, bytes))
}

/// Receives until the sender closes, or until nothing has arrived for too long.
fn receive<T: Transport>(
    server: &mut Driver<T>,
    stream: &StreamConfig,
    sender_left: &AtomicBool,
) -> Result<Vec<Arrival>, String> {
    let words = |error: std::io::Error| format!("the receiver's transport failed: {error}");
    let mut arrivals = Vec::with_capacity(stream.count as usize);
    let mut deadline = server.now() + PATIENCE * 3;
    loop {
        match server.drive(deadline).map_err(words)? {
            Some(Event::Readable { id }) => {
                let received = server.now();
                while let Some(message) = server.recv(id) {
                    let stamp =
                        Stamp::read(message.payload).ok_or("a message arrived cut short")?;
                    arrivals.push(Arrival {
                        stamp,
                        received,
                        processed: samestep::transport::now(),
                    });
                }
                deadline = received + PATIENCE.max(stream.interval * 4);
            }
            Some(Event::Closed { .. }) => break,
            None => return Ok(arrivals),
            Some(_) => {}
        }
    }
    // The acknowledgement of the close may get lost: the receiver stays to repeat it.
    let leave = server.now() + PATIENCE;
    while !sender_left.load(Ordering::Relaxed) && server.now() < leave {
        server.drive_for(Duration::from_millis(5)).map_err(words)?;
    }
    Ok(arrivals)
}

/// Bytes the impaired link carried in both directions, IP and UDP headers included.
fn wire_bytes<T: Transport>(client: &Driver<Impaired<T>>) -> u64 {
    let stats = client.transport().link_stats();
    let overhead = IP_UDP_OVERHEAD_BYTES as u64;
    stats.up.bytes_sent + stats.down.bytes_sent + (stats.up.sent + stats.down.sent) * overhead
}

#[cfg(test)]
mod tests {
    use samestep::netem::{LinkConfig, Loss};

    use super::*;

    #[test]
    fn reliable_messages_cross_a_lossy_link_over_udp_and_tcp() {
        let path = Path::symmetric(LinkConfig {
            latency: Duration::from_millis(2),
            loss: Loss::Bernoulli(0.2),
            ..LinkConfig::default()
        });
        let config = StreamConfig {
            bytes: 64,
            interval: Duration::from_millis(2),
            count: 50,
        };
        for stream in [stream_udp, stream_tcp] {
            let log = stream(&path, Delivery::ReliableOrdered, config, 1).unwrap();
            let ids: Vec<_> = log
                .arrivals
                .iter()
                .map(|arrival| arrival.stamp.id)
                .collect();
            assert_eq!(ids, (0..50).collect::<Vec<_>>());
            assert!(log.wire_bytes > 50 * 64);
        }
    }
}
