//! Time synchronisation in cycles, as published with *Hat Hunters Online* (5.2): the client asks once a second and applies a
//! damped correction. The `clock` experiment runs it beside the session's own clock, its messages sent as the game's.

use core::time::Duration;
use std::net::SocketAddr;

use samestep_proto::{Machine, Transmit};
use samestep_session::clock::ClockConfig;
use samestep_session::{Delivery, MessageKind, Role, Session, SessionConfig, SessionEvent, To};
use samestep_wire::{Wire, decode_exact, encode_to_vec};

/// Settings of the published protocol. [`CycleConfig::published`] names the experiments it was measured in.
#[derive(Clone, PartialEq, Debug)]
pub struct CycleConfig {
    /// Share of a measured difference that is corrected; `None` corrects all of it.
    pub damping: Option<f64>,
    /// Which answers count by their round trip; `None` lets all of them.
    pub gate: Option<Gate>,
    /// Time between two cycles.
    pub interval: Duration,
    /// Whether only the answer to the latest question counts.
    pub discard_outdated: bool,
    /// Messages of a cycle.
    pub messages: Messages,
    /// How often the program reads its socket. The clock cannot enforce it: whoever drives the program does.
    pub poll: Duration,
}

/// Which end computes the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Messages {
    /// The client asks and computes.
    Two,
    /// The server asks, computes, and sends the client the time: the delay of that last message is never measured.
    Three,
}

/// Refuses answers that took too long.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gate {
    /// Answers that count in any case, for a first mean.
    pub first: u32,
    /// Longest round trip, in means of those that counted.
    pub factor: f64,
}

impl CycleConfig {
    /// The settings of an experiment of the source's Table 5.2: 1 to 6 on a LAN, 7 to 16 over LTE.
    ///
    /// # Panics
    /// If there is no experiment of that number.
    pub fn published(experiment: u8) -> Self {
        let with = |damping: Option<f64>, ms: u64, messages: Messages, gate: bool| Self {
            damping,
            gate: gate.then_some(Gate {
                first: 10,
                factor: 1.5,
            }),
            interval: Duration::from_millis(ms),
            discard_outdated: messages == Messages::Two,
            messages,
            poll: Duration::from_nanos(16_666_667),
        };
        match experiment {
            1 => with(None, 1_000, Messages::Three, false),
            2 => with(Some(0.3), 1_000, Messages::Three, false),
            3 => with(Some(0.3), 2_000, Messages::Three, false),
            4 => with(Some(0.3), 500, Messages::Three, false),
            5 => with(Some(0.3), 1_000, Messages::Two, false),
            6..=16 => with(Some(0.3), 1_000, Messages::Two, true),
            other => panic!("there is no experiment {other}: use 1 to 16"),
        }
    }
}

/// The messages of a cycle. Times are microseconds on the sender's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
enum CycleMessage {
    /// The client asks for the time.
    Request {
        /// When it left.
        #[wire(varint)]
        t0: u64,
    },
    /// The server answers with its time.
    Response {
        /// Of the request.
        #[wire(varint)]
        t0: u64,
        /// How long the server held the request.
        #[wire(varint)]
        held: u64,
        /// When it left.
        #[wire(varint)]
        t2: u64,
    },
    /// With three messages, the client begins a cycle. The published server had a timer of its own for each client; here the
    /// timer is with the end that has the settings, which changes nothing measured.
    Begin {
        /// Number of the cycle.
        #[wire(varint)]
        cycle: u32,
    },
    /// With three messages, the server asks for an echo.
    Probe {
        /// Of the cycle.
        #[wire(varint)]
        cycle: u32,
        /// When it left.
        #[wire(varint)]
        t0: u64,
    },
    /// With three messages, the client answers.
    Echo {
        /// Of the cycle.
        #[wire(varint)]
        cycle: u32,
        /// Of the probe.
        #[wire(varint)]
        t0: u64,
        /// How long the client held the probe.
        #[wire(varint)]
        held: u64,
    },
    /// With three messages, the server sends the time it is when this arrives.
    NewTime {
        /// Of the cycle.
        #[wire(varint)]
        cycle: u32,
        /// The server's time plus half the round trip.
        #[wire(varint)]
        time: u64,
        /// The round trip.
        #[wire(varint)]
        rtt: u64,
    },
}

/// The server's answer to a client's message that arrives, and is answered, at `now`. The server keeps no state.
fn answer(now: Duration, message: CycleMessage) -> Option<CycleMessage> {
    let now = micros(now);
    match message {
        CycleMessage::Request { t0 } => Some(CycleMessage::Response {
            t0,
            held: 0,
            t2: now,
        }),
        CycleMessage::Begin { cycle } => Some(CycleMessage::Probe { cycle, t0: now }),
        CycleMessage::Echo { cycle, t0, held } => {
            let rtt = now.saturating_sub(t0).saturating_sub(held);
            Some(CycleMessage::NewTime {
                cycle,
                time: now.saturating_add(rtt / 2),
                rtt,
            })
        }
        CycleMessage::Response { .. }
        | CycleMessage::Probe { .. }
        | CycleMessage::NewTime { .. } => None,
    }
}

