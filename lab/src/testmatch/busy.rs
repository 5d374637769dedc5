//! Machines whose work takes time.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use samestep_proto::{Machine, Transmit};

/// A machine that steps a simulation now and then.
pub trait Stepping: Machine {
    /// Steps so far.
    fn steps(&self) -> u64;
}

/// A machine on a processor that takes its time for each step, as one thread does: while it is busy, what arrives waits with its
/// receive time, nothing is sent and nothing is stepped. Virtual time would otherwise compute for free.
pub struct Busy<M> {
    machine: M,
    step_cost: Duration,
    /// Times of the machine's own clock: the last one seen, and when it will be free again.
    now: Duration,
    until: Duration,
    waiting: VecDeque<(Duration, SocketAddr, Vec<u8>)>,
    charged: u64,
    views_missed: u64,
}

/// How often the view is drawn, per second, when nothing prevents it.
const VIEWS_PER_SECOND: f64 = 60.0;

/// Views due until a time.
fn view_at(time: Duration) -> u64 {
    (time.as_secs_f64() * VIEWS_PER_SECOND) as u64
}

impl<M: Stepping> Busy<M> {
    /// A machine that is busy for `step_cost` after each step.
    pub fn new(machine: M, step_cost: Duration) -> Busy<M> {
        Busy {
            charged: machine.steps(),
            machine,
            step_cost,
            now: Duration::ZERO,
            until: Duration::ZERO,
            waiting: VecDeque::new(),
            views_missed: 0,
        }
    }

    /// Views drawn until `now`, on the machine's own clock: one in every 60th of a second, but those that fell into a time of work
    /// together with an earlier one.
    pub fn views(&self, now: Duration) -> u64 {
        view_at(now).saturating_sub(self.views_missed)
    }

    /// Whether it is at work at this time.
    fn is_busy(&self, now: Duration) -> bool {
        now < self.until
    }

    /// Becomes busy for the steps made since last asked.
    fn charge(&mut self, now: Duration) {
        let steps = self.machine.steps();
        let made = steps.saturating_sub(std::mem::replace(&mut self.charged, steps));
        if made == 0 || self.step_cost.is_zero() {
            return;
        }
        let begin = self.until.max(now);
        self.until = begin + self.step_cost.mul_f64(made as f64);
        self.views_missed += (view_at(self.until) - view_at(begin)).saturating_sub(1);
    }
}

/// The machine can be looked at, and acted on between its steps: players press keys whenever they like.
impl<M> Deref for Busy<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.machine
    }
}

impl<M> DerefMut for Busy<M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.machine
    }
}

impl<M: Stepping> Machine for Busy<M> {
    type Event = M::Event;

    fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        self.now = self.now.max(now);
        if self.is_busy(now) {
            self.waiting.push_back((now, from, datagram.to_vec()));
            return;
        }
        self.machine.handle_datagram(now, from, datagram);
        self.charge(now);
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.now = self.now.max(now);
        if self.is_busy(now) {
            return;
        }
        while let Some((arrived, from, mut datagram)) = self.waiting.pop_front() {
            self.machine.handle_datagram(arrived, from, &mut datagram);
            self.charge(now);
            if self.is_busy(now) {
                return;
            }
        }
        self.machine.handle_timeout(now);
        self.charge(now);
    }

    fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        if self.is_busy(now) {
            return None;
        }
        self.machine.poll_transmit(now, buf)
    }

    fn poll_timeout(&mut self) -> Option<Duration> {
        if self.is_busy(self.now) {
            return Some(self.until);
        }
        self.machine.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<M::Event> {
        self.machine.poll_event()
    }

    fn max_packet(&self) -> usize {
        self.machine.max_packet()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    /// Steps every 10 ms, as often as it is behind; notes when datagrams arrived.
    #[derive(Default)]
    struct Stepper {
        steps: u64,
        received: Vec<Duration>,
    }

    impl Machine for Stepper {
        type Event = ();

        fn handle_datagram(&mut self, now: Duration, _: SocketAddr, _: &mut [u8]) {
            self.received.push(now);
        }

        fn handle_timeout(&mut self, now: Duration) {
            self.steps = (now.as_millis() / 10) as u64;
        }

        fn poll_transmit(&mut self, _: Duration, _: &mut [u8]) -> Option<Transmit> {
            let to = (Ipv4Addr::LOCALHOST, 1).into();
            Some(Transmit { to, len: 0 })
        }

        fn poll_timeout(&mut self) -> Option<Duration> {
            Some(ms((self.steps + 1) * 10))
        }

        fn poll_event(&mut self) -> Option<()> {
            None
        }

        fn max_packet(&self) -> usize {
            1
        }
    }

    impl Stepping for Stepper {
        fn steps(&self) -> u64 {
            self.steps
        }
    }

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn nothing_happens_while_it_works() {
        let mut busy = Busy::new(Stepper::default(), ms(4));
        assert_eq!(busy.poll_timeout(), Some(ms(10)));
        busy.handle_timeout(ms(10));
        assert_eq!(busy.poll_timeout(), Some(ms(14)));
        let from = (Ipv4Addr::LOCALHOST, 9).into();
        busy.handle_datagram(ms(12), from, &mut []);
        assert!(busy.received.is_empty());
        assert!(busy.poll_transmit(ms(12), &mut []).is_none());
        busy.handle_timeout(ms(14));
        assert_eq!(busy.received, [ms(12)], "received when it arrived");
        assert!(busy.poll_transmit(ms(14), &mut []).is_some());
        assert_eq!(busy.poll_timeout(), Some(ms(20)));
    }

    #[test]
    fn a_step_longer_than_its_tick_falls_behind() {
        let mut busy = Busy::new(Stepper::default(), ms(25));
        let (mut now, mut calls) = (ms(0), 0);
        while now < ms(1000) {
            now = busy.poll_timeout().unwrap();
            busy.handle_timeout(now);
            calls += 1;
        }
        // Each call finds more to catch up with than the one before.
        assert!(calls < 12, "{calls}");
        let views = busy.views(now);
        assert!(views < view_at(now) / 2, "{views} in {now:?}");
    }
}
