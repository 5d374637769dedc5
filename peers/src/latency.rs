//! One-way latency of a 60 Hz stream through a link that loses packets.

use std::{
    collections::BTreeMap,
    error::Error,
    net::UdpSocket,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use samestep_netem::{LinkConfig, Loss};

use crate::{
    control::Control,
    library::{Library, Mode},
    load::{Load, Recorder, STREAM_INTERVAL, Service},
    proxy::{Proxy, Route, Traffic},
    report::{Section, Table},
    sockets,
};

const LATENCY: Duration = Duration::from_millis(50);
const LOSSES: [f64; 3] = [0.01, 0.05, 0.20];
const SEED: u64 = 2;
const CONNECT_LIMIT: Duration = Duration::from_secs(20);
/// How long reliable messages may come in after the last was sent.
const DRAIN_LIMIT: Duration = Duration::from_secs(20);
/// The traffic of the last messages and their acknowledgements counts.
const TAIL: Duration = Duration::from_millis(150);

/// Runs all libraries in both modes at the same time, once per loss rate.
pub fn measure(libraries: &[Library], seconds: u64) -> Result<Section, Box<dyn Error>> {
    let mut table = Table::new(
        3,
        &[
            "loss",
            "mode",
            "library",
            "p50 ms",
            "p95 ms",
            "p99 ms",
            "max ms",
            "delivered",
            "bytes/message",
            "× unreliable",
            "packets/message",
        ],
    );
    let total = Duration::from_secs(seconds).div_duration_f64(STREAM_INTERVAL) as u64;
    let cases: Vec<(Mode, Library)> = Mode::ALL
        .into_iter()
        .flat_map(|mode| libraries.iter().map(move |&library| (mode, library)))
        .filter(|(mode, library)| library.supports(*mode) && library.is_udp())
        // The same as udp where nothing but the link matters.
        .filter(|(_, library)| *library != Library::Transport)
        .collect();
    for loss in LOSSES {
        eprintln!("latency: {:.0} % loss, {seconds} s", loss * 100.0);
        let link = LinkConfig {
            latency: LATENCY,
            loss: Loss::Bernoulli(loss),
            ..LinkConfig::default()
        };
        let mut unreliable = BTreeMap::new();
        for ((mode, library), outcome) in cases.iter().zip(run(&cases, &link, total)?) {
            let mut row = vec![
                format!("{:.0} %", loss * 100.0),
                mode.to_string(),
                library.to_string(),
            ];
            match outcome {
                Ok(Outcome { sorted, traffic }) => {
                    let at = |share: f64| {
                        let index =
                            ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len());
                        format!("{:.1}", sorted[index - 1].as_secs_f64() * 1e3)
                    };
                    if sorted.is_empty() {
                        row.extend(["-"; 4].map(str::to_owned));
                    } else {
                        row.extend([at(0.50), at(0.95), at(0.99), at(1.0)]);
                    }
                    row.push(format!(
                        "{:.1} %",
                        sorted.len() as f64 / total as f64 * 100.0
                    ));
                    row.push(format!("{:.0}", traffic.bytes as f64 / total as f64));
                    if *mode == Mode::Unreliable {
                        unreliable.insert(*library, traffic.bytes);
                    }
                    let ratio = unreliable
                        .get(library)
                        .map(|&bytes| traffic.bytes as f64 / bytes as f64);
                    row.push(ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")));
                    row.push(format!("{:.2}", traffic.packets as f64 / total as f64));
                }
                Err(error) => row.push(error),
            }
            table.row(row);
        }
    }
    Ok(Section {
        title: "Latency through a lossy link".into(),
        notes: vec![
            format!(
                "{total} messages of 100 bytes at 60 Hz from client to server, {} ms one way, loss in both directions, \
                 through one UDP proxy over real sockets; all libraries at the same time, the same seed for all.",
                LATENCY.as_millis()
            ),
            "Bytes are those of both directions as they enter the link (lost ones included), IP and UDP headers included, \
             from the first message on."
                .into(),
            "Percentiles are of the messages that arrived. Library defaults, except: ENet's random dropping of unreliable packets \
             is off. Renet is asked for packets at 60 Hz, ENet serviced every 5 ms, both also when a datagram comes."
                .into(),
            "TCP is left out: the kernel's TCP cannot be sent through a UDP proxy, and losing bytes of a tunnel is not losing segments.".into(),
        ],
        tables: vec![table],
        conclusions: Vec::new(),
    })
}

struct Outcome {
    sorted: Vec<Duration>,
    traffic: Traffic,
}

/// One stream under way: a server thread and a client thread.
struct Case {
    recorder: Arc<Recorder>,
    server: (Arc<Control>, JoinHandle<Result<(), String>>),
    client: (Arc<Control>, JoinHandle<Result<(), String>>),
}

fn run(
    cases: &[(Mode, Library)],
    link: &LinkConfig,
    total: u64,
) -> Result<Vec<Result<Outcome, String>>, Box<dyn Error>> {
    let mut servers = Vec::new();
    let mut routes = Vec::new();
    for &(mode, library) in cases {
        let listen: UdpSocket = sockets::server_udp()?;
        let public = listen.local_addr()?;
        let recorder = Arc::new(Recorder::new(total));
        let service = Service::Record(Arc::clone(&recorder));
        let (control, thread) =
            start(move |control| library.serve(control, mode, 1, Some(public), service));
        wait(CONNECT_LIMIT, || {
            control.address().is_some() || thread.is_finished()
        });
        let upstream = control
            .address()
            .ok_or(format!("{library} does not listen"))?;
        routes.push(Route {
            listen,
            upstream,
            link: link.clone(),
            seed: SEED,
        });
        servers.push((public, recorder, (control, thread)));
    }
    let proxy = Proxy::start(routes)?;
    let running: Vec<Case> = cases
        .iter()
        .zip(servers)
        .map(|(&(mode, library), (public, recorder, server))| {
            let to_record = Arc::clone(&recorder);
            let client = start(move |control| {
                library.connect(
                    control,
                    mode,
                    public,
                    Load::stream(control, &to_record, total),
                )
            });
            Case {
                recorder,
                server,
                client,
            }
        })
        .collect();
    wait(CONNECT_LIMIT, || {
        running
            .iter()
            .all(|case| case.client.0.connected() == 1 || case.client.1.is_finished())
    });
    let before: Vec<Traffic> = (0..running.len())
        .map(|route| proxy.traffic(route))
        .collect();
    running.iter().for_each(|case| case.client.0.go());
    thread::sleep(STREAM_INTERVAL * total as u32 + TAIL);
    let traffic: Vec<Traffic> = before
        .into_iter()
        .enumerate()
        .map(|(route, before)| proxy.traffic(route) - before)
        .collect();
    wait(DRAIN_LIMIT, || {
        cases.iter().zip(&running).all(|((mode, _), case)| {
            *mode == Mode::Unreliable
                || case.recorder.count() as u64 == total
                || case.client.1.is_finished()
        })
    });
    let finish = |(
        Case {
            recorder,
            server,
            client,
        },
        traffic,
    ): (Case, Traffic)| {
        for (control, thread) in [client, server] {
            control.stop();
            thread.join().map_err(|_| "panicked".to_owned())??;
        }
        Ok(Outcome {
            sorted: recorder.sorted(),
            traffic,
        })
    };
    Ok(running.into_iter().zip(traffic).map(finish).collect())
}

/// Runs one side in a thread.
fn start(
    side: impl FnOnce(&Arc<Control>) -> Result<(), Box<dyn Error>> + Send + 'static,
) -> (Arc<Control>, JoinHandle<Result<(), String>>) {
    let control = Arc::new(Control::default());
    let own = Arc::clone(&control);
    (
        control,
        thread::spawn(move || side(&own).map_err(|error| error.to_string())),
    )
}

/// Waits until something holds, or long enough.
fn wait(limit: Duration, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() && start.elapsed() < limit {
        thread::sleep(Duration::from_millis(5));
    }
}