/// The result of a cycle.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CycleSample {
    /// How many cycles were answered before this one.
    pub number: u64,
    /// The server's time, as estimated, minus the client's, in seconds: what the source's tables are about.
    pub difference: f64,
    /// The measured round trip.
    pub rtt: Duration,
    /// Whether it was let through and corrected.
    pub applied: bool,
}

/// The client's end.
struct CycleClient {
    config: CycleConfig,
    next: Duration,
    cycle: u32,
    /// When the latest question left.
    asked: u64,
    /// Seconds added to the local time.
    correction: f64,
    accepted: u32,
    accepted_rtt: f64,
    answered: u64,
    last: Option<CycleSample>,
}

impl CycleClient {
    fn new(now: Duration, config: &CycleConfig) -> Self {
        Self {
            config: config.clone(),
            next: now,
            cycle: 0,
            asked: u64::MAX,
            correction: 0.0,
            accepted: 0,
            accepted_rtt: 0.0,
            answered: 0,
            last: None,
        }
    }

    /// The shown time steps in both directions with the corrections, as published.
    fn time(&self, now: Duration) -> Option<Duration> {
        let time = now.as_secs_f64() + self.correction;
        (self.accepted > 0).then(|| Duration::try_from_secs_f64(time.max(0.0)).unwrap_or_default())
    }

    /// The question that begins a cycle, if one is due.
    fn poll(&mut self, now: Duration) -> Option<CycleMessage> {
        if now < self.next {
            return None;
        }
        self.next = now + self.config.interval;
        self.cycle = self.cycle.wrapping_add(1);
        self.asked = micros(now);
        Some(match self.config.messages {
            Messages::Two => CycleMessage::Request { t0: self.asked },
            Messages::Three => CycleMessage::Begin { cycle: self.cycle },
        })
    }

    fn handle(&mut self, now: Duration, message: CycleMessage) -> Option<CycleMessage> {
        match message {
            CycleMessage::Response { t0, held, t2 } => {
                if self.config.discard_outdated && t0 != self.asked {
                    return None;
                }
                let rtt = micros(now).saturating_sub(t0).saturating_sub(held);
                self.on_time(now, seconds(t2) + seconds(rtt) / 2.0, rtt);
                None
            }
            CycleMessage::Probe { cycle, t0 } => Some(CycleMessage::Echo { cycle, t0, held: 0 }),
            CycleMessage::NewTime { cycle, time, rtt } => {
                if self.config.discard_outdated && cycle != self.cycle {
                    return None;
                }
                self.on_time(now, seconds(time), rtt);
                None
            }
            CycleMessage::Request { .. }
            | CycleMessage::Begin { .. }
            | CycleMessage::Echo { .. } => None,
        }
    }

    fn on_time(&mut self, now: Duration, time: f64, rtt: u64) {
        let difference = time - (now.as_secs_f64() + self.correction);
        let applied = self.config.gate.is_none_or(|gate| {
            self.accepted < gate.first
                || seconds(rtt) < gate.factor * self.accepted_rtt / f64::from(self.accepted)
        });
        if applied {
            self.accepted = self.accepted.saturating_add(1);
            self.accepted_rtt += seconds(rtt);
            self.correction += difference * self.config.damping.unwrap_or(1.0);
        }
        self.last = Some(CycleSample {
            number: self.answered,
            difference,
            rtt: Duration::from_micros(rtt),
            applied,
        });
        self.answered += 1;
    }
}

/// A program that keeps time by published cycles. The session's own clock sends no probes.
pub struct CycleProgram {
    session: Session,
    /// `None` on the server.
    client: Option<CycleClient>,
    /// The server's clock at the beginning: the common time is counted from there.
    epoch: Duration,
}

/// The kind of game message that carries a [`CycleMessage`].
const KIND: MessageKind = MessageKind(1);
/// Longer than any run.
const NEVER: Duration = Duration::from_secs(1 << 32);

impl CycleProgram {
    /// A server, or a client of one that began at `epoch` on the server's clock.
    pub fn new(
        now: Duration,
        mut config: SessionConfig,
        cycles: &CycleConfig,
        role: Role,
        epoch: Duration,
        seed: [u8; 32],
    ) -> Self {
        config.clock = ClockConfig {
            burst: 0,
            interval: NEVER,
            calm_interval: NEVER,
            ..ClockConfig::default()
        };
        let client = matches!(role, Role::Client(_)).then(|| CycleClient::new(now, cycles));
        Self {
            session: Session::new(now, config, role, seed).expect("these settings are good"),
            client,
            epoch,
        }
    }

