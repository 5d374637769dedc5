//! Packets in flight: what each carried, and which of them are lost (RFC 9002's time threshold, section 6.1.2).

use core::time::Duration;
use std::collections::VecDeque;

use crate::packet::AckFrame;
use crate::rtt::Rtt;

/// Something a packet carried whose fate matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carried {
    /// A segment of a reliable channel.
    Segment { channel: u8, seq: u32 },
    /// A part of an unreliable message on a channel with reports.
    Fragment {
        channel: u8,
        /// Number of the message.
        id: u64,
    },
    /// An unreliable message on a channel with reports.
    Message { channel: u8, id: u64 },
    /// A piece of a block.
    Chunk {
        channel: u8,
        /// Block number.
        block: u32,
        index: u32,
    },
}

impl Carried {
    /// The channel that sent it.
    pub fn channel(self) -> u8 {
        match self {
            Self::Segment { channel, .. }
            | Self::Fragment { channel, .. }
            | Self::Message { channel, .. }
            | Self::Chunk { channel, .. } => channel,
        }
    }
}

/// A fate that became known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fate {
    /// The packet.
    pub packet: u64,
    /// What it carried.
    pub carried: Carried,
    /// Arrived, or presumed lost.
    pub arrived: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Outstanding,
    Acked,
    Lost,
}

#[derive(Debug)]
struct Record {
    at: Duration,
    bytes: u32,
    /// The other end will acknowledge it.
    eliciting: bool,
    state: State,
    carried_from: u64,
    /// The highest packet acknowledged in it, if any.
    acks: Option<u64>,
}

/// What an acknowledgement brought.
#[derive(Debug, Default)]
pub struct AckSummary {
    /// Highest packet newly acknowledged, and when it left.
    pub newest: Option<(u64, Duration)>,
    /// Whether that is also the highest packet the other end has seen.
    pub newest_is_largest: bool,
    /// Newly acknowledged, in bytes.
    pub bytes: usize,
    /// Newly acknowledged, in packets.
    pub packets: usize,
    /// Presumed lost, but they had arrived.
    pub late: usize,
    /// When the oldest packet left that was acknowledged only after later ones.
    pub overtaken: Option<Duration>,
    /// The highest acknowledgement of ours that the other end has seen.
    pub acks_seen: Option<u64>,
}

/// Packets sent, in order, until their fate is known.
#[derive(Debug, Default)]
pub struct SentPackets {
    first: u64,
    records: VecDeque<Record>,
    carried: VecDeque<Carried>,
    carried_first: u64,
    eliciting: usize,
    largest_acked: Option<u64>,
    last_eliciting_at: Duration,
    loss_at: Option<Duration>,
}

