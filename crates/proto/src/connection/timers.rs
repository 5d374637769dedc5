//! The timers of a connection.

use core::time::Duration;

use tracing::debug;

use crate::connection::transmit::MAX_UNSETTLED;
use crate::connection::{Connection, State, bits};
use crate::event::CloseReason;
use crate::sent::Carried;

/// A peer is silent if nothing arrives for this long, or for two round trips.
const SILENCE: Duration = Duration::from_millis(250);
/// Longest wait between probes of a silent path (RFC 9002's probe timeout, section 6.2).
const MAX_PROBE_WAIT: Duration = Duration::from_secs(2);
/// Packets presumed lost at a time when nothing at all is acknowledged.
const SUSPECTS: usize = 2;
/// After this many probes without an answer the path counts as silent, for whoever reads the log.
pub(super) const SILENT_PROBES: u32 = 3;

impl Connection {
    /// When `handle_timeout` has something to do.
    pub(crate) fn next_timeout(&self, now: Duration) -> Option<Duration> {
        let mut next = None;
        let mut at_most = |at: Option<Duration>| {
            next = match (next, at) {
                (Some(a), Some(b)) => Some(core::cmp::min::<Duration>(a, b)),
                (a, b) => a.or(b),
            };
        };
        match &self.state {
            State::Gone => return Some(Duration::ZERO),
            State::Unconfirmed { until, .. } => return Some(*until),
            State::Drained { until } => {
                at_most(Some(*until));
                at_most(self.received.due());
                return next;
            }
            State::Closing(closing) => {
                at_most(Some(closing.next_at));
                at_most(self.finishing.as_ref().map(|f| f.next_at));
                return next;
            }
            State::Flushing { until, .. } => at_most(Some(*until)),
            State::Open => {}
        }
        at_most(Some(self.last_received + self.config.timeout));
        at_most(Some(self.sent.last_eliciting_at() + self.config.keep_alive));
        at_most(self.received.due());
        at_most(self.sent.loss_at());
        at_most(self.probe_at());
        at_most(self.path.next_at());
        at_most(self.finishing.as_ref().map(|f| f.next_at));
        for index in bits(self.active) {
            at_most(self.channels[index].next_timeout());
        }
        if self.wants() && self.sent.len() < MAX_UNSETTLED {
            at_most(self.congestion.next_send(now));
        }
        next
    }

    /// Whether the peer has been silent for so long that it counts as lost.
    pub(crate) fn has_timed_out(&self, now: Duration) -> bool {
        matches!(self.state, State::Open | State::Flushing { .. })
            && now >= self.last_received + self.config.timeout
    }

    pub(crate) fn handle_timeout(&mut self, now: Duration) {
        match &self.state {
            State::Unconfirmed { until, .. } | State::Drained { until } => {
                if *until <= now {
                    self.state = State::Gone;
                }
                return;
            }
            State::Closing(closing) => {
                if closing.sends_left == 0 && closing.next_at <= now {
                    self.state = State::Gone;
                }
                return;
            }
            State::Gone => return,
            State::Open | State::Flushing { .. } => {}
        }
        if self.has_timed_out(now) {
            self.closed = Some(match self.state {
                State::Flushing { .. } => CloseReason::Local,
                _ => CloseReason::TimedOut,
            });
            self.state = State::Gone;
            return;
        }
        self.judge_path(now);
        if self.sent.loss_at().is_some_and(|at| at <= now) {
            self.detect_lost(now);
        }
        if self.probe_at().is_some_and(|at| at <= now) {
            self.probe_backoff += 1;
            if self.probe_backoff == SILENT_PROBES {
                debug!("peer silent, probing the path");
            }
            self.probes = 1;
            self.ping = true;
            let mut fates = core::mem::take(&mut self.fates);
            self.sent.suspects(SUSPECTS, &mut fates);
            fates.retain(|f| matches!(f.carried, Carried::Segment { .. } | Carried::Chunk { .. }));
            self.settle(&mut fates);
            self.fates = fates;
        }
        if now >= self.sent.last_eliciting_at() + self.config.keep_alive {
            self.ping = true;
        }
        for index in bits(self.active) {
            self.channels[index].handle_timeout(now);
        }
        self.check_flushed(now);
    }

    /// Probes at once when the peer is heard again after a silence and the window is full: if what was sent meanwhile is not
    /// acknowledged now, the acknowledgement was lost, and nothing else would ask for another before a backed-off probe is due.
    pub(super) fn ask_again(&mut self, now: Duration, silence: Duration) {
        let long = (2 * self.rtt.smoothed()).max(SILENCE);
        let is_stuck = self.sent.outstanding() > 0 && self.wants();
        if silence > long && is_stuck && self.congestion.budget(now) == 0 {
            self.probe_backoff = 0;
            self.probes = 1;
            self.ping = true;
        }
    }

    /// When to find out whether anything still arrives.
    fn probe_at(&self) -> Option<Duration> {
        if self.sent.outstanding() == 0 {
            return None;
        }
        let wait = self.rtt.probe_after(self.config.longest_ack_delay());
        let wait = (wait * 2u32.pow(self.probe_backoff.min(10))).min(MAX_PROBE_WAIT.max(wait));
        Some(self.sent.last_eliciting_at() + wait)
    }
}
