//! Reliable messages that survive a change of route.

use core::time::Duration;
use std::collections::VecDeque;

use samestep_proto::ConnectionId;

use crate::channels::STREAMS;
use crate::control::StreamAcks;
use crate::envelope::Number;
use crate::id::MessageKind;
use crate::payload::Payload;

/// The stream number of sequenced messages, whose numbers are their own.
pub(crate) const SEQUENCED: u8 = 3;
/// The epoch of messages that are numbered once for all recipients.
pub(crate) const FOR_ALL: u64 = 0;
/// The maximum number of messages that wait for a missing one before them.
const MAX_WAITING: u32 = 16_384;

/// The reliable streams between two members of a mesh: messages sent and not yet acknowledged, and messages that arrived out of order.
///
/// A connection delivers reliably only as long as it lives. Members go on talking over other routes, so their
/// messages are numbered end to end and sent again when the route they took is gone.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// The incarnations of the two peers that the numbers belong to.
    epoch: u64,
    out: [Outgoing; STREAMS.len()],
    into: [Incoming; STREAMS.len()],
    sequenced_out: u32,
    sequenced_in: Option<u32>,
    unacknowledged_bytes: usize,
}

#[derive(Debug, Default)]
struct Outgoing {
    next: u32,
    unacknowledged: VecDeque<Sent>,
}

/// A message kept until it is known to have arrived.
#[derive(Debug)]
struct Sent {
    number: u32,
    kind: MessageKind,
    payload: Payload,
    /// The connection it left on, and when.
    by: Option<ConnectionId>,
    at: Duration,
}

impl Sent {
    /// The bytes it counts for in the limit: its kind and its payload.
    fn len(&self) -> usize {
        2 + self.payload.len()
    }
}

#[derive(Debug, Default)]
struct Incoming {
    next: u32,
    /// The state of the messages from `next` on.
    window: VecDeque<Arrival>,
}

/// The state of a numbered message.
#[derive(Debug)]
enum Arrival {
    Missing,
    /// It arrived on the unordered stream, and was delivered at once.
    Delivered,
    /// It arrived on an ordered stream, before one that it follows.
    Waiting(MessageKind, Payload),
}

impl Streams {
    pub(crate) fn reset(&mut self, epoch: u64) {
        *self = Self {
            epoch,
            ..Self::default()
        };
    }

    /// Begins an epoch, unless it is the present one.
    pub(crate) fn enter(&mut self, epoch: u64) {
        if self.epoch != epoch {
            self.reset(epoch);
        }
    }

    pub(crate) fn unacknowledged_bytes(&self) -> usize {
        self.unacknowledged_bytes
    }

    /// Numbers a reliable message and keeps it.
    pub(crate) fn send(
        &mut self,
        now: Duration,
        stream: u8,
        kind: MessageKind,
        payload: Payload,
        by: Option<ConnectionId>,
    ) -> Number {
        let out = &mut self.out[usize::from(stream)];
        let number = out.next;
        out.next += 1;
        let sent = Sent {
            number,
            kind,
            payload,
            by,
            at: now,
        };
        self.unacknowledged_bytes += sent.len();
        out.unacknowledged.push_back(sent);
        self.numbered(stream, number)
    }

    /// Numbers a sequenced message.
    pub(crate) fn send_sequenced(&mut self) -> Number {
        self.sequenced_out += 1;
        self.numbered(SEQUENCED, self.sequenced_out)
    }

    fn numbered(&self, stream: u8, number: u32) -> Number {
        Number {
            epoch: self.epoch,
            number,
            stream,
        }
    }

    /// Handles the acknowledgements of the other end.
    pub(crate) fn on_acks(&mut self, acks: &StreamAcks) {
        if acks.epoch != self.epoch {
            return;
        }
        for (out, next) in self.out.iter_mut().zip(acks.next) {
            while let Some(sent) = out.unacknowledged.front()
                && sent.number < next
            {
                self.unacknowledged_bytes -= sent.len();
                out.unacknowledged.pop_front();
            }
        }
    }

    /// The acknowledgements to send: the first missing number of each stream.
    pub(crate) fn acks(&self) -> StreamAcks {
        StreamAcks {
            epoch: self.epoch,
            next: [0, 1, 2].map(|at: usize| self.into[at].next),
        }
    }

