//! Hosted against mesh: what does each cost whom?

use std::collections::BTreeSet;
use std::time::Duration;

use samestep_session::{Delivery, MessageKind, SessionConfig, SessionEvent, To};
use samestep_sim::{NodeId, Traffic};

use crate::error::LabError;
use crate::experiment::{Experiment, Findings, Metric, RunContext};
use crate::link;
use crate::pair::delivery;
use crate::parameters::{Case, Domain, Key, Value};
use crate::plot::{Data, Plot, add_point};
use crate::stats::Samples;
use crate::testroom::{TOPOLOGY, TestRoom};

/// Every player sends its position to all others, many times a second.
pub static EXPERIMENT: Experiment = Experiment::new("topology", KEYS, METRICS, run);

const KEYS: &[&[Key]] = &[
    &[
        TOPOLOGY,
        Key::number(
            "players",
            4.0,
            Domain::Whole(2, 64),
            "players, the hosting one among them",
        )
        .labelled(|value| Some(format!("{value}p"))),
        Key::text(
            "cut",
            "none",
            Domain::Choice(&["none", "start", "middle"]),
            "a pair that cannot reach each other, every pair in turn: none, from the start, or once everyone is in",
        )
        .labelled(|value| match value {
            Value::Text(text) if text != "none" => Some(format!("cut-{text}")),
            _ => None,
        }),
        Key::number(
            "rate_hz",
            20.0,
            Domain::Number(0.1, 1_000.0),
            "updates of each player per second",
        ),
        Key::number(
            "bytes",
            32.0,
            Domain::Whole(8, 1_000),
            "size of an update",
        ),
        Key::text(
            "delivery",
            "unreliable",
            Domain::Choice(&[
                Delivery::Unreliable.name(),
                Delivery::ReliableOrdered.name(),
            ]),
            "how updates are sent",
        ),
        link::PROFILE,
    ],
    link::USUALLY_GOOD,
    link::FURTHER,
    &[
        link::SECONDS,
        link::REPEATS,
    ],
];

const METRICS: &[Metric] = &[
    Metric::new(
        "host_up",
        "kB/s",
        "sent by the host (in a mesh by the member that sends most), all headers included",
    ),
    Metric::new(
        "host_down",
        "kB/s",
        "received by the host (in a mesh by the member that receives most)",
    ),
    Metric::new("peer_up", "kB/s", "sent by each of the others, mean"),
    Metric::new("peer_down", "kB/s", "received by each of the others, mean"),
    Metric::new("total", "kB/s", "sent by all together"),
    Metric::new(
        "idle_up",
        "B/s",
        "sent by each while nobody sends game messages, mean of all",
    ),
    Metric::new(
        "idle_host_up",
        "B/s",
        "sent by the host then (in a mesh by the member that sends most)",
    ),
    Metric::new(
        "overhead",
        "B",
        "bytes sent by all together for each update that reached a player, beyond the update itself",
    ),
    Metric::new(
        "latency_mean",
        "ms",
        "from the sender's call to the receiver's event",
    ),
    Metric::new(
        "unheard",
        "",
        "updates that did not reach a player they were for, of all repeats",
    ),
];

const UPDATE: MessageKind = MessageKind(1);

struct Measured {
    busy: Rates,
    idle: Rates,
    /// Updates sent, counted once for every player they are for, and how many of them did not arrive.
    due: u64,
    unheard: u64,
    latency_ms: Samples,
    seconds: f64,
}

/// Bytes per second of each member, the opener first.
struct Rates {
    up: Vec<f64>,
    down: Vec<f64>,
}

