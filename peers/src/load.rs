//! The work itself, the same for every library: what clients say and what the server answers.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::{
    control::{Control, PATIENCE},
    library::Mode,
};

/// Bytes of a ping and of its answer.
pub const PING_BYTES: usize = 32;
/// Bytes of a message in the latency stream.
pub const STREAM_BYTES: usize = 100;
/// The longest message of either work.
pub const MAX_BYTES: usize = STREAM_BYTES;
/// Time between two messages of the latency stream: 60 Hz.
pub const STREAM_INTERVAL: Duration = Duration::from_nanos(16_666_667);
/// An unreliable ping without an answer for this long is repeated.
const RETRY: Duration = Duration::from_millis(250);

/// What the clients of one process do.
pub struct Load {
    control: Arc<Control>,
    clients: usize,
    kind: Kind,
    due: Vec<usize>,
}

enum Kind {
    Ping {
        repeat: Repeat,
        started: bool,
        sequence: Vec<u64>,
        seen: Vec<u64>,
        next_sweep: Instant,
    },
    Stream {
        recorder: Arc<Recorder>,
        total: u64,
        next: u64,
        start: Option<Instant>,
    },
}

/// What happens to a ping that is not answered, and after one that is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    AfterLoss,
    Never,
    Once,
}

impl Load {
    /// Each client keeps one ping in flight, once told to go.
    pub fn ping(control: &Arc<Control>, mode: Mode, clients: usize) -> Load {
        let repeat = match mode {
            Mode::Unreliable => Repeat::AfterLoss,
            Mode::Reliable => Repeat::Never,
        };
        Load::pings(control, repeat, clients)
    }

    /// Each client sends one ping, once told to go, and is silent after its answer.
    pub fn rest(control: &Arc<Control>, clients: usize) -> Load {
        Load::pings(control, Repeat::Once, clients)
    }

    fn pings(control: &Arc<Control>, repeat: Repeat, clients: usize) -> Load {
        Load {
            control: Arc::clone(control),
            clients,
            kind: Kind::Ping {
                repeat,
                started: false,
                sequence: vec![0; clients],
                seen: vec![0; clients],
                next_sweep: Instant::now(),
            },
            due: Vec::with_capacity(clients),
        }
    }

    /// One client sends `total` messages at 60 Hz, once told to go.
    pub fn stream(control: &Arc<Control>, recorder: &Arc<Recorder>, total: u64) -> Load {
        Load {
            control: Arc::clone(control),
            clients: 1,
            kind: Kind::Stream {
                recorder: Arc::clone(recorder),
                total,
                next: 0,
                start: None,
            },
            due: Vec::new(),
        }
    }

    /// How many clients there are.
    pub fn clients(&self) -> usize {
        self.clients
    }

    /// A message for `client` came; whether it should now send its next one.
    pub fn on_message(&mut self, client: usize, message: &[u8]) -> bool {
        let Kind::Ping {
            sequence, repeat, ..
        } = &mut self.kind
        else {
            return false;
        };
        // A late answer to a repeated ping is none to the current one.
        if message.len() != PING_BYTES || read_u64(message, 0) != sequence[client] {
            return false;
        }
        sequence[client] += 1;
        self.control.on_trip();
        *repeat != Repeat::Once
    }

    /// Clients that should send now although nothing came: at the start, after a loss, on the stream's beat.
    pub fn due(&mut self, now: Instant) -> &[usize] {
        self.due.clear();
        match &mut self.kind {
            Kind::Ping {
                started,
                next_sweep,
                ..
            } if !*started => {
                if self.control.is_going() {
                    *started = true;
                    *next_sweep = now + RETRY;
                    self.due.extend(0..self.clients);
                }
            }
            Kind::Ping {
                repeat: Repeat::AfterLoss,
                sequence,
                seen,
                next_sweep,
                ..
            } if now >= *next_sweep => {
                *next_sweep = now + RETRY;
                for (client, (sequence, seen)) in sequence.iter().zip(seen).enumerate() {
                    if sequence == seen {
                        self.control.on_retry();
                        self.due.push(client);
                    }
                    *seen = *sequence;
                }
            }
            Kind::Ping { .. } => {}
            Kind::Stream {
                total, next, start, ..
            } => {
                if start.is_none() && self.control.is_going() {
                    *start = Some(now);
                }
                if let Some(start) = start
                    && next < total
                    && now >= *start + STREAM_INTERVAL * *next as u32
                {
                    self.due.push(0);
                }
            }
        }
        &self.due
    }

