//! Which packets have arrived: the anti-replay window, a bitmap as in RFC 6479, and the acknowledgements to send.

use core::time::Duration;

use crate::packet::{AckFrame, AckRange};

/// Packets older than this behind the newest are refused.
pub const REPLAY_WINDOW: u64 = 1024;
/// How far back acknowledgements reach.
const ACK_SPAN: u64 = 512;
/// Packets that wait for one acknowledgement at most.
const ACK_EVERY: u32 = 8;
/// Acknowledgements of packets out of order are not sent more often than this.
const ACK_PACE: Duration = Duration::from_millis(1);
const WORDS: usize = (REPLAY_WINDOW / 64) as usize;

/// Whether a packet number is new.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Freshness {
    /// Not seen before.
    Fresh,
    /// Seen before.
    Duplicate,
    /// Too old to tell.
    TooOld,
}

/// The receiving side's memory of packet numbers.
#[derive(Debug)]
pub struct Received {
    /// One past the highest received.
    next: u64,
    bits: [u64; WORDS],
    /// Everything below has been acknowledged, and the other end knows.
    floor: u64,
    largest_at: Duration,
    unacked: u32,
    due: Option<Duration>,
    last_ack: Duration,
}

impl Received {
    /// Nothing received.
    pub fn new() -> Self {
        Self {
            next: 0,
            bits: [0; WORDS],
            floor: 0,
            largest_at: Duration::ZERO,
            unacked: 0,
            due: None,
            last_ack: Duration::ZERO,
        }
    }

    /// The number the next packet in order would have.
    pub fn expected(&self) -> u64 {
        self.next
    }

    /// Whether the packet is new.
    pub fn check(&self, number: u64) -> Freshness {
        if number >= self.next {
            Freshness::Fresh
        } else if self.next - number > REPLAY_WINDOW {
            Freshness::TooOld
        } else if self.contains(number) {
            Freshness::Duplicate
        } else {
            Freshness::Fresh
        }
    }

    /// Remembers an authentic packet. `eliciting`: it wants to be acknowledged, within `delay`.
    pub fn insert(&mut self, now: Duration, number: u64, eliciting: bool, delay: Duration) {
        let in_order = number == self.next;
        if number >= self.next {
            if number - self.next >= REPLAY_WINDOW {
                self.bits = [0; WORDS];
            } else {
                for skipped in self.next..number {
                    self.bits[word(skipped)] &= !bit(skipped);
                }
            }
            self.next = number + 1;
            self.largest_at = now;
        } else if number < self.floor {
            // Late beyond what was reported: report again from here.
            self.floor = number;
        }
        self.bits[word(number)] |= bit(number);
        if !eliciting {
            return;
        }
        self.unacked += 1;
        let due = if self.unacked >= ACK_EVERY {
            now
        } else if !in_order {
            now.max(self.last_ack + ACK_PACE)
        } else {
            now + delay
        };
        self.due = Some(self.due.map_or(due, |d| d.min(due)));
    }

    /// When an acknowledgement must leave.
    pub fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Whether anything waits to be acknowledged.
    pub fn is_pending(&self) -> bool {
        self.unacked > 0
    }

    /// The acknowledgement to send now. The receiver's clock goes along in microseconds.
    pub fn ack(&mut self, now: Duration) -> Option<AckFrame> {
        if self.next == 0 {
            return None;
        }
        self.unacked = 0;
        self.due = None;
        self.last_ack = now;
        let delay_us = now.saturating_sub(self.largest_at).as_micros() as u64;
        let mut ack = AckFrame::new(self.largest_at.as_micros() as u32, delay_us);
        let low = self.floor.max(self.next.saturating_sub(ACK_SPAN));
        let mut at = self.next;
        while at > low {
            let len = self.run(at, low, true);
            if len > 0
                && !ack.push(AckRange {
                    largest: at - 1,
                    len,
                })
            {
                break;
            }
            at -= len;
            at -= self.run(at, low, false);
        }
        Some(ack)
    }

