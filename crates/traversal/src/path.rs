//! Which way the datagrams for one peer take: over the relay at once, then the best that ICE has proven, and back when it falls silent.

use std::net::SocketAddr;
use std::time::Duration;

use crate::config::TraversalConfig;

/// What kind of way leads to a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    /// None is known yet.
    None,
    /// Over a relay.
    Relayed,
    /// From program to program.
    Direct,
}

/// How a datagram leaves for a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Route {
    /// From the socket to this address, which may be one that a relay lends the peer.
    Socket(SocketAddr),
    /// Through the own relay to this address.
    Relay(SocketAddr),
}

/// The way from relay to relay, which is taken before anything is proven: for a moment, since the peer may have named somebody else's address.
#[derive(Clone, Copy, Debug)]
struct AtOnce {
    route: Route,
    since: Duration,
    /// Whether a check was answered from there.
    proven: bool,
}

impl AtOnce {
    fn ends(self) -> Duration {
        self.since + UNPROVEN
    }

    fn may_be_used(self, now: Duration) -> bool {
        self.proven || now < self.ends()
    }
}

/// What the owner has to do after time has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Due {
    /// ICE begins its checks anew.
    pub(crate) probe: bool,
    /// The peer has just fallen silent on every way.
    pub(crate) lost: bool,
}

/// How often a way may be silent longer while the peer has not yet been heard on it: it may not have moved there yet.
const UNHEARD: u32 = 3;

/// A direct way that is silent for so long is helped by the relay, if the peer speaks there; if it does not, after half the silence that ends the way.
const HEDGE_AFTER: Duration = Duration::from_millis(100);

/// How long the game's datagrams are sent from relay to relay without an answer to a check.
const UNPROVEN: Duration = Duration::from_secs(3);

/// The longest time between two attempts to get off a relay.
const PROBE_AT_MOST: Duration = Duration::from_secs(60);

/// The choice of path to one peer. ICE nominates; silence of a peer that is expected to talk revokes.
#[derive(Debug)]
pub(crate) struct PathChoice {
    silence: Duration,
    probe_every: Duration,
    /// What ICE has proven last, and whether it is direct.
    nominated: Option<(Route, bool)>,
    /// Whether what was nominated has been silent since.
    revoked: bool,
    at_once: Option<AtOnce>,
    /// Since when the peer is expected to talk.
    expected_since: Option<Duration>,
    heard_direct: Option<Duration>,
    heard_relayed: Option<Duration>,
    path: Path,
    switched_at: Duration,
    /// Whether it has been direct before.
    was_direct: bool,
    lost: bool,
    next_probe: Option<Duration>,
    probe_gap: Duration,
}

impl PathChoice {
    pub(crate) fn new(config: &TraversalConfig) -> Self {
        Self {
            silence: config.silence,
            probe_every: config.probe_every,
            nominated: None,
            revoked: false,
            at_once: None,
            expected_since: None,
            heard_direct: None,
            heard_relayed: None,
            path: Path::None,
            switched_at: Duration::ZERO,
            was_direct: false,
            lost: false,
            next_probe: None,
            probe_gap: config.probe_every,
        }
    }

    pub(crate) fn path(&self) -> Path {
        self.path
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost
    }

    /// The way from relay to relay is known, or is another, or is gone.
    pub(crate) fn on_relay(&mut self, now: Duration, route: Option<Route>) {
        let known = self.at_once.filter(|known| Some(known.route) == route);
        self.at_once = known.or(route.map(|route| AtOnce {
            route,
            since: now,
            proven: false,
        }));
        self.update(now);
    }

    /// A check was answered from this address.
    pub(crate) fn on_answered(&mut self, from: SocketAddr) {
        let same = |route| matches!(route, Route::Relay(to) | Route::Socket(to) if to == from);
        if let Some(at_once) = self.at_once.as_mut().filter(|at_once| same(at_once.route)) {
            at_once.proven = true;
        }
    }

    /// ICE has proven a way in both directions, and holds it for the best.
    pub(crate) fn on_nominated(&mut self, now: Duration, route: Route, direct: bool) {
        self.nominated = Some((route, direct));
        self.revoked = false;
        self.update(now);
        if direct {
            self.was_direct = true;
            self.next_probe = None;
            self.probe_gap = self.probe_every;
        }
    }

    /// ICE gets no answers any more on any way.
    pub(crate) fn on_disconnected(&mut self, now: Duration) {
        self.revoked = true;
        self.update(now);
    }

