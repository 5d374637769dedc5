//! One common time of a mesh, that belongs to nobody in particular: clocks are fitted to all measured offsets by weighted least squares.

use core::time::Duration;
use std::collections::BTreeMap;

use samestep_wire::Wire;

use super::filter::{ClockConfig, Filter};
use super::slew::Slew;
use super::solve::{Edge, solve};
use super::{Exchange, Probes};
use crate::id::PeerId;

/// A member's estimate of the common time of a mesh.
///
/// Every member measures the offset of its clock to each neighbour's and reports it to the others. Each then finds the common time that
/// fits all these offsets best: a bad link, or one that is slower in one direction, is outweighed by the paths around it.
/// The common time goes at the pace of the reference's clock; when the reference leaves, it continues at another's.
///
/// It begins without a time: the first member [opens](MeshClock::open) it, all others learn it from
/// [reports](MeshClock::on_report).
#[derive(Clone, Debug)]
pub struct MeshClock {
    me: PeerId,
    config: ClockConfig,
    members: Vec<PeerId>,
    reference: Option<PeerId>,
    neighbours: BTreeMap<PeerId, Neighbour>,
    reports: BTreeMap<PeerId, Heard>,
    shown: Option<Shown>,
    solved_at: Option<Duration>,
    /// Expected error of the latest solution, in seconds.
    error: f64,
}

#[derive(Clone, Debug)]
struct Neighbour {
    filter: Filter,
    probes: Probes,
}

#[derive(Clone, Debug)]
struct Heard {
    at: Duration,
    report: MeshReport,
}

#[derive(Clone, Debug)]
struct Shown {
    slew: Slew,
    /// Seconds between local and common time that the slew starts from.
    anchor: f64,
    since: Duration,
}

/// The clock report that a member sends to the others a few times a second.
#[derive(Clone, PartialEq, Debug, Default, Wire)]
pub struct MeshReport {
    /// The common time minus the sender's, in microseconds, if it knows it.
    #[wire(varint)]
    pub common_us: Option<i64>,
    /// The measured offsets, in order of the peers.
    #[wire(max_len = 256)]
    pub offsets: Vec<MeshOffset>,
}

/// The offset between two members' clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct MeshOffset {
    /// Whose clock.
    pub peer: PeerId,
    /// That clock minus the sender's, in microseconds.
    #[wire(varint)]
    pub offset_us: i64,
    /// How much faster it runs, in parts per billion.
    #[wire(varint)]
    pub rate_ppb: i32,
    /// Expected error of the offset, in microseconds.
    #[wire(varint)]
    pub error_us: u32,
}

impl MeshClock {
    /// A full mesh has many links: each is probed less often, together they give more samples.
    const BURST: u32 = 16;
    const BURST_INTERVAL: Duration = Duration::from_millis(50);
    const INTERVAL: Duration = Duration::from_millis(250);
    /// Links that are probed this often; the more there are, the less often each of them.
    const LINKS: u32 = 3;
    const LONGEST_INTERVAL: Duration = Duration::from_secs(1);
    /// Solving more often than this brings nothing new.
    const SOLVE_INTERVAL: Duration = Duration::from_millis(100);
    /// The age at which a report is ignored: that of several, as seldom as a calm mesh sends them, of which some get lost.
    const REPORT_LIFE: Duration = Duration::from_secs(60);
    /// How long after its first estimate the shown time may still be slewed fast.
    const FRESH: Duration = Duration::from_secs(3);

    /// A clock without time.
    pub fn new(_now: Duration, me: PeerId, config: &ClockConfig) -> Self {
        Self {
            me,
            config: ClockConfig {
                burst: config.burst.min(Self::BURST),
                burst_interval: config.burst_interval.max(Self::BURST_INTERVAL),
                interval: config.interval.max(Self::INTERVAL),
                ..config.clone()
            },
            members: Vec::new(),
            reference: None,
            neighbours: BTreeMap::new(),
            reports: BTreeMap::new(),
            shown: None,
            solved_at: None,
            error: f64::INFINITY,
        }
    }