    /// Writes the next message of `client`.
    pub fn write<'b>(&mut self, client: usize, buffer: &'b mut [u8; MAX_BYTES]) -> &'b [u8] {
        match &mut self.kind {
            Kind::Ping { sequence, .. } => {
                buffer[..8].copy_from_slice(&sequence[client].to_le_bytes());
                &buffer[..PING_BYTES]
            }
            Kind::Stream { recorder, next, .. } => {
                buffer[..8].copy_from_slice(&next.to_le_bytes());
                buffer[8..16].copy_from_slice(&recorder.now_ns().to_le_bytes());
                *next += 1;
                &buffer[..STREAM_BYTES]
            }
        }
    }

    /// How long to wait for the network before asking [`Load::due`] again.
    pub fn timeout(&self, now: Instant) -> Duration {
        match &self.kind {
            Kind::Stream {
                next,
                start: Some(start),
                ..
            } => (*start + STREAM_INTERVAL * *next as u32)
                .saturating_duration_since(now)
                .min(PATIENCE),
            _ => PATIENCE,
        }
    }

    /// How often a library that cannot say when it wants to be called is called anyway.
    pub fn tick(&self) -> Duration {
        match self.kind {
            Kind::Ping { .. } => PING_TICK,
            Kind::Stream { .. } => STREAM_TICK,
        }
    }
}

const PING_TICK: Duration = Duration::from_millis(100);
const STREAM_TICK: Duration = Duration::from_millis(5);

/// What the server does with a message.
#[derive(Clone)]
pub enum Service {
    /// Sends it back.
    Echo,
    /// Notes when it came.
    Record(Arc<Recorder>),
}

impl Service {
    /// Takes a message; whether it should be sent back.
    pub fn handle(&self, message: &[u8]) -> bool {
        match self {
            Service::Echo => true,
            Service::Record(recorder) => {
                recorder.record(message);
                false
            }
        }
    }

    /// Bytes of every message, for those who read from a stream.
    pub fn message_bytes(&self) -> usize {
        match self {
            Service::Echo => PING_BYTES,
            Service::Record(_) => STREAM_BYTES,
        }
    }

    /// As [`Load::tick`], for the server.
    pub fn tick(&self) -> Duration {
        match self {
            Service::Echo => PING_TICK,
            Service::Record(_) => STREAM_TICK,
        }
    }
}

/// One-way latencies, on a clock both sides share.
pub struct Recorder {
    epoch: Instant,
    latencies: Mutex<Vec<Option<Duration>>>,
}

impl Recorder {
    /// Room for `total` messages.
    pub fn new(total: u64) -> Recorder {
        Recorder {
            epoch: Instant::now(),
            latencies: Mutex::new(vec![None; total as usize]),
        }
    }

    fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    fn record(&self, message: &[u8]) {
        assert_eq!(message.len(), STREAM_BYTES, "messages arrive whole");
        let latency = Duration::from_nanos(self.now_ns() - read_u64(message, 8));
        let mut latencies = self.latencies.lock().expect("no recorder panics");
        // A duplicate of an unreliable message does not make it later.
        latencies[read_u64(message, 0) as usize].get_or_insert(latency);
    }

    /// Latencies of the messages that came, sorted.
    pub fn sorted(&self) -> Vec<Duration> {
        let mut sorted: Vec<Duration> = self
            .latencies
            .lock()
            .expect("no recorder panics")
            .iter()
            .flatten()
            .copied()
            .collect();
        sorted.sort_unstable();
        sorted
    }

    /// How many messages came.
    pub fn count(&self) -> usize {
        self.latencies
            .lock()
            .expect("no recorder panics")
            .iter()
            .flatten()
            .count()
    }
}

fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
