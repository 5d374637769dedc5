//! The common time.

use core::time::Duration;

use tracing::debug;

use crate::clock::{Clock, ClockConfig, Exchange, MeshClock, MeshReport};
use crate::config::Role;
use crate::id::PeerId;
use crate::room::{Presence, Room};
use crate::session::Session;

/// Where probes wait for packets of the game, one leaves after so many times the patience without any.
const PROBE_AFTER: u32 = 3;

/// The source of the common time, and how this program follows it.
pub(super) enum Timekeeper {
    /// This program's clock is the common one; it shows this at session time zero.
    Own { epoch_us: i64 },
    /// The host's, as estimated from here, and what that shows at session time zero.
    Host {
        clock: Box<Clock>,
        host: Option<PeerId>,
        epoch_us: i64,
        /// How far the clock that is estimated is ahead of the host's: it is that of the first host.
        ahead_us: i64,
    },
    /// The common clock of all members of a mesh.
    Mesh {
        config: ClockConfig,
        clock: Option<Box<MeshClock>>,
    },
}

/// The common time of a room, and the start of a game on it.
pub(super) struct CommonTime {
    pub(super) keeper: Timekeeper,
    /// The start of the last game that was announced, and whether it has begun.
    pub(super) announced: Option<Duration>,
    pub(super) started: bool,
}

impl CommonTime {
    pub(super) fn new(now: Duration, config: &ClockConfig, role: &Role) -> Self {
        Self {
            keeper: Timekeeper::new(now, config, role),
            announced: None,
            started: false,
        }
    }
}

impl Timekeeper {
    pub(super) fn new(now: Duration, config: &ClockConfig, role: &Role) -> Self {
        match role {
            Role::Host => Self::own(now, Duration::ZERO),
            Role::Client(_) | Role::Spectator(_) => Self::Host {
                clock: Box::new(Clock::new(now, config)),
                host: None,
                epoch_us: 0,
                ahead_us: 0,
            },
            Role::Introducer | Role::Peer(_) => Self::Mesh {
                config: config.clone(),
                clock: None,
            },
        }
    }

    /// This program's clock, which makes it this time now.
    pub(super) fn own(now: Duration, time: Duration) -> Self {
        let epoch_us = now.as_micros() as i64 - time.as_micros() as i64;
        Self::Own { epoch_us }
    }

    /// Another program hosts, whose clock shows this at session time zero.
    pub(super) fn follow(&mut self, next: PeerId, next_epoch_us: i64) {
        if let Self::Host {
            host,
            epoch_us,
            ahead_us,
            ..
        } = self
        {
            *host = Some(next);
            *ahead_us = epoch_us.saturating_sub(next_epoch_us);
        }
    }

    /// This program opens a room.
    pub(super) fn open(&mut self, now: Duration, me: PeerId) {
        if let Self::Mesh { config, clock } = self {
            let mut mesh = MeshClock::new(now, me, config);
            mesh.open(now);
            *clock = Some(Box::new(mesh));
        }
    }

    /// This program has joined a room.
    pub(super) fn joined(&mut self, now: Duration, me: PeerId, leader: PeerId, epoch: i64) {
        match self {
            Self::Own { .. } => {}
            Self::Host {
                host,
                epoch_us,
                ahead_us,
                ..
            } => {
                // Who returns to the room goes on with the clock that it has.
                match host.is_some() {
                    true => *ahead_us = epoch_us.saturating_sub(epoch),
                    false => *epoch_us = epoch,
                }
                *host = Some(leader);
            }
            Self::Mesh { config, clock } => {
                if clock.is_none() {
                    *clock = Some(Box::new(MeshClock::new(now, me, config)));
                }
            }
        }
    }

    pub(super) fn set_members(&mut self, now: Duration, room: &Room, leader: PeerId) {
        if let Self::Mesh {
            clock: Some(clock), ..
        } = self
        {
            let members: Vec<PeerId> = room
                .peers()
                .iter()
                .filter(|p| p.presence != Presence::Away)
                .map(|p| p.id)
                .collect();
            clock.set_members(now, &members, leader);
        }
    }