fn run(context: &RunContext) -> Result<Findings, LabError> {
    let measured = context.measure(measure)?;
    let mut findings = Findings::default();
    let mut lines = Vec::new();
    for (case, repeats) in &measured {
        let mean = |of: &dyn Fn(&Measured) -> f64| {
            let values: Samples = repeats.iter().flatten().map(of).collect();
            values.mean()
        };
        let mesh = case.text("topology") == "mesh";
        let bytes = case.number("bytes");
        let figures = [
            mean(&|m| busiest(&m.busy.up, mesh) / 1e3),
            mean(&|m| busiest(&m.busy.down, mesh) / 1e3),
            mean(&|m| others(&m.busy.up, mesh) / 1e3),
            mean(&|m| others(&m.busy.down, mesh) / 1e3),
            mean(&|m| m.busy.up.iter().sum::<f64>() / 1e3),
            mean(&|m| m.idle.up.iter().sum::<f64>() / m.idle.up.len() as f64),
            mean(&|m| busiest(&m.idle.up, mesh)),
            mean(&|m| {
                let arrived = (m.due - m.unheard).max(1) as f64;
                m.busy.up.iter().sum::<f64>() * m.seconds / arrived - bytes
            }),
            mean(&|m| m.latency_ms.mean().unwrap_or(0.0)),
            Some(repeats.iter().flatten().map(|m| m.unheard as f64).sum()),
        ];
        findings.add(&case.name, METRICS, &[], &figures);
        if case.text("cut") == "none" {
            let players = case.number("players");
            for (who, value) in [("host", figures[0]), ("peer", figures[2])] {
                let name = match mesh {
                    true if who == "host" => continue,
                    true => "mesh, each".to_string(),
                    false => format!("hosted, {who}"),
                };
                add_point(&mut lines, name, (players, value.unwrap_or(0.0)));
            }
        }
    }
    findings.plots.push(
        Plot::new(
            "up",
            "What a member sends, by the number of players",
            ["players", "kB/s"],
            Data::Lines(lines),
        )
        .log_y(),
    );
    Ok(findings)
}

fn busiest(of: &[f64], mesh: bool) -> f64 {
    match mesh {
        true => of.iter().copied().fold(0.0, f64::max),
        false => of[0],
    }
}

fn others(of: &[f64], mesh: bool) -> f64 {
    let of = if mesh { of } else { &of[1..] };
    of.iter().sum::<f64>() / of.len() as f64
}

/// One measurement, or with a cut one for every pair.
fn measure(case: &Case, seed: u64) -> Result<Vec<Measured>, String> {
    let players = case.number("players") as u16;
    if case.text("cut") == "none" {
        return Ok(vec![virtual_time(case, seed, None)?]);
    }
    let pairs = (0..players).flat_map(|a| (0..a).map(move |b| (NodeId(a), NodeId(b))));
    pairs
        .map(|pair| {
            virtual_time(case, seed, Some(pair))
                .map_err(|why| format!("{} and {} cut: {why}", pair.0, pair.1))
        })
        .collect()
}

fn virtual_time(case: &Case, seed: u64, cut: Option<(NodeId, NodeId)>) -> Result<Measured, String> {
    let path = link::path(case)?;
    let mut config = SessionConfig::new("samestep-lab", 1);
    config.capacity = 64;
    let mut room = TestRoom::open(seed, case, &path.up, config, Vec::new());
    let players = case.number("players") as usize;
    let early = case.text("cut") == "start";
    if let (Some((a, b)), true) = (cut, early) {
        room.testbed.cut(a, b);
    }
    room.gather(players, cut.filter(|_| early))?;
    // Start-up, above all of the clocks, is not what is measured.
    room.run_for(Duration::from_secs(5))?;
    let before = traffic(&room);
    let seconds = case.number("seconds");
    room.run_for(Duration::from_secs_f64(seconds))?;
    let idle = rates(&before, &traffic(&room), seconds);
    let before = traffic(&room);
    let mut updates = Updates::new(case, players);
    let start = room.testbed.now();
    let end = start + Duration::from_secs_f64(seconds);
    let middle = start + Duration::from_secs_f64(seconds / 2.0);
    let mut whole = true;
    while let Some((at, sender)) = updates.next_turn(start, end) {
        updates.receive_until(&mut room, at)?;
        if let (Some((a, b)), true) = (cut, whole && !early && at >= middle) {
            room.testbed.cut(a, b);
            whole = false;
        }
        updates.send(&mut room, sender);
    }
    updates.receive_until(&mut room, end)?;
    let busy = rates(&before, &traffic(&room), seconds);
    // What is under way may arrive: where a pair was cut in the middle, after that was noticed.
    let rest = if cut.is_some() { 15 } else { 2 };
    updates.receive_until(&mut room, end + Duration::from_secs(rest))?;
    Ok(Measured {
        busy,
        idle,
        due: updates.due,
        unheard: updates.unheard(),
        latency_ms: updates.latency_ms,
        seconds,
    })
}