    /// Messages to send again on `by`: those that left on another connection, or that have been unanswered for `after`.
    pub(crate) fn resend(
        &mut self,
        now: Duration,
        by: Option<ConnectionId>,
        after: Duration,
    ) -> Vec<(Number, MessageKind, Payload)> {
        let epoch = self.epoch;
        let mut due = Vec::new();
        for (stream, out) in self.out.iter_mut().enumerate() {
            for sent in &mut out.unacknowledged {
                if sent.by == by && now.saturating_sub(sent.at) < after {
                    continue;
                }
                sent.by = by;
                sent.at = now;
                let number = Number {
                    epoch,
                    number: sent.number,
                    stream: stream as u8,
                };
                due.push((number, sent.kind, sent.payload.clone()));
            }
        }
        due
    }

    /// Takes a numbered message, and adds to `ready` what may be delivered now, in order.
    pub(crate) fn receive(
        &mut self,
        number: Number,
        kind: MessageKind,
        payload: Payload,
        ready: &mut Vec<(MessageKind, Payload)>,
    ) {
        // A message relayed by a host is numbered by its sender once for all recipients, so it has no epoch of two peers.
        if number.epoch != self.epoch && number.epoch != FOR_ALL {
            return;
        }
        if number.stream == SEQUENCED {
            if self
                .sequenced_in
                .is_none_or(|newest| number.number > newest)
            {
                self.sequenced_in = Some(number.number);
                ready.push((kind, payload));
            }
            return;
        }
        let into = &mut self.into[usize::from(number.stream)];
        let Some(ahead) = number.number.checked_sub(into.next) else {
            return;
        };
        if ahead > MAX_WAITING {
            return;
        }
        let ahead = ahead as usize;
        if into.window.len() <= ahead {
            into.window.resize_with(ahead + 1, || Arrival::Missing);
        }
        if !matches!(into.window[ahead], Arrival::Missing) {
            return;
        }
        into.window[ahead] = match number.stream {
            0 => {
                ready.push((kind, payload));
                Arrival::Delivered
            }
            _ => Arrival::Waiting(kind, payload),
        };
        while let Some(arrival) = into.window.pop_front() {
            match arrival {
                Arrival::Missing => {
                    into.window.push_front(Arrival::Missing);
                    break;
                }
                Arrival::Delivered => {}
                Arrival::Waiting(kind, payload) => ready.push((kind, payload)),
            }
            into.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: MessageKind = MessageKind(1);

    fn number(stream: u8, number: u32) -> Number {
        Number {
            epoch: 1,
            number,
            stream,
        }
    }

    fn deliver(streams: &mut Streams, order: &[(u8, u32)]) -> Vec<u8> {
        let mut got = Vec::new();
        for (stream, at) in order {
            let payload = Payload::from(vec![*at as u8]);
            streams.receive(number(*stream, *at), KIND, payload, &mut got);
        }
        got.iter().map(|(_, payload)| payload[0]).collect()
    }

    #[test]
    fn once_each_and_ordered_where_promised() {
        let mut streams = Streams::default();
        streams.reset(1);
        let order = [(1, 2), (1, 0), (1, 0), (1, 1), (1, 2), (1, 3)];
        assert_eq!(deliver(&mut streams, &order), [0, 1, 2, 3]);
        let order = [(0, 2), (0, 0), (0, 2), (0, 1), (0, 0)];
        assert_eq!(deliver(&mut streams, &order), [2, 0, 1]);
        assert_eq!(streams.acks().next, [3, 4, 0]);
        let order = [(3, 5), (3, 4), (3, 6)];
        assert_eq!(deliver(&mut streams, &order), [5, 6]);
    }

    #[test]
    fn what_is_acknowledged_is_not_sent_again() {
        let mut streams = Streams::default();
        streams.reset(1);
        for at in 0..4u8 {
            streams.send(Duration::ZERO, 1, KIND, vec![at].into(), None);
        }
        streams.on_acks(&StreamAcks {
            epoch: 1,
            next: [9, 3, 0],
        });
        let after = Duration::from_millis(300);
        assert!(streams.resend(Duration::ZERO, None, after).is_empty());
        let again = streams.resend(after, None, after);
        assert_eq!(again, [(number(1, 3), KIND, vec![3].into())]);
        assert_eq!(streams.unacknowledged_bytes(), 3);
    }

    #[test]
    fn an_epoch_that_is_entered_twice_goes_on() {
        let mut streams = Streams::default();
        streams.enter(1);
        assert_eq!(deliver(&mut streams, &[(1, 0)]), [0]);
        streams.enter(1);
        assert!(deliver(&mut streams, &[(1, 0)]).is_empty());
        streams.enter(2);
        assert_eq!(streams.acks().next, [0; 3]);
    }

    #[test]
    fn messages_of_another_epoch_are_ignored() {
        let mut streams = Streams::default();
        streams.reset(2);
        assert!(deliver(&mut streams, &[(1, 0)]).is_empty());
    }
}