    /// Opens the clock of the first member: the common time is zero now.
    pub fn open(&mut self, now: Duration) {
        self.reference = Some(self.me);
        self.show(now, -now.as_secs_f64());
        self.error = 0.0;
    }

    /// Sets the members and the reference, whose pace counts. The time continues where it is.
    pub fn set_members(&mut self, now: Duration, members: &[PeerId], reference: PeerId) {
        let others = members.iter().copied().filter(|peer| *peer != self.me);
        self.members = others.collect();
        self.members.sort_unstable();
        self.members.dedup();
        let members = &self.members;
        let is_member = |peer: &PeerId| members.binary_search(peer).is_ok();
        self.neighbours.retain(|peer, _| is_member(peer));
        self.reports.retain(|peer, _| is_member(peer));
        for peer in members {
            self.neighbours.entry(*peer).or_insert_with(|| Neighbour {
                filter: Filter::new(now, &self.config),
                probes: Probes::new(now, &self.config),
            });
        }
        let links = self.neighbours.len() as u32;
        let shared = self.config.interval * links / Self::LINKS;
        let shared = shared.clamp(
            self.config.interval,
            Self::LONGEST_INTERVAL.max(self.config.interval),
        );
        let intervals = self.neighbours.values_mut().map(|n| &mut n.probes);
        intervals.for_each(|probes| probes.interval = shared);
        self.reference = Some(reference);
        if reference == self.me {
            // From here on this clock is right by definition, at the pace it has by itself.
            if let Some(shown) = &mut self.shown {
                let offset = shown.slew.current(now);
                shown.slew.follow(now, offset, 0.0, false);
                self.error = 0.0;
            }
        }
    }

    /// Handles an exchange with a member.
    pub fn on_exchange(&mut self, now: Duration, peer: PeerId, exchange: Exchange) {
        let Some(neighbour) = self.neighbours.get_mut(&peer) else {
            return;
        };
        neighbour.probes.on_exchange(now, exchange.sent_at);
        if neighbour.filter.on_exchange(&exchange) {
            self.solve(now);
        }
    }

    /// Handles a clock report of a member.
    pub fn on_report(&mut self, now: Duration, from: PeerId, report: &MeshReport) {
        let sorted = report.offsets.windows(2).all(|w| w[0].peer < w[1].peer);
        if self.members.binary_search(&from).is_err() || !sorted {
            return;
        }
        let report = report.clone();
        self.reports.insert(from, Heard { at: now, report });
        self.solve(now);
    }

    /// The report to send to the others two to four times a second.
    pub fn report(&self, now: Duration) -> MeshReport {
        let fixed = self.neighbours.iter().filter(|(_, n)| n.filter.is_fixed());
        let offsets = fixed.map(|(peer, neighbour)| MeshOffset {
            peer: *peer,
            offset_us: (offset(&neighbour.filter, now) * 1e6).round() as i64,
            rate_ppb: (neighbour.filter.rate() * 1e9).round() as i32,
            error_us: (neighbour.filter.error(now) * 1e6).round() as u32,
        });
        MeshReport {
            common_us: self
                .shown
                .as_ref()
                .map(|shown| (shown.offset(now) * 1e6).round() as i64),
            offsets: offsets.take(256).collect(),
        }
    }

    /// The common time; `None` until it is known. Never runs backwards for a `now` that does not.
    pub fn time(&self, now: Duration) -> Option<Duration> {
        self.shown.as_ref().map(|shown| shown.slew.time(now))
    }

    /// Whether the first seconds are over: from here on corrections are small.
    pub fn is_steady(&self, now: Duration) -> bool {
        self.shown.as_ref().is_some_and(|shown| {
            self.reference == Some(self.me) || now.saturating_sub(shown.since) > Self::FRESH
        })
    }

    /// Its own estimate of its distance from the reference's time.
    pub fn error(&self, now: Duration) -> Duration {
        let behind = self.shown.as_ref().map_or(0.0, |s| s.slew.ahead(now).abs());
        Duration::try_from_secs_f64(self.error + behind).unwrap_or(Duration::MAX)
    }