    /// The session underneath.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The common time as this program shows it.
    pub fn time(&self, now: Duration) -> Option<Duration> {
        match &self.client {
            // The welcome carries the epoch in microseconds.
            Some(client) => {
                let epoch = Duration::from_micros(micros(self.epoch));
                Some(client.time(now)?.saturating_sub(epoch))
            }
            None => Some(now.saturating_sub(self.epoch)),
        }
    }

    /// The result of the latest cycle; `None` on the server.
    pub fn last_cycle(&self) -> Option<CycleSample> {
        self.client.as_ref()?.last
    }

    /// Reads what has arrived and answers it.
    fn read(&mut self, now: Duration) {
        while let Some(event) = self.session.poll_event() {
            let SessionEvent::Message { from, payload, .. } = event else {
                continue;
            };
            let message = decode_exact(&payload).expect("both ends speak the same protocol");
            let reply = match &mut self.client {
                Some(client) => client.handle(now, message),
                None => answer(now, message),
            };
            self.send(now, To::Peer(from), reply);
        }
    }

    fn send(&mut self, now: Duration, to: To, message: Option<CycleMessage>) {
        if let Some(message) = message {
            let bytes = encode_to_vec(&message).expect("every time can be encoded");
            let sent = self
                .session
                .send_bytes(now, to, Delivery::Unreliable, KIND, &bytes);
            sent.expect("both are in the room");
        }
    }
}

impl Machine for CycleProgram {
    type Event = ();

    fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        self.session.handle_datagram(now, from, datagram);
        self.read(now);
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.session.handle_timeout(now);
        self.read(now);
        if self.session.me().is_some() {
            let question = self.client.as_mut().and_then(|client| client.poll(now));
            self.send(now, To::Authority, question);
        }
    }

    fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        self.session.poll_transmit(now, buf)
    }

    fn poll_timeout(&mut self) -> Option<Duration> {
        let cycle = self.client.as_ref().map(|client| client.next);
        let cycle = cycle.filter(|_| self.session.me().is_some());
        [self.session.poll_timeout(), cycle]
            .into_iter()
            .flatten()
            .min()
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }

    fn max_packet(&self) -> usize {
        Machine::max_packet(&self.session)
    }
}

fn micros(time: Duration) -> u64 {
    time.as_micros() as u64
}

fn seconds(micros: u64) -> f64 {
    micros as f64 * 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A cycle over ways of these lengths, the server's clock an hour ahead.
    fn cycle(client: &mut CycleClient, at: Duration, there: Duration, back: Duration) {
        let hour = Duration::from_secs(3600);
        let mut now = at;
        let mut question = client.poll(now);
        while let Some(message) = question {
            now += there;
            let reply = answer(now + hour, message).unwrap();
            now += back;
            question = client.handle(now, reply);
        }
    }

    #[test]
    fn both_forms_find_the_time_over_equal_ways() {
        for experiment in [1, 2, 5, 6] {
            let config = CycleConfig::published(experiment);
            let mut client = CycleClient::new(Duration::ZERO, &config);
            for i in 0..100 {
                cycle(&mut client, ms(1_000 * i), ms(20), ms(20));
            }
            let now = Duration::from_secs(100);
            let off = client.time(now).unwrap().as_secs_f64() - 3_700.0;
            assert!(off.abs() < 1e-5, "experiment {experiment}: {off}");
            assert_eq!(client.last.unwrap().rtt, ms(40));
        }
    }

    #[test]
    fn the_gate_refuses_slow_answers_after_the_first_ten() {
        let mut client = CycleClient::new(Duration::ZERO, &CycleConfig::published(6));
        for i in 0..10 {
            cycle(&mut client, ms(1_000 * i), ms(20), ms(20));
        }
        cycle(&mut client, ms(10_000), ms(100), ms(20));
        assert!(!client.last.unwrap().applied);
        cycle(&mut client, ms(11_000), ms(29), ms(20));
        assert!(client.last.unwrap().applied);
    }

    #[test]
    fn an_outdated_answer_is_discarded_where_the_settings_say_so() {
        for (experiment, counts) in [(6, false), (2, true)] {
            let mut client = CycleClient::new(Duration::ZERO, &CycleConfig::published(experiment));
            let ask = |client: &mut CycleClient, at| client.poll(at).unwrap();
            let first = ask(&mut client, ms(0));
            let mut reply = answer(ms(500), first).unwrap();
            if let CycleMessage::Probe { .. } = reply {
                let echo = client.handle(ms(900), reply).unwrap();
                reply = answer(ms(950), echo).unwrap();
            }
            ask(&mut client, ms(1_000));
            client.handle(ms(1_200), reply);
            assert_eq!(client.last.is_some(), counts);
        }
    }

    #[test]
    fn messages_survive_the_wire() {
        let messages = [
            CycleMessage::Request { t0: 7 },
            CycleMessage::NewTime {
                cycle: 3,
                time: u64::MAX,
                rtt: 1,
            },
        ];
        for message in messages {
            let bytes = encode_to_vec(&message).unwrap();
            assert_eq!(decode_exact::<CycleMessage>(&bytes).unwrap(), message);
        }
    }
}