fn traffic(room: &TestRoom) -> Vec<Traffic> {
    let nodes = room.testbed.nodes();
    nodes.map(|node| room.testbed.traffic(node)).collect()
}

fn rates(before: &[Traffic], after: &[Traffic], seconds: f64) -> Rates {
    let rate = |of: fn(&Traffic) -> u64| {
        let pairs = before.iter().zip(after);
        pairs
            .map(|(before, after)| (of(after) - of(before)) as f64 / seconds)
            .collect()
    };
    Rates {
        up: rate(Traffic::wire_bytes_sent),
        down: rate(Traffic::wire_bytes_received),
    }
}

/// The updates of a measurement, and who has received which.
struct Updates {
    players: usize,
    interval: Duration,
    bytes: usize,
    delivery: Delivery,
    turns: u64,
    /// World time of each update, by its number.
    sent: Vec<Duration>,
    received: BTreeSet<(u16, u64)>,
    due: u64,
    latency_ms: Samples,
}

impl Updates {
    fn new(case: &Case, players: usize) -> Updates {
        Updates {
            players,
            interval: Duration::from_secs_f64(1.0 / case.number("rate_hz")),
            bytes: case.number("bytes") as usize,
            delivery: delivery(case.text("delivery")),
            turns: 0,
            sent: Vec::new(),
            received: BTreeSet::new(),
            due: 0,
            latency_ms: Samples::new(),
        }
    }

    /// Who sends next and when: everyone once per interval, one after the other.
    fn next_turn(&mut self, start: Duration, end: Duration) -> Option<(Duration, NodeId)> {
        let players = self.players as u64;
        let (round, sender) = (self.turns / players, self.turns % players);
        let at = start
            + self.interval * round as u32
            + self.interval.mul_f64(sender as f64 / players as f64);
        self.turns += 1;
        (at < end).then_some((at, NodeId(sender as u16)))
    }

    fn send(&mut self, room: &mut TestRoom, sender: NodeId) {
        let mut update = vec![0; self.bytes];
        update[..8].copy_from_slice(&(self.sent.len() as u64).to_le_bytes());
        self.sent.push(room.testbed.now());
        self.due += self.players as u64 - 1;
        let delivery = self.delivery;
        // A refusal shows as an update that nobody received.
        let _ = room.testbed.with(sender, |now, session| {
            session.send_bytes(now, To::Others, delivery, UPDATE, &update)
        });
    }

    fn receive_until(&mut self, room: &mut TestRoom, until: Duration) -> Result<(), String> {
        while let Some((at, node, event)) = room.next(until)? {
            let SessionEvent::Message { payload, .. } = event else {
                continue;
            };
            let number = payload[..8].try_into().map(u64::from_le_bytes);
            let number = number.map_err(|_| "an update arrived damaged")?;
            if !self.received.insert((node.0, number)) {
                return Err(format!("update {number} arrived twice at {node}"));
            }
            let latency = at - self.sent[number as usize];
            self.latency_ms.push(latency.as_secs_f64() * 1e3);
        }
        Ok(())
    }

    fn unheard(&self) -> u64 {
        self.due - self.received.len() as u64
    }
}