    pub(super) fn on_exchange(&mut self, now: Duration, peer: PeerId, exchange: Exchange) {
        match self {
            Self::Own { .. } => {}
            Self::Host {
                clock,
                host,
                ahead_us,
                ..
            } => {
                if *host == Some(peer) {
                    let was_steady = clock.is_steady();
                    clock.on_exchange(now, exchange.seen_ahead(*ahead_us));
                    if !was_steady && clock.is_steady() {
                        debug!(%peer, "clock synchronised");
                    }
                }
            }
            Self::Mesh { clock, .. } => {
                if let Some(clock) = clock {
                    clock.on_exchange(now, peer, exchange);
                }
            }
        }
    }

    pub(super) fn mesh_report(&self, now: Duration) -> Option<MeshReport> {
        match self {
            Self::Mesh {
                clock: Some(clock), ..
            } => Some(clock.report(now)),
            _ => None,
        }
    }

    pub(super) fn on_mesh_report(&mut self, now: Duration, from: PeerId, report: &MeshReport) {
        if let Self::Mesh {
            clock: Some(clock), ..
        } = self
        {
            clock.on_report(now, from, report);
        }
    }

    pub(super) fn epoch_us(&self) -> i64 {
        match self {
            Self::Own { epoch_us } => *epoch_us,
            _ => 0,
        }
    }
}

/// The session time at which a clock shows this.
fn since_epoch(clock: Duration, epoch_us: i64) -> Duration {
    let us = clock.as_micros() as i64 - epoch_us;
    Duration::from_nanos(clock.subsec_nanos() as u64 % 1000)
        + Duration::from_micros(us.max(0) as u64)
}

impl Session {
    /// The common time of the room: what the host's clock, or the common clock of a mesh, shows, counted from when the room
    /// was opened. `None` until it is known. Never runs backwards.
    pub fn time(&self, now: Duration) -> Option<Duration> {
        match &self.clock.keeper {
            Timekeeper::Own { epoch_us } => Some(since_epoch(now, *epoch_us)),
            Timekeeper::Host {
                clock,
                host,
                epoch_us,
                ..
            } => {
                host.as_ref()?;
                Some(since_epoch(clock.time(now)?, *epoch_us))
            }
            Timekeeper::Mesh { clock, .. } => clock.as_ref()?.time(now),
        }
    }

    /// The estimate of a host's clock, to look at its details; `None` on the host and in a mesh.
    pub fn clock(&self) -> Option<&Clock> {
        match &self.clock.keeper {
            Timekeeper::Host { clock, .. } => Some(clock),
            _ => None,
        }
    }

    /// The common clock of a mesh, to look at its details.
    pub fn mesh_clock(&self) -> Option<&MeshClock> {
        match &self.clock.keeper {
            Timekeeper::Mesh { clock, .. } => clock.as_deref(),
            _ => None,
        }
    }

    /// Sends probes so that there are enough exchanges for the clock.
    pub(super) fn keep_time(&mut self, now: Duration) {
        let (clock, host) = match &mut self.clock.keeper {
            Timekeeper::Host {
                clock,
                host: Some(host),
                ..
            } => (clock, host),
            Timekeeper::Mesh {
                clock: Some(clock), ..
            } => {
                let mut next: Option<Duration> = None;
                let patience = self.timers.patience;
                for (peer, contact) in &self.links.contacts {
                    let Some(connection) = contact.connection else {
                        continue;
                    };
                    // Packets of the game are acknowledged: they measure as well as probes do.
                    if let Some(sent) = contact.sent_game.filter(|_| !patience.is_zero()) {
                        clock.defer_probe(*peer, sent + patience * PROBE_AFTER);
                    }
                    if clock.next_probe(*peer).is_some_and(|at| at <= now) {
                        clock.on_probe(now, *peer);
                        self.endpoint.ping(connection);
                    }
                    next = [next, clock.next_probe(*peer)].into_iter().flatten().min();
                }
                if let Some(at) = next {
                    self.wake_at(at.max(now));
                }
                return;
            }
            _ => return,
        };
        let host = *host;
        let connection = self.links.connection(host);
        let Some(connection) = connection else {
            return;
        };
        if clock.next_probe() <= now {
            clock.on_probe(now);
            self.endpoint.ping(connection);
        }
        let next = clock.next_probe();
        self.wake_at(next.max(now));
    }
}
