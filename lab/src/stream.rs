//! A stream of stamped messages at a steady rate, and what became of each.

use std::time::Duration;

use samestep_netem::Path;
use samestep_proto::{ChannelConfig, ChannelId, ConnectionId, Endpoint, SendError};
use samestep_sim::Wake;

use crate::pair::Pair;
use crate::parameters::Case;
use crate::stats::Samples;

/// The channel of every stream, the first of its connection.
pub const CHANNEL: ChannelId = ChannelId(0);
/// The timer of a stream.
const TIMER: u64 = 0;

/// The settings of a stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamConfig {
    /// Bytes per message, at least [`Stamp::BYTES`].
    pub bytes: usize,
    /// Time between two messages.
    pub interval: Duration,
    /// How many; the stream ends after the last.
    pub count: u32,
}

impl StreamConfig {
    /// As many messages of a case's size at an interval, at least one.
    pub fn of(case: &Case, interval: Duration, count: f64) -> StreamConfig {
        StreamConfig {
            bytes: case.number("message_bytes") as usize,
            interval,
            count: count.ceil().max(1.0) as u32,
        }
    }
}

/// What every message carries: who it is, when it was made, and how the sender saw the network then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stamp {
    /// Its number, from 0.
    pub id: u32,
    /// When the application made it.
    pub created: Duration,
    /// When it was handed to the endpoint.
    pub sent: Duration,
    /// The sender's estimate of the one-way latency.
    pub latency: Duration,
    /// The sender's estimate of the jitter.
    pub jitter: Duration,
    /// The sender's estimate of the share lost.
    pub loss: f32,
}

impl Stamp {
    /// Size of a stamp; the rest of a message is filler.
    pub const BYTES: usize = 32;

    /// A stamp with what `endpoint` knows about its connection.
    pub fn new(
        id: u32,
        created: Duration,
        sent: Duration,
        endpoint: &Endpoint,
        connection: ConnectionId,
    ) -> Stamp {
        let (latency, jitter, loss) = match endpoint.stats(connection) {
            Some(stats) => (stats.rtt / 2, stats.jitter, stats.loss),
            None => (Duration::ZERO, Duration::ZERO, 0.0),
        };
        Stamp {
            id,
            created,
            sent,
            latency,
            jitter,
            loss,
        }
    }

    /// Writes the stamp in front of a message.
    pub fn write(&self, message: &mut [u8]) {
        let micros = |time: Duration| {
            u32::try_from(time.as_micros())
                .unwrap_or(u32::MAX)
                .to_le_bytes()
        };
        message[0..4].copy_from_slice(&self.id.to_le_bytes());
        message[4..12].copy_from_slice(&(self.created.as_nanos() as u64).to_le_bytes());
        message[12..20].copy_from_slice(&(self.sent.as_nanos() as u64).to_le_bytes());
        message[20..24].copy_from_slice(&micros(self.latency));
        message[24..28].copy_from_slice(&micros(self.jitter));
        message[28..32].copy_from_slice(&self.loss.to_le_bytes());
    }

    /// Reads the stamp of a message; `None` if it is too short to have one.
    pub fn read(message: &[u8]) -> Option<Stamp> {
        let (stamp, _) = message.split_first_chunk::<{ Stamp::BYTES }>()?;
        let word = |at: usize| {
            u32::from_le_bytes([stamp[at], stamp[at + 1], stamp[at + 2], stamp[at + 3]])
        };
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        Some(Stamp {
            id: word(0),
            created: Duration::from_nanos(long(4)),
            sent: Duration::from_nanos(long(12)),
            latency: Duration::from_micros(u64::from(word(20))),
            jitter: Duration::from_micros(u64::from(word(24))),
            loss: f32::from_bits(word(28)),
        })
    }
}

/// A message that arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// The stamp it carried.
    pub stamp: Stamp,
    /// The time at which the receiver's machine had it.
    pub received: Duration,
    /// The time at which the receiver's application had it.
    pub processed: Duration,
}

/// The outcome of a stream.
#[derive(Clone, Debug, Default)]
pub struct StreamLog {
    /// Messages sent.
    pub sent: u32,
    /// Messages that arrived, in the order they did.
    pub arrivals: Vec<Arrival>,
    /// Bytes per message.
    pub bytes: usize,
    /// Bytes on the wire in both directions while the stream ran, IP and UDP headers included.
    pub wire_bytes: u64,
}

impl StreamLog {
    /// Delivery latencies in ms: from the sending call to the receiving application.
    pub fn latencies_ms(&self) -> Samples {
        self.arrivals
            .iter()
            .map(|arrival| (arrival.processed - arrival.stamp.sent).as_secs_f64() * 1e3)
            .collect()
    }

    /// Times between one arrival and the next, in ms.
    pub fn spacings_ms(&self) -> Samples {
        self.arrivals
            .windows(2)
            .map(|pair| (pair[1].received - pair[0].received).as_secs_f64() * 1e3)
            .collect()
    }
}

/// A stream under way in virtual time. Hand it every wake; it takes its own.
pub struct Stream {
    config: StreamConfig,
    start: Duration,
    message: Vec<u8>,
    /// The outcome so far.
    pub log: StreamLog,
}