impl SentPackets {
    /// Number of the next packet.
    pub fn next(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    /// Packets that await acknowledgement.
    pub fn outstanding(&self) -> usize {
        self.eliciting
    }

    /// When the last packet that asks for an acknowledgement left.
    pub fn last_eliciting_at(&self) -> Duration {
        self.last_eliciting_at
    }

    /// When an overdue packet counts as lost.
    pub fn loss_at(&self) -> Option<Duration> {
        self.loss_at
    }

    /// Records kept.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// A packet left; it gets the number `next()` had.
    pub fn push(
        &mut self,
        now: Duration,
        bytes: usize,
        eliciting: bool,
        acks: Option<u64>,
        carried: &[Carried],
    ) {
        let carried_from = self.carried_first + self.carried.len() as u64;
        self.carried.extend(carried);
        self.records.push_back(Record {
            at: now,
            bytes: bytes as u32,
            eliciting,
            state: State::Outstanding,
            carried_from,
            acks,
        });
        if eliciting {
            self.eliciting += 1;
            self.last_eliciting_at = now;
        }
    }

    /// Applies an acknowledgement; what the packets carried goes to `fates`. `None` if it covers packets never sent.
    pub fn on_ack(&mut self, ack: &AckFrame, fates: &mut Vec<Fate>) -> Option<AckSummary> {
        if ack.largest() >= self.next() {
            return None;
        }
        let mut summary = AckSummary::default();
        for range in ack.ranges() {
            let low = (range.largest + 1 - range.len).max(self.first);
            for number in (low..=range.largest).rev() {
                let index = (number - self.first) as usize;
                let record = &mut self.records[index];
                let was = core::mem::replace(&mut record.state, State::Acked);
                if was == State::Acked {
                    continue;
                }
                if record.eliciting {
                    summary.packets += 1;
                    summary.bytes += record.bytes as usize;
                    if self.largest_acked.is_some_and(|largest| number < largest) {
                        summary.overtaken = Some(record.at);
                    }
                }
                match was {
                    State::Acked => {}
                    State::Lost => summary.late += usize::from(record.eliciting),
                    State::Outstanding => {
                        self.eliciting -= usize::from(record.eliciting);
                        if summary.newest.is_none() && record.eliciting {
                            summary.newest = Some((number, record.at));
                            summary.newest_is_largest = number == ack.largest();
                        }
                    }
                }
                summary.acks_seen = summary.acks_seen.max(record.acks);
                let first = fates.len();
                self.report(index, true, fates);
                if was == State::Lost {
                    // A message of which a part was lost has been given up as a whole.
                    let mut position = 0;
                    fates.retain(|fate| {
                        position += 1;
                        position <= first || !matches!(fate.carried, Carried::Fragment { .. })
                    });
                }
            }
        }
        self.largest_acked = self.largest_acked.max(Some(ack.largest()));
        Some(summary)
    }

    /// Finds packets that are overdue while later ones have arrived. Calls `lost(number, bytes)` for each that asked
    /// for an acknowledgement.
    pub fn detect_lost(
        &mut self,
        now: Duration,
        rtt: &Rtt,
        fates: &mut Vec<Fate>,
        mut lost: impl FnMut(u64, usize),
    ) {
        self.loss_at = None;
        let Some(largest) = self.largest_acked else {
            return;
        };
        let overdue = rtt.overdue();
        let before = (largest.saturating_sub(self.first) as usize).min(self.records.len());
        for index in 0..before {
            let record = &mut self.records[index];
            if record.state != State::Outstanding {
                continue;
            }
            let due = record.at + overdue;
            if due > now {
                self.loss_at = Some(due);
                break;
            }
            record.state = State::Lost;
            if record.eliciting {
                self.eliciting -= 1;
                lost(self.first + index as u64, record.bytes as usize);
            }
            self.report(index, false, fates);
        }
        self.forget(now, overdue);
    }

    /// What the oldest `packets` outstanding packets carried, presuming the worst without declaring them lost.
    pub fn suspects(&self, packets: usize, fates: &mut Vec<Fate>) {
        let mut left = packets;
        for index in 0..self.records.len() {
            let record = &self.records[index];
            if left > 0 && record.eliciting && record.state == State::Outstanding {
                left -= 1;
                self.report(index, false, fates);
            }
        }
    }

    fn report(&self, index: usize, arrived: bool, fates: &mut Vec<Fate>) {
        let from = (self.records[index].carried_from - self.carried_first) as usize;
        let to = match self.records.get(index + 1) {
            Some(next) => (next.carried_from - self.carried_first) as usize,
            None => self.carried.len(),
        };
        let packet = self.first + index as u64;
        fates.extend(self.carried.range(from..to).map(|&carried| Fate {
            packet,
            carried,
            arrived,
        }));
    }

    /// Drops records whose fate is settled; lost ones linger a while in case they are only late.
    fn forget(&mut self, now: Duration, overdue: Duration) {
        while let Some(record) = self.records.front() {
            let settled = match record.state {
                State::Outstanding => false,
                State::Acked => true,
                State::Lost => now > record.at + overdue * 3,
            };
            if !settled {
                break;
            }
            self.records.pop_front();
            self.first += 1;
            let keep_from = self
                .records
                .front()
                .map_or(self.carried_first + self.carried.len() as u64, |r| {
                    r.carried_from
                });
            let drop = (keep_from - self.carried_first) as usize;
            self.carried.drain(..drop);
            self.carried_first = keep_from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::AckRange;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn ack(ranges: &[(u64, u64)]) -> AckFrame {
        let mut frame = AckFrame::new(0, 0);
        for &(largest, len) in ranges {
            frame.push(AckRange { largest, len });
        }
        frame
    }

    fn sent(n: u32) -> SentPackets {
        let mut sent = SentPackets::default();
        for i in 0..n {
            sent.push(
                ms(u64::from(i)),
                100,
                true,
                None,
                &[Carried::Segment { channel: 0, seq: i }],
            );
        }
        sent
    }

    fn steady() -> Rtt {
        let mut rtt = Rtt::new();
        for _ in 0..50 {
            rtt.on_sample(ms(50), ms(0));
        }
        rtt
    }

    #[test]
    fn acknowledged_once_and_lost_by_time() {
        let mut sent = sent(10);
        let mut fates = Vec::new();
        let summary = sent.on_ack(&ack(&[(9, 5), (3, 4)]), &mut fates).unwrap();
        assert_eq!((summary.packets, summary.newest), (9, Some((9, ms(9)))));
        assert_eq!(fates.len(), 9);
        assert_eq!(sent.on_ack(&ack(&[(9, 5)]), &mut fates).unwrap().packets, 0);
        fates.clear();
        let mut lost = Vec::new();
        sent.detect_lost(ms(55), &steady(), &mut fates, |n, _| lost.push(n));
        assert_eq!((lost.len(), sent.loss_at()), (0, Some(ms(56))));
        sent.detect_lost(ms(56), &steady(), &mut fates, |n, _| lost.push(n));
        assert_eq!(lost, [4]);
        assert_eq!(
            fates,
            [Fate {
                packet: 4,
                carried: Carried::Segment { channel: 0, seq: 4 },
                arrived: false
            }]
        );
        let late = sent.on_ack(&ack(&[(9, 10)]), &mut fates).unwrap();
        assert_eq!((late.late, late.packets), (1, 1));
    }

    #[test]
    fn what_was_never_sent_cannot_be_acknowledged() {
        assert!(sent(3).on_ack(&ack(&[(3, 1)]), &mut Vec::new()).is_none());
    }

    #[test]
    fn memory_is_released() {
        let mut sent = SentPackets::default();
        let rtt = steady();
        for i in 0..10_000u64 {
            sent.push(
                ms(i),
                100,
                true,
                None,
                &[Carried::Message { channel: 0, id: i }; 3],
            );
            if i % 10 == 9 {
                sent.on_ack(&ack(&[(i, 5)]), &mut Vec::new()).unwrap();
                sent.detect_lost(ms(i), &rtt, &mut Vec::new(), |_, _| ());
            }
        }
        assert!(sent.records.len() < 300 && sent.carried.len() < 900);
    }
}