    /// From now on the peer is expected to talk at least every [`TraversalConfig::silence`], or no longer.
    pub(crate) fn set_expected(&mut self, now: Duration, expected: bool) {
        match (expected, self.expected_since) {
            (true, None) => self.expected_since = Some(now),
            (false, _) => self.expected_since = None,
            (true, Some(_)) => {}
        }
    }

    pub(crate) fn is_expected(&self) -> bool {
        self.expected_since.is_some()
    }

    /// A datagram of the game came from the peer. Returns whether it was lost until now.
    pub(crate) fn on_heard(&mut self, now: Duration, direct: bool) -> bool {
        match direct {
            true => self.heard_direct = Some(now),
            false => self.heard_relayed = Some(now),
        }
        std::mem::take(&mut self.lost)
    }

    /// The way to send, and one more to send the same on while the first is in doubt.
    pub(crate) fn routes(&self, now: Duration) -> (Option<Route>, Option<Route>) {
        let nominated = self.nominated.filter(|_| !self.revoked);
        let at_once = self.at_once.filter(|at_once| at_once.may_be_used(now));
        match (nominated, at_once.map(|at_once| at_once.route)) {
            (Some((route, true)), relay) => (Some(route), relay.filter(|_| self.needs_help(now))),
            (Some((route, false)), _) => (Some(route), None),
            (None, Some(relay)) => (Some(relay), None),
            // Better a way that seems dead than none.
            (None, None) => (self.nominated.map(|(route, _)| route), None),
        }
    }

    /// Whether the peer may not be reached by the direct way: it has not been heard there yet, or is now heard over the relay alone.
    fn needs_help(&self, now: Duration) -> bool {
        let within = |time: Option<Duration>, by| time.is_some_and(|time| now <= time + by);
        let unheard = self
            .heard_direct
            .is_none_or(|heard| heard < self.switched_at);
        let young = now < self.switched_at + self.silence * UNHEARD;
        if unheard {
            return young;
        }
        let spoken_elsewhere = within(self.heard_relayed, HEDGE_AFTER);
        let quiet = self.expected_since.is_some() && !within(self.heard_direct, self.silence / 2);
        quiet || spoken_elsewhere && !within(self.heard_direct, HEDGE_AFTER)
    }

    fn update(&mut self, now: Duration) {
        let path = match (self.routes(now).0, self.nominated) {
            (None, _) => Path::None,
            (Some(route), Some((nominated, true))) if route == nominated => Path::Direct,
            _ => Path::Relayed,
        };
        if path == self.path {
            return;
        }
        self.path = path;
        self.switched_at = now;
        if path == Path::Relayed {
            self.next_probe = Some(now + self.probe_gap);
        }
    }

    /// When the way in use has been silent for too long.
    fn silent_at(&self) -> Option<Duration> {
        let expected = self.expected_since?;
        let (heard, first) = match self.path {
            Path::None => return None,
            Path::Direct => (self.heard_direct, self.silence * UNHEARD),
            Path::Relayed if self.was_direct => (self.heard_relayed, self.silence),
            Path::Relayed => (self.heard_relayed, self.silence * UNHEARD),
        };
        let since = self.switched_at.max(expected);
        Some(match heard.filter(|heard| *heard >= since) {
            Some(heard) => heard + self.silence,
            None => since + first,
        })
    }

    /// When the way from relay to relay is no longer taken on trust, if that ends it as the way in use.
    fn unproven_ends(&self) -> Option<Duration> {
        let at_once = self.at_once.filter(|at_once| !at_once.proven)?;
        let in_use = self.path == Path::Relayed && (self.nominated.is_none() || self.revoked);
        in_use.then_some(at_once.ends())
    }

    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        let silent = self.silent_at().filter(|_| !self.lost);
        [silent, self.next_probe, self.unproven_ends()]
            .into_iter()
            .flatten()
            .min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Duration) -> Due {
        let mut due = Due::default();
        if self.unproven_ends().is_some_and(|end| now >= end) {
            self.update(now);
        }
        if !self.lost && self.silent_at().is_some_and(|at| now >= at) {
            due.probe = true;
            self.revoked = true;
            let before = self.path;
            self.update(now);
            if self.path == before {
                // There is no other way left.
                self.lost = true;
                due.lost = true;
            }
            self.next_probe = Some(now + self.probe_every);
        }
        if self.next_probe.is_some_and(|at| now >= at) {
            due.probe = true;
            if !self.was_direct && !self.lost {
                self.probe_gap = (self.probe_gap * 2).min(PROBE_AT_MOST);
            }
            let gap = if self.lost {
                self.probe_every
            } else {
                self.probe_gap
            };
            self.next_probe = Some(now + gap);
        }
        due
    }
}

#[cfg(test)]
mod tests;