    /// The other end got an acknowledgement up to `largest`.
    pub fn on_ack_acked(&mut self, largest: u64) {
        // The largest itself stays, so that an acknowledgement always has something to say.
        self.floor = self.floor.max(largest.min(self.next - 1));
    }

    /// How many numbers below `end`, down to `low`, are all received (or all missing).
    fn run(&self, end: u64, low: u64, received: bool) -> u64 {
        let mut at = end;
        while at > low {
            let top = at - 1;
            let value = self.bits[word(top)];
            let value = if received { value } else { !value };
            // Align the bit of `top` with the highest bit of the word and count from there.
            let matching = u64::from((value << (63 - top % 64)).leading_ones());
            let in_word = top % 64 + 1;
            let taken = matching.min(in_word).min(at - low);
            at -= taken;
            if taken < in_word {
                break;
            }
        }
        end - at
    }

    fn contains(&self, number: u64) -> bool {
        self.bits[word(number)] & bit(number) != 0
    }
}

fn word(number: u64) -> usize {
    (number / 64) as usize % WORDS
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(20);

    fn ranges(received: &mut Received) -> Vec<(u64, u64)> {
        received
            .ack(DELAY)
            .unwrap()
            .ranges()
            .map(|r| (r.largest, r.len))
            .collect()
    }

    #[test]
    fn duplicates_and_old_ones_are_told_apart() {
        let mut received = Received::new();
        for number in [0, 1, 5, 2000] {
            assert_eq!(received.check(number), Freshness::Fresh);
            received.insert(Duration::ZERO, number, true, DELAY);
            assert_eq!(received.check(number), Freshness::Duplicate);
        }
        assert_eq!(received.check(1990), Freshness::Fresh);
        assert_eq!(received.check(977), Freshness::Fresh);
        assert_eq!(received.check(976), Freshness::TooOld);
        assert_eq!(received.check(5), Freshness::TooOld);
    }

    #[test]
    fn acknowledges_in_ranges() {
        let mut received = Received::new();
        for number in (0..200).filter(|n| ![3, 70, 71, 128].contains(n)) {
            received.insert(Duration::ZERO, number, true, DELAY);
        }
        assert_eq!(
            ranges(&mut received),
            [(199, 71), (127, 56), (69, 66), (2, 3)]
        );
        received.on_ack_acked(100);
        assert_eq!(ranges(&mut received), [(199, 71), (127, 28)]);
        received.insert(Duration::ZERO, 70, true, DELAY);
        assert_eq!(ranges(&mut received), [(199, 71), (127, 56), (70, 1)]);
    }

    #[test]
    fn random_arrivals_agree_with_a_plain_list() {
        let mut x = 7u64;
        let mut received = Received::new();
        let mut list = std::collections::BTreeSet::new();
        let mut number = 0u64;
        for _ in 0..5000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1);
            number += x >> 62;
            let n = number.saturating_sub(x >> 50 & 31);
            assert_eq!(received.check(n) == Freshness::Duplicate, list.contains(&n));
            if received.check(n) == Freshness::Fresh {
                received.insert(Duration::ZERO, n, true, DELAY);
                list.insert(n);
            }
            for (largest, len) in ranges(&mut received) {
                assert!((largest + 1 - len..=largest).all(|n| list.contains(&n)));
                assert!(!list.contains(&(largest + 1)));
            }
        }
    }

    #[test]
    fn acknowledgement_is_due_sooner_after_gaps_and_many_packets() {
        let mut received = Received::new();
        let ms = Duration::from_millis;
        received.insert(ms(10), 0, true, DELAY);
        assert_eq!(received.due(), Some(ms(30)));
        received.insert(ms(11), 2, true, DELAY);
        assert_eq!(received.due(), Some(ms(11)));
        received.ack(ms(11));
        for number in 3..11 {
            received.insert(ms(12), number, true, DELAY);
        }
        assert_eq!(received.due(), Some(ms(12)));
        received.ack(ms(12));
        received.insert(ms(13), 11, false, DELAY);
        assert_eq!(received.due(), None);
    }
}
