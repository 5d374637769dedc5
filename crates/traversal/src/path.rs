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
    /// From relay to relay, which needs no proof.
    at_once: Option<Route>,
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
        self.at_once = route;
        self.update(now);
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
        match (nominated, self.at_once) {
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

    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        let silent = self.silent_at().filter(|_| !self.lost);
        [silent, self.next_probe].into_iter().flatten().min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Duration) -> Due {
        let mut due = Due::default();
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
mod tests {
    use super::*;

    const RELAY: Route = Route::Relay(SocketAddr::new(
        std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)),
        1,
    ));
    const DIRECT: Route = Route::Socket(SocketAddr::new(
        std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2)),
        2,
    ));
    const PROBE: Due = Due {
        probe: true,
        lost: false,
    };

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Direct since 100 ms, and talking.
    fn direct() -> PathChoice {
        let mut choice = PathChoice::new(&TraversalConfig::default());
        choice.set_expected(ms(0), true);
        choice.on_relay(ms(0), Some(RELAY));
        assert_eq!(
            (choice.path(), choice.routes(ms(0))),
            (Path::Relayed, (Some(RELAY), None))
        );
        choice.on_heard(ms(50), false);
        choice.on_nominated(ms(100), DIRECT, true);
        assert_eq!(choice.path(), Path::Direct);
        choice
    }

    #[test]
    fn it_begins_over_the_relay_and_moves_with_both_in_use_for_a_moment() {
        let mut choice = direct();
        assert_eq!(choice.routes(ms(100)), (Some(DIRECT), Some(RELAY)));
        choice.on_heard(ms(150), true);
        assert_eq!(choice.routes(ms(151)), (Some(DIRECT), None));
        // The peer's last datagrams over the relay change nothing.
        choice.on_heard(ms(152), false);
        assert_eq!(choice.routes(ms(153)), (Some(DIRECT), None));
        // Who is not heard there at all is not sent to twice for ever.
        assert_eq!(direct().routes(ms(1300)), (Some(DIRECT), None));
    }

    #[test]
    fn a_silent_way_is_left_and_found_again() {
        let mut choice = direct();
        choice.on_heard(ms(1000), true);
        assert_eq!(choice.poll_timeout(), Some(ms(1400)));
        assert_eq!(choice.handle_timeout(ms(1399)), Due::default());
        assert_eq!(choice.handle_timeout(ms(1400)), PROBE);
        assert_eq!(
            (choice.path(), choice.routes(ms(1400)).0),
            (Path::Relayed, Some(RELAY))
        );
        for at in 1400..=4400 {
            choice.on_heard(ms(at), false);
        }
        // Every three seconds it asks for the direct way.
        assert_eq!(choice.poll_timeout(), Some(ms(4400)));
        assert_eq!(choice.handle_timeout(ms(4400)), PROBE);
        choice.on_nominated(ms(4500), DIRECT, true);
        assert_eq!(choice.path(), Path::Direct);
        assert_eq!(choice.next_probe, None);
    }

    #[test]
    fn who_leaves_the_direct_way_is_answered_over_the_relay_at_once() {
        let mut choice = direct();
        choice.on_heard(ms(1000), true);
        choice.on_heard(ms(1110), false);
        assert_eq!(choice.routes(ms(1110)), (Some(DIRECT), Some(RELAY)));
    }

    #[test]
    fn the_relay_helps_before_a_way_is_given_up() {
        let mut choice = direct();
        choice.on_heard(ms(1000), true);
        assert_eq!(choice.routes(ms(1200)), (Some(DIRECT), None));
        assert_eq!(choice.routes(ms(1201)), (Some(DIRECT), Some(RELAY)));
        choice.set_expected(ms(1201), false);
        assert_eq!(choice.routes(ms(1201)), (Some(DIRECT), None));
    }

    #[test]
    fn who_is_silent_everywhere_is_lost_until_heard() {
        let mut choice = direct();
        choice.on_heard(ms(1000), true);
        assert_eq!(choice.handle_timeout(ms(1400)), PROBE);
        let lost = Due {
            probe: true,
            lost: true,
        };
        assert_eq!(choice.handle_timeout(ms(1800)), lost);
        assert!(choice.is_lost());
        assert_eq!(choice.handle_timeout(ms(1900)), Due::default());
        assert_eq!(choice.handle_timeout(ms(4800)), PROBE);
        assert!(choice.on_heard(ms(5000), false));
        assert!(!choice.on_heard(ms(5001), false));
    }

    #[test]
    fn nobody_is_lost_who_need_not_talk() {
        let mut choice = direct();
        choice.set_expected(ms(150), false);
        assert_eq!(choice.poll_timeout(), None);
        assert_eq!(choice.handle_timeout(ms(100_000)), Due::default());
        choice.set_expected(ms(100_000), true);
        assert_eq!(choice.poll_timeout(), Some(ms(101_200)));
    }

    #[test]
    fn who_never_gets_off_the_relay_tries_less_and_less() {
        let mut choice = PathChoice::new(&TraversalConfig::default());
        choice.on_relay(ms(0), Some(RELAY));
        let mut probes = 0;
        for at in 0..600 {
            probes += u32::from(choice.handle_timeout(ms(at * 1000)).probe);
        }
        assert!((8..=14).contains(&probes), "{probes}");
    }

    #[test]
    fn without_a_relay_a_silent_way_stays_the_way() {
        let mut choice = PathChoice::new(&TraversalConfig::default());
        choice.set_expected(ms(0), true);
        assert_eq!(choice.routes(ms(0)), (None, None));
        choice.on_nominated(ms(0), DIRECT, true);
        choice.on_heard(ms(1), true);
        let lost = Due {
            probe: true,
            lost: true,
        };
        assert_eq!(choice.handle_timeout(ms(401)), lost);
        assert_eq!(choice.routes(ms(401)).0, Some(DIRECT));
        assert_eq!(choice.path(), Path::Direct);
    }
}
