//! Time synchronisation in cycles, as published with *Hat Hunters Online*: one question a second and a damped correction.

use core::time::Duration;

use samestep_wire::Wire;

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
    /// How often the program looks at its network. The clock cannot enforce it: whoever drives the program does. `None` reads on
    /// arrival.
    pub poll: Option<Duration>,
}

/// Who computes the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Messages {
    /// The client asks and computes.
    Two,
    /// The server asks, computes, and tells the client what time it is: the last way is never measured.
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
            poll: Some(Duration::from_nanos(16_666_667)),
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

impl Default for CycleConfig {
    /// What the source arrived at: experiment 6.
    fn default() -> Self {
        Self::published(6)
    }
}

/// What client and server say to each other in a cycle. Times are microseconds on the sender's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum CycleMessage {
    /// Client: what time is it?
    Request {
        /// When it left.
        #[wire(varint)]
        t0: u64,
    },
    /// Server: when this left, it was that late.
    Response {
        /// Of the request.
        #[wire(varint)]
        t0: u64,
        /// How long the server took.
        #[wire(varint)]
        held: u64,
        /// When it left.
        #[wire(varint)]
        t2: u64,
    },
    /// Client, three messages: begin a cycle. The published server had a timer of its own for each client; asking it leaves the
    /// timer with the one who has the settings, and changes nothing measured.
    Begin {
        /// Number of the cycle.
        #[wire(varint)]
        cycle: u32,
    },
    /// Server, three messages: answer this.
    Probe {
        /// Of the cycle.
        #[wire(varint)]
        cycle: u32,
        /// When it left.
        #[wire(varint)]
        t0: u64,
    },
    /// Client, three messages: here it is.
    Echo {
        /// Of the cycle.
        #[wire(varint)]
        cycle: u32,
        /// Of the probe.
        #[wire(varint)]
        t0: u64,
        /// How long the client took.
        #[wire(varint)]
        held: u64,
    },
    /// Server, three messages: this is the time when you read this.
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

/// The authority's side: answers with its own clock and remembers nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct CycleServer;

impl CycleServer {
    /// The answer to a client's message that arrived, and is answered, at `now`.
    pub fn handle_cycle(&self, now: Duration, message: CycleMessage) -> Option<CycleMessage> {
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
}

/// What a cycle brought.
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

/// The client's side.
#[derive(Clone, Debug)]
pub(crate) struct Cycles {
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

impl Cycles {
    pub(crate) fn new(now: Duration, config: &CycleConfig) -> Self {
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

    pub(crate) fn next(&self) -> Duration {
        self.next
    }

    pub(crate) fn last(&self) -> Option<CycleSample> {
        self.last
    }

    /// Steps wherever the corrections lead, as published.
    pub(crate) fn time(&self, now: Duration) -> Option<Duration> {
        let time = now.as_secs_f64() + self.correction;
        (self.accepted > 0).then(|| Duration::try_from_secs_f64(time.max(0.0)).unwrap_or_default())
    }

    /// Enough cycles to have overcome any first difference, as the source judges.
    pub(crate) fn is_steady(&self) -> bool {
        self.answered >= 60
    }

    /// Half the mean round trip: nothing better is known.
    pub(crate) fn error(&self) -> f64 {
        self.accepted_rtt / f64::from(self.accepted.max(1)) / 2.0
    }

    /// The question that begins a cycle, if one is due.
    pub(crate) fn poll_cycle(&mut self, now: Duration) -> Option<CycleMessage> {
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

    pub(crate) fn handle_cycle(
        &mut self,
        now: Duration,
        message: CycleMessage,
    ) -> Option<CycleMessage> {
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

fn micros(time: Duration) -> u64 {
    time.as_micros() as u64
}

fn seconds(micros: u64) -> f64 {
    micros as f64 * 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;
    use samestep_wire::{decode_exact, encode_to_vec};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A cycle over ways of these lengths, the server's clock an hour ahead.
    fn cycle(client: &mut Cycles, at: Duration, there: Duration, back: Duration) {
        let hour = Duration::from_secs(3600);
        let mut now = at;
        let mut question = client.poll_cycle(now);
        while let Some(message) = question {
            now += there;
            let answer = CycleServer.handle_cycle(now + hour, message).unwrap();
            now += back;
            question = client.handle_cycle(now, answer);
        }
    }

    #[test]
    fn both_forms_find_the_time_over_equal_ways() {
        for experiment in [1, 2, 5, 6] {
            let config = CycleConfig::published(experiment);
            let mut client = Cycles::new(Duration::ZERO, &config);
            for i in 0..100 {
                cycle(&mut client, ms(1_000 * i), ms(20), ms(20));
            }
            let now = Duration::from_secs(100);
            let off = client.time(now).unwrap().as_secs_f64() - 3_700.0;
            assert!(off.abs() < 1e-5, "experiment {experiment}: {off}");
            assert!(client.is_steady());
            assert_eq!(client.last().unwrap().rtt, ms(40));
        }
    }

    #[test]
    fn the_gate_refuses_slow_answers_after_the_first_ten() {
        let mut client = Cycles::new(Duration::ZERO, &CycleConfig::published(6));
        for i in 0..10 {
            cycle(&mut client, ms(1_000 * i), ms(20), ms(20));
        }
        cycle(&mut client, ms(10_000), ms(100), ms(20));
        assert!(!client.last().unwrap().applied);
        cycle(&mut client, ms(11_000), ms(29), ms(20));
        assert!(client.last().unwrap().applied);
    }

    #[test]
    fn an_outdated_answer_is_discarded_where_the_settings_say_so() {
        for (experiment, counts) in [(6, false), (2, true)] {
            let mut client = Cycles::new(Duration::ZERO, &CycleConfig::published(experiment));
            let ask = |client: &mut Cycles, at| client.poll_cycle(at).unwrap();
            let first = ask(&mut client, ms(0));
            let mut answer = CycleServer.handle_cycle(ms(500), first).unwrap();
            if let CycleMessage::Probe { .. } = answer {
                let echo = client.handle_cycle(ms(900), answer).unwrap();
                answer = CycleServer.handle_cycle(ms(950), echo).unwrap();
            }
            ask(&mut client, ms(1_000));
            client.handle_cycle(ms(1_200), answer);
            assert_eq!(client.last().is_some(), counts);
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