    /// When another exchange with a member is wanted.
    pub fn next_probe(&self, peer: PeerId) -> Option<Duration> {
        Some(self.neighbours.get(&peer)?.probes.next)
    }

    /// Something else measures the way to a neighbour: after the first burst no probe is wanted before then.
    pub(crate) fn defer_probe(&mut self, peer: PeerId, until: Duration) {
        if let Some(neighbour) = self.neighbours.get_mut(&peer)
            && neighbour.probes.burst_is_over()
        {
            neighbour.probes.next = neighbour.probes.next.max(until);
        }
    }

    /// Notes that a probe was sent to a member.
    pub fn on_probe(&mut self, now: Duration, peer: PeerId) {
        if let Some(neighbour) = self.neighbours.get_mut(&peer) {
            neighbour.probes.on_probe(now);
        }
    }

    /// Shows a common time that is `offset` seconds ahead of the local one.
    fn show(&mut self, now: Duration, offset: f64) {
        let anchor = (offset * 1e9).round() as i128;
        self.shown = Some(Shown {
            slew: Slew::new(now, self.config.slew, anchor, 0.0),
            anchor: anchor as f64 * 1e-9,
            since: now,
        });
    }

    /// Finds the common time that fits all offsets.
    fn solve(&mut self, now: Duration) {
        let early = self
            .solved_at
            .is_some_and(|at| now < at + Self::SOLVE_INTERVAL);
        let Some(reference) = self.reference.filter(|peer| *peer != self.me && !early) else {
            return;
        };
        self.solved_at = Some(now);
        self.reports
            .retain(|_, heard| now < heard.at + Self::REPORT_LIFE);
        let index = |peer: PeerId| self.members.binary_search(&peer).ok();
        let me = self.members.len();
        let mut edges = Vec::new();
        for (peer, neighbour) in &self.neighbours {
            if let Some(to) = index(*peer).filter(|_| neighbour.filter.is_fixed()) {
                edges.push(Edge {
                    from: me,
                    to,
                    offset: offset(&neighbour.filter, now),
                    error: neighbour.filter.error(now),
                });
            }
        }
        for (peer, heard) in &self.reports {
            let Some(from) = index(*peer) else { continue };
            let age = now.saturating_sub(heard.at).as_secs_f64();
            for measured in &heard.report.offsets {
                let to = if measured.peer == self.me {
                    Some(me)
                } else {
                    index(measured.peer)
                };
                let Some(to) = to.filter(|to| *to != from) else {
                    continue;
                };
                edges.push(Edge {
                    from,
                    to,
                    offset: measured.offset_us as f64 * 1e-6
                        + age * f64::from(measured.rate_ppb) * 1e-9,
                    error: f64::from(measured.error_us) * 1e-6 + age * 1e-5,
                });
            }
        }
        let common = |heard: &Heard| Some(heard.report.common_us? as f64 * 1e-6);
        let known = |peer: PeerId| Some((index(peer)?, self.reports.get(&peer).and_then(common)?));
        // The reference is right by definition. Until it reports, any member that knows the time takes its place.
        let mut anchors: Vec<(usize, f64)> = known(reference).into_iter().collect();
        if anchors.is_empty() {
            anchors = self.members.iter().copied().filter_map(known).collect();
        }
        let Some((offset, error)) = solve(me + 1, &edges, &anchors, me) else {
            return;
        };
        self.error = error;
        let rate = self
            .neighbours
            .get(&reference)
            .map_or(0.0, |neighbour| neighbour.filter.rate());
        match &mut self.shown {
            None => self.show(now, offset),
            Some(shown) => {
                let fresh = now.saturating_sub(shown.since) < Self::FRESH;
                shown.slew.follow(now, offset - shown.anchor, rate, fresh);
            }
        }
    }
}

impl Shown {
    /// Common time minus local time, in seconds.
    fn offset(&self, now: Duration) -> f64 {
        self.anchor + self.slew.current(now)
    }
}

/// A filter's clock minus ours, in seconds.
fn offset(filter: &Filter, now: Duration) -> f64 {
    filter.anchor() as f64 * 1e-9 + filter.offset(now)
}
