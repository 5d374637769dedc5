//! What a connection costs on which nothing is said.

use std::{error::Error, thread, time::Duration};

use samestep_netem::LinkConfig;

use crate::{
    child::{Child, Status},
    library::{Library, Mode},
    proxy::{Proxy, Route, Traffic},
    report::{Section, Table},
    sockets,
};

/// Time for the last handshakes and acknowledgements before silence is measured.
const SETTLE: Duration = Duration::from_secs(2);

/// Measures all libraries one after the other.
pub fn measure(
    libraries: &[Library],
    clients: usize,
    seconds: u64,
) -> Result<Section, Box<dyn Error>> {
    let mut table = Table::new(
        1,
        &[
            "library",
            "bytes/s",
            "packets/s",
            "server KiB/connection",
            "client KiB/connection",
        ],
    );
    for &library in libraries.iter().filter(|library| library.has_connections()) {
        eprintln!("idle: {library}, {seconds} s");
        let mut row = vec![library.to_string()];
        match run(library, clients, Duration::from_secs(seconds)) {
            Ok(Outcome {
                traffic,
                server_bytes,
                client_bytes,
            }) => {
                let rate = |count: u64| count as f64 / clients as f64 / seconds as f64;
                row.extend(match traffic {
                    Some(traffic) => [
                        format!("{:.1}", rate(traffic.bytes)),
                        format!("{:.2}", rate(traffic.packets)),
                    ],
                    None => ["0".into(), "0".into()],
                });
                row.extend(
                    [server_bytes, client_bytes].map(|bytes| format!("{:.1}", bytes / 1024.0)),
                );
            }
            Err(error) => row.push(error.to_string()),
        }
        table.row(row);
    }
    Ok(Section {
        title: format!("{clients} idle connections"),
        notes: vec![
            "Each client exchanges one reliable message with the server and is silent then. Bytes and packets per connection, both directions \
             together, counted by a proxy between them, IP and UDP headers included."
                .into(),
            "Memory is the growth of the resident size since before the library was started, per connection. It includes what handshakes leave behind, and, for clients, \
             an endpoint each; buffers in the kernel (all of TCP's) are not in it."
                .into(),
            "TCP sends nothing without keep-alive, and does not notice then that the other side is gone (not measured: it does not pass \
             the proxy). Quinn is set to keep alive every 5 s, else it gives up after 30 s. Renet is asked for packets every 100 ms: it acknowledges \
             acknowledgements, so its bytes grow with that rate."
                .into(),
        ],
        tables: vec![table],
        conclusions: Vec::new(),
    })
}

struct Outcome {
    /// None where the proxy could not look.
    traffic: Option<Traffic>,
    server_bytes: f64,
    client_bytes: f64,
}

fn run(library: Library, count: usize, duration: Duration) -> Result<Outcome, Box<dyn Error>> {
    let listen = sockets::server_udp()?;
    let public = listen.local_addr()?;
    let (mut server, upstream) = Child::server(library, Mode::Reliable, count, Some(public))?;
    let proxy = if library.is_udp() {
        Some(Proxy::start(vec![Route {
            listen,
            upstream,
            link: LinkConfig::default(),
            seed: 0,
        }])?)
    } else {
        None
    };
    let address = if proxy.is_some() { public } else { upstream };
    let mut clients = Child::clients(library, Mode::Reliable, count, address, true)?;
    clients.go()?;
    clients.wait_for(Duration::from_secs(20), |status| {
        status.trips == count as u64
    })?;
    thread::sleep(SETTLE);
    let before = proxy.as_ref().map(|proxy| proxy.traffic(0));
    thread::sleep(duration);
    let traffic = proxy
        .as_ref()
        .zip(before)
        .map(|(proxy, before)| proxy.traffic(0) - before);
    let growth = |status: Status| (status.rss_bytes - status.base_bytes) as f64 / count as f64;
    Ok(Outcome {
        traffic,
        server_bytes: growth(server.status()?),
        client_bytes: growth(clients.status()?),
    })
}
