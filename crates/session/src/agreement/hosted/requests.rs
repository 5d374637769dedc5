//! What is asked for, and what the host orders.

use core::time::Duration;

use super::Hosted;
use crate::agreement::core::TooManyRequests;
use crate::agreement::message::Body;
use crate::agreement::requests::Request;
use crate::agreement::view::Incarnation;

/// Requests that wait until the host can order again, in messages.
const MAX_WAITING: usize = 256;

/// Why a command was not appended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotAppended {
    /// This program is not the host, or its lease is over.
    #[error("this program does not host under a lease")]
    NoLease,
    /// It is not the requester's next request, or the log is full or about to change members.
    #[error("the request does not follow the requester's last, or nothing can be appended now")]
    NotNext,
}

impl<C: Clone + PartialEq> Hosted<C> {
    /// Asks for a command. It is asked again of every host until it is certain; the host asks itself.
    pub fn propose(&mut self, now: Duration, command: C) -> Result<Request, TooManyRequests> {
        let n = self.pending.push(command).ok_or(TooManyRequests)?;
        self.ask(now);
        self.settle(now);
        let by = self.me();
        Ok(Request { by, n })
    }

    /// The host orders a request that its application received elsewhere. Returns its index.
    pub fn append(
        &mut self,
        now: Duration,
        request: Request,
        command: C,
    ) -> Result<u64, NotAppended> {
        if !self.may_append(now) {
            return Err(NotAppended::NoLease);
        }
        let appended = self.replica.append(request, command);
        let index = self.replica.log().length();
        self.settle(now);
        appended.then_some(index).ok_or(NotAppended::NotNext)
    }

    pub(super) fn may_append(&self, now: Duration) -> bool {
        !self.shown.is_frozen() && self.holds_lease(now)
    }

    /// Orders what came while a view was about to end, or before the lease. Returns whether there was anything.
    pub(super) fn order_waiting(&mut self, now: Duration) -> bool {
        let ready = self.may_append(now);
        if self.waiting.is_empty() || (self.replica.leads() && !ready) {
            return false;
        }
        for (by, first, commands) in core::mem::take(&mut self.waiting) {
            if ready {
                self.on_request(now, by, first, commands);
            }
        }
        ready
    }

    /// Asks the host for what is not in its order yet.
    pub(super) fn ask(&mut self, now: Duration) {
        let known = self.replica.log().last_request(self.me());
        let (first, commands) = self.pending.after(known);
        if commands.is_empty() || self.has_left() || self.shown.is_frozen() {
            return;
        }
        match self.host(now) {
            Some(host) if host == self.me() => self.on_request(now, host, first, commands),
            Some(host) => self.send(host, Body::Request { first, commands }),
            None => {}
        }
    }

    pub(super) fn on_request(
        &mut self,
        now: Duration,
        by: Incarnation,
        first: u32,
        commands: Vec<C>,
    ) {
        if !self.may_append(now) {
            if self.replica.leads() && self.waiting.len() < MAX_WAITING {
                self.waiting.push((by, first, commands));
            }
            return;
        }
        for (n, command) in (first..).zip(commands) {
            self.replica.append(Request { by, n }, command);
        }
    }
}