impl Stream {
    /// Starts a stream from the pair's client to its server.
    pub fn start(pair: &mut Pair, config: StreamConfig) -> Stream {
        let start = pair.world.now();
        pair.world.set_timer(start, TIMER);
        // Filler that does not compress, in case anything on the way would.
        let message = (0..config.bytes as u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        Stream {
            config,
            start,
            message,
            log: StreamLog {
                bytes: config.bytes,
                ..StreamLog::default()
            },
        }
    }

    /// When the last message leaves.
    pub fn end(&self) -> Duration {
        self.start + self.config.interval * self.config.count.saturating_sub(1)
    }

    /// Whether every message has arrived.
    pub fn complete(&self) -> bool {
        self.log.arrivals.len() == self.config.count as usize
    }

    /// Sends when it is time and records what arrives.
    pub fn on_wake(&mut self, pair: &mut Pair, wake: &Wake) -> Result<(), String> {
        match wake {
            Wake::Timer { key, .. } if *key == TIMER => self.send(pair),
            Wake::Message(received)
                if received.node == pair.server && received.channel == CHANNEL =>
            {
                let stamp = Stamp::read(&received.payload).ok_or("a message arrived cut short")?;
                if received.payload.len() != self.config.bytes {
                    return Err("a message arrived with another length".into());
                }
                self.log.arrivals.push(Arrival {
                    stamp,
                    received: received.at,
                    processed: received.at,
                });
                Ok(())
            }
            Wake::Event {
                event: samestep_proto::Event::Closed { reason, .. },
                ..
            } => Err(format!("the connection closed: {reason}")),
            _ => Ok(()),
        }
    }

    fn send(&mut self, pair: &mut Pair) -> Result<(), String> {
        let now = pair.world.now();
        let stamp = Stamp::new(
            self.log.sent,
            now,
            now,
            pair.world.endpoint(pair.client),
            pair.id,
        );
        stamp.write(&mut self.message);
        match pair
            .world
            .send(pair.client, pair.id, CHANNEL, &self.message)
        {
            Ok(_) | Err(SendError::QueueFull) => {}
            Err(error) => return Err(format!("could not send: {error}")),
        }
        self.log.sent += 1;
        if self.log.sent < self.config.count {
            pair.world
                .set_timer(self.start + self.config.interval * self.log.sent, TIMER);
        }
        Ok(())
    }
}

/// Runs one stream alone between two endpoints that a path connects; with `poll` both look at their network only that often. A
/// reliable stream must arrive completely; bytes are counted until everything sent has had the time to arrive and to be acknowledged
/// once, the same span for every channel.
pub fn run(
    path: &Path,
    channel: ChannelConfig,
    poll: Option<Duration>,
    config: StreamConfig,
    seed: u64,
) -> Result<StreamLog, String> {
    let reliable = channel.delivery.is_reliable();
    let pair = &mut Pair::connect(path, &[channel], poll, seed)?;
    let before = pair.wire_bytes();
    let mut stream = Stream::start(pair, config);
    let round_trip = path.up.latency + path.down.latency;
    let counted = stream.end() + Duration::from_secs(1) + round_trip * 2;
    advance(pair, &mut stream, counted, false)?;
    stream.log.wire_bytes = pair.wire_bytes() - before;
    if reliable {
        let patience = pair.world.now() + Duration::from_secs(120);
        advance(pair, &mut stream, patience, true)?;
        if !stream.complete() {
            let missing = config.count as usize - stream.log.arrivals.len();
            return Err(format!(
                "{missing} of {} reliable messages never arrived",
                config.count
            ));
        }
    }
    Ok(stream.log)
}

fn advance(
    pair: &mut Pair,
    stream: &mut Stream,
    until: Duration,
    until_complete: bool,
) -> Result<(), String> {
    while !(until_complete && stream.complete()) {
        match pair.world.next(until) {
            Some(wake) => stream.on_wake(pair, &wake)?,
            None => break,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use samestep_netem::LinkConfig;
    use samestep_proto::Delivery;

    use super::*;

    #[test]
    fn a_stamp_survives_the_trip() {
        let stamp = Stamp {
            id: 7,
            created: Duration::from_nanos(123_456_789_012),
            sent: Duration::from_nanos(123_456_789_999),
            latency: Duration::from_micros(50_000),
            jitter: Duration::from_micros(1_250),
            loss: 0.125,
        };
        let mut message = [9; 40];
        stamp.write(&mut message);
        assert_eq!(Stamp::read(&message), Some(stamp));
        assert_eq!(message[32..], [9; 8]);
        assert_eq!(Stamp::read(&message[..31]), None);
    }

    #[test]
    fn a_perfect_link_delivers_everything_after_its_latency() {
        let latency = Duration::from_millis(40);
        let path = Path::symmetric(LinkConfig {
            latency,
            ..LinkConfig::default()
        });
        let channel = ChannelConfig::new(Delivery::ReliableOrdered);
        let config = StreamConfig {
            bytes: 100,
            interval: Duration::from_millis(20),
            count: 50,
        };
        let log = run(&path, channel, None, config, 3).unwrap();
        assert_eq!((log.sent, log.arrivals.len()), (50, 50));
        assert!(
            log.latencies_ms()
                .values()
                .iter()
                .all(|ms| (ms - 40.0).abs() < 1e-6)
        );
        assert!(
            log.spacings_ms()
                .values()
                .iter()
                .all(|ms| (ms - 20.0).abs() < 1e-6)
        );
        assert!(log.wire_bytes > 50 * (100 + 28));
    }
}
