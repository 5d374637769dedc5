//! Datagrams that wait for the socket, in buffers that are used again.

use std::collections::VecDeque;
use std::net::SocketAddr;

/// The most datagrams that wait; the driver is to take them after every call.
const LIMIT: usize = 1024;

/// A queue of datagrams; `To` says where each goes.
#[derive(Debug)]
pub(crate) struct Outbox<To = SocketAddr> {
    queue: VecDeque<(To, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
    pub(crate) dropped: u64,
}

impl<To> Default for Outbox<To> {
    fn default() -> Self {
        Self {
            queue: VecDeque::new(),
            spare: Vec::new(),
            dropped: 0,
        }
    }
}

impl<To> Outbox<To> {
    /// Queues what `write` leaves in the buffer.
    pub(crate) fn push_with(&mut self, to: To, write: impl FnOnce(&mut Vec<u8>)) {
        if self.queue.len() >= LIMIT {
            self.dropped += 1;
            return;
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        write(&mut buffer);
        self.queue.push_back((to, buffer));
    }

    pub(crate) fn push(&mut self, to: To, bytes: &[u8]) {
        self.push_with(to, |buffer| buffer.extend_from_slice(bytes));
    }

    /// The next datagram, copied to the start of `out`; one that does not fit is dropped.
    pub(crate) fn pop(&mut self, out: &mut [u8]) -> Option<(To, usize)> {
        loop {
            let (to, buffer) = self.queue.pop_front()?;
            let len = buffer.len();
            let fits = out.get_mut(..len).map(|out| out.copy_from_slice(&buffer));
            self.spare.push(buffer);
            match fits {
                Some(()) => return Some((to, len)),
                None => self.dropped += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_order_drops_what_does_not_fit_and_has_a_limit() {
        let to = |port| SocketAddr::from(([192, 0, 2, 1], port));
        let (mut outbox, mut out) = (Outbox::<SocketAddr>::default(), [0; 4]);
        for len in [1_u16, 5, 2] {
            outbox.push(to(len), &vec![7; len.into()]);
        }
        assert_eq!(outbox.pop(&mut out), Some((to(1), 1)));
        assert_eq!(outbox.pop(&mut out), Some((to(2), 2)));
        assert!(outbox.queue.is_empty() && outbox.dropped == 1);
        for _ in 0..LIMIT + 5 {
            outbox.push(to(1), &[]);
        }
        assert_eq!((outbox.queue.len(), outbox.dropped), (LIMIT, 6));
    }
}
