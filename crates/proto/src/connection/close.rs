//! The end of a connection: flushing, repeating the close until it is acknowledged, and lingering to acknowledge the other's.

use core::time::Duration;

use crate::connection::{Connection, State};
use crate::event::CloseReason;

/// How often a close is sent before giving up.
const CLOSE_SENDS: u8 = 14;
/// How long a closed connection stays to acknowledge repetitions of the close.
const LINGER_AT_LEAST: Duration = Duration::from_secs(1);
const LINGER_AT_MOST: Duration = Duration::from_secs(2);
/// Longest reason of a close, in bytes.
const MAX_REASON: usize = 255;

/// A close being sent.
#[derive(Clone, Debug)]
pub(crate) struct Closing {
    pub(super) code: u32,
    pub(super) reason: Vec<u8>,
    pub(super) sends_left: u8,
    pub(super) next_at: Duration,
}

impl Connection {
    /// Closes after everything reliable has been acknowledged, or after the configured time.
    pub(crate) fn close(&mut self, now: Duration, code: u32, reason: &str) {
        let closing = Closing::new(now, code, reason);
        match self.state {
            State::Open => {
                self.state = State::Flushing {
                    until: now + self.config.close_timeout,
                    closing,
                };
                self.check_flushed(now);
            }
            State::Unconfirmed { .. } => self.state = State::Closing(closing),
            _ => {}
        }
    }

    /// Closes at once; what was queued is lost.
    pub(crate) fn abort(&mut self, now: Duration, code: u32, reason: &str) {
        if matches!(
            self.state,
            State::Open | State::Unconfirmed { .. } | State::Flushing { .. }
        ) {
            // A connection that was never confirmed was not announced to the application.
            let announced = !matches!(self.state, State::Unconfirmed { .. });
            self.closed = announced.then_some(CloseReason::Local);
            self.state = State::Closing(Closing::new(now, code, reason));
        }
    }

    /// Moves on when there is nothing left to flush.
    pub(super) fn check_flushed(&mut self, now: Duration) {
        let State::Flushing { until, closing } = &mut self.state else {
            return;
        };
        if now >= *until || self.channels.iter().all(|c| c.is_settled()) {
            closing.next_at = now;
            self.state = State::Closing(closing.clone());
            self.closed = Some(CloseReason::Local);
        }
    }

    /// The other end acknowledged something sent while closing.
    pub(super) fn on_closing_acked(&mut self) {
        if let State::Closing(closing) = &self.state
            && closing.sends_left < CLOSE_SENDS
            && self.sent.outstanding() < usize::from(CLOSE_SENDS - closing.sends_left)
        {
            self.state = State::Gone;
        }
    }

    /// The other end closes.
    pub(super) fn on_close(&mut self, now: Duration, code: u32, reason: &[u8]) {
        let linger = self.rtt.probe_after(self.config.longest_ack_delay()) * 3;
        match self.state {
            State::Drained { .. } | State::Gone => return,
            // Both closed at once: each knows already.
            State::Closing(_) => {}
            _ => {
                let reason = String::from_utf8_lossy(reason).into_owned();
                self.closed = Some(CloseReason::Remote { code, reason });
            }
        }
        self.state = State::Drained {
            until: now + linger.clamp(LINGER_AT_LEAST, LINGER_AT_MOST),
        };
    }

    /// The other end broke the protocol.
    pub(super) fn fail(&mut self, what: &'static str) {
        self.end_for(CloseReason::Protocol(what));
    }

    /// Ends for a reason that the application is told; the other end is told its words.
    pub(super) fn end_for(&mut self, reason: CloseReason) {
        if matches!(
            self.state,
            State::Closing(_) | State::Drained { .. } | State::Gone
        ) {
            // It is ending already, and must not begin to end anew.
            return;
        }
        let words = match &reason {
            CloseReason::Protocol(what) => (*what).into(),
            reason => reason.to_string(),
        };
        self.state = State::Closing(Closing::new(self.last_received, u32::MAX, &words));
        self.closed = Some(reason);
    }
}

impl Closing {
    fn new(now: Duration, code: u32, reason: &str) -> Self {
        let mut end = reason.len().min(MAX_REASON);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        Self {
            code,
            reason: reason.as_bytes()[..end].to_vec(),
            sends_left: CLOSE_SENDS,
            next_at: now,
        }
    }
}
